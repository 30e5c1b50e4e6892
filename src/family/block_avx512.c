/* block_avx512.c - block filters with AVX-512: a line is one vector
 *
 * Batches do not use the ring of block_kernel.h, because the places of eight keys are computed
 * together and their multiplications take longer than anything else here.  A load from a
 * place that was stored just before waits for all of them, and such loads fill the scheduler.  So
 * the ring holds groups of eight keys, and its lines are prefetched when the addresses of
 * AVX512_LATE further keys have been computed.
 *
 * No result passes through flags.  Comparing a line with the bits of a key gives a mask of lanes,
 * which is stored as a byte; 64 such bytes become results with three instructions, when all keys
 * of the batch have been processed. */
#include "family/block.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"

#define BLOCK_TARGET TAMIS_TARGET_AVX512
#define BLOCK_VECTORS
#define BLOCK_MULX
#define BLOCK_GROUPS
#include "family/block_kernel.h"

/* ---- the bits of a key, which are one vector, too */

/* The multipliers, moved to the left. */
BLOCK_TEMPLATE __m512i avx512_multipliers(unsigned left) {
    const uint32_t *m = block_multiplier;
    return _mm512_setr_epi64((long long)m[0] << left, (long long)m[1] << left,
                             (long long)m[2] << left, (long long)m[3] << left,
                             (long long)m[4] << left, (long long)m[5] << left,
                             (long long)m[6] << left, (long long)m[7] << left);
}

/* How far the seeds of a batch are moved to the left. */
#define AVX512_SHIFT 20

/* The number of the bit of a round, in the lower 6 bits of every lane; rotations read no others.
 * Moved to the left, a seed needs one instruction, which returns the upper half of a product of
 * 52-bit numbers: product and shift in one. */
BLOCK_TEMPLATE __m512i avx512_bits(__m512i seed, unsigned round, unsigned shift) {
    if (shift == 0) {
        return _mm512_srli_epi64(_mm512_mul_epu32(seed, avx512_multipliers(0)), 26 - 6 * round);
    }
    return _mm512_madd52hi_epu64(_mm512_setzero_si512(), seed,
                                 avx512_multipliers(26 - shift + 6 * round));
}

/* The bits of a key.  `seed` is moved to the left by `shift`. */
BLOCK_TEMPLATE __m512i avx512_mask(const struct block_table *t, uint64_t seed, unsigned shift,
                                   unsigned rounds, bool rest) {
    const __m512i seeds =
        shift == 0 ? _mm512_set1_epi32((int)(uint32_t)seed) : tamis__avx512_all(seed);
    __m512i mask = _mm512_setzero_si512();
    for (unsigned r = 0; r < rounds; r++) {
        const __m512i one = _mm512_loadu_si512(tamis__block_constants.one);
        mask = _mm512_or_si512(mask, _mm512_rolv_epi64(one, avx512_bits(seeds, r, shift)));
    }
    if (rest) {
        const __m512i one = _mm512_loadu_si512(t->rest_lanes + (seed >> shift) % BLOCK_LANES);
        mask = _mm512_or_si512(mask, _mm512_rolv_epi64(one, avx512_bits(seeds, rounds, shift)));
    }
    return mask;
}

/* The lanes of a line that lack a bit of the mask.  If every lane has one bit, those where nothing
 * is left of the line: one instruction less. */
BLOCK_TEMPLATE __mmask8 avx512_lacks(__m512i line, __m512i mask, unsigned rounds, bool rest) {
    if (rounds == 1 && !rest) return _mm512_testn_epi64_mask(mask, line);
    return _mm512_cmpneq_epi64_mask(_mm512_and_si512(mask, line), mask);
}

/* ---- eight keys at a time */

#define AVX512_KEYS 8
/* Keys between the computation of an address and its prefetch. */
#define AVX512_LATE 24

/* Where the bits of the keys are. */
struct avx512_ring {
    _Alignas(64) uint64_t seed[BLOCK_RING]; /* moved to the left */
    _Alignas(64) uint64_t line[BLOCK_RING]; /* its address */
};

/* tamis__fold: the halves of the factors are 52 and 12 bits.  The instructions read the lower 52
 * bits, so x is its own lower half. */
