/* goals.c - the goals, as ratios, and the measured values
 *
 * Every goal has a required value and a target.  The measured value is the worst case over the
 * goal's operations and numbers of keys, against the fastest peer if there are several.  It is
 * measured with all memory in 4 KiB pages and with all memory in huge pages, the peers' too; the
 * worse of both decides.
 *
 * Goals are for 64-bit keys.  Single lookups of texts are listed for comparison: tamis and RocksDB
 * hash them with the same function, and out of the caches the processor's reorder window holds
 * three or four of our lookups, including the hash, and half as many of theirs. */
#include <math.h>
#include <string.h>

#include "machine.h"
#include "report.h"

#define NEAR 100000 /* in the second cache */
#define PARALLEL 300000
#define IN_CACHE 1000000
#define MIDDLE 10000000
#define OUT_OF_CACHE ((size_t)1 << 25)
#define FAR 100000000
#define SIZES 2

enum way {
    AGAINST_PEER, /* the peer's time over ours */
    TEXTS_AGAINST_PEER,
    TWO_AGAINST_PEER, /* the same with our wall-clock time with two threads */
    TIMES_LIMIT,      /* our time over the limit's */
    OVER_BOUND,       /* bits over the bound, in percent */
    TWO_THREADS,      /* our time with one thread over that with two */
    STEPS,            /* instructions of one call */
    TEXT_OVERHEAD,    /* texts: our time over hashing + lookup */
    BUILD_MEMORY      /* (peak - filter) / (8 bytes per key); the caller's keys are not counted */
};

struct goal {
    const char *what;
    enum way way;
    const char *ours;    /* names, separated by commas */
    unsigned operations; /* bits */
    const char *peers;   /* the same */
    size_t n[SIZES];
    double required, target; /* 0: for comparison only */
    double without_avx512;   /* required of other instruction sets; 0: the same */
};

#define SINGLE (1u << OP_HIT | 1u << OP_MISS)
#define BATCH (1u << OP_HIT_BATCH | 1u << OP_MISS_BATCH)
#define ADD_BATCH (1u << OP_ADD_BATCH)

#define GOAL(what, way, ours, operations, peers, n, m, required, target, without_avx512) \
    { what, way, ours, operations, peers, {n, m}, required, target, without_avx512 }

