/* seiflotfy.c - seiflotfy's cuckoo filters: read, and rebuilt as long as nothing is evicted */
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"

/* Are both buckets of a key full? Then the original moves a random fingerprint.
 * `slots` is the filter as it is now; hashes are the filter's own. */
static bool must_evict(const tamis_filter *f, const uint8_t *slots, uint64_t buckets,
                       const void *key, size_t length) {
    const uint64_t hash = tamis_hash(f, key, length), mask = buckets - 1;
    const uint8_t fp = (uint8_t)(hash % 255 + 1);
    const uint64_t first = (hash >> 32) & mask, second = first ^ (tamis_hash(f, &fp, 1) & mask);
    return memchr(slots + 4 * first, 0, 4) == NULL && memchr(slots + 4 * second, 0, 4) == NULL;
}

/* As the library was used: `unique` rejects keys that match; with insert+delete, after every third
 * key the one before it is removed. Stops and returns false at an eviction. */
static bool add_keys(tamis_filter *f, const struct vector_keys *keys, const char *mode) {
    const bool unique = strcmp(mode, "unique") == 0, deletes = strcmp(mode, "insert+delete") == 0;
    const uint64_t size = tamis_encoded_size(f);
    uint8_t *slots = NEED(uint8_t, size);
    bool same = true;
    for (size_t i = 0; i < keys->count && same; i++) {
        if (unique && tamis_contains(f, keys->keys[i], keys->lengths[i])) continue;
        CHECK(tamis_encode(f, slots, size, NULL) == TAMIS_OK, "encode");
        same = !must_evict(f, slots, size / 4, keys->keys[i], keys->lengths[i]);
        (void)tamis_add(f, keys->keys[i], keys->lengths[i], NULL);
        if (deletes && i % 3 == 2) (void)tamis_remove(f, keys->keys[i - 1], keys->lengths[i - 1]);
    }
    free(slots);
    return same;
}

static void make_again(const struct vector_table *t, size_t row, const struct vector_keys *keys,
                       const struct vector_bytes *bytes) {
    const char *id = vector_cell(t, row, "id");
    const uint64_t slots = 4 * vector_number(t, row, "buckets");
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "seiflotfy";
    o.capacity = vector_number(t, row, "capacity");
    if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s: cannot be created", id)) return;
    CHECK(tamis_encoded_size(f) == slots, "%s: another size", id);
    if (add_keys(f, keys, vector_cell(t, row, "mode"))) {
        compat_recreated(f, bytes, id);
    } else {
        count_up("with evictions", 1);
        tamis_free(f);
    }
}

static void check_row(const struct vector_table *t, size_t row, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes bytes = vector_file(vector_cell(t, row, "filter"));
    struct vector_keys keys = vector_keys(vector_cell(t, row, "keys"));
    const bool whole = strcmp(vector_cell(t, row, "mode"), "insert+delete") != 0 &&
                       (vector_number(t, row, "n_inserted_ok") == keys.count ||
                        strcmp(vector_cell(t, row, "mode"), "unique") == 0);
    compat_row("seiflotfy", false, vector_cell(t, row, "filter"), whole ? &keys : NULL,
               vector_cell(t, row, "probes"), vector_cell(t, row, "answers"), id);
    tamis_filter *f = compat_open("seiflotfy", &bytes, id);
    if (f != NULL) CHECK(facts_of(f).adds == vector_number(t, row, "count"), "%s: count", id);
    tamis_free(f);
    make_again(t, row, &keys, &bytes);
    if (*hostile > 0) *hostile -= compat_hostile("seiflotfy", &bytes, 1024, id);
    vector_keys_free(&keys);
    vector_bytes_free(&bytes);
}

/* A full filter rejects the next key and loses none. */
static void check_full(void) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    uint64_t key, added = 0;
    o.format = "seiflotfy";
    o.capacity = 1024;
    if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "create")) return;
    for (key = 0; key < 2000; key++) {
        if (tamis_add(f, &key, sizeof key, NULL) != TAMIS_OK) break;
        added++;
    }
    CHECK(added > 900 && added < 1025, "%llu keys fit", (unsigned long long)added);
    for (key = 0; key < added; key++) CHECK(tamis_contains(f, &key, sizeof key), "a key is lost");
    count_up("keys of a full filter", added);
    tamis_free(f);
}

/* A key that is added n times has a count of at least n, also where both of its buckets are the
 * same. */
static void check_copies(uint64_t capacity, unsigned max) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "seiflotfy";
    o.capacity = capacity;
    if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "create")) return;
    for (unsigned copies = 1; copies <= max; copies++) {
        if (!CHECK(tamis_add(f, "key", 3, NULL) == TAMIS_OK, "add")) break;
        CHECK(tamis_count(f, "key", 3) == copies, "%u copies, %u counted", copies,
              tamis_count(f, "key", 3));
    }
    CHECK(tamis_remove(f, "key", 3) == TAMIS_OK, "remove");
    CHECK(tamis_count(f, "key", 3) == max - 1, "one less");
    CHECK(tamis_count(f, "other", 5) == 0, "a key that was never added");
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "seiflotfy");
    struct vector_table t = vector_table("seiflotfy_cuckoo/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 40, 60);
    for (size_t i = 0; i < t.rows; i++) check_row(&t, i, &hostile);
    vector_table_free(&t);
    check_full();
    check_copies(1024, 8);
    check_copies(4, 4);
    return run_end();
}
