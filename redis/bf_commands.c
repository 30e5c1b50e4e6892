/* bf_commands.c - the commands BF.* that make filters, add items and ask for them
 *
 * Syntax, replies and texts are those of RedisBloom 8; doc/redis.md lists what is new.
 *
 * Replication.  What a replica and the AOF get is what was done, not what was said:
 *
 *     a filter was made      BF.LOADCHUNK key 1 header    all parameters and the secret
 *     items were added       BF.MADD key item...          those that changed something
 *     the window turned      TAMIS.TURN key epoch
 *     nothing changed        nothing
 *
 * A command that fails half-way has replicated what it did until then. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "args.h"
#include "bf.h"
#include "memory.h"
#include "replies.h"
#include "settings.h"
#include "types.h"
#include "worker.h"

#define GENERATIONS_DEFAULT 4
#define WINDOW_MOST ((long long)100 * 366 * 86400) /* seconds */

#define NO_MEMORY "ERR Insufficient memory to create filter"
#define UNKNOWN "Unknown argument received"

static uint64_t now(void) { return (uint64_t)RedisModule_Milliseconds(); }

/* Must a command for so many items wait, after a COPY or BF.MERGE?  It is run `again` then, or
 * told to try again; the key is closed.  (A key is opened once for a command: each time counts, and
 * tells subscribers, if there is none.) */
static bool must_wait(RedisModuleCtx *ctx, const struct key *key, size_t items, bool change,
                      RedisModuleCmdFunc again) {
    if (worker_jobs() == 0 && !worker_has_waited(ctx)) return false;
    const size_t unready = key->state == KEY_OURS ? bf_unready(key->value, items, change) : 0;
    const bool waits =
        key_is_late(ctx, key, change) ||
        (!worker_leaves(unready) && worker_wait(ctx, again, change ? WORKER_CHANGES : WORKER_ASKS));
    if (waits) key_close(key);
    return waits;
}

/* ---- making a filter */

static struct bf_want default_want(void) {
    return (struct bf_want){.error = settings()->bf_error_rate,
                            .capacity = (uint64_t)settings()->bf_initial_size,
                            .expansion = (uint32_t)settings()->bf_expansion_factor};
}

static void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name, const struct bf *f) {
    size_t length;
    uint8_t *header = bf_header(f, &length);
    if (header == NULL) return;
    RedisModule_Replicate(ctx, "BF.LOADCHUNK", "scb", name, "1", (const char *)header, length);
    memory_free(header);
}

/* Makes the filter in an empty key, and replicates that; NULL, with a reply, if it cannot. */
static struct bf *make_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                              struct bf_want *want) {
    const struct bf timing = {.window = want->window, .generations = want->generations};
    want->epoch = bf_epoch(&timing, now());
    const uint64_t bytes = bf_plan(want);
    struct bf *f = bytes == UINT64_MAX || !memory_admits(ctx, bytes) ? NULL : bf_create(want);
    if (f == NULL) {
        reply_error(ctx, NO_MEMORY);
        return NULL;
    }
    RedisModule_ModuleTypeSetValue(key->handle, bf_type, f);
    replicate_creation(ctx, name, f);
    bf_pack(f); /* not before: it would be unpacked to be described */
    return f;
}

/* ---- options */

struct bf_options {
    struct bf_want want;
    bool expansion_given, nonscaling, nocreate;
    long long expansion; /* as BF.RESERVE was given it */
    int items;           /* index of the first item; 0: no ITEMS */
};

/* The value of an option; NULL if there is none. */
static RedisModuleString *value_of(RedisModuleString **argv, int argc, int *i) {
    return ++*i < argc ? argv[*i] : NULL;
}

/* The options that both BF.RESERVE and BF.INSERT have and RedisBloom has not.  Returns whether
 * it was one; `*wrong` becomes a text if it was used wrongly. */
