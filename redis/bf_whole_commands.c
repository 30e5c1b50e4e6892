/* bf_whole_commands.c - the commands BF.* that deal with a filter as a whole: BF.INFO, BF.CARD,
 * BF.DEBUG, BF.SCANDUMP, BF.LOADCHUNK, BF.MERGE */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "bf.h"
#include "memory.h"
#include "replies.h"
#include "types.h"
#include "worker.h"

#define DEBUG_LINKS 4096 /* lines that BF.DEBUG prints at most */

/* Must a command that needs all of these filters wait, since one is a union that is still to be
 * made? It is run `again` then.  Where one is to be made, it is the first.
 *
 * They are opened as if to be written, which does not count as a look-up: that comes later. */
static bool must_wait(RedisModuleCtx *ctx, RedisModuleString **names, int count,
                      enum worker_intent intent, RedisModuleCmdFunc again) {
    size_t unready = 0;
    bool late = false;
    if (worker_jobs() == 0 && !worker_has_waited(ctx)) return false;
    for (int i = 0; i < count && !late; i++) {
        const struct key key =
            key_open(ctx, names[i], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
        if (key.state == KEY_OURS) unready += bf_unready(key.value, SIZE_MAX, false);
        const bool made = i == 0 && key.state == KEY_EMPTY && intent == WORKER_CHANGES &&
                          (!worker_has_waited(ctx) || worker_makes(ctx));
        if (made) intent = WORKER_MAKES;
        late = !made && key_is_late(ctx, &key, intent != WORKER_ASKS);
        key_close(&key);
    }
    return late || (!worker_leaves(unready) && worker_wait(ctx, again, intent));
}

/* ---- BF.INFO, BF.CARD, BF.DEBUG */

static void reply_expansion(RedisModuleCtx *ctx, const struct bf *f) {
    const bool fixed =
        f->legacy != NULL ? (f->legacy->options & LEGACY_NONSCALING) != 0 : f->expansion == 0;
    if (fixed) {
        RedisModule_ReplyWithNull(ctx);
    } else {
        RedisModule_ReplyWithLongLong(ctx, f->legacy != NULL ? f->legacy->growth : f->expansion);
    }
}

enum info { INFO_CAPACITY, INFO_SIZE, INFO_FILTERS, INFO_ITEMS, INFO_EXPANSION, INFO_ERROR, INFOS };
static const struct {
    const char *word, *name;
} infos[INFOS] = {
    [INFO_CAPACITY] = {"CAPACITY", "Capacity"},
    [INFO_SIZE] = {"SIZE", "Size"},
    [INFO_FILTERS] = {"FILTERS", "Number of filters"},
    [INFO_ITEMS] = {"ITEMS", "Number of items inserted"},
    [INFO_EXPANSION] = {"EXPANSION", "Expansion rate"},
    [INFO_ERROR] = {"ERROR", "Error rate"},
};

static void reply_info(RedisModuleCtx *ctx, const struct bf *f, const struct bf_numbers *n,
                       enum info what) {
    switch (what) {
        case INFO_EXPANSION:
            reply_expansion(ctx, f);
            break;
        case INFO_ERROR:
            RedisModule_ReplyWithDouble(ctx, n->error);
            break;
        default:
            RedisModule_ReplyWithLongLong(ctx, (long long)(what == INFO_CAPACITY  ? n->capacity
                                                           : what == INFO_SIZE    ? n->bytes
                                                           : what == INFO_FILTERS ? n->links
                                                                                  : n->items));
    }
}

static uint64_t items_now(const struct bf *f) {
    return bf_items(f, bf_epoch(f, (uint64_t)RedisModule_Milliseconds()));
}

/* BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION | ERROR] */
static int bf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2 || argc > 3) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    struct bf_numbers n = bf_numbers(f);
    n.items = items_now(f);
    const bool resp3 = reply_is_resp3(ctx);
    int one = 0;
    while (argc == 3 && one < INFOS && !arg_is(argv[2], infos[one].word)) one++;
    if (argc == 3 && one == INFOS) {
        reply_error(ctx, "Invalid information value");
    } else if (argc == 3) {
        if (resp3) {
            RedisModule_ReplyWithMap(ctx, 1);
            RedisModule_ReplyWithSimpleString(ctx, infos[one].name);
        } else {
            RedisModule_ReplyWithArray(ctx, 1);
        }
        reply_info(ctx, f, &n, (enum info)one);
    } else {
        RedisModule_ReplyWithMap(ctx, INFO_ERROR); /* the fields that RedisBloom has */
        for (int i = 0; i < INFO_ERROR; i++) {
            RedisModule_ReplyWithSimpleString(ctx, infos[i].name);
            reply_info(ctx, f, &n, (enum info)i);
        }
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* BF.CARD key */
static int bf_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, bf_type);
    if (key.state == KEY_WRONG_TYPE) {
        reply_error(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    } else {
        const uint64_t items = key.state == KEY_EMPTY ? 0 : items_now(key.value);
        RedisModule_ReplyWithLongLong(ctx, (long long)items);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

static void reply_link(RedisModuleCtx *ctx, const struct legacy_link *l) {
    char line[256];
    const int length =
        snprintf(line, sizeof line,
                 "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu "
                 "ratio:%g",
                 (unsigned long long)l->bytes, (unsigned long long)l->bits, l->hashes,
                 (unsigned long long)l->entries, (unsigned long long)l->size, l->error);
    RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)length);
}

