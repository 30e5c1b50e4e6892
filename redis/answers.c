/* answers.c - see answers.h
 *
 * To reply with one integer takes the server 150 instructions, more than it takes to find out
 * what the integer is; a hundred of them were a sixth of a command.  But what another command has
 * replied is passed on as it is, by RedisModule_ReplyWithCallReply, and in one piece, however much
 * it is.  So when the module is loaded it asks itself, by the command TAMIS.ANSWERS, for every
 * row of eight answers, and keeps what it got:
 *
 *     0 0 0 0 0 0 0 0    ":0\r\n:0\r\n:0\r\n..."     "#f\r\n#f\r\n#f\r\n..."
 *     0 0 0 0 0 0 0 1    ":0\r\n:0\r\n:0\r\n..."     "#f\r\n#f\r\n#f\r\n..."
 *     ...                 256 replies in RESP2        256 in RESP3
 *
 * A hundred answers are then twelve rows and four single ones: 2,000 instructions, not 15,000.
 * The replies take about 80 KB and stay as long as the module does, which has types and is
 * therefore never unloaded.
 *
 * A reply of several values without an array around them is no reply to a client, so
 * TAMIS.ANSWERS refuses clients.  Whether a server keeps such a one whole, and passes it on
 * whole, is tried when the module is loaded; where it is not so, answers go one by one. */
#include "answers.h"

#include <stdint.h>
#include <string.h>

#include "marks.h"
#include "replies.h"
#include "types.h"

#define COMMAND "tamis.answers"
#define ROW MARKS_ROW
#define ROWS (1 << ROW)
#define ANSWER_BYTES 4  /* ":1\r\n" */
#define WORTH_ASKING 16 /* fewer answers take less than to ask which protocol it is */

enum protocol { RESP2, RESP3, PROTOCOLS };

static struct {
    bool ready;
    RedisModuleCallReply *row[PROTOCOLS][ROWS];
} kept;

/* What TAMIS.ANSWERS replies: a row of answers, or what it replied before. */
struct question {
    bool answers[ROW];
    RedisModuleCallReply *before;
};
static const struct question *asking; /* NULL: nobody asks but a client */

/* The number of a row: a bit for each answer, in some order. */
static unsigned row_of(const bool *answers) {
    return (unsigned)(marks_row(answers) * UINT64_C(0x0102040810204080) >> 56);
}

static void reply_one(RedisModuleCtx *ctx, bool answer, enum answers_as as) {
    if (as == ANSWERS_NUMBERS) {
        RedisModule_ReplyWithLongLong(ctx, answer);
    } else {
        RedisModule_ReplyWithBool(ctx, answer);
    }
}

void answers_reply(RedisModuleCtx *ctx, const bool *answers, size_t count, enum answers_as as) {
    size_t i = 0;
    if (kept.ready && count >= WORTH_ASKING) {
        const bool booleans = as == ANSWERS_BOOLEANS && reply_is_resp3(ctx);
        RedisModuleCallReply **row = kept.row[booleans ? RESP3 : RESP2];
        for (; count - i >= ROW; i += ROW) {
            RedisModule_ReplyWithCallReply(ctx, row[row_of(answers + i)]);
        }
    }
    for (; i < count; i++) reply_one(ctx, answers[i], as);
}

/* ---- making the rows */

static int tamis_answers(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return RedisModule_WrongArity(ctx);
    if (asking == NULL) return reply_error(ctx, "ERR only the module itself asks this");
    if (asking->before != NULL) return RedisModule_ReplyWithCallReply(ctx, asking->before);
    for (unsigned i = 0; i < ROW; i++) RedisModule_ReplyWithBool(ctx, asking->answers[i]);
    return REDISMODULE_OK;
}

/* Looked at as bytes alone: to ask for its type would make the server see one value in it. */
static bool is_whole(RedisModuleCallReply *reply, const bool *answers, enum protocol protocol) {
    static const char *const as[PROTOCOLS][2] = {{":0\r\n", ":1\r\n"}, {"#f\r\n", "#t\r\n"}};
    size_t length = 0;
    const char *bytes = RedisModule_CallReplyProto(reply, &length);
    if (bytes == NULL || length != ROW * ANSWER_BYTES) return false;
    for (unsigned i = 0; i < ROW; i++, bytes += ANSWER_BYTES) {
        if (memcmp(bytes, as[protocol][answers[i]], ANSWER_BYTES) != 0) return false;
    }
    return true;
}

/* Asks the module itself; NULL if the answer is another than it should be. */
static RedisModuleCallReply *ask(RedisModuleCtx *ctx, const struct question *question,
                                 enum protocol protocol) {
    asking = question;
    RedisModuleCallReply *reply = RedisModule_Call(ctx, COMMAND, protocol == RESP3 ? "3" : "");
    asking = NULL;
    if (reply == NULL || is_whole(reply, question->answers, protocol)) return reply;
    RedisModule_FreeCallReply(reply);
    return NULL;
}

/* Is what is kept also passed on whole? */
static bool passes_on(RedisModuleCtx *ctx, struct question question, RedisModuleCallReply *kept_one,
                      enum protocol protocol) {
    question.before = kept_one;
    RedisModuleCallReply *reply = ask(ctx, &question, protocol);
    if (reply != NULL) RedisModule_FreeCallReply(reply);
    return reply != NULL;
}

static bool keep_row(RedisModuleCtx *ctx, unsigned number, enum protocol protocol) {
    struct question question = {.before = NULL};
    for (unsigned i = 0; i < ROW; i++) question.answers[i] = number >> i & 1;
    RedisModuleCallReply *reply = ask(ctx, &question, protocol);
    if (reply == NULL) return false;
    kept.row[protocol][row_of(question.answers)] = reply;
    return number != 1 || passes_on(ctx, question, reply, protocol);
}

static void forget_rows(void) {
    for (unsigned p = 0; p < PROTOCOLS; p++) {
        for (unsigned i = 0; i < ROWS; i++) {
            if (kept.row[p][i] != NULL) RedisModule_FreeCallReply(kept.row[p][i]);
            kept.row[p][i] = NULL;
        }
    }
}

void answers_keep(RedisModuleCtx *ctx) {
    bool all = true;
    for (unsigned i = 0; i < ROWS && all; i++) {
        all = keep_row(ctx, i, RESP2) && keep_row(ctx, i, RESP3);
    }
    kept.ready = all;
    if (!all) forget_rows();
}

const struct command answers_commands[] = {
    {COMMAND, tamis_answers, "admin no-monitor no-slowlog", "admin dangerous", 0},
    {NULL, NULL, NULL, NULL, 0},
};
