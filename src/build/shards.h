/* shards.h - the table of shards that the static families share
 *
 * A static filter is built from all of its keys at once.  To bound the memory of a build and
 * to let threads share it, the set is cut into shards by the top bits of the hash (keys.h),
 * each built by itself.  There is one shard up to the family's maximum of keys per shard.
 *
 * The table
 *     directory: one entry of 64 bytes per shard
 *         u64 offset of the shard's table, from the start of the table; a multiple of 64
 *         u64 bytes of the shard's table; a multiple of 8
 *         u64 distinct keys in it
 *         u64 word[5]: the family's own
 *     then the shards' tables in order, each padded with zeros to a multiple of 64 bytes
 *
 * The shape
 *     word[0] lg_shards, word[1] distinct keys in all, word[2..7] the family's own
 *     (what is the same in every shard: the width, the arity, ...)
 *
 * A query
 *     g = mix64(h); shard = top lg_shards bits of g; the family sees g << lg_shards.
 * A shard of no keys has no table (bytes 0) and answers "no": the family must test for that. */
#ifndef TAMIS_BUILD_SHARDS_H
#define TAMIS_BUILD_SHARDS_H

#include "build/keys.h"
#include "core/bits.h"
#include "filter/family.h"

#define TAMIS__SHARD_WORDS 5
#define TAMIS__SHARD_ENTRY 64

enum { TAMIS__STATIC_LG_SHARDS = 0, TAMIS__STATIC_KEYS = 1, TAMIS__STATIC_OWN = 2 };

/* One shard as it is built and as it is read. */
struct tamis__shard {
    uint64_t bytes;
    uint64_t keys;
    uint8_t *table; /* when built: from tamis__table_alloc, `bytes` long */
    uint64_t word[TAMIS__SHARD_WORDS];
};

/* A static filter's object.  `shards` has 2^lg_shards entries. */
struct tamis__static {
    tamis_filter base;
    unsigned lg_shards;
    struct tamis__shard *shards;
};

/* What a family provides to be built in shards. */
struct tamis__shard_maker {
    uint64_t max;   /* keys of a shard, on average */
    double scratch; /* bytes for each of them while it is built, besides its hash */
    /* Builds one shard from hashes, grouped (see keys.h), at least one of them; leaves them
     * distinct.  Fails only if memory runs out.  `threads` may be used inside; the result must
     * not depend on it.  `shape` has the family's own words already (width, arity, ...). */
    tamis_status (*build)(const struct tamis__shard_maker *maker, const struct tamis__shape *shape,
                          struct tamis__group *group, unsigned threads, const tamis_allocator *a,
                          struct tamis__shard *shard);
    /* Are word[] and bytes of an untrusted shard consistent, so that every query stays
     * within `bytes`?  keys and bytes are not 0. */
    bool (*check)(const struct tamis__shard_maker *maker, const struct tamis__shape *shape,
                  const struct tamis__shard *shard);
};

/* Makes the table of contents->family from all hashes.  On OK shape, `made` and `capacity`
 * (distinct keys) are set. */
tamis_status tamis__shards_build(const struct tamis__spec *spec, struct tamis__keys *keys,
                                 const tamis_allocator *a, struct tamis__contents *contents);
/* Bytes of a table of 2^lg_shards shards, `keys` keys in all at `bits` bits per key: for sizing. */
uint64_t tamis__shards_estimate(uint64_t keys, unsigned lg_shards, double bits);
/* For the family's entries of the same names. */
bool tamis__shards_check(const struct tamis__shape *shape);
tamis_status tamis__shards_attach(tamis_filter *f);
void tamis__shards_detach(tamis_filter *f);
/* The directory's entry of a shard, for `touches`. */
void tamis__shards_touch(const struct tamis__static *s, const struct tamis__shard *shard,
                         tamis__part_taker *take, void *context);

/* The shard of a hash and what the family sees of it. */
TAMIS_TEMPLATE const struct tamis__shard *tamis__shard_of(const struct tamis__static *s, uint64_t h,
                                                          uint64_t *inner) {
    const uint64_t g = tamis__mix64(h);
    const unsigned lg = s->lg_shards;
    *inner = g << lg;
    return &s->shards[(g >> 1) >> (63 - lg)];
}

#endif
