/* worker.c - a background thread for long work
 *
 *     first -> job -> job -> job <- last        the worker takes the first; new jobs are appended
 *
 * One mutex guards the queue.  Jobs are independent; the caller of worker_give guards what they
 * work on (cow_table.c).
 *
 * Clients that wait.  Waking a client is a job too.  Jobs run in order, so everything the client
 * waits for is done before it.
 *
 *     worker_wait -> wake -> arrive -> resume -> the command, again -> finished
 *                      ^-------------- not yet
 *
 * The worker hands the client back to the server's thread, which resumes it unless
 *   - the command writes and clients are paused (CLIENT PAUSE, FAILOVER, SHUTDOWN): replicating a
 *     write during a pause ends the server.  The check is repeated after PAUSE_MS;
 *   - more copies or unions were queued since, which may be tables that the command needs: it waits
 *     for these too, up to TIMES_MAX times;
 *   - another client was resumed and its command has not run yet: it may queue such work.
 *
 * Forks.  The server saves in a child process, which has only the thread that forked.  The fork
 * takes the lock first (pthread_atfork), so that no missing thread holds it in the child.  In the
 * child jobs run at once.  A job that the worker was running stays half done; the caller of
 * worker_give must allow for that (cow_table.c).
 *
 * Memory.  Memory that waits to be freed counts as used, and a server at its limit (maxmemory)
 * evicts keys until enough is free.  At the limit memory is therefore freed at once.
 *
 * (Timers in the server's own thread would need no lock.  But copying one segment takes two
 * milliseconds if the system has to provide new pages, and a copy of 48 segments would delay all
 * clients 48 times.) */
#define _POSIX_C_SOURCE 200809L
#include "server/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "server/memory.h"

#define PAUSE_MS 10  /* between checks whether a pause of clients has ended */
#define INLINE_MS 10 /* between two tables that commands build inline */
#define TIMES_MAX 4  /* that a client waits for work queued after it */

