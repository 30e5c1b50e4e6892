/* io.h - descriptors above the standard streams; calls that a signal does not interrupt */
#ifndef TAMIS_CORE_IO_H
#define TAMIS_CORE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes per call.  Linux takes at most 2 GiB, and a signal waits for the end of the call: ten
 * seconds for a gigabyte from a slow disk. */
#define TAMIS__IO_MAX ((size_t)8 << 20)

/* `descriptor`, or a duplicate above those of the standard streams.  If those are closed, a file
 * could get one of theirs, and a message to standard error would go into a filter or into spilled
 * keys.  -1 and errno if there is none, or if it was -1. */
int tamis__above_streams(int descriptor);

/* open(2) with O_CLOEXEC that returns such a descriptor. */
int tamis__open(const char *path, int flags, mode_t mode);

/* All bytes, or false and errno. */
bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at);
bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at);

/* fsync(2); false and errno. */
bool tamis__sync(int descriptor);

#endif
