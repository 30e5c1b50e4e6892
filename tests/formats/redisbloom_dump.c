/* redisbloom_dump.c - payloads of DUMP, written here: every version of the two types, every
 * encoding of numbers and strings, and one malformed payload for each rule of the reader
 *
 * A payload is a line of words, each a value:
 *     u5       a number in the shortest encoding       d0.5     a double
 *     s16      a string of that many zero bytes        z16:00e0 a string of 16 bytes, LZF
 *     xc0      bytes as they are */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sink.h"

#define BLOOM UINT64_C(0x3016e5a289bef800)
#define CUCKOO UINT64_C(0x3016e5a289821400)

enum { OP_UNSIGNED = 2, OP_DOUBLE = 4, OP_STRING = 5 };

static void put_number(struct sink *s, uint64_t value) {
    if (value < 64) {
        sink_be(s, value, 1);
    } else if (value < 16384) {
        sink_be(s, 0x4000 | value, 2);
    } else if (value <= UINT32_MAX) {
        sink_be(s, 0x80, 1);
        sink_be(s, value, 4);
    } else {
        sink_be(s, 0x81, 1);
        sink_be(s, value, 8);
    }
}

static void put_hex(struct sink *s, const char *digits, size_t length) {
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)length, digits);
    struct vector_bytes bytes = vector_hex(text);
    sink_bytes(s, bytes.at, bytes.length);
    vector_bytes_free(&bytes);
}

static void put_packed(struct sink *s, const char *word, size_t length) {
    const size_t colon = strcspn(word, ":") + 1;
    sink_le(s, OP_STRING | 0xc3 << 8, 2);
    put_number(s, (length - colon) / 2);
    put_number(s, strtoull(word, NULL, 10));
    put_hex(s, word + colon, length - colon);
}

static void put_word(struct sink *s, char kind, const char *word, size_t length) {
    if (kind == 'u') {
        put_number(s, OP_UNSIGNED);
        put_number(s, strtoull(word, NULL, 10));
    } else if (kind == 'd') {
        put_number(s, OP_DOUBLE);
        sink_double(s, strtod(word, NULL));
    } else if (kind == 's') {
        put_number(s, OP_STRING);
        put_number(s, strtoull(word, NULL, 10));
        sink_fill(s, 0, (size_t)strtoull(word, NULL, 10));
    } else if (kind == 'z') {
        put_packed(s, word, length);
    } else {
        put_hex(s, word, length);
    }
}

/* With the end of the value, a version of RDB and the checksum. */
static struct sink make_payload(uint64_t id, const char *values) {
    struct sink s = {NULL, 0, 0};
    sink_le(&s, 0x8107, 2);
    sink_be(&s, id, 8);
    while (*values != '\0') {
        const size_t length = strcspn(values, " ");
        put_word(&s, values[0], values + 1, length - 1);
        values += length + (values[length] == ' ');
    }
    sink_le(&s, 0x000a00, 3);
    sink_le(&s, crc64(s.at, s.length), 8);
    return s;
}

static void check_payload(uint64_t id, const char *values, tamis_status want) {
    struct sink s = make_payload(id, values);
    const tamis_status status = compat_exercise("redisbloom-dump", s.at, s.length, values);
    CHECK(status == want, "version %u, %s: %s, not %s", (unsigned)(id & 1023), values,
          tamis_status_name(status), tamis_status_name(want));
    count_up(want == TAMIS_OK ? "payloads" : "rejected payloads", 1);
    sink_free(&s);
}

/* Slots that are missing are E_TRUNCATED. */
static void check_rejected(uint64_t id, const char *values) {
    struct sink s = make_payload(id, values);
    const tamis_status status = compat_exercise("redisbloom-dump", s.at, s.length, values);
    CHECK(status == TAMIS_E_CORRUPT || status == TAMIS_E_TRUNCATED, "%s: %s", values,
          tamis_status_name(status));
    count_up("rejected payloads", 1);
    sink_free(&s);
}

