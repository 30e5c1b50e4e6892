/* records.h - inputs become blocks of whole records
 *
 * An input is cut into records by one delimiter byte.  The reader fills large blocks with
 * read(2) and cuts each at its last delimiter; what follows it (part of a record) is carried to
 * the start of the next block, so no record is ever copied twice:
 *
 *     block k    | record \n record \n ... record \n | par|
 *     block k+1  |part \n record \n ...                       '-> carried
 *
 * A record that is longer than a block makes the block grow until it fits: memory depends on
 * the longest record, never on the length of the input.  The last record of an input needs no
 * delimiter.  Inputs do not run into each other: a block has records of one input. */
#ifndef TAMIS_CLI_RECORDS_H
#define TAMIS_CLI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* Bytes asked of the system at once.  A block is read, split and hashed by one thread while it
 * is in that core's cache. */
#define BLOCK_BYTES ((size_t)64 << 10)

/* What goes wrong with a record, found by any thread and told in input order. */
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
    bool pause;         /* the input had no more for now: show what there is */
    size_t input;       /* index of its input */
    uint64_t sequence;  /* 0, 1, 2, ... over all inputs */
    struct block *next; /* in a list of blocks that nobody has */

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
    uint64_t *tally; /* per filter */
};

/* A part of a block to be printed. */
struct span {
    size_t start, length;
    size_t record; /* index of its first record in the block */
    size_t filter; /* which of several filters chose it */
};

void block_free(struct block *block);

/* Room for so many of each, keeping what is there. */
void block_need_hashes(struct block *block, size_t count);
void block_need_starts(struct block *block, size_t count);
void block_add_span(struct block *block, struct span span);

/* Bytes of an input's name in a sentence, so that what follows is not cut off. */
#define NAME_SHOWN 2000

struct reader {
    const char *const *names; /* "-" is standard input */
    size_t count;
    uint8_t delimiter;

    size_t current;
    int descriptor; /* -1: the next input is not open yet */
    bool waits;     /* it may have nothing for long: a pipe, a terminal */
    int stop;       /* what others close to end that wait: see reader_stop_at; -1: nothing */
    uint8_t *carry;
    size_t carry_length, carry_capacity;
    uint64_t sequence;
    uint64_t total_bytes;         /* of all inputs; 0 if it is not known */
    bool goes_on;                 /* with the next input, if one cannot be read */
    char error[NAME_SHOWN + 200]; /* what could not be read first; "" if all was */
};

/* Looks at all inputs first (that they exist, can be read, are no directories), so that work
 * does not begin that cannot be ended.  No input at all is standard input.  Dies. */
void reader_open(struct reader *reader, const struct words *inputs, uint8_t delimiter);

/* The same for one who may well stop before the end, as grep -q does: no input is looked at before
 * its turn, and one that cannot be read is passed over; `error` tells of it at the end. */
void reader_open_unseen(struct reader *reader, const struct words *inputs, uint8_t delimiter);

/* Dies if an input is the file that standard output goes to: it would never end. */
void reader_check_output(const struct reader *reader);

/* From now on a read that waits for a pipe ends, as at the end of the input, when the other end of
 * the pipe `descriptor` is closed; -1: never. */
void reader_stop_at(struct reader *reader, int descriptor);

/* The next block; false at the end, or where it can go on no more: see `error`. */
bool reader_next(struct reader *reader, struct block *block);
void reader_close(struct reader *reader);

/* A record as it can be shown: its first bytes, those that are not printable as \xHH. */
void record_text(const uint8_t *bytes, size_t length, char *text, size_t size);

/* The name of an input as it is shown: 'keys.txt' or standard input. */
const char *input_name(const struct reader *reader, size_t input);

/* Does `path` name the same file as one of the inputs (none: standard input)?  Then which; else
 * NULL. */
const char *input_same_file(const struct words *inputs, const char *path);

#endif
