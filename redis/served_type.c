/* served_type.c - the type tamisfilt: what the server asks of a TAMIS key
 *
 *     RDB   u 1 (version); u keyed or not; s secret, or nothing; s file, or nothing;
 *           u total of the file that is coming, or 0; s what is there of it
 *     AOF   the commands TAMIS.LOAD that would bring it */
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "served.h"
#include "types.h"

#define ENCODING 1
#define CHUNK ((uint64_t)1 << 20)

RedisModuleType *served_type;

/* ---- RDB */

static void save_bytes(RedisModuleIO *rdb, const uint8_t *bytes, uint64_t length) {
    RedisModule_SaveStringBuffer(rdb, bytes == NULL ? "" : (const char *)bytes, (size_t)length);
}

static void rdb_save(RedisModuleIO *rdb, void *value) {
    const struct served *s = value;
    RedisModule_SaveUnsigned(rdb, ENCODING);
    RedisModule_SaveUnsigned(rdb, s->keyed);
    save_bytes(rdb, s->secret, s->keyed ? sizeof s->secret : 0);
    save_bytes(rdb, s->bytes, s->length);
    RedisModule_SaveUnsigned(rdb, s->total);
    save_bytes(rdb, s->staged, s->received);
}

/* A string of at most `most` bytes; to be freed as the server's. */
static char *load_string(RedisModuleIO *rdb, uint64_t most, size_t *length) {
    char *bytes = RedisModule_LoadStringBuffer(rdb, length);
    if (bytes != NULL && (RedisModule_IsIOError(rdb) || *length > most)) {
        RedisModule_Free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static bool load_file(RedisModuleIO *rdb, struct served *s, const uint8_t *secret) {
    size_t length = 0;
    char *bytes = load_string(rdb, SERVED_MOST, &length);
    if (bytes == NULL) return false;
    bool good = length == 0;
    if (!good && served_begin(s, length)) {
        served_append(s, bytes, length);
        good = served_finish(s, secret) == NULL;
    }
    RedisModule_Free(bytes);
    return good;
}

/* The memory of a file that is coming is taken at once, so it must fit.  A RESTORE that a primary
 * sent has no client to tell that by; but a replica takes no others. */
static bool admits(RedisModuleIO *rdb, uint64_t total) {
    RedisModuleCtx *ctx = RedisModule_GetContextFromIO(rdb);
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE) != 0 ||
           memory_admits(ctx, total);
}

static bool load_staged(RedisModuleIO *rdb, struct served *s) {
    const uint64_t total = RedisModule_LoadUnsigned(rdb);
    size_t length = 0;
    if (RedisModule_IsIOError(rdb)) return false;
    char *bytes = load_string(rdb, total, &length);
    if (bytes == NULL) return false;
    bool good = total == 0;
    if (!good && admits(rdb, total) && served_begin(s, total)) {
        served_append(s, bytes, length);
        good = true;
    }
    RedisModule_Free(bytes);
    return good;
}

static bool load_all(RedisModuleIO *rdb, struct served *s) {
    const uint64_t encoding = RedisModule_LoadUnsigned(rdb), keyed = RedisModule_LoadUnsigned(rdb);
    size_t length = 0;
    uint8_t secret[TAMIS_SECRET_BYTES];
    if (RedisModule_IsIOError(rdb) || encoding != ENCODING || keyed > 1) return false;
    char *text = load_string(rdb, sizeof secret, &length);
    if (text == NULL) return false;
    const bool fits = length == (keyed != 0 ? sizeof secret : 0);
    if (fits) memcpy(secret, text, length);
    RedisModule_Free(text);
    return fits && load_file(rdb, s, keyed != 0 ? secret : NULL) && load_staged(rdb, s);
}

static void *rdb_load(RedisModuleIO *rdb, int version) {
    struct served *s = version == 0 ? served_create() : NULL;
    if (s == NULL || load_all(rdb, s)) return s;
    served_free(s);
    return NULL;
}

/* ---- AOF */

static void emit_chunks(RedisModuleIO *aof, RedisModuleString *key, const struct served *s,
                        const uint8_t *bytes, uint64_t length, uint64_t total) {
    char hex[2 * TAMIS_SECRET_BYTES + 1];
    for (size_t i = 0; i < TAMIS_SECRET_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", s->secret[i]);
    for (uint64_t at = 0; at < length; at += CHUNK) {
        const size_t n = (size_t)(length - at < CHUNK ? length - at : CHUNK);
        if (s->keyed && at + n == total) {
            RedisModule_EmitAOF(aof, "TAMIS.LOAD", "sllbcc", key, (long long)at, (long long)total,
                                (const char *)bytes + at, n, "SECRET", hex);
        } else {
            RedisModule_EmitAOF(aof, "TAMIS.LOAD", "sllb", key, (long long)at, (long long)total,
                                (const char *)bytes + at, n);
        }
    }
}

static void aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value) {
    const struct served *s = value;
    if (s->filter != NULL) emit_chunks(aof, key, s, s->bytes, s->length, s->length);
    if (s->staged != NULL) emit_chunks(aof, key, s, s->staged, s->received, s->total);
}

/* ---- the rest */

static size_t mem_usage(RedisModuleKeyOptCtx *ctx, const void *value, size_t samples) {
    (void)ctx, (void)samples;
    return served_bytes(value);
}

static size_t free_effort(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    return memory_effort(1 + served_bytes(value) / CHUNK);
}

static void *copy(RedisModuleKeyOptCtx *ctx, const void *value) {
    (void)ctx;
    return served_copy(value);
}

static void release(void *value) { served_free(value); }

static void digest(RedisModuleDigest *sum, void *value) {
    const struct served *s = value;
    if (s->bytes != NULL) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)s->bytes, (size_t)s->length);
    }
    if (s->staged != NULL) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)s->staged, (size_t)s->received);
    }
    RedisModule_DigestEndSequence(sum);
}

bool served_type_register(RedisModuleCtx *ctx) {
    RedisModuleTypeMethods methods = {.version = REDISMODULE_TYPE_METHOD_VERSION,
                                      .rdb_load = rdb_load,
                                      .rdb_save = rdb_save,
                                      .aof_rewrite = aof_rewrite,
                                      .digest = digest,
                                      .free = release,
                                      .mem_usage2 = mem_usage,
                                      .free_effort2 = free_effort,
                                      .copy2 = copy};
    served_type = RedisModule_CreateDataType(ctx, "tamisfilt", 0, &methods);
    return served_type != NULL;
}
