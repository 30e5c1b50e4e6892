/* keys.h - all hashes of a set, to build from
 *
 * Collects 64-bit hashes in any order, in memory or (past a limit) in a nameless temporary
 * file, and hands them out in shards of bounded size, grouped by their upper bits, which is the
 * order in which every static family wants them.
 *
 *   intake   g = mix64(h): a bijection, so that even a weak hash has uniform upper bits;
 *   shard    the top `lg_shards` bits of g; enough shards that one has at most so many hashes
 *            on average as the family wants, TAMIS__SHARD_KEYS as a rule.  Depends on the
 *            number of hashes only, so the result does not depend on memory or threads;
 *   inside   g << lg_shards, so that the upper bits are uniform again;
 *   buckets  the shard's hashes are grouped by their top `lg_buckets` bits, and bucket b is
 *            hashes[start[b] .. start[b+1]).  The order within a bucket is not defined: what
 *            is built must not depend on it, nor on repeats, which are still there until
 *            somebody calls tamis__group_distinct. */
#ifndef TAMIS_FAMILY_KEYS_H
#define TAMIS_FAMILY_KEYS_H

#include "core/alloc.h"
#include "tamis.h"

#define TAMIS__SHARD_KEYS ((uint64_t)1 << 22)
#define TAMIS__SHARDS_LG_MAX 20

struct tamis__keys;

/* `memory` 0: no limit.  `temporary` may be NULL. */
tamis_status tamis__keys_create(const tamis_allocator *a, uint64_t memory, const char *temporary,
                                struct tamis__keys **out);
void tamis__keys_free(struct tamis__keys *keys);

/* May be called from several threads at once. */
tamis_status tamis__keys_add(struct tamis__keys *keys, const uint64_t *hashes, size_t count);

/* Uses the caller's array in place of collecting: it is only read, and must stay. */
tamis_status tamis__keys_borrow(const tamis_allocator *a, const uint64_t *hashes, size_t count,
                                struct tamis__keys **out);

/* Hashes added, repeats included. */
uint64_t tamis__keys_count(const struct tamis__keys *keys);

/* log2 of the number of shards for `count` hashes, at most `most` in each on average. */
unsigned tamis__keys_lg_shards(uint64_t count, uint64_t most);

/* How many threads may build a shard each, within the memory that was given. */
unsigned tamis__keys_threads(const struct tamis__keys *keys, unsigned lg_shards, unsigned wanted);

/* One shard's hashes, grouped; freed by the caller. */
struct tamis__group {
    uint64_t *hashes;
    size_t count;
    unsigned lg_buckets;
    size_t *start;              /* 2^lg_buckets + 1 */
    bool distinct;              /* known to have no repeats */
    bool lent;                  /* `hashes` belongs to the keys; it may be changed */
    struct tamis__shelf *shelf; /* where its memory is kept for the next one, or NULL */
    tamis_allocator allocator;
    size_t hashes_bytes, start_bytes; /* as allocated */
};

/* No more adds: gets the hashes ready for 2^lg_shards shards, on several threads.  May free what
 * was collected as it goes, so after a failure there is nothing to build from.  Each shard can be
 * asked for once, unless it is said that they will be `again`. */
tamis_status tamis__keys_seal(struct tamis__keys *keys, unsigned lg_shards, unsigned threads,
                              bool again);

/* Sealed: have shards copies of their hashes, besides those that are kept? */
bool tamis__keys_copied(const struct tamis__keys *keys);

/* Frees the hashes: no more shards will be asked for. */
void tamis__keys_drop(struct tamis__keys *keys);

/* On several threads.  May be called for several shards at once. */
tamis_status tamis__keys_shard(struct tamis__keys *keys, uint64_t shard, unsigned threads,
                               struct tamis__group *group);
void tamis__group_free(struct tamis__group *group);

/* Drops repeats, on several threads.  OK or E_NOMEM, after which the group is of no use. */
tamis_status tamis__group_distinct(struct tamis__group *group, unsigned threads);

/* Has the beginning of the group no repeats?  Sets with many are told from those with none. */
bool tamis__group_looks_distinct(const struct tamis__group *group);

/* Sorts the hashes within each bucket, and so all of them. */
void tamis__group_sort(struct tamis__group *group);

#endif
