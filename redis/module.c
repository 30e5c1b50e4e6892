/* module.c - loads the module: API, settings, types, commands
 *
 * The module is named `bf`, as RedisBloom is, so only one of the two can be loaded.
 *
 *     commands/   commands.def (one row each), arguments, replies
 *     persist/    data types; RDB, AOF, SCANDUMP chunks
 *     filters/    values of BF, CF and TAMIS keys
 *     tables/     scalable filters, stages, tables shared between keys
 *     server/     settings, memory, worker thread, the server's API
 *
 * A directory includes files of those below it only (tests/check_includes); libtamis is below all
 * of them. */
#include <stdbool.h>

#include "commands/batch_replies.h"
#include "commands/commands.h"
#include "persist/types.h"
#include "server/live_counts.h"
#include "server/redis_module.h"
#include "server/settings.h"
#include "server/worker.h"
#include "tables/cow_table.h"
#include "tamis.h"

#define NAME "bf"
#define EXPORTED __attribute__((visibility("default")))

/* major * 10000 + minor * 100 + patch, as MODULE LIST shows versions of RedisBloom, on top of the
 * version of RedisBloom whose commands and replies this module has. */
#define COMMANDS_OF 80000
#define VERSION (COMMANDS_OF + TAMIS_VERSION_MINOR * 100 + TAMIS_VERSION_PATCH)

/* The section bf_filters of INFO. */
static void info(RedisModuleInfoCtx *ctx, int for_crash_report) {
    if (RedisModule_InfoAddSection(ctx, "filters") != REDISMODULE_OK) return;
    RedisModule_InfoAddFieldULongLong(ctx, "bloom", live_count(LIVE_BF));
    RedisModule_InfoAddFieldULongLong(ctx, "cuckoo", live_count(LIVE_CF));
    RedisModule_InfoAddFieldULongLong(ctx, "static", live_count(LIVE_STATIC));
    const struct cow_table_work work = cow_table_work();
    RedisModule_InfoAddFieldULongLong(ctx, "table_bytes_in_commands", work.commands);
    RedisModule_InfoAddFieldULongLong(ctx, "table_bytes_in_background", work.background);
    RedisModule_InfoAddFieldULongLong(ctx, "background_jobs", worker_jobs());
    RedisModule_InfoAddFieldULongLong(ctx, "commands_waited", worker_waits());
}

EXPORTED int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (!redis_bind(ctx) || RedisModule_IsModuleNameBusy(NAME)) return REDISMODULE_ERR;
    RedisModule_SetModuleAttribs(ctx, NAME, VERSION, REDISMODULE_APIVER_1);
    RedisModule_SetModuleOptions(
        ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS | REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
    const bool good = settings_load(ctx, argv, argc) && types_register(ctx) &&
                      commands_register(ctx) &&
                      RedisModule_RegisterInfoFunc(ctx, info) == REDISMODULE_OK && cow_table_open();
    if (good) results_prepare(ctx);
    return good ? REDISMODULE_OK : REDISMODULE_ERR;
}
