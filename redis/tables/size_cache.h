/* size_cache.h - sizes of tables, cached
 *
 * Computing a size takes microseconds, more than everything else in creating or loading a small
 * filter, and most filters of a server have the same parameters.
 *
 * For the main thread only. */
#ifndef TAMIS_REDIS_TABLES_SIZE_CACHE_H
#define TAMIS_REDIS_TABLES_SIZE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "tamis.h"

struct size {
    uint64_t capacity;
    double fpr;
    uint32_t kind;
    bool small;
    uint8_t last;   /* small: the byte after the table */
    uint64_t bytes; /* encoded; 0: not supported, or out of memory */
};

/* Uses kind, capacity and rate of `o`.  `small`: a bare table (tamis_small_create). */
struct size size_find(const tamis_options *o, bool small);

#endif
