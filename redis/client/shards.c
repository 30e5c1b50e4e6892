/* shards.c - a filter's calls as commands to its shards: see tamis_cluster.h for the scheme
 *
 * A call sorts its keys by shard (a counting sort, so that answers find their way back), makes
 * commands of at most ITEMS_MAX keys, runs them all at once and scatters the replies. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

/* Items in a command: enough that the cost of a command does not count, little enough that the
 * server, which runs one command at a time, is not held up (a few hundred microseconds). */
#define ITEMS_MAX 1000

#define FORMAT "tamis-shards-1"

#define CUCKOO_LEAST 4 /* keys that CF.RESERVE takes as capacity: two buckets of two */

/* ---- the shard of a key */

static void crc32_table(uint32_t table[256]) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
        table[i] = crc;
    }
}

static uint32_t crc32_of(const uint32_t table[256], const void *key, size_t length) {
    const unsigned char *at = (const unsigned char *)key;
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < length; i++) crc = table[(crc ^ at[i]) & 0xFF] ^ (crc >> 8);
    return ~crc;
}

static uint32_t shard_by(const uint32_t table[256], const void *key, size_t length,
                         uint32_t shards) {
    const uint32_t mixed = crc32_of(table, key, length) * 0x9E3779B1u;
    return (uint32_t)((uint64_t)mixed * shards >> 32);
}

uint32_t tamis_shard_of(const void *key, size_t length, uint32_t shards) {
    uint32_t table[256];
    crc32_table(table);
    return shard_by(table, key, length, shards);
}

/* ---- names */

/* With braces of its own, all shards would be in the slot of what is between them. */
static bool name_is_good(tamis_cluster *cluster, const char *name) {
    if (name[0] == '\0' || strlen(name) > 480) {
        return cluster_fail(cluster, "a filter's name must have 1 to 480 bytes");
    }
    if (strchr(name, '{') != NULL) {
        return cluster_fail(cluster, "'%s': a filter's name cannot have a brace", name);
    }
    return true;
}

const char *shard_key(const tamis_sharded *f, uint32_t shard, char key[KEY_BYTES]) {
    if (f->plain) return f->name;
    snprintf(key, KEY_BYTES, "%s:{%" PRIu32 "}", f->name, shard);
    return key;
}

/* ---- commands of two and three words, one to each shard */

void ask_key(struct requests *requests, const char *verb, const char *key, bool writes) {
    request_start(requests, key, writes, 2);
    request_text(requests, verb);
    request_text(requests, key);
}

void ask_shards(struct requests *requests, const char *verb, const tamis_sharded *filter,
                bool writes) {
    char key[KEY_BYTES];
    for (uint32_t i = 0; i < filter->shards; i++) {
        ask_key(requests, verb, shard_key(filter, i, key), writes);
    }
}

bool shard_failed(const tamis_sharded *filter, const char *key, const redisReply *reply) {
    return cluster_fail(filter->cluster, "'%s': %s", key,
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "an unexpected answer");
}

static bool is_integer(const redisReply *reply, long long value) {
    return reply->type == REDIS_REPLY_INTEGER && reply->integer == value;
}

static bool is_error(const redisReply *reply) { return reply->type == REDIS_REPLY_ERROR; }

/* Runs one command for each shard, none of which may be refused. */
static bool run_shards(const tamis_sharded *f, struct requests *requests) {
    char key[KEY_BYTES];
    if (!cluster_run(f->cluster, requests)) return false;
    for (uint32_t i = 0; i < f->shards; i++) {
        const redisReply *reply = requests->at[i].reply;
        if (is_error(reply)) return shard_failed(f, shard_key(f, i, key), reply);
    }
    return true;
}

/* ---- finding */

static const char *field_of(const redisReply *hash, const char *field) {
    for (size_t i = 0; i + 1 < hash->elements; i += 2) {
        if (hash->element[i]->type == REDIS_REPLY_STRING &&
            hash->element[i + 1]->type == REDIS_REPLY_STRING &&
            strcmp(hash->element[i]->str, field) == 0) {
            return hash->element[i + 1]->str;
        }
    }
    return NULL;
}

