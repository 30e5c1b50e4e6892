/* crc.h - the two CRCs in other systems' files */
#ifndef TAMIS_COMPAT_COMMON_CRC_H
#define TAMIS_COMPAT_COMMON_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli): the blocks of LevelDB's and RocksDB's tables.
 * `crc` is 0, or the value for the bytes before these. */
uint32_t tamis__crc32c(uint32_t crc, const void *bytes, size_t length);

/* LevelDB stores a CRC rotated and offset, so that the CRC of data which contains CRCs stays
 * meaningful. */
uint32_t tamis__crc32c_mask(uint32_t crc);

/* CRC-64 of Redis (the polynomial of David Jones): the end of a DUMP payload. */
uint64_t tamis__crc64(uint64_t crc, const void *bytes, size_t length);

#endif
