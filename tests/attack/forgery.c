/* forgery.c - an attacker computes keys that the filter wrongly reports as members
 *
 * Public mode: the attacker has the bytes of the filter and searches its own copy for false
 * positives, offline.  Every one of them is a false positive of the victim's filter: of each kind,
 * and of each compatible format that the library creates (these have no keyed mode).
 *
 * Keyed mode, three attackers without the secret:
 *   - one with the file, which it edits into a filter of public mode that it can search;
 *   - one with the file and secrets of its own choice, none of which opens it;
 *   - one that may query filter A as often as it likes and tries the false positives of A on
 *     filter B, which has the same keys and another secret.
 * Forged keys must hit at the promised rate, as random keys do.
 *
 * Not covered: a key that the attacker has found by querying the victim's own filter.
 *
 * tests: full */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/attacker.h"
#include "../support/hostile.h"

#define FPR 0.01

enum { AT_HASHER = 18, AT_KEY_ID = 56 };

/* ---- public mode */

static void forge_public(const char *name, const char *format, const tamis_options *o) {
    const size_t wanted = (size_t)run_pick(20, 100, 1000);
    tamis_filter *victim = attack_build(o, ATTACK_MEMBERS, 2000);
    if (victim == NULL) return;
    tamis_filter *copy = attack_copy(victim, format);
    uint64_t *forged = NEED(uint64_t, wanted), next = 0;
    const size_t found =
        copy == NULL ? 0 : attack_search(copy, &next, wanted * UINT64_C(200000), forged, wanted);
    size_t hits = 0;
    for (size_t i = 0; i < found; i++) hits += attack_contains(victim, forged[i]);
    printf("forgery: %s: public %zu of %zu forged keys hit (%llu candidates)\n", name, hits, found,
           (unsigned long long)next);
    CHECK(found == wanted, "%s: control: only %zu false positives", name, found);
    CHECK(hits == found, "%s: control: only %zu of %zu forged keys hit", name, hits, found);
    count_up("forged keys", found);
    tamis_free(victim);
    tamis_free(copy);
    free(forged);
}

static void forge_formats(void) {
    const char *format;
    for (size_t i = 0; (format = tamis_format_at(i)) != NULL; i++) {
        if (strcmp(format, "tamis") == 0 || !tamis_format_can_create(format)) continue;
        if (!run_wants(format)) continue;
        tamis_options o = TAMIS_OPTIONS_INIT;
        o.format = format;
        o.capacity = 2000;
        o.fpr = FPR;
        /* The bare bits of libbloom 1.x come with their parameters. */
        const bool bare = strcmp(format, "libbloom1") == 0;
        forge_public(format, bare ? "libbloom1:entries=2000,error=0.01" : format, &o);
    }
    if (!run_wants("redisbloom")) return;
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = "redisbloom:cuckoo";
    o.capacity = 2000;
    forge_public(o.format, "redisbloom", &o);
}

/* ---- keyed mode: the attacker has the file */

/* The victim's table under a header of public mode. */
static tamis_filter *edited(const char *name, const struct bytes *file) {
    struct bytes copy = bytes_copy(file->data, file->size);
    tamis_filter *f = NULL;
    copy.data[AT_HASHER] = TAMIS_HASH_XXH3;
    memset(copy.data + AT_KEY_ID, 0, 8);
    repair_sums(copy.data, copy.size);
    const tamis_status status = tamis_decode(copy.data, copy.size, NULL, &f);
    CHECK(status == TAMIS_OK, "%s: edited file: %s", name, tamis_status_name(status));
    bytes_free(&copy);
    return f;
}

static void guess_secrets(const char *name, const struct bytes *file) {
    struct rng r = {run_seed()};
    const uint64_t guesses = run_pick(20, 100, 10000);
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    CHECK(tamis_decode(file->data, file->size, &how, &f) == TAMIS_E_SECRET, "%s: no secret", name);
    for (uint64_t i = 0; i < guesses; i++) {
        uint64_t secret[TAMIS_SECRET_BYTES / 8] = {rng_next(&r), rng_next(&r)};
        how.secret = (const uint8_t *)secret;
        CHECK(tamis_decode(file->data, file->size, &how, &f) == TAMIS_E_WRONG_SECRET,
              "%s: a guessed secret", name);
    }
    count_up("guessed secrets", guesses);
}

static void forge_from_file(const char *name, const tamis_filter *victim) {
    const size_t wanted = (size_t)run_pick(200, 2000, 10000);
    struct bytes file = bytes_of(victim);
    uint64_t *forged = NEED(uint64_t, wanted), next = 0, hits = 0;
    guess_secrets(name, &file);
    tamis_filter *copy = edited(name, &file);
    const size_t found =
        copy == NULL ? 0 : attack_search(copy, &next, wanted * UINT64_C(5000), forged, wanted);
    for (size_t i = 0; i < found; i++) hits += attack_contains(victim, forged[i]);
    printf("forgery: %s: keyed, with the file: %.4f, promised %g (%zu forged keys)\n", name,
           (double)hits / (double)(found + (found == 0)), FPR, found);
    CHECK(found == wanted, "%s: only %zu forged keys", name, found);
    attack_holds("forgery from the file", name, hits, found, FPR);
    count_up("forged keys", found);
    tamis_free(copy);
    bytes_free(&file);
    free(forged);
}

/* ---- keyed mode: the attacker queries another filter */

static void forge_from_queries(const char *name, const tamis_filter *a, const tamis_filter *b) {
    const uint64_t operations = run_pick(20000, 200000, 1000000);
    uint64_t done = 0, learnt = 0, hits = 0;
    struct {
        uint64_t base, number;
    } c = {0, 0};
    while (done < operations) {
        c.number++;
        done++;
        if (!tamis_contains(a, &c, sizeof c)) continue;
        learnt++;
        hits += tamis_contains(b, &c, sizeof c);
        c.base = c.number; /* the next candidates resemble it */
    }
    printf(
        "forgery: %s: keyed, from queries: %.4f, promised %g (%llu forged keys, "
        "%llu adaptive operations)\n",
        name, (double)hits / (double)(learnt + (learnt == 0)), FPR, (unsigned long long)learnt,
        (unsigned long long)done);
    CHECK(learnt > operations / 2000, "%s: only %llu false positives", name,
          (unsigned long long)learnt);
    attack_holds("learnt false positives", name, learnt, done, FPR);
    attack_holds("forgery from queries", name, hits, learnt, FPR);
    count_up("adaptive operations", done);
    count_up("forged keys", learnt);
}

static void forge_keyed(const struct variant *v) {
    tamis_options o = variant_options(v, 0, FPR);
    o.secret = attack_secret;
    tamis_filter *a = attack_build(&o, ATTACK_MEMBERS, 5000);
    o.secret = attack_other_secret;
    tamis_filter *b = attack_build(&o, ATTACK_MEMBERS, 5000);
    if (a != NULL && b != NULL) {
        forge_from_file(v->name, a);
        forge_from_queries(v->name, a, b);
    }
    tamis_free(a);
    tamis_free(b);
}

int main(int argc, char **argv) {
    const struct variant *v;
    run_start(argc, argv, "attack forgery");
    for (size_t i = 0; (v = variant_at(i)) != NULL; i++) {
        const tamis_options o = variant_options(v, 0, FPR);
        forge_public(v->name, NULL, &o);
        forge_keyed(v);
    }
    forge_formats();
    return run_end();
}
