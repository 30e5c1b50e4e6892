/* hashes.h - the hash functions that several systems share, and what hash functions share
 *
 * To read another system's filter is to hash as that system does, bit for bit.  All functions take
 * any bytes (key may be NULL if length is 0), read them as little-endian words on every machine,
 * and touch nothing beyond `length`.
 *
 * Lengths beyond 2 GiB: several systems keep a length in a signed 32-bit number.  What they do
 * there, where it is defined at all, is done here. */
#ifndef TAMIS_COMPAT_COMMON_HASHES_H
#define TAMIS_COMPAT_COMMON_HASHES_H

#include "core/bytes.h"
#include "hash/hash.h"

/* MurmurHash2, twice: libbloom, and the oldest filters of RedisBloom. */
extern const struct tamis__compat_hash tamis__hash_murmur2;

/* XXH64: Parquet's filters, RocksDB's checksums. */
uint64_t tamis__xxh64(const void *key, size_t length, uint64_t seed);

/* Two 32-bit numbers as one hash, so that 64 bits still identify a key. */
TAMIS_TEMPLATE struct tamis__hash tamis__hash_of_two(uint32_t low, uint32_t high) {
    return (struct tamis__hash){low | (uint64_t)high << 32, 0};
}

/* The finaliser of MurmurHash3: Guava, and the key mixer of xor_singleheader's filters. */
TAMIS_TEMPLATE uint64_t tamis__murmur3_mix(uint64_t x) {
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x;
}

/* The last 0..8 bytes of a key as a little-endian number: two loads that overlap, or three bytes
 * that do, since bytes that are read twice go to the same position. */
TAMIS_TEMPLATE uint64_t tamis__load_tail(const uint8_t *bytes, size_t length) {
    if (length >= 4) {
        const uint64_t first = tamis__load32(bytes), last = tamis__load32(bytes + length - 4);
        return first | last << (8 * (length - 4));
    }
    if (length == 0) return 0;
    const uint64_t middle = bytes[length / 2], last = bytes[length - 1];
    return bytes[0] | middle << (8 * (length / 2)) | last << (8 * (length - 1));
}

/* A byte as Java and plain C `char` on x86 read it: from -128 to 127, here modulo 2^32. */
TAMIS_TEMPLATE uint32_t tamis__sign_extend8(uint8_t byte) {
    return (uint32_t)byte - ((uint32_t)(byte & 0x80) << 1);
}

/* The 32-bit hash of LevelDB, a simpler MurmurHash2, and the step that its Bloom filters derive
 * from it.  LevelDB adds the 1 to 3 bytes after the last whole word as unsigned numbers.  RocksDB's
 * legacy filters add them as signed ones, as the code did when RocksDB copied it (compiled where
 * `char` is signed): a trailing byte of 0x80 or more gives another hash. */
TAMIS_TEMPLATE struct tamis__hash tamis__leveldb_hash(const void *key, size_t length,
                                                      bool signed_tail) {
    const uint32_t m = UINT32_C(0xc6a4a793);
    const uint8_t *p = (const uint8_t *)key;
    uint32_t h = UINT32_C(0xbc9f1d34) ^ ((uint32_t)length * m);

    for (; length >= 4; p += 4, length -= 4) {
        h = (h + tamis__load32(p)) * m;
        h ^= h >> 16;
    }
    if (length > 0) {
        for (size_t i = 0; i < length; i++) {
            const uint32_t byte = signed_tail ? tamis__sign_extend8(p[i]) : p[i];
            h += byte << (8 * i);
        }
        h *= m;
        h ^= h >> 24;
    }
    return tamis__hash_of_two(h, h >> 17 | h << 15);
}

#endif
