/* service.h - a service that finds users by their number: cache, database, and a filter
 *
 * Without a filter, a request for a number that no user has misses the cache and queries the
 * database.  The database returns no row to cache, so the next request queries it again.  This is
 * cache penetration: every request for a made-up number reaches the database.
 *
 *     NO_FILTER    request --> Redis GET --> (miss) --> database --> Redis SET
 *     IN_PROCESS   request --> filter "no": not found
 *                          --> filter "possibly": as above
 *     IN_REDIS     request --> Redis BF.EXISTS and GET in one round trip
 *                          --> filter "no": not found
 *                          --> filter "possibly": as above */
#ifndef SERVICE_H
#define SERVICE_H

#include <hiredis/hiredis.h>

#include "database.h"
#include "job.h"

typedef enum way { NO_FILTER, IN_PROCESS, IN_REDIS, WAYS } way;

typedef struct service {
    way way;
    redisContext *redis;
    database *users;
    tamis_filter *filter;      /* IN_PROCESS */
    const char *prefix;        /* of its keys in Redis */
    uint64_t database_queries; /* so far */
} service;

/* Sends a command and returns the reply; the program ends if Redis fails.  Free it with
 * freeReplyObject. */
redisReply *service_redis(redisContext *redis, const char *format, ...);

/* Creates the filter in Redis and fills it with the numbers of `count` users. */
void service_fill(redisContext *redis, const char *prefix, const uint64_t *ids, size_t count,
                  double fpr);

/* Finds a user; false if there is none. */
bool service_find(service *self, uint64_t id, char name[name_room]);

#endif
