/* fastfilter.c - xor_singleheader's xor and binary fuse filters: serialized and packed, both ways
 */
#include <stdio.h>
#include <string.h>

#include "../support/compat.h"

/* One of the two forms of a filter. */
static void check_form(const struct vector_table *t, size_t row, const char *format,
                       const char *column, bool sure, size_t *hostile) {
    const char *id = vector_cell(t, row, "id"), *file = vector_cell(t, row, column);
    if (file[0] == '-' || file[0] == '\0') return;
    struct vector_bytes bytes = vector_file(file);
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    compat_row(format, sure, file, &keys, vector_cell(t, row, "probes"),
               vector_cell(t, row, "answers"), id);
    compat_recreated(compat_build(format, 0, 0, &keys, id), &bytes, id);
    if (*hostile > 0) *hostile -= compat_hostile(format, &bytes, 1500, id);
    vector_keys_free(&keys);
    vector_bytes_free(&bytes);
}

/* Keys that are not 8 bytes long cannot be added, and a lookup of them does not report "absent". */
static void check_keys(void) {
    static const uint8_t integer[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const void *keys[2] = {integer, integer};
    size_t lengths[2] = {8, 5};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "fuse16";
    CHECK(tamis_build(&o, keys, lengths, 2, &f) == TAMIS_E_KEY, "a key of 5 bytes is accepted");
    lengths[1] = 8;
    CHECK(tamis_build(&o, keys, lengths, 2, &f) == TAMIS_OK, "integers are rejected");
    CHECK(tamis_contains(f, "abc", 3), "a key of 3 bytes is reported as absent");
    bool answers[2];
    lengths[1] = 3;
    CHECK(tamis_contains_batch(f, keys, lengths, 2, answers) == 2 && answers[1], "in a batch");
    tamis_free(f);
}

/* Repeated keys: every kind is built, and contains them all. */
static void check_repeats(void) {
    static const char *const formats[] = {"xor8", "xor16", "fuse8", "fuse16"};
    enum { DISTINCT = 700, COUNT = 3 * DISTINCT };
    static uint64_t numbers[COUNT];
    static const void *keys[COUNT];
    static size_t lengths[COUNT];
    struct rng r = {run_seed()};
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = i < DISTINCT ? rng_next(&r) : numbers[rng_below(&r, DISTINCT)];
        keys[i] = &numbers[i];
        lengths[i] = 8;
    }
    const struct vector_keys set = {COUNT, keys, lengths, NULL};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        tamis_filter *f = compat_build(formats[i], 0, 0, &set, formats[i]);
        if (f != NULL) compat_members(f, &set, formats[i]);
        tamis_free(f);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "fastfilter");
    struct vector_table t = vector_table("fastfilter/manifest.tsv");
    size_t hostile = (size_t)run_pick(4, 30, 60);
    for (size_t i = 0; i < t.rows; i++) {
        const char *type = vector_cell(&t, i, "type");
        char packed[32];
        snprintf(packed, sizeof packed, "%s-pack", type);
        check_form(&t, i, type, "serialized", strncmp(type, "fuse", 4) == 0, &hostile);
        check_form(&t, i, packed, "packed", false, &hostile);
    }
    vector_table_free(&t);
    check_keys();
    check_repeats();
    return run_end();
}
