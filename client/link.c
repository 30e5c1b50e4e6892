/* link.c - connections to servers, and the exchange with several at once
 *
 * hiredis connects and parses.  Sending and receiving use poll(2) over all links, so that all nodes
 * work at the same time, a long pipeline cannot deadlock (both sides waiting for the other to
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
#define SEAL_BYTES 65536

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

/* ---- one link */

/* `why` may belong to the link. */
static bool link_fail(struct link *link, const char *why) {
    snprintf(link->error, sizeof link->error, "%s", why);
    link_close(link);
    return false;
}

void link_close(struct link *link) {
    if (link->context != NULL) redisFree(link->context);
    if (link->tls != NULL) link->tls->calls->close(link->tls);
    link->context = NULL;
    link->tls = NULL;
    link->out.used = link->sent = 0;
    link->wire.used = link->wire_sent = 0;
    link->out.failed = link->wire.failed = false;
    link->first = link->count = 0;
}

void link_free(struct link *link) {
    link_close(link);
    bytes_free(&link->out);
    bytes_free(&link->wire);
    free((void *)link->waiting);
}

bool link_push(struct link *link, const void *command, size_t length, struct request *waiting) {
    struct request **waiting_now = (struct request **)array_grown(
        (void *)link->waiting, sizeof *link->waiting, link->count, &link->capacity);
    if (waiting_now == NULL) return false;
    link->waiting = waiting_now;
    bytes_add(&link->out, command, length);
    link->waiting[link->count++] = waiting;
    return !link->out.failed;
}

static bool link_has_more(const struct link *link) {
    return link->sent < link->out.used || link->wire_sent < link->wire.used;
}

static bool tls_failed(struct link *link) { return link_fail(link, link->tls->error); }

/* Sends what the socket accepts now. */
static bool send_bytes(struct link *link, const struct bytes *bytes, size_t *done) {
    while (*done < bytes->used) {
        const ssize_t sent =
            send(link->context->fd, bytes->at + *done, bytes->used - *done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (sent < 0) return link_fail(link, strerror(errno));
        *done += (size_t)sent;
        link->moved = monotonic_ms();
    }
    return true;
}

/* The same with TLS: the next bytes become records when those of the last ones are sent. */
static bool send_sealed(struct link *link) {
    for (;;) {
        if (!send_bytes(link, &link->wire, &link->wire_sent)) return false;
        if (link->wire_sent < link->wire.used) return true;
        link->wire.used = link->wire_sent = 0;
        const size_t left = link->out.used - link->sent;
        const size_t piece = left < SEAL_BYTES ? left : SEAL_BYTES;
        if (!link->tls->calls->seal(link->tls, link->out.at + link->sent, piece, &link->wire)) {
            return tls_failed(link);
        }
        link->sent += piece;
        if (link->wire.used == 0) return true;
    }
}

static bool link_send(struct link *link) {
    return link->tls != NULL ? send_sealed(link) : send_bytes(link, &link->out, &link->sent);
}

/* Passes complete replies to their requests. */
static bool link_deliver(struct link *link) {
    while (link->first < link->count) {
        void *reply = NULL;
        if (redisReaderGetReply(link->context->reader, &reply) != REDIS_OK)
            return link_fail(link, "the server's reply is not the Redis protocol");
        if (reply == NULL) return true;
        link->moved = monotonic_ms();
        link->partial = 0;
        struct request *request = link->waiting[link->first++];
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
static bool receive_bytes(struct link *link, char *buffer, size_t size, size_t *length) {
    ssize_t got;
    do {
        got = recv(link->context->fd, buffer, size, 0);
    } while (got < 0 && errno == EINTR);
    *length = got > 0 ? (size_t)got : 0;
    if (got > 0) link->heard = true;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))) return true;
    const bool hung_up = got == 0 || errno == ECONNRESET;
    if (hung_up && link->tls == NULL && !link->heard) {
        return link_fail(link,
                         "the server closed the connection without a reply: is it a TLS port?");
    }
    return link_fail(link, got == 0 ? "the server closed the connection" : strerror(errno));
}

static bool link_feed(struct link *link, const char *bytes, size_t length) {
    link->partial += length;
    if (link->partial > REPLY_MAX) return link_fail(link, "the server's reply is too long");
    if (redisReaderFeed(link->context->reader, bytes, length) == REDIS_OK) {
        return link_deliver(link);
    }
    return link_fail(link, "out of memory");
}

/* Passes received records to the parser. */
static bool open_sealed(struct link *link, const char *records, size_t length) {
    char plain[RECEIVE_BYTES];
    if (!link->tls->calls->take(link->tls, records, length)) return tls_failed(link);
    for (size_t got = 1; got != 0;) {
        if (!link->tls->calls->read(link->tls, plain, sizeof plain, &got)) return tls_failed(link);
        if (got != 0 && !link_feed(link, plain, got)) return false;
    }
    return true;
}

/* Reads one buffer only, so that other links have their turn and timeouts are checked. */
static bool link_receive(struct link *link) {
    char buffer[RECEIVE_BYTES];
    size_t got;
    if (!receive_bytes(link, buffer, sizeof buffer, &got)) return false;
    if (got == 0) return true;
    return (link->tls != NULL ? open_sealed : link_feed)(link, buffer, got);
}

/* ---- several links */

static bool link_is_busy(const struct link *link) {
    return link->context != NULL && link->first < link->count;
}

/* Milliseconds until the timeout. */
static uint32_t time_left(uint64_t start, uint32_t timeout_ms) {
    const uint64_t elapsed = monotonic_ms() - start;
    return elapsed < timeout_ms ? timeout_ms - (uint32_t)elapsed : 0;
}

