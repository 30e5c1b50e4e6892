/* cf_commands.c - the commands CF.*
 *
 * Syntax, replies and texts are those of RedisBloom 8; doc/redis.md lists what is new.
 * Replication as in bf_commands.c: what was done, with all parameters, and only if something
 * was. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "args.h"
#include "cf.h"
#include "marks.h"
#include "memory.h"
#include "replies.h"
#include "settings.h"
#include "types.h"
#include "worker.h"

#define NO_MEMORY "ERR Insufficient memory to create filter"
#define UNKNOWN "Unknown argument received"

/* Must a command that changes so many items wait, after a COPY?  It is run `again` then, or
 * told to try again; the key is closed. */
static bool must_wait(RedisModuleCtx *ctx, const struct key *key, size_t items,
                      RedisModuleCmdFunc again) {
    if (worker_jobs() == 0 && !worker_has_waited(ctx)) return false;
    const size_t unready = key->state == KEY_OURS ? cf_unready(key->value, items, true) : 0;
    const bool waits = key_is_late(ctx, key, true) ||
                       (!worker_leaves(unready) && worker_wait(ctx, again, WORKER_CHANGES));
    if (waits) key_close(key);
    return waits;
}

/* ---- making a filter */

static struct cf_want default_want(void) {
    return (struct cf_want){.error = CF_ERROR_DEFAULT,
                            .capacity = (uint64_t)settings()->cf_initial_size,
                            .bucket_size = (uint16_t)settings()->cf_bucket_size,
                            .iterations = (uint16_t)settings()->cf_max_iterations,
                            .expansion = (uint32_t)settings()->cf_expansion_factor};
}

/* Makes the filter in an empty key, and replicates that; NULL, with a reply, if it cannot. */
static struct cf *make_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                              const struct cf_want *want) {
    const uint64_t bytes = cf_plan(want);
    struct cf *f = bytes == UINT64_MAX || !memory_admits(ctx, bytes) ? NULL : cf_create(want);
    if (f == NULL) {
        reply_error(ctx, NO_MEMORY);
        return NULL;
    }
    RedisModule_ModuleTypeSetValue(key->handle, cf_type, f);
    size_t length;
    uint8_t *header = cf_header(f, &length);
    if (header != NULL) {
        RedisModule_Replicate(ctx, "CF.LOADCHUNK", "scb", name, "1", (const char *)header, length);
    }
    memory_free(header);
    return f;
}

enum { ITERATIONS, BUCKET, EXPANSION, LIMIT, NUMBERS };