BLOCK_TEMPLATE __m512i avx512_fold(__m512i x, uint64_t odd) {
    const __m512i zero = _mm512_setzero_si512(), x1 = _mm512_srli_epi64(x, 52);
    const __m512i c0 = tamis__avx512_all(odd & ((UINT64_C(1) << 52) - 1)),
                  c1 = tamis__avx512_all(odd >> 52);
    const __m512i low = _mm512_madd52lo_epu64(zero, x, c0);
    __m512i middle = _mm512_madd52hi_epu64(zero, x, c0); /* times 2^52 */
    middle = _mm512_madd52lo_epu64(middle, x, c1);
    middle = _mm512_madd52lo_epu64(middle, x1, c0);
    __m512i high = _mm512_madd52hi_epu64(zero, x, c1); /* times 2^104 */
    high = _mm512_madd52hi_epu64(high, x1, c0);
    high = _mm512_madd52lo_epu64(high, x1, c1);
    high = _mm512_add_epi64(_mm512_srli_epi64(middle, 12), _mm512_slli_epi64(high, 40));
    return _mm512_ternarylogic_epi64(high, low, _mm512_slli_epi64(middle, 52), 0x96); /* xor */
}

/* tamis__range: there are fewer than 2^32 lines (block_path_for). */
BLOCK_TEMPLATE __m512i avx512_lines(const struct block_table *t, __m512i g) {
    const __m512i count = tamis__avx512_all(t->count);
    const __m512i carry = _mm512_srli_epi64(_mm512_mul_epu32(g, count), 32);
    const __m512i product =
        _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(g, 32), count), carry);
    /* product >> 32 is the line; its offset is 64 times that. */
    const __m512i offset =
        _mm512_and_si512(_mm512_srli_epi64(product, 26), tamis__avx512_all(~UINT64_C(63)));
    return _mm512_add_epi64(offset, tamis__avx512_all((uint64_t)(uintptr_t)t->lines));
}

BLOCK_TEMPLATE void avx512_find(const struct block_table *t, __m512i hashes,
                                struct avx512_ring *ring, size_t i) {
    const size_t j = i % BLOCK_RING;
    const __m512i g =
        _mm512_mullo_epi64(avx512_fold(hashes, TAMIS_SPREAD), tamis__avx512_all(BLOCK_STIR));
    _mm512_store_si512(ring->seed + j, _mm512_slli_epi64(g, AVX512_SHIFT));
    _mm512_store_si512(ring->line + j, avx512_lines(t, g));
}

BLOCK_TEMPLATE void avx512_prefetch(const struct avx512_ring *ring, size_t i, bool write) {
    const uint64_t *line = ring->line + i % BLOCK_RING;
    TAMIS_UNROLL
    for (size_t k = 0; k < AVX512_KEYS; k++) {
        const void *at = (const void *)(uintptr_t)line[k];
        if (write) TAMIS_PREFETCH_WRITE(at);
        if (!write) TAMIS_PREFETCH(at);
    }
}

/* Tests a key or, if `write`, adds it.  If `report`, returns the lanes that lacked a bit. */
BLOCK_TEMPLATE __mmask8 avx512_visit(const struct block_table *t, const struct avx512_ring *ring,
                                     size_t j, unsigned rounds, bool rest, bool write,
                                     bool report) {
    void *line = (void *)(uintptr_t)ring->line[j];
    const __m512i mask = avx512_mask(t, ring->seed[j], AVX512_SHIFT, rounds, rest);
    const __m512i old = _mm512_loadu_si512(line);
    if (write) _mm512_storeu_si512(line, _mm512_or_si512(old, mask));
    return report ? avx512_lacks(old, mask, rounds, rest) : 0;
}

/* Tests or adds the keys i to i + n of a batch, which are in the ring.  If `report`, writes the
 * lanes that lacked a bit: a byte for each key. */
BLOCK_TEMPLATE void avx512_visit_some(const struct block_table *t, const struct avx512_ring *ring,
                                      size_t i, size_t n, uint8_t *lacks, unsigned rounds,
                                      bool rest, bool write, bool report) {
    const size_t j = i % BLOCK_RING;
    TAMIS_UNROLL
    for (size_t k = 0; k < n; k++) {
        const __mmask8 lanes = avx512_visit(t, ring, j + k, rounds, rest, write, report);
        if (report) lacks[i + k] = lanes;
    }
}

