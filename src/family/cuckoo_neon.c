/* cuckoo_neon.c - batch lookups in a cuckoo filter, four keys at a time
 *
 * Homes are computed as in cuckoo_avx2.c, but in lanes of 32 bits, so the slots must have fewer
 * than 2^31 bits.  A window is compared as there, in lanes of 64 bits. */
#include "family/cuckoo_kernel.h"

#if defined(TAMIS_HAVE_NEON)
#include "core/neon.h"

#define LANES TAMIS_NEON_LANES

/* A group is prepared this many groups before it is tested: cuckoo_avx2.c. */
#define AHEAD_FAR 16
#define AHEAD_MIDDLE 8
#define AHEAD_NEAR 4

/* What the kernel needs of a filter. */
struct neon_filter {
    const uint8_t *slots;
    uint32_t windows, windows_bits, fingerprints, span, width;
    uint64x2_t first, second, top, ones; /* as in cuckoo_avx2.c */
    int64x2_t shift;
};

/* Four classes: the first bits of their windows, and the fingerprint times 2w. */
struct neon_homes {
    uint32_t first[LANES], second[LANES];
    uint32x4_t symbol;
};

TAMIS_TEMPLATE struct neon_filter neon_filter_of(const struct cuckoo_grid *g) {
    return (struct neon_filter){
        .slots = g->slots,
        .windows = (uint32_t)g->windows,
        .windows_bits = (uint32_t)g->windows_bits,
        .fingerprints = (uint32_t)g->fingerprints,
        .span = g->span,
        .width = (uint32_t)g->width,
        .first = vdupq_n_u64(g->first),
        .second = vdupq_n_u64(g->second),
        .top = vdupq_n_u64(g->top),
        .ones = vdupq_n_u64(g->top >> (g->width - 1)),
        .shift = vdupq_n_s64((int64_t)g->width),
    };
}

/* cuckoo_distance */
TAMIS_TEMPLATE uint32x4_t neon_distance(const struct neon_filter *t, uint32x4_t fingerprint,
                                        unsigned w) {
    const uint32x4_t n =
        vaddq_u32(vandq_u32(fingerprint, vdupq_n_u32(CUCKOO_DISTANCES - 1)), vdupq_n_u32(1));
    const uint32x4_t scattered = vmulq_n_u32(vmulq_u32(n, n), UINT32_C(0x9e3779b1));
    return vaddq_u32(tamis__neon_scale(scattered, t->span), vdupq_n_u32(w));
}

/* cuckoo_home_of for four hashes. */
TAMIS_TEMPLATE void neon_homes_of(const struct neon_filter *t, const uint64_t *hashes, unsigned w,
                                  struct neon_homes *homes) {
    const uint64x2_t a = tamis__neon_two(cuckoo_mix(hashes[0]), cuckoo_mix(hashes[1]));
    const uint64x2_t b = tamis__neon_two(cuckoo_mix(hashes[2]), cuckoo_mix(hashes[3]));
    const struct tamis__neon_product print =
        tamis__neon_product(tamis__neon_low(a, b), tamis__neon_high(a, b), t->fingerprints);
    const struct tamis__neon_product place =
        tamis__neon_product(print.rest, print.fraction, t->windows);
    const uint32x4_t first = vmulq_n_u32(place.whole, t->width);
    const uint32x4_t second = vmlaq_n_u32(first, neon_distance(t, print.whole, w), t->width);
    /* cuckoo_wrap */
    const uint32x4_t wrapped = vsubq_u32(second, vdupq_n_u32(t->windows_bits));
    vst1q_u32(homes->first, first);
    vst1q_u32(homes->second, vminq_u32(second, wrapped));
    homes->symbol = vmulq_n_u32(print.whole, 2 * w);
}

/* The words at four positions, shifted to these. */
TAMIS_TEMPLATE void neon_load(const struct neon_filter *t, const uint32_t bits[LANES],
                              uint64x2_t words[2]) {
    uint64x1_t word[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        word[i] = vreinterpret_u64_u8(vld1_u8(t->slots + (bits[i] >> 3)));
    }
    const uint32x4_t bit = vandq_u32(vld1q_u32(bits), vdupq_n_u32(7));
    const int32x4_t right = vnegq_s32(vreinterpretq_s32_u32(bit));
    words[0] = vshlq_u64(vcombine_u64(word[0], word[1]), vmovl_s32(vget_low_s32(right)));
    words[1] = vshlq_u64(vcombine_u64(word[2], word[3]), vmovl_high_s32(right));
}

