/* siphash_avx2.c - SipHash-2-4 of eight keys at once: two vectors of four, so that one works while
 * the other waits
 *
 * Keys of the same number of words take a shorter path.  Otherwise a key that has ended keeps
 * its state while longer ones continue. */
#include "hash/siphash.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"

#define HALVES 2
#define LANES 4

struct sip4 {
    __m256i a, b, c, d;
};

TAMIS_AVX2_TEMPLATE __m256i rotate(__m256i x, int left) {
    if (left == 32) return _mm256_shuffle_epi32(x, 0xb1);
    return _mm256_or_si256(_mm256_slli_epi64(x, left), _mm256_srli_epi64(x, 64 - left));
}

/* By two bytes: one instruction less. */
TAMIS_AVX2_TEMPLATE __m256i rotate16(__m256i x) {
    const __m256i bytes = _mm256_setr_epi8(6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13, 6,
                                           7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13);
    return _mm256_shuffle_epi8(x, bytes);
}

TAMIS_AVX2_TEMPLATE void sip4_round(struct sip4 s[HALVES]) {
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) {
        s[h].a = _mm256_add_epi64(s[h].a, s[h].b);
        s[h].c = _mm256_add_epi64(s[h].c, s[h].d);
        s[h].b = _mm256_xor_si256(rotate(s[h].b, 13), s[h].a);
        s[h].d = _mm256_xor_si256(rotate16(s[h].d), s[h].c);
        s[h].a = _mm256_add_epi64(rotate(s[h].a, 32), s[h].d);
        s[h].c = _mm256_add_epi64(s[h].c, s[h].b);
        s[h].d = _mm256_xor_si256(rotate(s[h].d, 21), s[h].a);
        s[h].b = _mm256_xor_si256(rotate(s[h].b, 17), s[h].c);
        s[h].c = rotate(s[h].c, 32);
    }
}

TAMIS_AVX2_TEMPLATE void sip4_block(struct sip4 s[HALVES], const __m256i word[HALVES]) {
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) s[h].d = _mm256_xor_si256(s[h].d, word[h]);
    sip4_round(s);
    sip4_round(s);
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) s[h].a = _mm256_xor_si256(s[h].a, word[h]);
}

/* `new` in the lanes where `mask` is all ones. */
TAMIS_AVX2_TEMPLATE struct sip4 sip4_choose(struct sip4 old, struct sip4 new, __m256i mask) {
    old.a = _mm256_blendv_epi8(old.a, new.a, mask);
    old.b = _mm256_blendv_epi8(old.b, new.b, mask);
    old.c = _mm256_blendv_epi8(old.c, new.c, mask);
    old.d = _mm256_blendv_epi8(old.d, new.d, mask);
    return old;
}

/* The word `at` bytes into four keys. */
TAMIS_AVX2_TEMPLATE __m256i sip4_words(const void *const *keys, const size_t at[LANES]) {
    uint64_t lane[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        lane[i] = tamis__load64((const uint8_t *)keys[i] + at[i]);
    }
    return _mm256_setr_epi64x((long long)lane[0], (long long)lane[1], (long long)lane[2],
                              (long long)lane[3]);
}

/* Blocks that all keys have. */
TAMIS_AVX2_TEMPLATE void sip4_common(struct sip4 s[HALVES], const void *const *keys,
                                     size_t blocks) {
    for (size_t at = 0; at < 8 * blocks; at += 8) {
        const size_t same[LANES] = {at, at, at, at};
        const __m256i word[HALVES] = {sip4_words(keys, same), sip4_words(keys + LANES, same)};
        sip4_block(s, word);
    }
}

/* The bytes of word number `block` that four keys have: none, up to seven, or all of them. */
TAMIS_AVX2_TEMPLATE __m256i sip4_tails(const void *const *keys, const size_t *lengths,
                                       size_t block) {
    uint64_t lane[LANES];
    for (unsigned i = 0; i < LANES; i++) {
        const uint8_t *key = keys[i];
        lane[i] =
            block < lengths[i] / 8 ? tamis__load64(key + 8 * block) : sip_tail(key, lengths[i]);
    }
    return _mm256_loadu_si256((const __m256i *)(const void *)lane);
}

/* The same without branches, if every key has a whole word: the last eight bytes, without those
 * that the word before has.  (A shift by 64 bits or more gives 0.) */
