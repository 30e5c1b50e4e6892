/* lzf.h - LZF, the compression of strings in Redis's dumps */
#ifndef TAMIS_FORMAT_LZF_H
#define TAMIS_FORMAT_LZF_H

#include <stdbool.h>
#include <stdint.h>

/* Unpacks into `out`, which has room for `size` bytes; only checks if `out` is NULL.  false if
 * the bytes are not LZF or do not give just `size` bytes. */
bool tamis__lzf_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size);

#endif
