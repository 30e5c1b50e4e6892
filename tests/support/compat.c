/* compat.c - see compat.h */
#include "compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tamis_open_options open_as(const char *format) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.format = format;
    return o;
}

tamis_filter *compat_open(const char *format, const struct vector_bytes *bytes, const char *id) {
    const tamis_open_options o = open_as(format);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_decode(bytes->at, bytes->length, &o, &f);
    CHECK(status == TAMIS_OK, "%s: as %s: %s", id, format, tamis_status_text(status));
    return f;
}

void compat_detect(const char *format, const struct vector_bytes *bytes, bool sure,
                   const char *id) {
    tamis_filter *f = NULL;
    const tamis_status status = tamis_decode(bytes->at, bytes->length, NULL, &f);
    if (sure || status == TAMIS_OK) {
        CHECK(status == TAMIS_OK, "%s: is not detected: %s", id, tamis_status_text(status));
    }
    if (status == TAMIS_OK) {
        const tamis_facts facts = facts_of(f);
        CHECK(strcmp(facts.format, format) == 0, "%s: is detected as %s", id, facts.format);
        count_up("detected", 1);
    }
    if (!sure && bytes->length > 8) {
        bool listed = false;
        const char *name;
        for (size_t i = 0; (name = tamis_format_detect(bytes->at, bytes->length, i)) != NULL; i++) {
            listed = listed || strcmp(name, format) == 0;
        }
        count_up("listed as possible", listed);
    }
    tamis_free(f);
}

void compat_answers(const tamis_filter *f, const struct vector_keys *probes, const char *answers,
                    const char *id) {
    if (answers[0] == '-' || answers[0] == '\0') return;
    struct vector_bytes a = vector_file(answers);
    bool *got = NEED(bool, probes->count + 1);
    const size_t found = tamis_contains_batch(f, probes->keys, probes->lengths, probes->count, got);
    size_t wrong = 0, at = 0, positive = 0;
    for (size_t i = 0; i < probes->count; i++, at += 2) {
        if (!CHECK(at < a.length, "%s: fewer answers than probes", id)) break;
        if (a.at[at] != '-') wrong += got[i] != (a.at[at] == '1');
        wrong += got[i] != tamis_contains(f, probes->keys[i], probes->lengths[i]);
        positive += got[i];
    }
    CHECK(wrong == 0, "%s: %zu wrong answers", id, wrong);
    CHECK(found == positive, "%s: %zu found, %zu counted", id, positive, found);
    count_up("answers", probes->count);
    free(got);
    vector_bytes_free(&a);
}

void compat_members(const tamis_filter *f, const struct vector_keys *keys, const char *id) {
    const size_t found = tamis_contains_batch(f, keys->keys, keys->lengths, keys->count, NULL);
    CHECK(found == keys->count, "%s: %zu of %zu members", id, found, keys->count);
    count_up("members", keys->count);
}

static bool same_bytes(const tamis_filter *f, const struct vector_bytes *bytes) {
    const uint64_t size = tamis_encoded_size(f);
    uint8_t *out = NEED(uint8_t, size + 1);
    size_t written = 0;
    const bool same = tamis_encode(f, out, size, &written) == TAMIS_OK && written == size &&
                      size == bytes->length && (size == 0 || memcmp(out, bytes->at, size) == 0);
    free(out);
    return same;
}

