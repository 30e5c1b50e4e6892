/* snappy.h - Snappy, the compression of LevelDB's blocks */
#ifndef TAMIS_FORMAT_SNAPPY_H
#define TAMIS_FORMAT_SNAPPY_H

#include <stdbool.h>
#include <stdint.h>

/* The length that the bytes claim to unpack to; false if they do not begin with one. */
bool tamis__snappy_length(const uint8_t *bytes, uint64_t length, uint64_t *size);

/* Unpacks into `out`, which has room for `size` bytes; only checks if `out` is NULL.  false if
 * the bytes are not Snappy or do not give just `size` bytes. */
bool tamis__snappy_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size);

#endif
