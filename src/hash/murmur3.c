/* murmur3.c - MurmurHash3 x64 128, as Guava computes it
 *
 * Two lanes of 64 bits take 16 bytes a round; up to 15 bytes that are left are mixed in as
 * two shorter words, and the length comes last.
 *
 * Guava's version differs from the canonical one in two places that seed 0, which its Bloom
 * filters use, and keys below 2 GiB do not show:
 *   - its seed is a signed 32-bit number whose sign is extended into both lanes (the
 *     canonical one extends with zeros): the caller passes all 64 bits;
 *   - the length is mixed in as a signed 32-bit number. */
#include "hash/foreign.h"

static const uint64_t murmur3_c1 = UINT64_C(0x87c37b91114253d5);
static const uint64_t murmur3_c2 = UINT64_C(0x4cf5ad432745937f);

TAMIS_TEMPLATE uint64_t murmur3_rotate(uint64_t x, unsigned left) {
    return x << left | x >> (64 - left);
}

/* What a word becomes before it enters its lane. */
TAMIS_TEMPLATE uint64_t murmur3_word1(uint64_t k) {
    return murmur3_rotate(k * murmur3_c1, 31) * murmur3_c2;
}
TAMIS_TEMPLATE uint64_t murmur3_word2(uint64_t k) {
    return murmur3_rotate(k * murmur3_c2, 33) * murmur3_c1;
}

/* The low 32 bits of the length with their sign extended, as Java's (long) of an int. */
static uint64_t murmur3_java_length(size_t length) {
    const uint64_t sign = UINT64_C(1) << 31;
    return (((uint64_t)length & UINT32_MAX) ^ sign) - sign;
}

struct tamis__hash tamis__murmur3_128(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    const uint64_t java_length = murmur3_java_length(length);
    uint64_t a = seed, b = seed;

    for (; length >= 16; p += 16, length -= 16) {
        a ^= murmur3_word1(tamis__load64(p));
        a = (murmur3_rotate(a, 27) + b) * 5 + UINT64_C(0x52dce729);
        b ^= murmur3_word2(tamis__load64(p + 8));
        b = (murmur3_rotate(b, 31) + a) * 5 + UINT64_C(0x38495ab5);
    }
    if (length > 8) {
        b ^= murmur3_word2(tamis__load_tail(p + 8, length - 8));
        length = 8;
    }
    a ^= murmur3_word1(tamis__load_tail(p, length));

    a ^= java_length;
    b ^= java_length;
    a += b;
    b += a;
    a = tamis__murmur3_mix(a);
    b = tamis__murmur3_mix(b);
    a += b;
    b += a;
    return (struct tamis__hash){.lo = a, .hi = b};
}
