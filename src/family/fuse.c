/* fuse.c - binary fuse filters (Graf and Lemire, 2022): the fastest static filters
 *
 * The array of fingerprints is cut into segments of a power of two of slots.  A key has a slot
 * in each of three or four consecutive segments, and the fingerprints there xor to its own.
 *
 *     segment    0        1        2        3        4        5
 *             |........|...a....|.a......|......a.|a.......|........|
 *                          ^ first slot: the hash, scaled to the range; so keys keep the
 *                            order of their hashes, and a build can sweep over them
 *
 * Since the keys at both ends share their segments with fewer others, peeling (peel.h) starts
 * there, and goes on to the middle at a load at which it could not have started: 1.06 to 1.13
 * slots a key for large sets, where xor needs 1.23.
 *
 * The longer the segments, the fewer slots they need inside, but the more at the ends (K - 1
 * segments besides the range); the table below has the best of both.  It was found by
 * building sets of each size until nine attempts in ten succeeded, or seven below 32768 keys,
 * where another attempt costs little.  Segments are not longer than 2^13 (3 slots) or 2^12 (4
 * slots), so that what a sweep works on stays in the second-level cache.
 *
 *     bits per key at width 7, all included     n = 10^4    10^5    10^6    4 * 10^6
 *         3 slots                                  8.86      8.34    7.95      7.86
 *         4 slots                                  8.51      7.84    7.54      7.46
 *
 * Costs   a query reads 3 or 4 lines.  A build takes 13 to 17 bytes a key besides the filter:
 *         8 for the hash, 4 for the order, and first the rings of the sweeps (or words for all
 *         slots, for a smaller set), then the loose fingerprints of odd widths. */
#include "core/cpu.h"
#include "family/fuse_peel.h"
#include "family/peeled.h"

/* From here on a build is done in sweeps.  Below, the words of all slots take less memory than
 * the sweeps' rings, and about as much time. */
#define SWEEP_KEYS ((size_t)1 << 19)

/* ---- geometry */

#define OCTAVE_FIRST 11
#define OCTAVES 12

/* For 2^11 keys and more, 2^12, ..., 2^22, with three and with four slots a key: log2 of the
 * segment, and the range for 1000 keys. */
static const uint8_t segment_lg[2][OCTAVES] = {
    {7, 8, 8, 9, 10, 11, 11, 12, 12, 12, 13, 13},
    {7, 7, 8, 9, 9, 10, 11, 12, 12, 12, 12, 12},
};
static const uint16_t range_per_1000[2][OCTAVES] = {
    {1175, 1150, 1165, 1145, 1145, 1130, 1138, 1125, 1125, 1126, 1118, 1118},
    {1105, 1130, 1100, 1080, 1092, 1082, 1070, 1057, 1061, 1061, 1061, 1061},
};

static unsigned octave_of(size_t keys) {
    const unsigned lg = tamis__log2(keys);
    if (lg < OCTAVE_FIRST) return 0;
    return lg - OCTAVE_FIRST < OCTAVES ? lg - OCTAVE_FIRST : OCTAVES - 1;
}

static unsigned lg_max(enum tamis__layout layout) {
    return layout == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
}

/* Three attempts of a size; then 3 % and a segment more each time; and from the twelfth on
 * segments of twice the length, against keys that have the same slots whatever the size. */
static struct tamis__geometry fuse_geometry(enum tamis__layout layout, size_t keys,
                                            unsigned attempt) {
    const bool four = layout == TAMIS__FUSE4;
    const unsigned octave = octave_of(keys), steps = attempt / 3;
    const unsigned lg = segment_lg[four][octave];
    const uint64_t segment = (uint64_t)1 << (attempt >= 12 && lg < lg_max(layout) ? lg + 1 : lg);
    const uint64_t range = (uint64_t)keys * (range_per_1000[four][octave] + 30 * steps) / 1000;
    const struct tamis__geometry g = {.range = (tamis__div_up(range, segment) + steps) * segment,
                                      .segment = segment};
    return g;
}

static bool fuse_check_geometry(enum tamis__layout layout, const struct tamis__geometry *g) {
    return (g->segment & (g->segment - 1)) == 0 && g->range % g->segment == 0 &&
           g->segment <= (uint64_t)1 << lg_max(layout);
}

/* ---- shards */

static tamis_status fuse_peel(enum tamis__layout layout, const struct tamis__geometry *g,
                              const struct tamis__group *group, unsigned threads,
                              const tamis_allocator *a, struct tamis__order *order) {
    if (group->count >= SWEEP_KEYS) return tamis__fuse_peel(layout, g, group, threads, a, order);
    return tamis__peel_flat(layout, g, group->hashes, group->count, false, a, order);
}

static const struct tamis__peeled fuse_how = {fuse_geometry, fuse_peel, fuse_check_geometry};

static enum tamis__layout layout_of(const struct tamis__shape *shape) {
    return shape->word[TAMIS__PEELED_ARITY] == 3 ? TAMIS__FUSE3 : TAMIS__FUSE4;
}

static tamis_status build_shard(const struct tamis__shape *shape, struct tamis__group *group,
                                unsigned threads, const tamis_allocator *a,
                                struct tamis__shard *shard) {
    return tamis__peeled_build_shard(&fuse_how, layout_of(shape), shape, group, threads, a, shard);
}

static bool check_shard(const struct tamis__shape *shape, const struct tamis__shard *shard) {
    return tamis__peeled_check_shard(&fuse_how, layout_of(shape), shape, shard);
}

static const struct tamis__shard_maker fuse_maker = {TAMIS__SHARD_KEYS, 7, build_shard,
                                                     check_shard};

