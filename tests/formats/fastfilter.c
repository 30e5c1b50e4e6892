/* fastfilter.c - xor_singleheader's xor and binary fuse filters: serialized and packed, both ways
 */
#include <stdio.h>
#include <stdlib.h>
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

static const char *const all_formats[] = {"xor8",      "xor16",      "fuse8",      "fuse16",
                                          "xor8-pack", "xor16-pack", "fuse8-pack", "fuse16-pack"};
enum { FORMATS = sizeof all_formats / sizeof *all_formats };

enum { INTEGERS_MAX = 100 };

/* The keys are the bytes of the integers, little-endian on the machines that choose them. */
static tamis_status integers_build(const char *format, const uint64_t *numbers, size_t count,
                                   tamis_allocator allocator, tamis_filter **f) {
    const void *keys[INTEGERS_MAX];
    size_t lengths[INTEGERS_MAX];
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = format;
    o.allocator = allocator;
    for (size_t i = 0; i < count; i++) {
        keys[i] = &numbers[i];
        lengths[i] = 8;
    }
    const tamis_status status = tamis_build(&o, keys, lengths, count, f);
    CHECK(status != TAMIS_OK || tamis_contains_batch(*f, keys, lengths, count, NULL) == count,
          "%s of %zu integers: members", format, count);
    return status;
}

static tamis_filter *build_integers(const char *format, const uint64_t *numbers, size_t count) {
    const tamis_allocator usual = {NULL, NULL, NULL, NULL};
    tamis_filter *f = NULL;
    const tamis_status status = integers_build(format, numbers, count, usual, &f);
    CHECK(status == TAMIS_OK, "%s of %zu integers: %s", format, count, tamis_status_name(status));
    return f;
}

/* Small sets with many repeats: a repeated key cancels itself in its slots, so the original peels
 * keys that it does not have. */
static void check_small_repeats(void) {
    struct rng r = {run_seed()};
    uint64_t numbers[64], distinct[16];
    for (uint64_t round = 0; round < run_pick(200, 1000, 20000); round++) {
        const size_t different = 1 + (size_t)rng_below(&r, 16),
                     count = 1 + (size_t)rng_below(&r, 64);
        for (size_t i = 0; i < different; i++) distinct[i] = rng_next(&r);
        for (size_t i = 0; i < count; i++) numbers[i] = distinct[rng_below(&r, different)];
        for (size_t i = 0; i < 4; i++) {
            tamis_free(build_integers(all_formats[i], numbers, count));
        }
        count_up("sets with repeats", 1);
    }
}

static uint64_t shift_back(uint64_t x) { return x ^ x >> 33; }

/* The integer whose hash with the first seed of the original is `hash`. */
static uint64_t integer_of(uint64_t hash, uint64_t state) {
    struct rng seeds = {state};
    const uint64_t seed = rng_next(&seeds);
    hash = shift_back(hash) * UINT64_C(0x9cb4b2f8129337db);
    hash = shift_back(hash) * UINT64_C(0x4f74430c22a54005);
    return shift_back(hash) - seed;
}

/* Integers that share their three slots with the first seed: two of them cannot be peeled, and 64
 * of them overflow the count of a slot.  The next seed separates them. */
static void check_chosen_integers(void) {
    enum { COUNT = INTEGERS_MAX };
    static const size_t chosen[] = {2, 63, 64, 70};
    struct rng r = {run_seed()};
    uint64_t numbers[COUNT];
    for (size_t c = 0; c < sizeof chosen / sizeof *chosen; c++) {
        for (unsigned fuse = 0; fuse < 2; fuse++) {
            const uint64_t state = fuse != 0 ? UINT64_C(0x726b2b9d438b9d4d) : 1;
            for (size_t i = 0; i < COUNT; i++) {
                numbers[i] = i < chosen[c] ? integer_of((uint64_t)i << 34, state) : rng_next(&r);
            }
            for (size_t i = 0; i < 2; i++) {
                tamis_free(build_integers(all_formats[2 * fuse + i], numbers, COUNT));
            }
            count_up("chosen sets", 1);
        }
    }
}

/* Allocations that fail while repeated keys are removed. */
static void check_faults(void) {
    enum { COUNT = 20 };
    uint64_t numbers[COUNT];
    for (size_t i = 0; i < COUNT; i++) numbers[i] = i / 2;
    for (uint64_t step = 1;; step++) {
        struct meter meter;
        tamis_filter *f = NULL;
        meter_reset(&meter);
        meter.fail_at = step;
        meter.fail_once = true;
        const tamis_status status =
            integers_build("xor8", numbers, COUNT, meter_allocator(&meter), &f);
        const bool reached = atomic_load(&meter.calls) >= step;
        CHECK(status == (reached ? TAMIS_E_NOMEM : TAMIS_OK), "allocation %llu: %s",
              (unsigned long long)step, tamis_status_name(status));
        tamis_free(f);
        CHECK(atomic_load(&meter.live) == 0, "allocation %llu: blocks are left",
              (unsigned long long)step);
        count_up("failed allocations", reached);
        if (!reached) break;
    }
}

/* In a packed filter every fingerprint that is present is not 0; a map has no further bits. */
static void check_packed(void) {
    uint64_t numbers[50];
    for (size_t i = 0; i < 50; i++) numbers[i] = i;
    for (size_t i = 4; i < FORMATS; i++) {
        const char *format = all_formats[i];
        const size_t width = strstr(format, "16") != NULL ? 2 : 1;
        tamis_filter *f = build_integers(format, numbers, 50);
        struct bytes bytes = bytes_of(f);
        CHECK(compat_exercise(format, bytes.data, bytes.size, format) == TAMIS_OK, "%s", format);
        memset(bytes.data + bytes.size - width, 0, width);
        CHECK(compat_exercise(format, bytes.data, bytes.size, format) == TAMIS_E_CORRUPT,
              "%s: a fingerprint of 0", format);
        CHECK(compat_exercise(format, bytes.data, bytes.size - 1, format) == TAMIS_E_TRUNCATED,
              "%s: half a fingerprint", format);
        bytes_free(&bytes);
        tamis_free(f);
    }
    const struct vector_bytes tiny = {(uint8_t[16 + 3]){[8] = 1}, 16 + 3}; /* three slots */
    tamis_filter *f = compat_open("xor8", &tiny, "three slots");
    CHECK(facts_of(f).distinct == 0, "three slots hold %g keys", facts_of(f).distinct);
    tamis_free(f);
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
    check_small_repeats();
    check_chosen_integers();
    check_faults();
    check_packed();
    return run_end();
}
