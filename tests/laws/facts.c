/* facts.c - tamis_info is correct: adds, distinct keys, fill, false positive rate, headroom;
 * also after adds, repeats, merges and a reload */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

static void distinct_near(const struct variant *v, const char *when, const tamis_filter *f,
                          double truth) {
    const tamis_facts facts = facts_of(f);
    const double off = fabs(facts.distinct - truth);
    const double allowed = fmax(5 * facts.distinct_error, 0.02 * truth) + 0.5;
    CHECK(off <= allowed, "%s, %s: %.0f distinct keys, reported %.1f +- %.1f", v->name, when, truth,
          facts.distinct, facts.distinct_error);
    CHECK(isfinite(facts.distinct) && isfinite(facts.distinct_error) && facts.distinct >= 0 &&
              facts.distinct_error >= 0,
          "%s, %s: distinct %g +- %g", v->name, when, facts.distinct, facts.distinct_error);
    if ((v->caps & TAMIS_IS_STATIC) != 0) {
        CHECK(facts.distinct == truth && facts.distinct_error == 0,
              "%s, %s: a static filter of %g keys reports %g +- %g", v->name, when, truth,
              facts.distinct, facts.distinct_error);
    }
    count_up("estimates", 1);
}

static void after_reload(const struct variant *v, const char *when, const tamis_filter *f,
                         double truth, uint64_t adds) {
    struct bytes bytes = bytes_of(f);
    tamis_filter *g = NULL;
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &g) == TAMIS_OK, "%s: decode", v->name);
    if (g != NULL) {
        distinct_near(v, when, g, truth);
        CHECK(facts_of(g).adds == adds, "%s, %s: %llu adds", v->name, when,
              (unsigned long long)facts_of(g).adds);
        CHECK(facts_of(g).headroom == facts_of(f).headroom, "%s, %s: headroom", v->name, when);
        CHECK(facts_of(g).fpr_now == facts_of(f).fpr_now, "%s, %s: fpr_now", v->name, when);
    }
    tamis_free(g);
    bytes_free(&bytes);
}

/* Each key once, then half of them again. */
static void built(const struct variant *v, double fpr, size_t n) {
    uint64_t *hashes = hashes_make(n + n / 2, run_seed() + n, STREAM_MEMBERS);
    for (size_t i = 0; i < n / 2; i++) hashes[n + i] = hashes[i * 2];
    tamis_filter *f = variant_build(v, fpr, hashes, n + n / 2);
    if (f != NULL) {
        const tamis_facts facts = facts_of(f);
        CHECK(facts.adds == n + n / 2, "%s: built from %zu, reports %llu", v->name, n + n / 2,
              (unsigned long long)facts.adds);
        distinct_near(v, "built", f, (double)n);
        after_reload(v, "built and reloaded", f, (double)n, n + n / 2);
        CHECK(facts.kind == v->kind && strcmp(facts.format, "tamis") == 0, "%s: kind", v->name);
        CHECK(facts.fill >= 0 && facts.fill <= 1, "%s: fill %g", v->name, facts.fill);
        CHECK(facts.fpr_target == fpr, "%s: fpr_target", v->name);
        CHECK(facts.fpr_now >= 0 && facts.fpr_now <= fpr * 1.000001 && !facts.over_capacity,
              "%s: %zu keys, fpr_now %g of %g", v->name, n, facts.fpr_now, fpr);
        CHECK((facts.fpr_now == 0) == (n == 0), "%s: %zu keys, fpr_now %g", v->name, n,
              facts.fpr_now);
        CHECK((v->caps & TAMIS_IS_STATIC) == 0 || facts.headroom == 0, "%s: headroom of a static",
              v->name);
        CHECK(facts.prehashed && !facts.keyed && !facts.readonly, "%s: flags", v->name);
        CHECK(facts.caps == v->caps, "%s: caps %x, of its kind %x", v->name, (unsigned)facts.caps,
              (unsigned)v->caps);
        CHECK(facts.encoded_bytes == tamis_encoded_size(f), "%s: encoded_bytes", v->name);
    }
    tamis_free(f);
    free(hashes);
}

/* Headroom is correct: with that many more keys the false positive rate still holds, and each add
 * lowers it by one (or less, for a repeat). */
static void headroom(const struct variant *v, double fpr, size_t capacity) {
    uint64_t *hashes = hashes_make(capacity, run_seed() + capacity, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, capacity, fpr);
    if (f == NULL) return;
    if ((v->caps & TAMIS_CAN_GROW) != 0) {
        CHECK(facts_of(f).headroom == UINT64_MAX, "%s: headroom", v->name);
        tamis_free(f);
        free(hashes);
        return;
    }
    CHECK(facts_of(f).headroom >= capacity, "%s: empty, made for %zu, headroom %llu", v->name,
          capacity, (unsigned long long)facts_of(f).headroom);
    size_t done = 0;
    for (size_t part = 1; part <= 4; part++) {
        const size_t until = capacity * part / 4;
        tamis_add_hash_batch(f, hashes + done, until - done, NULL, NULL);
        done = until;
        const tamis_facts facts = facts_of(f);
        const double left = (double)(capacity - done), slack = 0.1 * (double)capacity + 30;
        CHECK((double)facts.headroom >= left - slack, "%s: %zu of %zu keys in, headroom %llu",
              v->name, done, capacity, (unsigned long long)facts.headroom);
        CHECK((double)facts.headroom <= left + 0.6 * (double)capacity + 200,
              "%s: %zu of %zu keys in, headroom %llu", v->name, done, capacity,
              (unsigned long long)facts.headroom);
        CHECK(!facts.over_capacity, "%s: over capacity at %zu of %zu", v->name, done, capacity);
        distinct_near(v, "filling", f, (double)done);
    }
    tamis_free(f);
    free(hashes);
}

