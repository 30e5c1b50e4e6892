/* tamis_commands.c - the TAMIS commands: filters that were built elsewhere
 *
 *     tamis build -k fuse -o blocked.tamis < urls          offline, from all keys at once
 *     TAMIS.LOAD blocked 0 1048588 <bytes>                 in chunks, in order
 *     TAMIS.EXISTS blocked http://example.org/
 *
 * A missing or incomplete key is an error, never "definitely not in the set". */
#include <string.h>

#include "commands/args.h"
#include "commands/batch_replies.h"
#include "commands/commands.h"
#include "commands/replies.h"
#include "filters/static_filter.h"
#include "persist/types.h"
#include "server/memory.h"
#include "server/worker.h"

/* The worker verifies files of at least this many bytes: half a millisecond per MiB. */
#define WORKER_CHECKS_FROM ((uint64_t)1 << 20)

#define LOADING "ERR the filter is being loaded"

/* ---- TAMIS.LOAD */

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
    if (arg_integer(argv[2], 0, (long long)STATIC_MAX, &offset) != ARG_OK) return "ERR bad offset";
    if (arg_integer(argv[3], 1, (long long)STATIC_MAX, &total) != ARG_OK) return "ERR bad total";
    *c = (struct chunk){.offset = (uint64_t)offset,
                        .total = (uint64_t)total,
                        .data = arg_item(argv[4]),
                        .keyed = argc == 7};
    if (c->data.length == 0 || offset > total || c->data.length > c->total - c->offset) {
        return "ERR the chunk is outside the file";
    }
    if (!c->keyed) return NULL;
    if (!arg_is(argv[5], "SECRET")) return "Unknown argument received";
    return read_secret(argv[6], c->secret) ? NULL : "ERR the SECRET must be 32 hexadecimal digits";
}

/* Returns whether a file of `total` bytes fits; frees the file being loaded if that is necessary.
 */
static bool make_room(RedisModuleCtx *ctx, struct static_filter *s, uint64_t total) {
    if (memory_admits(ctx, total)) return true;
    if (!memory_admits(ctx, total > s->total ? total - s->total : 0)) return false;
    static_filter_give_back(s);
    return true;
}

/* Appends the chunk.  NULL, or an error. */
static const char *take_chunk(RedisModuleCtx *ctx, struct static_filter *s, const struct chunk *c) {
    if (c->offset == 0) {
        if (!make_room(ctx, s, c->total) || !static_filter_begin(s, c->total)) {
            return "ERR Insufficient memory";
        }
    } else if (s->staged == NULL || c->total != s->total || c->offset != s->received) {
        return "ERR chunks must come in order, from offset 0";
    } else if (static_filter_is_checking(s)) {
        return "ERR the file is being checked";
    }
    static_filter_append(s, c->data.bytes, c->data.length);
    if (s->received < s->total) return NULL;
    return static_filter_finish(s, c->keyed ? c->secret : NULL);
}

/* A chunk that failed may have ended the upload: removes a key without a filter. */
static void give_up(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                    const struct static_filter *s, bool uploading) {
    if (s->staged != NULL) return;
    if (s->filter == NULL) {
        RedisModule_DeleteKey(key->handle);
        if (uploading) RedisModule_Replicate(ctx, "DEL", "s", name);
    } else if (uploading) {
        RedisModule_Replicate(ctx, "TAMIS.LOAD", "sc", name, "ABORT");
    }
    if (uploading) key_changed(ctx, name, "tamis.load");
}

/* Returns whether the client must wait for the verification of the file, started by this or another
 * client.  The command runs again then. */
static bool must_wait(RedisModuleCtx *ctx, struct static_filter *s, const struct chunk *c) {
    const uint8_t *secret = c->keyed ? c->secret : NULL;
    if (s->upload == NULL || c->offset == 0 || c->offset != s->received || c->total != s->total) {
        return false;
    }
    if (static_filter_is_checking(s)) return worker_wait(ctx, tamis_load_command, WORKER_WRITES);
    if (c->offset + c->data.length < c->total || c->total < WORKER_CHECKS_FROM) return false;
    if (static_filter_is_checked(s, c->data.bytes, c->data.length, secret)) return false;
    if (!worker_can_wait(ctx)) return false;
    static_filter_check(s, c->data.bytes, c->data.length, secret);
    return worker_wait(ctx, tamis_load_command, WORKER_WRITES);
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key,
                      const struct chunk *c) {
    const bool made = key->state == KEY_EMPTY;
    struct static_filter *s = made ? static_filter_create() : key->value;
    if (s == NULL) return reply_error(ctx, "ERR Insufficient memory");
    if (made) RedisModule_ModuleTypeSetValue(key->handle, static_type, s);
    if (must_wait(ctx, s, c)) return REDISMODULE_OK;
    const bool uploading = s->staged != NULL;
    const char *wrong = take_chunk(ctx, s, c);
    if (wrong != NULL) {
        give_up(ctx, name, key, s, uploading);
        return reply_error(ctx, wrong);
    }
    const bool complete = s->staged == NULL;
    RedisModule_ReplicateVerbatim(ctx);
    if (complete || made) key_changed(ctx, name, "tamis.load");
    return RedisModule_ReplyWithLongLong(ctx, (long long)(c->offset + c->data.length));
}

