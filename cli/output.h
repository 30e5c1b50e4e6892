/* output.h - bytes to a descriptor, in large writes */
#ifndef TAMIS_CLI_OUTPUT_H
#define TAMIS_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
    int descriptor;
    uint8_t *buffer;
    size_t used, capacity;
    bool terminal;
    int error; /* errno of the write that failed; nothing is written after it */
};

void output_open(struct output *output, int descriptor);
void output_bytes(struct output *output, const void *bytes, size_t length);
void output_text(struct output *output, const char *text);
void output_number(struct output *output, uint64_t number);
void output_flush(struct output *output);

/* Flushes and frees.  Dies if something could not be written, unless the reader has gone (EPIPE),
 * which is not an error. */
void output_close(struct output *output, const char *name);

/* For what was printed with stdio: flush, and the same rule. */
void stdout_close(void);

#endif
