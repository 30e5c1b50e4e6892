/* pages.h - a tamis_storage in memory: pages that are allocated when they are first written, and
 * calls that fail on demand
 *
 * A call of open, copy, unite or read may fail, and so may the first write to a page after it was
 * made or shared.  A page that has been written can be written again. */
#ifndef TESTS_SUPPORT_PAGES_H
#define TESTS_SUPPORT_PAGES_H

#include "check.h"
#include "tamis.h"

struct page_store {
    tamis_storage storage;
    uint64_t calls;   /* that may fail */
    uint64_t fail_at; /* this one does; 0: none */
    size_t live;      /* tables */
    bool full;        /* tables of any size without pages: every byte is 7, and no write succeeds */
};

/* Pages of 2^shift bytes, at most 1024; up to 1 MiB for a filter. */
void page_store_init(struct page_store *store, unsigned shift);

/* The bytes of a table. */
uint64_t pages_bytes(const void *table);
uint8_t pages_get(const void *table, uint64_t at);
void pages_set(void *table, uint64_t at, uint8_t byte);

#endif
