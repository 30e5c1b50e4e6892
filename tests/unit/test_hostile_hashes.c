/* test_hostile_hashes.c - static filters are built from hashes that were chosen against them
 *
 * A caller may give hashes directly, and everything that decides where a key lies is public: a
 * build mixes the hash with a fixed bijection, a fuse filter derives the first slot from the upper
 * bits, and the salts of the attempts are a fixed sequence.  So hashes exist for which every
 * attempt at peeling fails.  The build then lists the keys that cannot be peeled.  Each set here is
 * such a set for some family; every family must build it, with and without threads, find every key,
 * keep its rate for others and read its own bytes back.
 *
 * tests: full */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/filters.h"
#include "../support/paths.h"
#include "build/peel.h"
#include "core/bits.h"

#define FPR 0.004 /* width 8 */

/* What a family sees is the mixed hash: `seen` makes the caller's hash of it. */
static uint64_t seen(uint64_t inner) { return tamis__unmix64(inner); }

/* ---- the sets.  Each fills `count` distinct hashes. */

/* Equal in their upper 32 bits, up to 9 million of them: all in the same slots of a fuse filter, at
 * every attempt. */
static void same_top(uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hashes[i] = seen(UINT64_C(0x5bd1e99500000000) + i * UINT64_C(0x1d1));
    }
}

/* A third in a 32nd of the range: too many for the slots there, too few to crowd one. */
static void dense_part(uint64_t *hashes, size_t count) {
    struct rng r = {1};
    for (size_t i = 0; i < count; i++) {
        const uint64_t inner = rng_next(&r);
        hashes[i] = seen(i < count / 3 ? inner >> 5 : inner);
    }
}

/* The same at both ends of the range, where the sweeps over a large set start. */
static void dense_ends(uint64_t *hashes, size_t count) {
    struct rng r = {2};
    for (size_t i = 0; i < count; i++) {
        uint64_t inner = rng_next(&r);
        if (i < count / 20) inner = inner >> 7;
        if (i >= count - count / 20) inner = ~(inner >> 7);
        hashes[i] = seen(inner);
    }
}

/* 100 keys have the same first slot, in one half of the range: a sweep cannot count them. */
static void crowded_left(uint64_t *hashes, size_t count) {
    struct rng r = {3};
    for (size_t i = 0; i < count; i++) hashes[i] = seen(rng_next(&r));
    for (size_t i = 0; i < 100; i++) hashes[i] = seen(UINT64_C(0x2000000000000000) + i);
}
static void crowded_right(uint64_t *hashes, size_t count) {
    crowded_left(hashes, count);
    for (size_t i = 0; i < 100; i++) hashes[i] = seen(UINT64_C(0xe000000000000000) + i);
}

/* ---- against xor, whose slots all depend on the salt */

/* The attempts of a build: the last one peels what it can. */
enum { ATTEMPTS = 24 };

static struct tamis__geometry xor_attempt(size_t count, unsigned attempt) {
    const uint64_t slots = count * (1230 + 30 * (attempt / 3)) / 1000 + 32;
    const uint64_t block = tamis__div_up(slots, 3);
    const uint64_t salt = tamis__mix64(UINT64_C(0x9e3779b97f4a7c15) * (attempt + 1)) | 1;
    return (struct tamis__geometry){.salt = salt, .range = block, .segment = block};
}

/* Two keys with the same three slots, among 2^18 random ones. */
static void xor_pair(const struct tamis__geometry *g, struct rng *r, uint64_t pair[2]) {
    const size_t places = (size_t)1 << 18;
    uint64_t *table = NEED(uint64_t, places), inner = 0, other = 0;
    memset(table, 0, places * sizeof *table);
    do {
        inner = rng_next(r) | 1;
        const struct tamis__key_slots p = tamis__key_slots_of(TAMIS__XOR3, g, inner);
        const uint64_t which =
            tamis__mix64(p.at[0] + ((uint64_t)p.at[1] << 20) + ((uint64_t)p.at[2] << 40));
        other = table[which % places];
        const struct tamis__key_slots q = tamis__key_slots_of(TAMIS__XOR3, g, other);
        if (other != 0 && p.at[0] == q.at[0] && p.at[1] == q.at[1] && p.at[2] == q.at[2]) break;
        table[which % places] = inner;
    } while (true);
    pair[0] = seen(inner);
    pair[1] = seen(other);
    free(table);
}

