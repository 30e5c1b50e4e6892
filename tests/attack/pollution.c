/* pollution.c - an attacker inserts keys that raise the false positive rate
 *
 * Public mode: the attacker has a copy of the filter and inserts, of many candidates, the key that
 * sets the most new bits.  n chosen keys set up to nk of m bits, where n random keys set
 * m (1 - e^(-nk/m)): at a promised rate of 1 % the Bloom filter reaches (nk/m)^k = 11 %.
 *
 * Keyed mode: the attacker sees only results.  It inserts only keys that the filter reports as
 * absent, since others set no bit, and derives candidates from false positives that it has found.
 * The rate, measured with these candidates, must stay at the promise.
 *
 * Not covered, in either mode: a key that is known to be a false positive stays one, and a filter
 * that accepts more keys than its capacity exceeds its rate.
 *
 * tests: full */
#include <stdio.h>

#include "../support/attacker.h"

#define FPR 0.01

static const tamis_kind kinds[] = {TAMIS_BLOOM, TAMIS_BLOCK, TAMIS_COUNTING};

static tamis_filter *create(tamis_kind kind, const char *format, uint64_t capacity,
                            const uint8_t *secret) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    o.kind = kind;
    o.format = format;
    o.capacity = capacity;
    o.fpr = FPR;
    o.secret = secret;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "create");
    return f;
}

/* ---- public mode */

/* The fill of a copy after one more key. */
static double fill_with(const tamis_filter *f, uint64_t key) {
    tamis_filter *trial;
    if (tamis_clone(f, &trial) != TAMIS_OK) return 0;
    CHECK(attack_add(trial, key, NULL) == TAMIS_OK, "add to a copy");
    const double fill = facts_of(trial).fill;
    tamis_free(trial);
    return fill;
}

/* The best of `tries` candidates; the first that sets as many new bits as a key can. */
static uint64_t choose(const tamis_filter *f, double gain_max, uint64_t tries, uint64_t *next) {
    const double fill = facts_of(f).fill;
    double best = -1;
    uint64_t chosen = 0;
    while (tries-- > 0) {
        const uint64_t key = attack_key(ATTACK_CANDIDATES, (*next)++);
        const double after = fill_with(f, key);
        if (after <= best) continue;
        best = after;
        chosen = key;
        if (after - fill > gain_max * 0.999) break;
    }
    return chosen;
}

static void pollute_public(tamis_kind kind, const char *format) {
    const uint64_t keys = run_pick(200, 1000, 4000), tries = run_pick(1000, 1500, 4000);
    const char *name = format != NULL ? format : tamis_kind_name(kind);
    tamis_filter *f = create(kind, format, keys, NULL), *honest = create(kind, format, keys, NULL);
    if (f == NULL || honest == NULL) return;
    uint64_t next = 0;
    double gain_max = 0;
    for (uint64_t i = 0; i < 50; i++) { /* some keys have a position twice */
        const double gain = fill_with(f, attack_key(ATTACK_PROBES, i));
        if (gain > gain_max) gain_max = gain;
    }
    for (uint64_t i = 0; i < keys; i++) {
        CHECK(attack_add(f, choose(f, gain_max, tries, &next), NULL) == TAMIS_OK, "add");
        CHECK(attack_add(honest, attack_key(ATTACK_MEMBERS, i), NULL) == TAMIS_OK, "add");
    }
    const double rate = attack_fpr(f, 200000), usual = attack_fpr(honest, 200000);
    printf("pollution: %s: public %.4f, random keys %.4f, promised %g (%llu keys of %llu)\n", name,
           rate, usual, FPR, (unsigned long long)keys, (unsigned long long)next);
    CHECK(rate > 2 * FPR && rate > 3 * usual, "%s: control: chosen keys give a rate of %g only",
          name, rate);
    count_up("candidates", next);
    tamis_free(f);
    tamis_free(honest);
}

/* ---- keyed mode */

struct candidate {
    uint64_t base, number;
};

static void pollute_keyed(tamis_kind kind) {
    const uint64_t operations = run_pick(20000, 200000, 1000000), keys = operations / 10;
    tamis_filter *f = create(kind, NULL, keys, attack_secret);
    struct candidate c = {0, 0};
    uint64_t done = 0, inserted = 0, trials = 0, hits = 0;
    if (f == NULL) return;
    while (done < operations) {
        bool fresh = false;
        c.number++;
        const bool there = tamis_contains(f, &c, sizeof c);
        done++;
        if (inserted < keys) {
            if (there) continue;
            CHECK(tamis_add(f, &c, sizeof c, &fresh) == TAMIS_OK && fresh, "add of an absent key");
            done++;
            inserted++;
            continue;
        }
        trials++;
        hits += there;
        if (there) c.base = c.number; /* the next candidates resemble it */
    }
    printf("pollution: %s: keyed %.4f, promised %g (%llu adaptive operations)\n",
           tamis_kind_name(kind), (double)hits / (double)trials, FPR, (unsigned long long)done);
    CHECK(inserted == keys && trials > operations / 2, "too few trials");
    attack_holds("pollution", tamis_kind_name(kind), hits, trials, FPR);
    CHECK(!facts_of(f).over_capacity, "%s: over capacity", tamis_kind_name(kind));
    count_up("adaptive operations", done);
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "attack pollution");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!run_wants(tamis_kind_name(kinds[i]))) continue;
        pollute_public(kinds[i], NULL);
        pollute_keyed(kinds[i]);
    }
    /* Its seeds are fixed and public: there is no keyed mode. */
    if (run_wants("redisbloom")) pollute_public(TAMIS_AUTO, "redisbloom:nonscaling");
    return run_end();
}
