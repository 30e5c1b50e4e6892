/* keys.h - collects all hashes of a set, to build from
 *
 * Collects 64-bit hashes in any order, in memory or (past a limit) in a nameless temporary
 * file, and returns them in shards of bounded size, grouped by their upper bits: the order in
 * which every static family reads them.
 *
 *   intake   g = mix64(h): a bijection, so that even a weak hash has uniform upper bits;
 *   shard    the top `lg_shards` bits of g; enough shards for at most `max` hashes per shard
 *            on average, usually TAMIS__SHARD_KEYS.  Depends on the number of hashes only,
 *            so the result does not depend on memory or threads;
 *   inside   g << lg_shards, so that the upper bits are uniform again;
 *   buckets  the shard's hashes are grouped by their top `lg_buckets` bits, and bucket b is
 *            hashes[start[b] .. start[b+1]).  The order within a bucket is not defined: what
 *            is built must not depend on it, nor on repeats, which remain until
 *            tamis__group_distinct is called. */
#ifndef TAMIS_BUILD_KEYS_H
#define TAMIS_BUILD_KEYS_H

#include "core/alloc.h"
#include "tamis.h"

#define TAMIS__SHARD_KEYS ((uint64_t)1 << 22)
#define TAMIS__SHARDS_LG_MAX 20

struct tamis__keys;

/* `memory` 0: no limit.  `temporary` may be NULL. */
tamis_status tamis__keys_create(const tamis_allocator *a, uint64_t memory, const char *temporary,
                                struct tamis__keys **out);
void tamis__keys_free(struct tamis__keys *keys);

/* Several threads may call it at once. */
tamis_status tamis__keys_add(struct tamis__keys *keys, const uint64_t *hashes, size_t count);

/* Uses the caller's array instead of collecting: it is only read and must outlive the keys. */
tamis_status tamis__keys_borrow(const tamis_allocator *a, const uint64_t *hashes, size_t count,
                                struct tamis__keys **out);

/* Before the first add: hashes are kept until tamis__keys_free, to be read again after building,
 * and summed up before they are stored (kept.h).  Takes 8 bytes a hash more if there is one shard,
 * and no more memory otherwise. */
void tamis__keys_keep(struct tamis__keys *keys);

/* The hashes that are kept, mixed, in any order and in units, as tamis__kept_unit; and how many
 * there should be with which sum.  Repeats may have been dropped, and then are not expected. */
uint64_t tamis__keys_units(const struct tamis__keys *keys);
bool tamis__keys_unit(const struct tamis__keys *keys, uint64_t unit, uint64_t *buffer,
                      const uint64_t **words, size_t *count);
bool tamis__keys_spilled(const struct tamis__keys *keys);
void tamis__keys_expected(const struct tamis__keys *keys, uint64_t *count, uint64_t *sum);

/* Hashes added, repeats included. */
uint64_t tamis__keys_count(const struct tamis__keys *keys);

/* log2 of the number of shards for `count` hashes, at most `max` in each on average. */
unsigned tamis__keys_lg_shards(uint64_t count, uint64_t max);

/* How many threads may build a shard each within the memory limit. */
unsigned tamis__keys_threads(const struct tamis__keys *keys, unsigned lg_shards, unsigned threads);

/* One shard's hashes, grouped; freed by the caller. */
struct tamis__group {
    uint64_t *hashes;
    size_t count;
    unsigned lg_buckets;
    size_t *start;            /* 2^lg_buckets + 1 */
    bool distinct;            /* known to have no repeats */
    bool lent;                /* `hashes` belongs to the keys; it may be changed */
    struct tamis__pool *pool; /* keeps its memory for the next group; or NULL */
    tamis_allocator allocator;
    size_t hashes_bytes, start_bytes; /* as allocated */
};

/* Ends the adds and prepares the hashes for 2^lg_shards shards, on several threads.  May free the
 * collected hashes as it goes, so after a failure nothing can be built.  Each shard can be read
 * once, or with `again` more than once. */
tamis_status tamis__keys_seal(struct tamis__keys *keys, unsigned lg_shards, unsigned threads,
                              bool again);

/* After sealing: do shards copy their hashes? */
bool tamis__keys_copied(const struct tamis__keys *keys);

/* Frees the hashes: no more shards can be read. */
void tamis__keys_drop(struct tamis__keys *keys);

/* Reads a shard, on several threads.  May be called for several shards at once. */
tamis_status tamis__keys_shard(struct tamis__keys *keys, uint64_t shard, unsigned threads,
                               struct tamis__group *group);
void tamis__group_free(struct tamis__group *group);

/* Drops repeats, on several threads.  OK or E_NOMEM, after which the group cannot be used. */
tamis_status tamis__group_distinct(struct tamis__group *group, unsigned threads);

/* Has the beginning of the group no repeats?  Distinguishes sets with many from sets with none. */
bool tamis__group_looks_distinct(const struct tamis__group *group);

/* Sorts the hashes within each bucket, and so all of them. */
void tamis__group_sort(struct tamis__group *group);

#endif
