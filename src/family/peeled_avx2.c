/* peeled_avx2.c - batch lookups in xor and binary fuse filters, four keys at a time
 *
 * peeled_kernel.h with vectors of four keys.  AVX2 has no 64-bit product, so products are assembled
 * from halves; that is still a third of the instructions of four keys one by one. */
#include "family/peeled.h"

#if defined(TAMIS__PEELED_AVX2)
#include "core/avx2.h"

#define PEELED_TARGET TAMIS_TARGET_AVX2
#define PEELED_TEMPLATE TAMIS_AVX2_TEMPLATE
#define LANES 4

/* In groups (peeled_kernel.h). */
#define AHEAD_FAR 16
#define AHEAD_NEAR 4
#define LATE 2
#define DELAY 4
#define RING 32

#define FETCHED TAMIS__PEELED_NEAR_BYTES

/* ---- arithmetic */

typedef __m256i vector;

PEELED_TEMPLATE vector vector_all(uint64_t x) { return tamis__avx2_all(x); }
PEELED_TEMPLATE vector vector_add(vector x, vector y) { return _mm256_add_epi64(x, y); }
PEELED_TEMPLATE vector vector_and(vector x, vector y) { return _mm256_and_si256(x, y); }
PEELED_TEMPLATE vector vector_right(vector x, unsigned bits) {
    return _mm256_srli_epi64(x, (int)bits);
}
PEELED_TEMPLATE vector vector_right_by(vector x, unsigned bits) {
    return _mm256_srl_epi64(x, _mm_cvtsi32_si128((int)bits));
}
PEELED_TEMPLATE vector vector_left_by(vector x, unsigned bits) {
    return _mm256_sll_epi64(x, _mm_cvtsi32_si128((int)bits));
}
PEELED_TEMPLATE vector vector_product(vector x, vector y) { return _mm256_mul_epu32(x, y); }
PEELED_TEMPLATE vector vector_choose(vector x, vector y, vector mask) {
    return _mm256_xor_si256(x, _mm256_and_si256(y, mask));
}

