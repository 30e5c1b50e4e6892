/* shards.c - calls as commands to the shards; tamis_cluster.h describes the scheme
 *
 * A call sorts its keys by shard (a counting sort, which keeps the way back), makes commands of at
 * most ITEMS_MAX keys, runs them all at once and scatters the results. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

/* Items per command: enough to make the cost of a command negligible, few enough not to block the
 * server, which runs one command at a time (a few hundred microseconds). */
#define ITEMS_MAX 1000

#define FORMAT "tamis-shards-1"

#define CUCKOO_MIN 4 /* minimum capacity of CF.RESERVE: two buckets of two */

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

/* With braces in the name, all shards would be in one slot. */
static bool name_is_valid(tamis_cluster *cluster, const char *name) {
    if (name[0] == '\0' || strlen(name) > 480) {
        return cluster_fail(cluster, "a filter's name must have 1 to 480 bytes");
    }
    if (strchr(name, '{') != NULL) {
        return cluster_fail(cluster, "'%s': a filter's name cannot contain braces", name);
    }
    return true;
}

const char *shard_key(const tamis_sharded *f, uint32_t shard, char key[KEY_BYTES]) {
    if (f->plain) return f->name;
    snprintf(key, KEY_BYTES, "%s:{%" PRIu32 "}", f->name, shard);
    return key;
}

/* ---- commands of two and three words, one to each shard */

void request_key(struct requests *requests, const char *verb, const char *key, bool writes) {
    const char *const words[] = {verb, key};
    request_words(requests, key, writes, words, 2);
}

void request_shards(struct requests *requests, const char *verb, const tamis_sharded *filter,
                    bool writes) {
    char key[KEY_BYTES];
    for (uint32_t i = 0; i < filter->shards; i++) {
        request_key(requests, verb, shard_key(filter, i, key), writes);
    }
}

bool shard_failed(const tamis_sharded *filter, const char *key, const redisReply *reply) {
    return cluster_fail(filter->cluster, "'%s': %s", key,
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply");
}

bool reply_is_error(const redisReply *reply, const char *words) {
    return reply->type == REDIS_REPLY_ERROR && strstr(reply->str, words) != NULL;
}

/* Judges the reply of one shard: false with the error set if it is not as expected. */
typedef bool judge_shard(const tamis_sharded *f, const char *key, const redisReply *reply);

static bool is_done(const tamis_sharded *f, const char *key, const redisReply *reply) {
    return !reply_is_error(reply, "") || shard_failed(f, key, reply);
}

/* Runs one command for each shard, judges the replies and frees the requests. */
static bool run_shards(const tamis_sharded *f, struct requests *requests, judge_shard *judge) {
    char key[KEY_BYTES];
    bool good = cluster_run(f->cluster, requests);
    for (uint32_t i = 0; good && i < requests->count; i++) {
        good = judge(f, shard_key(f, i, key), requests->at[i].reply);
    }
    requests_free(requests);
    return good;
}

/* The same for one command about the name itself. */
static bool run_one(const tamis_sharded *f, struct requests *requests) {
    bool good = cluster_run(f->cluster, requests) && is_done(f, f->name, requests->at[0].reply);
    requests_free(requests);
    return good;
}

/* ---- finding */

/* Reads the hash; `whole` is false if it was never completed. */
static bool read_hash(const redisReply *hash, tamis_sharded *out, bool *whole) {
    const unsigned long count = strtoul(info_word(hash, "shards"), NULL, 10);
    const bool cuckoo = strcmp(info_word(hash, "kind"), "cuckoo") == 0;
    *whole = strcmp(info_word(hash, "format"), FORMAT) == 0;
    if (count < 1 || count > TAMIS_SHARDS_MAX) return false;
    out->shards = (uint32_t)count;
    out->kind = cuckoo ? TAMIS_SHARDED_CUCKOO : TAMIS_SHARDED_BLOOM;
    out->capacity = strtoull(info_word(hash, "capacity"), NULL, 10);
    out->fpr = strtod(info_word(hash, "rate"), NULL);
    return true;
}

/* `hash`: the reply of HGETALL, or WRONGTYPE if the key has just been replaced. */
static enum found judge_hash(tamis_sharded *out, const redisReply *hash) {
    bool whole = false;
    if (hash->type != REDIS_REPLY_ARRAY) {
        shard_failed(out, out->name, hash);
        return FOUND_ERROR;
    }
    if (!read_hash(hash, out, &whole)) {
        cluster_fail(out->cluster, "'%s' is a hash, but not of a filter", out->name);
        return FOUND_ERROR;
    }
    return whole ? FOUND_FILTER : FOUND_UNFINISHED;
}

/* Returns whether a key of this type is a filter itself. */
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
    request_key(&requests, "TYPE", name, false);
    request_key(&requests, "HGETALL", name, false);
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
                        filter->plain
                            ? "'%s' is missing"
                            : "the shard '%s' is missing: drop the filter and load it again",
                        key);
}