/* The symbol in each field: 2w times the fingerprint, from its value. */
TAMIS_TEMPLATE uint64x2_t neon_fields(const struct neon_filter *t, uint64x2_t symbol, unsigned w) {
    uint64x2_t fields = vaddq_u64(symbol, vshlq_u64(symbol, t->shift));
    if (w == 3) fields = vaddq_u64(symbol, vshlq_u64(fields, t->shift));
    return fields;
}

/* The top bit of some field is set if and only if a field is 0; other bits are undefined. */
TAMIS_TEMPLATE uint64x2_t neon_zeros(const struct neon_filter *t, uint64x2_t difference) {
    return vbicq_u64(vsubq_u64(difference, t->ones), difference);
}

/* A byte per key: 1 if it is possibly in the set. */
TAMIS_TEMPLATE uint32_t neon_test(const struct neon_filter *t, const struct neon_homes *homes,
                                  unsigned w) {
    const uint64x2_t symbol[2] = {vmovl_u32(vget_low_u32(homes->symbol)),
                                  vmovl_high_u32(homes->symbol)};
    uint64x2_t one[2], two[2], hit[2];
    neon_load(t, homes->first, one);
    neon_load(t, homes->second, two);
    TAMIS_UNROLL
    for (unsigned h = 0; h < 2; h++) {
        const uint64x2_t fields = neon_fields(t, symbol[h], w);
        one[h] = neon_zeros(t, veorq_u64(one[h], vaddq_u64(fields, t->first)));
        two[h] = neon_zeros(t, veorq_u64(two[h], vaddq_u64(fields, t->second)));
        hit[h] = vtstq_u64(vorrq_u64(one[h], two[h]), t->top);
    }
    return tamis__neon_bytes(tamis__neon_low(hit[0], hit[1]));
}

TAMIS_TEMPLATE void neon_request(const struct neon_filter *t, const uint64_t *hashes, unsigned w,
                                 struct neon_homes *homes, bool fetch) {
    neon_homes_of(t, hashes, w, homes);
    TAMIS_UNROLL
    for (unsigned i = 0; fetch && i < LANES; i++) {
        TAMIS_PREFETCH(t->slots + (homes->first[i] >> 3));
        TAMIS_PREFETCH(t->slots + (homes->second[i] >> 3));
    }
}

/* Tests `groups` groups, each prepared `ahead` groups before. */
TAMIS_TEMPLATE size_t neon_groups(const struct neon_filter *t, const uint64_t *hashes,
                                  size_t groups, bool *answers, size_t ahead, bool fetch,
                                  unsigned w) {
    struct neon_homes ring[AHEAD_FAR];
    size_t found = 0;
    for (size_t i = 0; i < ahead && i < groups; i++) {
        neon_request(t, hashes + LANES * i, w, &ring[i], fetch);
    }
    for (size_t i = 0; i < groups; i++) {
        struct neon_homes *homes = &ring[i % ahead];
        found += tamis__neon_answer(neon_test(t, homes, w), LANES,
                                    answers == NULL ? NULL : answers + LANES * i);
        if (i + ahead < groups) neon_request(t, hashes + LANES * (i + ahead), w, homes, fetch);
    }
    return found;
}

TAMIS_TEMPLATE size_t neon_contains(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                    size_t count, bool *answers, unsigned w) {
    const struct neon_filter t = neon_filter_of(&c->grid);
    const uint64_t bytes = c->base.shape.table_bytes;
    const size_t groups = count / LANES;
    size_t found;
    if (bytes < CUCKOO_FETCHED) {
        found = neon_groups(&t, hashes, groups, answers, AHEAD_NEAR, false, w);
    } else if (bytes < CUCKOO_FAR) {
        found = neon_groups(&t, hashes, groups, answers, AHEAD_MIDDLE, true, w);
    } else {
        found = neon_groups(&t, hashes, groups, answers, AHEAD_FAR, true, w);
    }
    for (size_t i = LANES * groups; i < count; i++) {
        const struct cuckoo_home home = cuckoo_home_of(c, hashes[i]);
        const bool maybe = (cuckoo_copies(&c->grid, &home, 0, w, true) |
                            cuckoo_copies(&c->grid, &home, 1, w, true)) != 0;
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

size_t tamis__cuckoo_contains_neon(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                   size_t count, bool *answers) {
    return c->grid.window == 2 ? neon_contains(c, hashes, count, answers, 2)
                               : neon_contains(c, hashes, count, answers, 3);
}

#endif
