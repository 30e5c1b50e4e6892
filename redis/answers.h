/* answers.h - the answers to many items: an array's elements, eight at a time */
#ifndef TAMIS_REDIS_ANSWERS_H
#define TAMIS_REDIS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "redis_module.h"

/* What a client of RESP3 gets: booleans, or the numbers 1 and 0 that one of RESP2 gets. */
enum answers_as { ANSWERS_BOOLEANS, ANSWERS_NUMBERS };

/* Replies `count` times, as RedisModule_ReplyWithBool or RedisModule_ReplyWithLongLong would. */
void answers_reply(RedisModuleCtx *ctx, const bool *answers, size_t count, enum answers_as as);

/* When the module is loaded, and has its commands. */
void answers_keep(RedisModuleCtx *ctx);

#endif
