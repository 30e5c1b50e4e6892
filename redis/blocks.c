/* blocks.c - see blocks.h */
#include "blocks.h"

#include <string.h>

#include "memory.h"

static uint64_t block_count(uint64_t bytes) { return (bytes + BLOCK_BYTES - 1) >> BLOCK_SHIFT; }

/* The last block is as long as it must be. */
static size_t block_size(const struct blocks *b, uint64_t index) {
    const uint64_t left = b->bytes - (index << BLOCK_SHIFT);
    return (size_t)(left < BLOCK_BYTES ? left : BLOCK_BYTES);
}

bool blocks_open(struct blocks *b, uint64_t bytes) {
    b->bytes = bytes;
    b->block = memory_zeroed((size_t)block_count(bytes) * sizeof *b->block);
    return b->block != NULL;
}

void blocks_close(struct blocks *b) {
    for (uint64_t i = 0; b->block != NULL && i < block_count(b->bytes); i++) {
        memory_free(b->block[i]);
    }
    memory_free(b->block);
    b->block = NULL;
}

uint8_t *blocks_at(struct blocks *b, uint64_t at) {
    const uint64_t index = at >> BLOCK_SHIFT;
    if (b->block[index] == NULL) b->block[index] = memory_zeroed(block_size(b, index));
    return b->block[index] == NULL ? NULL : b->block[index] + (at & (BLOCK_BYTES - 1));
}

/* As much of a stretch as lies in one block. */
static size_t within_block(uint64_t at, size_t length) {
    const uint64_t left = BLOCK_BYTES - (at & (BLOCK_BYTES - 1));
    return length < left ? length : (size_t)left;
}

void blocks_read(const struct blocks *b, uint64_t at, void *bytes, size_t length) {
    uint8_t *to = bytes;
    while (length != 0) {
        const size_t n = within_block(at, length);
        const uint8_t *block = b->block[at >> BLOCK_SHIFT];
        if (block == NULL) {
            memset(to, 0, n);
        } else {
            memcpy(to, block + (at & (BLOCK_BYTES - 1)), n);
        }
        at += n, to += n, length -= n;
    }
}

bool blocks_write(struct blocks *b, uint64_t at, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    while (length != 0) {
        const size_t n = within_block(at, length);
        uint8_t *place = blocks_at(b, at);
        if (place == NULL) return false;
        memcpy(place, from, n);
        at += n, from += n, length -= n;
    }
    return true;
}

bool blocks_copy(struct blocks *to, const struct blocks *from) {
    if (!blocks_open(to, from->bytes)) return false;
    for (uint64_t i = 0; i < block_count(from->bytes); i++) {
        if (from->block[i] == NULL) continue;
        if (!blocks_write(to, i << BLOCK_SHIFT, from->block[i], block_size(from, i))) {
            blocks_close(to);
            return false;
        }
    }
    return true;
}

/* ---- RDB */

void blocks_save(RedisModuleIO *rdb, const struct blocks *b) {
    uint8_t *bytes = memory_alloc((size_t)b->bytes);
    if (bytes != NULL) blocks_read(b, 0, bytes, (size_t)b->bytes);
    RedisModule_SaveStringBuffer(rdb, (const char *)bytes, bytes == NULL ? 0 : (size_t)b->bytes);
    memory_free(bytes);
}

bool blocks_load(RedisModuleIO *rdb, struct blocks *b) {
    size_t length = 0;
    char *bytes = RedisModule_LoadStringBuffer(rdb, &length);
    if (bytes == NULL) return false;
    bool good = length != 0 && !RedisModule_IsIOError(rdb) && blocks_open(b, length);
    if (good && !blocks_write(b, 0, bytes, length)) {
        blocks_close(b);
        good = false;
    }
    RedisModule_Free(bytes);
    return good;
}
