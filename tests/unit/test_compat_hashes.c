/* test_compat_hashes.c - the hashes of the registry, against the systems' own values
 *
 * Where a system publishes hash values, they are compared.  Where it only writes filters, the
 * filter is built again from the keys with the system's rule, which fits in a few lines here, and
 * its bits are compared.  Every key is in a block of its own size, so that a sanitizer reports a
 * read beyond it, and the empty key is NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compat/common/crc.h"
#include "compat/registry.h"
#include "support/check.h"
#include "support/vectors.h"

static uint64_t hex_number(const char *digits) { return strtoull(digits, NULL, 16); }

/* By the name of a hash in the registry. */
static struct tamis__hash hash_of(const char *name, const void *key, size_t length, uint64_t seed) {
    for (unsigned id = 1; id <= UINT8_MAX; id++) {
        const struct tamis__compat_hash *h = tamis__compat_hash_of(id);
        if (h != NULL && strcmp(h->name, name) == 0) return h->hash(key, length, seed);
    }
    fail_msg("no hash is named %s", name);
    return (struct tamis__hash){0, 0};
}

/* -------------------------------------------------------- tables of hash values */

static void test_murmur3(void **state) {
    struct vector_table t = vector_table("guava/murmur3_x64_128.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        const long long seed = strtoll(vector_cell(&t, i, "seed"), NULL, 10);
        struct vector_bytes key = vector_hex(vector_cell(&t, i, "input_hex"));
        struct vector_bytes want = vector_hex(vector_cell(&t, i, "hash_hex"));
        const struct tamis__hash got = hash_of("murmur3-128", key.at, key.length, (uint64_t)seed);
        assert_int_equal(want.length, 16);
        assert_int_equal(got.lo, tamis__load64(want.at));
        assert_int_equal(got.hi, tamis__load64(want.at + 8));
        vector_bytes_free(&key);
        vector_bytes_free(&want);
    }
    print_message("%zu values\n", t.rows);
    vector_table_free(&t);
}

static void test_spark_murmur3(void **state) {
    struct vector_table t = vector_table("spark/murmur3_x86_32_spark.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        const char *input = vector_cell(&t, i, "input");
        const uint32_t seed = (uint32_t)strtoll(vector_cell(&t, i, "seed"), NULL, 10);
        const uint32_t want = (uint32_t)strtoll(vector_cell(&t, i, "hash_i32"), NULL, 10);
        if (strcmp(vector_cell(&t, i, "kind"), "long") == 0) {
            uint8_t bytes[8];
            tamis__store64(bytes, (uint64_t)strtoll(input, NULL, 10));
            assert_int_equal((uint32_t)hash_of("spark murmur3", bytes, 8, seed).lo, want);
        } else {
            struct vector_bytes key = vector_hex(input);
            const struct tamis__hash got = hash_of("spark murmur3", key.at, key.length, seed);
            assert_int_equal((uint32_t)got.lo, want);
            vector_bytes_free(&key);
        }
    }
    print_message("%zu values\n", t.rows);
    vector_table_free(&t);
}

/* Tables of input_hex and hash_hex16. */
static void compare_with_table(const char *path, const char *name) {
    struct vector_table t = vector_table(path);
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes key = vector_hex(vector_cell(&t, i, "input_hex"));
        assert_int_equal(hash_of(name, key.at, key.length, 0).lo,
                         hex_number(vector_cell(&t, i, "hash_hex16")));
        vector_bytes_free(&key);
    }
    print_message("%zu values\n", t.rows);
    vector_table_free(&t);
}

static void test_xxph3(void **state) {
    (void)state;
    compare_with_table("rocksdb/xxph3_64.tsv", "xxph3");
}

static void test_metrohash(void **state) {
    (void)state;
    compare_with_table("seiflotfy_cuckoo/metro64_seed1337.tsv", "metrohash64");
}

static void test_xxh64(void **state) {
    struct vector_table t = vector_table("xxhash/xxhash.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes key = vector_hex(vector_cell(&t, i, "input_hex"));
        const uint64_t seed = vector_number(&t, i, "seed");
        assert_int_equal(hash_of("xxh64", key.at, key.length, seed).lo,
                         hex_number(vector_cell(&t, i, "xxh64")));
        vector_bytes_free(&key);
    }
    print_message("%zu values\n", t.rows);
    vector_table_free(&t);
}

