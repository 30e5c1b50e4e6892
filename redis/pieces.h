/* pieces.h - a filter of ours as bytes: a header, and numbered pieces
 *
 * What both types have in common: how a filter goes into an RDB file, an AOF file and a digest.
 * The type tells by a `struct pieces` how its header and its pieces are made and read.
 *
 *     RDB      u 2^64-1, u 0, s header, then for each piece that is there u number, s piece,
 *              and u 2^64-1 at the end
 *     AOF      BF.LOADCHUNK key 1 header, then BF.LOADCHUNK key number+2 piece (or CF.)
 *     header   ..., u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     piece    a segment as a .tamis file, or a bare table (layer.c) with such a checksum
 *
 * A filter is written whole or not at all (memory_end).  Where a piece is missing nevertheless,
 * since chunks were still to come, the header tells so, and a filter answers "maybe" for that. */
#ifndef TAMIS_REDIS_PIECES_H
#define TAMIS_REDIS_PIECES_H

#include "redis_module.h"
#include "tamis.h"
#include "wire.h"

struct pieces {
    const char *command; /* that takes them */
    /* As bf_chunk in bf.h. */
    uint8_t *(*chunk)(const void *filter, long long iterator, size_t *length, long long *next);
    /* A filter that awaits its pieces; NULL if the header is not one. */
    void *(*from_header)(const uint8_t *bytes, size_t length);
    bool (*load_piece)(void *filter, uint64_t slot, const void *bytes, size_t length);
    void (*free)(void *filter);
};

void pieces_save(RedisModuleIO *rdb, const struct pieces *how, const void *filter);
/* After the first number, which told that it is one of ours.  NULL if it cannot be believed. */
void *pieces_load(RedisModuleIO *rdb, const struct pieces *how);
/* These two are for filters of RedisBloom as well. */
void pieces_rewrite(RedisModuleIO *aof, RedisModuleString *key, const struct pieces *how,
                    const void *filter);
void pieces_digest(RedisModuleDigest *sum, const struct pieces *how, const void *filter);

/* ---- for those who make them */

/* A filter of the library, encoded in memory of the caller's; NULL: no memory for so many bytes. */
uint8_t *piece_of(const tamis_filter *segment, size_t *length);

/* What `write` makes of `what`, with its checksum, in memory of the caller's; NULL: no memory for
 * so many bytes. */
typedef void seal_writer(const void *what, struct wire_writer *w);
uint8_t *seal(seal_writer *write, const void *what, size_t *length);
/* A reader of the bytes without their checksum; `bad` if that does not hold. */
struct wire_reader unseal(const uint8_t *bytes, size_t length);

#endif
