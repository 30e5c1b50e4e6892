/* test_bytes.c - little-endian loads and stores, the bounded reader and the bounded writer */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/bytes.h"

static void test_loads_and_stores(void **state) {
    uint8_t bytes[24] = {0};
    (void)state;
    for (size_t at = 0; at < 9; at++) { /* every alignment */
        tamis__store64(bytes + at, UINT64_C(0x8877665544332211));
        for (unsigned i = 0; i < 8; i++) assert_int_equal(bytes[at + i], 0x11 * (i + 1));
        assert_int_equal(tamis__load64(bytes + at), UINT64_C(0x8877665544332211));
        assert_int_equal(tamis__load32(bytes + at), 0x44332211);
        assert_int_equal(tamis__load16(bytes + at), 0x2211);
        tamis__store32(bytes + at, 0xdeadbeef);
        assert_int_equal(tamis__load64(bytes + at), UINT64_C(0x88776655deadbeef));
        tamis__store16(bytes + at, 0x0102);
        assert_int_equal(tamis__load32(bytes + at), 0xdead0102);
    }
}

/* Reads back what the writer wrote. */
static void test_writer_then_reader(void **state) {
    uint8_t bytes[18];
    struct tamis__writer w = {bytes, bytes + sizeof bytes, false};
    (void)state;
    tamis__write8(&w, 0x01);
    tamis__write16(&w, 0x2345);
    tamis__write32(&w, 0x6789abcd);
    tamis__write64(&w, UINT64_C(0xef0123456789abcd));
    tamis__write_bytes(&w, "end", 3);
    assert_false(w.bad);
    assert_ptr_equal(w.at, w.end);
    struct tamis__reader r = {bytes, bytes + sizeof bytes, false};
    assert_int_equal(tamis__read8(&r), 0x01);
    assert_int_equal(tamis__read16(&r), 0x2345);
    assert_int_equal(tamis__read32(&r), 0x6789abcd);
    assert_int_equal(tamis__read64(&r), UINT64_C(0xef0123456789abcd));
    assert_memory_equal(tamis__read_bytes(&r, 3), "end", 3);
    assert_false(r.bad);
    assert_ptr_equal(r.at, r.end);
}

/* `bad` is sticky: nothing more is read, and every value is 0. */
static void test_reader_is_bounded(void **state) {
    const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    for (size_t size = 0; size < 8; size++) {
        struct tamis__reader r = {bytes, bytes + size, false};
        assert_int_equal(tamis__read64(&r), 0);
        assert_true(r.bad);
        assert_int_equal(tamis__read8(&r), 0);
        assert_null(tamis__read_bytes(&r, 0));
        assert_ptr_equal(r.at, bytes);
    }
    struct tamis__reader one = {bytes, bytes + 1, false}, three = {bytes, bytes + 3, false};
    assert_int_equal(tamis__read16(&one), 0);
    assert_int_equal(tamis__read32(&three), 0);
    assert_true(one.bad && three.bad);
    struct tamis__reader r = {bytes, bytes + 8, false};
    assert_null(tamis__read_bytes(&r, SIZE_MAX));
    assert_true(r.bad);
    struct tamis__reader empty = {NULL, NULL, false};
    (void)tamis__read_bytes(&empty, 0);
    assert_false(empty.bad);
}

static void test_writer_is_bounded(void **state) {
    uint8_t bytes[16];
    (void)state;
    for (size_t size = 0; size < 8; size++) {
        memset(bytes, 0x5a, sizeof bytes);
        struct tamis__writer w = {bytes, bytes + size, false};
        tamis__write64(&w, 1);
        assert_true(w.bad);
        tamis__write8(&w, 1); /* would fit, but follows a failed write */
        tamis__write_bytes(&w, NULL, 0);
        assert_ptr_equal(w.at, bytes);
        for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0x5a);
    }
    struct tamis__writer w = {bytes, bytes + 16, false};
    tamis__write_bytes(&w, bytes, SIZE_MAX);
    assert_true(w.bad);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_and_stores),
        cmocka_unit_test(test_writer_then_reader),
        cmocka_unit_test(test_reader_is_bounded),
        cmocka_unit_test(test_writer_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
