/* save.h - whole files, written atomically */
#ifndef TAMIS_FILE_SAVE_H
#define TAMIS_FILE_SAVE_H

#include "file/native.h"
#include "tamis.h"

/* Writes the spans to a draft in the directory of `path`, syncs it, gives it the name, and syncs
 * the directory.  `old` is the descriptor of the file that it may replace, or -1 for any: if
 * another file has the name by then, that file stays, and the result is E_IO with ESTALE.  E_EXISTS
 * unless `replace`.  E_CHANGED, with errno: the file has its name, but the directory could not be
 * synced, or the draft has a second name. */
tamis_status tamis__file_save(const char *path, bool replace, int old,
                              const struct tamis__span *spans, size_t count);

struct stat;

/* Gives the file that replaces or accompanies `old` its owner, group and permissions, as far as
 * this process may. */
void tamis__file_copy_owner(int descriptor, const struct stat *old);

#endif
