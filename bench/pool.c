/* pool.c - see pool.h
 *
 * Small blocks come from malloc.  A large one is the smallest kept block that is large enough,
 * unless more than half of it would stay unused; then it is a new mapping. */
#define _GNU_SOURCE

#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "machine.h"

#define LARGE ((size_t)1 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define BLOCKS_MAX 512

struct block {
    char *start;
    size_t bytes;
    bool used;
};

static struct block blocks[BLOCKS_MAX];
static size_t block_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool left;

static struct block *find_kept(size_t bytes) {
    struct block *best = NULL;
    for (size_t i = 0; i < block_count; i++) {
        struct block *b = &blocks[i];
        if (b->used || b->bytes < bytes || b->bytes / 2 > bytes) continue;
        if (best == NULL || b->bytes < best->bytes) best = b;
    }
    return best;
}

static struct block *map_block(size_t bytes) {
    if (block_count == BLOCKS_MAX) bench_die("the pool has too many blocks");
    struct block *b = &blocks[block_count++];
    b->bytes = bytes;
    b->start = bench_memory(bytes);
    return b;
}

static void *pool_alloc(void *context, size_t size) {
    (void)context;
    if (size < LARGE) return malloc(size);
    const size_t bytes = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    pthread_mutex_lock(&lock);
    struct block *b = find_kept(bytes);
    if (b == NULL) b = map_block(bytes);
    b->used = true;
    pthread_mutex_unlock(&lock);
    return b->start;
}

static void pool_free(void *context, void *start, size_t size) {
    (void)context;
    if (size < LARGE) {
        free(start);
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].start == start) blocks[i].used = false;
    }
    pthread_mutex_unlock(&lock);
}

tamis_allocator bench_pool(void) {
    return left ? (tamis_allocator){0} : (tamis_allocator){.alloc = pool_alloc, .free = pool_free};
}

void bench_pool_leave(void) { left = true; }

void bench_pool_trim(void) {
    size_t kept = 0;
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].used) {
            blocks[kept++] = blocks[i];
        } else {
            bench_memory_free(blocks[i].start, blocks[i].bytes);
        }
    }
    block_count = kept;
}
