/* bf_commands.c - BF commands that create filters, add items and query them
 *
 * Syntax, replies and texts are those of RedisBloom 8; doc/redis.md lists additions.
 *
 * Replication.  Replicas and the AOF receive effects, not the commands of clients:
 *
 *     filter created         BF.LOADCHUNK key 1 header    all parameters and the secret
 *     items added            BF.MADD key item...          those that changed something
 *     generation started     TAMIS.TURN key epoch
 *     nothing changed        nothing
 *
 * A command that fails half-way replicates what it did before. */
#include <stdio.h>
#include <string.h>

#include "commands/args.h"
#include "commands/batch_replies.h"
#include "commands/commands.h"
#include "commands/replies.h"
#include "filters/bf.h"
#include "persist/types.h"
#include "server/memory.h"
#include "server/settings.h"
#include "server/worker.h"

#define GENERATIONS_DEFAULT 4
#define WINDOW_MAX ((long long)100 * 366 * 86400) /* seconds */

#define NO_MEMORY "ERR Insufficient memory to create filter"
#define UNKNOWN "Unknown argument received"

static uint64_t now(void) { return (uint64_t)RedisModule_Milliseconds(); }

/* ---- creating a filter */

static struct bf default_want(void) {
    return (struct bf){.error = settings()->bf_error_rate,
                       .capacity = (uint64_t)settings()->bf_initial_size,
                       .expansion = (uint32_t)settings()->bf_expansion_factor};
}

/* Creates the filter in an empty key and replicates it.  Replies with an error and returns NULL on
 * failure. */
static struct bf *make_filter(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                              const struct bf *want) {
    const uint64_t bytes = bf_plan(want), epoch = bf_epoch(want, now());
    const bool fits = bytes != UINT64_MAX && memory_admits(ctx, bytes);
    struct bf *f = fits ? bf_create(want, epoch) : NULL;
    if (f == NULL) {
        reply_error(ctx, NO_MEMORY);
        return NULL;
    }
    RedisModule_ModuleTypeSetValue(key->handle, bf_type, f);
    replicate_header(ctx, name, &bf_ops, f);
    bf_pack(f); /* last, because writing the header would unpack it */
    return f;
}

/* ---- options */

struct bf_options {
    struct bf want;
    bool expansion_given, nonscaling, nocreate;
    long long expansion; /* the value given to BF.RESERVE */
    int items;           /* index of the first item; 0: no ITEMS */
};

/* The value of an option; NULL if there is none. */
static RedisModuleString *value_of(RedisModuleString **argv, int argc, int *i) {
    return ++*i < argc ? argv[*i] : NULL;
}

enum { WINDOW, GENERATIONS, MAXMEMORY, NEW_OPTIONS };

/* The options of BF.RESERVE and BF.INSERT that RedisBloom does not have. */
static const struct {
    const char *word;
    long long max;
    const char *bad;
} new_options[NEW_OPTIONS] = {
    [WINDOW] = {"WINDOW", WINDOW_MAX, "ERR bad window"},
    [GENERATIONS] = {"GENERATIONS", BF_PER_WINDOW_MAX, "ERR bad generations"},
    [MAXMEMORY] = {"MAXMEMORY", INT64_MAX, "ERR bad maxmemory"},
};

/* Returns whether it was one of them; sets `*wrong` if its value is invalid. */
static bool new_option(RedisModuleString **argv, int argc, int *i, struct bf *want,
                       const char **wrong) {
    long long number;
    int which = 0;
    while (which < NEW_OPTIONS && !arg_is(argv[*i], new_options[which].word)) which++;
    if (which == NEW_OPTIONS) return false;
    RedisModuleString *value = value_of(argv, argc, i);
    if (value == NULL || arg_integer(value, 1, new_options[which].max, &number) != ARG_OK) {
        *wrong = new_options[which].bad;
    } else if (which == MAXMEMORY) {
        want->limit = (uint64_t)number;
    } else if (which == GENERATIONS) {
        want->per_window = (uint32_t)number;
    } else {
        want->window = (uint64_t)number * 1000;
        if (want->per_window == 0) want->per_window = GENERATIONS_DEFAULT;
    }
    return true;
}

