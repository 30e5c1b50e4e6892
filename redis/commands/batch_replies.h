/* batch_replies.h - results of many items as elements of an array, eight at a time */
#ifndef TAMIS_REDIS_COMMANDS_BATCH_REPLIES_H
#define TAMIS_REDIS_COMMANDS_BATCH_REPLIES_H

#include <stdbool.h>
#include <stddef.h>

#include "server/redis_module.h"
#include "tables/scalable.h"

/* What RESP3 clients get: booleans, or the numbers 1 and 0 that RESP2 clients get. */
enum results_as { RESULTS_BOOLEANS, RESULTS_NUMBERS };

/* Replies `count` times, as RedisModule_ReplyWithBool or RedisModule_ReplyWithLongLong would. */
void results_reply(RedisModuleCtx *ctx, const bool *results, size_t count, enum results_as as);

/* Replies to EXISTS, and with an array to MEXISTS (`many`).  All items are absent if the filter is
 * NULL. */
typedef void contains_items(const void *filter, const struct items *items, bool *results);
int contains_reply(RedisModuleCtx *ctx, contains_items *contains, const void *filter,
                   RedisModuleString **args, size_t count, bool many);

/* Call when the module is loaded and its commands are registered. */
void results_prepare(RedisModuleCtx *ctx);

#endif
