/* rocksdb.c - RocksDB's filter blocks: FastLocalBloom, Ribbon, legacy and odd ones */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"
#include "../support/hostile.h"

static void check_row(const struct vector_table *t, size_t row, size_t *hostile) {
    const char *id = vector_cell(t, row, "id"), *policy = vector_cell(t, row, "policy");
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    struct vector_keys sorted = compat_sorted(&keys);
    char format[64];
    snprintf(format, sizeof format, "rocksdb:bits=%s%s", vector_cell(t, row, "bits_per_key"),
             strcmp(policy, "ribbon") == 0 ? ",ribbon" : "");
    compat_row("rocksdb", false, vector_cell(t, row, "filter"), &keys,
               vector_cell(t, row, "probes"), vector_cell(t, row, "answers"), id);
    compat_recreated(compat_build(format, 0, 0, &sorted, id), &bytes, id);
    if (*hostile > 0) *hostile -= compat_hostile("rocksdb", &bytes, 2048, id);
    vector_keys_free(&sorted);
    vector_keys_free(&keys);
    vector_bytes_free(&bytes);
}

/* The keys that were looked up in RocksDB, by the comment of the table. */
static const char *const odd_keys[] = {"", "61", "68656c6c6f", "6b657930303031", "7979", "e4b8ad"};

/* The same answers, or an error for a truncated filter. */
static void check_odd(void) {
    struct vector_table t = vector_table("rocksdb/malformed.tsv");
    for (size_t i = 0; i < t.rows; i++) {
        const char *hex = vector_cell(&t, i, "filter_hex"), *want = vector_cell(&t, i, "answers");
        struct vector_bytes bytes = vector_hex(hex);
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        o.format = "rocksdb";
        const tamis_status status = tamis_decode(bytes.at, bytes.length, &o, &f);
        CHECK(status == TAMIS_OK || (bytes.length > 0 && bytes.length <= 5), "'%s': %s", hex,
              tamis_status_name(status));
        for (size_t j = 0; status == TAMIS_OK && j < sizeof odd_keys / sizeof *odd_keys; j++) {
            struct vector_bytes key = vector_hex(odd_keys[j]);
            CHECK(tamis_contains(f, key.at, key.length) == (want[j] == '1'), "'%s' key '%s'", hex,
                  odd_keys[j]);
            vector_bytes_free(&key);
        }
        if (status == TAMIS_OK) compat_round_trip("rocksdb", &bytes, hex);
        count_up(status == TAMIS_OK ? "odd filters" : "stricter", 1);
        tamis_free(f);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

static uint8_t *find_text(const struct vector_bytes *bytes, const char *text) {
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= bytes->length; i++) {
        if (memcmp(bytes->at + i, text, length) == 0) return bytes->at + i;
    }
    return NULL;
}

static tamis_status open_status(const struct vector_bytes *bytes) {
    tamis_container *c = NULL;
    const tamis_status status = tamis_container_view(bytes->at, bytes->length, NULL, &c);
    tamis_container_free(c);
    return status;
}

/* The properties of a table are trusted after their checksum: a filter of prefixes alone must not
 * be queried for keys. */
static void check_properties(const char *path) {
    struct vector_bytes bytes = vector_file(path);
    uint8_t *checksum_type = bytes.at + bytes.length - 53;
    uint8_t *whole = find_text(&bytes, "whole.key.filtering1");
    uint8_t *number = find_text(&bytes, "external_sst_file.global_seqno");
    if (whole == NULL || number == NULL) { /* a database's own table, or an old one */
        vector_bytes_free(&bytes);
        return;
    }
    whole += strlen("whole.key.filtering");
    number += strlen("external_sst_file.global_seqno");
    CHECK(open_status(&bytes) == TAMIS_OK, "%s", path);
    memset(number, 5, 3); /* as ingesting does */
    CHECK(open_status(&bytes) == TAMIS_OK, "%s, ingested", path);
    *whole = '0';
    CHECK(open_status(&bytes) == TAMIS_E_CHECKSUM, "%s, ingested and damaged", path);
    memset(number, 0, 3);
    CHECK(open_status(&bytes) == TAMIS_E_CHECKSUM, "%s, damaged", path);
    *checksum_type = 0; /* none */
    CHECK(open_status(&bytes) == TAMIS_E_UNSUPPORTED, "%s, of prefixes", path);
    *whole = '1';
    CHECK(open_status(&bytes) == TAMIS_OK, "%s, without checksums", path);
    count_up("tables with properties", 1);
    vector_bytes_free(&bytes);
}

static void check_tables(void) {
    struct vector_table t = vector_table("rocksdb/sst_manifest.tsv");
    for (size_t i = 0; i < t.rows; i++) check_properties(vector_cell(&t, i, "sst"));
    vector_table_free(&t);
}

/* ---- filters that the vectors lack */

static tamis_status status_of(const char *hex) {
    struct vector_bytes bytes = vector_hex(hex);
    const tamis_status status = compat_exercise("rocksdb", bytes.at, bytes.length, hex);
    vector_bytes_free(&bytes);
    return status;
}

/* Five bytes are a filter of no keys, if they identify one; the data of the others must fit. */
static void check_last_bytes(void) {
    static const struct {
        const char *hex;
        tamis_status want;
    } rows[] = {
        {"ff00060000", TAMIS_OK},          /* Bloom of no keys */
        {"0600000000", TAMIS_OK},          /* the older one */
        {"0600000001", TAMIS_E_TRUNCATED}, /* it has 2^24 blocks, none of which is there */
        {"1f00000000", TAMIS_E_TRUNCATED}, /* 31 hashes */
        {"ff00000000", TAMIS_E_TRUNCATED}, /* none */
        {"ff001f0000", TAMIS_E_TRUNCATED},
        {"ff01060000", TAMIS_E_TRUNCATED}, /* bytes that must be 0 */
        {"0000000000", TAMIS_E_TRUNCATED},
        {"fe00020000", TAMIS_E_TRUNCATED},        /* a ribbon without segments */
        {"00ff00060000", TAMIS_E_CORRUPT},        /* part of a block */
        {"00fe00020000", TAMIS_E_CORRUPT},        /* part of a segment */
        {"00fe00010000", TAMIS_OK},               /* a ribbon of one block matches every key */
        {"000600000000", TAMIS_OK},               /* no blocks: so does this */
        {"00000000000000010600000003", TAMIS_OK}, /* and blocks of no power of two */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tamis_status status = status_of(rows[i].hex);
        CHECK(status == rows[i].want, "'%s': %s", rows[i].hex, tamis_status_name(status));
        count_up("last bytes", 1);
    }
}

/* A ribbon has at most 32 columns; RocksDB ignores further segments. */
static void check_columns(void) {
    static const uint8_t meta[] = {0xfe, 0, 2, 0, 0};
    for (size_t segments = 1; segments < 70; segments++) {
        struct bytes bytes = bytes_new(16 * segments + sizeof meta);
        memset(bytes.data, 0, bytes.size);
        memcpy(bytes.data + 16 * segments, meta, sizeof meta);
        CHECK(compat_exercise("rocksdb", bytes.data, bytes.size, "segments") == TAMIS_OK,
              "%zu segments", segments);
        struct vector_bytes view = {bytes.data, bytes.size};
        tamis_filter *f = compat_open("rocksdb", &view, "segments");
        const size_t columns = (segments + 1) / 2;
        CHECK(facts_of(f).width == (columns < 32 ? columns : 32), "%zu segments: %u columns",
              segments, facts_of(f).width);
        tamis_free(f);
        bytes_free(&bytes);
    }
}

static tamis_filter *build_hashes(const char *format, const uint64_t *hashes, size_t count) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = format;
    const tamis_status status = tamis_build_hash(&o, hashes, count, &f);
    CHECK(status == TAMIS_OK, "%s of %zu hashes: %s", format, count, tamis_status_name(status));
    if (f != NULL) {
        CHECK(tamis_contains_hash_batch(f, hashes, count, NULL) == count, "%s of %zu: members",
              format, count);
    }
    return f;
}

