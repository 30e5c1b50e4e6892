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
/* In place of a text: the number of arguments is wrong. */
#define ARITY ""

/* What a key holds, seen by a command of one type. */
enum key_state { KEY_EMPTY, KEY_OURS, KEY_WRONG_TYPE };
struct key {
    RedisModuleKey *handle; /* to be closed by key_close, whatever the state */
    enum key_state state;
    void *value; /* if it is ours */
};
struct key key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode, RedisModuleType *type);
void key_close(const struct key *key);

/* What is wrong with a key that is not as the command needs it: nothing there, another type, or
 * (KEY_OURS, where there should be none) one that exists. */
const char *key_error(enum key_state state);
/* The value of a key that must be there, opened for reading; else replies with an error, and
 * there is nothing to close. */
const void *key_need(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleType *type,
                     struct key *key);

/* Must a command not be carried out any more, after it has waited (worker.h)?  The server asks who
 * has a key, and whether clients are paused, before it runs a command, but not again after a wait:
 * the key may have gone to another node of a cluster, and a pause may have begun in the moment
 * between the end of the wait and the command, in which nothing must `change`.  Replies then that
 * the client should try again, as the server does when the keys of a command are on the way. */
bool key_is_late(RedisModuleCtx *ctx, const struct key *key, bool change);

/* An argument that holds a secret: it is not to be shown by MONITOR or SLOWLOG.  (Those of an AOF
 * are shown by neither, and the server would keep the words of the first one for all others.) */
void hide_argument(RedisModuleCtx *ctx, int argument);

/* Something was done to the key: tells watchers and subscribers. */
void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event);
/* The end of a command that was done as it was said: replicates it, tells of it, replies OK.  With
 * an error in `wrong`: replies that instead. */
int reply_done(RedisModuleCtx *ctx, RedisModuleString *name, const char *wrong, const char *event);

#endif
