/* cuckoo_avx512.c - batch lookups in a cuckoo filter, eight keys at a time
 *
 * The same as cuckoo_avx2.c, and for the same tables, with eight keys in a vector.  The distance
 * of the second window takes 52-bit products (IFMA), which add and shift in the same instruction.
 *
 * The windows of eight keys are loaded one by one and combined by inserts, or gathered: on Zen 4 a
 * gather of eight words takes much longer (at 10,000 keys 1.8 instead of 1.3 ns per key). */
#include "family/cuckoo_kernel.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"

#define LANES 8

/* A group is prepared this many groups before it is tested, and prefetched LATE groups after it
 * was prepared: the positions are stored as vectors and loaded one by one, and loads that soon
 * follow the store wait for it and for all arithmetic before it (at a million keys 2.7 instead of
 * 2.1 ns per key). */
#define AHEAD_FAR 8
#define AHEAD_NEAR 4
#define LATE 2

/* What the kernel needs of a filter, one value for all lanes. */
struct avx512_filter {
    const uint8_t *slots;
    __m512i windows, windows_bits, fingerprints, span, width, window;
    __m512i scale, first, second, top; /* as in struct cuckoo_grid */
    __m512i ones;                      /* the lowest bit of each field */
};

/* Eight classes: the first bits of their windows, and the fingerprint times 2w in each field. */
struct avx512_homes {
    _Alignas(64) uint64_t first[LANES];
    _Alignas(64) uint64_t second[LANES];
    __m512i symbols;
};

TAMIS_AVX512_TEMPLATE struct avx512_filter avx512_filter_of(const struct cuckoo_grid *g) {
    return (struct avx512_filter){
        .slots = g->slots,
        .windows = tamis__avx512_all(g->windows),
        .windows_bits = tamis__avx512_all(g->windows_bits),
        .fingerprints = tamis__avx512_all(g->fingerprints),
        .span = tamis__avx512_all(g->span),
        .width = tamis__avx512_all(g->width),
        .window = tamis__avx512_all(g->window),
        .scale = tamis__avx512_all(g->scale),
        .first = tamis__avx512_all(g->first),
        .second = tamis__avx512_all(g->second),
        .top = tamis__avx512_all(g->top),
        .ones = tamis__avx512_all(g->top >> (g->width - 1)),
    };
}

/* cuckoo_distance for eight fingerprints.  The lower 32 bits of the square's product are moved up
 * by 20, so that the next product of 52 bits has its integer part in the upper half. */
TAMIS_AVX512_TEMPLATE __m512i avx512_distance(const struct avx512_filter *t, __m512i fingerprint) {
    const __m512i n =
        _mm512_add_epi64(_mm512_and_si512(fingerprint, tamis__avx512_all(CUCKOO_DISTANCES - 1)),
                         tamis__avx512_all(1));
    const __m512i scattered = _mm512_madd52lo_epu64(_mm512_setzero_si512(), _mm512_mul_epu32(n, n),
                                                    tamis__avx512_all(UINT64_C(0x9e3779b1) << 20));
    return _mm512_madd52hi_epu64(t->window, scattered, t->span);
}

/* cuckoo_home_of for eight hashes.  A product of 32-bit numbers reads the lower half of each
 * lane alone, so upper halves need no clearing. */
TAMIS_AVX512_TEMPLATE void avx512_homes_of(const struct avx512_filter *t, __m512i hashes,
                                           struct avx512_homes *homes) {
    const __m512i g = tamis__avx512_mix(hashes);
    const __m512i low = _mm512_mul_epu32(g, t->fingerprints);
    const __m512i high = _mm512_add_epi64(
        _mm512_mul_epu32(_mm512_srli_epi64(g, 32), t->fingerprints), _mm512_srli_epi64(low, 32));
    const __m512i fingerprint = _mm512_srli_epi64(high, 32); /* the fraction is in high and low */
    const __m512i place =
        _mm512_add_epi64(_mm512_mul_epu32(high, t->windows),
                         _mm512_srli_epi64(_mm512_mul_epu32(low, t->windows), 32));
    const __m512i first = _mm512_mul_epu32(_mm512_srli_epi64(place, 32), t->width);
    const __m512i second = _mm512_madd52lo_epu64(first, avx512_distance(t, fingerprint), t->width);
    _mm512_store_si512(homes->first, first);
    _mm512_store_si512(homes->second,
                       _mm512_min_epu64(second, _mm512_sub_epi64(second, t->windows_bits)));
    homes->symbols = _mm512_mullo_epi64(fingerprint, t->scale);
}

TAMIS_AVX512_TEMPLATE const void *avx512_byte(const struct avx512_filter *t, uint64_t bit) {
    return t->slots + (bit >> 3);
}

TAMIS_AVX512_TEMPLATE __m128i avx512_load_two(const struct avx512_filter *t, const uint64_t *bits) {
    const __m128i one = _mm_loadl_epi64(avx512_byte(t, bits[0]));
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(one), avx512_byte(t, bits[1])));
}