/* Waits for events on any link, or for the first timeout.  False: no link is busy. */
static bool links_poll(struct link **links, size_t count, struct pollfd *polls,
                       uint32_t timeout_ms) {
    nfds_t busy = 0;
    uint32_t shortest = timeout_ms;
    for (size_t i = 0; i < count; i++) {
        if (!link_is_busy(links[i])) continue;
        polls[busy].fd = links[i]->context->fd;
        polls[busy].events = POLLIN;
        if (link_has_more(links[i])) polls[busy].events |= POLLOUT;
        polls[busy++].revents = 0;
        const uint32_t left = time_left(links[i]->moved, timeout_ms);
        if (left < shortest) shortest = left;
    }
    if (busy != 0) poll(polls, busy, (int)shortest);
    return busy != 0;
}

/* Handles the events of a link. */
static void link_serve(struct link *link, short events, uint32_t timeout_ms) {
    /* First what a server that closes the connection has sent. */
    const bool news = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
    if ((news && !link_receive(link)) || ((events & POLLOUT) != 0 && !link_send(link))) return;
    if (link_is_busy(link) && time_left(link->moved, timeout_ms) == 0) {
        link_fail(link, "the server did not reply in time");
    }
}

bool links_exchange(struct link **links, size_t count, uint32_t timeout_ms) {
    struct pollfd *polls = (struct pollfd *)malloc((count != 0 ? count : 1) * sizeof *polls);
    if (polls == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        links[i]->moved = monotonic_ms();
        links[i]->partial = 0;
    }
    while (links_poll(links, count, polls, timeout_ms)) {
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            if (link_is_busy(links[i])) link_serve(links[i], polls[at++].revents, timeout_ms);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (links[i]->context == NULL) continue;
        links[i]->out.used = links[i]->sent = 0;
        links[i]->first = links[i]->count = 0;
    }
    free(polls);
    return true;
}

bool link_push_words(struct link *link, const char *const *words, size_t count,
                     struct request *waiting) {
    struct bytes command = {0};
    resp_start(&command, count);
    for (size_t i = 0; i < count; i++) resp_word(&command, words[i], strlen(words[i]));
    const bool pushed = !command.failed && link_push(link, command.at, command.used, waiting);
    bytes_free(&command);
    return pushed;
}

redisReply *link_call(struct link *link, const char *const *words, size_t count,
                      uint32_t timeout_ms) {
    struct request request = {0};
    if (link->context == NULL) return NULL;
    if (!link_push_words(link, words, count, &request) || !links_exchange(&link, 1, timeout_ms)) {
        link_fail(link, "out of memory");
    }
    return request.reply;
}

/* AUTH, if there is a password. */
static bool link_greet(struct link *link, const tamis_cluster_options *options) {
    const char *const with_user[] = {"AUTH", options->user, options->password};
    const char *const without[] = {"AUTH", options->password};
    if (options->password == NULL) return true;
    redisReply *reply = options->user != NULL ? link_call(link, with_user, 3, options->timeout_ms)
                                              : link_call(link, without, 2, options->timeout_ms);
    if (reply == NULL) return false;
    const bool good = reply->type != REDIS_REPLY_ERROR;
    if (!good) link_fail(link, reply->str);
    freeReplyObject(reply);
    return good;
}

/* One step of the handshake; then waits for the server. */
static bool shake_once(struct link *link, uint32_t timeout_ms, bool *done) {
    char buffer[RECEIVE_BYTES];
    size_t got;
    if (!link->tls->calls->shake(link->tls, &link->wire, done)) {
        char why[sizeof link->tls->error];
        memcpy(why, link->tls->error, sizeof why);
        send_bytes(link, &link->wire, &link->wire_sent); /* the server gets the alert */
        return link_fail(link, why);
    }
    if (!send_bytes(link, &link->wire, &link->wire_sent)) return false;
    if (*done) return true;
    struct pollfd news = {link->context->fd, POLLIN, 0};
    if (link_has_more(link)) news.events |= POLLOUT;
    if (poll(&news, 1, (int)timeout_ms) == 0)
        return link_fail(link, "the server did not reply in time: is it a TLS port?");
    if (!(news.revents & (POLLIN | POLLHUP | POLLERR))) return true;
    if (!receive_bytes(link, buffer, sizeof buffer, &got)) return false;
    return got == 0 || link->tls->calls->take(link->tls, buffer, got) || tls_failed(link);
}

static bool link_shake(struct link *link, const char *host, uint32_t timeout_ms,
                       struct tls_trust *trust) {
    const uint64_t start = monotonic_ms();
    link->tls = trust->open(trust, host);
    if (link->tls == NULL) return link_fail(link, "out of memory");
    for (bool done = false; !done;) {
        if (!shake_once(link, time_left(start, timeout_ms), &done)) return false;
    }
    return true;
}

bool link_open(struct link *link, const char *host, int port, const tamis_cluster_options *options,
               struct tls_trust *trust) {
    const struct timeval limit = {(time_t)(options->timeout_ms / 1000),
                                  (suseconds_t)(options->timeout_ms % 1000) * 1000};
    if (link->context != NULL) return true;
    link->heard = false;
    link->context = redisConnectWithTimeout(host, port, limit);
    if (link->context == NULL) return link_fail(link, "out of memory");
    if (link->context->err != 0) return link_fail(link, link->context->errstr);
    const int flags = fcntl(link->context->fd, F_GETFL);
    if (flags < 0 || fcntl(link->context->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return link_fail(link, strerror(errno));
    if (trust != NULL && !link_shake(link, host, options->timeout_ms, trust)) return false;
    return link_greet(link, options);
}
