/* measure.c - the rounds
 *
 * All contenders are filled once; `repeats` rounds follow.  In each round all contenders run an
 * operation before the next operation begins, so that a disturbance of the machine affects all of
 * them, and every round begins with another contender.  Before each timing the same work is done
 * once without timing: nobody pays for what the contender before him left in the caches.  The limit
 * runs in the same way, on as many lines as each contender's table has.
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
const char *const bench_pages_name[2] = {"4 KiB pages", "huge pages"};

/* Lookups per round.  Those of a filter beyond the caches touch all of it, so that the warm pass
 * leaves no more of it in the caches than other queries would. */
static size_t queries_for(size_t n) {
    if (n > 20000000) return (size_t)1 << 22;
    return (size_t)1 << (n > 1000000 ? 20 : 19);
}
#define TEXT_LENGTH 32
#define ROUNDS_MIN 3
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

static void keep(struct bench_figure *figure, double time) {
    if (figure->count < BENCH_SAMPLES_MAX) figure->sample[figure->count++] = time;
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

/* ---- one operation */

/* A share of the keys of an operation, for one thread. */
struct share {
    const struct bench_contender *c;
    void *filter;
    enum bench_operation op;
    const struct bench_keys *keys;
    size_t from, to;
    unsigned core;
    pthread_barrier_t *start;
    double time;
};

static void run_share(const struct share *s) {
    switch (s->op) {
        case OP_BUILD: /* not here: it has no filter yet */
            break;
        case OP_ADD:
            s->c->add(s->filter, s->keys, s->from, s->to);
            break;
        case OP_ADD_BATCH:
            s->c->add_batch(s->filter, s->keys, s->from, s->to);
            break;
        case OP_REMOVE:
            s->c->remove(s->filter, s->keys, s->from, s->to);
            break;
        case OP_REMOVE_BATCH:
            s->c->remove_batch(s->filter, s->keys, s->from, s->to);
            break;
        case OP_HIT:
        case OP_MISS:
        case OP_MIXED:
            s->c->query(s->filter, s->keys, s->from, s->to);
            break;
        default:
            s->c->query_batch(s->filter, s->keys, s->from, s->to);
            break;
    }
}

static void *time_share(void *argument) {
    struct share *s = argument;
    if (s->start != NULL) {
        bench_pin(s->core);
        pthread_barrier_wait(s->start);
    }
    const double start = bench_thread_time();
    run_share(s);
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
    if (pthread_create(&other, NULL, time_share, &part[1]) != 0)
        bench_die("cannot create a thread");
    time_share(&part[0]);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&start);
    return part[0].time > part[1].time ? part[0].time : part[1].time;
}

static double time_build(const struct bench_contender *c, const struct bench_keys *keys,
                         unsigned threads, double *wall) {
    if (threads > 1) bench_unpin();
    const double clock = bench_wall_time();
    const double process = bench_process_time(), thread = bench_thread_time();
    void *filter = c->build(c, keys, threads);
    const double own = bench_thread_time() - thread;
    const double others = bench_process_time() - process - own;
    *wall += bench_wall_time() - clock;
    if (threads > 1) bench_pin(0);
    if (filter == NULL) bench_die("cannot build a filter");
    c->destroy(filter);
    return own > others ? own : others;
}

/* Adds and removes work on a fresh filter, lookups on the one that was filled. */
static double time_once(struct share *s, void *filled, unsigned threads, double *wall) {
    if (s->op == OP_BUILD) return time_build(s->c, s->keys, threads, wall);
    s->filter = filled;
    if (s->op == OP_REMOVE || s->op == OP_REMOVE_BATCH) {
        s->filter = fill(s->c, s->keys);
    } else if (s->op == OP_ADD || s->op == OP_ADD_BATCH) {
        s->filter = s->c->create(s->c, s->keys->count, s->keys->words == NULL);
    }
    if (s->filter == NULL) bench_die("cannot create a filter");
    if (threads == 1) time_share(s);
    const double time = threads == 1 ? s->time : in_two_threads(s);
    if (s->filter != filled) s->c->destroy(s->filter);
    return time;
}

