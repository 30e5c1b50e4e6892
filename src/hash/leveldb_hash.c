/* leveldb_hash.c - the 32-bit hash of LevelDB, and the one RocksDB inherited from it
 *
 * In the manner of MurmurHash2, simpler.  LevelDB adds the 1 to 3 bytes after the last whole
 * word as unsigned numbers.  RocksDB's older filters add them as signed ones, which is what
 * the code did when RocksDB copied it (compiled where `char` is signed) and what its files
 * have depended on since: a trailing byte of 0x80 or more gives another hash.
 *
 * Bloom filters of both use seed 0xbc9f1d34. */
#include "hash/foreign.h"

TAMIS_TEMPLATE uint32_t leveldb_hash(const void *key, size_t length, uint32_t seed,
                                     bool signed_tail) {
    const uint32_t m = UINT32_C(0xc6a4a793);
    const uint8_t *p = (const uint8_t *)key;
    uint32_t h = seed ^ ((uint32_t)length * m);

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
    return h;
}

uint32_t tamis__leveldb_hash(const void *key, size_t length, uint32_t seed) {
    return leveldb_hash(key, length, seed, false);
}

uint32_t tamis__rocksdb_legacy_hash(const void *key, size_t length, uint32_t seed) {
    return leveldb_hash(key, length, seed, true);
}