struct job {
    struct job *next;
    worker_job *run;
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static struct job *first, *last; /* guarded by the lock, and so are: */
static bool started;
static atomic_size_t jobs;       /* not done yet */
static size_t waits;             /* commands that have waited */
static size_t queued_jobs;       /* ever queued, without those that wake clients */
static pthread_t server, worker; /* server: the main thread */
static atomic_bool alone;        /* in a child: there is no worker */

/* ---- the thread */

/* Waits for a job and returns it. */
static struct job *next_job(void) {
    pthread_mutex_lock(&lock);
    while (first == NULL) pthread_cond_wait(&given, &lock);
    struct job *job = first;
    first = job->next;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *work(void *nothing) {
    for (struct job *job; (job = next_job()) != NULL;) {
        job->run(job->argument);
        memory_free(job);
        atomic_fetch_sub(&jobs, 1);
    }
    return nothing;
}

/* Signals are for the server's threads, except those that report a crash. */
static bool start(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&worker, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ---- forks */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }

static void in_child(void) {
    atomic_store(&alone, true);
    pthread_mutex_unlock(&lock);
}

bool worker_open(void) {
    server = pthread_self();
    return pthread_atfork(before_fork, in_parent, in_child) == 0;
}

/* ---- jobs */

/* False if there is no worker. */
static bool append(struct job *job) {
    pthread_mutex_lock(&lock);
    const bool good = started || start();
    if (good) {
        if (first == NULL) {
            first = job;
        } else {
            last->next = job;
        }
        last = job;
        atomic_fetch_add(&jobs, 1);
        pthread_cond_signal(&given);
    }
    pthread_mutex_unlock(&lock);
    return good;
}

static void give(worker_job *run, void *argument) {
    struct job *job = atomic_load(&alone) ? NULL : memory_alloc(sizeof *job);
    if (job != NULL) {
        *job = (struct job){.run = run, .argument = argument};
        if (append(job)) return;
        memory_free(job);
    }
    run(argument);
}

void worker_give(worker_job *run, void *argument) {
    queued_jobs++;
    give(run, argument);
}

void worker_free(worker_job *free, void *block) {
    const bool at_once = !worker_is_main_thread() || memory_is_short();
    if (at_once) {
        free(block);
    } else {
        worker_give(free, block);
    }
}

size_t worker_jobs(void) { return atomic_load_explicit(&jobs, memory_order_acquire); }

bool worker_is_main_thread(void) { return pthread_equal(pthread_self(), server) != 0; }

/* ---- clients that wait */

bool worker_builds_inline(size_t tables) {
    static long long last_inline; /* time of the last table built inline */
    if (tables != 1) return tables == 0;
    const long long now = RedisModule_Milliseconds();
    const bool builds =
        now < last_inline || now - last_inline >= INLINE_MS; /* the clock may be set back */
    if (builds) last_inline = now;
    return builds;
}

struct waiter {
    RedisModuleBlockedClient *client;
    enum worker_intent intent;
    unsigned times;     /* that it has waited for later work */
    size_t queued_jobs; /* when it was last queued */
};

static RedisModuleCtx *own; /* for timers */
static bool resuming;       /* a client was resumed and its command has not run yet */

static void wake(void *object);
static void wait_on(struct waiter *w) {
    w->queued_jobs = queued_jobs;
    give(wake, w);
}

/* Runs in the server's thread. */
static void resume(RedisModuleCtx *ctx, void *object) {
    (void)ctx;
    struct waiter *w = object;
    const bool more = w->queued_jobs != queued_jobs && w->times < TIMES_MAX;
    if (w->intent != WORKER_READS && RedisModule_AvoidReplicaTraffic() != 0) {
        RedisModule_CreateTimer(own, PAUSE_MS, resume, w);
    } else if (resuming || more) {
        w->times += more;
        wait_on(w);
    } else {
        resuming = true;
        RedisModule_UnblockClient(w->client, w);
    }
}

/* Runs in the server's thread.  Timers fire after all commands that have been read and right before
 * resumed clients, so no pause starts in between, except on a server that reads in other threads or
 * over TLS. */
static void arrive(void *object) { RedisModule_CreateTimer(own, 0, resume, object); }

/* Runs in the worker. */
static void wake(void *object) { RedisModule_EventLoopAddOneShot(arrive, object); }

/* The server always calls this, even if the client has disconnected. */
static void finished(RedisModuleCtx *ctx, void *object) {
    (void)ctx;
    resuming = false;
    memory_free(object);
}

bool worker_has_waited(RedisModuleCtx *ctx) {
    return waits != 0 && RedisModule_IsBlockedReplyRequest(ctx) != 0;
}

bool worker_creates(RedisModuleCtx *ctx) {
    const struct waiter *w =
        worker_has_waited(ctx) ? RedisModule_GetBlockedClientPrivateData(ctx) : NULL;
    return w != NULL && w->intent == WORKER_CREATES;
}

bool worker_can_wait(RedisModuleCtx *ctx) {
    const int bound = REDISMODULE_CTX_FLAGS_LUA | REDISMODULE_CTX_FLAGS_MULTI |
                      REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING |
                      REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
    return !worker_has_waited(ctx) && (RedisModule_GetContextFlags(ctx) & bound) == 0;
}

bool worker_wait(RedisModuleCtx *ctx, RedisModuleCmdFunc again, enum worker_intent intent) {
    if (!worker_can_wait(ctx)) return false;
    if (own == NULL) own = RedisModule_GetDetachedThreadSafeContext(ctx);
    struct waiter *w = memory_zeroed(sizeof *w);
    if (w == NULL) return false;
    w->client = RedisModule_BlockClient(ctx, again, NULL, finished, 0);
    if (w->client == NULL) {
        memory_free(w);
        return false;
    }
    w->intent = intent;
    waits++;
    wait_on(w);
    return true;
}

size_t worker_waits(void) { return waits; }
