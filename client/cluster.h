/* cluster.h - internals of the client: commands, connections to servers, and the slot map
 *
 *     shards.c       calls on a filter as commands to its shards     tamis_cluster.h
 *     describe.c     replies of BF.INFO, CF.INFO and TAMIS.INFO
 *     put.c          uploads a file
 *     route.c        sends commands to the owners of their slots,
 *                    follows redirections, retries
 *     connection.c   connections, pipelines                          hiredis
 *     tls.c          TLS of a connection                             OpenSSL
 *
 * A call builds a list of requests, runs it and reads the replies:
 *
 *     PENDING --sent--> SENT --replied--> DONE
 *        ^                |                 |
 *        '-- MOVED, ASK, -'-- too few replicas have it
 *            TRYAGAIN, a lost connection */
#ifndef TAMIS_CLUSTER_INSIDE_H
#define TAMIS_CLUSTER_INSIDE_H

#include <hiredis/hiredis.h>

#include "tamis_cluster.h"

/* A growing byte string.  After a failed allocation `failed` stays set and nothing is added. */
struct bytes {
    char *at;
    size_t used, capacity;
    bool failed;
};
void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_free(struct bytes *bytes);
/* An array with room for one more element of `size` bytes than `used`; NULL if memory runs out, and
 * the array stays. */
void *array_grown(void *array, size_t size, size_t used, size_t *capacity);
/* Appends a command in the Redis protocol: its number of words, and each word. */
void resp_start(struct bytes *command, size_t words);
void resp_word(struct bytes *command, const void *word, size_t length);

enum request_state { REQUEST_PENDING, REQUEST_SENT, REQUEST_DONE };

/* One command about one key. */
struct request {
    size_t start, length; /* position in `commands` of the list */
    uint16_t slot;
    bool writes;
    enum request_state state;
    size_t node;       /* the node it was sent to */
    size_t ask_target; /* target of an ASK; NO_NODE: that of the slot map */
    uint32_t moves;
    redisReply *reply;
};
#define NO_NODE SIZE_MAX

struct requests {
    struct request *at;
    size_t count, capacity;
    struct bytes commands;
};
void requests_clear(struct requests *requests);
void requests_free(struct requests *requests);

/* Starts a command of `words` words about `key`; request_word appends each word. */
void request_start(struct requests *requests, const char *key, bool writes, size_t words);
void request_word(struct requests *requests, const void *word, size_t length);
void request_text(struct requests *requests, const char *word);
/* A command of strings. */
void request_words(struct requests *requests, const char *key, bool writes,
                   const char *const *words, size_t count);

/* ---- tls.c
 *
 * A table of functions, so that connection.c is the same with and without OpenSSL.  Functions that
 * return a bool return false on failure, with `error` set. */

struct tls;

struct tls_calls {
    /* One step of the handshake; appends the bytes to send to `records`. */
    bool (*handshake)(struct tls *tls, struct bytes *records, bool *done);
    /* Appends the TLS records for `length` bytes, and any that TLS itself has to send. */
    bool (*encrypt)(struct tls *tls, const void *plain, size_t length, struct bytes *records);
    /* `take` accepts received records; `read` returns their content, 0 bytes if no whole record is
     * left. */
    bool (*take)(struct tls *tls, const void *records, size_t length);
    bool (*read)(struct tls *tls, void *plain, size_t size, size_t *length);
    void (*close)(struct tls *tls);
};

struct tls {
    const struct tls_calls *calls;
    char error[160];
};

/* Trusted authorities and the client certificate: shared by all connections of a cluster, and
 * outlives them. */
struct tls_trust {
    struct tls *(*open)(struct tls_trust *trust, const char *host); /* NULL: out of memory */
    void (*free)(struct tls_trust *trust);
};
struct tls_trust *tls_trust_new(const tamis_cluster_options *options, char *error, size_t size);

/* ---- connection.c */