/* ---- what RedisBloom writes */

#define SUB "u10 d0.005 u8 d11 u128 u0 s16 u0"
#define CHAIN "u0 u1 u5 u2 " SUB
#define TABLE "u8 s16"
#define TABLES "u1 u8 u0 u0 u2 u20 u1 " TABLE

/* A filter of version 0 leaves the number of bits to its reader; the older versions have fewer
 * numbers. */
static void check_versions(void) {
    check_payload(BLOOM | 0, "u0 u1 u16 d0.02 u6 d8 s16 u0", TAMIS_OK);
    check_payload(BLOOM | 0, "u0 u1 u16 d0.02 u6 d-8 s16 u0", TAMIS_E_CORRUPT);
    check_payload(BLOOM | 0, "u0 u1 u16 d0.02 u6 dinf s16 u0", TAMIS_E_CORRUPT);
    check_payload(BLOOM | 0, "u0 u1 u16 d0.02 u6 dnan s16 u0", TAMIS_E_CORRUPT);
    check_payload(BLOOM | 1, "u0 u1 " SUB, TAMIS_OK);
    check_payload(BLOOM | 2, "u0 u1 u5 " SUB, TAMIS_OK);
    check_payload(BLOOM | 3, "u0 u1 u5 " SUB, TAMIS_OK);
    check_payload(BLOOM | 4, CHAIN, TAMIS_OK);
    check_payload(BLOOM | 4, "u0 u2 u5 u2 " SUB " " SUB, TAMIS_OK);
    check_payload(BLOOM | 4, "u0 u1 u4 u2 u10 d0.005 u8 d11 u128 u7 s16 u0", TAMIS_OK);
    check_payload(BLOOM | 5, CHAIN, TAMIS_E_VERSION);
    check_payload(CUCKOO | 1, "u2 u8 u0 s16 s16", TAMIS_OK);
    check_payload(CUCKOO | 4, TABLES, TAMIS_OK);
    check_payload(CUCKOO | 4, "u2 u8 u0 u0 u2 u20 u2 u8 s16 u16 s32", TAMIS_OK);
    check_payload(CUCKOO | 5, TABLES, TAMIS_E_VERSION);
    check_payload(BLOOM + 1024, CHAIN, TAMIS_E_FORMAT);
}

/* A number may have any of the encodings. */
static void check_numbers(void) {
    check_payload(BLOOM | 4, "x0200 x02400001 u5 u2 " SUB, TAMIS_E_CORRUPT); /* a byte too many */
    check_payload(BLOOM | 4, "x024000 x024001 u5 u2 " SUB, TAMIS_OK);
    check_payload(BLOOM | 4, "x028000000000 x028000000001 u5 u2 " SUB, TAMIS_OK);
    check_payload(BLOOM | 4, "x02810000000000000000 u1 u5 u2 " SUB, TAMIS_OK);
    check_payload(BLOOM | 4, "x02820000000000000000 u1 u5 u2 " SUB, TAMIS_E_CORRUPT);
    check_payload(BLOOM | 4, "x02c0 u1 u5 u2 " SUB, TAMIS_E_CORRUPT);
    check_payload(BLOOM | 4, "x0281", TAMIS_E_CORRUPT);
    check_payload(BLOOM | 4, "x0280", TAMIS_E_CORRUPT);
    check_payload(BLOOM | 4, "", TAMIS_E_CORRUPT);
}

