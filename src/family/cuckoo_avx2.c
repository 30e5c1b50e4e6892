/* cuckoo_avx2.c - batch lookups in a cuckoo filter, four keys at a time
 *
 * The four 64-bit lanes of a vector are four keys.  The arithmetic is that of cuckoo_home_of,
 * with products of 32 by 32 bits, so there must be fewer than 2^31 windows; a window is loaded as
 * one word, so w slots must fit in 57 bits: 64 less a bit offset of 7.
 *
 * All slots of a window are compared at once: `difference` has w fields of f bits, one of
 * which is 0 if the slot holds the symbol looked for.  With LOW the lower f-1 bits and TOP the
 * upper bit of each field, (difference & LOW) + LOW carries into the upper bit unless the
 * lower ones were 0, so ((difference & LOW) + LOW | difference) & TOP has the upper bit of
 * just the fields that are not 0. */
#include "family/cuckoo_kernel.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"

#define LANES 4

/* A group is prepared this many groups before it is tested: enough for the latency of the memory,
 * or just enough to overlap arithmetic with loads. */
#define AHEAD_FAR 16
#define AHEAD_NEAR 4

/* From this table size on, windows are prefetched; in a smaller table that costs more than it saves
 * (3.3 instead of 2.6 ns at 10,000 keys). */
#define FETCHED ((uint64_t)1 << 19)

/* What the kernel needs of a filter, one value for all lanes. */
struct avx2_filter {
    const uint8_t *slots;
    __m256i windows, windows_bits, fingerprints, span, width;
    __m256i first, second, low, top; /* as in struct cuckoo_grid */
    __m128i shift;
};

/* Four classes: the first bits of their windows, and the fingerprint times 2w in each field. */
struct avx2_homes {
    _Alignas(32) uint64_t first[LANES];
    _Alignas(32) uint64_t second[LANES];
    __m256i symbols;
};

TAMIS_AVX2_TEMPLATE struct avx2_filter avx2_filter_of(const struct cuckoo_grid *g) {
    return (struct avx2_filter){
        .slots = g->slots,
        .windows = tamis__avx2_all(g->windows),
        .windows_bits = tamis__avx2_all(g->windows_bits),
        .fingerprints = tamis__avx2_all(g->fingerprints),
        .span = tamis__avx2_all(g->span),
        .width = tamis__avx2_all(g->width),
        .first = tamis__avx2_all(g->first),
        .second = tamis__avx2_all(g->second),
        .low = tamis__avx2_all(g->low),
        .top = tamis__avx2_all(g->top),
        .shift = _mm_cvtsi32_si128((int)g->width),
    };
}

/* cuckoo_home_of for four hashes.  A product of 32-bit numbers reads the lower half of each
 * lane alone, so upper halves need no clearing. */
TAMIS_AVX2_TEMPLATE void avx2_homes_of(const struct avx2_filter *t, const uint64_t *hashes,
                                       unsigned w, struct avx2_homes *homes) {
    const __m256i g = tamis__avx2_mix(_mm256_loadu_si256((const __m256i *)(const void *)hashes));
    const __m256i low = _mm256_mul_epu32(g, t->fingerprints);
    const __m256i high = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64(g, 32), t->fingerprints), _mm256_srli_epi64(low, 32));
    const __m256i fingerprint = _mm256_srli_epi64(high, 32); /* the fraction is in high and low */
    const __m256i place =
        _mm256_add_epi64(_mm256_mul_epu32(high, t->windows),
                         _mm256_srli_epi64(_mm256_mul_epu32(low, t->windows), 32));

    const __m256i n = _mm256_add_epi64(
        _mm256_and_si256(fingerprint, tamis__avx2_all(CUCKOO_DISTANCES - 1)), tamis__avx2_all(1));
    const __m256i scattered = _mm256_mul_epu32(_mm256_mul_epu32(n, n), tamis__avx2_all(0x9e3779b1));
    const __m256i distance = _mm256_add_epi64(
        _mm256_srli_epi64(_mm256_mul_epu32(scattered, t->span), 32), tamis__avx2_all(w));
    const __m256i first = _mm256_mul_epu32(_mm256_srli_epi64(place, 32), t->width);
    const __m256i second = _mm256_add_epi64(first, _mm256_mul_epu32(distance, t->width));
    const __m256i inside = _mm256_cmpgt_epi64(t->windows_bits, second);

    __m256i symbol = _mm256_slli_epi64(fingerprint, w == 2 ? 2 : 1);
    if (w == 3) symbol = _mm256_add_epi64(symbol, _mm256_slli_epi64(fingerprint, 2));
    __m256i symbols = _mm256_add_epi64(symbol, _mm256_sll_epi64(symbol, t->shift));
    if (w == 3) symbols = _mm256_add_epi64(symbol, _mm256_sll_epi64(symbols, t->shift));
    _mm256_store_si256((__m256i *)(void *)homes->first, first);
    _mm256_store_si256((__m256i *)(void *)homes->second,
                       _mm256_sub_epi64(second, _mm256_andnot_si256(inside, t->windows_bits)));
    homes->symbols = symbols;
}