/* What the hash says; `whole` is false for one that was never completed. */
static bool read_hash(const redisReply *hash, tamis_sharded *out, bool *whole) {
    const char *format = field_of(hash, "format"), *shards = field_of(hash, "shards");
    const char *kind = field_of(hash, "kind"), *capacity = field_of(hash, "capacity");
    const char *rate = field_of(hash, "rate");
    *whole = format != NULL && strcmp(format, FORMAT) == 0;
    if (shards == NULL) return false;
    const unsigned long count = strtoul(shards, NULL, 10);
    if (count < 1 || count > TAMIS_SHARDS_MAX) return false;
    out->shards = (uint32_t)count;
    out->kind =
        kind != NULL && strcmp(kind, "cuckoo") == 0 ? TAMIS_SHARDED_CUCKOO : TAMIS_SHARDED_BLOOM;
    out->capacity = capacity != NULL ? strtoull(capacity, NULL, 10) : 0;
    out->rate = rate != NULL ? strtod(rate, NULL) : 0;
    return true;
}

/* `hash`: what HGETALL replied; WRONGTYPE, if the key has just been replaced. */
static enum found judge_hash(tamis_sharded *out, const redisReply *hash) {
    bool whole = false;
    if (hash->type != REDIS_REPLY_ARRAY) {
        shard_failed(out, out->name, hash);
        return FOUND_ERROR;
    }
    if (!read_hash(hash, out, &whole)) {
        cluster_fail(out->cluster, "'%s' is a hash, but not that of a filter", out->name);
        return FOUND_ERROR;
    }
    return whole ? FOUND_FILTER : FOUND_UNFINISHED;
}

/* Is it the type of a key that is a filter by itself? */
static bool type_is_filter(const char *type, tamis_sharded_kind *kind) {
    static const char *const types[] = {[TAMIS_SHARDED_BLOOM] = "MBbloom--",
                                        [TAMIS_SHARDED_CUCKOO] = "MBbloomCF",
                                        [TAMIS_SHARDED_STATIC] = "tamisfilt"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i]) != 0) continue;
        *kind = (tamis_sharded_kind)i;
        return true;
    }
    return false;
}

enum found look_up(tamis_cluster *cluster, const char *name, tamis_sharded *out) {
    struct requests requests = {0};
    memset(out, 0, sizeof *out);
    out->cluster = cluster;
    if (strlen(name) >= sizeof out->name) {
        cluster_fail(cluster, "the name is too long");
        return FOUND_ERROR;
    }
    memcpy(out->name, name, strlen(name) + 1);
    ask_key(&requests, "TYPE", name, false);
    ask_key(&requests, "HGETALL", name, false);
    enum found found = FOUND_ERROR;
    if (cluster_run(cluster, &requests)) {
        const redisReply *type = requests.at[0].reply, *hash = requests.at[1].reply;
        const char *word = type->type == REDIS_REPLY_STATUS ? type->str : "";
        if (type_is_filter(word, &out->kind)) {
            out->plain = true;
            out->shards = 1;
            found = FOUND_FILTER;
        } else if (strcmp(word, "hash") == 0) {
            found = judge_hash(out, hash);
        } else if (strcmp(word, "none") == 0) {
            found = FOUND_NOTHING;
        } else if (type->type != REDIS_REPLY_STATUS) {
            shard_failed(out, name, type);
        } else {
            cluster_fail(cluster, "'%s' is a %s, not a filter", name, word);
        }
    }
    requests_free(&requests);
    return found;
}

bool shard_missing(const tamis_sharded *filter, const char *key) {
    return cluster_fail(filter->cluster,
                        filter->plain ? "'%s' is gone"
                                      : "the shard '%s' is gone: drop the filter and load it again",
                        key);
}

/* What TYPE says of a shard.  One that is gone, or has become something else, would deny every key
 * that it is asked for. */
