/* bloom.c - the classic Bloom filter (Bloom, 1970): any number of bits, any number of hashes
 *
 * A key owns k of m bits (probe.h says which).  To add it, set them; it may be there if all
 * are set.  Two filters of the same shape are united or intersected by OR and AND.
 *
 *     table   bit q is bit q % 8 of byte q / 8; padded with zeros to a multiple of 8 bytes
 *     shape   word[0] m, word[1] k; other systems' filters (bloom_foreign.c) have the same two
 *
 * bloom_kernel.h has the operations, bloom_avx2.c batches with AVX2.
 *
 * Costs   1.44 log2(1/p) bits a key.  An add reads k lines, an absent key about two: the
 *         first probes are prefetched for a group of keys, the rest only for those that
 *         pass them. */
#include "core/bytes.h"
#include "core/cpu.h"
#include "family/bloom_kernel.h"
#include "family/bloom_table.h"
#include "family/sizing.h"

#define BITS_MAX ((uint64_t)1 << 62)

static uint64_t bloom_bytes(uint64_t bits) { return tamis__div_up(bits, 64) * 8; }

/* ---- the operations: alone, and shared between threads */

static bool alone_contains(const tamis_filter *f, struct tamis__hash h) {
    return bloom_test(f, scheme_first(h, TAMIS__SCHEME_OWN), f->shape.word[HASHES],
                      TAMIS__SCHEME_OWN, false);
}
static size_t alone_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *answers) {
    return bloom_contains_batch(f, lo, hi, count, answers, TAMIS__SCHEME_OWN, false);
}
static tamis_status alone_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    return bloom_add(f, h, fresh, TAMIS__SCHEME_OWN, false);
}
static tamis_status alone_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *fresh, size_t *done) {
    return bloom_add_batch(f, lo, hi, count, fresh, done, TAMIS__SCHEME_OWN, false);
}
static const struct tamis__ops alone_ops = {
    .path = "portable",
    .contains = alone_contains,
    .contains_batch = alone_contains_batch,
    .add = alone_add,
    .add_batch = alone_add_batch,
};

static bool shared_contains(const tamis_filter *f, struct tamis__hash h) {
    return bloom_test(f, scheme_first(h, TAMIS__SCHEME_OWN), f->shape.word[HASHES],
                      TAMIS__SCHEME_OWN, true);
}
static size_t shared_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers) {
    return bloom_contains_batch(f, lo, hi, count, answers, TAMIS__SCHEME_OWN, true);
}
static tamis_status shared_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    return bloom_add(f, h, fresh, TAMIS__SCHEME_OWN, true);
}
static tamis_status shared_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *fresh, size_t *done) {
    return bloom_add_batch(f, lo, hi, count, fresh, done, TAMIS__SCHEME_OWN, true);
}
static const struct tamis__ops shared_ops = {
    .path = "portable",
    .contains = shared_contains,
    .contains_batch = shared_contains_batch,
    .add = shared_add,
    .add_batch = shared_add_batch,
};

#if defined(TAMIS_HAVE_AVX2)
static const struct tamis__ops alone_avx2_ops = {
    .path = "avx2",
    .contains = alone_contains,
    .contains_batch = tamis__bloom_contains_avx2,
    .add = alone_add,
    .add_batch = tamis__bloom_add_avx2,
};
static const struct tamis__ops shared_avx2_ops = {
    .path = "avx2",
    .contains = shared_contains,
    .contains_batch = tamis__bloom_contains_avx2,
    .add = shared_add,
    .add_batch = shared_add_batch,
};
#endif

static const struct tamis__ops *bloom_ops(const struct tamis__shape *shape, uint32_t cpu,
                                          bool shared) {
    (void)shape, (void)cpu;
#if defined(TAMIS_HAVE_AVX2)
    if ((cpu & TAMIS__CPU_AVX2) && shape->word[HASHES] >= 2 && shape->word[BITS] <= UINT32_MAX) {
        return shared ? &shared_avx2_ops : &alone_avx2_ops;
    }
#endif
    return shared ? &shared_ops : &alone_ops;
}

/* ---- sizing */

static tamis_status bloom_shape(const struct tamis__want *want, struct tamis__shape *shape) {
    uint64_t places;
    uint32_t hashes;
    const tamis_status status = tamis__probe_size(want, BITS_MAX, &places, &hashes);
    if (status != TAMIS_OK) return status;
    *shape = (struct tamis__shape){.word = {places, hashes}, .table_bytes = bloom_bytes(places)};
    return TAMIS_OK;
}

static double bloom_rate(const struct tamis__shape *shape, double keys) {
    return tamis__probe_rate((double)shape->word[BITS], (double)shape->word[HASHES], keys);
}

static void bloom_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    /* Half of the bits are set at capacity, so an absent key is known after two. */
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->cache_lines = traits->hashes < 2 ? 1 : 2;
}

static bool bloom_check(const struct tamis__shape *shape) {
    const uint64_t bits = shape->word[BITS], hashes = shape->word[HASHES];
    for (int i = NOTES; i < TAMIS__SHAPE_WORDS; i++) {
        if (shape->word[i] != 0) return false;
    }
    return shape->scheme == TAMIS__SCHEME_OWN && bits >= 1 && bits <= BITS_MAX && hashes >= 1 &&
           hashes <= TAMIS__PROBES_MAX && shape->table_bytes == bloom_bytes(bits);
}

static void bloom_state(const tamis_filter *f, struct tamis__state *state) {
    const double bits = (double)f->shape.word[BITS], hashes = (double)f->shape.word[HASHES];
    tamis__bloom_state(f, state);
    state->rate_now = tamis__probe_rate_of_fill(bits, hashes, state->distinct, state->fill);
}

static size_t bloom_touched(const tamis_filter *f, uint64_t hash,
                            uint64_t offsets[TAMIS__TOUCHED_MOST]) {
    struct tamis__probe p = tamis__probe_first(hash);
    const size_t count = (size_t)f->shape.word[HASHES];
    for (size_t i = 0; i < count; i++) offsets[i] = tamis__probe_next(&p, f->shape.word[BITS]) / 8;
    return count;
}

const struct tamis__family tamis__bloom = {
    .kind = TAMIS_BLOOM,
    .name = "bloom",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT | TAMIS_CAN_SHARE,
    .object_size = sizeof(tamis_filter),
    .shape = bloom_shape,
    .rate = bloom_rate,
    .traits = bloom_traits,
    .check = bloom_check,
    .ops = bloom_ops,
    .state = bloom_state,
    .merge = tamis__bloom_merge,
    .touched = bloom_touched,
};
