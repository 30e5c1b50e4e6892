/* small_filter.h - filters of a few keys as bare bytes
 *
 * In a spec for them `kind` is TAMIS_BLOOM or TAMIS_RIBBON, and `bits` is the size of the table
 * (a multiple of 8), which counts only if `fpr` is 0. */
#ifndef TAMIS_FAMILY_SMALL_FILTER_H
#define TAMIS_FAMILY_SMALL_FILTER_H

#include "filter/family.h"

/* The caller's buffer, and what is needed or used of it. */
struct tamis__small_buffer {
    uint8_t *bytes;
    size_t capacity;
    size_t length;
};

/* `length` is not 0. */
bool tamis__small_contains(const uint8_t *bytes, size_t length, uint64_t hash);
tamis_status tamis__small_add(uint8_t *bytes, size_t length, uint64_t hash, bool *fresh);

/* E_FPR, E_FPR_TOO_LOW. */
tamis_status tamis__small_check(const struct tamis__spec *spec);
/* Maximum bytes that a filter of `count` hashes takes; 0: too many. */
size_t tamis__small_bound(const struct tamis__spec *spec, size_t count);
tamis_status tamis__small_build(const struct tamis__spec *spec, const tamis_allocator *a,
                                const uint64_t *hashes, size_t count,
                                struct tamis__small_buffer *buffer);
/* A Bloom filter of no keys for spec->capacity of them. */
tamis_status tamis__small_create(const struct tamis__spec *spec,
                                 struct tamis__small_buffer *buffer);

#endif
