/* keyed.c - keyed mode and composite keys
 *
 * A keyed filter hashes with SipHash-2-4 (the published vectors), cannot be opened without its
 * secret or with another, never writes the secret, and a false positive of one is
 * independent of another's.  Composite keys are unambiguous. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/siphash_vectors.h"

static const uint8_t secret_a[TAMIS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                     8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t secret_b[TAMIS_SECRET_BYTES] = {
    0xf1, 0x5c, 0x33, 0x9a, 0x07, 0xe2, 0x41, 0xd8, 0x8e, 0x26, 0xbf, 0x60, 0x14, 0xcb, 0x7d, 0x95};

static tamis_filter *keyed_build(const struct variant *v, const struct keyset *set,
                                 const uint8_t *secret, double fpr) {
    tamis_options o = variant_options(v, 0, fpr);
    uint8_t copy[TAMIS_SECRET_BYTES];
    o.secret = secret;
    if (secret != NULL) { /* the library must have its own copy */
        memcpy(copy, secret, sizeof copy);
        o.secret = copy;
    }
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build(&o, set->keys, set->lengths, set->count, &f);
    CHECK(status == TAMIS_OK, "%s: keyed build: %s", v->name, tamis_status_name(status));
    memset(copy, 0xee, sizeof copy);
    return f;
}

static void published_vectors(const struct variant *v) {
    const struct keyset none = {.count = 0};
    tamis_filter *f = keyed_build(v, &none, secret_a, 0.01);
    uint8_t message[SIPHASH_VECTORS];
    for (unsigned i = 0; f != NULL && i < SIPHASH_VECTORS; i++) {
        message[i] = (uint8_t)i;
        const uint64_t got = tamis_hash(f, message, i);
        CHECK(got == siphash_vectors[i], "%s: SipHash-2-4 of %u bytes: %016llx", v->name, i,
              (unsigned long long)got);
        CHECK(tamis_hash_secret(secret_a, message, i) == got,
              "%s: hashed without a filter: %u bytes", v->name, i);
    }
    const void *keys[SIPHASH_VECTORS];
    size_t lengths[SIPHASH_VECTORS];
    uint64_t hashes[SIPHASH_VECTORS];
    for (unsigned i = 0; i < SIPHASH_VECTORS; i++) {
        keys[i] = message;
        lengths[i] = i;
    }
    tamis_hash_secret_batch(secret_a, keys, lengths, SIPHASH_VECTORS, hashes);
    for (unsigned i = 0; f != NULL && i < SIPHASH_VECTORS; i++) {
        CHECK(hashes[i] == siphash_vectors[i], "%s: hashed with others: %u bytes", v->name, i);
    }
    count_up("hash vectors", SIPHASH_VECTORS);
    tamis_free(f);
}

static bool occurs(const struct bytes *in, const uint8_t *what, size_t length) {
    for (size_t i = 0; i + length <= in->size; i++) {
        if (memcmp(in->data + i, what, length) == 0) return true;
    }
    return false;
}

/* Neither the secret nor a half of it, in either byte order. */
static void secret_is_not_stored(const struct variant *v, const struct bytes *bytes,
                                 const uint8_t *secret) {
    uint8_t reversed[TAMIS_SECRET_BYTES];
    for (size_t i = 0; i < sizeof reversed; i++) reversed[i] = secret[sizeof reversed - 1 - i];
    for (size_t half = 0; half < 2; half++) {
        CHECK(!occurs(bytes, secret + 8 * half, 8), "%s: half of the secret is in the file",
              v->name);
        CHECK(!occurs(bytes, reversed + 8 * half, 8), "%s: the secret is in the file, reversed",
              v->name);
    }
}

