/* rates.c - the false positive rate holds: measured <= requested within four standard deviations
 *
 * For each kind, rate and size: filters at capacity, queried for absent keys.  Over all sets of a
 * cell the bound is four standard deviations of the binomial distribution (exact); a single set is
 * allowed five, since there are thousands.  At small n many sets are tried, because sets differ
 * most there.
 *
 * Also: filters over capacity must report it and their rate, and (--full) a filter of more than
 * 2^32 bits.
 *
 * tests: full */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/filters.h"

static const double fprs[] = {0.3, 0.1, 0.01, 0.001, 1e-4, 1e-6};
#define FPRS (sizeof fprs / sizeof *fprs)

struct cell {
    const struct variant *v;
    double fpr;
    size_t n;
    uint64_t sets;
    uint64_t probes; /* of each set */
};

/* A set by bulk build, or (every other set of a kind that can) by create and add. */
static tamis_filter *filter_of_set(const struct cell *c, uint64_t set, uint64_t seed) {
    uint64_t *hashes = hashes_make(c->n, seed, STREAM_MEMBERS);
    tamis_filter *f = NULL;
    if ((c->v->caps & TAMIS_CAN_ADD) != 0 && set % 2 == 1) {
        f = variant_create(c->v, c->n, c->fpr);
        if (f != NULL) {
            const tamis_status status = tamis_add_hash_batch(f, hashes, c->n, NULL, NULL);
            CHECK(status == TAMIS_OK, "%s: %zu adds: %s", c->v->name, c->n,
                  tamis_status_name(status));
        }
    } else {
        f = variant_build(c->v, c->fpr, hashes, c->n);
    }
    free(hashes);
    return f;
}

static void measure(const struct cell *c) {
    uint64_t hits = 0, worst = 0;
    double bits = 0;
    for (uint64_t set = 0; set < c->sets; set++) {
        const uint64_t seed = run_seed() + set * 1000003 + c->n;
        tamis_filter *f = filter_of_set(c, set, seed);
        if (f == NULL) return;
        const uint64_t got = hits_in_stream(f, c->probes, 0, seed, STREAM_PROBES);
        const tamis_facts facts = facts_of(f);
        CHECK(facts.fpr_target == c->fpr, "%s: fpr_target %g", c->v->name, facts.fpr_target);
        CHECK(!facts.over_capacity && facts.fpr_now <= c->fpr * 1.000001,
              "%s: %zu keys at %g, set %llu: reports %g", c->v->name, c->n, c->fpr,
              (unsigned long long)set, facts.fpr_now);
        CHECK(got <= binomial_max(c->probes, c->fpr, 5),
              "%s: %zu keys at %g, set %llu: %llu hits in %llu, reports %g", c->v->name, c->n,
              c->fpr, (unsigned long long)set, (unsigned long long)got,
              (unsigned long long)c->probes, facts.fpr_now);
        worst = got > worst ? got : worst;
        hits += got;
        bits = facts.bits_per_key;
        tamis_free(f);
    }
    const uint64_t probes = c->probes * c->sets;
    CHECK(hits <= binomial_max(probes, c->fpr, 4),
          "%s: %zu keys at %g: measured %g over %llu sets and %llu probes", c->v->name, c->n,
          c->fpr, (double)hits / (double)probes, (unsigned long long)c->sets,
          (unsigned long long)probes);
    printf("rates: %-14s n %-8zu promised %-6g measured %-10.4g worst set %-10.4g %.2f bits/key\n",
           c->v->name, c->n, c->fpr, (double)hits / (double)probes,
           (double)worst / (double)c->probes, bits);
    count_up("probes", probes);
    count_up("sets", c->sets);
}

/* Enough probes for about `hits` expected hits, between bounds. */
static uint64_t probes_for(double fpr, double hits, uint64_t min, uint64_t max) {
    const double wanted = hits / fpr;
    if (wanted < (double)min) return min;
    return wanted > (double)max ? max : (uint64_t)wanted;
}

static void sizes_of(const struct variant *v, double fpr) {
    const uint64_t max = run_pick(300000, 10000000, 100000000);
    const uint64_t small_sets = run_pick(20, 200, 1000), middle_sets = run_pick(3, 20, 100);
    struct cell c = {.v = v, .fpr = fpr, .n = 10, .sets = small_sets};
    c.probes = probes_for(fpr, 100, 2000, max / 20);
    measure(&c);
    c.n = 1000;
    c.sets = middle_sets;
    c.probes = probes_for(fpr, 1000, 5000, max / 10);
    measure(&c);
    c.n = (size_t)run_pick(100000, 1000000, 1000000);
    c.sets = (v->caps & TAMIS_CAN_ADD) != 0 && run_effort() != EFFORT_QUICK && fpr > 0.005 ? 2 : 1;
    c.probes = probes_for(fpr, 3000, 200000, max);
    measure(&c);
    if (run_effort() == EFFORT_FULL) {
        c.n = 10000000;
        measure(&c);
    }
}

