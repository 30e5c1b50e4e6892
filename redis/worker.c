/* worker.c - a thread for what takes long and nobody has to wait for
 *
 *     first -> job -> job -> job <- last        the worker takes the first, gives are appended
 *
 * One mutex guards the row of jobs.  Jobs know nothing of each other, and what they work on is
 * guarded by who gives them (shared.c).
 *
 * Clients that wait.  A job that wakes a client is a job like any other: since they are done in
 * order, all that the client waits for is done before.
 *
 *     worker_wait -> wake -> arrive -> let_go -> the command, again -> is_through
 *                      ^-------------- not yet
 *
 * The worker hands the client back to the server's thread, which lets it go unless
 *   - it would change something while clients are paused (CLIENT PAUSE, FAILOVER, SHUTDOWN): what
 *     is replicated then ends the server.  It is looked at again after a while;
 *   - tables were given away for copying or uniting since, which may be those that the command
 * needs: then it waits for these too, a few times, but not for ever;
 *   - another client was let go and its command has not run yet, which may do just that.
 *
 * Forks.  The server saves in a child, a copy of the process that has the thread which forked and
 * no other.  So that no lock is held there by a thread that the child has not, a fork takes it
 * first (pthread_atfork).  In the child jobs are done at once; one that the worker is just doing
 * stays half done, and whoever gives it has to see to that (shared.c).
 *
 * Memory.  What waits to be freed still counts as used, and a server at its limit (maxmemory)
 * evicts keys until enough is free: then memory must be given back at once, lest it evict all.
 *
 * (Timers in the server's own thread would have needed no lock; but the unit of work is a segment,
 * whose copy takes two milliseconds where the system has to find new pages, and a copy of 48
 * segments would have held up everybody 48 times.) */
#define _POSIX_C_SOURCE 200809L
#include "worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "memory.h"

#define PAUSE_MS 10  /* until a client is looked at again that waits for the end of a pause */
#define LEAVE_MS 10  /* between two tables that commands make themselves */
#define TIMES_MOST 4 /* that a client waits for more than was there when it came */

struct job {
    struct job *next;
    worker_job *run;
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static struct job *first, *last; /* guarded, as are: */
static bool started;
static atomic_size_t jobs;       /* that are not done */
static size_t waits;             /* commands that have waited */
static size_t given_jobs;        /* all that were ever given, but for those that wake */
static pthread_t server, worker; /* server: the thread that serves commands */
static atomic_bool alone;        /* in a child: there is no worker */

/* ---- the thread */

/* The next job, as soon as there is one. */
static struct job *next_job(void) {
    pthread_mutex_lock(&lock);
    while (first == NULL) pthread_cond_wait(&given, &lock);
    struct job *job = first;
    first = job->next;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *work(void *nothing) {
    for (struct job *job; (job = next_job()) != NULL;) { /* for ever */
        job->run(job->argument);
        memory_free(job);
        atomic_fetch_sub(&jobs, 1);
    }
    return nothing;
}

/* Signals are for the server's threads, but for those that tell of a crash. */
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

/* False if there is nobody to give it to. */
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
    given_jobs++;
    give(run, argument);
}

void worker_free(worker_job *free, void *block) {
    const bool at_once = !worker_serves() || memory_is_short();
    if (at_once) {
        free(block);
    } else {
        worker_give(free, block);
    }
}

size_t worker_jobs(void) { return atomic_load_explicit(&jobs, memory_order_acquire); }

bool worker_serves(void) { return pthread_equal(pthread_self(), server) != 0; }

/* ---- clients that wait */

bool worker_leaves(size_t tables) {
    static long long left; /* when the last one was */
    if (tables != 1) return tables == 0;
    const long long now = RedisModule_Milliseconds();
    const bool leaves = now < left || now - left >= LEAVE_MS; /* a clock may be set back */
    if (leaves) left = now;
    return leaves;
}

struct waiter {
    RedisModuleBlockedClient *client;
    enum worker_intent intent;
    unsigned times;    /* that it has waited for more */
    size_t given_jobs; /* when it was given last */
};

static RedisModuleCtx *own; /* to make timers with */
static bool on_its_way;     /* a client was let go, and its command has not run yet */

static void wake(void *object);
static void wait_on(struct waiter *w) {
    w->given_jobs = given_jobs;
    give(wake, w);
}

/* In the server's thread. */
static void let_go(RedisModuleCtx *ctx, void *object) {
    (void)ctx;
    struct waiter *w = object;
    const bool more = w->given_jobs != given_jobs && w->times < TIMES_MOST;
    if (w->intent != WORKER_ASKS && RedisModule_AvoidReplicaTraffic() != 0) {
        RedisModule_CreateTimer(own, PAUSE_MS, let_go, w);
    } else if (on_its_way || more) {
        w->times += more;
        wait_on(w);
    } else {
        on_its_way = true;
        RedisModule_UnblockClient(w->client, w);
    }
}

/* There too.  Timers come after all commands that have been read, right before those who were let
 * go: so no pause begins in between, but for a server that reads in other threads or by TLS. */
static void arrive(void *object) { RedisModule_CreateTimer(own, 0, let_go, object); }

/* In the worker. */
static void wake(void *object) { RedisModule_EventLoopAddOneShot(arrive, object); }

/* The server calls it in any case: also if the client has gone. */
static void is_through(RedisModuleCtx *ctx, void *object) {
    (void)ctx;
    on_its_way = false;
    memory_free(object);
}

bool worker_has_waited(RedisModuleCtx *ctx) {
    return waits != 0 && RedisModule_IsBlockedReplyRequest(ctx) != 0;
}

bool worker_makes(RedisModuleCtx *ctx) {
    const struct waiter *w =
        worker_has_waited(ctx) ? RedisModule_GetBlockedClientPrivateData(ctx) : NULL;
    return w != NULL && w->intent == WORKER_MAKES;
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
    w->client = RedisModule_BlockClient(ctx, again, NULL, is_through, 0);
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