/* Through .tamis: encoded, decoded, and converted back. */
static void check_kept(const tamis_filter *f, const char *format, const struct vector_bytes *bytes,
                       const char *id) {
    tamis_filter *copy = NULL, *kept = NULL;
    const char *own = facts_of(f).format;
    if (!CHECK(tamis_clone(f, &copy) == TAMIS_OK, "%s: cannot be cloned", id)) return;
    CHECK(same_bytes(copy, bytes), "%s: a clone encodes to other bytes", id);
    if (tamis_reformat_reason(copy, "tamis") == NULL) {
        CHECK(tamis_reformat(copy, "tamis") == TAMIS_OK, "%s: cannot be stored as .tamis", id);
        struct bytes native = bytes_of(copy);
        const tamis_status status = tamis_decode(native.data, native.size, NULL, &kept);
        if (CHECK(status == TAMIS_OK, "%s: stored as .tamis: %s", id, tamis_status_text(status))) {
            CHECK(tamis_reformat(kept, own) == TAMIS_OK, "%s: cannot be converted back to %s", id,
                  format);
            CHECK(same_bytes(kept, bytes), "%s: other bytes after .tamis", id);
        }
        bytes_free(&native);
    }
    tamis_free(kept);
    tamis_free(copy);
}

void compat_round_trip(const char *format, const struct vector_bytes *bytes, const char *id) {
    const tamis_open_options o = open_as(format);
    tamis_filter *f = compat_open(format, bytes, id), *view = NULL;
    if (f == NULL) return;
    CHECK(same_bytes(f, bytes), "%s: encodes to other bytes", id);
    check_kept(f, format, bytes, id);
    struct bytes aligned = bytes_copy(bytes->at, bytes->length);
    const tamis_status status = tamis_view(aligned.data, aligned.size, &o, &view);
    CHECK(status == TAMIS_OK && same_bytes(view, bytes), "%s: a view encodes to other bytes", id);
    tamis_free(view);
    bytes_free(&aligned);
    tamis_free(f);
    count_up("round trips", 1);
}

void compat_recreated(tamis_filter *f, const struct vector_bytes *bytes, const char *id) {
    if (f == NULL) return;
    CHECK(same_bytes(f, bytes), "%s: rebuilt, it has other bytes (%llu, expected %zu)", id,
          (unsigned long long)tamis_encoded_size(f), bytes->length);
    count_up("recreated", 1);
    tamis_free(f);
}

tamis_filter *compat_build(const char *format, uint64_t capacity, double fpr,
                           const struct vector_keys *keys, const char *id) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = format;
    o.capacity = capacity;
    o.fpr = fpr;
    const tamis_status status = tamis_build(&o, keys->keys, keys->lengths, keys->count, &f);
    CHECK(status == TAMIS_OK, "%s: cannot be built: %s", id, tamis_status_text(status));
    return f;
}

void compat_row(const char *format, bool sure, const char *file, const struct vector_keys *keys,
                const char *probes, const char *answers, const char *id) {
    struct vector_bytes bytes = vector_file(file);
    compat_detect(format, &bytes, sure, id);
    tamis_filter *f = compat_open(format, &bytes, id);
    if (f != NULL) {
        struct vector_keys p = vector_keys(probes);
        if (keys != NULL) compat_members(f, keys, id);
        compat_answers(f, &p, answers, id);
        vector_keys_free(&p);
        compat_round_trip(format, &bytes, id);
        count_up("filters", 1);
    }
    tamis_free(f);
    vector_bytes_free(&bytes);
}