static bool check_type(const tamis_sharded *filter, const char *key, const redisReply *type) {
    tamis_sharded_kind kind;
    if (type->type != REDIS_REPLY_STATUS) return shard_failed(filter, key, type);
    if (strcmp(type->str, "none") == 0) return shard_missing(filter, key);
    if (type_is_filter(type->str, &kind) && kind == filter->kind) return true;
    return cluster_fail(filter->cluster, "'%s' is a %s, not what was reserved", key, type->str);
}

/* All shards are there. */
static bool check_shards(tamis_sharded *filter) {
    struct requests requests = {0};
    char key[KEY_BYTES];
    ask_shards(&requests, "TYPE", filter, false);
    bool good = cluster_run(filter->cluster, &requests);
    for (uint32_t i = 0; good && i < filter->shards; i++) {
        good = check_type(filter, shard_key(filter, i, key), requests.at[i].reply);
    }
    requests_free(&requests);
    return good;
}

bool tamis_sharded_find(tamis_cluster *cluster, const char *name, tamis_sharded *out) {
    switch (look_up(cluster, name, out)) {
        case FOUND_FILTER:
            return out->plain || check_shards(out);
        case FOUND_UNFINISHED:
            return cluster_fail(cluster, "'%s' was never completed: drop it and reserve it again",
                                name);
        case FOUND_NOTHING:
            return cluster_fail(cluster, "there is no filter '%s': reserve it first", name);
        default:
            return false;
    }
}

/* ---- reserving
 *
 *     1. HSETNX name owner TOKEN       only one can; a repeated one is known by its token
 *     2. no NAME:{i} is in the way
 *     3. BF.RESERVE each               "item exists" is our own, sent twice
 *     4. HSET name format ...          now it is whole */

static void set_field(struct requests *requests, const char *verb, const char *name,
                      const char *field, const char *value) {
    request_start(requests, name, true, 4);
    request_text(requests, verb);
    request_text(requests, name);
    request_text(requests, field);
    request_text(requests, value);
}

/* The last reply tells whose the hash is; WRONGTYPE, that it is something else. */
static bool is_claimed(const tamis_sharded *f, const struct requests *requests, const char *token) {
    for (size_t i = 0; i < requests->count; i++) {
        const redisReply *reply = requests->at[i].reply;
        if (is_error(reply) && strncmp(reply->str, "WRONGTYPE", 9) != 0) {
            return shard_failed(f, f->name, reply);
        }
    }
    const redisReply *owner = requests->at[requests->count - 1].reply;
    if (owner->type == REDIS_REPLY_STRING && strcmp(owner->str, token) == 0) return true;
    return cluster_fail(f->cluster, "'%s' exists already", f->name);
}

static bool claim(tamis_sharded *f) {
    struct requests requests = {0};
    struct timespec now;
    char token[64], shards[16];
    timespec_get(&now, TIME_UTC);
    snprintf(token, sizeof token, "%llx%08lx-%p", (unsigned long long)now.tv_sec,
             (unsigned long)now.tv_nsec, (void *)f->cluster);
    snprintf(shards, sizeof shards, "%" PRIu32, f->shards);
    set_field(&requests, "HSETNX", f->name, "owner", token);
    set_field(&requests, "HSETNX", f->name, "shards", shards);
    request_start(&requests, f->name, false, 3);
    request_text(&requests, "HGET");
    request_text(&requests, f->name);
    request_text(&requests, "owner");
    const bool good = cluster_run(f->cluster, &requests) && is_claimed(f, &requests, token);
    requests_free(&requests);
    return good;
}

static bool nothing_in_the_way(tamis_sharded *f) {
    struct requests requests = {0};
    char key[KEY_BYTES];
    ask_shards(&requests, "EXISTS", f, false);
    bool good = run_shards(f, &requests);
    for (uint32_t i = 0; good && i < f->shards; i++) {
        if (!is_integer(requests.at[i].reply, 0)) {
            good = cluster_fail(f->cluster, "the key '%s' is in the way: delete it first",
                                shard_key(f, i, key));
        }
    }
    requests_free(&requests);
    return good;
}

