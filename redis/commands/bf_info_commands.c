/* bf_info_commands.c - BF commands for a whole filter: BF.INFO, BF.CARD, BF.DEBUG, BF.SCANDUMP,
 * BF.LOADCHUNK, BF.MERGE */
#include "commands/args.h"
#include "commands/commands.h"
#include "commands/replies.h"
#include "filters/bf.h"
#include "persist/types.h"
#include "server/memory.h"
#include "server/worker.h"

#define DEBUG_LINES_MAX 4096 /* of a reply of BF.DEBUG */

/* Returns whether a command that needs all of these filters must wait for a union; it runs `again`
 * then. Only the first key may be created by the command.
 *
 * Opens the keys for writing, which does not count as a lookup: the command itself does that later.
 */
static bool must_wait(RedisModuleCtx *ctx, RedisModuleString **names, int count,
                      enum worker_intent intent, RedisModuleCmdFunc again) {
    size_t unready = 0;
    bool late = false;
    if (worker_jobs() == 0 && !worker_has_waited(ctx)) return false;
    for (int i = 0; i < count && !late; i++) {
        const struct key key =
            key_open(ctx, names[i], REDISMODULE_READ | REDISMODULE_WRITE, bf_type);
        if (key.state == KEY_OURS) unready += bf_unready(key.value, SIZE_MAX, false);
        const bool made = i == 0 && key.state == KEY_EMPTY && intent == WORKER_WRITES &&
                          (!worker_has_waited(ctx) || worker_creates(ctx));
        if (made) intent = WORKER_CREATES;
        late = !made && key_is_late(ctx, &key, intent != WORKER_READS);
        key_close(&key);
    }
    return late || (!worker_builds_inline(unready) && worker_wait(ctx, again, intent));
}

/* ---- BF.INFO, BF.CARD, BF.DEBUG */

static void reply_expansion(RedisModuleCtx *ctx, const struct bf *f) {
    uint32_t expansion = f->expansion;
    bool fixed = expansion == 0;
    if (f->redisbloom != NULL) {
        const struct redisbloom_bloom c = redisbloom_bloom(f->redisbloom);
        fixed = (c.options & REDISBLOOM_NONSCALING) != 0;
        expansion = c.growth;
    }
    if (fixed) {
        RedisModule_ReplyWithNull(ctx);
    } else {
        RedisModule_ReplyWithLongLong(ctx, expansion);
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
                                                           : what == INFO_FILTERS ? n->subfilters
                                                                                  : n->items));
    }
}

static struct bf_numbers numbers_now(const struct bf *f) {
    return bf_numbers_at(f, bf_epoch(f, (uint64_t)RedisModule_Milliseconds()));
}

/* BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION | ERROR] */
int bf_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc > 3) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    const struct bf_numbers n = numbers_now(f);
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
    return key_close(&key);
}

/* BF.CARD key */
int bf_card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, bf_type);
    if (key.state == KEY_WRONG_TYPE) {
        reply_error(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    } else {
        const uint64_t items = key.state == KEY_EMPTY ? 0 : numbers_now(key.value).items;
        RedisModule_ReplyWithLongLong(ctx, (long long)items);
    }
    return key_close(&key);
}

static void reply_subfilter(RedisModuleCtx *ctx, const struct redisbloom_sub *l) {
    reply_line(ctx,
               "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu "
               "ratio:%g",
               (unsigned long long)l->bytes, (unsigned long long)l->bits, l->hashes,
               (unsigned long long)l->entries, (unsigned long long)l->size, l->error);
}

/* What RedisBloom would make for this capacity and error; no bytes if it would make none. */
static struct redisbloom_sub subfilter_for(uint64_t capacity, double error) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_sizing size = TAMIS_SIZING_INIT;
    o.format = "redisbloom:nonscaling";
    o.capacity = capacity;
    o.fpr = error;
    struct redisbloom_sub sub = {.entries = capacity, .error = error};
    if (tamis_size(&o, &size) != TAMIS_OK) return sub;
    sub.bytes = size.bytes - REDISBLOOM_BLOOM_HEADER - REDISBLOOM_SUB;
    sub.bits = sub.bytes * 8;
    sub.hashes = size.hashes;
    return sub;
}

/* The sub-filters of a generation, with the sizes that RedisBloom would give them; BF.INFO reports
 * the memory that the filter really takes. */
static long reply_generation(RedisModuleCtx *ctx, const struct bf *f, const struct generation *c,
                             long room) {
    double error = f->expansion == 0 ? f->error : f->error * 0.5;
    uint64_t capacity = c->first_capacity;
    long lines = 0;
    for (uint64_t i = 0; i < c->subfilters && lines < room; i++, lines++) {
        struct redisbloom_sub sub = subfilter_for(capacity, error);
        sub.size = i + 1 == c->subfilters ? c->last_size : capacity;
        reply_subfilter(ctx, &sub);
        capacity *= f->expansion;
        error *= 0.5;
    }
    return lines;
}

