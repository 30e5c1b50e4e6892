/* block_avx2.c - block filters with AVX2: a line is two vectors of four lanes
 *
 * One multiplication of eight 32-bit numbers gives the products of all lanes.  Seen as four
 * 64-bit numbers, the upper halves are the products of lanes 0..3 and the lower halves those
 * of lanes 4..7, so that shifts alone move each product's field to where the variable shift of
 * the mask reads it. */
#include "family/block.h"

#if defined(TAMIS_HAVE_AVX2)
#include <immintrin.h>

#define BLOCK_TARGET TAMIS_TARGET_AVX2
#define BLOCK_FOURS
#define BLOCK_VECTORS
#define BLOCK_MULX
#include "family/block_kernel.h"

/* Lanes 0..3 and 4..7 of a line. */
struct avx2_lanes {
    __m256i low, high;
};

BLOCK_TEMPLATE __m256i avx2_products(uint32_t seed) {
    const uint32_t *m = block_multiplier;
    const __m256i multipliers = _mm256_setr_epi32((int)m[4], (int)m[0], (int)m[5], (int)m[1],
                                                  (int)m[6], (int)m[2], (int)m[7], (int)m[3]);
    return _mm256_mullo_epi32(_mm256_set1_epi32((int)seed), multipliers);
}

/* The number of the bit of a round, in every lane. */
BLOCK_TEMPLATE struct avx2_lanes avx2_bits(__m256i products, int round) {
    const __m256i field = _mm256_set1_epi64x(BLOCK_LANE_BITS - 1);
    struct avx2_lanes bits = {_mm256_srli_epi64(products, 58 - 6 * round),
                              round == 0 ? _mm256_srli_epi64(_mm256_slli_epi64(products, 32), 58)
                                         : _mm256_srli_epi64(products, 26 - 6 * round)};
    if (round != 0) {
        bits.low = _mm256_and_si256(bits.low, field);
        bits.high = _mm256_and_si256(bits.high, field);
    }
    return bits;
}

BLOCK_TEMPLATE struct avx2_lanes avx2_load(const void *line) {
    const __m256i *p = (const __m256i *)line;
    return (struct avx2_lanes){_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1)};
}

BLOCK_TEMPLATE __m256i avx2_one(void) { return avx2_load(tamis__block_constants.one).low; }

/* ---- lookup: shifts the line so that the bit under test is the lowest of every lane */

BLOCK_TEMPLATE struct avx2_lanes avx2_lowest(struct avx2_lanes line, struct avx2_lanes bits) {
    return (struct avx2_lanes){_mm256_srlv_epi64(line.low, bits.low),
                               _mm256_srlv_epi64(line.high, bits.high)};
}

/* Does a lane lack the bit of a round?  In its lowest bit; `one` has 1 in the lanes that take part.
 */
BLOCK_TEMPLATE __m256i avx2_lacks(struct avx2_lanes line, struct avx2_lanes one, __m256i products,
                                  int round) {
    const struct avx2_lanes has = avx2_lowest(line, avx2_bits(products, round));
    return _mm256_or_si256(_mm256_andnot_si256(has.low, one.low),
                           _mm256_andnot_si256(has.high, one.high));
}

/* The lowest bit of lane i is 1 if lanes i and i + 4 have all bits of the key. */
BLOCK_TEMPLATE __m256i avx2_has(const struct block_table *t, struct block_place at, unsigned rounds,
                                bool rest) {
    const __m256i products = avx2_products(at.seed);
    const struct avx2_lanes line = avx2_load(at.line);
    __m256i has = avx2_one();
    for (unsigned r = 0; r < rounds; r++) {
        const struct avx2_lanes lowest = avx2_lowest(line, avx2_bits(products, (int)r));
        const __m256i both = _mm256_and_si256(lowest.low, lowest.high);
        has = r == 0 ? both : _mm256_and_si256(has, both);
    }
    if (!rest) return has;
    const struct avx2_lanes one = avx2_load(t->rest_lanes + at.seed % BLOCK_LANES);
    return _mm256_andnot_si256(avx2_lacks(line, one, products, (int)rounds), has);
}

BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest) {
    return _mm256_testc_si256(avx2_has(t, at, rounds, rest), avx2_one());
}

/* Lanes 0 and 1 of both, and 2 and 3 of both: two lanes for each. */
BLOCK_TEMPLATE __m256i avx2_both(__m256i a, __m256i b) {
    return _mm256_and_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/* Combines the lanes of four keys, so that one transfer to a general register serves all four:
 * 1.8 instead of 2.0 ns per key. */
BLOCK_TEMPLATE unsigned block_covers_four(const struct block_table *t, const struct block_place *at,
                                          unsigned rounds, bool rest) {
    const __m256i ab =
        avx2_both(avx2_has(t, at[0], rounds, rest), avx2_has(t, at[1], rounds, rest));
    const __m256i cd =
        avx2_both(avx2_has(t, at[2], rounds, rest), avx2_has(t, at[3], rounds, rest));
    const __m256i all = _mm256_and_si256(_mm256_permute2x128_si256(ab, cd, 0x20),
                                         _mm256_permute2x128_si256(ab, cd, 0x31));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(all, 63)));
}

/* ---- add: shifts the bits to their place in the line */

/* Adds the bits of one round to the mask. */
BLOCK_TEMPLATE struct avx2_lanes avx2_round(struct avx2_lanes mask, struct avx2_lanes one,
                                            __m256i products, int round) {
    const struct avx2_lanes bits = avx2_bits(products, round);
    mask.low = _mm256_or_si256(mask.low, _mm256_sllv_epi64(one.low, bits.low));
    mask.high = _mm256_or_si256(mask.high, _mm256_sllv_epi64(one.high, bits.high));
    return mask;
}

BLOCK_TEMPLATE struct avx2_lanes avx2_mask_of(const struct block_table *t, uint32_t seed,
                                              unsigned rounds, bool rest) {
    const __m256i products = avx2_products(seed), one = avx2_one();
    const struct avx2_lanes all = {one, one};
    struct avx2_lanes mask = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (unsigned r = 0; r < rounds; r++) mask = avx2_round(mask, all, products, (int)r);
    if (rest) {
        mask =
            avx2_round(mask, avx2_load(t->rest_lanes + seed % BLOCK_LANES), products, (int)rounds);
    }
    return mask;
}

BLOCK_TEMPLATE bool avx2_missing(struct avx2_lanes line, struct avx2_lanes mask) {
    const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(line.low, mask.low),
                                            _mm256_andnot_si256(line.high, mask.high));
    return !_mm256_testz_si256(missing, missing);
}

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report) {
    const struct avx2_lanes mask = avx2_mask_of(t, at.seed, rounds, rest), old = avx2_load(at.line);
    __m256i *p = (__m256i *)(void *)at.line;
    _mm256_storeu_si256(p, _mm256_or_si256(old.low, mask.low));
    _mm256_storeu_si256(p + 1, _mm256_or_si256(old.high, mask.high));
    return report && avx2_missing(old, mask);
}

BLOCK_INSTANCES(tamis__block_avx2, "avx2")

#endif
