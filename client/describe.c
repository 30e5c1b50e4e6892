/* describe.c - reads the replies of BF.INFO, CF.INFO and TAMIS.INFO
 *
 * Each reply has names and values in turn.  A field that another version or module does not have
 * counts as 0. */
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

static const redisReply *info_field(const redisReply *info, const char *field) {
    for (size_t i = 0; i + 1 < info->elements; i += 2) {
        const redisReply *name = info->element[i];
        if (name->str != NULL && strcmp(name->str, field) == 0) return info->element[i + 1];
    }
    return NULL;
}

uint64_t info_number(const redisReply *info, const char *field) {
    const redisReply *value = info_field(info, field);
    if (value == NULL || value->type != REDIS_REPLY_INTEGER || value->integer < 0) return 0;
    return (uint64_t)value->integer;
}

const char *info_word(const redisReply *info, const char *field) {
    const redisReply *value = info_field(info, field);
    return value != NULL && value->str != NULL ? value->str : "";
}

static void add_sharded(const tamis_sharded *f, const redisReply *info,
                        tamis_sharded_facts *facts) {
    facts->items += info_number(info, "Number of items inserted");
    facts->stages += info_number(info, "Number of filters");
    facts->capacity += f->kind == TAMIS_SHARDED_BLOOM ? info_number(info, "Capacity")
                                                      : info_number(info, "Number of buckets") *
                                                            info_number(info, "Bucket size");
}

static void add_static(const redisReply *info, tamis_sharded_facts *facts) {
    snprintf(facts->kind, sizeof facts->kind, "%s", info_word(info, "Kind"));
    facts->items = facts->capacity = info_number(info, "Number of keys");
    facts->stages = 1;
    facts->fpr = strtod(info_word(info, "Error rate"), NULL);
    facts->keyed = info_number(info, "Keyed") != 0;
    facts->upload_bytes = info_number(info, "Bytes expected");
    facts->upload_received = info_number(info, "Bytes received");
}

static void add_facts(const tamis_sharded *f, const redisReply *info, tamis_sharded_facts *facts) {
    const uint64_t before = facts->items;
    if (f->kind == TAMIS_SHARDED_STATIC) {
        add_static(info, facts);
    } else {
        add_sharded(f, info, facts);
    }
    const uint64_t items = facts->items - before;
    facts->bytes += info_number(info, "Size");
    if (items < facts->items_min) facts->items_min = items;
    if (items > facts->items_max) facts->items_max = items;
}

bool tamis_sharded_info(tamis_sharded *filter, tamis_sharded_facts *facts) {
    static const char *const queries[] = {"BF.INFO", "CF.INFO", "TAMIS.INFO"};
    struct requests requests = {0};
    char key[KEY_BYTES];
    memset(facts, 0, sizeof *facts);
    facts->items_min = UINT64_MAX;
    request_shards(&requests, queries[filter->kind], filter, false);
    bool good = cluster_run(filter->cluster, &requests);
    for (uint32_t i = 0; good && i < filter->shards; i++) {
        const char *name = shard_key(filter, i, key);
        const redisReply *reply = requests.at[i].reply;
        if (reply_is_error(reply, "not found")) {
            good = shard_missing(filter, name);
        } else if (reply->type != REDIS_REPLY_ARRAY) {
            good = shard_failed(filter, name, reply);
        } else {
            add_facts(filter, reply, facts);
        }
    }
    requests_free(&requests);
    return good;
}
