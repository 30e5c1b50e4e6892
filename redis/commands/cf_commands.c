/* cf_commands.c - the CF commands
 *
 * Syntax, replies and texts are those of RedisBloom 8; doc/redis.md lists additions.  Replication
 * as in bf_commands.c: effects, with all parameters, and only if something changed. */
#include "commands/args.h"
#include "commands/batch_replies.h"
#include "commands/commands.h"
#include "commands/replies.h"
#include "filters/cf.h"
#include "persist/types.h"
#include "server/memory.h"
#include "server/settings.h"
#include "server/worker.h"
#include "tables/bools.h"

#define NO_MEMORY "ERR Insufficient memory to create filter"
#define UNKNOWN "Unknown argument received"

/* ---- creating a filter */

static struct cf default_want(void) {
    return (struct cf){.error = CF_ERROR_DEFAULT,
                       .capacity = (uint64_t)settings()->cf_initial_size,
                       .bucket_size = (uint16_t)settings()->cf_bucket_size,
                       .iterations = (uint16_t)settings()->cf_max_iterations,
                       .expansion = (uint32_t)settings()->cf_expansion_factor};
}

/* Creates the filter in an empty key and replicates it.  Replies with an error and returns NULL on
 * failure. */
static struct cf *make_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                              const struct cf *want) {
    const uint64_t bytes = cf_plan(want);
    struct cf *f = bytes == UINT64_MAX || !memory_admits(ctx, bytes) ? NULL : cf_create(want);
    if (f == NULL) {
        reply_error(ctx, NO_MEMORY);
        return NULL;
    }
    RedisModule_ModuleTypeSetValue(key->handle, cf_type, f);
    replicate_header(ctx, name, &cf_ops, f);
    return f;
}

enum { ITERATIONS, BUCKET, EXPANSION, LIMIT, NUMBERS };

/* The numeric options, in the order in which RedisBloom checks them. */
static const struct {
    const char *word;
    long long min, max;
    const char *bad, *out;
} numbers[NUMBERS] = {
    [ITERATIONS] = {"MAXITERATIONS", 1, CF_ITERATIONS_MAX, "Couldn't parse MAXITERATIONS",
                    "MAXITERATIONS: value must be in the range [1, 65535]"},
    [BUCKET] = {"BUCKETSIZE", 1, CF_BUCKET_MAX, "Couldn't parse BUCKETSIZE",
                "BUCKETSIZE: value must be in the range [1, 255]"},
    [EXPANSION] = {"EXPANSION", 0, CF_EXPANSION_MAX, "Couldn't parse EXPANSION",
                   "EXPANSION: value must be in the range [0, 32768]"},
    [LIMIT] = {"MAXMEMORY", 1, INT64_MAX, "Couldn't parse MAXMEMORY",
               "MAXMEMORY: value must be positive"},
};

static bool is_option(RedisModuleString *word) {
    for (int i = 0; i < NUMBERS; i++) {
        if (arg_is(word, numbers[i].word)) return true;
    }
    return arg_is(word, "ERROR");
}

/* The value of an option, of the first if it is repeated, as in RedisBloom; NULL if it is missing.
 */
static RedisModuleString *option(RedisModuleString **argv, int argc, const char *word) {
    for (int i = 3; i < argc; i += 2) {
        if (arg_is(argv[i], word)) return argv[i + 1];
    }
    return NULL;
}

static const char *reserve_numbers(RedisModuleString **argv, int argc, struct cf *want) {
    long long number[NUMBERS] = {want->iterations, want->bucket_size, want->expansion, 0};
    for (int i = 0; i < NUMBERS; i++) {
        RedisModuleString *value = option(argv, argc, numbers[i].word);
        if (value == NULL) continue;
        const enum arg_status status =
            arg_integer(value, numbers[i].min, numbers[i].max, &number[i]);
        if (status != ARG_OK) return status == ARG_BAD ? numbers[i].bad : numbers[i].out;
    }
    want->iterations = (uint16_t)number[ITERATIONS];
    want->bucket_size = (uint16_t)number[BUCKET];
    want->expansion = (uint32_t)number[EXPANSION];
    want->limit = (uint64_t)number[LIMIT];
    return NULL;
}

