/* self_check.c - tamis_options.check: no bit that flips during a build becomes a false negative
 *
 * When the filter is built, its sum is formed: XXH3 of its table, its shape and its hashing.  Then
 * all keys are read again, from where they were collected or a copy (kept.h) or the caller's
 * arrays, with a sum that was formed when they came, and queried.  The queries use a second object
 * that is attached to the same table after the sum was formed: what they find depends on nothing
 * but what the sum covers.  The filter keeps the sum, its seal, and every encoding is followed by
 * its comparison: the table that all keys were found in is the table whose bytes and checksums were
 * made.
 *
 * The bytes of a compatible format, which may have no checksums, have a sum of their own.
 *
 * Each flip is therefore detected by one of: the sum of the keys, a query, the seal, or, after the
 * encoding, the checksums in the file.  Not detected: what happened to a key before it was added,
 * and to bytes of a format without checksums after they were compared. */
#include <stdatomic.h>
#include <string.h>

#include "api/api.h"
#include "build/keys.h"
#include "core/bits.h"
#include "core/parallel.h"
#include "file/native.h"

/* ---- the seal */

/* The bytes of a table that is not contiguous, to be freed; `*bytes` is NULL if there are none. */
static tamis_status export_of(const tamis_filter *f, uint8_t **bytes, uint64_t *length) {
    *bytes = NULL;
    *length = f->shape.table_bytes;
    if (f->family->export_table == NULL) return TAMIS_OK;
    *length = f->family->export_bytes(f);
    *bytes = tamis__table_alloc(&f->settings.allocator, *length);
    if (*bytes == NULL) return TAMIS_E_NOMEM;
    f->family->export_table(f, *bytes);
    return TAMIS_OK;
}

static uint64_t sum_of(const tamis_filter *f, const uint8_t *table, uint64_t length) {
    const struct tamis__hashing *h = &f->hashing;
    uint64_t words[8 + TAMIS__SHAPE_WORDS] = {(uint64_t)f->family->kind,
                                              f->shape.layout,
                                              length,
                                              (uint64_t)h->id,
                                              h->seed,
                                              h->key_id,
                                              h->compat == NULL ? 0 : h->compat->id};
    memcpy(words + 8, f->shape.word, sizeof f->shape.word);
    return tamis__xxh3(table, (size_t)length, tamis__xxh3(words, sizeof words, 0));
}

