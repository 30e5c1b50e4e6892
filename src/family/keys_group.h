/* keys_group.h - grouping hashes: what keys.c and keys_group.c share */
#ifndef TAMIS_FAMILY_KEYS_GROUP_H
#define TAMIS_FAMILY_KEYS_GROUP_H

#include "core/compiler.h"
#include "family/keys.h"

struct tamis__stretch {
    const uint64_t *hash;
    size_t count;
    bool raw; /* the caller's: not mixed yet */
};

/* The part of a hash that tells its place: bits `skip` .. `skip + lg` from the top. */
TAMIS_TEMPLATE size_t tamis__part_of(uint64_t hash, unsigned skip, unsigned lg) {
    return (size_t)(((hash << skip) >> 1) >> (63 - lg));
}

/* Adds the number of hashes in each part to `counts`. */
void tamis__stretch_count(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                          uint64_t *counts);

/* Puts each hash, shifted left by `shift`, where its part goes on; `next` moves along. */
void tamis__stretch_scatter(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                            unsigned shift, uint64_t *next, uint64_t *to);

/* Counts become starts: counts[p] is where part p begins; counts[parts] is the end. */
void tamis__starts_from_counts(uint64_t *counts, size_t parts);

/* log2 of the buckets of a shard of so many hashes, repeats included. */
unsigned tamis__group_lg_buckets(uint64_t count);

/* Memory of groups that are done with, for those that come: new memory would have to be cleared,
 * which takes longer than filling it.  Used by several threads. */
#define TAMIS__SHELF_PLACES 8
struct tamis__shelf {
    size_t bytes; /* of each */
    _Atomic(void *) place[TAMIS__SHELF_PLACES];
};

/* For groups of at most `most` hashes. */
void tamis__shelf_open(struct tamis__shelf *shelf, size_t most);
void tamis__shelf_close(struct tamis__shelf *shelf, const tamis_allocator *a);

/* Memory for so many hashes, for a group that has its allocator and nothing else. */
tamis_status tamis__group_open(struct tamis__group *g, size_t count);

/* Fills a unit of a group: of 2^lg_units equal ones, each some buckets, whose `start` is set.  The
 * first `skip` bits of the hashes, which are the shard, are shifted out.  `next` is room for the
 * buckets of a unit. */
void tamis__group_fill(struct tamis__group *g, const struct tamis__stretch *s, size_t stretches,
                       unsigned skip, size_t unit, unsigned lg_units, uint64_t *next);

/* Groups a copy of the hashes of a shard, of which nothing has to be shifted out.  For a group as
 * above. */
tamis_status tamis__group_copy(struct tamis__group *g, const struct tamis__stretch *s);

/* No copy: the hashes are grouped already, and 2^lg_finer parts, whose starts are given, make a
 * bucket.  For a group as above. */
tamis_status tamis__group_lend(struct tamis__group *g, uint64_t *hashes, size_t count,
                               const uint64_t *start, unsigned lg_finer);

#endif
