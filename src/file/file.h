/* file.h - whole files: atomic writes, reads, mappings */
#ifndef TAMIS_FILE_FILE_H
#define TAMIS_FILE_FILE_H

#include "core/alloc.h"
#include "file/native.h"
#include "tamis.h"

/* Writes the spans to a temporary beside `path`, syncs, renames, syncs the directory.  `old` is the
 * descriptor of the file that it may replace, or -1 for any: if another file has the name by then,
 * that file stays, and the result is E_IO with ESTALE. */
tamis_status tamis__file_write(const char *path, bool replace, int old,
                               const struct tamis__span *spans, size_t count);
/* A whole file in a block from tamis__table_alloc (*block_bytes long), `*length` of it used.
 * An interrupted update (journal.h) is completed in memory. */
tamis_status tamis__file_read(const char *path, const tamis_allocator *a, uint8_t **block,
                              uint64_t *block_bytes, uint64_t *length);
/* The same of a descriptor, from its current offset. */
tamis_status tamis__descriptor_read(int descriptor, const tamis_allocator *a, uint8_t **block,
                                    uint64_t *block_bytes, uint64_t *length);
/* A whole file, mapped read-only; an empty one is no bytes at NULL. `descriptor` holds the lock
 * that keeps the file from being updated in place; -1 if that is not needed. */
struct tamis__mapping {
    uint8_t *bytes;
    uint64_t length;
    int descriptor;
};
tamis_status tamis__file_map(const char *path, struct tamis__mapping *mapping);
void tamis__file_unmap(struct tamis__mapping *mapping);
/* Starts reading a mapping that will be read from its start to its end. */
void tamis__file_prefetch(const uint8_t *bytes, uint64_t length);

#endif
