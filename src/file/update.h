/* update.h - files opened for update, and updated in place where that pays */
#ifndef TAMIS_FILE_UPDATE_H
#define TAMIS_FILE_UPDATE_H

#include "file/file.h"
#include "filter/family.h"

struct tamis__update;
/* Opens and locks the file, after waiting for other updates, and completes an interrupted one.
 * E_BUSY; E_UNSUPPORTED if it is no regular file. */
tamis_status tamis__update_begin(const char *path, int64_t wait_ms, const tamis_allocator *a,
                                 struct tamis__update **out);
/* A large .tamis file that no other user can change, mapped privately; E_UNSUPPORTED for any other.
 * The descriptor of the mapping is -1: the update owns it. */
tamis_status tamis__update_map(const struct tamis__update *u, struct tamis__file *file);
/* Any file, read into memory. */
tamis_status tamis__update_read(const struct tamis__update *u, struct tamis__file *file);
/* From now on the filter, made of the mapped or read bytes, tracks what changes. */
tamis_status tamis__update_attach(struct tamis__update *u, tamis_filter *f);
/* Everything may have changed. */
void tamis__update_all(tamis_filter *f);
/* Compares the bytes that were not verified yet, as they were before the update, with their
 * checksums. */
tamis_status tamis__update_verify(const tamis_filter *f);
/* Writes the changes to the file, `*written` bytes, or reports in `*whole` that the file must be
 * written as a whole. E_ARGUMENT after tamis__update_end, which lets others update the file.
 * E_CHANGED: see tamis__journal_commit. */
tamis_status tamis__update_commit(tamis_filter *f, uint64_t *written, bool *whole);
void tamis__update_end(tamis_filter *f);
const char *tamis__update_path(const tamis_filter *f);
int tamis__update_descriptor(const tamis_filter *f);
/* Closes the file and releases its locks. NULL is allowed. */
void tamis__update_free(struct tamis__update *u);

#endif
