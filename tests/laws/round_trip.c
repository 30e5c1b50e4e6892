/* round_trip.c - a filter that goes through bytes, a file, a view, a map or a copy is the same
 * filter: encode(decode(x)) = x, equal facts, equal answers, and it goes on from there */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define EXTRA 50

struct subject {
    const struct variant *v;
    double fpr;
    size_t n;
    const uint64_t *members;
    tamis_filter *filter;
    struct bytes bytes;
    tamis_facts facts;
};

static bool near(double a, double b) {
    const double d = a > b ? a - b : b - a;
    return d <= 1e-9 * (a > 0 ? a : -a) || d < 1e-300;
}

/* Everything that a file stores.  A view has other capabilities and other bytes. */
static void same_facts(const struct subject *s, const char *what, const tamis_filter *f) {
    const tamis_facts *a = &s->facts, b = facts_of(f);
    CHECK(a->kind == b.kind && strcmp(a->format, b.format) == 0, "%s: %s: kind or format",
          s->v->name, what);
    CHECK(a->capacity == b.capacity, "%s: %s: capacity %llu, %llu", s->v->name, what,
          (unsigned long long)a->capacity, (unsigned long long)b.capacity);
    CHECK(a->adds == b.adds, "%s: %s: adds %llu, %llu", s->v->name, what,
          (unsigned long long)a->adds, (unsigned long long)b.adds);
    CHECK(near(a->distinct, b.distinct) && near(a->distinct_error, b.distinct_error),
          "%s: %s: distinct %g, %g", s->v->name, what, a->distinct, b.distinct);
    CHECK(a->table_bytes == b.table_bytes && a->encoded_bytes == b.encoded_bytes, "%s: %s: sizes",
          s->v->name, what);
    CHECK(a->hashes == b.hashes && a->width == b.width && a->stages == b.stages,
          "%s: %s: hashes, width or stages", s->v->name, what);
    CHECK(near(a->fill, b.fill) && near(a->fpr_target, b.fpr_target) && near(a->fpr_now, b.fpr_now),
          "%s: %s: fill %g, %g, rate %g, %g", s->v->name, what, a->fill, b.fill, a->fpr_now,
          b.fpr_now);
    CHECK(a->headroom == b.headroom && a->over_capacity == b.over_capacity,
          "%s: %s: headroom %llu, %llu", s->v->name, what, (unsigned long long)a->headroom,
          (unsigned long long)b.headroom);
    CHECK(a->hasher == b.hasher && a->seed == b.seed && a->keyed == b.keyed &&
              a->prehashed == b.prehashed,
          "%s: %s: hashing", s->v->name, what);
    CHECK(memcmp(&a->form, &b.form, sizeof a->form) == 0, "%s: %s: key form", s->v->name, what);
}

static void same_filter(const struct subject *s, const char *what, const tamis_filter *f) {
    CHECK(encodes_to(f, &s->bytes), "%s: %zu keys at %g: %s: other bytes", s->v->name, s->n, s->fpr,
          what);
    const size_t found = tamis_contains_hash_batch(f, s->members, s->n, NULL);
    CHECK(found == s->n, "%s: %s: %zu of %zu keys", s->v->name, what, found, s->n);
    CHECK(hits_in_stream(f, 2000, 0, run_seed(), STREAM_PROBES) ==
              hits_in_stream(s->filter, 2000, 0, run_seed(), STREAM_PROBES),
          "%s: %s: other answers", s->v->name, what);
    same_facts(s, what, f);
    count_up("filters compared", 1);
}

/* The copy must accept more keys exactly as the first does. */
static void goes_on(const struct subject *s, const char *what, tamis_filter *f) {
    if ((s->v->caps & TAMIS_CAN_ADD) == 0) return;
    tamis_filter *first = NULL;
    CHECK(tamis_clone(s->filter, &first) == TAMIS_OK, "%s: clone", s->v->name);
    for (size_t i = 0; first != NULL && i < EXTRA; i++) {
        uint64_t hash;
        bool fresh_a = false, fresh_b = false;
        hashes_fill(&hash, 1, i, run_seed(), STREAM_OTHERS);
        const tamis_status a = tamis_add_hash(first, hash, &fresh_a);
        const tamis_status b = tamis_add_hash(f, hash, &fresh_b);
        CHECK(a == b && fresh_a == fresh_b, "%s: %s: add %zu: %s, %s", s->v->name, what, i,
              tamis_status_name(a), tamis_status_name(b));
    }
    if (first != NULL) {
        struct bytes bytes = bytes_of(first);
        CHECK(encodes_to(f, &bytes), "%s: %zu keys: %s: other bytes after %d more adds", s->v->name,
              s->n, what, EXTRA);
        bytes_free(&bytes);
    }
    tamis_free(first);
}

