/* pool.c - see pool.h
 *
 * A block is the smallest kept one that is large enough, unless more than half of it would stay
 * unused; then it is a new piece of a reserved range of addresses.  Blocks start at different
 * distances from a huge page, as malloc's do: otherwise the arrays of a build would compete for the
 * same sets of the caches. */
#define _GNU_SOURCE

#include "pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"

#define LARGE ((size_t)1 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define BLOCKS_MAX 1024
#define RESERVED ((size_t)1 << 40)
#define SHIFTS 32
#define SHIFT 4160 /* a page and a cache line */
#define ALIGNED 64

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *start, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *start);

struct block {
    char *mapped, *start;
    size_t bytes;
    bool used;
};

static struct block blocks[BLOCKS_MAX];
static size_t block_count, block_number;
static char *reserved, *next;
static enum bench_pages kind = PAGES_HUGE;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool left;

static void *map(void *at, size_t bytes) {
    const int fixed = at != NULL ? MAP_FIXED : 0;
    void *mapped =
        mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (mapped == MAP_FAILED) bench_die("out of addresses");
    return mapped;
}

static bool is_pooled(const void *start) {
    return reserved != NULL && (const char *)start >= reserved &&
           (const char *)start < reserved + RESERVED;
}

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
    if (reserved == NULL) {
        reserved = map(NULL, RESERVED);
        next = reserved + (-(uintptr_t)reserved & (HUGE_PAGE - 1));
    }
    const size_t shift = block_number++ % SHIFTS * SHIFT;
    const size_t whole = (bytes + shift + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    if (whole > (size_t)(reserved + RESERVED - next)) bench_die("the pool is used up");
    struct block *b = &blocks[block_count++];
    *b = (struct block){.mapped = next, .start = next + shift, .bytes = whole - shift};
    next += whole;
    if (mprotect(b->mapped, whole, PROT_READ | PROT_WRITE) != 0) bench_die("out of memory");
    madvise(b->mapped, whole, kind == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(b->mapped, 0, whole);
    return b;
}

static void *take(size_t size, bool zero) {
    pthread_mutex_lock(&lock);
    struct block *b = find_kept(size);
    const bool kept = b != NULL;
    if (b == NULL) b = map_block(size);
    b->used = true;
    pthread_mutex_unlock(&lock);
    if (kept && zero) memset(b->start, 0, size);
    return b->start;
}

static struct block *block_at(const void *start) {
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].start == start) return &blocks[i];
    }
    bench_die("not a block of the pool");
}

void bench_use_pages(enum bench_pages pages) {
    size_t kept = 0;
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].used) {
            blocks[kept++] = blocks[i];
        } else {
            map(blocks[i].mapped, blocks[i].bytes + (size_t)(blocks[i].start - blocks[i].mapped));
        }
    }
    block_count = kept;
    kind = pages;
}

/* ---- malloc and its relatives */

static bool pools(size_t size) { return size >= LARGE && !left; }

void *malloc(size_t size) { return pools(size) ? take(size, false) : __libc_malloc(size); }

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || !pools(bytes)) {
        return __libc_calloc(count, size);
    }
    return take(bytes, true);
}

void free(void *start) {
    if (!is_pooled(start)) {
        __libc_free(start);
        return;
    }
    pthread_mutex_lock(&lock);
    block_at(start)->used = false;
    pthread_mutex_unlock(&lock);
}

size_t malloc_usable_size(void *start) {
    if (is_pooled(start)) {
        pthread_mutex_lock(&lock);
        const size_t bytes = block_at(start)->bytes;
        pthread_mutex_unlock(&lock);
        return bytes;
    }
    size_t (*original)(void *);
    *(void **)&original = dlsym(RTLD_NEXT, "malloc_usable_size");
    return original(start);
}

void *realloc(void *start, size_t size) {
    if (!is_pooled(start) && !pools(size)) return __libc_realloc(start, size);
    const size_t before = start != NULL ? malloc_usable_size(start) : 0;
    void *moved = malloc(size);
    if (moved == NULL) return NULL;
    if (before > 0) memcpy(moved, start, before < size ? before : size);
    free(start);
    return moved;
}

void *memalign(size_t alignment, size_t size) {
    return pools(size) && alignment <= ALIGNED ? take(size, false)
                                               : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **start, size_t alignment, size_t size) {
    *start = memalign(alignment, size);
    return *start != NULL ? 0 : ENOMEM;
}

/* ---- for our filters */

static void *pool_alloc(void *context, size_t size) {
    (void)context;
    return malloc(size);
}

static void pool_free(void *context, void *start, size_t size) {
    (void)context;
    (void)size;
    free(start);
}

tamis_allocator bench_pool(void) {
    return left ? (tamis_allocator){0} : (tamis_allocator){.alloc = pool_alloc, .free = pool_free};
}

void bench_pool_leave(void) { left = true; }
