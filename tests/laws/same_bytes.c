/* same_bytes.c - the same keys, options and seed give the same bytes: for any number of threads,
 * any order of the keys, any memory limit, whole arrays or a builder
 *
 * Only a growing filter with a given capacity depends on the order of its keys: it adds them at
 * once.
 *
 * tests: full */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

/* So little that every build of more than a few thousand keys spills. */
#define SMALL_MEMORY ((uint64_t)1 << 16)

enum order { ORDER_AS_IS, ORDER_REVERSED, ORDER_SHUFFLED };

static void reorder(uint64_t *hashes, size_t n, enum order order) {
    struct rng r = {run_seed() + n};
    for (size_t i = 0; order == ORDER_REVERSED && i < n / 2; i++) {
        const uint64_t x = hashes[i];
        hashes[i] = hashes[n - 1 - i];
        hashes[n - 1 - i] = x;
    }
    for (size_t i = n; order == ORDER_SHUFFLED && i > 1; i--) {
        const size_t j = (size_t)rng_below(&r, i);
        const uint64_t x = hashes[i - 1];
        hashes[i - 1] = hashes[j];
        hashes[j] = x;
    }
}

struct case_ {
    const struct variant *v;
    double fpr;
    const uint64_t *hashes;
    size_t n;
    uint64_t capacity;
    struct bytes expected;
};

static void expect_same(const struct case_ *c, const char *what, tamis_status status,
                        tamis_filter *f) {
    count_up("builds", 1);
    count_up("keys", c->n);
    if (!CHECK(status == TAMIS_OK, "%s: %zu keys, %s: %s", c->v->name, c->n, what,
               tamis_status_name(status))) {
        return;
    }
    struct bytes got = bytes_of(f);
    CHECK(bytes_equal(&got, &c->expected), "%s: %zu keys at %g, %s: byte %zu of %zu differs",
          c->v->name, c->n, c->fpr, what, bytes_difference(&got, &c->expected), got.size);
    bytes_free(&got);
    tamis_free(f);
}

static void with_threads(const struct case_ *c, uint32_t threads) {
    char what[32];
    tamis_options o = variant_options(c->v, c->capacity, c->fpr);
    tamis_filter *f = NULL;
    o.threads = threads;
    snprintf(what, sizeof what, "%u threads", (unsigned)threads);
    const tamis_status status = tamis_build_hash(&o, c->hashes, c->n, &f);
    expect_same(c, what, status, f);
}

/* The caller's array is only read: it is compared with its copy afterwards. */
static void with_order(const struct case_ *c, enum order order) {
    uint64_t *hashes = NEED(uint64_t, c->n), *before = NEED(uint64_t, c->n);
    if (c->n != 0) memcpy(hashes, c->hashes, c->n * sizeof *hashes);
    reorder(hashes, c->n, order);
    memcpy(before, hashes, c->n * sizeof *hashes);
    const tamis_options o = variant_options(c->v, c->capacity, c->fpr);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, c->n, &f);
    expect_same(c, order == ORDER_REVERSED ? "reversed" : "shuffled", status, f);
    CHECK(memcmp(before, hashes, c->n * sizeof *hashes) == 0, "%s: the caller's array was changed",
          c->v->name);
    free(hashes);
    free(before);
}

static void with_builder(const struct case_ *c, const char *what, uint64_t memory, uint32_t threads,
                         bool single) {
    tamis_options o = variant_options(c->v, c->capacity, c->fpr);
    tamis_builder *b = NULL;
    tamis_filter *f = NULL;
    o.memory = memory;
    o.threads = threads;
    o.temporary = run_directory();
    tamis_status status = tamis_builder_create(&o, &b);
    for (size_t at = 0, piece; status == TAMIS_OK && at < c->n; at += piece) {
        piece = single ? 1 : c->n - at < 1111 ? c->n - at : 1111;
        status = single ? tamis_builder_add_hash(b, c->hashes[at])
                        : tamis_builder_add_hash_batch(b, c->hashes + at, piece);
    }
    if (status == TAMIS_OK) {
        CHECK(tamis_builder_count(b) == c->n, "%s: builder counts %llu of %zu", c->v->name,
              (unsigned long long)tamis_builder_count(b), c->n);
        status = tamis_builder_finish(b, &f);
    }
    expect_same(c, what, status, f);
    f = NULL;
    CHECK(tamis_builder_add_hash(b, 1) != TAMIS_OK && tamis_builder_finish(b, &f) != TAMIS_OK &&
              f == NULL,
          "%s: a finished builder goes on", c->v->name);
    tamis_builder_free(b);
    CHECK(directory_entries(run_directory()) == 0, "%s: %s left files behind", c->v->name, what);
}

