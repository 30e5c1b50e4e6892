/* replies.h - replies, and the key of a command */
#ifndef TAMIS_REDIS_COMMANDS_REPLIES_H
#define TAMIS_REDIS_COMMANDS_REPLIES_H

#include <stdbool.h>

#include "persist/serialize.h"
#include "server/redis_module.h"

/* The server converts booleans to 1 and 0, and maps to arrays, for RESP2 clients.  This call is
 * slow. */
bool reply_is_resp3(RedisModuleCtx *ctx);
void reply_field(RedisModuleCtx *ctx, const char *name, unsigned long long value);
/* A string of at most 255 bytes, formatted as by printf. */
int reply_line(RedisModuleCtx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
int reply_ok(RedisModuleCtx *ctx);
int reply_error(RedisModuleCtx *ctx, const char *text);
/* The reply of SCANDUMP: the next iterator, and the chunk, which it frees.  NULL is past the end,
 * where CF.SCANDUMP replies with null and BF.SCANDUMP with an empty string; or, with a length,
 * memory ran out. */
void reply_chunk(RedisModuleCtx *ctx, long long next, uint8_t *chunk, size_t length,
                 bool null_at_end);
/* Instead of an error text: wrong number of arguments. */
#define ARITY ""

/* The content of a key, for a command of one type. */
enum key_state { KEY_EMPTY, KEY_OURS, KEY_WRONG_TYPE };
struct key {
    RedisModuleKey *handle; /* key_close closes it, in any state */
    enum key_state state;
    void *value; /* if KEY_OURS */
};
struct key key_open(RedisModuleCtx *ctx, RedisModuleString *name, int mode, RedisModuleType *type);
int key_close(const struct key *key); /* returns REDISMODULE_OK, as commands do */

/* The error for a key in this state; KEY_OURS: the key must not exist. */
const char *key_error(enum key_state state);
/* Opens a key for reading and returns its value.  If it does not exist or has another type, replies
 * with an error, closes it and returns NULL. */
const void *key_need(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleType *type,
                     struct key *key);

/* After a command has waited (worker.h), returns whether it must not run any more, and replies with
 * TRYAGAIN then.  The server checks the owner of a key and whether clients are paused before it
 * runs a command, but not after a wait: the key may have moved to another node of a cluster, and a
 * pause may have started between the end of the wait and the command, which must then not `change`
 * anything. */
bool key_is_late(RedisModuleCtx *ctx, const struct key *key, bool change);

/* Hides an argument with a secret from MONITOR and SLOWLOG.  (Commands of an AOF appear in neither,
 * and the server would keep the arguments of the first for all others.) */
void hide_argument(RedisModuleCtx *ctx, int argument);

/* Returns whether a command for `items` items must wait, after a COPY or BF.MERGE.  The key is then
 * closed, and the command runs `again` later or replies with TRYAGAIN.  (A command opens its key
 * only once: each time counts as a lookup and notifies subscribers of a miss.)  `unready`: as
 * bf_unready. */
typedef size_t unready_tables(const void *filter, size_t items, bool change);
bool key_must_wait(RedisModuleCtx *ctx, const struct key *key, unready_tables *unready,
                   size_t items, bool change, RedisModuleCmdFunc again);

/* A filter of RedisBloom of the header that a client or an AOF file sends.  NULL if it is refused
 * or there is no memory for it. */
tamis_filter *redisbloom_accept(RedisModuleCtx *ctx, tamis_kind kind, const uint8_t *header,
                                size_t length);
/* Replicates the creation of a filter, with all parameters and its secret, as its header. */
void replicate_header(RedisModuleCtx *ctx, RedisModuleString *name, const struct chunk_ops *ops,
                      const void *filter);

/* Notifies watchers and subscribers that a key has changed. */
void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event);
/* Ends a command that did what its client sent: replicates it, notifies and replies OK.  Replies
 * with the error instead if `wrong` is not NULL. */
int reply_done(RedisModuleCtx *ctx, RedisModuleString *name, const char *wrong, const char *event);

#endif
