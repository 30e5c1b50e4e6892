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
 * batch on a table out of cache prefetches the lines of a key well before it reads them.  Batches
 * with vectors are in peeled_kernel.h.  Attaching to a table chooses the operations: those for any
 * table; or vectors, if every shard has an array and none has a list; and if there is one shard, a
 * single lookup that reads all it needs from the object (34 instructions for three slots of a
 * byte). */
#ifndef TAMIS_FAMILY_PEELED_H
#define TAMIS_FAMILY_PEELED_H

#include "build/peel.h"
#include "build/shards.h"
#include "core/cpu.h"

/* What a single lookup reads of a filter that is one array.  What is needed for several slots is
 * here once for each, so that every use is an operand in memory, without a load before it. */
struct tamis__peeled_one {
    const uint8_t *array;
    uint64_t salt, range;
    uint64_t step[TAMIS__ARITY_MAX];  /* fuse: the segment; xor: where block j begins */
    uint64_t bound[TAMIS__ARITY_MAX]; /* fuse: the segment less one; xor: slots of a block */
    uint64_t width;
};

/* The object. */
struct tamis__peeled_filter {
    struct tamis__static base;
    struct tamis__peeled_one one; /* of the first shard */
};

/* An operand in memory saves a single lookup the instruction that moves a constant to a register.
 * Compilers must not see the values, so they are defined in a file without lookups (peeled.c). */
struct tamis__peeled_constants {
    uint64_t mix[2], second_fold;
};
extern const struct tamis__peeled_constants tamis__peeled_constants
    __attribute__((visibility("hidden")));

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
void tamis__peeled_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
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

/* ---- single lookups in a filter that is one array: tamis__key_slots_of and tamis__peeled_match in
 * fewer instructions */

TAMIS_TEMPLATE uint32_t tamis__peeled_xor_one(const struct tamis__peeled_one *one, uint64_t g,
                                              enum tamis__access access, unsigned width) {
    const uint64_t x = tamis__fold(g, one->salt);
    const uint64_t y = tamis__fold(x, tamis__peeled_constants.second_fold);
    const uint64_t first = (x >> 32) * one->bound[0] >> 32;
    const uint64_t second = one->step[1] + ((uint32_t)x * one->bound[1] >> 32);
    const uint64_t third = one->step[2] + ((y >> 32) * one->bound[2] >> 32);
    return (uint32_t)y ^ tamis__fingerprint_load(one->array, first, access, width) ^
           tamis__fingerprint_load(one->array, second, access, width) ^
           tamis__fingerprint_load(one->array, third, access, width);
}

TAMIS_TEMPLATE uint32_t tamis__peeled_fuse_one(const struct tamis__peeled_one *one, uint64_t g,
                                               enum tamis__graph graph, enum tamis__access access,
                                               unsigned width) {
    const unsigned bits = graph == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    const uint64_t x = tamis__fold(g, one->salt);
    uint64_t first = tamis__range(g, one->range);
    uint32_t fingerprint = (uint32_t)x ^ tamis__fingerprint_load(one->array, first, access, width);
    TAMIS_UNROLL
    for (unsigned j = 1; j < tamis__arity(graph); j++) {
        first += one->step[j];
        const uint64_t slot = first ^ (x >> (64 - j * bits) & one->bound[j]);
        fingerprint ^= tamis__fingerprint_load(one->array, slot, access, width);
    }
    return fingerprint;
}

TAMIS_TEMPLATE bool tamis__peeled_contains_one(const tamis_filter *f, uint64_t hash,
                                               enum tamis__graph graph, enum tamis__access access) {
    const struct tamis__peeled_one *one = &((const struct tamis__peeled_filter *)f)->one;
    const struct tamis__peeled_constants *c = &tamis__peeled_constants;
    const unsigned width = (unsigned)one->width;
    const uint64_t g = tamis__mix64_with(hash, c->mix[0], c->mix[1]);
    const uint32_t fingerprint = graph == TAMIS__XOR3
                                     ? tamis__peeled_xor_one(one, g, access, width)
                                     : tamis__peeled_fuse_one(one, g, graph, access, width);
    return (fingerprint & tamis__fingerprint_mask(access, width)) == 0;
}

/* ---- batches with vectors, of any width, for filters in which every shard has an array and none
 * has a list */

typedef size_t tamis__peeled_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *answers);

enum tamis__peeled_path {
    TAMIS__PEELED_PORTABLE,
#if defined(TAMIS_HAVE_AVX2) && defined(__LP64__)
#define TAMIS__PEELED_AVX2 1
    TAMIS__PEELED_PATH_AVX2,
#endif
#if defined(TAMIS_HAVE_AVX512) && defined(__LP64__)
#define TAMIS__PEELED_AVX512 1
    TAMIS__PEELED_PATH_AVX512,
    TAMIS__PEELED_PATH_GATHER, /* AVX-512 where gathers are fast */
#endif
#if defined(TAMIS_HAVE_NEON)
    TAMIS__PEELED_PATH_NEON,
#endif
    TAMIS__PEELED_PATHS
};

static inline enum tamis__peeled_path tamis__peeled_path_of(uint32_t cpu) {
#if defined(TAMIS__PEELED_AVX512)
    if ((cpu & TAMIS__CPU_AVX512) != 0 && (cpu & TAMIS__CPU_GATHER) != 0) {
        return TAMIS__PEELED_PATH_GATHER;
    }
    if ((cpu & TAMIS__CPU_AVX512) != 0) return TAMIS__PEELED_PATH_AVX512;
#endif
#if defined(TAMIS__PEELED_AVX2)
    if ((cpu & TAMIS__CPU_AVX2) != 0) return TAMIS__PEELED_PATH_AVX2;
#endif
#if defined(TAMIS_HAVE_NEON)
    if ((cpu & TAMIS__CPU_NEON) != 0) return TAMIS__PEELED_PATH_NEON;
#endif
    (void)cpu;
    return TAMIS__PEELED_PORTABLE;
}

