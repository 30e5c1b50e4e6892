/* pipeline.c - the threads of pipeline.h */
#define _POSIX_C_SOURCE 200809L

#include "pipeline.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "hints.h"
#include "progress.h"

/* Threads start after this many blocks, so that a short input starts none. */
#define BLOCKS_ALONE 16

/* How often a thread polls before it sleeps: about 40 microseconds, longer than the read of a
 * block. With a fifth of that, one read in eight put the other thread to sleep (1350 times in ten
 * million lines, now 80), and a build took 5 % longer. */
#define LOOKS 100000

/* Blocks for each thread: the one that it has, and some that wait to be emitted. */
#define BLOCKS_EACH 4
#define BLOCKS_EACH_UNEVEN 32

/* A lock that is polled for a while before a thread sleeps, because what it guards takes less time
 * than waking up.  Without that, two threads on ten million lines slept once in five blocks and
 * took as long as one; now they take half. */
struct gate {
    pthread_mutex_t mutex;
    atomic_bool busy; /* a hint: it is locked */
};

static void gate_open(struct gate *gate) {
    pthread_mutex_init(&gate->mutex, NULL);
    atomic_init(&gate->busy, false);
}

static void gate_lock(struct gate *gate) {
    bool have = false;
    for (int looks = 0; !have && looks < LOOKS; looks++) {
        const bool busy = atomic_load_explicit(&gate->busy, memory_order_relaxed);
        have = !busy && pthread_mutex_trylock(&gate->mutex) == 0;
    }
    if (!have) pthread_mutex_lock(&gate->mutex);
    atomic_store_explicit(&gate->busy, true, memory_order_relaxed);
}

static void gate_unlock(struct gate *gate) {
    atomic_store_explicit(&gate->busy, false, memory_order_relaxed);
    pthread_mutex_unlock(&gate->mutex);
}

struct pipeline {
    struct reader *reader;
    const struct job *job;
    unsigned threads; /* wanted */

    struct gate reading;
    bool no_more; /* under `reading` */

    struct gate blocks; /* for what follows, up to `stopped` */
    pthread_cond_t given_back;
    struct block *all, *free; /* all blocks; the unused ones */
    size_t count;
    struct block **waiting; /* sequence % count: worked on, not yet emitted */
    uint64_t next;          /* sequence of the block whose turn it is */
    bool emitting;          /* a thread is emitting, and will see what waits */
    bool stopped;
    int stop[2]; /* a pipe, closed to end a read that waits for more; -1: none */

    /* Only touched by the emitting thread. */
    struct totals totals;
    size_t input;           /* that the last block came from */
    uint64_t input_records; /* emitted of that input */
    char error[NAME_SHOWN + 600];
};

/* ---- read */

static bool read_block(struct pipeline *p, struct block *block) {
    gate_lock(&p->reading);
    const bool got = !p->no_more && reader_next(p->reader, block);
    if (!got) p->no_more = true;
    gate_unlock(&p->reading);
    return got;
}

/* Takes an unused block.  One becomes free in any case: some thread is working on the next block to
 * be emitted. */
static struct block *borrow_block(struct pipeline *p) {
    gate_lock(&p->blocks);
    while (p->free == NULL) {
        atomic_store_explicit(&p->blocks.busy, false, memory_order_relaxed);
        pthread_cond_wait(&p->given_back, &p->blocks.mutex);
        atomic_store_explicit(&p->blocks.busy, true, memory_order_relaxed);
    }
    struct block *block = p->free;
    p->free = block->next;
    gate_unlock(&p->blocks);
    return block;
}

/* With `blocks` locked. */
static void give_back(struct pipeline *p, struct block *block) {
    block->next = p->free;
    p->free = block;
    pthread_cond_signal(&p->given_back);
}

/* The next block of the input; NULL at its end. */
static struct block *take_block(struct pipeline *p) {
    struct block *block = borrow_block(p);
    if (read_block(p, block)) return block;
    gate_lock(&p->blocks);
    give_back(p, block);
    gate_unlock(&p->blocks);
    return NULL;
}