static bool new_option(RedisModuleString **argv, int argc, int *i, struct bf_want *want,
                       const char **wrong) {
    long long number;
    if (arg_is(argv[*i], "WINDOW")) {
        RedisModuleString *value = value_of(argv, argc, i);
        if (value == NULL || arg_integer(value, 1, WINDOW_MOST, &number) != ARG_OK) {
            *wrong = "ERR bad window";
            return true;
        }
        want->window = (uint64_t)number * 1000;
        if (want->generations == 0) want->generations = GENERATIONS_DEFAULT;
        return true;
    }
    if (arg_is(argv[*i], "GENERATIONS")) {
        RedisModuleString *value = value_of(argv, argc, i);
        if (value == NULL || arg_integer(value, 1, BF_GENERATIONS_MOST, &number) != ARG_OK) {
            *wrong = "ERR bad generations";
            return true;
        }
        want->generations = (uint32_t)number;
        return true;
    }
    if (arg_is(argv[*i], "MAXMEMORY")) {
        RedisModuleString *value = value_of(argv, argc, i);
        if (value == NULL || arg_integer(value, 1, INT64_MAX, &number) != ARG_OK) {
            *wrong = "ERR bad maxmemory";
            return true;
        }
        want->limit = (uint64_t)number;
        return true;
    }
    return false;
}

static const char *finish_options(struct bf_options *o) {
    if (o->want.window == 0 && o->want.generations != 0) return "ERR GENERATIONS needs WINDOW";
    if (o->nonscaling) o->want.expansion = 0;
    return NULL;
}

static const char *reserve_expansion(RedisModuleString *value, struct bf_options *o) {
    if (value == NULL) return "ERR no expansion";
    o->expansion_given = true;
    return arg_integer(value, INT64_MIN, INT64_MAX, &o->expansion) == ARG_OK ? NULL
                                                                             : "ERR bad expansion";
}

/* NONSCALING may come behind the number, and is looked at before it is compared. */
static const char *take_expansion(struct bf_options *o) {
    if (!o->expansion_given) return NULL;
    if (o->nonscaling && o->expansion != 0) return "Nonscaling filters cannot expand";
    if (o->expansion < 0 || o->expansion > BF_EXPANSION_MOST) {
        return "ERR expansion must be in the range [0, 32768]";
    }
    o->want.expansion = (uint32_t)o->expansion;
    return NULL;
}

static const char *reserve_options(RedisModuleString **argv, int argc, struct bf_options *o) {
    const char *wrong = NULL;
    long long capacity;
    *o = (struct bf_options){.want = default_want()};
    switch (arg_rate(argv[2], &o->want.error)) {
        case ARG_BAD:
            return "ERR bad error rate";
        case ARG_OUT_OF_RANGE:
            return "ERR error rate must be in the range (0.000000, 1.000000)";
        default:
            break;
    }
    const enum arg_status status = arg_integer(argv[3], 1, BF_CAPACITY_MOST, &capacity);
    if (status == ARG_BAD) return "ERR bad capacity";
    if (status != ARG_OK) return "ERR capacity must be in the range [1, 1073741824]";
    o->want.capacity = (uint64_t)capacity;
    for (int i = 4; i < argc; i++) {
        if (arg_is(argv[i], "NONSCALING")) {
            o->nonscaling = true;
        } else if (arg_is(argv[i], "EXPANSION")) {
            wrong = reserve_expansion(value_of(argv, argc, &i), o);
        } else if (!new_option(argv, argc, &i, &o->want, &wrong)) {
            return UNKNOWN;
        }
        if (wrong != NULL) return wrong;
    }
    wrong = take_expansion(o);
    return wrong != NULL ? wrong : finish_options(o);
}

/* BF.RESERVE key error capacity [EXPANSION n] [NONSCALING] [WINDOW seconds [GENERATIONS g]]
 * [MAXMEMORY bytes] */
