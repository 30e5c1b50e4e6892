/* bf_type.c - the type MBbloom--: what the server asks of a BF key
 *
 * RDB.  A filter that came from RedisBloom is written as RedisBloom writes it, number for number,
 * so that its DUMP is the same and it can go back.  A filter of ours has to live under the same
 * name and version, and is told apart by its first two numbers: RedisBloom's are the items
 * and the links, ours 2^64 - 1 and 0.  RedisBloom refuses such a value whatever its version:
 * there is no filter without links, and what follows would not be read to its end.
 *
 * What follows is in pieces.h.
 *
 * (A version of our own would have been simpler, but a type writes one version only, and then
 * RedisBloom's filters could not be written back.)
 *
 * AOF.  The commands that BF.SCANDUMP would give chunks for. */
#include "bf.h"
#include "memory.h"
#include "pieces.h"
#include "types.h"

RedisModuleType *bf_type;

/* ---- RDB */

static uint8_t *chunk_of(const void *filter, long long iterator, size_t *length, long long *next) {
    return bf_chunk(filter, iterator, length, next);
}
static void *from_header(const uint8_t *bytes, size_t length) {
    return bf_from_header(bytes, length);
}
static bool load_piece(void *filter, uint64_t slot, const void *bytes, size_t length) {
    return bf_load_piece(filter, slot, bytes, length);
}
static void release(void *value) { bf_free(value); }

static const struct pieces how = {.command = "BF.LOADCHUNK",
                                  .chunk = chunk_of,
                                  .from_header = from_header,
                                  .load_piece = load_piece,
                                  .free = release};

static void rdb_save(RedisModuleIO *rdb, void *value) {
    const struct bf *f = value;
    if (f->legacy != NULL) {
        bf_legacy_save(rdb, f->legacy);
    } else {
        pieces_save(rdb, &how, f);
    }
}

static void *rdb_load(RedisModuleIO *rdb, int version) {
    if (version > RDB_VERSION) return NULL;
    const uint64_t first = RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb)) return NULL;
    if (first == RDB_OURS && version == RDB_VERSION) return pieces_load(rdb, &how);
    return bf_of_legacy(bf_legacy_load(rdb, first, version));
}

/* ---- the rest */

static void aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value) {
    pieces_rewrite(aof, key, &how, value);
}

static size_t mem_usage(RedisModuleKeyOptCtx *ctx, const void *value, size_t samples) {
    (void)ctx, (void)samples;
    return (size_t)bf_numbers(value).bytes;
}

static size_t free_effort(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    return memory_effort(bf_effort(value));
}

static void *copy(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    struct bf *f = bf_copy(value);
    if (f != NULL) bf_prepare(f);
    return f;
}

static void digest(RedisModuleDigest *sum, void *value) { pieces_digest(sum, &how, value); }

/* Moves what lies in sparse pages.  What the library holds cannot be moved from outside; when
 * the filter itself was found in such a page its small segments, which are likely to be there
 * as well, are made anew.  (Tables of more than 16 KiB have pages of their own.) */
static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value) {
    struct bf *f = RedisModule_DefragAlloc(ctx, *value);
    (void)key;
    if (f == NULL) return 0;
    *value = f;
    if (f->legacy != NULL) return 0; /* no chain: the server would look where nothing is */
    struct chain *chains = RedisModule_DefragAlloc(ctx, f->in.chain); /* or the bud */
    if (chains != NULL) f->in.chain = chains;
    for (uint32_t i = 0; i < f->chains; i++) store_move(f->in.chain[i].store);
    return 0;
}

bool bf_type_register(RedisModuleCtx *ctx) {
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
    bf_type = RedisModule_CreateDataType(ctx, "MBbloom--", RDB_VERSION, &methods);
    return bf_type != NULL;
}