static void check_strings(void) {
    static const struct {
        const char *string;
        tamis_status want;
    } rows[] = {
        {"z16:0000e00600", TAMIS_OK},                         /* one byte, fifteen copies */
        {"z16:0f00000000000000000000000000000000", TAMIS_OK}, /* sixteen literal bytes */
        {"z16:000020004006c00000", TAMIS_E_CORRUPT},          /* a distance before the start */
        {"z16:0000600020002000", TAMIS_E_CORRUPT},            /* 12 bytes */
        {"z16:0000a0006000", TAMIS_E_CORRUPT},                /* 13 bytes */
        {"z16:0000e00500", TAMIS_E_CORRUPT},                  /* 15 bytes */
        {"z16:0000e00700", TAMIS_E_CORRUPT},                  /* 17 bytes */
        {"z16:100000000000000000000000000000000000", TAMIS_E_CORRUPT}, /* 17 literal bytes */
        {"z16:0000e006", TAMIS_E_CORRUPT},                             /* no distance */
        {"z16:0000e0", TAMIS_E_CORRUPT},                               /* no length */
        {"z16:000020", TAMIS_E_CORRUPT},
        {"z16:0f0000", TAMIS_E_CORRUPT}, /* literals that end */
        {"z16:", TAMIS_E_CORRUPT},
        {"z16000:0000e00600", TAMIS_E_CORRUPT}, /* more than it can give */
        {"x05c10010", TAMIS_E_CORRUPT},         /* a number as a string */
        {"x054fff", TAMIS_E_CORRUPT},           /* longer than the payload */
        {"x0210", TAMIS_E_CORRUPT},             /* a number */
        {"s0", TAMIS_E_CORRUPT},
        {"s8", TAMIS_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char values[256];
        snprintf(values, sizeof values, "u0 u1 u5 u2 u10 d0.005 u8 d11 u128 u0 %s u0",
                 rows[i].string);
        check_payload(BLOOM | 4, values, rows[i].want);
        snprintf(values, sizeof values, "u1 u8 u0 u0 u2 u20 u1 u8 %s", rows[i].string);
        if (rows[i].want == TAMIS_OK) {
            check_payload(CUCKOO | 4, values, TAMIS_OK);
        } else {
            check_rejected(CUCKOO | 4, values);
        }
    }
}

/* Values that contradict each other, or are of another type. */
static void check_values(void) {
    static const char *const chains[] = {
        "d0 u1 u5 u2 " SUB,                         /* a double for a number */
        "u0 u1 u5 u2 u10 u1 u8 d11 u128 u0 s16 u0", /* and the reverse */
        "u0 u0 u5 u2",                              /* no sub-filters */
        "u0 u2 u5 u2 " SUB,                         /* one of two */
        "u0 u1000 u5 u2 " SUB,                      /* more than bytes */
        "u0 u1 u16 u2 " SUB,                        /* unknown options */
        "u0 u1 u4294967296 u2 " SUB,
        "u0 u1 u5 u32769 " SUB, /* growth */
        "u0 u1 u5 u4294967296 " SUB,
        "u1 u1 u5 u2 " SUB,                               /* a key that none has */
        "u0 u1 u5 u2 u0 d0.005 u8 d11 u128 u0 s16 u0",    /* entries */
        "u11 u1 u5 u2 u10 d0.005 u8 d11 u128 u0 s16 u11", /* more keys than entries */
        "u0 u1 u5 u2 u10 d0 u8 d11 u128 u0 s16 u0",       /* error */
        "u0 u1 u5 u2 u10 d1 u8 d11 u128 u0 s16 u0",
        "u0 u1 u5 u2 u10 dnan u8 d11 u128 u0 s16 u0",
        "u0 u1 u5 u2 u10 d0.005 u8 d0 u128 u0 s16 u0",   /* bits per entry */
        "u0 u1 u5 u2 u100 d0.005 u8 d11 u128 u0 s16 u0", /* more entries than bits */
        "u0 u1 u5 u2 u10 d0.005 u9 d11 u128 u0 s16 u0",  /* hashes */
        "u0 u1 u5 u2 u10 d0.005 u4294967296 d11 u128 u0 s16 u0",
        "u0 u1 u5 u2 u10 d0.005 u8 d11 u127 u0 s16 u0", /* bits */
        "u0 u1 u5 u2 u10 d0.005 u8 d11 u128 u8 s16 u0", /* 2^8 bits */
        "u0 u1 u5 u2 u10 d0.005 u8 d11 u128 u64 s16 u0",
        "u0 u1 u5 u2 u10 d0.005 u8 d11 u128 u256 s16 u0",
        CHAIN " u1", /* a value too many */
        CHAIN " x00",
    };
    static const char *const tables[] = {
        "u0 u8 u0 u0 u2 u20 u1",        /* no sub-filters */
        "u2 u8 u0 u0 u2 u20 u1 " TABLE, /* one of two */
        "u1 u7 u0 u0 u2 u20 u1 u7 s14", /* buckets are no power of two */
        "u1 u8 u0 u0 u0 u20 u1 u8 s0",  /* bucket size */
        "u1 u8 u0 u0 u256 u20 u1 u8 s2048",
        "u1 u8 u0 u0 u65536 u20 u1 " TABLE,
        "u1 u8 u0 u0 u2 u0 u1 " TABLE, /* iterations */
        "u1 u8 u0 u0 u2 u65536 u1 " TABLE,
        "u1 u8 u0 u0 u2 u20 u3 " TABLE, /* expansion */
        "u2 u8 u0 u0 u2 u20 u0 " TABLE " u0 s0",
        "u1 u8 u0 u0 u2 u20 u65536 " TABLE,
        "u1 u8 u0 u0 u2 u20 u1 u16 s16", /* other buckets than announced */
        "u1 u281474976710656 u0 u0 u2 u20 u1 u281474976710656 s16",
        "u1 u9223372036854775808 u0 u0 u2 u20 u1 u9223372036854775808 s16",
        TABLES " u1",
    };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        check_payload(BLOOM | 4, chains[i], TAMIS_E_CORRUPT);
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        check_rejected(CUCKOO | 4, tables[i]);
    }
}

