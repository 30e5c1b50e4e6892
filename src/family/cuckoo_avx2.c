/* cuckoo_avx2.c - batch lookups in a cuckoo filter, four keys at a time
 *
 * The four 64-bit lanes of a vector are four keys.  The arithmetic is that of cuckoo_home_of,
 * with products of 32 by 32 bits, so there must be fewer than 2^31 windows; a window is loaded as
 * one word, so w slots must fit in 57 bits: 64 less a bit offset of 7.
 *
 * All slots of a window are compared at once: `difference` has w fields of f bits, one of
 * which is 0 if the slot holds the symbol looked for (cuckoo_pair_holds). */
#include "family/cuckoo_kernel.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"

#define LANES 4

/* A group is prepared this many groups before it is tested: enough for the latency of the memory,
 * or just enough to overlap arithmetic with loads.  Its windows are prefetched LATE groups after it
 * was prepared: loads of its positions that soon follow their store would wait for it. */
#define AHEAD_FAR 16
#define AHEAD_MIDDLE 8
#define AHEAD_NEAR 4
#define LATE 2

/* What the kernel needs of a filter, one value for all lanes. */
struct avx2_filter {
    const uint8_t *slots;
    __m256i windows, windows_bits, fingerprints, span, width;
    __m256i first, second, top; /* as in struct cuckoo_grid */
    __m256i ones;               /* the lowest bit of each field */
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
        .top = tamis__avx2_all(g->top),
        .ones = tamis__avx2_all(g->top >> (g->width - 1)),
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

TAMIS_AVX2_TEMPLATE long long avx2_word(const struct avx2_filter *t, uint64_t bit) {
    return (long long)tamis__load64(t->slots + (bit >> 3));
}

/* Four loads instead of a gather, which is slower here (5.0 instead of 4.6 ns per key). */
TAMIS_AVX2_TEMPLATE __m256i avx2_load(const struct avx2_filter *t, const uint64_t *bits) {
    const __m256i words = _mm256_setr_epi64x(avx2_word(t, bits[0]), avx2_word(t, bits[1]),
                                             avx2_word(t, bits[2]), avx2_word(t, bits[3]));
    const __m256i bit = _mm256_load_si256((const __m256i *)(const void *)bits);
    return _mm256_srlv_epi64(words, _mm256_and_si256(bit, tamis__avx2_all(7)));
}

/* The top bit of some field is set if and only if a field is 0; other bits are undefined. */
TAMIS_AVX2_TEMPLATE __m256i avx2_zeros(const struct avx2_filter *t, __m256i difference) {
    return _mm256_andnot_si256(difference, _mm256_sub_epi64(difference, t->ones));
}

/* Bit i is set if key i is possibly in the set. */
TAMIS_AVX2_TEMPLATE unsigned avx2_test(const struct avx2_filter *t,
                                       const struct avx2_homes *homes) {
    const __m256i one =
        _mm256_xor_si256(avx2_load(t, homes->first), _mm256_add_epi64(homes->symbols, t->first));
    const __m256i two =
        _mm256_xor_si256(avx2_load(t, homes->second), _mm256_add_epi64(homes->symbols, t->second));
    const __m256i zeros = _mm256_or_si256(avx2_zeros(t, one), avx2_zeros(t, two));
    const __m256i miss =
        _mm256_cmpeq_epi64(_mm256_and_si256(zeros, t->top), _mm256_setzero_si256());
    return 15u ^ (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(miss));
}

/* The four results as bytes: the product has bit i of `hits` at bit 8 i. */
TAMIS_AVX2_TEMPLATE size_t avx2_answer(unsigned hits, bool *answers) {
    if (answers != NULL) tamis__store32(answers, (hits * UINT32_C(0x204081)) & UINT32_C(0x1010101));
    return tamis__popcount(hits);
}

TAMIS_AVX2_TEMPLATE void avx2_fetch(const struct avx2_filter *t, const struct avx2_homes *homes) {
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
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
        avx2_homes_of(t, hashes + LANES * i, w, &ring[i]);
        if (fetch && i >= LATE) avx2_fetch(t, &ring[i - LATE]);
    }
    for (size_t i = 0; i < groups; i++) {
        struct avx2_homes *homes = &ring[i % ahead];
        const size_t next = i + ahead;
        found += avx2_answer(avx2_test(t, homes), answers == NULL ? NULL : answers + LANES * i);
        if (next < groups) avx2_homes_of(t, hashes + LANES * next, w, homes);
        if (fetch && next - LATE < groups) avx2_fetch(t, &ring[(next - LATE) % ahead]);
    }
    return found;
}

/* By the size of the table. */
TAMIS_AVX2_TEMPLATE size_t avx2_all_groups(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                           size_t groups, bool *answers, unsigned w) {
    const struct avx2_filter t = avx2_filter_of(&c->grid);
    const uint64_t bytes = c->base.shape.table_bytes;
    if (bytes < CUCKOO_FETCHED)
        return avx2_groups(&t, hashes, groups, answers, AHEAD_NEAR, false, w);
    return bytes < CUCKOO_FAR ? avx2_groups(&t, hashes, groups, answers, AHEAD_MIDDLE, true, w)
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
