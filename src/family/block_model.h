/* block_model.h - how often a block filter is wrong, and how many keys a fill stands for
 *
 * Pure functions of the numbers of lines, hashes and keys. */
#ifndef TAMIS_FAMILY_BLOCK_MODEL_H
#define TAMIS_FAMILY_BLOCK_MODEL_H

#include <stdint.h>

/* The share of absent keys that a filter takes for present varies with the keys that are in
 * it, the more the smaller the table is. */
struct tamis__block_forecast {
    double mean;      /* over all sets of so many keys */
    double deviation; /* one standard deviation from set to set */
};

struct tamis__block_forecast tamis__block_forecast(uint64_t lines, unsigned hashes, double keys);

/* The number of keys for which `fill` of all bits being set is expected, 0 <= fill <= 1, and
 * one standard deviation of that estimate. */
double tamis__block_distinct(uint64_t lines, unsigned hashes, double fill, double *deviation);

/* Two keys of a line that have the same seed cannot be told apart: the chance of that. */
#define BLOCK_SAME_SEED 0x1p-32

#endif