static void opening(const struct variant *v, const struct keyset *set) {
    tamis_filter *f = keyed_build(v, set, secret_b, 0.01), *g = NULL;
    if (f == NULL) return;
    struct bytes bytes = bytes_of(f);
    tamis_open_options open = TAMIS_OPEN_INIT;
    secret_is_not_stored(v, &bytes, secret_b);
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &g) == TAMIS_E_SECRET && g == NULL,
          "%s: decode without options", v->name);
    CHECK(tamis_decode(bytes.data, bytes.size, &open, &g) == TAMIS_E_SECRET && g == NULL,
          "%s: decode without the secret", v->name);
    CHECK(tamis_view(bytes.data, bytes.size, &open, &g) == TAMIS_E_SECRET && g == NULL,
          "%s: view without the secret", v->name);
    open.secret = secret_a;
    CHECK(tamis_decode(bytes.data, bytes.size, &open, &g) == TAMIS_E_WRONG_SECRET && g == NULL,
          "%s: decode with another secret", v->name);
    CHECK(tamis_view(bytes.data, bytes.size, &open, &g) == TAMIS_E_WRONG_SECRET && g == NULL,
          "%s: view with another secret", v->name);
    uint8_t nearly[TAMIS_SECRET_BYTES];
    for (unsigned bit = 0; bit < 8 * TAMIS_SECRET_BYTES; bit++) {
        memcpy(nearly, secret_b, sizeof nearly);
        nearly[bit / 8] = (uint8_t)(nearly[bit / 8] ^ (1u << (bit % 8)));
        open.secret = nearly;
        CHECK(tamis_decode(bytes.data, bytes.size, &open, &g) == TAMIS_E_WRONG_SECRET,
              "%s: a secret that differs in bit %u", v->name, bit);
    }
    open.secret = secret_b;
    CHECK(tamis_decode(bytes.data, bytes.size, &open, &g) == TAMIS_OK, "%s: decode", v->name);
    if (g != NULL) {
        CHECK(encodes_to(g, &bytes), "%s: keyed round trip", v->name);
        CHECK(tamis_contains_batch(g, set->keys, set->lengths, set->count, NULL) == set->count,
              "%s: keys after a keyed round trip", v->name);
        CHECK(facts_of(g).keyed && facts_of(g).hasher == TAMIS_HASH_SIP24, "%s: facts", v->name);
        tamis_filter *copy = NULL;
        CHECK(tamis_clone(g, &copy) == TAMIS_OK, "%s: clone", v->name);
        if (copy != NULL) {
            CHECK(
                tamis_contains_batch(copy, set->keys, set->lengths, set->count, NULL) == set->count,
                "%s: keys of a keyed clone", v->name);
        }
        tamis_free(copy);
    }
    tamis_free(g);
    tamis_free(f);
    bytes_free(&bytes);
}

/* A file that is not keyed opens with and without a secret. */
static void not_keyed(const struct variant *v, const struct keyset *set) {
    tamis_filter *f = keyed_build(v, set, NULL, 0.01), *g = NULL;
    if (f == NULL) return;
    CHECK(!facts_of(f).keyed && facts_of(f).hasher == TAMIS_HASH_XXH3, "%s: facts", v->name);
    struct bytes bytes = bytes_of(f);
    CHECK(tamis_decode(bytes.data, bytes.size, NULL, &g) == TAMIS_OK, "%s: decode", v->name);
    tamis_free(g);
    tamis_free(f);
    bytes_free(&bytes);
}

/* A false positive of one filter is one of another only by chance if their secrets differ, and
 * always if they have the same public hash (the control, which shows that the test can detect
 * it). */
static size_t attacks;

static void attack(const struct variant *v, const struct keyset *set) {
    const double fpr = 0.05;
    tamis_filter *a = keyed_build(v, set, secret_a, fpr), *b = keyed_build(v, set, secret_b, fpr);
    tamis_filter *c = keyed_build(v, set, NULL, fpr), *d = keyed_build(v, set, NULL, fpr);
    if (a == NULL || b == NULL || c == NULL || d == NULL) return;
    CHECK(facts_of(a).key_id != facts_of(b).key_id, "%s: key ids", v->name);
    struct bytes bytes = bytes_of(a);
    CHECK(!encodes_to(b, &bytes), "%s: two secrets, the same bytes", v->name);
    bytes_free(&bytes);
    uint64_t positive_a = 0, positive_both = 0, positive_c = 0, positive_cd = 0;
    const unsigned tries = (unsigned)run_pick(20000, 100000, 1000000);
    for (unsigned i = 0; i < tries; i++) {
        char key[24];
        const size_t length = (size_t)snprintf(key, sizeof key, "forged-%u", i);
        if (tamis_contains(a, key, length)) {
            positive_a++;
            positive_both += tamis_contains(b, key, length);
        }
        if (tamis_contains(c, key, length)) {
            positive_c++;
            positive_cd += tamis_contains(d, key, length);
        }
    }
    CHECK(positive_both <= binomial_max(positive_a, fpr, 4),
          "%s: %llu of %llu false positives of one keyed filter are those of another", v->name,
          (unsigned long long)positive_both, (unsigned long long)positive_a);
    CHECK(positive_cd == positive_c, "%s: control: filters without a secret differ", v->name);
    /* A kind far below its rate gives too few false positives. */
    if (positive_a > tries / 200 && positive_c > tries / 200) attacks++;
    count_up("forged keys", tries);
    tamis_free(a);
    tamis_free(b);
    tamis_free(c);
    tamis_free(d);
}

