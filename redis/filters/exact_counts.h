/* exact_counts.h - exact counts of a few hashes, which a cuckoo filter cannot count */
#ifndef TAMIS_REDIS_FILTERS_EXACT_COUNTS_H
#define TAMIS_REDIS_FILTERS_EXACT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTS_SHARDS 256 /* from SPLIT_AT entries on; fewer are in one table */
#define COUNTS_ENTRY 16   /* bytes of an entry in a chunk */

struct exact_counts_shard;

struct exact_counts {
    uint32_t shards;  /* 0 (no counts), 1 or COUNTS_SHARDS */
    uint64_t entries; /* hashes with a count other than 0 */
    struct exact_counts_shard *shard;
};

void exact_counts_close(struct exact_counts *t);
/* Shares all tables with `from`.  `to` must be empty, and is left so, with false, if memory runs
 * out. */
bool exact_counts_copy(struct exact_counts *to, const struct exact_counts *from);
/* The number of tables that a command changing `hashes` counts would have to wait for;
 * exact_counts_prepare queues their copies (cow_table.h). */
size_t exact_counts_unready(const struct exact_counts *t, size_t hashes);
void exact_counts_prepare(const struct exact_counts *t);

/* 0 for a hash without a count. */
int64_t exact_counts_get(const struct exact_counts *t, uint64_t hash);
/* Adds `by` to the count of a hash.  False, and nothing changes, if memory runs out or the count
 * would overflow. */
bool exact_counts_move(struct exact_counts *t, uint64_t hash, int64_t by);

size_t exact_counts_bytes(const struct exact_counts *t);

/* ---- as bytes: one chunk per shard; u64 hash, u64 count for each entry, sorted by hash */

size_t exact_counts_chunk_size(const struct exact_counts *t, uint32_t shard);
void exact_counts_chunk(const struct exact_counts *t, uint32_t shard, uint8_t *bytes);
/* Empty counts of 0, 1 or COUNTS_SHARDS shards. */
bool exact_counts_open(struct exact_counts *t, uint32_t shards);
/* False, with the shard empty, if the bytes are not a chunk of this shard. */
bool exact_counts_load(struct exact_counts *t, uint32_t shard, const uint8_t *bytes, size_t length);

#endif