/* A pair for every attempt: each fails, and one pair remains for the list. */
static void xor_pairs(uint64_t *hashes, size_t count) {
    struct rng r = {4};
    for (size_t i = 0; i < count; i++) hashes[i] = seen(rng_next(&r));
    for (unsigned attempt = 0; attempt <= ATTEMPTS; attempt++) {
        const struct tamis__geometry g = xor_attempt(count, attempt);
        xor_pair(&g, &r, &hashes[2 * (size_t)attempt]);
    }
}

/* Three quarters of the keys in an eighth of the slots of the last attempt, and 40 keys in one slot
 * of the first: most keys are listed. */
static void xor_crowds(uint64_t *hashes, size_t count) {
    struct rng r = {5};
    const struct tamis__geometry first = xor_attempt(count, 0), last = xor_attempt(count, ATTEMPTS);
    for (size_t i = 0; i < count;) {
        const uint64_t inner = rng_next(&r);
        const struct tamis__key_slots p = tamis__key_slots_of(TAMIS__XOR3, &first, inner);
        const struct tamis__key_slots q = tamis__key_slots_of(TAMIS__XOR3, &last, inner);
        const uint64_t block = last.segment, part = block / 8;
        const bool crowds = q.at[0] < part && q.at[1] < block + part && q.at[2] < 2 * block + part;
        if (i < 40 ? p.at[0] != 0 : i < count * 3 / 4 && !crowds) continue;
        hashes[i++] = seen(inner);
    }
}

/* ---- the builds */

static void check_members(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    bool *answers = NEED(bool, count);
    for (size_t i = 0; i < count; i += 1 + count / 5000) {
        tamis_prefetch_hash(f, hashes[i]);
        assert_true(tamis_contains_hash(f, hashes[i]));
    }
    assert_int_equal(tamis_contains_hash_batch(f, hashes, count, answers), count);
    for (size_t i = 0; i < count; i++) assert_true(answers[i]);
    assert_int_equal(tamis_contains_hash_batch(f, hashes, count, NULL), count);
    free(answers);
}

/* The keys are found, and others at no more than the promised rate. */
static void check_filter(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    const uint64_t probes = 20000;
    check_members(f, hashes, count);
    const uint64_t hits = hits_in_stream(f, probes, 0, run_seed(), STREAM_PROBES);
    assert_true(hits <= binomial_max(probes, FPR, 7));
    assert_int_equal(facts_of(f).adds, count);
    assert_true(facts_of(f).fpr_now <= FPR);
}

/* Builds with one thread and with three, which gives the same bytes; reads them back on every
 * path.  Returns the bytes per key. */
static double check_build(tamis_kind kind, uint32_t arity, const uint64_t *hashes, size_t count) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL, *g = NULL;
    o.kind = kind;
    o.arity = arity;
    o.fpr = FPR;
    o.hasher = TAMIS_HASH_NONE;
    assert_int_equal(tamis_build_hash(&o, hashes, count, &f), TAMIS_OK);
    check_filter(f, hashes, count);
    struct bytes bytes = bytes_of(f);
    tamis_free(f);
    o.threads = 3;
    assert_int_equal(tamis_build_hash(&o, hashes, count, &f), TAMIS_OK);
    assert_true(encodes_to(f, &bytes));
    tamis_free(f);
    for (size_t p = 0; path_at(p) != NULL; p++) {
        path_use(p);
        assert_int_equal(tamis_decode(bytes.data, bytes.size, NULL, &g), TAMIS_OK);
        check_filter(g, hashes, count);
        tamis_free(g);
    }
    path_use_all();
    const double per_key = (double)bytes.size / (double)count;
    bytes_free(&bytes);
    return per_key;
}

