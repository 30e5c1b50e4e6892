/* block_neon.c - block filters with NEON: a line is four vectors of two lanes
 *
 * As with AVX2, the products of two lanes are the halves of one 64-bit number: the upper half
 * belongs to a lane of the line's first half, the lower one to the lane four further on. */
#include "family/block.h"

#if defined(TAMIS_HAVE_NEON)
#include <arm_neon.h>

#define BLOCK_TARGET
#define BLOCK_VECTORS
#include "family/block_kernel.h"

#define NEON_VECTORS 4

struct neon_mask {
    uint64x2_t pair[NEON_VECTORS];
};

/* products[0] has those of lanes 0, 1 (upper halves) and 4, 5 (lower halves), products[1]
 * those of lanes 2, 3 and 6, 7. */
struct neon_products {
    uint64x2_t of[2];
};

BLOCK_TEMPLATE struct neon_products neon_products_of(uint32_t seed) {
    struct neon_products p;
    TAMIS_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t *m = block_multiplier + 2 * i;
        const uint32x4_t multipliers = {m[4], m[0], m[5], m[1]};
        p.of[i] = vreinterpretq_u64_u32(vmulq_n_u32(multipliers, seed));
    }
    return p;
}

/* The number of the bit in each lane of pair i: upper halves for pairs 0 and 1. */
BLOCK_TEMPLATE int64x2_t neon_field(const struct neon_products *p, unsigned i, unsigned round) {
    const int64_t right = (i < 2 ? 58 : 26) - 6 * (int64_t)round;
    const uint64x2_t shifted = vshlq_u64(p->of[i % 2], vdupq_n_s64(-right));
    return vreinterpretq_s64_u64(vandq_u64(shifted, vdupq_n_u64(BLOCK_LANE_BITS - 1)));
}

BLOCK_TEMPLATE struct neon_mask neon_mask_of(const struct block_table *t, uint32_t seed,
                                             unsigned rounds, bool rest) {
    const struct neon_products p = neon_products_of(seed);
    struct neon_mask mask;
    TAMIS_UNROLL
    for (unsigned i = 0; i < NEON_VECTORS; i++) {
        uint64x2_t bits = vdupq_n_u64(0);
        TAMIS_UNROLL
        for (unsigned round = 0; round < rounds; round++) {
            bits = vorrq_u64(bits, vshlq_u64(vdupq_n_u64(1), neon_field(&p, i, round)));
        }
        if (rest) {
            const uint64x2_t one = vld1q_u64(t->rest_lanes + seed % BLOCK_LANES + 2 * i);
            bits = vorrq_u64(bits, vshlq_u64(one, neon_field(&p, i, rounds)));
        }
        mask.pair[i] = bits;
    }
    return mask;
}

BLOCK_TEMPLATE uint64x2_t neon_load(const uint8_t *line, unsigned i) {
    return vreinterpretq_u64_u8(vld1q_u8(line + 16 * i));
}

BLOCK_TEMPLATE bool neon_any(uint64x2_t v) { return vmaxvq_u32(vreinterpretq_u32_u64(v)) != 0; }

BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest) {
    const struct neon_mask mask = neon_mask_of(t, at.seed, rounds, rest);
    uint64x2_t missing = vdupq_n_u64(0);
    TAMIS_UNROLL
    for (unsigned i = 0; i < NEON_VECTORS; i++) {
        missing = vorrq_u64(missing, vbicq_u64(mask.pair[i], neon_load(at.line, i)));
    }
    return !neon_any(missing);
}

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report) {
    const struct neon_mask mask = neon_mask_of(t, at.seed, rounds, rest);
    uint64x2_t missing = vdupq_n_u64(0);
    TAMIS_UNROLL
    for (unsigned i = 0; i < NEON_VECTORS; i++) {
        const uint64x2_t lanes = neon_load(at.line, i);
        missing = vorrq_u64(missing, vbicq_u64(mask.pair[i], lanes));
        vst1q_u8(at.line + 16 * i, vreinterpretq_u8_u64(vorrq_u64(lanes, mask.pair[i])));
    }
    return report && neon_any(missing);
}

BLOCK_INSTANCES(tamis__block_neon, "neon")

#endif
