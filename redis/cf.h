/* cf.h - the value of a CF key
 *
 * Either a filter that RedisBloom made (cf_legacy.h), or one of ours (cf_filter.c). */
#ifndef TAMIS_REDIS_CF_H
#define TAMIS_REDIS_CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cf_legacy.h"
#include "store.h"
#include "tally.h"

#define CF_CAPACITY_MOST ((uint64_t)1 << 30)
#define CF_BUCKET_MOST 255
#define CF_ITERATIONS_MOST 65535
#define CF_EXPANSION_MOST 32768
#define CF_SUBFILTERS_MOST 65536 /* as many as cf-max-expansions allows */
#define CF_ERROR_DEFAULT 0.01
#define CF_ERROR_MOST 0.25 /* what is asked above is taken as this */

struct cf {
    struct cf_legacy *legacy; /* if not NULL nothing below counts */
    double error;
    uint64_t capacity;
    uint64_t limit;       /* bytes; 0: any number */
    uint64_t buckets;     /* of the first sub-filter, as it is reckoned */
    uint64_t subfilters;  /* so many are reckoned */
    uint64_t last_slots;  /* slots of the newest of them, */
    uint64_t other_slots; /* and of all others */
    uint64_t items, deletes;
    uint16_t bucket_size, iterations;
    uint32_t expansion; /* 0: does not grow; else a power of two */
    struct store *store;
    struct tally tally;
    uint32_t awaiting;                 /* shards of the tally that are to come */
    uint8_t awaited[TALLY_SHARDS / 8]; /* a bit for each */
};

struct cf_want {
    double error;
    uint64_t capacity, limit;
    uint16_t bucket_size, iterations;
    uint32_t expansion;
};

/* What became of an item: it was there (CF.ADDNX), it was added, or why not. */
enum cf_result { CF_PRESENT, CF_ADDED, CF_FULL, CF_EXPANSIONS, CF_NO_MEMORY, CF_LIMIT, CF_LOADING };

/* Nothing but zeros; NULL if there is no memory. */
struct cf *cf_new(void);
struct cf *cf_create(const struct cf_want *want);
struct cf *cf_of_legacy(struct cf_legacy *legacy);
/* Shares all tables with `f`. */
struct cf *cf_copy(const struct cf *f);
void cf_free(struct cf *f);
/* Bytes that the filter needs when it holds `capacity` items; UINT64_MAX if it cannot be. */
uint64_t cf_plan(const struct cf_want *want);

/* Adds the items, in order, and tells what became of each (an enum cf_result in a byte).  `nx`:
 * those alone that are not there.  `expansions`: sub-filters that there may be; or CF_TAKE_ALL, of
 * items that another server has taken: the filter may have more room there, for the same items,
 * since what it has depends on what was once in it.  The filter must not be loading.  Returns how
 * many were refused. */
#define CF_TAKE_ALL UINT64_MAX
size_t cf_add(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
              uint8_t *results);
/* The same for one. */
enum cf_result cf_add_one(struct cf *f, const void *item, size_t length, bool nx,
                          uint64_t expansions);
bool cf_contains(const struct cf *f, const void *item, size_t length);
/* Sets `answers` for all items. */
void cf_contains_batch(const struct cf *f, const struct items *items, bool *answers);
uint64_t cf_count(const struct cf *f, const void *item, size_t length);
/* False if it is not there. */
bool cf_remove(struct cf *f, const void *item, size_t length);
/* Returns whether anything changed. */
bool cf_compact(struct cf *f);

/* Tables that are shared: see bf.h. */
size_t cf_unready(const struct cf *f, size_t items, bool change);
void cf_prepare(const struct cf *f);

struct cf_numbers {
    uint64_t bytes, buckets, subfilters, items, deletes, bucket_size, expansion, iterations;
};
struct cf_numbers cf_numbers(const struct cf *f);
size_t cf_effort(const struct cf *f);
bool cf_is_loading(const struct cf *f);

/* ---- bytes: cf_chunks.c; see bf.h */

uint8_t *cf_header(const struct cf *f, size_t *length);
struct cf *cf_from_header(const uint8_t *bytes, size_t length);
bool cf_is_header(const uint8_t *bytes, size_t length);
uint8_t *cf_chunk(const struct cf *f, long long iterator, size_t *length, long long *next);
bool cf_load_piece(struct cf *f, uint64_t slot, const void *bytes, size_t length);

#endif
