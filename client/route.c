/* route.c - sends each command to the node that owns its slot
 *
 * The slot map is read from CLUSTER SLOTS, corrected by every MOVED, and read again when a node is
 * lost.  A list of requests runs in rounds:
 *
 *     assign   every pending request to the node of its slot, or to the target of an ASK
 *     exchange with all nodes at once, pipelined (connection.c)
 *     confirm  WAIT on the nodes that received writes, if replicas are required
 *     judge    redirected, refused for now, or lost with its node: pending again
 *
 * Redirections are followed at once.  After trouble (a lost node, CLUSTERDOWN, ...) there is a
 * pause that doubles from 10 ms to half a second, and a new map.  If there was no reply for
 * `patience_ms` the run ends with the last error. */
#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

#define DEFAULT_SERVER "127.0.0.1:6379"
#define DEFAULT_TIMEOUT_MS 5000
#define DEFAULT_PATIENCE_MS 60000
#define NODES_MAX 32768
#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 500

/* A request redirected more often than this is treated as trouble. */
#define MOVES_MAX 16

bool cluster_fail(tamis_cluster *cluster, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cluster->error, sizeof cluster->error, format, arguments);
    va_end(arguments);
    return false;
}

const char *tamis_cluster_error(const tamis_cluster *cluster) {
    return cluster != NULL ? cluster->error : "out of memory";
}

bool tamis_cluster_is_single(const tamis_cluster *cluster) { return cluster->single; }
uint64_t tamis_cluster_redirects(const tamis_cluster *cluster) { return cluster->redirects; }
uint64_t tamis_cluster_resends(const tamis_cluster *cluster) { return cluster->resends; }

size_t tamis_cluster_nodes(const tamis_cluster *cluster) {
    size_t owners = 0;
    for (size_t n = 0; n < cluster->node_count; n++) {
        size_t slot = 0;
        while (slot < SLOTS && cluster->owner[slot] != n + 1) slot++;
        owners += slot < SLOTS;
    }
    return owners;
}

/* ---- slots */

