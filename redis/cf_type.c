/* cf_type.c - the type MBbloomCF: what the server asks of a CF key
 *
 * RDB as in bf_type.c: a filter that came from RedisBloom is written as RedisBloom writes it.
 * One of ours begins with 2^64 - 1, where RedisBloom has the number of sub-filters, and 0, where
 * it has the buckets of the first: RedisBloom refuses that. */
#include "cf.h"
#include "memory.h"
#include "pieces.h"
#include "types.h"

RedisModuleType *cf_type;

/* ---- RDB */

static uint8_t *chunk_of(const void *filter, long long iterator, size_t *length, long long *next) {
    return cf_chunk(filter, iterator, length, next);
}
static void *from_header(const uint8_t *bytes, size_t length) {
    return cf_from_header(bytes, length);
}
static bool load_piece(void *filter, uint64_t slot, const void *bytes, size_t length) {
    return cf_load_piece(filter, slot, bytes, length);
}
static void release(void *value) { cf_free(value); }

static const struct pieces how = {.command = "CF.LOADCHUNK",
                                  .chunk = chunk_of,
                                  .from_header = from_header,
                                  .load_piece = load_piece,
                                  .free = release};

static void rdb_save(RedisModuleIO *rdb, void *value) {
    const struct cf *f = value;
    if (f->legacy != NULL) {
        cf_legacy_save(rdb, f->legacy);
    } else {
        pieces_save(rdb, &how, f);
    }
}

static void *rdb_load(RedisModuleIO *rdb, int version) {
    if (version > RDB_VERSION) return NULL;
    const uint64_t first = RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb)) return NULL;
    if (first == RDB_OURS && version == RDB_VERSION) return pieces_load(rdb, &how);
    return cf_of_legacy(cf_legacy_load(rdb, first, version));
}

/* ---- the rest */

static void aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value) {
    pieces_rewrite(aof, key, &how, value);
}

static size_t mem_usage(RedisModuleKeyOptCtx *ctx, const void *value, size_t samples) {
    (void)ctx, (void)samples;
    return (size_t)cf_numbers(value).bytes;
}

static size_t free_effort(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    return memory_effort(cf_effort(value));
}

static void *copy(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    struct cf *f = cf_copy(value);
    if (f != NULL) cf_prepare(f);
    return f;
}

static void digest(RedisModuleDigest *sum, void *value) { pieces_digest(sum, &how, value); }

/* See bf_type.c. */
static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
    struct cf *f = RedisModule_DefragAlloc(ctx, *value);
    (void)key;
    if (f == NULL) return 0;
    *value = f;
    if (f->legacy == NULL) store_move(f->store);
    return 0;
}

bool cf_type_register(RedisModuleCtx *ctx) {
    RedisModuleTypeMethods methods = {.version = REDISMODULE_TYPE_METHOD_VERSION,
                                      .rdb_load = rdb_load,
                                      .rdb_save = rdb_save,
                                      .aof_rewrite = aof_rewrite,
                                      .digest = digest,
                                      .free = release,
                                      .mem_usage2 = mem_usage,
                                      .free_effort2 = free_effort,
                                      .copy2 = copy};
#if !defined(TAMIS_REDIS_MALLOC)
    methods.defrag = defrag; /* which moves blocks of the server's allocator alone */
#else
    (void)defrag;
#endif
    cf_type = RedisModule_CreateDataType(ctx, "MBbloomCF", RDB_VERSION, &methods);
    return cf_type != NULL;
}
