/* bf.h - the value of a BF key
 *
 * A filter that RedisBloom made (bf_legacy.h), or one of ours: chains of stores (bf_filter.c), or
 * a bud (bf_bud.c). */
#ifndef TAMIS_REDIS_BF_H
#define TAMIS_REDIS_BF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bf_legacy.h"
#include "store.h"

#define BF_CAPACITY_MOST ((uint64_t)1 << 30)
#define BF_EXPANSION_MOST 32768
#define BF_ERROR_MOST 0.25 /* what is asked above is taken as this */
#define BF_GENERATIONS_MOST 64
#define BF_CHAINS_MOST 128
/* Items that the links of a chain are reckoned for: so many in all chains are still a number. */
#define BF_RECKONED_MOST (UINT64_MAX / 4 / BF_CHAINS_MOST)

/* A store, and the links that it is reckoned in: see bf_filter.c. */
struct chain {
    struct store *store;
    uint64_t links;
    uint64_t before;        /* capacity of all links but the last, which are full */
    uint64_t last_capacity; /* of the newest link */
    uint64_t last_size;     /* items in it */
    uint64_t first_capacity;
    uint64_t epoch; /* with a window: when it is from */
    bool guest;     /* came by BF.MERGE: takes no items */
};

struct bud;

struct bf {
    struct bf_legacy *legacy; /* if not NULL nothing below counts */
    double error;
    uint64_t capacity;
    uint32_t expansion; /* 0: does not scale */
    uint64_t limit;     /* bytes; 0: any number */
    uint64_t window;    /* milliseconds; 0: items stay for ever */
    uint32_t generations;
    uint32_t chains; /* 0: it is a bud */
    union {
        struct chain *chain; /* the first takes the items */
        struct bud *bud;
    } in;
};

struct bf_want {
    double error;
    uint64_t capacity;
    uint32_t expansion;
    uint64_t limit, window;
    uint32_t generations;
    uint64_t epoch; /* with a window: now */
};

/* Why an item was not added; BF_OK: it was, or was there. */
enum bf_wrong { BF_OK, BF_FULL, BF_LIMIT, BF_FAILED, BF_LOADING };

/* What became of the items of a batch. */
struct bf_batch {
    size_t done;               /* all, or those before the one that failed */
    enum bf_wrong wrong;       /* why that one failed */
    size_t changes;            /* of the done ones, those that changed something: */
    bool changed[STORE_BATCH]; /* those that are new, or were only in an older generation */
    bool fresh[STORE_BATCH];   /* those that are new */
};

/* ---- life */

/* Nothing but zeros; NULL if there is no memory. */
struct bf *bf_new(void);
struct bf *bf_create(const struct bf_want *want);
struct bf *bf_of_legacy(struct bf_legacy *legacy);
/* Shares all tables with `f`. */
struct bf *bf_copy(const struct bf *f);
void bf_free(struct bf *f);

/* ---- buds: bf_bud.c */

bool bf_is_bud(const struct bf *f);
/* Makes it a bud if it can be one. */
void bf_pack(struct bf *f);
/* Makes it a filter of chains; false, and it stays a bud, if there is no memory. */
bool bf_unpack(struct bf *f);
/* A copy that is no bud; NULL if there is no memory. */
struct bf *bf_whole(const struct bf *f);

struct bud *bud_copy(const struct bud *b);
/* As bf_contains and bf_add; but the latter stops without a reason at an item that has no room. */
void bud_contains(const struct bf *f, const struct items *items, bool *answers);
void bud_add(struct bf *f, const struct items *items, struct bf_batch *batch);
uint64_t bud_keys(const struct bud *b);
size_t bud_bytes(const struct bud *b);

/* Bytes that the first link needs in the end; UINT64_MAX if it cannot be made. */
uint64_t bf_plan(const struct bf_want *want);

/* ---- items */

/* Sets `answers` for all items.  `epoch`: now, for a filter with a window. */
void bf_contains(const struct bf *f, const struct items *items, uint64_t epoch, bool *answers);
/* Adds the items, in order, up to the first that fails.  The filter must have been turned to now
 * (bf_turn). */
void bf_add(struct bf *f, const struct items *items, struct bf_batch *batch);

/* ---- the window */

/* The epoch of a time, in milliseconds. */
uint64_t bf_epoch(const struct bf *f, uint64_t milliseconds);
/* Drops what is too old and opens a generation for `epoch`; not while the filter is loading.
 * Returns whether anything changed; sets `*failed` if there was no memory. */
bool bf_turn(struct bf *f, uint64_t epoch, bool *failed);

/* ---- merging */

/* NULL, or why it cannot be part of a union. */
const char *bf_unmergeable(const struct bf *f);
/* Adds all that `from` has; both may be part of one.  NULL, or what is wrong.  Sets `*changed`
 * unless it is known that nothing has.  `take_all`: another server has done so, where there was
 * room. */
const char *bf_merge(struct bf *into, const struct bf *from, bool take_all, bool *changed);

/* ---- tables that are shared, or still to be united (shared.h) */

/* How many tables a command would have to wait for that asks for so many items, or adds them. */
size_t bf_unready(const struct bf *f, size_t items, bool change);
/* Has them made ready. */
void bf_prepare(const struct bf *f);

/* ---- numbers */

struct bf_numbers {
    uint64_t capacity, bytes, links, items;
    double error; /* bound of the rate: more than asked for after BF.MERGE */
};
struct bf_numbers bf_numbers(const struct bf *f);
/* The items among them that the window has not left behind. */
uint64_t bf_items(const struct bf *f, uint64_t epoch);
size_t bf_effort(const struct bf *f);
bool bf_is_loading(const struct bf *f);

/* ---- bytes: bf_chunks.c */

/* The description of a filter of ours; in memory of the caller's.  NULL: no memory. */
uint8_t *bf_header(const struct bf *f, size_t *length);
/* A filter that awaits its pieces; NULL if the header is not one. */
struct bf *bf_from_header(const uint8_t *bytes, size_t length);
/* Is it a header of ours at all?  (Or RedisBloom's, or nothing.) */
bool bf_is_header(const uint8_t *bytes, size_t length);

/* What BF.SCANDUMP gives at this iterator, of any filter, in memory of the caller's: the header at
 * 0, then the pieces.  NULL past the end, with a length of 0, or if there is no memory for so many
 * bytes.  Sets the next iterator, which is also the one that BF.LOADCHUNK takes the bytes with. */
uint8_t *bf_chunk(const struct bf *f, long long iterator, size_t *length, long long *next);
/* How many pieces there may be. */
uint64_t bf_slots(const struct bf *f);
bool bf_load_piece(struct bf *f, uint64_t slot, const void *bytes, size_t length);

#endif
