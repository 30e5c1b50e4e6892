/* records.c - reading inputs block by block */
#define _POSIX_C_SOURCE 200809L

#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"
#include "numbers.h"

/* ---- blocks */

void block_free(struct block *block) {
    free(block->data);
    free(block->hashes);
    free(block->starts);
    free(block->spans);
    free(block->filter_counts);
    memset(block, 0, sizeof *block);
}

void block_add_span(struct block *block, struct span span) {
    block->spans = (struct span *)need_room(block->spans, &block->spans_capacity,
                                            block->span_count + 1, sizeof span);
    block->spans[block->span_count++] = span;
}

/* ---- inputs */

static bool is_stdin(const char *name) { return strcmp(name, "-") == 0; }

const char *input_name(const struct reader *reader, size_t input) {
    return is_stdin(reader->names[input]) ? "standard input" : reader->names[input];
}

void record_place(const struct reader *reader, const struct block *block, size_t record,
                  char place[PLACE_MAX]) {
    snprintf(place, PLACE_MAX, "'%.*s', %s %llu", NAME_SHOWN, input_name(reader, block->input),
             reader->delimiter == '\n' ? "line" : "record",
             (unsigned long long)(block->before + record + 1));
}

/* Is the input a plain file, and this one? */
static bool is_file(const char *name, const struct stat *target) {
    struct stat input;
    const int failed = is_stdin(name) ? fstat(STDIN_FILENO, &input) : stat(name, &input);
    return failed == 0 && S_ISREG(input.st_mode) && input.st_dev == target->st_dev &&
           input.st_ino == target->st_ino;
}

const char *input_same_file(const struct words *inputs, const char *path) {
    struct stat target;
    if (stat(path, &target) != 0) return NULL;
    if (inputs->count == 0 && is_file("-", &target)) return "-";
    for (size_t i = 0; i < inputs->count; i++) {
        if (is_file(inputs->at[i], &target)) return inputs->at[i];
    }
    return NULL;
}

/* Keeps the first reason why an input cannot be read. */
static bool reader_fail(struct reader *reader, const char *what) {
    if (reader->error[0] != '\0') return false;
    snprintf(reader->error, sizeof reader->error, "cannot %s '%.*s': %s", what, NAME_SHOWN,
             input_name(reader, reader->current), strerror(errno));
    return false;
}

/* Adds the current input's size to the total; unknown sizes make the total unknown.  False if it
 * cannot be read. */
static bool look_at_current(struct reader *reader, bool *known) {
    const char *name = reader->names[reader->current];
    struct stat status;
    const bool standard = is_stdin(name);
    if ((standard ? fstat(STDIN_FILENO, &status) : stat(name, &status)) != 0) {
        return reader_fail(reader, "open");
    }
    if (S_ISDIR(status.st_mode)) {
        snprintf(reader->error, sizeof reader->error,
                 "'%.*s' is a directory: give files, or pipe them in", NAME_SHOWN,
                 input_name(reader, reader->current));
        return false;
    }
    if (!standard && access(name, R_OK) != 0) return reader_fail(reader, "open");
    if (S_ISREG(status.st_mode)) {
        reader->total_bytes += (uint64_t)status.st_size;
    } else {
        *known = false;
    }
    return true;
}

static void reader_start(struct reader *reader, const struct words *inputs, uint8_t delimiter) {
    static const char *const standard[] = {"-"};
    memset(reader, 0, sizeof *reader);
    reader->names = inputs->count != 0 ? inputs->at : standard;
    reader->count = inputs->count != 0 ? inputs->count : 1;
    reader->delimiter = delimiter;
    reader->descriptor = reader->stop = -1;
}

void reader_open(struct reader *reader, const struct words *inputs, uint8_t delimiter) {
    bool known = true;
    reader_start(reader, inputs, delimiter);
    for (; reader->current < reader->count; reader->current++) {
        if (!look_at_current(reader, &known)) die("%s", reader->error);
    }
    reader->current = 0;
    if (!known) reader->total_bytes = 0;
}

/* An input that standard output goes to would never end. */
static void check_output(const struct reader *reader) {
    struct stat target;
    if (fstat(STDOUT_FILENO, &target) != 0) return;
    for (size_t i = 0; i < reader->count; i++) {
        if (is_file(reader->names[i], &target)) {
            die("'%s' is both input and output: write to another file", input_name(reader, i));
        }
    }
}

void reader_open_selecting(struct reader *reader, const struct words *inputs, uint8_t delimiter,
                           bool quiet, bool prints) {
    if (quiet) {
        reader_start(reader, inputs, delimiter);
        reader->goes_on = true;
        return;
    }
    reader_open(reader, inputs, delimiter);
    if (prints) check_output(reader);
}

void reader_close(struct reader *reader) {
    if (reader->descriptor > STDIN_FILENO) close(reader->descriptor);
    free(reader->carry);
    reader->carry = NULL;
    reader->descriptor = -1;
}

/* ---- blocks from inputs */

/* A named pipe may have no writer yet: await_input waits for it, which can be interrupted; open
 * must not. */
