/* block_model.h - the false positive rate of a block filter, and the number of keys from its fill
 *
 * Pure functions of the numbers of lines, hashes and keys. */
#ifndef TAMIS_FAMILY_BLOCK_MODEL_H
#define TAMIS_FAMILY_BLOCK_MODEL_H

#include <stdint.h>

/* The false positive rate varies with the set of keys, the more the smaller the table is. */
struct tamis__block_forecast {
    double mean;      /* over all sets of this number of keys */
    double deviation; /* one standard deviation from set to set */
};

struct tamis__block_forecast tamis__block_forecast(uint64_t lines, unsigned hashes, double keys);

/* The number of keys for which `fill` of all bits being set is expected, 0 <= fill <= 1, and
 * one standard deviation of that estimate. */
double tamis__block_distinct(uint64_t lines, unsigned hashes, double fill, double *deviation);

/* The probability that two keys of a line have the same seed, and so the same bits. */
#define BLOCK_SAME_SEED 0x1p-32

#endif