/* The builder must hash as the filter does. */
static void builder_hashes(const struct variant *v, const struct keyset *set) {
    tamis_options o = variant_options(v, 0, 0.01);
    o.secret = secret_a;
    tamis_builder *b = NULL;
    tamis_filter *f = NULL;
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: builder", v->name);
    if (b == NULL) return;
    uint64_t *hashes = NEED(uint64_t, set->count);
    tamis_builder_hash_batch(b, set->keys, set->lengths, set->count, hashes);
    for (size_t i = 0; i < set->count; i++) {
        const uint64_t hash = tamis_builder_hash(b, set->keys[i], set->lengths[i]);
        CHECK(hash == hashes[i], "%s: key %zu hashed alone and in a batch", v->name, i);
        const tamis_status status = i % 2 == 0 ? tamis_builder_add(b, set->keys[i], set->lengths[i])
                                               : tamis_builder_add_hash(b, hash);
        CHECK(status == TAMIS_OK, "%s: builder add: %s", v->name, tamis_status_name(status));
    }
    free(hashes);
    CHECK(tamis_builder_finish(b, &f) == TAMIS_OK, "%s: finish", v->name);
    if (f != NULL) {
        CHECK(tamis_contains_batch(f, set->keys, set->lengths, set->count, NULL) == set->count,
              "%s: keys of a keyed builder", v->name);
    }
    tamis_free(f);
    tamis_builder_free(b);
}

/* ------------------------------------------------------------------- composer */

#define RECORDS 20

static uint64_t record(tamis_composer *c, unsigned which) {
    switch (which) {
        case 0:
            tamis_compose_string(c, "ab"), tamis_compose_string(c, "c");
            break;
        case 1:
            tamis_compose_string(c, "a"), tamis_compose_string(c, "bc");
            break;
        case 2:
            tamis_compose_string(c, "abc");
            break;
        case 3:
            tamis_compose_string(c, "abc"), tamis_compose_string(c, "");
            break;
        case 4:
            tamis_compose_string(c, ""), tamis_compose_string(c, "abc");
            break;
        case 5:
            tamis_compose_integer(c, 1);
            break;
        case 6:
            tamis_compose_string(c, "1");
            break;
        case 7:
            tamis_compose_double(c, 1);
            break;
        case 8:
            tamis_compose_integer(c, -1);
            break;
        case 9:
            tamis_compose_integer(c, 1), tamis_compose_integer(c, 1);
            break;
        case 10:
            tamis_compose_bytes(c, "\1\0\0\0\0\0\0\0", 8);
            break;
        case 11:
            tamis_compose_bytes(c, NULL, 0);
            break;
        case 12:
            tamis_compose_bytes(c, NULL, 0), tamis_compose_bytes(c, NULL, 0);
            break;
        case 13:
            tamis_compose_integer(c, 1), tamis_compose_string(c, "x");
            break;
        case 14:
            tamis_compose_string(c, "x"), tamis_compose_integer(c, 1);
            break;
        case 15:
            tamis_compose_integer(c, 256);
            break;
        case 16:
            tamis_compose_double(c, -1);
            break;
        case 17:
            tamis_compose_unsigned(c, UINT64_C(1) << 63);
            break;
        case 18:
            tamis_compose_bytes(c, "abc\0", 4);
            break;
        default:
            break; /* no field at all */
    }
    return tamis_composer_finish(c);
}

