/* hostile.h - hostile .tamis bytes: mutations with repaired checksums, and a run through every call
 * of a filter
 *
 * Checksums detect damage, not forgery.  With repaired checksums all other checks of the decoder
 * are tested. */
#ifndef TESTS_SUPPORT_HOSTILE_H
#define TESTS_SUPPORT_HOSTILE_H

#include "filters.h"

/* Offsets in a .tamis file (doc/format.md). */
enum {
    AT_VERSION = 8,
    AT_KIND = 16,
    AT_CAPACITY = 64,
    AT_FPR = 72,
    AT_TABLE_BYTES = 88,
    AT_SHAPE = 96,
    AT_SUM_OF_SUMS = 176,
    AT_HEADER_SUM = 184,
    HEADER_BYTES = 192,
    PIECE_BYTES = 1 << 16
};

/* Repairs all checksums that the bytes are long enough to have. */
void repair_sums(uint8_t *bytes, size_t size);

/* One random change: a bit, a byte, a number of the header set to a boundary value, a word of
 * the table, a cut or an extension (within `room`).  Returns the new size. */
size_t mutate(uint8_t *bytes, size_t size, size_t room, struct rng *r);

/* Calls every function on a decoded filter and frees it.  Calls may fail, but not crash.  `bytes`
 * is the decoded input.  Returns the first byte at which the encoding differs from it; `size` if
 * they are equal. */
size_t exercise(tamis_filter *f, const uint8_t *bytes, size_t size);

#endif