static const char *finish_options(struct bf_options *o) {
    if (o->want.window == 0 && o->want.per_window != 0) return "ERR GENERATIONS needs WINDOW";
    if (o->nonscaling) o->want.expansion = 0;
    return NULL;
}

static const char *reserve_expansion(RedisModuleString *value, struct bf_options *o) {
    if (value == NULL) return "ERR no expansion";
    o->expansion_given = true;
    return arg_integer(value, INT64_MIN, INT64_MAX, &o->expansion) == ARG_OK ? NULL
                                                                             : "ERR bad expansion";
}

/* After all options are read, because NONSCALING may follow EXPANSION. */
static const char *take_expansion(struct bf_options *o) {
    if (!o->expansion_given) return NULL;
    if (o->nonscaling && o->expansion != 0) return "Nonscaling filters cannot expand";
    if (o->expansion < 0 || o->expansion > BF_EXPANSION_MAX) {
        return "ERR expansion must be in the range [0, 32768]";
    }
    o->want.expansion = (uint32_t)o->expansion;
    return NULL;
}

static const char *reserve_options(RedisModuleString **argv, int argc, struct bf_options *o) {
    const char *wrong = NULL;
    long long capacity;
    *o = (struct bf_options){.want = default_want()};
    enum arg_status status = arg_fpr(argv[2], &o->want.error);
    if (status == ARG_BAD) return "ERR bad error rate";
    if (status != ARG_OK) return "ERR error rate must be in the range (0.000000, 1.000000)";
    status = arg_integer(argv[3], 1, BF_CAPACITY_MAX, &capacity);
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
int bf_reserve_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bf_options o;
    const char *wrong = reserve_options(argv, argc, &o);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    if (key.state != KEY_EMPTY) {
        reply_error(ctx, key_error(key.state));
    } else if (make_filter(ctx, argv[1], &key, &o.want) != NULL) {
        key_changed(ctx, argv[1], "bf.reserve");
        reply_ok(ctx);
    }
    return key_close(&key);
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

/* Only the primary starts generations; replicas receive TAMIS.TURN. */
static bool turn_to_now(RedisModuleCtx *ctx, RedisModuleString *name, struct bf *f) {
    bool failed = false;
    if (f->window == 0 || redis_is_following(ctx)) return true;
    const uint64_t epoch = bf_epoch(f, now());
    if (bf_turn(f, epoch, &failed)) {
        RedisModule_Replicate(ctx, "TAMIS.TURN", "sl", name, (long long)epoch);
    }
    return !failed;
}

/* Adds items and replies for each, up to the first that fails.  Moves those that changed something
 * to the front of `items` and returns their number.
 *
 * The number of replies is known after adding.  One batch is added before the first reply; only
 * larger commands use a postponed length, for which the server allocates a block of 16 KB. */
static size_t add_items(RedisModuleCtx *ctx, struct bf *f, RedisModuleString **items, size_t count,
                        bool many) {
    struct items batch;
    struct bf_batch b;
    const bool postponed = many && count > SCALABLE_BATCH;
    size_t changed = 0, replied = 0;
    bool failed = false;
    if (postponed) RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    while (replied < count && !failed) {
        args_items(items + replied, count - replied, &batch);
        bf_add(f, &batch, &b);
        failed = b.wrong != BF_OK;
        const size_t replies = b.done + failed;
        if (many && !postponed) RedisModule_ReplyWithArray(ctx, (long)replies);
        results_reply(ctx, b.fresh, b.done, RESULTS_BOOLEANS);
        if (failed) reply_error(ctx, add_error(b.wrong));
        changed = args_to_front(items, changed, replied, b.changed, b.done, b.changes);
        replied += replies;
    }
    if (postponed) RedisModule_ReplySetArrayLength(ctx, (long)replied);
    return changed;
}

/* Common to BF.ADD, BF.MADD, which have no options, and BF.INSERT. */
static int insert(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString **items,
                  size_t count, const struct bf_options *o, RedisModuleCmdFunc command) {
    const struct key key = key_open(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    if (key_must_wait(ctx, &key, bf_unready, count, true, command)) return REDISMODULE_OK;
    struct bf *f = key.value;
    const bool make = key.state == KEY_EMPTY && (o == NULL || !o->nocreate);
    if (make) {
        const struct bf want = o == NULL ? default_want() : o->want;
        f = make_filter(ctx, name, &key, &want);
    }
    if (f == NULL) {
        if (!make) reply_error(ctx, key_error(key.state));
    } else if (!turn_to_now(ctx, name, f)) {
        reply_error(ctx, "ERR Insufficient memory");
    } else {
        const bool many = command != bf_add_command;
        const size_t changed = add_items(ctx, f, items, count, many);
        if (changed == count) { /* the client's command, which is cheaper */
            RedisModule_ReplicateVerbatim(ctx);
        } else if (changed != 0) {
            RedisModule_Replicate(ctx, "BF.MADD", "sv", name, items, changed);
        }
        if (changed != 0 || make) key_changed(ctx, name, "bf.add");
    }
    return key_close(&key);
}

/* BF.ADD key item */
int bf_add_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv[1], argv + 2, 1, NULL, bf_add_command);
}