/* The links of a chain as it is reckoned.  What they would take is RedisBloom's arithmetic: what
 * the filter takes in truth BF.INFO tells. */
static long reply_chain(RedisModuleCtx *ctx, const struct bf *f, const struct chain *c, long room) {
    double error = f->expansion == 0 ? f->error : f->error * 0.5;
    uint64_t capacity = c->first_capacity;
    long lines = 0;
    for (uint64_t i = 0; i < c->links && lines < room; i++, lines++) {
        struct legacy_link link = {.entries = capacity, .error = error};
        if (bf_legacy_size(capacity, error, &link)) link.entries = capacity;
        link.size = i + 1 == c->links ? c->last_size : capacity;
        reply_link(ctx, &link);
        capacity *= f->expansion;
        error *= 0.5;
    }
    return lines;
}

/* BF.DEBUG key */
static int bf_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    char line[64];
    long lines = 1;
    const int length =
        snprintf(line, sizeof line, "size:%llu", (unsigned long long)bf_numbers(f).items);
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    RedisModule_ReplyWithStringBuffer(ctx, line, (size_t)length);
    if (bf_is_bud(f)) {
        const struct chain only = {
            .links = 1, .first_capacity = f->capacity, .last_size = bud_keys(f->in.bud)};
        lines += reply_chain(ctx, f, &only, DEBUG_LINKS - lines);
    }
    for (uint32_t i = 0; i < f->chains; i++) {
        lines += reply_chain(ctx, f, &f->in.chain[i], DEBUG_LINKS - lines);
    }
    for (uint32_t i = 0; f->legacy != NULL && i < f->legacy->links; i++, lines++) {
        reply_link(ctx, &f->legacy->link[i]);
    }
    RedisModule_ReplySetArrayLength(ctx, lines);
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- chunks */

/* The bytes are freed.  Without any: the end, or there is no memory for so many. */
static void reply_chunk(RedisModuleCtx *ctx, long long next, uint8_t *bytes, size_t length) {
    if (bytes == NULL && length != 0) {
        reply_error(ctx, "ERR Insufficient memory");
        return;
    }
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithLongLong(ctx, next);
    RedisModule_ReplyWithStringBuffer(ctx, bytes == NULL ? "" : (const char *)bytes, length);
    memory_free(bytes);
}

/* BF.SCANDUMP key iterator */
static int bf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    if (must_wait(ctx, argv + 1, 1, WORKER_ASKS, bf_scandump)) return REDISMODULE_OK;
    struct key key;
    long long iterator;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK) {
        reply_error(ctx, "Second argument must be numeric");
    } else {
        size_t length;
        long long next;
        uint8_t *bytes = bf_chunk(f, iterator, &length, &next);
        reply_chunk(ctx, next, bytes, length);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* A header in an empty key.  NULL, or what is wrong. */
static const char *load_header(RedisModuleCtx *ctx, const struct key *key, const uint8_t *bytes,
                               size_t length) {
    struct bf *f;
    if (bf_is_header(bytes, length)) {
        f = bf_from_header(bytes, length);
    } else {
        f = bf_of_legacy(bf_legacy_from_header(bytes, length, memory_legacy_most(ctx)));
    }
    if (f != NULL && f->legacy != NULL && !memory_admits(ctx, bf_legacy_bytes(f->legacy))) {
        bf_free(f);
        f = NULL;
    }
    if (f == NULL) return "ERR received bad data";
    RedisModule_ModuleTypeSetValue(key->handle, bf_type, f);
    return NULL;
}

static const char *load_chunk(struct bf *f, long long iterator, const uint8_t *bytes,
                              size_t length) {
    if (iterator < 1) return "ERR received bad data";
    if (f->legacy != NULL) return bf_legacy_load_chunk(f->legacy, iterator, bytes, length);
    const bool is_header = iterator == 1 && length > 1; /* where there is a filter */
    if (is_header) return "ERR received bad data";
    if (iterator < 2 || (uint64_t)iterator - 2 >= bf_slots(f)) {
        return "ERR invalid offset - no link found";
    }
    return bf_load_piece(f, (uint64_t)iterator - 2, bytes, length) ? NULL : "ERR received bad data";
}

/* BF.LOADCHUNK key iterator data */
static int bf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 4) return RedisModule_WrongArity(ctx);
    long long iterator;
    size_t length;
    const uint8_t *bytes = (const uint8_t *)RedisModule_StringPtrLen(argv[3], &length);
    if (bf_is_header(bytes, length)) hide_argument(ctx, 3);
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK) {
        return reply_error(ctx, "ERR Second argument must be numeric");
    }
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    const char *wrong;
    if (key.state == KEY_EMPTY && iterator == 1) {
        wrong = load_header(ctx, &key, bytes, length);
    } else if (key.state != KEY_OURS) {
        wrong = key_error(key.state);
    } else {
        wrong = load_chunk(key.value, iterator, bytes, length);
    }
    key_close(&key);
    return reply_done(ctx, argv[1], wrong, "bf.loadchunk");
}

