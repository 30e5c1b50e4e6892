/* compat_limits.c - the limits of compatible formats: parameters, very large sizings, and one
 * malformed header for each rule of a decoder
 *
 *   - Every parameter of a format has values that are accepted, and others that are E_ARGUMENT.
 *   - A filter of up to 2^64 - 1 keys is created, or refused before any memory is allocated.  More
 *     keys never take fewer bytes.
 *   - A malformed header gives its own status, and the format is not detected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sink.h"

#define N 40

static uint64_t integers[N];
static const void *keys[N];
static size_t lengths[N];

/* ---- parameters */

struct parameter_case {
    const char *format;
    double fpr;
    uint64_t seed, capacity;
    tamis_status want;
};

static const struct parameter_case parameter_cases[] = {
    {"guava:version=31.1", 0, 0, 0, TAMIS_OK},
    {"guava:version=33.4", 0, 0, 0, TAMIS_OK},
    {"guava:version=33.4", 0.9, 0, N, TAMIS_OK}, /* one hash */
    {"guava32:version=33.4", 1e-90, 0, 0, TAMIS_E_FPR_TOO_LOW},
    {"guava:version=new", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"guava:rate=1", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"spark1", 0, 1, 0, TAMIS_E_ARGUMENT}, /* it has no seed */
    {"spark2", 0, UINT32_MAX, 0, TAMIS_OK},
    {"spark2", 0, (uint64_t)1 << 32, 0, TAMIS_E_ARGUMENT},
    {"spark2:version=2", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"leveldb:bits=0", 0, 0, 0, TAMIS_OK},
    {"leveldb:bits=1000", 0, 0, 0, TAMIS_OK},
    {"leveldb:bits=1001", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"leveldb:bits=9.5", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"leveldb:bits=ten", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"leveldb", 1e-300, 0, 0, TAMIS_E_FPR_TOO_LOW},
    {"rocksdb:bits=0.4", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"rocksdb:bits=0.5", 0, 0, 0, TAMIS_OK},
    {"rocksdb:bits=1000", 0, 0, 0, TAMIS_OK},
    {"rocksdb:bits=x", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"rocksdb:bits=1,legacy", 0, 0, 0, TAMIS_OK},
    {"rocksdb:bits=100,legacy", 0, 0, 0, TAMIS_OK},
    {"rocksdb:bits=100,ribbon", 0, 0, 0, TAMIS_OK},
    {"rocksdb", 0.01, 0, 0, TAMIS_OK},
    {"rocksdb:ribbon", 1e-30, 0, 0, TAMIS_E_FPR_TOO_LOW},
    {"rocksdb:bit=10", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"parquet:hyparquet", 0, 0, 5000, TAMIS_OK},
    {"parquet:duckdb", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:expansion=4,nonscaling", 0, 0, 0, TAMIS_OK},
    {"redisbloom:nonscaling", 0.9, 0, 1, TAMIS_E_FULL}, /* of one bit, rounded up */
    {"redisbloom:expansion=0", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:expansion=1.5", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:expansion=32769", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:expansion=two", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:cuckoo,bucket=0", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:cuckoo,bucket=256", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:cuckoo,iterations=0", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom:cuckoo,iterations=65536", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom-dump:cuckoo,expansion=x", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"redisbloom-dump:cuckoo,bucket=255,iterations=1,expansion=0", 0, 0, 0, TAMIS_OK},
    {"redisbloom-dump:cuckoo", 0, 0, 1, TAMIS_OK},
    {"libbloom", 1e-100, 0, 0, TAMIS_E_FPR_TOO_LOW},
    {"libbloom", 0, 0, (uint64_t)1 << 32, TAMIS_E_ARGUMENT},
    {"dcso:k=1", 0, 0, 0, TAMIS_E_ARGUMENT},
    {"xor8", 0.01, 0, 0, TAMIS_OK},
    {"xor8", 1e-3, 0, 0, TAMIS_E_FPR_TOO_LOW},
    {"fuse16-pack", 1e-4, 0, 0, TAMIS_OK},
    {"fuse16-pack", 1e-5, 0, 0, TAMIS_E_FPR_TOO_LOW},
};

static void check_parameters(void) {
    for (size_t i = 0; i < sizeof parameter_cases / sizeof *parameter_cases; i++) {
        const struct parameter_case *c = &parameter_cases[i];
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        o.format = c->format;
        o.fpr = c->fpr;
        o.seed = c->seed;
        o.capacity = c->capacity;
        const tamis_status status = tamis_build(&o, keys, lengths, N, &f);
        CHECK(status == c->want, "%s at %g, seed %llu: %s", c->format, c->fpr,
              (unsigned long long)c->seed, tamis_status_name(status));
        CHECK((f != NULL) == (status == TAMIS_OK), "%s: a filter and %s", c->format,
              tamis_status_name(status));
        if (f != NULL) {
            CHECK(tamis_contains_batch(f, keys, lengths, N, NULL) == N, "%s: keys", c->format);
        }
        tamis_free(f);
        count_up("parameters", 1);
    }
}

/* Filters of "libbloom1" have no header: their size is a parameter of reading, too. */
static void check_bare(void) {
    static const struct {
        const char *format;
        size_t bytes;
        tamis_status want;
    } rows[] = {
        {"libbloom1:entries=1000,error=0.01", 1199, TAMIS_OK},
        {"libbloom1:entries=1000,error=0.01", 1198, TAMIS_E_TRUNCATED},
        {"libbloom1:entries=1000,error=0.01", 1200, TAMIS_E_TRAILING},
        {"libbloom1:entries=999,error=0.01", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=1000,error=0", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=1000,error=1", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=1000,error=small", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=many,error=0.01", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=1000,errors=0.01", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1:entries=4294967296,error=0.01", 1199, TAMIS_E_ARGUMENT},
        {"libbloom1", 1199, TAMIS_E_ARGUMENT},
        {"guava:entries=1000", 1199, TAMIS_E_ARGUMENT},
    };
    static const uint8_t zeros[1200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        o.format = rows[i].format;
        const tamis_status status = tamis_decode(zeros, rows[i].bytes, &o, &f);
        CHECK(status == rows[i].want, "%s, %zu bytes: %s", rows[i].format, rows[i].bytes,
              tamis_status_name(status));
        tamis_free(f);
        count_up("parameters", 1);
    }
}

/* ---- very large sizings */

/* Statuses that a size may have; those of memory only if the size is possible. */
static bool is_refusal(tamis_status status) {
    return status == TAMIS_E_TOO_BIG || status == TAMIS_E_FPR_TOO_LOW ||
           status == TAMIS_E_ARGUMENT || status == TAMIS_E_UNSUPPORTED || status == TAMIS_E_STATIC;
}

/* Creates it where 1 MiB can be allocated; nothing is left, and nothing allocated if refused. */
static void create_large(tamis_options o, tamis_status sizing) {
    struct meter meter;
    tamis_filter *f = NULL;
    meter_reset(&meter);
    meter.limit = (uint64_t)1 << 20;
    o.allocator = meter_allocator(&meter);
    const tamis_status status = tamis_create(&o, &f);
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM || is_refusal(status),
          "%s for %llu keys at %g: %s", o.format, (unsigned long long)o.capacity, o.fpr,
          tamis_status_name(status));
    CHECK(!is_refusal(status) || atomic_load(&meter.calls) == 0,
          "%s for %llu keys at %g: %s after an allocation", o.format,
          (unsigned long long)o.capacity, o.fpr, tamis_status_name(status));
    CHECK(sizing != TAMIS_E_TOO_BIG || status == TAMIS_E_TOO_BIG || status == TAMIS_E_STATIC,
          "%s for %llu keys at %g: too big, then %s", o.format, (unsigned long long)o.capacity,
          o.fpr, tamis_status_name(status));
    tamis_free(f);
    CHECK(atomic_load(&meter.live) == 0, "%s: blocks are left", o.format);
}

