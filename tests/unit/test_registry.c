/* test_registry.c - the registry of compatible formats: names and numbers are unique and frozen */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compat/registry.h"
#include "file/codecs.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Files store these numbers: add rows, never change one. */
static const struct {
    unsigned id;
    const char *name;
    bool wide, integers;
} frozen_hashes[] = {
    {1, "murmur3-128", true, false},
    {2, "murmur3-128 (first half)", false, false},
    {3, "spark murmur3", false, false},
    {4, "spark murmur3 (version 2)", true, false},
    {5, "leveldb hash", false, false},
    {6, "murmur2", false, false},
    {7, "murmur64a (twice)", true, false},
    {8, "murmur64a", false, false},
    {9, "fnv-1", false, false},
    {10, "xxh64", false, false},
    {11, "xxph3", false, false},
    {12, "rocksdb hash", false, false},
    {13, "none (64-bit integers)", false, true},
    {14, "metrohash64", false, false},
};

/* The format that writes each layout. */
static const struct {
    tamis_kind kind;
    uint32_t layout;
    const char *format;
} frozen_layouts[] = {
    {TAMIS_BLOOM, 1, "leveldb"},       {TAMIS_BLOOM, 1, "libbloom1"},
    {TAMIS_BLOOM, 2, "guava32"},       {TAMIS_BLOOM, 2, "spark1"},
    {TAMIS_BLOOM, 3, "guava"},         {TAMIS_BLOOM, 4, "spark2"},
    {TAMIS_BLOOM, 5, "libbloom"},      {TAMIS_BLOOM, 6, "dcso"},
    {TAMIS_BLOCK, 16, "parquet"},      {TAMIS_BLOCK, 17, "rocksdb"},
    {TAMIS_BLOCK, 18, "rocksdb"},      {TAMIS_RIBBON, 24, "rocksdb"},
    {TAMIS_GROWING, 32, "redisbloom"}, {TAMIS_CUCKOO, 33, "redisbloom"},
    {TAMIS_CUCKOO, 34, "seiflotfy"},   {TAMIS_XOR, 40, "xor8"},
    {TAMIS_FUSE, 40, "fuse8"},
};

static const struct tamis__system *system_of(const char *format) {
    const struct tamis__system *s;
    for (size_t i = 0; (s = tamis__system_at(i)) != NULL; i++) {
        for (size_t j = 0; s->codecs[j] != NULL; j++) {
            if (strcmp(s->codecs[j]->name, format) == 0) return s;
        }
    }
    return NULL;
}

static bool has_family(const struct tamis__system *s, const struct tamis__family *family) {
    for (size_t i = 0; s->families[i] != NULL; i++) {
        if (s->families[i] == family) return true;
    }
    return false;
}

static void test_frozen(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(frozen_hashes); i++) {
        const struct tamis__compat_hash *h = tamis__compat_hash_of(frozen_hashes[i].id);
        assert_non_null(h);
        assert_string_equal(h->name, frozen_hashes[i].name);
        assert_int_equal(h->wide, frozen_hashes[i].wide);
        assert_int_equal(h->integers, frozen_hashes[i].integers);
    }
    for (size_t i = 0; i < COUNT(frozen_layouts); i++) {
        const struct tamis__system *s = system_of(frozen_layouts[i].format);
        const struct tamis__family *f =
            tamis__compat_family_of(frozen_layouts[i].kind, frozen_layouts[i].layout);
        assert_non_null(s);
        assert_non_null(f);
        assert_true(has_family(s, f));
    }
}

/* A hash or a family that two systems share is one object.  Looking up every row checks this: if
 * two objects had the same number, the first would be found twice. */
static void test_numbers_are_unique(void **state) {
    const struct tamis__system *s;
    size_t hashes = 0, families = 0;
    (void)state;
    for (size_t i = 0; (s = tamis__system_at(i)) != NULL; i++) {
        for (size_t j = 0; s->hashes[j] != NULL; j++, hashes++) {
            assert_int_not_equal(s->hashes[j]->id, 0);
            assert_ptr_equal(tamis__compat_hash_of(s->hashes[j]->id), s->hashes[j]);
        }
        for (size_t j = 0; s->families[j] != NULL; j++, families++) {
            const struct tamis__family *f = s->families[j];
            assert_int_not_equal(f->layout, 0);
            assert_ptr_equal(tamis__compat_family_of(f->kind, f->layout), f);
            assert_string_equal(f->name, tamis__family_of(f->kind)->name);
        }
    }
    assert_true(hashes >= COUNT(frozen_hashes) && families >= COUNT(frozen_layouts));
}

static void test_names_are_unique(void **state) {
    const struct tamis__codec *codec;
    const struct tamis__container_format *container, *other;
    (void)state;
    for (size_t i = 0; (codec = tamis__codec_at(i)) != NULL; i++) {
        assert_ptr_equal(tamis__codec_find(codec->name), codec);
        assert_non_null(codec->about);
    }
    for (size_t i = 0; (container = tamis__container_format_at(i)) != NULL; i++) {
        const struct tamis__codec *same = tamis__codec_find(container->name);
        assert_true(same == NULL || same == container->codec);
        for (size_t j = 0; (other = tamis__container_format_at(j)) != NULL; j++) {
            assert_int_equal(strcmp(container->name, other->name) == 0, i == j);
        }
    }
}

/* Every list ends with NULL: the array has room for one more. */
static void test_lists_end(void **state) {
    const struct tamis__system *s;
    (void)state;
    for (size_t i = 0; (s = tamis__system_at(i)) != NULL; i++) {
        assert_non_null(s->codecs[0]);
        assert_null(s->codecs[COUNT(s->codecs) - 1]);
        assert_null(s->families[COUNT(s->families) - 1]);
        assert_null(s->hashes[COUNT(s->hashes) - 1]);
    }
    assert_null(tamis__compat_family_of(TAMIS_BLOOM, 0));
    assert_null(tamis__compat_hash_of(0));
    assert_null(tamis__system_at(SIZE_MAX));
}

static void test_can_create(void **state) {
    const char *name;
    (void)state;
    for (size_t i = 0; (name = tamis_format_at(i)) != NULL; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_builder *b;
        o.format = name;
        assert_int_equal(tamis_builder_create(&o, &b) == TAMIS_OK, tamis_format_can_create(name));
        tamis_builder_free(b);
    }
    assert_true(tamis_format_can_create("leveldb:bits=10"));
    assert_false(tamis_format_can_create("leveldb-table"));
    assert_false(tamis_format_can_create("none") || tamis_format_can_create(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frozen),           cmocka_unit_test(test_numbers_are_unique),
        cmocka_unit_test(test_names_are_unique), cmocka_unit_test(test_lists_end),
        cmocka_unit_test(test_can_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
