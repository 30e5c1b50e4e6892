/* removal.c - an attacker removes keys that were never added
 *
 * Removing a false positive removes the counters or the fingerprint of other keys, which become
 * false negatives.  The application here lets its users remove keys that the filter reports as
 * members.
 *
 * Public mode: the attacker chooses a member, searches its own copy for a false positive whose
 * removal makes that member vanish, and removes it: one operation for one chosen member.
 *
 * Keyed mode: the attacker cannot compute such keys.  Those of the public attack hit at the
 * promised rate, and the chosen member stays.  But keyed mode does not prevent the removal of
 * false positives that the attacker finds by querying: one query in 1/FPR finds one, and its
 * removal loses a random member of a cuckoo filter, or up to k of a counting filter with k hashes.
 * An application that accepts removals from users that it does not trust must keep a record of
 * what each has added.
 *
 * tests: full */
#include <stdio.h>
#include <stdlib.h>

#include "../support/attacker.h"

#define FPR 0.01
#define MEMBERS 5000

static size_t lost(const tamis_filter *f, uint64_t members) {
    size_t n = 0;
    for (uint64_t i = 0; i < members; i++) n += !attack_contains(f, attack_key(ATTACK_MEMBERS, i));
    return n;
}

static bool take_out(tamis_filter *f, uint64_t key) {
    return attack_contains(f, key) && tamis_remove(f, &key, sizeof key) == TAMIS_OK;
}

static tamis_options options(tamis_kind kind, const char *format, const uint8_t *secret) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = kind;
    o.format = format;
    o.capacity = MEMBERS;
    o.fpr = format == NULL ? FPR : 0;
    o.secret = secret;
    return o;
}

/* ---- public mode */

/* A false positive whose removal makes `target` vanish, found with a copy of the filter. */
static bool forge(tamis_filter *copy, uint64_t target, uint64_t *next, uint64_t *forged) {
    for (uint64_t limit = UINT64_C(100000000); limit > 0; limit--) {
        *forged = attack_key(ATTACK_CANDIDATES, (*next)++);
        if (!take_out(copy, *forged)) continue;
        const bool gone = !attack_contains(copy, target);
        CHECK(attack_add(copy, *forged, NULL) == TAMIS_OK, "restoring the copy");
        if (gone) return true;
    }
    return false;
}

/* Removes chosen members of `victim`; `forged` receives the keys that the attacker computed. */
static void remove_chosen(const char *name, const char *format, tamis_filter *victim,
                          uint64_t *forged, size_t targets) {
    uint64_t next = 0;
    size_t gone = 0, removed = 0;
    for (size_t i = 0; i < targets; i++) {
        tamis_filter *copy = attack_copy(victim, format);
        const uint64_t target = attack_key(ATTACK_MEMBERS, 7 * i);
        if (copy == NULL) return;
        /* An earlier removal may have lost it already. */
        const bool there = attack_contains(victim, target);
        if (there && forge(copy, target, &next, &forged[i])) {
            removed += take_out(victim, forged[i]);
        }
        gone += !attack_contains(victim, target);
        tamis_free(copy);
    }
    printf(
        "removal: %s: public: %zu of %zu chosen members lost by %zu removals, %zu members in "
        "all (%llu candidates)\n",
        name, gone, targets, removed, lost(victim, MEMBERS), (unsigned long long)next);
    CHECK(gone == targets, "%s: control: only %zu of %zu chosen members are lost", name, gone,
          targets);
    count_up("forged removals", removed);
}

/* ---- keyed mode */

/* The keys that were forged for the public hash of the same members. */
static void replay(const char *name, const tamis_options *o, const uint64_t *forged,
                   size_t targets) {
    tamis_filter *victim = attack_build(o, ATTACK_MEMBERS, MEMBERS);
    size_t removed = 0, gone = 0;
    if (victim == NULL) return;
    for (size_t i = 0; i < targets; i++) {
        removed += take_out(victim, forged[i]);
        gone += !attack_contains(victim, attack_key(ATTACK_MEMBERS, 7 * i));
    }
    printf("removal: %s: keyed: %zu of %zu chosen members lost\n", name, gone, targets);
    attack_holds("forged removals", name, removed, targets, FPR);
    attack_holds("chosen members", name, gone, targets, FPR);
    tamis_free(victim);
}

/* Queries keys of its own choice and removes those that are reported as members. */
static void remove_adaptively(const char *name, tamis_options o) {
    const uint64_t operations = run_pick(5000, 50000, 1000000), members = operations / 10;
    o.capacity = members;
    tamis_filter *victim = attack_build(&o, ATTACK_MEMBERS, (size_t)members);
    uint64_t done = 0, queries = 0, removed = 0, next = 0;
    if (victim == NULL) return;
    const uint64_t each = o.kind == TAMIS_CUCKOO ? 1 : facts_of(victim).hashes;
    while (done < operations) {
        const uint64_t key = attack_key(ATTACK_CANDIDATES, next++);
        done++;
        queries++;
        if (!attack_contains(victim, key)) continue;
        done++;
        /* counting refuses a key that needs two of a counter which has one */
        removed += tamis_remove(victim, &key, sizeof key) == TAMIS_OK;
    }
    const size_t gone = lost(victim, members);
    printf(
        "removal: %s: keyed, adaptive: %zu of %llu members lost by %llu removals, %.4f of the "
        "queries, promised %g (%llu adaptive operations)\n",
        name, gone, (unsigned long long)members, (unsigned long long)removed,
        (double)removed / (double)queries, FPR, (unsigned long long)done);
    attack_holds("removed false positives", name, removed, queries, FPR);
    CHECK(gone <= removed * each, "%s: %zu members lost by %llu removals", name, gone,
          (unsigned long long)removed);
    CHECK(gone > 0, "%s: no member was lost: the text above is wrong", name);
    count_up("adaptive operations", done);
    tamis_free(victim);
}

static void attack(tamis_kind kind, const char *format) {
    const size_t targets = (size_t)run_pick(3, 10, 100);
    const char *name = format != NULL ? format : tamis_kind_name(kind);
    uint64_t *forged = NEED(uint64_t, targets);
    tamis_options o = options(kind, format, NULL);
    tamis_filter *victim = attack_build(&o, ATTACK_MEMBERS, MEMBERS);
    if (victim != NULL) {
        remove_chosen(name, format != NULL ? "redisbloom" : NULL, victim, forged, targets);
    }
    tamis_free(victim);
    o = options(kind, format, attack_secret);
    if (format == NULL) replay(name, &o, forged, targets);
    if (format == NULL) remove_adaptively(name, o);
    free(forged);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "attack removal");
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        if (!run_wants(tamis_kind_name(k)) || !(tamis_kind_caps(k) & TAMIS_CAN_REMOVE)) continue;
        attack(k, NULL);
    }
    /* Its seeds are fixed and public: there is no keyed mode. */
    if (run_wants("redisbloom")) attack(TAMIS_AUTO, "redisbloom:cuckoo");
    return run_end();
}
