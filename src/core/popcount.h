/* popcount.h - counting the bits of a table */
#ifndef TAMIS_CORE_POPCOUNT_H
#define TAMIS_CORE_POPCOUNT_H

#include <stdint.h>

/* Set bits in `bytes` bytes. */
uint64_t tamis__popcount_bytes(const uint8_t *table, uint64_t bytes);

#endif
