/* lock.h - locks, and other functions that the files of this folder share
 *
 * Two advisory locks on a .tamis file, of one byte each, separate readers and writers.  They belong
 * to the descriptor and vanish with the process:
 *
 *     TAMIS__LOCK_READERS  shared by all processes that map or read the file; exclusive
 *                          while one updates it in place
 *     TAMIS__LOCK_WRITER   exclusive, from opening a file for update until the update is done
 *
 * A reader never sees a file that is being updated, two updates never overlap, and a process that
 * waits for keys with a file open for update blocks no reader. */
#ifndef TAMIS_FILE_LOCK_H
#define TAMIS_FILE_LOCK_H

#include "core/alloc.h"
#include "tamis.h"

enum tamis__lock { TAMIS__LOCK_READERS = 0, TAMIS__LOCK_WRITER = 1 };

/* Takes a lock; `wait`: blocks until it can. False with errno EAGAIN if another process has it, or
 * with another errno where files cannot be locked. */
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, bool wait);
void tamis__unlock(int descriptor, enum tamis__lock which);

/* Does the path still name the descriptor's file? */
bool tamis__same_file(const char *path, int descriptor);

/* Is it a pipe, a device or similar? It cannot be mapped or updated, and is not even opened: a
 * process that waits to write to a pipe would find a reader, and lose it again. */
bool tamis__is_stream(const char *path);

/* path with a suffix, in `*size` bytes of the default allocator; NULL if there is no memory. */
char *tamis__path_with(const char *path, const char *suffix, size_t *size);
void tamis__path_free(char *path, size_t size);

struct stat;

/* Gives the file that replaces or accompanies `old` its owner, group and permissions, as far as
 * this process may. */
void tamis__file_copy_owner(int descriptor, const struct stat *old);

/* Syncs the directory of `path`. */
bool tamis__sync_directory(const char *path);

#endif
