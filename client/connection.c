/* connection.c - connections to servers, and the exchange with several at once
 *
 * hiredis connects and parses.  Sending and receiving use poll(2) over all connections, so that all
 * nodes work at the same time, a long pipeline cannot deadlock (both sides waiting for the other to
 * read), and a lost connection raises no SIGPIPE.  With TLS the bytes of the pipeline become
 * records (tls.c); everything else is the same. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "cluster.h"

#define RECEIVE_BYTES 16384

/* No reply to our commands is nearly as long. */
#define REPLY_MAX ((size_t)64 << 20)

/* Bytes converted to TLS records at a time: enough for one send(2), and kept twice. */
#define ENCRYPT_BYTES 65536

uint64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- bytes */

void bytes_add(struct bytes *bytes, const void *data, size_t length) {
    if (bytes->failed || length == 0) return;
    if (bytes->capacity - bytes->used < length) {
        size_t capacity = bytes->capacity != 0 ? bytes->capacity : 4096;
        while (capacity - bytes->used < length && capacity <= SIZE_MAX / 2) capacity *= 2;
        char *grown = capacity - bytes->used < length ? NULL : (char *)realloc(bytes->at, capacity);
        if (grown == NULL) {
            bytes->failed = true;
            return;
        }
        bytes->at = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->at + bytes->used, data, length);
    bytes->used += length;
}

void bytes_free(struct bytes *bytes) {
    free(bytes->at);
    memset(bytes, 0, sizeof *bytes);
}

void *array_grown(void *array, size_t size, size_t used, size_t *capacity) {
    if (used < *capacity) return array;
    const size_t more = *capacity != 0 ? 2 * *capacity : 16;
    void *grown = realloc(array, more * size);
    if (grown != NULL) *capacity = more;
    return grown;
}

/* ---- commands */

void resp_start(struct bytes *command, size_t words) {
    char head[32];
    snprintf(head, sizeof head, "*%zu\r\n", words);
    bytes_add(command, head, strlen(head));
}

void resp_word(struct bytes *command, const void *word, size_t length) {
    char head[32];
    snprintf(head, sizeof head, "$%zu\r\n", length);
    bytes_add(command, head, strlen(head));
    bytes_add(command, word, length);
    bytes_add(command, "\r\n", 2);
}

/* ---- one connection */

/* `why` may belong to the connection. */
static bool connection_fail(struct connection *connection, const char *why) {
    snprintf(connection->error, sizeof connection->error, "%s", why);
    connection_close(connection);
    return false;
}

void connection_close(struct connection *connection) {
    if (connection->context != NULL) redisFree(connection->context);
    if (connection->tls != NULL) connection->tls->calls->close(connection->tls);
    connection->context = NULL;
    connection->tls = NULL;
    connection->out.used = connection->sent = 0;
    connection->records.used = connection->records_sent = 0;
    connection->out.failed = connection->records.failed = false;
    connection->first = connection->count = 0;
}

void connection_free(struct connection *connection) {
    connection_close(connection);
    bytes_free(&connection->out);
    bytes_free(&connection->records);
    free((void *)connection->waiting);
}

bool connection_push(struct connection *connection, const void *command, size_t length,
                     struct request *waiting) {
    struct request **waiting_now =
        (struct request **)array_grown((void *)connection->waiting, sizeof *connection->waiting,
                                       connection->count, &connection->capacity);
    if (waiting_now == NULL) return false;
    connection->waiting = waiting_now;
    bytes_add(&connection->out, command, length);
    connection->waiting[connection->count++] = waiting;
    return !connection->out.failed;
}

static bool connection_has_more(const struct connection *connection) {
    return connection->sent < connection->out.used ||
           connection->records_sent < connection->records.used;
}

static bool tls_failed(struct connection *connection) {
    return connection_fail(connection, connection->tls->error);
}

