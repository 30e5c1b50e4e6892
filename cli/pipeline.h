/* pipeline.h - blocks of records through several threads, results in input order
 *
 * Each thread runs the same loop:
 *
 *     read     one at a time: takes the next block of the input      (serial)
 *     work     splits, hashes, asks the filter, adds to the builder  (parallel)
 *     emit     when all blocks before it have been emitted: prints,  (serial, in input order)
 *              adds what must come in order, counts
 *
 * So a block stays in the cache of one core from the read to the end.  A thread whose block is not
 * the next one leaves it to whoever emits that, and goes on reading: to sleep and be woken takes
 * as long as the work on a block.  Memory is a few blocks per thread.  Further threads start
 * only when the input has proved long; when no more is wanted, one that waits for a pipe is told.
 */
#ifndef TAMIS_CLI_PIPELINE_H
#define TAMIS_CLI_PIPELINE_H

#include "keys.h"
#include "output.h"

struct job {
    /* May run in several threads at once, on different blocks.  Sets block->records, and
     * block->error for a record that has no key. */
    void (*work)(const void *context, struct block *block, struct batch *batch);
    /* In input order, one at a time; records before this block in its input are `*before`.
     * False: stop, there is no need for more. */
    bool (*emit)(void *context, struct block *block, uint64_t before);
    void *context;
    struct output *output; /* what `emit` prints to; NULL: nowhere */
    uint64_t capacity;     /* for the fill in the progress line; 0: not shown */
    const uint64_t *keys;  /* that are in by now, for that; NULL: the records so far */
    bool uneven;           /* some blocks take `work` far longer: let many wait to be emitted */
};

struct totals {
    uint64_t records, bytes;
};

/* Runs the job over all blocks.  Dies, after everything before it was emitted, on a record
 * without a key or an input that cannot be read. */
struct totals pipeline_run(struct reader *reader, const struct job *job, unsigned threads);

/* ---- what several commands do in `work` */

/* How keys are hashed: the job's context begins with this. */
struct hashing {
    const tamis_filter *filter; /* any filter that hashes as the one that will be used */
    tamis_key_form form;
    uint8_t delimiter;
};

/* block->hashes, one for each record. */
void work_hashes(const void *context, struct block *block, struct batch *batch);

/* The same, and block->starts. */
void work_hashes_and_starts(const void *context, struct block *block, struct batch *batch);

/* Counts records only: for filters that take keys as bytes, in `emit`. */
void work_nothing(const void *context, struct block *block, struct batch *batch);

/* Moves an error of a batch to its block, of which the batch began at record `first`. */
void block_error(struct block *block, const struct record_error *error, size_t first);

#endif