PEELED_TEMPLATE vector vector_mix(vector x) {
    x = tamis__avx2_mix(x);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

PEELED_TEMPLATE vector upper(vector x) { return _mm256_srli_epi64(x, 32); }
PEELED_TEMPLATE vector low32(vector x) { return _mm256_and_si256(x, vector_all(UINT32_MAX)); }

/* tamis__fold: both halves of the product, from four products of halves. */
PEELED_TEMPLATE vector vector_fold(vector x, vector odd) {
    const vector xh = upper(x), oh = upper(odd);
    const vector low = _mm256_mul_epu32(x, odd);
    const vector mid = _mm256_add_epi64(_mm256_mul_epu32(xh, odd), upper(low));
    const vector cross = _mm256_add_epi64(_mm256_mul_epu32(x, oh), low32(mid));
    const vector high =
        _mm256_add_epi64(_mm256_mul_epu32(xh, oh), _mm256_add_epi64(upper(mid), upper(cross)));
    const vector lower = _mm256_blend_epi32(low, _mm256_slli_epi64(cross, 32), 0xaa);
    return _mm256_xor_si256(high, lower);
}

/* tamis__range, for a range below 2^32. */
PEELED_TEMPLATE vector vector_range(vector x, vector range) {
    const vector carry = upper(_mm256_mul_epu32(x, range));
    return upper(_mm256_add_epi64(_mm256_mul_epu32(upper(x), range), carry));
}

#include "family/peeled_kernel.h"

PEELED_TEMPLATE vector load_hashes(const uint64_t *hashes, size_t n) {
    if (TAMIS_LIKELY(n >= LANES)) return _mm256_loadu_si256((const vector *)(const void *)hashes);
    uint64_t padded[LANES] = {0};
    for (size_t i = 0; i < n; i++) padded[i] = hashes[i];
    return _mm256_loadu_si256((const vector *)(const void *)padded);
}
PEELED_TEMPLATE void store_lanes(uint64_t *to, vector x) {
    _mm256_store_si256((vector *)(void *)to, x);
}
PEELED_TEMPLATE void store_bytes(uint8_t *to, vector x) {
    const __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
    const __m128i words = _mm_castps_si128(
        _mm_shuffle_ps(_mm_castsi128_ps(low), _mm_castsi128_ps(high), _MM_SHUFFLE(2, 0, 2, 0)));
    const __m128i bytes = _mm_shuffle_epi8(words, _mm_set1_epi32(0x0c080400));
    tamis__store32(to, (uint32_t)_mm_cvtsi128_si32(bytes));
}

/* ---- shards */

static_assert(offsetof(struct tamis__shard, word) - offsetof(struct tamis__shard, table) == 8,
              "a query reads the table and three words at once");

/* The geometries of four shards, transposed: one lane per shard. */
PEELED_TEMPLATE struct lanes lanes_at(const struct peeled_table *t, const uint64_t at[LANES]) {
    __m256i row[LANES];
    TAMIS_UNROLL
    for (unsigned k = 0; k < LANES; k++) {
        row[k] = _mm256_loadu_si256((const __m256i *)(const void *)&t->shards[at[k]].table);
    }
    const __m256i even0 = _mm256_unpacklo_epi64(row[0], row[1]);
    const __m256i even1 = _mm256_unpacklo_epi64(row[2], row[3]);
    const __m256i odd0 = _mm256_unpackhi_epi64(row[0], row[1]);
    const __m256i odd1 = _mm256_unpackhi_epi64(row[2], row[3]);
    const __m256i table = _mm256_permute2x128_si256(even0, even1, 0x20);
    const __m256i byte = _mm256_sub_epi64(table, tamis__avx2_all((uintptr_t)t->bytes));
    return (struct lanes){.salt = _mm256_permute2x128_si256(odd0, odd1, 0x20),
                          .range = _mm256_permute2x128_si256(even0, even1, 0x31),
                          .segment = _mm256_permute2x128_si256(odd0, odd1, 0x31),
                          .start = byte};
}

PEELED_TEMPLATE void lanes_prepare(struct peeled_table *t) { (void)t; }

PEELED_TEMPLATE struct lanes lanes_of_shards(const struct peeled_table *t, vector shard) {
    _Alignas(32) uint64_t at[LANES];
    store_lanes(at, shard);
    return lanes_at(t, at);
}

/* ---- fingerprints */

/* The bits that follow the start of four bytes: 32 of each or, if `wide`, 64. */
PEELED_TEMPLATE vector words_at(const uint8_t *table, const uint64_t byte[LANES], bool wide) {
    if (wide) {
        return _mm256_set_epi64x(
            (long long)tamis__load64(table + byte[3]), (long long)tamis__load64(table + byte[2]),
            (long long)tamis__load64(table + byte[1]), (long long)tamis__load64(table + byte[0]));
    }
    return _mm256_cvtepu32_epi64(
        _mm_set_epi32((int)tamis__load32(table + byte[3]), (int)tamis__load32(table + byte[2]),
                      (int)tamis__load32(table + byte[1]), (int)tamis__load32(table + byte[0])));
}

PEELED_TEMPLATE unsigned match(const struct peeled_table *t, const struct targets *to,
                               enum tamis__graph graph, enum loads loads, bool gather) {
    vector fingerprint = to->fingerprint;
    (void)gather;
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        const vector word = words_at(t->bytes, to->byte[j], loads == LONG_WORDS);
        fingerprint = _mm256_xor_si256(fingerprint, _mm256_srlv_epi64(word, to->shift[j]));
    }
    const vector mask = vector_all(((uint64_t)1 << t->width) - 1);
    const vector equal =
        _mm256_cmpeq_epi64(_mm256_and_si256(fingerprint, mask), _mm256_setzero_si256());
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

PEELED_TEMPLATE unsigned match_bytes(const uint8_t *expected, const uint8_t *found) {
    const __m128i a = _mm_cvtsi32_si128((int)tamis__load32(expected));
    const __m128i b = _mm_cvtsi32_si128((int)tamis__load32(found));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) & 0xf;
}

/* Never called: gathers are slower (doc/performance.md). */
PEELED_TEMPLATE void gather_bytes(const uint8_t *bytes, const struct targets *to,
                                  enum tamis__graph graph, uint8_t *found) {
    (void)bytes, (void)to, (void)graph, (void)found;
}

PEELED_TEMPLATE size_t give(unsigned hits, size_t n, bool *answers) {
    static_assert(sizeof(bool) == 1, "four answers are stored as one word");
    if (TAMIS_UNLIKELY(n < LANES)) {
        hits &= (1u << n) - 1;
        for (size_t i = 0; answers != NULL && i < n; i++) answers[i] = hits >> i & 1;
    } else if (answers != NULL) {
        tamis__store32(answers, hits * 0x00204081u & 0x01010101u);
    }
    return tamis__popcount(hits);
}

PEELED_INSTANCE(tamis__xor3_avx2, TAMIS__XOR3, false)
PEELED_INSTANCE(tamis__fuse3_avx2, TAMIS__FUSE3, false)
PEELED_INSTANCE(tamis__fuse4_avx2, TAMIS__FUSE4, false)

#endif
