/* hostile.h - .tamis bytes that lie: mutations with their checksums made right again, and a
 * run through every call that a filter offers
 *
 * Checksums stop accidents, not people.  What is tested with repaired sums is the decoder's
 * distrust of everything else. */
#ifndef TESTS_SUPPORT_HOSTILE_H
#define TESTS_SUPPORT_HOSTILE_H

#include "filters.h"

/* Where things are in a .tamis file (doc/format.md). */
enum {
    AT_VERSION = 8,
    AT_KIND = 16,
    AT_CAPACITY = 64,
    AT_TABLE_BYTES = 88,
    AT_SHAPE = 96,
    AT_SUM_OF_SUMS = 176,
    AT_HEADER_SUM = 184,
    HEADER_BYTES = 192,
    PIECE_BYTES = 1 << 16
};

/* Makes all checksums right, as far as the bytes are long enough to have them. */
void repair_sums(uint8_t *bytes, size_t size);

/* One random change: a bit, a byte, a number of the header set to something awkward, a word of
 * the table, a cut or an extension (within `room`).  Returns the new size. */
size_t mutate(uint8_t *bytes, size_t size, size_t room, struct rng *r);

/* Calls everything on a filter that came out of a decoder, and frees it.  Nothing may crash;
 * what may fail may fail.  `bytes` is what it came from.  Returns the first byte at which
 * its encoding differs from that; `size` if it does not. */
size_t exercise(tamis_filter *f, const uint8_t *bytes, size_t size);

#endif
