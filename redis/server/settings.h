/* settings.h - defaults of filters whose command does not specify them */
#ifndef TAMIS_REDIS_SERVER_SETTINGS_H
#define TAMIS_REDIS_SERVER_SETTINGS_H

#include "server/redis_module.h"

struct settings {
    double bf_error_rate;
    long long bf_initial_size;
    long long bf_expansion_factor;
    long long cf_bucket_size;
    long long cf_initial_size;
    long long cf_max_iterations;
    long long cf_expansion_factor;
    long long cf_max_expansions;
};

/* The current values; CONFIG SET changes them. */
const struct settings *settings(void);

/* Reads the arguments of MODULE LOAD and registers the settings with CONFIG.  False, with a line in
 * the log, if an argument is invalid. */
_Bool settings_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