static void refuses_changes(const struct subject *s, const char *what, tamis_filter *f) {
    CHECK(facts_of(f).readonly, "%s: %s is not readonly", s->v->name, what);
    const uint32_t changing = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE | TAMIS_CAN_SHARE;
    CHECK((facts_of(f).caps & changing) == 0, "%s: %s reports that it can change", s->v->name,
          what);
    if ((s->v->caps & TAMIS_CAN_ADD) != 0) {
        CHECK(tamis_add_hash(f, 1, NULL) == TAMIS_E_READONLY, "%s: add to %s", s->v->name, what);
        size_t done = 99;
        const uint64_t one = 1;
        CHECK(tamis_add_hash_batch(f, &one, 1, NULL, &done) == TAMIS_E_READONLY && done == 0,
              "%s: batch add to %s, %zu done", s->v->name, what, done);
    }
    if ((s->v->caps & TAMIS_CAN_REMOVE) != 0) {
        CHECK(tamis_remove_hash(f, 1) == TAMIS_E_READONLY, "%s: remove from %s", s->v->name, what);
    }
    if ((s->v->caps & TAMIS_CAN_UNION) != 0) {
        CHECK(tamis_merge(f, s->filter, TAMIS_UNION) == TAMIS_E_READONLY, "%s: merge into %s",
              s->v->name, what);
    }
    CHECK(encodes_to(f, &s->bytes), "%s: %s changed", s->v->name, what);
}

static void through_memory(const struct subject *s) {
    tamis_filter *f = NULL;
    CHECK(tamis_decode(s->bytes.data, s->bytes.size, NULL, &f) == TAMIS_OK, "%s: decode",
          s->v->name);
    if (f != NULL) {
        CHECK(!facts_of(f).readonly, "%s: a decoded filter is readonly", s->v->name);
        same_filter(s, "decode", f);
        CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify after decode", s->v->name);
        goes_on(s, "decode", f);
    }
    tamis_free(f);
    f = NULL;
    CHECK(tamis_view(s->bytes.data, s->bytes.size, NULL, &f) == TAMIS_OK, "%s: view", s->v->name);
    if (f != NULL) {
        same_filter(s, "view", f);
        refuses_changes(s, "a view", f);
        CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify of a view", s->v->name);
        tamis_filter *copy = NULL;
        CHECK(tamis_clone(f, &copy) == TAMIS_OK, "%s: clone of a view", s->v->name);
        if (copy != NULL) {
            CHECK(!facts_of(copy).readonly, "%s: the clone of a view is readonly", s->v->name);
            same_filter(s, "clone of a view", copy);
            goes_on(s, "clone of a view", copy);
        }
        tamis_free(copy);
    }
    tamis_free(f);
    f = NULL;
    CHECK(tamis_clone(s->filter, &f) == TAMIS_OK, "%s: clone", s->v->name);
    if (f != NULL) {
        same_filter(s, "clone", f);
        goes_on(s, "clone", f);
        CHECK(encodes_to(s->filter, &s->bytes), "%s: adds to a clone reached the original",
              s->v->name);
    }
    tamis_free(f);
}

static bool note_write(void *context, const void *bytes, size_t length) {
    (void)bytes, (void)length;
    *(bool *)context = true;
    return true;
}

