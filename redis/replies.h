/* replies.h - replies that differ between RESP2 and RESP3, and the key of a command */
#ifndef TAMIS_REDIS_REPLIES_H
#define TAMIS_REDIS_REPLIES_H

#include <stdbool.h>

#include "redis_module.h"

/* The server itself makes 1 and 0 of booleans, and arrays of maps, for a client of RESP2.  To ask
 * takes it a while. */
bool reply_is_resp3(RedisModuleCtx *ctx);
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