/* Checks the TYPE of a shard.  A missing shard, or one of another type, would deny every key. */
static bool check_type(const tamis_sharded *filter, const char *key, const redisReply *type) {
    tamis_sharded_kind kind;
    if (type->type != REDIS_REPLY_STATUS) return shard_failed(filter, key, type);
    if (strcmp(type->str, "none") == 0) return shard_missing(filter, key);
    if (type_is_filter(type->str, &kind) && kind == filter->kind) return true;
    return cluster_fail(filter->cluster, "'%s' is a %s, not the filter that was reserved", key,
                        type->str);
}

/* Checks that all shards exist. */
static bool check_shards(tamis_sharded *filter) {
    struct requests requests = {0};
    request_shards(&requests, "TYPE", filter, false);
    return run_shards(filter, &requests, check_type);
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
 *     1. HSETNX name owner TOKEN       one client wins; the token identifies a repetition
 *     2. no NAME:{i} exists
 *     3. BF.RESERVE each               "item exists": our own command, sent twice
 *     4. HSET name format ...          the filter is complete */

/* The last reply is the owner of the hash, or WRONGTYPE. */
static bool is_claimed(const tamis_sharded *f, const struct requests *requests, const char *token) {
    for (size_t i = 0; i < requests->count; i++) {
        const redisReply *reply = requests->at[i].reply;
        if (reply_is_error(reply, "") && strncmp(reply->str, "WRONGTYPE", 9) != 0) {
            return shard_failed(f, f->name, reply);
        }
    }
    const redisReply *owner = requests->at[requests->count - 1].reply;
    if (owner->type == REDIS_REPLY_STRING && strcmp(owner->str, token) == 0) return true;
    return cluster_fail(f->cluster, "'%s' already exists", f->name);
}

static bool claim(tamis_sharded *f) {
    struct requests requests = {0};
    struct timespec now;
    char token[64], shards[16];
    timespec_get(&now, TIME_UTC);
    snprintf(token, sizeof token, "%llx%08lx-%p", (unsigned long long)now.tv_sec,
             (unsigned long)now.tv_nsec, (void *)f->cluster);
    snprintf(shards, sizeof shards, "%" PRIu32, f->shards);
    const char *const claims[][4] = {{"HSETNX", f->name, "owner", token},
                                     {"HSETNX", f->name, "shards", shards},
                                     {"HGET", f->name, "owner"}};
    request_words(&requests, f->name, true, claims[0], 4);
    request_words(&requests, f->name, true, claims[1], 4);
    request_words(&requests, f->name, false, claims[2], 3);
    const bool good = cluster_run(f->cluster, &requests) && is_claimed(f, &requests, token);
    requests_free(&requests);
    return good;
}

static bool is_absent(const tamis_sharded *f, const char *key, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 0) return true;
    if (reply_is_error(reply, "")) return shard_failed(f, key, reply);
    return cluster_fail(f->cluster, "the key '%s' already exists: remove it first", key);
}

static bool nothing_in_the_way(tamis_sharded *f) {
    struct requests requests = {0};
    request_shards(&requests, "EXISTS", f, false);
    return run_shards(f, &requests, is_absent);
}

/* The part of a shard has a binomial distribution: with five standard deviations on top it rarely
 * has to grow.  A CF has at least two buckets. */
static uint64_t shard_capacity(const tamis_sharded *f) {
    const double least = f->kind == TAMIS_SHARDED_CUCKOO ? CUCKOO_MIN : 1;
    const double mean = (double)f->capacity / f->shards;
    const double room = f->shards > 1 ? mean + 5 * sqrt(mean) : mean;
    return (uint64_t)ceil(room < least ? least : room);
}

/* BF.RESERVE key rate capacity; CF.RESERVE key capacity EXPANSION 2 [ERROR rate], of which ERROR is
 * an option of tamis.  A CF grows a few dozen times at most (cf-max-expansions), and without
 * EXPANSION only by its first capacity each time. */
