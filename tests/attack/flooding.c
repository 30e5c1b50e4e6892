/* flooding.c - an attacker fills a cuckoo filter with few keys
 *
 * A cuckoo filter stores a key in one of a few slots.  In public mode the attacker computes them
 * (doc/format.md) and adds keys that all share a small region: the filter is full for them long
 * before its capacity, and what was stored for chance collisions is used up.
 *
 * In keyed mode the attacker cannot compute slots.  It adds the keys of the public attack, and
 * then adaptively prefers keys that the filter reports as members already, since these share the
 * slots of another key.  All keys up to the capacity must be accepted.
 *
 * tests: full */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/attacker.h"
#include "../support/hostile.h"

#define CAPACITY 10000
#define REGION 16 /* first slots of the windows that the attacker uses */

/* ---- the slots of a key, as doc/format.md has them */

struct layout {
    uint64_t windows, fingerprints;
};

static uint64_t get64(const uint8_t *from) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | from[i];
    return value;
}

static struct layout layout_of(const tamis_filter *f) {
    struct bytes bytes = bytes_of(f);
    const uint64_t slots = get64(bytes.data + AT_SHAPE), width = get64(bytes.data + AT_SHAPE + 8);
    const uint64_t window = get64(bytes.data + AT_SHAPE + 16);
    const struct layout l = {slots - window + 1, (((uint64_t)1 << width) - 1) / (2 * window)};
    bytes_free(&bytes);
    return l;
}

/* The upper half of a product by a number of less than 32 bits, and the lower half. */
static uint64_t times(uint64_t a, uint64_t b, uint64_t *low) {
    *low = a * b;
    return ((a >> 32) * b + ((a & UINT32_MAX) * b >> 32)) >> 32;
}

/* All keys of one fingerprint whose first windows begin in the region: their second windows are a
 * region of the same size. */
static bool is_in_region(const struct layout *l, uint64_t hash) {
    uint64_t fraction, rest;
    hash ^= hash >> 30;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 27;
    hash *= UINT64_C(0x94d049bb133111eb);
    const uint64_t fingerprint = times(hash, l->fingerprints, &fraction);
    return fingerprint == 0 && times(fraction, l->windows, &rest) < REGION;
}

/* ---- the attacks */

static tamis_filter *create(uint64_t capacity, const uint8_t *secret) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    o.kind = TAMIS_CUCKOO;
    o.capacity = capacity;
    o.fpr = 0.01;
    o.secret = secret;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "create");
    return f;
}

/* Distinct keys that flood a filter of public mode. */
static size_t choose(const tamis_filter *f, uint64_t *keys, size_t wanted) {
    const struct layout l = layout_of(f);
    size_t n = 0;
    uint64_t i = 0;
    for (; n < wanted && i < UINT64_C(100000000); i++) {
        const uint64_t key = attack_key(ATTACK_CANDIDATES, i);
        if (is_in_region(&l, tamis_hash(f, &key, sizeof key))) keys[n++] = key;
    }
    count_up("candidates", i);
    return n;
}

static size_t add_all(tamis_filter *f, const uint64_t *keys, size_t count) {
    size_t n = 0;
    while (n < count && attack_add(f, keys[n], NULL) == TAMIS_OK) n++;
    return n;
}

static void flood_public(const uint64_t *keys, size_t count) {
    tamis_filter *f = create(CAPACITY, NULL);
    if (f == NULL) return;
    const size_t accepted = add_all(f, keys, count);
    printf("flooding: cuckoo: public: full after %zu of %d keys\n", accepted, CAPACITY);
    CHECK(accepted < count && accepted < 200, "control: %zu chosen keys were accepted", accepted);
    for (size_t i = 0; i < accepted; i++) {
        CHECK(attack_contains(f, keys[i]), "chosen key %zu is a false negative", i);
    }
    tamis_free(f);
}

