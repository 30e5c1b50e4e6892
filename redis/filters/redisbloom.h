/* redisbloom.h - filters made by RedisBloom: filters of the library, with tables in sparse_bytes.h
 *
 * The library has RedisBloom's hashes, sizes, growth, removal and compaction, and checks headers.
 * Here are the numbers that commands report, and the chunks of SCANDUMP and LOADCHUNK.  Sizes,
 * growth and bytes are RedisBloom's, so a filter can be moved back. */
#ifndef TAMIS_REDIS_FILTERS_REDISBLOOM_H
#define TAMIS_REDIS_FILTERS_REDISBLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tamis.h"

#define REDISBLOOM_BLOOM_HEADER 20
#define REDISBLOOM_SUB 53
#define REDISBLOOM_CUCKOO_HEADER 38
#define REDISBLOOM_NONSCALING 8 /* in the options of a Bloom filter */

/* The header of a Bloom filter, and of one of its sub-filters (RedisBloom: link). */
struct redisbloom_bloom {
    uint64_t size;
    uint32_t subfilters, options, growth;
};
struct redisbloom_sub {
    uint64_t bytes, bits, size;
    double error, per_entry;
    uint32_t hashes;
    uint64_t entries;
    uint8_t n2;
};
/* The header of a cuckoo filter, and its size. */
struct cf_numbers {
    uint64_t bytes, items, buckets, deletes, subfilters, bucket_size, iterations, expansion;
};
struct redisbloom_bloom redisbloom_bloom(const tamis_filter *f);
struct redisbloom_sub redisbloom_sub(const tamis_filter *f, size_t index);
struct cf_numbers redisbloom_cuckoo(const tamis_filter *f);

/* A filter of zeros: TAMIS_GROWING is a Bloom filter.  NULL if the header is refused, its tables
 * have more than `max` bytes, or memory runs out. */
tamis_filter *redisbloom_open(tamis_kind kind, const uint8_t *header, size_t length, uint64_t max);
tamis_filter *redisbloom_copy(const tamis_filter *f);

/* The size that BF.INFO and CF.INFO of RedisBloom report. */
size_t redisbloom_bytes(const tamis_filter *f);

/* See bf.h. */
size_t redisbloom_unready(const tamis_filter *f, size_t items, bool change);
void redisbloom_prepare(const tamis_filter *f);

/* ---- chunks: the header, then at most 16 MiB of one table each.  The iterator of a chunk is 1 +
 * the bytes of the tables up to its end. */

/* As serialize_chunk in serialize.h. */
uint8_t *redisbloom_chunk(const tamis_filter *f, long long iterator, size_t *length,
                          long long *next);

enum redisbloom_write { WRITE_OK, WRITE_OUTSIDE, WRITE_TOO_LONG, WRITE_NO_MEMORY };
/* Writes bytes of the tables. */
enum redisbloom_write redisbloom_write(tamis_filter *f, uint64_t offset, const void *bytes,
                                       size_t length);

#endif
