/* memory.c - see memory.h */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* What fits in less is not worth asking the server for its limit, which takes it a while. */
#define ASK_FROM ((uint64_t)1 << 20)

#if defined(TAMIS_REDIS_MALLOC)
void *memory_alloc(size_t size) { return malloc(size); }
void memory_free(void *block) { free(block); }
#else
void *memory_alloc(size_t size) {
    return RedisModule_TryAlloc != NULL ? RedisModule_TryAlloc(size) : RedisModule_Alloc(size);
}
void memory_free(void *block) { RedisModule_Free(block); }
#endif

void *memory_zeroed(size_t size) {
    void *block = memory_alloc(size);
    return block == NULL ? NULL : memset(block, 0, size);
}

static void *meter_alloc(void *context, size_t size) {
    void *block = memory_alloc(size);
    if (block != NULL) *(size_t *)context += size;
    return block;
}

static void meter_free(void *context, void *block, size_t size) {
    *(size_t *)context -= size;
    memory_free(block);
}

tamis_allocator memory_meter(size_t *bytes) {
    return (tamis_allocator){.alloc = meter_alloc, .free = meter_free, .context = bytes};
}

bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes) {
    if (bytes > SIZE_MAX / 4) return false;
    if (bytes < ASK_FROM) return true;
    RedisModuleServerInfoData *info = RedisModule_GetServerInfo(ctx, "memory");
    if (info == NULL) return true;
    int bad_limit = 0, bad_used = 0;
    const uint64_t limit = RedisModule_ServerInfoGetFieldUnsigned(info, "maxmemory", &bad_limit);
    const uint64_t used = RedisModule_ServerInfoGetFieldUnsigned(info, "used_memory", &bad_used);
    RedisModule_FreeServerInfo(ctx, info);
    if (bad_limit != 0 || bad_used != 0 || limit == 0) return true;
    return used < limit && bytes <= limit - used;
}
