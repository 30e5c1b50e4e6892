/* murmur64a.c - MurmurHash64A, as RedisBloom computes it
 *
 * MurmurHash2 with 64-bit words: canonical.  RedisBloom's Bloom filters hash a key twice, with
 * seed 0xc6a4a7935bd1e995 (the multiplier itself) and with the first hash as seed; its cuckoo
 * filters hash it once with seed 0. */
#include "hash/foreign.h"

uint64_t tamis__murmur64a(const void *key, size_t length, uint64_t seed) {
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = seed ^ ((uint64_t)length * m);

    for (; length >= 8; p += 8, length -= 8) {
        uint64_t k = tamis__load64(p) * m;
        k ^= k >> 47;
        h = (h ^ (k * m)) * m;
    }
    if (length > 0) h = (h ^ tamis__load_tail(p, length)) * m;

    h ^= h >> 47;
    h *= m;
    h ^= h >> 47;
    return h;
}