/* Small filters are created several times in a timing. */
static size_t passes_for(enum bench_operation op, size_t n) {
    return op >= OP_HIT || n >= 500000 ? 1 : 500000 / (n > 0 ? n : 1);
}

/* The first pass is not timed.  Lookups are short, so they are timed several times, each warmed by
 * the one before: with two threads as often as with one. */
static void time_operation(struct share *s, void *filled, unsigned threads,
                           struct bench_figure *figure, struct bench_figure *by_wall) {
    const size_t passes = passes_for(s->op, s->keys->count);
    const double count = (double)passes * (double)s->keys->count;
    double wall = 0;
    time_once(s, filled, threads, &wall);
    for (unsigned timing = 0; timing < (s->op >= OP_HIT ? 3 : 1); timing++) {
        double cpu = 0;
        wall = 0;
        for (size_t pass = 0; pass < passes; pass++) cpu += time_once(s, filled, threads, &wall);
        keep(figure, cpu / count);
    }
    if (s->op == OP_BUILD) keep(by_wall, wall / count);
}

/* ---- a round */

/* Mixed lookups are not measured with two threads: they scale as the others do. */
static bool supports(const struct bench_settings *settings, const struct bench_contender *c,
                     enum bench_operation op, unsigned threads) {
    if ((settings->operations >> op & 1) == 0) return false;
    switch (op) {
        case OP_BUILD:
            return c->build != NULL && (threads == 1 || c->ours);
        case OP_ADD:
            return c->add != NULL && (threads == 1 || c->shared);
        case OP_ADD_BATCH:
            return c->add_batch != NULL && (threads == 1 || c->shared);
        case OP_REMOVE:
            return c->remove != NULL && threads == 1;
        case OP_REMOVE_BATCH:
            return c->remove_batch != NULL && threads == 1;
        case OP_MIXED:
            return threads == 1;
        case OP_MIXED_BATCH:
            return c->query_batch != NULL && threads == 1;
        default:
            return op < OP_HIT_BATCH || c->query_batch != NULL;
    }
}

static const struct bench_keys *keys_of(const struct arena *a, enum bench_operation op) {
    if (op == OP_BUILD) return &a->built.keys;
    if (op < OP_HIT) return &a->added.keys;
    if (op == OP_MIXED || op == OP_MIXED_BATCH) return &a->both.keys;
    return op == OP_HIT || op == OP_HIT_BATCH ? &a->hits.keys : &a->misses.keys;
}

static size_t lines_of(const struct arena *a, size_t i) {
    return ((size_t)a->rows[i]->table_bytes + 63) / 64;
}

/* The keys, uniform 64-bit numbers, are the random positions: the misses for reading, all added
 * keys for writing, so that both read as many keys as the filter does. */
static void time_limit(struct arena *a, size_t i) {
    const unsigned operations = a->settings->operations;
    const bool reads = (operations & BENCH_LOOKUPS) != 0;
    const bool writes =
        a->settings->contenders[i]->create != NULL && (operations & BENCH_ADDS) != 0;
    const size_t lines = lines_of(a, i), queries = a->misses.keys.count, added = a->n;
    for (unsigned pass = 0; reads && pass < 4; pass++) {
        const double start = bench_thread_time();
        /* The sum is stored, so that the compiler cannot omit the reads. */
        a->lines[0] += bench_limit_read(a->lines, lines, a->misses.words, 0, queries);
        const double time = bench_thread_time() - start;
        if (pass > 0) keep(&a->rows[i]->limit_read, time / (double)queries);
    }
    for (unsigned pass = 0; writes && pass < 2; pass++) {
        const double start = bench_thread_time();
        bench_limit_write(a->lines, lines, a->added.words, 0, added);
        const double time = bench_thread_time() - start;
        if (pass > 0) keep(&a->rows[i]->limit_write, time / (double)added);
    }
}

