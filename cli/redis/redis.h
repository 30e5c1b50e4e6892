/* redis.h - common parts of the verbs of tamis redis
 *
 * The verbs use client/ (tamis_cluster.h), which needs libhiredis; without it they are not built,
 * and cmd_redis.c reports that. */
#ifndef TAMIS_CLI_REDIS_H
#define TAMIS_CLI_REDIS_H

#include "request.h"
#include "tamis_cluster.h"

struct redis_request {
    struct request common; /* its file is the name of the filter */
    tamis_cluster_options where;
    tamis_sharded reserved; /* reserve */
    bool json;
    bool invert, counting, numbers; /* query; quiet is in common.run */
};

/* Reads the whole command line; dies if the name is missing. */
void redis_parse(struct args *args, struct redis_request *request);

/* Dies with the error of the cluster unless `good`. */
void redis_need(tamis_cluster *cluster, bool good);

/* Connects, or dies. */
tamis_cluster *redis_connect(const struct redis_request *request);

/* Looks up the filter of the request, or dies. */
tamis_sharded redis_find(tamis_cluster *cluster, const struct redis_request *request);

int redis_reserve_main(struct args *args);
int redis_load_main(struct args *args);
int redis_put_main(struct args *args);
int redis_query_main(struct args *args);
int redis_info_main(struct args *args);
int redis_drop_main(struct args *args);

#endif
