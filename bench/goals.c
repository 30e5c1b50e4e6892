/* goals.c - the goals, as ratios, and the measured values
 *
 * Every goal has two values: a required one and a target.  The
 * measured value is the worst case over the goal's operations and numbers of keys, against the
 * fastest peer if there are several.
 *
 * Goals are for 64-bit keys.  Single lookups of texts are listed for comparison: tamis and RocksDB
 * hash them with the same function, and out of the caches the processor's reorder window holds
 * three or four of our lookups, including the hash, and half as many of theirs. */
#include <math.h>
#include <string.h>

#include "report.h"

#define IN_CACHE 1000000
#define MIDDLE 10000000
#define OUT_OF_CACHE ((size_t)1 << 25)

enum way {
    AGAINST_PEER,  /* the peer's time over ours */
    TIMES_LIMIT,   /* our time over the limit's */
    OVER_BOUND,    /* bits over the bound, in percent */
    TWO_THREADS,   /* our time with one thread over that with two */
    TEXT_OVERHEAD, /* texts: our time over hashing + lookup */
    BUILD_MEMORY   /* (peak - filter) / (8 bytes per key); the caller's keys are not counted */
};

struct goal {
    const char *what;
    enum way way;
    const char *ours[4];
    enum bench_operation ops[3]; /* OPERATIONS after the last */
    unsigned threads;
    const char *peers[4];
    size_t n[3];
    bool texts;
    double required, target; /* 0: for comparison only */
};

#define END OPERATIONS

