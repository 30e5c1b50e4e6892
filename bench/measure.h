/* measure.h - the results, and the rounds that measure them */
#ifndef TAMIS_BENCH_MEASURE_H
#define TAMIS_BENCH_MEASURE_H

#include "contender.h"

#define BENCH_REPEATS_MAX 21
#define BENCH_SAMPLES_MAX (3 * BENCH_REPEATS_MAX)

/* Nanoseconds per key over the repeats. */
struct bench_figure {
    double best, median; /* 0: not measured */
    unsigned count;
    double sample[BENCH_SAMPLES_MAX];
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

#define BENCH_BUILDS (1u << OP_BUILD)
#define BENCH_ADD_BATCH (1u << OP_ADD_BATCH)
#define BENCH_ADDS (1u << OP_ADD | BENCH_ADD_BATCH)
#define BENCH_REMOVES (1u << OP_REMOVE | 1u << OP_REMOVE_BATCH)
#define BENCH_SINGLE (1u << OP_HIT | 1u << OP_MISS | 1u << OP_MIXED)
#define BENCH_BATCH (1u << OP_HIT_BATCH | 1u << OP_MISS_BATCH | 1u << OP_MIXED_BATCH)
#define BENCH_LOOKUPS (BENCH_SINGLE | BENCH_BATCH)
#define BENCH_ALL ((1u << OPERATIONS) - 1)

enum bench_sort { SORT_WORDS, SORT_TEXTS };
extern const char *const bench_sort_name[2];

/* The pages of all memory, the peers' too.  From PAGES_MATTER keys on, everything is measured with
 * both; smaller filters fit into the first buffer of addresses with either. */
enum bench_pages { PAGES_SMALL, PAGES_HUGE };
extern const char *const bench_pages_name[2];
#define PAGES_MATTER 200000

#define BENCH_NAME_MAX 32

/* One contender with n keys of one sort in pages of one size. */
struct bench_row {
    char name[BENCH_NAME_MAX];
    char path[16]; /* ours: the instruction set in use */
    bool ours, printed;
    enum bench_sort sort;
    enum bench_pages pages;
    size_t n;
    unsigned rounds;
    double bits_per_key, fpr;
    double over_bound; /* (bits per key) / log2(1 / rate) - 1 */
    double table_bytes, peak_bytes;
    double steps_contains, steps_add; /* instructions of one call with its loop; 0: not counted */
    struct bench_figure time[OPERATIONS][2]; /* with one thread, with two */
    struct bench_figure build_wall[2];       /* the same by the clock on the wall */
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
    unsigned operations; /* bits: 1 << enum bench_operation */
    enum bench_pages pages;
    const struct bench_contender *const *contenders;
    size_t contender_count;
    bool (*progress)(void); /* called after every round; false: end after three at least */
};

/* Measures all contenders with n keys of a sort and appends a row for each. */
void bench_measure(const struct bench_settings *settings, size_t n, enum bench_sort sort,
                   struct bench_results *results);

/* A new row, all zero. */
struct bench_row *bench_new_row(struct bench_results *results);
/* Was the row measured in these pages, or is it so small that they do not matter? */
bool bench_has_pages(const struct bench_row *row, enum bench_pages pages);
/* NULL if it was not measured. */
const struct bench_row *bench_find(const struct bench_results *results, const char *name,
                                   enum bench_sort sort, size_t n, enum bench_pages pages);

#endif