static const char *reserve_options(RedisModuleString **argv, int argc, struct cf *want) {
    long long capacity;
    *want = default_want();
    if (arg_integer(argv[2], INT64_MIN, INT64_MAX, &capacity) != ARG_OK) return "Bad capacity";
    for (int i = 3; i < argc; i += 2) {
        if (!is_option(argv[i])) return UNKNOWN;
    }
    const char *wrong = reserve_numbers(argv, argc, want);
    if (wrong != NULL) return wrong;
    RedisModuleString *error = option(argv, argc, "ERROR");
    if (error != NULL && arg_fpr(error, &want->error) != ARG_OK) return "Bad error rate";
    if (capacity < 2 * want->bucket_size || capacity > (long long)CF_CAPACITY_MAX) {
        return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
    }
    want->capacity = (uint64_t)capacity;
    return NULL;
}

/* CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR e]
 * [MAXMEMORY bytes] */
int cf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct cf want;
    if (argc % 2 == 0) return RedisModule_WrongArity(ctx);
    const char *wrong = reserve_options(argv, argc, &want);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (key.state != KEY_EMPTY) {
        reply_error(ctx, key_error(key.state));
    } else if (make_filter(ctx, argv[1], &key, &want) != NULL) {
        key_changed(ctx, argv[1], "cf.reserve");
        reply_ok(ctx);
    }
    return key_close(&key);
}

/* ---- adding */

struct insertion {
    uint64_t capacity; /* of a new filter; 0: the default */
    bool nx, nocreate, many;
    int items; /* index of the first item; 0: no ITEMS */
};

static const char *add_error(enum cf_result result) {
    switch (result) {
        case CF_EXPANSIONS:
            return "Maximum expansions reached";
        case CF_NO_MEMORY:
            return "ERR Insufficient memory";
        case CF_LIMIT:
            return "ERR the filter is at its memory limit";
        case CF_LOADING:
            return "ERR the filter is being loaded";
        default:
            return "Filter is full";
    }
}

/* One of many items that cannot be added is -1.  RESP3 has booleans, except for CF.INSERTNX. */
static void reply_result(RedisModuleCtx *ctx, const struct insertion *how, enum cf_result result) {
    const bool failed = result > CF_ADDED;
    if (failed && !how->many) {
        reply_error(ctx, add_error(result));
    } else if (failed && (how->nx || !reply_is_resp3(ctx))) {
        RedisModule_ReplyWithLongLong(ctx, -1);
    } else if (how->many && how->nx) {
        RedisModule_ReplyWithLongLong(ctx, result == CF_ADDED);
    } else {
        RedisModule_ReplyWithBool(ctx, result == CF_ADDED);
    }
}

/* Adds all items and replies for each.  Moves those that were added to the front and returns their
 * number. */
static size_t add_items(RedisModuleCtx *ctx, struct cf *f, RedisModuleString **items, size_t count,
                        const struct insertion *how, uint64_t expansions) {
    struct items batch;
    uint8_t results[SCALABLE_BATCH];
    bool is_added[SCALABLE_BATCH];
    const enum results_as as = how->many && how->nx ? RESULTS_NUMBERS : RESULTS_BOOLEANS;
    size_t added = 0;
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(items + at, count - at, &batch);
        const size_t refused = cf_add(f, &batch, how->nx, expansions, results);
        for (size_t i = 0; i < batch.count; i++) is_added[i] = results[i] == CF_ADDED;
        if (refused == 0) {
            results_reply(ctx, is_added, batch.count, as);
        } else {
            for (size_t i = 0; i < batch.count; i++) reply_result(ctx, how, results[i]);
        }
        added = args_to_front(items, added, at, is_added, batch.count,
                              bools_count(is_added, batch.count));
    }
    return added;
}

