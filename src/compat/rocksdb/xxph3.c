/* xxph3.c - the preview of XXH3 that RocksDB froze
 *
 * RocksDB adopted XXH3 while it was still being designed (xxHash 0.7.2), and its files depend on
 * that version.  The XXH3 of released libxxhash gives other values, so it is implemented here.
 *
 *   length      how                                                     ends with
 *   0           a constant                                              -
 *   1..3        first, middle and last byte and the length in one word  avalanche
 *   4..8        first and last 4 bytes in one word                      avalanche
 *   9..16       first and last 8 bytes                                  avalanche
 *   17..128     pairs of 16 bytes from both ends towards the middle     avalanche
 *   129..240    16 bytes at a time; an avalanche after the first 128    avalanche
 *   241..       8 lanes; stripes of 64 bytes, blocks of 16 stripes      merge, avalanche
 *
 * It differs from the final XXH3 in nearly every row.  In the last one:
 *   - a data word is added to its own lane (final: to the lane beside it);
 *   - whole blocks are length / 1024 (final: (length - 1) / 1024);
 *   - the last 64 bytes are taken as an extra stripe only if the length is not a multiple of
 *     64 (final: always). */
#include "compat/rocksdb/rocksdb.h"
#include "core/bits.h"

enum { XXPH3_STRIPE = 64, XXPH3_BLOCK_STRIPES = 16, XXPH3_LANES = 8 };

static const uint32_t xxph3_p32_1 = UINT32_C(0x9e3779b1);
static const uint32_t xxph3_p32_2 = UINT32_C(0x85ebca77);
static const uint32_t xxph3_p32_3 = UINT32_C(0xc2b2ae3d);
static const uint64_t xxph3_p64_1 = UINT64_C(0x9e3779b185ebca87);
static const uint64_t xxph3_p64_2 = UINT64_C(0xc2b2ae3d27d4eb4f);
static const uint64_t xxph3_p64_3 = UINT64_C(0x165667b19e3779f9);
static const uint64_t xxph3_p64_4 = UINT64_C(0x85ebca77c2b2ae63);
static const uint64_t xxph3_p64_5 = UINT64_C(0x27d4eb2f165667c5);

/* The same bytes as the default secret of the final XXH3. */
static const uint8_t xxph3_secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

/* Both halves of a 128-bit product, folded. */
TAMIS_TEMPLATE uint64_t xxph3_fold(uint64_t a, uint64_t b) { return (a * b) ^ tamis__mulhi(a, b); }

TAMIS_TEMPLATE uint64_t xxph3_avalanche(uint64_t h) {
    h ^= h >> 37;
    h *= xxph3_p64_3;
    return h ^ h >> 32;
}

TAMIS_TEMPLATE uint64_t xxph3_secret64(size_t at) { return tamis__load64(xxph3_secret + at); }

/* Sixteen bytes of the key with sixteen of the secret. */
TAMIS_TEMPLATE uint64_t xxph3_mix16(const uint8_t *p, size_t secret_at) {
    return xxph3_fold(tamis__load64(p) ^ xxph3_secret64(secret_at),
                      tamis__load64(p + 8) ^ xxph3_secret64(secret_at + 8));
}

static uint64_t xxph3_to_16(const uint8_t *p, size_t n) {
    if (n > 8) {
        const uint64_t low = tamis__load64(p) ^ xxph3_secret64(0);
        const uint64_t high = tamis__load64(p + n - 8) ^ xxph3_secret64(8);
        return xxph3_avalanche(n + low + high + xxph3_fold(low, high));
    }
    if (n >= 4) {
        const uint64_t both = tamis__load32(p) | (uint64_t)tamis__load32(p + n - 4) << 32;
        const uint64_t keyed = both ^ xxph3_secret64(0);
        const uint64_t mixed = n + (keyed ^ keyed >> 51) * xxph3_p32_1;
        return xxph3_avalanche((mixed ^ mixed >> 47) * xxph3_p64_2);
    }
    if (n > 0) {
        const uint32_t all =
            p[0] | (uint32_t)p[n >> 1] << 8 | (uint32_t)p[n - 1] << 16 | (uint32_t)n << 24;
        return xxph3_avalanche((uint64_t)(all ^ tamis__load32(xxph3_secret)) * xxph3_p64_1);
    }
    return xxph3_fold(xxph3_secret64(0), xxph3_p64_2);
}

