/* stage.h - one stage of a scalable filter: a table of fixed capacity, divided into segments
 *
 * All functions take hashes of scalable_hash (scalable.h).  See stage.c. */
#ifndef TAMIS_REDIS_TABLES_STAGE_H
#define TAMIS_REDIS_TABLES_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/byte_io.h"
#include "tables/cow_table.h"
#include "tamis.h"

#define SCALABLE_BATCH 128 /* hashes in a batch; at most 255 */

#define SMALL_KEYS 8192 /* a Bloom stage of fewer is a bare table */

#define STAGE_MAX ((uint64_t)1 << 32) /* keys */

/* The lowest rate that 64 bits of hash support. */
#define FPR_MIN 0x1p-48
#define FPR_MAX 0.5

struct stage {
    tamis_kind kind;
    bool small; /* a bare table (tamis_small_create) instead of segments */
    uint32_t segments;
    uint32_t awaiting; /* segments not loaded yet */
    uint64_t capacity;
    uint64_t keys;
    double fpr;             /* its share of the target */
    uint64_t segment_bytes; /* of one table */
    union {
        struct cow_table **segment; /* a tamis_filter each; NULL: no keys yet */
        uint8_t *bare;              /* segment_bytes bytes; NULL: no keys yet */
    } table;
    uint8_t *awaited; /* a bit for each segment not loaded yet; NULL if bare or all are loaded */
};

/* SCALABLE_FULL: no room for the key. */
enum scalable_result { SCALABLE_OK, SCALABLE_FULL, SCALABLE_NO_MEMORY };

/* ---- shapes */

/* Chooses the kind that takes the least memory; a cuckoo filter only if it is smaller by a factor
 * of `gain`.  False if no kind supports the parameters. */
bool stage_shape(struct stage *l, uint64_t capacity, double fpr, double gain, bool removes);
/* Changes the shape to blocked Bloom filters of this rate, if they support it. */
void stage_shape_blocked(struct stage *l, double fpr);
/* Bytes of the tables when all are in use. */
uint64_t stage_plan(const struct stage *l);

/* ---- creating and freeing */

/* Allocates the directory of segments of a stage whose shape is set. */
bool stage_open(struct stage *l);
/* Allocates the table of a stage of one segment. */
bool stage_warm(struct stage *l);
/* Drops all segments. */
void stage_forget(struct stage *l);
/* Shares all segments with `from`; a bare table is copied. */
bool stage_copy(struct stage *l, const struct stage *from);
void stage_drop(struct stage *l);

/* ---- keys */

/* True also if the segment is not loaded yet. */
bool stage_contains(const struct stage *l, uint64_t hash);
/* The same for 1 to SCALABLE_BATCH keys. */
void stage_contains_batch(const struct stage *l, const uint64_t *hashes, size_t count,
                          bool *results);

enum scalable_result stage_add(struct stage *l, uint64_t hash);
/* Adds the first keys, as many as the stage accepts; returns how many. */
size_t stage_add_some(struct stage *l, const uint64_t *hashes, size_t count);
/* Adds the keys that are not present and sets `fresh` for them; all must fit, and the stage must
 * not be cuckoo.  False, and nothing changes, if memory runs out. */
bool stage_add_fresh(struct stage *l, const uint64_t *hashes, size_t count, bool *fresh);

/* The number of copies of a key. */
unsigned stage_count(const struct stage *l, uint64_t hash);
/* As scalable_own and scalable_remove. */
bool stage_own(struct stage *l, uint64_t hash);
bool stage_remove(struct stage *l, uint64_t hash);

/* ---- sums and shared tables: as in scalable.h */

size_t stage_bytes(const struct stage *l);
size_t stage_unready(const struct stage *l, size_t max, bool change);
void stage_prepare(const struct stage *l);
/* Replaces small tables by copies. */
void stage_move(struct stage *l);

/* ---- as bytes */

void stage_write(const struct stage *l, struct byte_writer *w);
/* A stage whose segments are not loaded yet.  False, with nothing to drop, if the bytes are
 * invalid. */
bool stage_read(struct stage *l, bool removes, struct byte_reader *r);

bool stage_has_chunk(const struct stage *l, uint64_t segment);
/* The caller frees it; NULL if memory runs out. */
uint8_t *stage_chunk(const struct stage *l, uint64_t segment, size_t *length);
/* False, and nothing changes, if these are not the bytes of a segment that is awaited. */
bool stage_load(struct stage *l, uint64_t segment, const void *bytes, size_t length);

#endif