static void reserve_shard(struct requests *requests, const tamis_sharded *f, const char *key) {
    char fpr[40], capacity[32];
    snprintf(fpr, sizeof fpr, "%.17g", f->fpr);
    snprintf(capacity, sizeof capacity, "%" PRIu64, shard_capacity(f));
    const bool bloom = f->kind == TAMIS_SHARDED_BLOOM, rated = !bloom && f->fpr > 0;
    request_start(requests, key, true, bloom ? 4 : rated ? 7 : 5);
    request_text(requests, bloom ? "BF.RESERVE" : "CF.RESERVE");
    request_text(requests, key);
    if (bloom) request_text(requests, fpr);
    request_text(requests, capacity);
    if (!bloom) {
        request_text(requests, "EXPANSION");
        request_text(requests, "2");
    }
    if (rated) {
        request_text(requests, "ERROR");
        request_text(requests, fpr);
    }
}

static bool is_reserved(const tamis_sharded *f, const char *key, const redisReply *reply) {
    const bool good = reply->type == REDIS_REPLY_STATUS || reply_is_error(reply, "item exists");
    return good || shard_failed(f, key, reply);
}

static bool make_shards(tamis_sharded *f) {
    struct requests requests = {0};
    char key[KEY_BYTES];
    for (uint32_t i = 0; i < f->shards; i++) {
        reserve_shard(&requests, f, shard_key(f, i, key));
    }
    return run_shards(f, &requests, is_reserved);
}

/* In one command, so that readers see all fields or an unfinished hash. */
static bool complete(tamis_sharded *f) {
    struct requests requests = {0};
    char capacity[32], fpr[40];
    snprintf(capacity, sizeof capacity, "%" PRIu64, f->capacity);
    snprintf(fpr, sizeof fpr, "%.17g", f->fpr);
    const char *const words[] = {"HSET",     f->name,
                                 "format",   FORMAT,
                                 "kind",     f->kind == TAMIS_SHARDED_BLOOM ? "bloom" : "cuckoo",
                                 "capacity", capacity,
                                 "rate",     fpr};
    request_words(&requests, f->name, true, words, sizeof words / sizeof words[0]);
    return run_one(f, &requests);
}

/* Removes the hash last, so that an interrupted drop can be repeated. */
static bool unlink_all(tamis_sharded *f, bool shards_too) {
    struct requests requests = {0};
    if (shards_too) {
        request_shards(&requests, "UNLINK", f, true);
        if (!run_shards(f, &requests, is_done)) return false;
    }
    request_key(&requests, "UNLINK", f->name, true);
    return run_one(f, &requests);
}

/* After a failure, if the servers can be reached now; otherwise a drop can finish it.  Keeps the
 * first error. */
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

/* RedisBloom accepts the rate of a CF and ignores it. */
static bool fpr_is_kept(tamis_sharded *f) {
    struct requests requests = {0};
    if (f->kind != TAMIS_SHARDED_CUCKOO || !(f->fpr > 0)) return true;
    request_key(&requests, "TAMIS.INFO", f->name, false);
    bool good = cluster_run(f->cluster, &requests);
    if (good && reply_is_error(requests.at[0].reply, "unknown command")) {
        good = cluster_fail(f->cluster,
                            "the server has not loaded the tamis module; other modules "
                            "ignore the rate of a cuckoo filter");
    }
    requests_free(&requests);
    return good;
}

bool tamis_sharded_reserve(tamis_cluster *cluster, const char *name, const tamis_sharded *want) {
    tamis_sharded f = *want;
    if (!name_is_valid(cluster, name)) return false;
    if (want->kind == TAMIS_SHARDED_STATIC) {
        return cluster_fail(cluster, "a static filter cannot be reserved: use put");
    }
    if (want->shards < 1 || want->shards > TAMIS_SHARDS_MAX) {
        return cluster_fail(cluster, "a filter has 1 to %d shards", TAMIS_SHARDS_MAX);
    }
    f.cluster = cluster;
    f.plain = false;
    snprintf(f.name, sizeof f.name, "%s", name);
    if (!fpr_is_kept(&f) || !claim(&f)) return false;
    const bool free = nothing_in_the_way(&f);
    if (free && make_shards(&f) && complete(&f)) return true;
    undo(&f, free);
    return false;
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
    /* start[s + 2] counts shard s; then start[s + 1] is the place of its next key, and in the end
     * start[s] its first. */
    for (size_t i = 0; i < count; i++) {
        shard[i] = f->shards > 1 ? shard_by(table, keys[i], lengths[i], f->shards) : 0;
        if (shard[i] + 2 <= f->shards) sorted->start[shard[i] + 2]++;
    }
    for (uint32_t s = 2; s <= f->shards; s++) sorted->start[s] += sorted->start[s - 1];
    for (size_t i = 0; i < count; i++) sorted->order[sorted->start[shard[i] + 1]++] = i;
    free(shard);
    return true;
}

