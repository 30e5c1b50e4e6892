/* test_plan.c - the planner: its choice for each combination of needs, and its reason */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tamis.h"

#define ALL_NEEDS 32u
#define KINDS_MAX 32

/* Under valgrind and emulation: fewer numbers, all combinations. */
static bool quick;

static tamis_status plan(uint32_t needs, double fpr, uint64_t bytes, tamis_advice *advice) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    *advice = (tamis_advice)TAMIS_ADVICE_INIT;
    o.capacity = 1000000;
    o.fpr = fpr;
    o.bytes = bytes;
    o.needs = needs;
    return tamis_plan(&o, advice);
}

/* One sentence: not empty, ends with a full stop, fits. */
static void assert_sentence(const char *why) {
    const size_t length = strlen(why);
    assert_in_range(length, 20, 254);
    assert_int_equal(why[length - 1], '.');
}

static void test_choices(void **state) {
    const struct {
        uint32_t needs;
        tamis_kind choice;
    } rows[] = {
        {TAMIS_NEED_REMOVE, TAMIS_CUCKOO},
        {TAMIS_NEED_REMOVE | TAMIS_NEED_ADD, TAMIS_CUCKOO},
        {TAMIS_NEED_REMOVE | TAMIS_NEED_MERGE, TAMIS_COUNTING},
        {TAMIS_NEED_GROW, TAMIS_GROWING},
        {TAMIS_NEED_GROW | TAMIS_NEED_ADD, TAMIS_GROWING},
        {TAMIS_NEED_MERGE, TAMIS_BLOCK},
        {TAMIS_NEED_ADD, TAMIS_BLOCK},
        {0, TAMIS_BLOCK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_advice advice;
        assert_int_equal(plan(rows[i].needs, 0.01, 0, &advice), TAMIS_OK);
        assert_int_equal(advice.choice, rows[i].choice);
        assert_sentence(advice.why);
        assert_non_null(strstr(advice.why, tamis_kind_name(advice.choice)));
    }
    tamis_advice advice;
    assert_int_equal(plan(TAMIS_NEED_STATIC, 0.01, 0, &advice), TAMIS_OK);
    assert_true((tamis_kind_caps(advice.choice) & TAMIS_IS_STATIC) != 0);
    assert_int_equal(plan(TAMIS_NEED_STATIC, 0, 1000000, &advice), TAMIS_OK);
    assert_int_equal(advice.choice, TAMIS_RIBBON);
}

/* Every combination: the choice supports the needs, or there is none and the reason is given. */
static void test_needs_are_met(void **state) {
    (void)state;
    for (uint32_t needs = 0; needs < ALL_NEEDS; needs++) {
        for (double fpr = 0.3; fpr > 1e-8; fpr /= 10) {
            tamis_advice advice;
            const tamis_status status = plan(needs, fpr, 0, &advice);
            assert_sentence(advice.why);
            if (status != TAMIS_OK) {
                assert_int_equal(status, TAMIS_E_ARGUMENT);
                assert_int_equal(advice.choice, TAMIS_AUTO);
                continue;
            }
            const uint32_t caps = tamis_kind_caps(advice.choice);
            if (needs & TAMIS_NEED_REMOVE) assert_true(caps & TAMIS_CAN_REMOVE);
            if (needs & TAMIS_NEED_GROW) assert_true(caps & TAMIS_CAN_GROW);
            if (needs & TAMIS_NEED_MERGE) assert_true(caps & TAMIS_CAN_UNION);
            if (needs & TAMIS_NEED_ADD) assert_true(caps & TAMIS_CAN_ADD);
            if (needs & TAMIS_NEED_STATIC) assert_true(caps & TAMIS_IS_STATIC);
            /* The choice can be created. */
            tamis_options o = TAMIS_OPTIONS_INIT;
            tamis_sizing sizing = TAMIS_SIZING_INIT;
            o.kind = advice.choice;
            o.capacity = 1000000;
            o.fpr = fpr;
            assert_int_equal(tamis_size(&o, &sizing), TAMIS_OK);
        }
    }
}

static bool fits(tamis_kind kind, uint64_t bytes) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    o.kind = kind;
    o.capacity = 1000000;
    o.bytes = bytes;
    return tamis_size(&o, &sizing) == TAMIS_OK && sizing.bytes <= bytes;
}

/* In a given space: if a kind that supports the needs fits, then the choice fits.  A kind
 * can support several needs, so each is sized once. */
