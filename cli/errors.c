/* errors.c - sentences on stderr, and memory that is there or ends the process */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "progress.h"
#include "term.h"

static const char *command_name;
static bool has_changed;

void errors_name(const char *command) { command_name = command; }

/* One buffered write per line, so that lines of several processes do not mix.  Names and records in
 * it come from outside. */
static void sentence(bool named, const char *format, va_list arguments) {
    char raw[3000], line[4096];
    vsnprintf(raw, sizeof raw, format, arguments);
    term_plain(raw, line, sizeof line);
    progress_clear();
    const bool known = named && command_name != NULL;
    fprintf(stderr, "%s%s%s%s\n", named ? "tamis: " : "", known ? command_name : "",
            known ? ": " : "", line);
}

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sentence(true, format, arguments);
    va_end(arguments);
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sentence(true, format, arguments);
    va_end(arguments);
    exit(error_exit_code());
}

void errors_changed(void) { has_changed = true; }

int error_exit_code(void) { return has_changed ? EXIT_CHANGED : EXIT_ERROR; }

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sentence(false, format, arguments);
    va_end(arguments);
}

void *need(size_t size) { return need_more(NULL, size); }

void *need_more(void *block, size_t size) {
    void *more = realloc(block, size != 0 ? size : 1);
    if (more == NULL) die("out of memory: cannot allocate %zu bytes", size);
    return more;
}

void *need_room(void *block, size_t *capacity, size_t count, size_t each) {
    if (count <= *capacity) return block;
    while (*capacity < count) *capacity = *capacity < 1024 ? 1024 : 2 * *capacity;
    return need_more(block, *capacity * each);
}
