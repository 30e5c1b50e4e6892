/* put.c - a .tamis file becomes a filter: TAMIS.LOAD, chunk by chunk
 *
 *     TAMIS.LOAD name 0       total <1 MiB>   -> 1048576      begins; what was coming is dropped
 *     TAMIS.LOAD name 1048576 total <1 MiB>   -> 2097152
 *     ...                                                     the old filter answers
 *     TAMIS.LOAD name last    total <rest> [SECRET hex]       -> total: checked, and in use
 *
 * Chunks go in windows of a few, pipelined, through the router (route.c), which sends again what
 * was not answered.  So a chunk may come twice, and the server refuses one that is not the next:
 *
 *   - The last chunk of the window was taken: then so was everything before it, since the server
 *     takes them in order.  Refusals in between were repetitions.
 *   - It was refused for the order: TAMIS.INFO tells how much is there, and the upload goes on
 *     from that point; after a failover it may be less than before.
 *   - Nothing of ours is there: the last chunk had arrived and its reply was lost, or somebody
 *     else is putting a file at the same place.  These look alike, so it begins again, which does
 *     no harm in the first case, and a few times only, for the second.
 *
 * A mixture of two files cannot come into use: the server compares the checksums of all of it
 * first.  Memory: the bytes of a window twice, in the commands and in the link. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

/* As the server writes them into its AOF.  It works on one for a fraction of a millisecond. */
#define CHUNK_BYTES ((size_t)1 << 20)
#define WINDOW_CHUNKS 8

#define RESTARTS_MAX 4
#define STEP_ASIDE_MS UINT64_C(100)

#define SECRET_BYTES 16

struct put {
    tamis_sharded at; /* the place: cluster and name */
    const tamis_cluster_file *file;
    struct requests requests;
    uint64_t there; /* bytes that the server has told to have */
    uint64_t sent;  /* bytes that it can have: where the window ends */
    uint32_t restarts;
    bool old_answers; /* there was a filter before */
    bool doubtful;    /* all was sent, and what became of it is not known */
    bool stopped, contended;
};

/* ---- before */

/* What is there may be nothing, or a filter of this kind. */
static bool check_place(tamis_cluster *cluster, const char *name, tamis_sharded *at) {
    static const char *const kinds[] = {"a Bloom filter", "a cuckoo filter"};
    switch (look_up(cluster, name, at)) {
        case FOUND_NOTHING:
            return true;
        case FOUND_FILTER:
            if (at->kind == TAMIS_SHARDED_STATIC) return true;
            return cluster_fail(cluster, "'%s' is %s: drop it first, or take another name", name,
                                kinds[at->kind]);
        case FOUND_UNFINISHED:
            return cluster_fail(cluster, "'%s' was never completed: drop it first", name);
        default:
            return false;
    }
}

static bool check_file(tamis_cluster *cluster, const tamis_cluster_file *file) {
    if (file->length == 0) return cluster_fail(cluster, "the file is empty");
    if (file->length <= TAMIS_CLUSTER_FILE_MAX) return true;
    return cluster_fail(cluster, "the file is larger than the 64 GiB that a server takes");
}

/* ---- TAMIS.INFO */

/* The reply, in put->requests; NULL if there is none, and then the error is set. */
static const redisReply *ask_info(struct put *put) {
    requests_clear(&put->requests);
    ask_key(&put->requests, "TAMIS.INFO", put->at.name, false);
    return cluster_run(put->at.cluster, &put->requests) ? put->requests.at[0].reply : NULL;
}

static bool is_error(const redisReply *reply, const char *words) {
    return reply->type == REDIS_REPLY_ERROR && strstr(reply->str, words) != NULL;
}

static bool refused(const struct put *put, const redisReply *reply) {
    if (is_error(reply, "unknown command")) {
        return cluster_fail(put->at.cluster, "the server has not loaded the module of tamis");
    }
    return shard_failed(&put->at, put->at.name, reply);
}

static bool find_old(struct put *put) {
    const redisReply *info = ask_info(put);
    if (info == NULL) return false;
    if (is_error(info, "not found")) return true;
    if (info->type != REDIS_REPLY_ARRAY) return refused(put, info);
    put->old_answers = strcmp(info_word(info, "Kind"), "none") != 0;
    return true;
}

/* ---- a window */

static void add_chunk(struct put *put, uint64_t offset, size_t length) {
    struct requests *requests = &put->requests;
    const tamis_cluster_file *file = put->file;
    const bool secret = file->secret != NULL && offset + length == file->length;
    char number[24];
    request_start(requests, put->at.name, true, secret ? 7 : 5);
    request_text(requests, "TAMIS.LOAD");
    request_text(requests, put->at.name);
    snprintf(number, sizeof number, "%" PRIu64, offset);
    request_text(requests, number);
    snprintf(number, sizeof number, "%" PRIu64, file->length);
    request_text(requests, number);
    request_word(requests, (const char *)file->bytes + offset, length);
    if (secret) {
        char hex[2 * SECRET_BYTES + 1];
        for (size_t i = 0; i < SECRET_BYTES; i++) {
            snprintf(hex + 2 * i, 3, "%02x", (unsigned)file->secret[i]);
        }
        request_text(requests, "SECRET");
        request_text(requests, hex);
    }
}

