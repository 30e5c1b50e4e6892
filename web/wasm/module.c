/* module.c - what JavaScript calls besides the functions of tamis.h
 *
 * JavaScript passes numbers and addresses.  It calls most functions of tamis.h as they are; these
 * are for what has structures or many keys.  Options are in `request`, which JavaScript fills
 * before a call; what a call returns besides its status is in `result`.  Both are arrays of 64-bit
 * numbers, so that JavaScript needs to know only the order of their members, which is that of the
 * two lists in npm/wasm.js.  There is one thread. */
#include <string.h>

#include "tamis.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* ---- mathematics: JavaScript's Math, whose functions have no tables here.  Those of libm are
 * 14 KB of the compressed module.  The results may differ in the last bit, as between any two
 * libms: sizes are computed with a margin, and what is printed is rounded. */

#define IMPORT(name) __attribute__((import_module("Math"), import_name(#name)))

#define FUNCTION(name)                       \
    IMPORT(name) double math_##name(double); \
    double name(double x);                   \
    double name(double x) { return math_##name(x); }
#define FUNCTION_OF_TWO(name)                        \
    IMPORT(name) double math_##name(double, double); \
    double name(double x, double y);                 \
    double name(double x, double y) { return math_##name(x, y); }

FUNCTION(exp)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log1p)
FUNCTION(log2)
FUNCTION_OF_TWO(hypot)
FUNCTION_OF_TWO(pow)

/* ---- what is passed */

enum {
    REQUEST_KIND,
    REQUEST_NEEDS,
    REQUEST_CAPACITY,
    REQUEST_FPR,
    REQUEST_BYTES,
    REQUEST_BITS,
    REQUEST_HASHES,
    REQUEST_ARITY,
    REQUEST_STAGE,
    REQUEST_HASHER,
    REQUEST_CHECK,
    REQUEST_FLAGS,
    REQUEST_TYPE,
    REQUEST_FORMAT, /* address of its name; 0: none */
    REQUEST_PART,   /* likewise */
    REQUEST_SECRET, /* address of 16 bytes; 0: none */
    REQUEST_NUMBERS
};

static double request[REQUEST_NUMBERS];
static uint64_t request_seed;

#define RESULT_NUMBERS 40
static double result[RESULT_NUMBERS];
static uint64_t result_seed, result_key_id;
static char text[TAMIS_PART_NAME];

EXPORT(web_request) double *web_request(void) { return request; }
EXPORT(web_result) double *web_result(void) { return result; }
EXPORT(web_seed) void web_seed(uint64_t seed) { request_seed = seed; }
EXPORT(web_result_seed) uint64_t web_result_seed(void) { return result_seed; }
EXPORT(web_result_key_id) uint64_t web_result_key_id(void) { return result_key_id; }
EXPORT(web_text) const char *web_text(void) { return text; }

/* A number that is no 64-bit integer is the nearest one. */
static uint64_t whole(double number) {
    if (!(number > 0)) return 0;
    return number < 0x1p64 ? (uint64_t)number : UINT64_MAX;
}
static uint32_t small(double number) {
    return number > 0 && number < 0x1p32 ? (uint32_t)number : number > 0 ? UINT32_MAX : 0;
}
static const void *address(double number) { return (const void *)(uintptr_t)number; }

static tamis_options options(void) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = (tamis_kind)small(request[REQUEST_KIND]);
    o.needs = small(request[REQUEST_NEEDS]);
    o.capacity = whole(request[REQUEST_CAPACITY]);
    o.fpr = request[REQUEST_FPR];
    o.bytes = whole(request[REQUEST_BYTES]);
    o.bits = whole(request[REQUEST_BITS]);
    o.hashes = small(request[REQUEST_HASHES]);
    o.arity = small(request[REQUEST_ARITY]);
    o.stage = (tamis_kind)small(request[REQUEST_STAGE]);
    o.hasher = (tamis_hasher)small(request[REQUEST_HASHER]);
    o.check = request[REQUEST_CHECK] != 0;
    o.form.flags = small(request[REQUEST_FLAGS]);
    o.form.type = small(request[REQUEST_TYPE]);
    o.format = address(request[REQUEST_FORMAT]);
    o.secret = address(request[REQUEST_SECRET]);
    o.seed = request_seed;
    return o;
}

