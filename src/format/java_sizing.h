/* java_sizing.h - how Guava and Spark size a Bloom filter: the same doubles in the same order */
#ifndef TAMIS_FORMAT_JAVA_SIZING_H
#define TAMIS_FORMAT_JAVA_SIZING_H

#include <math.h>

#include "format/format.h"

/* m = trunc(-n ln p / (ln 2)^2); UINT64_MAX if it is out of reach of 64 bits. */
static inline uint64_t tamis__java_bits(uint64_t keys, double rate) {
    const double bits = -(double)keys * log(rate) / (log(2) * log(2));
    return bits < 9e18 ? (uint64_t)bits : UINT64_MAX;
}

/* k = round(m / n ln 2), at least 1: with m as it was before it became whole words. */
static inline uint64_t tamis__java_hashes(uint64_t bits, uint64_t keys) {
    const double best = (double)bits / (double)keys * log(2);
    const double hashes = floor(best + 0.5);
    return hashes < 1 ? 1 : (uint64_t)hashes;
}

#endif
