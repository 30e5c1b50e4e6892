/* cf_legacy.h - a cuckoo filter that RedisBloom made, as it made it */
#ifndef TAMIS_REDIS_CF_LEGACY_H
#define TAMIS_REDIS_CF_LEGACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "redis_module.h"

#define CF_LEGACY_HEADER 38

struct cf_legacy_table {
    struct blocks slots;
    uint64_t buckets;
};

struct cf_legacy {
    uint64_t items, deletes, buckets;
    uint16_t bucket_size, iterations, expansion;
    uint32_t tables;
    struct cf_legacy_table *table;
};

enum cf_legacy_result { CF_LEGACY_OK, CF_LEGACY_FULL, CF_LEGACY_FAILED };

void cf_legacy_free(struct cf_legacy *f);
struct cf_legacy *cf_legacy_copy(const struct cf_legacy *f);
size_t cf_legacy_bytes(const struct cf_legacy *f);
/* See bf.h. */
size_t cf_legacy_unready(const struct cf_legacy *f, size_t items, bool change);
void cf_legacy_prepare(const struct cf_legacy *f);

unsigned cf_legacy_count(const struct cf_legacy *f, const void *key, size_t length);
/* Only to the tables that there are, unless `may_grow`. */
enum cf_legacy_result cf_legacy_add(struct cf_legacy *f, const void *key, size_t length,
                                    bool may_grow);
bool cf_legacy_remove(struct cf_legacy *f, const void *key, size_t length);
/* Returns whether it may have changed anything. */
bool cf_legacy_compact(struct cf_legacy *f);

/* ---- chunks, as CF.SCANDUMP and CF.LOADCHUNK have them; see bf_legacy.h */

struct cf_legacy *cf_legacy_from_header(const uint8_t header[CF_LEGACY_HEADER], uint64_t most);
uint8_t *cf_legacy_chunk(const struct cf_legacy *f, long long iterator, size_t *length,
                         long long *next);
bool cf_legacy_load_chunk(struct cf_legacy *f, long long iterator, const void *data, size_t length);

/* ---- RDB, without the first number (tables) when it is loaded */

void cf_legacy_save(RedisModuleIO *rdb, const struct cf_legacy *f);
struct cf_legacy *cf_legacy_load(RedisModuleIO *rdb, uint64_t tables, int version);

#endif
