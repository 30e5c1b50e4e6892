/* arguments.c - every public function refuses the arguments that its documentation excludes
 *
 * bad_input.c checks options, rates and sizes of every kind.  Here is one row per function and
 * argument: the call, and the status it must return.  An object that a call refuses to make must be
 * NULL afterwards. */
#include <math.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/vectors.h"

static char stale; /* where out-parameters point before a call */

static void refused(const char *call, tamis_status status, tamis_status expected) {
    CHECK(status == expected, "%s: %s, expected %s", call, tamis_status_name(status),
          tamis_status_name(expected));
    count_up("refusals", 1);
}
#define REFUSED(call, status) refused(#call, call, status)
#define BAD(call) REFUSED(call, TAMIS_E_ARGUMENT)

/* The call must set `out` to NULL. */
#define EMPTY(out, call, status)                              \
    do {                                                      \
        (out) = (void *)&stale;                               \
        REFUSED(call, status);                                \
        CHECK((out) == NULL, "%s: the result is set", #call); \
    } while (0)

static const void *const keys[] = {"a", "b"};
static const size_t lengths[] = {1, 1};
static const uint64_t hashes[] = {1, 2};

static tamis_options options_of(tamis_kind kind, tamis_hasher hasher) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = kind;
    o.capacity = 100;
    o.hasher = hasher;
    return o;
}

static tamis_filter *created(tamis_kind kind, tamis_hasher hasher) {
    const tamis_options o = options_of(kind, hasher);
    tamis_filter *f = NULL;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "create");
    return f;
}

static tamis_filter *created_as(const char *format) {
    tamis_options o = options_of(TAMIS_AUTO, TAMIS_HASH_XXH3);
    tamis_filter *f = NULL;
    o.format = format;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "create %s", format);
    return f;
}

/* ---- options */

static void bad_create(void) {
    tamis_options o = options_of(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    tamis_filter *f;
    struct meter meter;
    meter_reset(&meter);
    o.allocator = meter_allocator(&meter);
    o.allocator.free = NULL; /* half an allocator */
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o = options_of(TAMIS_BLOOM, TAMIS_HASH_SIP24); /* without a secret */
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o = options_of(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    BAD(tamis_build(&o, keys, lengths, 2, NULL));
    o.kind = TAMIS_CUCKOO;
    o.shared = true;
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_UNSUPPORTED);
    o.kind = TAMIS_FUSE;
    EMPTY(f, tamis_build_hash(&o, hashes, 2, &f), TAMIS_E_UNSUPPORTED);
    f = created(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    tamis_filter *copy;
    BAD(tamis_convert(f, TAMIS_BLOOM, NULL));
    EMPTY(copy, tamis_convert(f, (tamis_kind)99, &copy), TAMIS_E_KIND);
    EMPTY(copy, tamis_convert(f, TAMIS_CUCKOO, &copy), TAMIS_E_CONVERT);
    tamis_free(f);
}

/* Options of ours that a compatible format does not have. */
static void bad_compat(void) {
    const uint8_t secret[TAMIS_SECRET_BYTES] = {1};
    tamis_filter *f;
    tamis_options o = options_of(TAMIS_AUTO, TAMIS_HASH_XXH3);
    o.format = "guava";
    o.shared = true;
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_UNSUPPORTED);
    o.shared = false;
    o.secret = secret;
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_UNSUPPORTED);
    o.secret = NULL;
    o.bytes = 1000;
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_UNSUPPORTED);
    o.bytes = 0;
    o.kind = TAMIS_BLOOM;
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o = options_of(TAMIS_AUTO, TAMIS_HASH_NONE);
    o.format = "guava";
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o.hasher = TAMIS_HASH_XXH3;
    const double rates[] = {-1, 1, 2, NAN};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        o.fpr = rates[i];
        EMPTY(f, tamis_create(&o, &f), TAMIS_E_FPR);
    }
    o.fpr = 0;
    o.format = "no such format";
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o.format = "guava:nothing=1";
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
    o.format = "rocksdb-table"; /* can only be read */
    EMPTY(f, tamis_create(&o, &f), TAMIS_E_ARGUMENT);
}

/* ---- builders */