static tamis_open_options open_options(void) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.format = address(request[REQUEST_FORMAT]);
    o.part = address(request[REQUEST_PART]);
    o.secret = address(request[REQUEST_SECRET]);
    return o;
}

/* ---- creating and opening */

EXPORT(web_create) tamis_status web_create(tamis_filter **out) {
    const tamis_options o = options();
    return tamis_create(&o, out);
}

EXPORT(web_builder) tamis_status web_builder(tamis_builder **out) {
    const tamis_options o = options();
    return tamis_builder_create(&o, out);
}

EXPORT(web_open) tamis_status web_open(const void *bytes, size_t length, tamis_filter **out) {
    const tamis_open_options o = open_options();
    return tamis_decode(bytes, length, &o, out);
}

/* The bytes must exist until tamis_container_free.  The module without compatible formats does not
 * export this function and web_part. */
tamis_status web_container(const void *bytes, size_t length, tamis_container **out);
tamis_status web_container(const void *bytes, size_t length, tamis_container **out) {
    const tamis_open_options o = open_options();
    return tamis_container_view(bytes, length, &o, out);
}

/* ---- many keys */

enum action { ADD, CONTAINS, REMOVE, COUNT, HASH, BUILD };

/* How keys lie in memory. */
enum layout {
    OFFSETS,  /* key i is bytes[offsets[i], offsets[i + 1]) */
    INTEGERS, /* 8 bytes each */
    HASHES    /* likewise; they are hashes */
};

#define GROUP 256
struct group {
    const void *key[GROUP];
    size_t length[GROUP];
};

static void fill(struct group *g, const uint8_t *bytes, const uint32_t *offsets, size_t from,
                 size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t at = offsets == NULL ? 8 * (from + i) : offsets[from + i];
        g->key[i] = bytes + at;
        g->length[i] = offsets == NULL ? 8 : offsets[from + i + 1] - at;
    }
}

static tamis_status act_on_keys(void *object, enum action action, const struct group *g,
                                size_t count, void *results, size_t *done) {
    switch (action) {
        case ADD:
            return tamis_add_batch(object, g->key, g->length, count, results, done);
        case CONTAINS:
            tamis_contains_batch(object, g->key, g->length, count, results);
            return TAMIS_OK;
        case REMOVE:
            return tamis_remove_batch(object, g->key, g->length, count, results);
        case COUNT:
            for (size_t i = 0; i < count; i++) {
                ((uint32_t *)results)[i] = tamis_count(object, g->key[i], g->length[i]);
            }
            return TAMIS_OK;
        case HASH:
            tamis_hash_batch(object, g->key, g->length, count, results);
            return TAMIS_OK;
        default:
            return tamis_builder_add_batch(object, g->key, g->length, count);
    }
}

static tamis_status act_on_hashes(void *object, enum action action, const uint64_t *hashes,
                                  size_t count, void *results, size_t *done) {
    switch (action) {
        case ADD:
            return tamis_add_hash_batch(object, hashes, count, results, done);
        case CONTAINS:
            tamis_contains_hash_batch(object, hashes, count, results);
            return TAMIS_OK;
        case REMOVE:
            return tamis_remove_hash_batch(object, hashes, count, results);
        case COUNT:
            for (size_t i = 0; i < count; i++) {
                ((uint32_t *)results)[i] = tamis_count_hash(object, hashes[i]);
            }
            return TAMIS_OK;
        case HASH:
            memcpy(results, hashes, 8 * count);
            return TAMIS_OK;
        default:
            return tamis_builder_add_hash_batch(object, hashes, count);
    }
}

/* Bytes of a result. */
static size_t result_bytes(enum action action) {
    return action == HASH ? 8 : action == COUNT ? 4 : 1;
}

/* result[0]: how many keys were processed.  Removing an absent key is no error. */
EXPORT(web_keys)
tamis_status web_keys(void *object, enum action action, enum layout layout, const uint8_t *bytes,
                      const uint32_t *offsets, size_t count, uint8_t *results) {
    struct group g;
    size_t processed = 0;
    tamis_status status = TAMIS_OK;
    while (processed < count && status == TAMIS_OK) {
        const size_t some = count - processed < GROUP ? count - processed : GROUP;
        void *to = results == NULL ? NULL : results + processed * result_bytes(action);
        size_t done = some;
        if (layout == HASHES) {
            const uint64_t *hashes = (const uint64_t *)(const void *)bytes + processed;
            status = act_on_hashes(object, action, hashes, some, to, &done);
        } else {
            fill(&g, bytes, layout == INTEGERS ? NULL : offsets, processed, some);
            status = act_on_keys(object, action, &g, some, to, &done);
        }
        if (status == TAMIS_E_ABSENT) status = TAMIS_OK;
        processed += done;
    }
    result[0] = (double)processed;
    return status;
}

