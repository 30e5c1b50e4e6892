/* murmur2.c - MurmurHash2 of 32 bits, as libbloom computes it
 *
 * Canonical, but for always reading words as little-endian.  libbloom, and RedisBloom for its
 * oldest filters, hash a key twice: with seed 0x9747b28c, then with the first hash as seed. */
#include "hash/foreign.h"

uint32_t tamis__murmur2(const void *key, size_t length, uint32_t seed) {
    const uint32_t m = UINT32_C(0x5bd1e995);
    const uint8_t *p = (const uint8_t *)key;
    uint32_t h = seed ^ (uint32_t)length;

    for (; length >= 4; p += 4, length -= 4) {
        uint32_t k = tamis__load32(p) * m;
        k ^= k >> 24;
        h = (h * m) ^ (k * m);
    }
    if (length > 0) h = (h ^ (uint32_t)tamis__load_tail(p, length)) * m;

    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return h;
}
