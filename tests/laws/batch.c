/* batch.c - a batch does what its keys would do one by one
 *
 * contains, add (with `fresh`) and remove (with `removed`), by bytes and by hash, for the sizes
 * around the length of the families' pipelines, in tables that fit in the cache and in one that
 * does not (families may take another path there).  Batches hold repeats, so that `fresh` of a
 * second copy must see the first.  A prefetch changes no result. */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

static const size_t counts[] = {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000};
#define COUNTS (sizeof counts / sizeof *counts)
#define COUNT_MAX 1000

static void same_bools(const struct variant *v, const char *what, size_t count, const bool *one,
                       const bool *many) {
    size_t at = 0;
    while (at < count && one[at] == many[at]) at++;
    CHECK(at == count, "%s: %s of %zu: one by one and in a batch differ at %zu", v->name, what,
          count, at);
}

static void same_contains(const struct variant *v, const tamis_filter *f, const uint64_t *hashes,
                          size_t count) {
    bool one[COUNT_MAX + 1] = {false}, many[COUNT_MAX + 1] = {false};
    size_t hits = 0;
    many[count] = true;                                                   /* must not change */
    for (size_t i = 0; i < count; i++) tamis_prefetch_hash(f, hashes[i]); /* changes nothing */
    for (size_t i = 0; i < count; i++) hits += one[i] = tamis_contains_hash(f, hashes[i]);
    const size_t batch_hits = tamis_contains_hash_batch(f, hashes, count, many);
    CHECK(batch_hits == hits, "%s: %zu answers: %zu true one by one, %zu in a batch", v->name,
          count, hits, batch_hits);
    CHECK(tamis_contains_hash_batch(f, hashes, count, NULL) == hits,
          "%s: %zu answers: another count without the array", v->name, count);
    CHECK(many[count], "%s: a batch of %zu wrote past its answers", v->name, count);
    same_bools(v, "contains_hash", count, one, many);
    count_up("answers", count);
}

static void same_contains_bytes(const struct variant *v, const tamis_filter *f,
                                const struct keyset *set, size_t count) {
    bool one[COUNT_MAX + 1] = {false}, many[COUNT_MAX + 1] = {false};
    uint64_t hashes[COUNT_MAX];
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        hits += one[i] = tamis_contains(f, set->keys[i], set->lengths[i]);
    }
    CHECK(tamis_contains_batch(f, set->keys, set->lengths, count, many) == hits,
          "%s: %zu byte keys: another count in a batch", v->name, count);
    CHECK(tamis_contains_batch(f, set->keys, set->lengths, count, NULL) == hits,
          "%s: %zu byte keys: another count without the array", v->name, count);
    same_bools(v, "contains", count, one, many);
    tamis_hash_batch(f, set->keys, set->lengths, count, hashes);
    for (size_t i = 0; i < count; i++) {
        CHECK(hashes[i] == tamis_hash(f, set->keys[i], set->lengths[i]),
              "%s: hash %zu of a batch of %zu", v->name, i, count);
        CHECK(tamis_contains_hash(f, hashes[i]) == one[i], "%s: key %zu and its hash disagree",
              v->name, i);
    }
    count_up("answers", count);
}

/* Adds the same keys to two equal filters; if one is full, so is the other, at the same key. */
static void same_add(const struct variant *v, tamis_filter *one, tamis_filter *many,
                     const uint64_t *hashes, size_t count) {
    bool fresh_one[COUNT_MAX + 1] = {false}, fresh_many[COUNT_MAX + 1] = {false};
    size_t done = 12345, added = 0;
    tamis_status expected = TAMIS_OK;
    fresh_many[count] = true;
    while (added < count && expected == TAMIS_OK) {
        tamis_prefetch_hash(one, hashes[added]);
        expected = tamis_add_hash(one, hashes[added], &fresh_one[added]);
        added += expected == TAMIS_OK;
    }
    const tamis_status status = tamis_add_hash_batch(many, hashes, count, fresh_many, &done);
    CHECK(status == expected && done == added, "%s: add of %zu: %s, %zu done; one by one %s, %zu",
          v->name, count, tamis_status_name(status), done, tamis_status_name(expected), added);
    CHECK(expected == TAMIS_OK || expected == TAMIS_E_FULL, "%s: add: %s", v->name,
          tamis_status_name(expected));
    CHECK(fresh_many[count], "%s: a batch of %zu wrote past `fresh`", v->name, count);
    same_bools(v, "fresh", added, fresh_one, fresh_many);
    count_up("adds", count);
}

static void same_remove(const struct variant *v, tamis_filter *one, tamis_filter *many,
                        const uint64_t *hashes, size_t count) {
    bool removed_one[COUNT_MAX + 1] = {false}, removed_many[COUNT_MAX + 1] = {false};
    bool missing = false;
    for (size_t i = 0; i < count; i++) {
        const tamis_status status = tamis_remove_hash(one, hashes[i]);
        CHECK(status == TAMIS_OK || status == TAMIS_E_ABSENT, "%s: remove gave %s", v->name,
              tamis_status_name(status));
        removed_one[i] = status == TAMIS_OK;
        missing |= status != TAMIS_OK;
    }
    const tamis_status status = tamis_remove_hash_batch(many, hashes, count, removed_many);
    CHECK(status == (missing ? TAMIS_E_ABSENT : TAMIS_OK), "%s: remove of %zu gave %s", v->name,
          count, tamis_status_name(status));
    same_bools(v, "removed", count, removed_one, removed_many);
    count_up("removes", count);
}

