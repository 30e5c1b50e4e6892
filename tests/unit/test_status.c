/* test_status.c - names, sentences and frozen values of statuses and kinds, and the version */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "tamis.h"

struct frozen {
    const char *name;
    int value;
};

/* Files and callers rely on these values.  Append; never change. */
static const struct frozen statuses[] = {
    {"OK", 0},          {"E_ARGUMENT", 1},   {"E_NOMEM", 2},         {"E_FPR", 3},
    {"E_KIND", 4},      {"E_TOO_BIG", 5},    {"E_FPR_TOO_LOW", 6},   {"E_STATIC", 7},
    {"E_NO_REMOVE", 8}, {"E_NO_MERGE", 9},   {"E_MISMATCH", 10},     {"E_FULL", 11},
    {"E_ABSENT", 12},   {"E_READONLY", 13},  {"E_BUFFER", 14},       {"E_CONVERT", 15},
    {"E_IO", 16},       {"E_EXISTS", 17},    {"E_UNSUPPORTED", 18},  {"E_FORMAT", 20},
    {"E_VERSION", 21},  {"E_TRUNCATED", 22}, {"E_TRAILING", 23},     {"E_CHECKSUM", 24},
    {"E_CORRUPT", 25},  {"E_SECRET", 26},    {"E_WRONG_SECRET", 27}, {"E_KEY", 19},
    {"E_PART", 28},     {"E_CHANGED", 29},   {"E_BUSY", 30},         {"E_LOST", 31},
};
static const struct frozen kinds[] = {
    {"bloom", 1}, {"block", 2}, {"counting", 3}, {"cuckoo", 4},
    {"xor", 5},   {"fuse", 6},  {"ribbon", 7},   {"growing", 8},
};

static void test_statuses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        const tamis_status status = (tamis_status)statuses[i].value;
        assert_string_equal(tamis_status_name(status), statuses[i].name);
        assert_true(strlen(tamis_status_text(status)) > 5);
        for (size_t j = 0; j < i; j++) { /* no two are the same */
            assert_string_not_equal(tamis_status_text(status),
                                    tamis_status_text((tamis_status)statuses[j].value));
        }
    }
    assert_string_equal(tamis_status_name((tamis_status)32), "?");
    assert_string_equal(tamis_status_name((tamis_status)-1), "?");
    assert_string_equal(tamis_status_name((tamis_status)12345), "?");
    assert_true(strlen(tamis_status_text((tamis_status)12345)) > 5);
}

static void test_kinds(void **state) {
    size_t count = 0;
    (void)state;
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        assert_true(count < sizeof kinds / sizeof *kinds);
        assert_int_equal(k, kinds[count].value);
        assert_string_equal(tamis_kind_name(k), kinds[count].name);
        assert_int_equal(tamis_kind_find(kinds[count].name), k);
        const uint32_t caps = tamis_kind_caps(k);
        assert_true(caps != 0);
        /* A kind takes adds or is built at once, never both or neither. */
        assert_int_equal((caps & TAMIS_CAN_ADD) != 0, (caps & TAMIS_IS_STATIC) == 0);
        count++;
    }
    assert_int_equal(count, sizeof kinds / sizeof *kinds);
    assert_int_equal(tamis_kind_caps(TAMIS_BLOOM),
                     TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT | TAMIS_CAN_SHARE);
    assert_int_equal(tamis_kind_caps(TAMIS_BLOCK), tamis_kind_caps(TAMIS_BLOOM));
    assert_true((tamis_kind_caps(TAMIS_COUNTING) & TAMIS_CAN_REMOVE) != 0);
    assert_true((tamis_kind_caps(TAMIS_COUNTING) & TAMIS_CAN_UNION) != 0);
    assert_true((tamis_kind_caps(TAMIS_CUCKOO) & TAMIS_CAN_REMOVE) != 0);
    assert_true((tamis_kind_caps(TAMIS_GROWING) & TAMIS_CAN_GROW) != 0);
}

static void test_version(void **state) {
    char expected[32];
    (void)state;
    snprintf(expected, sizeof expected, "%d.%d.%d", TAMIS_VERSION_MAJOR, TAMIS_VERSION_MINOR,
             TAMIS_VERSION_PATCH);
    assert_string_equal(tamis_version(), expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