/* The options that are numbers, in the order in which RedisBloom looks at them. */
static const struct {
    const char *word;
    long long least, most;
    const char *bad, *out;
} numbers[NUMBERS] = {
    [ITERATIONS] = {"MAXITERATIONS", 1, CF_ITERATIONS_MOST, "Couldn't parse MAXITERATIONS",
                    "MAXITERATIONS: value must be in the range [1, 65535]"},
    [BUCKET] = {"BUCKETSIZE", 1, CF_BUCKET_MOST, "Couldn't parse BUCKETSIZE",
                "BUCKETSIZE: value must be in the range [1, 255]"},
    [EXPANSION] = {"EXPANSION", 0, CF_EXPANSION_MOST, "Couldn't parse EXPANSION",
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

/* The value of an option, of the first if it is there twice: so RedisBloom takes it.  NULL: it is
 * not there. */
static RedisModuleString *option(RedisModuleString **argv, int argc, const char *word) {
    for (int i = 3; i < argc; i += 2) {
        if (arg_is(argv[i], word)) return argv[i + 1];
    }
    return NULL;
}

static const char *reserve_numbers(RedisModuleString **argv, int argc, struct cf_want *want) {
    long long number[NUMBERS] = {want->iterations, want->bucket_size, want->expansion, 0};
    for (int i = 0; i < NUMBERS; i++) {
        RedisModuleString *value = option(argv, argc, numbers[i].word);
        if (value == NULL) continue;
        const enum arg_status status =
            arg_integer(value, numbers[i].least, numbers[i].most, &number[i]);
        if (status != ARG_OK) return status == ARG_BAD ? numbers[i].bad : numbers[i].out;
    }
    want->iterations = (uint16_t)number[ITERATIONS];
    want->bucket_size = (uint16_t)number[BUCKET];
    want->expansion = (uint32_t)number[EXPANSION];
    want->limit = (uint64_t)number[LIMIT];
    return NULL;
}

static const char *reserve_options(RedisModuleString **argv, int argc, struct cf_want *want) {
    long long capacity;
    *want = default_want();
    if (arg_integer(argv[2], INT64_MIN, INT64_MAX, &capacity) != ARG_OK) return "Bad capacity";
    for (int i = 3; i < argc; i += 2) {
        if (!is_option(argv[i])) return UNKNOWN;
    }
    const char *wrong = reserve_numbers(argv, argc, want);
    if (wrong != NULL) return wrong;
    RedisModuleString *error = option(argv, argc, "ERROR");
    if (error != NULL && arg_rate(error, &want->error) != ARG_OK) return "Bad error rate";
    if (capacity < 2 * want->bucket_size || capacity > (long long)CF_CAPACITY_MOST) {
        return "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
    }
    want->capacity = (uint64_t)capacity;
    return NULL;
}

/* CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR e]
 * [MAXMEMORY bytes] */
static int cf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct cf_want want;
    if (argc < 3 || argc % 2 == 0) return RedisModule_WrongArity(ctx);
    const char *wrong = reserve_options(argv, argc, &want);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (key.state != KEY_EMPTY) {
        reply_error(ctx, key_error(key.state));
    } else if (make_filter(ctx, argv[1], &key, &want) != NULL) {
        key_changed(ctx, argv[1], "cf.reserve");
        reply_ok(ctx);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- adding */

struct insertion {
    uint64_t capacity; /* of a filter that is made; 0: the default */
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

/* One item of many that cannot be added is -1; RESP3 has booleans, but for CF.INSERTNX. */
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

/* Replies for all items of a batch. */
static void reply_results(RedisModuleCtx *ctx, const struct insertion *how, const uint8_t *results,
                          const bool *added, size_t count, size_t refused) {
    if (refused == 0) {
        answers_reply(ctx, added, count, how->nx ? ANSWERS_NUMBERS : ANSWERS_BOOLEANS);
        return;
    }
    for (size_t i = 0; i < count; i++) reply_result(ctx, how, (enum cf_result)results[i]);
}

/* Adds an item and replies.  Returns whether it was added. */
static bool add_item(RedisModuleCtx *ctx, struct cf *f, RedisModuleString *arg,
                     const struct insertion *how, uint64_t expansions) {
    const struct item item = arg_item(arg);
    const enum cf_result result = cf_add_one(f, item.bytes, item.length, how->nx, expansions);
    reply_result(ctx, how, result);
    return result == CF_ADDED;
}

/* Adds all items and replies for each; those that were added are moved to the front, and
 * counted. */
static size_t add_items(RedisModuleCtx *ctx, struct cf *f, RedisModuleString **items, size_t count,
                        const struct insertion *how, uint64_t expansions) {
    struct items batch;
    uint8_t results[STORE_BATCH];
    bool is_added[STORE_BATCH];
    size_t added = 0;
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(items + at, count - at, &batch);
        const size_t refused = cf_add(f, &batch, how->nx, expansions, results);
        for (size_t i = 0; i < batch.count; i++) is_added[i] = results[i] == CF_ADDED;
        reply_results(ctx, how, results, is_added, batch.count, refused);
        added = args_to_front(items, added, at, is_added, batch.count,
                              marks_count(is_added, batch.count));
    }
    return added;
}

/* Where all were added what was said is what was done, and takes less. */
static void replicate_items(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                            size_t count, bool all) {
    if (all) {
        RedisModule_ReplicateVerbatim(ctx);
    } else if (count > 0) {
        RedisModule_Replicate(ctx, "CF.INSERT", "sccv", name, "NOCREATE", "ITEMS", items, count);
    }
}

/* May it be that the last of so many items needs one sub-filter more than there may be? */
static bool may_end_within(const struct cf *f, size_t count, uint64_t expansions) {
    if (f->legacy != NULL) return f->legacy->tables + count > expansions;
    return f->expansion != 0 && f->items + count > f->other_slots + f->last_slots &&
           f->subfilters + count >= expansions;
}

/* A filter that takes nothing more refuses the whole command, as RedisBloom does. */
static int insert(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                  size_t count, const struct insertion *how, RedisModuleCmdFunc command) {
    uint64_t expansions = (uint64_t)settings()->cf_max_expansions;
    const struct key key = key_open(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (must_wait(ctx, &key, count, command)) return REDISMODULE_OK;
    struct cf *f = key.value;
    const bool make = key.state == KEY_EMPTY && !how->nocreate;
    if (make) {
        struct cf_want want = default_want();
        if (how->capacity != 0) want.capacity = how->capacity;
        f = make_filter(ctx, name, &key, &want);
    }
    if (f == NULL) {
        if (!make) reply_error(ctx, key_error(key.state));
    } else if (cf_is_loading(f)) {
        reply_error(ctx, add_error(CF_LOADING));
    } else if (may_end_within(f, 1, expansions) && !redis_is_following(ctx)) {
        reply_error(ctx, add_error(CF_EXPANSIONS));
    } else {
        /* What was added at the primary is added: the limits here may be others. */
        const bool limited = f->limit != 0 || may_end_within(f, count, expansions);
        if (limited && redis_is_following(ctx)) expansions = CF_TAKE_ALL;
        if (how->many) RedisModule_ReplyWithArray(ctx, (long)count);
        const size_t added = how->many ? add_items(ctx, f, items, count, how, expansions)
                                       : add_item(ctx, f, *items, how, expansions);
        replicate_items(ctx, name, items, added, added == count);
        if (added != 0 || make) key_changed(ctx, name, "cf.add");
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* CF.ADD key item */
static int cf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct insertion how = {.nx = false};
    if (argc != 3) return RedisModule_WrongArity(ctx);
    return insert(ctx, argv[1], argv + 2, 1, &how, cf_add_command);
}

/* CF.ADDNX key item */
static int cf_addnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct insertion how = {.nx = true};
    if (argc != 3) return RedisModule_WrongArity(ctx);
    return insert(ctx, argv[1], argv + 2, 1, &how, cf_addnx);
}

/* What a primary took is taken: its buckets may be smaller than those here. */
static const char *insert_capacity(RedisModuleCtx *ctx, RedisModuleString *value,
                                   struct insertion *how) {
    const long long least = 2 * settings()->cf_bucket_size;
    long long capacity;
    const enum arg_status status = arg_integer(value, 1, (long long)CF_CAPACITY_MOST, &capacity);
    if (status == ARG_BAD) return "Bad capacity";
    if (status != ARG_OK || (capacity < least && !redis_is_following(ctx))) {
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
    if (argc < 4) return RedisModule_WrongArity(ctx);
    const char *wrong = insert_options(ctx, argv, argc, &how);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const size_t count = (size_t)(argc - how.items);
    return insert(ctx, argv[1], argv + how.items, count, &how, command);
}

/* CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item... */
static int cf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert_many(ctx, argv, argc, false, cf_insert);
}

/* CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item... */
static int cf_insertnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert_many(ctx, argv, argc, true, cf_insertnx);
}

/* ---- asking */

static bool ask(const struct cf *f, RedisModuleString *arg) {
    const struct item item = arg_item(arg);
    return f != NULL && cf_contains(f, item.bytes, item.length);
}

/* CF.EXISTS key item */
static int cf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    RedisModule_ReplyWithBool(ctx, ask(key.value, argv[2]));
    key_close(&key);
    return REDISMODULE_OK;
}

/* CF.MEXISTS key item... */
static int cf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    const size_t count = (size_t)argc - 2;
    struct items batch;
    bool answers[STORE_BATCH] = {false};
    RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(argv + 2 + at, count - at, &batch);
        if (key.state == KEY_OURS) cf_contains_batch(key.value, &batch, answers);
        answers_reply(ctx, answers, batch.count, ANSWERS_BOOLEANS);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* CF.COUNT key item */
static int cf_count_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, cf_type);
    const struct item item = arg_item(argv[2]);
    const uint64_t count = key.state == KEY_OURS ? cf_count(key.value, item.bytes, item.length) : 0;
    RedisModule_ReplyWithLongLong(ctx, (long long)count);
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- removing */

/* CF.DEL key item */
static int cf_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (must_wait(ctx, &key, 1, cf_del)) return REDISMODULE_OK;
    const struct item item = arg_item(argv[2]);
    if (key.state != KEY_OURS) {
        reply_error(ctx, "Not found");
    } else if (cf_is_loading(key.value)) {
        reply_error(ctx, add_error(CF_LOADING));
    } else {
        const bool removed = cf_remove(key.value, item.bytes, item.length);
        if (removed) {
            RedisModule_ReplicateVerbatim(ctx);
            key_changed(ctx, argv[1], "cf.del");
        }
        RedisModule_ReplyWithBool(ctx, removed);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* CF.COMPACT key */
static int cf_compact_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, cf_type);
    if (must_wait(ctx, &key, SIZE_MAX, cf_compact_command)) return REDISMODULE_OK;
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
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- CF.INFO, CF.DEBUG */

/* CF.INFO key */
static int cf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
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
    key_close(&key);
    return REDISMODULE_OK;
}

