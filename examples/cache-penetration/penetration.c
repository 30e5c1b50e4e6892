/* penetration.c - penetration USERS REQUESTS REDIS-SOCKET sqlite FILE | postgres WHERE
 *
 * A database with USERS users behind a cache, and REQUESTS requests: half of them for numbers that
 * an attacker made up, half for users, some far more often than others.  Every request is served
 * in all three ways (service.h), one after the other, so that other load on the machine affects
 * them equally; each way has its own keys in the cache.  Prints a table of the queries that
 * reached the database, and of the time per request. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

static const double fpr = 0.001;
static const char *const way_names[WAYS] = {"no filter", "in process", "module in Redis"};

/* The results of one way: [0] for numbers that no user has, [1] for users. */
typedef struct outcome {
    uint64_t queries[2];
    double *seconds[2];
    size_t requests[2];
} outcome;

static uint64_t user_id(uint64_t row) { return job_mix(row) >> 1; }

/* A number that no user has: those of users come from small rows. */
static uint64_t made_up_id(uint64_t request) { return job_mix(request | UINT64_C(1) << 62) >> 1; }

static uint64_t *make_users(database *users, size_t count) {
    uint64_t *ids = job_allocate(count * sizeof *ids);
    users->load(users, true);
    for (size_t row = 0; row < count; row++) {
        ids[row] = user_id(row);
        char name[name_room];
        snprintf(name, sizeof name, "user %zu", row);
        users->insert(users, ids[row], name);
    }
    users->load(users, false);
    return ids;
}

static tamis_filter *make_filter(const uint64_t *ids, size_t count) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.capacity = count;
    options.fpr = fpr;
    options.needs = TAMIS_NEED_ADD; /* there will be more users */
    tamis_filter *filter;
    job_check(tamis_create(&options, &filter), "creating a filter");
    for (size_t i = 0; i < count; i++) {
        char key[24];
        size_t length = (size_t)snprintf(key, sizeof key, "%" PRIu64, ids[i]);
        job_check(tamis_add(filter, key, length, NULL), "adding a user");
    }
    return filter;
}

/* Serves one request in one way, and checks the answer. */
static void serve(service *self, uint64_t id, bool is_user, outcome *result) {
    char name[name_room];
    uint64_t before = self->database_queries;
    double start = job_seconds();
    bool found = service_find(self, id, name);
    result->seconds[is_user][result->requests[is_user]++] = job_seconds() - start;
    result->queries[is_user] += self->database_queries - before;
    if (found != is_user)
        job_fail("%" PRIu64 ", %s: %s", id, way_names[self->way],
                 is_user ? "a user was not found" : "found a user that does not exist");
}