static const struct goal goals[] = {
    GOAL("`block` batch contains, table of 40 MiB, times the limit", TIMES_LIMIT, "block", BATCH,
         NULL, OUT_OF_CACHE, 0, 1.35, 1.15, 0),
    GOAL("`block` batch add, table of 40 MiB, times the limit", TIMES_LIMIT, "block", ADD_BATCH,
         NULL, OUT_OF_CACHE, 0, 1.35, 1.15, 0),
    GOAL("`block` batch contains against Boost's `fast_multiblock32<8>` bulk, in cache",
         AGAINST_PEER, "block", BATCH, "boost-block32", NEAR, IN_CACHE, 1.25, 1.3, 0.9),
    GOAL("`block` batch add against the same", AGAINST_PEER, "block", ADD_BATCH, "boost-block32",
         NEAR, IN_CACHE, 1.05, 1.3, 0.9),
    GOAL("`block` batch contains against Boost's `fast_multiblock64<8>` bulk, in cache",
         AGAINST_PEER, "block", BATCH, "boost-block64", NEAR, IN_CACHE, 1.25, 1.3, 1.1),
    GOAL("`block` batch add against the same", AGAINST_PEER, "block", ADD_BATCH, "boost-block64",
         NEAR, IN_CACHE, 1.1, 1.3, 0),
    GOAL("`block` batch contains against the better of both, out of cache", AGAINST_PEER, "block",
         BATCH, "boost-block32,boost-block64", OUT_OF_CACHE, 0, 0.95, 1.0, 0),
    GOAL("`block` batch add against the better of both, out of cache", AGAINST_PEER, "block",
         ADD_BATCH, "boost-block32,boost-block64", OUT_OF_CACHE, 0, 0.95, 1.0, 0),
    GOAL("`block` single contains, instructions with the loop", STEPS, "block", 1u << OP_HIT, NULL,
         NEAR, 0, 28, 28, 0),
    GOAL("`block` single add, instructions with the loop", STEPS, "block", 1u << OP_ADD, NULL, NEAR,
         0, 32, 32, 0),
    GOAL("`block` single contains against RocksDB's", AGAINST_PEER, "block", SINGLE,
         "rocksdb-bloom", IN_CACHE, MIDDLE, 4, 4, 0),
    GOAL("`block` single contains against LevelDB's", AGAINST_PEER, "block", SINGLE, "leveldb",
         IN_CACHE, MIDDLE, 2, 4, 0),
    GOAL("the same against both, 32-byte strings", TEXTS_AGAINST_PEER, "block", SINGLE,
         "rocksdb-bloom,leveldb", IN_CACHE, MIDDLE, 0, 0, 0),
    GOAL("`bloom` batch contains against libbloom", AGAINST_PEER, "bloom", BATCH, "libbloom",
         IN_CACHE, MIDDLE, 4, 8, 0),
    GOAL("`bloom` batch add against libbloom", AGAINST_PEER, "bloom", ADD_BATCH, "libbloom",
         IN_CACHE, MIDDLE, 4, 8, 0),
    GOAL("`bloom` batch contains against Boost's classic bulk", AGAINST_PEER, "bloom", BATCH,
         "boost-bloom", IN_CACHE, MIDDLE, 1, 1.5, 0),
    GOAL("`bloom` batch add against Boost's classic bulk", AGAINST_PEER, "bloom", ADD_BATCH,
         "boost-bloom", IN_CACHE, MIDDLE, 1, 1.5, 0),
    GOAL("`cuckoo` single contains against fastfilter's Cuckoo12", AGAINST_PEER, "cuckoo-0.18%",
         SINGLE, "fastfilter-cuckoo12", IN_CACHE, MIDDLE, 0.95, 1.2, 0),
    GOAL("`cuckoo` batch contains against the same, in cache", AGAINST_PEER, "cuckoo-0.18%", BATCH,
         "fastfilter-cuckoo12", NEAR, IN_CACHE, 2.6, 3, 2.2),
    GOAL("`cuckoo` batch contains against the same, 10M keys", AGAINST_PEER, "cuckoo-0.18%", BATCH,
         "fastfilter-cuckoo12", MIDDLE, 0, 2.1, 3, 0),
    GOAL("`cuckoo` add against the same, in cache", AGAINST_PEER, "cuckoo-0.18%", 1u << OP_ADD,
         "fastfilter-cuckoo12", IN_CACHE, 0, 0.9, 1.2, 0),
    GOAL("`cuckoo` batch add against the same, out of cache", AGAINST_PEER, "cuckoo-0.18%",
         ADD_BATCH, "fastfilter-cuckoo12", MIDDLE, 0, 1.7, 2.5, 0),
    GOAL("`fuse` single contains, 3 slots, instructions with the loop of 8", STEPS, "fuse3-8",
         1u << OP_HIT, NULL, NEAR, 0, 48, 48, 0),
    GOAL("`fuse` batch contains against xor_singleheader's loop, in cache", AGAINST_PEER, "fuse3-8",
         BATCH, "xs-fuse8", NEAR, IN_CACHE, 1.5, 1.6, 1.0),
    GOAL("`fuse` batch contains against the same, 10M keys", AGAINST_PEER, "fuse3-8", BATCH,
         "xs-fuse8", MIDDLE, 0, 1.3, 2, 0),
    GOAL("`fuse` batch contains against the same, 10^8 keys", AGAINST_PEER, "fuse3-8", BATCH,
         "xs-fuse8", FAR, 0, 2, 3, 0),
    GOAL("`fuse` build, one thread, against its better build", AGAINST_PEER, "fuse3-8",
         BENCH_BUILDS, "xs-fuse8,xs-fuse16", IN_CACHE, MIDDLE, 1.75, 3, 0),
    GOAL("`fuse` build, two threads, against the same", TWO_AGAINST_PEER, "fuse3-8", BENCH_BUILDS,
         "xs-fuse8,xs-fuse16", IN_CACHE, MIDDLE, 2.5, 5, 0),
    GOAL("`ribbon` bits over the bound, p = 2^-8", OVER_BOUND, "ribbon-8", BENCH_BUILDS, NULL,
         IN_CACHE, MIDDLE, 0.7, 0.2, 0),
    GOAL("`ribbon` bits over the bound, p = 1 %", OVER_BOUND, "ribbon", BENCH_BUILDS, NULL,
         IN_CACHE, MIDDLE, 2.5, 1.5, 0),
    GOAL("`ribbon` build against RocksDB's ribbon", AGAINST_PEER, "ribbon", BENCH_BUILDS,
         "rocksdb-ribbon", IN_CACHE, MIDDLE, 2, 3, 0),
    GOAL("`ribbon` batch contains against the same", AGAINST_PEER, "ribbon", BATCH,
         "rocksdb-ribbon", IN_CACHE, MIDDLE, 1.5, 3, 0),
    GOAL("`ribbon` build against BuRR", AGAINST_PEER, "ribbon-8", BENCH_BUILDS, "burr", IN_CACHE,
         MIDDLE, 1, 2, 0),
    GOAL("`ribbon` batch contains against BuRR", AGAINST_PEER, "ribbon-8", BATCH, "burr", IN_CACHE,
         MIDDLE, 1, 2, 0),
    GOAL("two threads against one, batch contains, 2^25 keys", TWO_THREADS,
         "block,fuse,ribbon,cuckoo", BATCH, NULL, OUT_OF_CACHE, 0, 1.6, 1.9, 0),
    GOAL("two threads against one, `xor` build, 3 x 10^5 and 10^6 keys", TWO_THREADS, "xor",
         BENCH_BUILDS, NULL, PARALLEL, IN_CACHE, 1.6, 1.9, 0),
    GOAL("two threads against one, `fuse` build, 3 x 10^5 and 10^6 keys", TWO_THREADS, "fuse",
         BENCH_BUILDS, NULL, PARALLEL, IN_CACHE, 1.6, 1.9, 0),
    GOAL("two threads against one, `ribbon` build, 3 x 10^5 and 10^6 keys", TWO_THREADS, "ribbon",
         BENCH_BUILDS, NULL, PARALLEL, IN_CACHE, 1.6, 1.9, 0),
    GOAL("two threads against one, builds, 10M keys", TWO_THREADS, "xor,fuse,ribbon", BENCH_BUILDS,
         NULL, MIDDLE, 0, 1.6, 1.9, 0),
    GOAL("32-byte strings, batch contains, over hashing + lookup", TEXT_OVERHEAD,
         "block,bloom,fuse,ribbon", 1u << OP_MISS_BATCH, NULL, IN_CACHE, MIDDLE, 1.2, 1.05, 0),
    GOAL("memory of a static build, in 8-byte hashes, besides the filter", BUILD_MEMORY,
         "xor,fuse,ribbon", BENCH_BUILDS, NULL, IN_CACHE, MIDDLE, 2.2, 1.3, 0),
};

