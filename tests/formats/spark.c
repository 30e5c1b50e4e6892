/* spark.c - Spark's filters, both versions, both ways */
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

/* Spark hashes every integer as a long. */
static struct vector_keys as_longs(struct vector_keys keys) {
    for (size_t i = 0; i < keys.count; i++) {
        if (keys.lengths[i] != 4) return keys;
    }
    struct vector_keys k = {keys.count, NEED(const void *, keys.count + 1),
                            NEED(size_t, keys.count + 1), NEED(uint8_t, 8 * keys.count + 1)};
    for (size_t i = 0; i < keys.count; i++) {
        uint8_t *at = k.arena + 8 * i;
        memcpy(at, keys.keys[i], 4);
        memset(at + 4, (at[3] & 0x80) != 0 ? 0xff : 0, 4);
        k.keys[i] = at;
        k.lengths[i] = 8;
    }
    vector_keys_free(&keys);
    return k;
}

static struct vector_keys items(const char *path, const char *type) {
    struct vector_keys keys = vector_keys(path);
    return strcmp(type, "long") == 0 ? as_longs(keys) : keys;
}

static tamis_filter *make_again(const struct vector_table *t, size_t row, const char *format,
                                const struct vector_keys *keys) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    const char *fpr = vector_cell(t, row, "fpp_or_dash");
    o.format = format;
    o.capacity = vector_number(t, row, "expected_items");
    o.seed = (uint32_t)strtoll(vector_cell(t, row, "seed"), NULL, 10);
    if (fpr[0] == '-') {
        o.bits = vector_number(t, row, "num_bits_requested");
    } else {
        o.fpr = strtod(fpr, NULL);
    }
    const tamis_status status = tamis_build(&o, keys->keys, keys->lengths, keys->count, &f);
    CHECK(status == TAMIS_OK, "%s: %s", vector_cell(t, row, "id"), tamis_status_text(status));
    return f;
}

static void check_row(const struct vector_table *t, size_t row) {
    const char *id = vector_cell(t, row, "id"), *type = vector_cell(t, row, "item_type");
    const char *format = vector_number(t, row, "version") == 1 ? "spark1" : "spark2";
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = items(vector_cell(t, row, "keys"), type);
    struct vector_keys probes = items(vector_cell(t, row, "probes"), type);
    tamis_filter *f = compat_open(format, &bytes, id);
    if (f != NULL) {
        compat_detect(format, &bytes, true, id);
        compat_members(f, &keys, id);
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        CHECK(facts_of(f).hashes == vector_number(t, row, "k"), "%s: k", id);
        CHECK(facts_of(f).fpr_now == strtod(vector_cell(t, row, "expected_fpp"), NULL),
              "%s: rate %.17g", id, facts_of(f).fpr_now);
        compat_round_trip(format, &bytes, id);
        count_up("filters", 1);
    }
    tamis_free(f);
    compat_recreated(make_again(t, row, format, &keys), &bytes, id);
    vector_keys_free(&keys);
    vector_keys_free(&probes);
    vector_bytes_free(&bytes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "spark");
    struct vector_table t = vector_table("spark/manifest.tsv");
    const size_t hostile = (size_t)run_pick(3, 40, 80);
    size_t done = 0;
    for (size_t i = 0; i < t.rows; i++) {
        check_row(&t, i);
        const char *format = vector_number(&t, i, "version") == 1 ? "spark1" : "spark2";
        struct vector_bytes bytes = vector_file(vector_cell(&t, i, "filter"));
        if (done < hostile) done += compat_hostile(format, &bytes, 1024, vector_cell(&t, i, "id"));
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
    return run_end();
}
