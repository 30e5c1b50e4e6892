/* module.c - loading: the API, the settings, the types, the commands
 *
 * The module is called `bf`, as RedisBloom is: it takes its place, and both cannot be loaded.
 *
 *     commands   bf_commands.c  cf_commands.c  served_commands.c      docs.c  args.c  replies.c
 *                bf_whole_commands.c                                  answers.c
 *     types      bf_type.c      cf_type.c      served_type.c
 *     bytes      bf_chunks.c    cf_chunks.c
 *     filters    bf_filter.c    cf_filter.c    served.c               bf_legacy.c  cf_legacy.c
 *                bf_bud.c
 *     below      store.c, store_merge.c, layer.c, sizes.c, tally.c, blocks.c; pieces.c; shared.c,
 *                worker.c; memory.c, secret.c, census.c, wire.h; redis_api.c; libtamis
 *
 * A file includes what is beside or below it, never what is above. */
#include <stdbool.h>

#include "answers.h"
#include "census.h"
#include "redis_module.h"
#include "settings.h"
#include "shared.h"
#include "tamis.h"
#include "types.h"
#include "worker.h"

#define NAME "bf"
#define EXPORTED __attribute__((visibility("default")))

/* 0.1.0 is 100, as MODULE LIST shows versions of RedisBloom: major * 10000 + minor * 100 + patch,
 * on top of the version whose commands and replies it has. */
#define COMMANDS_OF 80000
#define VERSION (COMMANDS_OF + TAMIS_VERSION_MINOR * 100 + TAMIS_VERSION_PATCH)

static bool register_commands(RedisModuleCtx *ctx, const struct command *commands) {
    for (const struct command *c = commands; c->name != NULL; c++) {
        const int first_key = c->last_key != 0;
        if (RedisModule_CreateCommand(ctx, c->name, c->run, c->flags, first_key, c->last_key,
                                      first_key) != REDISMODULE_OK) {
            return false;
        }
        if (RedisModule_AddACLCategory != NULL && RedisModule_SetCommandACLCategories != NULL) {
            RedisModuleCommand *command = RedisModule_GetCommand(ctx, c->name);
            RedisModule_SetCommandACLCategories(command, c->categories);
        }
        docs_set(ctx, c);
    }
    return true;
}

/* Servers from 7.4 on let a module have categories of its own. */
static bool register_categories(RedisModuleCtx *ctx) {
    return RedisModule_AddACLCategory == NULL ||
           (RedisModule_AddACLCategory(ctx, "bloom") == REDISMODULE_OK &&
            RedisModule_AddACLCategory(ctx, "cuckoo") == REDISMODULE_OK);
}

/* The section bf_filters of INFO. */
static void info(RedisModuleInfoCtx *ctx, int for_crash_report) {
    const struct census now = census();
    (void)for_crash_report;
    if (RedisModule_InfoAddSection(ctx, "filters") != REDISMODULE_OK) return;
    RedisModule_InfoAddFieldULongLong(ctx, "bloom", now.bf);
    RedisModule_InfoAddFieldULongLong(ctx, "cuckoo", now.cf);
    RedisModule_InfoAddFieldULongLong(ctx, "served", now.served);
    const struct shared_work work = shared_work();
    RedisModule_InfoAddFieldULongLong(ctx, "table_bytes_in_commands", work.waited);
    RedisModule_InfoAddFieldULongLong(ctx, "table_bytes_behind", work.behind);
    RedisModule_InfoAddFieldULongLong(ctx, "jobs_behind", worker_jobs());
    RedisModule_InfoAddFieldULongLong(ctx, "commands_waited", worker_waits());
}

EXPORTED int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (!redis_bind(ctx) || RedisModule_IsModuleNameBusy(NAME)) return REDISMODULE_ERR;
    RedisModule_SetModuleAttribs(ctx, NAME, VERSION, REDISMODULE_APIVER_1);
    RedisModule_SetModuleOptions(
        ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS | REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
    const bool good =
        settings_load(ctx, argv, argc) && register_categories(ctx) && bf_type_register(ctx) &&
        cf_type_register(ctx) && served_type_register(ctx) && register_commands(ctx, bf_commands) &&
        register_commands(ctx, bf_whole_commands) && register_commands(ctx, cf_commands) &&
        register_commands(ctx, served_commands) && register_commands(ctx, answers_commands) &&
        RedisModule_RegisterInfoFunc(ctx, info) == REDISMODULE_OK && shared_open();
    if (good) answers_keep(ctx);
    return good ? REDISMODULE_OK : REDISMODULE_ERR;
}