static bool less_is_better(enum way way) {
    return way != AGAINST_PEER && way != TEXTS_AGAINST_PEER && way != TWO_AGAINST_PEER &&
           way != TWO_THREADS;
}

/* The i-th name of a list; false if there is none. */
static bool name_at(const char *list, size_t i, char name[BENCH_NAME_MAX]) {
    for (; i > 0 && list != NULL; i--) {
        list = strchr(list, ',');
        if (list != NULL) list++;
    }
    if (list == NULL) return false;
    snprintf(name, BENCH_NAME_MAX, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

static double time_of(const struct bench_figure *f, bool median) {
    return median ? f->median : f->best;
}

/* A peer without batches does one after the other. */
static double peer_time(const struct bench_row *row, enum bench_operation op, bool median) {
    static const enum bench_operation single[OPERATIONS] = {[OP_ADD_BATCH] = OP_ADD,
                                                            [OP_REMOVE_BATCH] = OP_REMOVE,
                                                            [OP_HIT_BATCH] = OP_HIT,
                                                            [OP_MISS_BATCH] = OP_MISS,
                                                            [OP_MIXED_BATCH] = OP_MIXED};
    const double time = time_of(&row->time[op][0], median);
    return time > 0 || op < OP_ADD_BATCH ? time : time_of(&row->time[single[op]][0], median);
}

static double fastest_peer(const struct bench_results *results, const struct goal *goal,
                           const struct bench_row *ours, enum bench_operation op, bool median) {
    double fastest = NAN;
    char name[BENCH_NAME_MAX];
    for (size_t i = 0; name_at(goal->peers, i, name); i++) {
        const struct bench_row *row = bench_find(results, name, ours->sort, ours->n, ours->pages);
        const double time = row != NULL ? peer_time(row, op, median) : 0;
        if (time > 0 && !(fastest <= time)) fastest = time;
    }
    return fastest;
}

/* Of one thread over that of two: builds by the clock on the wall, because their threads wait for
 * one another. */
static double speedup(const struct bench_row *row, enum bench_operation op, bool median) {
    const struct bench_figure *figure = op == OP_BUILD ? row->build_wall : row->time[op];
    return time_of(&figure[0], median) / time_of(&figure[1], median);
}

static double value_of(const struct bench_results *results, const struct goal *goal,
                       const struct bench_row *row, enum bench_operation op, bool median) {
    const double own = time_of(&row->time[op][0], median);
    switch (goal->way) {
        case AGAINST_PEER:
        case TEXTS_AGAINST_PEER:
            return fastest_peer(results, goal, row, op, median) / own;
        case TWO_AGAINST_PEER:
            return fastest_peer(results, goal, row, op, median) /
                   time_of(&row->build_wall[1], median);
        case TIMES_LIMIT:
            return own / time_of(op == OP_ADD_BATCH ? &row->limit_write : &row->limit_read, median);
        case OVER_BOUND:
            return 100 * row->over_bound;
        case TWO_THREADS:
            return speedup(row, op, median);
        case STEPS:
            return op == OP_ADD ? row->steps_add : row->steps_contains;
        case TEXT_OVERHEAD:
            return own / (time_of(&row->hashing, median) + time_of(&row->prehashed, median));
        default:
            return (row->peak_bytes - row->table_bytes) / (8 * (double)row->n);
    }
}

/* Zero and less stand for what was not measured. */
static void take_worst(double *worst, double value, bool less) {
    if (!isfinite(value) || value <= 0) return;
    if (isnan(*worst) || (less ? value > *worst : value < *worst)) *worst = value;
}

static double worst_of_row(const struct bench_results *results, const struct goal *goal,
                           const struct bench_row *row, bool median) {
    double worst = NAN;
    for (unsigned op = 0; op < OPERATIONS; op++) {
        if ((goal->operations >> op & 1) == 0) continue;
        take_worst(&worst, value_of(results, goal, row, (enum bench_operation)op, median),
                   less_is_better(goal->way));
    }
    return worst;
}

/* The worst of a goal's filters with n keys; NAN if any of them was not measured. */
static double result_with(const struct bench_results *results, const struct goal *goal, size_t n,
                          enum bench_pages pages, bool median) {
    const bool texts = goal->way == TEXTS_AGAINST_PEER || goal->way == TEXT_OVERHEAD;
    double worst = NAN;
    char name[BENCH_NAME_MAX];
    for (size_t i = 0; name_at(goal->ours, i, name); i++) {
        const struct bench_row *row =
            bench_find(results, name, texts ? SORT_TEXTS : SORT_WORDS, n, pages);
        const double value = row != NULL ? worst_of_row(results, goal, row, median) : NAN;
        if (isnan(value)) return NAN;
        take_worst(&worst, value, less_is_better(goal->way));
    }
    return worst;
}

static double result_of(const struct bench_results *results, const struct goal *goal,
                        enum bench_pages pages, bool median) {
    double worst = NAN;
    for (size_t i = 0; i < SIZES && goal->n[i] > 0; i++) {
        take_worst(&worst, result_with(results, goal, goal->n[i], pages, median),
                   less_is_better(goal->way));
    }
    return worst;
}

/* A row of any of the filters in a list; NULL if there is none. */
static const struct bench_row *any_row(const struct bench_results *results, const char *list) {
    char name[BENCH_NAME_MAX];
    for (size_t i = 0; name_at(list, i, name); i++) {
        for (size_t j = 0; j < results->count; j++) {
            if (strcmp(results->rows[j].name, name) == 0) return &results->rows[j];
        }
    }
    return NULL;
}

static const char *path_of(const struct bench_results *results, const struct goal *goal) {
    const struct bench_row *row = any_row(results, goal->ours);
    return row != NULL ? row->path : "";
}

static double required(const struct goal *goal, const char *path) {
    const bool lower = goal->without_avx512 > 0 && strcmp(path, "avx512") != 0;
    return lower ? goal->without_avx512 : goal->required;
}

static const char *mark(const struct goal *goal, double value, const char *path) {
    const double sign = less_is_better(goal->way) ? -1 : 1;
    if (goal->required == 0) return "no goal";
    if (sign * value >= sign * goal->target) return "target";
    return sign * value >= sign * required(goal, path) ? "required" : "**missed**";
}

/* What decides, and why sizes are missing. */
static void print_verdict(FILE *out, const struct bench_results *results, const struct goal *goal,
                          double worse, const char *left_out) {
    char n[32];
    const char *separator = " (";
    if ((goal->way == TWO_AGAINST_PEER || goal->way == TWO_THREADS) && bench_cores() < 2) {
        fprintf(out, " not measured: one core |\n");
        return;
    }
    if (goal->peers != NULL && any_row(results, goal->peers) == NULL) {
        fprintf(out, " not measured: no %s here (`--peer`) |\n", goal->peers);
        return;
    }
    fprintf(out, " %s", isnan(worse) ? "not measured" : mark(goal, worse, path_of(results, goal)));
    for (size_t i = 0; i < SIZES && goal->n[i] > 0; i++) {
        if (!isnan(result_with(results, goal, goal->n[i], PAGES_HUGE, false))) continue;
        bench_count_text(n, sizeof n, goal->n[i]);
        fprintf(out, "%s%s", separator, n);
        separator = ", ";
    }
    if (separator[0] == ',') fprintf(out, ": %s)", left_out);
    fprintf(out, " |\n");
}

static void print_values(FILE *out, const struct bench_results *results, const struct goal *goal,
                         enum bench_pages pages) {
    const double best = result_of(results, goal, pages, false);
    if (isnan(best)) {
        fprintf(out, " |");
    } else {
        fprintf(out, " %.2f (%.2f) |", best, result_of(results, goal, pages, true));
    }
}

void bench_print_goals(FILE *out, const struct bench_results *results, const char *left_out) {
    fprintf(out,
            "\n| what | path | required | target | 4 KiB pages | huge pages | reached |\n"
            "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        const struct goal *goal = &goals[i];
        const char *relation = less_is_better(goal->way) ? "<=" : ">=";
        const char *path = path_of(results, goal);
        double worse = NAN;
        fprintf(out, "| %s | %s |", goal->what, path);
        if (goal->required == 0) {
            fprintf(out, " | |");
        } else {
            fprintf(out, " %s %.4g | %s %.4g |", relation, required(goal, path), relation,
                    goal->target);
        }
        for (unsigned pages = 0; pages < 2; pages++) {
            print_values(out, results, goal, (enum bench_pages)pages);
            take_worst(&worse, result_of(results, goal, (enum bench_pages)pages, false),
                       less_is_better(goal->way));
        }
        print_verdict(out, results, goal, worse, left_out);
    }
}
