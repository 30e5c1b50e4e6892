/* io.h - descriptors that are not those of the standard streams, and all bytes at an offset */
#ifndef TAMIS_CORE_IO_H
#define TAMIS_CORE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In one call.  Linux takes no more than 2 GiB, and a signal waits for the end of the call: of a
 * gigabyte from a slow disk that were ten seconds. */
#define TAMIS__IO_MOST ((size_t)8 << 20)

/* `descriptor`, or another one of the same file that is above those of the standard streams: where
 * those are closed it could be one of them, and who writes to standard error must not write into a
 * filter, nor into keys that were spilled.  -1 and errno if there is none, or if it was -1. */
int tamis__above_streams(int descriptor);

/* open(2) with O_CLOEXEC, for such a descriptor. */
int tamis__open(const char *path, int flags, mode_t mode);

/* All of them, or false and errno. */
bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at);
bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at);

#endif
