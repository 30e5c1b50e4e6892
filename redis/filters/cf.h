/* cf.h - the value of a CF key
 *
 * Either a filter made by RedisBloom (redisbloom.h) or one of this module (cf_filter.c). */
#ifndef TAMIS_REDIS_FILTERS_CF_H
#define TAMIS_REDIS_FILTERS_CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/exact_counts.h"
#include "filters/redisbloom.h"
#include "tables/scalable.h"

#define CF_CAPACITY_MAX ((uint64_t)1 << 30)
#define CF_BUCKET_MAX 255
#define CF_ITERATIONS_MAX 65535
#define CF_EXPANSION_MAX 32768
#define CF_SUBFILTERS_MAX 65536 /* the maximum of cf-max-expansions */
#define CF_ERROR_DEFAULT 0.01
#define CF_ERROR_MAX 0.25 /* higher rates are lowered to this */

struct cf {
    tamis_filter *redisbloom; /* if not NULL, the rest is unused */
    double error;
    uint64_t capacity;
    uint64_t limit;       /* bytes; 0: no limit */
    uint64_t buckets;     /* of the first sub-filter, as reported */
    uint64_t subfilters;  /* as reported */
    uint64_t last_slots;  /* slots of the newest sub-filter */
    uint64_t other_slots; /* slots of all others */
    uint64_t items, deletes;
    uint16_t bucket_size, iterations;
    uint32_t expansion; /* 0: does not grow; else a power of two */
    struct scalable *scalable;
    struct exact_counts exact_counts;
    uint32_t awaiting;                  /* shards of exact_counts not loaded yet */
    uint8_t awaited[COUNTS_SHARDS / 8]; /* a bit for each */
};

/* The result of adding an item: present (CF.ADDNX), added, or why it was refused. */
enum cf_result { CF_PRESENT, CF_ADDED, CF_FULL, CF_EXPANSIONS, CF_NO_MEMORY, CF_LIMIT, CF_LOADING };

/* All zeros; NULL if memory runs out. */
struct cf *cf_new(void);
/* `want` has the parameters: error, capacity, limit, bucket_size, iterations, expansion. */
struct cf *cf_create(const struct cf *want);
struct cf *cf_of_redisbloom(tamis_filter *redisbloom);
/* Shares all tables with `f`. */
struct cf *cf_copy(const struct cf *f);
void cf_free(void *cf);
/* Bytes that the filter needs for `capacity` items; UINT64_MAX if it cannot be created. */
uint64_t cf_plan(const struct cf *want);

/* Adds the items in order and stores an enum cf_result for each in a byte.  `nx`: only items that
 * are not present.  `expansions`: the maximum number of sub-filters; or CF_TAKE_ALL for items that
 * a primary has accepted: its filter may have more room for the same items, which depends on
 * earlier removals.  The filter must not be loading.  Returns the number of refused items. */
#define CF_TAKE_ALL UINT64_MAX
size_t cf_add(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
              uint8_t *results);
/* Sets results[i] for all items. */
void cf_contains(const struct cf *f, const struct items *items, bool *results);
/* The same for one item: 150 to 200 instructions less than a batch of one, 3 to 5 % of a command.
 */
enum cf_result cf_add_one(struct cf *f, const void *item, size_t length, bool nx,
                          uint64_t expansions);
bool cf_contains_one(const struct cf *f, const void *item, size_t length);
uint64_t cf_count(const struct cf *f, const void *item, size_t length);
/* Sets `*removed` to whether the item was present.  False, and nothing changes, if memory runs out:
 * a table that is shared with a copy of the filter must be copied first. */
bool cf_remove(struct cf *f, const void *item, size_t length, bool *removed);
/* Returns whether anything changed. */
bool cf_compact(struct cf *f);

/* Shared tables: see bf.h. */
size_t cf_unready(const void *cf, size_t items, bool change);
void cf_prepare(const struct cf *f);

struct cf_numbers cf_numbers(const struct cf *f);
size_t cf_effort(const struct cf *f);
bool cf_is_loading(const struct cf *f);

#endif
