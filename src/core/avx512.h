/* avx512.h - arithmetic on eight 64-bit numbers, shared by the families' AVX-512 kernels */
#ifndef TAMIS_CORE_AVX512_H
#define TAMIS_CORE_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

#define TAMIS_AVX512_TEMPLATE TAMIS_TEMPLATE TAMIS_TARGET_AVX512

TAMIS_AVX512_TEMPLATE __m512i tamis__avx512_all(uint64_t x) {
    return _mm512_set1_epi64((long long)x);
}

/* The first n of eight numbers; zeros after them. */
TAMIS_AVX512_TEMPLATE __m512i tamis__avx512_load(const uint64_t *from, size_t n) {
    if (TAMIS_LIKELY(n >= 8)) return _mm512_loadu_si512(from);
    return _mm512_maskz_loadu_epi64((__mmask8)((1u << n) - 1), from);
}

/* tamis__mix64 without its last step. */
TAMIS_AVX512_TEMPLATE __m512i tamis__avx512_mix(__m512i x) {
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
    x = _mm512_mullo_epi64(x, tamis__avx512_all(UINT64_C(0xbf58476d1ce4e5b9)));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
    return _mm512_mullo_epi64(x, tamis__avx512_all(UINT64_C(0x94d049bb133111eb)));
}

#endif
