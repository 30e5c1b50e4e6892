/* removal.c - removing is the inverse of adding
 *
 * A key that is in the set (added more often than removed) is always found, whatever else is
 * added and removed, and however often: counters that saturate keep their value.  An absent key
 * cannot be removed, and a full filter refuses adds; both leave every byte unchanged. */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

static void inverse(const struct variant *v, double fpr, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed() + n, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, n, fpr);
    if (f == NULL) return;
    struct bytes empty = bytes_of(f);
    CHECK(tamis_add_hash_batch(f, hashes, n, NULL, NULL) == TAMIS_OK, "%s: add %zu", v->name, n);
    CHECK(facts_of(f).adds == n, "%s: adds", v->name);
    for (size_t i = 0; i < n; i++) {
        const tamis_status status = tamis_remove_hash(f, hashes[i]);
        if (!CHECK(status == TAMIS_OK, "%s: n %zu: remove of key %zu: %s", v->name, n, i,
                   tamis_status_name(status))) {
            break;
        }
        if (i % 97 == 0) { /* the remaining keys must be found */
            const size_t left = n - i - 1;
            CHECK(tamis_contains_hash_batch(f, hashes + i + 1, left, NULL) == left,
                  "%s: n %zu: a key is lost after %zu removals", v->name, n, i + 1);
        }
    }
    CHECK(encodes_to(f, &empty), "%s: %zu keys at %g added and removed: not the empty filter",
          v->name, n, fpr);
    CHECK(facts_of(f).adds == 0 && facts_of(f).distinct == 0, "%s: facts of an emptied filter",
          v->name);
    CHECK(n == 0 || tamis_remove_hash(f, hashes[0]) == TAMIS_E_ABSENT, "%s: remove once more",
          v->name);
    CHECK(encodes_to(f, &empty), "%s: E_ABSENT changed something", v->name);
    count_up("removes", n);
    bytes_free(&empty);
    tamis_free(f);
    free(hashes);
}

/* Removing absent keys: nearly all are reported as absent. */
static void absent(const struct variant *v, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_build(v, 0.001, hashes, n);
    if (f == NULL) return;
    struct bytes before = bytes_of(f);
    size_t refused = 0;
    for (size_t i = 0; i < 500; i++) {
        uint64_t hash;
        hashes_fill(&hash, 1, i, run_seed(), STREAM_PROBES);
        if (tamis_contains_hash(f, hash)) continue;
        const tamis_status status = tamis_remove_hash(f, hash);
        CHECK(status == TAMIS_E_ABSENT, "%s: remove of an absent key: %s", v->name,
              tamis_status_name(status));
        refused++;
    }
    CHECK(refused > 480, "%s: only %zu of 500 were known to be absent", v->name, refused);
    CHECK(encodes_to(f, &before), "%s: removing absent keys changed the filter", v->name);
    CHECK(tamis_remove(f, "never added", 11) == TAMIS_E_ABSENT, "%s: by bytes", v->name);
    count_up("refused removes", refused);
    bytes_free(&before);
    tamis_free(f);
    free(hashes);
}

/* One key `copies` times among others; then it is removed as often. */
static void copies_of_one(const struct variant *v, unsigned copies) {
    enum { OTHERS = 200 };
    uint64_t others[OTHERS], key;
    hashes_fill(others, OTHERS, 0, run_seed() + copies, STREAM_MEMBERS);
    hashes_fill(&key, 1, copies, run_seed(), STREAM_OTHERS);
    tamis_filter *f = variant_create(v, 1000, 0.001);
    if (f == NULL) return;
    tamis_add_hash_batch(f, others, OTHERS, NULL, NULL);
    for (unsigned i = 0; i < copies; i++) {
        const tamis_status status = tamis_add_hash(f, key, NULL);
        CHECK(status == TAMIS_OK, "%s: copy %u of one key: %s", v->name, i + 1,
              tamis_status_name(status));
    }
    CHECK(facts_of(f).adds == OTHERS + copies, "%s: adds with %u copies", v->name, copies);
    /* A count is never too low, up to saturation. */
    const unsigned counted = tamis_count_hash(f, key);
    CHECK(counted >= copies || counted >= 4, "%s: %u copies counted as %u", v->name, copies,
          counted);
    CHECK(copies > 3 || counted <= copies + 1, "%s: %u copies counted as %u", v->name, copies,
          counted);
    for (unsigned i = 0; i < copies; i++) {
        CHECK(tamis_contains_hash(f, key), "%s: added %u times, removed %u times: gone", v->name,
              copies, i);
        const tamis_status status = tamis_remove_hash(f, key);
        CHECK(status == TAMIS_OK, "%s: removal %u of %u: %s", v->name, i + 1, copies,
              tamis_status_name(status));
    }
    /* Every kind can count three copies; more may saturate. */
    CHECK(tamis_contains_hash(f, key) == (tamis_count_hash(f, key) != 0),
          "%s: contains and count disagree", v->name);
    CHECK(copies > 3 || !tamis_contains_hash(f, key), "%s: still present after %u removals",
          v->name, copies);
    CHECK(tamis_contains_hash_batch(f, others, OTHERS, NULL) == OTHERS,
          "%s: %u copies of one key removed others", v->name, copies);
    CHECK(tamis_set_adds(f, 12345) == TAMIS_OK && facts_of(f).adds == 12345, "%s: adds set",
          v->name);
    struct bytes bytes = bytes_of(f);
    tamis_filter *g = NULL;
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &g) == TAMIS_OK, "%s: decode", v->name);
    CHECK(g != NULL && facts_of(g).adds == 12345, "%s: adds kept", v->name);
    tamis_free(g);
    bytes_free(&bytes);
    tamis_free(f);
    count_up("copies", copies);
}

