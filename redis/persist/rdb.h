/* rdb.h - values in RDB and AOF files, other than filters of this module (serialize.h) */
#ifndef TAMIS_REDIS_PERSIST_RDB_H
#define TAMIS_REDIS_PERSIST_RDB_H

#include "server/redis_module.h"
#include "tamis.h"

/* Filters made by RedisBloom: redisbloom_rdb.c.  The caller of a load function has read the first
 * number: the items of a Bloom filter, or the sub-filters of a cuckoo filter.  NULL if the value is
 * refused. */
void bf_redisbloom_save(RedisModuleIO *rdb, const tamis_filter *f);
tamis_filter *bf_redisbloom_load(RedisModuleIO *rdb, uint64_t size, int version);
void cf_redisbloom_save(RedisModuleIO *rdb, const tamis_filter *f);
tamis_filter *cf_redisbloom_load(RedisModuleIO *rdb, uint64_t tables, int version);

/* Static filters, as methods of their type: static_rdb.c. */
void static_filter_rdb_save(RedisModuleIO *rdb, void *value);
void *static_filter_rdb_load(RedisModuleIO *rdb, int version);
void static_filter_aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value);
void static_filter_digest(RedisModuleDigest *sum, void *value);

#endif
