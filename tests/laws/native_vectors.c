/* native_vectors.c - the stored .tamis files decode, hold their keys and answer as when they were
 * written, and the same keys give the same bytes
 *
 * They were written once (vectors/native/generate.c) and never change: files stay readable on
 * every machine.  Large sets, whose tables have other layouts (peeled, in layers, shards and
 * stages), are stored as checksums. */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/native.h"
#include "../support/paths.h"
#include "../support/vectors.h"

struct vectors {
    struct vector_table manifest;
    struct vector_keys keys, probes;
};

/* What both tables have. */
static struct native_case large_case_of(const struct vector_table *t, size_t row) {
    const struct native_case c = {
        .kind = vector_cell(t, row, "kind"),
        .arity = (uint32_t)vector_number(t, row, "arity"),
        .stage = vector_cell(t, row, "stage"),
        .how = vector_cell(t, row, "how"),
        .capacity = vector_number(t, row, "capacity"),
        .keys = (size_t)vector_number(t, row, "keys"),
        .fpr = strtod(vector_cell(t, row, "rate"), NULL),
    };
    return c;
}

static struct native_case case_of(const struct vector_table *t, size_t row) {
    struct native_case c = large_case_of(t, row);
    c.seed = vector_number(t, row, "seed");
    c.keyed = vector_number(t, row, "keyed") != 0;
    c.form = vector_number(t, row, "form") != 0;
    return c;
}

/* The contents of the file, the same on every machine. */
static void check_filter(const char *name, const struct vectors *x, size_t row,
                         const struct native_case *c, const tamis_filter *f) {
    const tamis_facts facts = facts_of(f);
    CHECK(facts.kind == tamis_kind_find(c->kind) && facts.fpr_target == c->fpr, "%s: facts", name);
    CHECK(facts.adds == c->keys && facts.keyed == c->keyed, "%s: adds or keyed", name);
    CHECK(c->keyed || facts.seed == c->seed, "%s: seed", name);
    CHECK((facts.form.field == 2) == c->form, "%s: key form", name);
    const size_t found = tamis_contains_batch(f, x->keys.keys, x->keys.lengths, c->keys, NULL);
    CHECK(found == c->keys, "%s: %zu of %zu keys", name, found, c->keys);
    const size_t hits =
        tamis_contains_batch(f, x->probes.keys, x->probes.lengths, x->probes.count, NULL);
    CHECK(hits == vector_number(&x->manifest, row, "probe_hits"), "%s: %zu probes hit, not %s",
          name, hits, vector_cell(&x->manifest, row, "probe_hits"));
    count_up("keys", c->keys + x->probes.count);
}

static void check_row(const struct vectors *x, size_t row) {
    const char *name = vector_cell(&x->manifest, row, "file");
    const struct native_case c = case_of(&x->manifest, row);
    char path[512] = "native/";
    strncat(path, name, sizeof path - 8);
    struct vector_bytes file = vector_file(path);
    struct bytes bytes = bytes_copy(file.at, file.length);
    vector_bytes_free(&file);
    CHECK(bytes.size == vector_number(&x->manifest, row, "bytes"), "%s: %zu bytes", name,
          bytes.size);
    for (size_t p = 0; path_at(p) != NULL; p++) {
        path_use(p);
        tamis_open_options open = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        open.secret = c.keyed ? native_secret : NULL;
        open.portable = p == 0;
        tamis_status status = tamis_decode(bytes.data, bytes.size, &open, &f);
        if (CHECK(status == TAMIS_OK, "%s: decode: %s", name, tamis_status_name(status))) {
            check_filter(name, x, row, &c, f);
            CHECK(encodes_to(f, &bytes), "%s: encodes to other bytes", name);
        }
        tamis_free(f);
        f = NULL;
        status = tamis_view(bytes.data, bytes.size, &open, &f);
        if (CHECK(status == TAMIS_OK, "%s: view: %s", name, tamis_status_name(status))) {
            check_filter(name, x, row, &c, f);
        }
        tamis_free(f);
        f = NULL;
        status = native_make(&c, x->keys.keys, x->keys.lengths, p == 0, &f);
        if (CHECK(status == TAMIS_OK, "%s: make again: %s", name, tamis_status_name(status))) {
            struct bytes again = bytes_of(f);
            CHECK(bytes_equal(&again, &bytes), "%s: made again, byte %zu of %zu differs", name,
                  bytes_difference(&again, &bytes), bytes.size);
            bytes_free(&again);
        }
        tamis_free(f);
    }
    path_use_all();
    count_up("files", 1);
    bytes_free(&bytes);
}

/* A large set gives the recorded bytes, and its keys are found in them. */
static void check_large(const struct vector_table *large, size_t row) {
    const struct native_case c = large_case_of(large, row);
    if (c.keys > run_pick(100000, UINT64_MAX, UINT64_MAX) || !run_wants(c.kind)) return;
    for (size_t p = 0; path_at(p) != NULL; p++) {
        path_use(p);
        tamis_filter *f = NULL;
        size_t size = 0;
        const tamis_status status = native_make_large(&c, p == 0, &f);
        if (!CHECK(status == TAMIS_OK, "%s of %zu: %s", c.kind, c.keys,
                   tamis_status_name(status))) {
            continue;
        }
        const uint64_t checksum = native_checksum(f, &size);
        CHECK(size == vector_number(large, row, "bytes") &&
                  checksum == vector_number(large, row, "xxh3"),
              "%s of %zu keys at %g: other bytes (%zu, %llu)", c.kind, c.keys, c.fpr, size,
              (unsigned long long)checksum);
        for (size_t i = 0; i < c.keys; i += 1 + c.keys / 10000) {
            if (!CHECK(tamis_contains_hash(f, tamis_hash_integer(i)), "%s of %zu: key %zu", c.kind,
                       c.keys, i)) {
                break;
            }
        }
        tamis_free(f);
        count_up("large sets", 1);
    }
    path_use_all();
}

int main(int argc, char **argv) {
    run_start(argc, argv, "native_vectors");
    struct vectors x = {
        .manifest = vector_table("native/manifest.tsv"),
        .keys = vector_keys("native/keys.txt"),
        .probes = vector_keys("native/probes.txt"),
    };
    for (size_t row = 0; row < x.manifest.rows; row++) {
        if (run_wants(vector_cell(&x.manifest, row, "kind"))) check_row(&x, row);
    }
    struct vector_table large = vector_table("native/large.tsv");
    for (size_t row = 0; row < large.rows; row++) check_large(&large, row);
    vector_table_free(&large);
    /* Every kind of the library has a file. */
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        bool seen = false;
        for (size_t row = 0; row < x.manifest.rows; row++) {
            const struct native_case c = case_of(&x.manifest, row);
            seen |=
                tamis_kind_find(c.kind) == variant_at(i)->kind && c.arity == variant_at(i)->arity;
        }
        CHECK(seen, "%s has no vector", variant_at(i)->name);
    }
    vector_table_free(&x.manifest);
    vector_keys_free(&x.keys);
    vector_keys_free(&x.probes);
    return run_end();
}
