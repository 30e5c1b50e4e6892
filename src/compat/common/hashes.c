/* hashes.c - see hashes.h
 *
 * MurmurHash2 of 32 bits is canonical, except that words are always little-endian.  libbloom, and
 * RedisBloom for its oldest filters, hash a key twice: with a fixed seed, then with the first hash
 * as the seed.  libxxhash computes XXH64; this file keeps its header away from the codecs. */
#include "compat/common/hashes.h"

#include <xxhash.h>

uint64_t tamis__xxh64(const void *key, size_t length, uint64_t seed) {
    return XXH64(key, length, seed);
}

static uint32_t murmur2(const void *key, size_t length, uint32_t seed) {
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

static struct tamis__hash murmur2_twice(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = murmur2(key, length, UINT32_C(0x9747b28c));
    (void)seed;
    return tamis__hash_of_two(a, murmur2(key, length, a));
}

const struct tamis__compat_hash tamis__hash_murmur2 = {
    .id = 6, .name = "murmur2", .hash = murmur2_twice};
