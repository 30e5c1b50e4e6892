/* never_absent.c - no key is ever lost, and no build ever fails
 *
 * For every kind: every small n, the sizes around 11,500 at which peeling constructions are
 * known to fail, and large ones; with and without repeats; keys of every class, given
 * as bytes, as hashes, and as values that are not hashes (counters, shifted counters).
 * Each n has its own seed, and so its own set of hashes.
 *
 * tests: full */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

static const double fprs[] = {0.01, 0.3, 0.001, 0.1, 1e-4, 1e-6};
#define FPRS (sizeof fprs / sizeof *fprs)
static const unsigned repeats[] = {0, 50, 99};
#define REPEATS (sizeof repeats / sizeof *repeats)

static double fpr_for(size_t n) { return fprs[n % FPRS]; }

/* Queries all keys in one batch; searches for a missing one only if there is one. */
static void expect_keys(const struct variant *v, const tamis_filter *f, const struct keyset *set,
                        unsigned repeated, const char *keys) {
    const size_t found = tamis_contains_batch(f, set->keys, set->lengths, set->count, NULL);
    if (CHECK(found == set->count, "%s: %zu of %zu %s keys (%u %% repeats) found", v->name, found,
              set->count, keys, repeated)) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        if (!CHECK(tamis_contains(f, set->keys[i], set->lengths[i]), "%s: n %zu, key %zu", v->name,
                   set->count, i)) {
            return;
        }
    }
}

static void build_from_bytes(const struct variant *v, size_t n, enum key_class form,
                             unsigned repeated) {
    struct keyset set;
    keyset_make(&set, form, n, repeated, run_seed() + n);
    tamis_options o = variant_options(v, 0, fpr_for(n));
    o.seed = run_seed() ^ (n * 8 + form);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build(&o, set.keys, set.lengths, set.count, &f);
    if (CHECK(status == TAMIS_OK, "%s: build of %zu %s keys, %u %% repeats, rate %g: %s", v->name,
              n, key_class_name(form), repeated, o.fpr, tamis_status_name(status))) {
        expect_keys(v, f, &set, repeated, key_class_name(form));
    }
    tamis_free(f);
    keyset_free(&set);
    count_up("builds", 1);
    count_up("keys", n);
}

/* The filter was made for `capacity` keys: it must accept that number one by one. */
static void create_and_add(const struct variant *v, size_t n, enum key_class form) {
    struct keyset set;
    keyset_make(&set, form, n, 0, run_seed() + n);
    tamis_options o = variant_options(v, set.distinct, fpr_for(n));
    o.seed = run_seed() ^ n;
    tamis_filter *f = NULL;
    tamis_status status = tamis_create(&o, &f);
    if (CHECK(status == TAMIS_OK, "%s: create for %zu gave %s", v->name, n,
              tamis_status_name(status))) {
        size_t added = 0;
        while (added < set.distinct && status == TAMIS_OK) {
            status = tamis_add(f, set.keys[added], set.lengths[added], NULL);
            added += status == TAMIS_OK;
        }
        CHECK(status == TAMIS_OK, "%s: made for %zu keys, accepted %zu: %s", v->name, set.distinct,
              added, tamis_status_name(status));
        if (status == TAMIS_OK) expect_keys(v, f, &set, 0, key_class_name(form));
        CHECK(!facts_of(f).over_capacity, "%s: over capacity with the %zu keys it was made for",
              v->name, set.distinct);
    }
    tamis_free(f);
    keyset_free(&set);
    count_up("builds", 1);
    count_up("keys", n);
}

/* Values that a careless caller might pass as hashes. */
enum weak { WEAK_NOT, WEAK_COUNTER, WEAK_TOP, WEAK_MIDDLE, WEAK_HIGH, WEAKNESSES };
static const char *const weak_names[WEAKNESSES] = {"random", "counter", "counter << 44",
                                                   "counter << 20", "counter << 40"};

static void weak_fill(uint64_t *hashes, size_t n, enum weak weakness) {
    hashes_fill(hashes, n, 0, run_seed() + n, STREAM_MEMBERS);
    for (size_t i = 0; weakness != WEAK_NOT && i < n; i++) {
        static const unsigned shifts[WEAKNESSES] = {0, 0, 44, 20, 40};
        hashes[i] = (uint64_t)i << shifts[weakness];
    }
}