static void same_filters(const struct variant *v, const char *after, size_t count,
                         const tamis_filter *one, const tamis_filter *many) {
    struct bytes a = bytes_of(one), b = bytes_of(many);
    CHECK(bytes_equal(&a, &b), "%s: after %s of %zu, byte %zu of %zu differs", v->name, after,
          count, bytes_difference(&a, &b), a.size);
    bytes_free(&a);
    bytes_free(&b);
}

/* Half of them members, a quarter of them repeats within the batch. */
static void mixture(uint64_t *hashes, size_t count, uint64_t salt) {
    struct rng r = {run_seed() + salt};
    hashes_fill(hashes, count, salt * COUNT_MAX, run_seed(), STREAM_MEMBERS);
    for (size_t i = 1; i < count; i++) {
        if (rng_below(&r, 4) == 0) hashes[i] = hashes[rng_below(&r, i)];
    }
}

static void queries(const struct variant *v, double fpr, size_t n) {
    uint64_t *members = hashes_make(n, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_build(v, fpr, members, n);
    for (size_t c = 0; f != NULL && c < COUNTS; c++) {
        uint64_t hashes[COUNT_MAX];
        hashes_fill(hashes, COUNT_MAX, c * COUNT_MAX, run_seed(), STREAM_PROBES);
        for (size_t i = 0; n != 0 && i < COUNT_MAX; i += 2) hashes[i] = members[(i * 7 + c) % n];
        same_contains(v, f, hashes, counts[c]);
    }
    tamis_free(f);
    free(members);
}

static void byte_queries(const struct variant *v) {
    for (unsigned c = 0; c < KEY_CLASSES; c++) {
        struct keyset set;
        keyset_make(&set, (enum key_class)c, COUNT_MAX, 20, run_seed());
        tamis_options o = variant_options(v, 0, 0.1);
        tamis_filter *f = NULL;
        const tamis_status status = tamis_build(&o, set.keys, set.lengths, COUNT_MAX / 2, &f);
        CHECK(status == TAMIS_OK, "%s: %s", v->name, tamis_status_name(status));
        for (size_t i = 0; f != NULL && i < COUNTS; i++) {
            same_contains_bytes(v, f, &set, counts[i]);
        }
        tamis_free(f);
        keyset_free(&set);
    }
}

static void changes(const struct variant *v, double fpr, uint64_t capacity) {
    tamis_filter *one = variant_create(v, capacity, fpr), *many = variant_create(v, capacity, fpr);
    uint64_t hashes[COUNT_MAX];
    for (size_t c = 0; one != NULL && many != NULL && c < COUNTS; c++) {
        mixture(hashes, counts[c], c);
        same_add(v, one, many, hashes, counts[c]);
        same_filters(v, "adds", counts[c], one, many);
    }
    if ((v->caps & TAMIS_CAN_REMOVE) != 0 && one != NULL && many != NULL) {
        for (size_t c = 0; c < COUNTS; c++) {
            /* Keys that were added and keys that were not: false positives must agree. */
            mixture(hashes, counts[c], c % 3 == 2 ? c + 100 : c);
            same_remove(v, one, many, hashes, counts[c]);
            same_filters(v, "removes", counts[c], one, many);
        }
    }
    tamis_free(one);
    tamis_free(many);
}

/* Byte keys: the batch calls against the hashes of the same keys. */
static void byte_changes(const struct variant *v) {
    struct keyset set;
    keyset_make(&set, KEYS_TEXT, COUNT_MAX, 30, run_seed());
    tamis_filter *one = variant_create(v, 2 * COUNT_MAX, 0.01),
                 *many = variant_create(v, 2 * COUNT_MAX, 0.01);
    bool fresh_one[COUNT_MAX] = {false}, fresh_many[COUNT_MAX] = {false};
    if (one != NULL && many != NULL) {
        for (size_t i = 0; i < set.count; i++) {
            tamis_add(one, set.keys[i], set.lengths[i], &fresh_one[i]);
        }
        size_t done = 0;
        tamis_add_batch(many, set.keys, set.lengths, set.count, fresh_many, &done);
        CHECK(done == set.count, "%s: %zu of %zu byte keys added", v->name, done, set.count);
        same_bools(v, "fresh of bytes", set.count, fresh_one, fresh_many);
        same_filters(v, "byte adds", set.count, one, many);
        if ((v->caps & TAMIS_CAN_REMOVE) != 0) {
            for (size_t i = 0; i < set.count; i++) {
                fresh_one[i] = tamis_remove(one, set.keys[i], set.lengths[i]) == TAMIS_OK;
            }
            tamis_remove_batch(many, set.keys, set.lengths, set.count, fresh_many);
            same_bools(v, "removed of bytes", set.count, fresh_one, fresh_many);
            same_filters(v, "byte removes", set.count, one, many);
        }
        CHECK(tamis_add_batch(many, NULL, NULL, 0, NULL, NULL) == TAMIS_OK,
              "%s: a batch of nothing", v->name);
        CHECK(tamis_contains_batch(many, NULL, NULL, 0, NULL) == 0, "%s: a query of no keys",
              v->name);
    }
    tamis_free(one);
    tamis_free(many);
    keyset_free(&set);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "batch");
    static const double fprs[] = {0.3, 0.01, 1e-4, 1e-6};
    const size_t large = run_pick(200000, 3000000, 10000000);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            queries(v, fprs[r], 0);
            queries(v, fprs[r], 7);
            queries(v, fprs[r], 5000);
            if ((v->caps & TAMIS_CAN_ADD) != 0) {
                changes(v, fprs[r], 10000);
                if ((v->caps & TAMIS_CAN_GROW) != 0) changes(v, fprs[r], 0);
            }
        }
        queries(v, 0.001, large);
        byte_queries(v);
        if ((v->caps & TAMIS_CAN_ADD) != 0) {
            changes(v, 0.001, large);
            byte_changes(v);
        }
    }
    return run_end();
}