/* ---- emit */

static void record_failure(struct pipeline *p, const struct block *block) {
    char place[PLACE_MAX];
    record_place(p->reader, block, block->error.record, place);
    snprintf(p->error, sizeof p->error, "%s: %s", place, block->error.text);
}

static void pipeline_progress(const struct pipeline *p) {
    const struct job *job = p->job;
    const uint64_t keys = job->keys != NULL ? *job->keys : p->totals.records;
    progress_show(p->totals.records, p->totals.bytes,
                  job->capacity != 0 ? (double)keys / (double)job->capacity : NO_FILL);
}

/* False: stop. */
static bool emit_block(struct pipeline *p, struct block *block, struct batch *batch) {
    if (block->input != p->input) {
        p->input = block->input;
        p->input_records = 0;
    }
    if (p->job->hints && p->input_records == 0 && !block->error.is) {
        hint_input(input_name(p->reader, block->input), block, p->reader->delimiter, p->job->form);
    }
    block->before = p->input_records;
    bool more = p->job->emit(p->job->context, block, batch);
    if (more && block->error.is) {
        record_failure(p, block);
        more = false;
    }
    p->input_records += block->records;
    p->totals.records += block->records;
    p->totals.bytes += block->length;
    if (more) pipeline_progress(p);
    return more;
}

/* Ends a read that waits for more input: it would keep the other threads from ending. */
static void stop_reading(struct pipeline *p) {
    if (p->stop[1] >= 0) close(p->stop[1]);
    p->stop[1] = -1;
}

/* Emits the blocks whose turn it is.  Called with `blocks` locked; unlocks it while emitting. */
static void emit_waiting(struct pipeline *p, struct batch *batch) {
    p->emitting = true;
    for (;;) {
        struct block **const place = &p->waiting[p->next % p->count], *const block = *place;
        if (block == NULL) break;
        *place = NULL;
        bool stopped = p->stopped;
        gate_unlock(&p->blocks);
        if (!stopped) stopped = !emit_block(p, block, batch);
        gate_lock(&p->blocks);
        p->stopped = stopped;
        if (stopped) stop_reading(p);
        p->next++;
        give_back(p, block);
    }
    p->emitting = false;
}

/* Queues a block after `work`.  True if there may be more. */
static bool emit_in_turn(struct pipeline *p, struct block *block, struct batch *batch) {
    gate_lock(&p->blocks);
    p->waiting[block->sequence % p->count] = block;
    if (!p->emitting) emit_waiting(p, batch);
    const bool more = !p->stopped;
    gate_unlock(&p->blocks);
    return more;
}

/* ---- the loop of a thread */

/* Up to `limit` blocks; true if there may be more. */
static bool run_lane(struct pipeline *p, uint64_t limit) {
    struct batch *batch = (struct batch *)need(sizeof *batch);
    batch_start(batch);
    bool more = true;
    for (uint64_t i = 0; more && i < limit; i++) {
        struct block *block = take_block(p);
        more = block != NULL;
        if (!more) break;
        block->error.is = false;
        block->records = block->span_count = 0;
        block->selected = 0;
        if (p->job->work != NULL) p->job->work(p->job->context, block, batch);
        more = emit_in_turn(p, block, batch);
    }
    batch_free(batch);
    free(batch);
    return more;
}

static void *lane(void *pipeline) {
    run_lane((struct pipeline *)pipeline, UINT64_MAX);
    return NULL;
}

/* If it fails, reads are waited for. */
static void open_stop(struct pipeline *p) {
    if (pipe(p->stop) != 0) return;
    for (size_t i = 0; i < 2; i++) p->stop[i] = descriptor_apart(p->stop[i]);
    if (p->stop[0] >= 0 && p->stop[1] >= 0) return;
    for (size_t i = 0; i < 2; i++) {
        if (p->stop[i] >= 0) close(p->stop[i]);
        p->stop[i] = -1;
    }
}

