/* pieces.c - see pieces.h */
#include "pieces.h"

#include "memory.h"
#include "types.h"

#define CHECKSUM_BYTES 8

static const uint8_t no_secret[TAMIS_SECRET_BYTES];

/* ---- all of a filter */

/* The chunk at the iterator; NULL past the end alone. */
static uint8_t *need_chunk(const struct pieces *how, const void *filter, long long iterator,
                           size_t *length, long long *next) {
    uint8_t *chunk = how->chunk(filter, iterator, length, next);
    if (chunk == NULL && (iterator == 0 || *length != 0)) memory_end(*length);
    return chunk;
}

/* ---- RDB */

void pieces_save(RedisModuleIO *rdb, const struct pieces *how, const void *filter) {
    size_t length;
    long long next;
    uint8_t *header = need_chunk(how, filter, 0, &length, &next);
    RedisModule_SaveUnsigned(rdb, RDB_OURS);
    RedisModule_SaveUnsigned(rdb, 0);
    RedisModule_SaveStringBuffer(rdb, (const char *)header, length);
    memory_free(header);
    for (uint8_t *piece; (piece = need_chunk(how, filter, next, &length, &next)) != NULL;) {
        RedisModule_SaveUnsigned(rdb, (uint64_t)next - 2);
        RedisModule_SaveStringBuffer(rdb, (const char *)piece, length);
        memory_free(piece);
    }
    RedisModule_SaveUnsigned(rdb, UINT64_MAX);
}

static void *load_header(RedisModuleIO *rdb, const struct pieces *how) {
    size_t length = 0;
    char *header = RedisModule_LoadStringBuffer(rdb, &length);
    if (header == NULL) return NULL;
    void *filter =
        RedisModule_IsIOError(rdb) ? NULL : how->from_header((const uint8_t *)header, length);
    RedisModule_Free(header);
    return filter;
}

static bool load_piece(RedisModuleIO *rdb, const struct pieces *how, void *filter, uint64_t slot) {
    size_t length = 0;
    char *bytes = RedisModule_LoadStringBuffer(rdb, &length);
    if (bytes == NULL) return false;
    const bool good = !RedisModule_IsIOError(rdb) && how->load_piece(filter, slot, bytes, length);
    RedisModule_Free(bytes);
    return good;
}

void *pieces_load(RedisModuleIO *rdb, const struct pieces *how) {
    const uint64_t zero = RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb) || zero != 0) return NULL;
    void *filter = load_header(rdb, how);
    bool good = filter != NULL;
    while (good) {
        const uint64_t slot = RedisModule_LoadUnsigned(rdb);
        good = !RedisModule_IsIOError(rdb);
        if (!good || slot == UINT64_MAX) break;
        good = load_piece(rdb, how, filter, slot);
    }
    if (good) return filter;
    how->free(filter);
    return NULL;
}

/* ---- AOF, digest */

void pieces_rewrite(RedisModuleIO *aof, RedisModuleString *key, const struct pieces *how,
                    const void *filter) {
    size_t length;
    long long next = 0;
    for (uint8_t *chunk; (chunk = need_chunk(how, filter, next, &length, &next)) != NULL;) {
        RedisModule_EmitAOF(aof, how->command, "slb", key, next, (const char *)chunk, length);
        memory_free(chunk);
    }
}

void pieces_digest(RedisModuleDigest *sum, const struct pieces *how, const void *filter) {
    size_t length;
    long long next = 0;
    for (uint8_t *chunk; (chunk = how->chunk(filter, next, &length, &next)) != NULL;) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)chunk, length);
        memory_free(chunk);
    }
    RedisModule_DigestEndSequence(sum);
}

/* ---- making them */

uint8_t *piece_of(const tamis_filter *segment, size_t *length) {
    const size_t size = (size_t)tamis_encoded_size(segment);
    uint8_t *bytes = memory_alloc(size);
    *length = size;
    if (bytes == NULL) return NULL;
    if (tamis_encode(segment, bytes, size, length) == TAMIS_OK) return bytes;
    memory_free(bytes);
    return NULL;
}

uint8_t *seal(seal_writer *write, const void *what, size_t *length) {
    struct wire_writer count = {.bytes = NULL};
    write(what, &count);
    const size_t size = count.length + CHECKSUM_BYTES;
    struct wire_writer w = {.bytes = memory_alloc(size), .capacity = size};
    *length = size;
    if (w.bytes == NULL) return NULL;
    write(what, &w);
    wire_put64(&w, tamis_hash_secret(no_secret, w.bytes, w.length));
    return w.bytes;
}

struct wire_reader unseal(const uint8_t *bytes, size_t length) {
    const size_t before = length < CHECKSUM_BYTES ? 0 : length - CHECKSUM_BYTES;
    const bool good = length >= CHECKSUM_BYTES &&
                      tamis_hash_secret(no_secret, bytes, before) == wire_load(bytes + before, 8);
    return (struct wire_reader){bytes, bytes + before, !good};
}
