/* link.c - bytes to and from one server, and the exchange with several at once
 *
 * hiredis connects and parses; sending and receiving is done here, with poll(2) over all links,
 * so that all nodes work at the same time, a long pipeline cannot block (both sides would wait
 * for the other to read), and a lost connection raises no SIGPIPE. */
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

/* ---- one link */

static void link_fail(struct link *link, const char *why) {
    snprintf(link->error, sizeof link->error, "%s", why);
    link_close(link);
}

void link_close(struct link *link) {
    if (link->context != NULL) redisFree(link->context);
    link->context = NULL;
    link->out.used = link->sent = 0;
    link->first = link->count = 0;
}

bool link_push(struct link *link, const void *command, size_t length, struct request *waiting) {
    if (link->count == link->capacity) {
        const size_t capacity = link->capacity != 0 ? 2 * link->capacity : 64;
        struct request **grown =
            (struct request **)realloc((void *)link->waiting, capacity * sizeof *grown);
        if (grown == NULL) return false;
        link->waiting = grown;
        link->capacity = capacity;
    }
    bytes_add(&link->out, command, length);
    link->waiting[link->count++] = waiting;
    return !link->out.failed;
}

static bool link_send(struct link *link) {
    while (link->sent < link->out.used) {
        const ssize_t sent = send(link->context->fd, link->out.at + link->sent,
                                  link->out.used - link->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (sent < 0) {
            link_fail(link, strerror(errno));
            return false;
        }
        link->sent += (size_t)sent;
    }
    return true;
}

/* Hands out the replies that are whole. */
static bool link_deliver(struct link *link) {
    while (link->first < link->count) {
        void *reply = NULL;
        if (redisReaderGetReply(link->context->reader, &reply) != REDIS_OK) {
            link_fail(link, "the server's answer is not the Redis protocol");
            return false;
        }
        if (reply == NULL) return true;
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

static bool link_receive(struct link *link) {
    char buffer[16384];
    for (;;) {
        const ssize_t got = recv(link->context->fd, buffer, sizeof buffer, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (got <= 0) {
            link_fail(link, got == 0 ? "the server closed the connection" : strerror(errno));
            return false;
        }
        if (redisReaderFeed(link->context->reader, buffer, (size_t)got) != REDIS_OK) {
            link_fail(link, "out of memory");
            return false;
        }
        if (!link_deliver(link)) return false;
        if ((size_t)got < sizeof buffer) return true;
    }
}

/* ---- several links */

static bool link_is_busy(const struct link *link) {
    return link->context != NULL && link->first < link->count;
}

/* Waits for news on any of them.  False: none is busy, or no memory for the list. */
static bool links_poll(struct link **links, size_t count, struct pollfd *polls, uint32_t timeout_ms,
                       bool *silent) {
    nfds_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        if (!link_is_busy(links[i])) continue;
        polls[busy].fd = links[i]->context->fd;
        polls[busy].events = POLLIN;
        if (links[i]->sent < links[i]->out.used) polls[busy].events |= POLLOUT;
        polls[busy++].revents = 0;
    }
    if (busy == 0) return false;
    const int ready = poll(polls, busy, (int)timeout_ms);
    *silent = ready == 0;
    return true;
}

bool links_exchange(struct link **links, size_t count, uint32_t timeout_ms) {
    struct pollfd *polls = (struct pollfd *)malloc((count != 0 ? count : 1) * sizeof *polls);
    bool silent = false;
    if (polls == NULL) return false;
    while (links_poll(links, count, polls, timeout_ms, &silent)) {
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            if (!link_is_busy(links[i])) continue;
            const short events = polls[at++].revents;
            if (silent) {
                link_fail(links[i], "the server did not answer in time");
            } else if ((events & POLLOUT) && !link_send(links[i])) {
                continue;
            } else if (events & (POLLIN | POLLHUP | POLLERR)) {
                link_receive(links[i]);
            }
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
    char head[32];
    snprintf(head, sizeof head, "*%zu\r\n", count);
    bytes_add(&command, head, strlen(head));
    for (size_t i = 0; i < count; i++) {
        snprintf(head, sizeof head, "$%zu\r\n", strlen(words[i]));
        bytes_add(&command, head, strlen(head));
        bytes_add(&command, words[i], strlen(words[i]));
        bytes_add(&command, "\r\n", 2);
    }
    const bool pushed = !command.failed && link_push(link, command.at, command.used, waiting);
    bytes_free(&command);
    return pushed;
}

redisReply *link_ask(struct link *link, const char *const *words, size_t count,
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
    redisReply *reply = options->user != NULL ? link_ask(link, with_user, 3, options->timeout_ms)
                                              : link_ask(link, without, 2, options->timeout_ms);
    if (reply == NULL) return false;
    const bool good = reply->type != REDIS_REPLY_ERROR;
    if (!good) link_fail(link, reply->str);
    freeReplyObject(reply);
    return good;
}

bool link_open(struct link *link, const char *host, int port,
               const tamis_cluster_options *options) {
    const struct timeval limit = {(time_t)(options->timeout_ms / 1000),
                                  (suseconds_t)(options->timeout_ms % 1000) * 1000};
    if (link->context != NULL) return true;
    link->context = redisConnectWithTimeout(host, port, limit);
    if (link->context == NULL) {
        snprintf(link->error, sizeof link->error, "out of memory");
        return false;
    }
    if (link->context->err != 0) {
        char why[sizeof link->context->errstr];
        memcpy(why, link->context->errstr, sizeof why);
        link_fail(link, why);
        return false;
    }
    const int flags = fcntl(link->context->fd, F_GETFL);
    if (flags < 0 || fcntl(link->context->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        link_fail(link, strerror(errno));
        return false;
    }
    return link_greet(link, options);
}
