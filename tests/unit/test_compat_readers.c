/* test_compat_readers.c - what several codecs read with: Snappy, Thrift, parameters; and the sizes
 * of RocksDB's filters for more keys than a test can add
 *
 * Inputs are hexadecimal, one for each rule.  Each is in a block of its own size, so that a
 * sanitizer reports a read beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compat/common/snappy.h"
#include "compat/common/table_blocks.h"
#include "compat/parameters.h"
#include "compat/parquet/thrift.h"
#include "compat/rocksdb/rocksdb.h"
#include "support/vectors.h"

/* ---------------------------------------------------------------------- Snappy */

struct snappy_case {
    const char *hex, *text; /* NULL: it is rejected */
};

static void check_snappy(const struct snappy_case *c) {
    struct vector_bytes in = vector_hex(c->hex);
    const uint8_t none = 0, *bytes = in.at == NULL ? &none : in.at;
    uint64_t size = 0;
    const bool sized = tamis__snappy_size(bytes, in.length, &size);
    uint8_t *out = sized ? malloc(size + 1) : NULL;
    assert_true(!sized || out != NULL);
    const bool good = sized && tamis__snappy_unpack(bytes, in.length, out, size);
    assert_false(sized && tamis__snappy_unpack(bytes, in.length, out, size + 1));
    if (good != (c->text != NULL)) fail_msg("%s: %s", c->hex, good ? "accepted" : "rejected");
    if (good) {
        assert_int_equal(size, strlen(c->text));
        assert_memory_equal(out, c->text, size);
    }
    free(out);
    vector_bytes_free(&in);
}