static void bad_builder(void) {
    const tamis_options o = options_of(TAMIS_FUSE, TAMIS_HASH_XXH3);
    tamis_builder *b = NULL;
    tamis_filter *f = NULL;
    tamis_composer *c = NULL;
    BAD(tamis_builder_create(&o, NULL));
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "builder");
    BAD(tamis_builder_add(b, NULL, 1));
    BAD(tamis_builder_add_batch(b, NULL, lengths, 2));
    BAD(tamis_builder_add_batch(b, keys, NULL, 2));
    BAD(tamis_builder_add_batch(NULL, keys, lengths, 2));
    BAD(tamis_builder_add_hash_batch(b, NULL, 2));
    BAD(tamis_builder_add_hash_batch(NULL, hashes, 2));
    BAD(tamis_builder_composer(b, NULL));
    EMPTY(c, tamis_builder_composer(NULL, &c), TAMIS_E_ARGUMENT);
    BAD(tamis_builder_finish(b, NULL));
    EMPTY(f, tamis_builder_finish(NULL, &f), TAMIS_E_ARGUMENT);
    CHECK(tamis_builder_add_batch(b, NULL, NULL, 0) == TAMIS_OK, "no keys");
    CHECK(tamis_builder_add_hash_batch(b, NULL, 0) == TAMIS_OK, "no hashes");
    CHECK(tamis_builder_finish(b, &f) == TAMIS_OK && tamis_builder_count(b) == 0, "finish");
    tamis_free(f);
    /* A finished builder. */
    BAD(tamis_builder_add(b, "a", 1));
    BAD(tamis_builder_add_batch(b, keys, lengths, 2));
    BAD(tamis_builder_add_hash(b, 1));
    EMPTY(f, tamis_builder_finish(b, &f), TAMIS_E_ARGUMENT);
    tamis_builder_free(b);
}

/* A compatible builder keeps the keys in order, in memory. */
static void bad_compat_builder(void) {
    tamis_options o = options_of(TAMIS_AUTO, TAMIS_HASH_XXH3);
    tamis_builder *b = NULL;
    tamis_composer *c;
    o.format = "guava";
    o.capacity = 0;
    o.memory = 1 << 20;
    EMPTY(b, tamis_builder_create(&o, &b), TAMIS_E_UNSUPPORTED);
    o.memory = 0;
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "builder");
    REFUSED(tamis_builder_add_hash(b, 1), TAMIS_E_UNSUPPORTED); /* its hashes have 128 bits */
    EMPTY(c, tamis_builder_composer(b, &c), TAMIS_E_UNSUPPORTED);
    tamis_builder_free(b);
    o.format = "xor8"; /* its keys are 64-bit integers */
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "builder");
    REFUSED(tamis_builder_add(b, "a", 1), TAMIS_E_KEY);
    tamis_builder_free(b);
}

/* A key more often than the slots of its two buckets can hold it: no room helps. */
static void full_builder(void) {
    tamis_options o = options_of(TAMIS_AUTO, TAMIS_HASH_XXH3);
    tamis_filter *f = NULL;
    const void *same[64];
    size_t one[64];
    for (size_t i = 0; i < 64; i++) {
        same[i] = "again";
        one[i] = 5;
    }
    o.format = "seiflotfy";
    o.capacity = 0;
    EMPTY(f, tamis_build(&o, same, one, 64, &f), TAMIS_E_FULL);
}

/* ---- filters */

static void bad_operations(void) {
    tamis_filter *f = created(TAMIS_CUCKOO, TAMIS_HASH_XXH3);
    bool fresh = false;
    BAD(tamis_add(f, NULL, 1, &fresh));
    BAD(tamis_add_batch(f, keys, NULL, 2, NULL, NULL));
    BAD(tamis_add_batch(NULL, keys, lengths, 2, NULL, NULL));
    BAD(tamis_add_hash_batch(NULL, hashes, 2, NULL, NULL));
    BAD(tamis_remove(f, NULL, 1));
    BAD(tamis_remove_hash(NULL, 1));
    BAD(tamis_remove_batch(f, NULL, lengths, 2, NULL));
    BAD(tamis_remove_batch(f, keys, NULL, 2, NULL));
    BAD(tamis_remove_batch(NULL, keys, lengths, 2, NULL));
    BAD(tamis_remove_hash_batch(f, NULL, 2, NULL));
    BAD(tamis_remove_hash_batch(NULL, hashes, 2, NULL));
    BAD(tamis_set_adds(NULL, 1));
    REFUSED(tamis_remove_batch(f, keys, lengths, 2, NULL), TAMIS_E_ABSENT);
    BAD(tamis_merge(f, NULL, TAMIS_UNION));
    BAD(tamis_merge(NULL, f, TAMIS_UNION));
    BAD(tamis_merge(f, f, (tamis_merge_mode)9));
    REFUSED(tamis_compact(f, &fresh), TAMIS_E_UNSUPPORTED);
    BAD(tamis_compact(NULL, &fresh));
    BAD(tamis_compact(NULL, NULL));
    BAD(tamis_commit(NULL, NULL));
    BAD(tamis_commit(f, NULL)); /* not open for update */
    BAD(tamis_encode_to(f, NULL, NULL));
    BAD(tamis_encode_to(NULL, NULL, NULL));
    BAD(tamis_reformat(f, NULL));
    BAD(tamis_reformat(NULL, "tamis"));
    BAD(tamis_reformat(f, "no such format"));
    REFUSED(tamis_reformat(f, "guava"), TAMIS_E_CONVERT);
    CHECK(tamis_reformat_reason(f, NULL) != NULL && tamis_reformat_reason(NULL, "tamis") != NULL,
          "reason for nothing");
    CHECK(tamis_reformat_reason(f, "leveldb:bits=10") != NULL, "a format with parameters");
    tamis_free(f);
}

