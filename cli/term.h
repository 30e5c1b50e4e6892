/* term.h - colours and the width of a terminal; no colours in a file or a pipe */
#ifndef TAMIS_CLI_TERM_H
#define TAMIS_CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>

enum style {
    STYLE_PLAIN, /* back to normal */
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN
};

/* The escape for a style, or "" if `to` is no terminal, TERM is dumb or NO_COLOR is set. */
const char *term_style(FILE *to, enum style style);

bool term_is(FILE *to);

/* Does it support escape sequences?  Not if TERM is dumb. */
bool term_escapes(FILE *to);

/* Columns; 80 if it is not known. */
unsigned term_width(FILE *to);

/* Prints text that begins at `column`, continues at `indent` before a word would pass `width` (0:
 * never), and ends with a newline.  Text in brackets is one word. */
void term_wrap(FILE *to, const char *text, size_t column, size_t indent, size_t width);

/* Copies text from outside, such as a file name, with control characters as \xHH.  Text that does
 * not fit in `size` bytes is cut off. */
void term_plain(const char *raw, char *text, size_t size);

/* Is the locale UTF-8? */
bool term_utf8(void);

#endif
