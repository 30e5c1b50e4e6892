/* redis_api.c - finds the functions of redis_module.h in the server that loads the module
 *
 * The context passed to RedisModule_OnLoad begins with a pointer to int find(name, where), which
 * writes the address of the function "RedisModule_NAME" to `where`. */
#include "server/redis_module.h"

#include <stdbool.h>
#include <string.h>

#define X(need, type, name, arguments) type(*RedisModule_##name) arguments;
REDIS_API_MAP(X)
#undef X

struct binding {
    const char *name;
    void *pointer; /* to the function pointer */
    enum redis_need need;
};

static const struct binding bindings[] = {
#define X(need, type, name, arguments) {"RedisModule_" #name, &RedisModule_##name, need},
    REDIS_API_MAP(X)
#undef X
};

bool redis_bind(RedisModuleCtx *ctx) {
    int (*find)(const char *name, void *where);
    memcpy(&find, ctx, sizeof find);
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        const bool found = find(bindings[i].name, bindings[i].pointer) == REDISMODULE_OK;
        if (!found && bindings[i].need == REQUIRED) return false;
    }
    return true;
}

bool redis_is_following(RedisModuleCtx *ctx) {
    const int following = REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING;
    return (RedisModule_GetContextFlags(ctx) & following) != 0;
}