static void check_large(const char *format, double fpr) {
    uint64_t last = 0;
    tamis_status before = TAMIS_OK;
    for (unsigned lg = 0; lg <= 64; lg++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_sizing sizing = TAMIS_SIZING_INIT;
        o.format = format;
        o.fpr = fpr;
        o.capacity = lg == 64 ? UINT64_MAX : (uint64_t)1 << lg;
        const tamis_status status = tamis_size(&o, &sizing);
        CHECK(status == TAMIS_OK || is_refusal(status), "%s for 2^%u keys at %g: %s", format, lg,
              fpr, tamis_status_name(status));
        CHECK(before != TAMIS_E_TOO_BIG || status == before, "%s for 2^%u keys at %g: %s", format,
              lg, fpr, tamis_status_name(status));
        if (status == TAMIS_OK) {
            CHECK(sizing.bytes >= last, "%s for 2^%u keys: fewer bytes", format, lg);
            last = sizing.bytes;
        }
        before = status;
        create_large(o, status);
        count_up("sizings", 1);
    }
    CHECK(before != TAMIS_OK, "%s: 2^64 - 1 keys at %g fit", format, fpr);
}

static void check_sizings(void) {
    static const double rates[] = {0, 0.5, 1e-9, 1e-100, 1e-200};
    static const char *const more[] = {
        "redisbloom:cuckoo", "redisbloom:nonscaling", "redisbloom:cuckoo,bucket=1",
        "parquet:hyparquet", "leveldb:bits=1000",     "rocksdb:legacy",
        "rocksdb:ribbon"};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        for (size_t i = 1; tamis_format_at(i) != NULL; i++)
            check_large(tamis_format_at(i), rates[r]);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) check_large(more[i], rates[r]);
    }
}