/* Unverified damage is found before it gets into another filter or file. */
static void stays_damaged(const struct subject *s, const struct bytes *damaged) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL, *out;
    char path[512];
    bool written = false;
    open.verify = TAMIS_VERIFY_LATER;
    if (tamis_view(damaged->data, damaged->size, &open, &f) != TAMIS_OK) return;
    struct bytes room = bytes_new(damaged->size);
    snprintf(path, sizeof path, "%s/damaged", run_directory());
    CHECK(tamis_clone(f, &out) == TAMIS_E_CHECKSUM && out == NULL, "%s: clone", s->v->name);
    CHECK(tamis_convert(f, s->v->kind, &out) == TAMIS_E_CHECKSUM && out == NULL, "%s: convert",
          s->v->name);
    CHECK(s->v->kind != TAMIS_COUNTING ||
              (tamis_convert(f, TAMIS_BLOOM, &out) == TAMIS_E_CHECKSUM && out == NULL),
          "%s: convert to bloom", s->v->name);
    CHECK(tamis_encode(f, room.data, room.size, NULL) == TAMIS_E_CHECKSUM, "%s: encode",
          s->v->name);
    CHECK(tamis_encode_to(f, note_write, &written) == TAMIS_E_CHECKSUM && !written, "%s: encode_to",
          s->v->name);
    CHECK(tamis_save(f, path, true) == TAMIS_E_CHECKSUM && directory_entries(run_directory()) == 0,
          "%s: save", s->v->name);
    if ((s->v->caps & TAMIS_CAN_UNION) != 0) {
        CHECK(tamis_decode(s->bytes.data, s->bytes.size, NULL, &out) == TAMIS_OK &&
                  tamis_merge(out, f, TAMIS_UNION) == TAMIS_E_CHECKSUM &&
                  encodes_to(out, &s->bytes),
              "%s: merge", s->v->name);
        tamis_free(out);
    }
    bytes_free(&room);
    tamis_free(f);
}

/* If opening does not verify, tamis_verify must find the damage. */
static void unverified(const struct subject *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.verify = TAMIS_VERIFY_LATER;
    tamis_filter *f = NULL;
    CHECK(tamis_view(s->bytes.data, s->bytes.size, &open, &f) == TAMIS_OK, "%s: unverified view",
          s->v->name);
    if (f != NULL) CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify later", s->v->name);
    tamis_free(f);
    f = NULL;
    if (s->facts.table_bytes == 0) return;
    struct bytes damaged = bytes_copy(s->bytes.data, s->bytes.size);
    const size_t at = damaged.size - (size_t)(s->facts.table_bytes / 2) - 1;
    damaged.data[at] ^= 0x10;
    const tamis_status status = tamis_view(damaged.data, damaged.size, &open, &f);
    CHECK(status == TAMIS_OK ? tamis_verify(f) == TAMIS_E_CHECKSUM : f == NULL,
          "%s: byte %zu of %zu changed, opened unverified: %s, then no E_CHECKSUM", s->v->name, at,
          damaged.size, tamis_status_name(status));
    tamis_free(f);
    stays_damaged(s, &damaged);
    bytes_free(&damaged);
}

static void misfits(const struct subject *s) {
    struct bytes moved = bytes_new(s->bytes.size + 64);
    memcpy(moved.data + 1, s->bytes.data, s->bytes.size);
    tamis_filter *f = (tamis_filter *)moved.data;
    CHECK(tamis_view(moved.data + 1, s->bytes.size, NULL, &f) == TAMIS_E_ARGUMENT && f == NULL,
          "%s: a view of bytes that are not aligned", s->v->name);
    CHECK(tamis_decode(moved.data + 1, s->bytes.size, NULL, &f) == TAMIS_OK,
          "%s: decode of bytes that are not aligned", s->v->name);
    tamis_free(f);
    bytes_free(&moved);
    struct bytes small = bytes_new(s->bytes.size);
    size_t length = 7;
    memset(small.data, 0x5a, small.size);
    CHECK(tamis_encode(s->filter, small.data, small.size - 1, &length) == TAMIS_E_BUFFER,
          "%s: encode into one byte too few", s->v->name);
    CHECK(small.data[small.size - 1] == 0x5a, "%s: encode wrote past its buffer", s->v->name);
    CHECK(tamis_encode(s->filter, small.data, 0, NULL) == TAMIS_E_BUFFER, "%s: encode into nothing",
          s->v->name);
    bytes_free(&small);
}