/* CRC16/XMODEM, as in the cluster specification. */
static uint16_t crc16(const char *at, size_t length) {
    uint16_t crc = 0;
    for (size_t i = 0; i < length; i++) {
        crc = (uint16_t)(crc ^ (uint16_t)((unsigned char)at[i] << 8));
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

uint16_t slot_of(const char *key) {
    const char *open = strchr(key, '{');
    const char *close = open != NULL ? strchr(open + 1, '}') : NULL;
    if (close != NULL && close > open + 1) {
        return crc16(open + 1, (size_t)(close - open - 1)) % SLOTS;
    }
    return crc16(key, strlen(key)) % SLOTS;
}

/* ---- requests */

void requests_clear(struct requests *requests) {
    for (size_t i = 0; i < requests->count; i++) {
        if (requests->at[i].reply != NULL) freeReplyObject(requests->at[i].reply);
    }
    requests->count = 0;
    requests->commands.used = 0;
}

void requests_free(struct requests *requests) {
    requests_clear(requests);
    free(requests->at);
    bytes_free(&requests->commands);
    memset(requests, 0, sizeof *requests);
}

void request_start(struct requests *requests, const char *key, bool writes, size_t words) {
    struct request *grown = (struct request *)array_grown(requests->at, sizeof *grown,
                                                          requests->count, &requests->capacity);
    if (grown == NULL) {
        requests->commands.failed = true;
        return;
    }
    requests->at = grown;
    struct request *request = &requests->at[requests->count++];
    memset(request, 0, sizeof *request);
    request->start = requests->commands.used;
    request->slot = slot_of(key);
    request->writes = writes;
    request->ask_target = NO_NODE;
    resp_start(&requests->commands, words);
}

void request_word(struct requests *requests, const void *word, size_t length) {
    if (requests->commands.failed) return;
    resp_word(&requests->commands, word, length);
    struct request *request = &requests->at[requests->count - 1];
    request->length = requests->commands.used - request->start;
}

void request_text(struct requests *requests, const char *word) {
    request_word(requests, word, strlen(word));
}

void request_words(struct requests *requests, const char *key, bool writes,
                   const char *const *words, size_t count) {
    request_start(requests, key, writes, count);
    for (size_t i = 0; i < count; i++) request_text(requests, words[i]);
}

/* ---- nodes and the map */

static bool node_failed(tamis_cluster *cluster, const struct node *node, const char *why) {
    return cluster_fail(cluster, "%s:%d: %s", node->host, node->port, why);
}

static size_t find_node(tamis_cluster *cluster, const char *host, int port) {
    for (size_t n = 0; n < cluster->node_count; n++) {
        if (cluster->nodes[n].port == port && strcmp(cluster->nodes[n].host, host) == 0) return n;
    }
    if (cluster->node_count == NODES_MAX) return NO_NODE;
    struct node *grown = (struct node *)array_grown(cluster->nodes, sizeof *grown,
                                                    cluster->node_count, &cluster->node_capacity);
    if (grown == NULL) return NO_NODE;
    cluster->nodes = grown;
    struct node *node = &cluster->nodes[cluster->node_count];
    memset(node, 0, sizeof *node);
    snprintf(node->host, sizeof node->host, "%s", host);
    node->port = port;
    return cluster->node_count++;
}

/* "host:port" of `length` bytes; the host may contain colons or be empty. */
static size_t parse_node(tamis_cluster *cluster, const char *text, size_t length,
                         const char *missing_host) {
    char host[256];
    size_t colon = length;
    while (colon > 0 && text[colon - 1] != ':') colon--;
    if (colon == 0 || colon > sizeof host) return NO_NODE;
    const long port = strtol(text + colon, NULL, 10);
    if (port < 1 || port > 65535) return NO_NODE;
    if (text[0] == '[' && colon > 2 && text[colon - 2] == ']') { /* [::1]:6379 */
        snprintf(host, sizeof host, "%.*s", (int)colon - 3, text + 1);
    } else {
        snprintf(host, sizeof host, "%.*s", (int)colon - 1, text);
    }
    return find_node(cluster, host[0] != '\0' ? host : missing_host, (int)port);
}

static bool add_servers(tamis_cluster *cluster) {
    const char *at = cluster->options.servers;
    do {
        const size_t length = strcspn(at, ",");
        if (parse_node(cluster, at, length, "127.0.0.1") == NO_NODE) {
            return cluster_fail(cluster, "'%.*s' is not a server: use HOST:PORT", (int)length, at);
        }
        at += length + (at[length] == ',');
    } while (*at != '\0');
    return true;
}

/* One range of CLUSTER SLOTS: first, last, [host, port, ...] of its primary, replicas. */
static bool map_range(tamis_cluster *cluster, const redisReply *range, const char *reply_host) {
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) return false;
    const redisReply *first = range->element[0], *last = range->element[1];
    const redisReply *primary = range->element[2];
    if (first->type != REDIS_REPLY_INTEGER || last->type != REDIS_REPLY_INTEGER ||
        primary->type != REDIS_REPLY_ARRAY || primary->elements < 2 ||
        primary->element[1]->type != REDIS_REPLY_INTEGER || first->integer < 0 ||
        last->integer >= SLOTS || first->integer > last->integer) {
        return false;
    }
    /* No host, or "?": the node that sent the reply. */
    const redisReply *host = primary->element[0];
    const bool named = host->type == REDIS_REPLY_STRING && host->len > 0 && host->str[0] != '?';
    const size_t node =
        find_node(cluster, named ? host->str : reply_host, (int)primary->element[1]->integer);
    if (node == NO_NODE) return false;
    for (long long slot = first->integer; slot <= last->integer; slot++) {
        cluster->owner[slot] = (uint16_t)(node + 1);
    }
    return true;
}

/* Servers outside a cluster refuse the command or do not know it. */
static bool is_single(const redisReply *reply) {
    return strstr(reply->str, "cluster support disabled") != NULL ||
           strstr(reply->str, "unknown command") != NULL;
}

static bool map_from(tamis_cluster *cluster, size_t n) {
    static const char *const command[] = {"CLUSTER", "SLOTS"};
    char from[256];
    snprintf(from, sizeof from, "%s", cluster->nodes[n].host); /* the array of nodes may move */
    redisReply *reply =
        connection_call(&cluster->nodes[n].connection, command, 2, cluster->options.timeout_ms);
    if (reply == NULL) {
        return node_failed(cluster, &cluster->nodes[n], cluster->nodes[n].connection.error);
    }
    bool good = true;
    if (reply->type == REDIS_REPLY_ERROR && is_single(reply)) {
        cluster->single = true;
        for (size_t slot = 0; slot < SLOTS; slot++) cluster->owner[slot] = (uint16_t)(n + 1);
    } else if (reply->type == REDIS_REPLY_ERROR) {
        good = node_failed(cluster, &cluster->nodes[n], reply->str);
    } else if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0) {
        for (size_t i = 0; good && i < reply->elements; i++) {
            good = map_range(cluster, reply->element[i], from);
        }
        if (!good) node_failed(cluster, &cluster->nodes[n], "invalid reply to CLUSTER SLOTS");
    } else {
        good = cluster_fail(cluster, "%s:%d is in a cluster that has no slots yet", from,
                            cluster->nodes[n].port);
    }
    freeReplyObject(reply);
    return good;
}