static size_t add_item(RedisModuleCtx *ctx, struct cf *f, RedisModuleString *arg,
                       const struct insertion *how, uint64_t expansions) {
    const struct item item = arg_item(arg);
    const enum cf_result result = cf_add_one(f, item.bytes, item.length, how->nx, expansions);
    reply_result(ctx, how, result);
    return result == CF_ADDED;
}

/* If all items were added the client's command is replicated, which is cheaper. */
static void replicate_items(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                            size_t count, bool all) {
    if (all) {
        RedisModule_ReplicateVerbatim(ctx);
    } else if (count > 0) {
        RedisModule_Replicate(ctx, "CF.INSERT", "sccv", name, "NOCREATE", "ITEMS", items, count);
    }
}

/* Returns whether `count` more items may need more than `expansions` sub-filters. */
static bool may_exceed(const struct cf *f, size_t count, uint64_t expansions) {
    if (f->redisbloom != NULL) { /* sub-filters + count > expansions, in constant time */
        return count > expansions ||
               tamis_storage_table(f->redisbloom, (size_t)expansions - count) != NULL;
    }
    return f->expansion != 0 && f->items + count > f->other_slots + f->last_slots &&
           f->subfilters + count >= expansions;
}

/* A full filter refuses the whole command, as in RedisBloom. */
static int insert(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                  size_t count, const struct insertion *how, RedisModuleCmdFunc command) {
    uint64_t expansions = (uint64_t)settings()->cf_max_expansions;
    const struct key key = key_open(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (key_must_wait(ctx, &key, cf_unready, count, true, command)) return REDISMODULE_OK;
    struct cf *f = key.value;
    const bool make = key.state == KEY_EMPTY && !how->nocreate;
    if (make) {
        struct cf want = default_want();
        if (how->capacity != 0) want.capacity = how->capacity;
        f = make_filter(ctx, name, &key, &want);
    }
    if (f == NULL) {
        if (!make) reply_error(ctx, key_error(key.state));
    } else if (cf_is_loading(f)) {
        reply_error(ctx, add_error(CF_LOADING));
    } else if (may_exceed(f, 1, expansions) && !redis_is_following(ctx)) {
        reply_error(ctx, add_error(CF_EXPANSIONS));
    } else {
        /* Items accepted by the primary are added: the limits here may differ. */
        const bool limited = f->limit != 0 || may_exceed(f, count, expansions);
        if (limited && redis_is_following(ctx)) expansions = CF_TAKE_ALL;
        if (how->many) RedisModule_ReplyWithArray(ctx, (long)count);
        const size_t added = how->many ? add_items(ctx, f, items, count, how, expansions)
                                       : add_item(ctx, f, *items, how, expansions);
        replicate_items(ctx, name, items, added, added == count);
        if (added != 0 || make) key_changed(ctx, name, "cf.add");
    }
    return key_close(&key);
}

/* CF.ADD key item */
int cf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct insertion how = {.nx = false};
    return insert(ctx, argv[1], argv + 2, 1, &how, cf_add_command);
}

/* CF.ADDNX key item */
int cf_addnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct insertion how = {.nx = true};
    return insert(ctx, argv[1], argv + 2, 1, &how, cf_addnx_command);
}

/* A capacity accepted by the primary is accepted: its buckets may be smaller than those here. */
static const char *insert_capacity(RedisModuleCtx *ctx, RedisModuleString *value,
                                   struct insertion *how) {
    const long long min = 2 * settings()->cf_bucket_size;
    long long capacity;
    const enum arg_status status = arg_integer(value, 1, (long long)CF_CAPACITY_MAX, &capacity);
    if (status == ARG_BAD) return "Bad capacity";
    if (status != ARG_OK || (capacity < min && !redis_is_following(ctx))) {
        return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
    }
    how->capacity = (uint64_t)capacity;
    return NULL;
}

