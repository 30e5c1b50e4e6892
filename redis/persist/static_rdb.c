/* static_rdb.c - a static filter in RDB and AOF files
 *
 *     RDB   u 1 (version); u 1 if keyed, else 0; s secret, or empty; s file, or empty;
 *           u total length of the file that is being loaded, or 0; s its bytes so far
 *     AOF   the TAMIS.LOAD commands that load the same bytes */
#include "persist/rdb.h"

#include <stdio.h>
#include <string.h>

#include "filters/static_filter.h"
#include "server/memory.h"

#define ENCODING 1
#define CHUNK ((uint64_t)1 << 20)

/* ---- RDB */

static void save_bytes(RedisModuleIO *rdb, const uint8_t *bytes, uint64_t length) {
    RedisModule_SaveStringBuffer(rdb, bytes == NULL ? "" : (const char *)bytes, (size_t)length);
}

void static_filter_rdb_save(RedisModuleIO *rdb, void *value) {
    const struct static_filter *s = value;
    RedisModule_SaveUnsigned(rdb, ENCODING);
    RedisModule_SaveUnsigned(rdb, s->keyed);
    save_bytes(rdb, s->secret, s->keyed ? sizeof s->secret : 0);
    save_bytes(rdb, s->bytes, s->length);
    RedisModule_SaveUnsigned(rdb, s->total);
    save_bytes(rdb, s->staged, s->received);
}

/* A string of at most `max` bytes; free it with RedisModule_Free. */
static char *load_string(RedisModuleIO *rdb, uint64_t max, size_t *length) {
    char *bytes = RedisModule_LoadStringBuffer(rdb, length);
    if (bytes != NULL && (RedisModule_IsIOError(rdb) || *length > max)) {
        RedisModule_Free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static bool load_file(RedisModuleIO *rdb, struct static_filter *s, const uint8_t *secret) {
    size_t length = 0;
    char *bytes = load_string(rdb, STATIC_MAX, &length);
    if (bytes == NULL) return false;
    bool good = length == 0;
    if (!good && static_filter_begin(s, length)) {
        static_filter_append(s, bytes, length);
        good = static_filter_finish(s, secret) == NULL;
    }
    RedisModule_Free(bytes);
    return good;
}

/* The memory of a file that is being loaded is allocated at once, so it must fit.  A RESTORE from a
 * primary has no client that shows its origin, but a replica accepts no other writes. */
static bool admits(RedisModuleIO *rdb, uint64_t total) {
    RedisModuleCtx *ctx = RedisModule_GetContextFromIO(rdb);
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE) != 0 ||
           memory_admits(ctx, total);
}

static bool load_staged(RedisModuleIO *rdb, struct static_filter *s) {
    const uint64_t total = RedisModule_LoadUnsigned(rdb);
    size_t length = 0;
    if (RedisModule_IsIOError(rdb)) return false;
    char *bytes = load_string(rdb, total, &length);
    if (bytes == NULL) return false;
    bool good = total == 0;
    if (!good && admits(rdb, total) && static_filter_begin(s, total)) {
        static_filter_append(s, bytes, length);
        good = true;
    }
    RedisModule_Free(bytes);
    return good;
}

static bool load_all(RedisModuleIO *rdb, struct static_filter *s) {
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

void *static_filter_rdb_load(RedisModuleIO *rdb, int version) {
    struct static_filter *s = version == 0 ? static_filter_create() : NULL;
    if (s == NULL || load_all(rdb, s)) return s;
    static_filter_free(s);
    return NULL;
}

/* ---- AOF */

static void emit_chunks(RedisModuleIO *aof, RedisModuleString *key, const struct static_filter *s,
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

void static_filter_aof_rewrite(RedisModuleIO *aof, RedisModuleString *key, void *value) {
    const struct static_filter *s = value;
    if (s->filter != NULL) emit_chunks(aof, key, s, s->bytes, s->length, s->length);
    if (s->staged != NULL) emit_chunks(aof, key, s, s->staged, s->received, s->total);
}

void static_filter_digest(RedisModuleDigest *sum, void *value) {
    const struct static_filter *s = value;
    if (s->bytes != NULL) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)s->bytes, (size_t)s->length);
    }
    if (s->staged != NULL) {
        RedisModule_DigestAddStringBuffer(sum, (const char *)s->staged, (size_t)s->received);
    }
    RedisModule_DigestEndSequence(sum);
}
