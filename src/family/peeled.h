/* peeled.h - the shards of xor and binary fuse filters: layout and lookup
 *
 * A shard of many keys is an array of fingerprints (fingerprint.h) in which every key has its
 * slots (peel.h).  Three rules make it work for any set of keys:
 *
 *     few keys    The array of a small set would be half as large again as necessary, so it uses
 *                 the dense layout of linear.h instead.
 *     retry       A set that cannot be peeled is tried again with another salt, and every few
 *                 attempts with more slots.  About one attempt in ten fails.
 *     fallback    Hashes chosen to share their upper bits defeat any salt and size.  After the last
 *                 attempt (at once if a slot is overcrowded, which does not happen by chance) the
 *                 keys that cannot be peeled are listed as they are, 64 bits each, behind the
 *                 array; or all keys, if most cannot be peeled.  So every set has a filter.  No
 *                 random set has been seen to need it.
 *
 * The table of a shard
 *     fingerprints, padded to a multiple of 8 bytes with at least 7 to spare
 *     the listed hashes, u64 each, upwards
 *
 * The words of a shard
 *     word[0]  salt           linear: its seed
 *     word[1]  range          linear: its slots; 0 if all keys are listed
 *     word[2]  segment        0: linear or all listed
 *     word[3]  hashes listed
 *     word[4]  0
 *
 * The shape
 *     word[2]  width of a fingerprint
 *     word[3]  slots of a key
 *
 * A query reads one fingerprint per slot, all at known addresses, so it is bound by memory: a
 * batch on a table out of cache prefetches the lines of a key well before it reads them. */
#ifndef TAMIS_FAMILY_PEELED_H
#define TAMIS_FAMILY_PEELED_H

#include "build/peel.h"
#include "build/shards.h"

/* The object. */
struct tamis__peeled_filter {
    struct tamis__static base;
    bool plain; /* every shard has an array, and none has a list */
};

enum { TAMIS__PEELED_WIDTH = TAMIS__STATIC_OWN, TAMIS__PEELED_ARITY };
enum {
    TAMIS__PEELED_SALT,
    TAMIS__PEELED_RANGE,
    TAMIS__PEELED_SEGMENT,
    TAMIS__PEELED_LISTED,
    TAMIS__PEELED_UNUSED
};

/* ---- building and the rest: peeled.c */

/* What a family provides: the size of its array by attempt, and how it is peeled. */
struct tamis__peeled {
    struct tamis__shard_maker maker; /* first: the family's `shards` */
    enum tamis__graph graph[2];      /* with three slots per key, and with four */
    /* The geometry for `keys` keys (at most TAMIS__PEEL_KEYS_MAX), without the salt.  Every few
     * attempts it must have more slots. */
    struct tamis__geometry (*geometry)(enum tamis__graph graph, size_t keys, unsigned attempt);
    /* Creates an order of all keys or, if the attempt failed, of fewer. */
    tamis_status (*peel)(enum tamis__graph graph, const struct tamis__geometry *g,
                         const struct tamis__group *group, unsigned threads,
                         const tamis_allocator *a, struct tamis__order *order);
    /* Is this geometry valid for queries of this family?  0 < segment <= range. */
    bool (*check)(enum tamis__graph graph, const struct tamis__geometry *g);
};

/* For the family's entries of the same names. */
tamis_status tamis__peeled_shape(const struct tamis__peeled *how, enum tamis__graph graph,
                                 const struct tamis__spec *spec, struct tamis__shape *shape);
double tamis__peeled_fpr(const struct tamis__shape *shape, double keys);
bool tamis__peeled_check(const struct tamis__shape *shape);
tamis_status tamis__peeled_attach(tamis_filter *f);
void tamis__peeled_state(const tamis_filter *f, struct tamis__state *state);
void tamis__peeled_prefetch(const tamis_filter *f, uint64_t hash);
void tamis__peeled_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                           void *context);

/* For its tamis__shard_maker. */
tamis_status tamis__peeled_build_shard(const struct tamis__shard_maker *maker,
                                       const struct tamis__shape *shape, struct tamis__group *group,
                                       unsigned threads, const tamis_allocator *a,
                                       struct tamis__shard *shard);
bool tamis__peeled_check_shard(const struct tamis__shard_maker *maker,
                               const struct tamis__shape *shape, const struct tamis__shard *shard);

/* Is the hash listed behind the array? */
bool tamis__peeled_listed(const struct tamis__shard *shard, uint64_t inner);
/* Looks up in a shard that has no such array: an empty, a linear or a listed one. */
bool tamis__peeled_find_other(const struct tamis__shard *shard, unsigned width, uint64_t inner);

/* ---- lookup: templates over graph and access */

TAMIS_TEMPLATE bool tamis__peeled_has_array(const struct tamis__shard *shard) {
    return TAMIS_LIKELY(shard->word[TAMIS__PEELED_SEGMENT] != 0);
}

TAMIS_TEMPLATE struct tamis__geometry tamis__peeled_geometry(const struct tamis__shard *shard) {
    return (struct tamis__geometry){shard->word[TAMIS__PEELED_SALT],
                                    shard->word[TAMIS__PEELED_RANGE],
                                    shard->word[TAMIS__PEELED_SEGMENT]};
}