/* i-th pair of 16 bytes, counted from both ends, for each i with 32 * i < n. */
static uint64_t xxph3_to_128(const uint8_t *p, size_t n) {
    uint64_t sum = n * xxph3_p64_1;
    for (size_t i = 0; 32 * i < n; i++) {
        sum += xxph3_mix16(p + 16 * i, 32 * i);
        sum += xxph3_mix16(p + n - 16 * (i + 1), 32 * i + 16);
    }
    return xxph3_avalanche(sum);
}

static uint64_t xxph3_to_240(const uint8_t *p, size_t n) {
    uint64_t sum = n * xxph3_p64_1;
    for (size_t i = 0; i < 8; i++) sum += xxph3_mix16(p + 16 * i, 16 * i);
    sum = xxph3_avalanche(sum);
    for (size_t i = 8; i < n / 16; i++) sum += xxph3_mix16(p + 16 * i, 16 * (i - 8) + 3);
    sum += xxph3_mix16(p + n - 16, 119);
    return xxph3_avalanche(sum);
}

TAMIS_TEMPLATE void xxph3_stripe(uint64_t lanes[XXPH3_LANES], const uint8_t *p, size_t secret_at) {
    for (size_t i = 0; i < XXPH3_LANES; i++) {
        const uint64_t data = tamis__load64(p + 8 * i);
        const uint64_t keyed = data ^ xxph3_secret64(secret_at + 8 * i);
        lanes[i] += data + (keyed & UINT32_MAX) * (keyed >> 32);
    }
}

/* Between blocks: keeps the lanes from filling up with additions alone. */
static void xxph3_scramble(uint64_t lanes[XXPH3_LANES]) {
    for (size_t i = 0; i < XXPH3_LANES; i++) {
        lanes[i] ^= lanes[i] >> 47;
        lanes[i] ^= xxph3_secret64(128 + 8 * i);
        lanes[i] *= xxph3_p32_1;
    }
}

static uint64_t xxph3_long(const uint8_t *p, size_t n) {
    uint64_t lanes[XXPH3_LANES] = {xxph3_p32_3, xxph3_p64_1, xxph3_p64_2, xxph3_p64_3,
                                   xxph3_p64_4, xxph3_p32_2, xxph3_p64_5, xxph3_p32_1};
    for (size_t i = 0; i < n / XXPH3_STRIPE; i++) {
        const size_t in_block = i % XXPH3_BLOCK_STRIPES;
        xxph3_stripe(lanes, p + i * XXPH3_STRIPE, 8 * in_block);
        if (in_block == XXPH3_BLOCK_STRIPES - 1) xxph3_scramble(lanes);
    }
    if (n % XXPH3_STRIPE != 0) xxph3_stripe(lanes, p + n - XXPH3_STRIPE, 121);

    uint64_t sum = n * xxph3_p64_1;
    for (size_t i = 0; i < XXPH3_LANES; i += 2) {
        sum += xxph3_fold(lanes[i] ^ xxph3_secret64(11 + 8 * i),
                          lanes[i + 1] ^ xxph3_secret64(19 + 8 * i));
    }
    return xxph3_avalanche(sum);
}

struct tamis__hash tamis__xxph3(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    (void)seed;
    const uint64_t hash = length <= 16    ? xxph3_to_16(p, length)
                          : length <= 128 ? xxph3_to_128(p, length)
                          : length <= 240 ? xxph3_to_240(p, length)
                                          : xxph3_long(p, length);
    return (struct tamis__hash){hash, 0};
}
