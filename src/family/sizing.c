/* sizing.c - see sizing.h */
#include "family/sizing.h"

#include <math.h>

#define LN2 0.69314718055994530942

uint64_t tamis__classic_bits(uint64_t keys, double fpr) {
    if (!(fpr > 0 && fpr < 1)) return 0;
    const double bits = ceil(-(double)keys * log(fpr) / (LN2 * LN2));
    return bits < 0x1p63 ? (uint64_t)bits : 0;
}

uint32_t tamis__classic_hashes(uint64_t bits, uint64_t keys) {
    if (keys == 0) return 1;
    const double k = floor((double)bits / (double)keys * LN2 + 0.5);
    return k < 1 ? 1 : k > 1000 ? 1000 : (uint32_t)k;
}

double tamis__classic_fpr(uint64_t bits, uint32_t hashes, uint64_t keys) {
    if (bits == 0 || hashes == 0) return 0;
    const double k = hashes;
    return pow(-expm1(-k * (double)keys / (double)bits), k);
}

uint64_t tamis__classic_keys(uint64_t bits, uint32_t hashes, double fpr) {
    if (!(fpr > 0 && fpr < 1) || bits == 0 || hashes == 0) return 0;
    const double k = hashes;
    const double keys = floor(-(double)bits / k * log1p(-pow(fpr, 1 / k)));
    return keys < 0x1p63 ? (uint64_t)keys : UINT64_MAX;
}

double tamis__fpr_of_width(unsigned width) { return ldexp(1, -(int)width); }

unsigned tamis__width_for(double fpr) {
    unsigned width = 1;
    while (width <= 64 && tamis__fpr_of_width(width) > fpr) width++;
    return width;
}

/* Doubles the step from the guess until the answer is bracketed; then bisects. */
uint64_t tamis__smallest(uint64_t guess, uint64_t high,
                         bool (*test)(uint64_t x, const void *context), const void *context) {
    uint64_t low = 1; /* the answer is in [low, high], or there is none */
    if (guess < low) guess = low;
    if (guess > high) guess = high;
    uint64_t step = guess / 64 + 1;
    if (high == 0) return 1;
    if (test(guess, context)) {
        for (high = guess; low < high; step *= 2) {
            const uint64_t below = high - low > step ? high - step : low;
            if (!test(below, context)) {
                low = below + 1;
                break;
            }
            high = below;
        }
    } else {
        for (low = guess + 1; low <= high; step *= 2) {
            const uint64_t above = high - low > step ? low + step : high;
            if (test(above, context)) {
                high = above;
                break;
            }
            low = above + 1;
        }
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (test(middle, context)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* A higher rate is not useful. */
#define FPR_HIGHEST 0.99

static bool fits(const struct tamis__family *family, struct tamis__spec spec, double fpr,
                 uint64_t bytes) {
    struct tamis__shape shape;
    spec.fpr = fpr;
    return family->shape(&spec, &shape) == TAMIS_OK && shape.table_bytes <= bytes;
}

bool tamis__fits_table(const struct tamis__family *family, uint64_t bytes,
                       const struct tamis__spec *spec) {
    return fits(family, *spec, FPR_HIGHEST, bytes);
}

tamis_status tamis__fpr_for_table(const struct tamis__family *family, uint64_t bytes,
                                  struct tamis__spec *spec) {
    double log_low = -60 * LN2, log_high = log(FPR_HIGHEST); /* of the rate */
    if (!tamis__fits_table(family, bytes, spec)) return TAMIS_E_TOO_BIG;
    for (int i = 0; i < 60; i++) {
        const double middle = (log_low + log_high) / 2;
        if (fits(family, *spec, exp(middle), bytes)) {
            log_high = middle;
        } else {
            log_low = middle;
        }
    }
    spec->fpr = exp(log_high);
    return TAMIS_OK;
}
