/* cluster.h - inside the client: commands, links to servers, and the map of slots
 *
 *     shards.c   what a filter's calls are in commands          tamis_cluster.h
 *     describe.c what is told of a filter
 *     put.c      a file that becomes a filter
 *     route.c    which node gets which command, and what to do
 *                when it is not the right one any more
 *     link.c     bytes to and from one server                   hiredis
 *     tls.c      what these bytes are under TLS                 OpenSSL
 *
 * A call builds a list of requests, runs it and reads the replies:
 *
 *     PENDING --sent--> SENT --answered--> DONE
 *        ^                |                  |
 *        '-- MOVED, ASK, -'--- fewer replicas than wanted have it
 *            TRYAGAIN, a lost connection */
#ifndef TAMIS_CLUSTER_INSIDE_H
#define TAMIS_CLUSTER_INSIDE_H

#include <hiredis/hiredis.h>

#include "tamis_cluster.h"

/* Bytes that grow.  After a failed allocation `failed` stays set and nothing is added. */
struct bytes {
    char *at;
    size_t used, capacity;
    bool failed;
};
void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_free(struct bytes *bytes);

enum request_state { REQUEST_PENDING, REQUEST_SENT, REQUEST_DONE };

/* One command about one key. */
struct request {
    size_t start, length; /* of the command in its list's bytes */
    uint16_t slot;
    bool writes;
    enum request_state state;
    size_t node;  /* that it was sent to */
    size_t asked; /* the node that an ASK named; NO_NODE: the one of the map */
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

/* A new request about `key`, of `words` words; each is then given to request_word. */
void request_start(struct requests *requests, const char *key, bool writes, size_t words);
void request_word(struct requests *requests, const void *word, size_t length);
void request_text(struct requests *requests, const char *word);

/* ---- tls.c
 *
 * A table of calls, so that link.c is the same with and without OpenSSL.  Those that return a bool
 * return false on failure, with `error` set. */

struct tls;

struct tls_calls {
    /* A step of the handshake: adds to `wire` what is to be sent. */
    bool (*shake)(struct tls *tls, struct bytes *wire, bool *done);
    /* Adds the records for `length` bytes, and any that TLS has to send for itself. */
    bool (*seal)(struct tls *tls, const void *plain, size_t length, struct bytes *wire);
    /* Records that have come, and then what is in them; 0 bytes: no whole record is left. */
    bool (*take)(struct tls *tls, const void *records, size_t length);
    bool (*read)(struct tls *tls, void *plain, size_t size, size_t *length);
    void (*close)(struct tls *tls);
};

struct tls {
    const struct tls_calls *calls;
    char error[160];
};

/* Whom to trust, and who we are: shared by all links of a cluster, and outlives them. */
struct tls_trust {
    struct tls *(*open)(struct tls_trust *trust, const char *host); /* NULL: no memory */
    void (*free)(struct tls_trust *trust);
};
struct tls_trust *tls_trust_new(const tamis_cluster_options *options, char *error, size_t size);

/* ---- link.c */

struct link {
    redisContext *context; /* NULL: not connected */
    struct bytes out;
    size_t sent;       /* of `out` */
    struct tls *tls;   /* NULL: none */
    struct bytes wire; /* with TLS: the records made of what is sent of `out` */
    size_t wire_sent;
    /* Whose replies are still to come, in order; NULL: nobody's (ASKING). */
    struct request **waiting;
    size_t first, count, capacity;
    bool heard;     /* anything at all */
    uint64_t moved; /* when bytes were last taken, or an answer was last whole */
    size_t partial; /* bytes that have come since of the next answer */
    char error[160];
};

/* `trust`: speak TLS; NULL: do not. */
bool link_open(struct link *link, const char *host, int port, const tamis_cluster_options *options,
               struct tls_trust *trust);
void link_free(struct link *link);
void link_close(struct link *link);

/* Puts a command into the pipeline.  False: no memory. */
bool link_push(struct link *link, const void *command, size_t length, struct request *waiting);

/* Sends and receives on all links until every reply is there.  A link that fails, or takes no bytes
 * and gives no whole answer for `timeout_ms`, is closed with its error set; what waited on it stays
 * SENT. */
bool links_exchange(struct link **links, size_t count, uint32_t timeout_ms);

/* The same for a command of texts. */
bool link_push_words(struct link *link, const char *const *words, size_t count,
                     struct request *waiting);

/* One command on an idle link; NULL if it failed (the link is closed). */
redisReply *link_ask(struct link *link, const char *const *words, size_t count,
                     uint32_t timeout_ms);

uint64_t monotonic_ms(void);

/* ---- route.c */

#define SLOTS 16384

struct node {
    char host[256];
    int port;
    struct link link;
    bool wrote;          /* in this round, and its replicas are not known to have it */
    struct request wait; /* the question how many have */
};

struct tamis_cluster {
    tamis_cluster_options options; /* its strings are below */
    char *servers, *user, *password, *cacert, *cert, *key;
    struct tls_trust *trust; /* NULL: no TLS, or not yet */
    struct node *nodes;
    size_t node_count, node_capacity;
    uint16_t owner[SLOTS]; /* index + 1 of the node; 0: not known */
    bool single, mapped;
    /* Asked whenever a run has to wait for the cluster; false ends it.  NULL: nobody asks. */
    bool (*go_on)(void *context);
    void *go_on_context;
    uint64_t redirects, resends;
    char error[512];
};

/* Runs all requests.  True: each has a reply, which may be an error of its own. */
bool cluster_run(tamis_cluster *cluster, struct requests *requests);

uint16_t slot_of(const char *key);
void pause_ms(uint32_t ms);

/* ---- shards.c */

/* Room for a name, ":{", a number and "}". */
#define KEY_BYTES 544

/* The key of a shard; written to `key`, if it is not the name itself. */
const char *shard_key(const tamis_sharded *filter, uint32_t shard, char key[KEY_BYTES]);

/* VERB KEY; and the same to all shards. */
void ask_key(struct requests *requests, const char *verb, const char *key, bool writes);
void ask_shards(struct requests *requests, const char *verb, const tamis_sharded *filter,
                bool writes);

/* False, with the error set: the server refused, or has no such key. */
bool shard_failed(const tamis_sharded *filter, const char *key, const redisReply *reply);
bool shard_missing(const tamis_sharded *filter, const char *key);

/* What is at NAME: nothing, a filter of its own, or the hash of a sharded one. */
enum found { FOUND_NOTHING, FOUND_FILTER, FOUND_UNFINISHED, FOUND_ERROR };
enum found look_up(tamis_cluster *cluster, const char *name, tamis_sharded *out);

/* ---- describe.c */

/* The field of a reply of names and values; 0 or NULL if it has none. */
uint64_t info_number(const redisReply *info, const char *field);
const char *info_word(const redisReply *info, const char *field);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool cluster_fail(tamis_cluster *cluster, const char *format, ...);

#endif
