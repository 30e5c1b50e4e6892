/* put.c - uploads a .tamis file in chunks: TAMIS.LOAD
 *
 *     TAMIS.LOAD name 0       total <1 MiB>   -> 1048576      starts; drops an unfinished upload
 *     TAMIS.LOAD name 1048576 total <1 MiB>   -> 2097152
 *     ...                                                     the old filter is in use
 *     TAMIS.LOAD name last    total <rest> [SECRET hex]       -> total: verified, and in use
 *
 * Chunks are sent in windows of a few, pipelined, through the router (route.c), which repeats
 * commands without a reply.  So a chunk may arrive twice, and the server refuses one that is not
 * the next:
 *   - The last chunk of the window was accepted.  Then all chunks before it were accepted, because
 * the server accepts them in order only; refusals in between were repetitions.
 *   - The last chunk was refused for its order.  TAMIS.INFO returns how much has arrived, and the
 *     upload continues from there.  After a failover that may be less than before.
 *   - The server has no upload of this file.  Either the last chunk arrived and its reply was lost,
 * or another client uploads to the same key.  The client cannot distinguish the two: it starts
 *     again, RESTARTS_MAX times at most.
 *
 * Chunks of two files are never mixed, because the server verifies all checksums before it uses a
 * file.  Memory: the bytes of a window twice, in the commands and in the connection. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

/* The chunk size of the server's AOF.  A chunk takes a fraction of a millisecond. */
#define CHUNK_BYTES ((size_t)1 << 20)
#define WINDOW_CHUNKS 8

#define RESTARTS_MAX 4
#define STEP_ASIDE_MS UINT64_C(100)

#define SECRET_BYTES 16

struct put {
    tamis_sharded at; /* cluster and name */
    const tamis_cluster_file *file;
    struct requests requests;
    uint64_t there; /* bytes that the server has confirmed */
    uint64_t sent;  /* bytes sent: the end of the window */
    uint32_t restarts;
    bool had_filter; /* there was a filter before */
    bool doubtful;   /* all was sent and the outcome is unknown */
    bool stopped, contended;
};

/* ---- before */

