/* dcso.c - DCSO's filters, of the library and of the command, both ways */
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

/* Rebuilt from its n, p and keys; attached data is added here. */
static void check_made(const struct vector_table *t, size_t row, const struct vector_bytes *bytes,
                       const struct vector_keys *keys) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes data = vector_hex(vector_cell(t, row, "data_hex"));
    struct vector_bytes bare = {bytes->at, bytes->length - data.length};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "dcso";
    o.capacity = vector_number(t, row, "n");
    o.fpr = strtod(vector_cell(t, row, "p"), NULL);
    if (CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s: cannot be created", id)) {
        const tamis_status status =
            tamis_add_batch(f, keys->keys, keys->lengths, keys->count, NULL, NULL);
        CHECK(status == TAMIS_OK, "%s: %s", id, tamis_status_name(status));
        CHECK(facts_of(f).adds == vector_number(t, row, "N"), "%s: N", id);
        compat_recreated(f, &bare, id);
    }
    vector_bytes_free(&data);
}

static void check_row(const struct vector_table *t, size_t row, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    compat_row("dcso", true, vector_cell(t, row, "filter"), &keys, vector_cell(t, row, "probes"),
               vector_cell(t, row, "answers"), id);
    check_made(t, row, &bytes, &keys);
    if (*hostile > 0) *hostile -= compat_hostile("dcso", &bytes, 2048, id);
    vector_keys_free(&keys);
    vector_bytes_free(&bytes);
}

static void check_sizing(void) {
    struct vector_table t = vector_table("dcso/sizing.tsv");
    for (size_t i = 0; i < t.rows; i++) {
        const uint64_t bits = vector_number(&t, i, "m"), k = vector_number(&t, i, "k");
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        o.format = "dcso";
        o.capacity = vector_number(&t, i, "n");
        o.fpr = strtod(vector_cell(&t, i, "p"), NULL);
        if (o.capacity == 0 || bits > UINT64_C(1) << 29 || !(o.fpr > 0 && o.fpr < 1)) continue;
        if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "row %zu: cannot be created", i)) continue;
        CHECK(facts_of(f).hashes == k && facts_of(f).table_bytes == (bits + 63) / 64 * 8,
              "n %llu p %g", (unsigned long long)o.capacity, o.fpr);
        tamis_free(f);
        count_up("sizes", 1);
    }
    vector_table_free(&t);
}

/* One key at 90 %: no bits at all. The filter matches every key, accepts adds, and does not change.
 */
static void check_no_bits(void) {
    const void *key = "k";
    const size_t length = 1;
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    bool fresh = true;
    o.format = "dcso";
    o.capacity = 1;
    o.fpr = 0.9;
    CHECK(tamis_build(&o, &key, &length, 1, &f) == TAMIS_OK, "build");
    CHECK(facts_of(f).hashes == 0 && facts_of(f).adds == 0, "the filter has bits");
    CHECK(tamis_encoded_size(f) == 48, "not a header alone");
    CHECK(tamis_add(f, "l", 1, &fresh) == TAMIS_OK && !fresh, "add");
    CHECK(tamis_contains(f, "k", 1) && tamis_contains(f, "m", 1), "contains");
    CHECK(facts_of(f).adds == 0, "a key that changed nothing is counted");
    tamis_free(f);
}

/* Files of the command: those whose keys are one of the key files are rebuilt. */
static void check_command(void) {
    struct vector_table t = vector_table("dcso/cli_manifest.tsv");
    for (size_t i = 0; i < t.rows; i++) {
        const char *file = vector_cell(&t, i, "file"), *input = vector_cell(&t, i, "input");
        if (strstr(file, ".gz") != NULL) continue;
        struct vector_bytes bytes = vector_file(file);
        /* n = 0 gives a filter of 2^63 hashes, which the command itself rejects. */
        if (strstr(file, "cli-n0") != NULL) {
            CHECK(compat_exercise("dcso", bytes.at, bytes.length, file) != TAMIS_OK, "%s", file);
        } else {
            tamis_filter *f = compat_open("dcso", &bytes, file);
            if (f != NULL && strncmp(input, "keys/", 5) == 0 && strchr(input, '+') == NULL &&
                strstr(file, "longline") == NULL && strstr(file, "split") == NULL) {
                struct vector_keys keys = vector_keys(input);
                compat_members(f, &keys, file);
                vector_keys_free(&keys);
            }
            tamis_free(f);
            compat_round_trip("dcso", &bytes, file);
        }
        count_up("files of the command", 1);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

/* bloom join: bits united, counts added. */
static void check_join(void) {
    struct vector_bytes a = vector_file("dcso/cli-create.bloom"),
                        b = vector_file("dcso/cli-other.bloom"),
                        both = vector_file("dcso/cli-join.bloom");
    tamis_filter *into = compat_open("dcso", &a, "cli-create"),
                 *from = compat_open("dcso", &b, "cli-other");
    if (into != NULL && from != NULL) {
        CHECK(tamis_merge(into, from, TAMIS_UNION) == TAMIS_OK, "join");
        compat_recreated(into, &both, "cli-join");
    }
    tamis_free(from);
    vector_bytes_free(&a);
    vector_bytes_free(&b);
    vector_bytes_free(&both);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "dcso");
    struct vector_table t = vector_table("dcso/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 25, 60);
    for (size_t i = 0; i < t.rows; i++) check_row(&t, i, &hostile);
    vector_table_free(&t);
    check_sizing();
    check_no_bits();
    check_command();
    check_join();
    compat_malformed("dcso", "dcso/malformed.tsv");
    return run_end();
}
