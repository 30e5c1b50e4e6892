/* io.h - all bytes of a file at an offset */
#ifndef TAMIS_CORE_IO_H
#define TAMIS_CORE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAMIS__IO_MOST ((size_t)1 << 30) /* Linux takes no more than 2 GiB in one call */

/* All of them, or false and errno. */
bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at);
bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at);

#endif
