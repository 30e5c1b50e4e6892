/* served_commands.c - the commands TAMIS.*: filters that were built elsewhere
 *
 *     tamis build -k fuse -o blocked.tamis < urls          offline, from all keys at once
 *     TAMIS.LOAD blocked 0 1048588 <bytes>                 in chunks, in order
 *     TAMIS.EXISTS blocked http://example.org/
 *
 * A key that is not there, or is not complete, is an error: "no" is a promise here. */
#include <string.h>

#include "answers.h"
#include "args.h"
#include "memory.h"
#include "replies.h"
#include "served.h"
#include "types.h"
#include "worker.h"

/* A file of so many bytes is checked by the worker: half a millisecond for a mebibyte. */
#define CHECKED_BEHIND ((uint64_t)1 << 20)

#define LOADING "ERR the filter is being loaded"

/* ---- TAMIS.LOAD */

static int tamis_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool read_secret(RedisModuleString *text, uint8_t secret[TAMIS_SECRET_BYTES]) {
    const struct item hex = arg_item(text);
    if (hex.length != 2 * TAMIS_SECRET_BYTES) return false;
    for (size_t i = 0; i < TAMIS_SECRET_BYTES; i++) {
        const int high = hex_digit(hex.bytes[2 * i]), low = hex_digit(hex.bytes[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        secret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

struct chunk {
    uint64_t offset, total;
    struct item data;
    bool keyed;
    uint8_t secret[TAMIS_SECRET_BYTES];
};

static const char *read_chunk(RedisModuleString **argv, int argc, struct chunk *c) {
    long long offset, total;
    if (arg_integer(argv[2], 0, (long long)SERVED_MOST, &offset) != ARG_OK) return "ERR bad offset";
    if (arg_integer(argv[3], 1, (long long)SERVED_MOST, &total) != ARG_OK) return "ERR bad total";
    *c = (struct chunk){.offset = (uint64_t)offset,
                        .total = (uint64_t)total,
                        .data = arg_item(argv[4]),
                        .keyed = argc == 7};
    if (c->data.length == 0 || offset > total || c->data.length > c->total - c->offset) {
        return "ERR the chunk is not within the file";
    }
    if (!c->keyed) return NULL;
    if (!arg_is(argv[5], "SECRET")) return "Unknown argument received";
    return read_secret(argv[6], c->secret) ? NULL : "ERR the SECRET must be 32 hexadecimal digits";
}

/* Is there room for a file of so many bytes?  Where need be, that of the one that was coming. */
static bool make_room(RedisModuleCtx *ctx, struct served *s, uint64_t total) {
    if (memory_admits(ctx, total)) return true;
    if (!memory_admits(ctx, total > s->total ? total - s->total : 0)) return false;
    served_give_back(s);
    return true;
}

/* Takes the chunk.  NULL, or what is wrong. */
static const char *take_chunk(RedisModuleCtx *ctx, struct served *s, const struct chunk *c) {
    if (c->offset == 0) {
        if (!make_room(ctx, s, c->total) || !served_begin(s, c->total)) {
            return "ERR Insufficient memory";
        }
    } else if (s->staged == NULL || c->total != s->total || c->offset != s->received) {
        return "ERR chunks must come in order, from offset 0 on";
    } else if (served_is_checking(s)) {
        return "ERR the file is being checked";
    }
    served_append(s, c->data.bytes, c->data.length);
    if (s->received < s->total) return NULL;
    return served_finish(s, c->keyed ? c->secret : NULL);
}

/* A chunk that failed may have ended an upload that was `coming`: a key that has nothing else
 * goes. */
static void give_up(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                    const struct served *s, bool coming) {
    if (s->staged != NULL) return;
    if (s->filter == NULL) {
        RedisModule_DeleteKey(key->handle);
        if (coming) RedisModule_Replicate(ctx, "DEL", "s", name);
    } else if (coming) {
        RedisModule_Replicate(ctx, "TAMIS.LOAD", "sc", name, "ABORT");
    }
    if (coming) key_changed(ctx, name, "tamis.load");
}

/* Must the client wait until the file has been checked, or until the worker is done with what
 * another client sent last?  The command is run again then. */
static bool must_wait(RedisModuleCtx *ctx, struct served *s, const struct chunk *c) {
    const uint8_t *secret = c->keyed ? c->secret : NULL;
    if (s->coming == NULL || c->offset == 0 || c->offset != s->received || c->total != s->total) {
        return false;
    }
    if (served_is_checking(s)) return worker_wait(ctx, tamis_load, WORKER_CHANGES);
    if (c->offset + c->data.length < c->total || c->total < CHECKED_BEHIND) return false;
    if (served_is_checked(s, c->data.bytes, c->data.length, secret)) return false;
    if (!worker_can_wait(ctx)) return false;
    served_check(s, c->data.bytes, c->data.length, secret);
    return worker_wait(ctx, tamis_load, WORKER_CHANGES);
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                      const struct chunk *c) {
    const bool made = key->state == KEY_EMPTY;
    struct served *s = made ? served_create() : key->value;
    if (s == NULL) return reply_error(ctx, "ERR Insufficient memory");
    if (made) RedisModule_ModuleTypeSetValue(key->handle, served_type, s);
    if (must_wait(ctx, s, c)) return REDISMODULE_OK;
    const bool coming = s->staged != NULL;
    const char *wrong = take_chunk(ctx, s, c);
    if (wrong != NULL) {
        give_up(ctx, name, key, s, coming);
        return reply_error(ctx, wrong);
    }
    const bool complete = s->staged == NULL;
    RedisModule_ReplicateVerbatim(ctx);
    if (complete || made) key_changed(ctx, name, "tamis.load");
    return RedisModule_ReplyWithLongLong(ctx, (long long)(c->offset + c->data.length));
}

static int abort_load(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key) {
    struct served *s = key->value;
    if (s == NULL) return reply_error(ctx, key_error(key->state));
    if (s->staged == NULL && s->filter != NULL) return reply_ok(ctx);
    served_abort(s);
    if (s->filter == NULL) RedisModule_DeleteKey(key->handle);
    RedisModule_ReplicateVerbatim(ctx);
    key_changed(ctx, name, "tamis.load");
    return reply_ok(ctx);
}

/* TAMIS.LOAD key offset total data [SECRET hex] | TAMIS.LOAD key ABORT.  Replies with the bytes
 * that are there; the file is in use when these are all. */
static int tamis_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct chunk c;
    const bool ending = argc == 3 && arg_is(argv[2], "ABORT");
    if (argc >= 7) hide_argument(ctx, 6);
    if (!ending && argc != 5 && argc != 7) return RedisModule_WrongArity(ctx);
    const char *wrong = ending ? NULL : read_chunk(argv, argc, &c);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key =
        key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, served_type);
    if (key_is_late(ctx, &key, true)) {
        /* It has been replied to. */
    } else if (key.state == KEY_WRONG_TYPE) {
        reply_error(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    } else if (ending) {
        abort_load(ctx, argv[1], &key);
    } else {
        load_chunk(ctx, argv[1], &key, &c);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- asking */

/* The filter of a key that must be there and complete; replies with an error if it is not. */
static const struct served *need_filter(RedisModuleCtx *ctx, RedisModuleString *name,
                                        struct key *key) {
    *key = key_open(ctx, name, REDISMODULE_READ, served_type);
    const struct served *s = key->value;
    if (s != NULL && s->filter != NULL) return s;
    reply_error(ctx, s != NULL ? LOADING : key_error(key->state));
    key_close(key);
    return NULL;
}

/* TAMIS.EXISTS key item */
static int tamis_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct served *s = need_filter(ctx, argv[1], &key);
    if (s == NULL) return REDISMODULE_OK;
    const struct item item = arg_item(argv[2]);
    RedisModule_ReplyWithBool(ctx, tamis_contains(s->filter, item.bytes, item.length));
    key_close(&key);
    return REDISMODULE_OK;
}

/* TAMIS.MEXISTS key item... */
static int tamis_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return RedisModule_WrongArity(ctx);
    struct key key;
    const struct served *s = need_filter(ctx, argv[1], &key);
    if (s == NULL) return REDISMODULE_OK;
    const size_t count = (size_t)argc - 2;
    struct items batch;
    bool answers[STORE_BATCH];
    RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(argv + 2 + at, count - at, &batch);
        tamis_contains_batch(s->filter, batch.bytes, batch.length, batch.count, answers);
        answers_reply(ctx, answers, batch.count, ANSWERS_BOOLEANS);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

/* ---- TAMIS.INFO */

static void reply_text(RedisModuleCtx *ctx, const char *name, const char *value) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithSimpleString(ctx, value);
}

/* TAMIS.INFO key */
static int tamis_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    const struct key key = key_open(ctx, argv[1], REDISMODULE_READ, served_type);
    const struct served *s = key.value;
    if (s == NULL) {
        reply_error(ctx, key_error(key.state));
    } else {
        const bool there = s->filter != NULL;
        RedisModule_ReplyWithMap(ctx, 9);
        reply_text(ctx, "Kind", there ? tamis_kind_name(s->facts->kind) : "none");
        reply_field(ctx, "Size", served_bytes(s));
        reply_field(ctx, "File size", s->length);
        reply_field(ctx, "Number of keys",
                    there ? (unsigned long long)(s->facts->distinct + 0.5) : 0);
        RedisModule_ReplyWithSimpleString(ctx, "Error rate");
        RedisModule_ReplyWithDouble(ctx, there ? s->facts->rate_now : 0);
        reply_text(ctx, "Hash", there ? s->facts->hash : "none");
        reply_field(ctx, "Keyed", s->keyed);
        reply_field(ctx, "Bytes coming", s->total);
        reply_field(ctx, "Bytes received", s->received);
    }
    key_close(&key);
    return REDISMODULE_OK;
}

const struct command served_commands[] = {
    {"tamis.load", tamis_load, "write deny-oom", "write bloom", 1},
    {"tamis.exists", tamis_exists, "readonly fast", "read bloom", 1},
    {"tamis.mexists", tamis_mexists, "readonly fast", "read bloom", 1},
    {"tamis.info", tamis_info_command, "readonly", "read bloom", 1},
    {NULL, NULL, NULL, NULL, 0},
};
