/* java_sizing.h - how Guava and Spark size a Bloom filter: the same doubles in the same order */
#ifndef TAMIS_COMPAT_COMMON_JAVA_SIZING_H
#define TAMIS_COMPAT_COMMON_JAVA_SIZING_H

#include <math.h>

#include "compat/common/compat_bloom.h"
#include "filter/codec.h"

#define JAVA_FPR_DEFAULT 0.03

static inline void tamis__java_shape(uint64_t words, uint64_t hashes, struct tamis__shape *shape) {
    *shape = (struct tamis__shape){.word = {words * 64, hashes}, .table_bytes = words * 8};
}

/* m = trunc(-n ln p / (ln 2)^2), unless the caller fixed it; k = round(m / n ln 2), at least 1:
 * with m before it is rounded up to whole words. */
static inline tamis_status tamis__java_size(const struct tamis__spec *spec, uint64_t fixed_bits,
                                            struct tamis__contents *contents) {
    const double keys = spec->capacity == 0 ? 1 : (double)spec->capacity;
    const double fpr = spec->fpr == 0 ? JAVA_FPR_DEFAULT : spec->fpr;
    const double best_bits = -keys * log(fpr) / (log(2) * log(2));
    if (fixed_bits == 0 && best_bits >= 9e18) return TAMIS_E_TOO_BIG;
    const uint64_t bits = fixed_bits != 0 ? fixed_bits : (uint64_t)best_bits;
    const uint64_t words = tamis__div_up(bits, 64);
    if (bits == 0) return TAMIS_E_ARGUMENT; /* Guava and Spark reject a filter without bits too */
    if (words > INT32_MAX) return TAMIS_E_TOO_BIG;
    const double hashes = floor((double)bits / keys * log(2) + 0.5);
    tamis__java_shape(words, hashes < 1 ? 1 : (uint64_t)hashes, &contents->shape);
    contents->capacity = spec->capacity;
    contents->fpr = fixed_bits != 0 ? 0 : fpr;
    return TAMIS_OK;
}

#endif
