/* siphash.c - SipHash-2-4, the keyed hash (Aumasson and Bernstein, 2012)
 *
 * A pseudo-random function of short inputs: without the 128-bit secret the hash of a key cannot be
 * predicted or steered, so an attacker cannot aim keys at a filter.  Two rounds for every
 * eight bytes, four at the end; the last block carries the length.
 *
 * Each round depends on the one before, so a batch hashes several keys in parallel
 * (siphash_avx2.c). */
#include "hash/siphash.h"

#include "core/cpu.h"

struct sip {
    uint64_t a, b, c, d;
};

TAMIS_TEMPLATE uint64_t rotate(uint64_t x, unsigned left) { return x << left | x >> (64 - left); }

TAMIS_TEMPLATE void sip_round(struct sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32) + s->d;
    s->c += s->b;
    s->d = rotate(s->d, 21) ^ s->a;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

TAMIS_TEMPLATE void sip_block(struct sip *s, uint64_t word) {
    s->d ^= word;
    sip_round(s);
    sip_round(s);
    s->a ^= word;
}

uint64_t tamis__siphash24(const void *key, size_t length, const uint64_t secret[2]) {
    struct sip s = {secret[0] ^ SIP_A, secret[1] ^ SIP_B, secret[0] ^ SIP_C, secret[1] ^ SIP_D};
    const uint8_t *at = key;
    for (size_t left = length; left >= 8; left -= 8, at += 8) sip_block(&s, tamis__load64(at));
    sip_block(&s, sip_last(key, length));

    s.c ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* ---- many keys */

#if defined(TAMIS_HAVE_AVX2)
#define APART 4 /* words: with a larger difference most lanes would wait for one */

/* Eight keys that may be of different lengths. */
static void sip_eight(const uint64_t secret[2], const void *const *keys, const size_t *lengths,
                      uint64_t *hashes) {
    size_t min = SIZE_MAX, max = 0;
    for (unsigned i = 0; i < SIP_LANES; i++) {
        const size_t words = lengths[i] / 8;
        if (words < min) min = words;
        if (words > max) max = words;
    }
    if (max - min <= APART) {
        tamis__siphash24_avx2(secret, keys, lengths, min, max, hashes);
        return;
    }
    for (size_t i = 0; i < SIP_LANES; i++) {
        hashes[i] = tamis__siphash24(keys[i], lengths[i], secret);
    }
}

/* Returns how many were hashed: a multiple of eight. */
static size_t sip_eights(const uint64_t secret[2], const void *const *keys, const size_t *lengths,
                         size_t count, uint64_t *hashes) {
    size_t i = 0;
    while (count - i >= SIP_LANES) {
        i += tamis__siphash24_alike_avx2(secret, keys + i, lengths + i, count - i, hashes + i);
        if (count - i < SIP_LANES) break;
        sip_eight(secret, keys + i, lengths + i, hashes + i);
        i += SIP_LANES;
    }
    return i;
}
#endif

void tamis__siphash24_keys(const uint64_t secret[2], bool portable, const void *const *keys,
                           const size_t *lengths, size_t count, uint64_t *hashes) {
    size_t i = 0;
#if defined(TAMIS_HAVE_AVX2)
    if (!portable && (tamis__cpu() & TAMIS__CPU_AVX2)) {
        i = sip_eights(secret, keys, lengths, count, hashes);
    }
#endif
    (void)portable;
    for (; i < count; i++) hashes[i] = tamis__siphash24(keys[i], lengths[i], secret);
}