/* A filter that refuses byte keys answers "possibly" to them. */
static void no_bytes(void) {
    tamis_filter *f = created(TAMIS_CUCKOO, TAMIS_HASH_NONE);
    bool answers[2] = {false, false};
    size_t done = 9;
    BAD(tamis_add(f, "a", 1, NULL));
    BAD(tamis_add_batch(f, keys, lengths, 2, NULL, &done));
    CHECK(done == 0, "%zu keys added", done);
    BAD(tamis_remove(f, "a", 1));
    BAD(tamis_remove_batch(f, keys, lengths, 2, NULL));
    CHECK(tamis_contains(f, "a", 1) && tamis_count(f, "a", 1) == 1, "one byte key");
    CHECK(tamis_contains_batch(f, keys, lengths, 2, answers) == 2 && answers[0] && answers[1],
          "byte keys");
    CHECK(tamis_contains_batch(f, keys, lengths, 2, NULL) == 2, "byte keys, without answers");
    CHECK(tamis_count_hash(f, 1) == 0, "a hash");
    tamis_free(f);
    tamis_builder *b = NULL;
    const tamis_options o = options_of(TAMIS_FUSE, TAMIS_HASH_NONE);
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "builder");
    BAD(tamis_builder_add(b, "a", 1));
    BAD(tamis_builder_add_batch(b, keys, lengths, 2));
    tamis_builder_free(b);
}

/* A filter that refuses hashes. */
static void no_hashes(void) {
    tamis_filter *f = created_as("guava");
    tamis_composer *c;
    BAD(tamis_composer_create(f, NULL));
    EMPTY(c, tamis_composer_create(NULL, &c), TAMIS_E_ARGUMENT);
    EMPTY(c, tamis_composer_create(f, &c), TAMIS_E_UNSUPPORTED);
    REFUSED(tamis_add_hash(f, 1, NULL), TAMIS_E_UNSUPPORTED);
    REFUSED(tamis_add_hash_batch(f, hashes, 2, NULL, NULL), TAMIS_E_UNSUPPORTED);
    CHECK(tamis_contains_hash(f, 1) && tamis_count_hash(f, 1) == 1, "a hash");
    CHECK(tamis_contains_hash_batch(f, hashes, 2, NULL) == 2, "hashes");
    CHECK(tamis_add(f, "a", 1, NULL) == TAMIS_OK && tamis_count(f, "a", 1) == 1, "a key");
    tamis_free(f);
}

