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
    for (unsigned h = 0; h < HALVES; h++) s[h].d = _mm256_xor_si256(s[h].d, word[h]);
    sip4_round(s);
    sip4_round(s);
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

/* The eight bytes before these ends of four keys. */
TAMIS_AVX2_TEMPLATE __m256i sip4_load(const void *const *keys, const size_t *ends) {
    uint64_t lane[LANES];
    for (unsigned i = 0; i < LANES; i++) {
        lane[i] = tamis__load64((const uint8_t *)keys[i] + ends[i] - 8);
    }
    return _mm256_setr_epi64x((long long)lane[0], (long long)lane[1], (long long)lane[2],
                              (long long)lane[3]);
}

/* Blocks that all keys have. */
TAMIS_AVX2_TEMPLATE void sip4_common(struct sip4 s[HALVES], const void *const *keys,
                                     size_t blocks) {
    for (size_t at = 0; at < 8 * blocks; at += 8) {
        __m256i word[HALVES];
        for (unsigned h = 0; h < HALVES; h++) {
            uint64_t lane[LANES];
            for (unsigned i = 0; i < LANES; i++) {
                lane[i] = tamis__load64((const uint8_t *)keys[h * LANES + i] + at);
            }
            word[h] = _mm256_setr_epi64x((long long)lane[0], (long long)lane[1], (long long)lane[2],
                                         (long long)lane[3]);
        }
        sip4_block(s, word);
    }
}

/* Block number `block`, which is the last of some keys and beyond that of others. */
TAMIS_AVX2_TEMPLATE void sip4_ragged(struct sip4 s[HALVES], const void *const *keys,
                                     const size_t *lengths, size_t block) {
    __m256i word[HALVES], goes_on[HALVES];
    struct sip4 next[HALVES] = {s[0], s[1]};
    for (unsigned h = 0; h < HALVES; h++) {
        uint64_t lane[LANES], mask[LANES];
        for (unsigned i = 0; i < LANES; i++) {
            const uint8_t *key = keys[h * LANES + i];
            const size_t length = lengths[h * LANES + i];
            lane[i] = block < length / 8 ? tamis__load64(key + 8 * block) : sip_last(key, length);
            mask[i] = block <= length / 8 ? UINT64_MAX : 0;
        }
        word[h] = _mm256_loadu_si256((const __m256i *)(const void *)lane);
        goes_on[h] = _mm256_loadu_si256((const __m256i *)(const void *)mask);
    }
    sip4_block(next, word);
    for (unsigned h = 0; h < HALVES; h++) s[h] = sip4_choose(s[h], next[h], goes_on[h]);
}

/* The last block of keys that have a whole word before it: the last eight bytes, without those that
 * the word before has.  (A shift by all 64 bits gives 0.) */
TAMIS_AVX2_TEMPLATE void sip4_last(struct sip4 s[HALVES], const void *const *keys,
                                   const size_t *lengths) {
    __m256i word[HALVES];
    for (unsigned h = 0; h < HALVES; h++) {
        const __m256i length = _mm256_loadu_si256((const __m256i *)(const void *)lengths + h);
        const __m256i tail = _mm256_and_si256(length, tamis__avx2_all(7));
        const __m256i before = _mm256_sub_epi64(tamis__avx2_all(64), _mm256_slli_epi64(tail, 3));
        const __m256i bytes = sip4_load(keys + h * LANES, lengths + h * LANES);
        word[h] = _mm256_or_si256(_mm256_srlv_epi64(bytes, before), _mm256_slli_epi64(length, 56));
    }
    sip4_block(s, word);
}

TAMIS_AVX2_TEMPLATE void sip4_begin(struct sip4 s[HALVES], const uint64_t secret[2]) {
    for (unsigned h = 0; h < HALVES; h++) {
        s[h].a = tamis__avx2_all(secret[0] ^ SIP_A);
        s[h].b = tamis__avx2_all(secret[1] ^ SIP_B);
        s[h].c = tamis__avx2_all(secret[0] ^ SIP_C);
        s[h].d = tamis__avx2_all(secret[1] ^ SIP_D);
    }
}

TAMIS_AVX2_TEMPLATE void sip4_end(struct sip4 s[HALVES], uint64_t *hashes) {
    for (unsigned h = 0; h < HALVES; h++) {
        s[h].c = _mm256_xor_si256(s[h].c, tamis__avx2_all(0xff));
    }
    for (unsigned i = 0; i < 4; i++) sip4_round(s);
    for (unsigned h = 0; h < HALVES; h++) {
        const __m256i ab = _mm256_xor_si256(s[h].a, s[h].b), cd = _mm256_xor_si256(s[h].c, s[h].d);
        _mm256_storeu_si256((__m256i *)(void *)(hashes + h * LANES), _mm256_xor_si256(ab, cd));
    }
}

/* Eight keys with the same number of whole words, at least one. */
TAMIS_AVX2_TEMPLATE bool are_alike(const size_t *lengths) {
    size_t differ = 0;
    for (unsigned i = 1; i < SIP_LANES; i++) differ |= lengths[i] ^ lengths[0];
    return differ < 8 && lengths[0] >= 8;
}

TAMIS_TARGET_AVX2 size_t tamis__siphash24_alike_avx2(const uint64_t secret[2],
                                                     const void *const *keys, const size_t *lengths,
                                                     size_t count, uint64_t *hashes) {
    size_t i = 0;
    for (; count - i >= SIP_LANES && are_alike(lengths + i); i += SIP_LANES) {
        struct sip4 s[HALVES];
        sip4_begin(s, secret);
        sip4_common(s, keys + i, lengths[i] / 8);
        sip4_last(s, keys + i, lengths + i);
        sip4_end(s, hashes + i);
    }
    return i;
}

TAMIS_TARGET_AVX2 void tamis__siphash24_avx2(const uint64_t secret[2], const void *const *keys,
                                             const size_t *lengths, size_t min, size_t max,
                                             uint64_t *hashes) {
    struct sip4 s[HALVES];
    sip4_begin(s, secret);
    sip4_common(s, keys, min);
    for (size_t block = min; block <= max; block++) sip4_ragged(s, keys, lengths, block);
    sip4_end(s, hashes);
}

#endif