static int bf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bf_options o;
    if (argc < 4) return RedisModule_WrongArity(ctx);
    const char *wrong = reserve_options(argv, argc, &o);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    if (key.state != KEY_EMPTY) {
        reply_error(ctx, key_error(key.state));
    } else if (make_filter(ctx, argv[1], &key, &o.want) != NULL) {
        key_changed(ctx, argv[1], "bf.reserve");
        reply_ok(ctx);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- adding */

static const char *add_error(enum bf_wrong wrong) {
    switch (wrong) {
        case BF_FULL:
            return "ERR non scaling filter is full";
        case BF_LIMIT:
            return "ERR the filter is at its memory limit";
        case BF_LOADING:
            return "ERR the filter is being loaded";
        default:
            return "ERR problem inserting into filter";
    }
}

/* Only the primary turns: those who follow it are told. */
static bool turn_to_now(RedisModuleCtx *ctx, RedisModuleString *name, struct bf *f) {
    bool failed = false;
    if (f->window == 0 || redis_is_following(ctx)) return true;
    const uint64_t epoch = bf_epoch(f, now());
    if (bf_turn(f, epoch, &failed)) {
        RedisModule_Replicate(ctx, "TAMIS.TURN", "sl", name, (long long)epoch);
    }
    return !failed;
}

/* Adds items and replies for each, up to the first that fails; those that changed something are
 * moved to the front of `items`.  Returns how many these are.
 *
 * The number of replies is known when all is added.  One batch is added before the first reply;
 * only for more the server has to keep the place of a length, which takes it a block of 16 KB. */
static size_t add_items(RedisModuleCtx *ctx, struct bf *f, RedisModuleString **items, size_t count,
                        bool many) {
    struct items batch;
    struct bf_batch b;
    const bool postponed = many && count > STORE_BATCH;
    size_t changed = 0, replied = 0;
    bool failed = false;
    if (postponed) RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    while (replied < count && !failed) {
        args_items(items + replied, count - replied, &batch);
        bf_add(f, &batch, &b);
        failed = b.wrong != BF_OK;
        const size_t replies = b.done + failed;
        if (many && !postponed) RedisModule_ReplyWithArray(ctx, (long)replies);
        answers_reply(ctx, b.fresh, b.done, ANSWERS_BOOLEANS);
        if (failed) reply_error(ctx, add_error(b.wrong));
        changed = args_to_front(items, changed, replied, b.changed, b.done, b.changes);
        replied += replies;
    }
    if (postponed) RedisModule_ReplySetArrayLength(ctx, (long)replied);
    return changed;
}

/* Where all were added what was said is what was done, and takes less. */
static void replicate_items(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                            size_t count, bool all) {
    if (all) {
        RedisModule_ReplicateVerbatim(ctx);
    } else if (count > 0) {
        RedisModule_Replicate(ctx, "BF.MADD", "sv", name, items, count);
    }
}

static int bf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* The common part of BF.ADD and BF.MADD, which have no options, and BF.INSERT. */
static int insert(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                  size_t count, const struct bf_options *o, RedisModuleCmdFunc command) {
    const struct key key = key_open(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    if (must_wait(ctx, &key, count, true, command)) return REDISMODULE_OK;
    struct bf *f = key.value;
    const bool make = key.state == KEY_EMPTY && (o == NULL || !o->nocreate);
    if (make) {
        struct bf_want want = o == NULL ? default_want() : o->want;
        f = make_filter(ctx, name, &key, &want);
    }
    if (f == NULL) {
        if (!make) reply_error(ctx, key_error(key.state));
    } else if (!turn_to_now(ctx, name, f)) {
        reply_error(ctx, "ERR Insufficient memory");
    } else {
        const bool many = command != bf_add_command;
        const size_t changed = add_items(ctx, f, items, count, many);
        replicate_items(ctx, name, items, changed, changed == count);
        if (changed != 0 || make) key_changed(ctx, name, "bf.add");
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.ADD key item */
static int bf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    return insert(ctx, argv[1], argv + 2, 1, NULL, bf_add_command);
}

/* BF.MADD key item... */
static int bf_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    return insert(ctx, argv[1], argv + 2, (size_t)argc - 2, NULL, bf_madd);
}

static const char *insert_value(RedisModuleString **argv, int argc, int *i, struct bf_options *o) {
    const int option = *i;
    long long number;
    RedisModuleString *value = value_of(argv, argc, i);
    if (value == NULL) return ARITY;
    if (arg_is(argv[option], "ERROR")) {
        return arg_rate(value, &o->want.error) == ARG_OK ? NULL : "Bad error rate";
    }
    if (arg_is(argv[option], "CAPACITY")) {
        if (arg_integer(value, 1, BF_CAPACITY_MOST, &number) != ARG_OK) return "Bad capacity";
        o->want.capacity = (uint64_t)number;
        return NULL;
    }
    if (arg_integer(value, 0, BF_EXPANSION_MOST, &number) != ARG_OK) return "Bad expansion";
    o->want.expansion = (uint32_t)number;
    return NULL;
}

static const char *insert_options(RedisModuleString **argv, int argc, struct bf_options *o) {
    const char *wrong = NULL;
    *o = (struct bf_options){.want = default_want()};
    for (int i = 2; i < argc && o->items == 0; i++) {
        if (arg_is(argv[i], "ITEMS")) {
            o->items = i + 1;
        } else if (arg_is(argv[i], "NOCREATE")) {
            o->nocreate = true;
        } else if (arg_is(argv[i], "NONSCALING")) {
            o->nonscaling = true;
        } else if (arg_is(argv[i], "ERROR") || arg_is(argv[i], "CAPACITY") ||
                   arg_is(argv[i], "EXPANSION")) {
            wrong = insert_value(argv, argc, &i, o);
        } else if (!new_option(argv, argc, &i, &o->want, &wrong)) {
            return UNKNOWN;
        }
        if (wrong != NULL) return wrong;
    }
    return o->items == 0 || o->items == argc ? ARITY : finish_options(o);
}

/* BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] [WINDOW seconds
 * [GENERATIONS g]] [MAXMEMORY bytes] ITEMS item... */
static int bf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bf_options o;
    if (argc < 4) return RedisModule_WrongArity(ctx);
    const char *wrong = insert_options(argv, argc, &o);
    if (wrong != NULL) return reply_error(ctx, wrong);
    return insert(ctx, argv[1], argv + o.items, (size_t)(argc - o.items), &o, bf_insert);
}

/* ---- asking */

static void ask_items(RedisModuleCtx *ctx, const struct bf *f, RedisModuleString **items,
                      size_t count) {
    struct items batch;
    bool answers[STORE_BATCH];
    const uint64_t epoch = f == NULL || f->window == 0 ? 0 : bf_epoch(f, now());
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(items + at, count - at, &batch);
        if (f == NULL) {
            memset(answers, 0, sizeof answers);
        } else {
            bf_contains(f, &batch, epoch, answers);
        }
        answers_reply(ctx, answers, batch.count, ANSWERS_BOOLEANS);
    }
}

