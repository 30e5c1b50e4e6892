/* xor.c - xor filters (Graf and Lemire, 2020): the classic static filters
 *
 * The array of fingerprints is divided into three blocks of equal size.  A key has a slot anywhere
 * in each, and the fingerprints there xor to its own.  Random keys can be peeled (peel.h) with 1.23
 * slots per key, for which three blocks is the best number.  A build accesses the whole array at
 * random, so one shard cannot be split between threads; several shards can.  So shards are small,
 * which keeps the working set of a build in cache (47 ns per key at ten million instead of 111 with
 * shards four times as large, and 27 instead of 68 on two threads).  Even smaller shards are hardly
 * faster (44), and would divide a million keys: 6.6 instead of 4.9 ns per lookup.
 *
 * fuse is smaller, faster to build and as fast to query.  xor is here because it is well known, and
 * because all slots depend on the salt: hashes chosen by their upper bits do not harm it.
 *
 * Costs   1.23 slots per key.  A query reads 3 lines.  A build takes 17.5 bytes per key besides the
 *         filter, hashes included; 10.5 at ten million keys. */
#include "family/peeled.h"

#define SHARD_KEYS ((uint64_t)1 << 20)

/* ---- geometry */

/* Three attempts per size, then 3 % more each time. */
static struct tamis__geometry xor_geometry(enum tamis__graph graph, size_t keys, unsigned attempt) {
    (void)graph;
    const uint64_t slots = (uint64_t)keys * (1230 + 30 * (attempt / 3)) / 1000 + 32;
    const uint64_t block = tamis__div_up(slots, 3);
    return (struct tamis__geometry){.range = block, .segment = block};
}

static bool xor_check_geometry(enum tamis__graph graph, const struct tamis__geometry *g) {
    (void)graph;
    return g->range == g->segment;
}

/* ---- shards */

static tamis_status xor_peel(enum tamis__graph graph, const struct tamis__geometry *g,
                             const struct tamis__group *group, unsigned threads,
                             const tamis_allocator *a, struct tamis__order *order) {
    (void)threads;
    return tamis__peel_flat(graph, g, group->hashes, group->count, false, a, order);
}

static const struct tamis__peeled xor_how = {
    .maker = {SHARD_KEYS, 12, tamis__peeled_build_shard, tamis__peeled_check_shard},
    .graph = {TAMIS__XOR3, TAMIS__XOR3},
    .geometry = xor_geometry,
    .peel = xor_peel,
    .check = xor_check_geometry,
};

TAMIS__PEELED_OPS(xor3, TAMIS__XOR3)

static const struct tamis__ops *xor_ops(const struct tamis__shape *shape, uint32_t cpu,
                                        bool shared) {
    (void)shared;
    const enum tamis__access access = tamis__access_of((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
    return &xor3_ops[access][tamis__peeled_path_of(cpu)].any;
}

/* ---- the family */

static tamis_status xor_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    return tamis__peeled_shape(&xor_how, TAMIS__XOR3, spec, shape);
}

static void xor_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = 3;
    traits->width = (uint32_t)shape->word[TAMIS__PEELED_WIDTH];
    traits->cache_lines = 3;
    /* All hashes, and two shards under construction. */
    const double shards = (double)((uint64_t)1 << shape->word[TAMIS__STATIC_LG_SHARDS]);
    traits->build_bytes_per_key = shards < 8 ? 17.5 : 8 + 2 * 20 / shards;
}

static bool xor_check(const struct tamis__shape *shape) {
    return shape->word[TAMIS__PEELED_ARITY] == 3 && tamis__peeled_check(shape);
}

const struct tamis__family tamis__xor = {
    .kind = TAMIS_XOR,
    .name = "xor",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(struct tamis__peeled_filter),
    .shape = xor_shape,
    .fpr = tamis__peeled_fpr,
    .traits = xor_traits,
    .check = xor_check,
    .ops = xor_ops,
    .attach = tamis__peeled_attach,
    .detach = tamis__shards_detach,
    .touches = tamis__peeled_touches,
    .cells = tamis__peeled_cells,
    .prefetch = tamis__peeled_prefetch,
    .state = tamis__peeled_state,
    .shards = &xor_how.maker,
};