tamis_status tamis__seal_verify(const tamis_filter *f) {
    if (!f->seal.set || f->seal.adds != f->adds) return TAMIS_OK;
    uint8_t *exported;
    uint64_t length;
    const tamis_status status = export_of(f, &exported, &length);
    if (status != TAMIS_OK) return status;
    const uint64_t sum = sum_of(f, exported != NULL ? exported : f->table, length);
    tamis__table_free(&f->settings.allocator, exported, length);
    return sum == f->seal.sum ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

tamis_status tamis__seal_verify_bytes(const tamis_filter *f, const uint8_t *bytes) {
    if (!f->seal.set || f->seal.adds != f->adds) return TAMIS_OK;
    if (f->settings.codec != NULL && f->settings.codec != f->seal.codec) {
        return tamis__seal_verify(f);
    }
    if (f->settings.codec != NULL) {
        const uint64_t sum = tamis__xxh3(bytes, (size_t)tamis_encoded_size(f), 0);
        return sum == f->seal.encoded ? TAMIS_OK : TAMIS_E_CHECKSUM;
    }
    uint8_t header[TAMIS__HEADER_BYTES];
    const uint64_t padded = tamis__native_table_bytes(bytes);
    const uint64_t length =
        f->family->export_bytes == NULL ? f->shape.table_bytes : f->family->export_bytes(f);
    tamis__native_header(f, padded, tamis__native_sums_sum(bytes), header);
    const bool same = memcmp(header, bytes, sizeof header) == 0 && length <= padded &&
                      sum_of(f, bytes + sizeof header, length) == f->seal.sum;
    return same ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

/* ---- the keys */

struct check {
    const struct tamis__given *given;
    const struct tamis__kept *kept;
    struct tamis__keys *keys; /* given->collected; or NULL */
    const tamis_filter *filter;
    atomic_uint_fast64_t count, sum;
};

static tamis_status query(struct check *c, const uint64_t *lo, const uint64_t *hi, size_t count) {
    if (!c->kept->wide) hi = NULL;
    atomic_fetch_add(&c->count, count);
    atomic_fetch_add(&c->sum, tamis__kept_sum(lo, hi, count));
    const size_t found = c->filter->ops->contains_batch(c->filter, lo, hi, count, NULL);
    return found == count ? TAMIS_OK : TAMIS_E_LOST;
}

/* Queries hashes that are pairs of words. */
static tamis_status query_pairs(struct check *c, const uint64_t *words, size_t pairs) {
    uint64_t lo[TAMIS__HASHED_AT_ONCE], hi[TAMIS__HASHED_AT_ONCE];
    for (size_t i = 0; i < pairs; i++) {
        lo[i] = words[2 * i];
        hi[i] = words[2 * i + 1];
    }
    return query(c, lo, hi, pairs);
}

static tamis_status query_words(struct check *c, const uint64_t *words, size_t count) {
    tamis_status status = TAMIS_OK;
    const size_t most = (size_t)TAMIS__HASHED_AT_ONCE << c->kept->wide;
    for (size_t at = 0, n; at < count && status == TAMIS_OK; at += n) {
        n = count - at < most ? count - at : most;
        status = c->kept->wide ? query_pairs(c, words + at, n / 2) : query(c, words + at, NULL, n);
    }
    return status;
}

/* Queries hashes that are mixed.  Their sum is that of the mixed ones. */
static tamis_status query_mixed(struct check *c, const uint64_t *words, size_t count) {
    uint64_t lo[TAMIS__HASHED_AT_ONCE];
    size_t lost = 0;
    for (size_t at = 0, n; at < count && lost == 0; at += n) {
        n = count - at < TAMIS__HASHED_AT_ONCE ? count - at : TAMIS__HASHED_AT_ONCE;
        for (size_t i = 0; i < n; i++) lo[i] = tamis__unmix64(words[at + i]);
        lost = n - c->filter->ops->contains_batch(c->filter, lo, NULL, n, NULL);
    }
    atomic_fetch_add(&c->count, count);
    atomic_fetch_add(&c->sum, tamis__kept_sum(words, NULL, count));
    return lost == 0 ? TAMIS_OK : TAMIS_E_LOST;
}

static bool find_unit(const struct check *c, uint64_t unit, uint64_t *buffer,
                      const uint64_t **words, size_t *count) {
    return c->keys != NULL ? tamis__keys_unit(c->keys, unit, buffer, words, count)
                           : tamis__kept_unit(c->kept, unit, buffer, words, count);
}

static tamis_status check_kept(void *context, uint64_t unit) {
    struct check *c = (struct check *)context;
    const tamis_allocator *a = &c->kept->allocator;
    const bool spilled = c->keys != NULL ? tamis__keys_spilled(c->keys) : c->kept->file_words != 0;
    const size_t bytes = spilled ? TAMIS__KEPT_UNIT * sizeof(uint64_t) : 0;
    uint64_t *buffer = bytes == 0 ? NULL : tamis__alloc(a, bytes);
    if (bytes != 0 && buffer == NULL) return TAMIS_E_NOMEM;
    const uint64_t *words;
    size_t count;
    tamis_status status = TAMIS_E_IO;
    if (find_unit(c, unit, buffer, &words, &count)) {
        status = c->keys != NULL ? query_mixed(c, words, count) : query_words(c, words, count);
    }
    if (buffer != NULL) tamis__release(a, buffer, bytes);
    return status;
}

#define GIVEN_UNIT ((size_t)1 << 16)

/* Keys are hashed again. */
static tamis_status check_given(void *context, uint64_t unit) {
    struct check *c = (struct check *)context;
    const struct tamis__given *g = c->given;
    uint64_t lo[TAMIS__HASHED_AT_ONCE], hi[TAMIS__HASHED_AT_ONCE];
    size_t at = (size_t)unit * GIVEN_UNIT;
    const size_t end = g->count - at < GIVEN_UNIT ? g->count : at + GIVEN_UNIT;
    tamis_status status = TAMIS_OK;
    for (size_t n; at < end && status == TAMIS_OK; at += n) {
        n = end - at < TAMIS__HASHED_AT_ONCE ? end - at : TAMIS__HASHED_AT_ONCE;
        if (g->keys != NULL) {
            tamis__hash_keys(&c->kept->hashing, c->filter->settings.portable, g->keys + at,
                             g->lengths + at, n, lo, hi);
        }
        const uint64_t *upper = g->upper != NULL ? g->upper + at : hi;
        status = query(c, g->keys != NULL ? lo : g->hashes + at, upper, n);
    }
    return status;
}

static tamis_status check_keys(struct check *c, unsigned threads) {
    uint64_t count = c->kept->count, sum = c->kept->sum;
    tamis_status status;
    if (c->keys != NULL) {
        tamis__keys_expected(c->keys, &count, &sum);
        status = tamis__parallel(threads, tamis__keys_units(c->keys), check_kept, c);
    } else if (c->given != NULL) {
        status =
            tamis__parallel(threads, tamis__div_up(c->given->count, GIVEN_UNIT), check_given, c);
    } else {
        status = tamis__parallel(threads, tamis__kept_units(c->kept), check_kept, c);
    }
    if (status != TAMIS_OK) return status;
    const bool same = atomic_load(&c->count) == count && atomic_load(&c->sum) == sum &&
                      tamis__hashing_equal(&c->filter->hashing, &c->kept->hashing);
    return same ? TAMIS_OK : TAMIS_E_LOST;
}

/* ---- both */

/* A compatible format may have no checksums: its bytes are compared with those of now. */
static tamis_status seal_encoded(tamis_filter *f) {
    if (f->settings.codec == NULL) return TAMIS_OK;
    const uint64_t size = tamis_encoded_size(f);
    uint8_t *bytes = tamis__table_alloc(&f->settings.allocator, size);
    if (bytes == NULL) return TAMIS_E_NOMEM;
    f->settings.codec->encode(f, bytes, size);
    f->seal.encoded = tamis__xxh3(bytes, (size_t)size, 0);
    f->seal.codec = f->settings.codec;
    tamis__table_free(&f->settings.allocator, bytes, size);
    return tamis__seal_verify(f);
}

/* Queries all keys in an object of its own on the table of the filter. */
static tamis_status check_table(const tamis_filter *f, const uint8_t *table, uint64_t length,
                                struct check *c, unsigned threads) {
    struct tamis__contents contents = {.family = f->family,
                                       .shape = f->shape,
                                       .hashing = f->hashing,
                                       .capacity = f->capacity,
                                       .fpr = f->fpr,
                                       .adds = f->adds,
                                       .table = table};
    struct tamis__settings settings = f->settings;
    tamis_filter *view;
    settings.shared = false;
    contents.shape.table_bytes = length;
    tamis_status status = tamis__filter_make(&contents, &settings, &view);
    if (status != TAMIS_OK) return status == TAMIS_E_CORRUPT ? TAMIS_E_LOST : status;
    c->filter = view;
    status = check_keys(c, threads);
    tamis__filter_free(view);
    return status;
}

tamis_status tamis__self_check(tamis_filter *f, const struct tamis__kept *kept,
                               const struct tamis__given *given, unsigned threads) {
    struct check c = {.given = given, .kept = kept};
    if (given != NULL) c.keys = given->collected;
    uint8_t *exported;
    uint64_t length;
    atomic_init(&c.count, 0);
    atomic_init(&c.sum, 0);
    tamis_status status = export_of(f, &exported, &length);
    if (status != TAMIS_OK) return status;
    const uint8_t *table = exported != NULL ? exported : f->table;
    f->seal = (struct tamis__seal){.set = true, .sum = sum_of(f, table, length), .adds = f->adds};
    status = check_table(f, table, length, &c, threads < 1 ? 1 : threads);
    tamis__table_free(&f->settings.allocator, exported, length);
    return status == TAMIS_OK ? seal_encoded(f) : status;
}