static int abort_load(RedisModuleCtx *ctx, RedisModuleString *name, const struct key *key) {
    struct static_filter *s = key->value;
    if (s == NULL) return reply_error(ctx, key_error(key->state));
    if (s->staged == NULL && s->filter != NULL) return reply_ok(ctx);
    static_filter_abort(s);
    if (s->filter == NULL) RedisModule_DeleteKey(key->handle);
    RedisModule_ReplicateVerbatim(ctx);
    key_changed(ctx, name, "tamis.load");
    return reply_ok(ctx);
}

/* TAMIS.LOAD key offset total data [SECRET hex] | TAMIS.LOAD key ABORT.  Replies with the number of
 * bytes received; the file is in use when all are. */
int tamis_load_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct chunk c;
    const bool ending = argc == 3 && arg_is(argv[2], "ABORT");
    if (argc >= 7) hide_argument(ctx, 6);
    if (!ending && argc != 5 && argc != 7) return RedisModule_WrongArity(ctx);
    const char *wrong = ending ? NULL : read_chunk(argv, argc, &c);
    if (wrong != NULL) return reply_error(ctx, wrong);
    const struct key key =
        key_open(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, static_type);
    if (key_is_late(ctx, &key, true)) {
        /* key_is_late has replied. */
    } else if (key.state == KEY_WRONG_TYPE) {
        reply_error(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    } else if (ending) {
        abort_load(ctx, argv[1], &key);
    } else {
        load_chunk(ctx, argv[1], &key, &c);
    }
    return key_close(&key);
}

/* ---- queries */

/* The filter of a key that must exist and be complete; replies with an error if it is not. */
static const struct static_filter *need_filter(RedisModuleCtx *ctx, RedisModuleString *name,
                                               struct key *key) {
    const struct static_filter *s = key_need(ctx, name, static_type, key);
    if (s == NULL || s->filter != NULL) return s;
    reply_error(ctx, LOADING);
    key_close(key);
    return NULL;
}

static void contains(const void *filter, const struct items *items, bool *results) {
    tamis_contains_batch(filter, items->bytes, items->length, items->count, results);
}

static int exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool many) {
    struct key key;
    const struct static_filter *s = need_filter(ctx, argv[1], &key);
    if (s == NULL) return REDISMODULE_OK;
    contains_reply(ctx, contains, s->filter, argv + 2, (size_t)argc - 2, many);
    return key_close(&key);
}

/* TAMIS.EXISTS key item */
int tamis_exists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return exists(ctx, argv, argc, false);
}

/* TAMIS.MEXISTS key item... */
int tamis_mexists_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return exists(ctx, argv, argc, true);
}

/* ---- TAMIS.INFO */

static void reply_text(RedisModuleCtx *ctx, const char *name, const char *value) {
    RedisModule_ReplyWithSimpleString(ctx, name);
    RedisModule_ReplyWithSimpleString(ctx, value);
}

/* TAMIS.INFO key */
int tamis_info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    struct key key;
    const struct static_filter *s = key_need(ctx, argv[1], static_type, &key);
    if (s == NULL) return REDISMODULE_OK;
    const bool there = s->filter != NULL;
    RedisModule_ReplyWithMap(ctx, 9);
    reply_text(ctx, "Kind", there ? tamis_kind_name(s->facts->kind) : "none");
    reply_field(ctx, "Size", static_filter_bytes(s));
    reply_field(ctx, "File size", s->length);
    reply_field(ctx, "Number of keys", there ? (unsigned long long)(s->facts->distinct + 0.5) : 0);
    RedisModule_ReplyWithSimpleString(ctx, "Error rate");
    RedisModule_ReplyWithDouble(ctx, there ? s->facts->fpr_now : 0);
    reply_text(ctx, "Hash", there ? s->facts->hash : "none");
    reply_field(ctx, "Keyed", s->keyed);
    reply_field(ctx, "Bytes expected", s->total);
    reply_field(ctx, "Bytes received", s->received);
    return key_close(&key);
}
