/* sparse_bytes.h - a long array of bytes in pages that are allocated when they are written
 *
 * The tables of a RedisBloom filter have the length given in its header.  With pages a header alone
 * takes little memory, a new sub-filter of a hundred megabytes takes none at first, and no command
 * clears more than one page for a byte that it writes.  Bytes that were never written are zero.
 * Copies and unions share pages (cow_table.h). */
#ifndef TAMIS_REDIS_TABLES_SPARSE_BYTES_H
#define TAMIS_REDIS_TABLES_SPARSE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/cow_table.h"
#include "tamis.h"

struct sparse_bytes {
    uint64_t bytes;
    struct cow_table *page[]; /* a struct page each, or NULL: zeros */
};

/* The tables of a filter of the library: a struct sparse_bytes each. */
extern const tamis_storage sparse_bytes_storage;

/* Zeros; NULL if memory runs out. */
struct sparse_bytes *sparse_bytes_new(uint64_t bytes);
/* NULL is allowed. */
void sparse_bytes_free(void *table);
/* Exchanges the pages of two arrays of the same length. */
void sparse_bytes_swap(struct sparse_bytes *a, struct sparse_bytes *b);
/* The number of pages that a command would have to wait for if it reads or changes `places` bytes.
 * sparse_bytes_prepare queues their copies and unions (cow_table.h). */
size_t sparse_bytes_unready(const struct sparse_bytes *b, size_t places, bool change);
void sparse_bytes_prepare(const struct sparse_bytes *b);

/* Reads or writes bytes within the array.  False if memory runs out. */
bool sparse_bytes_read(struct sparse_bytes *b, uint64_t at, void *bytes, size_t length);
bool sparse_bytes_write(struct sparse_bytes *b, uint64_t at, const void *bytes, size_t length);

/* At most 16 MiB from `at` on, as in a chunk of RedisBloom.  The caller frees them.  NULL if there
 * is no memory for `*length` bytes. */
uint8_t *sparse_bytes_chunk(struct sparse_bytes *b, uint64_t at, size_t *length);

#endif
