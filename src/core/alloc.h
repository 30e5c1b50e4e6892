/* alloc.h - all memory of the library
 *
 * Small objects come from the object's allocator as they are.  Tables must be aligned to a
 * cache line and zeroed; large ones of the default allocator are mapped, so that they arrive
 * zeroed page by page and on huge pages (worth 10 to 25 % of a query). */
#ifndef TAMIS_CORE_ALLOC_H
#define TAMIS_CORE_ALLOC_H

#include "tamis.h"

/* Every table begins on a cache line. */
#define TAMIS_LINE 64

/* Not zeroed; NULL if there is no memory.  A size of 0 gives a pointer that can be freed. */
void *tamis__alloc(const tamis_allocator *a, size_t size);
/* Leaves errno as it is, as tamis__table_free does. */
void tamis__release(const tamis_allocator *a, void *block, size_t size);

/* Zeroed and aligned to TAMIS_LINE; NULL if `size` exceeds the address space. */
void *tamis__table_alloc(const tamis_allocator *a, uint64_t size);
void tamis__table_free(const tamis_allocator *a, void *table, uint64_t size);

/* `bytes` rounded up to whole cache lines. */
static inline uint64_t tamis__pad_line(uint64_t bytes) {
    return (bytes + TAMIS_LINE - 1) & ~(uint64_t)(TAMIS_LINE - 1);
}

/* a * b, or false if it does not fit in a size_t. */
bool tamis__array_size(uint64_t count, uint64_t each, size_t *size);

#endif