/* ---- operations: portable and avx2 for each arity and access; wrappers only */

#define FUSE_INSTANCE(K, NAME, ACCESS)                                                        \
    static bool fuse##K##_##NAME##_contains(const tamis_filter *f, struct tamis__hash h) {    \
        return tamis__peeled_contains(f, h.lo, TAMIS__FUSE##K, ACCESS);                       \
    }                                                                                         \
    static size_t fuse##K##_##NAME##_batch(const tamis_filter *f, const uint64_t *lo,         \
                                           const uint64_t *hi, size_t count, bool *answers) { \
        (void)hi;                                                                             \
        return tamis__peeled_contains_batch(f, lo, count, answers, TAMIS__FUSE##K, ACCESS);   \
    }                                                                                         \
    static size_t fuse##K##_##NAME##_fast(const tamis_filter *f, const uint64_t *lo,          \
                                          const uint64_t *hi, size_t count, bool *answers) {  \
        (void)hi;                                                                             \
        return tamis__peeled_batch_fast(f, lo, count, answers, TAMIS__FUSE##K, ACCESS);       \
    }                                                                                         \
    static const struct tamis__ops fuse##K##_##NAME[2] = {                                    \
        {.path = "portable",                                                                  \
         .contains = fuse##K##_##NAME##_contains,                                             \
         .contains_batch = fuse##K##_##NAME##_batch},                                         \
        {.path = "avx2",                                                                      \
         .contains = fuse##K##_##NAME##_contains,                                             \
         .contains_batch = fuse##K##_##NAME##_fast},                                          \
    };
FUSE_INSTANCE(3, byte, TAMIS__BYTE)
FUSE_INSTANCE(3, half, TAMIS__HALF)
FUSE_INSTANCE(3, word, TAMIS__WORD)
FUSE_INSTANCE(3, packed, TAMIS__PACKED)
FUSE_INSTANCE(3, wide, TAMIS__WIDE)
FUSE_INSTANCE(4, byte, TAMIS__BYTE)
FUSE_INSTANCE(4, half, TAMIS__HALF)
FUSE_INSTANCE(4, word, TAMIS__WORD)
FUSE_INSTANCE(4, packed, TAMIS__PACKED)
FUSE_INSTANCE(4, wide, TAMIS__WIDE)

static const struct tamis__ops *fuse_ops(const struct tamis__shape *shape, uint32_t cpu,
                                         bool shared) {
    static const struct tamis__ops *const ops[2][5] = {
        {fuse3_byte, fuse3_half, fuse3_word, fuse3_packed, fuse3_wide},
        {fuse4_byte, fuse4_half, fuse4_word, fuse4_packed, fuse4_wide}};
    (void)shared;
    const enum tamis__access access = tamis__access_of((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
    return &ops[layout_of(shape) == TAMIS__FUSE4][access][(cpu & TAMIS__CPU_AVX2) != 0];
}

/* ---- the family */

static tamis_status fuse_shape(const struct tamis__want *want, struct tamis__shape *shape) {
    if (want->arity != 0 && want->arity != 3 && want->arity != 4) return TAMIS_E_ARGUMENT;
    const enum tamis__layout layout = want->arity == 3 ? TAMIS__FUSE3 : TAMIS__FUSE4;
    return tamis__peeled_shape(&fuse_maker, &fuse_how, layout, want, shape);
}

/* Bytes of the loose array that fingerprints of odd widths are packed from. */
static double loose_bytes(unsigned width) {
    const enum tamis__access loose = tamis__access_loose(width);
    return loose == tamis__access_of(width) ? 0 : tamis__print_width(loose, width) / 8.0;
}

/* Bytes a key that a build takes besides the hashes and the order. */
static double scratch_bytes(const struct tamis__shape *shape) {
    const double loose = 1.1 * loose_bytes((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
    const double keys = (double)shape->word[TAMIS__STATIC_KEYS];
    const double peel = keys < (double)SWEEP_KEYS ? 4.8 : 0x1p21 / keys;
    return peel > loose ? peel : loose;
}

static void fuse_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[TAMIS__PEELED_ARITY];
    traits->width = (uint32_t)shape->word[TAMIS__PEELED_WIDTH];
    traits->cache_lines = traits->hashes;
    traits->build_bytes_per_key = 12 + scratch_bytes(shape);
}

static bool fuse_check(const struct tamis__shape *shape) {
    const uint64_t arity = shape->word[TAMIS__PEELED_ARITY];
    return (arity == 3 || arity == 4) && tamis__peeled_check(shape);
}

static tamis_status fuse_attach(tamis_filter *f) { return tamis__peeled_attach(&fuse_maker, f); }

static tamis_status fuse_build(const struct tamis__want *want, struct tamis__keys *keys,
                               tamis_filter *f) {
    struct tamis__shape shape;
    const tamis_status status = fuse_shape(want, &shape);
    if (status != TAMIS_OK) return status;
    return tamis__shards_build(&fuse_maker, &shape, want->threads, keys, f);
}

static void fuse_prefetch(const tamis_filter *f, uint64_t hash) {
    tamis__peeled_prefetch(f, layout_of(&f->shape), hash);
}

const struct tamis__family tamis__fuse = {
    .kind = TAMIS_FUSE,
    .name = "fuse",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(struct tamis__peeled_filter),
    .shape = fuse_shape,
    .rate = tamis__peeled_rate,
    .traits = fuse_traits,
    .check = fuse_check,
    .ops = fuse_ops,
    .attach = fuse_attach,
    .detach = tamis__shards_detach,
    .prefetch = fuse_prefetch,
    .state = tamis__peeled_state,
    .build = fuse_build,
};