/* ---- information */

static double string(const char *text) { return (double)(uintptr_t)text; }

EXPORT(web_info) tamis_status web_info(const tamis_filter *filter, bool brief) {
    tamis_facts f = TAMIS_FACTS_INIT;
    const tamis_status status = brief ? tamis_info_brief(filter, &f) : tamis_info(filter, &f);
    const double numbers[] = {
        (double)f.kind,
        string(f.format),
        (double)f.caps,
        (double)f.capacity,
        (double)f.adds,
        f.distinct,
        f.distinct_error,
        (double)f.table_bytes,
        (double)f.encoded_bytes,
        f.bits_per_key,
        (double)f.hashes,
        (double)f.width,
        (double)f.stages,
        f.fill,
        f.fpr_target,
        f.fpr_now,
        (double)f.headroom,
        (double)f.over_capacity,
        (double)f.hasher,
        (double)f.keyed,
        (double)f.prehashed,
        string(f.path),
        (double)f.form.flags,
        (double)f.form.type,
        (double)f.form.field,
        string(f.note),
        string(f.hash),
        (double)f.key_bytes,
        (double)f.form.separator_length,
    };
    memcpy(result, numbers, sizeof numbers);
    memcpy(text, f.form.separator, sizeof f.form.separator);
    result_seed = f.seed;
    result_key_id = f.key_id;
    return status;
}

EXPORT(web_size) tamis_status web_size(void) {
    const tamis_options o = options();
    tamis_sizing s = TAMIS_SIZING_INIT;
    const tamis_status status = tamis_size(&o, &s);
    const double numbers[] = {(double)s.bytes, s.bits_per_key, (double)s.hashes,
                              (double)s.width, s.fpr,          s.fpr_at_half,
                              s.fpr_at_double, s.cache_lines,  (double)s.build_bytes};
    memcpy(result, numbers, sizeof numbers);
    return status;
}

/* result[0]: the rate with this number of keys. */
EXPORT(web_size_fpr) tamis_status web_size_fpr(double keys) {
    const tamis_options o = options();
    return tamis_size_fpr(&o, whole(keys), &result[0]);
}

/* result[0]: the kind; web_text: why. */
EXPORT(web_plan) tamis_status web_plan(void) {
    const tamis_options o = options();
    tamis_advice a = TAMIS_ADVICE_INIT;
    const tamis_status status = tamis_plan(&o, &a);
    result[0] = (double)a.choice;
    memcpy(text, a.why, sizeof text);
    return status;
}

EXPORT(web_classic) void web_classic(double keys, double fpr) {
    const uint64_t n = whole(keys), bits = tamis_classic_bits(n, fpr);
    const uint32_t hashes = tamis_classic_hashes(bits, n);
    result[0] = (double)bits;
    result[1] = (double)hashes;
    result[2] = tamis_classic_fpr(bits, hashes, n);
}

EXPORT(web_classic_fpr) double web_classic_fpr(double bits, double hashes, double keys) {
    return tamis_classic_fpr(whole(bits), small(hashes), whole(keys));
}

tamis_status web_part(const tamis_container *container, size_t index);
tamis_status web_part(const tamis_container *container, size_t index) {
    tamis_part p = TAMIS_PART_INIT;
    const tamis_status status = tamis_container_part(container, index, &p);
    memcpy(text, p.name, sizeof text);
    result[0] = string(p.format);
    result[1] = (double)p.offset;
    result[2] = (double)p.bytes;
    result[3] = (double)p.row_group;
    return status;
}

/* ---- what a lookup reads */

/* result[0]: the number of cells, of which at most `capacity` are written. */
EXPORT(web_cells)
tamis_status web_cells(const tamis_filter *filter, uint64_t hash, tamis_cell *cells,
                       size_t capacity) {
    size_t count = 0;
    const tamis_status status = tamis_cells(filter, hash, cells, capacity, &count);
    result[0] = (double)count;
    return status;
}