/* A command about some keys of a shard: VERB KEY [NOCREATE ITEMS] item... */
static void request_items(struct requests *requests, const tamis_sharded *f, const char *key,
                          const void *const *keys, const size_t *lengths, const size_t *order,
                          size_t count, bool add) {
    static const char *const adding[] = {"BF.INSERT", "CF.INSERTNX"};
    static const char *const querying[] = {"BF.MEXISTS", "CF.MEXISTS", "TAMIS.MEXISTS"};
    request_start(requests, key, add, 2 + (add ? 2u : 0u) + count);
    request_text(requests, add ? adding[f->kind] : querying[f->kind]);
    request_text(requests, key);
    if (add) {
        request_text(requests, "NOCREATE");
        request_text(requests, "ITEMS");
    }
    for (size_t i = 0; i < count; i++) request_word(requests, keys[order[i]], lengths[order[i]]);
}

/* Copies the results of one command to their keys. */
static bool scatter(const tamis_sharded *f, const char *key, const redisReply *reply,
                    const size_t *order, size_t count, bool *results) {
    if (reply->type != REDIS_REPLY_ARRAY) {
        if (reply_is_error(reply, "not found")) return shard_missing(f, key);
        if (reply_is_error(reply, "being loaded")) {
            return cluster_fail(
                f->cluster, "'%s' is incomplete: its upload is running or was interrupted", key);
        }
        return shard_failed(f, key, reply);
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (one->type != REDIS_REPLY_INTEGER) return shard_failed(f, key, one);
        if (one->integer < 0) return cluster_fail(f->cluster, "'%s': the filter is full", key);
        if (i < count && results != NULL) results[order[i]] = one->integer == 1;
    }
    if (reply->elements != count) {
        return cluster_fail(f->cluster, "'%s': %zu results for %zu keys", key, reply->elements,
                            count);
    }
    return true;
}

/* Adds or queries: sort, send, scatter.  A query includes a TYPE: see check_type. */
static bool run_items(tamis_sharded *f, const void *const *keys, const size_t *lengths,
                      size_t count, bool add, bool *results) {
    struct requests requests = {0};
    struct sorted sorted = {NULL, NULL};
    char key[KEY_BYTES];
    bool good = sort_keys(f, keys, lengths, count, &sorted);
    for (uint32_t s = 0; good && s < f->shards; s++) {
        const char *name = shard_key(f, s, key);
        for (size_t i = sorted.start[s]; i < sorted.start[s + 1]; i += ITEMS_MAX) {
            const size_t left = sorted.start[s + 1] - i;
            request_items(&requests, f, name, keys, lengths, sorted.order + i,
                          left < ITEMS_MAX ? left : ITEMS_MAX, add);
            if (!add) request_key(&requests, "TYPE", name, false);
        }
    }
    good = good && cluster_run(f->cluster, &requests);
    size_t at = 0;
    for (uint32_t s = 0; good && s < f->shards; s++) {
        const char *name = shard_key(f, s, key);
        for (size_t i = sorted.start[s]; good && i < sorted.start[s + 1]; i += ITEMS_MAX) {
            const size_t left = sorted.start[s + 1] - i;
            good = scatter(f, name, requests.at[at++].reply, sorted.order + i,
                           left < ITEMS_MAX ? left : ITEMS_MAX, results);
            if (good && !add) good = check_type(f, name, requests.at[at++].reply);
        }
    }
    free(sorted.order);
    free(sorted.start);
    requests_free(&requests);
    return good;
}

bool tamis_sharded_add(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                       size_t count, bool *fresh) {
    if (filter->kind == TAMIS_SHARDED_STATIC) {
        return cluster_fail(filter->cluster, "'%s' is static and accepts no keys: build a new file",
                            filter->name);
    }
    return run_items(filter, keys, lengths, count, true, fresh);
}

bool tamis_sharded_contains(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                            size_t count, bool *maybe) {
    return run_items(filter, keys, lengths, count, false, maybe);
}
