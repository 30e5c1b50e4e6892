/* siphash_avx512.c - SipHash-2-4 of eight keys in a vector, with rotations by one instruction
 *
 * Keys with the same number of words are hashed in two vectors, so that one works while the other
 * waits.  Words that all keys have are loaded two at a time and transposed.  Where keys of one
 * vector end at different words, a lane whose key has ended keeps its state while others continue.
 */
#include "hash/siphash.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"

#define LANES SIP_LANES
#define VECTORS 2

struct sip8 {
    __m512i a, b, c, d;
};

TAMIS_AVX512_TEMPLATE void sip8_round(struct sip8 *s, unsigned vectors) {
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++, s++) {
        s->a = _mm512_add_epi64(s->a, s->b);
        s->c = _mm512_add_epi64(s->c, s->d);
        s->b = _mm512_xor_si512(_mm512_rol_epi64(s->b, 13), s->a);
        s->d = _mm512_xor_si512(_mm512_rol_epi64(s->d, 16), s->c);
        s->a = _mm512_add_epi64(_mm512_rol_epi64(s->a, 32), s->d);
        s->c = _mm512_add_epi64(s->c, s->b);
        s->d = _mm512_xor_si512(_mm512_rol_epi64(s->d, 21), s->a);
        s->b = _mm512_xor_si512(_mm512_rol_epi64(s->b, 17), s->c);
        s->c = _mm512_rol_epi64(s->c, 32);
    }
}

TAMIS_AVX512_TEMPLATE void sip8_block(struct sip8 *s, const __m512i *word, unsigned vectors) {
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) s[v].d = _mm512_xor_si512(s[v].d, word[v]);
    sip8_round(s, vectors);
    sip8_round(s, vectors);
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) s[v].a = _mm512_xor_si512(s[v].a, word[v]);
}

TAMIS_AVX512_TEMPLATE void sip8_begin(struct sip8 *s, const uint64_t secret[2], unsigned vectors) {
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        s[v] = (struct sip8){
            tamis__avx512_all(secret[0] ^ SIP_A), tamis__avx512_all(secret[1] ^ SIP_B),
            tamis__avx512_all(secret[0] ^ SIP_C), tamis__avx512_all(secret[1] ^ SIP_D)};
    }
}

TAMIS_AVX512_TEMPLATE void sip8_end(struct sip8 *s, uint64_t *hashes, unsigned vectors) {
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        s[v].c = _mm512_xor_si512(s[v].c, tamis__avx512_all(0xff));
    }
    TAMIS_UNROLL
    for (unsigned i = 0; i < 4; i++) sip8_round(s, vectors);
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) {
        const __m512i ab = _mm512_xor_si512(s[v].a, s[v].b), cd = _mm512_xor_si512(s[v].c, s[v].d);
        _mm512_storeu_si512(hashes + v * LANES, _mm512_xor_si512(ab, cd));
    }
}

/* ---- words of eight keys */

/* The lower halves of eight loads. */
TAMIS_AVX512_TEMPLATE __m512i sip8_combine(const __m128i loaded[LANES]) {
    const __m128i pair[4] = {
        _mm_unpacklo_epi64(loaded[0], loaded[1]), _mm_unpacklo_epi64(loaded[2], loaded[3]),
        _mm_unpacklo_epi64(loaded[4], loaded[5]), _mm_unpacklo_epi64(loaded[6], loaded[7])};
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_setr_m128i(pair[0], pair[1])),
                              _mm256_setr_m128i(pair[2], pair[3]), 1);
}

/* The words `at` bytes into eight keys. */
TAMIS_AVX512_TEMPLATE __m512i sip8_words(const void *const *keys, size_t at) {
    __m128i loaded[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        const void *word = (const uint8_t *)keys[i] + at;
        loaded[i] = _mm_loadl_epi64((const __m128i *)word);
    }
    return sip8_combine(loaded);
}

TAMIS_AVX512_TEMPLATE __m128i sip8_two_words(const void *key, size_t at) {
    return _mm_loadu_si128((const __m128i *)(const void *)((const uint8_t *)key + at));
}

/* Two words of every other key. */
TAMIS_AVX512_TEMPLATE __m512i sip8_every_other(const void *const *keys, size_t at) {
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(
            _mm256_setr_m128i(sip8_two_words(keys[0], at), sip8_two_words(keys[2], at))),
        _mm256_setr_m128i(sip8_two_words(keys[4], at), sip8_two_words(keys[6], at)), 1);
}

/* The bytes of word number `block` that each key has: none, up to seven, or all of them.  A masked
 * load does not touch the others. */
TAMIS_AVX512_TEMPLATE __m512i sip8_masked(const void *const *keys, const size_t *lengths,
                                          size_t block) {
    __m128i loaded[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        const size_t at = 8 * block < lengths[i] ? 8 * block : lengths[i];
        const size_t left = lengths[i] - at < 8 ? lengths[i] - at : 8;
        const __mmask16 mask = (__mmask16)((1u << left) - 1);
        loaded[i] = _mm_maskz_loadu_epi8(mask, (const uint8_t *)keys[i] + at);
    }
    return sip8_combine(loaded);
}

/* The same if every key has a whole word: the last eight bytes, without those that the word before
 * has.  (A shift by all 64 bits gives 0.) */
TAMIS_AVX512_TEMPLATE __m512i sip8_shifted(const void *const *keys, const size_t *lengths,
                                           size_t block) {
    const __m512i end = _mm512_loadu_si512(lengths), next = tamis__avx512_all(8 * block + 8);
    const __m512i beyond = _mm512_sub_epi64(_mm512_max_epu64(next, end), end);
    __m128i loaded[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        const size_t at = 8 * block < lengths[i] - 8 ? 8 * block : lengths[i] - 8;
        const void *word = (const uint8_t *)keys[i] + at;
        loaded[i] = _mm_loadl_epi64((const __m128i *)word);
    }
    return _mm512_srlv_epi64(sip8_combine(loaded), _mm512_slli_epi64(beyond, 3));
}