static void build_from_hashes(const struct variant *v, size_t n, enum weak weakness) {
    uint64_t *hashes = NEED(uint64_t, n);
    weak_fill(hashes, n, weakness);
    const tamis_options o = variant_options(v, 0, fpr_for(n));
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, n, &f);
    if (CHECK(status == TAMIS_OK, "%s: build of %zu hashes (%s), rate %g: %s", v->name, n,
              weak_names[weakness], o.fpr, tamis_status_name(status))) {
        const size_t found = tamis_contains_hash_batch(f, hashes, n, NULL);
        CHECK(found == n, "%s: %zu of %zu hashes (%s) found", v->name, found, n,
              weak_names[weakness]);
    }
    tamis_free(f);
    free(hashes);
    count_up("builds", 1);
    count_up("keys", n);
}

/* A filter of no keys matches nothing, however it was made. */
static void empty(const struct variant *v) {
    const uint64_t probes = 20000;
    for (size_t r = 0; r < FPRS; r++) {
        tamis_filter *f = variant_build(v, fprs[r], NULL, 0);
        if (f != NULL) {
            const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
            CHECK(hits == 0, "%s: an empty filter at rate %g matched %llu times", v->name, fprs[r],
                  (unsigned long long)hits);
            CHECK(!tamis_contains(f, NULL, 0), "%s: the empty key in an empty filter", v->name);
        }
        tamis_free(f);
        for (uint64_t capacity = 0; (v->caps & TAMIS_CAN_ADD) != 0 && capacity < 3; capacity++) {
            f = variant_create(v, capacity * 500, fprs[r]);
            if (f == NULL) continue;
            const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
            CHECK(hits == 0, "%s: an empty filter for %llu keys matched", v->name,
                  (unsigned long long)capacity * 500);
            tamis_free(f);
        }
        count_up("probes of empty filters", 2 * probes);
    }
}

/* One n in the ways that the effort allows; the ways rotate with n. */
static void one_size(const struct variant *v, size_t n) {
    const bool all = run_effort() == EFFORT_FULL;
    for (size_t r = 0; r < REPEATS; r++) {
        for (unsigned c = 0; c < KEY_CLASSES; c++) {
            if (all || (n + r) % KEY_CLASSES == c) {
                build_from_bytes(v, n, (enum key_class)c, repeats[r]);
            }
        }
    }
    for (unsigned w = 0; w < WEAKNESSES; w++) {
        if (all || n % WEAKNESSES == w) build_from_hashes(v, n, (enum weak)w);
    }
    if ((v->caps & TAMIS_CAN_ADD) != 0) create_and_add(v, n, (enum key_class)(n % KEY_CLASSES));
}

static void large_size(const struct variant *v, size_t n) {
    const bool every = n <= 100000;
    for (size_t r = 0; r < REPEATS; r++) {
        for (unsigned c = 0; c < KEY_CLASSES; c++) {
            if (every || (r == 0 && c == KEYS_SEQUENTIAL) || (r == 1 && c == KEYS_TEXT)) {
                build_from_bytes(v, n, (enum key_class)c, repeats[r]);
            }
        }
    }
    for (unsigned w = 0; w < WEAKNESSES; w++) {
        if (every || w == WEAK_COUNTER) build_from_hashes(v, n, (enum weak)w);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "never_absent");
    const size_t small_step = run_pick(37, 1, 1), peel_step = run_pick(50, 4, 1);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        empty(v);
        /* A kind that grows is made of others, which are tested at every n. */
        const bool sparse =
            (v->caps & TAMIS_CAN_GROW) != 0 && small_step == 1 && run_effort() != EFFORT_FULL;
        for (size_t n = 0; n <= 2000; n += n < 70 ? 1 : sparse ? 7 : small_step) one_size(v, n);
        for (size_t n = 11400; n <= 11600; n += peel_step) one_size(v, n);
        if (run_effort() != EFFORT_QUICK) large_size(v, 100000);
        large_size(v, run_pick(100001, 1000000, 1000000));
        if (run_effort() == EFFORT_FULL) large_size(v, 10000000);
    }
    return run_end();
}
