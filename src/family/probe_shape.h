/* probe_shape.h - the shape of bit and counter tables: bloom, counting, and Bloom filters of other
 * systems */
#ifndef TAMIS_FAMILY_PROBE_SHAPE_H
#define TAMIS_FAMILY_PROBE_SHAPE_H

#include <stdint.h>

/* The first words of a shape. Codecs of compatible formats use the words from NOTES on; in our own
 * Bloom filters the first of them is 1 if positions come in pairs. */
enum { BITS, HASHES, NOTES, PAIRED = NOTES };

/* Below this many bytes a table is in a near cache, and prefetching costs more than it saves (from
 * there to 4 MB it saves a tenth). */
#define TAMIS__PROBE_FETCHED ((uint64_t)1 << 19)

/* A batch goes through in groups of at most this many keys, and fewer if they have many probes:
 * this many positions are stored for a group. */
#define TAMIS__PROBED_KEYS 128
#define TAMIS__PROBED_POSITIONS 1024

#endif
