/* cli.h - what every part of the command shares: exit codes, errors
 *
 * The command uses include/tamis.h only.  One file per subcommand (cmd_*.c) parses its
 * options, opens its filters and hands a job to the pipeline; everything that two of them need
 * has a file of its own.
 *
 *     options   definitions of options, the parser     keys      record -> key bytes -> hash
 *     numbers   10K, 64Ki, 1%, 1/1000 and back to text   pipeline  blocks through threads, in order
 *     records   inputs -> blocks of whole records        output    buffered bytes to a descriptor
 *     filters   opening, saving, what a status means     progress  the line on a terminal
 *     term      colours and widths                       plot      curves as text and as SVG
 *     json      objects and arrays                       suggest   "did you mean"
 *
 * Errors end the process at once through `die`: a file is only ever replaced by a rename at the
 * very end, so there is nothing to undo.  Threads of the pipeline do not call it; they hand
 * their error to the one that waits for them. */
#ifndef TAMIS_CLI_CLI_H
#define TAMIS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tamis.h"

/* As those of grep, and two more: part of the contract. */
enum exit_code {
    EXIT_DONE = 0,   /* something was selected, or the work is done */
    EXIT_NONE = 1,   /* nothing selected, a key is missing */
    EXIT_ERROR = 2,  /* nothing was changed */
    EXIT_OVER = 3,   /* done, but the filter is over its capacity */
    EXIT_CHANGED = 4 /* the file was changed, but a step after that failed */
};

struct args;

#if defined(__GNUC__)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

/* The command that runs: it is named in errors.  Set once by main. */
void errors_name(const char *command);

/* "tamis: build: " and the sentence on stderr. */
void warn(const char *format, ...) PRINTF_LIKE(1, 2);

/* The same, then exit with error_exit_code. */
_Noreturn void die(const char *format, ...) PRINTF_LIKE(1, 2);

/* From now on an error is EXIT_CHANGED instead of EXIT_ERROR: the file has been changed. */
void errors_changed(void);
int error_exit_code(void);

/* The sentence on stderr, without the name in front. */
void say(const char *format, ...) PRINTF_LIKE(1, 2);

/* Allocate, or die. */
void *need(size_t size);
void *need_more(void *block, size_t size);

/* Room for `count` elements of `each` bytes: at least doubles the capacity if that is too small. */
void *need_room(void *block, size_t *capacity, size_t count, size_t each);

#endif
