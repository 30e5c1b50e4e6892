/* compat_stored.c - compatible filters stored in .tamis files with hostile headers
 *
 * A .tamis file stores the numbers of a compatible header in its own: how many bits and hashes,
 * which trailing bytes, which hash.  Here these numbers are changed, one at a time and several at
 * once, and the checksums repaired.  A filter that the decoder accepts is queried, copied, changed
 * and converted to every format that accepts it.  In each of them:
 *
 *   - exactly tamis_encoded_size bytes are written, all of them and none beyond;
 *   - the written bytes can be read, and answer as the filter did.
 *
 * Run it with the sanitizers, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

#define KEYS 60
#define RIBBON_KEYS 160 /* fewer are a Bloom filter in RocksDB */
#define PROBES 200
#define GUARD 64
#define SHAPE_WORDS 8

enum { AT_COMPAT_HASH = 19, AT_SEED = 48, AT_LAYOUT = 164 };

static uint64_t integers[PROBES]; /* the first KEYS are members */
static const void *keys[PROBES];
static size_t lengths[PROBES];

/* The compatible formats, and their other layouts; NULL at the end. */
static const char *format_at(size_t index) {
    static const char *const more[] = {"redisbloom:cuckoo", "redisbloom-dump:cuckoo",
                                       "rocksdb:ribbon", "rocksdb:legacy"};
    const size_t count = sizeof more / sizeof *more;
    return index < count ? more[index] : tamis_format_at(index - count + 1); /* 0 is "tamis" */
}

/* A filter of `keys` keys as a .tamis file; no bytes if the format cannot be made. */
static struct bytes stored(const char *format, size_t count) {
    struct bytes none = {NULL, 0};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = format;
    if (tamis_build(&o, keys, lengths, count, &f) != TAMIS_OK) return none;
    CHECK(tamis_reformat(f, "tamis") == TAMIS_OK, "%s: stored in a .tamis file", format);
    const struct bytes bytes = bytes_of(f);
    tamis_free(f);
    return bytes;
}

/* A filter from a .tamis file merges with one that is not. */
static void merged(const char *format, const struct bytes *good) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *from_file = NULL, *fresh = NULL;
    o.format = format;
    CHECK(tamis_decode(good->data, good->size, NULL, &from_file) == TAMIS_OK, "%s: decode", format);
    if (tamis_build(&o, keys, lengths, KEYS, &fresh) == TAMIS_OK && from_file != NULL &&
        (facts_of(from_file).caps & TAMIS_CAN_UNION) != 0) {
        CHECK(tamis_reformat(fresh, "tamis") == TAMIS_OK, "%s: reformat", format);
        const tamis_status status = tamis_merge(fresh, from_file, TAMIS_UNION);
        CHECK(status == TAMIS_OK, "%s: merged with one from a .tamis file: %s", format,
              tamis_status_name(status));
        CHECK(tamis_contains_batch(fresh, keys, lengths, KEYS, NULL) == KEYS, "%s: keys", format);
        CHECK(tamis_merge(from_file, fresh, TAMIS_INTERSECTION) == TAMIS_OK, "%s: and back",
              format);
        CHECK(tamis_contains_batch(from_file, keys, lengths, KEYS, NULL) == KEYS, "%s: keys",
              format);
        count_up("merges", 1);
    }
    tamis_free(from_file);
    tamis_free(fresh);
}

/* No compatible filter can be shared between threads, in a .tamis file or not. */
static void not_shared(const char *id, const struct bytes *good) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    open.shared = true;
    const tamis_status status = tamis_decode(good->data, good->size, &open, &f);
    CHECK(status == TAMIS_E_UNSUPPORTED && f == NULL, "%s: opened as shared: %s", id,
          tamis_status_name(status));
    tamis_free(f);
}

