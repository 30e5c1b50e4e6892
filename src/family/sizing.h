/* sizing.h - the arithmetic of sizes and rates that families share: pure functions */
#ifndef TAMIS_FAMILY_SIZING_H
#define TAMIS_FAMILY_SIZING_H

#include "filter/family.h"

/* The textbook formulas for a Bloom filter: see tamis_classic_bits and the functions after it. */
uint64_t tamis__classic_bits(uint64_t keys, double fpr);
uint32_t tamis__classic_hashes(uint64_t bits, uint64_t keys);
double tamis__classic_fpr(uint64_t bits, uint32_t hashes, uint64_t keys);
uint64_t tamis__classic_keys(uint64_t bits, uint32_t hashes, double fpr);

/* Bits of a fingerprint for a rate: ceil(log2(1/rate)), exact for powers of two; at least 1.
 * 33 or more where 32 do not suffice. */
unsigned tamis__width_for(double fpr);

/* 2^-width. */
double tamis__fpr_of_width(unsigned width);

/* The smallest x in [1, high], where high <= 2^62, for which test(x, context) is true, if it is
 * monotone (false ... false true ... true); high + 1 if it is true nowhere.  A good guess saves
 * tests, some of which take thousands of logarithms. */
uint64_t tamis__smallest(uint64_t guess, uint64_t high,
                         bool (*test)(uint64_t x, const void *context), const void *context);

/* Is there a rate at which its table for spec->capacity keys takes at most `bytes` bytes? */
bool tamis__fits_table(const struct tamis__family *family, uint64_t bytes,
                       const struct tamis__spec *spec);

/* The lowest rate of `family` whose table for spec->capacity keys takes at most `bytes`
 * bytes: sets spec->fpr.  E_TOO_BIG if not even the highest rate fits. */
tamis_status tamis__fpr_for_table(const struct tamis__family *family, uint64_t bytes,
                                  struct tamis__spec *spec);

#endif