static void flood_keyed(const uint64_t *chosen, size_t count) {
    tamis_filter *f = create(CAPACITY, attack_secret);
    if (f == NULL) return;
    CHECK(add_all(f, chosen, count) == count, "keys chosen for another hash are refused");
    const size_t rest = CAPACITY - count;
    uint64_t *keys = NEED(uint64_t, rest);
    for (size_t i = 0; i < rest; i++) keys[i] = attack_key(ATTACK_MEMBERS, i);
    const size_t accepted = add_all(f, keys, rest);
    printf("flooding: cuckoo: keyed: accepted %zu of %d keys\n", count + accepted, CAPACITY);
    CHECK(accepted == rest, "only %zu keys of %d were accepted", count + accepted, CAPACITY);
    free(keys);
    tamis_free(f);
}

struct flood {
    uint64_t capacity;
    uint64_t tries;   /* candidates that the attacker looks up for each key that it adds */
    bool only_absent; /* the application adds no key that is reported as a member */
    uint64_t next;    /* candidate */
    uint64_t done;    /* operations of the attacker */
    uint64_t collisions, refused, refused_others;
};

/* Adds the first candidate that is reported as a member: it shares the slots of another key. */
static void add_collision(tamis_filter *f, struct flood *a) {
    uint64_t key = 0;
    bool there = false;
    for (uint64_t i = 0; i < a->tries && !there; i++, a->done++) {
        key = attack_key(ATTACK_CANDIDATES, a->next++);
        there = attack_contains(f, key);
    }
    while (there && a->only_absent) {
        key = attack_key(ATTACK_CANDIDATES, a->next++);
        there = attack_contains(f, key);
        a->done++;
    }
    a->done++;
    a->collisions += there;
    a->refused += attack_add(f, key, NULL) != TAMIS_OK;
}

/* The attacker and other users add a key each in turn, up to the capacity. */
static struct flood flood_adaptively(struct flood a) {
    tamis_filter *f = create(a.capacity, attack_secret);
    if (f == NULL) return a;
    for (uint64_t n = 0; n < a.capacity / 2; n++) {
        const uint64_t other = attack_key(ATTACK_MEMBERS, n);
        add_collision(f, &a);
        const bool added = attack_add(f, other, NULL) == TAMIS_OK;
        a.refused_others += !added;
        CHECK(!added || attack_contains(f, other), "key %llu is missing", (unsigned long long)n);
    }
    printf(
        "flooding: cuckoo: keyed, adaptive%s: %llu operations, %llu collisions in a capacity of "
        "%llu: refused %llu of the attacker's keys, %llu keys of others\n",
        a.only_absent ? ", absent keys only" : "", (unsigned long long)a.done,
        (unsigned long long)a.collisions, (unsigned long long)a.capacity,
        (unsigned long long)a.refused, (unsigned long long)a.refused_others);
    count_up("adaptive operations", a.done);
    tamis_free(f);
    return a;
}

/* With 10 lookups for each key of the capacity the attacker gains nothing.  With 100 it finds
 * collisions for a quarter of the keys that it adds, and the fullest slots refuse some keys: so do
 * they if keys are added several times.  An application that adds no key which is reported as a
 * member prevents both. */
static void flood_keyed_adaptively(void) {
    const uint64_t operations = run_pick(20000, 200000, 1000000);
    const struct flood usual = {.capacity = operations / 10, .tries = 20};
    const struct flood dense = {.capacity = operations / 100, .tries = 200};
    struct flood a = flood_adaptively(usual);
    CHECK(a.refused == 0 && a.refused_others == 0, "keys were refused below the capacity");
    CHECK(a.collisions > 0, "no collision was found");
    a = flood_adaptively(dense);
    CHECK(a.refused_others * 20 < a.capacity, "%llu keys of others were refused",
          (unsigned long long)a.refused_others);
    struct flood guarded = dense;
    guarded.only_absent = true;
    a = flood_adaptively(guarded);
    CHECK(a.refused == 0 && a.refused_others == 0, "keys were refused below the capacity");
}

int main(int argc, char **argv) {
    run_start(argc, argv, "attack flooding");
    tamis_filter *f = create(CAPACITY, NULL);
    uint64_t keys[200];
    const size_t wanted = sizeof keys / sizeof *keys, found = choose(f, keys, wanted);
    CHECK(found == wanted, "only %zu keys of the region", found);
    flood_public(keys, found);
    flood_keyed(keys, found);
    flood_keyed_adaptively();
    tamis_free(f);
    return run_end();
}