/* Does it write exactly tamis_encoded_size bytes?  `out` receives them. */
static bool encodes_exactly(const tamis_filter *f, struct bytes *out) {
    bool exact = true;
    for (unsigned fill = 0x5a; fill != 0; fill = fill == 0x5a ? 0xa5 : 0) {
        struct bytes again = bytes_new(out->size + GUARD);
        memset(again.data, (int)fill, again.size);
        exact &= tamis_encode(f, again.data, out->size, NULL) == TAMIS_OK;
        for (size_t i = out->size; i < again.size; i++) exact &= again.data[i] == fill;
        if (fill == 0x5a) memcpy(out->data, again.data, out->size);
        exact &= memcmp(out->data, again.data, out->size) == 0;
        bytes_free(&again);
    }
    return exact;
}

/* The format that reads the bytes; one has no header, and its size must be given. */
static bool is_bare(const char *format) { return strcmp(format, "libbloom1") == 0; }

static void written_and_read(const tamis_filter *f, const char *id, const char *format) {
    const uint64_t size = tamis_encoded_size(f);
    if (!CHECK(size <= (uint64_t)1 << 24, "%s as %s: reports %llu bytes", id, format,
               (unsigned long long)size)) {
        return;
    }
    struct bytes out = bytes_new((size_t)size);
    CHECK(encodes_exactly(f, &out), "%s as %s: writes other bytes than it reports", id, format);
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *again = NULL;
    bool before[PROBES], after[PROBES];
    open.format = format;
    if (!is_bare(format)) {
        const tamis_status status = tamis_decode(out.data, out.size, &open, &again);
        CHECK(status == TAMIS_OK, "%s as %s: the written bytes cannot be read: %s", id, format,
              tamis_status_name(status));
    }
    if (again != NULL) {
        tamis_contains_batch(f, keys, lengths, PROBES, before);
        tamis_contains_batch(again, keys, lengths, PROBES, after);
        CHECK(memcmp(before, after, sizeof before) == 0, "%s as %s: other answers", id, format);
        count_up("read again", 1);
    }
    tamis_free(again);
    bytes_free(&out);
}

static void every_format(const struct bytes *bad, const char *id) {
    tamis_filter *f = NULL;
    for (size_t i = 0; tamis_format_at(i) != NULL; i++) {
        const char *format = tamis_format_at(i);
        if (tamis_decode(bad->data, bad->size, NULL, &f) != TAMIS_OK) break;
        if (tamis_reformat(f, format) == TAMIS_OK) written_and_read(f, id, format);
        tamis_free(f);
        f = NULL;
    }
    static struct meter meter;
    tamis_open_options open = TAMIS_OPEN_INIT;
    meter_reset(&meter);
    meter.limit = (uint64_t)16 << 20; /* a chain may claim that its next sub-filter is huge */
    open.allocator = meter_allocator(&meter);
    if (tamis_decode(bad->data, bad->size, &open, &f) != TAMIS_OK) return;
    count_up("accepted", 1);
    (void)exercise(f, bad->data, bad->size);
    CHECK(atomic_load(&meter.live) == 0, "%s: %llu blocks leaked", id,
          (unsigned long long)atomic_load(&meter.live));
}

static void put(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t take(const uint8_t *at) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void change_field(const char *id, const struct bytes *good, size_t at, uint64_t value,
                         unsigned bytes) {
    struct bytes bad = bytes_copy(good->data, good->size);
    put(bad.data + at, value, bytes);
    repair_sums(bad.data, bad.size);
    every_format(&bad, id);
    bytes_free(&bad);
    count_up("changed headers", 1);
}

/* Each number alone. */
static void single_changes(const char *id, const struct bytes *good) {
    static const uint64_t values[] = {
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        16,
        30,
        31,
        32,
        63,
        64,
        127,
        128,
        255,
        256,
        257,
        4095,
        4096,
        4097,
        UINT32_MAX,
        1023,
        1024,
        12345,
        65535,
        65536,
        65537,
        UINT64_MAX,
        (uint64_t)1 << 32,
        UINT64_C(0x3fefffffffffffff) /* doubles: next to 1, infinity, no number */,
        UINT64_C(0x7ff0000000000000),
        UINT64_C(0x7ff8000000000000)};
    for (unsigned word = 0; word < SHAPE_WORDS; word++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            change_field(id, good, AT_SHAPE + 8 * word, values[i], 8);
        }
        const uint64_t own = take(good->data + AT_SHAPE + 8 * word);
        change_field(id, good, AT_SHAPE + 8 * word, own - 1, 8);
        change_field(id, good, AT_SHAPE + 8 * word, own + 1, 8);
    }
    for (unsigned hash = 0; hash < 24; hash++) change_field(id, good, AT_COMPAT_HASH, hash, 1);
    for (unsigned layout = 0; layout < 48; layout++) change_field(id, good, AT_LAYOUT, layout, 4);
    change_field(id, good, AT_SEED, 1, 8);
    change_field(id, good, AT_SEED, (uint64_t)1 << 32, 8);
    change_field(id, good, AT_CAPACITY, UINT64_MAX, 8);
    change_field(id, good, AT_CAPACITY, (uint64_t)1 << 32, 8);
    change_field(id, good, AT_FPR, 0, 8);
}