/* ---- BF.MERGE */

/* What the union begins with. */
static const char *merge_first(const struct bf *f, struct bf **into) {
    *into = bf_copy(f);
    return *into == NULL ? "ERR Insufficient memory" : NULL;
}

/* Merges one source; a destination that is not there becomes a copy of it.  `*bytes`: what all
 * sources so far will take, which the server does not see yet since their tables are shared. */
static const char *merge_source(RedisModuleCtx *ctx, RedisModuleString *name, struct bf **into,
                                uint64_t *bytes, bool *changed) {
    const struct key key = key_open(ctx, name, REDISMODULE_READ, bf_type);
    const char *wrong = key.state == KEY_OURS ? bf_unmergeable(key.value) : key_error(key.state);
    if (wrong == NULL) *bytes += bf_numbers(key.value).bytes;
    if (wrong == NULL && !memory_admits(ctx, *bytes)) {
        wrong = "ERR Insufficient memory";
    } else if (wrong == NULL && *into != NULL) {
        wrong = bf_merge(*into, key.value, redis_is_following(ctx), changed);
    } else if (wrong == NULL) {
        wrong = merge_first(key.value, into);
    }
    key_close(&key);
    return wrong;
}

/* A destination that is there needs no more memory: the union takes its place. */
static const char *merge_destination(RedisModuleCtx *ctx, RedisModuleString *name,
                                     struct bf **into) {
    const struct key key = key_open(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
    const char *wrong = NULL;
    if (key.state == KEY_OURS) wrong = bf_unmergeable(key.value);
    if (key.state == KEY_WRONG_TYPE) wrong = key_error(key.state);
    if (wrong == NULL && key.state == KEY_OURS) wrong = merge_first(key.value, into);
    key_close(&key);
    return wrong;
}

/* The union in memory of its own, so that a failure changes nothing; and whether it is another than
 * the destination was. */
static const char *merge_all(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                             struct bf **result, bool *changed) {
    *result = NULL;
    const char *wrong = merge_destination(ctx, argv[1], result);
    const bool there = *result != NULL;
    *changed = !there;
    uint64_t bytes = 0;
    for (int i = 2; i < argc && wrong == NULL; i++) {
        if (there && arg_equal(argv[i], argv[1])) continue; /* it has itself already */
        wrong = merge_source(ctx, argv[i], result, &bytes, changed);
    }
    if (wrong == NULL) return NULL;
    bf_free(*result);
    return wrong;
}

/* A destination that is there keeps its expiry: it is the same key, with more in it. */
static void put_union(const struct key *dest, struct bf *result) {
    void *old = NULL;
    if (dest->state == KEY_OURS) {
        RedisModule_ModuleTypeReplaceValue(dest->handle, bf_type, result, &old);
        bf_free(old);
    } else {
        RedisModule_ModuleTypeSetValue(dest->handle, bf_type, result);
    }
}

/* BF.MERGE destination source... */
static int bf_merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    if (must_wait(ctx, argv + 1, argc - 1, WORKER_CHANGES, bf_merge_command)) return REDISMODULE_OK;
    struct bf *result;
    bool changed;
    const char *wrong = merge_all(ctx, argv, argc, &result, &changed);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key dest = key_open(ctx, argv[1], REDISMODULE_WRITE, bf_type);
    put_union(&dest, result);
    bf_prepare(result);
    if (changed) {
        RedisModule_ReplicateVerbatim(ctx);
        key_changed(ctx, argv[1], "bf.merge");
    }
    key_close(&dest);
    return reply_ok(ctx);
}

const struct command bf_whole_commands[] = {
    {"bf.info", bf_info, "readonly fast", "read fast bloom", 1},
    {"bf.card", bf_card, "readonly fast", "read fast bloom", 1},
    {"bf.debug", bf_debug, "readonly fast", "read bloom", 1},
    {"bf.scandump", bf_scandump, "readonly fast", "read bloom", 1},
    {"bf.loadchunk", bf_loadchunk, "write deny-oom", "write bloom", 1},
    {"bf.merge", bf_merge_command, "write deny-oom", "write bloom", -1},
    {NULL, NULL, NULL, NULL, 0},
};
