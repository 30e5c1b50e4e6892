/* commands.h - the commands of the module: see commands.def */
#ifndef TAMIS_REDIS_COMMANDS_COMMANDS_H
#define TAMIS_REDIS_COMMANDS_COMMANDS_H

#include <stdbool.h>

#include "server/redis_module.h"

#define COMMAND(family, verb, ...) \
    int family##_##verb##_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
#include "commands/commands.def"
#undef COMMAND

/* Registers all commands; false if the server refuses one. */
bool commands_register(RedisModuleCtx *ctx);

#endif
