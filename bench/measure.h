/* measure.h - the results, and the rounds that measure them */
#ifndef TAMIS_BENCH_MEASURE_H
#define TAMIS_BENCH_MEASURE_H

#include "contender.h"

#define BENCH_REPEATS_MAX 64

/* Nanoseconds per key over the repeats. */
struct bench_figure {
    double best, median; /* 0: not measured */
    double wall;         /* best wall-clock time; 0 where it adds nothing */
    unsigned count;
    double sample[BENCH_REPEATS_MAX];
};

#define BENCH_OPERATION_MAP(X)      \
    X(BUILD, "build")               \
    X(ADD, "add")                   \
    X(ADD_BATCH, "add_batch")       \
    X(REMOVE, "remove")             \
    X(REMOVE_BATCH, "remove_batch") \
    X(HIT, "hit")                   \
    X(MISS, "miss")                 \
    X(MIXED, "mixed")               \
    X(HIT_BATCH, "hit_batch")       \
    X(MISS_BATCH, "miss_batch")     \
    X(MIXED_BATCH, "mixed_batch")

enum bench_operation {
#define X(name, text) OP_##name,
    BENCH_OPERATION_MAP(X)
#undef X
        OPERATIONS
};

extern const char *const bench_operation_name[OPERATIONS];

enum bench_sort { SORT_WORDS, SORT_TEXTS };
extern const char *const bench_sort_name[2];

#define BENCH_NAME_MAX 32

/* One contender with n keys of one sort. */
struct bench_row {
    char name[BENCH_NAME_MAX];
    bool ours;
    enum bench_sort sort;
    size_t n;
    double bits_per_key, fpr;
    double over_bound; /* (bits per key) / log2(1 / rate) - 1 */
    double table_bytes, peak_bytes;
    struct bench_figure time[OPERATIONS][2]; /* with one thread, with two */
    struct bench_figure limit_read, limit_write;
    struct bench_figure hashing; /* ours, texts: hashing; `prehashed`: lookups of the hashes */
    struct bench_figure prehashed;
};

struct bench_results {
    struct bench_row *rows;
    size_t count, room;
};

struct bench_settings {
    unsigned repeats;
    const struct bench_contender *const *contenders;
    size_t contender_count;
};

/* Measures all contenders with n keys of a sort and appends a row for each. */
void bench_measure(const struct bench_settings *settings, size_t n, enum bench_sort sort,
                   struct bench_results *results);

/* A new row, all zero. */
struct bench_row *bench_new_row(struct bench_results *results);
/* NULL if it was not measured. */
const struct bench_row *bench_find(const struct bench_results *results, const char *name,
                                   enum bench_sort sort, size_t n);

#endif