/* 1001 keys just fit into 1024 slots: some sets need another seed than the first. */
static void check_seeds(void) {
    enum { SETS = 100, KEYS = 1001 };
    size_t retried = 0;
    for (uint64_t i = 0; i < SETS; i++) {
        uint64_t *hashes = hashes_make(KEYS, run_seed() + i, STREAM_MEMBERS);
        tamis_filter *f = build_hashes("rocksdb:ribbon", hashes, KEYS);
        struct bytes bytes = bytes_of(f);
        CHECK(facts_of(f).kind == TAMIS_RIBBON, "set %llu is no ribbon", (unsigned long long)i);
        retried += bytes.size >= 5 && bytes.data[bytes.size - 4] != (hashes[0] & 0xff);
        bytes_free(&bytes);
        tamis_free(f);
        free(hashes);
    }
    CHECK(retried != 0, "the first seed worked for all sets");
    count_up("ribbons", SETS);
    count_up("seeds tried again", retried);
}

/* x with x * number = 1 modulo 2^32; the number is odd. */
static uint32_t inverse(uint32_t number) {
    uint32_t x = number;
    for (int i = 0; i < 5; i++) x *= 2 - number * x;
    return x;
}

/* Hashes whose equations begin, with any seed, at one of two slots beside each other: more than 128
 * of them have no solution.  RocksDB writes a Bloom filter instead. */
static void check_unsolvable(void) {
    enum { KEYS = 400, STARTS = 512 - 127 };
    const uint32_t step = inverse(UINT32_C(0x236a3a0d)), slot = UINT32_MAX / STARTS;
    uint64_t hashes[KEYS];
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint32_t start = i % 2 == 0 ? i : slot + i;
        hashes[i] = (uint64_t)(start * step) << 32 | 12345;
    }
    tamis_filter *f = build_hashes("rocksdb:ribbon", hashes, KEYS);
    CHECK(facts_of(f).kind == TAMIS_BLOCK, "hashes of two slots are a ribbon");
    tamis_free(f);
    count_up("unsolvable sets", 1);
}