static void serve_all(service services[WAYS], size_t users, size_t requests,
                      outcome results[WAYS]) {
    for (size_t i = 0; i < requests; i++) {
        uint64_t random = job_mix(i);
        bool is_user = random & 1;
        /* The cube of a random share: half of the traffic is for an eighth of the users. */
        double share = pow((double)(random >> 11) / 9007199254740992.0, 3);
        uint64_t id = is_user ? user_id((uint64_t)(share * (double)users)) : made_up_id(i);
        for (way w = 0; w < WAYS; w++) serve(&services[w], id, is_user, &results[w]);
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The cells of the table, for requests of one type in one way. */

static const char *requests_made(outcome *result, bool is_user) {
    return job_count((double)result->requests[is_user]);
}

static const char *queries_made(outcome *result, bool is_user) {
    return job_count((double)result->queries[is_user]);
}

static const char *queries_saved(outcome *result, bool is_user) {
    double share = 1 - (double)result->queries[is_user] / (double)result->requests[is_user];
    return job_text("%.2f %%", 100 * share);
}

static const char *quantile(outcome *result, bool is_user, double share) {
    size_t count = result->requests[is_user];
    qsort(result->seconds[is_user], count, sizeof(double), ascending);
    return job_text("%.1f", result->seconds[is_user][(size_t)(share * (double)(count - 1))] * 1e6);
}

static const char *median(outcome *result, bool is_user) { return quantile(result, is_user, 0.5); }

static const char *slowest(outcome *result, bool is_user) {
    return quantile(result, is_user, 0.99);
}

static void print_row(const char *name, const char *(*cell)(outcome *, bool), outcome results[WAYS],
                      bool is_user) {
    job_row(name, cell(&results[NO_FILTER], is_user), cell(&results[IN_PROCESS], is_user),
            cell(&results[IN_REDIS], is_user), NULL);
}

static void print_table(const char *kind, size_t users, outcome results[WAYS]) {
    job_row(job_text("%s, %s users", kind, job_count((double)users)), way_names[NO_FILTER],
            way_names[IN_PROCESS], way_names[IN_REDIS], NULL);
    for (int is_user = 0; is_user < 2; is_user++) {
        print_row(is_user ? "requests for users" : "requests for made-up numbers", requests_made,
                  results, is_user);
        print_row("  that reached the database", queries_made, results, is_user);
        if (!is_user) print_row("  saved", queries_saved, results, is_user);
        print_row("  microseconds, median", median, results, is_user);
        print_row("  microseconds, 99th percentile", slowest, results, is_user);
    }
}

static double redis_memory(redisContext *redis, const char *prefix) {
    redisReply *reply = service_redis(redis, "MEMORY USAGE %s:filter SAMPLES 0", prefix);
    double bytes = (double)reply->integer;
    freeReplyObject(reply);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 6)
        job_fail("usage: penetration USERS REQUESTS REDIS-SOCKET sqlite FILE | postgres WHERE");
    size_t count = strtoull(argv[1], NULL, 10), requests = strtoull(argv[2], NULL, 10);
    redisContext *redis = redisConnectUnix(argv[3]);
    if (!redis || redis->err) job_fail("redis: %s", redis ? redis->errstr : "out of memory");
    database *users = NULL;
    if (!strcmp(argv[4], "sqlite")) users = sqlite_open(argv[5]);
#ifdef WITH_POSTGRES
    if (!strcmp(argv[4], "postgres")) users = postgres_open(argv[5]);
#endif
    if (!users || count < 1000 || requests < 1000)
        job_fail("%s: not supported, or fewer than 1,000", argv[4]);

    uint64_t *ids = make_users(users, count);
    tamis_filter *filter = make_filter(ids, count);
    char prefix[WAYS][32];
    service services[WAYS];
    outcome results[WAYS] = {0};
    for (way w = 0; w < WAYS; w++) {
        snprintf(prefix[w], sizeof prefix[w], "%s:%d", users->kind, (int)w);
        services[w] = (service){w, redis, users, filter, prefix[w], 0};
        for (int is_user = 0; is_user < 2; is_user++)
            results[w].seconds[is_user] = job_allocate(requests * sizeof(double));
    }
    service_fill(redis, prefix[IN_REDIS], ids, count, fpr);
    serve_all(services, count, requests, results);

    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(filter, &facts), "reading the facts");
    print_table(users->kind, count, results);
    job_row("memory of the filter, bytes", "-", job_count((double)facts.table_bytes),
            job_count(redis_memory(redis, prefix[IN_REDIS])), NULL);
    if (results[NO_FILTER].queries[0] != results[NO_FILTER].requests[0])
        job_fail("without a filter, a made-up number did not reach the database");
    for (way w = IN_PROCESS; w < WAYS; w++)
        if (results[w].queries[0] * 50 > results[w].requests[0])
            job_fail("%s: less than 98 %% of the queries were saved", way_names[w]);

    for (way w = 0; w < WAYS; w++)
        for (int is_user = 0; is_user < 2; is_user++) free(results[w].seconds[is_user]);
    free(ids);
    tamis_free(filter);
    users->close(users);
    redisFree(redis);
}
