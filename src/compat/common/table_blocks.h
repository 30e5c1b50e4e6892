/* table_blocks.h - blocks of entries in tables of LevelDB and RocksDB */
#ifndef TAMIS_COMPAT_COMMON_TABLE_BLOCKS_H
#define TAMIS_COMPAT_COMMON_TABLE_BLOCKS_H

#include "compat/container.h"
#include "core/bytes.h"

/* The position of a block, without the five bytes after it: type and checksum. */
struct tamis__handle {
    uint64_t offset, size;
};

#define TAMIS__BLOCK_TRAILER 5

/* Two varints; false if the bytes end before. */
bool tamis__handle_read(struct tamis__reader *r, struct tamis__handle *handle);

/* Does it end, with its trailer, before `end`? */
bool tamis__handle_fits(const struct tamis__handle *handle, uint64_t end);

/* The entries of a block in order. */
struct tamis__entries {
    const uint8_t *block;
    uint64_t at, end; /* of the entries, without the list of restarts */
    const uint8_t *value;
    uint64_t value_bytes;
    uint8_t key[4096];    /* longer keys are cut: all names that are looked up are shorter */
    uint64_t key_bytes;   /* in full */
    const uint8_t *whole; /* the key in full: in the block, or `key`; NULL if it is in neither */
    bool bad;
};

/* false if the block cannot be one. */
bool tamis__entries_start(struct tamis__entries *e, const uint8_t *block, uint64_t length);
/* The next entry; false at the end, or if the block is bad. */
bool tamis__entries_next(struct tamis__entries *e);
/* Starts at the block and goes on to the entry whose key is `name`; *found is false if there is
 * none.  E_CORRUPT for a bad block. */
tamis_status tamis__entries_find(struct tamis__entries *e, const uint8_t *block, uint64_t length,
                                 const char *name, bool *found);
bool tamis__entry_named(const struct tamis__entries *e, const char *name);
/* The handle that is the value of the entry; false if it is none. */
bool tamis__entry_handle(const struct tamis__entries *e, struct tamis__handle *handle);

#endif