/* All keys of a batch, in order. */
BLOCK_TEMPLATE void avx512_visit_all(const struct block_table *t, const uint64_t *hashes,
                                     size_t count, uint8_t *lacks, unsigned rounds, bool rest,
                                     bool write, bool report) {
    struct avx512_ring ring;
    size_t i = 0, next = 0; /* the keys to visit and to find next */
    for (; next < count && next < BLOCK_RING; next += AVX512_KEYS) {
        avx512_find(t, tamis__avx512_load(hashes + next, count - next), &ring, next);
    }
    for (size_t ready = 0; ready < next; ready += AVX512_KEYS) {
        avx512_prefetch(&ring, ready, write);
    }
    for (; next < count; i += AVX512_KEYS, next += AVX512_KEYS) {
        avx512_visit_some(t, &ring, i, AVX512_KEYS, lacks, rounds, rest, write, report);
        avx512_find(t, tamis__avx512_load(hashes + next, count - next), &ring, next);
        avx512_prefetch(&ring, next - AVX512_LATE, write);
    }
    for (size_t late = i == 0 ? 0 : AVX512_LATE; late > 0; late -= AVX512_KEYS) {
        avx512_prefetch(&ring, next - late, write);
    }
    for (; count - i >= AVX512_KEYS; i += AVX512_KEYS) {
        avx512_visit_some(t, &ring, i, AVX512_KEYS, lacks, rounds, rest, write, report);
    }
    for (; i < count; i++) {
        avx512_visit_some(t, &ring, i, 1, lacks, rounds, rest, write, report);
    }
}

/* Makes results of up to 64 bytes: lacks a lane a bit or, unless `any`, does none? */
BLOCK_TEMPLATE size_t avx512_settle_some(uint8_t *lacks, size_t count, bool any) {
    const __mmask64 in = ~UINT64_C(0) >> (64 - count);
    const __m512i v = _mm512_maskz_loadu_epi8(in, lacks);
    const __mmask64 yes = any ? _mm512_test_epi8_mask(v, v) : _mm512_mask_testn_epi8_mask(in, v, v);
    const __m512i results = _mm512_maskz_set1_epi8(yes, 1);
    if (count == 64) {
        _mm512_storeu_si512(lacks, results); /* with a mask it takes much longer */
    } else {
        _mm512_mask_storeu_epi8(lacks, in, results);
    }
    return tamis__popcount(yes);
}

/* The same for all of them; returns how many are true. */
BLOCK_TEMPLATE size_t avx512_settle(uint8_t *lacks, size_t count, bool any) {
    size_t i = 0, sum = 0;
    for (; count - i >= 64; i += 64) sum += avx512_settle_some(lacks + i, 64, any);
    return i < count ? sum + avx512_settle_some(lacks + i, count - i, any) : sum;
}

/* Keys between two passes over their results. */
#define AVX512_PASS 4096

BLOCK_TEMPLATE size_t block_contains_batch(const tamis_filter *f, const uint64_t *hashes,
                                           size_t count, bool *answers, unsigned rounds,
                                           bool rest) {
    const struct block_table t = block_table_of(f);
    uint8_t own[AVX512_PASS];
    size_t sum = 0;
    for (size_t i = 0; i < count; i += AVX512_PASS) {
        const size_t n = count - i < AVX512_PASS ? count - i : AVX512_PASS;
        uint8_t *lacks = answers == NULL ? own : (uint8_t *)(answers + i);
        avx512_visit_all(&t, hashes + i, n, lacks, rounds, rest, false, true);
        sum += avx512_settle(lacks, n, false);
    }
    return sum;
}

BLOCK_TEMPLATE tamis_status block_add_batch(tamis_filter *f, const uint64_t *hashes, size_t count,
                                            bool *fresh, size_t *done, unsigned rounds, bool rest) {
    const struct block_table t = block_table_of(f);
    if (fresh == NULL) {
        avx512_visit_all(&t, hashes, count, NULL, rounds, rest, true, false);
    } else {
        avx512_visit_all(&t, hashes, count, (uint8_t *)fresh, rounds, rest, true, true);
        avx512_settle((uint8_t *)fresh, count, true);
    }
    *done = count;
    return TAMIS_OK;
}

/* ---- one key */

BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest) {
    const __m512i mask = avx512_mask(t, at.seed, 0, rounds, rest);
    const __mmask8 lacks = avx512_lacks(_mm512_loadu_si512(at.line), mask, rounds, rest);
    return _kortestz_mask8_u8(lacks, lacks);
}

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report) {
    const __m512i mask = avx512_mask(t, at.seed, 0, rounds, rest);
    const __m512i old = _mm512_loadu_si512(at.line);
    _mm512_storeu_si512(at.line, _mm512_or_si512(old, mask));
    return report && avx512_lacks(old, mask, rounds, rest) != 0;
}

BLOCK_INSTANCES(tamis__block_avx512, "avx512")

#endif
