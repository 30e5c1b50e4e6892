/* engine.h - applies an action to the keys of a column, without the GIL */
#ifndef TAMIS_PYTHON_ENGINE_H
#define TAMIS_PYTHON_ENGINE_H

#include "column.h"

/* Where the results of a column go, beginning with its first row; NULL: nowhere. */
struct output {
    bool *found;      /* contained, new or removed, */
    uint64_t *hashes; /* or the hashes */
    uint8_t *valid;   /* receives 0 for each null; needed if the column is nullable */
};

/* How it went. */
struct outcome {
    size_t added;          /* keys, by BATCH_ADD */
    tamis_status status;   /* of the first call that failed, */
    int error;             /* and its errno */
    bool invalid;          /* a row is no key: */
    size_t row;            /* its number in the column, */
    char text[ERROR_SIZE]; /* and why; "": out of memory */
};

/* Processes the rows from..end with at most `threads` threads.  Call without the GIL. */
void engine_run(const struct column *column, size_t from, size_t end, unsigned threads,
                const struct output *output, struct outcome *outcome);

#endif
