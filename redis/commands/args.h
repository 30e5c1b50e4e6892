/* args.h - the arguments of a command
 *
 * Option names match as whole words, ignoring case; abbreviations do not match. */
#ifndef TAMIS_REDIS_COMMANDS_ARGS_H
#define TAMIS_REDIS_COMMANDS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/redis_module.h"
#include "tables/scalable.h"

/* `word` is in capitals. */
bool arg_is(RedisModuleString *arg, const char *word);
bool arg_equal(RedisModuleString *a, RedisModuleString *b);
/* An integer in [min, max]. */
enum arg_status { ARG_OK, ARG_BAD, ARG_OUT_OF_RANGE };
enum arg_status arg_integer(RedisModuleString *arg, long long min, long long max, long long *value);
/* A rate in (0, 1). */
enum arg_status arg_fpr(RedisModuleString *arg, double *value);

struct item arg_item(RedisModuleString *arg);
/* The first of these arguments, at most SCALABLE_BATCH. */
void args_items(RedisModuleString **args, size_t count, struct items *items);

/* Of the `count` arguments from `from` on, moves the `chosen` ones, `chosen_count` in number, to
 * `front`. Returns the new front. */
size_t args_to_front(RedisModuleString **args, size_t front, size_t from, const bool *chosen,
                     size_t count, size_t chosen_count);

#endif
