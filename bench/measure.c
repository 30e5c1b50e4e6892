/* measure.c - the rounds
 *
 * All contenders are filled once.  A warm-up round and `repeats` rounds follow.  In each round all
 * contenders run an operation before the next operation begins, so that a disturbance of the
 * machine affects all of them.  The limit runs in the same rounds, on as many lines as each
 * contender's table has.
 *
 * Times are CPU time of the thread; with two threads, of the slower one.  A build with two threads
 * starts the second itself, so its time is the process's less the first thread's, or the first
 * thread's if that is more; the wall-clock time is recorded, too. */
#define _GNU_SOURCE

#include "measure.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contenders.h"
#include "machine.h"
#include "pool.h"

const char *const bench_operation_name[OPERATIONS] = {
#define X(name, text) text,
    BENCH_OPERATION_MAP(X)
#undef X
};
const char *const bench_sort_name[2] = {"64-bit", "32-byte string"};

#define QUERIES_MAX ((size_t)1 << 20) /* lookups per round, of a large filter */
#define QUERIES_MIN ((size_t)1 << 19)
#define WARM_SHARE 4 /* a quarter of the keys is looked up first, to fill the caches */
#define TEXT_LENGTH 32
#define FPR_SAMPLES ((size_t)1 << 24) /* for ours and 64-bit keys; fewer for others */

/* ---- keys */

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The i-th member and the i-th absent key: all different. */
static uint64_t member(uint64_t i) { return mix(2 * i + 1); }
static uint64_t non_member(uint64_t i) { return mix(2 * i + 2); }

/* Texts that look like identifiers: equal up to the last 16 digits, as keys often are. */
static void write_text(char *to, uint64_t key) {
    static const char digits[] = "0123456789abcdef";
    memcpy(to, "user:2024:item/#", TEXT_LENGTH - 16);
    for (int i = TEXT_LENGTH - 1; i >= TEXT_LENGTH - 16; i--, key >>= 4) to[i] = digits[key & 15];
}

struct key_store {
    struct bench_keys keys;
    uint64_t *words;
    char *bytes;
    const void **texts;
    size_t *lengths;
};

static void make_keys(struct key_store *store, size_t count, enum bench_sort sort,
                      uint64_t (*key)(uint64_t i, size_t n), size_t n) {
    *store = (struct key_store){.keys.count = count};
    store->words = bench_allocate(count * sizeof *store->words);
    for (size_t i = 0; i < count; i++) store->words[i] = key(i, n);
    if (sort == SORT_WORDS) {
        store->keys.words = store->words;
        return;
    }
    store->bytes = bench_allocate(count * TEXT_LENGTH);
    store->texts = bench_allocate(count * sizeof *store->texts);
    store->lengths = bench_allocate(count * sizeof *store->lengths);
    for (size_t i = 0; i < count; i++) {
        write_text(store->bytes + i * TEXT_LENGTH, store->words[i]);
        store->texts[i] = store->bytes + i * TEXT_LENGTH;
        store->lengths[i] = TEXT_LENGTH;
    }
    store->keys.texts = store->texts;
    store->keys.lengths = store->lengths;
}

static void free_keys(struct key_store *store) {
    free(store->words);
    free(store->bytes);
    free(store->texts);
    free(store->lengths);
}

static uint64_t key_to_add(uint64_t i, size_t n) {
    (void)n;
    return member(i);
}
/* Every round builds from other keys, starting with the n-th: whether the first attempt to build a
 * static filter succeeds depends on its keys. */
static uint64_t key_to_build(uint64_t i, size_t n) { return member(n + i); }
/* Looked up in an order that is independent of that of the adds. */
static uint64_t key_to_hit(uint64_t i, size_t n) { return member(mix(i + 77) % n); }
static uint64_t key_to_miss(uint64_t i, size_t n) {
    (void)n;
    return non_member(i);
}
static uint64_t key_of_both(uint64_t i, size_t n) {
    return mix(i) >> 63 ? key_to_hit(i, n) : key_to_miss(i, n);
}

/* ---- one arena for all contenders of a round */

