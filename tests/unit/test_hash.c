/* test_hash.c - XXH3-64 and SipHash-2-4 against published values, and how keys use them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/check.h"
#include "../support/paths.h"
#include "../support/siphash_vectors.h"
#include "../support/vectors.h"
#include "hash/hash.h"

static void test_xxh3(void **state) {
    struct vector_table t = vector_table("xxhash/xxhash.tsv");
    (void)state;
    assert_true(t.rows > 300);
    for (size_t i = 0; i < t.rows; i++) {
        const uint64_t seed = strtoull(vector_cell(&t, i, "seed"), NULL, 10);
        const uint64_t want = strtoull(vector_cell(&t, i, "xxh3_64"), NULL, 16);
        struct vector_bytes key = vector_hex(vector_cell(&t, i, "input_hex"));
        assert_int_equal(tamis__xxh3(key.at, key.length, seed), want);
        struct tamis__hashing h;
        tamis__hashing_init(&h, TAMIS_HASH_XXH3, seed, NULL);
        assert_int_equal(tamis__hash_key(&h, key.at, key.length).lo, want);
        vector_bytes_free(&key);
    }
    print_message("%zu values\n", t.rows);
    vector_table_free(&t);
}

static const uint8_t secret[TAMIS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};

static void test_siphash(void **state) {
    const uint64_t words[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    struct tamis__hashing h;
    (void)state;
    tamis__hashing_init(&h, TAMIS_HASH_SIP24, 0, secret);
    assert_int_equal(h.id, TAMIS_HASH_SIP24);
    for (unsigned length = 0; length < SIPHASH_VECTORS; length++) {
        /* A block of the exact size, so that a sanitizer detects a read beyond it. */
        uint8_t *message = length == 0 ? NULL : NEED(uint8_t, length);
        for (unsigned i = 0; i < length; i++) message[i] = (uint8_t)i;
        assert_int_equal(tamis__siphash24(message, length, words), siphash_vectors[length]);
        assert_int_equal(tamis__hash_key(&h, message, length).lo, siphash_vectors[length]);
        free(message);
    }
}

/* Many keys at once: the published hash of each, for every mixture of lengths (vectors take eight
 * keys of about the same length), on every path, and no writes beyond. */
static void check_many(const struct tamis__hashing *h, const void *const *keys,
                       const size_t *lengths, size_t count) {
    uint64_t lo[64], hi[64];
    for (size_t p = 0; path_at(p) != NULL; p++) {
        const bool portable = p == 0;
        path_use(p);
        memset(lo, 0xee, sizeof lo);
        tamis__hash_keys(h, portable, keys, lengths, count, lo, portable ? hi : NULL);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(lo[i], tamis__hash_key(h, keys[i], lengths[i]).lo);
            if (portable) assert_int_equal(hi[i], 0);
        }
        assert_int_equal(lo[count], UINT64_C(0xeeeeeeeeeeeeeeee));
    }
    path_use_all();
}

static void test_many(void **state) {
    const unsigned spans[] = {1, 2, 9, 30, SIPHASH_VECTORS};
    struct tamis__hashing h[3];
    const void *keys[63];
    size_t lengths[63];
    (void)state;
    tamis__hashing_init(&h[0], TAMIS_HASH_SIP24, 0, secret);
    tamis__hashing_init(&h[1], TAMIS_HASH_XXH3, 0, NULL);
    tamis__hashing_init(&h[2], TAMIS_HASH_XXH3, 7, NULL);
    for (unsigned round = 0; round < 1000; round++) {
        const unsigned span = spans[round % 5];
        const size_t count = round % 64;
        for (size_t i = 0; i < count; i++) {
            const uint64_t chance = tamis_hash_integer(round * 64 + i);
            lengths[i] = (round / 5 + chance % span) % SIPHASH_VECTORS;
            /* In every third round half of the keys are long, and the others short. */
            if (round % 3 == 2 && (chance >> 40 & 1)) lengths[i] += (chance >> 41) % 1000;
            uint8_t *key = lengths[i] == 0 ? NULL : NEED(uint8_t, lengths[i]);
            for (size_t j = 0; j < lengths[i]; j++) key[j] = (uint8_t)(chance >> (j % 57));
            keys[i] = key;
        }
        for (unsigned j = 0; j < 3; j++) check_many(&h[j], keys, lengths, count);
        for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)keys[i]);
    }
}

/* Integers are hashed several at once: columns of them, scattered ones, and beside other keys. */
static void test_columns(void **state) {
    struct tamis__hashing h[3];
    uint64_t column[63];
    const void *keys[63];
    size_t lengths[63];
    (void)state;
    tamis__hashing_init(&h[0], TAMIS_HASH_XXH3, 0, NULL);
    tamis__hashing_init(&h[1], TAMIS_HASH_XXH3, UINT64_C(0x0123456789abcdef), NULL);
    tamis__hashing_init(&h[2], TAMIS_HASH_XXH3, UINT64_MAX, NULL);
    for (unsigned round = 0; round < 2000; round++) {
        const size_t count = round % 64;
        for (size_t i = 0; i < count; i++) {
            column[i] = tamis_hash_integer(round * 64 + i);
            const size_t other = column[i] % count;
            keys[i] = &column[round % 3 == 0 ? other : i];
            lengths[i] = round % 5 == 0 && column[i] >> 60 == 0 ? other % 8 : 8;
        }
        for (unsigned j = 0; j < 3; j++) check_many(&h[j], keys, lengths, count);
    }
}

/* Two hashers are equal if they give equal hashes for every key. */
static void test_equal(void **state) {
    uint8_t other_secret[TAMIS_SECRET_BYTES];
    struct tamis__hashing h[6];
    (void)state;
    memcpy(other_secret, secret, sizeof secret);
    other_secret[15] ^= 1;
    tamis__hashing_init(&h[0], TAMIS_HASH_XXH3, 0, NULL);
    tamis__hashing_init(&h[1], TAMIS_HASH_XXH3, 1, NULL);
    tamis__hashing_init(&h[2], TAMIS_HASH_XXH3, UINT64_MAX, NULL);
    tamis__hashing_init(&h[3], TAMIS_HASH_SIP24, 0, secret);
    tamis__hashing_init(&h[4], TAMIS_HASH_SIP24, 0, other_secret);
    tamis__hashing_init(&h[5], TAMIS_HASH_NONE, 0, NULL);
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++) {
            assert_int_equal(tamis__hashing_equal(&h[i], &h[j]), i == j);
        }
    }
    assert_true(h[3].key_id != h[4].key_id);
    assert_true(h[3].key_id != 0);
    assert_true(h[3].key_id != h[3].secret[0] && h[3].key_id != h[3].secret[1]);
}

static void test_integers(void **state) {
    unsigned buckets[256] = {0};
    (void)state;
    for (uint64_t i = 0; i < 256 * 100; i++) buckets[tamis_hash_integer(i) >> 56]++;
    for (size_t i = 0; i < 256; i++) assert_in_range(buckets[i], 50, 150);
    assert_true(tamis_hash_integer(1) != tamis_hash_integer(2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xxh3),  cmocka_unit_test(test_siphash),
        cmocka_unit_test(test_many),  cmocka_unit_test(test_columns),
        cmocka_unit_test(test_equal), cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