/* Texts: the time of hashing alone, and of lookups alone. */
static void time_parts(struct arena *a, size_t i) {
    const struct bench_contender *c = a->settings->contenders[i];
    if (!c->ours || a->sort != SORT_TEXTS) return;
    const struct bench_keys hashed = {.count = a->misses.keys.count, .words = a->hashes};
    for (unsigned pass = 0; pass < 4; pass++) {
        const double start = bench_thread_time();
        bench_hash_texts(a->filters[i], &a->misses.keys, a->hashes);
        const double time = bench_thread_time() - start;
        if (pass > 0) keep(&a->rows[i]->hashing, time / (double)hashed.count);
    }
    struct share s = {.c = c, .op = OP_MISS_BATCH, .keys = &hashed, .to = hashed.count};
    time_operation(&s, a->filters[i], 1, &a->rows[i]->prehashed, NULL);
}

static bool takes_part(const struct arena *a, size_t i) { return a->filters[i] != NULL; }

static void run_operation(struct arena *a, size_t i, enum bench_operation op, unsigned threads) {
    const struct bench_contender *c = a->settings->contenders[i];
    if (!supports(a->settings, c, op, threads)) return;
    struct share s = {.c = c, .op = op, .keys = keys_of(a, op), .to = keys_of(a, op)->count};
    time_operation(&s, a->filters[i], threads, &a->rows[i]->time[op][threads - 1],
                   &a->rows[i]->build_wall[threads - 1]);
}

/* Does one thing for all contenders, in another order in every round. */
static void for_all(struct arena *a, enum bench_operation op, unsigned threads) {
    const size_t count = a->settings->contender_count;
    for (size_t turn = 0; turn < count; turn++) {
        const size_t i = (turn + a->rounds) % count;
        if (!takes_part(a, i)) continue;
        if (op < OPERATIONS) {
            run_operation(a, i, op, threads);
        } else {
            time_limit(a, i);
            time_parts(a, i);
        }
    }
}

