/* service.c - see service.h */
#include "service.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { add_at_once = 1000 };

static redisReply *check(redisContext *redis, redisReply *reply) {
    if (!reply) job_fail("redis: %s", redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR) job_fail("redis: %s", reply->str);
    return reply;
}

redisReply *service_redis(redisContext *redis, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    return check(redis, reply);
}

/* BF.MADD FILTER ID ID ...: many at once, because a round trip costs more than an add. */
static void add_many(redisContext *redis, const char *prefix, const uint64_t *ids, size_t count) {
    static char text[add_at_once][24];
    const char *words[add_at_once + 2] = {"BF.MADD", job_text("%s:filter", prefix)};
    for (size_t i = 0; i < count; i++) {
        snprintf(text[i], sizeof text[i], "%" PRIu64, ids[i]);
        words[i + 2] = text[i];
    }
    redisReply *reply = check(redis, redisCommandArgv(redis, (int)count + 2, words, NULL));
    if (reply->elements != count) job_fail("redis: not all were added");
    freeReplyObject(reply);
}

void service_fill(redisContext *redis, const char *prefix, const uint64_t *ids, size_t count,
                  double fpr) {
    freeReplyObject(service_redis(redis, "BF.RESERVE %s:filter %s %lu", prefix, job_text("%g", fpr),
                                  (unsigned long)count));
    for (size_t i = 0; i < count; i += add_at_once)
        add_many(redis, prefix, ids + i, count - i < add_at_once ? count - i : add_at_once);
}

/* Queries the cache, and in the same round trip the filter if it is in Redis.  Returns true if
 * that decides; `*found` is then the answer. */
static bool query_redis(service *self, uint64_t id, char name[name_room], bool *found) {
    bool filtered = self->way == IN_REDIS, absent = false;
    void *reply = NULL;
    if (filtered) redisAppendCommand(self->redis, "BF.EXISTS %s:filter %" PRIu64, self->prefix, id);
    redisAppendCommand(self->redis, "GET %s:%" PRIu64, self->prefix, id);
    if (filtered) {
        redisGetReply(self->redis, &reply);
        absent = check(self->redis, reply)->integer == 0;
        freeReplyObject(reply);
        reply = NULL;
    }
    redisGetReply(self->redis, &reply);
    redisReply *cached = check(self->redis, reply);
    *found = cached->type == REDIS_REPLY_STRING;
    if (*found) snprintf(name, name_room, "%s", cached->str);
    freeReplyObject(cached);
    return *found || absent;
}

bool service_find(service *self, uint64_t id, char name[name_room]) {
    char key[24];
    size_t length = (size_t)snprintf(key, sizeof key, "%" PRIu64, id);
    if (self->way == IN_PROCESS && !tamis_contains(self->filter, key, length)) return false;

    bool found;
    if (query_redis(self, id, name, &found)) return found;
    self->database_queries++;
    found = self->users->find(self->users, id, name);
    if (found) freeReplyObject(service_redis(self->redis, "SET %s:%s %s", self->prefix, key, name));
    return found;
}
