/* keys_group.h - grouping of hashes, shared by keys.c, keys_group.c and keys_runs.c */
#ifndef TAMIS_BUILD_KEYS_GROUP_H
#define TAMIS_BUILD_KEYS_GROUP_H

#include "build/keys.h"
#include "core/compiler.h"

struct tamis__stretch {
    const uint64_t *hash;
    size_t count;
    bool raw; /* the caller's: not mixed yet */
};

/* The part that a hash belongs to: bits `skip` .. `skip + lg` from the top. */
TAMIS_TEMPLATE size_t tamis__part_of(uint64_t hash, unsigned skip, unsigned lg) {
    return (size_t)(((hash << skip) >> 1) >> (63 - lg));
}

/* Adds the number of hashes in each part to `counts`. */
void tamis__stretch_count(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                          uint64_t *counts);

/* Writes each hash, shifted left by `shift`, to the next position of its part, and advances
 * `next`. */
void tamis__stretch_scatter(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                            unsigned shift, uint64_t *next, uint64_t *to);

/* Turns counts into starts: counts[p] is where part p begins; counts[parts] is the end. */
void tamis__starts_from_counts(uint64_t *counts, size_t parts);

/* log2 of the buckets of a shard of `count` hashes, repeats included. */
unsigned tamis__group_lg_buckets(uint64_t count);

/* Memory of finished groups, for the next ones: the kernel clears new memory, which takes longer
 * than filling it.  Used by several threads. */
#define TAMIS__POOL_BLOCKS 8
struct tamis__pool {
    size_t bytes; /* of each */
    _Atomic(void *) place[TAMIS__POOL_BLOCKS];
};

/* For groups of at most `max` hashes. */
void tamis__pool_open(struct tamis__pool *pool, size_t max);
void tamis__pool_close(struct tamis__pool *pool, const tamis_allocator *a);

/* Memory for `count` hashes, for a group that has only its allocator set. */
tamis_status tamis__group_open(struct tamis__group *g, size_t count);

/* Fills one of 2^lg_units equal units of a group, each some buckets, and sets their `start`.  The
 * first `skip` bits of the hashes, the shard, are shifted out.  `next` has room for the buckets of
 * a unit. */
void tamis__group_fill(struct tamis__group *g, const struct tamis__stretch *s, size_t stretches,
                       unsigned skip, size_t unit, unsigned lg_units, uint64_t *next);

/* Groups a copy of the hashes of a shard, with nothing to shift out.  For a group as above. */
tamis_status tamis__group_copy(struct tamis__group *g, const struct tamis__stretch *s,
                               size_t stretches);

/* No copy: the hashes are grouped already, and 2^lg_finer parts, whose starts are given, make a
 * bucket.  For a group as above. */
tamis_status tamis__group_lend(struct tamis__group *g, uint64_t *hashes, size_t count,
                               const uint64_t *start, unsigned lg_finer);

#endif