static void run_round(struct arena *a) {
    const unsigned threads_max = bench_cores() > 1 ? 2 : 1;
    const bool builds = (a->settings->operations & BENCH_BUILDS) != 0;
    a->rounds++;
    if (builds) make_keys(&a->built, a->n, a->sort, key_to_build, a->n * a->rounds);
    for (unsigned op = 0; op < OPERATIONS; op++) {
        for (unsigned threads = 1; threads <= threads_max; threads++) {
            for_all(a, (enum bench_operation)op, threads);
        }
    }
    for_all(a, OPERATIONS, 1);
    if (builds) free_keys(&a->built);
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

typedef size_t lookup(const void *filter, const struct bench_keys *keys, size_t from, size_t to);

static lookup *query_of(const struct bench_contender *c) {
    return c->query_batch != NULL ? c->query_batch : c->query;
}

/* Ours with enough lookups for an exact rate; the slower peers once. */
static double measured_fpr(const struct arena *a, size_t i) {
    const struct bench_contender *c = a->settings->contenders[i];
    lookup *query = query_of(c);
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

/* Some calls more in the second count than in the first: the difference is theirs alone. */
struct steps_job {
    const struct bench_contender *c;
    void *filter;
    const struct bench_keys *keys;
    size_t calls;
    bool add;
};

static void call_repeatedly(void *context) {
    const struct steps_job *job = context;
    if (job->add) {
        job->c->add(job->filter, job->keys, 0, job->calls);
    } else {
        job->c->query(job->filter, job->keys, 0, job->calls);
    }
}

static double steps_of_call(struct steps_job job) {
    double steps[2];
    for (unsigned i = 0; i < 2; i++) {
        job.calls = i == 0 ? 8 : 24;
        steps[i] = bench_steps(call_repeatedly, &job);
    }
    return (steps[1] - steps[0]) / 16;
}

/* What does not depend on the pages is measured once. */
static void measure_space(struct arena *a, size_t i, const struct bench_row *other) {
    struct bench_row *row = a->rows[i];
    const struct bench_contender *c = a->settings->contenders[i];
    struct fill_job job = {c, &a->added.keys};
    if (other != NULL) {
        row->peak_bytes = other->peak_bytes;
        row->fpr = other->fpr;
        row->steps_contains = other->steps_contains;
        row->steps_add = other->steps_add;
    } else {
        if ((a->settings->operations & BENCH_BUILDS) != 0) {
            row->peak_bytes = (double)bench_peak(fill_in_child, &job);
        }
        row->fpr = measured_fpr(a, i);
    }
    if (row->fpr > 0 && row->fpr < 1) row->over_bound = row->bits_per_key / -log2(row->fpr) - 1;
    if (a->n >= PAGES_MATTER || a->sort != SORT_WORDS) return;
    const struct steps_job steps = {c, a->filters[i], &a->added.keys, 0, false};
    row->steps_contains = steps_of_call(steps);
    if (c->add == NULL) return;
    row->steps_add = steps_of_call((struct steps_job){c, a->filters[i], &a->misses.keys, 0, true});
}

static void enter(struct arena *a, size_t i, struct bench_results *results) {
    const struct bench_contender *c = a->settings->contenders[i];
    const struct bench_row *other =
        bench_find(results, c->name, a->sort, a->n, 1 - a->settings->pages);
    a->filters[i] = NULL;
    if (a->sort == SORT_TEXTS && c->only_words) return;
    a->filters[i] = fill(c, &a->added.keys);
    if (a->filters[i] == NULL) bench_die("cannot create a filter");
    struct bench_row *row = bench_new_row(results);
    snprintf(row->name, sizeof row->name, "%s", c->name);
    if (c->ours) snprintf(row->path, sizeof row->path, "%s", bench_path(a->filters[i]));
    row->ours = c->ours;
    row->sort = a->sort;
    row->pages = a->settings->pages;
    row->n = a->n;
    row->table_bytes = (double)c->bytes(a->filters[i]);
    row->bits_per_key = 8 * row->table_bytes / (double)a->n;
    a->rows[i] = row;
    measure_space(a, i, other);
    if (query_of(c)(a->filters[i], &a->added.keys, 0, a->n) != a->n) {
        fprintf(stderr, "tamis-bench: %s: false negative\n", c->name);
        exit(1);
    }
}

/* ---- the measurement */

static void settle_row(struct bench_row *row) {
    for (unsigned op = 0; op < OPERATIONS; op++) {
        settle(&row->time[op][0]);
        settle(&row->time[op][1]);
    }
    settle(&row->build_wall[0]);
    settle(&row->build_wall[1]);
    settle(&row->limit_read);
    settle(&row->limit_write);
    settle(&row->hashing);
    settle(&row->prehashed);
}

static void make_arena(struct arena *a, struct bench_results *results) {
    a->queries = queries_for(a->n);
    make_keys(&a->added, a->n, a->sort, key_to_add, a->n);
    make_keys(&a->hits, a->queries, a->sort, key_to_hit, a->n);
    make_keys(&a->misses, a->queries, a->sort, key_to_miss, a->n);
    make_keys(&a->both, a->queries, a->sort, key_of_both, a->n);
    a->hashes = bench_allocate(a->queries * sizeof *a->hashes);
    for (size_t i = 0; i < a->settings->contender_count; i++) {
        enter(a, i, results);
        if (takes_part(a, i) && lines_of(a, i) * 64 > a->lines_bytes) {
            a->lines_bytes = lines_of(a, i) * 64;
        }
    }
    a->lines = aligned_alloc(64, a->lines_bytes);
    if (a->lines == NULL) bench_die("out of memory");
    memset(a->lines, 0, a->lines_bytes);
}

void bench_measure(const struct bench_settings *settings, size_t n, enum bench_sort sort,
                   struct bench_results *results) {
    struct arena a = {.settings = settings, .sort = sort, .n = n};
    bench_use_pages(settings->pages);
    make_arena(&a, results);
    bool continues = true;
    while (a.rounds < settings->repeats && (continues || a.rounds < ROUNDS_MIN)) {
        run_round(&a);
        continues = settings->progress();
    }
    for (size_t i = 0; i < settings->contender_count; i++) {
        if (!takes_part(&a, i)) continue;
        settle_row(a.rows[i]);
        a.rows[i]->rounds = (unsigned)a.rounds;
        settings->contenders[i]->destroy(a.filters[i]);
    }
    free(a.lines);
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

bool bench_has_pages(const struct bench_row *row, enum bench_pages pages) {
    return row->pages == pages || row->n < PAGES_MATTER;
}

const struct bench_row *bench_find(const struct bench_results *results, const char *name,
                                   enum bench_sort sort, size_t n, enum bench_pages pages) {
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (row->sort == sort && row->n == n && bench_has_pages(row, pages) &&
            strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}