/* BF.MADD key item... */
int bf_madd_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv[1], argv + 2, (size_t)argc - 2, NULL, bf_madd_command);
}

static const char *insert_value(RedisModuleString **argv, int argc, int *i, struct bf_options *o) {
    const int option = *i;
    long long number;
    RedisModuleString *value = value_of(argv, argc, i);
    if (value == NULL) return ARITY;
    if (arg_is(argv[option], "ERROR")) {
        return arg_fpr(value, &o->want.error) == ARG_OK ? NULL : "Bad error rate";
    }
    if (arg_is(argv[option], "CAPACITY")) {
        if (arg_integer(value, 1, BF_CAPACITY_MAX, &number) != ARG_OK) return "Bad capacity";
        o->want.capacity = (uint64_t)number;
        return NULL;
    }
    if (arg_integer(value, 0, BF_EXPANSION_MAX, &number) != ARG_OK) return "Bad expansion";
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
int bf_insert_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct bf_options o;
    const char *wrong = insert_options(argv, argc, &o);
    if (wrong != NULL) return reply_error(ctx, wrong);
    return insert(ctx, argv[1], argv + o.items, (size_t)(argc - o.items), &o, bf_insert_command);
}

/* ---- queries */

static void contains_now(const void *filter, const struct items *items, bool *results) {
    const struct bf *f = filter;
    bf_contains(f, items, f->window == 0 ? 0 : bf_epoch(f, now()), results);
}

/* A key of another type holds no items, as in RedisBloom. */
static int exists(RedisModuleCtx *ctx, RedisModuleString **argv, size_t count,
                  RedisModuleCmdFunc command) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, bf_type);
    if (key_must_wait(ctx, &key, bf_unready, count, false, command)) return REDISMODULE_OK;
    contains_reply(ctx, contains_now, key.value, argv + 2, count, command != bf_exists_command);
    return key_close(&key);
}

/* BF.EXISTS key item */
int bf_exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return exists(ctx, argv, 1, bf_exists_command);
}

/* BF.MEXISTS key item... */
int bf_mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return exists(ctx, argv, (size_t)argc - 2, bf_mexists_command);
}

/* A client must not start a generation of the future: no other could start until then.  Replicas
 * trust the clock of their primary. */
static bool is_in_future(RedisModuleCtx *ctx, const struct bf *f, uint64_t epoch) {
    return f->window != 0 && epoch > bf_epoch(f, now()) && !redis_is_following(ctx);
}

/* TAMIS.TURN key epoch: sent by a primary to its replicas. */
int tamis_turn_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long epoch;
    if (arg_integer(argv[2], 0, (long long)1 << 59, &epoch) != ARG_OK) {
        return reply_error(ctx, "ERR bad epoch");
    }
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    bool failed = false;
    if (key.state != KEY_OURS) {
        reply_error(ctx, key_error(key.state));
    } else if (is_in_future(ctx, key.value, (uint64_t)epoch)) {
        reply_error(ctx, "ERR bad epoch");
    } else {
        if (bf_turn(key.value, (uint64_t)epoch, &failed)) RedisModule_ReplicateVerbatim(ctx);
        if (failed) {
            reply_error(ctx, "ERR Insufficient memory");
        } else {
            reply_ok(ctx);
        }
    }
    return key_close(&key);
}
