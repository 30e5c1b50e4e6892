/* interval.h - how sure a measured share is */
#ifndef TAMIS_CLI_INTERVAL_H
#define TAMIS_CLI_INTERVAL_H

#include <stdint.h>

/* The exact (Clopper-Pearson) interval that holds the true share with the given confidence,
 * after `hits` of `trials`. */
void share_interval(uint64_t hits, uint64_t trials, double confidence, double *low, double *high);

#endif
