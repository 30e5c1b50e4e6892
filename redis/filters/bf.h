/* bf.h - the value of a BF key
 *
 * Either a filter made by RedisBloom (redisbloom.h) or one of this module: an array of
 * generations (bf_filter.c), or one small block (bf_small.c). */
#ifndef TAMIS_REDIS_FILTERS_BF_H
#define TAMIS_REDIS_FILTERS_BF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/redisbloom.h"
#include "tables/scalable.h"

#define BF_CAPACITY_MAX ((uint64_t)1 << 30)
#define BF_EXPANSION_MAX 32768
#define BF_ERROR_MAX 0.25 /* higher rates are lowered to this */
#define BF_PER_WINDOW_MAX 64
#define BF_GENERATIONS_MAX 128
/* The maximum number of items in one generation; the sum over all generations fits in 64 bits. */
#define BF_ITEMS_MAX (UINT64_MAX / 4 / BF_GENERATIONS_MAX)

/* One scalable filter of a BF key, and its accounting in sub-filters: see bf_filter.c. */
struct generation {
    struct scalable *scalable;
    uint64_t subfilters;
    uint64_t before;        /* capacity of all sub-filters but the newest; they are full */
    uint64_t last_capacity; /* of the newest sub-filter */
    uint64_t last_size;     /* items in it */
    uint64_t first_capacity;
    uint64_t epoch; /* with a window: the step of its items */
    bool merged;    /* from BF.MERGE: queried, never added to */
};

struct bf_small;

struct bf {
    tamis_filter *redisbloom; /* if not NULL, the rest is unused */
    double error;
    uint64_t capacity;
    uint32_t expansion; /* 0: does not scale */
    uint64_t limit;     /* bytes; 0: no limit */
    uint64_t window;    /* milliseconds; 0: items do not expire */
    uint32_t per_window;
    uint32_t generations; /* in the array; 0: `bf_small` is used */
    union {
        struct generation *generation; /* items are added to the first */
        struct bf_small *bf_small;
    } in;
};

/* Why an item was not added.  BF_OK: it was added or is present. */
enum bf_wrong { BF_OK, BF_FULL, BF_LIMIT, BF_FAILED, BF_LOADING };

/* The result of adding a batch of items. */
struct bf_batch {
    size_t done;                  /* items before the one that failed, or all */
    enum bf_wrong wrong;          /* why it failed */
    size_t changes;               /* number of `changed` items */
    bool changed[SCALABLE_BATCH]; /* new, or present in an older generation only */
    bool fresh[SCALABLE_BATCH];   /* new */
};

/* ---- creating and freeing */

/* All zeros; NULL if memory runs out. */
struct bf *bf_new(void);
/* `want` has the parameters: error to per_window.  `epoch`: with a window, the current one. */
struct bf *bf_create(const struct bf *want, uint64_t epoch);
struct bf *bf_of_redisbloom(tamis_filter *redisbloom);
/* Shares all tables with `f`. */
struct bf *bf_copy(const struct bf *f);
void bf_free(void *bf);

/* ---- small filters: bf_small.c */

bool bf_is_small(const struct bf *f);
/* Converts to a small block if possible. */
void bf_pack(struct bf *f);
/* Converts to an array of generations.  False, and nothing changes, if memory runs out. */
bool bf_unpack(struct bf *f);
/* A copy as an array of generations; NULL if memory runs out. */
struct bf *bf_unpacked(const struct bf *f);

struct bf_small *bf_small_copy(const struct bf_small *b);
/* As bf_contains and bf_add; bf_small_add stops without an error at an item that does not fit. */
void bf_small_contains(const struct bf *f, const struct items *items, bool *results);
void bf_small_add(struct bf *f, const struct items *items, struct bf_batch *batch);
uint64_t bf_small_keys(const struct bf_small *b);
size_t bf_small_bytes(const struct bf_small *b);

/* Bytes of the first sub-filter when it is full; UINT64_MAX if it cannot be created. */
uint64_t bf_plan(const struct bf *want);

/* ---- items */

/* Sets results[i] for all items.  `epoch`: the current one, for a filter with a window. */
void bf_contains(const struct bf *f, const struct items *items, uint64_t epoch, bool *results);
/* Adds the items in order, up to the first that fails.  Call bf_turn first. */
void bf_add(struct bf *f, const struct items *items, struct bf_batch *batch);

/* ---- the window */

/* The epoch (step of the window) of a time in milliseconds. */
uint64_t bf_epoch(const struct bf *f, uint64_t milliseconds);
/* Drops expired generations and starts one for `epoch`; does nothing while the filter is loading.
 * Returns whether anything changed; sets `*failed` if memory runs out. */
bool bf_turn(struct bf *f, uint64_t epoch, bool *failed);

/* ---- merging */

/* NULL, or why the filter cannot be merged. */
const char *bf_unmergeable(const struct bf *f);
/* Adds all items of `from`.  NULL, or an error.  Sets `*changed` unless nothing is known to have
 * changed.  `take_all`: ignore the memory limit, because the primary has accepted it. */
const char *bf_merge(struct bf *into, const struct bf *from, bool take_all, bool *changed);

/* ---- shared tables, and unions that are not built yet (cow_table.h) */

/* The number of tables that a command for `items` items would have to wait for. */
size_t bf_unready(const void *bf, size_t items, bool change);
/* Queues their copies and unions. */
void bf_prepare(const struct bf *f);

/* ---- statistics */

struct bf_numbers {
    uint64_t capacity, bytes, subfilters, items;
    double error; /* upper bound of the false positive rate; BF.MERGE raises it */
};
struct bf_numbers bf_numbers(const struct bf *f);
/* The same with those items that have not expired. */
struct bf_numbers bf_numbers_at(const struct bf *f, uint64_t epoch);
size_t bf_effort(const struct bf *f);
bool bf_is_loading(const struct bf *f);

#endif
