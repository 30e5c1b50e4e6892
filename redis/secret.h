/* secret.h - the secrets of new filters
 *
 * A filter whose hash anybody can compute can be filled with forged positives, so every filter has
 * 16 secret bytes of its own.  The server's random bytes cost a hash of its own, 1.2 microseconds,
 * a quarter of all that BF.ADD takes to make a filter.  So they are taken once, and a filter's
 * secret is SipHash-2-4 of a counter under them: who learns one (BF.SCANDUMP tells it) can tell no
 * other.
 *
 * For the thread that serves commands alone. */
#ifndef TAMIS_REDIS_SECRET_H
#define TAMIS_REDIS_SECRET_H

#include <stdint.h>

#include "tamis.h"

/* 64 bits that nobody can tell. */
uint64_t secret_number(void);
void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]);

#endif
