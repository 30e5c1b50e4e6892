/* blocks.c - see blocks.h */
#include "blocks.h"

#include <string.h>

#include "memory.h"

#define CHUNK_MOST ((uint64_t)16 << 20)

static uint64_t block_count(uint64_t bytes) { return (bytes + BLOCK_BYTES - 1) >> BLOCK_SHIFT; }

/* The last block is as long as it must be. */
static size_t block_size(const struct blocks *b, uint64_t index) {
    const uint64_t left = b->bytes - (index << BLOCK_SHIFT);
    return (size_t)(left < BLOCK_BYTES ? left : BLOCK_BYTES);
}

/* ---- one block */

static struct block *block_new(size_t length) {
    struct block *block = memory_zeroed(sizeof *block + length);
    if (block != NULL) block->length = length;
    return block;
}

static void *block_copy(const void *body) {
    const struct block *from = body;
    struct block *block = memory_alloc(sizeof *block + from->length);
    if (block != NULL) memcpy(block, from, sizeof *block + from->length);
    return block;
}

static bool block_unite(void *into, const void *from) {
    struct block *a = into;
    const struct block *b = from;
    for (size_t i = 0; i < a->length; i++) a->bytes[i] |= b->bytes[i];
    return true;
}

static void block_free(void *body) { memory_free(body); }

static size_t block_bytes(const void *body) { return ((const struct block *)body)->length; }

static const struct shared_kind block_kind = {
    .copy = block_copy, .unite = block_unite, .free = block_free, .bytes = block_bytes};

/* ---- all of them */

bool blocks_open(struct blocks *b, uint64_t bytes) {
    b->bytes = bytes;
    b->block = memory_zeroed((size_t)block_count(bytes) * sizeof *b->block);
    return b->block != NULL;
}

void blocks_close(struct blocks *b) {
    for (uint64_t i = 0; b->block != NULL && i < block_count(b->bytes); i++) {
        shared_drop(b->block[i]);
    }
    memory_free(b->block);
    b->block = NULL;
}

uint8_t *blocks_at(struct blocks *b, uint64_t at) {
    const uint64_t index = at >> BLOCK_SHIFT;
    if (b->block[index] == NULL) {
        b->block[index] = shared_new(&block_kind, block_new(block_size(b, index)));
    }
    struct block *block = b->block[index] == NULL ? NULL : shared_own(&b->block[index]);
    return block == NULL ? NULL : block->bytes + (at & (BLOCK_BYTES - 1));
}

/* As much of a stretch as lies in one block. */
static size_t within_block(uint64_t at, size_t length) {
    const uint64_t left = BLOCK_BYTES - (at & (BLOCK_BYTES - 1));
    return length < left ? length : (size_t)left;
}

bool blocks_read(const struct blocks *b, uint64_t at, void *bytes, size_t length) {
    uint8_t *to = bytes;
    while (length != 0) {
        const size_t n = within_block(at, length);
        struct shared *s = b->block[at >> BLOCK_SHIFT];
        const struct block *block = s == NULL ? NULL : shared_look(s);
        if (s != NULL && block == NULL) return false;
        if (block == NULL) {
            memset(to, 0, n);
        } else {
            memcpy(to, block->bytes + (at & (BLOCK_BYTES - 1)), n);
        }
        at += n, to += n, length -= n;
    }
    return true;
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

uint8_t *blocks_chunk(const struct blocks *b, uint64_t at, size_t *length) {
    const uint64_t left = b->bytes - at;
    *length = (size_t)(left < CHUNK_MOST ? left : CHUNK_MOST);
    uint8_t *bytes = memory_alloc(*length);
    if (bytes != NULL && blocks_read(b, at, bytes, *length)) return bytes;
    memory_free(bytes);
    return NULL;
}

bool blocks_copy(struct blocks *to, const struct blocks *from) {
    if (!blocks_open(to, from->bytes)) return false;
    for (uint64_t i = 0; i < block_count(from->bytes); i++) {
        if (from->block[i] != NULL) to->block[i] = shared_take(from->block[i]);
    }
    return true;
}

bool blocks_unite(struct blocks *into, const struct blocks *from) {
    for (uint64_t i = 0; i < block_count(into->bytes); i++) {
        if (from->block[i] == NULL) continue;
        if (into->block[i] == NULL) {
            into->block[i] = shared_take(from->block[i]);
        } else if (!shared_unite(&into->block[i], from->block[i])) {
            return false;
        }
    }
    return true;
}

size_t blocks_unready(const struct blocks *b, size_t places, bool change) {
    size_t unready = 0;
    for (uint64_t i = 0; i < block_count(b->bytes) && unready < places; i++) {
        if (b->block[i] != NULL) unready += !shared_is_ready(b->block[i], change);
    }
    return unready;
}

void blocks_prepare(const struct blocks *b) {
    for (uint64_t i = 0; i < block_count(b->bytes); i++) {
        if (b->block[i] != NULL) shared_prepare(b->block[i]);
    }
}

/* ---- RDB */

void blocks_save(RedisModuleIO *rdb, const struct blocks *b) {
    uint8_t *bytes = memory_alloc((size_t)b->bytes);
    if (bytes == NULL || !blocks_read(b, 0, bytes, (size_t)b->bytes)) {
        memory_end((size_t)b->bytes);
    }
    RedisModule_SaveStringBuffer(rdb, (const char *)bytes, (size_t)b->bytes);
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
