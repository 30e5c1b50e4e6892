/* foreign.c - what other systems' filters take from a key: the table of foreign.h's functions
 *
 * Most of these systems make two numbers of a key and step from the first by the second.  Where
 * both are of 32 bits they are kept side by side in `lo`, so that 64 bits still stand for a key. */
#include "hash/foreign.h"

#define LEVELDB_SEED UINT32_C(0xbc9f1d34)
#define MURMUR2_SEED UINT32_C(0x9747b28c)
#define REDIS_SEED UINT64_C(0xc6a4a7935bd1e995)
#define METRO_SEED 1337

static struct tamis__hash side_by_side(uint32_t a, uint32_t b) {
    return (struct tamis__hash){a | (uint64_t)b << 32, 0};
}

static uint32_t rotate_right17(uint32_t x) { return x >> 17 | x << 15; }

static uint64_t sign_extend32(uint32_t x) {
    return (uint64_t)x - ((uint64_t)(x & UINT32_C(0x80000000)) << 1);
}

static struct tamis__hash hash_guava(const void *key, size_t length, uint64_t seed) {
    return tamis__murmur3_128(key, length, seed);
}

static struct tamis__hash hash_guava32(const void *key, size_t length, uint64_t seed) {
    return (struct tamis__hash){tamis__murmur3_128(key, length, seed).lo, 0};
}

static struct tamis__hash hash_spark1(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = tamis__spark_murmur3(key, length, (uint32_t)seed);
    return side_by_side(a, tamis__spark_murmur3(key, length, a));
}

/* The start is the first hash times 2^31 - 1, the step is the second, both signed. */
static struct tamis__hash hash_spark2(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = tamis__spark_murmur3(key, length, (uint32_t)seed);
    const uint32_t b = tamis__spark_murmur3(key, length, a);
    return (struct tamis__hash){sign_extend32(a) * UINT64_C(0x7fffffff), sign_extend32(b)};
}

static struct tamis__hash hash_leveldb(const void *key, size_t length, uint64_t seed) {
    const uint32_t h = tamis__leveldb_hash(key, length, LEVELDB_SEED);
    (void)seed;
    return side_by_side(h, rotate_right17(h));
}

static struct tamis__hash hash_rocksdb_legacy(const void *key, size_t length, uint64_t seed) {
    const uint32_t h = tamis__rocksdb_legacy_hash(key, length, LEVELDB_SEED);
    (void)seed;
    return side_by_side(h, rotate_right17(h));
}

static struct tamis__hash hash_murmur2(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = tamis__murmur2(key, length, MURMUR2_SEED);
    (void)seed;
    return side_by_side(a, tamis__murmur2(key, length, a));
}

static struct tamis__hash hash_murmur64a(const void *key, size_t length, uint64_t seed) {
    const uint64_t a = tamis__murmur64a(key, length, REDIS_SEED);
    (void)seed;
    return (struct tamis__hash){a, tamis__murmur64a(key, length, a)};
}

static struct tamis__hash hash_redis_cuckoo(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){tamis__murmur64a(key, length, 0), 0};
}

static struct tamis__hash hash_fnv1(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){tamis__fnv1(key, length), 0};
}

static struct tamis__hash hash_xxh64(const void *key, size_t length, uint64_t seed) {
    return (struct tamis__hash){tamis__xxh64(key, length, seed), 0};
}

static struct tamis__hash hash_xxph3(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){tamis__xxph3(key, length), 0};
}

/* Callers have seen to it that there are 8 bytes. */
static struct tamis__hash hash_integer(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){length == 8 ? tamis__load64(key) : 0, 0};
}

static struct tamis__hash hash_metro(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){tamis__metrohash(key, length, METRO_SEED), 0};
}

static const struct tamis__foreign hashes[] = {
    {TAMIS__FOREIGN_GUAVA, true, false, "murmur3-128", hash_guava},
    {TAMIS__FOREIGN_GUAVA32, false, false, "murmur3-128 (first half)", hash_guava32},
    {TAMIS__FOREIGN_SPARK1, false, false, "spark murmur3", hash_spark1},
    {TAMIS__FOREIGN_SPARK2, true, false, "spark murmur3 (version 2)", hash_spark2},
    {TAMIS__FOREIGN_LEVELDB, false, false, "leveldb hash", hash_leveldb},
    {TAMIS__FOREIGN_MURMUR2, false, false, "murmur2", hash_murmur2},
    {TAMIS__FOREIGN_MURMUR64A, true, false, "murmur64a (twice)", hash_murmur64a},
    {TAMIS__FOREIGN_REDIS_CUCKOO, false, false, "murmur64a", hash_redis_cuckoo},
    {TAMIS__FOREIGN_FNV1, false, false, "fnv-1", hash_fnv1},
    {TAMIS__FOREIGN_XXH64, false, false, "xxh64", hash_xxh64},
    {TAMIS__FOREIGN_XXPH3, false, false, "xxph3", hash_xxph3},
    {TAMIS__FOREIGN_ROCKSDB_LEGACY, false, false, "rocksdb hash", hash_rocksdb_legacy},
    {TAMIS__FOREIGN_INTEGER, false, true, "none (64-bit integers)", hash_integer},
    {TAMIS__FOREIGN_METRO, false, false, "metrohash64", hash_metro},
};

const struct tamis__foreign *tamis__foreign_of(unsigned id) {
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        if (hashes[i].id == id) return &hashes[i];
    }
    return NULL;
}
