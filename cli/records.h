/* records.h - inputs become blocks of whole records
 *
 * An input is cut into records by one delimiter byte.  The reader fills large blocks with
 * read(2) and cuts each at its last delimiter; what follows it (part of a record) is carried to
 * the start of the next block, so no record is ever copied twice:
 *
 *     block k    | record \n record \n ... record \n | par|
 *     block k+1  |part \n record \n ...                       '-> carried
 *
 * A record that is longer than a block makes the block grow until it fits, up to a quarter of the
 * machine's memory: memory depends on the longest record, never on the length of the input.  The
 * last record of an input needs no delimiter.  Inputs do not run into each other: a block has
 * records of one input. */
#ifndef TAMIS_CLI_RECORDS_H
#define TAMIS_CLI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* Bytes read at once.  A block is read, split and hashed by one thread while it
 * is in that core's cache. */
#define BLOCK_BYTES ((size_t)64 << 10)

/* An error in a record, found by any thread and reported in input order. */
struct record_error {
    bool is;
    size_t record; /* index in the block, from 0 */
    char text[200];
};

struct block {
    uint8_t *data;
    size_t capacity;
    size_t length;      /* whole records, delimiters included */
    bool unterminated;  /* the last record has no delimiter */
    bool pause;         /* the input has no more for now: flush */
    size_t input;       /* index of its input */
    uint64_t sequence;  /* 0, 1, 2, ... over all inputs */
    uint64_t before;    /* records of its input before it; known when it is emitted */
    struct block *next; /* in the list of unused blocks */

    /* Filled by a job: see pipeline.h. */
    size_t records;
    struct record_error error;
    uint64_t *hashes;
    size_t hashes_capacity;
    size_t *starts; /* records + 1 offsets into data */
    size_t starts_capacity;
    struct span *spans;
    size_t span_count, spans_capacity;
    uint64_t selected;
    uint64_t *filter_counts; /* selected records of each filter */
};

/* A part of a block to be printed. */
struct span {
    size_t start, length;
    size_t record; /* index of its first record in the block */
    size_t filter; /* which of several filters chose it */
};

void block_free(struct block *block);

void block_add_span(struct block *block, struct span span);

/* Bytes of an input's name in a sentence, so that what follows is not cut off. */
#define NAME_SHOWN 2000

struct reader {
    const char *const *names; /* "-" is standard input */
    size_t count;
    uint8_t delimiter;

    size_t current;
    int descriptor; /* -1: the next input is not open yet */
    bool waits;     /* a pipe or a terminal: reads may block */
    int stop;       /* a pipe: when its other end is closed, a waiting read ends; -1: none */
    uint8_t *carry;
    size_t carry_length, carry_capacity;
    uint64_t sequence;
    uint64_t total_bytes;         /* of all inputs; 0: unknown */
    bool goes_on;                 /* skip inputs that cannot be read */
    char error[NAME_SHOWN + 200]; /* of the first input that could not be read; "": none */
};

/* Looks at all inputs first (that they exist, can be read, are no directories), before
 * the work begins.  No input at all is standard input.  Dies. */
void reader_open(struct reader *reader, const struct words *inputs, uint8_t delimiter);

/* The same for a command that selects records.  If it is quiet it may stop early, as grep -q does:
 * an input is not checked before its turn, and one that cannot be read is skipped; `error` is
 * reported at the end.  If it prints them, dies if standard output goes to one of the inputs. */
void reader_open_selecting(struct reader *reader, const struct words *inputs, uint8_t delimiter,
                           bool quiet, bool prints);

/* The next block; false at the end or after an error. */
bool reader_next(struct reader *reader, struct block *block);
void reader_close(struct reader *reader);

/* The name of an input as it is shown: 'keys.txt' or standard input. */
const char *input_name(const struct reader *reader, size_t input);

/* Where a record of a block is: "'keys.txt', line 7". */
#define PLACE_MAX (NAME_SHOWN + 100)
void record_place(const struct reader *reader, const struct block *block, size_t record,
                  char place[PLACE_MAX]);

/* Does `path` name the same file as one of the inputs (none: standard input)?  Then which; else
 * NULL. */
const char *input_same_file(const struct words *inputs, const char *path);

#endif
