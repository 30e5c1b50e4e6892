/* bad_input.c - invalid arguments give the right status and change nothing */
#define _DEFAULT_SOURCE 1 /* mkfifo */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/filters.h"

/* An out-parameter must become NULL on failure, whatever it was. */
#define STALE ((tamis_filter *)&stale)
static char stale;

static const char *const keys_ok[] = {"a", "b"};
static const size_t lengths_ok[] = {1, 1};

/* `f` must be NULL; an unexpected filter is freed. */
static void expect_none(const char *call, const char *what, tamis_status status,
                        tamis_status expected, tamis_filter *f) {
    CHECK(status == expected && f == NULL, "%s: %s: %s, expected %s", call, what,
          tamis_status_name(status), tamis_status_name(expected));
    if (f != STALE) tamis_free(f);
    count_up("refusals", 1);
}

/* Every way to make a filter must refuse these options with the same status. */
static void refused(const char *what, const tamis_options *o, tamis_status expected) {
    const uint64_t hashes[] = {1, 2};
    const bool fixed = (tamis_kind_caps(o->kind) & TAMIS_IS_STATIC) != 0;
    tamis_filter *f = STALE;
    tamis_status status = tamis_create(o, &f);
    expect_none("create", what, status,
                fixed && status == TAMIS_E_STATIC ? TAMIS_E_STATIC : expected, f);
    f = STALE;
    status = tamis_build(o, (const void *const *)keys_ok, lengths_ok, 2, &f);
    expect_none("build", what, status, expected, f);
    f = STALE;
    status = tamis_build_hash(o, hashes, 2, &f);
    expect_none("build_hash", what, status, expected, f);
    /* A builder may refuse when it is created or when it finishes. */
    tamis_builder *b = (tamis_builder *)&stale;
    f = NULL;
    status = tamis_builder_create(o, &b);
    if (status == TAMIS_OK) {
        f = STALE;
        tamis_builder_add_hash(b, 1);
        status = tamis_builder_finish(b, &f);
        tamis_builder_free(b);
    } else {
        CHECK(b == NULL, "builder_create: %s: out is not NULL", what);
    }
    expect_none("builder", what, status, expected, f);
}

static void bad_fprs(const struct variant *v) {
    const double fprs[] = {1,         1.5, -0.01, -1,    INFINITY,
                           -INFINITY, NAN, -NAN,  1e300, nextafter(1, 2)};
    for (size_t i = 0; i < sizeof fprs / sizeof *fprs; i++) {
        char what[64];
        const tamis_options o = variant_options(v, 100, fprs[i]);
        tamis_sizing sizing = TAMIS_SIZING_INIT;
        snprintf(what, sizeof what, "%s at rate %g", v->name, fprs[i]);
        refused(what, &o, TAMIS_E_FPR);
        CHECK(tamis_size(&o, &sizing) == TAMIS_E_FPR, "size: %s", what);
    }
    /* The edges of what is legal. */
    tamis_options o = variant_options(v, 100, nextafter(1, 0));
    tamis_filter *f = NULL;
    tamis_status status = tamis_build(&o, (const void *const *)keys_ok, lengths_ok, 2, &f);
    CHECK(status == TAMIS_OK && f != NULL && tamis_contains(f, "a", 1) && tamis_contains(f, "b", 1),
          "%s at a rate just below 1: %s", v->name, tamis_status_name(status));
    tamis_free(f);
    const double tiny[] = {1e-9, 1e-12, 1e-30, 4.9e-324};
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        o = variant_options(v, 100, tiny[i]);
        f = STALE;
        status = tamis_build(&o, (const void *const *)keys_ok, lengths_ok, 2, &f);
        CHECK(status == TAMIS_OK ? f != NULL : status == TAMIS_E_FPR_TOO_LOW && f == NULL,
              "%s at %g: %s", v->name, tiny[i], tamis_status_name(status));
        if (status == TAMIS_OK) {
            CHECK(tamis_contains(f, "a", 1) && tamis_contains(f, "b", 1), "%s at %g: keys", v->name,
                  tiny[i]);
            CHECK(facts_of(f).fpr_now <= tiny[i], "%s at %g: reports %g", v->name, tiny[i],
                  facts_of(f).fpr_now);
            tamis_free(f);
        }
    }
}