struct arena {
    const struct bench_settings *settings;
    enum bench_sort sort;
    size_t n, queries;
    struct key_store added, hits, misses, both, built;
    size_t rounds;
    void *filters[BENCH_CONTENDERS_MAX];
    struct bench_row *rows[BENCH_CONTENDERS_MAX];
    uint64_t *lines; /* for the limit */
    size_t lines_bytes;
    uint64_t *hashes; /* of the texts of `misses`, and where hashing them writes */
};

static void keep(struct bench_figure *figure, double time, double wall) {
    if (figure->count < BENCH_REPEATS_MAX) figure->sample[figure->count++] = time;
    if (wall > 0 && (figure->wall == 0 || wall < figure->wall)) figure->wall = wall;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void settle(struct bench_figure *figure) {
    if (figure->count == 0) return;
    qsort(figure->sample, figure->count, sizeof figure->sample[0], by_value);
    figure->best = figure->sample[0];
    figure->median =
        (figure->sample[(figure->count - 1) / 2] + figure->sample[figure->count / 2]) / 2;
}

static void *fill(const struct bench_contender *c, const struct bench_keys *keys) {
    if (c->build != NULL) return c->build(c, keys, 1);
    void *filter = c->create(c, keys->count, keys->words == NULL);
    if (filter == NULL) return NULL;
    (c->add_batch != NULL ? c->add_batch : c->add)(filter, keys, 0, keys->count);
    return filter;
}

/* ---- builds, adds and removes: on fresh filters */

/* Small filters are created several times in a round. */
static size_t rounds_for(size_t n) { return n >= 500000 ? 1 : 500000 / (n > 0 ? n : 1); }

static void time_build(const struct bench_contender *c, const struct bench_keys *keys,
                       unsigned threads, struct bench_figure *figure) {
    const size_t rounds = rounds_for(keys->count);
    double cpu = 0, wall = 0;
    if (threads > 1) bench_unpin();
    for (size_t round = 0; round < rounds; round++) {
        const double process = bench_process_time(), thread = bench_thread_time();
        const double clock = bench_wall_time();
        void *filter = c->build(c, keys, threads);
        const double own = bench_thread_time() - thread;
        const double others = bench_process_time() - process - own;
        wall += bench_wall_time() - clock;
        cpu += own > others ? own : others;
        if (filter == NULL) bench_die("cannot build a filter");
        c->destroy(filter);
    }
    if (threads > 1) bench_pin(0);
    const double count = (double)rounds * (double)keys->count;
    keep(figure, cpu / count, wall / count);
}

typedef void change(void *filter, const struct bench_keys *keys, size_t from, size_t to);
typedef size_t lookup(const void *filter, const struct bench_keys *keys, size_t from, size_t to);

static void time_add(const struct bench_contender *c, change *add, const struct bench_keys *keys,
                     struct bench_figure *figure) {
    const size_t rounds = rounds_for(keys->count);
    double cpu = 0;
    for (size_t round = 0; round < rounds; round++) {
        void *filter = c->create(c, keys->count, keys->words == NULL);
        if (filter == NULL) bench_die("cannot create a filter");
        const double start = bench_thread_time();
        add(filter, keys, 0, keys->count);
        cpu += bench_thread_time() - start;
        c->destroy(filter);
    }
    keep(figure, cpu / ((double)rounds * (double)keys->count), 0);
}

static void time_remove(const struct bench_contender *c,
                        size_t (*removal)(void *, const struct bench_keys *, size_t, size_t),
                        const struct bench_keys *keys, struct bench_figure *figure) {
    const size_t rounds = rounds_for(keys->count);
    double cpu = 0;
    for (size_t round = 0; round < rounds; round++) {
        void *filter = fill(c, keys);
        if (filter == NULL) bench_die("cannot create a filter");
        const double start = bench_thread_time();
        removal(filter, keys, 0, keys->count);
        cpu += bench_thread_time() - start;
        c->destroy(filter);
    }
    keep(figure, cpu / ((double)rounds * (double)keys->count), 0);
}

/* ---- lookups, and adds by several threads to one filter */

struct share {
    const void *filter;
    void *target;
    lookup *query;
    change *add;
    const struct bench_keys *keys;
    size_t from, to;
    unsigned core;
    pthread_barrier_t *start;
    double time;
};

static void *do_share(void *argument) {
    struct share *s = argument;
    if (s->start != NULL) {
        bench_pin(s->core);
        pthread_barrier_wait(s->start);
    }
    const double start = bench_thread_time();
    if (s->query != NULL) {
        s->query(s->filter, s->keys, s->from, s->to);
    } else {
        s->add(s->target, s->keys, s->from, s->to);
    }
    s->time = bench_thread_time() - start;
    return NULL;
}

/* Splits the work of `whole` into two threads; returns the time of the slower. */
static double in_two_threads(const struct share *whole) {
    struct share part[2] = {*whole, *whole};
    pthread_barrier_t start;
    pthread_t other;
    const size_t middle = whole->from + (whole->to - whole->from) / 2;
    pthread_barrier_init(&start, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        part[i].core = i;
        part[i].start = &start;
    }
    part[0].to = middle;
    part[1].from = middle;
    if (pthread_create(&other, NULL, do_share, &part[1]) != 0) bench_die("cannot create a thread");
    do_share(&part[0]);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&start);
    return part[0].time > part[1].time ? part[0].time : part[1].time;
}

