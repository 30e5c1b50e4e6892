/* commands.c - registers the commands of commands.def: functions, keys, COMMAND INFO, COMMAND DOCS
 *
 * The server checks the arity of what clients and primaries send, but not of what it reads from an
 * AOF file: each command has a function here that checks it again. */
#include "commands/commands.h"

#include <stddef.h>
#include <string.h>

/* ---- arguments */

#define KEY \
    { .name = "key", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0 }
#define ARG(text, kind) \
    { .name = text, .type = REDISMODULE_ARG_TYPE_##kind, .key_spec_index = -1 }
#define MANY(text, kind)                                                         \
    {                                                                            \
        .name = text, .type = REDISMODULE_ARG_TYPE_##kind, .key_spec_index = -1, \
        .flags = REDISMODULE_CMD_ARG_MULTIPLE                                    \
    }
#define WORD(text, word) \
    { .name = text, .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, .token = word }
#define FLAG(text, word)                                                             \
    {                                                                                \
        .name = text, .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, \
        .token = word, .flags = REDISMODULE_CMD_ARG_OPTIONAL                         \
    }
#define OPTION(text, word, value)                                                              \
    {                                                                                          \
        .name = text, .type = REDISMODULE_ARG_TYPE_BLOCK, .key_spec_index = -1, .token = word, \
        .flags = REDISMODULE_CMD_ARG_OPTIONAL, .subargs = value                                \
    }
#define END \
    { .name = NULL }

typedef RedisModuleCommandArg Arg;

static Arg expansion[] = {ARG("expansion", INTEGER), END};
static Arg capacity[] = {ARG("capacity", INTEGER), END};
static Arg error_rate[] = {ARG("error", DOUBLE), END};
static Arg bucketsize[] = {ARG("bucketsize", INTEGER), END};
static Arg maxiterations[] = {ARG("maxiterations", INTEGER), END};
static Arg secret[] = {ARG("hex", STRING), END};
static Arg one_field[] = {WORD("capacity", "CAPACITY"),   WORD("size", "SIZE"),
                          WORD("filters", "FILTERS"),     WORD("items", "ITEMS"),
                          WORD("expansion", "EXPANSION"), END};

static Arg no_arguments[] = {END};
static Arg key_only[] = {KEY, END};
static Arg key_item[] = {KEY, ARG("item", STRING), END};
static Arg key_items[] = {KEY, MANY("item", STRING), END};
static Arg key_iterator[] = {KEY, ARG("iterator", INTEGER), END};
static Arg key_chunk[] = {KEY, ARG("iterator", INTEGER), ARG("data", STRING), END};
static Arg bf_reserve_args[] = {KEY,
                                ARG("error_rate", DOUBLE),
                                ARG("capacity", INTEGER),
                                OPTION("expansion", "EXPANSION", expansion),
                                FLAG("nonscaling", "NONSCALING"),
                                END};
static Arg bf_insert_args[] = {KEY,
                               OPTION("capacity", "CAPACITY", capacity),
                               OPTION("error", "ERROR", error_rate),
                               OPTION("expansion", "EXPANSION", expansion),
                               FLAG("nocreate", "NOCREATE"),
                               FLAG("nonscaling", "NONSCALING"),
                               WORD("items", "ITEMS"),
                               MANY("item", STRING),
                               END};
static Arg bf_info_args[] = {KEY,
                             {.name = "single_value",
                              .type = REDISMODULE_ARG_TYPE_ONEOF,
                              .key_spec_index = -1,
                              .flags = REDISMODULE_CMD_ARG_OPTIONAL,
                              .subargs = one_field},
                             END};
static Arg bf_merge_args[] = {{.name = "destination", .type = REDISMODULE_ARG_TYPE_KEY},
                              {.name = "source",
                               .type = REDISMODULE_ARG_TYPE_KEY,
                               .key_spec_index = 1,
                               .flags = REDISMODULE_CMD_ARG_MULTIPLE},
                              END};
static Arg cf_reserve_args[] = {KEY,
                                ARG("capacity", INTEGER),
                                OPTION("bucketsize", "BUCKETSIZE", bucketsize),
                                OPTION("maxiterations", "MAXITERATIONS", maxiterations),
                                OPTION("expansion", "EXPANSION", expansion),
                                END};
static Arg cf_insert_args[] = {KEY,
                               OPTION("capacity", "CAPACITY", capacity),
                               FLAG("nocreate", "NOCREATE"),
                               WORD("items", "ITEMS"),
                               MANY("item", STRING),
                               END};
static Arg tamis_load_args[] = {KEY,
                                ARG("offset", INTEGER),
                                ARG("total", INTEGER),
                                ARG("data", STRING),
                                OPTION("secret", "SECRET", secret),
                                END};
static Arg tamis_turn_args[] = {KEY, ARG("epoch", INTEGER), END};

/* ---- history: additions to RedisBloom's commands */

typedef RedisModuleCommandHistoryEntry History;

static History bf_options[] = {{"0.1.0", "Added the WINDOW, GENERATIONS and MAXMEMORY options."},
                               {NULL, NULL}};
static History bf_fields[] = {{"0.1.0", "Added the ERROR field."}, {NULL, NULL}};
static History cf_options[] = {{"0.1.0", "Added the ERROR and MAXMEMORY options."}, {NULL, NULL}};

/* ---- texts that several rows share */

#define O_K "O(k), where k is the number of hash functions used by the last sub-filter"
#define O_KN "O(k * n), where k is the number of hash functions and n is the number of items"
#define O_CAPACITY "O(n), where n is the capacity"
#define O_SUB "O(k), where k is the number of sub-filters"
#define O_SUB_N "O(k * n), where k is the number of sub-filters and n is the number of items"
#define O_KICKS "O(k + i), where k is the number of sub-filters and i is maxIterations"
#define O_KICKS_N                                                                              \
    "O(n * (k + i)), where n is the number of items, k is the number of sub-filters and i is " \
    "maxIterations"
#define CREATED " A filter will be created if it does not exist"

#define DONT_CACHE "dont_cache"

/* ---- the table */

enum keys { NO_KEYS, ONE_KEY, DESTINATION_AND_SOURCES };

struct command {
    const char *name;
    RedisModuleCmdFunc run;
    int arity;
    enum keys keys;
    const char *flags, *categories, *since, *summary, *complexity;
    Arg *args;
    History *history;
    const char *tips;
};

static bool arity_fits(int arity, int argc) { return arity < 0 ? argc >= -arity : argc == arity; }

#define COMMAND(family, verb, arity, ...)                                                       \
    static int run_##family##_##verb(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) { \
        return arity_fits(arity, argc) ? family##_##verb##_command(ctx, argv, argc)             \
                                       : RedisModule_WrongArity(ctx);                           \
    }
