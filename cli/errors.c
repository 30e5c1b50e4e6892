/* errors.c - sentences on stderr, and memory that is there or ends the process */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "progress.h"
#include "term.h"

static const char *command_name;

void errors_name(const char *command) { command_name = command; }

/* Names and records in it come from outside. */
static void format_line(char *line, size_t size, const char *format, va_list arguments) {
    char raw[3000];
    vsnprintf(raw, sizeof raw, format, arguments);
    term_plain(raw, line, size);
}

/* One buffered write per line, so that lines of several processes do not mix. */
static void sentence(const char *format, va_list arguments) {
    char line[4096];
    progress_clear();
    format_line(line, sizeof line, format, arguments);
    if (command_name != NULL) {
        fprintf(stderr, "tamis: %s: %s\n", command_name, line);
    } else {
        fprintf(stderr, "tamis: %s\n", line);
    }
}

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sentence(format, arguments);
    va_end(arguments);
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sentence(format, arguments);
    va_end(arguments);
    exit(EXIT_ERROR);
}

void say(const char *format, ...) {
    va_list arguments;
    char line[4096];
    va_start(arguments, format);
    format_line(line, sizeof line, format, arguments);
    va_end(arguments);
    progress_clear();
    fprintf(stderr, "%s\n", line);
}

void *need(size_t size) { return need_more(NULL, size); }

void *need_more(void *block, size_t size) {
    void *more = realloc(block, size != 0 ? size : 1);
    if (more == NULL) die("out of memory: cannot have %zu bytes more", size);
    return more;
}
