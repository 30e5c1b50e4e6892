/* replies.c - see replies.h */
#include "commands/replies.h"

#include <stdarg.h>
#include <stdio.h>

#include "filters/redisbloom.h"
#include "server/memory.h"
#include "server/worker.h"

bool reply_is_resp3(RedisModuleCtx *ctx) {
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_RESP3) != 0;
}

void reply_field(RedisModuleCtx *ctx, const char *name, unsigned long long value) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithLongLong(ctx, (long long)value);
}

int reply_line(RedisModuleCtx *ctx, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)length);
}

int reply_ok(RedisModuleCtx *ctx) { return RedisModule_ReplyWithSimpleString(ctx, "OK"); }

int reply_error(RedisModuleCtx *ctx, const char *text) {
    return *text == '\0' ? RedisModule_WrongArity(ctx) : RedisModule_ReplyWithError(ctx, text);
}

void reply_chunk(RedisModuleCtx *ctx, long long next, uint8_t *chunk, size_t length,
                 bool null_at_end) {
    if (chunk == NULL && length != 0) {
        reply_error(ctx, "ERR Insufficient memory");
        return;
    }
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, next);
    if (chunk == NULL && null_at_end) {
        RedisModule_ReplyWithNull(ctx);
    } else {
        RedisModule_ReplyWithStringBuffer(ctx, chunk == NULL ? "" : (const char *)chunk, length);
    }
    memory_free(chunk);
}

struct key key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode, RedisModuleType *type) {
    struct key key = {.handle = RedisModule_OpenKey(ctx, name, mode)};
    if (key.handle == NULL || RedisModule_KeyType(key.handle) == REDISMODULE_KEYTYPE_EMPTY) {
        key.state = KEY_EMPTY;
    } else if (RedisModule_ModuleTypeGetType(key.handle) != type) {
        key.state = KEY_WRONG_TYPE;
    } else {
        key.state = KEY_OURS;
        key.value = RedisModule_ModuleTypeGetValue(key.handle);
    }
    return key;
}

int key_close(const struct key *key) {
    if (key->handle != NULL) RedisModule_CloseKey(key->handle);
    return REDISMODULE_OK;
}

const char *key_error(enum key_state state) {
    return state == KEY_EMPTY        ? "ERR not found"
           : state == KEY_WRONG_TYPE ? REDISMODULE_ERRORMSG_WRONGTYPE
                                     : "ERR item exists";
}

const void *key_need(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleType *type,
                     struct key *key) {
    *key = key_open(ctx, name, REDISMODULE_READ, type);
    if (key->state == KEY_OURS) return key->value;
    reply_error(ctx, key_error(key->state));
    key_close(key);
    return NULL;
}

static bool in_cluster(RedisModuleCtx *ctx) {
    return (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_CLUSTER) != 0;
}

bool key_is_late(RedisModuleCtx *ctx, const struct key *key, bool change) {
    if (!worker_has_waited(ctx)) return false;
    if (key->state == KEY_EMPTY && in_cluster(ctx)) {
        reply_error(ctx, "TRYAGAIN the key moved or was deleted while the command waited");
        return true;
    }
    if (change && RedisModule_AvoidReplicaTraffic() != 0) {
        reply_error(ctx, "TRYAGAIN clients were paused while the command waited");
        return true;
    }
    return false;
}

bool key_must_wait(RedisModuleCtx *ctx, const struct key *key, unready_tables *unready,
                   size_t items, bool change, RedisModuleCmdFunc again) {
    if (worker_jobs() == 0 && !worker_has_waited(ctx)) return false;
    const size_t tables = key->state == KEY_OURS ? unready(key->value, items, change) : 0;
    const bool waits = key_is_late(ctx, key, change) ||
                       (!worker_builds_inline(tables) &&
                        worker_wait(ctx, again, change ? WORKER_WRITES : WORKER_READS));
    if (waits) key_close(key);
    return waits;
}

void hide_argument(RedisModuleCtx *ctx, int argument) {
    if ((RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_LOADING) != 0) return;
    RedisModule_RedactClientCommandArgument(ctx, argument);
}

tamis_filter *redisbloom_accept(RedisModuleCtx *ctx, tamis_kind kind, const uint8_t *header,
                                size_t length) {
    const uint64_t max = (uint64_t)1 << (redis_is_following(ctx) ? 36 : 30);
    tamis_filter *f = redisbloom_open(kind, header, length, max);
    if (f == NULL || memory_admits(ctx, redisbloom_bytes(f))) return f;
    tamis_free(f);
    return NULL;
}

void replicate_header(RedisModuleCtx *ctx, RedisModuleString *name, const struct chunk_ops *ops,
                      const void *filter) {
    size_t length;
    uint8_t *header = ops->header(filter, &length);
    if (header != NULL) {
        RedisModule_Replicate(ctx, ops->command, "scb", name, "1", (const char *)header, length);
    }
    memory_free(header);
}

void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event) {
    RedisModule_SignalModifiedKey(ctx, name);
    RedisModule_NotifyKeyspaceEvent(ctx, REDISMODULE_NOTIFY_MODULE, event, name);
}

int reply_done(RedisModuleCtx *ctx, RedisModuleString *name, const char *wrong, const char *event) {
    if (wrong != NULL) return reply_error(ctx, wrong);
    RedisModule_ReplicateVerbatim(ctx);
    key_changed(ctx, name, event);
    return reply_ok(ctx);
}