struct set {
    const char *name;
    void (*fill)(uint64_t *hashes, size_t count);
    size_t count;
    unsigned arity; /* of fuse: the least, up to 4 */
    /* Bytes per key at least, with the list: 8 if it has all keys.  0: not built. */
    double fuse_bytes, xor_bytes;
};
static const struct set sets[] = {
    {"one upper half", same_top, 3000, 3, 8, 1.2},
    {"a dense part", dense_part, 3000, 3, 3, 1.2},
    {"pairs with the same slots", xor_pairs, 2100, 3, 1, 1.6},
    {"crowds in one block", xor_crowds, 2100, 3, 1, 8},
    /* Enough for sweeps.  Without a list, fuse takes 1.14 and 1.07 bytes per key. */
    {"crowded in the left sweep", crowded_left, 530000, 4, 1.3, 0},
    {"crowded in the right sweep", crowded_right, 530000, 4, 1.3, 0},
    {"dense at both ends", dense_ends, 530000, 4, 2, 0},
};
static size_t set_count = sizeof sets / sizeof *sets;

static void test_sets(void **state) {
    (void)state;
    for (size_t i = 0; i < set_count; i++) {
        const struct set *s = &sets[i];
        uint64_t *hashes = NEED(uint64_t, s->count);
        s->fill(hashes, s->count);
        for (uint32_t arity = s->arity; arity <= 4; arity++) {
            const double bytes = check_build(TAMIS_FUSE, arity, hashes, s->count);
            print_message("%s: fuse of %u slots, %.2f bytes per key\n", s->name, arity, bytes);
            assert_true(bytes >= s->fuse_bytes);
        }
        if (s->xor_bytes > 0) {
            const double bytes = check_build(TAMIS_XOR, 0, hashes, s->count);
            print_message("%s: xor, %.2f bytes per key\n", s->name, bytes);
            assert_true(bytes >= s->xor_bytes);
            (void)check_build(TAMIS_RIBBON, 0, hashes, s->count);
        }
        free(hashes);
    }
}

/* Memory may run out at every step of the fallback. */
static void test_no_memory(void **state) {
    static const tamis_kind kinds[] = {TAMIS_FUSE, TAMIS_XOR};
    uint64_t hashes[3000];
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        if (i < 2) same_top(hashes, 3000);
        if (i >= 2 && i < 4) dense_part(hashes, 3000);
        if (i >= 4) xor_crowds(hashes, 2100);
        tamis_status status = TAMIS_E_NOMEM;
        for (uint64_t step = 1; status != TAMIS_OK; step++) {
            struct meter meter;
            meter_reset(&meter);
            meter.fail_at = step;
            tamis_options o = TAMIS_OPTIONS_INIT;
            tamis_filter *f = NULL;
            o.kind = kinds[i % 2];
            o.fpr = FPR;
            o.hasher = TAMIS_HASH_NONE;
            o.allocator = meter_allocator(&meter);
            status = tamis_build_hash(&o, hashes, i >= 4 ? 2100 : 3000, &f);
            assert_true(status == TAMIS_OK || status == TAMIS_E_NOMEM);
            assert_true((f != NULL) == (status == TAMIS_OK));
            tamis_free(f);
            assert_int_equal(atomic_load(&meter.live), 0);
        }
    }
}

/* More keys in one shard than peeling can number: all are listed. */
static void test_large_shard(void **state) {
    const size_t count = TAMIS__PEEL_KEYS_MAX + 1000;
    uint64_t *hashes = NEED(uint64_t, count);
    (void)state;
    same_top(hashes, count);
    assert_true(check_build(TAMIS_FUSE, 0, hashes, count) >= 8);
    assert_true(check_build(TAMIS_XOR, 0, hashes, count) >= 8);
    free(hashes);
}

int main(int argc, char **argv) {
    const bool full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) set_count = 4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_no_memory),
    };
    const struct CMUnitTest long_tests[] = {
        cmocka_unit_test(test_large_shard),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return full ? failed + cmocka_run_group_tests(long_tests, NULL, NULL) : failed;
}
