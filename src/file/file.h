/* file.h - the bytes of a whole file, read or mapped */
#ifndef TAMIS_FILE_FILE_H
#define TAMIS_FILE_FILE_H

#include "core/alloc.h"
#include "filter/family.h"
#include "tamis.h"

/* The bytes of a file.  An empty one, mapped, is no bytes at NULL. */
struct tamis__file {
    uint8_t *bytes;
    uint64_t length;
    enum tamis__storage storage; /* MAPPED, DRAFT: mapped; OWNED: from tamis__table_alloc */
    uint64_t room;               /* as mapped or allocated */
    int descriptor;              /* holds the lock that keeps the file from being updated in place;
                                    -1: not needed */
};

/* How to open one. */
struct tamis__file_how {
    bool map; /* map it, unless another user may change it */
    int64_t wait_ms;
    const tamis_allocator *allocator;
};

/* Opens a file; an interrupted update (journal.h) is completed in memory.  E_BUSY; E_UNSUPPORTED if
 * it is to be mapped and is no regular file. */
tamis_status tamis__file_open(const char *path, const struct tamis__file_how *how,
                              struct tamis__file *file);
void tamis__file_close(const struct tamis__file *file, const tamis_allocator *a);

/* The rest of a descriptor's bytes, into memory. */
tamis_status tamis__file_read(int descriptor, const tamis_allocator *a, struct tamis__file *file);

/* Starts reading a small part of a mapping, which will be needed soon. */
void tamis__file_prefetch(const uint8_t *bytes, uint64_t length);
/* A mapping will be read from its start to its end, or has been: in between, the system reads
 * ahead. */
void tamis__file_scan(const uint8_t *bytes, uint64_t length, bool begins);

struct stat;

/* Can no other user change its bytes while it is mapped?  Root can do that anyway. */
bool tamis__file_is_private(const struct stat *st);

/* Is it a pipe, a device or similar? It cannot be mapped or updated, and is not even opened: a
 * process that waits to write to a pipe would find a reader, and lose it again. */
bool tamis__is_stream(const char *path);

#endif
