/* siphash.c - SipHash-2-4, the keyed hash (Aumasson and Bernstein, 2012)
 *
 * A pseudo-random function of short inputs: without the 128-bit secret nobody can predict or
 * steer the 64 bits of any key, so nobody can aim keys at a filter.  Two rounds for every
 * eight bytes, four at the end; the last block carries the length. */
#include "core/bytes.h"
#include "hash/hash.h"

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
    struct sip s = {
        secret[0] ^ UINT64_C(0x736f6d6570736575), secret[1] ^ UINT64_C(0x646f72616e646f6d),
        secret[0] ^ UINT64_C(0x6c7967656e657261), secret[1] ^ UINT64_C(0x7465646279746573)};
    const uint8_t *at = key;
    for (size_t left = length; left >= 8; left -= 8, at += 8) sip_block(&s, tamis__load64(at));

    uint64_t last = (uint64_t)length << 56;
    for (size_t i = 0; i < length % 8; i++) last |= (uint64_t)at[i] << (8 * i);
    sip_block(&s, last);

    s.c ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