static void other_seed(const struct case_ *c) {
    tamis_options o = variant_options(c->v, c->capacity, c->fpr);
    const char *keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const size_t lengths[] = {1, 1, 1, 1, 1, 1, 1, 1};
    tamis_filter *f = NULL, *g = NULL;
    CHECK(tamis_build(&o, (const void *const *)keys, lengths, 8, &f) == TAMIS_OK, "build");
    o.seed = 1;
    CHECK(tamis_build(&o, (const void *const *)keys, lengths, 8, &g) == TAMIS_OK, "build");
    if (f != NULL && g != NULL) {
        struct bytes bytes = bytes_of(f);
        CHECK(!encodes_to(g, &bytes), "%s: another seed gave the same bytes", c->v->name);
        CHECK(tamis_hash(f, "a", 1) != tamis_hash(g, "a", 1), "%s: the seed does not matter",
              c->v->name);
        bytes_free(&bytes);
    }
    tamis_free(f);
    tamis_free(g);
}

static void one_case(const struct variant *v, double fpr, const uint64_t *hashes, size_t n,
                     uint64_t capacity, bool all_ways) {
    struct case_ c = {.v = v, .fpr = fpr, .hashes = hashes, .n = n, .capacity = capacity};
    const bool any_order = v->kind != TAMIS_GROWING || capacity == 0;
    const tamis_options o = variant_options(v, capacity, fpr);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, n, &f);
    if (!CHECK(status == TAMIS_OK, "%s: build of %zu: %s", v->name, n, tamis_status_name(status))) {
        return;
    }
    c.expected = bytes_of(f);
    tamis_free(f);
    with_threads(&c, 4);
    if (all_ways) {
        with_threads(&c, 1);
        with_threads(&c, 2);
        if (any_order) with_order(&c, ORDER_REVERSED);
        if (any_order) with_order(&c, ORDER_SHUFFLED);
        with_builder(&c, "builder", 0, 0, n < 20000);
        with_builder(&c, "builder that spills", SMALL_MEMORY, 0, false);
        with_builder(&c, "builder that spills, 2 threads", SMALL_MEMORY, 2, false);
    } else {
        with_builder(&c, "builder that spills, 2 threads", (uint64_t)16 << 20, 2, false);
    }
    if (n == 1000) other_seed(&c);
    bytes_free(&c.expected);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "same_bytes");
    static const size_t sizes[] = {0, 1, 2, 13, 1000, 11500, 60000, 400000};
    static const double fprs[] = {0.01, 0.2, 1e-5};
    /* More than 2^22 keys are cut into shards. */
    const size_t sharded = run_pick(0, 4500000, 10000000);
    uint64_t *hashes = hashes_make(sharded + 400000, run_seed(), STREAM_MEMBERS);
    for (size_t i = 1; i < sharded + 400000; i += 5) hashes[i] = hashes[i / 2]; /* repeats */
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            if (run_effort() == EFFORT_QUICK && sizes[s] > 20000) continue;
            one_case(v, fprs[s % 3], hashes, sizes[s], 0, true);
            one_case(v, fprs[s % 3], hashes, sizes[s], sizes[s] + 100, true);
        }
        if (sharded != 0 && (v->caps & TAMIS_IS_STATIC) != 0) {
            one_case(v, 0.01, hashes, sharded, 0, run_effort() == EFFORT_FULL);
        }
    }
    free(hashes);
    return run_end();
}
