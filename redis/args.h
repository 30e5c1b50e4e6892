/* args.h - the arguments of a command
 *
 * Option words are whole words, in any case: an abbreviation, or a word with something behind
 * it, is another word. */
#ifndef TAMIS_REDIS_ARGS_H
#define TAMIS_REDIS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "redis_module.h"
#include "store.h"

/* Is it this word?  `word` is in capitals. */
bool arg_is(RedisModuleString *arg, const char *word);
bool arg_equal(RedisModuleString *a, RedisModuleString *b);
/* A whole number in [least, most]. */
enum arg_status { ARG_OK, ARG_BAD, ARG_OUT_OF_RANGE };
enum arg_status arg_integer(RedisModuleString *arg, long long least, long long most,
                            long long *value);
/* A rate in (0, 1). */
enum arg_status arg_rate(RedisModuleString *arg, double *value);

struct item arg_item(RedisModuleString *arg);
/* The first of these arguments, at most STORE_BATCH. */
void args_items(RedisModuleString **args, size_t count, struct items *items);

/* Moves the `marked` ones of `count` arguments from `from` on to `front`; returns how many there
 * are before the others then. */
size_t args_to_front(RedisModuleString **args, size_t front, size_t from, const bool *marks,
                     size_t count, size_t marked);

#endif
