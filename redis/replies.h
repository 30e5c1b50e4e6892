/* replies.h - replies that differ between RESP2 and RESP3, and the key of a command */
#ifndef TAMIS_REDIS_REPLIES_H
#define TAMIS_REDIS_REPLIES_H

#include <stdbool.h>

#include "redis_module.h"

bool reply_is_resp3(RedisModuleCtx *ctx);
/* #t or #f; in RESP2 1 or 0. */
void reply_bool(RedisModuleCtx *ctx, bool resp3, bool value);
/* A map of so many pairs; in RESP2 an array of twice as many. */
void reply_map(RedisModuleCtx *ctx, bool resp3, long pairs);
void reply_field(RedisModuleCtx *ctx, const char *name, unsigned long long value);
int reply_ok(RedisModuleCtx *ctx);
int reply_error(RedisModuleCtx *ctx, const char *text);

/* What a key holds, seen by a command of one type. */
enum key_state { KEY_EMPTY, KEY_OURS, KEY_WRONG_TYPE };
struct key {
    RedisModuleKey *handle; /* to be closed by key_close, whatever the state */
    enum key_state state;
    void *value; /* if it is ours */
};
struct key key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode, RedisModuleType *type);
void key_close(const struct key *key);

/* Something was done to the key: tells watchers and subscribers. */
void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event);

#endif