TAMIS_TEMPLATE bool tamis__peeled_match(const uint8_t *table, const struct tamis__key_slots *p,
                                        enum tamis__graph graph, enum tamis__access access,
                                        unsigned width) {
    uint32_t fingerprint = p->fingerprint;
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        fingerprint ^= tamis__fingerprint_load(table, p->at[j], access, width);
    }
    return (fingerprint & tamis__fingerprint_mask(access, width)) == 0;
}

/* No branch on the match, which is unpredictable, unless there is a list. */
TAMIS_TEMPLATE bool tamis__peeled_find(const struct tamis__shard *shard,
                                       const struct tamis__key_slots *p, enum tamis__graph graph,
                                       enum tamis__access access, unsigned width, uint64_t inner) {
    const bool match = tamis__peeled_match(shard->table, p, graph, access, width);
    if (TAMIS_LIKELY(shard->word[TAMIS__PEELED_LISTED] == 0)) return match;
    return match || tamis__peeled_listed(shard, inner);
}

TAMIS_TEMPLATE bool tamis__peeled_shard_contains(const struct tamis__shard *shard,
                                                 enum tamis__graph graph, enum tamis__access access,
                                                 unsigned width, uint64_t inner) {
    if (!tamis__peeled_has_array(shard)) return tamis__peeled_find_other(shard, width, inner);
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    const struct tamis__key_slots p = tamis__key_slots_of(graph, &g, inner);
    return tamis__peeled_find(shard, &p, graph, access, width, inner);
}

TAMIS_TEMPLATE bool tamis__peeled_contains(const tamis_filter *f, uint64_t hash,
                                           enum tamis__graph graph, enum tamis__access access) {
    uint64_t inner;
    const struct tamis__shard *shard =
        tamis__shard_of((const struct tamis__static *)f, hash, &inner);
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    return tamis__peeled_shard_contains(shard, graph, access, width, inner);
}

/* One array in cache: the processor overlaps the keys by itself. */
TAMIS_TEMPLATE size_t tamis__peeled_batch_near(const tamis_filter *f, const uint64_t *hashes,
                                               size_t count, bool *answers, enum tamis__graph graph,
                                               enum tamis__access access) {
    const struct tamis__shard *shard = ((const struct tamis__static *)f)->shards;
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    const uint8_t *table = shard->table;
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__key_slots p = tamis__key_slots_of(graph, &g, tamis__mix64(hashes[i]));
        const bool maybe = tamis__peeled_match(table, &p, graph, access, width);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

/* A key whose lines are being prefetched. */
struct tamis__peeled_pending {
    const struct tamis__shard *shard;
    uint64_t inner;
    struct tamis__key_slots places;
};
#define TAMIS__PEELED_IN_FLIGHT 32

TAMIS_TEMPLATE void tamis__peeled_request(const tamis_filter *f, uint64_t hash,
                                          enum tamis__graph graph, enum tamis__access access,
                                          unsigned width, struct tamis__peeled_pending *key) {
    key->shard = tamis__shard_of((const struct tamis__static *)f, hash, &key->inner);
    if (!tamis__peeled_has_array(key->shard)) return;
    const struct tamis__geometry g = tamis__peeled_geometry(key->shard);
    key->places = tamis__key_slots_of(graph, &g, key->inner);
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        TAMIS_PREFETCH(key->shard->table +
                       tamis__fingerprint_byte(key->places.at[j], access, width));
    }
}

TAMIS_TEMPLATE bool tamis__peeled_receive(const struct tamis__peeled_pending *key,
                                          enum tamis__graph graph, enum tamis__access access,
                                          unsigned width) {
    if (!tamis__peeled_has_array(key->shard)) {
        return tamis__peeled_find_other(key->shard, width, key->inner);
    }
    return tamis__peeled_find(key->shard, &key->places, graph, access, width, key->inner);
}

