/* pipeline.h - blocks of records through several threads, results in input order
 *
 * Each thread runs the same loop:
 *
 *     read     one at a time: takes the next block of the input      (serial)
 *     work     splits, hashes, looks up, adds to the builder         (parallel)
 *     emit     when all blocks before it have been emitted: prints,  (serial, in input order)
 *              adds what must come in order, counts
 *
 * So a block stays in the cache of one core from the read to the end.  A thread whose block is not
 * the next one leaves it to the thread that emits, and continues reading: sleeping and waking takes
 * as long as the work on a block.  Memory is a few blocks per thread.  Further threads start only
 * for a long input; when no more input is needed, a thread that waits for a pipe is woken. */
#ifndef TAMIS_CLI_PIPELINE_H
#define TAMIS_CLI_PIPELINE_H

#include "batch.h"
#include "output.h"

struct job {
    /* May run in several threads at once, on different blocks.  Sets block->records, and
     * block->error for a record that has no key.  NULL: `emit` does it. */
    void (*work)(const void *context, struct block *block, struct batch *batch);
    /* In input order, one block at a time.  False: stop. */
    bool (*emit)(void *context, struct block *block, struct batch *batch);
    void *context;
    struct output *output;      /* of `emit`; NULL: none */
    uint64_t capacity;          /* for the fill in the progress line; 0: not shown */
    const uint64_t *keys;       /* in the filter, for the fill; NULL: the records so far */
    bool hints;                 /* about inputs: see hints.h, */
    const tamis_key_form *form; /* with this */
    bool uneven; /* some blocks take `work` far longer: let many wait to be emitted */
};

struct totals {
    uint64_t records, bytes;
};

/* Runs the job over all blocks.  Dies, after everything before it was emitted, on a record
 * without a key or an input that cannot be read. */
struct totals pipeline_run(struct reader *reader, const struct job *job, unsigned threads);

/* ---- what several commands do in `work` */

/* How records become keys and hashes: the job's context begins with this. */
struct hashing {
    const tamis_filter *filter;   /* any filter that hashes as the one that will be used */
    const tamis_builder *builder; /* or, if not NULL, the builder of the filter */
    tamis_key_form form;
    uint8_t delimiter;
    bool by_hash;       /* the filter takes hashes; otherwise, keys as bytes */
    uint32_t key_bytes; /* as in batch_keys */
};

/* Makes the keys of a batch of the block, and their hashes if the filter takes those.  False if a
 * record has no key: then block->error is set and the batch ends before it. */
bool hash_batch(const struct hashing *hashing, struct block *block, struct batch *batch);

/* Looks up the batch: how many keys are in the filter, and batch->answer for each. */
size_t query_batch(const struct hashing *hashing, struct batch *batch);

/* block->hashes, one for each record. */
void work_hashes(const void *context, struct block *block, struct batch *batch);

/* The same, and block->starts. */
void work_hashes_and_starts(const void *context, struct block *block, struct batch *batch);

#endif