/* Sends what the socket accepts now. */
static bool send_bytes(struct connection *connection, const struct bytes *bytes, size_t *done) {
    while (*done < bytes->used) {
        const ssize_t sent =
            send(connection->context->fd, bytes->at + *done, bytes->used - *done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (sent < 0) return connection_fail(connection, strerror(errno));
        *done += (size_t)sent;
        connection->moved = monotonic_ms();
    }
    return true;
}

/* The same with TLS: the next bytes become records when those of the last ones are sent. */
static bool send_records(struct connection *connection) {
    for (;;) {
        if (!send_bytes(connection, &connection->records, &connection->records_sent)) return false;
        if (connection->records_sent < connection->records.used) return true;
        connection->records.used = connection->records_sent = 0;
        const size_t left = connection->out.used - connection->sent;
        const size_t length = left < ENCRYPT_BYTES ? left : ENCRYPT_BYTES;
        if (!connection->tls->calls->encrypt(connection->tls, connection->out.at + connection->sent,
                                             length, &connection->records)) {
            return tls_failed(connection);
        }
        connection->sent += length;
        if (connection->records.used == 0) return true;
    }
}

static bool connection_send(struct connection *connection) {
    return connection->tls != NULL ? send_records(connection)
                                   : send_bytes(connection, &connection->out, &connection->sent);
}

/* Passes complete replies to their requests. */
static bool connection_deliver(struct connection *connection) {
    while (connection->first < connection->count) {
        void *reply = NULL;
        if (redisReaderGetReply(connection->context->reader, &reply) != REDIS_OK)
            return connection_fail(connection, "the server's reply is not the Redis protocol");
        if (reply == NULL) return true;
        connection->moved = monotonic_ms();
        connection->partial = 0;
        struct request *request = connection->waiting[connection->first++];
        if (request == NULL) {
            freeReplyObject(reply);
        } else {
            request->reply = (redisReply *)reply;
            request->state = REQUEST_DONE;
        }
    }
    return true;
}

/* Receives what has arrived; 0 bytes: nothing now. */
static bool receive_bytes(struct connection *connection, char *buffer, size_t size,
                          size_t *length) {
    ssize_t got;
    do {
        got = recv(connection->context->fd, buffer, size, 0);
    } while (got < 0 && errno == EINTR);
    *length = got > 0 ? (size_t)got : 0;
    if (got > 0) connection->heard = true;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))) return true;
    const bool hung_up = got == 0 || errno == ECONNRESET;
    if (hung_up && connection->tls == NULL && !connection->heard) {
        return connection_fail(
            connection, "the server closed the connection without a reply: is it a TLS port?");
    }
    return connection_fail(connection,
                           got == 0 ? "the server closed the connection" : strerror(errno));
}

static bool connection_feed(struct connection *connection, const char *bytes, size_t length) {
    connection->partial += length;
    if (connection->partial > REPLY_MAX)
        return connection_fail(connection, "the server's reply is too long");
    if (redisReaderFeed(connection->context->reader, bytes, length) == REDIS_OK) {
        return connection_deliver(connection);
    }
    return connection_fail(connection, "out of memory");
}

/* Passes received records to the parser. */
static bool read_records(struct connection *connection, const char *records, size_t length) {
    char plain[RECEIVE_BYTES];
    if (!connection->tls->calls->take(connection->tls, records, length))
        return tls_failed(connection);
    for (size_t got = 1; got != 0;) {
        if (!connection->tls->calls->read(connection->tls, plain, sizeof plain, &got))
            return tls_failed(connection);
        if (got != 0 && !connection_feed(connection, plain, got)) return false;
    }
    return true;
}

/* Reads one buffer only, so that other connections have their turn and timeouts are checked. */
static bool connection_receive(struct connection *connection) {
    char buffer[RECEIVE_BYTES];
    size_t got;
    if (!receive_bytes(connection, buffer, sizeof buffer, &got)) return false;
    if (got == 0) return true;
    return (connection->tls != NULL ? read_records : connection_feed)(connection, buffer, got);
}

/* ---- several connections */

static bool connection_is_busy(const struct connection *connection) {
    return connection->context != NULL && connection->first < connection->count;
}

/* Milliseconds until the timeout. */
static uint32_t time_left(uint64_t start, uint32_t timeout_ms) {
    const uint64_t elapsed = monotonic_ms() - start;
    return elapsed < timeout_ms ? timeout_ms - (uint32_t)elapsed : 0;
}

/* Waits for events on any connection, or for the first timeout.  False: no connection is busy. */
static bool connections_poll(struct connection **connections, size_t count, struct pollfd *polls,
                             uint32_t timeout_ms) {
    nfds_t busy = 0;
    uint32_t shortest = timeout_ms;
    for (size_t i = 0; i < count; i++) {
        if (!connection_is_busy(connections[i])) continue;
        polls[busy].fd = connections[i]->context->fd;
        polls[busy].events = POLLIN;
        if (connection_has_more(connections[i])) polls[busy].events |= POLLOUT;
        polls[busy++].revents = 0;
        const uint32_t left = time_left(connections[i]->moved, timeout_ms);
        if (left < shortest) shortest = left;
    }
    if (busy != 0) poll(polls, busy, (int)shortest);
    return busy != 0;
}

/* Handles the events of a connection. */
static void connection_handle(struct connection *connection, short events, uint32_t timeout_ms) {
    /* First what a server that closes the connection has sent. */
    const bool news = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
    if ((news && !connection_receive(connection)) ||
        ((events & POLLOUT) != 0 && !connection_send(connection)))
        return;
    if (connection_is_busy(connection) && time_left(connection->moved, timeout_ms) == 0) {
        connection_fail(connection, "the server did not reply in time");
    }
}