/* ---- malformed headers */

static void put(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t double_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A number of a header and what it is changed to. */
struct change {
    const char *format;
    size_t at;
    uint64_t value;
    unsigned bytes;
    tamis_status want;
};

static const struct change changes[] = {
    {"libbloom", 0, 'L', 1, TAMIS_E_FORMAT},
    {"libbloom", 9, 65, 2, TAMIS_E_VERSION},
    {"libbloom", 11 + 41, 1, 1, TAMIS_E_VERSION},
    {"libbloom", 11 + 40, 0, 1, TAMIS_E_CORRUPT}, /* not ready */
    {"libbloom", 11 + 24, 0, 1, TAMIS_E_CORRUPT}, /* k */
    {"libbloom", 11 + 8, 0, 8, TAMIS_E_CORRUPT},  /* bits */
    {"libbloom", 11 + 8, UINT64_MAX, 8, TAMIS_E_CORRUPT},
    {"libbloom", 11 + 16, 1, 8, TAMIS_E_CORRUPT}, /* bytes */
    {"dcso", 0, 2, 1, TAMIS_E_VERSION},
    {"dcso", 32, UINT64_MAX, 8, TAMIS_E_CORRUPT}, /* bits */
    {"dcso", 32, (uint64_t)1 << 40, 8, TAMIS_E_TRUNCATED},
    {"guava", 0, 2, 1, TAMIS_E_CORRUPT},    /* strategy */
    {"guava", 1, 0, 1, TAMIS_E_CORRUPT},    /* k */
    {"guava", 2, 0x80, 1, TAMIS_E_CORRUPT}, /* words */
    {"guava32", 2, 0, 4, TAMIS_E_CORRUPT},
    {"guava", 2, 1, 1, TAMIS_E_TRUNCATED},
    {"spark1", 3, 3, 1, TAMIS_E_FORMAT},  /* version */
    {"spark1", 4, 0, 4, TAMIS_E_CORRUPT}, /* k */
    {"spark1", 4, 0x80, 1, TAMIS_E_CORRUPT},
    {"spark2", 12, 0, 4, TAMIS_E_CORRUPT}, /* words */
    {"spark2", 12, 0x80, 1, TAMIS_E_CORRUPT},
    {"spark2", 12, 1, 1, TAMIS_E_TRUNCATED},
    {"xor8", 8, 0, 8, TAMIS_E_CORRUPT}, /* length */
    {"xor16", 8, UINT64_MAX, 8, TAMIS_E_CORRUPT},
    {"fuse8", 20, 1, 4, TAMIS_E_CORRUPT},             /* a product */
    {"fuse16", 24, 1, 4, TAMIS_E_CORRUPT},            /* slots */
    {"fuse8-pack", 8, 1000000, 4, TAMIS_E_TRUNCATED}, /* keys */
    {"parquet", 0, 0x14, 1, TAMIS_E_CORRUPT},         /* the type of its length */
    {"redisbloom", 8, 0, 4, TAMIS_E_CORRUPT},         /* sub-filters */
    {"redisbloom:cuckoo", 24, 0, 8, TAMIS_E_CORRUPT},
};

static struct bytes built(const char *format) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = format;
    const tamis_status status = tamis_build(&o, keys, lengths, N, &f);
    CHECK(status == TAMIS_OK, "%s: %s", format, tamis_status_name(status));
    const struct bytes bytes = bytes_of(f);
    tamis_free(f);
    return bytes;
}

