/* args.c - see args.h */
#include "commands/args.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

bool arg_is(RedisModuleString *arg, const char *word) {
    size_t length;
    const char *text = RedisModule_StringPtrLen(arg, &length);
    if (length != strlen(word)) return false;
    for (size_t i = 0; i < length; i++) {
        if (toupper((unsigned char)text[i]) != word[i]) return false;
    }
    return true;
}

bool arg_equal(RedisModuleString *a, RedisModuleString *b) {
    const struct item x = arg_item(a), y = arg_item(b);
    return x.length == y.length && memcmp(x.bytes, y.bytes, x.length) == 0;
}

enum arg_status arg_integer(RedisModuleString *arg, long long min, long long max,
                            long long *value) {
    if (RedisModule_StringToLongLong(arg, value) != REDISMODULE_OK) return ARG_BAD;
    return *value >= min && *value <= max ? ARG_OK : ARG_OUT_OF_RANGE;
}

enum arg_status arg_fpr(RedisModuleString *arg, double *value) {
    if (RedisModule_StringToDouble(arg, value) != REDISMODULE_OK || isnan(*value)) return ARG_BAD;
    return *value > 0 && *value < 1 ? ARG_OK : ARG_OUT_OF_RANGE;
}

struct item arg_item(RedisModuleString *arg) {
    struct item item;
    item.bytes = RedisModule_StringPtrLen(arg, &item.length);
    return item;
}

void args_items(RedisModuleString **args, size_t count, struct items *items) {
    items->count = count < SCALABLE_BATCH ? count : SCALABLE_BATCH;
    for (size_t i = 0; i < items->count; i++) {
        items->bytes[i] = RedisModule_StringPtrLen(args[i], &items->length[i]);
    }
}

size_t args_to_front(RedisModuleString **args, size_t front, size_t from, const bool *chosen,
                     size_t count, size_t chosen_count) {
    if (front == from && chosen_count == count) return front + chosen_count;
    for (size_t i = 0; chosen_count != 0 && i < count; i++) {
        if (!chosen[i]) continue;
        RedisModuleString *arg = args[from + i];
        args[from + i] = args[front];
        args[front++] = arg;
    }
    return front;
}