bool connections_exchange(struct connection **connections, size_t count, uint32_t timeout_ms) {
    struct pollfd *polls = (struct pollfd *)malloc((count != 0 ? count : 1) * sizeof *polls);
    if (polls == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        connections[i]->moved = monotonic_ms();
        connections[i]->partial = 0;
    }
    while (connections_poll(connections, count, polls, timeout_ms)) {
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            if (connection_is_busy(connections[i]))
                connection_handle(connections[i], polls[at++].revents, timeout_ms);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (connections[i]->context == NULL) continue;
        connections[i]->out.used = connections[i]->sent = 0;
        connections[i]->first = connections[i]->count = 0;
    }
    free(polls);
    return true;
}

bool connection_push_words(struct connection *connection, const char *const *words, size_t count,
                           struct request *waiting) {
    struct bytes command = {0};
    resp_start(&command, count);
    for (size_t i = 0; i < count; i++) resp_word(&command, words[i], strlen(words[i]));
    const bool pushed =
        !command.failed && connection_push(connection, command.at, command.used, waiting);
    bytes_free(&command);
    return pushed;
}

redisReply *connection_call(struct connection *connection, const char *const *words, size_t count,
                            uint32_t timeout_ms) {
    struct request request = {0};
    if (connection->context == NULL) return NULL;
    if (!connection_push_words(connection, words, count, &request) ||
        !connections_exchange(&connection, 1, timeout_ms)) {
        connection_fail(connection, "out of memory");
    }
    return request.reply;
}

/* AUTH, if there is a password. */
static bool connection_login(struct connection *connection, const tamis_cluster_options *options) {
    const char *const with_user[] = {"AUTH", options->user, options->password};
    const char *const without[] = {"AUTH", options->password};
    if (options->password == NULL) return true;
    redisReply *reply = options->user != NULL
                            ? connection_call(connection, with_user, 3, options->timeout_ms)
                            : connection_call(connection, without, 2, options->timeout_ms);
    if (reply == NULL) return false;
    const bool good = reply->type != REDIS_REPLY_ERROR;
    if (!good) connection_fail(connection, reply->str);
    freeReplyObject(reply);
    return good;
}

/* One step of the handshake; then waits for the server. */
static bool handshake_step(struct connection *connection, uint32_t timeout_ms, bool *done) {
    char buffer[RECEIVE_BYTES];
    size_t got;
    if (!connection->tls->calls->handshake(connection->tls, &connection->records, done)) {
        char why[sizeof connection->tls->error];
        memcpy(why, connection->tls->error, sizeof why);
        send_bytes(connection, &connection->records,
                   &connection->records_sent); /* the server gets the alert */
        return connection_fail(connection, why);
    }
    if (!send_bytes(connection, &connection->records, &connection->records_sent)) return false;
    if (*done) return true;
    struct pollfd news = {connection->context->fd, POLLIN, 0};
    if (connection_has_more(connection)) news.events |= POLLOUT;
    if (poll(&news, 1, (int)timeout_ms) == 0)
        return connection_fail(connection, "the server did not reply in time: is it a TLS port?");
    if (!(news.revents & (POLLIN | POLLHUP | POLLERR))) return true;
    if (!receive_bytes(connection, buffer, sizeof buffer, &got)) return false;
    return got == 0 || connection->tls->calls->take(connection->tls, buffer, got) ||
           tls_failed(connection);
}

static bool connection_handshake(struct connection *connection, const char *host,
                                 uint32_t timeout_ms, struct tls_trust *trust) {
    const uint64_t start = monotonic_ms();
    connection->tls = trust->open(trust, host);
    if (connection->tls == NULL) return connection_fail(connection, "out of memory");
    for (bool done = false; !done;) {
        if (!handshake_step(connection, time_left(start, timeout_ms), &done)) return false;
    }
    return true;
}

bool connection_open(struct connection *connection, const char *host, int port,
                     const tamis_cluster_options *options, struct tls_trust *trust) {
    const struct timeval limit = {(time_t)(options->timeout_ms / 1000),
                                  (suseconds_t)(options->timeout_ms % 1000) * 1000};
    if (connection->context != NULL) return true;
    connection->heard = false;
    connection->context = redisConnectWithTimeout(host, port, limit);
    if (connection->context == NULL) return connection_fail(connection, "out of memory");
    if (connection->context->err != 0)
        return connection_fail(connection, connection->context->errstr);
    const int flags = fcntl(connection->context->fd, F_GETFL);
    if (flags < 0 || fcntl(connection->context->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return connection_fail(connection, strerror(errno));
    if (trust != NULL && !connection_handshake(connection, host, options->timeout_ms, trust))
        return false;
    return connection_login(connection, options);
}