/* Four loads instead of a gather, which is slower here (5.0 instead of 4.6 ns per key). */
TAMIS_AVX2_TEMPLATE __m256i avx2_load(const struct avx2_filter *t, const uint64_t *bits) {
    uint64_t word[LANES];
    for (unsigned i = 0; i < LANES; i++) word[i] = tamis__load64(t->slots + (bits[i] >> 3));
    const __m256i words = _mm256_setr_epi64x((long long)word[0], (long long)word[1],
                                             (long long)word[2], (long long)word[3]);
    const __m256i bit = _mm256_load_si256((const __m256i *)(const void *)bits);
    return _mm256_srlv_epi64(words, _mm256_and_si256(bit, tamis__avx2_all(7)));
}

/* The top bit of each field that is not 0; other bits are undefined. */
TAMIS_AVX2_TEMPLATE __m256i avx2_not_zero(const struct avx2_filter *t, __m256i difference) {
    return _mm256_or_si256(_mm256_add_epi64(_mm256_and_si256(difference, t->low), t->low),
                           difference);
}

/* Bit i is set if key i is possibly in the set. */
TAMIS_AVX2_TEMPLATE unsigned avx2_test(const struct avx2_filter *t,
                                       const struct avx2_homes *homes) {
    const __m256i one =
        _mm256_xor_si256(avx2_load(t, homes->first), _mm256_add_epi64(homes->symbols, t->first));
    const __m256i two =
        _mm256_xor_si256(avx2_load(t, homes->second), _mm256_add_epi64(homes->symbols, t->second));
    const __m256i differ = _mm256_and_si256(avx2_not_zero(t, one), avx2_not_zero(t, two));
    const __m256i miss = _mm256_cmpeq_epi64(_mm256_and_si256(differ, t->top), t->top);
    return 15u ^ (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(miss));
}

/* The four results as bytes: the product has bit i of `hits` at bit 8 i. */
TAMIS_AVX2_TEMPLATE size_t avx2_answer(unsigned hits, bool *answers) {
    if (answers != NULL) tamis__store32(answers, (hits * UINT32_C(0x204081)) & UINT32_C(0x1010101));
    return tamis__popcount(hits);
}

/* Prepares a group and, if `fetch`, prefetches its windows. */
TAMIS_AVX2_TEMPLATE void avx2_prepare(const struct avx2_filter *t, const uint64_t *hashes,
                                      unsigned w, bool fetch, struct avx2_homes *homes) {
    avx2_homes_of(t, hashes, w, homes);
    for (unsigned i = 0; fetch && i < LANES; i++) {
        TAMIS_PREFETCH(t->slots + (homes->first[i] >> 3));
        TAMIS_PREFETCH(t->slots + (homes->second[i] >> 3));
    }
}

/* Tests `groups` groups, each prepared `ahead` groups before. */
TAMIS_AVX2_TEMPLATE size_t avx2_groups(const struct avx2_filter *t, const uint64_t *hashes,
                                       size_t groups, bool *answers, size_t ahead, bool fetch,
                                       unsigned w) {
    struct avx2_homes ring[AHEAD_FAR];
    size_t found = 0;
    for (size_t i = 0; i < ahead && i < groups; i++) {
        avx2_prepare(t, hashes + LANES * i, w, fetch, &ring[i]);
    }
    for (size_t i = 0; i < groups; i++) {
        struct avx2_homes *homes = &ring[i % ahead];
        found += avx2_answer(avx2_test(t, homes), answers == NULL ? NULL : answers + LANES * i);
        if (i + ahead < groups) avx2_prepare(t, hashes + LANES * (i + ahead), w, fetch, homes);
    }
    return found;
}

/* By the size of the table. */
TAMIS_AVX2_TEMPLATE size_t avx2_all_groups(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                           size_t groups, bool *answers, unsigned w) {
    const struct avx2_filter t = avx2_filter_of(&c->grid);
    const uint64_t bytes = c->base.shape.table_bytes;
    if (bytes < FETCHED) return avx2_groups(&t, hashes, groups, answers, AHEAD_NEAR, false, w);
    return bytes < CUCKOO_FAR ? avx2_groups(&t, hashes, groups, answers, AHEAD_NEAR, true, w)
                              : avx2_groups(&t, hashes, groups, answers, AHEAD_FAR, true, w);
}

TAMIS_AVX2_TEMPLATE size_t avx2_contains(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                         size_t count, bool *answers, unsigned w) {
    const size_t groups = count / LANES;
    size_t found = avx2_all_groups(c, hashes, groups, answers, w);
    for (size_t i = LANES * groups; i < count; i++) {
        const struct cuckoo_home home = cuckoo_home_of(c, hashes[i]);
        const bool maybe = (cuckoo_copies(&c->grid, &home, 0, w, true) |
                            cuckoo_copies(&c->grid, &home, 1, w, true)) != 0;
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TARGET_AVX2 size_t tamis__cuckoo_contains_avx2(const struct tamis__cuckoo *c,
                                                     const uint64_t *hashes, size_t count,
                                                     bool *answers) {
    return c->grid.window == 2 ? avx2_contains(c, hashes, count, answers, 2)
                               : avx2_contains(c, hashes, count, answers, 3);
}

#endif
