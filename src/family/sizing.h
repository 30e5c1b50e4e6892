/* sizing.h - the arithmetic of sizes and rates that families share: pure functions */
#ifndef TAMIS_FAMILY_SIZING_H
#define TAMIS_FAMILY_SIZING_H

#include "family/family.h"

/* Bits of a fingerprint for a rate: ceil(log2(1/rate)), exact for powers of two; at least 1.
 * 33 or more where 32 do not suffice. */
unsigned tamis__width_for(double rate);

/* 2^-width. */
double tamis__rate_of_width(unsigned width);

/* The smallest x in [1, high], where high <= 2^62, for which test(x, context) is true, if it is
 * monotone (false ... false true ... true); high + 1 if it is true nowhere.  A test costs a few
 * logarithms, or thousands: the nearer the guess, the fewer are made. */
uint64_t tamis__smallest(uint64_t guess, uint64_t high,
                         bool (*test)(uint64_t x, const void *context), const void *context);

/* Is there any rate at which its table for want->capacity keys takes at most `bytes` bytes? */
bool tamis__fits_table(const struct tamis__family *family, uint64_t bytes,
                       const struct tamis__want *want);

/* The lowest rate of `family` whose table for want->capacity keys takes at most `bytes`
 * bytes: sets want->rate.  E_TOO_BIG if not even the highest rate fits. */
tamis_status tamis__rate_for_table(const struct tamis__family *family, uint64_t bytes,
                                   struct tamis__want *want);

#endif
