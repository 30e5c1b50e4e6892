/* cow_table.c - law: tables that are shared, united in the background and dropped in any thread
 * match a model, in this process and in the children it forks
 *
 * The server cannot run under ThreadSanitizer; this program can.  It is the module's cow_table.c
 * and worker.c with a random user in the place of the server:
 *
 *     this thread    creates, changes, unites, queries and drops the tables of a few filters
 *     the worker     makes copies and unions ahead, and frees
 *     `lazy`         drops tables that were handed to it, as the server's thread for UNLINK does
 *     children       look at all tables, as those that save do
 *
 * AddressSanitizer reports leaks. */
#define _POSIX_C_SOURCE 200809L
#include "tables/cow_table.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/memory.h"
#include "server/worker.h"
#include "support/check.h"

#define FILTERS 8
#define HANDED 64
#define BYTES 70000 /* above what is done at once */
#define PLACES 16
#define STEP (BYTES / PLACES)

#if defined(__SANITIZE_THREAD__)
#define FORKS 0 /* it does not follow a child of several threads */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORKS 0
#endif
#endif
#if !defined(FORKS)
#define FORKS 1
#endif

/* ---- what the server would give */

static float no_limit(void) { return 0; }
static int unblock(RedisModuleBlockedClient *client, void *nothing) {
    (void)client, (void)nothing;
    return REDISMODULE_OK;
}

/* ---- a table: BYTES bytes, of which every STEP-th is used */

static void *table_new(void) { return need(1, BYTES); }

static void *table_copy(const void *body) {
    void *copy = memory_alloc(BYTES);
    if (copy != NULL) memcpy(copy, body, BYTES);
    return copy;
}

static bool table_unite(void *into, const void *from) {
    uint8_t *a = into;
    const uint8_t *b = from;
    for (size_t i = 0; i < BYTES; i++) a[i] |= b[i];
    return true;
}

static void table_free(void *body) { free(body); }
static size_t table_bytes(const void *body) { return body == NULL ? 0 : BYTES; }

static const struct cow_table_kind kind = {
    .copy = table_copy, .unite = table_unite, .free = table_free, .bytes = table_bytes};

struct filter {
    struct cow_table *table;
    uint8_t model[PLACES];
};

static bool as_model(const struct filter *f) {
    const uint8_t *body = cow_table_look(f->table);
    bool same = body != NULL;
    for (size_t i = 0; i < PLACES && same; i++) same = body[i * STEP] == f->model[i];
    return same;
}

/* ---- the thread that only drops */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cow_table *handed[HANDED]; /* guarded, as is: */
static bool ending;

static void hand(struct cow_table *s, size_t place) {
    pthread_mutex_lock(&lock);
    struct cow_table *before = handed[place];
    handed[place] = s;
    pthread_mutex_unlock(&lock);
    cow_table_drop(before);
}

static void *lazy(void *nothing) {
    bool last = false;
    for (size_t place = 0; !last || place != 0; place = (place + 1) % HANDED) {
        pthread_mutex_lock(&lock);
        struct cow_table *s = handed[place];
        handed[place] = NULL;
        if (place == 0) last = ending;
        pthread_mutex_unlock(&lock);
        cow_table_drop(s);
    }
    return nothing;
}

/* ---- what a user does */

static void change(struct filter *f, struct rng *r) {
    const size_t place = rng_below(r, PLACES);
    const uint8_t bit = (uint8_t)(1u << rng_below(r, 8));
    uint8_t *body = cow_table_own(&f->table);
    if (!CHECK(body != NULL, "no table to change")) return;
    body[place * STEP] |= bit;
    f->model[place] |= bit;
}

static void copy(struct filter *to, const struct filter *from, struct rng *r) {
    struct cow_table *before = to->table;
    *to = *from;
    cow_table_take(to->table);
    if (rng_below(r, 2) == 0) {
        hand(before, rng_below(r, HANDED));
    } else {
        cow_table_drop(before);
    }
    if (rng_below(r, 2) == 0) cow_table_prepare(to->table);
}

static void unite(struct filter *into, const struct filter *from) {
    if (!CHECK(cow_table_unite(&into->table, from->table), "no union")) return;
    for (size_t i = 0; i < PLACES; i++) into->model[i] |= from->model[i];
}

static void open_if_empty(struct filter *f) {
    if (f->table != NULL) return;
    *f = (struct filter){.table = cow_table_new(&kind, table_new())};
}

static void step(struct filter *filters, struct rng *r) {
    struct filter *a = &filters[rng_below(r, FILTERS)], *b = &filters[rng_below(r, FILTERS)];
    open_if_empty(a);
    open_if_empty(b);
    switch (rng_below(r, 6)) {
        case 0:
            if (a != b) copy(a, b, r);
            break;
        case 1:
            unite(a, b);
            if (rng_below(r, 2) == 0) cow_table_prepare(a->table);
            break;
        case 2:
            cow_table_drop(a->table);
            a->table = NULL;
            break;
        case 3:
            CHECK(as_model(a), "a table is not what was put into it");
            break;
        default:
            if (cow_table_is_ready(a->table, true))
                CHECK(cow_table_sample(a->table) != NULL, "nothing");
            change(a, r);
    }
}

/* Gives the worker unions to make, and returns when it is at it. */
static void keep_busy(struct filter *filters) {
    size_t given = 0;
    for (size_t i = 1; i < FILTERS; i++) {
        struct filter *a = &filters[i - 1], *b = &filters[i];
        if (a->table == NULL || b->table == NULL) continue;
        unite(a, b);
        cow_table_prepare(a->table);
        given++;
    }
    while (given != 0 && worker_jobs() >= given) sched_yield();
}

/* A child has no worker, and finds no union half made. */
static void fork_and_look(struct filter *filters) {
    keep_busy(filters);
    const pid_t child = fork();
    if (child == 0) {
        bool same = true;
        for (size_t i = 0; i < FILTERS; i++) {
            if (filters[i].table == NULL) continue;
            same = same && as_model(&filters[i]);
            cow_table_drop(filters[i].table);
        }
        _exit(same ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(child > 0 && status == 0, "the child ended with %d", status);
    count_up("children", 1);
}

int main(int argc, char **argv) {
    static struct filter filters[FILTERS];
    RedisModule_GetUsedMemoryRatio = no_limit;
    RedisModule_UnblockClient = unblock;
    run_start(argc, argv, "shared");
    struct rng r = {run_seed()};
    const uint64_t steps = run_pick(20000, 100000, 1000000);
    pthread_t dropper;
    if (!CHECK(cow_table_open(), "no handlers for forks")) return run_end();
    if (!CHECK(pthread_create(&dropper, NULL, lazy, NULL) == 0, "no thread")) return run_end();
    for (uint64_t i = 0; i < steps; i++) {
        step(filters, &r);
        if (FORKS && i % 200 == 0) fork_and_look(filters);
    }
    count_up("steps", steps);
    for (size_t i = 0; i < FILTERS; i++) cow_table_drop(filters[i].table);
    pthread_mutex_lock(&lock);
    ending = true;
    pthread_mutex_unlock(&lock);
    pthread_join(dropper, NULL);
    while (worker_jobs() != 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    const struct cow_table_work work = cow_table_work();
    CHECK(work.background > 0 && work.commands > 0, "all was done by one thread");
    return run_end();
}