static void test_snappy(void **state) {
    static const struct snappy_case cases[] = {
        {"00", ""},
        {"03"
         "08"
         "616263",
         "abc"},
        {"03"
         "f0"
         "02"
         "616263",
         "abc"}, /* a byte of length */
        {"03"
         "f4"
         "0200"
         "616263",
         "abc"}, /* two, three and four of them */
        {"03"
         "f8"
         "020000"
         "616263",
         "abc"},
        {"03"
         "fc"
         "02000000"
         "616263",
         "abc"},
        {"08"
         "0c"
         "61626364"
         "0104",
         "abcdabcd"}, /* copies of the three forms */
        {"07"
         "08"
         "616263"
         "0e0300",
         "abcabca"},
        {"07"
         "08"
         "616263"
         "0f03000000",
         "abcabca"},
        {"06"
         "00"
         "61"
         "120100",
         "aaaaaa"}, /* one that overlaps its own output */
        {"", NULL},
        {"80", NULL},
        {"ff7f", NULL},       /* more bytes than copies could give */
        {"8080808080", NULL}, /* a length of more than five bytes */
        {"ffffffff7f", NULL}, /* a length above 2^32 - 1 */
        {"03", NULL},         /* shorter than its length */
        {"02"
         "08"
         "616263",
         NULL}, /* longer */
        {"03"
         "08"
         "6162",
         NULL}, /* a literal longer than the input */
        {"03"
         "f8"
         "0200",
         NULL}, /* half a length */
        {"08"
         "0c"
         "61626364"
         "01",
         NULL}, /* half a copy */
        {"08"
         "0c"
         "61626364"
         "0e03",
         NULL},
        {"08"
         "0c"
         "61626364"
         "0100",
         NULL}, /* a distance of 0 */
        {"08"
         "0c"
         "61626364"
         "0105",
         NULL}, /* a distance before the start */
        {"07"
         "0c"
         "61626364"
         "0104",
         NULL}, /* a copy longer than the length */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_snappy(&cases[i]);
}

/* ---------------------------------------------------------------------- Thrift */

/* Skips a value of the type; -1 if the bytes are bad, otherwise how many are left. */
static long skipped(unsigned type, const char *hex) {
    struct vector_bytes in = vector_hex(hex);
    struct tamis__reader r = {in.at, in.at == NULL ? NULL : in.at + in.length, false};
    tamis__thrift_skip(&r, type);
    const long left = r.bad ? -1 : (long)(r.end - r.at);
    vector_bytes_free(&in);
    return left;
}

static void test_thrift_types(void **state) {
    (void)state;
    assert_int_equal(skipped(TAMIS__THRIFT_TRUE, "ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_FALSE, "ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_BYTE, "00ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_I16, "8001ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_I32, "8001ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_I64, "ffffffffffffffffff01ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_DOUBLE, "0001020304050607ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_BINARY, "02abcdee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_LIST,
                             "2101"
                             "02ee"),
                     1); /* two bools */
    assert_int_equal(skipped(TAMIS__THRIFT_SET,
                             "23"
                             "0102ee"),
                     1);
    assert_int_equal(skipped(TAMIS__THRIFT_LIST,
                             "f310"
                             "00000000000000000000000000000000ee"),
                     1);
    assert_int_equal(skipped(TAMIS__THRIFT_MAP, "00ee"), 1);
    assert_int_equal(skipped(TAMIS__THRIFT_MAP,
                             "0238"
                             "01"
                             "0161"
                             "02"
                             "0162ee"),
                     1);
    assert_int_equal(skipped(TAMIS__THRIFT_STRUCT,
                             "11"
                             "1301"
                             "05800803"
                             "00ee"),
                     1);
    assert_int_equal(skipped(TAMIS__THRIFT_STOP, "ee"), -1);
    assert_int_equal(skipped(13, "ee"), -1);
}

static void test_thrift_bad(void **state) {
    (void)state;
    assert_int_equal(skipped(TAMIS__THRIFT_I64, "8080808080808080808001"), -1); /* 2^63 twice */
    assert_int_equal(skipped(TAMIS__THRIFT_I64, "ffffffffffffffffff02"), -1);
    assert_int_equal(skipped(TAMIS__THRIFT_I32, "80"), -1);
    assert_int_equal(skipped(TAMIS__THRIFT_BINARY, "03abcd"), -1);
    assert_int_equal(skipped(TAMIS__THRIFT_BINARY, ""), -1);
    assert_int_equal(skipped(TAMIS__THRIFT_LIST,
                             "33"
                             "0102"),
                     -1); /* more elements than bytes */
    assert_int_equal(skipped(TAMIS__THRIFT_LIST,
                             "2d"
                             "0102"),
                     -1); /* of an unknown type */
    assert_int_equal(skipped(TAMIS__THRIFT_MAP,
                             "0933"
                             "0102"),
                     -1);
    assert_int_equal(skipped(TAMIS__THRIFT_MAP,
                             "0138"
                             "01"
                             "0961"),
                     -1);
    assert_int_equal(skipped(TAMIS__THRIFT_STRUCT, "13"), -1);
    assert_int_equal(skipped(TAMIS__THRIFT_STRUCT,
                             "0302"
                             "01"
                             "0302"
                             "01"
                             "00"),
                     -1); /* 1, 1 */
    assert_int_equal(skipped(TAMIS__THRIFT_STRUCT,
                             "0380800401"
                             "00"),
                     -1); /* field 32768 */
}

/* Sixteen levels are enough for Parquet; more are rejected before the stack runs out. */
static void test_thrift_depth(void **state) {
    char hex[2 * 64 + 1];
    (void)state;
    for (size_t depth = 1; depth < 30; depth++) {
        for (size_t i = 0; i + 1 < depth; i++) memcpy(hex + 2 * i, "19", 3); /* a list of a list */
        memcpy(hex + 2 * (depth - 1), "1301", 5);                            /* of a byte */
        assert_int_equal(skipped(TAMIS__THRIFT_LIST, hex), depth < 16 ? 0 : -1);
    }
}

/* ------------------------------------------------------------------ parameters */

static void check_number(const char *parameters, bool good, double want) {
    double value = -1;
    if (tamis__parameter_number(parameters, "bits", &value) != good) {
        fail_msg("%s: %s", parameters, good ? "rejected" : "accepted");
    }
    if (good && !(value == want)) fail_msg("%s: %g", parameters, value);
}

static void test_parameters(void **state) {
    (void)state;
    check_number("", true, -1);
    check_number("ribbon", true, -1);
    check_number("bits=10", true, 10);
    check_number("ribbon,bits=9.9,legacy", true, 9.9);
    check_number("bits=.5", true, .5);
    check_number("bits=5.", true, 5);
    check_number("bits=123456789012345", true, 123456789012345);
    check_number("bits=1234567890123456", false, 0);
    check_number("bits=1.2.3", false, 0);
    check_number("bits=-1", false, 0);
    check_number("bits=1e3", false, 0);
    check_number("bits=.", false, 0);
    check_number("bits=", false, 0);
    check_number("bits", false, 0);
    assert_true(tamis__parameter("ribbon,bits=10", "ribbon"));
    assert_false(tamis__parameter("ribbons,bits=10", "ribbon"));
    assert_true(tamis__parameters_known("ribbon,bits=10", "bits,ribbon"));
    assert_false(tamis__parameters_known("ribbon,bit=10", "bits,ribbon"));
    assert_false(tamis__parameters_known("ribbon", NULL));
    assert_true(tamis__parameters_known("", NULL));
}

/* ----------------------------------------------------- sizes of RocksDB's filters */

static void test_rocksdb_sizes(void **state) {
    uint64_t k, blocks, segments;
    (void)state;
    /* FastLocalBloom has at most 2^32 - 64 bytes. */
    assert_int_equal(tamis__rocksdb_blocks(UINT64_MAX, 10), UINT32_MAX / 64);
    assert_int_equal(tamis__rocksdb_blocks((uint64_t)1 << 40, 10), UINT32_MAX / 64);
    assert_int_equal(tamis__rocksdb_blocks(1000, 10), 20);
    assert_int_equal(tamis__rocksdb_hashes(100), 24);
    assert_int_equal(tamis__rocksdb_hashes(40), 18);
    /* The older filter: an odd number of blocks, or none. */
    assert_int_equal(tamis__rocksdb_legacy_blocks(0, 10, &k), 0);
    assert_int_equal(tamis__rocksdb_legacy_blocks(1000, 1, &k), 3);
    assert_int_equal(k, 1);
    assert_int_equal(tamis__rocksdb_legacy_blocks(1000, 100, &k), 197);
    assert_int_equal(k, 30);
    assert_int_equal(tamis__rocksdb_legacy_blocks(UINT64_MAX, 100, &k), UINT64_MAX);
    /* Ribbon: 950 million keys, then a Bloom filter instead. */
    assert_true(tamis__rocksdb_ribbon(950000000, 10, 0, &blocks, &segments));
    assert_true(blocks < (uint64_t)1 << 24);
    assert_false(tamis__rocksdb_ribbon(950000001, 10, 0, &blocks, &segments));
    /* From 2^32 on the rate is that of 32 columns. */
    assert_true(tamis__rocksdb_ribbon(100000, 100, 0, &blocks, &segments));
    assert_int_equal(segments, 32 * blocks);
}

/* More keys never take less room. */
static void test_ribbon_grows(void **state) {
    uint64_t last = 0;
    (void)state;
    for (uint64_t keys = 1; keys < 900000000; keys += keys / 7 + 1) {
        uint64_t blocks, segments;
        (void)tamis__rocksdb_ribbon(keys, 10, 0, &blocks, &segments);
        assert_true(blocks >= last);
        assert_true(blocks * 128 > keys);
        last = blocks;
    }
}

/* --------------------------------------------------------------- entries of a block */

/* A name longer than the reader keeps is compared by its length. */
static void test_long_names(void **state) {
    enum { LONG = 5000 };
    uint8_t *block = calloc(1, 2 * LONG);
    struct tamis__entries e;
    bool found;
    (void)state;
    assert_non_null(block);
    const uint8_t first[] = {0, 0x88, 0x27, 0}, second[] = {0x88, 0x27, 1, 0, 'x'};
    memcpy(block, first, sizeof first);
    memset(block + sizeof first, 'k', LONG);
    memcpy(block + sizeof first + LONG, second, sizeof second);
    const uint64_t length = sizeof first + LONG + sizeof second + 4;
    assert_int_equal(tamis__entries_find(&e, block, length, "k", &found), TAMIS_OK);
    assert_false(found);
    assert_int_equal(e.key_bytes, LONG + 1);
    assert_null(e.whole);
    assert_int_equal(tamis__entries_find(&e, block, 3, "k", &found), TAMIS_E_CORRUPT);
    free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snappy),       cmocka_unit_test(test_thrift_types),
        cmocka_unit_test(test_thrift_bad),   cmocka_unit_test(test_thrift_depth),
        cmocka_unit_test(test_parameters),   cmocka_unit_test(test_rocksdb_sizes),
        cmocka_unit_test(test_ribbon_grows), cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