static bool send_window(struct put *put) {
    requests_clear(&put->requests);
    put->sent = put->there;
    for (int i = 0; i < WINDOW_CHUNKS && put->sent < put->file->length; i++) {
        const uint64_t left = put->file->length - put->sent;
        const size_t length = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        add_chunk(put, put->sent, length);
        put->sent += length;
    }
    put->doubtful = put->sent == put->file->length;
    return cluster_run(put->at.cluster, &put->requests);
}

/* Refusals that tell of repetitions, or of another upload: the file itself was found to be good
 * before it was sent. */
static bool is_disturbance(const redisReply *reply) {
    return is_error(reply, "must come in order") || is_error(reply, "checksum");
}

/* Before it begins again: two that have met once should not do so every time. */
static void step_aside(const struct put *put) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    pause_ms((uint32_t)((uint64_t)now.tv_nsec / 1000 % (STEP_ASIDE_MS << put->restarts)));
}

/* Where to go on: see the top. */
static bool recover(struct put *put) {
    const uint64_t before = put->there, sent = put->sent;
    const redisReply *info = ask_info(put);
    if (info == NULL) return false;
    put->there = 0;
    if (info->type == REDIS_REPLY_ARRAY && info_number(info, "Bytes coming") == put->file->length &&
        info_number(info, "Bytes received") <= sent) {
        put->there = info_number(info, "Bytes received");
    } else if (info->type != REDIS_REPLY_ARRAY && !is_error(info, "not found")) {
        return refused(put, info);
    }
    if (put->there > before) return true;
    if (put->restarts++ == RESTARTS_MAX) {
        put->contended = true;
        return cluster_fail(put->at.cluster, "'%s': another file is being put there", put->at.name);
    }
    if (put->there == 0) step_aside(put);
    return true;
}

static bool judge_window(struct put *put) {
    const struct requests *requests = &put->requests;
    const redisReply *last = requests->at[requests->count - 1].reply;
    if (last->type == REDIS_REPLY_INTEGER && (uint64_t)last->integer == put->sent) {
        put->there = put->sent;
        return true;
    }
    for (size_t i = 0; i < requests->count; i++) {
        const redisReply *reply = requests->at[i].reply;
        if (reply->type != REDIS_REPLY_INTEGER && !is_disturbance(reply)) {
            put->doubtful = false;
            return refused(put, reply);
        }
    }
    return recover(put);
}

/* ---- the whole */

static bool tell_progress(void *context) {
    struct put *put = (struct put *)context;
    const tamis_cluster_file *file = put->file;
    put->stopped = file->progress != NULL && !file->progress(file->context, put->there);
    return !put->stopped;
}

/* What has come is to be forgotten, if the server can be told so now. */
static void abort_upload(struct put *put) {
    tamis_cluster *cluster = put->at.cluster;
    const uint32_t patience = cluster->options.patience_ms;
    requests_clear(&put->requests);
    request_start(&put->requests, put->at.name, true, 3);
    request_text(&put->requests, "TAMIS.LOAD");
    request_text(&put->requests, put->at.name);
    request_text(&put->requests, "ABORT");
    cluster->options.patience_ms = 0;
    (void)cluster_run(cluster, &put->requests);
    cluster->options.patience_ms = patience;
}

/* Cleans up, and says after the reason which filter answers now. */
static bool give_up(struct put *put) {
    tamis_cluster *cluster = put->at.cluster;
    char why[sizeof cluster->error];
    if (put->contended) return false; /* what is there is not ours */
    memcpy(why, cluster->error, sizeof why);
    abort_upload(put);
    return cluster_fail(cluster, "%.400s; %s", put->stopped ? "it was stopped" : why,
                        put->doubtful      ? "whether the new filter is in use is not known"
                        : put->old_answers ? "the old filter goes on answering"
                                           : "there is no filter yet");
}

static bool send_all(struct put *put) {
    bool good = true;
    while (good && put->there < put->file->length) {
        good = send_window(put) && judge_window(put) && tell_progress(put);
    }
    return put->there == put->file->length || give_up(put);
}

bool tamis_cluster_put(tamis_cluster *cluster, const char *name, const tamis_cluster_file *file) {
    struct put put = {.file = file};
    cluster->go_on = tell_progress;
    cluster->go_on_context = &put;
    const bool good = check_file(cluster, file) && check_place(cluster, name, &put.at) &&
                      find_old(&put) && send_all(&put);
    cluster->go_on = NULL;
    requests_free(&put.requests);
    return good;
}