/* BF.DEBUG key */
int bf_debug_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct key key;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    long lines = 1;
    RedisModule_ReplyWithArray(ctx, REDISMODULE_POSTPONED_LEN);
    reply_line(ctx, "size:%llu", (unsigned long long)bf_numbers(f).items);
    if (bf_is_small(f)) {
        const struct generation only = {.subfilters = 1,
                                        .first_capacity = f->capacity,
                                        .last_size = bf_small_keys(f->in.bf_small)};
        lines += reply_generation(ctx, f, &only, DEBUG_LINES_MAX - lines);
    }
    for (uint32_t i = 0; i < f->generations; i++) {
        lines += reply_generation(ctx, f, &f->in.generation[i], DEBUG_LINES_MAX - lines);
    }
    const uint32_t subs = f->redisbloom == NULL ? 0 : redisbloom_bloom(f->redisbloom).subfilters;
    for (uint32_t i = 0; i < subs; i++, lines++) {
        const struct redisbloom_sub sub = redisbloom_sub(f->redisbloom, i);
        reply_subfilter(ctx, &sub);
    }
    RedisModule_ReplySetArrayLength(ctx, lines);
    return key_close(&key);
}

/* ---- chunks */

/* BF.SCANDUMP key iterator */
int bf_scandump_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (must_wait(ctx, argv + 1, 1, WORKER_READS, bf_scandump_command)) return REDISMODULE_OK;
    struct key key;
    long long iterator;
    const struct bf *f = key_need(ctx, argv[1], bf_type, &key);
    if (f == NULL) return REDISMODULE_OK;
    if (RedisModule_StringToLongLong(argv[2], &iterator) != REDISMODULE_OK) {
        reply_error(ctx, "Second argument must be numeric");
    } else {
        size_t length;
        long long next;
        uint8_t *bytes = serialize_chunk(&bf_ops, f, iterator, &length, &next);
        reply_chunk(ctx, next, bytes, length, false);
    }
    return key_close(&key);
}

/* Loads a header into an empty key.  NULL, or an error. */
static const char *load_header(RedisModuleCtx *ctx, const struct key *key, const uint8_t *bytes,
                               size_t length) {
    struct bf *f = serialize_is_header(&bf_ops, bytes, length)
                       ? serialize_open(&bf_ops, bytes, length)
                       : bf_of_redisbloom(redisbloom_accept(ctx, TAMIS_GROWING, bytes, length));
    if (f == NULL) return "ERR received bad data";
    RedisModule_ModuleTypeSetValue(key->handle, bf_type, f);
    return NULL;
}

/* The iterator is 1 + the end of the chunk; one before the first byte is past the end. */
static const char *load_data(tamis_filter *f, uint64_t iterator, const uint8_t *bytes,
                             size_t length) {
    if (iterator < length) return "ERR received bad data";
    switch (redisbloom_write(f, iterator - 1 - length, bytes, length)) {
        case WRITE_OK:
            return NULL;
        case WRITE_OUTSIDE:
            return "ERR invalid offset - no link found";
        case WRITE_TOO_LONG:
            return "ERR invalid chunk - Too big for current filter";
        default:
            return "ERR Insufficient memory";
    }
}

static const char *load_chunk(struct bf *f, long long iterator, const uint8_t *bytes,
                              size_t length) {
    if (iterator < 1) return "ERR received bad data";
    if (f->redisbloom != NULL) return load_data(f->redisbloom, (uint64_t)iterator, bytes, length);
    const bool is_header = iterator == 1 && length > 1; /* but the filter exists */
    if (is_header) return "ERR received bad data";
    if (iterator < 2 || (uint64_t)iterator - 2 >= bf_chunks(f)) {
        return "ERR invalid offset - no link found";
    }
    return bf_ops.load_chunk(f, (uint64_t)iterator - 2, bytes, length) ? NULL
                                                                       : "ERR received bad data";
}

/* BF.LOADCHUNK key iterator data */
int bf_loadchunk_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long iterator;
    size_t length;
    const uint8_t *bytes = (const uint8_t *)RedisModule_StringPtrLen(argv[3], &length);
    if (serialize_is_header(&bf_ops, bytes, length)) hide_argument(ctx, 3);
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

/* Starts the union with a copy. */
static const char *merge_first(const struct bf *f, struct bf **into) {
    *into = bf_copy(f);
    return *into == NULL ? "ERR Insufficient memory" : NULL;
}

/* Merges one source; a missing destination becomes a copy of it.  `*bytes`: memory of all sources
 * so far, which the server does not count yet because their tables are shared. */
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

/* An existing destination needs no more memory: the union replaces it. */
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

/* Builds the union in a new filter, so that a failure changes nothing.  Sets `*changed` if it
 * differs from the destination. */
static const char *merge_all(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                             struct bf **result, bool *changed) {
    *result = NULL;
    const char *wrong = merge_destination(ctx, argv[1], result);
    const bool there = *result != NULL;
    *changed = !there;
    uint64_t bytes = 0;
    for (int i = 2; i < argc && wrong == NULL; i++) {
        if (there && arg_equal(argv[i], argv[1])) continue; /* the destination itself */
        wrong = merge_source(ctx, argv[i], result, &bytes, changed);
    }
    if (wrong == NULL) return NULL;
    bf_free(*result);
    return wrong;
}

/* An existing destination keeps its expiry. */
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
int bf_merge_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (must_wait(ctx, argv + 1, argc - 1, WORKER_WRITES, bf_merge_command)) return REDISMODULE_OK;
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