/* A shard's part of the keys varies like a binomial: five times its deviation on top, so that
 * hardly ever one has to grow.  A CF is made for two buckets at least. */
static uint64_t shard_capacity(const tamis_sharded *f) {
    const double least = f->kind == TAMIS_SHARDED_CUCKOO ? CUCKOO_LEAST : 1;
    const double mean = (double)f->capacity / f->shards;
    const double room = f->shards > 1 ? mean + 5 * sqrt(mean) : mean;
    return (uint64_t)ceil(room < least ? least : room);
}

/* BF.RESERVE key rate capacity; CF.RESERVE key capacity EXPANSION 2 [ERROR rate], the last being
 * ours.  A CF grows a few dozen times at most (cf-max-expansions), and without EXPANSION by no more
 * than its first capacity each time. */
static void reserve_shard(struct requests *requests, const tamis_sharded *f, const char *key) {
    char rate[40], capacity[32];
    snprintf(rate, sizeof rate, "%.17g", f->rate);
    snprintf(capacity, sizeof capacity, "%" PRIu64, shard_capacity(f));
    const bool bloom = f->kind == TAMIS_SHARDED_BLOOM, rated = !bloom && f->rate > 0;
    request_start(requests, key, true, bloom ? 4 : rated ? 7 : 5);
    request_text(requests, bloom ? "BF.RESERVE" : "CF.RESERVE");
    request_text(requests, key);
    if (bloom) request_text(requests, rate);
    request_text(requests, capacity);
    if (!bloom) {
        request_text(requests, "EXPANSION");
        request_text(requests, "2");
    }
    if (rated) {
        request_text(requests, "ERROR");
        request_text(requests, rate);
    }
}

static bool make_shards(tamis_sharded *f) {
    struct requests requests = {0};
    char key[KEY_BYTES];
    for (uint32_t i = 0; i < f->shards; i++) {
        reserve_shard(&requests, f, shard_key(f, i, key));
    }
    bool good = cluster_run(f->cluster, &requests);
    for (uint32_t i = 0; good && i < f->shards; i++) {
        const redisReply *reply = requests.at[i].reply;
        const bool ours = reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "item exists");
        if (reply->type != REDIS_REPLY_STATUS && !ours) {
            good = shard_failed(f, shard_key(f, i, key), reply);
        }
    }
    requests_free(&requests);
    return good;
}

/* In one command: who reads the hash sees all of it or an unfinished one. */
static bool complete(tamis_sharded *f) {
    struct requests requests = {0};
    char capacity[32], rate[40];
    snprintf(capacity, sizeof capacity, "%" PRIu64, f->capacity);
    snprintf(rate, sizeof rate, "%.17g", f->rate);
    const char *const words[] = {"HSET",     f->name,
                                 "format",   FORMAT,
                                 "kind",     f->kind == TAMIS_SHARDED_BLOOM ? "bloom" : "cuckoo",
                                 "capacity", capacity,
                                 "rate",     rate};
    const size_t count = sizeof words / sizeof words[0];
    request_start(&requests, f->name, true, count);
    for (size_t i = 0; i < count; i++) request_text(&requests, words[i]);
    bool good = cluster_run(f->cluster, &requests);
    if (good && requests.at[0].reply->type == REDIS_REPLY_ERROR) {
        good = shard_failed(f, f->name, requests.at[0].reply);
    }
    requests_free(&requests);
    return good;
}

/* The hash goes last: what is interrupted can be begun again. */
static bool unlink_all(tamis_sharded *f, bool shards_too) {
    struct requests requests = {0};
    bool good = true;
    if (shards_too) {
        ask_shards(&requests, "UNLINK", f, true);
        good = run_shards(f, &requests);
        requests_clear(&requests);
    }
    ask_key(&requests, "UNLINK", f->name, true);
    good = good && cluster_run(f->cluster, &requests);
    if (good && is_error(requests.at[0].reply)) {
        good = shard_failed(f, f->name, requests.at[0].reply);
    }
    requests_free(&requests);
    return good;
}

/* After a failure, if the servers can be told so now; else a drop can finish it.  The error that
 * made it fail is the one to tell. */
