/* lock.h - locks on files, and what they protect
 *
 * Three advisory locks on a file, of one byte each, separate readers and writers.  They belong to
 * the descriptor and vanish with the process:
 *
 *     TAMIS__LOCK_READERS  shared by all processes that map or read the file; exclusive
 *                          while one updates it in place
 *     TAMIS__LOCK_WRITER   exclusive, from opening a file for update until the update is done
 *     TAMIS__LOCK_NAME     exclusive, while the name of the file is given to another file
 *
 * A reader never sees a file that is being updated, two updates never overlap, and a process that
 * waits for keys with a file open for update blocks no reader.
 *
 * Any process that may read a file can hold a shared lock on each byte, so every wait has a limit,
 * and nothing that must not fail depends on a lock. */
#ifndef TAMIS_FILE_LOCK_H
#define TAMIS_FILE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum tamis__lock { TAMIS__LOCK_READERS = 0, TAMIS__LOCK_WRITER = 1, TAMIS__LOCK_NAME = 2 };

/* Takes a lock, waiting up to `wait_ms` milliseconds (0 or less: not at all).  False with errno
 * EAGAIN if another process still has it, or with another errno where files cannot be locked. */
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, int64_t wait_ms);
void tamis__unlock(int descriptor, enum tamis__lock which);

/* Does the path still name the descriptor's file? */
bool tamis__same_file(const char *path, int descriptor);

#endif
