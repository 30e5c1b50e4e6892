/* bloom.c - the classic Bloom filter (Bloom, 1970): any number of bits, any number of hashes
 *
 * A key has k of m bits (see probe.h).  An add sets them; a key is possibly in the set if all of
 * them are set.  OR and AND of two filters of the same shape give union and intersection.
 *
 *     table   bit q is bit q % 8 of byte q / 8; padded with zeros to a multiple of 8 bytes
 *     shape   word[0] m, word[1] k; compatible formats have the same two
 *             word[2] 1: the bits come in pairs, two of a line of 64 bytes
 *
 * Independent bits are the textbook's filter, used when the caller fixes m and k.  In pairs a key
 * touches half as many cache lines for almost no space (probe.c), and cache lines are what an
 * operation costs.  So all tables that are sized for a rate and exceed the L1 cache use pairs.
 *
 * probe_kernel.h has the operations; bloom_avx2.c, bloom_avx512.c and bloom_neon.c batches of
 * pairs.
 *
 * Costs   1.44 log2(1/p) bits per key, 0.3 % more in pairs.  An add reads k / 2 lines (3 at 1 %),
 *         an absent key 1.3: a batch prefetches the first pairs of a group of keys, and the rest
 *         only for keys that pass them. */
#include "core/bytes.h"
#include "core/cpu.h"
#include "family/bloom_table.h"
#include "family/probe_kernel.h"
#include "family/sizing.h"

#define BITS_MAX ((uint64_t)1 << 62)

static uint64_t bloom_bytes(uint64_t bits) { return tamis__div_up(bits, 64) * 8; }

/* ---- the operations: exclusive, and shared between threads */

BLOOM_INSTANCE(alone, &rule_own, false)
BLOOM_INSTANCE(shared, &rule_own, true)
BLOOM_INSTANCE(alone_pairs, &rule_pairs, false)
BLOOM_INSTANCE(shared_pairs, &rule_pairs, true)

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

#if defined(TAMIS_HAVE_AVX512)
static const struct tamis__ops alone_avx512_ops = {
    .path = "avx512",
    .contains = alone_pairs_contains,
    .contains_batch = tamis__bloom_contains_avx512,
    .add = alone_pairs_add,
    .add_batch = tamis__bloom_add_avx512,
};
static const struct tamis__ops alone_gather_ops = {
    .path = "avx512",
    .contains = alone_pairs_contains,
    .contains_batch = tamis__bloom_contains_gather,
    .add = alone_pairs_add,
    .add_batch = tamis__bloom_add_avx512,
};
#endif

#if defined(TAMIS_HAVE_NEON)
static const struct tamis__ops alone_neon_ops = {
    .path = "neon",
    .contains = alone_pairs_contains,
    .contains_batch = tamis__bloom_contains_neon,
    .add = alone_pairs_add,
    .add_batch = tamis__bloom_add_neon,
};
static const struct tamis__ops shared_neon_ops = {
    .path = "neon",
    .contains = shared_pairs_contains,
    .contains_batch = tamis__bloom_contains_neon,
    .add = shared_pairs_add,
    .add_batch = shared_pairs_add_batch,
};
#endif

static const struct tamis__ops *bloom_ops(const struct tamis__shape *shape, uint32_t cpu,
                                          bool by_threads) {
    const bool shared = by_threads && TAMIS_HAS_THREADS;
    (void)cpu;
    if (!shape->word[PAIRED]) return shared ? &shared_ops : &alone_ops;
#if defined(TAMIS_HAVE_AVX512)
    if ((cpu & TAMIS__CPU_AVX512) && !shared && shape->word[BITS] <= UINT32_MAX) {
        return (cpu & TAMIS__CPU_GATHER) ? &alone_gather_ops : &alone_avx512_ops;
    }
#endif
#if defined(TAMIS_HAVE_AVX2)
    if ((cpu & TAMIS__CPU_AVX2) && shape->word[BITS] <= UINT32_MAX) {
        return shared ? &shared_avx2_ops : &alone_avx2_ops;
    }
#endif
#if defined(TAMIS_HAVE_NEON)
    if ((cpu & TAMIS__CPU_NEON) && shape->word[BITS] <= UINT32_MAX) {
        return shared ? &shared_neon_ops : &alone_neon_ops;
    }
#endif
    return shared ? &shared_pairs_ops : &alone_pairs_ops;
}

/* ---- sizing */

static tamis_status bloom_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    struct tamis__places size;
    const tamis_status status = tamis__probe_size(spec, BITS_MAX, true, &size);
    if (status != TAMIS_OK) return status;
    *shape = (struct tamis__shape){.word = {size.places, size.hashes, size.paired},
                                   .table_bytes = bloom_bytes(size.places)};
    return TAMIS_OK;
}

static struct tamis__places bloom_places(const struct tamis__shape *shape) {
    return (struct tamis__places){shape->word[BITS], (uint32_t)shape->word[HASHES],
                                  shape->word[PAIRED] != 0};
}

static double bloom_fpr(const struct tamis__shape *shape, double keys) {
    const struct tamis__places of = bloom_places(shape);
    return tamis__probe_fpr(&of, keys);
}

static void bloom_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    /* Half of the bits are set at capacity, so a lookup of an absent key ends after two bits on
     * average.  An absent key passes a pair with probability 1/4, so it reads 4/3 lines. */
    const uint32_t hashes = (uint32_t)shape->word[HASHES], lines = shape->word[PAIRED] ? 2 : 1;
    traits->hashes = hashes;
    traits->cache_lines = hashes <= lines ? 1 : lines == 2 ? 4.0 / 3 : 2;
}

static bool bloom_check(const struct tamis__shape *shape) {
    const uint64_t bits = shape->word[BITS], hashes = shape->word[HASHES];
    if (shape->word[PAIRED] > 1 || !tamis__shape_ends(shape, PAIRED)) return false;
    if (shape->word[PAIRED] && bits % TAMIS__PAIR_LINE != 0) return false;
    return shape->layout == 0 && bits >= 1 && bits <= BITS_MAX && hashes >= 1 &&
           hashes <= TAMIS__PROBES_MAX && shape->table_bytes == bloom_bytes(bits);
}

static uint32_t bloom_version(const tamis_filter *f) { return f->shape.word[PAIRED] ? 2 : 1; }

static void bloom_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__places of = bloom_places(&f->shape);
    tamis__bloom_state(f, state);
    state->fpr_now = tamis__probe_fpr_of_fill(&of, state->distinct, state->fill);
}

static void bloom_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                          void *context) {
    const struct tamis__places of = bloom_places(&f->shape);
    tamis__probe_touches(f, &of, 1, hash, take, context);
}

static void bloom_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                        void *context) {
    const struct tamis__places of = bloom_places(&f->shape);
    tamis__probe_cells(&of, 1, hash, take, context);
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
    .takes_bits = true,
    .object_size = sizeof(tamis_filter),
    .shape = bloom_shape,
    .fpr = bloom_fpr,
    .traits = bloom_traits,
    .check = bloom_check,
    .ops = bloom_ops,
    .touches = bloom_touches,
    .in_place = true,
    .cells = bloom_cells,
    .prefetch = bloom_prefetch,
    .version = bloom_version,
    .state = bloom_state,
    .merge = tamis__merge_bits,
};