/* CF.DEBUG key */
static int cf_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct cf *f = key_need(ctx, argv[1], cf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    const struct cf_numbers n = cf_numbers(f);
    char line[256];
    const int length = snprintf(
        line, sizeof line,
        "bktsize:%llu buckets:%llu items:%llu deletes:%llu filters:%llu max_iterations:%llu "
        "expansion:%llu",
        (unsigned long long)n.bucket_size, (unsigned long long)n.buckets,
        (unsigned long long)n.items, (unsigned long long)n.deletes,
        (unsigned long long)n.subfilters, (unsigned long long)n.iterations,
        (unsigned long long)n.expansion);
    RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)length);
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- chunks */

static void reply_chunk(RedisModuleCtx *ctx, long long next, const uint8_t *chunk, size_t length) {
    if (chunk == NULL && length != 0) {
        reply_error(ctx, "ERR Insufficient memory");
        return;
    }
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, chunk == NULL ? 0 : next);
    if (chunk == NULL) {
        RedisModule_ReplyWithNull(ctx);
    } else {
        RedisModule_ReplyWithStringBuffer(ctx, (const char *)chunk, length);
    }
}

/* CF.SCANDUMP key iterator */
static int cf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    long long iterator, next = 0;
    if (arg_integer(argv[2], 0, INT64_MAX, &iterator) != ARG_OK) {
        return reply_error(ctx, "Invalid position");
    }
    struct key key;
    const struct cf *f = key_need(ctx, argv[1], cf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    size_t length = 0;
    uint8_t *chunk = cf_numbers(f).items == 0 ? NULL : cf_chunk(f, iterator, &length, &next);
    reply_chunk(ctx, next, chunk, length);
    memory_free(chunk);
    key_close(&key);
    return REDISMODULE_OK;
}

