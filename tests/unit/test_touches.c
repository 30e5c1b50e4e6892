/* test_touches.c - the answer to a query depends on nothing but the parts that `touches` names
 *
 * For keys of every kind, all other bytes of the table are replaced by random ones: no answer may
 * change, of a single query or of a batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "filter/family.h"

#define MEMBERS 30000
#define PROBES 60

static uint64_t hash_of(uint64_t i) { return tamis__mix64(i + 1); }

struct marks {
    const uint8_t *table;
    uint64_t table_bytes;
    uint8_t *touched; /* 1 for every byte that is */
};

static void mark(void *context, const uint8_t *at, uint64_t bytes) {
    const struct marks *m = context;
    const uint64_t from = (uint64_t)(at - m->table);
    assert_true(from <= m->table_bytes && bytes <= m->table_bytes - from);
    memset(m->touched + from, 1, (size_t)bytes);
}

static void replace_others(uint8_t *table, const struct marks *m, uint64_t seed) {
    for (uint64_t i = 0; i < m->table_bytes; i++) {
        if (!m->touched[i]) table[i] = (uint8_t)tamis__mix64(seed * m->table_bytes + i);
    }
}

/* `table` is where the filter's table is. */
static void check_keys(const tamis_filter *f, uint8_t *table) {
    const uint64_t bytes = f->shape.table_bytes;
    uint8_t *before = malloc((size_t)bytes), *touched = malloc((size_t)bytes);
    struct marks m = {table, bytes, touched};
    assert_true(before != NULL && touched != NULL);
    memcpy(before, table, (size_t)bytes);
    for (uint64_t i = 0; i < PROBES; i++) {
        const uint64_t hash = hash_of(i % 2 == 0 ? i * 17 : MEMBERS + i);
        const bool expected = tamis_contains_hash(f, hash);
        const unsigned copies = tamis_count_hash(f, hash);
        bool answer;
        memset(touched, 0, (size_t)bytes);
        f->family->touches(f, hash, mark, &m);
        replace_others(table, &m, i);
        assert_int_equal(tamis_contains_hash(f, hash), expected);
        assert_int_equal(tamis_count_hash(f, hash), copies);
        tamis_contains_hash_batch(f, &hash, 1, &answer);
        assert_int_equal(answer, expected);
        memcpy(table, before, (size_t)bytes);
    }
    free(before);
    free(touched);
}

static void check_filter(const tamis_options *options, const uint64_t *hashes, size_t count) {
    tamis_filter *built, *f;
    size_t size;
    assert_int_equal(tamis_build_hash(options, hashes, count, &built), TAMIS_OK);
    const size_t room = (size_t)tamis_encoded_size(built);
    uint8_t *bytes = aligned_alloc(64, (room + 63) / 64 * 64);
    assert_non_null(bytes);
    assert_int_equal(tamis_encode(built, bytes, room, &size), TAMIS_OK);
    tamis_free(built);
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.verify = TAMIS_VERIFY_LATER;
    assert_int_equal(tamis_view(bytes, size, &open, &f), TAMIS_OK);
    assert_non_null(f->family->touches);
    check_keys(f, bytes + (f->table - bytes));
    tamis_free(f);
    free(bytes);
}

static void test_every_kind(void **state) {
    (void)state;
    static const double fprs[] = {0.3, 0.01, 1e-5};
    uint64_t *hashes = malloc(MEMBERS * sizeof *hashes);
    assert_non_null(hashes);
    for (uint64_t i = 0; i < MEMBERS; i++) hashes[i] = hash_of(i);
    for (size_t k = 0; tamis__family_at(k) != NULL; k++) {
        for (size_t j = 0; j < sizeof fprs / sizeof *fprs; j++) {
            tamis_options o = TAMIS_OPTIONS_INIT;
            o.kind = tamis__family_at(k)->kind;
            o.fpr = fprs[j];
            if (o.kind == TAMIS_GROWING) o.capacity = 1000;
            check_filter(&o, hashes, MEMBERS);
            check_filter(&o, hashes, 900);
            o.arity = o.kind == TAMIS_FUSE ? 3 : 0;
            if (o.arity != 0) check_filter(&o, hashes, MEMBERS);
        }
    }
    free(hashes);
}

/* Hashes that share their upper bits are listed, not peeled. */
static void test_listed(void **state) {
    (void)state;
    uint64_t hashes[2500];
    for (uint64_t i = 0; i < 2500; i++) hashes[i] = tamis__unmix64(i);
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = TAMIS_FUSE;
    check_filter(&o, hashes, 2500);
    o.kind = TAMIS_XOR;
    check_filter(&o, hashes, 2500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