static tamis_status decoded(const char *format, const uint8_t *bytes, size_t length) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(format, ":"), format);
    return compat_exercise(name, bytes, length, format);
}

static void check_changes(void) {
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct change *c = &changes[i];
        struct bytes bytes = built(c->format);
        CHECK(decoded(c->format, bytes.data, bytes.size) == TAMIS_OK, "%s", c->format);
        put(bytes.data + c->at, c->value, c->bytes);
        const tamis_status status = decoded(c->format, bytes.data, bytes.size);
        CHECK(status == c->want, "%s, byte %zu: %s, not %s", c->format, c->at,
              tamis_status_name(status), tamis_status_name(c->want));
        bytes_free(&bytes);
        count_up("malformed headers", 1);
    }
}

/* A prefix of a filter is rejected, except where the format is the bits and no header. */
static void check_truncated(void) {
    static const char *const bare[] = {"leveldb", "rocksdb", "seiflotfy", "libbloom1"};
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) {
        const char *format = tamis_format_at(i);
        bool headed = tamis_format_can_create(format);
        for (size_t j = 0; j < sizeof bare / sizeof *bare; j++) {
            headed = headed && strcmp(format, bare[j]) != 0;
        }
        if (!headed) continue;
        struct bytes bytes = built(format);
        /* The original writes four bytes too many after fuse16. */
        const size_t whole = bytes.size - (strcmp(format, "fuse16") == 0 ? 4 : 0);
        for (size_t length = 0; length < whole; length++) {
            const tamis_status status = decoded(format, bytes.data, length);
            CHECK(status == TAMIS_E_TRUNCATED || status == TAMIS_E_CORRUPT ||
                      status == TAMIS_E_CHECKSUM,
                  "%s, %zu of %zu bytes: %s", format, length, bytes.size,
                  tamis_status_name(status));
            count_up("prefixes", 1);
        }
        bytes_free(&bytes);
    }
}

static bool detects(const char *format, const uint8_t *bytes, size_t length) {
    const char *name;
    for (size_t i = 0; (name = tamis_format_detect(bytes, length, i)) != NULL; i++) {
        if (strcmp(name, format) == 0) return true;
    }
    return false;
}

/* DCSO's header is detected by its numbers, LevelDB's filters by what is no text. */
static void check_detection(void) {
    static const double rates[] = {1.5, -1, 1e-9};
    static const char text[] = "a text that ends with a line feed\n";
    struct bytes bytes = built("dcso");
    CHECK(detects("dcso", bytes.data, bytes.size), "dcso");
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        put(bytes.data + 16, double_bits(rates[i]), 8);
        CHECK(!detects("dcso", bytes.data, bytes.size), "dcso at %g", rates[i]);
    }
    put(bytes.data + 16, double_bits(0.01), 8);
    put(bytes.data + 8, 0, 8);
    CHECK(!detects("dcso", bytes.data, bytes.size), "dcso of no keys");
    put(bytes.data + 8, UINT64_MAX, 8);
    put(bytes.data + 16, double_bits(1e-300), 8);
    CHECK(!detects("dcso", bytes.data, bytes.size), "dcso of 2^64 - 1 keys");
    bytes_free(&bytes);
    CHECK(!detects("leveldb", (const uint8_t *)text, sizeof text - 1), "a text");
    CHECK(detects("leveldb",
                  (const uint8_t *)"\x80"
                                   "234567890\x05",
                  11),
          "no text");
}

int main(int argc, char **argv) {
    run_start(argc, argv, "compat_limits");
    integer_keys(integers, keys, lengths, N);
    check_parameters();
    check_bare();
    check_sizings();
    check_changes();
    check_truncated();
    check_detection();
    return run_end();
}
