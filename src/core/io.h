/* io.h - descriptors above the standard streams; calls that a signal does not interrupt
 *
 * With TAMIS_NO_FILES there is no file system: io_none.c replaces io.c, and every call fails. */
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

/* Bytes of a file, wherever they are in memory. */
struct tamis__span {
    const uint8_t *bytes;
    uint64_t length;
};

/* Writes the spans one after the other, from `*at` on, and moves `*at` behind what was written. */
bool tamis__write_spans(int descriptor, const struct tamis__span *spans, size_t count,
                        uint64_t *at);

/* fsync(2); false and errno. */
bool tamis__sync(int descriptor);

/* close(2); nothing if it is negative. */
void tamis__close(int descriptor);

/* `directory`; if that is NULL, $TMPDIR or /tmp. */
const char *tamis__temporary_directory(const char *directory);

/* A file without a name in a directory; -1 and errno. */
int tamis__nameless_file(const char *directory);

#endif
