/* foreign.h - the hash functions of other systems, bit for bit
 *
 * To read another system's filter is to hash as that system does.  Each function here is in
 * a file of its own, which says who uses it and what is odd about it; none is used for our
 * own filters.  All take any bytes (key may be NULL if length is 0), read them as
 * little-endian words whatever the machine is, and touch nothing beyond `length`.
 *
 * Lengths beyond 2 GiB: several of these systems keep a length in a signed 32-bit number.
 * What they would do there, where it is defined at all, is done here. */
#ifndef TAMIS_HASH_FOREIGN_H
#define TAMIS_HASH_FOREIGN_H

#include "core/bytes.h"
#include "hash/hash.h"

/* MurmurHash3 x64 128: Guava.  lo and hi are its two halves; both start from `seed`.  Guava
 * takes a signed 32-bit seed and extends its sign: so must the caller. */
struct tamis__hash tamis__murmur3_128(const void *key, size_t length, uint64_t seed);

/* MurmurHash3 x86 32 as Spark computes it: not the canonical function. */
uint32_t tamis__spark_murmur3(const void *key, size_t length, uint32_t seed);

/* MurmurHash2: libbloom, and the oldest filters of RedisBloom. */
uint32_t tamis__murmur2(const void *key, size_t length, uint32_t seed);

/* MurmurHash64A: RedisBloom. */
uint64_t tamis__murmur64a(const void *key, size_t length, uint64_t seed);

/* LevelDB, and RocksDB before format version 5: these differ in bytes of 0x80 and above. */
uint32_t tamis__leveldb_hash(const void *key, size_t length, uint32_t seed);
uint32_t tamis__rocksdb_legacy_hash(const void *key, size_t length, uint32_t seed);

/* The preview of XXH3 that RocksDB froze: no released libxxhash computes it.  No seed. */
uint64_t tamis__xxph3(const void *key, size_t length);

/* XXH64: Parquet. */
uint64_t tamis__xxh64(const void *key, size_t length, uint64_t seed);

/* FNV-1 (not FNV-1a) of 64 bits: DCSO.  No seed. */
uint64_t tamis__fnv1(const void *key, size_t length);

/* MetroHash64: the Go cuckoo filter of seiflotfy. */
uint64_t tamis__metrohash(const void *key, size_t length, uint64_t seed);

/* ---- what several of them share */

/* The finaliser of MurmurHash3: also the key mixer of xor_singleheader's filters. */
TAMIS_TEMPLATE uint64_t tamis__murmur3_mix(uint64_t x) {
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x;
}

/* The last 0..8 bytes of a key as a little-endian number: two loads that overlap, or three
 * bytes that do, since what lies twice in the same place is the same. */
TAMIS_TEMPLATE uint64_t tamis__load_tail(const uint8_t *bytes, size_t length) {
    if (length >= 4) {
        const uint64_t first = tamis__load32(bytes), last = tamis__load32(bytes + length - 4);
        return first | last << (8 * (length - 4));
    }
    if (length == 0) return 0;
    const uint64_t middle = bytes[length / 2], last = bytes[length - 1];
    return bytes[0] | middle << (8 * (length / 2)) | last << (8 * (length - 1));
}

/* A byte as Java and plain C `char` on x86 see it: from -128 to 127, here modulo 2^32. */
TAMIS_TEMPLATE uint32_t tamis__sign_extend8(uint8_t byte) {
    return (uint32_t)byte - ((uint32_t)(byte & 0x80) << 1);
}

#endif