TAMIS_AVX512_TEMPLATE __m256i avx512_load_four(const struct avx512_filter *t,
                                               const uint64_t *bits) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(avx512_load_two(t, bits)),
                                   avx512_load_two(t, bits + 2), 1);
}

/* The windows that begin at these bits. */
TAMIS_AVX512_TEMPLATE __m512i avx512_load(const struct avx512_filter *t, const uint64_t *bits,
                                          bool gather) {
    const __m512i bit = _mm512_load_si512(bits);
    const __m512i words =
        gather ? _mm512_i64gather_epi64(_mm512_srli_epi64(bit, 3), t->slots, 1)
               : _mm512_inserti64x4(_mm512_castsi256_si512(avx512_load_four(t, bits)),
                                    avx512_load_four(t, bits + 4), 1);
    return _mm512_srlv_epi64(words, _mm512_and_si512(bit, tamis__avx512_all(7)));
}

/* Bit i is set if key i is possibly in the set: as in cuckoo_pair_holds. */
TAMIS_AVX512_TEMPLATE __mmask8 avx512_test(const struct avx512_filter *t,
                                           const struct avx512_homes *homes, bool gather) {
    const __m512i one = _mm512_xor_si512(avx512_load(t, homes->first, gather),
                                         _mm512_add_epi64(homes->symbols, t->first));
    const __m512i two = _mm512_xor_si512(avx512_load(t, homes->second, gather),
                                         _mm512_add_epi64(homes->symbols, t->second));
    const __m512i in_first = _mm512_andnot_si512(one, _mm512_sub_epi64(one, t->ones));
    const __m512i in_second = _mm512_andnot_si512(two, _mm512_sub_epi64(two, t->ones));
    return _mm512_test_epi64_mask(_mm512_or_si512(in_first, in_second), t->top);
}

/* The results of the first n of eight keys; returns how many are true. */
TAMIS_AVX512_TEMPLATE size_t avx512_answer(__mmask8 hits, size_t n, bool *answers) {
    const __mmask8 valid = (__mmask8)(TAMIS_LIKELY(n >= LANES) ? 0xff : (1u << n) - 1);
    hits &= valid;
    if (answers != NULL) {
        _mm_mask_storeu_epi8(answers, valid, _mm_maskz_set1_epi8(hits, 1));
    }
    return tamis__popcount(hits);
}

TAMIS_AVX512_TEMPLATE void avx512_fetch(const struct avx512_filter *t,
                                        const struct avx512_homes *homes) {
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        TAMIS_PREFETCH(avx512_byte(t, homes->first[i]));
        TAMIS_PREFETCH(avx512_byte(t, homes->second[i]));
    }
}

/* Each group of eight is prepared `ahead` groups before it is tested. */
TAMIS_AVX512_TEMPLATE size_t avx512_groups(const struct avx512_filter *t, const uint64_t *hashes,
                                           size_t count, bool *answers, size_t ahead, bool fetch,
                                           bool gather) {
    const size_t groups = tamis__div_up(count, LANES);
    struct avx512_homes ring[AHEAD_FAR];
    size_t found = 0;
    for (size_t i = 0; i < ahead && i < groups; i++) {
        avx512_homes_of(t, tamis__avx512_load(hashes + LANES * i, count - LANES * i), &ring[i]);
        if (fetch && i >= LATE) avx512_fetch(t, &ring[i - LATE]);
    }
    for (size_t i = 0; i < groups; i++) {
        struct avx512_homes *homes = &ring[i % ahead];
        const size_t at = LANES * i, next = at + LANES * ahead;
        const __mmask8 hits = avx512_test(t, homes, gather);
        found += avx512_answer(hits, count - at, answers == NULL ? NULL : answers + at);
        if (next < count)
            avx512_homes_of(t, tamis__avx512_load(hashes + next, count - next), homes);
        if (fetch && i + ahead - LATE < groups) avx512_fetch(t, &ring[(i + ahead - LATE) % ahead]);
    }
    return found;
}

TAMIS_AVX512_TEMPLATE size_t avx512_contains(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                             size_t count, bool *answers, bool gather) {
    const struct avx512_filter t = avx512_filter_of(&c->grid);
    return c->base.shape.table_bytes < CUCKOO_FETCHED
               ? avx512_groups(&t, hashes, count, answers, AHEAD_NEAR, false, gather)
               : avx512_groups(&t, hashes, count, answers, AHEAD_FAR, true, gather);
}

TAMIS_TARGET_AVX512 size_t tamis__cuckoo_contains_avx512(const struct tamis__cuckoo *c,
                                                         const uint64_t *hashes, size_t count,
                                                         bool *answers) {
    return avx512_contains(c, hashes, count, answers, false);
}

TAMIS_TARGET_AVX512 size_t tamis__cuckoo_contains_gather(const struct tamis__cuckoo *c,
                                                         const uint64_t *hashes, size_t count,
                                                         bool *answers) {
    return avx512_contains(c, hashes, count, answers, true);
}

#endif
