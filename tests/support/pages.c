/* pages.c - see pages.h */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#define FULL_BYTE 7
#define SHIFT_MAX 10

struct page {
    uint8_t *bytes; /* NULL: zeros */
    bool ours;      /* written since it was made or shared */
};

struct table {
    struct page_store *store;
    uint64_t bytes;
    struct page *page; /* NULL in a store of full tables */
};

static size_t page_size(const struct table *t) { return (size_t)1 << t->store->storage.page_shift; }

static size_t page_count(const struct table *t) {
    return (size_t)((t->bytes + page_size(t) - 1) / page_size(t));
}

static bool fails(struct page_store *store) { return ++store->calls == store->fail_at; }

static void *pages_open(void *context, uint64_t bytes) {
    struct page_store *store = context;
    if (fails(store)) return NULL;
    struct table *t = NEED(struct table, 1);
    *t = (struct table){store, bytes, NULL};
    if (!store->full) {
        t->page = NEED(struct page, page_count(t) + 1);
        memset(t->page, 0, (page_count(t) + 1) * sizeof *t->page);
    }
    store->live++;
    return t;
}

static void pages_close(void *table) {
    struct table *t = table;
    for (size_t i = 0; t->page != NULL && i < page_count(t); i++) free(t->page[i].bytes);
    t->store->live--;
    free(t->page);
    free(t);
}

static const uint8_t *pages_read(void *table, uint64_t page, bool *failed) {
    static uint8_t full[1 << SHIFT_MAX];
    const struct table *t = table;
    if (fails(t->store)) {
        *failed = true;
        return NULL;
    }
    if (t->page != NULL) return t->page[page].bytes;
    memset(full, FULL_BYTE, sizeof full);
    return full;
}

static uint8_t *page_of(struct table *t, uint64_t page) {
    struct page *p = &t->page[page];
    if (p->bytes == NULL) {
        p->bytes = NEED(uint8_t, page_size(t));
        memset(p->bytes, 0, page_size(t));
    }
    p->ours = true;
    return p->bytes;
}

static uint8_t *pages_write(void *table, uint64_t page) {
    struct table *t = table;
    if (t->page == NULL || (!t->page[page].ours && fails(t->store))) return NULL;
    return page_of(t, page);
}

static void share(struct table *into, struct table *from) {
    for (size_t i = 0; into->page != NULL && i < page_count(from); i++) {
        for (size_t j = 0; from->page[i].bytes != NULL && j < page_size(from); j++) {
            uint8_t *bytes = page_of(into, i);
            bytes[j] = (uint8_t)(bytes[j] | from->page[i].bytes[j]);
        }
        into->page[i].ours = from->page[i].ours = false;
    }
}

static bool pages_unite(void *into, void *from) {
    if (fails(((struct table *)into)->store)) return false;
    share(into, from);
    return true;
}

static void *pages_copy(void *table) {
    struct table *t = table, *copy = pages_open(t->store, t->bytes);
    if (copy != NULL) share(copy, t);
    return copy;
}

void page_store_init(struct page_store *store, unsigned shift) {
    *store = (struct page_store){.storage = {.struct_size = sizeof store->storage,
                                             .page_shift = shift,
                                             .max_bytes = 1 << 20,
                                             .context = store,
                                             .open = pages_open,
                                             .close = pages_close,
                                             .copy = pages_copy,
                                             .unite = pages_unite,
                                             .read = pages_read,
                                             .write = pages_write}};
}

uint64_t pages_bytes(const void *table) { return ((const struct table *)table)->bytes; }

uint8_t pages_get(const void *table, uint64_t at) {
    const struct table *t = table;
    const uint8_t *page = t->page[at >> t->store->storage.page_shift].bytes;
    return page == NULL ? 0 : page[at & (page_size(t) - 1)];
}

void pages_set(void *table, uint64_t at, uint8_t byte) {
    struct table *t = table;
    page_of(t, at >> t->store->storage.page_shift)[at & (page_size(t) - 1)] = byte;
}
