/* file.h - what the files of this directory that touch the disk share
 *
 * Who may do what with a .tamis file is settled by two advisory locks on the file itself, of one
 * byte each, which belong to the descriptor and vanish with the process:
 *
 *     TAMIS__LOCK_READERS  shared by all who have the file mapped or are reading it; held alone
 *                          while somebody changes it in place
 *     TAMIS__LOCK_WRITER   held alone from opening a file for change until the change is done
 *
 * So a reader never sees a file that is being changed, two changes never overlap, and a process
 * that waits for keys with a file open for change keeps no reader out. */
#ifndef TAMIS_FORMAT_FILE_H
#define TAMIS_FORMAT_FILE_H

#include "core/alloc.h"
#include "tamis.h"

enum tamis__lock { TAMIS__LOCK_READERS = 0, TAMIS__LOCK_WRITER = 1 };

/* Takes a lock; `wait`: as long as it takes.  False with errno EAGAIN if another has it, or with
 * another errno where files cannot be locked. */
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, bool wait);
void tamis__unlock(int descriptor, enum tamis__lock which);

/* Does the path still name the file that the descriptor is of? */
bool tamis__same_file(const char *path, int descriptor);

/* Is it a pipe, a device or the like?  What cannot be mapped or changed is not even opened: who
 * waits to write to a pipe would find a reader, and lose it again. */
bool tamis__is_stream(const char *path);

/* path with a suffix, in memory of the default allocator, `*size` of it; NULL if there is none. */
char *tamis__path_with(const char *path, const char *suffix, size_t *size);
void tamis__path_free(char *path, size_t size);

struct stat;

/* Gives the file that is to replace or accompany `old` its owner, group and permissions, as far
 * as this process may. */
void tamis__file_take_after(int descriptor, const struct stat *old);

/* Makes the names in the directory of `path` lasting. */
bool tamis__sync_directory(const char *path);

#endif
