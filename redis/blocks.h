/* blocks.h - a long row of bytes, in blocks that are made when something is written to them
 *
 * Filters of RedisBloom are as long as their header says.  So a header alone takes no memory
 * worth speaking of, a new link of a hundred megabytes costs nothing at the moment, and no
 * command waits for more than one block to be cleared.  What was never written is zero. */
#ifndef TAMIS_REDIS_BLOCKS_H
#define TAMIS_REDIS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis_module.h"
#include "shared.h"

#define BLOCK_SHIFT 20
#define BLOCK_BYTES ((uint64_t)1 << BLOCK_SHIFT)

struct block {
    size_t length;
    uint8_t bytes[];
};

struct blocks {
    uint64_t bytes;
    struct shared **block; /* a struct block each, or NULL */
};

/* False if there is no memory for the directory. */
bool blocks_open(struct blocks *b, uint64_t bytes);
void blocks_close(struct blocks *b);
/* Shares all blocks with `from`.  `to` is not open; false, with nothing open, if there is no
 * memory. */
bool blocks_copy(struct blocks *to, const struct blocks *from);
/* Adds the bits of `from`, which is as long.  False if there is no memory: then some may have been
 * added. */
bool blocks_unite(struct blocks *into, const struct blocks *from);

/* How many blocks a command would have to wait for that looks at so many places, or changes
 * them; and has them made ready (shared.h). */
size_t blocks_unready(const struct blocks *b, size_t places, bool change);
void blocks_prepare(const struct blocks *b);

/* The byte at a place within.  Where there is no memory to unite a block it has all bits. */
static inline uint8_t blocks_get(const struct blocks *b, uint64_t at) {
    struct shared *s = b->block[at >> BLOCK_SHIFT];
    if (s == NULL) return 0;
    const struct block *block = shared_look(s);
    return block == NULL ? UINT8_MAX : block->bytes[at & (BLOCK_BYTES - 1)];
}

/* Where it can be written; NULL if there is no memory. */
uint8_t *blocks_at(struct blocks *b, uint64_t at);

/* A stretch of bytes, all within; false if there is no memory: to unite a block, or for one. */
bool blocks_read(const struct blocks *b, uint64_t at, void *bytes, size_t length);
bool blocks_write(struct blocks *b, uint64_t at, const void *bytes, size_t length);

/* At most 16 MiB from a place within on, in memory of the caller's; NULL: no memory for so many
 * bytes.  As RedisBloom cuts its tables. */
uint8_t *blocks_chunk(const struct blocks *b, uint64_t at, size_t *length);

/* As one string of an RDB file. */
void blocks_save(RedisModuleIO *rdb, const struct blocks *b);
/* Opens `b`; false, with nothing open, if there is no such string. */
bool blocks_load(RedisModuleIO *rdb, struct blocks *b);

#endif