/* By graph: peeled_avx2.c, peeled_avx512.c and peeled_neon.c. */
#if defined(TAMIS__PEELED_AVX2)
tamis__peeled_batch tamis__xor3_avx2, tamis__fuse3_avx2, tamis__fuse4_avx2;
#define TAMIS__PEELED_ROW_AVX2(NAME, GRAPH) \
    [TAMIS__PEELED_PATH_AVX2] = TAMIS__PEELED_ROW(NAME, "avx2", tamis__##GRAPH##_avx2),
#else
#define TAMIS__PEELED_ROW_AVX2(NAME, GRAPH)
#endif
#if defined(TAMIS__PEELED_AVX512)
tamis__peeled_batch tamis__xor3_avx512, tamis__fuse3_avx512, tamis__fuse4_avx512;
tamis__peeled_batch tamis__xor3_gather, tamis__fuse3_gather, tamis__fuse4_gather;
#define TAMIS__PEELED_ROW_AVX512(NAME, GRAPH)                                                 \
    [TAMIS__PEELED_PATH_AVX512] = TAMIS__PEELED_ROW(NAME, "avx512", tamis__##GRAPH##_avx512), \
    [TAMIS__PEELED_PATH_GATHER] = TAMIS__PEELED_ROW(NAME, "avx512", tamis__##GRAPH##_gather),
#else
#define TAMIS__PEELED_ROW_AVX512(NAME, GRAPH)
#endif
#if defined(TAMIS_HAVE_NEON)
tamis__peeled_batch tamis__xor3_neon, tamis__fuse3_neon, tamis__fuse4_neon;
#define TAMIS__PEELED_ROW_NEON(NAME, GRAPH) \
    [TAMIS__PEELED_PATH_NEON] = TAMIS__PEELED_ROW(NAME, "neon", tamis__##GRAPH##_neon),
#else
#define TAMIS__PEELED_ROW_NEON(NAME, GRAPH)
#endif

/* ---- operations by access and path; wrappers only */

/* Attaching to a table chooses one of these. */
struct tamis__peeled_ops {
    struct tamis__ops any;   /* first: before that it is this one */
    struct tamis__ops plain; /* every shard has an array, and none has a list */
    struct tamis__ops one;   /* plain, and one shard */
};

#define TAMIS__PEELED_INSTANCE(NAME, GRAPH, ACCESS)                                           \
    static bool NAME##_contains(const tamis_filter *f, uint64_t hash) {                       \
        return tamis__peeled_contains(f, hash, GRAPH, ACCESS);                                \
    }                                                                                         \
    static bool NAME##_contains_one(const tamis_filter *f, uint64_t hash) {                   \
        return tamis__peeled_contains_one(f, hash, GRAPH, ACCESS);                            \
    }                                                                                         \
    static size_t NAME##_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                               size_t count, bool *answers) {                                 \
        (void)hi;                                                                             \
        return tamis__peeled_contains_batch(f, lo, count, answers, GRAPH, ACCESS);            \
    }

#define TAMIS__PEELED_ROW(NAME, PATH, BATCH)                                                \
    {                                                                                       \
        .any = {.path = PATH, .contains = NAME##_contains, .contains_batch = NAME##_batch}, \
        .plain = {.path = PATH, .contains = NAME##_contains, .contains_batch = BATCH},      \
        .one = {.path = PATH, .contains = NAME##_contains_one, .contains_batch = BATCH},    \
    }

#define TAMIS__PEELED_ROWS(NAME, GRAPH)                                               \
    {                                                                                 \
        [TAMIS__PEELED_PORTABLE] = TAMIS__PEELED_ROW(NAME, "portable", NAME##_batch), \
        TAMIS__PEELED_ROW_AVX2(NAME, GRAPH) TAMIS__PEELED_ROW_AVX512(NAME, GRAPH)     \
            TAMIS__PEELED_ROW_NEON(NAME, GRAPH)                                       \
    }

/* Defines NAME_ops, by access and path; NAME is also that of the vector batches. */
#define TAMIS__PEELED_OPS(NAME, GRAPH)                                          \
    TAMIS__PEELED_INSTANCE(NAME##_byte, GRAPH, TAMIS__BYTE)                     \
    TAMIS__PEELED_INSTANCE(NAME##_half, GRAPH, TAMIS__HALF)                     \
    TAMIS__PEELED_INSTANCE(NAME##_word, GRAPH, TAMIS__WORD)                     \
    TAMIS__PEELED_INSTANCE(NAME##_packed, GRAPH, TAMIS__PACKED)                 \
    TAMIS__PEELED_INSTANCE(NAME##_wide, GRAPH, TAMIS__WIDE)                     \
    static const struct tamis__peeled_ops NAME##_ops[][TAMIS__PEELED_PATHS] = { \
        [TAMIS__BYTE] = TAMIS__PEELED_ROWS(NAME##_byte, NAME),                  \
        [TAMIS__HALF] = TAMIS__PEELED_ROWS(NAME##_half, NAME),                  \
        [TAMIS__WORD] = TAMIS__PEELED_ROWS(NAME##_word, NAME),                  \
        [TAMIS__PACKED] = TAMIS__PEELED_ROWS(NAME##_packed, NAME),              \
        [TAMIS__WIDE] = TAMIS__PEELED_ROWS(NAME##_wide, NAME),                  \
    };

#endif
