/* leveldb.c - LevelDB's built-in filters, both ways, and odd ones */
#include <stdio.h>
#include <string.h>

#include "../support/compat.h"

static void check_row(const struct vector_table *t, size_t row, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    char format[64];
    snprintf(format, sizeof format, "leveldb:bits=%s", vector_cell(t, row, "bits_per_key"));
    compat_row("leveldb", false, vector_cell(t, row, "filter"), &keys,
               vector_cell(t, row, "probes"), vector_cell(t, row, "answers"), id);
    compat_recreated(compat_build(format, 0, 0, &keys, id), &bytes, id);
    if (*hostile > 0) *hostile -= compat_hostile("leveldb", &bytes, 2048, id);
    vector_keys_free(&keys);
    vector_bytes_free(&bytes);
}

/* The keys that were looked up in LevelDB, by the comment of the table. */
static const char *const odd_keys[] = {"", "61", "68656c6c6f", "6b657930303031", "7979", "e4b8ad"};

/* The same answers; or an error for a filter of fewer than two bytes, never "absent". */
static void check_odd(void) {
    struct vector_table t = vector_table("leveldb/malformed.tsv");
    for (size_t i = 0; i < t.rows; i++) {
        const char *hex = vector_cell(&t, i, "filter_hex"), *want = vector_cell(&t, i, "answers");
        struct vector_bytes bytes = vector_hex(hex);
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        o.format = "leveldb";
        const tamis_status status = tamis_decode(bytes.at, bytes.length, &o, &f);
        CHECK((status == TAMIS_OK) == (bytes.length >= 2), "'%s': %s", hex,
              tamis_status_name(status));
        for (size_t j = 0; status == TAMIS_OK && j < sizeof odd_keys / sizeof *odd_keys; j++) {
            struct vector_bytes key = vector_hex(odd_keys[j]);
            CHECK(tamis_contains(f, key.at, key.length) == (want[j] == '1'), "'%s' key '%s'", hex,
                  odd_keys[j]);
            vector_bytes_free(&key);
        }
        if (status == TAMIS_OK) {
            const uint8_t k = bytes.at[bytes.length - 1];
            CHECK((facts_of(f).note != NULL) == (k == 0 || k > 30), "'%s': note", hex);
            compat_round_trip("leveldb", &bytes, hex);
        }
        count_up("odd filters", 1);
        tamis_free(f);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "leveldb");
    struct vector_table t = vector_table("leveldb/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 25, 60);
    for (size_t i = 0; i < t.rows; i++) check_row(&t, i, &hostile);
    vector_table_free(&t);
    check_odd();
    container_tables("leveldb/sst_manifest.tsv", "leveldb-table");
    return run_end();
}
