/* guava.c - Guava's filters, both ways: streams, sizes, statistics, malformed streams */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

/* A key of the file as a funnel's bytes. */
static struct vector_keys funnelled(const char *path, const char *funnel) {
    struct vector_keys keys = vector_keys(path);
    if (strncmp(funnel, "person-", 7) == 0) {
        struct vector_keys joined = compat_without_tabs(&keys);
        vector_keys_free(&keys);
        keys = joined;
    }
    if (strcmp(funnel, "unencoded-chars") == 0 || strcmp(funnel, "person-chars") == 0) {
        struct vector_keys wide = compat_utf16(&keys);
        vector_keys_free(&keys);
        keys = wide;
    }
    return keys;
}

static void check_statistics(const tamis_filter *f, const struct vector_table *t, size_t row,
                             const char *id) {
    const tamis_facts facts = facts_of(f);
    const double count = strtod(vector_cell(t, row, "approx_element_count"), NULL);
    CHECK(facts.hashes == vector_number(t, row, "k"), "%s: k is %u", id, facts.hashes);
    CHECK(facts.fpr_now == strtod(vector_cell(t, row, "expected_fpp"), NULL), "%s: rate %.17g", id,
          facts.fpr_now);
    CHECK(floor(facts.distinct + 0.5) == count, "%s: %.3f keys, not %.0f", id, facts.distinct,
          count);
}

static void check_row(const struct vector_table *t, size_t row) {
    const char *id = vector_cell(t, row, "id");
    const char *format = vector_number(t, row, "strategy") == 32 ? "guava32" : "guava";
    const char *funnel = vector_cell(t, row, "funnel");
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = funnelled(vector_cell(t, row, "keys"), funnel);
    struct vector_keys probes = funnelled(vector_cell(t, row, "probes"), funnel);
    tamis_filter *f = compat_open("guava", &bytes, id);
    if (f != NULL) {
        compat_detect(format, &bytes, true, id);
        compat_members(f, &keys, id);
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        check_statistics(f, t, row, id);
        compat_round_trip(format, &bytes, id);
        count_up("filters", 1);
    }
    tamis_free(f);

    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = format;
    o.capacity = vector_number(t, row, "expected_insertions");
    o.fpr = strtod(vector_cell(t, row, "fpp"), NULL);
    f = NULL;
    if (CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s: cannot be created", id)) {
        CHECK(tamis_add_batch(f, keys.keys, keys.lengths, keys.count, NULL, NULL) == TAMIS_OK,
              "%s: rejects keys", id);
        compat_recreated(f, &bytes, id);
    }
    vector_keys_free(&keys);
    vector_keys_free(&probes);
    vector_bytes_free(&bytes);
}

static void check_sizing(void) {
    struct vector_table t = vector_table("guava/sizing.tsv");
    for (size_t i = 0; i < t.rows; i++) {
        const uint64_t size = 6 + vector_number(&t, i, "bit_size") / 8;
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        o.format = "guava";
        o.capacity = vector_number(&t, i, "expected_insertions");
        o.fpr = strtod(vector_cell(&t, i, "fpp"), NULL);
        if (strcmp(vector_cell(&t, i, "bit_size"), "large") == 0) continue;
        const tamis_status status = tamis_create(&o, &f);
        if (strcmp(vector_cell(&t, i, "bit_size"), "error") == 0) {
            CHECK(status != TAMIS_OK, "n %llu p %g: Guava refuses it",
                  (unsigned long long)o.capacity, o.fpr);
            tamis_free(f);
            count_up("refused sizes", 1);
            continue;
        }
        if (!CHECK(status == TAMIS_OK, "n %llu p %g: %s", (unsigned long long)o.capacity, o.fpr,
                   tamis_status_text(status))) {
            continue;
        }
        CHECK(tamis_encoded_size(f) == size, "n %llu p %g: %llu bytes",
              (unsigned long long)o.capacity, o.fpr, (unsigned long long)tamis_encoded_size(f));
        CHECK(facts_of(f).hashes == vector_number(&t, i, "k_31.1"), "n %llu p %g: k",
              (unsigned long long)o.capacity, o.fpr);
        tamis_free(f);
        count_up("sizes", 1);
    }
    vector_table_free(&t);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "guava");
    struct vector_table t = vector_table("guava/manifest.tsv");
    const size_t hostile = (size_t)run_pick(3, 25, 60);
    size_t done = 0;
    for (size_t i = 0; i < t.rows; i++) {
        check_row(&t, i);
        struct vector_bytes bytes = vector_file(vector_cell(&t, i, "filter"));
        if (done < hostile) done += compat_hostile("guava", &bytes, 2048, vector_cell(&t, i, "id"));
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
    check_sizing();
    compat_malformed("guava", "guava/malformed.tsv");
    return run_end();
}