/* Three times as often with two threads, because the best time needs both cores undisturbed, and
 * for small filters: their time is short, and other programs use the same caches. */
#define TRIES_MORE 3
#define SMALL_MAX 1000000

static unsigned tries_of(const struct arena *a, unsigned threads) {
    return threads > 1 || a->n <= SMALL_MAX ? TRIES_MORE : 1;
}

static void time_lookups(const struct arena *a, size_t i, lookup *query,
                         const struct bench_keys *keys, unsigned threads,
                         struct bench_figure *figure) {
    struct share whole = {.filter = a->filters[i], .query = query, .keys = keys, .to = keys->count};
    query(whole.filter, keys, 0, keys->count / WARM_SHARE);
    for (unsigned tries = tries_of(a, threads); tries > 0; tries--) {
        if (threads == 1) do_share(&whole);
        const double time = threads == 1 ? whole.time : in_two_threads(&whole);
        keep(figure, time / (double)keys->count, 0);
    }
}

static void time_shared_add(const struct bench_contender *c, change *add,
                            const struct bench_keys *keys, struct bench_figure *figure) {
    void *filter = c->create(c, keys->count, keys->words == NULL);
    if (filter == NULL) bench_die("cannot create a filter");
    const struct share whole = {.target = filter, .add = add, .keys = keys, .to = keys->count};
    keep(figure, in_two_threads(&whole) / (double)keys->count, 0);
    c->destroy(filter);
}

/* ---- a round */

/* The lookups that are not measured with two threads scale as these do. */
static bool worth_two_threads(enum bench_operation op) {
    return op < OP_HIT || op == OP_MISS || op == OP_HIT_BATCH || op == OP_MISS_BATCH;
}

static void run_operation(struct arena *a, size_t i, enum bench_operation op, unsigned threads) {
    const struct bench_contender *c = a->settings->contenders[i];
    struct bench_figure *figure = &a->rows[i]->time[op][threads - 1];
    const struct bench_keys *added = &a->added.keys;
    lookup *query = op >= OP_HIT_BATCH ? c->query_batch : c->query;
    change *add = op == OP_ADD_BATCH ? c->add_batch : c->add;
    switch (op) {
        case OP_BUILD:
            if (c->build != NULL && (threads == 1 || c->ours)) {
                time_build(c, &a->built.keys, threads, figure);
            }
            break;
        case OP_ADD:
        case OP_ADD_BATCH:
            if (add != NULL && threads == 1) time_add(c, add, added, figure);
            if (add != NULL && threads > 1 && c->shared) time_shared_add(c, add, added, figure);
            break;
        case OP_REMOVE:
            if (c->remove != NULL && threads == 1) time_remove(c, c->remove, added, figure);
            break;
        case OP_REMOVE_BATCH:
            if (c->remove_batch != NULL && threads == 1) {
                time_remove(c, c->remove_batch, added, figure);
            }
            break;
        case OP_HIT:
        case OP_HIT_BATCH:
            if (query != NULL) time_lookups(a, i, query, &a->hits.keys, threads, figure);
            break;
        case OP_MISS:
        case OP_MISS_BATCH:
            if (query != NULL) time_lookups(a, i, query, &a->misses.keys, threads, figure);
            break;
        default:
            if (query != NULL) time_lookups(a, i, query, &a->both.keys, threads, figure);
            break;
    }
}

