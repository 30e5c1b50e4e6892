/* memory.c - see memory.h */
#define _DEFAULT_SOURCE /* madvise */
#include "server/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Smaller requests are granted without checking maxmemory, because that is slow. */
#define CHECK_FROM ((uint64_t)1 << 20)
#define PAGES_FROM \
    ((size_t)1 << 17) /* at least this many bytes are zeroed by dropping their pages */

#if defined(TAMIS_REDIS_MALLOC)
void *memory_alloc(size_t size) { return malloc(size); }
void *memory_zeroed(size_t size) { return calloc(1, size); }
void memory_free(void *block) { free(block); }
#else
void *memory_alloc(size_t size) { return RedisModule_TryAlloc(size); }

#if defined(MADV_DONTNEED)
/* Drops the pages that lie wholly in the block; the system provides zeros when they are next
 * touched. This holds for private memory, which allocators use; the first byte verifies it. */
static bool drop_pages(uint8_t *block, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (page - (uintptr_t)block % page) % page;
    const size_t behind = (uintptr_t)(block + size) % page;
    uint8_t *first = block + before;
    *first = UINT8_MAX;
    if (madvise(first, size - before - behind, MADV_DONTNEED) != 0 || *first != 0) return false;
    memset(block, 0, before);
    memset(block + size - behind, 0, behind);
    return true;
}
#else
static bool drop_pages(uint8_t *block, size_t size) {
    (void)block, (void)size;
    return false;
}
#endif

/* Servers before 7.4 have no calloc that may fail, so the block is allocated and cleared.  Writing
 * zeros to a large block takes as long as using all of it: a millisecond for a segment of which a
 * command needs a few cache lines. */
void *memory_zeroed(size_t size) {
    if (RedisModule_TryCalloc != NULL) return RedisModule_TryCalloc(1, size);
    void *block = RedisModule_TryAlloc(size);
    if (block != NULL && (size < PAGES_FROM || !drop_pages(block, size))) memset(block, 0, size);
    return block;
}
void memory_free(void *block) { RedisModule_Free(block); }
#endif

_Noreturn void memory_exhausted(size_t size) {
    RedisModule_Log(NULL, "warning", "Out of memory: cannot allocate %zu bytes to save a filter",
                    size);
    _exit(EXIT_FAILURE);
}

static void *library_alloc(void *context, size_t size) {
    (void)context;
    return memory_alloc(size);
}

static void *library_zeroed(void *context, size_t size) {
    (void)context;
    return memory_zeroed(size);
}

static void library_free(void *context, void *block, size_t size) {
    (void)context, (void)size;
    memory_free(block);
}

tamis_allocator memory_allocator(void) {
    return (tamis_allocator){
        .alloc = library_alloc, .free = library_free, .zeroed = library_zeroed};
}

bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes) {
    if (bytes > SIZE_MAX / 4) return false;
    if (bytes < CHECK_FROM || redis_is_following(ctx)) return true;
    RedisModuleServerInfoData *info = RedisModule_GetServerInfo(ctx, "memory");
    if (info == NULL) return true;
    int bad_limit = 0, bad_used = 0;
    const uint64_t limit = RedisModule_ServerInfoGetFieldUnsigned(info, "maxmemory", &bad_limit);
    const uint64_t used = RedisModule_ServerInfoGetFieldUnsigned(info, "used_memory", &bad_used);
    RedisModule_FreeServerInfo(ctx, info);
    if (bad_limit != 0 || bad_used != 0 || limit == 0) return true;
    return used < limit && bytes <= limit - used;
}

bool memory_is_short(void) { return RedisModule_GetUsedMemoryRatio() >= 1.0F; }

size_t memory_effort(size_t effort) { return memory_is_short() ? 1 : effort; }