TAMIS_AVX512_TEMPLATE __m512i sip8_ends(const void *const *keys, const size_t *lengths,
                                        size_t block, bool whole) {
    return whole ? sip8_shifted(keys, lengths, block) : sip8_masked(keys, lengths, block);
}

/* ---- blocks */

/* Those that all keys have. */
TAMIS_AVX512_TEMPLATE void sip8_common(struct sip8 *s, const void *const *keys, size_t blocks,
                                       unsigned vectors) {
    __m512i word[VECTORS], next[VECTORS];
    size_t at = 0;
    for (; at + 16 <= 8 * blocks; at += 16) {
        TAMIS_UNROLL
        for (unsigned v = 0; v < vectors; v++) {
            const __m512i even = sip8_every_other(keys + v * LANES, at);
            const __m512i odd = sip8_every_other(keys + v * LANES + 1, at);
            word[v] = _mm512_unpacklo_epi64(even, odd);
            next[v] = _mm512_unpackhi_epi64(even, odd);
        }
        sip8_block(s, word, vectors);
        sip8_block(s, next, vectors);
    }
    if (at == 8 * blocks) return;
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++) word[v] = sip8_words(keys + v * LANES, at);
    sip8_block(s, word, vectors);
}

/* The last one of all keys. */
TAMIS_AVX512_TEMPLATE void sip8_last(struct sip8 *s, const void *const *keys, const size_t *lengths,
                                     bool whole, unsigned vectors) {
    __m512i word[VECTORS];
    TAMIS_UNROLL
    for (unsigned v = 0; v < vectors; v++, keys += LANES, lengths += LANES) {
        const __m512i top = _mm512_slli_epi64(_mm512_loadu_si512(lengths), 56);
        word[v] = _mm512_or_si512(sip8_ends(keys, lengths, lengths[0] / 8, whole), top);
    }
    sip8_block(s, word, vectors);
}

/* One that is the last of some keys and beyond that of others. */
TAMIS_AVX512_TEMPLATE void sip8_ragged(struct sip8 *s, const void *const *keys,
                                       const size_t *lengths, size_t block, bool whole) {
    const __m512i length = _mm512_loadu_si512(lengths), words = _mm512_srli_epi64(length, 3);
    const __mmask8 last = _mm512_cmpeq_epi64_mask(words, tamis__avx512_all(block));
    const __mmask8 ended = _mm512_cmplt_epu64_mask(words, tamis__avx512_all(block));
    const __m512i top = _mm512_maskz_slli_epi64(last, length, 56);
    const __m512i word = _mm512_or_si512(sip8_ends(keys, lengths, block, whole), top);
    const struct sip8 before = *s;
    sip8_block(s, &word, 1);
    s->a = _mm512_mask_mov_epi64(s->a, ended, before.a);
    s->b = _mm512_mask_mov_epi64(s->b, ended, before.b);
    s->c = _mm512_mask_mov_epi64(s->c, ended, before.c);
    s->d = _mm512_mask_mov_epi64(s->d, ended, before.d);
}

/* ---- keys */

/* Keys with the same number of whole words. */
TAMIS_AVX512_TEMPLATE void hash_alike(const uint64_t secret[2], const void *const *keys,
                                      const size_t *lengths, uint64_t *hashes, unsigned vectors) {
    struct sip8 s[VECTORS];
    sip8_begin(s, secret, vectors);
    sip8_common(s, keys, lengths[0] / 8, vectors);
    if (TAMIS_LIKELY(lengths[0] >= 8)) sip8_last(s, keys, lengths, true, vectors);
    if (lengths[0] < 8) sip8_last(s, keys, lengths, false, vectors);
    sip8_end(s, hashes, vectors);
}

/* Eight keys, each of which has from `min` to `max` whole words. */
TAMIS_AVX512_TEMPLATE void hash_between(const uint64_t secret[2], const void *const *keys,
                                        const size_t *lengths, size_t min, size_t max,
                                        uint64_t *hashes) {
    struct sip8 s;
    sip8_begin(&s, secret, 1);
    sip8_common(&s, keys, min, 1);
    for (size_t block = min; block <= max; block++) {
        if (min == 0) sip8_ragged(&s, keys, lengths, block, false);
        if (min != 0) sip8_ragged(&s, keys, lengths, block, true);
    }
    sip8_end(&s, hashes, 1);
}

TAMIS_AVX512_TEMPLATE void hash_eight(const uint64_t secret[2], const void *const *keys,
                                      const size_t *lengths, uint64_t *hashes) {
    size_t min, max;
    if (sip_are_alike(lengths, LANES)) {
        hash_alike(secret, keys, lengths, hashes, 1);
    } else if (sip_are_close(lengths, 2, &min, &max)) {
        hash_between(secret, keys, lengths, min, max, hashes);
    } else {
        sip_each(secret, keys, lengths, LANES, hashes);
    }
}

TAMIS_TARGET_AVX512 void tamis__siphash24_avx512(const uint64_t secret[2], const void *const *keys,
                                                 const size_t *lengths, size_t count,
                                                 uint64_t *hashes) {
    const size_t wide = VECTORS * LANES;
    for (size_t i = 0; i < count;) {
        if (count - i >= wide && sip_are_alike(lengths + i, VECTORS * LANES)) {
            hash_alike(secret, keys + i, lengths + i, hashes + i, VECTORS);
            i += wide;
        } else {
            hash_eight(secret, keys + i, lengths + i, hashes + i);
            i += LANES;
        }
    }
}

#endif