static void composing(const struct variant *v, const uint8_t *secret) {
    tamis_options o = variant_options(v, 0, 0.01);
    tamis_filter *f = NULL;
    tamis_composer *c = NULL;
    uint64_t hashes[RECORDS];
    o.secret = secret;
    CHECK(tamis_build(&o, NULL, NULL, 0, &f) == TAMIS_OK, "%s: build", v->name);
    if (f == NULL) return;
    CHECK(tamis_composer_create(f, &c) == TAMIS_OK, "%s: composer", v->name);
    for (unsigned i = 0; c != NULL && i < RECORDS; i++) {
        hashes[i] = record(c, i);
        CHECK(record(c, i) == hashes[i], "%s: record %u has two hashes", v->name, i);
        for (unsigned j = 0; j < i; j++) {
            CHECK(hashes[i] != hashes[j], "%s: records %u and %u are the same key", v->name, i, j);
        }
        count_up("records", 1);
    }
    /* A large field, whole and in parts. */
    if (c != NULL) {
        uint8_t *large = NEED(uint8_t, 100000);
        tamis_compose_bytes(c, large, 100000);
        const uint64_t one = tamis_composer_finish(c);
        tamis_compose_bytes(c, large, 99999);
        CHECK(one != tamis_composer_finish(c), "%s: a byte more or less", v->name);
        tamis_compose_bytes(c, large, 50000);
        tamis_compose_bytes(c, large + 50000, 50000);
        CHECK(one != tamis_composer_finish(c), "%s: one field or two", v->name);
        free(large);
    }
    tamis_composer_free(c);
    tamis_composer_free(NULL);
    tamis_free(f);
}

/* Composite keys added to a builder are in its filter: the filter's composer finds them. */
static void composing_for_builder(const struct variant *v, const uint8_t *secret) {
    tamis_options o = variant_options(v, 0, 0.01);
    tamis_builder *b = NULL;
    tamis_composer *c = NULL;
    tamis_filter *f = NULL;
    o.secret = secret;
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: builder", v->name);
    CHECK(tamis_builder_composer(b, &c) == TAMIS_OK, "%s: builder's composer", v->name);
    uint64_t added[RECORDS];
    for (unsigned i = 0; c != NULL && i < RECORDS; i++) {
        added[i] = record(c, i);
        CHECK(tamis_builder_add_hash(b, added[i]) == TAMIS_OK, "%s: add record %u", v->name, i);
    }
    CHECK(tamis_builder_finish(b, &f) == TAMIS_OK, "%s: finish", v->name);
    tamis_builder_free(b);
    tamis_composer_free(c);
    c = NULL;
    CHECK(tamis_composer_create(f, &c) == TAMIS_OK, "%s: filter's composer", v->name);
    for (unsigned i = 0; c != NULL && i < RECORDS; i++) {
        const uint64_t hash = record(c, i);
        CHECK(hash == added[i] && tamis_contains_hash(f, hash), "%s: record %u is missing", v->name,
              i);
        count_up("composite keys built", 1);
    }
    tamis_composer_free(c);
    tamis_free(f);
}

/* The composer hashes with the filter's seed or secret. */
static void composing_depends(void) {
    uint64_t hashes[4];
    for (unsigned i = 0; i < 4; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        tamis_composer *c = NULL;
        o.kind = TAMIS_BLOOM;
        o.capacity = 10;
        o.seed = i == 1;
        o.secret = i == 2 ? secret_a : i == 3 ? secret_b : NULL;
        CHECK(tamis_create(&o, &f) == TAMIS_OK, "create");
        if (f == NULL || tamis_composer_create(f, &c) != TAMIS_OK) return;
        hashes[i] = record(c, 0);
        CHECK(
            tamis_add_hash(f, hashes[i], NULL) == TAMIS_OK && tamis_contains_hash(f, record(c, 0)),
            "a composite key");
        for (unsigned j = 0; j < i; j++) {
            CHECK(hashes[i] != hashes[j], "composers %u and %u hash alike", i, j);
        }
        tamis_composer_free(c);
        tamis_free(f);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "keyed");
    struct keyset set;
    keyset_make(&set, KEYS_TEXT, 500, 10, run_seed());
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        published_vectors(v);
        opening(v, &set);
        not_keyed(v, &set);
        attack(v, &set);
        builder_hashes(v, &set);
        composing(v, NULL);
        composing(v, secret_b);
        composing_for_builder(v, NULL);
        composing_for_builder(v, secret_b);
    }
    CHECK(attacks >= 5 || run_filtered(), "only %zu kinds had enough false positives", attacks);
    composing_depends();
    keyset_free(&set);
    return run_end();
}
