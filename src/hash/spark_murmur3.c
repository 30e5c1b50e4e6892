/* spark_murmur3.c - MurmurHash3 x86 32, as Spark computes it
 *
 * Whole words are hashed as the canonical function does.  The 1 to 3 bytes that are left are
 * not: Spark widens each, with its sign, to a word and hashes it as a whole block, where the
 * canonical function gathers them into one word.  Only keys whose length is a multiple of 4
 * have the canonical value.
 *
 * Spark hashes an integer of any type as a long: low word, high word, length 8.  That is the
 * hash of its eight little-endian bytes, so integers need no function of their own. */
#include "hash/foreign.h"

TAMIS_TEMPLATE uint32_t spark_rotate(uint32_t x, unsigned left) {
    return x << left | x >> (32 - left);
}

TAMIS_TEMPLATE uint32_t spark_block(uint32_t h, uint32_t k) {
    h ^= spark_rotate(k * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
    return spark_rotate(h, 13) * 5 + UINT32_C(0xe6546b64);
}

uint32_t tamis__spark_murmur3(const void *key, size_t length, uint32_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    const uint32_t whole_length = (uint32_t)length;
    uint32_t h = seed;

    for (; length >= 4; p += 4, length -= 4) h = spark_block(h, tamis__load32(p));
    for (; length > 0; p++, length--) h = spark_block(h, tamis__sign_extend8(*p));

    h ^= whole_length;
    h ^= h >> 16;
    h *= UINT32_C(0x85ebca6b);
    h ^= h >> 13;
    h *= UINT32_C(0xc2b2ae35);
    h ^= h >> 16;
    return h;
}
