/* types.h - the module's data types, and the commands that work on them */
#ifndef TAMIS_REDIS_TYPES_H
#define TAMIS_REDIS_TYPES_H

#include <stdbool.h>

#include "redis_module.h"

/* bf_type.c, cf_type.c, served_type.c.  false if the server refuses the type. */
extern RedisModuleType *bf_type;
extern RedisModuleType *cf_type;
extern RedisModuleType *served_type;
bool bf_type_register(RedisModuleCtx *ctx);
bool cf_type_register(RedisModuleCtx *ctx);
bool served_type_register(RedisModuleCtx *ctx);

/* The version of the encoding in RDB files: RedisBloom's newest, so that a filter of RedisBloom
 * is written as RedisBloom would write it. */
#define RDB_VERSION 4
/* The first number of a filter of ours, where RedisBloom has a count. */
#define RDB_OURS UINT64_MAX

/* A command. */
struct command {
    const char *name;
    RedisModuleCmdFunc run;
    const char *flags;      /* as the server knows them */
    const char *categories; /* for ACL, where the server takes them */
    int last_key;           /* 0: it has none; -1: all arguments are keys */
};
extern const struct command answers_commands[];
extern const struct command bf_commands[];
extern const struct command bf_whole_commands[];
extern const struct command cf_commands[];
extern const struct command served_commands[];

/* docs.c: what COMMAND DOCS tells. */
void docs_set(RedisModuleCtx *ctx, const struct command *command);

#endif
