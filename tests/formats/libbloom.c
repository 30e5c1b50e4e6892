/* libbloom.c - libbloom's filters: the files of 2.0 and the bare bits of 1.6, both ways */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

/* An address in the writer's memory: without meaning in a file. */
enum { AT_ADDRESS = 67, ADDRESS_BYTES = 8 };

static void check_filter(const struct vector_table *t, size_t row, const char *format,
                         const char *make, struct vector_bytes *bytes, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    struct vector_keys probes = vector_keys(vector_cell(t, row, "probes"));
    tamis_filter *f = compat_open(format, bytes, id);
    if (f != NULL) {
        compat_members(f, &keys, id);
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        CHECK(facts_of(f).hashes == vector_number(t, row, "hashes"), "%s: hashes", id);
        compat_round_trip(format, bytes, id);
        count_up("filters", 1);
    }
    tamis_free(f);
    f = compat_build(make, vector_number(t, row, "entries"),
                     strtod(vector_cell(t, row, "error"), NULL), &keys, id);
    compat_recreated(f, bytes, id);
    if (*hostile > 0) *hostile -= compat_hostile(format, bytes, 2048, id);
    vector_keys_free(&keys);
    vector_keys_free(&probes);
}

static void check_table(const char *path, bool has_file) {
    struct vector_table t = vector_table(path);
    size_t hostile = (size_t)run_pick(2, 20, 40);
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes bytes = vector_file(vector_cell(&t, i, "filter"));
        char format[128];
        snprintf(format, sizeof format, "libbloom1:entries=%s,error=%s",
                 vector_cell(&t, i, "entries"), vector_cell(&t, i, "error"));
        if (has_file) {
            compat_detect("libbloom", &bytes, true, vector_cell(&t, i, "id"));
            if (bytes.length >= AT_ADDRESS + ADDRESS_BYTES) {
                memset(bytes.at + AT_ADDRESS, 0, ADDRESS_BYTES);
            }
        }
        check_filter(&t, i, has_file ? "libbloom" : format, has_file ? "libbloom" : "libbloom1",
                     &bytes, &hostile);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "libbloom");
    check_table("libbloom/manifest_2.0.tsv", true);
    check_table("libbloom/manifest_1.6.tsv", false);
    return run_end();
}
