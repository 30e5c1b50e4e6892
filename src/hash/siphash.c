/* siphash.c - SipHash-2-4, the keyed hash (Aumasson and Bernstein, 2012)
 *
 * A pseudo-random function of short inputs: without the 128-bit secret the hash of a key cannot be
 * predicted or steered, so an attacker cannot aim keys at a filter.  Two rounds for every
 * eight bytes, four at the end; the last block carries the length.
 *
 * Each round depends on the one before, so a batch hashes several keys in parallel
 * (siphash_avx2.c, siphash_avx512.c). */
#include "hash/siphash.h"

#include <string.h>

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

TAMIS_TEMPLATE struct sip sip_begin(const uint64_t secret[2]) {
    return (struct sip){secret[0] ^ SIP_A, secret[1] ^ SIP_B, secret[0] ^ SIP_C, secret[1] ^ SIP_D};
}

TAMIS_TEMPLATE uint64_t sip_hash(struct sip s, const void *key, size_t length) {
    const uint8_t *at = key;
    for (size_t left = length; left >= 8; left -= 8, at += 8) sip_block(&s, tamis__load64(at));
    sip_block(&s, sip_tail(key, length) | (uint64_t)length << 56);

    s.c ^= 0xff;
    TAMIS_UNROLL
    for (int i = 0; i < 4; i++) sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t tamis__siphash24(const void *key, size_t length, const uint64_t secret[2]) {
    return sip_hash(sip_begin(secret), key, length);
}

/* ---- many keys */

/* Five keys, filled up with repetitions, take less time in vectors than one by one. */
#define SIP_WORTH 5

static sip_eights *sip_eights_of(uint32_t cpu) {
#if defined(TAMIS_HAVE_AVX512)
    if (cpu & TAMIS__CPU_AVX512) return tamis__siphash24_avx512;
#endif
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return tamis__siphash24_avx2;
#endif
    (void)cpu;
    return NULL;
}

/* Fewer than eight keys, and repetitions of the last. */
static void sip_filled(sip_eights *eights, const uint64_t secret[2], const void *const *keys,
                       const size_t *lengths, size_t count, uint64_t *hashes) {
    const void *key[SIP_LANES];
    size_t length[SIP_LANES];
    uint64_t hash[SIP_LANES];
    for (size_t i = 0; i < SIP_LANES; i++) {
        key[i] = keys[i < count ? i : count - 1];
        length[i] = lengths[i < count ? i : count - 1];
    }
    eights(secret, key, length, SIP_LANES, hash);
    memcpy(hashes, hash, count * sizeof *hash);
}

void tamis__siphash24_keys(const uint64_t secret[2], bool portable, const void *const *keys,
                           const size_t *lengths, size_t count, uint64_t *hashes) {
    sip_eights *eights = portable || count < SIP_WORTH ? NULL : sip_eights_of(tamis__cpu());
    if (eights == NULL) {
        const struct sip begin = sip_begin(secret);
        for (size_t i = 0; i < count; i++) hashes[i] = sip_hash(begin, keys[i], lengths[i]);
        return;
    }
    const size_t whole = count / SIP_LANES * SIP_LANES, rest = count - whole;
    eights(secret, keys, lengths, whole, hashes);
    if (rest >= SIP_WORTH) {
        sip_filled(eights, secret, keys + whole, lengths + whole, rest, hashes + whole);
    } else {
        sip_each(secret, keys + whole, lengths + whole, rest, hashes + whole);
    }
}