static void undo(tamis_sharded *f, bool shards_too) {
    tamis_cluster *cluster = f->cluster;
    const uint32_t patience = cluster->options.patience_ms;
    char error[sizeof cluster->error];
    memcpy(error, cluster->error, sizeof error);
    cluster->options.patience_ms = 0;
    (void)unlink_all(f, shards_too);
    cluster->options.patience_ms = patience;
    memcpy(cluster->error, error, sizeof error);
}

/* RedisBloom takes the rate of a CF like any word, and does not keep it. */
static bool rate_is_kept(tamis_sharded *f) {
    struct requests requests = {0};
    if (f->kind != TAMIS_SHARDED_CUCKOO || !(f->rate > 0)) return true;
    ask_key(&requests, "TAMIS.INFO", f->name, false);
    bool good = cluster_run(f->cluster, &requests);
    if (good && is_error(requests.at[0].reply) &&
        strstr(requests.at[0].reply->str, "unknown command") != NULL) {
        good = cluster_fail(f->cluster,
                            "the server has not loaded the module of tamis, and another "
                            "does not keep the rate of a cuckoo filter");
    }
    requests_free(&requests);
    return good;
}

bool tamis_sharded_reserve(tamis_cluster *cluster, const char *name, const tamis_sharded *want) {
    tamis_sharded f = *want;
    if (!name_is_good(cluster, name)) return false;
    if (want->kind == TAMIS_SHARDED_STATIC) {
        return cluster_fail(cluster, "a static filter is put whole, not reserved");
    }
    if (want->shards < 1 || want->shards > TAMIS_SHARDS_MAX) {
        return cluster_fail(cluster, "a filter has 1 to %d shards", TAMIS_SHARDS_MAX);
    }
    f.cluster = cluster;
    f.plain = false;
    snprintf(f.name, sizeof f.name, "%s", name);
    if (!rate_is_kept(&f) || !claim(&f)) return false;
    if (!nothing_in_the_way(&f)) {
        undo(&f, false);
        return false;
    }
    if (!make_shards(&f) || !complete(&f)) {
        undo(&f, true);
        return false;
    }
    return true;
}

bool tamis_sharded_drop(tamis_cluster *cluster, const char *name, bool *existed) {
    tamis_sharded f;
    const enum found found = look_up(cluster, name, &f);
    *existed = found == FOUND_FILTER || found == FOUND_UNFINISHED;
    if (found == FOUND_ERROR) return false;
    return !*existed || unlink_all(&f, !f.plain);
}

/* ---- keys by shard */

struct sorted {
    size_t *order; /* indices of the keys, those of shard 0 first */
    size_t *start; /* where each shard begins; shards + 1 */
};

static bool sort_keys(const tamis_sharded *f, const void *const *keys, const size_t *lengths,
                      size_t count, struct sorted *sorted) {
    uint32_t table[256];
    uint32_t *shard = (uint32_t *)malloc((count + 1) * sizeof *shard);
    sorted->order = (size_t *)malloc((count + 1) * sizeof(size_t));
    sorted->start = (size_t *)calloc((size_t)f->shards + 2, sizeof(size_t));
    if (shard == NULL || sorted->order == NULL || sorted->start == NULL) {
        free(shard);
        return cluster_fail(f->cluster, "out of memory");
    }
    crc32_table(table);
    /* start[s + 2] counts shard s; then start[s + 1] is where its next key goes, and at last
     * start[s] where it began. */
    for (size_t i = 0; i < count; i++) {
        shard[i] = f->shards > 1 ? shard_by(table, keys[i], lengths[i], f->shards) : 0;
        if (shard[i] + 2 <= f->shards) sorted->start[shard[i] + 2]++;
    }
    for (uint32_t s = 2; s <= f->shards; s++) sorted->start[s] += sorted->start[s - 1];
    for (size_t i = 0; i < count; i++) sorted->order[sorted->start[shard[i] + 1]++] = i;
    free(shard);
    return true;
}