/* Runs the other threads and this one; continues with fewer if threads cannot be created. */
static void run_lanes(struct pipeline *p) {
    const unsigned others = p->threads - 1;
    open_stop(p);
    p->reader->stop = p->stop[0];
    pthread_t *threads = (pthread_t *)need(others * sizeof *threads);
    unsigned started = 0;
    while (started < others && pthread_create(&threads[started], NULL, lane, p) == 0) started++;
    run_lane(p, UINT64_MAX);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
    free(threads);
    stop_reading(p);
    if (p->stop[0] >= 0) close(p->stop[0]);
}

static void open_blocks(struct pipeline *p) {
    const size_t each = p->job->uneven ? BLOCKS_EACH_UNEVEN : BLOCKS_EACH;
    p->count = p->threads == 1 ? 1 : each * p->threads;
    p->all = (struct block *)need(p->count * sizeof *p->all);
    p->waiting = (struct block **)need(p->count * sizeof *p->waiting);
    memset(p->all, 0, p->count * sizeof *p->all);
    for (size_t i = p->count; i-- > 0;) { /* the first is used first, and reused */
        p->waiting[i] = NULL;
        p->all[i].next = p->free;
        p->free = &p->all[i];
    }
}

static void close_blocks(struct pipeline *p) {
    for (size_t i = 0; i < p->count; i++) block_free(&p->all[i]);
    free(p->all);
    free(p->waiting);
}

struct totals pipeline_run(struct reader *reader, const struct job *job, unsigned threads) {
    struct pipeline p;
    memset(&p, 0, sizeof p);
    p.reader = reader;
    p.job = job;
    p.threads = threads;
    p.stop[0] = p.stop[1] = -1;
    gate_open(&p.reading);
    gate_open(&p.blocks);
    pthread_cond_init(&p.given_back, NULL);
    open_blocks(&p);

    pipeline_progress(&p); /* nothing yet, and the first block may take long */
    if (run_lane(&p, threads > 1 ? BLOCKS_ALONE : UINT64_MAX) && threads > 1) run_lanes(&p);

    close_blocks(&p);
    pthread_mutex_destroy(&p.reading.mutex);
    pthread_mutex_destroy(&p.blocks.mutex);
    pthread_cond_destroy(&p.given_back);
    reader_close(reader);
    const char *error = p.error[0] != '\0' ? p.error : p.stopped ? "" : reader->error;
    if (error[0] == '\0') return p.totals;
    if (job->output != NULL) output_flush(job->output); /* the results before it */
    die("%s", error);
}

/* ---- work that commands share */

bool hash_batch(const struct hashing *h, struct block *block, struct batch *batch) {
    struct record_error error = {false, 0, ""};
    const bool all = batch_keys(batch, &h->form, h->key_bytes, &error);
    if (!all) {
        block->error = error;
        block->error.record += block->records;
    }
    if (!h->by_hash || (h->form.flags & TAMIS_KEY_PREHASHED)) return all;
    if (h->builder != NULL) {
        tamis_builder_hash_batch(h->builder, batch->keys, batch->lengths, batch->count,
                                 batch->hash);
    } else {
        tamis_hash_batch(h->filter, batch->keys, batch->lengths, batch->count, batch->hash);
    }
    return all;
}

size_t query_batch(const struct hashing *h, struct batch *batch) {
    if (h->by_hash) {
        return tamis_contains_hash_batch(h->filter, batch->hash, batch->count, batch->answer);
    }
    return tamis_contains_batch(h->filter, batch->keys, batch->lengths, batch->count,
                                batch->answer);
}

static void hash_block(const struct hashing *h, struct block *block, struct batch *batch,
                       bool starts) {
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, h->delimiter, &at);) {
        good = hash_batch(h, block, batch);
        const size_t room = block->records + BATCH_KEYS + 1;
        block->hashes =
            (uint64_t *)need_room(block->hashes, &block->hashes_capacity, room, sizeof(uint64_t));
        memcpy(block->hashes + block->records, batch->hash, batch->count * sizeof(uint64_t));
        if (starts) {
            block->starts =
                (size_t *)need_room(block->starts, &block->starts_capacity, room, sizeof(size_t));
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