static const char *load_header(RedisModuleCtx *ctx, const struct key *key, const uint8_t *bytes,
                               size_t length) {
    struct cf *f = NULL;
    if (cf_is_header(bytes, length)) {
        f = cf_from_header(bytes, length);
    } else if (length == CF_LEGACY_HEADER) {
        f = cf_of_legacy(cf_legacy_from_header(bytes, memory_legacy_most(ctx)));
    } else {
        return "Invalid header";
    }
    if (f != NULL && f->legacy != NULL && !memory_admits(ctx, cf_legacy_bytes(f->legacy))) {
        cf_free(f);
        f = NULL;
    }
    if (f == NULL) return "Couldn't create filter!";
    RedisModule_ModuleTypeSetValue(key->handle, cf_type, f);
    return NULL;
}

static const char *load_chunk(struct cf *f, long long iterator, const uint8_t *bytes,
                              size_t length) {
    const bool good = f->legacy != NULL ? cf_legacy_load_chunk(f->legacy, iterator, bytes, length)
                                        : cf_load_piece(f, (uint64_t)iterator - 2, bytes, length);
    return good ? NULL : "Couldn't load chunk!";
}

/* CF.LOADCHUNK key iterator data */
static int cf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 4) return RedisModule_WrongArity(ctx);
    long long iterator;
    size_t length;
    const uint8_t *bytes = (const uint8_t *)RedisModule_StringPtrLen(argv[3], &length);
    if (cf_is_header(bytes, length)) hide_argument(ctx, 3);
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

const struct command cf_commands[] = {
    {"cf.reserve", cf_reserve, "write deny-oom", "write fast cuckoo", 1},
    {"cf.add", cf_add_command, "write deny-oom", "write cuckoo", 1},
    {"cf.addnx", cf_addnx, "write deny-oom", "write cuckoo", 1},
    {"cf.insert", cf_insert, "write deny-oom", "write cuckoo", 1},
    {"cf.insertnx", cf_insertnx, "write deny-oom", "write cuckoo", 1},
    {"cf.exists", cf_exists, "readonly fast", "read cuckoo", 1},
    {"cf.mexists", cf_mexists, "readonly fast", "read cuckoo", 1},
    {"cf.count", cf_count_command, "readonly fast", "read cuckoo", 1},
    {"cf.del", cf_del, "write fast", "write cuckoo", 1},
    {"cf.compact", cf_compact_command, "write fast", "write cuckoo", 1},
    {"cf.scandump", cf_scandump, "readonly fast", "read cuckoo", 1},
    {"cf.loadchunk", cf_loadchunk, "write deny-oom", "write cuckoo", 1},
    {"cf.info", cf_info, "readonly fast", "read fast cuckoo", 1},
    {"cf.debug", cf_debug, "readonly fast", "read cuckoo", 1},
    {NULL, NULL, NULL, NULL, 0},
};
