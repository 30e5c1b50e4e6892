/* peeled_avx512.c - batch lookups in xor and binary fuse filters, eight keys at a time
 *
 * peeled_kernel.h with vectors of eight keys.  Products of 52 bits (IFMA), which add in the same
 * instruction, make the fold and the first slot of a key a third of the instructions that AVX2
 * needs.  The geometries of up to eight shards stay in registers.
 *
 * On Zen 4 gathers are slow: at 10^6 keys 3.1 ns per key with them and 2.2 without. */
#include "family/peeled.h"

#if defined(TAMIS__PEELED_AVX512)
#include "core/avx512.h"

#define PEELED_TARGET TAMIS_TARGET_AVX512
#define PEELED_TEMPLATE TAMIS_AVX512_TEMPLATE
#define LANES 8

/* In groups (peeled_kernel.h).  At 10^5 keys near distances of 2 to 8, and delays of 2 to 7,
 * take 1.63 to 1.75 ns per key, these 1.55. */
#define AHEAD_FAR 8
#define AHEAD_NEAR 4
#define LATE 2
#define DELAY 4

#define RING 16

/* In smaller tables, which are in the third-level cache of most machines, the processor overlaps
 * enough keys by itself: 2.6 instead of 3.3 ns per key at 2.3 MB, 3.8 and 3.8 at 11 MB. */
#define FETCHED ((uint64_t)8 << 20)

/* ---- arithmetic */

typedef __m512i vector;

PEELED_TEMPLATE vector vector_all(uint64_t x) { return tamis__avx512_all(x); }
PEELED_TEMPLATE vector vector_add(vector x, vector y) { return _mm512_add_epi64(x, y); }
PEELED_TEMPLATE vector vector_and(vector x, vector y) { return _mm512_and_si512(x, y); }
PEELED_TEMPLATE vector vector_right(vector x, unsigned bits) { return _mm512_srli_epi64(x, bits); }
PEELED_TEMPLATE vector vector_right_by(vector x, unsigned bits) {
    return _mm512_srl_epi64(x, _mm_cvtsi32_si128((int)bits));
}
PEELED_TEMPLATE vector vector_left_by(vector x, unsigned bits) {
    return _mm512_sll_epi64(x, _mm_cvtsi32_si128((int)bits));
}
PEELED_TEMPLATE vector vector_product(vector x, vector y) { return _mm512_mul_epu32(x, y); }
PEELED_TEMPLATE vector vector_choose(vector x, vector y, vector mask) {
    return _mm512_ternarylogic_epi64(x, y, mask, 0x78);
}

PEELED_TEMPLATE vector vector_mix(vector x) {
    x = tamis__avx512_mix(x);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

/* tamis__fold.  Both factors are a lower part of 52 bits and an upper one of 12; products of 52
 * bits ignore upper parts. */
PEELED_TEMPLATE vector vector_fold(vector x, vector odd) {
    const vector none = _mm512_setzero_si512();
    const vector x1 = _mm512_srli_epi64(x, 52), odd1 = _mm512_srli_epi64(odd, 52);
    const vector mid = _mm512_madd52lo_epu64(_mm512_madd52hi_epu64(none, x, odd), x1, odd);
    const vector mid_too = _mm512_madd52lo_epu64(none, x, odd1); /* in parallel */
    const vector top = _mm512_madd52lo_epu64(_mm512_madd52hi_epu64(none, x, odd1), x1, odd1);
    const vector top_too = _mm512_madd52hi_epu64(none, x1, odd);
    const vector high = _mm512_add_epi64(_mm512_srli_epi64(_mm512_add_epi64(mid, mid_too), 12),
                                         _mm512_slli_epi64(_mm512_add_epi64(top, top_too), 40));
    return _mm512_xor_si512(_mm512_mullo_epi64(x, odd), high);
}

/* tamis__range, for a range below 2^32. */
PEELED_TEMPLATE vector vector_range(vector x, vector range) {
    const vector low = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, range);
    return _mm512_srli_epi64(_mm512_madd52lo_epu64(low, _mm512_srli_epi64(x, 52), range), 12);
}

#include "family/peeled_kernel.h"

PEELED_TEMPLATE vector load_hashes(const uint64_t *hashes, size_t n) {
    return tamis__avx512_load(hashes, n);
}
PEELED_TEMPLATE void store_lanes(uint64_t *to, vector x) { _mm512_store_si512(to, x); }
PEELED_TEMPLATE void store_bytes(uint8_t *to, vector x) {
    _mm_storel_epi64((__m128i *)(void *)to, _mm512_cvtepi64_epi8(x));
}

/* ---- shards */

static_assert(offsetof(struct tamis__shard, word) - offsetof(struct tamis__shard, table) == 8,
              "a query reads the table and three words at once");

PEELED_TEMPLATE __m256i row_of(const struct peeled_table *t, uint64_t shard) {
    return _mm256_loadu_si256((const __m256i *)(const void *)&t->shards[shard].table);
}

/* The table and three words of two shards, four lanes apart. */
PEELED_TEMPLATE __m512i rows_of(const struct peeled_table *t, const uint64_t *at) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(row_of(t, at[0])), row_of(t, at[4]), 1);
}

