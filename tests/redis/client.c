/* client.c - law: a call of redis/client that memory was refused to has done nothing, and its
 * cluster can be used as before
 *
 * Run by cases/sharded.py with a server in TAMIS_REDIS, and linked so that malloc and its like are
 * those below for the client (ld --wrap).  They refuse the N-th request, for every N until a call
 * needs no more. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "tamis_cluster.h"

#define KEYS 5000
#define SHARDS 200

static long refused_in = -1; /* fail after this many requests; below 0: never */

static bool is_refused(void) { return refused_in >= 0 && refused_in-- == 0; }

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size) { return is_refused() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
    return is_refused() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *block, size_t size) {
    return is_refused() ? NULL : __real_realloc(block, size);
}

struct keys {
    char text[KEYS][16];
    const void *at[KEYS];
    size_t length[KEYS];
    bool answers[KEYS];
};

static void fill(struct keys *keys) {
    for (size_t i = 0; i < KEYS; i++) {
        keys->length[i] = (size_t)snprintf(keys->text[i], sizeof keys->text[i], "key-%zu", i);
        keys->at[i] = keys->text[i];
    }
}

/* True if the keys were added all the same. */
static bool add_without(tamis_cluster *cluster, struct keys *keys, long request) {
    tamis_sharded filter;
    tamis_sharded_facts facts = {0};
    if (!CHECK(tamis_sharded_find(cluster, "f", &filter), "%s", tamis_cluster_error(cluster))) {
        return true;
    }
    refused_in = request;
    const bool added = tamis_sharded_add(&filter, keys->at, keys->length, KEYS, keys->answers);
    const bool was_refused = refused_in < 0;
    refused_in = -1;
    CHECK(added || was_refused, "%s", tamis_cluster_error(cluster));
    CHECK(tamis_sharded_info(&filter, &facts), "request %ld: %s", request,
          tamis_cluster_error(cluster));
    CHECK(added || facts.items == 0, "request %ld: a call that failed has added %llu keys", request,
          (unsigned long long)facts.items);
    count_up("refusals", was_refused);
    return added;
}

int main(int argc, char **argv) {
    static struct keys keys;
    const tamis_cluster_options where = {.servers = getenv("TAMIS_REDIS")};
    const tamis_sharded want = {.shards = SHARDS, .capacity = 2 * KEYS, .fpr = 0.01};
    run_start(argc, argv, "client");
    fill(&keys);
    bool existed, added = false;
    for (long request = 0; !added; request++) {
        tamis_cluster *cluster = tamis_cluster_new(&where);
        added =
            !CHECK(tamis_cluster_connect(cluster) && tamis_sharded_drop(cluster, "f", &existed) &&
                       tamis_sharded_reserve(cluster, "f", &want),
                   "%s", tamis_cluster_error(cluster)) ||
            add_without(cluster, &keys, request);
        tamis_cluster_free(cluster);
    }
    return run_end();
}