static const struct goal goals[] = {
    {.what = "`block` batch contains, table of 40 MiB, times the limit",
     .way = TIMES_LIMIT,
     .ours = {"block"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .n = {OUT_OF_CACHE},
     .required = 1.35,
     .target = 1.15},
    {.what = "`block` batch add, table of 40 MiB, times the limit",
     .way = TIMES_LIMIT,
     .ours = {"block"},
     .ops = {OP_ADD_BATCH, END},
     .n = {OUT_OF_CACHE},
     .required = 1.35,
     .target = 1.15},
    {.what = "`block` batch contains against the best Boost bulk, in cache",
     .ours = {"block"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"boost-block32", "boost-block64"},
     .n = {IN_CACHE},
     .required = 1.0,
     .target = 1.3},
    {.what = "`block` batch add against the best Boost bulk, in cache",
     .ours = {"block"},
     .ops = {OP_ADD_BATCH, END},
     .peers = {"boost-block32", "boost-block64"},
     .n = {IN_CACHE},
     .required = 1.0,
     .target = 1.3},
    {.what = "`block` batch contains against the same, out of cache",
     .ours = {"block"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"boost-block32", "boost-block64"},
     .n = {OUT_OF_CACHE},
     .required = 0.95,
     .target = 1.0},
    {.what = "`block` batch add against the same, out of cache",
     .ours = {"block"},
     .ops = {OP_ADD_BATCH, END},
     .peers = {"boost-block32", "boost-block64"},
     .n = {OUT_OF_CACHE},
     .required = 0.95,
     .target = 1.0},
    {.what = "`block` single contains against RocksDB's",
     .ours = {"block"},
     .ops = {OP_HIT, OP_MISS, END},
     .peers = {"rocksdb-bloom"},
     .n = {IN_CACHE, MIDDLE},
     .required = 2,
     .target = 4},
    {.what = "`block` single contains against LevelDB's",
     .ours = {"block"},
     .ops = {OP_HIT, OP_MISS, END},
     .peers = {"leveldb"},
     .n = {IN_CACHE, MIDDLE},
     .required = 2,
     .target = 4},
    {.what = "the same against both, 32-byte strings",
     .ours = {"block"},
     .ops = {OP_HIT, OP_MISS, END},
     .peers = {"rocksdb-bloom", "leveldb"},
     .n = {IN_CACHE, MIDDLE},
     .texts = true},
    {.what = "`bloom` batch contains against libbloom",
     .ours = {"bloom"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"libbloom"},
     .n = {IN_CACHE, MIDDLE},
     .required = 4,
     .target = 8},
    {.what = "`bloom` batch add against libbloom",
     .ours = {"bloom"},
     .ops = {OP_ADD_BATCH, END},
     .peers = {"libbloom"},
     .n = {IN_CACHE, MIDDLE},
     .required = 4,
     .target = 8},
    {.what = "`bloom` batch contains against Boost's classic bulk",
     .ours = {"bloom"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"boost-bloom"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1,
     .target = 1.5},
    {.what = "`bloom` batch add against Boost's classic bulk",
     .ours = {"bloom"},
     .ops = {OP_ADD_BATCH, END},
     .peers = {"boost-bloom"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1,
     .target = 1.5},
    {.what = "`cuckoo` single contains against fastfilter's Cuckoo12",
     .ours = {"cuckoo-0.18%"},
     .ops = {OP_HIT, OP_MISS, END},
     .peers = {"fastfilter-cuckoo12"},
     .n = {IN_CACHE, MIDDLE},
     .required = 0.95,
     .target = 1.2},
    {.what = "`cuckoo` batch contains against the same",
     .ours = {"cuckoo-0.18%"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"fastfilter-cuckoo12"},
     .n = {MIDDLE},
     .required = 2.2,
     .target = 3},
    {.what = "`cuckoo` add against the same, in cache",
     .ours = {"cuckoo-0.18%"},
     .ops = {OP_ADD, END},
     .peers = {"fastfilter-cuckoo12"},
     .n = {IN_CACHE},
     .required = 0.9,
     .target = 1.2},
    {.what = "`cuckoo` batch add against the same, out of cache",
     .ours = {"cuckoo-0.18%"},
     .ops = {OP_ADD_BATCH, END},
     .peers = {"fastfilter-cuckoo12"},
     .n = {MIDDLE},
     .required = 1.7,
     .target = 2.5},
    {.what = "`fuse` batch contains at 10M against xor_singleheader",
     .ours = {"fuse3-8"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"xs-fuse8"},
     .n = {MIDDLE},
     .required = 2,
     .target = 3},
    {.what = "`fuse` build, one thread, against its better build",
     .ours = {"fuse3-8"},
     .ops = {OP_BUILD, END},
     .peers = {"xs-fuse8", "xs-fuse16"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1.75,
     .target = 3},
    {.what = "`fuse` build, two threads, against the same",
     .ours = {"fuse3-8"},
     .ops = {OP_BUILD, END},
     .threads = 2,
     .peers = {"xs-fuse8", "xs-fuse16"},
     .n = {IN_CACHE, MIDDLE},
     .required = 2.5,
     .target = 5},
    {.what = "`ribbon` bits over the bound, p = 2^-8",
     .way = OVER_BOUND,
     .ours = {"ribbon-8"},
     .ops = {END},
     .n = {IN_CACHE, MIDDLE},
     .required = 0.7,
     .target = 0.2},
    {.what = "`ribbon` bits over the bound, p = 1 %",
     .way = OVER_BOUND,
     .ours = {"ribbon"},
     .ops = {END},
     .n = {IN_CACHE, MIDDLE},
     .required = 2.5,
     .target = 1.5},
    {.what = "`ribbon` build against RocksDB's ribbon",
     .ours = {"ribbon"},
     .ops = {OP_BUILD, END},
     .peers = {"rocksdb-ribbon"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1.5,
     .target = 3},
    {.what = "`ribbon` batch contains against the same",
     .ours = {"ribbon"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"rocksdb-ribbon"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1.5,
     .target = 3},
    {.what = "`ribbon` build against BuRR",
     .ours = {"ribbon-8"},
     .ops = {OP_BUILD, END},
     .peers = {"burr"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1,
     .target = 2},
    {.what = "`ribbon` batch contains against BuRR",
     .ours = {"ribbon-8"},
     .ops = {OP_HIT_BATCH, OP_MISS_BATCH, END},
     .peers = {"burr"},
     .n = {IN_CACHE, MIDDLE},
     .required = 1,
     .target = 2},
    {.what = "two threads against one, batch contains, 2^25 keys",
     .way = TWO_THREADS,
     .ours = {"block", "fuse", "ribbon", "cuckoo"},
     .ops = {OP_MISS_BATCH, OP_HIT_BATCH, END},
     .n = {OUT_OF_CACHE},
     .required = 1.6,
     .target = 1.9},
    {.what = "two threads against one, builds, 10M keys",
     .way = TWO_THREADS,
     .ours = {"xor", "fuse", "ribbon"},
     .ops = {OP_BUILD, END},
     .n = {MIDDLE},
     .required = 1.6,
     .target = 1.9},
    {.what = "32-byte strings, batch contains, over hashing + lookup",
     .way = TEXT_OVERHEAD,
     .ours = {"block", "bloom", "fuse", "ribbon"},
     .ops = {OP_MISS_BATCH, END},
     .n = {IN_CACHE, MIDDLE},
     .required = 1.2,
     .target = 1.05},
    {.what = "memory of a static build, in 8-byte hashes, besides the filter",
     .way = BUILD_MEMORY,
     .ours = {"xor", "fuse", "ribbon"},
     .ops = {END},
     .n = {MIDDLE},
     .required = 2.2,
     .target = 1.3},
};

static bool less_is_better(enum way way) {
    return way == TIMES_LIMIT || way == OVER_BOUND || way == TEXT_OVERHEAD || way == BUILD_MEMORY;
}

static double time_of(const struct bench_figure *f, bool median) {
    return median ? f->median : f->best;
}

/* The peer's batch operation if it has one, else its single one. */
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
    for (size_t i = 0; i < 4 && goal->peers[i] != NULL; i++) {
        const struct bench_row *row = bench_find(results, goal->peers[i], ours->sort, ours->n);
        const double time = row != NULL ? peer_time(row, op, median) : 0;
        if (time > 0 && !(fastest <= time)) fastest = time;
    }
    return fastest;
}

static double value_of(const struct bench_results *results, const struct goal *goal,
                       const struct bench_row *row, enum bench_operation op, bool median) {
    const double own = op < OPERATIONS ? time_of(&row->time[op][0], median) : 0;
    const double two = op < OPERATIONS ? time_of(&row->time[op][1], median) : 0;
    const double hashes = 8 * (double)row->n;
    switch (goal->way) {
        case AGAINST_PEER:
            return fastest_peer(results, goal, row, op, median) / (goal->threads == 2 ? two : own);
        case TIMES_LIMIT:
            return own / time_of(op == OP_ADD_BATCH ? &row->limit_write : &row->limit_read, median);
        case OVER_BOUND:
            return 100 * row->over_bound;
        case TWO_THREADS:
            return two > 0 ? own / two : NAN;
        case TEXT_OVERHEAD:
            return own / (time_of(&row->hashing, median) + time_of(&row->prehashed, median));
        default:
            return (row->peak_bytes - row->table_bytes) / hashes;
    }
}

static void take_worst(double *worst, double value, bool less) {
    if (isnan(value) || isinf(value)) return;
    if (isnan(*worst) || (less ? value > *worst : value < *worst)) *worst = value;
}

static double worst_of_row(const struct bench_results *results, const struct goal *goal,
                           const struct bench_row *row, bool median) {
    const bool less = less_is_better(goal->way);
    double worst = NAN;
    size_t i = 0;
    do {
        take_worst(&worst, value_of(results, goal, row, goal->ops[i], median), less);
    } while (goal->ops[i] != END && goal->ops[++i] != END);
    return worst;
}

static double result_of(const struct bench_results *results, const struct goal *goal, bool median) {
    const bool less = less_is_better(goal->way);
    double worst = NAN;
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        const bool texts = goal->texts || goal->way == TEXT_OVERHEAD;
        const bool wanted = row->sort == (texts ? SORT_TEXTS : SORT_WORDS);
        for (size_t j = 0; wanted && j < 4 && goal->ours[j] != NULL; j++) {
            for (size_t k = 0; k < 3 && goal->n[k] > 0; k++) {
                if (row->n != goal->n[k] || strcmp(row->name, goal->ours[j]) != 0) continue;
                take_worst(&worst, worst_of_row(results, goal, row, median), less);
            }
        }
    }
    return worst;
}

static const char *mark(const struct goal *goal, double value) {
    const double sign = less_is_better(goal->way) ? -1 : 1;
    if (goal->required == 0) return "no goal";
    if (sign * value >= sign * goal->target) return "target";
    return sign * value >= sign * goal->required ? "required" : "**missed**";
}

void bench_print_goals(FILE *out, const struct bench_results *results) {
    fprintf(out,
            "\n| what | required | target | best (median) | reached |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        const struct goal *goal = &goals[i];
        const char *relation = less_is_better(goal->way) ? "<=" : ">=";
        const double best = result_of(results, goal, false);
        fprintf(out, "| %s |", goal->what);
        if (goal->required == 0) {
            fprintf(out, " | |");
        } else {
            fprintf(out, " %s %.4g | %s %.4g |", relation, goal->required, relation, goal->target);
        }
        if (isnan(best)) {
            fprintf(out, " | not measured here |\n");
        } else {
            fprintf(out, " %.2f (%.2f) | %s |\n", best, result_of(results, goal, true),
                    mark(goal, best));
        }
    }
}