static bool node_open(const tamis_cluster *cluster, struct node *node) {
    return connection_open(&node->connection, node->host, node->port, &cluster->options,
                           cluster->trust);
}

/* Reads the map from the first node that replies, connected ones first. */
static bool refresh(tamis_cluster *cluster) {
    if (cluster->single) {
        struct node *node = &cluster->nodes[cluster->owner[0] - 1];
        if (node_open(cluster, node)) return true;
        return node_failed(cluster, node, node->connection.error);
    }
    for (int connected = 1; connected >= 0; connected--) {
        const size_t count = cluster->node_count;
        for (size_t n = 0; n < count; n++) {
            struct node *node = &cluster->nodes[n];
            if ((node->connection.context != NULL) != (connected == 1)) continue;
            if (!node_open(cluster, node)) {
                node_failed(cluster, node, node->connection.error);
            } else if (map_from(cluster, n)) {
                cluster->mapped = true;
                return true;
            }
        }
    }
    return false;
}

/* ---- a round */

/* Removes an unreachable node from the map, so that other requests for it do not wait for the same
 * timeout. */
static void lose_node(tamis_cluster *cluster, size_t n) {
    const struct node *node = &cluster->nodes[n];
    node_failed(cluster, node, node->connection.error);
    for (size_t slot = 0; slot < SLOTS && !cluster->single; slot++) {
        if (cluster->owner[slot] == n + 1) cluster->owner[slot] = 0;
    }
}

static bool push_request(struct connection *connection, const struct requests *requests,
                         struct request *r) {
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    if (r->ask_target != NO_NODE && !connection_push(connection, asking, sizeof asking - 1, NULL))
        return false;
    return connection_push(connection, requests->commands.at + r->start, r->length, r);
}

static bool assign(tamis_cluster *cluster, struct requests *requests, bool *trouble) {
    for (size_t i = 0; i < requests->count; i++) {
        struct request *r = &requests->at[i];
        if (r->state != REQUEST_PENDING) continue;
        const size_t n =
            r->ask_target != NO_NODE ? r->ask_target : (size_t)cluster->owner[r->slot] - 1;
        struct node *node = n < cluster->node_count ? &cluster->nodes[n] : NULL;
        if (node == NULL || !node_open(cluster, node)) {
            if (node != NULL) {
                lose_node(cluster, n);
            } else if (!*trouble) {
                cluster_fail(cluster, "no node has slot %u", (unsigned)r->slot);
            }
            r->ask_target = NO_NODE;
            *trouble = true;
            continue;
        }
        if (!push_request(&node->connection, requests, r))
            return cluster_fail(cluster, "out of memory");
        r->state = REQUEST_SENT;
        r->node = n;
    }
    return true;
}

static bool exchange(tamis_cluster *cluster) {
    struct connection **connections =
        (struct connection **)malloc((cluster->node_count + 1) * sizeof(struct connection *));
    size_t count = 0;
    if (connections == NULL) return cluster_fail(cluster, "out of memory");
    for (size_t n = 0; n < cluster->node_count; n++) {
        if (cluster->nodes[n].connection.count != 0)
            connections[count++] = &cluster->nodes[n].connection;
    }
    const bool good = connections_exchange(connections, count, cluster->options.timeout_ms);
    free((void *)connections);
    return good || cluster_fail(cluster, "out of memory");
}

static bool starts(const redisReply *reply, const char *word) {
    return strncmp(reply->str, word, strlen(word)) == 0;
}

static void again(tamis_cluster *cluster, struct request *r) {
    if (r->reply != NULL) freeReplyObject(r->reply);
    r->reply = NULL;
    r->state = REQUEST_PENDING;
    r->ask_target = NO_NODE;
    cluster->resends++;
}

/* "MOVED 3999 127.0.0.1:6381" corrects the map.  "ASK ..." redirects only this request, because the
 * slot is being moved. */