static void sorted_free(struct sorted *sorted) {
    free(sorted->order);
    free(sorted->start);
}

/* A command about some keys of a shard: VERB KEY [NOCREATE ITEMS] item... */
static void ask_items(struct requests *requests, const tamis_sharded *f, const char *key,
                      const void *const *keys, const size_t *lengths, const size_t *order,
                      size_t count, bool add) {
    static const char *const adding[] = {"BF.INSERT", "CF.INSERTNX"};
    static const char *const asking[] = {"BF.MEXISTS", "CF.MEXISTS", "TAMIS.MEXISTS"};
    request_start(requests, key, add, 2 + (add ? 2u : 0u) + count);
    request_text(requests, add ? adding[f->kind] : asking[f->kind]);
    request_text(requests, key);
    if (add) {
        request_text(requests, "NOCREATE");
        request_text(requests, "ITEMS");
    }
    for (size_t i = 0; i < count; i++) request_word(requests, keys[order[i]], lengths[order[i]]);
}

/* The answers of one command back to their keys. */
static bool scatter(const tamis_sharded *f, const char *key, const redisReply *reply,
                    const size_t *order, size_t count, bool *answers) {
    if (reply->type != REDIS_REPLY_ARRAY) {
        if (reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "not found")) {
            return shard_missing(f, key);
        }
        if (reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "being loaded")) {
            return cluster_fail(f->cluster,
                                "'%s' is not whole: its file is being put, or that was interrupted",
                                key);
        }
        return shard_failed(f, key, reply);
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (one->type != REDIS_REPLY_INTEGER) return shard_failed(f, key, one);
        if (one->integer < 0) return cluster_fail(f->cluster, "'%s': the filter is full", key);
        if (i < count && answers != NULL) answers[order[i]] = one->integer == 1;
    }
    if (reply->elements != count) {
        return cluster_fail(f->cluster, "'%s': %zu answers to %zu keys", key, reply->elements,
                            count);
    }
    return true;
}

/* Both calls: sort, ask, scatter.  A question goes with a TYPE: see check_type. */
static bool run_items(tamis_sharded *f, const void *const *keys, const size_t *lengths,
                      size_t count, bool add, bool *answers) {
    struct requests requests = {0};
    struct sorted sorted = {NULL, NULL};
    char key[KEY_BYTES];
    bool good = sort_keys(f, keys, lengths, count, &sorted);
    for (uint32_t s = 0; good && s < f->shards; s++) {
        const char *name = shard_key(f, s, key);
        for (size_t i = sorted.start[s]; i < sorted.start[s + 1]; i += ITEMS_MAX) {
            const size_t left = sorted.start[s + 1] - i;
            ask_items(&requests, f, name, keys, lengths, sorted.order + i,
                      left < ITEMS_MAX ? left : ITEMS_MAX, add);
            if (!add) ask_key(&requests, "TYPE", name, false);
        }
    }
    good = good && cluster_run(f->cluster, &requests);
    size_t at = 0;
    for (uint32_t s = 0; good && s < f->shards; s++) {
        const char *name = shard_key(f, s, key);
        for (size_t i = sorted.start[s]; good && i < sorted.start[s + 1]; i += ITEMS_MAX) {
            const size_t left = sorted.start[s + 1] - i;
            good = scatter(f, name, requests.at[at++].reply, sorted.order + i,
                           left < ITEMS_MAX ? left : ITEMS_MAX, answers);
            if (good && !add) good = check_type(f, name, requests.at[at++].reply);
        }
    }
    sorted_free(&sorted);
    requests_free(&requests);
    return good;
}

bool tamis_sharded_add(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                       size_t count, bool *fresh) {
    if (filter->kind == TAMIS_SHARDED_STATIC) {
        return cluster_fail(filter->cluster,
                            "'%s' is static: keys are not added to it; build its file anew",
                            filter->name);
    }
    return run_items(filter, keys, lengths, count, true, fresh);
}

bool tamis_sharded_contains(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                            size_t count, bool *maybe) {
    return run_items(filter, keys, lengths, count, false, maybe);
}
