/* serialize.c - see serialize.h */
#include "persist/serialize.h"

#include "filters/redisbloom.h"
#include "server/memory.h"

#define MAGIC_AT 16

/* ---- all of a filter */

bool serialize_is_header(const struct chunk_ops *ops, const uint8_t *bytes, size_t length) {
    return length >= MAGIC_AT + 8 && byte_load(bytes + MAGIC_AT, 8) == ops->magic;
}

void *serialize_open(const struct chunk_ops *ops, const uint8_t *bytes, size_t length) {
    struct byte_reader r = unseal(bytes, length);
    return r.bad || !serialize_is_header(ops, bytes, length) ? NULL : ops->from_header(&r);
}

uint8_t *serialize_chunk(const struct chunk_ops *ops, const void *filter, long long iterator,
                         size_t *length, long long *next) {
    tamis_filter *const *redisbloom = filter; /* the first field of both */
    if (*redisbloom != NULL) return redisbloom_chunk(*redisbloom, iterator, length, next);
    *length = 0;
    *next = iterator == 0;
    if (iterator == 0) return ops->header(filter, length);
    if (iterator < 0) return NULL;
    uint64_t index = (uint64_t)iterator - 1;
    uint8_t *chunk = ops->chunk(filter, &index, length);
    if (chunk != NULL) *next = (long long)index + 2;
    return chunk;
}

/* The chunk at the iterator; NULL only past the end. */
static uint8_t *need_chunk(const struct chunk_ops *ops, const void *filter, long long iterator,
                           size_t *length, long long *next) {
    uint8_t *chunk = serialize_chunk(ops, filter, iterator, length, next);
    if (chunk == NULL && (iterator == 0 || *length != 0)) memory_exhausted(*length);
    return chunk;
}

/* ---- RDB */

void serialize_save(RedisModuleIO *rdb, const struct chunk_ops *ops, const void *filter) {
    size_t length;
    long long next;
    uint8_t *header = need_chunk(ops, filter, 0, &length, &next);
    RedisModule_SaveUnsigned(rdb, RDB_TAMIS);
    RedisModule_SaveUnsigned(rdb, 0);
    RedisModule_SaveStringBuffer(rdb, (const char *)header, length);
    memory_free(header);
    for (uint8_t *chunk; (chunk = need_chunk(ops, filter, next, &length, &next)) != NULL;) {
        RedisModule_SaveUnsigned(rdb, (uint64_t)next - 2);
        RedisModule_SaveStringBuffer(rdb, (const char *)chunk, length);
        memory_free(chunk);
    }
    RedisModule_SaveUnsigned(rdb, UINT64_MAX);
}

static void *load_header(RedisModuleIO *rdb, const struct chunk_ops *ops) {
    size_t length = 0;
    char *header = RedisModule_LoadStringBuffer(rdb, &length);
    if (header == NULL) return NULL;
    void *filter =
        RedisModule_IsIOError(rdb) ? NULL : serialize_open(ops, (const uint8_t *)header, length);
    RedisModule_Free(header);
    return filter;
}

static bool load_chunk(RedisModuleIO *rdb, const struct chunk_ops *ops, void *filter,
                       uint64_t index) {
    size_t length = 0;
    char *bytes = RedisModule_LoadStringBuffer(rdb, &length);
    if (bytes == NULL) return false;
    const bool good = !RedisModule_IsIOError(rdb) && ops->load_chunk(filter, index, bytes, length);
    RedisModule_Free(bytes);
    return good;
}

void *serialize_load(RedisModuleIO *rdb, const struct chunk_ops *ops) {
    const uint64_t zero = RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb) || zero != 0) return NULL;
    void *filter = load_header(rdb, ops);
    bool good = filter != NULL;
    while (good) {
        const uint64_t index = RedisModule_LoadUnsigned(rdb);
        good = !RedisModule_IsIOError(rdb);
        if (!good || index == UINT64_MAX) break;
        good = load_chunk(rdb, ops, filter, index);
    }
    if (good) return filter;
    ops->free(filter);
    return NULL;
}

/* ---- AOF, digest */

void serialize_rewrite(RedisModuleIO *aof, RedisModuleString *key, const struct chunk_ops *ops,
                       const void *filter) {
    size_t length;
    long long next = 0;
    for (uint8_t *chunk; (chunk = need_chunk(ops, filter, next, &length, &next)) != NULL;) {
        RedisModule_EmitAOF(aof, ops->command, "slb", key, next, (const char *)chunk, length);
        memory_free(chunk);
    }
}

void serialize_digest(RedisModuleDigest *sum, const struct chunk_ops *ops, const void *filter) {
    size_t length;
    long long next = 0;
    for (uint8_t *chunk; (chunk = serialize_chunk(ops, filter, next, &length, &next)) != NULL;) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)chunk, length);
        memory_free(chunk);
    }
    RedisModule_DigestEndSequence(sum);
}
