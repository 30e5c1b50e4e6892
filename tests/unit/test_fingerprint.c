/* test_fingerprint.c - packed fingerprints of every width against one bit at a time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/check.h"
#include "build/fingerprint.h"

#define SLOTS 1000

/* The definition: bit q of the array is bit q % 8 of byte q / 8. */
static uint32_t slow_get(const uint8_t *table, uint64_t slot, unsigned width) {
    uint32_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        const uint64_t q = slot * width + i;
        value |= (uint32_t)(table[q / 8] >> (q % 8) & 1u) << i;
    }
    return value;
}

static void test_every_width(void **state) {
    (void)state;
    for (unsigned width = 1; width <= TAMIS__WIDTH_MAX; width++) {
        const enum tamis__access access = tamis__access_of(width);
        const enum tamis__access loosely = tamis__access_loose(width);
        const uint64_t bytes = tamis__fingerprints_bytes(SLOTS, width);
        const uint32_t mask = tamis__fingerprint_mask(access, width);
        /* Exactly the bytes of the array: a sanitizer detects a load beyond them. */
        uint8_t *table = NEED(uint8_t, bytes), *parts = NEED(uint8_t, bytes);
        uint8_t *loose = NEED(uint8_t, SLOTS * 4);
        uint32_t *fingerprints = NEED(uint32_t, SLOTS);
        struct rng r = {width};
        assert_int_equal(bytes % 8, 0);
        assert_true(bytes * 8 >= (uint64_t)SLOTS * width);
        assert_int_equal(mask, width == 32 ? UINT32_MAX : (UINT32_C(1) << width) - 1);
        for (uint64_t slot = 0; slot < SLOTS; slot++) {
            fingerprints[slot] = (uint32_t)rng_next(&r);
            tamis__fingerprint_store(loose, slot, fingerprints[slot], loosely);
        }
        tamis__fingerprints_pack(loose, 0, SLOTS, width, table);
        for (uint64_t slot = 0; slot < SLOTS; slot++) {
            assert_int_equal(tamis__fingerprint_load(table, slot, access, width) & mask,
                             fingerprints[slot] & mask);
            assert_int_equal(slow_get(table, slot, width), fingerprints[slot] & mask);
        }
        /* In parts, as several threads would, and in any order. */
        tamis__fingerprints_pack(loose, 640, SLOTS, width, parts);
        tamis__fingerprints_pack(loose, 64, 640, width, parts);
        tamis__fingerprints_pack(loose, 0, 64, width, parts);
        assert_memory_equal(parts, table, bytes);
        free(table);
        free(parts);
        free(loose);
        free(fingerprints);
    }
    print_message("%d widths of %d slots\n", TAMIS__WIDTH_MAX, SLOTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