static void redirect(tamis_cluster *cluster, struct request *r, bool *trouble) {
    char place[300] = "";
    const bool ask = starts(r->reply, "ASK");
    const char *space = strrchr(r->reply->str, ' ');
    if (space != NULL) snprintf(place, sizeof place, "%s", space + 1);
    char host[256];
    snprintf(host, sizeof host, "%s", cluster->nodes[r->node].host);
    const size_t target = parse_node(cluster, place, strlen(place), host);
    again(cluster, r);
    cluster->redirects++;
    if (target == NO_NODE || ++r->moves > MOVES_MAX) {
        cluster_fail(cluster, "slot %u is redirected from node to node", (unsigned)r->slot);
        r->moves = 0;
        *trouble = true;
    } else if (ask) {
        r->ask_target = target;
    } else {
        cluster->owner[r->slot] = (uint16_t)(target + 1);
    }
}

/* Temporary errors: the command did not run, and can run when the cluster has settled.  (UNBLOCKED:
 * it waited on a primary that became a replica.) */
static bool passes(const redisReply *reply) {
    static const char *const words[] = {"TRYAGAIN",   "CLUSTERDOWN", "LOADING",  "MASTERDOWN",
                                        "NOREPLICAS", "BUSY ",       "UNBLOCKED"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (starts(reply, words[i])) return true;
    }
    return false;
}

/* Handles the replies of a round. */
static void judge(tamis_cluster *cluster, struct requests *requests, bool *trouble) {
    for (size_t i = 0; i < requests->count; i++) {
        struct request *r = &requests->at[i];
        if (r->state == REQUEST_SENT) {
            const struct node *node = &cluster->nodes[r->node];
            node_failed(cluster, node, node->connection.error);
            again(cluster, r);
            *trouble = true;
        } else if (r->state != REQUEST_DONE || r->reply->type != REDIS_REPLY_ERROR) {
            continue;
        } else if (starts(r->reply, "MOVED ") || starts(r->reply, "ASK ")) {
            redirect(cluster, r, trouble);
        } else if (passes(r->reply)) {
            cluster_fail(cluster, "%s", r->reply->str);
            again(cluster, r);
            *trouble = true;
        }
    }
}

/* Returns whether this write got its reply in this round. */
static bool is_new_write(const struct request *r, bool was_done) {
    return !was_done && r->state == REQUEST_DONE && r->writes;
}

/* Sends WAIT to all nodes that received writes. */
static bool request_waits(tamis_cluster *cluster) {
    char wanted[16], limit[16];
    const char *const words[] = {"WAIT", wanted, limit};
    snprintf(wanted, sizeof wanted, "%u", (unsigned)cluster->options.replicas);
    snprintf(limit, sizeof limit, "%u", (unsigned)cluster->options.timeout_ms / 2 + 1);
    for (size_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        memset(&node->wait, 0, sizeof node->wait);
        if (!node->wrote || node->connection.context == NULL) continue;
        if (!connection_push_words(&node->connection, words, 3, &node->wait)) {
            return cluster_fail(cluster, "out of memory");
        }
    }
    return exchange(cluster);
}

/* Returns whether enough replicas have the node's writes. */
static bool has_replicas(tamis_cluster *cluster, struct node *node) {
    redisReply *reply = node->wait.reply;
    if (reply == NULL) {
        return node_failed(cluster, node, node->connection.error);
    }
    const bool enough = reply->type == REDIS_REPLY_INTEGER &&
                        reply->integer >= (long long)cluster->options.replicas;
    freeReplyObject(reply);
    if (enough) return true;
    return cluster_fail(cluster, "%s:%d: fewer than %u replicas have the writes", node->host,
                        node->port, (unsigned)cluster->options.replicas);
}

/* Repeats the writes of nodes that are lost or whose writes have not reached enough replicas. */
static bool confirm(tamis_cluster *cluster, struct requests *requests, const bool *was_done,
                    bool *trouble) {
    for (size_t n = 0; n < cluster->node_count; n++) cluster->nodes[n].wrote = false;
    for (size_t i = 0; i < requests->count; i++) {
        const struct request *r = &requests->at[i];
        if (is_new_write(r, was_done[i])) cluster->nodes[r->node].wrote = true;
    }
    if (!request_waits(cluster)) return false;
    for (size_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        if (node->wrote && has_replicas(cluster, node)) node->wrote = false;
    }
    for (size_t i = 0; i < requests->count; i++) {
        struct request *r = &requests->at[i];
        if (is_new_write(r, was_done[i]) && cluster->nodes[r->node].wrote) {
            again(cluster, r);
            *trouble = true;
        }
    }
    return true;
}

