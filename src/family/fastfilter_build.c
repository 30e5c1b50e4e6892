/* fastfilter_build.c - sizing xor_singleheader's filters, and building them whatever the keys
 *
 * The original's own way is tried first, so that the bytes are its bytes.  It may fail on
 * repeated keys; then each is kept once, in the order of their first appearance, and all is
 * begun anew: building never fails for want of luck. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family/fastfilter.h"

#define SEGMENT_MOST 262144
#define KEYS_MOST UINT32_MAX

static uint64_t fuse_segment_length(uint64_t keys) {
    if (keys == 0) return 4;
    const double exponent = floor(log((double)keys) / log(3.33) + 2.25);
    const uint64_t length = (uint64_t)1 << (unsigned)exponent;
    return length < SEGMENT_MOST ? length : SEGMENT_MOST;
}

static uint64_t fuse_capacity(uint64_t keys) {
    if (keys <= 1) return 0;
    const double n = (double)keys;
    const double growth = 0.25 * log(1000000) / log(n), factor = 0.875 + growth;
    return (uint64_t)round(n * (factor > 1.125 ? factor : 1.125));
}

void tamis__fast_geometry(tamis_kind kind, uint64_t keys, struct tamis__shape *shape) {
    if (kind == TAMIS_XOR) {
        const double capacity = 1.23 * (double)keys;
        shape->word[TAMIS__FAST_LENGTH] = (uint64_t)(32 + capacity) / 3;
    } else {
        const uint64_t length = fuse_segment_length(keys);
        const uint64_t segments = tamis__div_up(fuse_capacity(keys), length);
        shape->word[TAMIS__FAST_KEYS] = keys;
        shape->word[TAMIS__FAST_LENGTH] = length;
        shape->word[TAMIS__FAST_SEGMENTS] = segments <= 2 ? 1 : segments - 2;
    }
    shape->table_bytes = tamis__fast_slots_of(kind, shape) * (shape->word[TAMIS__FAST_WIDTH] / 8);
}

/* ---- keys once each */

struct numbered {
    uint64_t key;
    uint64_t index;
};

static int by_key(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Writes each key once to `out`; returns their number. */
static size_t first_of_each(struct numbered *order, size_t count, uint64_t *out) {
    size_t kept = 0;
    qsort(order, count, sizeof *order, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i].key != order[kept - 1].key) order[kept++] = order[i];
    }
    qsort(order, kept, sizeof *order, by_index);
    for (size_t i = 0; i < kept; i++) out[i] = order[i].key;
    return kept;
}

static tamis_status distinct_keys(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                  uint64_t **out, size_t *kept) {
    struct numbered *order = tamis__alloc(a, count * sizeof *order);
    *out = tamis__alloc(a, count * sizeof **out);
    if (order == NULL || *out == NULL) {
        tamis__release(a, order, count * sizeof *order);
        tamis__release(a, *out, count * sizeof **out);
        return TAMIS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) order[i] = (struct numbered){keys[i], i};
    *kept = first_of_each(order, count, *out);
    tamis__release(a, order, count * sizeof *order);
    return TAMIS_OK;
}

/* ---- building */

static tamis_status build_once(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table) {
    tamis__fast_geometry(kind, count, shape);
    *table = tamis__table_alloc(a, shape->table_bytes);
    if (*table == NULL) return TAMIS_E_NOMEM;
    const tamis_status status = kind == TAMIS_XOR
                                    ? tamis__fast_build_xor(a, keys, count, shape, *table)
                                    : tamis__fast_build_fuse(a, keys, count, shape, *table);
    if (status != TAMIS_OK) tamis__table_free(a, *table, shape->table_bytes);
    return status;
}

tamis_status tamis__fast_build(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table) {
    uint64_t *distinct;
    size_t kept;
    if (count > KEYS_MOST / 2) return TAMIS_E_TOO_BIG;
    tamis_status status = build_once(a, kind, keys, count, shape, table);
    if (status != TAMIS_E_FULL) return status;
    status = distinct_keys(a, keys, count, &distinct, &kept);
    if (status != TAMIS_OK) return status;
    status = build_once(a, kind, distinct, kept, shape, table);
    tamis__release(a, distinct, count * sizeof *distinct);
    return status;
}
