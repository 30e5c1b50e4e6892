/* alloc.c - see alloc.h */
#define _DEFAULT_SOURCE 1
#include "core/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

/* Tables of the default allocator are mapped from this size on: two huge pages. */
#define MAPPED_FROM ((uint64_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

static bool is_default(const tamis_allocator *a) { return a->alloc == NULL; }

void *tamis__alloc(const tamis_allocator *a, size_t size) {
    if (size == 0) size = 1;
    return is_default(a) ? malloc(size) : a->alloc(a->context, size);
}

void tamis__release(const tamis_allocator *a, void *block, size_t size) {
    const int why = errno;
    if (block == NULL) return;
    if (is_default(a)) {
        free(block);
    } else {
        a->free(a->context, block, size == 0 ? 1 : size);
    }
    errno = why;
}

bool tamis__array_size(uint64_t count, uint64_t each, size_t *size) {
    if (each != 0 && count > (uint64_t)(SIZE_MAX / 2) / each) return false;
    *size = (size_t)(count * each);
    return true;
}

#if defined(MAP_ANONYMOUS) && !defined(__EMSCRIPTEN__) && !defined(__wasm__)
/* Maps one huge page more than needed and unmaps what lies outside the aligned part,
 * because the kernel backs only aligned stretches with huge pages. */
static void *map_aligned(size_t size) {
    uint8_t *raw =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    const size_t before = (HUGE_PAGE - ((uintptr_t)raw & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    if (before != 0) munmap(raw, before);
    munmap(raw + before + size, HUGE_PAGE - before);
#if defined(MADV_HUGEPAGE)
    (void)madvise(raw + before, size, MADV_HUGEPAGE); /* only a hint */
#endif
    return raw + before;
}
/* Whole pages, including pages of 64 KiB (some ARM and POWER): the rest cannot be unmapped from
 * the middle of one. */
static size_t mapped_size(uint64_t size) { return (size_t)((size + 65535) & ~(uint64_t)65535); }
static bool is_mapped(const tamis_allocator *a, uint64_t size) {
    return is_default(a) && size >= MAPPED_FROM;
}
#else
static void *map_aligned(size_t size) {
    (void)size;
    return NULL;
}
static size_t mapped_size(uint64_t size) { return (size_t)size; }
static bool is_mapped(const tamis_allocator *a, uint64_t size) {
    (void)a, (void)size;
    return false;
}
#endif

/* A table from a plain allocator: the aligned part of a larger block, with the block's
 * address kept just before it. */
static size_t padded_size(uint64_t size) { return (size_t)size + TAMIS_LINE + sizeof(void *); }

void *tamis__table_alloc(const tamis_allocator *a, uint64_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    if (is_mapped(a, size)) return map_aligned(mapped_size(size));
    const bool zeroed = !is_default(a) && a->zeroed != NULL;
    uint8_t *block =
        zeroed ? a->zeroed(a->context, padded_size(size)) : tamis__alloc(a, padded_size(size));
    if (block == NULL) return NULL;
    uint8_t *table = block + sizeof(void *);
    table += (TAMIS_LINE - ((uintptr_t)table & (TAMIS_LINE - 1))) & (TAMIS_LINE - 1);
    if (!zeroed) memset(table, 0, (size_t)size);
    memcpy(table - sizeof(void *), &block, sizeof(void *));
    return table;
}

void tamis__table_free(const tamis_allocator *a, void *table, uint64_t size) {
    if (table == NULL) return;
    if (is_mapped(a, size)) {
#if defined(MAP_ANONYMOUS)
        munmap(table, mapped_size(size));
#endif
        return;
    }
    void *block;
    memcpy(&block, (uint8_t *)table - sizeof(void *), sizeof(void *));
    tamis__release(a, block, padded_size(size));
}