static const char *insert_options(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                                  struct insertion *how) {
    const char *wrong = NULL;
    for (int i = 2; i < argc && how->items == 0; i++) {
        if (arg_is(argv[i], "ITEMS")) {
            how->items = i + 1;
        } else if (arg_is(argv[i], "NOCREATE")) {
            how->nocreate = true;
        } else if (arg_is(argv[i], "CAPACITY")) {
            if (++i == argc) return ARITY;
            wrong = insert_capacity(ctx, argv[i], how);
        } else {
            return UNKNOWN;
        }
        if (wrong != NULL) return wrong;
    }
    return how->items == 0 || how->items == argc ? ARITY : NULL;
}

static int insert_many(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool nx,
                       RedisModuleCmdFunc command) {
    struct insertion how = {.nx = nx, .many = true};
    const char *wrong = insert_options(ctx, argv, argc, &how);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const size_t count = (size_t)(argc - how.items);
    return insert(ctx, argv[1], argv + how.items, count, &how, command);
}

/* CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item... */
int cf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert_many(ctx, argv, argc, false, cf_insert_command);
}

/* CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item... */
int cf_insertnx_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert_many(ctx, argv, argc, true, cf_insertnx_command);
}

/* ---- queries */

static void contains(const void *filter, const struct items *items, bool *results) {
    cf_contains(filter, items, results);
}

/* CF.EXISTS key item */
int cf_exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    const struct item item = arg_item(argv[2]);
    RedisModule_ReplyWithBool(
        ctx, key.state == KEY_OURS && cf_contains_one(key.value, item.bytes, item.length));
    return key_close(&key);
}

/* CF.MEXISTS key item... */
int cf_mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    contains_reply(ctx, contains, key.value, argv + 2, (size_t)argc - 2, true);
    return key_close(&key);
}

/* CF.COUNT key item */
int cf_count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    const struct item item = arg_item(argv[2]);
    const uint64_t count = key.state == KEY_OURS ? cf_count(key.value, item.bytes, item.length) : 0;
    RedisModule_ReplyWithLongLong(ctx, (long long)count);
    return key_close(&key);
}

/* ---- removing */

/* 0 means that the item is not there, so a removal that fails is an error. */
static void delete_item(RedisModuleCtx *ctx, RedisModuleString *name, struct cf *f,
                        struct item item) {
    bool removed;
    if (!cf_remove(f, item.bytes, item.length, &removed)) {
        reply_error(ctx, add_error(CF_NO_MEMORY));
        return;
    }
    if (removed) {
        RedisModule_ReplicateVerbatim(ctx);
        key_changed(ctx, name, "cf.del");
    }
    RedisModule_ReplyWithBool(ctx, removed);
}

/* CF.DEL key item */
int cf_del_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (key_must_wait(ctx, &key, cf_unready, 1, true, cf_del_command)) return REDISMODULE_OK;
    if (key.state != KEY_OURS) {
        reply_error(ctx, "Not found");
    } else if (cf_is_loading(key.value)) {
        reply_error(ctx, add_error(CF_LOADING));
    } else {
        delete_item(ctx, argv[1], key.value, arg_item(argv[2]));
    }
    return key_close(&key);
}

/* CF.COMPACT key */
int cf_compact_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (key_must_wait(ctx, &key, cf_unready, SIZE_MAX, true, cf_compact_command))
        return REDISMODULE_OK;
    if (key.state != KEY_OURS) {
        reply_error(ctx, "Cuckoo filter was not found");
    } else if (cf_is_loading(key.value)) {
        reply_error(ctx, add_error(CF_LOADING));
    } else {
        if (cf_compact(key.value)) {
            RedisModule_ReplicateVerbatim(ctx);
            key_changed(ctx, argv[1], "cf.compact");
        }
        reply_ok(ctx);
    }
    return key_close(&key);
}

/* ---- CF.INFO, CF.DEBUG */

