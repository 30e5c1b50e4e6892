/* sizing.c - see sizing.h; and the classic formulas of the public header */
#include "family/sizing.h"

#include <math.h>

#define LN2 0.69314718055994530942

uint64_t tamis_classic_bits(uint64_t keys, double rate) {
    if (!(rate > 0 && rate < 1)) return 0;
    const double bits = ceil(-(double)keys * log(rate) / (LN2 * LN2));
    return bits < 0x1p63 ? (uint64_t)bits : 0;
}

uint32_t tamis_classic_hashes(uint64_t bits, uint64_t keys) {
    if (keys == 0) return 1;
    const double k = floor((double)bits / (double)keys * LN2 + 0.5);
    return k < 1 ? 1 : k > 1000 ? 1000 : (uint32_t)k;
}

double tamis_classic_rate(uint64_t bits, uint32_t hashes, uint64_t keys) {
    if (bits == 0 || hashes == 0) return 0;
    const double k = hashes;
    return pow(-expm1(-k * (double)keys / (double)bits), k);
}

uint64_t tamis_classic_keys(uint64_t bits, uint32_t hashes, double rate) {
    if (!(rate > 0 && rate < 1) || bits == 0 || hashes == 0) return 0;
    const double k = hashes;
    const double keys = floor(-(double)bits / k * log1p(-pow(rate, 1 / k)));
    return keys < 0x1p63 ? (uint64_t)keys : UINT64_MAX;
}

double tamis__rate_of_width(unsigned width) { return ldexp(1, -(int)width); }

unsigned tamis__width_for(double rate) {
    unsigned width = 1;
    while (width <= 64 && tamis__rate_of_width(width) > rate) width++;
    return width;
}

/* From the guess in steps that double until the answer is between two of them; then by halves. */
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

/* Worse than this is no filter. */
#define RATE_HIGHEST 0.99

static bool fits(const struct tamis__family *family, struct tamis__want want, double rate,
                 uint64_t bytes) {
    struct tamis__shape shape;
    want.rate = rate;
    return family->shape(&want, &shape) == TAMIS_OK && shape.table_bytes <= bytes;
}

bool tamis__fits_table(const struct tamis__family *family, uint64_t bytes,
                       const struct tamis__want *want) {
    return fits(family, *want, RATE_HIGHEST, bytes);
}

tamis_status tamis__rate_for_table(const struct tamis__family *family, uint64_t bytes,
                                   struct tamis__want *want) {
    double log_low = -60 * LN2, log_high = log(RATE_HIGHEST); /* of the rate */
    if (!tamis__fits_table(family, bytes, want)) return TAMIS_E_TOO_BIG;
    for (int i = 0; i < 60; i++) {
        const double middle = (log_low + log_high) / 2;
        if (fits(family, *want, exp(middle), bytes)) {
            log_high = middle;
        } else {
            log_low = middle;
        }
    }
    want->rate = exp(log_high);
    return TAMIS_OK;
}