/* The geometries of eight shards, transposed: one lane per shard. */
PEELED_TEMPLATE struct lanes lanes_at(const struct peeled_table *t, const uint64_t *at) {
    const __m512i row0 = rows_of(t, at), row1 = rows_of(t, at + 1);
    const __m512i row2 = rows_of(t, at + 2), row3 = rows_of(t, at + 3);
    const __m512i even0 = _mm512_unpacklo_epi64(row0, row1);
    const __m512i even1 = _mm512_unpacklo_epi64(row2, row3);
    const __m512i odd0 = _mm512_unpackhi_epi64(row0, row1);
    const __m512i odd1 = _mm512_unpackhi_epi64(row2, row3);
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const __m512i table = _mm512_permutex2var_epi64(even0, first, even1);
    return (struct lanes){.salt = _mm512_permutex2var_epi64(odd0, first, odd1),
                          .range = _mm512_permutex2var_epi64(even0, second, even1),
                          .segment = _mm512_permutex2var_epi64(odd0, second, odd1),
                          .start = _mm512_sub_epi64(table, tamis__avx512_all((uintptr_t)t->bytes))};
}

/* Up to eight shards: t->lanes has one in each lane. */
#define LG_FEW 3

PEELED_TEMPLATE void lanes_prepare(struct peeled_table *t) {
    uint64_t at[LANES];
    if (t->lg_shards > LG_FEW) return;
    for (unsigned i = 0; i < LANES; i++) at[i] = i & ((1u << t->lg_shards) - 1);
    t->lanes = lanes_at(t, at);
}

PEELED_TEMPLATE struct lanes lanes_of_shards(const struct peeled_table *t, vector shard) {
    if (t->lg_shards <= LG_FEW) {
        return (struct lanes){.salt = _mm512_permutexvar_epi64(shard, t->lanes.salt),
                              .range = _mm512_permutexvar_epi64(shard, t->lanes.range),
                              .segment = _mm512_permutexvar_epi64(shard, t->lanes.segment),
                              .start = _mm512_permutexvar_epi64(shard, t->lanes.start)};
    }
    _Alignas(64) uint64_t at[LANES];
    _mm512_store_si512(at, shard);
    return lanes_at(t, at);
}

/* ---- fingerprints */

/* The 32 bits that follow the start of four bytes. */
PEELED_TEMPLATE __m128i four_words(const uint8_t *bytes, const uint64_t *at) {
    return _mm_set_epi32((int)tamis__load32(bytes + at[3]), (int)tamis__load32(bytes + at[2]),
                         (int)tamis__load32(bytes + at[1]), (int)tamis__load32(bytes + at[0]));
}

PEELED_TEMPLATE __m256i four_long_words(const uint8_t *bytes, const uint64_t *at) {
    return _mm256_set_epi64x(
        (long long)tamis__load64(bytes + at[3]), (long long)tamis__load64(bytes + at[2]),
        (long long)tamis__load64(bytes + at[1]), (long long)tamis__load64(bytes + at[0]));
}

/* Of eight keys, the 32 bits that follow the start of byte at[i], or 64. */
PEELED_TEMPLATE __m256i words_at(const uint8_t *bytes, const uint64_t *at, bool gather) {
    if (gather) return _mm512_i64gather_epi32(_mm512_load_si512(at), bytes, 1);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(four_words(bytes, at)),
                                   four_words(bytes, at + 4), 1);
}

PEELED_TEMPLATE __m512i long_words_at(const uint8_t *bytes, const uint64_t *at, bool gather) {
    if (gather) return _mm512_i64gather_epi64(_mm512_load_si512(at), bytes, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(four_long_words(bytes, at)),
                              four_long_words(bytes, at + 4), 1);
}

PEELED_TEMPLATE unsigned match(const struct peeled_table *t, const struct targets *to,
                               enum tamis__graph graph, enum loads loads, bool gather) {
    vector fingerprint = to->fingerprint;
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        const vector word = loads == LONG_WORDS
                                ? long_words_at(t->bytes, to->byte[j], gather)
                                : _mm512_cvtepu32_epi64(words_at(t->bytes, to->byte[j], gather));
        fingerprint = _mm512_xor_si512(fingerprint, _mm512_srlv_epi64(word, to->shift[j]));
    }
    return _mm512_testn_epi64_mask(fingerprint, vector_all(((uint64_t)1 << t->width) - 1));
}

PEELED_TEMPLATE unsigned match_bytes(const uint8_t *expected, const uint8_t *found) {
    const __m128i x =
        _mm_cvtsi64_si128((long long)(tamis__load64(expected) ^ tamis__load64(found)));
    return _mm_testn_epi8_mask(x, x) & 0xff;
}

PEELED_TEMPLATE void gather_bytes(const uint8_t *bytes, const struct targets *to,
                                  enum tamis__graph graph, uint8_t *found) {
    __m256i words = words_at(bytes, to->byte[0], true);
    TAMIS_UNROLL
    for (unsigned j = 1; j < tamis__arity(graph); j++) {
        words = _mm256_xor_si256(words, words_at(bytes, to->byte[j], true));
    }
    _mm_storel_epi64((__m128i *)(void *)found, _mm256_cvtepi32_epi8(words));
}

PEELED_TEMPLATE size_t give(unsigned hits, size_t n, bool *answers) {
    const __mmask8 valid = (__mmask8)(TAMIS_LIKELY(n >= LANES) ? 0xff : (1u << n) - 1);
    hits &= valid;
    if (answers != NULL) {
        _mm_mask_storeu_epi8(answers, valid, _mm_maskz_set1_epi8((__mmask16)hits, 1));
    }
    return tamis__popcount(hits);
}

PEELED_INSTANCE(tamis__xor3_avx512, TAMIS__XOR3, false)
PEELED_INSTANCE(tamis__fuse3_avx512, TAMIS__FUSE3, false)
PEELED_INSTANCE(tamis__fuse4_avx512, TAMIS__FUSE4, false)
PEELED_INSTANCE(tamis__xor3_gather, TAMIS__XOR3, true)
PEELED_INSTANCE(tamis__fuse3_gather, TAMIS__FUSE3, true)
PEELED_INSTANCE(tamis__fuse4_gather, TAMIS__FUSE4, true)

#endif
