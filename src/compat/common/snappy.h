/* snappy.h - Snappy, the compression of LevelDB's blocks */
#ifndef TAMIS_COMPAT_COMMON_SNAPPY_H
#define TAMIS_COMPAT_COMMON_SNAPPY_H

#include <stdbool.h>
#include <stdint.h>

/* The size that the bytes state, which is not more than they can unpack to. */
bool tamis__snappy_size(const uint8_t *bytes, uint64_t length, uint64_t *size);
/* Unpacks into `out`, which has room for `size` bytes.  false if the bytes are not Snappy or do not
 * unpack to just `size` bytes. */
bool tamis__snappy_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size);

#endif