static void merged(const struct variant *v, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed() + n, STREAM_MEMBERS);
    tamis_filter *a = variant_create(v, n, 0.01), *b = variant_create(v, n, 0.01);
    if (a != NULL && b != NULL) {
        tamis_add_hash_batch(a, hashes, n / 2, NULL, NULL);
        tamis_add_hash_batch(b, hashes + n / 4, n - n / 4, NULL, NULL);
        CHECK(tamis_merge(a, b, TAMIS_UNION) == TAMIS_OK, "%s: union", v->name);
        distinct_near(v, "union", a, (double)n);
        CHECK(facts_of(a).adds == n / 2 + n - n / 4, "%s: adds of a union: %llu", v->name,
              (unsigned long long)facts_of(a).adds);
        after_reload(v, "union reloaded", a, (double)n, n / 2 + n - n / 4);
    }
    tamis_free(a);
    tamis_free(b);
    free(hashes);
}

static void removed(const struct variant *v, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed() + n, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, n, 0.01);
    if (f != NULL) {
        tamis_add_hash_batch(f, hashes, n, NULL, NULL);
        tamis_remove_hash_batch(f, hashes, n / 3, NULL);
        distinct_near(v, "removed a third", f, (double)(n - n / 3));
        CHECK(facts_of(f).adds == n - n / 3, "%s: adds less removes", v->name);
        after_reload(v, "removed and reloaded", f, (double)(n - n / 3), n - n / 3);
    }
    tamis_free(f);
    free(hashes);
}

/* A file may claim a capacity that a double cannot represent exactly. */
static void boundless(const struct variant *v) {
    tamis_filter *f = variant_create(v, 100, 0.01);
    if (f == NULL) return;
    struct bytes bytes = bytes_of(f);
    tamis_free(f);
    f = NULL;
    memset(bytes.data + AT_CAPACITY, 0xff, 8);
    repair_sums(bytes.data, bytes.size);
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &f) == TAMIS_OK, "%s: decode", v->name);
    const uint64_t headroom = f == NULL ? 0 : facts_of(f).headroom;
    CHECK(headroom == UINT64_MAX, "%s: made for 2^64 - 1 keys, headroom %llu", v->name,
          (unsigned long long)headroom);
    tamis_free(f);
    bytes_free(&bytes);
}

/* counting converts to bloom, with the same answers; no other kind converts. */
static void converted(const struct variant *v) {
    uint64_t hashes[500];
    hashes_fill(hashes, 500, 0, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_build(v, 0.01, hashes, 500);
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); f != NULL && k != TAMIS_AUTO;
         k = tamis_kind_next(k)) {
        tamis_filter *g = f;
        const tamis_status status = tamis_convert(f, k, &g);
        if (v->kind == TAMIS_COUNTING && k == TAMIS_BLOOM) {
            CHECK(status == TAMIS_OK && g != NULL, "counting to bloom gave %s",
                  tamis_status_name(status));
            if (g == NULL) continue;
            CHECK(facts_of(g).kind == TAMIS_BLOOM, "counting to bloom is no bloom");
            CHECK(tamis_contains_hash_batch(g, hashes, 500, NULL) == 500, "conversion lost a key");
            CHECK(hits_in_stream(f, 50000, 0, run_seed(), STREAM_PROBES) ==
                      hits_in_stream(g, 50000, 0, run_seed(), STREAM_PROBES),
                  "conversion changed answers");
            CHECK(facts_of(g).adds == 500 && facts_of(g).seed == facts_of(f).seed,
                  "conversion lost adds or seed");
            after_reload(v, "converted", g, 500, 500);
        } else if (k != v->kind) {
            CHECK(status == TAMIS_E_CONVERT && g == NULL, "%s to %s gave %s", v->name,
                  tamis_kind_name(k), tamis_status_name(status));
        } else {
            CHECK(status == TAMIS_OK ? g != NULL : status == TAMIS_E_CONVERT && g == NULL,
                  "%s to itself gave %s", v->name, tamis_status_name(status));
        }
        if (g != f) tamis_free(g);
    }
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "facts");
    static const double fprs[] = {0.1, 0.01, 1e-4};
    static const size_t sizes[] = {0, 1, 10, 100, 1000, 10000, 300000};
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
                built(v, fprs[r], sizes[s]);
                if ((v->caps & TAMIS_CAN_ADD) != 0) headroom(v, fprs[r], sizes[s]);
            }
            if ((v->caps & TAMIS_CAN_UNION) != 0) merged(v, sizes[s]);
            if ((v->caps & TAMIS_CAN_REMOVE) != 0) removed(v, sizes[s]);
        }
        if ((v->caps & TAMIS_CAN_ADD) != 0) boundless(v);
        converted(v);
    }
    return run_end();
}
