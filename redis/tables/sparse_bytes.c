/* sparse_bytes.c - see sparse_bytes.h */
#include "tables/sparse_bytes.h"

#include <string.h>

#include "server/memory.h"

#define PAGE_SHIFT 20
#define PAGE_BYTES ((uint64_t)1 << PAGE_SHIFT)
#define CHUNK_MAX ((uint64_t)16 << 20)
#define BYTES_MAX ((uint64_t)1 << 36) /* of all tables of a filter */

struct page {
    size_t length;
    uint8_t bytes[];
};

static uint64_t page_count(uint64_t bytes) { return (bytes + PAGE_BYTES - 1) >> PAGE_SHIFT; }

/* The last page ends with the array. */
static size_t page_size(const struct sparse_bytes *b, uint64_t index) {
    const uint64_t left = b->bytes - (index << PAGE_SHIFT);
    return (size_t)(left < PAGE_BYTES ? left : PAGE_BYTES);
}

/* ---- one page */

static struct page *page_new(size_t length) {
    struct page *page = memory_zeroed(sizeof *page + length);
    if (page != NULL) page->length = length;
    return page;
}

static void *page_copy(const void *body) {
    const struct page *from = body;
    struct page *page = memory_alloc(sizeof *page + from->length);
    if (page != NULL) memcpy(page, from, sizeof *page + from->length);
    return page;
}

static bool page_unite(void *into, const void *from) {
    struct page *a = into;
    const struct page *b = from;
    for (size_t i = 0; i < a->length; i++) a->bytes[i] |= b->bytes[i];
    return true;
}

static size_t page_bytes(const void *body) { return ((const struct page *)body)->length; }

static const struct cow_table_kind page_kind = {
    .copy = page_copy, .unite = page_unite, .free = memory_free, .bytes = page_bytes};

/* ---- all of them */

struct sparse_bytes *sparse_bytes_new(uint64_t bytes) {
    struct sparse_bytes *b = memory_zeroed(sizeof *b + (size_t)page_count(bytes) * sizeof *b->page);
    if (b != NULL) b->bytes = bytes;
    return b;
}

void sparse_bytes_free(void *table) {
    struct sparse_bytes *b = table;
    for (uint64_t i = 0; b != NULL && i < page_count(b->bytes); i++) cow_table_drop(b->page[i]);
    memory_free(b);
}

/* ---- the storage */

static void *storage_open(void *context, uint64_t bytes) {
    (void)context;
    return sparse_bytes_new(bytes);
}

static const uint8_t *storage_read(void *table, uint64_t index, bool *failed) {
    struct cow_table *t = ((struct sparse_bytes *)table)->page[index];
    const struct page *page = t == NULL ? NULL : cow_table_look(t);
    if (t != NULL && page == NULL) *failed = true;
    return page == NULL ? NULL : page->bytes;
}

static uint8_t *storage_write(void *table, uint64_t index) {
    struct sparse_bytes *b = table;
    if (b->page[index] == NULL) {
        b->page[index] = cow_table_new(&page_kind, page_new(page_size(b, index)));
    }
    struct page *page = b->page[index] == NULL ? NULL : cow_table_own(&b->page[index]);
    return page == NULL ? NULL : page->bytes;
}

static void *storage_copy(void *table) {
    const struct sparse_bytes *from = table;
    struct sparse_bytes *b = sparse_bytes_new(from->bytes);
    for (uint64_t i = 0; b != NULL && i < page_count(from->bytes); i++) {
        if (from->page[i] != NULL) b->page[i] = cow_table_take(from->page[i]);
    }
    return b;
}

static bool storage_unite(void *table, void *other) {
    struct sparse_bytes *into = table, *from = other;
    for (uint64_t i = 0; i < page_count(into->bytes); i++) {
        if (from->page[i] == NULL) continue;
        if (into->page[i] == NULL) {
            into->page[i] = cow_table_take(from->page[i]);
        } else if (!cow_table_unite(&into->page[i], from->page[i])) {
            return false;
        }
    }
    return true;
}

/* The setting cf-max-expansions limits the sub-filters. */
const tamis_storage sparse_bytes_storage = {.struct_size = sizeof sparse_bytes_storage,
                                            .page_shift = PAGE_SHIFT,
                                            .max_tables = UINT32_MAX,
                                            .max_bytes = BYTES_MAX,
                                            .open = storage_open,
                                            .close = sparse_bytes_free,
                                            .copy = storage_copy,
                                            .unite = storage_unite,
                                            .read = storage_read,
                                            .write = storage_write};

/* ---- stretches */

/* As much of a stretch as lies in one page. */
static size_t within_page(uint64_t at, size_t length) {
    const uint64_t left = PAGE_BYTES - (at & (PAGE_BYTES - 1));
    return length < left ? length : (size_t)left;
}

bool sparse_bytes_read(struct sparse_bytes *b, uint64_t at, void *bytes, size_t length) {
    uint8_t *to = bytes;
    while (length != 0) {
        const size_t n = within_page(at, length);
        bool failed = false;
        const uint8_t *page = storage_read(b, at >> PAGE_SHIFT, &failed);
        if (failed) return false;
        if (page == NULL) {
            memset(to, 0, n);
        } else {
            memcpy(to, page + (at & (PAGE_BYTES - 1)), n);
        }
        at += n, to += n, length -= n;
    }
    return true;
}

bool sparse_bytes_write(struct sparse_bytes *b, uint64_t at, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    while (length != 0) {
        const size_t n = within_page(at, length);
        uint8_t *page = storage_write(b, at >> PAGE_SHIFT);
        if (page == NULL) return false;
        memcpy(page + (at & (PAGE_BYTES - 1)), from, n);
        at += n, from += n, length -= n;
    }
    return true;
}

uint8_t *sparse_bytes_chunk(struct sparse_bytes *b, uint64_t at, size_t *length) {
    const uint64_t left = b->bytes - at;
    *length = (size_t)(left < CHUNK_MAX ? left : CHUNK_MAX);
    uint8_t *bytes = memory_alloc(*length);
    if (bytes != NULL && sparse_bytes_read(b, at, bytes, *length)) return bytes;
    memory_free(bytes);
    return NULL;
}

void sparse_bytes_swap(struct sparse_bytes *a, struct sparse_bytes *b) {
    for (uint64_t i = 0; i < page_count(a->bytes); i++) {
        struct cow_table *page = a->page[i];
        a->page[i] = b->page[i];
        b->page[i] = page;
    }
}

size_t sparse_bytes_unready(const struct sparse_bytes *b, size_t places, bool change) {
    size_t unready = 0;
    for (uint64_t i = 0; i < page_count(b->bytes) && unready < places; i++) {
        if (b->page[i] != NULL) unready += !cow_table_is_ready(b->page[i], change);
    }
    return unready;
}

void sparse_bytes_prepare(const struct sparse_bytes *b) {
    for (uint64_t i = 0; i < page_count(b->bytes); i++) {
        if (b->page[i] != NULL) cow_table_prepare(b->page[i]);
    }
}