/* A filter of two or three times its capacity still answers, and reports that and its rate. */
static void overfill(const struct variant *v, double fpr, size_t capacity, size_t times) {
    const size_t n = capacity * times;
    uint64_t *hashes = hashes_make(n, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, capacity, fpr);
    if (f != NULL && CHECK(tamis_add_hash_batch(f, hashes, n, NULL, NULL) == TAMIS_OK,
                           "%s: %zu keys in a filter for %zu", v->name, n, capacity)) {
        const uint64_t probes = run_pick(400000, 4000000, 40000000);
        const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
        const double measured = (double)hits / (double)probes;
        const double noise = 4 * sqrt(measured / (double)probes);
        const tamis_facts facts = facts_of(f);
        CHECK(facts.over_capacity, "%s: %zu keys in a filter for %zu, and not over capacity: %g",
              v->name, n, capacity, facts.fpr_now);
        CHECK(facts.headroom == 0, "%s: headroom when overfilled", v->name);
        CHECK(fabs(facts.fpr_now - measured) <= 0.1 * measured + noise,
              "%s: for %zu at %g, holds %zu: reports %g, measured %g", v->name, capacity, fpr, n,
              facts.fpr_now, measured);
        CHECK(tamis_contains_hash_batch(f, hashes, n, NULL) == n, "%s: overfilled and lost a key",
              v->name);
        printf("rates: %-14s made for %zu at %g, holds %zu: reports %.4g, measured %.4g\n", v->name,
               capacity, fpr, n, facts.fpr_now, measured);
        count_up("probes", probes);
    }
    tamis_free(f);
    free(hashes);
}

/* Bit positions beyond 32 bits must all be reachable: with a table that uses only a part of
 * its range the rate would be far off. */
static void huge(const struct variant *v) {
    enum { PIECE = 1 << 16 };
    const uint64_t n = 460000000;
    const double fpr = 0.01;
    tamis_filter *f = variant_create(v, n, fpr);
    uint64_t *hashes = NEED(uint64_t, PIECE);
    if (f == NULL) return;
    CHECK(facts_of(f).table_bytes > ((uint64_t)1 << 29), "%s: not more than 2^32 bits", v->name);
    for (uint64_t at = 0; at < n; at += PIECE) {
        hashes_fill(hashes, PIECE, at, run_seed(), STREAM_MEMBERS);
        const size_t piece = n - at < PIECE ? (size_t)(n - at) : PIECE;
        const tamis_status status = tamis_add_hash_batch(f, hashes, piece, NULL, NULL);
        if (!CHECK(status == TAMIS_OK, "%s: add: %s", v->name, tamis_status_name(status))) break;
    }
    const uint64_t probes = 20000000;
    const uint64_t found = hits_in_stream(f, n / 10, 0, run_seed(), STREAM_MEMBERS);
    const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
    CHECK(found == n / 10, "%s: %llu of %llu keys", v->name, (unsigned long long)found,
          (unsigned long long)n / 10);
    CHECK(hits <= binomial_max(probes, fpr, 4), "%s: measured %g of %g", v->name,
          (double)hits / (double)probes, fpr);
    CHECK(hits > probes / 200, "%s: measured only %g", v->name, (double)hits / (double)probes);
    printf("rates: %-14s %llu keys in %llu bits: measured %.4g\n", v->name, (unsigned long long)n,
           (unsigned long long)facts_of(f).table_bytes * 8, (double)hits / (double)probes);
    count_up("probes", probes + n / 10);
    tamis_free(f);
    free(hashes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "rates");
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        for (size_t r = 0; r < FPRS; r++) sizes_of(v, fprs[r]);
        if ((v->caps & TAMIS_CAN_ADD) == 0 || (v->caps & TAMIS_CAN_GROW) != 0) continue;
        if (v->kind == TAMIS_CUCKOO) continue; /* becomes full instead */
        overfill(v, 0.01, 1000, 3);
        overfill(v, 0.01, 100000, 2);
        overfill(v, 0.001, 100000, 3);
        overfill(v, 0.1, 20000, 2);
    }
    if (run_effort() == EFFORT_FULL) {
        for (size_t i = 0; variant_at(i) != NULL; i++) {
            const tamis_kind k = variant_at(i)->kind;
            if (k == TAMIS_BLOOM || k == TAMIS_BLOCK) huge(variant_at(i));
        }
    }
    return run_end();
}
