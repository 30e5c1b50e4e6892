/* paths.c - every instruction set gives the same bytes and the same answers as the portable
 * code, and so does a filter that is shared between threads
 *
 * Each path that the machine has is compared with the portable one; their names are printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/paths.h"

static const double fprs[] = {0.5, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6};
#define FPRS (sizeof fprs / sizeof *fprs)
#define PROBES 20000

static tamis_filter *build(const struct variant *v, double fpr, const uint64_t *hashes, size_t n,
                           bool portable) {
    tamis_options o = variant_options(v, 0, fpr);
    o.portable = portable;
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, n, &f);
    CHECK(status == TAMIS_OK, "%s: %zu keys at %g: %s", v->name, n, fpr, tamis_status_name(status));
    return f;
}

static void same_answers(const struct variant *v, const char *what, const tamis_filter *a,
                         const tamis_filter *b, const uint64_t *members, size_t n) {
    static uint64_t hashes[PROBES];
    static bool from_a[PROBES], from_b[PROBES];
    hashes_fill(hashes, PROBES, 0, run_seed() + n, STREAM_PROBES);
    for (size_t i = 0; n != 0 && i < PROBES; i += 3) hashes[i] = members[i % n];
    tamis_contains_hash_batch(a, hashes, PROBES, from_a);
    tamis_contains_hash_batch(b, hashes, PROBES, from_b);
    CHECK(memcmp(from_a, from_b, sizeof from_a) == 0, "%s: %s, %zu keys: batch answers differ",
          v->name, what, n);
    for (size_t i = 0; i < PROBES; i += 7) {
        from_b[i] = tamis_contains_hash(b, hashes[i]);
        from_a[i] = tamis_contains_hash(a, hashes[i]);
    }
    CHECK(memcmp(from_a, from_b, sizeof from_a) == 0, "%s: %s, %zu keys: single answers differ",
          v->name, what, n);
    count_up("answers", PROBES + PROBES / 7);
}

static void same_bytes(const struct variant *v, const char *what, const tamis_filter *a,
                       const tamis_filter *b, double fpr, size_t n) {
    struct bytes x = bytes_of(a), y = bytes_of(b);
    CHECK(bytes_equal(&x, &y), "%s: %s, %zu keys at %g: byte %zu of %zu differs", v->name, what, n,
          fpr, bytes_difference(&x, &y), x.size);
    bytes_free(&x);
    bytes_free(&y);
    count_up("pairs of filters", 1);
}

static void portable_law(const struct variant *v, double fpr, const uint64_t *hashes, size_t n) {
    tamis_filter *a = build(v, fpr, hashes, n, false), *b = build(v, fpr, hashes, n, true);
    if (a != NULL && b != NULL) {
        CHECK(strcmp(facts_of(b).path, "portable") == 0, "%s: a portable filter runs %s", v->name,
              facts_of(b).path);
        same_bytes(v, "portable", a, b, fpr, n);
        same_answers(v, "portable", a, b, hashes, n);
        struct bytes bytes = bytes_of(a);
        tamis_open_options open = TAMIS_OPEN_INIT;
        tamis_filter *c = NULL;
        open.portable = true;
        CHECK(tamis_decode(bytes.data, bytes.size, &open, &c) == TAMIS_OK, "%s: decode", v->name);
        if (c != NULL) same_answers(v, "decoded as portable", a, c, hashes, n);
        tamis_free(c);
        bytes_free(&bytes);
    }
    tamis_free(a);
    tamis_free(b);
}

/* The same adds and removes to two empty filters that differ in a flag. */
static void change_law(const struct variant *v, const char *what, double fpr,
                       const uint64_t *hashes, size_t n, bool portable, bool shared) {
    tamis_options o = variant_options(v, n, fpr);
    tamis_filter *a = NULL, *b = NULL;
    bool *fresh_a = NEED(bool, n), *fresh_b = NEED(bool, n);
    CHECK(tamis_create(&o, &a) == TAMIS_OK, "%s: create", v->name);
    o.portable = portable;
    o.shared = shared;
    CHECK(tamis_create(&o, &b) == TAMIS_OK, "%s: create %s", v->name, what);
    if (a != NULL && b != NULL) {
        const size_t half = n / 2;
        tamis_add_hash_batch(a, hashes, half, fresh_a, NULL);
        tamis_add_hash_batch(b, hashes, half, fresh_b, NULL);
        for (size_t i = half; i < n; i++) {
            tamis_add_hash(a, hashes[i], &fresh_a[i]);
            tamis_add_hash(b, hashes[i], &fresh_b[i]);
        }
        CHECK(memcmp(fresh_a, fresh_b, n) == 0, "%s: %s, %zu keys: `fresh` differs", v->name, what,
              n);
        same_bytes(v, what, a, b, fpr, n);
        same_answers(v, what, a, b, hashes, n);
        if ((v->caps & TAMIS_CAN_REMOVE) != 0) {
            tamis_remove_hash_batch(a, hashes, n / 3, NULL);
            tamis_remove_hash_batch(b, hashes, n / 3, NULL);
            same_bytes(v, what, a, b, fpr, n);
        }
        count_up("adds", 2 * n);
    }
    tamis_free(a);
    tamis_free(b);
    free(fresh_a);
    free(fresh_b);
}

/* On the path in use. */
static void one_variant(const struct variant *v, const uint64_t *hashes, size_t large) {
    static const size_t sizes[] = {0, 1, 2, 10, 300, 5000, 100000};
    for (size_t r = 0; r < FPRS; r++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            if (run_effort() == EFFORT_QUICK && sizes[s] > 5000) continue;
            portable_law(v, fprs[r], hashes, sizes[s]);
            if ((v->caps & TAMIS_CAN_ADD) != 0) {
                change_law(v, "portable", fprs[r], hashes, sizes[s], true, false);
            }
            if ((v->caps & TAMIS_CAN_SHARE) != 0) {
                change_law(v, "shared", fprs[r], hashes, sizes[s], false, true);
                change_law(v, "shared and portable", fprs[r], hashes, sizes[s], true, true);
            }
        }
    }
    portable_law(v, 0.01, hashes, large);
    if ((v->caps & TAMIS_CAN_ADD) != 0) change_law(v, "portable", 0.01, hashes, large, true, false);
    if ((v->caps & TAMIS_CAN_SHARE) != 0) change_law(v, "shared", 0.01, hashes, large, false, true);
    tamis_filter *f = build(v, 0.01, hashes, 100, false);
    if (f != NULL) printf("paths: %-16s %s\n", v->name, facts_of(f).path);
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "paths");
    const size_t large = run_pick(100000, 1500000, 6000000);
    uint64_t *hashes = hashes_make(large, run_seed(), STREAM_MEMBERS);
    for (size_t p = 0; path_at(p) != NULL; p++) {
        if (p == 0 && path_at(1) != NULL) continue; /* portable with itself: only if it is alone */
        path_use(p);
        for (size_t i = 0; variant_at(i) != NULL; i++) one_variant(variant_at(i), hashes, large);
    }
    path_use_all();
    free(hashes);
    return run_end();
}