static void through_file(const struct subject *s) {
    char path[512];
    snprintf(path, sizeof path, "%s/filter.tamis", run_directory());
    tamis_filter *f = NULL;
    tamis_open_options open = TAMIS_OPEN_INIT;
    CHECK(tamis_save(s->filter, path, true) == TAMIS_OK, "%s: save", s->v->name);
    CHECK(tamis_save(s->filter, path, false) == TAMIS_E_EXISTS, "%s: save over a file", s->v->name);
    CHECK(directory_entries(run_directory()) == 1, "%s: save left a temporary", s->v->name);
    CHECK(tamis_open(path, NULL, &f) == TAMIS_OK, "%s: open", s->v->name);
    if (f != NULL) {
        same_filter(s, "open", f);
        goes_on(s, "open", f);
    }
    tamis_free(f);
    f = NULL;
    open.map = true;
    CHECK(tamis_open(path, &open, &f) == TAMIS_OK, "%s: open by mapping", s->v->name);
    if (f != NULL) {
        same_filter(s, "map", f);
        CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify of a map", s->v->name);
        refuses_changes(s, "a map", f);
        /* Replaced by rename while it is mapped: the old bytes stay valid. */
        CHECK(tamis_save(s->filter, path, true) == TAMIS_OK, "%s: save again", s->v->name);
        same_filter(s, "map after the file was replaced", f);
    }
    tamis_free(f);
    remove(path);
    f = NULL;
    errno = 0;
    CHECK(tamis_open(path, NULL, &f) == TAMIS_E_IO && f == NULL && errno == ENOENT,
          "%s: open of no file, errno %d", s->v->name, errno);
    CHECK(tamis_save(s->filter, "/nonexistent/f.tamis", true) == TAMIS_E_IO,
          "%s: save without a directory", s->v->name);
}

/* Opening a mapped file does not compare all checksums: tamis_verify must find the damage. */
static void damaged_file(const struct subject *s) {
    char path[512];
    snprintf(path, sizeof path, "%s/damaged.tamis", run_directory());
    if (s->facts.table_bytes == 0) return;
    struct bytes bad = bytes_copy(s->bytes.data, s->bytes.size);
    bad.data[bad.size - (size_t)s->facts.table_bytes / 3 - 1] ^= 1;
    FILE *file = fopen(path, "wb");
    const bool written = file != NULL && fwrite(bad.data, 1, bad.size, file) == bad.size;
    if (file != NULL) fclose(file);
    CHECK(written, "%s cannot be written", path);
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    CHECK(tamis_open(path, &open, &f) != TAMIS_OK && f == NULL, "%s: a damaged file was opened",
          s->v->name);
    open.map = true;
    const tamis_status status = tamis_open(path, &open, &f);
    CHECK(status == TAMIS_OK ? tamis_verify(f) == TAMIS_E_CHECKSUM : f == NULL,
          "%s: a damaged file, mapped: %s, then no E_CHECKSUM", s->v->name,
          tamis_status_name(status));
    tamis_free(f);
    remove(path);
    bytes_free(&bad);
}

static void one_subject(const struct variant *v, double fpr, size_t n, const uint64_t *members) {
    tamis_options o = variant_options(v, 0, fpr);
    o.seed = UINT64_C(0xfedcba9876543210) ^ n;
    o.form.flags = TAMIS_KEY_HEX | TAMIS_KEY_FOLD_CASE;
    o.form.type = TAMIS_KEY_U64;
    o.form.field = 3;
    o.form.separator_length = 2;
    memcpy(o.form.separator, "::", 2);
    struct subject s = {.v = v, .fpr = fpr, .n = n, .members = members};
    const tamis_status status = tamis_build_hash(&o, members, n, &s.filter);
    if (!CHECK(status == TAMIS_OK, "%s: build of %zu: %s", v->name, n, tamis_status_name(status))) {
        return;
    }
    s.bytes = bytes_of(s.filter);
    s.facts = facts_of(s.filter);
    CHECK(s.facts.encoded_bytes == s.bytes.size, "%s: encoded_bytes", v->name);
    CHECK(s.facts.seed == o.seed && memcmp(&s.facts.form, &o.form, sizeof o.form) == 0,
          "%s: seed and form as given", v->name);
    through_memory(&s);
    unverified(&s);
    through_file(&s);
    damaged_file(&s);
    misfits(&s);
    CHECK(encodes_to(s.filter, &s.bytes), "%s: something changed the filter", v->name);
    bytes_free(&s.bytes);
    tamis_free(s.filter);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "round_trip");
    static const double fprs[] = {0.3, 0.01, 1e-4};
    static const size_t sizes[] = {0, 1, 2, 10, 100, 1000, 30000};
    const size_t large = run_pick(100000, 2000000, 5000000);
    uint64_t *members = hashes_make(large, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                one_subject(variant_at(i), fprs[r], sizes[s], members);
            }
        }
        one_subject(variant_at(i), 0.01, large, members);
    }
    free(members);
    return run_end();
}
