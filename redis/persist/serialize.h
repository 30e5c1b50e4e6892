/* serialize.h - a filter of this module as bytes: a header, and numbered chunks
 *
 * What BF and CF have in common: how a filter is written to an RDB file, an AOF file and a digest.
 * A `struct chunk_ops` writes and reads the header and the chunks.
 *
 *     RDB      u 2^64-1, u 0, s header, then for each chunk u number, s chunk,
 *              and u 2^64-1 at the end
 *     AOF      BF.LOADCHUNK key 1 header, then BF.LOADCHUNK key number+2 chunk (or CF.)
 *     header   ..., u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     chunk    a segment as a .tamis file, or a bare table (stage.c) with such a checksum
 *
 * A filter is written whole or not at all (memory_exhausted).  If it was saved while chunks were
 * still missing, the header lists them, and queries of these segments return "possibly in the set".
 */
#ifndef TAMIS_REDIS_PERSIST_SERIALIZE_H
#define TAMIS_REDIS_PERSIST_SERIALIZE_H

#include "server/redis_module.h"
#include "tables/byte_io.h"
#include "tamis.h"

/* The first number of a filter of this module in an RDB file; RedisBloom has a count there. */
#define RDB_TAMIS UINT64_MAX

struct bf;

struct chunk_ops {
    const char *command; /* loads a chunk */
    uint64_t magic;      /* in all headers, at the same place */
    uint8_t *(*header)(const void *filter, size_t *length);
    /* The first chunk that is not empty, from `*index` on, which becomes its number. */
    uint8_t *(*chunk)(const void *filter, uint64_t *index, size_t *length);
    void *(*from_header)(struct byte_reader *r); /* of the bytes before the checksum */
    bool (*load_chunk)(void *filter, uint64_t index, const void *bytes, size_t length);
    void (*free)(void *filter);
};
extern const struct chunk_ops bf_ops, cf_ops; /* bf_chunks.c, cf_chunks.c */

/* Returns whether it is a header of this module, rather than RedisBloom's. */
bool serialize_is_header(const struct chunk_ops *ops, const uint8_t *bytes, size_t length);
/* A filter whose chunks are not loaded yet; NULL if the header is invalid. */
void *serialize_open(const struct chunk_ops *ops, const uint8_t *bytes, size_t length);

/* The chunk that SCANDUMP returns for this iterator, which the caller frees: the header at 0, then
 * one chunk per segment.  NULL past the end, with length 0; or if memory runs out, with the length
 * needed.  Sets the next iterator, with which LOADCHUNK takes the chunk.  This function,
 * serialize_rewrite and serialize_digest also accept filters of RedisBloom. */
uint8_t *serialize_chunk(const struct chunk_ops *ops, const void *filter, long long iterator,
                         size_t *length, long long *next);

void serialize_save(RedisModuleIO *rdb, const struct chunk_ops *ops, const void *filter);
/* Call after reading RDB_TAMIS.  NULL if the bytes are invalid. */
void *serialize_load(RedisModuleIO *rdb, const struct chunk_ops *ops);
void serialize_rewrite(RedisModuleIO *aof, RedisModuleString *key, const struct chunk_ops *ops,
                       const void *filter);
void serialize_digest(RedisModuleDigest *sum, const struct chunk_ops *ops, const void *filter);

/* The maximum number of chunks of a Bloom filter of this module. */
uint64_t bf_chunks(const struct bf *f);

#endif
