/* avx2.h - arithmetic on four 64-bit numbers, shared by the families' AVX2 kernels */
#ifndef TAMIS_CORE_AVX2_H
#define TAMIS_CORE_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "core/compiler.h"

#define TAMIS_AVX2_TEMPLATE TAMIS_TEMPLATE TAMIS_TARGET_AVX2

TAMIS_AVX2_TEMPLATE __m256i tamis__avx2_all(uint64_t x) { return _mm256_set1_epi64x((long long)x); }

/* The lower 64 bits of the product: AVX2 multiplies only 32 bits. */
TAMIS_AVX2_TEMPLATE __m256i tamis__avx2_multiply(__m256i x, uint64_t by) {
    const __m256i low = tamis__avx2_all((uint32_t)by), high = tamis__avx2_all(by >> 32);
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(x, high),
                                           _mm256_mul_epu32(_mm256_srli_epi64(x, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(cross, 32));
}

/* tamis__mix64 without its last step. */
TAMIS_AVX2_TEMPLATE __m256i tamis__avx2_mix(__m256i x) {
    x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 30));
    x = tamis__avx2_multiply(x, UINT64_C(0xbf58476d1ce4e5b9));
    x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 27));
    return tamis__avx2_multiply(x, UINT64_C(0x94d049bb133111eb));
}

#endif
