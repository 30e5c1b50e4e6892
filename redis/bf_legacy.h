/* bf_legacy.h - a Bloom filter that RedisBloom made, as it made it */
#ifndef TAMIS_REDIS_BF_LEGACY_H
#define TAMIS_REDIS_BF_LEGACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "redis_module.h"

struct legacy_link {
    struct blocks data;
    uint64_t bytes, bits, size, entries;
    double error, per_entry;
    uint32_t hashes;
    uint8_t n2;
};

struct bf_legacy {
    uint64_t size; /* items */
    uint32_t options, growth;
    uint32_t links;
    struct legacy_link *link;
};

enum { LEGACY_NOROUND = 1, LEGACY_FORCE64 = 4, LEGACY_NONSCALING = 8 };

enum legacy_result { LEGACY_ADDED, LEGACY_PRESENT, LEGACY_FULL, LEGACY_FAILED };

void bf_legacy_free(struct bf_legacy *f);
struct bf_legacy *bf_legacy_copy(const struct bf_legacy *f);
size_t bf_legacy_bytes(const struct bf_legacy *f);
/* See bf.h. */
size_t bf_legacy_unready(const struct bf_legacy *f, size_t items, bool change);
void bf_legacy_prepare(const struct bf_legacy *f);

bool bf_legacy_contains(const struct bf_legacy *f, const void *key, size_t length);
enum legacy_result bf_legacy_add(struct bf_legacy *f, const void *key, size_t length);
/* The bits of both, if they are of the same shape; false if not. */
bool bf_legacy_merge(struct bf_legacy *into, const struct bf_legacy *from);

/* What a link for so many entries at such a rate is in RedisBloom; false if it cannot be. */
bool bf_legacy_size(uint64_t entries, double error, struct legacy_link *link);

/* ---- chunks, as BF.SCANDUMP and BF.LOADCHUNK have them */

/* A filter of zeros; NULL if the header is not one.  `most`: bytes that it may take. */
struct bf_legacy *bf_legacy_from_header(const uint8_t *header, size_t length, uint64_t most);
/* As bf_chunk in bf.h. */
uint8_t *bf_legacy_chunk(const struct bf_legacy *f, long long iterator, size_t *length,
                         long long *next);
/* NULL, or what is wrong. */
const char *bf_legacy_load_chunk(struct bf_legacy *f, long long iterator, const void *data,
                                 size_t length);

/* ---- RDB, without the first number (items): see bf_type.c */

void bf_legacy_save(RedisModuleIO *rdb, const struct bf_legacy *f);
struct bf_legacy *bf_legacy_load(RedisModuleIO *rdb, uint64_t size, int version);

#endif
