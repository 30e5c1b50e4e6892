/* snappy.h - Snappy, the compression of LevelDB's blocks */
#ifndef TAMIS_COMPAT_COMMON_SNAPPY_H
#define TAMIS_COMPAT_COMMON_SNAPPY_H

#include <stdbool.h>
#include <stdint.h>

/* Unpacks into `out`, which has room for `*size` bytes.  With NULL, checks the bytes alone and sets
 * `*size`.  false if they are not Snappy or do not unpack to the size that they state. */
bool tamis__snappy_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t *size);

#endif
