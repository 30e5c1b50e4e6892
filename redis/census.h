/* census.h - how many filters there are: for INFO
 *
 * Filters are freed in a thread of the server's as well, so the numbers are atomic. */
#ifndef TAMIS_REDIS_CENSUS_H
#define TAMIS_REDIS_CENSUS_H

#include <stddef.h>

struct census {
    size_t bf, cf, served; /* those that are being made or freed included */
};
struct census census(void);

enum census_kind { CENSUS_BF, CENSUS_CF, CENSUS_SERVED, CENSUS_KINDS };
void census_born(enum census_kind kind);
void census_died(enum census_kind kind);

#endif