/* A tenth of the capacity, with a few copies of many keys, is not full.  Keys whose slots overlap
 * must not fill each other's slots. */
static void few_copies(const struct variant *v, double fpr, uint64_t sets) {
    enum { ADDS = 1000 };
    for (uint64_t set = 0; set < sets; set++) {
        uint64_t hashes[ADDS];
        struct rng r = {run_seed() + set};
        hashes_fill(hashes, ADDS, 0, run_seed() + set, STREAM_MEMBERS);
        for (size_t i = 1; i < ADDS; i++) {
            if (rng_below(&r, 4) == 0) hashes[i] = hashes[rng_below(&r, i)];
        }
        tamis_filter *f = variant_create(v, 10 * ADDS, fpr);
        if (f == NULL) return;
        size_t done = 0;
        const tamis_status status = tamis_add_hash_batch(f, hashes, ADDS, NULL, &done);
        CHECK(status == TAMIS_OK, "%s at %g, set %llu: %s after %zu adds, made for %d, fill %.3f",
              v->name, fpr, (unsigned long long)set, tamis_status_name(status), done, 10 * ADDS,
              facts_of(f).fill);
        CHECK(tamis_contains_hash_batch(f, hashes, done, NULL) == done, "%s: a key is lost",
              v->name);
        tamis_free(f);
    }
    count_up("sets with copies", sets);
}

/* A key that a builder was given several times is in the filter once: with a known capacity (the
 * builder may add at once) and without. */
static void built_once(const struct variant *v, uint64_t capacity, bool whole) {
    enum { KEYS = 100, COPIES = 3 };
    uint64_t hashes[KEYS * COPIES];
    hashes_fill(hashes, KEYS, 0, run_seed(), STREAM_MEMBERS);
    for (size_t i = KEYS; i < KEYS * COPIES; i++) hashes[i] = hashes[i - KEYS];
    const tamis_options o = variant_options(v, capacity, 1e-4);
    tamis_filter *f = NULL;
    if (whole) {
        CHECK(tamis_build_hash(&o, hashes, KEYS * COPIES, &f) == TAMIS_OK, "%s: build", v->name);
    } else {
        tamis_builder *b = NULL;
        CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: builder", v->name);
        CHECK(tamis_builder_add_hash_batch(b, hashes, KEYS * COPIES) == TAMIS_OK, "%s", v->name);
        CHECK(tamis_builder_finish(b, &f) == TAMIS_OK, "%s: finish", v->name);
        tamis_builder_free(b);
    }
    if (f == NULL) return;
    for (size_t i = 0; i < KEYS; i++) {
        CHECK(tamis_remove_hash(f, hashes[i]) == TAMIS_OK, "%s: remove", v->name);
    }
    const size_t left = tamis_contains_hash_batch(f, hashes, KEYS, NULL);
    CHECK(left == 0, "%s, capacity %llu: built from %d copies, removed once, %zu of %d left",
          v->name, (unsigned long long)capacity, COPIES, left, KEYS);
    tamis_free(f);
}

