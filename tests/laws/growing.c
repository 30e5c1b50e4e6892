/* growing.c - a filter without a capacity keeps its false positive rate and every key, however
 * large it gets; prints what a query costs (the number of stages)
 *
 * tests: full */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

#define PIECE 1000

static void grow(const struct variant *v, uint64_t capacity, double fpr, uint64_t max) {
    tamis_filter *f = variant_create(v, capacity, fpr);
    uint64_t hashes[PIECE], next_check = 1, n = 0;
    uint64_t not_fresh = 0;
    bool fresh[PIECE];
    while (f != NULL && n < max) {
        size_t piece = next_check - n < PIECE ? (size_t)(next_check - n) : PIECE;
        if (piece > max - n) piece = (size_t)(max - n);
        hashes_fill(hashes, piece, n, run_seed(), STREAM_MEMBERS);
        if (n % 3 == 0) {
            const tamis_status status = tamis_add_hash_batch(f, hashes, piece, fresh, NULL);
            CHECK(status == TAMIS_OK, "%s: add at %llu: %s", v->name, (unsigned long long)n,
                  tamis_status_name(status));
        } else {
            for (size_t i = 0; i < piece; i++) tamis_add_hash(f, hashes[i], &fresh[i]);
        }
        for (size_t i = 0; i < piece; i++) not_fresh += !fresh[i];
        n += piece;
        if (n != next_check && n != max) continue;
        next_check *= 10;
        const uint64_t probes = run_pick(100000, 1000000, 10000000);
        const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
        const uint64_t found = hits_in_stream(f, n, 0, run_seed(), STREAM_MEMBERS);
        const tamis_facts facts = facts_of(f);
        CHECK(found == n, "%s from %llu at %g: %llu of %llu keys found", v->name,
              (unsigned long long)capacity, fpr, (unsigned long long)found, (unsigned long long)n);
        CHECK(hits <= binomial_max(probes, fpr, 4), "%s from %llu: %llu keys: rate %g of %g",
              v->name, (unsigned long long)capacity, (unsigned long long)n,
              (double)hits / (double)probes, fpr);
        CHECK(facts.fpr_now <= fpr * 1.0001 && !facts.over_capacity,
              "%s: reports a rate of %g, promised %g", v->name, facts.fpr_now, fpr);
        CHECK(facts.headroom == UINT64_MAX, "%s: headroom", v->name);
        CHECK(facts.adds == n, "%s: adds", v->name);
        const double off = facts.distinct - (double)n, error = 5 * facts.distinct_error;
        CHECK((off < 0 ? -off : off) <= (error > 0.02 * (double)n ? error : 0.02 * (double)n) + 1,
              "%s: %llu keys, distinct %g +- %g", v->name, (unsigned long long)n, facts.distinct,
              facts.distinct_error);
        if (n == max) {
            printf(
                "growing: %-14s from %4llu, rate %-6g n %9llu: %2u stages, %.2f bits/key, "
                "measured %.3g\n",
                v->name, (unsigned long long)capacity, fpr, (unsigned long long)n,
                (unsigned)facts.stages, facts.bits_per_key, (double)hits / (double)probes);
            /* Stages must grow like the logarithm of the size. */
            CHECK(facts.stages <= 64, "%s: %u stages", v->name, (unsigned)facts.stages);
        }
        count_up("probes", probes + n);
    }
    /* New keys are false positives no more often than the rate allows. */
    CHECK(not_fresh <= binomial_max(max, fpr, 4), "%s: %llu of %llu new keys were not fresh",
          v->name, (unsigned long long)not_fresh, (unsigned long long)max);
    count_up("adds", max);
    tamis_free(f);
}

/* Every filter that can be made can grow: a rate that later stages do not reach is refused at
 * creation. */
static void grow_or_refuse(void) {
    static const tamis_kind stages[] = {TAMIS_AUTO, TAMIS_BLOOM, TAMIS_BLOCK, TAMIS_COUNTING};
    const uint64_t max = run_pick(3000, 30000, 300000);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (double fpr = 1e-5; fpr > 1e-19; fpr /= 3) {
            tamis_options o = TAMIS_OPTIONS_INIT;
            o.kind = TAMIS_GROWING;
            o.stage = stages[i];
            o.capacity = 1;
            o.fpr = fpr;
            tamis_filter *f = NULL;
            tamis_status status = tamis_create(&o, &f);
            CHECK(status == TAMIS_OK || status == TAMIS_E_FPR_TOO_LOW, "stage %d at %g: %s",
                  stages[i], fpr, tamis_status_name(status));
            const bool made = status == TAMIS_OK;
            for (uint64_t n = 0; status == TAMIS_OK && n < max; n++) {
                status = tamis_add_hash(f, tamis_hash_integer(n), NULL);
                CHECK(status == TAMIS_OK, "stage %d at %g: key %llu: %s", stages[i], fpr,
                      (unsigned long long)n, tamis_status_name(status));
            }
            const double now = made ? facts_of(f).fpr_now : fpr;
            CHECK(now > 0 && now <= fpr, "stage %d at %g: the rate is %g", stages[i], fpr, now);
            tamis_free(f);
        }
    }
}

static uint64_t load64(const uint8_t *at) {
    uint64_t x = 0;
    for (unsigned i = 0; i < 8; i++) x |= (uint64_t)at[i] << (8 * i);
    return x;
}

/* A first stage that matches everything hides the others.  We write no such file, but one may
 * exist; its facts must still be finite numbers. */
static void hidden_stages(const struct variant *v) {
    tamis_filter *f = variant_create(v, 100, 0.01);
    for (uint64_t n = 0; f != NULL && n < 150; n++) tamis_add_hash(f, tamis_hash_integer(n), NULL);
    if (f == NULL) return;
    struct bytes bytes = bytes_of(f);
    tamis_free(f);
    f = NULL;
    for (unsigned stage = 0; stage < 2; stage++) {
        const uint8_t *entry = bytes.data + HEADER_BYTES + 128 * stage; /* doc/format.md */
        memset(bytes.data + HEADER_BYTES + load64(entry + 24), stage == 0 ? 0xff : 0,
               (size_t)load64(entry + 32));
    }
    repair_sums(bytes.data, bytes.size);
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &f) == TAMIS_OK, "%s: decode", v->name);
    if (f != NULL) {
        const tamis_facts facts = facts_of(f);
        CHECK(facts.stages == 2 && facts.fpr_now == 1 && facts.over_capacity,
              "%s: %u stages, the first full: rate %g", v->name, (unsigned)facts.stages,
              facts.fpr_now);
        CHECK(isfinite(facts.distinct) && isfinite(facts.distinct_error),
              "%s: its first stage is full: %g keys, +- %g", v->name, facts.distinct,
              facts.distinct_error);
    }
    tamis_free(f);
    bytes_free(&bytes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "growing");
    static const uint64_t capacities[] = {0, 1, 100, 100000};
    static const double fprs[] = {0.1, 0.01, 1e-4};
    const uint64_t max = run_pick(50000, 1000000, 10000000);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & TAMIS_CAN_GROW) == 0) continue;
        hidden_stages(v);
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
                const bool long_run = fprs[r] == 0.01 || run_effort() == EFFORT_FULL;
                grow(v, capacities[c], fprs[r], long_run ? max : max / 5);
            }
        }
    }
    grow_or_refuse();
    return run_end();
}