/* The frame: type, length of the id, checksum. */
static void check_frame(void) {
    struct sink s = make_payload(BLOOM | 4, CHAIN);
    static const struct {
        size_t at;
        tamis_status want;
    } rows[] = {{0, TAMIS_E_FORMAT},  {1, TAMIS_E_FORMAT},    {5, TAMIS_E_FORMAT},
                {9, TAMIS_E_VERSION}, {20, TAMIS_E_CHECKSUM}, {40, TAMIS_E_CHECKSUM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s.at[rows[i].at] ^= 0x40;
        const tamis_status status = compat_exercise("redisbloom-dump", s.at, s.length, "frame");
        CHECK(status == rows[i].want, "byte %zu: %s", rows[i].at, tamis_status_name(status));
        s.at[rows[i].at] ^= 0x40;
    }
    for (size_t length = 0; length < s.length; length++) {
        const tamis_status status = compat_exercise("redisbloom-dump", s.at, length, "cut");
        CHECK(status == (length < 20 ? TAMIS_E_TRUNCATED : TAMIS_E_CHECKSUM), "%zu bytes: %s",
              length, tamis_status_name(status));
    }
    sink_free(&s);
}

/* What is read from an old or compressed payload is written as RedisBloom writes it today. */
static void check_rewritten(void) {
    static const char *const same[] = {
        "u0 u1 u5 u2 u10 d0.005 u8 d11 u128 u0 z16:0000e00600 u0",
        "x024000 x028000000001 u5 u2 " SUB,
    };
    struct sink want = make_payload(BLOOM | 4, CHAIN);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct sink s = make_payload(BLOOM | 4, same[i]);
        struct vector_bytes view = sink_view(&s), plain = sink_view(&want);
        compat_recreated(compat_open("redisbloom-dump", &view, same[i]), &plain, same[i]);
        sink_free(&s);
    }
    sink_free(&want);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "redisbloom_dump");
    check_versions();
    check_numbers();
    check_strings();
    check_values();
    check_frame();
    check_rewritten();
    return run_end();
}