/* Above 2^17 slots the sizes follow a formula instead of a table. */
static void check_large_ribbon(void) {
    const size_t count = 200000;
    uint64_t *hashes = hashes_make(count, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = build_hashes("rocksdb:bits=6,ribbon", hashes, count);
    const tamis_facts facts = facts_of(f);
    CHECK(facts.kind == TAMIS_RIBBON && facts.bits_per_key < 6, "%g bits per key",
          facts.bits_per_key);
    tamis_free(f);
    free(hashes);
}

/* Stores a filter that matches every key in a .tamis file, with the last five bytes changed. */
static struct bytes stored_opaque(size_t data, const uint8_t meta[5]) {
    uint8_t bytes[64 + 5] = {0};
    const struct vector_bytes view = {bytes, data + 5};
    bytes[data] = 0xff;
    bytes[data + 3] = 6; /* must be 0 */
    tamis_filter *f = compat_open("rocksdb", &view, "opaque"), *copy = NULL;
    CHECK(facts_of(f).note != NULL && tamis_contains(f, "any", 3), "opaque: a key is absent");
    CHECK(tamis_add(f, "key", 3, NULL) != TAMIS_OK, "a key is added to a filter of every key");
    CHECK(tamis_clone(f, &copy) == TAMIS_OK && tamis_merge(copy, f, TAMIS_UNION) == TAMIS_OK &&
              tamis_contains(copy, "any", 3),
          "opaque: merged");
    CHECK(tamis_reformat(f, "tamis") == TAMIS_OK, "opaque: stored");
    struct bytes stored = bytes_of(f);
    size_t at = 0;
    while (at + view.length < stored.size && memcmp(stored.data + at, bytes, view.length) != 0) {
        at++;
    }
    memcpy(stored.data + at + data, meta, 5);
    repair_sums(stored.data, stored.size);
    tamis_free(copy);
    tamis_free(f);
    return stored;
}

/* A filter that RocksDB does not understand is stored with its bytes.  If these are changed to
 * some that it does understand, they cannot be written: they would no longer match every key. */
static void check_opaque(void) {
    static const struct {
        size_t data;
        uint8_t meta[5];
        bool written;
    } rows[] = {{64, {0xff, 0, 31, 0, 0}, true},
                {64, {0xff, 0, 6, 0, 0}, false},
                {64, {6, 1, 0, 0, 0}, false},
                {64, {0xfe, 0, 2, 0, 0}, false},
                {10, {0xff, 0, 6, 0, 0}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes stored = stored_opaque(rows[i].data, rows[i].meta);
        tamis_filter *f = NULL;
        CHECK(tamis_decode(stored.data, stored.size, NULL, &f) == TAMIS_OK, "opaque %zu", i);
        CHECK((tamis_reformat_reason(f, "rocksdb") == NULL) == rows[i].written &&
                  (tamis_reformat(f, "rocksdb") == TAMIS_OK) == rows[i].written,
              "opaque %zu: written", i);
        tamis_free(f);
        memset(stored.data + AT_SHAPE + 8 * 3, 1, 2); /* more bytes than it has */
        repair_sums(stored.data, stored.size);
        CHECK(tamis_decode(stored.data, stored.size, NULL, &f) == TAMIS_E_CORRUPT && f == NULL,
              "opaque %zu: longer than its table", i);
        bytes_free(&stored);
        count_up("opaque filters", 1);
    }
}

/* Keys that are added one at a time, with and without a result. */
static void check_single_adds(void) {
    static const char *const formats[] = {"rocksdb", "rocksdb:legacy", "parquet"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *const keys[] = {"first", "second"};
        const void *first[] = {keys[0]};
        const size_t length[] = {5};
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        bool fresh = false;
        o.format = formats[i];
        CHECK(tamis_build(&o, first, length, 1, &f) == TAMIS_OK, "%s: build", formats[i]);
        CHECK(tamis_add(f, keys[1], 6, NULL) == TAMIS_OK, "%s: add", formats[i]);
        CHECK(tamis_add(f, keys[1], 6, &fresh) == TAMIS_OK && !fresh, "%s: again", formats[i]);
        CHECK(tamis_contains(f, keys[1], 6), "%s: missing", formats[i]);
        tamis_free(f);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "rocksdb");
    struct vector_table t = vector_table("rocksdb/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 40, 80);
    for (size_t i = 0; i < t.rows; i++) check_row(&t, i, &hostile);
    vector_table_free(&t);
    check_odd();
    container_tables("rocksdb/sst_manifest.tsv", "rocksdb-table");
    check_tables();
    check_last_bytes();
    check_columns();
    check_seeds();
    check_unsolvable();
    check_large_ribbon();
    check_opaque();
    check_single_adds();
    return run_end();
}