#include "commands/commands.def"
#undef COMMAND

static const struct command commands[] = {
#define COMMAND(family, verb, ...) {#family "." #verb, run_##family##_##verb, __VA_ARGS__},
#include "commands/commands.def"
#undef COMMAND
};

/* ---- registration */

static const RedisModuleCommandInfoVersion info_version = {
    .version = 1,
    .sizeof_historyentry = sizeof(RedisModuleCommandHistoryEntry),
    .sizeof_keyspec = sizeof(RedisModuleCommandKeySpec),
    .sizeof_arg = sizeof(RedisModuleCommandArg)};

/* The keys from argument `first` on; `last` is relative to it, or -1 for the last argument. */
static RedisModuleCommandKeySpec key_spec(int first, int last, bool writes) {
    RedisModuleCommandKeySpec spec = {
        .flags = writes ? REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE
                        : REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
        .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
        .find_keys_type = REDISMODULE_KSPEC_FK_RANGE};
    spec.bs.index.pos = first;
    spec.fk.range.lastkey = last;
    spec.fk.range.keystep = 1;
    return spec;
}

/* A user with write access alone (%W~) may add items and gets the same reply as from SADD. */
static bool set_info(const struct command *c, RedisModuleCommand *command) {
    RedisModuleCommandKeySpec keys[3] = {key_spec(1, 0, strncmp(c->flags, "write", 5) == 0)};
    if (c->keys == DESTINATION_AND_SOURCES) keys[1] = key_spec(2, -1, false);
    const RedisModuleCommandInfo info = {.version = &info_version,
                                         .summary = c->summary,
                                         .complexity = c->complexity,
                                         .since = c->since,
                                         .tips = c->tips,
                                         .history = c->history,
                                         .arity = c->arity,
                                         .key_specs = c->keys == NO_KEYS ? NULL : keys,
                                         .args = c->args};
    return RedisModule_SetCommandInfo(command, &info) == REDISMODULE_OK;
}

static bool register_command(RedisModuleCtx *ctx, const struct command *c) {
    const int first_key = c->keys != NO_KEYS;
    const int last_key = c->keys == DESTINATION_AND_SOURCES ? -1 : first_key;
    if (RedisModule_CreateCommand(ctx, c->name, c->run, c->flags, first_key, last_key, first_key) !=
        REDISMODULE_OK) {
        return false;
    }
    RedisModuleCommand *command = RedisModule_GetCommand(ctx, c->name);
    if (RedisModule_AddACLCategory != NULL && RedisModule_SetCommandACLCategories != NULL) {
        RedisModule_SetCommandACLCategories(command, c->categories);
    }
    return set_info(c, command);
}

/* Servers from 7.4 on let a module have ACL categories of its own. */
static bool register_categories(RedisModuleCtx *ctx) {
    return RedisModule_AddACLCategory == NULL ||
           (RedisModule_AddACLCategory(ctx, "bloom") == REDISMODULE_OK &&
            RedisModule_AddACLCategory(ctx, "cuckoo") == REDISMODULE_OK);
}

bool commands_register(RedisModuleCtx *ctx) {
    if (!register_categories(ctx)) return false;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!register_command(ctx, &commands[i])) return false;
    }
    return true;
}
