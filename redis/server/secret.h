/* secret.h - secret keys of new filters
 *
 * If the hash of a filter is known, an attacker can compute false positives.  So every filter has
 * its own 16-byte secret key.  The server's random bytes cost 1.2 microseconds, a quarter of the
 * time in which BF.ADD creates a filter.  They are read once, and a filter's secret is SipHash-2-4
 * of a counter under them: one secret (BF.SCANDUMP returns it) does not reveal another.
 *
 * For the main thread only. */
#ifndef TAMIS_REDIS_SERVER_SECRET_H
#define TAMIS_REDIS_SERVER_SECRET_H

#include <stdint.h>

#include "tamis.h"

/* 64 unpredictable bits. */
uint64_t secret_number(void);
void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]);

#endif
