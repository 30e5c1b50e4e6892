/* probe_shape.h - tables of places: what bloom and counting have in common */
#ifndef TAMIS_FAMILY_PROBE_SHAPE_H
#define TAMIS_FAMILY_PROBE_SHAPE_H

#include <stdint.h>

/* The first words of a shape.  What follows are notes of some schemes; of a bloom filter of ours
 * the first one tells whether places come in pairs. */
enum { BITS, HASHES, NOTES, PAIRED = NOTES };

/* Below this many bytes a table is in a near cache, and fetching ahead takes more than it gives
 * (from there to 4 MB it saves a tenth). */
#define TAMIS__PROBE_FETCHED ((uint64_t)1 << 19)

#endif
