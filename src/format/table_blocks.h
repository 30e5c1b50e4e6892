/* table_blocks.h - blocks of entries, as tables of LevelDB and RocksDB have them */
#ifndef TAMIS_FORMAT_TABLE_BLOCKS_H
#define TAMIS_FORMAT_TABLE_BLOCKS_H

#include "core/bytes.h"
#include "format/container.h"

/* Where a block lies, without the five bytes after it: type and checksum. */
struct tamis__handle {
    uint64_t offset, size;
};

#define TAMIS__BLOCK_TRAILER 5

/* Two variable-length numbers; false if they are not there. */
bool tamis__handle_read(struct tamis__reader *r, struct tamis__handle *handle);

/* Does it lie, with its trailer, before `end`? */
bool tamis__handle_fits(const struct tamis__handle *handle, uint64_t end);

/* The entries of a block in order. */
struct tamis__entries {
    const uint8_t *block;
    uint64_t at, end; /* of the entries, without the list of restarts */
    const uint8_t *value;
    uint64_t value_bytes;
    uint8_t key[4096];    /* longer keys are cut here: no name that is looked for is so long */
    uint64_t key_bytes;   /* in full */
    const uint8_t *whole; /* the key in full: in the block, or `key`; NULL if it is in neither */
    bool bad;
};

/* false if the block cannot be one. */
bool tamis__entries_start(struct tamis__entries *e, const uint8_t *block, uint64_t length);
/* The next entry; false at the end, or if the block is bad. */
bool tamis__entries_next(struct tamis__entries *e);

#endif
