/* types.h - the data types of the module, known once types_register has returned */
#ifndef TAMIS_REDIS_PERSIST_TYPES_H
#define TAMIS_REDIS_PERSIST_TYPES_H

#include <stdbool.h>

#include "server/redis_module.h"

extern RedisModuleType *bf_type, *cf_type, *static_type;

/* False if the server refuses a type. */
bool types_register(RedisModuleCtx *ctx);

#endif