/* A view of read-only bytes. */
static void read_only(void) {
    tamis_filter *f = created(TAMIS_CUCKOO, TAMIS_HASH_XXH3), *view = NULL, *bloom;
    struct bytes bytes = bytes_of(f);
    CHECK(tamis_view(bytes.data, bytes.size, NULL, &view) == TAMIS_OK, "view");
    REFUSED(tamis_add(view, "a", 1, NULL), TAMIS_E_READONLY);
    REFUSED(tamis_add_hash(view, 1, NULL), TAMIS_E_READONLY);
    REFUSED(tamis_remove(view, "a", 1), TAMIS_E_READONLY);
    REFUSED(tamis_set_adds(view, 1), TAMIS_E_READONLY);
    tamis_free(view);
    tamis_free(f);
    bytes_free(&bytes);
    f = created(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    bytes = bytes_of(f);
    CHECK(tamis_view(bytes.data, bytes.size, NULL, &view) == TAMIS_OK, "view");
    REFUSED(tamis_merge(view, f, TAMIS_UNION), TAMIS_E_READONLY);
    CHECK(tamis_merge(f, f, TAMIS_INTERSECTION) == TAMIS_OK, "with itself");
    bloom = created(TAMIS_COUNTING, TAMIS_HASH_XXH3);
    REFUSED(tamis_merge(f, bloom, TAMIS_UNION), TAMIS_E_MISMATCH);
    REFUSED(tamis_merge(bloom, bloom, TAMIS_INTERSECTION), TAMIS_E_NO_MERGE);
    tamis_free(bloom);
    bloom = created_as("guava");
    REFUSED(tamis_merge(f, bloom, TAMIS_UNION), TAMIS_E_MISMATCH);
    tamis_free(bloom);
    tamis_free(view);
    tamis_free(f);
    bytes_free(&bytes);
}

/* ---- sizes, formats */

static void bad_sizes(void) {
    tamis_options o = options_of(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    tamis_advice advice = TAMIS_ADVICE_INIT;
    double fpr = 7;
    size_t length = 9;
    sizing.struct_size = 4;
    BAD(tamis_size(&o, &sizing));
    sizing.struct_size = sizeof sizing;
    advice.struct_size = 4;
    BAD(tamis_plan(&o, &advice));
    advice.struct_size = sizeof advice;
    BAD(tamis_plan(NULL, &advice));
    BAD(tamis_size(&o, NULL));
    BAD(tamis_size(NULL, &sizing));
    BAD(tamis_size_fpr(&o, 10, NULL));
    BAD(tamis_size_fpr(NULL, 10, &fpr));
    o.kind = (tamis_kind)99;
    REFUSED(tamis_size_fpr(&o, 10, &fpr), TAMIS_E_KIND);
    o.kind = TAMIS_AUTO;
    o.format = "guava";
    REFUSED(tamis_size_fpr(&o, 10, &fpr), TAMIS_E_UNSUPPORTED);
    CHECK(fpr == 7, "a refused size_fpr sets the rate");
    o.shared = true;
    REFUSED(tamis_size(&o, &sizing), TAMIS_E_UNSUPPORTED);
    o.shared = false;
    REFUSED(tamis_small_create(&o, &stale, 1, &length), TAMIS_E_UNSUPPORTED);
    o = options_of(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    o.fpr = 2;
    REFUSED(tamis_plan(&o, &advice), TAMIS_E_FPR);
    REFUSED(tamis_size_fpr(&o, 10, &fpr), TAMIS_E_FPR);
    o.fpr = 0;
    BAD(tamis_small_create(&o, &stale, 1, NULL));
    BAD(tamis_small_build(&o, hashes, 2, &stale, 1, NULL));
    BAD(tamis_small_build(&o, NULL, 2, &stale, 1, &length));
    BAD(tamis_small_build(NULL, hashes, 2, &stale, 1, &length));
    REFUSED(tamis_small_build(&o, hashes, 2, NULL, 100, &length), TAMIS_E_BUFFER);
    BAD(tamis_small_add(NULL, 1, 1, NULL));
    BAD(tamis_small_add(&stale, 0, 1, NULL));
    CHECK(tamis_small_contains(NULL, 0, 1) && tamis_small_contains(&stale, 0, 1), "no bytes");
    o.kind = TAMIS_CUCKOO;
    REFUSED(tamis_small_build(&o, hashes, 2, &stale, 1, &length), TAMIS_E_UNSUPPORTED);
    o.kind = TAMIS_FUSE;
    REFUSED(tamis_small_create(&o, &stale, 1, &length), TAMIS_E_UNSUPPORTED);
    CHECK(tamis_small_bound(NULL, 10) == 0, "a bound without options");
}

static void bad_formats(void) {
    CHECK(tamis_format_description(NULL) == NULL && tamis_format_description("x") == NULL &&
              tamis_format_parameters(NULL) == NULL && tamis_format_parameters("x") == NULL,
          "unknown formats");
    CHECK(!tamis_format_can_create(NULL) && !tamis_format_can_create("x"), "create unknown");
    CHECK(tamis_format_detect(NULL, 10, 0) == NULL, "detect nothing");
    size_t formats = 0, containers = 0;
    for (const char *name; (name = tamis_format_at(formats)) != NULL; formats++) {
        CHECK(tamis_format_description(name) != NULL, "%s: description", name);
        CHECK(tamis_format_parameters(name) != NULL, "%s: parameters", name);
        containers += !tamis_format_can_create(name);
    }
    CHECK(formats > 10 && containers > 0 && tamis_format_at(SIZE_MAX) == NULL, "%zu formats",
          formats);
    CHECK(tamis_format_can_create("tamis") && tamis_format_can_create("guava"), "create");
}

/* ---- files and containers */

static void bad_open(void) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    tamis_container *c;
    struct meter meter;
    meter_reset(&meter);
    BAD(tamis_open("x", NULL, NULL));
    BAD(tamis_view("x", 1, NULL, NULL));
    EMPTY(f, tamis_open_any("x", NULL, &f, NULL), TAMIS_E_ARGUMENT);
    EMPTY(c, tamis_open_any("x", NULL, NULL, &c), TAMIS_E_ARGUMENT);
    EMPTY(f, tamis_open_any(NULL, NULL, &f, &c), TAMIS_E_ARGUMENT);
    how.struct_size = 4;
    EMPTY(f, tamis_open("x", &how, &f), TAMIS_E_ARGUMENT);
    EMPTY(f, tamis_decode("x", 1, &how, &f), TAMIS_E_ARGUMENT);
    EMPTY(f, tamis_view("x", 1, &how, &f), TAMIS_E_ARGUMENT);
    EMPTY(f, tamis_header_open("x", 1, &how, &f), TAMIS_E_ARGUMENT);
    EMPTY(c, tamis_container_view("x", 1, &how, &c), TAMIS_E_ARGUMENT);
    EMPTY(c, tamis_container_open("x", &how, &c), TAMIS_E_ARGUMENT);
    how.struct_size = sizeof how;
    how.allocator = meter_allocator(&meter);
    how.allocator.alloc = NULL;
    EMPTY(f, tamis_decode("x", 1, &how, &f), TAMIS_E_ARGUMENT);
    how.allocator.free = NULL;
    how.part = "a part";
    f = created(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    struct bytes bytes = bytes_of(f);
    tamis_free(f);
    EMPTY(f, tamis_decode(bytes.data, bytes.size, &how, &f), TAMIS_E_PART);
    bytes_free(&bytes);
}

static void bad_container(void) {
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_container *c = NULL;
    tamis_filter *f, *bloom = created(TAMIS_BLOOM, TAMIS_HASH_XXH3);
    tamis_part part = {.struct_size = sizeof part};
    BAD(tamis_container_view(file.at, file.length, NULL, NULL));
    BAD(tamis_container_open("x", NULL, NULL));
    EMPTY(c, tamis_container_view(NULL, 10, NULL, &c), TAMIS_E_ARGUMENT);
    EMPTY(c, tamis_container_open(NULL, NULL, &c), TAMIS_E_ARGUMENT);
    how.shared = true;
    EMPTY(f, tamis_decode(file.at, file.length, &how, &f), TAMIS_E_UNSUPPORTED);
    if (!CHECK(tamis_container_view(file.at, file.length, NULL, &c) == TAMIS_OK, "container")) {
        return;
    }
    const size_t count = tamis_container_count(c);
    BAD(tamis_container_part(NULL, 0, &part));
    BAD(tamis_container_part(c, 0, NULL));
    BAD(tamis_container_part(c, count, &part));
    BAD(tamis_container_filter(c, 0, NULL));
    EMPTY(f, tamis_container_filter(NULL, 0, &f), TAMIS_E_ARGUMENT);
    EMPTY(f, tamis_container_filter(c, count, &f), TAMIS_E_ARGUMENT);
    BAD(tamis_container_replace(NULL, 0, bloom, "x", false));
    BAD(tamis_container_replace(c, 0, NULL, "x", false));
    BAD(tamis_container_replace(c, 0, bloom, NULL, false));
    BAD(tamis_container_replace(c, count, bloom, "x", false));
    REFUSED(tamis_container_replace(c, 0, bloom, "x", false), TAMIS_E_MISMATCH);
    part.struct_size = 4;
    BAD(tamis_container_part(c, 0, &part));
    tamis_container_free(c);
    tamis_container_free(NULL);
    tamis_free(bloom);
    vector_bytes_free(&file);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "arguments");
    bad_create();
    bad_compat();
    bad_builder();
    bad_compat_builder();
    full_builder();
    bad_operations();
    no_bytes();
    no_hashes();
    read_only();
    bad_sizes();
    bad_formats();
    bad_open();
    bad_container();
    return run_end();
}
