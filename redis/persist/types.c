/* types.c - the data types of the module: MBbloom-- (BF), MBbloomCF (CF), tamisfilt (TAMIS)
 *
 * RDB.  A filter made by RedisBloom is written as RedisBloom writes it, so its DUMP is the same and
 * it can be moved back.  A filter made by this module has the same type name and version, and is
 * distinguished by its first two numbers: 2^64 - 1 and 0, where RedisBloom has items and
 * sub-filters (BF) or sub-filters and buckets (CF).  All versions of RedisBloom reject these.
 * serialize.h describes what follows.  (A type can write only one version, so a version of our own
 * would not allow writing filters of RedisBloom.)
 *
 * AOF.  The LOADCHUNK commands that restore the chunks of SCANDUMP.
 *
 * The server passes no context to a method, so each type needs functions of its own: METHODS and
 * FILTER_METHODS define them. */
#include "persist/types.h"

#include "filters/bf.h"
#include "filters/cf.h"
#include "filters/static_filter.h"
#include "persist/rdb.h"
#include "persist/serialize.h"
#include "server/memory.h"

/* The version of RedisBloom's newest encoding. */
#define RDB_VERSION 4

#define STATIC_EFFORT ((size_t)1 << 20) /* bytes that count as one object to free */

RedisModuleType *bf_type, *cf_type, *static_type;

#define METHODS(type, size, effort)                                                          \
    static size_t type##_mem_usage(RedisModuleKeyOptCtx *ctx, const void *value, size_t n) { \
        return (size_t)(size);                                                               \
    }                                                                                        \
    static size_t type##_free_effort(RedisModuleKeyOptCtx *ctx, const void *value) {         \
        return memory_effort(effort);                                                        \
    }

#define FILTER_METHODS(type)                                                                  \
    METHODS(type, type##_numbers(value).bytes, type##_effort(value))                          \
    static void *type##_copy_value(RedisModuleKeyOptCtx *ctx, const void *value) {            \
        struct type *f = type##_copy(value);                                                  \
        if (f != NULL) type##_prepare(f);                                                     \
        return f;                                                                             \
    }                                                                                         \
    static void type##_rdb_save(RedisModuleIO *rdb, void *value) {                            \
        const struct type *f = value;                                                         \
        if (f->redisbloom != NULL) {                                                          \
            type##_redisbloom_save(rdb, f->redisbloom);                                       \
        } else {                                                                              \
            serialize_save(rdb, &type##_ops, f);                                              \
        }                                                                                     \
    }                                                                                         \
    static void *type##_rdb_load(RedisModuleIO *rdb, int version) {                           \
        if (version > RDB_VERSION) return NULL;                                               \
        const uint64_t first = RedisModule_LoadUnsigned(rdb);                                 \
        if (RedisModule_IsIOError(rdb)) return NULL;                                          \
        if (first == RDB_TAMIS && version == RDB_VERSION) {                                   \
            return serialize_load(rdb, &type##_ops);                                          \
        }                                                                                     \
        return type##_of_redisbloom(type##_redisbloom_load(rdb, first, version));             \
    }                                                                                         \
    static void type##_aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value) { \
        serialize_rewrite(aof, key, &type##_ops, value);                                      \
    }                                                                                         \
    static void type##_digest(RedisModuleDigest *sum, void *value) {                          \
        serialize_digest(sum, &type##_ops, value);                                            \
    }

FILTER_METHODS(bf)
FILTER_METHODS(cf)
METHODS(static_filter, static_filter_bytes(value), 1 + static_filter_bytes(value) / STATIC_EFFORT)

static void *static_filter_copy_value(RedisModuleKeyOptCtx *ctx, const void *value) {
    return static_filter_copy(value);
}

/* ---- defragmentation
 *
 * Moves what lies in sparse pages.  The tables of the library cannot be moved from outside; if the
 * filter itself was in such a page, its small segments, which are likely to be there too, are
 * reallocated.  (Tables of more than 16 KiB have pages of their own.) */

#if !defined(TAMIS_REDIS_MALLOC) /* DefragAlloc moves blocks of the server's allocator alone */
static int bf_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
    struct bf *f = RedisModule_DefragAlloc(ctx, *value);
    if (f == NULL) return 0;
    *value = f;
    if (f->redisbloom != NULL) return 0; /* no generations: DefragAlloc does not accept NULL */
    struct generation *moved = RedisModule_DefragAlloc(ctx, f->in.generation); /* or bf_small */
    if (moved != NULL) f->in.generation = moved;
    for (uint32_t i = 0; i < f->generations; i++) scalable_move(f->in.generation[i].scalable);
    return 0;
}

static int cf_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
    struct cf *f = RedisModule_DefragAlloc(ctx, *value);
    if (f == NULL) return 0;
    *value = f;
    if (f->redisbloom == NULL) scalable_move(f->scalable);
    return 0;
}
#else
#define bf_defrag NULL
#define cf_defrag NULL
#endif

/* ---- registration */

#define METHODS_OF(type, move)                                                                   \
    {                                                                                            \
        .version = REDISMODULE_TYPE_METHOD_VERSION, .rdb_load = type##_rdb_load,                 \
        .rdb_save = type##_rdb_save, .aof_rewrite = type##_aof_rewrite, .digest = type##_digest, \
        .free = type##_free, .mem_usage2 = type##_mem_usage, .free_effort2 = type##_free_effort, \
        .copy2 = type##_copy_value, .defrag = move                                               \
    }

bool types_register(RedisModuleCtx *ctx) {
    RedisModuleTypeMethods bf = METHODS_OF(bf, bf_defrag);
    RedisModuleTypeMethods cf = METHODS_OF(cf, cf_defrag);
    RedisModuleTypeMethods file = METHODS_OF(static_filter, NULL);
    bf_type = RedisModule_CreateDataType(ctx, "MBbloom--", RDB_VERSION, &bf);
    cf_type = RedisModule_CreateDataType(ctx, "MBbloomCF", RDB_VERSION, &cf);
    static_type = RedisModule_CreateDataType(ctx, "tamisfilt", 0, &file);
    return bf_type != NULL && cf_type != NULL && static_type != NULL;
}
