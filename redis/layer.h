/* layer.h - one layer of a store: a table for so many keys, cut into segments
 *
 * layer.c says how.  All functions take hashes as store_hash gives them (store.h). */
#ifndef TAMIS_REDIS_LAYER_H
#define TAMIS_REDIS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared.h"
#include "tamis.h"
#include "wire.h"

#define STORE_BATCH 128 /* hashes that are asked together; at most 255 */

#define SMALL_KEYS 8192 /* a Bloom layer of fewer is one bare table */

#define LAYER_MOST ((uint64_t)1 << 32) /* keys */

/* 64 bits of hash tell no finer. */
#define RATE_LEAST 0x1p-48
#define RATE_MOST 0.5

struct layer {
    tamis_kind kind;
    bool small; /* a bare table (tamis_small_create) in place of segments */
    uint32_t segments;
    uint32_t awaiting;      /* segments that are to come while chunks are loaded */
    uint64_t capacity;      /* keys that it was made for */
    uint64_t keys;          /* keys in it */
    double rate;            /* its share of the promise */
    uint64_t segment_bytes; /* of the table of one */
    union {
        struct shared **segment; /* a tamis_filter each; NULL: no key has come there yet */
        uint8_t *bare;           /* segment_bytes of them; or NULL likewise */
    } table;
    uint8_t *awaited; /* a bit for each segment that is to come; NULL if it is small, or none is */
};

/* STORE_FULL: there is no room for the key. */
enum store_result { STORE_OK, STORE_FULL, STORE_NO_MEMORY };

/* ---- shapes */

/* A layer of the kind that takes the least memory; a cuckoo filter only if it is smaller by a
 * factor of `gain`.  False if no filter can be like that. */
bool layer_shape(struct layer *l, uint64_t capacity, double rate, double gain, bool removes);
/* The same keys in block filters of this rate, if these can be so fine. */
void layer_shape_blocks(struct layer *l, double rate);
/* Bytes of the tables when all are in use. */
uint64_t layer_plan(const struct layer *l);

/* ---- life */

/* Room for the segments, of a layer whose shape is known; none of them is there yet. */
bool layer_open(struct layer *l);
/* Takes the memory of a layer of one segment. */
bool layer_warm(struct layer *l);
/* Drops all segments. */
void layer_forget(struct layer *l);
/* Shares all segments with `from`; a bare table is copied. */
bool layer_copy(struct layer *l, const struct layer *from);
void layer_drop(struct layer *l);

/* ---- keys */

/* A segment that is still to come may hold anything: the answer is then true. */
bool layer_contains(const struct layer *l, uint64_t hash);
/* The same for up to STORE_BATCH keys, at least one. */
void layer_ask(const struct layer *l, const uint64_t *hashes, size_t count, bool *answers);

enum store_result layer_add(struct layer *l, uint64_t hash);
/* Adds as many of these keys, from the first, as the layer takes; returns how many. */
size_t layer_add_some(struct layer *l, const uint64_t *hashes, size_t count);
/* Adds those keys that are not there, and tells which; all fit, and it is no cuckoo layer.  False,
 * and nothing changes, if there is no memory. */
bool layer_add_fresh(struct layer *l, const uint64_t *hashes, size_t count, bool *fresh);

/* Copies of a key. */
unsigned layer_count(const struct layer *l, uint64_t hash);
/* Takes out one; false if there is none. */
bool layer_remove(struct layer *l, uint64_t hash);

/* ---- sums, and what is shared: as in store.h */

size_t layer_bytes(const struct layer *l);
size_t layer_unready(const struct layer *l, size_t most, bool change);
void layer_prepare(const struct layer *l);
/* Replaces small tables by copies of themselves. */
void layer_move(struct layer *l);

/* ---- as bytes */

void layer_write(const struct layer *l, struct wire_writer *w);
/* A layer that awaits its segments; false, with nothing to be dropped, if the bytes are not one. */
bool layer_read(struct layer *l, bool removes, struct wire_reader *r);

bool layer_has_piece(const struct layer *l, uint64_t segment);
/* In memory of the caller's; NULL: no memory for so many bytes. */
uint8_t *layer_piece(const struct layer *l, uint64_t segment, size_t *length);
/* False, and nothing changes, if these are not the bytes of the segment that is awaited. */
bool layer_load(struct layer *l, uint64_t segment, const void *bytes, size_t length);

#endif
