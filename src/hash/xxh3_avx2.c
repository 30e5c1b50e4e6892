/* xxh3_avx2.c - XXH3-64 of integers, four at once: keys of 8 bytes */
#include "hash/xxh3.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"
#include "core/bytes.h"

#define LANES 4

TAMIS_AVX2_TEMPLATE __m256i load_four(const void *const *keys) {
    return _mm256_setr_epi64x((long long)tamis__load64(keys[0]), (long long)tamis__load64(keys[1]),
                              (long long)tamis__load64(keys[2]), (long long)tamis__load64(keys[3]));
}

TAMIS_AVX2_TEMPLATE __m256i rotate(__m256i x, int left) {
    return _mm256_or_si256(_mm256_slli_epi64(x, left), _mm256_srli_epi64(x, 64 - left));
}

TAMIS_AVX2_TEMPLATE __m256i hash_four(__m256i key, __m256i flip) {
    __m256i x = _mm256_xor_si256(_mm256_shuffle_epi32(key, 0xb1), flip);
    x = _mm256_xor_si256(x, _mm256_xor_si256(rotate(x, 49), rotate(x, 24)));
    x = tamis__avx2_multiply(x, TAMIS__XXH3_PRIME);
    x = _mm256_xor_si256(x, _mm256_add_epi64(_mm256_srli_epi64(x, 35), tamis__avx2_all(8)));
    x = tamis__avx2_multiply(x, TAMIS__XXH3_PRIME);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 28));
}

TAMIS_TARGET_AVX2 size_t tamis__xxh3_integers_avx2(uint64_t flip, const void *const *keys,
                                                   const size_t *lengths, size_t count,
                                                   uint64_t *hashes) {
    const __m256i flips = tamis__avx2_all(flip), eight = tamis__avx2_all(8);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const __m256i length = _mm256_loadu_si256((const __m256i *)(const void *)(lengths + i));
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi64(length, eight)) != -1) break;
        const __m256i hash = hash_four(load_four(keys + i), flips);
        _mm256_storeu_si256((__m256i *)(void *)(hashes + i), hash);
    }
    return i;
}

#endif
