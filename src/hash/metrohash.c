/* metrohash.c - MetroHash64, as the Go cuckoo filter of seiflotfy computes it (seed 1337)
 *
 * Keys of 32 bytes and more go through four lanes; what is left goes in pieces of 16, 8, 4, 2
 * and 1 bytes.  Of the several published MetroHashes this is the one with the multipliers
 * below; metrohash64_1 and _2 have others. */
#include "hash/foreign.h"

static const uint64_t metro_k0 = UINT64_C(0xd6d018f5);
static const uint64_t metro_k1 = UINT64_C(0xa2aa033b);
static const uint64_t metro_k2 = UINT64_C(0x62992fc1);
static const uint64_t metro_k3 = UINT64_C(0x30bc5b29);

TAMIS_TEMPLATE uint64_t metro_rotate(uint64_t x, unsigned right) {
    return x >> right | x << (64 - right);
}

/* All whole blocks of 32 bytes.  Each line uses what the lines before it have changed. */
static uint64_t metro_blocks(const uint8_t *p, size_t length, uint64_t h) {
    uint64_t v0 = h, v1 = h, v2 = h, v3 = h;
    for (; length >= 32; p += 32, length -= 32) {
        v0 = metro_rotate(v0 + tamis__load64(p) * metro_k0, 29) + v2;
        v1 = metro_rotate(v1 + tamis__load64(p + 8) * metro_k1, 29) + v3;
        v2 = metro_rotate(v2 + tamis__load64(p + 16) * metro_k2, 29) + v0;
        v3 = metro_rotate(v3 + tamis__load64(p + 24) * metro_k3, 29) + v1;
    }
    v2 ^= metro_rotate((v0 + v3) * metro_k0 + v1, 37) * metro_k1;
    v3 ^= metro_rotate((v1 + v2) * metro_k1 + v0, 37) * metro_k0;
    v0 ^= metro_rotate((v0 + v2) * metro_k0 + v3, 37) * metro_k1;
    v1 ^= metro_rotate((v1 + v3) * metro_k1 + v2, 37) * metro_k0;
    return h + (v0 ^ v1);
}

static uint64_t metro_16(const uint8_t *p, uint64_t h) {
    uint64_t v0 = metro_rotate(h + tamis__load64(p) * metro_k2, 29) * metro_k3;
    uint64_t v1 = metro_rotate(h + tamis__load64(p + 8) * metro_k2, 29) * metro_k3;
    v0 ^= metro_rotate(v0 * metro_k0, 21) + v1;
    v1 ^= metro_rotate(v1 * metro_k3, 21) + v0;
    return h + v1;
}

/* One word of 8, 4, 2 or 1 bytes; each size turns by another amount. */
TAMIS_TEMPLATE uint64_t metro_word(uint64_t h, uint64_t word, unsigned turn) {
    h += word * metro_k3;
    return h ^ metro_rotate(h, turn) * metro_k1;
}

uint64_t tamis__metrohash(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = (seed + metro_k2) * metro_k0;

    if (length >= 32) {
        h = metro_blocks(p, length, h);
        p += length / 32 * 32;
    }
    if (length & 16) {
        h = metro_16(p, h);
        p += 16;
    }
    if (length & 8) {
        h = metro_word(h, tamis__load64(p), 55);
        p += 8;
    }
    if (length & 4) {
        h = metro_word(h, tamis__load32(p), 26);
        p += 4;
    }
    if (length & 2) {
        h = metro_word(h, tamis__load16(p), 48);
        p += 2;
    }
    if (length & 1) h = metro_word(h, *p, 37);

    h ^= metro_rotate(h, 28);
    h *= metro_k0;
    h ^= metro_rotate(h, 29);
    return h;
}
