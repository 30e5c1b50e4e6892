/* xor.c - xor filters (Graf and Lemire, 2020): the classic static filters
 *
 * The array of fingerprints is cut into three blocks of equal size.  A key has a slot in each,
 * anywhere, and the fingerprints there xor to its own.  Random keys can be peeled (peel.h) with
 * 1.23 slots a key, for which three blocks is the best number.  As slots are anywhere, a build
 * works on all of the array at once, and cannot be split between threads; several shards can.  So
 * shards are small: what a build works on is then in the cache (47 ns a key at ten million instead
 * of 111 with shards four times as large, and 27 instead of 68 on two threads).  Even smaller ones
 * are hardly faster (44), and then a million keys would have several: 6.6 instead of 4.9 ns to ask.
 *
 * fuse is smaller, faster to build and as fast to ask.  xor is here because it is well known,
 * and because all slots depend on the salt: no choice of hashes by their upper bits harms it.
 *
 * Costs   1.23 slots a key.  A query reads 3 lines.  A build takes 17.5 bytes a key besides
 *         the filter, hashes included; 10.5 at ten million keys. */
#include "core/cpu.h"
#include "family/peeled.h"

#define SHARD_KEYS ((uint64_t)1 << 20)

/* ---- geometry */

/* Three attempts of a size, then 3 % more each time. */
static struct tamis__geometry xor_geometry(enum tamis__layout layout, size_t keys,
                                           unsigned attempt) {
    (void)layout;
    const uint64_t slots = (uint64_t)keys * (1230 + 30 * (attempt / 3)) / 1000 + 32;
    const uint64_t block = tamis__div_up(slots, 3);
    const struct tamis__geometry g = {.range = block, .segment = block};
    return g;
}

static bool xor_check_geometry(enum tamis__layout layout, const struct tamis__geometry *g) {
    (void)layout;
    return g->range == g->segment;
}

/* ---- shards */

static tamis_status xor_peel(enum tamis__layout layout, const struct tamis__geometry *g,
                             const struct tamis__group *group, unsigned threads,
                             const tamis_allocator *a, struct tamis__order *order) {
    (void)threads;
    return tamis__peel_flat(layout, g, group->hashes, group->count, false, a, order);
}

static const struct tamis__peeled xor_how = {xor_geometry, xor_peel, xor_check_geometry};

static tamis_status build_shard(const struct tamis__shape *shape, struct tamis__group *group,
                                unsigned threads, const tamis_allocator *a,
                                struct tamis__shard *shard) {
    return tamis__peeled_build_shard(&xor_how, TAMIS__XOR3, shape, group, threads, a, shard);
}

static bool check_shard(const struct tamis__shape *shape, const struct tamis__shard *shard) {
    return tamis__peeled_check_shard(&xor_how, TAMIS__XOR3, shape, shard);
}

static const struct tamis__shard_maker xor_maker = {SHARD_KEYS, 12, build_shard, check_shard};

/* ---- operations: portable and avx2 for each access; wrappers only */

#define XOR_INSTANCE(NAME, ACCESS)                                                                 \
    static bool xor_##NAME##_contains(const tamis_filter *f, struct tamis__hash h) {               \
        return tamis__peeled_contains(f, h.lo, TAMIS__XOR3, ACCESS);                               \
    }                                                                                              \
    static size_t xor_##NAME##_batch(const tamis_filter *f, const uint64_t *lo,                    \
                                     const uint64_t *hi, size_t count, bool *answers) {            \
        (void)hi;                                                                                  \
        return tamis__peeled_contains_batch(f, lo, count, answers, TAMIS__XOR3, ACCESS);           \
    }                                                                                              \
    static size_t xor_##NAME##_fast(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                    size_t count, bool *answers) {                                 \
        (void)hi;                                                                                  \
        return tamis__peeled_batch_fast(f, lo, count, answers, TAMIS__XOR3, ACCESS);               \
    }                                                                                              \
    static const struct tamis__ops xor_##NAME[2] = {                                               \
        {.path = "portable",                                                                       \
         .contains = xor_##NAME##_contains,                                                        \
         .contains_batch = xor_##NAME##_batch},                                                    \
        {.path = "avx2", .contains = xor_##NAME##_contains, .contains_batch = xor_##NAME##_fast},  \
    };
XOR_INSTANCE(byte, TAMIS__BYTE)
XOR_INSTANCE(half, TAMIS__HALF)
XOR_INSTANCE(word, TAMIS__WORD)
XOR_INSTANCE(packed, TAMIS__PACKED)
XOR_INSTANCE(wide, TAMIS__WIDE)

static const struct tamis__ops *xor_ops(const struct tamis__shape *shape, uint32_t cpu,
                                        bool shared) {
    static const struct tamis__ops *const ops[5] = {xor_byte, xor_half, xor_word, xor_packed,
                                                    xor_wide};
    (void)shared;
    const enum tamis__access access = tamis__access_of((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
    return &ops[access][(cpu & TAMIS__CPU_AVX2) != 0];
}

/* ---- the family */

static tamis_status xor_shape(const struct tamis__want *want, struct tamis__shape *shape) {
    return tamis__peeled_shape(&xor_maker, &xor_how, TAMIS__XOR3, want, shape);
}

static void xor_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = 3;
    traits->width = (uint32_t)shape->word[TAMIS__PEELED_WIDTH];
    traits->cache_lines = 3;
    /* All hashes, and two shards in the making. */
    const double shards = (double)((uint64_t)1 << shape->word[TAMIS__STATIC_LG_SHARDS]);
    traits->build_bytes_per_key = shards < 8 ? 17.5 : 8 + 2 * 20 / shards;
}

static bool xor_check(const struct tamis__shape *shape) {
    return shape->word[TAMIS__PEELED_ARITY] == 3 && tamis__peeled_check(shape);
}

static tamis_status xor_attach(tamis_filter *f) { return tamis__peeled_attach(&xor_maker, f); }

static tamis_status xor_build(const struct tamis__want *want, struct tamis__keys *keys,
                              tamis_filter *f) {
    struct tamis__shape shape;
    const tamis_status status = xor_shape(want, &shape);
    if (status != TAMIS_OK) return status;
    return tamis__shards_build(&xor_maker, &shape, want->threads, keys, f);
}

static void xor_prefetch(const tamis_filter *f, uint64_t hash) {
    tamis__peeled_prefetch(f, TAMIS__XOR3, hash);
}

const struct tamis__family tamis__xor = {
    .kind = TAMIS_XOR,
    .name = "xor",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(struct tamis__peeled_filter),
    .shape = xor_shape,
    .rate = tamis__peeled_rate,
    .traits = xor_traits,
    .check = xor_check,
    .ops = xor_ops,
    .attach = xor_attach,
    .detach = tamis__shards_detach,
    .prefetch = xor_prefetch,
    .state = tamis__peeled_state,
    .build = xor_build,
};
