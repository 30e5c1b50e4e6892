/* term.h - colours and the width of a terminal; nothing of it in a file or a pipe */
#ifndef TAMIS_CLI_TERM_H
#define TAMIS_CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>

enum style {
    STYLE_PLAIN, /* back to normal */
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_BLUE,
    STYLE_MAGENTA,
    STYLE_CYAN
};

/* The escape for a style, or "" if `to` is no terminal, TERM is dumb or NO_COLOR is set. */
const char *term_style(FILE *to, enum style style);

bool term_is(FILE *to);

/* Is it one that does what escapes tell it?  Not if TERM is dumb. */
bool term_obeys(FILE *to);

/* Columns; 80 if it is not known. */
unsigned term_width(FILE *to);

/* Prints text that begins at `column`, and goes on at `indent` before a word would pass `width` (0:
 * nowhere), then a newline.  The text's own line ends are blanks, unless a blank or another
 * follows: an empty line and a line that is set in stay as they are.  What is in brackets is one
 * word. */
void term_wrap(FILE *to, const char *text, size_t column, size_t indent, size_t width);

/* What comes from outside, such as a name, as one may show it: of it, what would move the cursor or
 * break the line becomes \xHH.  What does not fit in `size` bytes is left out. */
void term_plain(const char *raw, char *text, size_t size);

/* Does the locale speak UTF-8? */
bool term_utf8(void);

#endif
