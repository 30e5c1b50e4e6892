/* batch_replies.c - see batch_replies.h
 *
 * Replying with one integer takes the server 150 instructions, more than computing it; a hundred of
 * them were a sixth of a command.  But RedisModule_ReplyWithCallReply passes the reply of another
 * command on unchanged, whatever its length.  So when the module is loaded it calls its own
 * command TAMIS.ANSWERS for every row of eight results and keeps the replies:
 *
 *     0 0 0 0 0 0 0 0    ":0\r\n:0\r\n:0\r\n..."     "#f\r\n#f\r\n#f\r\n..."
 *     0 0 0 0 0 0 0 1    ":0\r\n:0\r\n:0\r\n..."     "#f\r\n#f\r\n#f\r\n..."
 *     ...                 256 replies in RESP2        256 in RESP3
 *
 * A hundred results are then twelve rows and four single ones: 2,000 instructions instead of
 * 15,000. The replies take about 80 KB and stay as long as the module, which is never unloaded
 * because it has data types.
 *
 * Several values without an array around them are not a valid reply to a client, so TAMIS.ANSWERS
 * refuses clients.  Whether the server keeps and passes on such a reply unchanged is tested when
 * the module is loaded; if not, results are sent one by one. */
#include "commands/batch_replies.h"

#include <stdint.h>
#include <string.h>

#include "commands/args.h"
#include "commands/commands.h"
#include "commands/replies.h"
#include "tables/bools.h"

#define COMMAND "tamis.answers"
#define ROW BOOLS_ROW
#define ROWS (1 << ROW)
#define RESULT_BYTES 4 /* ":1\r\n" */
#define ROWS_FROM 16   /* for fewer results, finding the protocol takes longer than it saves */

enum protocol { RESP2, RESP3, PROTOCOLS };

static struct {
    bool ready;
    RedisModuleCallReply *row[PROTOCOLS][ROWS];
} kept;

/* What TAMIS.ANSWERS replies with: a row of results, or an earlier reply. */
struct request {
    bool results[ROW];
    RedisModuleCallReply *before;
};
static const struct request *current; /* NULL: the caller is a client */

/* The number of a row: a bit for each result, in some order. */
static unsigned row_of(const bool *results) {
    return (unsigned)(bools_row(results) * UINT64_C(0x0102040810204080) >> 56);
}

static void reply_one(RedisModuleCtx *ctx, bool answer, enum results_as as) {
    if (as == RESULTS_NUMBERS) {
        RedisModule_ReplyWithLongLong(ctx, answer);
    } else {
        RedisModule_ReplyWithBool(ctx, answer);
    }
}

void results_reply(RedisModuleCtx *ctx, const bool *results, size_t count, enum results_as as) {
    size_t i = 0;
    if (kept.ready && count >= ROWS_FROM) {
        const bool booleans = as == RESULTS_BOOLEANS && reply_is_resp3(ctx);
        RedisModuleCallReply **row = kept.row[booleans ? RESP3 : RESP2];
        for (; count - i >= ROW; i += ROW) {
            RedisModule_ReplyWithCallReply(ctx, row[row_of(results + i)]);
        }
    }
    for (; i < count; i++) reply_one(ctx, results[i], as);
}

int contains_reply(RedisModuleCtx *ctx, contains_items *contains, const void *filter,
                   RedisModuleString **args, size_t count, bool many) {
    struct items batch;
    bool results[SCALABLE_BATCH];
    if (filter == NULL) memset(results, 0, sizeof results);
    if (many) RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t at = 0; at < count; at += batch.count) {
        args_items(args + at, count - at, &batch);
        if (filter != NULL) contains(filter, &batch, results);
        results_reply(ctx, results, batch.count, RESULTS_BOOLEANS);
    }
    return REDISMODULE_OK;
}

/* ---- preparing the replies */

int tamis_answers_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (current == NULL) return reply_error(ctx, "ERR this command is internal to the module");
    if (current->before != NULL) return RedisModule_ReplyWithCallReply(ctx, current->before);
    for (unsigned i = 0; i < ROW; i++) RedisModule_ReplyWithBool(ctx, current->results[i]);
    return REDISMODULE_OK;
}

/* Compares the bytes only: reading the type would make the server parse a single value. */
static bool is_whole(RedisModuleCallReply *reply, const bool *results, enum protocol protocol) {
    static const char *const as[PROTOCOLS][2] = {{":0\r\n", ":1\r\n"}, {"#f\r\n", "#t\r\n"}};
    size_t length = 0;
    const char *bytes = RedisModule_CallReplyProto(reply, &length);
    if (bytes == NULL || length != ROW * RESULT_BYTES) return false;
    for (unsigned i = 0; i < ROW; i++, bytes += RESULT_BYTES) {
        if (memcmp(bytes, as[protocol][results[i]], RESULT_BYTES) != 0) return false;
    }
    return true;
}

/* Calls TAMIS.ANSWERS; NULL if the reply is not as expected. */
static RedisModuleCallReply *call_self(RedisModuleCtx *ctx, const struct request *request,
                                       enum protocol protocol) {
    current = request;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, COMMAND, protocol == RESP3 ? "3" : "");
    current = NULL;
    if (reply == NULL || is_whole(reply, request->results, protocol)) return reply;
    RedisModule_FreeCallReply(reply);
    return NULL;
}

/* Returns whether the server also passes on a kept reply unchanged. */
static bool passes_on(RedisModuleCtx *ctx, struct request request, RedisModuleCallReply *kept_one,
                      enum protocol protocol) {
    request.before = kept_one;
    RedisModuleCallReply *reply = call_self(ctx, &request, protocol);
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    return reply != NULL;
}

static bool keep_row(RedisModuleCtx *ctx, unsigned number, enum protocol protocol) {
    struct request request = {.before = NULL};
    for (unsigned i = 0; i < ROW; i++) request.results[i] = number >> i & 1;
    RedisModuleCallReply *reply = call_self(ctx, &request, protocol);
    if (reply == NULL) return false;
    kept.row[protocol][row_of(request.results)] = reply;
    return number != 1 || passes_on(ctx, request, reply, protocol);
}

static void forget_rows(void) {
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        for (unsigned i = 0; i < ROWS; i++) {
            if (kept.row[p][i] != NULL) RedisModule_FreeCallReply(kept.row[p][i]);
            kept.row[p][i] = NULL;
        }
    }
}

void results_prepare(RedisModuleCtx *ctx) {
    bool all = true;
    for (unsigned i = 0; i < ROWS && all; i++) {
        all = keep_row(ctx, i, RESP2) && keep_row(ctx, i, RESP3);
    }
    kept.ready = all;
    if (!all) forget_rows();
}
