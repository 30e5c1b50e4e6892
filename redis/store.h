/* store.h - the keys of a filter: layers of segments
 *
 * store.c says how.  Every function that takes a hash takes what store_hash gives.  A store is
 * made of one secret; all layers and segments see the same hash. */
#ifndef TAMIS_REDIS_STORE_H
#define TAMIS_REDIS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layer.h"
#include "tamis.h"
#include "wire.h"

/* What a client gave: the bytes stay the client's. */
struct item {
    const char *bytes;
    size_t length;
};

/* Many of them, as the library takes them. */
struct items {
    size_t count;
    const void *bytes[STORE_BATCH];
    size_t length[STORE_BATCH];
};

struct store {
    uint8_t secret[TAMIS_SECRET_BYTES];
    double rate;       /* the promise: all layers together */
    uint64_t limit;    /* bytes that it may take; 0: any number */
    bool grows;        /* keeps a part of the promise for later layers */
    bool removes;      /* its layers can count and remove */
    uint32_t layers;   /* in use */
    uint32_t awaiting; /* segments that are to come, in all layers */
    struct layer *layer;
};

struct store_want {
    const uint8_t *secret;
    uint64_t capacity;
    double rate;
    uint64_t limit;
    bool grows, removes;
    bool later; /* the memory of its first layer is taken with the first key */
};

/* NULL if there is no memory for it, or it would be larger than its limit. */
struct store *store_create(const struct store_want *want);
/* One whose only layer is a copy of this one. */
struct store *store_of_layer(const struct store_want *want, const struct layer *only);
/* Shares all segments with `from`. */
struct store *store_copy(const struct store *from);
void store_free(struct store *s);

/* Bytes of the tables of a store for `want` when all of its first layer is in use; UINT64_MAX
 * if it cannot be made. */
uint64_t store_plan(const struct store_want *want);

static inline uint64_t store_hash(const struct store *s, const void *key, size_t length) {
    return tamis_hash_secret(s->secret, key, length);
}

static inline void hash_items(const uint8_t *secret, const struct items *items, uint64_t *hashes) {
    if (items->count == 1) { /* nothing to go side by side with */
        *hashes = tamis_hash_secret(secret, items->bytes[0], items->length[0]);
        return;
    }
    tamis_hash_secret_batch(secret, items->bytes, items->length, items->count, hashes);
}

static inline void store_hash_items(const struct store *s, const struct items *items,
                                    uint64_t *hashes) {
    hash_items(s->secret, items, hashes);
}

/* A segment that is still to come may hold anything: the answer is then true. */
bool store_contains(const struct store *s, uint64_t hash);
/* Asks the layers from this one on. */
bool store_contains_since(const struct store *s, uint64_t hash, uint32_t layer);
/* Sets answers[i] where the key may be there; leaves those that are set already. */
void store_contains_batch(const struct store *s, const uint64_t *hashes, size_t count,
                          bool *answers);

/* Adds a key, whether it is there or not.  STORE_FULL: beyond the limit of memory.  The store
 * must await nothing. */
enum store_result store_add(struct store *s, uint64_t hash);

/* Adds as many of these keys, from the first, as the newest layer takes; returns how many. */
size_t store_add_some(struct store *s, const uint64_t *hashes, size_t count);

/* May so many keys be added by store_add_fresh?  If so they all fit in the only layer, and whether
 * a key is new shows while it is added. */
bool store_takes(const struct store *s, size_t count);
/* Adds those keys that are not there, tells which, and adds their number to `*added`; false if
 * there is no memory. */
bool store_add_fresh(struct store *s, const uint64_t *hashes, size_t count, bool *fresh,
                     size_t *added);

/* Copies of a key. */
unsigned store_count(const struct store *s, uint64_t hash);
/* Layers that seem to have the key. */
unsigned store_spread(const struct store *s, uint64_t hash);
/* Takes out one, of the newest layer that has it; false if there is none. */
bool store_remove(struct store *s, uint64_t hash);
/* Drops the newest layers while they hold nothing. */
void store_trim(struct store *s);

uint64_t store_keys(const struct store *s);
size_t store_bytes(const struct store *s);
/* The work of freeing it, in units of which the server frees 64 at once. */
#define EFFORT_BYTES 65536
size_t store_effort(const struct store *s);

/* Adds the bits of `from` if both have one secret and layers alike, and no layer gets more keys
 * than it was made for.  False if not; some bits may have been added then, which does no harm.
 * Sets `*changed` unless it is known that nothing has.  See store_merge.c. */
bool store_merge(struct store *into, const struct store *from, bool *changed);

/* ---- what is shared, or still to be united: see shared.h */

/* How many segments a command would have to wait for that asks for so many keys, or adds them. */
size_t store_unready(const struct store *s, size_t keys, bool change);
/* Has them made ready. */
void store_prepare(const struct store *s);

/* ---- as bytes: a description, and a piece for each segment */

void store_write(const struct store *s, struct wire_writer *w);
/* A store that awaits its segments; NULL if the description is not one, or there is no memory.
 * Nothing but the directory is allocated.  `removes` as it must be. */
struct store *store_read(struct wire_reader *r, bool removes);

/* Has it one layer, and no keys?  (Its table may be there: it is not after it was read.) */
bool store_is_empty(const struct store *s);
/* Makes it so: forgets all keys, and the table. */
void store_forget(struct store *s);

/* Takes the memory that store_create would have taken; false if there is none. */
bool store_warm(struct store *s);

/* Segments are numbered through, layer by layer, empty ones included. */
uint64_t store_slots(const struct store *s);
/* Is there anything in the segment of this number? */
bool store_has_piece(const struct store *s, uint64_t slot);
/* Then its bytes, in memory of the caller's; NULL: no memory for so many. */
uint8_t *store_piece(const struct store *s, uint64_t slot, size_t *length);
/* Puts the segment that these bytes hold in its place.  False, and nothing changes, if it is not
 * the one that is awaited there. */
bool store_load(struct store *s, uint64_t slot, const void *bytes, size_t length);

/* Replaces small segments by copies of themselves: moves them to other memory. */
void store_move(struct store *s);

#endif
