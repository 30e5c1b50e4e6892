/* test_kept.c - the copy of hashes for the self-check returns what was added, in memory and on disk
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/filters.h"
#include "build/kept.h"

#define COUNT 300000
static const tamis_allocator standard = {NULL, NULL, NULL, NULL};
static const struct tamis__hashing narrow = {.id = TAMIS_HASH_XXH3};

/* The copy has the words of `hashes`, in order. */
static void check_words(const struct tamis__kept *k, const uint64_t *hashes, size_t total) {
    uint64_t *buffer = NEED(uint64_t, TAMIS__KEPT_UNIT);
    size_t at = 0;
    for (uint64_t unit = 0; unit < tamis__kept_units(k); unit++) {
        const uint64_t *words = NULL;
        size_t count = 0;
        assert_true(tamis__kept_unit(k, unit, buffer, &words, &count));
        assert_true(count <= total - at);
        assert_memory_equal(words, hashes + at, count * sizeof *words);
        at += count;
    }
    assert_int_equal(at, total);
    assert_int_equal(k->count, total);
    assert_true(k->sum == tamis__kept_sum(hashes, NULL, total));
    free(buffer);
}

/* Batches of all sizes, one of them larger than a block; more room than is used. */
static void fill(struct tamis__kept *k, const uint64_t *hashes) {
    size_t at = 0;
    for (size_t n = 1; at < COUNT; n = n * 7 % 20011 + 1) {
        const size_t count = COUNT - at < n ? COUNT - at : n;
        assert_int_equal(tamis__kept_reserve(k, count + 5), TAMIS_OK);
        tamis__kept_add(k, hashes + at, NULL, count, count + 5);
        at += count;
    }
    assert_int_equal(tamis__kept_reserve(k, 3), TAMIS_OK);
    tamis__kept_add(k, NULL, NULL, 0, 3);
}

static void test_words(void **state) {
    /* Without a limit, with less than a block, a share of it, more than a block can have. */
    const uint64_t limits[] = {0, 1000, (uint64_t)2 << 20, (uint64_t)1 << 30};
    uint64_t *hashes = hashes_make(COUNT, 1, STREAM_MEMBERS);
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct tamis__kept k;
        assert_int_equal(tamis__kept_open(&k, &standard, &narrow, limits[i], NULL), TAMIS_OK);
        fill(&k, hashes);
        check_words(&k, hashes, COUNT);
        assert_true((k.file_words != 0) == (i == 1 || i == 2));
        tamis__kept_close(&k);
    }
    free(hashes);
}

static void test_failures(void **state) {
    uint64_t *hashes = hashes_make(COUNT, 1, STREAM_MEMBERS);
    struct tamis__kept k;
    (void)state;
    assert_int_equal(tamis__kept_open(&k, &standard, &narrow, 1000, "/no such directory"),
                     TAMIS_E_IO);
    tamis__kept_close(&k);
    /* Without memory nothing is reserved, and what was added stays. */
    for (uint64_t limit = 0; limit <= 1000; limit += 1000) {
        struct meter meter;
        meter_reset(&meter);
        const tamis_allocator own = meter_allocator(&meter);
        assert_int_equal(tamis__kept_open(&k, &own, &narrow, limit, NULL), TAMIS_OK);
        assert_int_equal(tamis__kept_reserve(&k, SIZE_MAX), TAMIS_E_NOMEM);
        assert_int_equal(tamis__kept_reserve(&k, 100), TAMIS_OK);
        tamis__kept_add(&k, hashes, NULL, 100, 100);
        meter.fail_at = 1;
        assert_int_equal(tamis__kept_reserve(&k, COUNT), TAMIS_E_NOMEM);
        meter.fail_at = 0;
        check_words(&k, hashes, 100);
        tamis__kept_close(&k);
        assert_int_equal(atomic_load(&meter.live), 0);
    }
    free(hashes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
