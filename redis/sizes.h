/* sizes.h - what tables take: sizes that were asked for before are remembered
 *
 * To find a size takes microseconds, more than all else that it takes to make a small filter or to
 * load it; and what is asked for is mostly what was asked for before.
 *
 * For the thread that serves commands alone. */
#ifndef TAMIS_REDIS_SIZES_H
#define TAMIS_REDIS_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "tamis.h"

struct size {
    uint64_t capacity;
    double rate;
    uint32_t kind;
    bool small;
    uint8_t last;   /* small: the byte behind the table */
    uint64_t bytes; /* encoded; 0: there can be no such table, or there is no memory to find out */
};

/* Of `o` these count: kind, capacity and rate.  `small`: a bare table (tamis_small_create). */
struct size size_find(const tamis_options *o, bool small);

#endif
