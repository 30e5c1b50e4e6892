/* alloc.h - all memory of the library
 *
 * Small objects come from the object's allocator as they are.  Tables must be aligned to a
 * cache line and zeroed; large ones of the default allocator are mapped, so that they arrive
 * zeroed page by page and on huge pages (worth 10 to 25 % of a look-up). */
#ifndef TAMIS_CORE_ALLOC_H
#define TAMIS_CORE_ALLOC_H

#include "tamis.h"

/* Every table begins on a cache line. */
#define TAMIS_LINE 64

/* Not zeroed; NULL if there is not so much.  A size of 0 gives a pointer that can be freed. */
void *tamis__alloc(const tamis_allocator *a, size_t size);
void tamis__release(const tamis_allocator *a, void *block, size_t size);

/* Zeroed and aligned to TAMIS_LINE.  64-bit sizes: what does not fit gives NULL. */
void *tamis__table_alloc(const tamis_allocator *a, uint64_t size);
void tamis__table_free(const tamis_allocator *a, void *table, uint64_t size);

/* a * b, or false if it does not fit in a size_t. */
bool tamis__array_size(uint64_t count, uint64_t each, size_t *size);

#endif