/* RocksDB 7.8.3's own values: no filter in the vectors has a key that depends on the sign. */
static void test_rocksdb_legacy_hash(void **state) {
    static const struct {
        const char *key;
        uint32_t hash;
    } known[] = {
        {"", UINT32_C(0xbc9f1d34)},
        {"80", UINT32_C(0x91b755f4)},
        {"ff", UINT32_C(0x1d66774f)},
        {"7f", UINT32_C(0x6fba40bd)},
        {"c3a9", UINT32_C(0xa2f3fbed)},
        {"6180", UINT32_C(0xddbcddd4)},
        {"e4b8ad", UINT32_C(0x0d2d90ee)},
        {"6162636481", UINT32_C(0x572d8317)},
        {"61626364fe01", UINT32_C(0xaf4248e4)},
        {"7778797a90a0b0", UINT32_C(0x30574c50)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct vector_bytes key = vector_hex(known[i].key);
        assert_int_equal((uint32_t)hash_of("rocksdb hash", key.at, key.length, 0).lo,
                         known[i].hash);
        vector_bytes_free(&key);
    }
}

/* --------------------------------------------------- hashes seen through filters */

static void set_bit(uint8_t *bits, uint64_t at) { bits[at / 8] |= (uint8_t)(1u << (at % 8)); }

/* A key in a block of its own size. */
static struct vector_bytes own_copy(const struct vector_keys *keys, size_t i) {
    struct vector_bytes b = {NULL, keys->lengths[i]};
    if (b.length > 0) {
        b.at = NEED(uint8_t, b.length);
        memcpy(b.at, keys->keys[i], b.length);
    }
    return b;
}

/* Sets the bits of one key in a table of `bits` bits by the rule of a system. */
typedef void (*set_key)(uint8_t *table, uint64_t bits, unsigned k, const void *key, size_t length);

/* Builds a table of the keys in `path` and compares it. */
static void compare_with_filter(const char *path, set_key set, uint64_t bits, unsigned k,
                                const uint8_t *want, size_t bytes) {
    struct vector_keys keys = vector_keys(path);
    uint8_t *table = NEED(uint8_t, bytes + 1);
    memset(table, 0, bytes + 1);
    for (size_t i = 0; i < keys.count; i++) {
        struct vector_bytes key = own_copy(&keys, i);
        set(table, bits, k, key.at, key.length);
        vector_bytes_free(&key);
    }
    assert_memory_equal(table, want, bytes);
    free(table);
    vector_keys_free(&keys);
}

static void leveldb_set(uint8_t *table, uint64_t bits, unsigned k, const void *key, size_t length) {
    uint32_t h = (uint32_t)hash_of("leveldb hash", key, length, 0).lo;
    const uint32_t step = h >> 17 | h << 15;
    for (; k > 0; k--, h += step) set_bit(table, h % bits);
}

static void test_leveldb_hash(void **state) {
    struct vector_table t = vector_table("leveldb/manifest.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes f = vector_file(vector_cell(&t, i, "filter"));
        const unsigned k = (unsigned)vector_number(&t, i, "k");
        compare_with_filter(vector_cell(&t, i, "keys"), leveldb_set, 8 * (f.length - 1), k, f.at,
                            f.length - 1);
        vector_bytes_free(&f);
    }
    print_message("%zu filters\n", t.rows);
    vector_table_free(&t);
}

static void libbloom_set(uint8_t *table, uint64_t bits, unsigned k, const void *key,
                         size_t length) {
    const uint64_t both = hash_of("murmur2", key, length, 0).lo;
    const uint32_t a = (uint32_t)both, b = (uint32_t)(both >> 32);
    for (uint32_t i = 0; i < k; i++) set_bit(table, (a + i * b) % bits);
}

static void test_murmur2(void **state) {
    struct vector_table t = vector_table("libbloom/manifest_1.6.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes f = vector_file(vector_cell(&t, i, "filter"));
        compare_with_filter(vector_cell(&t, i, "keys"), libbloom_set, vector_number(&t, i, "bits"),
                            (unsigned)vector_number(&t, i, "hashes"), f.at, f.length);
        vector_bytes_free(&f);
    }
    print_message("%zu filters\n", t.rows);
    vector_table_free(&t);
}

static void redisbloom_set(uint8_t *table, uint64_t bits, unsigned k, const void *key,
                           size_t length) {
    const struct tamis__hash h = hash_of("murmur64a (twice)", key, length, 0);
    for (uint64_t i = 0; i < k; i++) set_bit(table, (h.lo + i * h.hi) % bits);
}

/* Only chains of one sub-filter that is not full: these have all keys in it. */
static void test_murmur64a(void **state) {
    struct vector_table t = vector_table("redisbloom/manifest.tsv");
    size_t filters = 0;
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        if (strcmp(vector_cell(&t, i, "type"), "BF") != 0) continue;
        struct vector_bytes header = vector_file(vector_cell(&t, i, "header"));
        struct vector_bytes data = vector_file(vector_cell(&t, i, "data"));
        assert_true(header.length >= 73);
        const uint64_t size = tamis__load64(header.at), count = tamis__load32(header.at + 8);
        const uint64_t bits = tamis__load64(header.at + 28), room = tamis__load64(header.at + 64);
        if (count == 1 && size < room) {
            compare_with_filter(vector_cell(&t, i, "keys"), redisbloom_set, bits,
                                tamis__load32(header.at + 60), data.at, data.length);
            filters++;
        }
        vector_bytes_free(&header);
        vector_bytes_free(&data);
    }
    assert_true(filters > 0);
    print_message("%zu filters\n", filters);
    vector_table_free(&t);
}