void compat_malformed(const char *format, const char *table) {
    struct vector_table t = vector_table(table);
    for (size_t i = 0; i < t.rows; i++) {
        const char *id = vector_cell(&t, i, "id");
        struct vector_bytes bytes = vector_file(vector_cell(&t, i, "file"));
        const bool rejects = strcmp(vector_cell(&t, i, "result"), "rejected") == 0;
        const tamis_status status = compat_exercise(format, bytes.at, bytes.length, id);
        CHECK(!rejects || status != TAMIS_OK, "%s: is accepted", id);
        if (rejects) count_up("rejected", 1);
        if (!rejects && status != TAMIS_OK) count_up("stricter", 1);
        if (!rejects && status == TAMIS_OK) count_up("accepted", 1);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

/* ------------------------------------------------------------------------- hostile */

#define MEBIBYTE ((uint64_t)1 << 20)
#define PROBES 8

static void probe_keys(const void *keys[PROBES], size_t lengths[PROBES]) {
    static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t i = 0; i < PROBES; i++) {
        keys[i] = text + i;
        lengths[i] = i < 4 ? 8 : i;
    }
}

/* Queries, changes and encodes. */
static void call_everything(tamis_filter *f) {
    const void *keys[PROBES];
    size_t lengths[PROBES], done;
    bool answers[PROBES];
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_filter *copy = NULL;
    probe_keys(keys, lengths);
    (void)tamis_contains_batch(f, keys, lengths, PROBES, answers);
    (void)tamis_contains(f, keys[5], lengths[5]);
    (void)tamis_contains_hash(f, 42);
    (void)tamis_info(f, &facts);
    struct bytes out = bytes_of(f);
    bytes_free(&out);
    if (tamis_clone(f, &copy) == TAMIS_OK) {
        (void)tamis_add_batch(copy, keys, lengths, PROBES, answers, &done);
        (void)tamis_remove(copy, keys[1], lengths[1]);
        (void)tamis_contains_batch(copy, keys, lengths, PROBES, answers);
        (void)tamis_merge(copy, f, TAMIS_UNION);
        (void)tamis_info(copy, &facts);
        if (tamis_reformat(copy, "tamis") == TAMIS_OK) {
            out = bytes_of(copy);
            bytes_free(&out);
        }
    }
    tamis_free(copy);
}

tamis_status compat_exercise(const char *format, const uint8_t *bytes, size_t length,
                             const char *id) {
    static struct meter meter;
    tamis_open_options o = open_as(format);
    tamis_filter *f = NULL;
    /* In a block of its own size, so that a sanitizer reports a read beyond it. */
    uint8_t *exact = NEED(uint8_t, length == 0 ? 1 : length);
    if (length != 0) memcpy(exact, bytes, length);
    meter_reset(&meter);
    o.allocator = meter_allocator(&meter);
    const tamis_status status = tamis_decode(exact, length, &o, &f);
    CHECK(meter.peak_bytes <= length + MEBIBYTE, "%s: %llu bytes allocated for %zu", id,
          (unsigned long long)meter.peak_bytes, length);
    meter.limit = 64 * MEBIBYTE; /* a forged growth factor requests more */
    if (status == TAMIS_OK) call_everything(f);
    meter.limit = 0;
    tamis_free(f);
    CHECK(meter.live == 0, "%s: leaks", id);
    free(exact);
    return status;
}

bool compat_hostile(const char *format, const struct vector_bytes *bytes, size_t max_bytes,
                    const char *id) {
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    if (bytes->length > max_bytes) return false;
    for (size_t length = 0; length < bytes->length; length++) {
        (void)compat_exercise(format, bytes->at, length, id);
        (void)compat_exercise(NULL, bytes->at, length, id);
    }
    uint8_t *changed = NEED(uint8_t, bytes->length + 1);
    if (bytes->length != 0) memcpy(changed, bytes->at, bytes->length);
    for (size_t i = 0; i < bytes->length; i++) {
        for (size_t j = 0; j < sizeof flips; j++) {
            changed[i] = (uint8_t)(bytes->at[i] ^ flips[j]);
            (void)compat_exercise(format, changed, bytes->length, id);
        }
        (void)compat_exercise(NULL, changed, bytes->length, id);
        changed[i] = bytes->at[i];
    }
    count_up("damaged filters", 1);
    count_up("truncations", bytes->length);
    count_up("changed bytes", bytes->length);
    free(changed);
    return true;
}

/* ---------------------------------------------------------------------- containers */

tamis_container *container_open(const char *format, const struct vector_bytes *bytes,
                                const char *id) {
    tamis_container *c = NULL;
    const tamis_status status = tamis_container_view(bytes->at, bytes->length, NULL, &c);
    CHECK(status == TAMIS_OK, "%s: %s", id, tamis_status_text(status));
    if (status != TAMIS_OK) return NULL;
    CHECK(strcmp(tamis_container_format(c), format) == 0, "%s: is detected as %s", id,
          tamis_container_format(c));
    const char *guess = tamis_format_detect(bytes->at, bytes->length, 0);
    CHECK(guess != NULL && strcmp(guess, format) == 0, "%s: detected as %s", id,
          guess == NULL ? "nothing" : guess);
    count_up("files", 1);
    count_up("parts", tamis_container_count(c));
    return c;
}

void container_answers(const tamis_container *c, const char *part, const struct vector_keys *keys,
                       const struct vector_keys *probes, const char *answers, const char *id) {
    size_t missing = 0, wrong = 0;
    for (size_t i = 0; i < keys->count; i++) {
        missing += !tamis_container_contains(c, part, keys->keys[i], keys->lengths[i]);
    }
    CHECK(missing == 0, "%s: %zu members are missing", id, missing);
    count_up("members of files", keys->count);
    if (answers[0] == '-' || answers[0] == '\0') return;
    struct vector_bytes a = vector_file(answers);
    for (size_t i = 0; i < probes->count; i++) {
        if (!CHECK(2 * i < a.length, "%s: fewer answers than probes", id)) break;
        const bool found = tamis_container_contains(c, part, probes->keys[i], probes->lengths[i]);
        if (a.at[2 * i] != '-') wrong += found != (a.at[2 * i] == '1');
        count_up("answers of files", a.at[2 * i] != '-');
    }
    CHECK(wrong == 0, "%s: %zu wrong answers", id, wrong);
    vector_bytes_free(&a);
}

static void exercise_container(const uint8_t *bytes, size_t length, const char *id) {
    static struct meter meter;
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_container *c = NULL;
    uint8_t *exact = NEED(uint8_t, length == 0 ? 1 : length);
    if (length != 0) memcpy(exact, bytes, length);
    meter_reset(&meter);
    o.allocator = meter_allocator(&meter);
    if (tamis_container_view(exact, length, &o, &c) == TAMIS_OK) {
        tamis_part part = {.struct_size = sizeof part};
        for (size_t i = 0; i < tamis_container_count(c) && i < 3; i++) {
            tamis_filter *f = NULL;
            (void)tamis_container_part(c, i, &part);
            if (tamis_container_filter(c, i, &f) == TAMIS_OK) call_everything(f);
            tamis_free(f);
        }
        (void)tamis_container_contains(c, NULL, "key", 3);
        (void)tamis_container_contains(c, part.name, "key", 3);
    }
    tamis_container_free(c);
    CHECK(meter.peak_bytes <= length + MEBIBYTE, "%s: %llu bytes allocated for %zu", id,
          (unsigned long long)meter.peak_bytes, length);
    CHECK(meter.live == 0, "%s: leaks", id);
    free(exact);
}

void container_hostile(const struct vector_bytes *bytes, size_t step, const char *id) {
    uint8_t *changed = NEED(uint8_t, bytes->length + 1);
    if (bytes->length != 0) memcpy(changed, bytes->at, bytes->length);
    for (size_t i = 0; i < bytes->length; i += step) {
        exercise_container(bytes->at, i, id);
        changed[i] = (uint8_t)(bytes->at[i] ^ 0x81);
        exercise_container(changed, bytes->length, id);
        changed[i] = (uint8_t)(bytes->at[i] ^ 0x01);
        exercise_container(changed, bytes->length, id);
        changed[i] = bytes->at[i];
        count_up("damaged files", 3);
    }
    free(changed);
}

void container_tables(const char *manifest, const char *format) {
    struct vector_table t = vector_table(manifest);
    for (size_t i = 0; i < t.rows; i++) {
        const char *id = vector_cell(&t, i, "id");
        struct vector_bytes bytes = vector_file(vector_cell(&t, i, "sst"));
        struct vector_keys keys = vector_keys(vector_cell(&t, i, "keys"));
        struct vector_keys probes = vector_keys(vector_cell(&t, i, "probes"));
        tamis_container *c = container_open(format, &bytes, id);
        if (c != NULL)
            container_answers(c, NULL, &keys, &probes, vector_cell(&t, i, "answers"), id);
        tamis_container_free(c);
        container_hostile(&bytes, bytes.length / (size_t)run_pick(20, 2000, 20000) + 1, id);
        vector_keys_free(&keys);
        vector_keys_free(&probes);
        vector_bytes_free(&bytes);
    }
    vector_table_free(&t);
}

/* ---------------------------------------------------------------------------- keys */

static struct vector_keys keys_like(const struct vector_keys *keys, size_t arena) {
    struct vector_keys k = {keys->count, NEED(const void *, keys->count + 1),
                            NEED(size_t, keys->count + 1), NEED(uint8_t, arena + 1)};
    return k;
}

static size_t total_length(const struct vector_keys *keys) {
    size_t total = 0;
    for (size_t i = 0; i < keys->count; i++) total += keys->lengths[i];
    return total;
}

static uint8_t *put16(uint8_t *at, uint32_t unit) {
    at[0] = (uint8_t)unit;
    at[1] = (uint8_t)(unit >> 8);
    return at + 2;
}

/* The code point at `*p`, which moves on; the vectors are valid UTF-8. */
static uint32_t next_point(const uint8_t **p) {
    const uint8_t lead = *(*p)++;
    const unsigned more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (unsigned i = 0; i < more; i++) point = point << 6 | (*(*p)++ & 0x3f);
    return point;
}

struct vector_keys compat_utf16(const struct vector_keys *keys) {
    struct vector_keys k = keys_like(keys, 2 * total_length(keys));
    uint8_t *at = k.arena;
    for (size_t i = 0; i < keys->count; i++) {
        const uint8_t *p = (const uint8_t *)keys->keys[i], *end = p + keys->lengths[i];
        k.keys[i] = at;
        while (p < end) {
            const uint32_t point = next_point(&p);
            if (point >= 0x10000) {
                at = put16(at, 0xd800 + ((point - 0x10000) >> 10));
                at = put16(at, 0xdc00 + ((point - 0x10000) & 0x3ff));
            } else {
                at = put16(at, point);
            }
        }
        k.lengths[i] = (size_t)(at - (const uint8_t *)k.keys[i]);
    }
    return k;
}

struct vector_keys compat_without_tabs(const struct vector_keys *keys) {
    struct vector_keys k = keys_like(keys, total_length(keys));
    uint8_t *at = k.arena;
    for (size_t i = 0; i < keys->count; i++) {
        const uint8_t *p = (const uint8_t *)keys->keys[i];
        k.keys[i] = at;
        for (size_t j = 0; j < keys->lengths[i]; j++) {
            if (p[j] != '\t') *at++ = p[j];
        }
        k.lengths[i] = (size_t)(at - (const uint8_t *)k.keys[i]);
    }
    return k;
}

struct key {
    const void *bytes;
    size_t length;
};

static int compare_keys(const void *a, const void *b) {
    const struct key *x = (const struct key *)a, *y = (const struct key *)b;
    const size_t shorter = x->length < y->length ? x->length : y->length;
    const int order = shorter == 0 ? 0 : memcmp(x->bytes, y->bytes, shorter);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Bytewise; the bytes stay those of `keys`. */
struct vector_keys compat_sorted(const struct vector_keys *keys) {
    struct vector_keys k = keys_like(keys, 0);
    struct key *order = NEED(struct key, keys->count + 1);
    for (size_t i = 0; i < keys->count; i++) {
        order[i] = (struct key){keys->keys[i], keys->lengths[i]};
    }
    qsort(order, keys->count, sizeof *order, compare_keys);
    for (size_t i = 0; i < keys->count; i++) {
        k.keys[i] = order[i].bytes;
        k.lengths[i] = order[i].length;
    }
    free(order);
    return k;
}