void pause_ms(uint32_t ms) {
    const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static size_t count_done(const struct requests *requests) {
    size_t done = 0;
    for (size_t i = 0; i < requests->count; i++) done += requests->at[i].state == REQUEST_DONE;
    return done;
}

static bool run_round(tamis_cluster *cluster, struct requests *requests, bool *was_done,
                      bool *trouble) {
    for (size_t i = 0; i < requests->count; i++) {
        was_done[i] = requests->at[i].state == REQUEST_DONE;
    }
    if (!assign(cluster, requests, trouble) || !exchange(cluster)) return false;
    judge(cluster, requests, trouble);
    return cluster->options.replicas == 0 || confirm(cluster, requests, was_done, trouble);
}

/* After a round that failed half-way: drops its commands, whose requests will be gone in the next
 * run. */
static void drop_round(tamis_cluster *cluster) {
    for (size_t n = 0; n < cluster->node_count; n++) {
        if (cluster->nodes[n].connection.count != 0)
            connection_close(&cluster->nodes[n].connection);
    }
}

bool cluster_run(tamis_cluster *cluster, struct requests *requests) {
    if (requests->commands.failed) return cluster_fail(cluster, "out of memory");
    if (requests->count == 0) return true;
    bool *was_done = (bool *)malloc(requests->count * sizeof *was_done);
    if (was_done == NULL) return cluster_fail(cluster, "out of memory");
    uint64_t progress = monotonic_ms();
    uint32_t pause = PAUSE_MIN_MS;
    size_t done = 0;
    bool good = true;
    while (good && done < requests->count) {
        bool trouble = false;
        good = run_round(cluster, requests, was_done, &trouble);
        if (!good) drop_round(cluster);
        const size_t now_done = count_done(requests);
        if (now_done > done) {
            progress = monotonic_ms();
            pause = PAUSE_MIN_MS;
        }
        done = now_done;
        if (!good || !trouble) continue;
        good = monotonic_ms() - progress < cluster->options.patience_ms &&
               (cluster->go_on == NULL || cluster->go_on(cluster->go_on_context));
        if (!good) continue;
        pause_ms(pause);
        pause = pause < PAUSE_MAX_MS / 2 ? 2 * pause : PAUSE_MAX_MS;
        refresh(cluster); /* if no node replies, the next round tries again */
    }
    free(was_done);
    return good;
}

/* ---- making and dropping */

tamis_cluster *tamis_cluster_new(const tamis_cluster_options *options) {
    tamis_cluster *c = (tamis_cluster *)calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    tamis_cluster_options *own = &c->options;
    const char **const texts[] = {&own->servers, &own->user, &own->password,
                                  &own->cacert,  &own->cert, &own->key};
    *own = *options;
    if (own->timeout_ms == 0) own->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (own->patience_ms == 0) own->patience_ms = DEFAULT_PATIENCE_MS;
    if (own->servers == NULL) own->servers = DEFAULT_SERVER;
    for (size_t i = 0; i < sizeof c->texts / sizeof c->texts[0]; i++) {
        if (*texts[i] == NULL) continue;
        c->texts[i] = strdup(*texts[i]);
        *texts[i] = c->texts[i];
        if (c->texts[i] != NULL) continue;
        tamis_cluster_free(c);
        return NULL;
    }
    return c;
}

void tamis_cluster_free(tamis_cluster *cluster) {
    if (cluster == NULL) return;
    for (size_t n = 0; n < cluster->node_count; n++) connection_free(&cluster->nodes[n].connection);
    if (cluster->trust != NULL) cluster->trust->free(cluster->trust);
    free(cluster->nodes);
    for (size_t i = 0; i < sizeof cluster->texts / sizeof cluster->texts[0]; i++) {
        free(cluster->texts[i]);
    }
    free(cluster);
}

bool tamis_cluster_connect(tamis_cluster *cluster) {
    if (cluster == NULL) return false;
    if (cluster->node_count == 0 && !add_servers(cluster)) return false;
    if (cluster->options.tls && cluster->trust == NULL) {
        cluster->trust = tls_trust_new(&cluster->options, cluster->error, sizeof cluster->error);
        if (cluster->trust == NULL) return false;
    }
    return refresh(cluster);
}