static size_t lines_of(const struct arena *a, size_t i) {
    return ((size_t)a->rows[i]->table_bytes + 63) / 64;
}

/* The keys, uniform 64-bit numbers, are the random positions: the misses for reading, all added
 * keys for writing, so that both read as many keys as the filter does. */
static void run_limit(struct arena *a, size_t i) {
    const size_t lines = lines_of(a, i), queries = a->misses.keys.count,
                 added = a->added.keys.count;
    a->lines[0] += bench_limit_read(a->lines, lines, a->misses.words, 0, queries / WARM_SHARE);
    double start = bench_thread_time();
    /* The sum is stored, so that the compiler cannot omit the reads. */
    a->lines[0] += bench_limit_read(a->lines, lines, a->misses.words, 0, queries);
    keep(&a->rows[i]->limit_read, (bench_thread_time() - start) / (double)queries, 0);
    start = bench_thread_time();
    bench_limit_write(a->lines, lines, a->added.words, 0, added);
    keep(&a->rows[i]->limit_write, (bench_thread_time() - start) / (double)added, 0);
}

/* Texts: the time of hashing alone, and of lookups alone. */
static void run_parts(struct arena *a, size_t i) {
    const struct bench_contender *c = a->settings->contenders[i];
    if (!c->ours || a->sort != SORT_TEXTS) return;
    const struct bench_keys hashed = {.count = a->misses.keys.count, .words = a->hashes};
    const double start = bench_thread_time();
    bench_hash_texts(a->filters[i], &a->misses.keys, a->hashes);
    keep(&a->rows[i]->hashing, (bench_thread_time() - start) / (double)hashed.count, 0);
    time_lookups(a, i, c->query_batch, &hashed, 1, &a->rows[i]->prehashed);
}

static bool takes_part(const struct arena *a, size_t i) { return a->filters[i] != NULL; }

