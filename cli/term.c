/* term.c - what the terminal can do */
#define _DEFAULT_SOURCE

#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_is(FILE *to) { return isatty(fileno(to)) == 1; }

bool term_escapes(FILE *to) {
    const char *type = getenv("TERM");
    return type != NULL && strcmp(type, "dumb") != 0 && term_is(to);
}

static bool coloured(FILE *to) {
    const char *off = getenv("NO_COLOR");
    return (off == NULL || off[0] == '\0') && term_escapes(to);
}

const char *term_style(FILE *to, enum style style) {
    static const char *const escapes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m"};
    return coloured(to) ? escapes[style] : "";
}

unsigned term_width(FILE *to) {
    struct winsize size;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

static size_t word_length(const char *at) {
    size_t length = 0;
    for (int depth = 0; at[length] != '\0'; length++) {
        if (at[length] == '[') depth++;
        if (at[length] == ']') depth--;
        if (depth <= 0 && at[length] == ' ') break;
    }
    return length;
}

void term_wrap(FILE *to, const char *text, size_t column, size_t indent, size_t width) {
    for (const char *at = text; *at != '\0';) {
        size_t gap = strspn(at, " ");
        const size_t length = word_length(at + gap);
        at += gap + length;
        if (width != 0 && column > indent && column + gap + length > width) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
            gap = 0;
        }
        fprintf(to, "%*s%.*s", (int)gap, "", (int)length, at - length);
        column += gap + length;
    }
    fputc('\n', to);
}

void term_plain(const char *raw, char *text, size_t size) {
    size_t used = 0;
    for (const char *at = raw; *at != '\0' && used + 5 < size; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool control = byte < ' ' || byte == 127;
        used += (size_t)snprintf(text + used, size - used, control ? "\\x%02x" : "%c", byte);
    }
    text[used] = '\0';
}

bool term_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || value[0] == '\0') continue;
        return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL ||
               strstr(value, "utf-8") != NULL || strstr(value, "UTF8") != NULL;
    }
    return false;
}