static void dcso_set(uint8_t *table, uint64_t bits, unsigned k, const void *key, size_t length) {
    const uint64_t modulus = UINT64_C(18446744073709551557);
    uint64_t x = hash_of("fnv-1", key, length, 0).lo % modulus;
    for (; k > 0; k--) {
        x = x * UINT64_C(18446744073709550147) % modulus;
        set_bit(table, x % bits);
    }
}

static void test_fnv1(void **state) {
    enum { HEADER = 48 };
    struct vector_table t = vector_table("dcso/manifest.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        const uint64_t bits = vector_number(&t, i, "m"), bytes = (bits + 63) / 64 * 8;
        if (bits == 0) continue;
        struct vector_bytes f = vector_file(vector_cell(&t, i, "filter"));
        assert_true(f.length >= HEADER + bytes);
        compare_with_filter(vector_cell(&t, i, "keys"), dcso_set, bits,
                            (unsigned)vector_number(&t, i, "k"), f.at + HEADER, (size_t)bytes);
        vector_bytes_free(&f);
    }
    print_message("%zu filters\n", t.rows);
    vector_table_free(&t);
}

/* ------------------------------------------------------------------- checksums */

static void test_crc(void **state) {
    static const char digits[] = "123456789"; /* the customary check of a CRC */
    (void)state;
    assert_int_equal(tamis__crc32c(0, NULL, 0), 0);
    assert_int_equal(tamis__crc32c(0, digits, 9), UINT32_C(0xe3069283));
    assert_int_equal(tamis__crc32c(tamis__crc32c(0, digits, 4), digits + 4, 5),
                     UINT32_C(0xe3069283));
    assert_int_equal(tamis__crc32c_mask(0), UINT32_C(0xa282ead8));
    assert_int_equal(tamis__crc64(0, NULL, 0), 0);
    assert_int_equal(tamis__crc64(0, digits, 9), UINT64_C(0xe9c6d914c4b8d9ca));
}

/* Every payload of Redis ends with the CRC-64 of what is before it. */
static void test_crc64_of_redis(void **state) {
    struct vector_table t = vector_table("redisbloom/manifest.tsv");
    (void)state;
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes f = vector_file(vector_cell(&t, i, "dump"));
        assert_true(f.length > 8);
        assert_int_equal(tamis__crc64(0, f.at, f.length - 8), tamis__load64(f.at + f.length - 8));
        vector_bytes_free(&f);
    }
    print_message("%zu payloads\n", t.rows);
    vector_table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_murmur3),      cmocka_unit_test(test_spark_murmur3),
        cmocka_unit_test(test_xxph3),        cmocka_unit_test(test_metrohash),
        cmocka_unit_test(test_xxh64),        cmocka_unit_test(test_rocksdb_legacy_hash),
        cmocka_unit_test(test_leveldb_hash), cmocka_unit_test(test_murmur2),
        cmocka_unit_test(test_murmur64a),    cmocka_unit_test(test_fnv1),
        cmocka_unit_test(test_crc),          cmocka_unit_test(test_crc64_of_redis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