static void run_round(struct arena *a) {
    const size_t count = a->settings->contender_count;
    const unsigned threads_max = bench_cores() > 1 ? 2 : 1;
    make_keys(&a->built, a->n, a->sort, key_to_build, a->n * ++a->rounds);
    for (size_t i = 0; i < count; i++) {
        if (takes_part(a, i)) run_limit(a, i);
    }
    for (unsigned op = 0; op < OPERATIONS; op++) {
        for (unsigned threads = 1; threads <= threads_max; threads++) {
            if (threads > 1 && !worth_two_threads((enum bench_operation)op)) continue;
            for (size_t i = 0; i < count; i++) {
                if (takes_part(a, i)) run_operation(a, i, (enum bench_operation)op, threads);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (takes_part(a, i)) run_parts(a, i);
    }
    free_keys(&a->built);
}

/* ---- space and rate */

struct fill_job {
    const struct bench_contender *c;
    const struct bench_keys *keys;
};

static void fill_in_child(void *context) {
    const struct fill_job *job = context;
    bench_pool_leave();
    fill(job->c, job->keys);
}

/* Ours with enough lookups for an exact rate; the slower peers once. */
static double measured_fpr(const struct arena *a, size_t i) {
    const struct bench_contender *c = a->settings->contenders[i];
    lookup *query = c->query_batch != NULL ? c->query_batch : c->query;
    if (!c->ours || a->sort != SORT_WORDS) {
        return (double)query(a->filters[i], &a->misses.keys, 0, a->queries) / (double)a->queries;
    }
    uint64_t words[1024];
    const struct bench_keys keys = {.count = 1024, .words = words};
    size_t found = 0;
    for (uint64_t queries = 0; queries < FPR_SAMPLES; queries += keys.count) {
        for (size_t j = 0; j < keys.count; j++) words[j] = non_member(a->queries + queries + j);
        found += query(a->filters[i], &keys, 0, keys.count);
    }
    return (double)found / (double)FPR_SAMPLES;
}

static void enter(struct arena *a, size_t i, struct bench_results *results) {
    const struct bench_contender *c = a->settings->contenders[i];
    a->filters[i] = NULL;
    if (a->sort == SORT_TEXTS && c->only_words) return;
    struct fill_job job = {c, &a->added.keys};
    const size_t peak = bench_peak(fill_in_child, &job);
    a->filters[i] = fill(c, &a->added.keys);
    if (a->filters[i] == NULL) bench_die("cannot create a filter");
    struct bench_row *row = bench_new_row(results);
    snprintf(row->name, sizeof row->name, "%s", c->name);
    row->ours = c->ours;
    row->sort = a->sort;
    row->n = a->n;
    row->table_bytes = (double)c->bytes(a->filters[i]);
    row->peak_bytes = (double)peak;
    row->bits_per_key = 8 * row->table_bytes / (double)a->n;
    row->fpr = measured_fpr(a, i);
    if (row->fpr > 0 && row->fpr < 1) row->over_bound = row->bits_per_key / -log2(row->fpr) - 1;
    a->rows[i] = row;
    if (c->query(a->filters[i], &a->added.keys, 0, a->n) != a->n) {
        fprintf(stderr, "tamis-bench: %s: false negative\n", c->name);
        exit(1);
    }
}

/* ---- the measurement */

static void forget_samples(struct bench_row *row) {
    for (unsigned op = 0; op < OPERATIONS; op++) {
        row->time[op][0] = row->time[op][1] = (struct bench_figure){0};
    }
    row->limit_read = row->limit_write = row->hashing = row->prehashed = (struct bench_figure){0};
}

static void settle_row(struct bench_row *row) {
    for (unsigned op = 0; op < OPERATIONS; op++) {
        settle(&row->time[op][0]);
        settle(&row->time[op][1]);
    }
    settle(&row->limit_read);
    settle(&row->limit_write);
    settle(&row->hashing);
    settle(&row->prehashed);
}

void bench_measure(const struct bench_settings *settings, size_t n, enum bench_sort sort,
                   struct bench_results *results) {
    struct arena a = {.settings = settings, .sort = sort, .n = n};
    a.queries = n <= QUERIES_MAX ? QUERIES_MIN : QUERIES_MAX;
    make_keys(&a.added, n, sort, key_to_add, n);
    make_keys(&a.hits, a.queries, sort, key_to_hit, n);
    make_keys(&a.misses, a.queries, sort, key_to_miss, n);
    make_keys(&a.both, a.queries, sort, key_of_both, n);
    a.hashes = bench_allocate(a.queries * sizeof *a.hashes);
    for (size_t i = 0; i < settings->contender_count; i++) {
        enter(&a, i, results);
        if (takes_part(&a, i) && lines_of(&a, i) * 64 > a.lines_bytes) {
            a.lines_bytes = lines_of(&a, i) * 64;
        }
    }
    a.lines = bench_memory(a.lines_bytes);

    run_round(&a);
    for (size_t i = 0; i < settings->contender_count; i++) {
        if (takes_part(&a, i)) forget_samples(a.rows[i]);
    }
    for (unsigned repeat = 0; repeat < settings->repeats; repeat++) run_round(&a);

    for (size_t i = 0; i < settings->contender_count; i++) {
        if (!takes_part(&a, i)) continue;
        settle_row(a.rows[i]);
        settings->contenders[i]->destroy(a.filters[i]);
    }
    bench_memory_free(a.lines, a.lines_bytes);
    bench_pool_trim();
    free(a.hashes);
    free_keys(&a.added);
    free_keys(&a.hits);
    free_keys(&a.misses);
    free_keys(&a.both);
}

/* Callers keep pointers to rows while others are appended, so `rows` never moves. */
struct bench_row *bench_new_row(struct bench_results *results) {
    if (results->count == results->room) bench_die("too many rows");
    struct bench_row *row = &results->rows[results->count++];
    memset(row, 0, sizeof *row);
    return row;
}

const struct bench_row *bench_find(const struct bench_results *results, const char *name,
                                   enum bench_sort sort, size_t n) {
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (row->sort == sort && row->n == n && strcmp(row->name, name) == 0) return row;
    }
    return NULL;
}