/* The key must not exist or be a static filter. */
static bool check_place(tamis_cluster *cluster, const char *name, tamis_sharded *at) {
    static const char *const kinds[] = {"a Bloom filter", "a cuckoo filter"};
    switch (look_up(cluster, name, at)) {
        case FOUND_NOTHING:
            return true;
        case FOUND_FILTER:
            if (at->kind == TAMIS_SHARDED_STATIC) return true;
            return cluster_fail(cluster, "'%s' is %s: drop it first or use another name", name,
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
    return cluster_fail(cluster, "the file is larger than 64 GiB, the maximum of a server");
}

/* ---- TAMIS.INFO */

/* The reply, in put->requests; NULL, with the error set, if there is none. */
static const redisReply *request_info(struct put *put) {
    requests_clear(&put->requests);
    request_key(&put->requests, "TAMIS.INFO", put->at.name, false);
    return cluster_run(put->at.cluster, &put->requests) ? put->requests.at[0].reply : NULL;
}

static bool refused(const struct put *put, const redisReply *reply) {
    if (reply_is_error(reply, "unknown command")) {
        return cluster_fail(put->at.cluster, "the server has not loaded the tamis module");
    }
    return shard_failed(&put->at, put->at.name, reply);
}

static bool find_old(struct put *put) {
    const redisReply *info = request_info(put);
    if (info == NULL) return false;
    if (reply_is_error(info, "not found")) return true;
    if (info->type != REDIS_REPLY_ARRAY) return refused(put, info);
    put->had_filter = strcmp(info_word(info, "Kind"), "none") != 0;
    return true;
}

/* ---- a window */

static void add_chunk(struct put *put, uint64_t offset, size_t length) {
    struct requests *requests = &put->requests;
    const tamis_cluster_file *file = put->file;
    const bool secret = file->secret != NULL && offset + length == file->length;
    char at[24], total[24], hex[2 * SECRET_BYTES + 1];
    snprintf(at, sizeof at, "%" PRIu64, offset);
    snprintf(total, sizeof total, "%" PRIu64, file->length);
    request_start(requests, put->at.name, true, secret ? 7 : 5);
    request_text(requests, "TAMIS.LOAD");
    request_text(requests, put->at.name);
    request_text(requests, at);
    request_text(requests, total);
    request_word(requests, (const char *)file->bytes + offset, length);
    if (!secret) return;
    for (size_t i = 0; i < SECRET_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", file->secret[i]);
    request_text(requests, "SECRET");
    request_text(requests, hex);
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

/* Refusals caused by repetitions or by another upload; the file itself was verified before. */
static bool is_disturbance(const redisReply *reply) {
    return reply_is_error(reply, "must come in order") || reply_is_error(reply, "checksum");
}

/* Waits before starting again, so that two uploads do not collide every time. */
static void step_aside(const struct put *put) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    pause_ms((uint32_t)((uint64_t)now.tv_nsec / 1000 % (STEP_ASIDE_MS << put->restarts)));
}

/* Finds where to continue: see above. */
static bool recover(struct put *put) {
    const uint64_t before = put->there, sent = put->sent;
    const redisReply *info = request_info(put);
    if (info == NULL) return false;
    put->there = 0;
    if (info->type == REDIS_REPLY_ARRAY &&
        info_number(info, "Bytes expected") == put->file->length &&
        info_number(info, "Bytes received") <= sent) {
        put->there = info_number(info, "Bytes received");
    } else if (info->type != REDIS_REPLY_ARRAY && !reply_is_error(info, "not found")) {
        return refused(put, info);
    }
    if (put->there > before) return true;
    if (put->restarts++ == RESTARTS_MAX) {
        put->contended = true;
        return cluster_fail(put->at.cluster, "'%s': another client is uploading a file there",
                            put->at.name);
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

static bool report_progress(void *context) {
    struct put *put = (struct put *)context;
    const tamis_cluster_file *file = put->file;
    put->stopped = file->progress != NULL && !file->progress(file->context, put->there);
    return !put->stopped;
}

/* Drops the unfinished upload, if the server can be reached now. */
static void abort_upload(struct put *put) {
    const char *const words[] = {"TAMIS.LOAD", put->at.name, "ABORT"};
    tamis_cluster *cluster = put->at.cluster;
    const uint32_t patience = cluster->options.patience_ms;
    requests_clear(&put->requests);
    request_words(&put->requests, put->at.name, true, words, 3);
    cluster->options.patience_ms = 0;
    (void)cluster_run(cluster, &put->requests);
    cluster->options.patience_ms = patience;
}

/* Cleans up, and appends to the error which filter is in use. */
static bool give_up(struct put *put) {
    tamis_cluster *cluster = put->at.cluster;
    char why[sizeof cluster->error];
    if (put->contended) return false; /* the upload there is not ours */
    memcpy(why, cluster->error, sizeof why);
    abort_upload(put);
    return cluster_fail(cluster, "%.400s; %s", put->stopped ? "stopped" : why,
                        put->doubtful     ? "it is unknown whether the new filter is in use"
                        : put->had_filter ? "the old filter stays in use"
                                          : "there is no filter yet");
}

static bool send_all(struct put *put) {
    bool good = true;
    while (good && put->there < put->file->length) {
        good = send_window(put) && judge_window(put) && report_progress(put);
    }
    return put->there == put->file->length || give_up(put);
}

bool tamis_cluster_put(tamis_cluster *cluster, const char *name, const tamis_cluster_file *file) {
    struct put put = {.file = file};
    cluster->go_on = report_progress;
    cluster->go_on_context = &put;
    const bool good = check_file(cluster, file) && check_place(cluster, name, &put.at) &&
                      find_old(&put) && send_all(&put);
    cluster->go_on = NULL;
    requests_free(&put.requests);
    return good;
}