/* CF.INFO key */
int cf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct key key;
    const struct cf *f = key_need(ctx, argv[1], cf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    const struct cf_numbers n = cf_numbers(f);
    RedisModule_ReplyWithMap(ctx, 8);
    reply_field(ctx, "Size", n.bytes);
    reply_field(ctx, "Number of buckets", n.buckets);
    reply_field(ctx, "Number of filters", n.subfilters);
    reply_field(ctx, "Number of items inserted", n.items);
    reply_field(ctx, "Number of items deleted", n.deletes);
    reply_field(ctx, "Bucket size", n.bucket_size);
    reply_field(ctx, "Expansion rate", n.expansion);
    reply_field(ctx, "Max iterations", n.iterations);
    return key_close(&key);
}

/* CF.DEBUG key */
int cf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct key key;
    const struct cf *f = key_need(ctx, argv[1], cf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    const struct cf_numbers n = cf_numbers(f);
    reply_line(ctx,
               "bktsize:%llu buckets:%llu items:%llu deletes:%llu filters:%llu max_iterations:%llu "
               "expansion:%llu",
               (unsigned long long)n.bucket_size, (unsigned long long)n.buckets,
               (unsigned long long)n.items, (unsigned long long)n.deletes,
               (unsigned long long)n.subfilters, (unsigned long long)n.iterations,
               (unsigned long long)n.expansion);
    return key_close(&key);
}

/* ---- chunks */

/* CF.SCANDUMP key iterator */
int cf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long iterator, next = 0;
    if (arg_integer(argv[2], 0, INT64_MAX, &iterator) != ARG_OK) {
        return reply_error(ctx, "Invalid position");
    }
    struct key key;
    const struct cf *f = key_need(ctx, argv[1], cf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    size_t length = 0;
    uint8_t *chunk =
        cf_numbers(f).items == 0 ? NULL : serialize_chunk(&cf_ops, f, iterator, &length, &next);
    reply_chunk(ctx, next, chunk, length, true);
    return key_close(&key);
}

static const char *load_header(RedisModuleCtx *ctx, const struct key *key, const uint8_t *bytes,
                               size_t length) {
    const bool ours = serialize_is_header(&cf_ops, bytes, length);
    if (!ours && length != REDISBLOOM_CUCKOO_HEADER) return "Invalid header";
    struct cf *f = ours ? serialize_open(&cf_ops, bytes, length)
                        : cf_of_redisbloom(redisbloom_accept(ctx, TAMIS_CUCKOO, bytes, length));
    if (f == NULL) return "Couldn't create filter!";
    RedisModule_ModuleTypeSetValue(key->handle, cf_type, f);
    return NULL;
}

static const char *load_chunk(struct cf *f, long long iterator, const uint8_t *bytes,
                              size_t length) {
    bool good = false;
    if (f->redisbloom == NULL) {
        good = cf_ops.load_chunk(f, (uint64_t)iterator - 2, bytes, length);
    } else if (iterator >= 1 && length != 0 && (uint64_t)iterator - 1 >= length) {
        const uint64_t offset = (uint64_t)iterator - 1 - length;
        good = redisbloom_write(f->redisbloom, offset, bytes, length) == WRITE_OK;
    }
    return good ? NULL : "Couldn't load chunk!";
}

/* CF.LOADCHUNK key iterator data */
int cf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long iterator;
    size_t length;
    const uint8_t *bytes = (const uint8_t *)RedisModule_StringPtrLen(argv[3], &length);
    if (serialize_is_header(&cf_ops, bytes, length)) hide_argument(ctx, 3);
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK || iterator == 0) {
        return reply_error(ctx, "Invalid position");
    }
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    const char *wrong;
    if (key.state == KEY_EMPTY && iterator == 1) {
        wrong = load_header(ctx, &key, bytes, length);
    } else if (key.state != KEY_OURS || iterator == 1) {
        wrong = key_error(key.state);
    } else {
        wrong = load_chunk(key.value, iterator, bytes, length);
    }
    key_close(&key);
    return reply_done(ctx, argv[1], wrong, "cf.loadchunk");
}