static void test_space(void **state) {
    const struct {
        uint32_t need, cap;
    } rows[] = {{TAMIS_NEED_REMOVE, TAMIS_CAN_REMOVE},
                {TAMIS_NEED_GROW, TAMIS_CAN_GROW},
                {TAMIS_NEED_MERGE, TAMIS_CAN_UNION},
                {TAMIS_NEED_ADD, TAMIS_CAN_ADD},
                {TAMIS_NEED_STATIC, TAMIS_IS_STATIC}};
    (void)state;
    for (uint64_t bytes = 100000; bytes < 2000000; bytes += quick ? 4 * bytes : bytes / 2) {
        bool kind_fits[KINDS_MAX] = {false};
        for (tamis_kind k = tamis_kind_next(0); k != 0; k = tamis_kind_next(k)) {
            assert_in_range(k, 1, KINDS_MAX - 1);
            kind_fits[k] = fits(k, bytes);
        }
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            tamis_advice advice;
            bool some = false;
            for (tamis_kind k = tamis_kind_next(0); k != 0; k = tamis_kind_next(k)) {
                /* Growing filters start small; each need has its own kind. */
                if (k == TAMIS_GROWING && rows[i].need != TAMIS_NEED_GROW) continue;
                if (rows[i].need == TAMIS_NEED_ADD && (tamis_kind_caps(k) & TAMIS_CAN_REMOVE))
                    continue;
                some = some || ((tamis_kind_caps(k) & rows[i].cap) != 0 && kind_fits[k]);
            }
            assert_int_equal(plan(rows[i].need, 0, bytes, &advice), TAMIS_OK);
            assert_sentence(advice.why);
            assert_true(kind_fits[advice.choice] == some);
        }
    }
}

/* TAMIS_AUTO creates the planner's choice. */
static void test_auto(void **state) {
    const uint64_t hashes[] = {1, 2, 3};
    const uint32_t dynamic[] = {0, TAMIS_NEED_REMOVE, TAMIS_NEED_GROW, TAMIS_NEED_MERGE};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_advice advice = TAMIS_ADVICE_INIT;
        tamis_facts facts = TAMIS_FACTS_INIT;
        tamis_filter *f = NULL;
        o.capacity = 1000;
        o.needs = dynamic[i];
        assert_int_equal(tamis_plan(&o, &advice), TAMIS_OK);
        assert_int_equal(tamis_create(&o, &f), TAMIS_OK);
        assert_int_equal(tamis_info(f, &facts), TAMIS_OK);
        assert_int_equal(facts.kind, advice.choice);
        assert_true(facts.fpr_target == 0.01); /* the default */
        tamis_free(f);
    }
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_filter *f = NULL;
    o.needs = TAMIS_NEED_STATIC;
    assert_int_equal(tamis_build_hash(&o, hashes, 3, &f), TAMIS_OK);
    assert_int_equal(tamis_info(f, &facts), TAMIS_OK);
    assert_true((tamis_kind_caps(facts.kind) & TAMIS_IS_STATIC) != 0);
    tamis_free(f);
    assert_int_equal(tamis_create(&o, &f), TAMIS_E_STATIC);
    assert_null(f);
    o.needs = TAMIS_NEED_STATIC | TAMIS_NEED_REMOVE;
    assert_int_equal(tamis_build_hash(&o, hashes, 3, &f), TAMIS_E_ARGUMENT);
    assert_null(f);
}

/* An unknown number of keys gives the same kind as a known number. */
static void test_auto_counts(void **state) {
    static const uint32_t needs[] = {TAMIS_NEED_ADD, TAMIS_NEED_MERGE, TAMIS_NEED_REMOVE};
    static const uint64_t bytes[] = {0, 300, 400, 700, 1000, 3000, 100000};
    uint64_t hashes[1000];
    (void)state;
    for (size_t i = 0; i < 1000; i++) hashes[i] = tamis_hash_integer(i);
    for (size_t i = 0; i < 4 * 3 * 7 * 5; i++) {
        const size_t count = (size_t[]){0, 1, 30, 1000}[i % 4];
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_advice advice = TAMIS_ADVICE_INIT;
        tamis_sizing sizing = TAMIS_SIZING_INIT;
        tamis_facts facts = TAMIS_FACTS_INIT;
        tamis_filter *f = NULL;
        o.needs = needs[i / 4 % 3];
        o.bytes = bytes[i / 12 % 7];
        o.fpr = o.bytes != 0 ? 0 : (double[]){0.01, 1e-6, 1e-9, 1e-10, 1e-12}[i / 84];
        if (o.bytes != 0 && i >= 84) continue; /* with a budget there is no rate to try */
        if (quick && i % 5 != 0) continue;
        const tamis_status built = tamis_build_hash(&o, hashes, count, &f);
        o.capacity = count;
        assert_int_equal(tamis_plan(&o, &advice), TAMIS_OK);
        assert_int_equal(built, tamis_size(&o, &sizing));
        if (built != TAMIS_OK) continue;
        assert_int_equal(tamis_info(f, &facts), TAMIS_OK);
        assert_int_equal(facts.kind, advice.choice);
        assert_true(o.bytes == 0 || facts.encoded_bytes <= o.bytes);
        tamis_free(f);
    }
}

static void test_bad_fprs(void **state) {
    tamis_advice advice;
    (void)state;
    assert_int_equal(plan(0, 1.5, 0, &advice), TAMIS_E_FPR);
    assert_int_equal(plan(0, -1, 0, &advice), TAMIS_E_FPR);
}

int main(int argc, char **argv) {
    quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),     cmocka_unit_test(test_needs_are_met),
        cmocka_unit_test(test_space),       cmocka_unit_test(test_auto),
        cmocka_unit_test(test_auto_counts), cmocka_unit_test(test_bad_fprs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