TAMIS_TEMPLATE size_t tamis__peeled_batch_far(const tamis_filter *f, const uint64_t *hashes,
                                              size_t count, bool *answers, enum tamis__graph graph,
                                              enum tamis__access access) {
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    struct tamis__peeled_pending pending[TAMIS__PEELED_IN_FLIGHT];
    const size_t ahead = count < TAMIS__PEELED_IN_FLIGHT ? count : TAMIS__PEELED_IN_FLIGHT;
    size_t found = 0;
    for (size_t i = 0; i < ahead; i++) {
        tamis__peeled_request(f, hashes[i], graph, access, width, &pending[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct tamis__peeled_pending *key = &pending[i % TAMIS__PEELED_IN_FLIGHT];
        const bool maybe = tamis__peeled_receive(key, graph, access, width);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
        if (i + ahead < count) {
            tamis__peeled_request(f, hashes[i + ahead], graph, access, width, key);
        }
    }
    return found;
}

/* Tables up to this size stay in cache, where prefetching only costs time. */
#define TAMIS__PEELED_NEAR_BYTES ((uint64_t)2 << 20)

TAMIS_TEMPLATE size_t tamis__peeled_contains_batch(const tamis_filter *f, const uint64_t *hashes,
                                                   size_t count, bool *answers,
                                                   enum tamis__graph graph,
                                                   enum tamis__access access) {
    const struct tamis__static *s = (const struct tamis__static *)f;
    const bool in_cache = s->lg_shards == 0 && f->shape.table_bytes <= TAMIS__PEELED_NEAR_BYTES &&
                          tamis__peeled_has_array(s->shards) &&
                          s->shards->word[TAMIS__PEELED_LISTED] == 0;
    return in_cache ? tamis__peeled_batch_near(f, hashes, count, answers, graph, access)
                    : tamis__peeled_batch_far(f, hashes, count, answers, graph, access);
}

#if defined(TAMIS_HAVE_AVX2) && defined(__LP64__)
#define TAMIS__PEELED_AVX2 1
/* The same for any width, if the filter is plain; in peeled_avx2.c. */
size_t tamis__peeled_batch_avx2(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                bool *answers, enum tamis__graph graph);
#endif

#if defined(TAMIS_HAVE_NEON)
/* The same, in peeled_neon.c. */
size_t tamis__xor3_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                        bool *answers);
size_t tamis__fuse3_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                         size_t count, bool *answers);
size_t tamis__fuse4_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                         size_t count, bool *answers);
#endif

/* What the operations with vectors do. */
TAMIS_TEMPLATE size_t tamis__peeled_batch_fast(const tamis_filter *f, const uint64_t *hashes,
                                               size_t count, bool *answers, enum tamis__graph graph,
                                               enum tamis__access access) {
#if defined(TAMIS__PEELED_AVX2)
    if (TAMIS_LIKELY(((const struct tamis__peeled_filter *)f)->plain)) {
        return tamis__peeled_batch_avx2(f, hashes, count, answers, graph);
    }
#endif
#if defined(TAMIS_HAVE_NEON)
    if (TAMIS_LIKELY(((const struct tamis__peeled_filter *)f)->plain)) {
        if (graph == TAMIS__XOR3) return tamis__xor3_neon(f, hashes, NULL, count, answers);
        return graph == TAMIS__FUSE3 ? tamis__fuse3_neon(f, hashes, NULL, count, answers)
                                     : tamis__fuse4_neon(f, hashes, NULL, count, answers);
    }
#endif
    return tamis__peeled_contains_batch(f, hashes, count, answers, graph, access);
}

/* ---- operations: portable and with vectors for each access; wrappers only */

#if defined(TAMIS_HAVE_NEON)
#define TAMIS__PEELED_PATH "neon"
#else
#define TAMIS__PEELED_PATH "avx2"
#endif

#define TAMIS__PEELED_INSTANCE(NAME, GRAPH, ACCESS)                                           \
    static bool NAME##_contains(const tamis_filter *f, uint64_t hash) {                       \
        return tamis__peeled_contains(f, hash, GRAPH, ACCESS);                                \
    }                                                                                         \
    static size_t NAME##_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                               size_t count, bool *answers) {                                 \
        (void)hi;                                                                             \
        return tamis__peeled_contains_batch(f, lo, count, answers, GRAPH, ACCESS);            \
    }                                                                                         \
    static size_t NAME##_fast(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,  \
                              size_t count, bool *answers) {                                  \
        (void)hi;                                                                             \
        return tamis__peeled_batch_fast(f, lo, count, answers, GRAPH, ACCESS);                \
    }

#define TAMIS__PEELED_ENTRY(NAME)                                                          \
    {                                                                                      \
        {.path = "portable", .contains = NAME##_contains, .contains_batch = NAME##_batch}, \
            {.path = TAMIS__PEELED_PATH,                                                   \
             .contains = NAME##_contains,                                                  \
             .contains_batch = NAME##_fast},                                               \
    }

/* Defines NAME_ops, by access and by whether there is AVX2 or NEON. */
#define TAMIS__PEELED_OPS(NAME, GRAPH)                                        \
    TAMIS__PEELED_INSTANCE(NAME##_byte, GRAPH, TAMIS__BYTE)                   \
    TAMIS__PEELED_INSTANCE(NAME##_half, GRAPH, TAMIS__HALF)                   \
    TAMIS__PEELED_INSTANCE(NAME##_word, GRAPH, TAMIS__WORD)                   \
    TAMIS__PEELED_INSTANCE(NAME##_packed, GRAPH, TAMIS__PACKED)               \
    TAMIS__PEELED_INSTANCE(NAME##_wide, GRAPH, TAMIS__WIDE)                   \
    static const struct tamis__ops NAME##_ops[][2] = {                        \
        TAMIS__PEELED_ENTRY(NAME##_byte), TAMIS__PEELED_ENTRY(NAME##_half),   \
        TAMIS__PEELED_ENTRY(NAME##_word), TAMIS__PEELED_ENTRY(NAME##_packed), \
        TAMIS__PEELED_ENTRY(NAME##_wide),                                     \
    };

#endif
