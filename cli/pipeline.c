/* pipeline.c - the threads of pipeline.h */
#define _POSIX_C_SOURCE 200809L

#include "pipeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

/* Threads that a short input would only start in vain: so many blocks come first. */
#define BLOCKS_ALONE 16

struct pipeline {
    struct reader *reader;
    const struct job *job;
    unsigned threads; /* wanted */

    pthread_mutex_t reading;
    bool no_more; /* under `reading` */

    pthread_mutex_t emitting;
    pthread_cond_t turn;
    uint64_t next; /* sequence of the block whose turn it is; under `emitting` */
    bool stopped;
    struct totals totals;
    size_t input;           /* that the last block came from */
    uint64_t input_records; /* emitted of that input */
    char error[800];
};

void block_error(struct block *block, const struct record_error *error, size_t first) {
    block->error = *error;
    block->error.record += first;
}

/* ---- read */

static bool take_block(struct pipeline *p, struct block *block) {
    pthread_mutex_lock(&p->reading);
    const bool got = !p->no_more && reader_next(p->reader, block);
    if (!got) p->no_more = true;
    pthread_mutex_unlock(&p->reading);
    return got;
}

/* ---- emit */

static void record_failure(struct pipeline *p, const struct block *block) {
    snprintf(p->error, sizeof p->error, "'%s', %s %llu: %s", input_name(p->reader, block->input),
             p->reader->delimiter == '\n' ? "line" : "record",
             (unsigned long long)(p->input_records + block->error.record + 1), block->error.text);
}

/* With the turn: the only one that touches what follows `next` in the pipeline. */
static void emit_block(struct pipeline *p, struct block *block) {
    if (block->input != p->input) {
        p->input = block->input;
        p->input_records = 0;
    }
    bool more = p->job->emit(p->job->context, block, p->input_records);
    if (more && block->error.is) {
        record_failure(p, block);
        more = false;
    }
    p->input_records += block->records;
    p->totals.records += block->records;
    p->totals.bytes += block->length;
    if (more) progress_show(p->totals.records, p->totals.bytes, p->job->capacity);
    p->stopped = !more;
}

static bool emit_in_turn(struct pipeline *p, struct block *block) {
    pthread_mutex_lock(&p->emitting);
    while (p->next != block->sequence) pthread_cond_wait(&p->turn, &p->emitting);
    const bool stopped = p->stopped;
    pthread_mutex_unlock(&p->emitting);

    if (!stopped) emit_block(p, block);

    pthread_mutex_lock(&p->emitting);
    p->next++;
    const bool more = !p->stopped;
    pthread_cond_broadcast(&p->turn);
    pthread_mutex_unlock(&p->emitting);
    return more;
}

/* ---- the loop of a thread */

/* Up to `limit` blocks; true if there may be more. */
static bool run_lane(struct pipeline *p, uint64_t limit) {
    struct block block;
    struct batch *batch = (struct batch *)need(sizeof *batch);
    memset(&block, 0, sizeof block);
    batch_start(batch);
    bool more = true;
    for (uint64_t i = 0; more && i < limit; i++) {
        more = take_block(p, &block);
        if (!more) break;
        block.error.is = false;
        block.records = block.span_count = 0;
        block.selected = 0;
        p->job->work(p->job->context, &block, batch);
        more = emit_in_turn(p, &block);
    }
    block_free(&block);
    batch_free(batch);
    free(batch);
    return more;
}

static void *lane(void *pipeline) {
    run_lane((struct pipeline *)pipeline, UINT64_MAX);
    return NULL;
}

/* The other threads, and this one; a thread that cannot be had is done without. */
static void run_lanes(struct pipeline *p) {
    const unsigned others = p->threads - 1;
    pthread_t *threads = (pthread_t *)need(others * sizeof *threads);
    unsigned started = 0;
    while (started < others && pthread_create(&threads[started], NULL, lane, p) == 0) started++;
    run_lane(p, UINT64_MAX);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
    free(threads);
}

struct totals pipeline_run(struct reader *reader, const struct job *job, unsigned threads) {
    struct pipeline p;
    memset(&p, 0, sizeof p);
    p.reader = reader;
    p.job = job;
    p.threads = threads;
    pthread_mutex_init(&p.reading, NULL);
    pthread_mutex_init(&p.emitting, NULL);
    pthread_cond_init(&p.turn, NULL);

    if (run_lane(&p, threads > 1 ? BLOCKS_ALONE : UINT64_MAX) && threads > 1) run_lanes(&p);

    pthread_mutex_destroy(&p.reading);
    pthread_mutex_destroy(&p.emitting);
    pthread_cond_destroy(&p.turn);
    reader_close(reader);
    if (p.error[0] != '\0') die("%s", p.error);
    if (!p.stopped && reader->error[0] != '\0') die("%s", reader->error);
    return p.totals;
}

/* ---- work that commands share */

static void hash_block(const struct hashing *h, struct block *block, struct batch *batch,
                       bool starts) {
    struct record_error error = {false, 0, ""};
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, h->delimiter, &at);) {
        good = batch_hashes(batch, &h->form, h->filter, &error);
        if (!good) block_error(block, &error, block->records);
        block_need_hashes(block, block->records + BATCH_KEYS);
        memcpy(block->hashes + block->records, batch->hash, batch->count * sizeof(uint64_t));
        if (starts) {
            block_need_starts(block, block->records + BATCH_KEYS + 1);
            memcpy(block->starts + block->records, batch->start, batch->count * sizeof(size_t));
            block->starts[block->records + batch->count] = good ? at : batch->start[batch->count];
        }
        block->records += batch->count;
    }
}

void work_hashes(const void *context, struct block *block, struct batch *batch) {
    hash_block((const struct hashing *)context, block, batch, false);
}

void work_hashes_and_starts(const void *context, struct block *block, struct batch *batch) {
    hash_block((const struct hashing *)context, block, batch, true);
}

void work_nothing(const void *context, struct block *block, struct batch *batch) {
    (void)context;
    (void)block;
    (void)batch;
}
