/* settings.h - what filters are made like when the command does not say */
#ifndef TAMIS_REDIS_SETTINGS_H
#define TAMIS_REDIS_SETTINGS_H

#include "redis_module.h"

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

/* As they are now; changed by CONFIG SET. */
const struct settings *settings(void);

/* Reads the arguments of MODULE LOAD and makes the settings known to CONFIG; false, with a
 * line in the log, if an argument is wrong. */
_Bool settings_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
