/* legacy_hash.c - see legacy_hash.h
 *
 * Both mix a word of the key at a time into the state by two multiplications with one constant
 * and a shift between them; the bytes that are left over are xored in at the end. */
#include "legacy_hash.h"

#include "wire.h"

#define M64 UINT64_C(0xc6a4a7935bd1e995)
#define M32 UINT32_C(0x5bd1e995)

uint64_t legacy_hash64(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = key, *end = p + (length & ~(size_t)7);
    uint64_t h = seed ^ (length * M64);
    for (; p != end; p += 8) {
        uint64_t k = wire_load(p, 8) * M64;
        k ^= k >> 47;
        h = (h ^ k * M64) * M64;
    }
    if ((length & 7) != 0) h = (h ^ wire_load(p, length & 7)) * M64;
    h ^= h >> 47;
    h *= M64;
    return h ^ h >> 47;
}

uint32_t legacy_hash32(const void *key, size_t length, uint32_t seed) {
    const uint8_t *p = key, *end = p + (length & ~(size_t)3);
    uint32_t h = seed ^ (uint32_t)length;
    for (; p != end; p += 4) {
        uint32_t k = (uint32_t)wire_load(p, 4) * M32;
        k ^= k >> 24;
        h = (h * M32) ^ (k * M32);
    }
    if ((length & 3) != 0) h = (h ^ (uint32_t)wire_load(p, length & 3)) * M32;
    h ^= h >> 13;
    h *= M32;
    return h ^ h >> 15;
}
