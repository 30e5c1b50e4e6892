/* test_alloc.c - blocks and tables from malloc, mappings and a caller's allocator */
#define _DEFAULT_SOURCE 1 /* syscall */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cmocka.h>

#include "../support/filters.h"
#include "core/alloc.h"

static const tamis_allocator standard = {NULL, NULL, NULL, NULL};

static void test_blocks(void **state) {
    struct meter meter;
    meter_reset(&meter);
    const tamis_allocator own = meter_allocator(&meter), *both[] = {&standard, &own};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (size_t size = 0; size < 300; size += 13) {
            uint8_t *block = (uint8_t *)tamis__alloc(both[i], size);
            assert_non_null(block);
            memset(block, 1, size);
            tamis__release(both[i], block, size);
        }
        tamis__release(both[i], NULL, 10);
    }
    assert_int_equal(atomic_load(&meter.live), 0);
    assert_int_equal(atomic_load(&meter.wrong_size), 0);
    assert_true(atomic_load(&meter.calls) > 20);
}

/* Zeroed, aligned and writable to the last byte, on both sides of the sizes that are mapped. */
static void test_tables(void **state) {
    const uint64_t four = UINT64_C(4) << 20;
    const uint64_t sizes[] = {0,    1,        63,   64,       65,           4096,
                              9999, four - 1, four, four + 1, four + 12345, 5 * four};
    struct meter meter;
    meter_reset(&meter);
    const tamis_allocator own = meter_allocator(&meter), *both[] = {&standard, &own};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            uint8_t *table = (uint8_t *)tamis__table_alloc(both[i], sizes[s]);
            assert_non_null(table);
            assert_int_equal((uintptr_t)table % TAMIS_LINE, 0);
            uint8_t any = 0;
            for (uint64_t at = 0; at < sizes[s]; at++) any |= table[at];
            assert_int_equal(any, 0);
            memset(table, 0xff, (size_t)sizes[s]);
            tamis__table_free(both[i], table, sizes[s]);
        }
        tamis__table_free(both[i], NULL, 100);
    }
    assert_int_equal(atomic_load(&meter.live), 0);
    assert_int_equal(atomic_load(&meter.wrong_size), 0);
}

#if defined(__linux__) && defined(SYS_munmap)
/* Replaces the system's munmap: records the start of the last unmapped range. */
static uintptr_t given_back;
int munmap(void *at, size_t length) {
    given_back = (uintptr_t)at;
    return (int)syscall(SYS_munmap, at, length);
}

/* The part of a mapping behind a table begins at a page, also with pages of 64 KiB: otherwise the
 * system could not unmap it. */
static void test_large_pages(void **state) {
    const uint64_t four = UINT64_C(4) << 20;
    const uint64_t sizes[] = {four, four + 1, four + 4096, four + 65536, four + 100000};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uintptr_t table = (uintptr_t)tamis__table_alloc(&standard, sizes[s]);
        assert_true(table != 0 && given_back >= table + sizes[s]);
        assert_int_equal((given_back - table) % 65536, 0);
        tamis__table_free(&standard, (void *)table, sizes[s]);
    }
}
#endif

static void *count_zeroed(void *context, size_t size) {
    ++*(size_t *)context;
    return calloc(1, size);
}
static void *never_alloc(void *context, size_t size) {
    (void)context, (void)size;
    return NULL;
}
static void plain_free(void *context, void *block, size_t size) {
    (void)context, (void)size;
    free(block);
}

/* Tables come from `zeroed` if it is set; other blocks do not. */
static void test_zeroed(void **state) {
    size_t calls = 0;
    const tamis_allocator own = {never_alloc, plain_free, &calls, count_zeroed};
    (void)state;
    uint8_t *table = (uint8_t *)tamis__table_alloc(&own, 5000);
    assert_non_null(table);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < 5000; i++) assert_int_equal(table[i], 0);
    memset(table, 0xff, 5000);
    tamis__table_free(&own, table, 5000);
    assert_null(tamis__alloc(&own, 100));
    assert_int_equal(calls, 1);
}

static void test_too_much(void **state) {
    struct meter meter;
    meter_reset(&meter);
    const tamis_allocator own = meter_allocator(&meter);
    (void)state;
    assert_null(tamis__table_alloc(&standard, UINT64_MAX));
    assert_null(tamis__table_alloc(&standard, UINT64_MAX / 2));
    assert_null(tamis__table_alloc(&standard, UINT64_C(1) << 60));
    assert_null(tamis__table_alloc(&own, UINT64_MAX));
    assert_null(tamis__table_alloc(&own, UINT64_MAX / 2 + 1));
    meter.fail_at = 1;
    assert_null(tamis__table_alloc(&own, 100));
    assert_null(tamis__alloc(&own, 100));
    assert_int_equal(atomic_load(&meter.live), 0);
}

static void test_array_size(void **state) {
    size_t size = 0;
    (void)state;
    assert_true(tamis__array_size(0, 0, &size) && size == 0);
    assert_true(tamis__array_size(10, 8, &size) && size == 80);
    assert_true(tamis__array_size(UINT64_MAX, 0, &size) && size == 0);
    assert_true(tamis__array_size(0, UINT64_MAX, &size) && size == 0);
    assert_false(tamis__array_size(UINT64_MAX, 2, &size));
    assert_false(tamis__array_size(UINT64_C(1) << 32, UINT64_C(1) << 32, &size));
    assert_false(tamis__array_size(UINT64_C(1) << 61, 8, &size));
    assert_false(tamis__array_size(3, UINT64_MAX / 3 + 1, &size));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_zeroed),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_array_size),
#if defined(__linux__) && defined(SYS_munmap)
        cmocka_unit_test(test_large_pages),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