static bool too_much(tamis_status status) {
    return status == TAMIS_E_TOO_BIG || status == TAMIS_E_NOMEM;
}

static void bad_sizes(const struct variant *v) {
    const uint64_t capacities[] = {UINT64_C(154000000000000000),
                                   (uint64_t)1 << 58,
                                   (uint64_t)1 << 60,
                                   (uint64_t)1 << 62,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX,
                                   UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        tamis_options o = variant_options(v, capacities[i], 0.01);
        tamis_filter *f = STALE;
        tamis_status status = tamis_create(&o, &f);
        const bool fixed = (v->caps & TAMIS_IS_STATIC) != 0;
        CHECK(f == NULL && (fixed ? status == TAMIS_E_STATIC : too_much(status)),
              "%s for %llu keys: %s", v->name, (unsigned long long)capacities[i],
              tamis_status_name(status));
        tamis_sizing sizing = TAMIS_SIZING_INIT;
        status = tamis_size(&o, &sizing);
        CHECK(status == TAMIS_OK || status == TAMIS_E_TOO_BIG, "%s: size for %llu: %s", v->name,
              (unsigned long long)capacities[i], tamis_status_name(status));
        CHECK(status != TAMIS_OK || sizing.bytes >= capacities[i] / 8,
              "%s: size for %llu keys overflowed to %llu bytes", v->name,
              (unsigned long long)capacities[i], (unsigned long long)sizing.bytes);
        o.fpr = 0.5;
        status = tamis_size(&o, &sizing);
        CHECK(!fixed || status != TAMIS_OK || sizing.build_bytes >= capacities[i],
              "%s: building from %llu hashes takes %llu bytes", v->name,
              (unsigned long long)capacities[i], (unsigned long long)sizing.build_bytes);
        count_up("refusals", 1);
    }
    if (v->kind == TAMIS_BLOOM || v->kind == TAMIS_COUNTING) {
        tamis_options o = variant_options(v, 10, 0.01);
        tamis_filter *f = STALE;
        o.bits = UINT64_MAX;
        CHECK(too_much(tamis_create(&o, &f)) && f == NULL, "%s of 2^64-1 bits", v->name);
        o.bits = 1000;
        o.hashes = UINT32_MAX;
        f = STALE;
        const tamis_status status = tamis_create(&o, &f);
        CHECK(status == TAMIS_E_ARGUMENT && f == NULL, "%s with 2^32-1 hashes: %s", v->name,
              tamis_status_name(status));
        tamis_free(f);
    }
}

static void bad_kinds(void) {
    const int kinds[] = {-1, 99, 1000000};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_sizing sizing = TAMIS_SIZING_INIT;
        o.kind = (tamis_kind)kinds[i];
        o.capacity = 10;
        refused("an unknown kind", &o, TAMIS_E_KIND);
        CHECK(tamis_size(&o, &sizing) == TAMIS_E_KIND, "size of kind %d", kinds[i]);
        CHECK(tamis_kind_name(o.kind) == NULL && tamis_kind_description(o.kind) == NULL,
              "name of kind %d", kinds[i]);
        CHECK(tamis_kind_caps(o.kind) == 0, "caps of kind %d", kinds[i]);
    }
    CHECK(tamis_kind_find("no such kind") == TAMIS_AUTO, "find a kind that does not exist");
    CHECK(tamis_kind_find("") == TAMIS_AUTO, "find a kind without a name");
    CHECK(tamis_kind_find(NULL) == TAMIS_AUTO, "find NULL");
    CHECK(tamis_kind_name(TAMIS_AUTO) == NULL && tamis_kind_caps(TAMIS_AUTO) == 0, "AUTO");
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        CHECK(tamis_kind_find(tamis_kind_name(k)) == k, "%s by its name", tamis_kind_name(k));
        CHECK(tamis_kind_description(k) != NULL, "%s is described", tamis_kind_name(k));
    }
}