static int bf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* A key of another type holds no items, as in RedisBloom. */
static int exists(RedisModuleCtx *ctx, RedisModuleString **argv, size_t count,
                  RedisModuleCmdFunc command) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, bf_type);
    if (must_wait(ctx, &key, count, false, command)) return REDISMODULE_OK;
    if (command != bf_exists) RedisModule_ReplyWithArray(ctx, (long)count);
    ask_items(ctx, key.value, argv + 2, count);
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.EXISTS key item */
static int bf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    return exists(ctx, argv, 1, bf_exists);
}

/* BF.MEXISTS key item... */
static int bf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    return exists(ctx, argv, (size_t)argc - 2, bf_mexists);
}

/* Is it an epoch that has not come yet?  A client must not turn to it: the window would stand still
 * until then.  Those who follow believe the clock of their primary. */
static bool is_to_come(RedisModuleCtx *ctx, const struct bf *f, uint64_t epoch) {
    return f->window != 0 && epoch > bf_epoch(f, now()) && !redis_is_following(ctx);
}

/* TAMIS.TURN key epoch: what a primary tells its replicas. */
static int tamis_turn(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    long long epoch;
    if (arg_integer(argv[2], 0, (long long)1 << 59, &epoch) != ARG_OK) {
        return reply_error(ctx, "ERR bad epoch");
    }
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    bool failed = false;
    if (key.state != KEY_OURS) {
        reply_error(ctx, key_error(key.state));
    } else if (is_to_come(ctx, key.value, (uint64_t)epoch)) {
        reply_error(ctx, "ERR bad epoch");
    } else {
        if (bf_turn(key.value, (uint64_t)epoch, &failed)) RedisModule_ReplicateVerbatim(ctx);
        if (failed) {
            reply_error(ctx, "ERR Insufficient memory");
        } else {
            reply_ok(ctx);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

const struct command bf_commands[] = {
    {"bf.reserve", bf_reserve, "write deny-oom", "write fast bloom", 1},
    {"bf.add", bf_add_command, "write deny-oom", "write bloom", 1},
    {"bf.madd", bf_madd, "write deny-oom", "write bloom", 1},
    {"bf.insert", bf_insert, "write deny-oom", "write bloom", 1},
    {"bf.exists", bf_exists, "readonly fast", "read bloom", 1},
    {"bf.mexists", bf_mexists, "readonly fast", "read bloom", 1},
    {"tamis.turn", tamis_turn, "write", "write bloom", 1},
    {NULL, NULL, NULL, NULL, 0},
};
