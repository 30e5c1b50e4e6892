/* parquet.h - Parquet: the format of one filter, and that of files, which hold several */
#ifndef TAMIS_COMPAT_PARQUET_PARQUET_H
#define TAMIS_COMPAT_PARQUET_PARQUET_H

#include "compat/container.h"

extern const struct tamis__codec tamis__parquet;
extern const struct tamis__container_format tamis__parquet_file;

/* The length of the filter, header included, that begins at `bytes`. */
tamis_status tamis__parquet_measure(const uint8_t *bytes, uint64_t length, uint64_t *size);

#endif
