/* test_bits.c - the arithmetic of core/bits.h and core/popcount.h against slow definitions */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/check.h"
#include "core/bits.h"
#include "core/popcount.h"

#define ROUNDS 200000

/* Schoolbook multiplication, 16 bits at a time. */
static uint64_t slow_mulhi(uint64_t a, uint64_t b) {
    uint32_t digits[9] = {0};
    for (unsigned i = 0; i < 4; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; j < 4; j++) {
            carry += digits[i + j] + (a >> (16 * i) & 0xffff) * (b >> (16 * j) & 0xffff);
            digits[i + j] = (uint32_t)(carry & 0xffff);
            carry >>= 16;
        }
        digits[i + 4] = (uint32_t)carry;
    }
    return (uint64_t)digits[7] << 48 | (uint64_t)digits[6] << 32 | (uint64_t)digits[5] << 16 |
           digits[4];
}

static void test_mulhi(void **state) {
    const uint64_t edges[] = {0, 1, 2, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX / 2, UINT64_MAX};
    struct rng r = {1};
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (size_t j = 0; j < sizeof edges / sizeof *edges; j++) {
            assert_int_equal(tamis__mulhi(edges[i], edges[j]), slow_mulhi(edges[i], edges[j]));
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t a = rng_next(&r), b = rng_next(&r) >> (i % 64);
        assert_int_equal(tamis__mulhi(a, b), slow_mulhi(a, b));
    }
}

static void test_range(void **state) {
    struct rng r = {2};
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t range = 1 + (rng_next(&r) >> (i % 64)), a = rng_next(&r), b = rng_next(&r);
        assert_true(tamis__range(a, range) < range);
        assert_true((a <= b) == (tamis__range(a, range) <= tamis__range(b, range)) ||
                    tamis__range(a, range) == tamis__range(b, range)); /* monotone */
    }
    assert_int_equal(tamis__range(UINT64_MAX, 1), 0);
    assert_int_equal(tamis__range(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

/* A bijection with a known inverse; every input bit reaches every output bit. */
static void test_mix64(void **state) {
    struct rng r = {3};
    (void)state;
    assert_int_equal(tamis__unmix64(tamis__mix64(0)), 0);
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t x = rng_next(&r) >> (i % 64);
        assert_int_equal(tamis__unmix64(tamis__mix64(x)), x);
        assert_int_equal(tamis__mix64(tamis__unmix64(x)), x);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        unsigned flips[64] = {0};
        for (int i = 0; i < 400; i++) {
            const uint64_t x = rng_next(&r);
            const uint64_t changed = tamis__mix64(x) ^ tamis__mix64(x ^ UINT64_C(1) << bit);
            for (unsigned out = 0; out < 64; out++) flips[out] += (unsigned)(changed >> out & 1);
        }
        for (unsigned out = 0; out < 64; out++) assert_in_range(flips[out], 100, 300);
    }
}

/* Counters must come out with well-spread upper bits. */
static void test_spread(void **state) {
    unsigned buckets[256] = {0};
    (void)state;
    for (uint64_t i = 0; i < 256 * 100; i++) buckets[tamis__spread(i) >> 56]++;
    for (size_t i = 0; i < 256; i++) assert_in_range(buckets[i], 30, 250);
}

static void test_counts(void **state) {
    (void)state;
    assert_int_equal(tamis__popcount(0), 0);
    assert_int_equal(tamis__popcount(UINT64_MAX), 64);
    for (unsigned i = 0; i < 64; i++) {
        const uint64_t one = UINT64_C(1) << i;
        assert_int_equal(tamis__popcount(one | 1), i == 0 ? 1 : 2);
        assert_int_equal(tamis__parity(one), 1);
        assert_int_equal(tamis__parity(one | (one - 1)), (i + 1) % 2);
        assert_int_equal(tamis__ctz(one), i);
        assert_int_equal(tamis__ctz(one | UINT64_C(1) << 63), i);
        assert_int_equal(tamis__log2(one), i);
        assert_int_equal(tamis__log2(one | (one - 1)), i);
    }
}

static void test_div_up(void **state) {
    (void)state;
    for (uint64_t a = 0; a < 300; a++) {
        for (uint64_t b = 1; b < 40; b++) assert_int_equal(tamis__div_up(a, b), (a + b - 1) / b);
    }
    assert_int_equal(tamis__div_up(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(tamis__div_up(UINT64_MAX, 2), UINT64_C(1) << 63);
    assert_int_equal(tamis__div_up(UINT64_MAX, UINT64_MAX), 1);
}

static void test_count_ones(void **state) {
    enum { SIZE = 4096 };
    uint8_t *table = NEED(uint8_t, SIZE);
    struct rng r = {4};
    (void)state;
    assert_int_equal(tamis__popcount_bytes(table, SIZE), 0);
    assert_int_equal(tamis__popcount_bytes(table, 0), 0);
    for (size_t bytes = 8; bytes <= SIZE; bytes += 8) {
        uint64_t expected = 0;
        for (size_t i = 0; i < bytes; i++) {
            table[i] = (uint8_t)rng_next(&r);
            for (unsigned bit = 0; bit < 8; bit++) expected += (unsigned)table[i] >> bit & 1u;
        }
        assert_int_equal(tamis__popcount_bytes(table, bytes), expected);
    }
    memset(table, 0xff, SIZE);
    assert_int_equal(tamis__popcount_bytes(table, SIZE), 8 * SIZE);
    free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mulhi),      cmocka_unit_test(test_range),
        cmocka_unit_test(test_mix64),      cmocka_unit_test(test_spread),
        cmocka_unit_test(test_counts),     cmocka_unit_test(test_div_up),
        cmocka_unit_test(test_count_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
