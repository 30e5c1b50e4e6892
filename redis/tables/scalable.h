/* scalable.h - a scalable filter: stages of segments
 *
 * A stage holds a fixed number of keys; when the newest is full, the next is appended.  All
 * functions that take a hash take the result of scalable_hash.  All stages and segments use one
 * secret and the same hash.  See scalable.c. */
#ifndef TAMIS_REDIS_TABLES_SCALABLE_H
#define TAMIS_REDIS_TABLES_SCALABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/byte_io.h"
#include "tables/stage.h"
#include "tamis.h"

/* An argument of a command; the bytes belong to the server. */
struct item {
    const char *bytes;
    size_t length;
};

/* A batch of them, as the library takes them. */
struct items {
    size_t count;
    const void *bytes[SCALABLE_BATCH];
    size_t length[SCALABLE_BATCH];
};

struct scalable {
    uint8_t secret[TAMIS_SECRET_BYTES];
    double fpr;     /* target of all stages together */
    uint64_t limit; /* maximum bytes; 0: no limit */
    bool grows;     /* reserves a part of the rate for later stages */
    bool removes;   /* stages can count and remove */
    uint32_t stages;
    uint32_t awaiting; /* segments not loaded yet, in all stages */
    struct stage *stage;
};

/* `want` has the secret and the parameters, up to `removes`.  `later`: allocate the first stage
 * with its first key.  NULL if memory runs out or the filter would exceed its limit. */
struct scalable *scalable_create(const struct scalable *want, uint64_t capacity, bool later);
/* A filter whose only stage is a copy of `stage`. */
struct scalable *scalable_of_stage(const struct scalable *want, const struct stage *only);
/* Shares all segments with `from`. */
struct scalable *scalable_copy(const struct scalable *from);
void scalable_free(struct scalable *s);

/* Bytes of the tables when all of the first stage is in use; UINT64_MAX if it cannot be created. */
uint64_t scalable_plan(const struct scalable *want, uint64_t capacity);

static inline uint64_t scalable_hash(const struct scalable *s, const void *key, size_t length) {
    return tamis_hash_secret(s->secret, key, length);
}

static inline void hash_items(const uint8_t *secret, const struct items *items, uint64_t *hashes) {
    if (items->count == 1) { /* nothing to interleave with */
        *hashes = tamis_hash_secret(secret, items->bytes[0], items->length[0]);
        return;
    }
    tamis_hash_secret_batch(secret, items->bytes, items->length, items->count, hashes);
}

/* Queries the stages from `first` on.  True also if the segment is not loaded yet. */
bool scalable_contains(const struct scalable *s, uint64_t hash, uint32_t first);
/* Sets results[i] if key i is possibly in the set; keeps those that are set already. */
void scalable_contains_batch(const struct scalable *s, const uint64_t *hashes, size_t count,
                             bool *results);

/* Adds a key, present or not.  SCALABLE_FULL: over the memory limit.  All segments must be loaded.
 */
enum scalable_result scalable_add(struct scalable *s, uint64_t hash);

/* Returns whether scalable_add_fresh may add `count` keys: they fit in the only stage, which is not
 * a cuckoo filter, so adding a key shows whether it is new. */
bool scalable_takes(const struct scalable *s, size_t count);
/* Adds the keys that are not present, sets `fresh` for them and adds their number to `*added`.
 * False if memory runs out. */
bool scalable_add_fresh(struct scalable *s, const uint64_t *hashes, size_t count, bool *fresh,
                        size_t *added);

/* The number of copies of a key. */
unsigned scalable_count(const struct scalable *s, uint64_t hash);
/* The number of stages that possibly have the key. */
unsigned scalable_spread(const struct scalable *s, uint64_t hash);
/* Makes all tables with copies of the key writable, so that scalable_remove cannot fail.  False if
 * memory runs out. */
bool scalable_own(struct scalable *s, uint64_t hash);
/* Removes one copy from the newest stage that has it; false if there is none. */
bool scalable_remove(struct scalable *s, uint64_t hash);
/* Drops the newest stages while they are empty. */
void scalable_trim(struct scalable *s);

uint64_t scalable_keys(const struct scalable *s);
size_t scalable_bytes(const struct scalable *s);
/* The effort of freeing it, in units of which the server frees 64 at once. */
#define EFFORT_BYTES 65536
size_t scalable_effort(const struct scalable *s);

/* Adds the bits of `from` if both have the same secret and stages of the same shape, and no stage
 * exceeds its capacity.  False if not; some bits may have been added, which only raises the false
 * positive rate.  Sets `*changed` unless nothing is known to have changed.  See scalable_merge.c.
 */
bool scalable_merge(struct scalable *into, const struct scalable *from, bool *changed);

/* ---- shared tables, and unions that are not built yet: see cow_table.h */

/* The number of segments that a command for `keys` keys would have to wait for. */
size_t scalable_unready(const struct scalable *s, size_t keys, bool change);
/* Queues their copies and unions. */
void scalable_prepare(const struct scalable *s);

/* ---- as bytes: a description, and a chunk for each segment */

void scalable_write(const struct scalable *s, struct byte_writer *w);
/* A filter whose segments are not loaded yet; NULL if the description is invalid or memory runs
 * out. Allocates the directory only.  `removes` must match the writer's. */
struct scalable *scalable_read(struct byte_reader *r, bool removes);

/* Returns whether it has one stage and no keys.  (The stage may have a table; after reading it has
 * none.) */
bool scalable_is_empty(const struct scalable *s);
/* Removes all keys, all stages but the first, and the table. */
void scalable_forget(struct scalable *s);

/* Allocates what scalable_create would have allocated; false if memory runs out. */
bool scalable_warm(struct scalable *s);

/* The number of segments of all stages, empty ones included: their chunks are numbered in that
 * order. */
uint64_t scalable_chunks(const struct scalable *s);
/* Returns whether this segment has any keys. */
bool scalable_has_chunk(const struct scalable *s, uint64_t index);
/* Its bytes, which the caller frees; NULL if memory runs out. */
uint8_t *scalable_chunk(const struct scalable *s, uint64_t index, size_t *length);
/* Loads a segment from its bytes.  False, and nothing changes, if they are not those of the segment
 * expected there. */
bool scalable_load(struct scalable *s, uint64_t index, const void *bytes, size_t length);

/* Replaces small segments by copies, to move them to other memory. */
void scalable_move(struct scalable *s);

#endif
