/* output.c - a buffered writer that stops quietly when the reader has gone
 *
 * SIGPIPE is ignored (interrupt.c), so a closed pipe is EPIPE here; the command stops when it sees
 * `error`. */
#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "descriptor.h"
#include "progress.h"

#define OUTPUT_BYTES ((size_t)128 << 10)

void output_open(struct output *output, int descriptor) {
    memset(output, 0, sizeof *output);
    output->descriptor = descriptor;
    output->capacity = OUTPUT_BYTES;
    output->buffer = (uint8_t *)need(output->capacity);
    output->terminal = isatty(descriptor) == 1;
    descriptor_widen(descriptor);
}

static void write_all(struct output *output, const uint8_t *bytes, size_t length) {
    if (output->terminal && length != 0) progress_clear(); /* it may be on this terminal */
    while (length != 0 && output->error == 0) {
        const ssize_t wrote = write(output->descriptor, bytes, length);
        if (wrote < 0 && errno == EAGAIN) {
            /* Another process may have set O_NONBLOCK; the next write reports errors. */
            struct pollfd end = {.fd = output->descriptor, .events = POLLOUT};
            (void)poll(&end, 1, -1);
            continue;
        }
        if (wrote < 0) {
            if (errno != EINTR) output->error = errno;
            continue;
        }
        bytes += wrote;
        length -= (size_t)wrote;
    }
}

void output_flush(struct output *output) {
    write_all(output, output->buffer, output->used);
    output->used = 0;
}

void output_bytes(struct output *output, const void *bytes, size_t length) {
    if (length > output->capacity - output->used) {
        output_flush(output);
        if (length >= output->capacity) {
            write_all(output, (const uint8_t *)bytes, length);
            return;
        }
    }
    if (length != 0) memcpy(output->buffer + output->used, bytes, length);
    output->used += length;
}

void output_text(struct output *output, const char *text) {
    output_bytes(output, text, strlen(text));
}

void output_number(struct output *output, uint64_t number) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    output_bytes(output, digits + at, sizeof digits - at);
}

static void check(int error, const char *name) {
    if (error != 0 && error != EPIPE) die("cannot write to %s: %s", name, strerror(error));
}

void output_close(struct output *output, const char *name) {
    output_flush(output);
    free(output->buffer);
    output->buffer = NULL;
    check(output->error, name);
}

void stdout_close(void) {
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) check(errno != 0 ? errno : EIO, "standard output");
}