/* Contradictions between options. */
static void bad_options(const struct variant *v) {
    tamis_options o = variant_options(v, 100, 0.01);
    o.struct_size = 4;
    refused("a structure of 4 bytes", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.struct_size = 0;
    refused("a structure of 0 bytes", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.hasher = (tamis_hasher)77;
    refused("an unknown hasher", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.hasher = TAMIS_HASH_COMPAT;
    refused("a compatible hash", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.form.flags = TAMIS_KEY_FOLD_CASE << 1;
    refused("a key form with an unknown flag", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.form.type = TAMIS_KEY_F64 + 1;
    refused("a key form with an unknown type", &o, TAMIS_E_ARGUMENT);
    o = variant_options(v, 100, 0.01);
    o.form.separator_length = TAMIS_SEPARATOR_MAX + 1;
    refused("a separator that is too long", &o, TAMIS_E_ARGUMENT);
    if (v->kind == TAMIS_FUSE) {
        const uint32_t arities[] = {1, 2, 5, UINT32_MAX};
        for (size_t i = 0; i < sizeof arities / sizeof *arities; i++) {
            o = variant_options(v, 100, 0.01);
            o.arity = arities[i];
            refused("an arity that fuse does not have", &o, TAMIS_E_ARGUMENT);
        }
    }
}

/* A filter that refuses byte keys. */
static void hashes_only(const struct variant *v) {
    tamis_options o = variant_options(v, 0, 0.01);
    const uint64_t hashes[] = {7, 8, 9};
    tamis_filter *f = NULL;
    o.hasher = TAMIS_HASH_NONE;
    tamis_status status = tamis_build_hash(&o, hashes, 3, &f);
    CHECK(status == TAMIS_OK, "%s without a hasher: %s", v->name, tamis_status_name(status));
    if (f != NULL) {
        CHECK(tamis_contains_hash(f, 8) && facts_of(f).hasher == TAMIS_HASH_NONE, "%s: hash",
              v->name);
        if ((v->caps & TAMIS_CAN_ADD) != 0) {
            struct bytes before = bytes_of(f);
            status = tamis_add(f, "a", 1, NULL);
            CHECK(status != TAMIS_OK && encodes_to(f, &before), "%s: a byte key: %s", v->name,
                  tamis_status_name(status));
            bytes_free(&before);
        }
    }
    tamis_free(f);
    f = STALE;
    status = tamis_build(&o, (const void *const *)keys_ok, lengths_ok, 2, &f);
    CHECK(status != TAMIS_OK && f == NULL, "%s: byte keys without a hasher: %s", v->name,
          tamis_status_name(status));
}

/* Options that a compatible format does not support give E_UNSUPPORTED or E_ARGUMENT, not an input
 * error. */
static void bad_format_options(const char *format) {
    static const uint64_t capacities[] = {0, 1, 1000, (uint64_t)1 << 40, UINT64_MAX};
    static const double fprs[] = {0, 1 - 1e-16, 0.9999, 1e-9, 1e-300, 4.9e-324};
    static const uint64_t bits[] = {0, 1, 100000, UINT64_MAX};
    for (size_t i = 0; i < 5 * 6 * 4; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = STALE;
        struct meter meter;
        meter_reset(&meter);
        meter.limit = (uint64_t)1 << 24;
        o.allocator = meter_allocator(&meter);
        o.format = format;
        o.capacity = capacities[i % 5];
        o.fpr = fprs[i / 5 % 6];
        o.bits = bits[i / 30];
        const tamis_status status = tamis_create(&o, &f);
        CHECK(status < TAMIS_E_FORMAT && (status == TAMIS_OK) == (f != NULL),
              "%s for %llu keys at %g in %llu bits: %s", format, (unsigned long long)o.capacity,
              o.fpr, (unsigned long long)o.bits, tamis_status_name(status));
        tamis_free(f);
        count_up("options of formats", 1);
    }
}

/* Operations that the kind does not support. */
static void unsupported(const struct variant *v) {
    const uint64_t hashes[] = {3, 5, 8};
    tamis_filter *f = variant_build(v, 0.01, hashes, 3);
    if (f == NULL) return;
    struct bytes before = bytes_of(f);
    bool flag = true;
    size_t done = 9;
    if ((v->caps & TAMIS_CAN_ADD) == 0) {
        CHECK(tamis_add(f, "a", 1, &flag) == TAMIS_E_STATIC, "%s: add", v->name);
        CHECK(tamis_add_hash(f, 1, &flag) == TAMIS_E_STATIC, "%s: add_hash", v->name);
        CHECK(tamis_add_batch(f, (const void *const *)keys_ok, lengths_ok, 2, NULL, &done) ==
                      TAMIS_E_STATIC &&
                  done == 0,
              "%s: add_batch", v->name);
        CHECK(tamis_add_hash_batch(f, hashes, 3, NULL, &done) == TAMIS_E_STATIC && done == 0,
              "%s: add_hash_batch", v->name);
        tamis_options o = variant_options(v, 3, 0.01);
        tamis_filter *g = STALE;
        CHECK(tamis_create(&o, &g) == TAMIS_E_STATIC && g == NULL, "%s: create", v->name);
    }
    if ((v->caps & TAMIS_CAN_REMOVE) == 0) {
        CHECK(tamis_remove(f, "a", 1) == TAMIS_E_NO_REMOVE, "%s: remove", v->name);
        CHECK(tamis_remove_hash(f, 3) == TAMIS_E_NO_REMOVE, "%s: remove_hash", v->name);
        CHECK(tamis_remove_batch(f, (const void *const *)keys_ok, lengths_ok, 2, &flag) ==
                  TAMIS_E_NO_REMOVE,
              "%s: remove_batch", v->name);
        CHECK(tamis_remove_hash_batch(f, hashes, 3, NULL) == TAMIS_E_NO_REMOVE,
              "%s: remove_hash_batch", v->name);
    }
    CHECK(encodes_to(f, &before), "%s: a refused operation changed the filter", v->name);
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *g = STALE;
    open.shared = true;
    const tamis_status status = tamis_decode(before.data, before.size, &open, &g);
    const bool shares = (v->caps & TAMIS_CAN_SHARE) != 0;
    CHECK(status == (shares ? TAMIS_OK : TAMIS_E_UNSUPPORTED) && (g != NULL) == shares,
          "%s: opened as shared: %s", v->name, tamis_status_name(status));
    tamis_free(g);
    bytes_free(&before);
    tamis_free(f);
}

/* Everything that may not be NULL. */
static void nulls(const struct variant *v) {
    const tamis_options o = variant_options(v, 10, 0.01);
    const bool fixed = (v->caps & TAMIS_IS_STATIC) != 0;
    const uint64_t hashes[] = {3, 5, 8};
    tamis_filter *f = STALE, *real = variant_build(v, 0.01, hashes, 3);
    if (real == NULL) return;
    CHECK(tamis_create(NULL, &f) == TAMIS_E_ARGUMENT && f == NULL, "create(NULL)");
    CHECK(tamis_create(&o, NULL) == TAMIS_E_ARGUMENT, "create(, NULL)");
    f = STALE;
    CHECK(tamis_build(NULL, (const void *const *)keys_ok, lengths_ok, 2, &f) == TAMIS_E_ARGUMENT &&
              f == NULL,
          "build(NULL)");
    f = STALE;
    CHECK(tamis_build(&o, NULL, lengths_ok, 2, &f) == TAMIS_E_ARGUMENT && f == NULL,
          "%s: build without keys", v->name);
    f = STALE;
    CHECK(
        tamis_build(&o, (const void *const *)keys_ok, NULL, 2, &f) == TAMIS_E_ARGUMENT && f == NULL,
        "%s: build without lengths", v->name);
    f = STALE;
    CHECK(tamis_build_hash(&o, NULL, 2, &f) == TAMIS_E_ARGUMENT && f == NULL,
          "%s: build_hash without hashes", v->name);
    CHECK(tamis_build_hash(&o, hashes, 3, NULL) == TAMIS_E_ARGUMENT, "build_hash without out");
    f = STALE;
    CHECK(tamis_clone(NULL, &f) == TAMIS_E_ARGUMENT && f == NULL, "clone(NULL)");
    CHECK(tamis_clone(real, NULL) == TAMIS_E_ARGUMENT, "clone(, NULL)");
    f = STALE;
    CHECK(tamis_convert(NULL, TAMIS_BLOOM, &f) == TAMIS_E_ARGUMENT && f == NULL, "convert(NULL)");
    CHECK(tamis_add(NULL, "a", 1, NULL) == TAMIS_E_ARGUMENT, "add(NULL)");
    CHECK(tamis_add_hash(NULL, 1, NULL) == TAMIS_E_ARGUMENT, "add_hash(NULL)");
    if (!fixed) {
        CHECK(tamis_add(real, NULL, 1, NULL) == TAMIS_E_ARGUMENT, "%s: a NULL key", v->name);
        CHECK(tamis_add_hash_batch(real, NULL, 1, NULL, NULL) == TAMIS_E_ARGUMENT,
              "%s: NULL hashes", v->name);
        CHECK(tamis_add_batch(real, NULL, NULL, 1, NULL, NULL) == TAMIS_E_ARGUMENT, "%s: NULL keys",
              v->name);
        CHECK(tamis_add(real, NULL, 0, NULL) == TAMIS_OK && tamis_contains(real, NULL, 0) &&
                  tamis_contains(real, "", 0),
              "%s: the empty key", v->name);
    }
    CHECK(tamis_remove(NULL, "a", 1) == TAMIS_E_ARGUMENT, "remove(NULL)");
    CHECK(tamis_info(NULL, NULL) == TAMIS_E_ARGUMENT, "info(NULL)");
    CHECK(tamis_info(real, NULL) == TAMIS_E_ARGUMENT, "info(, NULL)");
    CHECK(tamis_encode(NULL, NULL, 0, NULL) == TAMIS_E_ARGUMENT, "encode(NULL)");
    CHECK(tamis_encode(real, NULL, 100000, NULL) == TAMIS_E_ARGUMENT, "encode into NULL");
    f = STALE;
    CHECK(tamis_decode(NULL, 10, NULL, &f) == TAMIS_E_ARGUMENT && f == NULL, "decode(NULL)");
    CHECK(tamis_decode("x", 1, NULL, NULL) == TAMIS_E_ARGUMENT, "decode without out");
    f = STALE;
    CHECK(tamis_view(NULL, 10, NULL, &f) == TAMIS_E_ARGUMENT && f == NULL, "view(NULL)");
    f = STALE;
    CHECK(tamis_open(NULL, NULL, &f) == TAMIS_E_ARGUMENT && f == NULL, "open(NULL)");
    CHECK(tamis_save(real, NULL, true) == TAMIS_E_ARGUMENT, "save to NULL");
    CHECK(tamis_save(NULL, "x", true) == TAMIS_E_ARGUMENT, "save(NULL)");
    CHECK(tamis_verify(NULL) == TAMIS_E_ARGUMENT, "verify(NULL)");
    CHECK(tamis_builder_create(NULL, NULL) == TAMIS_E_ARGUMENT, "builder_create(NULL)");
    CHECK(tamis_builder_add(NULL, "a", 1) == TAMIS_E_ARGUMENT, "builder_add(NULL)");
    CHECK(tamis_size(NULL, NULL) == TAMIS_E_ARGUMENT, "size(NULL)");
    CHECK(tamis_plan(NULL, NULL) == TAMIS_E_ARGUMENT, "plan(NULL)");
    CHECK(tamis_composer_create(NULL, NULL) == TAMIS_E_ARGUMENT, "composer_create(NULL)");
    CHECK(tamis_builder_composer(NULL, NULL) == TAMIS_E_ARGUMENT, "builder_composer(NULL)");
    tamis_free(NULL);
    tamis_builder_free(NULL);
    tamis_free(real);
    count_up("NULLs", 40);
}

/* Bytes that are not a filter. */
static void no_filter(void) {
    struct rng r = {run_seed()};
    struct bytes noise = bytes_new(4096);
    for (size_t round = 0; round < 2000; round++) {
        const size_t size = (size_t)rng_below(&r, noise.size + 1);
        for (size_t i = 0; i < size; i++) noise.data[i] = (uint8_t)rng_next(&r);
        tamis_open_options open = TAMIS_OPEN_INIT;
        tamis_filter *f = STALE;
        open.format = "tamis";
        const tamis_status status = tamis_decode(noise.data, size, &open, &f);
        CHECK(status >= TAMIS_E_FORMAT && f == NULL, "%zu random bytes: %s", size,
              tamis_status_name(status));
    }
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = STALE;
    open.format = "no such format";
    CHECK(tamis_decode(noise.data, 10, &open, &f) != TAMIS_OK && f == NULL, "an unknown format");
    CHECK(tamis_decode(noise.data, 0, NULL, &f) != TAMIS_OK && f == NULL, "no bytes");
    count_up("random inputs", 2000);
    bytes_free(&noise);
}

/* An empty or random file gives the same status however it is opened, in any format. */
static void no_filter_in_file(size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/none", run_directory());
    FILE *file = fopen(path, "wb");
    for (size_t i = 0; file != NULL && i < size; i++) fputc((int)(i * 37 & 0xff), file);
    if (!CHECK(file != NULL && fclose(file) == 0, "%s", path)) return;
    for (size_t i = 0; i == 0 || tamis_format_at(i - 1) != NULL; i++) {
        tamis_open_options how = TAMIS_OPEN_INIT;
        how.format = i == 0 ? NULL : tamis_format_at(i - 1);
        tamis_status status_of[3];
        for (int way = 0; way < 3; way++) {
            tamis_filter *f = STALE;
            how.map = way == 1;
            how.update = way == 2;
            status_of[way] = tamis_open(path, &how, &f);
            CHECK((status_of[way] == TAMIS_OK) == (f != NULL), "%zu bytes as %s", size, how.format);
            tamis_free(f);
        }
        CHECK(status_of[0] == status_of[1] && status_of[0] == status_of[2],
              "%zu bytes as %s: %s, mapped %s, for update %s", size,
              how.format == NULL ? "anything" : how.format, tamis_status_name(status_of[0]),
              tamis_status_name(status_of[1]), tamis_status_name(status_of[2]));
        CHECK(i != 0 || status_of[0] == TAMIS_E_FORMAT, "%zu bytes: %s", size,
              tamis_status_name(status_of[0]));
    }
    tamis_container *c = (tamis_container *)&stale;
    CHECK(tamis_container_open(path, NULL, &c) == TAMIS_E_FORMAT && c == NULL, "no container");
    CHECK(tamis_container_view(NULL, 0, NULL, &c) == TAMIS_E_FORMAT && c == NULL, "no bytes");
    remove(path);
}

/* A pipe cannot be mapped or updated: opening it must not block. */
static void no_file(void) {
    char path[512];
    snprintf(path, sizeof path, "%s/pipe", run_directory());
    if (!CHECK(mkfifo(path, 0600) == 0, "%s", path)) return;
    alarm(20); /* opening would block forever */
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f = STALE;
    how.map = true;
    CHECK(tamis_open(path, &how, &f) == TAMIS_E_UNSUPPORTED && f == NULL, "a pipe, mapped");
    how.map = false;
    how.update = true;
    CHECK(tamis_open(path, &how, &f) == TAMIS_E_UNSUPPORTED && f == NULL, "a pipe, for update");
    tamis_container *c = (tamis_container *)&stale;
    CHECK(tamis_container_open(path, NULL, &c) == TAMIS_E_UNSUPPORTED && c == NULL, "a pipe");
    alarm(0);
    remove(path);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "bad_input");
    no_file();
    bad_kinds();
    no_filter();
    no_filter_in_file(0);
    no_filter_in_file(1);
    no_filter_in_file(100);
    no_filter_in_file(1000);
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) bad_format_options(tamis_format_at(i));
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        bad_fprs(v);
        bad_sizes(v);
        bad_options(v);
        hashes_only(v);
        unsupported(v);
        nulls(v);
    }
    return run_end();
}
