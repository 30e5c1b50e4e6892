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

/* log2 of the buckets of a shard of so many hashes, repeats included. */
unsigned tamis__group_lg_buckets(uint64_t count);

/* Both fill in a group that has its allocator and nothing else.
 * A copy: groups the hashes by their bits after the first `skip`, which are shifted out. */
tamis_status tamis__group_copy(struct tamis__group *g, const struct tamis__stretch *s,
                               unsigned skip);
/* No copy: the hashes are grouped already, and 2^lg_finer parts, whose starts are given, make a
 * bucket. */
tamis_status tamis__group_lend(struct tamis__group *g, uint64_t *hashes, size_t count,
                               const uint64_t *start, unsigned lg_finer);

#endif