/* The numbers of a RedisBloom sub-filter: log2 of the bits for entries, and an error next to 1. */
static void extreme_chain(const char *id, const struct bytes *good) {
    static const uint64_t words[][2] = {
        {1, 61}, {3, 2}, {4, UINT64_C(0x3fefffffffffffff)}, {1, UINT64_MAX}, {3, 0}};
    struct bytes bad = bytes_copy(good->data, good->size);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (unsigned b = 0; b < 8; b++) {
            bad.data[AT_SHAPE + 8 * words[i][0] + b] = (uint8_t)(words[i][1] >> (8 * b));
        }
        repair_sums(bad.data, bad.size);
        every_format(&bad, id);
        count_up("changed headers", 1);
    }
    bytes_free(&bad);
}

/* No table: other systems write filters of no bits, which match every key. */
static void no_table(const char *id, const struct bytes *good) {
    struct bytes bad = bytes_copy(good->data, HEADER_BYTES);
    put(bad.data + AT_TABLE_BYTES, 0, 8);
    for (unsigned word = 0; word < 3; word++) put(bad.data + AT_SHAPE + 8 * word, 0, 8);
    repair_sums(bad.data, bad.size);
    every_format(&bad, id);
    bytes_free(&bad);
    count_up("changed headers", 1);
}

/* Several at once. */
static void many_changes(const char *id, const struct bytes *good, uint64_t rounds) {
    struct rng r = {run_seed()};
    struct bytes bad = bytes_new(good->size + 256);
    for (uint64_t round = 0; round < rounds; round++) {
        memcpy(bad.data, good->data, good->size);
        struct bytes some = {bad.data, good->size};
        for (uint64_t n = 1 + rng_below(&r, 4); n > 0; n--) {
            some.size = mutate(some.data, some.size, bad.size, &r);
        }
        repair_sums(some.data, some.size);
        every_format(&some, id);
        count_up("changed headers", 1);
    }
    bytes_free(&bad);
}

int main(int argc, char **argv) {
    static const size_t counts[] = {0, 1, KEYS, RIBBON_KEYS};
    size_t formats = 0;
    run_start(argc, argv, "compat_stored");
    integer_keys(integers, keys, lengths, PROBES);
    for (size_t i = 0; format_at(i) != NULL; i++) {
        bool made = false;
        for (size_t c = run_effort() == EFFORT_QUICK; c < sizeof counts / sizeof *counts; c++) {
            char id[64];
            if (counts[c] == RIBBON_KEYS && strstr(format_at(i), "ribbon") == NULL) continue;
            struct bytes good = stored(format_at(i), counts[c]);
            if (good.size == 0) continue;
            made = true;
            snprintf(id, sizeof id, "%s of %zu", format_at(i), counts[c]);
            every_format(&good, id);
            not_shared(id, &good);
            if (counts[c] == KEYS) merged(format_at(i), &good);
            single_changes(id, &good);
            extreme_chain(id, &good);
            no_table(id, &good);
            many_changes(id, &good, run_pick(100, 500, 20000));
            bytes_free(&good);
        }
        formats += made;
    }
    CHECK(formats > 20, "only %zu formats can be made", formats);
    return run_end();
}