/* Random adds and removes against exact counts, with at most `max` copies of a key. */
static void churn(const struct variant *v, double fpr, size_t universe, unsigned max,
                  size_t steps) {
    uint64_t *hashes = hashes_make(universe, run_seed(), STREAM_MEMBERS);
    unsigned *held = NEED(unsigned, universe);
    struct rng r = {run_seed() + universe};
    tamis_filter *f = variant_create(v, universe * 2, fpr);
    uint64_t refused = 0;
    for (size_t step = 0; f != NULL && step < steps; step++) {
        const size_t at = (size_t)rng_below(&r, universe);
        if (held[at] == 0 || (held[at] < max && rng_below(&r, 3) == 0)) {
            const tamis_status status = tamis_add_hash(f, hashes[at], NULL);
            CHECK(status == TAMIS_OK || status == TAMIS_E_FULL, "%s: churn add: %s", v->name,
                  tamis_status_name(status));
            held[at] += status == TAMIS_OK;
            refused += status != TAMIS_OK;
        } else {
            const tamis_status status = tamis_remove_hash(f, hashes[at]);
            CHECK(status == TAMIS_OK, "%s: churn, step %zu: remove of a present key: %s", v->name,
                  step, tamis_status_name(status));
            held[at] -= status == TAMIS_OK;
        }
        if (step % (steps / 8 + 1) != 0) continue;
        for (size_t i = 0; i < universe; i++) {
            if (held[i] == 0) continue;
            CHECK(tamis_contains_hash(f, hashes[i]), "%s: churn, step %zu: key %zu lost", v->name,
                  step, i);
        }
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < universe; i++) sum += held[i];
    if (f != NULL) {
        CHECK(facts_of(f).adds == sum, "%s: churn: %llu adds counted, %llu held", v->name,
              (unsigned long long)facts_of(f).adds, (unsigned long long)sum);
    }
    /* The filter holds about as many keys as the universe, copies included, at half of its
     * capacity.  Copies of a key share its few slots, so some adds fail. */
    CHECK(refused <= (max == 1 ? 0 : steps / 100),
          "%s at %g: churn over %zu keys of up to %u copies: %llu adds refused", v->name, fpr,
          universe, max, (unsigned long long)refused);
    count_up("churn steps", steps);
    tamis_free(f);
    free(hashes);
    free(held);
}

/* A kind that can be full reports it, changes nothing, and accepts keys again after removals. */
static void full(const struct variant *v, double fpr, uint64_t capacity) {
    const size_t max = (size_t)capacity * 3 + 100;
    uint64_t *hashes = hashes_make(max, run_seed() + capacity, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, capacity, fpr);
    if (f == NULL) return;
    size_t done = 0;
    tamis_status status = tamis_add_hash_batch(f, hashes, max, NULL, &done);
    if (status == TAMIS_OK) { /* bloom-like: never full */
        CHECK(v->kind != TAMIS_CUCKOO, "%s: accepted three times its capacity", v->name);
    } else {
        CHECK(status == TAMIS_E_FULL, "%s: %s", v->name, tamis_status_name(status));
        CHECK(done >= capacity && done < max, "%s: full after %zu of %llu", v->name, done,
              (unsigned long long)capacity);
        struct bytes before = bytes_of(f);
        for (size_t i = 0; i < 20; i++) {
            bool fresh = true;
            size_t none = 77;
            if (tamis_add_hash(f, hashes[done], &fresh) != TAMIS_E_FULL) break;
            CHECK(encodes_to(f, &before), "%s: a refused add changed the filter", v->name);
            CHECK(
                tamis_add_hash_batch(f, hashes + done, 1, NULL, &none) == TAMIS_E_FULL && none == 0,
                "%s: a refused batch reports %zu keys as added", v->name, none);
            CHECK(encodes_to(f, &before), "%s: a refused batch changed the filter", v->name);
            count_up("refused adds", 2);
        }
        CHECK(tamis_contains_hash_batch(f, hashes, done, NULL) == done, "%s: full and lost a key",
              v->name);
        CHECK(facts_of(f).adds == done, "%s: adds of a full filter", v->name);
        for (size_t i = 0; i < done / 4; i++) tamis_remove_hash(f, hashes[i]);
        CHECK(tamis_add_hash(f, hashes[done], NULL) == TAMIS_OK, "%s: no room after removals",
              v->name);
        bytes_free(&before);
    }
    tamis_free(f);
    free(hashes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "removal");
    static const double fprs[] = {0.3, 0.01, 0.001, 1e-6};
    static const size_t sizes[] = {0, 1, 2, 5, 10, 100, 1000, 20000};
    size_t removing = 0;
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & TAMIS_CAN_REMOVE) == 0) continue;
        removing++;
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                inverse(v, fprs[r], sizes[s]);
                full(v, fprs[r], sizes[s]);
            }
            churn(v, fprs[r], 30, 3, 2000);
            churn(v, fprs[r], 5000, 1, run_pick(20000, 200000, 2000000));
            churn(v, fprs[r], 5000, 3, run_pick(20000, 200000, 2000000));
        }
        absent(v, 0);
        absent(v, 5000);
        for (unsigned way = 0; way < 4; way++) built_once(v, way / 2 * 1000, way % 2 == 0);
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            few_copies(v, fprs[r], run_pick(100, 1000, 20000));
        }
        for (unsigned copies = 1; copies <= 40; copies++) copies_of_one(v, copies);
        copies_of_one(v, 1000);
    }
    CHECK(removing >= 2 || run_filtered(), "counting and cuckoo remove; %zu kinds do", removing);
    return run_end();
}
