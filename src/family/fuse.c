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
 * The keys at both ends share their segments with fewer others, so peeling (peel.h) starts there,
 * and proceeds to the middle at a load at which it could not have started: 1.06 to 1.13 slots per
 * key for large sets, where xor needs 1.23.
 *
 * Longer segments need fewer slots inside, but more at the ends (K - 1 segments besides the
 * range).  The table below balances both.  It was found by building sets of each size until nine
 * attempts in ten succeeded, or seven below 32768 keys, where another attempt is cheap.  Segments
 * are at most 2^13 (3 slots) or 2^12 (4 slots) long, so that the working set of a sweep stays in
 * the L2 cache.
 *
 *     bits per key at width 7, all included     n = 10^4    10^5    10^6    4 * 10^6
 *         3 slots                                  8.86      8.34    7.95      7.86
 *         4 slots                                  8.51      7.84    7.54      7.46
 *
 * Costs   a query reads 3 or 4 lines.  A build takes 13 to 17 bytes per key besides the filter:
 *         8 for the hash, 4 for the order, and first the rings of the sweeps (or words for all
 *         slots, for a smaller set), then the unpacked fingerprints of odd widths. */
#include "build/fuse_peel.h"
#include "family/peeled.h"

/* From this size on a build works in sweeps.  Below, the words of all slots take less memory than
 * the sweeps' rings, and about as much time. */
#define SWEEP_KEYS ((size_t)1 << 19)

/* ---- geometry */

#define OCTAVE_FIRST 11
#define OCTAVES 12

/* For 2^11 keys and more, 2^12, ..., 2^22, with three and with four slots per key: log2 of the
 * segment, and the range per 1000 keys. */
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

static unsigned lg_max(enum tamis__graph graph) {
    return graph == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
}

/* Three attempts per size; then 3 % and a segment more each time; from the twelfth attempt on
 * segments of twice the length, against keys that share slots at every size. */
static struct tamis__geometry fuse_geometry(enum tamis__graph graph, size_t keys,
                                            unsigned attempt) {
    const bool four = graph == TAMIS__FUSE4;
    const unsigned octave = octave_of(keys), steps = attempt / 3;
    const unsigned lg = segment_lg[four][octave];
    const uint64_t segment = (uint64_t)1 << (attempt >= 12 && lg < lg_max(graph) ? lg + 1 : lg);
    const uint64_t range = (uint64_t)keys * (range_per_1000[four][octave] + 30 * steps) / 1000;
    return (struct tamis__geometry){.range = (tamis__div_up(range, segment) + steps) * segment,
                                    .segment = segment};
}

static bool fuse_check_geometry(enum tamis__graph graph, const struct tamis__geometry *g) {
    return (g->segment & (g->segment - 1)) == 0 && g->range % g->segment == 0 &&
           g->segment <= (uint64_t)1 << lg_max(graph);
}

/* ---- shards */

static tamis_status fuse_peel(enum tamis__graph graph, const struct tamis__geometry *g,
                              const struct tamis__group *group, unsigned threads,
                              const tamis_allocator *a, struct tamis__order *order) {
    if (group->count >= SWEEP_KEYS) return tamis__fuse_peel(graph, g, group, threads, a, order);
    return tamis__peel_flat(graph, g, group->hashes, group->count, false, a, order);
}

static const struct tamis__peeled fuse_how = {
    .maker = {TAMIS__SHARD_KEYS, 7, tamis__peeled_build_shard, tamis__peeled_check_shard},
    .graph = {TAMIS__FUSE3, TAMIS__FUSE4},
    .geometry = fuse_geometry,
    .peel = fuse_peel,
    .check = fuse_check_geometry,
};

TAMIS__PEELED_OPS(fuse3, TAMIS__FUSE3)
TAMIS__PEELED_OPS(fuse4, TAMIS__FUSE4)

static const struct tamis__ops *fuse_ops(const struct tamis__shape *shape, uint32_t cpu,
                                         bool shared) {
    (void)shared;
    const enum tamis__access access = tamis__access_of((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
    const enum tamis__peeled_path path = tamis__peeled_path_of(cpu);
    return shape->word[TAMIS__PEELED_ARITY] == 3 ? &fuse3_ops[access][path].any
                                                 : &fuse4_ops[access][path].any;
}

/* ---- the family */

static tamis_status fuse_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    if (spec->arity != 0 && spec->arity != 3 && spec->arity != 4) return TAMIS_E_ARGUMENT;
    const enum tamis__graph graph = spec->arity == 3 ? TAMIS__FUSE3 : TAMIS__FUSE4;
    return tamis__peeled_shape(&fuse_how, graph, spec, shape);
}

/* Bytes of the unpacked array of fingerprints of odd widths. */
static double loose_bytes(unsigned width) {
    const enum tamis__access loose = tamis__access_loose(width);
    return loose == tamis__access_of(width) ? 0 : tamis__fingerprint_width(loose, width) / 8.0;
}

/* Bytes per key that a build takes besides the hashes and the order. */
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

const struct tamis__family tamis__fuse = {
    .kind = TAMIS_FUSE,
    .name = "fuse",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(struct tamis__peeled_filter),
    .shape = fuse_shape,
    .fpr = tamis__peeled_fpr,
    .traits = fuse_traits,
    .check = fuse_check,
    .ops = fuse_ops,
    .attach = tamis__peeled_attach,
    .detach = tamis__shards_detach,
    .touches = tamis__peeled_touches,
    .cells = tamis__peeled_cells,
    .prefetch = tamis__peeled_prefetch,
    .state = tamis__peeled_state,
    .shards = &fuse_how.maker,
};