static int open_input(const char *name) {
    struct stat status;
    const bool named_pipe = stat(name, &status) == 0 && S_ISFIFO(status.st_mode);
    return descriptor_open(name, O_RDONLY | (named_pipe ? O_NONBLOCK : 0));
}

static bool open_current(struct reader *reader) {
    const char *name = reader->names[reader->current];
    struct stat status;
    if (is_stdin(name)) {
        reader->descriptor = STDIN_FILENO;
    } else {
        reader->descriptor = open_input(name);
        if (reader->descriptor < 0) return reader_fail(reader, "open");
        posix_fadvise(reader->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    reader->waits = fstat(reader->descriptor, &status) != 0 || !S_ISREG(status.st_mode);
    if (reader->waits) descriptor_widen(reader->descriptor);
    return true;
}

static void close_current(struct reader *reader) {
    if (reader->descriptor != STDIN_FILENO) close(reader->descriptor);
    reader->descriptor = -1;
    reader->current++;
}

static void block_room(struct block *block, size_t wanted) {
    if (block->capacity == 0) {
        block->capacity = BLOCK_BYTES + BLOCK_BYTES / 4;
        block->data = (uint8_t *)need(block->capacity);
    }
    block->data = (uint8_t *)need_room(block->data, &block->capacity, wanted, 1);
}

/* Keeps the bytes after the last whole record for the next block. */
static void keep_carry(struct reader *reader, const uint8_t *bytes, size_t length) {
    reader->carry = (uint8_t *)need_room(reader->carry, &reader->carry_capacity, length, 1);
    if (length != 0) memcpy(reader->carry, bytes, length);
    reader->carry_length = length;
}

/* One past the last delimiter in data[from, to), or 0. */
static size_t last_end(const uint8_t *data, size_t from, size_t to, uint8_t delimiter) {
    while (to > from) {
        if (data[to - 1] == delimiter) return to;
        to--;
    }
    return 0;
}

/* Waits until there is something to read; false if the reader was stopped. */
static bool await_input(const struct reader *reader) {
    struct pollfd ends[] = {{.fd = reader->stop, .events = POLLIN},
                            {.fd = reader->descriptor, .events = POLLIN}};
    while (poll(ends, 2, -1) < 0) {
        if (errno != EINTR) return true; /* the read reports the error */
    }
    return ends[0].revents == 0;
}

enum filled {
    FILLED,
    FILLED_NOTHING, /* the end of the input, or an error */
    FILLED_STOPPED
};

/* A longer record is an error, or an input without a delimiter (/dev/zero) would fill the memory.
 */
static size_t record_max(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages / 4 * (size_t)page : SIZE_MAX / 4;
}

/* Fills the block from the open input. */
static enum filled fill(struct reader *reader, struct block *block) {
    size_t used = reader->carry_length;
    block_room(block, used + BLOCK_BYTES);
    if (used != 0) memcpy(block->data, reader->carry, used);
    reader->carry_length = 0;
    for (;;) {
        if (used > BLOCK_BYTES && used > record_max()) {
            snprintf(reader->error, sizeof reader->error,
                     "'%.*s' has a record longer than %s, a quarter of the memory; give its "
                     "delimiter with -d C or -0",
                     NAME_SHOWN, input_name(reader, reader->current), text_bytes(record_max()).at);
            return FILLED_NOTHING;
        }
        block_room(block, used + BLOCK_BYTES / 2);
        size_t wanted = block->capacity - used;
        if (wanted > BLOCK_BYTES) wanted = BLOCK_BYTES;
        if (reader->waits && !await_input(reader)) return FILLED_STOPPED;
        const ssize_t got = read(reader->descriptor, block->data + used, wanted);
        if (got < 0 && (errno == EINTR || (errno == EAGAIN && reader->waits))) continue;
        if (got < 0) {
            reader_fail(reader, "read");
            return FILLED_NOTHING;
        }
        if (got == 0) {
            block->length = used;
            block->unterminated = block->pause = true;
            return used != 0 ? FILLED : FILLED_NOTHING;
        }
        const size_t end = last_end(block->data, used, used + (size_t)got, reader->delimiter);
        used += (size_t)got;
        if (end != 0) {
            keep_carry(reader, block->data + end, used - end);
            block->length = end;
            block->pause = (size_t)got < wanted;
            return FILLED;
        }
    }
}

static bool may_go_on(const struct reader *reader) {
    return reader->goes_on || reader->error[0] == '\0';
}

bool reader_next(struct reader *reader, struct block *block) {
    while (reader->current < reader->count && may_go_on(reader)) {
        if (reader->descriptor < 0 && !open_current(reader)) {
            reader->current++;
            continue;
        }
        block->input = reader->current;
        block->unterminated = block->pause = false;
        const enum filled filled = fill(reader, block);
        if (filled == FILLED_STOPPED) return false;
        if (filled != FILLED || block->unterminated) close_current(reader);
        if (filled == FILLED) {
            block->sequence = reader->sequence++;
            return true;
        }
    }
    return false;
}