TAMIS_AVX2_TEMPLATE __m256i sip4_shifted(const void *const *keys, const size_t *lengths,
                                         size_t block) {
    size_t at[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        at[i] = 8 * block < lengths[i] - 8 ? 8 * block : lengths[i] - 8;
    }
    const __m256i length = _mm256_loadu_si256((const __m256i *)(const void *)lengths);
    const __m256i beyond = _mm256_sub_epi64(tamis__avx2_all(8 * block + 8), length);
    const __m256i inside = _mm256_cmpgt_epi64(_mm256_setzero_si256(), beyond);
    const __m256i bits = _mm256_slli_epi64(_mm256_andnot_si256(inside, beyond), 3);
    return _mm256_srlv_epi64(sip4_words(keys, at), bits);
}

/* A block that is the last of some keys, or of all, and beyond that of others. */
TAMIS_AVX2_TEMPLATE void sip4_ragged(struct sip4 s[HALVES], const void *const *keys,
                                     const size_t *lengths, size_t block, bool whole, bool alike) {
    const __m256i now = tamis__avx2_all(block);
    __m256i word[HALVES], ended[HALVES];
    const struct sip4 before[HALVES] = {s[0], s[1]};
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++, keys += LANES, lengths += LANES) {
        const __m256i length = _mm256_loadu_si256((const __m256i *)(const void *)lengths);
        const __m256i words = _mm256_srli_epi64(length, 3), top = _mm256_slli_epi64(length, 56);
        const __m256i last = alike ? top : _mm256_and_si256(_mm256_cmpeq_epi64(words, now), top);
        ended[h] = _mm256_cmpgt_epi64(now, words);
        word[h] = _mm256_or_si256(
            last, whole ? sip4_shifted(keys, lengths, block) : sip4_tails(keys, lengths, block));
    }
    sip4_block(s, word);
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES && !alike; h++) s[h] = sip4_choose(s[h], before[h], ended[h]);
}

TAMIS_AVX2_TEMPLATE void sip4_begin(struct sip4 s[HALVES], const uint64_t secret[2]) {
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) {
        s[h].a = tamis__avx2_all(secret[0] ^ SIP_A);
        s[h].b = tamis__avx2_all(secret[1] ^ SIP_B);
        s[h].c = tamis__avx2_all(secret[0] ^ SIP_C);
        s[h].d = tamis__avx2_all(secret[1] ^ SIP_D);
    }
}

TAMIS_AVX2_TEMPLATE void sip4_end(struct sip4 s[HALVES], uint64_t *hashes) {
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) {
        s[h].c = _mm256_xor_si256(s[h].c, tamis__avx2_all(0xff));
    }
    TAMIS_UNROLL
    for (unsigned i = 0; i < 4; i++) sip4_round(s);
    TAMIS_UNROLL
    for (unsigned h = 0; h < HALVES; h++) {
        const __m256i ab = _mm256_xor_si256(s[h].a, s[h].b), cd = _mm256_xor_si256(s[h].c, s[h].d);
        _mm256_storeu_si256((__m256i *)(void *)(hashes + h * LANES), _mm256_xor_si256(ab, cd));
    }
}

/* Eight keys, each of which has from `min` to `max` whole words. */
TAMIS_AVX2_TEMPLATE void hash_between(const uint64_t secret[2], const void *const *keys,
                                      const size_t *lengths, size_t min, size_t max,
                                      uint64_t *hashes, bool whole, bool alike) {
    struct sip4 s[HALVES];
    sip4_begin(s, secret);
    sip4_common(s, keys, min);
    for (size_t block = min; block <= max; block++) {
        sip4_ragged(s, keys, lengths, block, whole, alike);
    }
    sip4_end(s, hashes);
}

TAMIS_AVX2_TEMPLATE void hash_eight(const uint64_t secret[2], const void *const *keys,
                                    const size_t *lengths, uint64_t *hashes) {
    size_t min, max;
    if (TAMIS_LIKELY(sip_are_alike(lengths, SIP_LANES) && lengths[0] >= 8)) {
        hash_between(secret, keys, lengths, lengths[0] / 8, lengths[0] / 8, hashes, true, true);
    } else if (!sip_are_close(lengths, 1, &min, &max)) {
        sip_each(secret, keys, lengths, SIP_LANES, hashes);
    } else if (min > 0) {
        hash_between(secret, keys, lengths, min, max, hashes, true, false);
    } else {
        hash_between(secret, keys, lengths, min, max, hashes, false, false);
    }
}

TAMIS_TARGET_AVX2 void tamis__siphash24_avx2(const uint64_t secret[2], const void *const *keys,
                                             const size_t *lengths, size_t count,
                                             uint64_t *hashes) {
    for (size_t i = 0; i < count; i += SIP_LANES) {
        hash_eight(secret, keys + i, lengths + i, hashes + i);
    }
}

#endif
