/* bloom.c - the classic Bloom filter (Bloom, 1970): any number of bits, any number of hashes
 *
 * A key owns k of m bits (probe.h says which).  To add it, set them; it may be there if all
 * are set.  Two filters of the same shape are united or intersected by OR and AND.
 *
 *     table   bit q is bit q % 8 of byte q / 8; padded with zeros to a multiple of 8 bytes
 *     shape   word[0] m, word[1] k; other systems' filters (bloom_foreign.c) have the same two
 *             word[2] 1: the bits come in pairs, two of a line of 64 bytes
 *
 * Bits anywhere are the textbook's way, and what m and k of the user's own get.  In pairs a key
 * is in half as many lines for next to no space (probe.c), and lines are what a key costs: so
 * are all tables that are sized for a rate and are larger than the nearest cache.
 *
 * probe_kernel.h has the operations, bloom_avx2.c batches of pairs with AVX2.
 *
 * Costs   1.44 log2(1/p) bits a key, 0.3 % more in pairs.  An add reads k / 2 lines (3 at 1 %),
 *         an absent key 1.3: the first pairs are prefetched for a group of keys, the rest
 *         only for those that pass them. */
#include "core/bytes.h"
#include "core/cpu.h"
#include "family/bloom_table.h"
#include "family/probe_kernel.h"
#include "family/sizing.h"

#define BITS_MAX ((uint64_t)1 << 62)

static uint64_t bloom_bytes(uint64_t bits) { return tamis__div_up(bits, 64) * 8; }

/* ---- the operations: alone, and shared between threads */

BLOOM_INSTANCE(alone, TAMIS__SCHEME_OWN, false)
BLOOM_INSTANCE(shared, TAMIS__SCHEME_OWN, true)
BLOOM_INSTANCE(alone_pairs, SCHEME_PAIRED, false)
BLOOM_INSTANCE(shared_pairs, SCHEME_PAIRED, true)

#if defined(TAMIS_HAVE_AVX2)
static const struct tamis__ops alone_avx2_ops = {
    .path = "avx2",
    .contains = alone_pairs_contains,
    .contains_batch = tamis__bloom_contains_avx2,
    .add = alone_pairs_add,
    .add_batch = tamis__bloom_add_avx2,
};
static const struct tamis__ops shared_avx2_ops = {
    .path = "avx2",
    .contains = shared_pairs_contains,
    .contains_batch = tamis__bloom_contains_avx2,
    .add = shared_pairs_add,
    .add_batch = shared_pairs_add_batch,
};
#endif

static const struct tamis__ops *bloom_ops(const struct tamis__shape *shape, uint32_t cpu,
                                          bool shared) {
    (void)cpu;
    if (!shape->word[PAIRED]) return shared ? &shared_ops : &alone_ops;
#if defined(TAMIS_HAVE_AVX2)
    if ((cpu & TAMIS__CPU_AVX2) && shape->word[BITS] <= UINT32_MAX) {
        return shared ? &shared_avx2_ops : &alone_avx2_ops;
    }
#endif
    return shared ? &shared_pairs_ops : &alone_pairs_ops;
}

/* ---- sizing */

static tamis_status bloom_shape(const struct tamis__want *want, struct tamis__shape *shape) {
    struct tamis__places size;
    const tamis_status status = tamis__probe_size(want, BITS_MAX, true, &size);
    if (status != TAMIS_OK) return status;
    *shape = (struct tamis__shape){.word = {size.places, size.hashes, size.paired},
                                   .table_bytes = bloom_bytes(size.places)};
    return TAMIS_OK;
}

static struct tamis__places bloom_places(const struct tamis__shape *shape) {
    return (struct tamis__places){shape->word[BITS], (uint32_t)shape->word[HASHES],
                                  shape->word[PAIRED] != 0};
}

static double bloom_rate(const struct tamis__shape *shape, double keys) {
    const struct tamis__places of = bloom_places(shape);
    return tamis__probe_rate(&of, keys);
}

static void bloom_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    /* Half of the bits are set at capacity, so an absent key is known after two bits; of pairs a
     * quarter is passed, so after 4/3 lines. */
    const uint32_t hashes = (uint32_t)shape->word[HASHES], lines = shape->word[PAIRED] ? 2 : 1;
    traits->hashes = hashes;
    traits->cache_lines = hashes <= lines ? 1 : lines == 2 ? 4.0 / 3 : 2;
}

static bool bloom_check(const struct tamis__shape *shape) {
    const uint64_t bits = shape->word[BITS], hashes = shape->word[HASHES];
    for (int i = PAIRED + 1; i < TAMIS__SHAPE_WORDS; i++) {
        if (shape->word[i] != 0) return false;
    }
    if (shape->word[PAIRED] > 1) return false;
    if (shape->word[PAIRED] && bits % TAMIS__PAIR_LINE != 0) return false;
    return shape->scheme == TAMIS__SCHEME_OWN && bits >= 1 && bits <= BITS_MAX && hashes >= 1 &&
           hashes <= TAMIS__PROBES_MAX && shape->table_bytes == bloom_bytes(bits);
}

static uint32_t bloom_version(const tamis_filter *f) { return f->shape.word[PAIRED] ? 2 : 1; }

static void bloom_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__places of = bloom_places(&f->shape);
    tamis__bloom_state(f, state);
    state->rate_now = tamis__probe_rate_of_fill(&of, state->distinct, state->fill);
}

static size_t bloom_touched(const tamis_filter *f, uint64_t hash,
                            uint64_t offsets[TAMIS__TOUCHED_MOST]) {
    const size_t count = (size_t)f->shape.word[HASHES];
    const struct tamis__probe first = tamis__probe_first(hash);
    if (f->shape.word[PAIRED]) {
        write_places(f, first, count, offsets, SCHEME_PAIRED, false, false);
    } else {
        write_places(f, first, count, offsets, TAMIS__SCHEME_OWN, false, false);
    }
    for (size_t i = 0; i < count; i++) offsets[i] /= 8;
    return count;
}

static void bloom_prefetch(const tamis_filter *f, uint64_t hash) {
    const uint64_t bits = f->shape.word[BITS], probes = f->shape.word[HASHES];
    const bool paired = f->shape.word[PAIRED] != 0;
    struct tamis__probe p = tamis__probe_first(hash);
    for (uint64_t i = 0; i < probes; i += paired ? 2 : 1) {
        const uint64_t place =
            paired ? tamis__probe_pair(&p, bits).first : tamis__probe_next(&p, bits);
        TAMIS_PREFETCH(f->table + (place >> 3));
    }
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
    .touched = bloom_touched,
    .prefetch = bloom_prefetch,
    .version = bloom_version,
    .state = bloom_state,
    .merge = tamis__bloom_merge,
};