struct connection {
    redisContext *context; /* NULL: not connected */
    struct bytes out;
    size_t sent;          /* of `out` */
    struct tls *tls;      /* NULL: no TLS */
    struct bytes records; /* with TLS: records of the bytes sent of `out` */
    size_t records_sent;
    /* Requests without a reply, in order; NULL: the reply is discarded (ASKING). */
    struct request **waiting;
    size_t first, count, capacity;
    bool heard;     /* bytes were received */
    uint64_t moved; /* time of the last bytes sent or reply completed */
    size_t partial; /* bytes received since then of the next reply */
    char error[160];
};

/* `trust`: use TLS; NULL: plain. */
bool connection_open(struct connection *connection, const char *host, int port,
                     const tamis_cluster_options *options, struct tls_trust *trust);
void connection_free(struct connection *connection);
void connection_close(struct connection *connection);

/* Appends a command to the pipeline.  False if memory runs out. */
bool connection_push(struct connection *connection, const void *command, size_t length,
                     struct request *waiting);

/* Sends and receives on all connections until all replies have arrived.  A connection that fails,
 * or sends no bytes and completes no reply for `timeout_ms`, is closed with its error set; its
 * requests stay SENT. */
bool connections_exchange(struct connection **connections, size_t count, uint32_t timeout_ms);

/* The same for a command of strings. */
bool connection_push_words(struct connection *connection, const char *const *words, size_t count,
                           struct request *waiting);

/* One command on an idle connection; NULL if it failed (the connection is closed). */
redisReply *connection_call(struct connection *connection, const char *const *words, size_t count,
                            uint32_t timeout_ms);

uint64_t monotonic_ms(void);

/* ---- route.c */

#define SLOTS 16384

struct node {
    char host[256];
    int port;
    struct connection connection;
    bool wrote;          /* in this round; not yet confirmed by replicas */
    struct request wait; /* the WAIT command */
};

struct tamis_cluster {
    tamis_cluster_options options; /* its strings are in `texts` */
    char *texts[6];
    struct tls_trust *trust; /* NULL: no TLS, or not loaded yet */
    struct node *nodes;
    size_t node_count, node_capacity;
    uint16_t owner[SLOTS]; /* index + 1 of the node; 0: unknown */
    bool single, mapped;
    /* Called whenever a run waits for the cluster; false ends it.  NULL: not called. */
    bool (*go_on)(void *context);
    void *go_on_context;
    uint64_t redirects, resends;
    char error[512];
};

/* Runs all requests.  True: each has a reply, which may be an error. */
bool cluster_run(tamis_cluster *cluster, struct requests *requests);

uint16_t slot_of(const char *key);
void pause_ms(uint32_t ms);

/* ---- shards.c */

/* Room for a name, ":{", a number and "}". */
#define KEY_BYTES 544

/* The key of a shard; uses the buffer `key` unless it is the name itself. */
const char *shard_key(const tamis_sharded *filter, uint32_t shard, char key[KEY_BYTES]);

/* VERB KEY; and the same to all shards. */
void request_key(struct requests *requests, const char *verb, const char *key, bool writes);
void request_shards(struct requests *requests, const char *verb, const tamis_sharded *filter,
                    bool writes);

/* Returns whether the reply is an error with these words in it. */
bool reply_is_error(const redisReply *reply, const char *words);
/* Return false with the error set: the server refused, or the key does not exist. */
bool shard_failed(const tamis_sharded *filter, const char *key, const redisReply *reply);
bool shard_missing(const tamis_sharded *filter, const char *key);

/* The content of NAME: nothing, a filter itself, or the hash of a sharded one. */
enum found { FOUND_NOTHING, FOUND_FILTER, FOUND_UNFINISHED, FOUND_ERROR };
enum found look_up(tamis_cluster *cluster, const char *name, tamis_sharded *out);

/* ---- describe.c */

/* A field of a reply of names and values; 0 or "" if it is missing. */
uint64_t info_number(const redisReply *info, const char *field);
const char *info_word(const redisReply *info, const char *field);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool cluster_fail(tamis_cluster *cluster, const char *format, ...);

#endif
