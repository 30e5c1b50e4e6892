/* rocksdb.c - RocksDB's filter blocks: FastLocalBloom, Ribbon, legacy and odd ones */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

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

int main(int argc, char **argv) {
    run_start(argc, argv, "rocksdb");
    struct vector_table t = vector_table("rocksdb/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 40, 80);
    for (size_t i = 0; i < t.rows; i++) check_row(&t, i, &hostile);
    vector_table_free(&t);
    check_odd();
    container_tables("rocksdb/sst_manifest.tsv", "rocksdb-table");
    check_tables();
    return run_end();
}
