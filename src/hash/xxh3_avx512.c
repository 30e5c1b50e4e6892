/* xxh3_avx512.c - XXH3-64 of integers, eight at once: keys of 8 bytes */
#include "hash/xxh3.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"
#include "core/bytes.h"

#define LANES 8

/* The keys of a column of integers follow one another: then one load reads all. */
TAMIS_AVX512_TEMPLATE __m512i load_eight(const void *const *keys) {
    const __m512i at = _mm512_loadu_si512(keys);
    const __m512i column = _mm512_add_epi64(_mm512_set1_epi64((long long)(uintptr_t)keys[0]),
                                            _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56));
    if (TAMIS_LIKELY(_mm512_cmpneq_epi64_mask(at, column) == 0)) {
        return _mm512_loadu_si512(keys[0]);
    }
    return _mm512_setr_epi64((long long)tamis__load64(keys[0]), (long long)tamis__load64(keys[1]),
                             (long long)tamis__load64(keys[2]), (long long)tamis__load64(keys[3]),
                             (long long)tamis__load64(keys[4]), (long long)tamis__load64(keys[5]),
                             (long long)tamis__load64(keys[6]), (long long)tamis__load64(keys[7]));
}

TAMIS_AVX512_TEMPLATE __m512i hash_eight(__m512i key, __m512i flip) {
    const __m512i prime = tamis__avx512_all(TAMIS__XXH3_PRIME);
    __m512i x = _mm512_xor_si512(_mm512_rol_epi64(key, 32), flip);
    x = _mm512_ternarylogic_epi64(x, _mm512_rol_epi64(x, 49), _mm512_rol_epi64(x, 24), 0x96);
    x = _mm512_mullo_epi64(x, prime);
    x = _mm512_xor_si512(x, _mm512_add_epi64(_mm512_srli_epi64(x, 35), tamis__avx512_all(8)));
    x = _mm512_mullo_epi64(x, prime);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 28));
}

TAMIS_TARGET_AVX512 size_t tamis__xxh3_integers_avx512(uint64_t flip, const void *const *keys,
                                                       const size_t *lengths, size_t count,
                                                       uint64_t *hashes) {
    const __m512i flips = tamis__avx512_all(flip), eight = tamis__avx512_all(8);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        if (_mm512_cmpneq_epi64_mask(_mm512_loadu_si512(lengths + i), eight) != 0) break;
        _mm512_storeu_si512(hashes + i, hash_eight(load_eight(keys + i), flips));
    }
    return i;
}

#endif
