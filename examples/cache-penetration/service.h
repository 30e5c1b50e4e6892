/* service.h - a service that finds users by their number: cache, database, and a filter
 *
 * Without a filter a number that no user has is not in the cache, so it is asked of the
 * database; the database has nothing that could be put into the cache, so next time it is asked
 * again.  That is cache penetration: whoever makes numbers up reaches the database every time.
 *
 *     NO_FILTER    request --> Redis GET --> (not there) --> database --> Redis SET
 *     IN_PROCESS   request --> filter "no": not found
 *                          --> filter "maybe": as above
 *     IN_REDIS     request --> Redis BF.EXISTS and GET, in one journey --> filter "no": not found
 *                                                                      --> else as above */
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
    const char *served;        /* what its keys in Redis begin with */
    uint64_t database_queries; /* so far */
} service;

/* Sends a command and returns the reply; the program ends if Redis fails.  To be freed with
 * freeReplyObject. */
redisReply *service_redis(redisContext *redis, const char *format, ...);

/* Makes the filter in Redis, and fills it with the numbers of `count` users. */
void service_fill(redisContext *redis, const char *served, const uint64_t *ids, size_t count,
                  double rate);

/* Finds a user; false if there is none. */
bool service_find(service *self, uint64_t id, char name[name_room]);

#endif
