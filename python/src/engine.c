/* engine.c - see engine.h */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Rows that a thread takes at a time, and those that are worth a thread. */
#define UNIT_ROWS ((size_t)16 * GROUP_KEYS)
#define THREAD_ROWS ((size_t)32768)
#define THREADS_MAX 256

struct job {
    const struct column *column;
    const struct output *output;
    size_t end;
    atomic_size_t next; /* row */
    atomic_bool stopped;
};

struct worker {
    struct job *job;
    struct group *group;
    struct outcome outcome;
    pthread_t thread;
    bool is_thread;
    bool found[GROUP_KEYS]; /* of a sparse group */
    uint64_t hashes[GROUP_KEYS];
};

/* ---- the actions */

static void contained_in_parts(const struct target *t, const struct group *g, bool *found) {
    for (size_t i = 0; i < g->count; i++) {
        found[i] = tamis_container_contains(t->container, t->part, g->keys[i], g->lengths[i]);
    }
}

static void query(const struct target *t, const struct group *g, bool *found) {
    if (t->container != NULL) {
        contained_in_parts(t, g, found);
    } else if (g->hashed) {
        tamis_contains_hash_batch(t->filter, g->hashes, g->count, found);
    } else {
        tamis_contains_batch(t->filter, g->keys, g->lengths, g->count, found);
    }
}

static tamis_status build(const struct target *t, const struct group *g) {
    return g->hashed ? tamis_builder_add_hash_batch(t->builder, g->hashes, g->count)
                     : tamis_builder_add_batch(t->builder, g->keys, g->lengths, g->count);
}

static tamis_status add(const struct target *t, const struct group *g, bool *fresh, size_t *added) {
    if (t->builder != NULL) return build(t, g);
    return g->hashed ? tamis_add_hash_batch(t->changed, g->hashes, g->count, fresh, added)
                     : tamis_add_batch(t->changed, g->keys, g->lengths, g->count, fresh, added);
}

static tamis_status discard(const struct target *t, const struct group *g, bool *removed) {
    const tamis_status status =
        g->hashed ? tamis_remove_hash_batch(t->changed, g->hashes, g->count, removed)
                  : tamis_remove_batch(t->changed, g->keys, g->lengths, g->count, removed);
    return status == TAMIS_E_ABSENT ? TAMIS_OK : status;
}

static void hash(const struct target *t, const struct group *g, uint64_t *hashes) {
    if (g->hashed) {
        memcpy(hashes, g->hashes, g->count * sizeof *hashes);
    } else {
        tamis_hash_batch(t->filter, g->keys, g->lengths, g->count, hashes);
    }
}

static tamis_status act(const struct target *t, const struct group *g, bool *found,
                        uint64_t *hashes, size_t *added) {
    switch (t->action) {
        case BATCH_CONTAINS:
            query(t, g, found);
            return TAMIS_OK;
        case BATCH_ADD:
            return add(t, g, found, added);
        case BATCH_DISCARD:
            return discard(t, g, found);
        case BATCH_HASH:
            hash(t, g, hashes);
            return TAMIS_OK;
    }
    return TAMIS_E_ARGUMENT;
}

/* ---- a group */

/* Moves the results of a sparse group to their rows.  A null gets 0. */
static void scatter(const struct worker *w, size_t from, size_t rows) {
    const struct output *output = w->job->output;
    const struct group *g = w->group;
    if (output->valid != NULL) memset(output->valid + from, 0, rows);
    if (output->found != NULL) memset(output->found + from, 0, rows);
    if (output->hashes != NULL) memset(output->hashes + from, 0, rows * sizeof *output->hashes);
    for (size_t i = 0; i < g->count; i++) {
        const size_t row = from + g->rows[i];
        if (output->valid != NULL) output->valid[row] = 1;
        if (output->found != NULL) output->found[row] = w->found[i];
        if (output->hashes != NULL) output->hashes[row] = w->hashes[i];
    }
}

static tamis_status run_group(struct worker *w, size_t from, size_t rows) {
    const struct output *output = w->job->output;
    const struct group *g = w->group;
    const bool sparse = g->sparse;
    bool *found = output->found == NULL ? NULL : sparse ? w->found : output->found + from;
    uint64_t *hashes = output->hashes == NULL ? NULL : sparse ? w->hashes : output->hashes + from;
    tamis_status status = TAMIS_OK;
    size_t added = 0;
    if (g->count != 0) status = act(w->job->column->target, g, found, hashes, &added);
    if (status == TAMIS_OK && sparse) scatter(w, from, rows);
    w->outcome.added += added;
    return status;
}

static void set_invalid(struct worker *w, size_t from) {
    w->outcome.invalid = true;
    w->outcome.row = from + w->group->error_row;
    memcpy(w->outcome.text, w->group->error, sizeof w->outcome.text);
}

/* Processes the rows from..end.  false: stop. */
static bool run_rows(struct worker *w, size_t from, size_t end) {
    const struct column *column = w->job->column;
    for (size_t rows; from < end; from += rows) {
        rows =
            column->fill(column, from, end - from < GROUP_KEYS ? end - from : GROUP_KEYS, w->group);
        if (rows == 0) {
            set_invalid(w, from);
            return false;
        }
        w->outcome.status = run_group(w, from, rows);
        w->outcome.error = errno;
        if (w->outcome.status != TAMIS_OK) return false;
    }
    return true;
}

/* ---- threads */

static void *work(void *argument) {
    struct worker *w = (struct worker *)argument;
    struct job *job = w->job;
    while (!atomic_load_explicit(&job->stopped, memory_order_relaxed)) {
        const size_t from = atomic_fetch_add(&job->next, UNIT_ROWS);
        if (from >= job->end) break;
        const size_t end = job->end - from < UNIT_ROWS ? job->end : from + UNIT_ROWS;
        if (!run_rows(w, from, end)) atomic_store(&job->stopped, true);
    }
    return NULL;
}

static struct worker *worker_new(struct job *job) {
    struct worker *w = (struct worker *)calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->job = job;
    w->group = group_new();
    if (w->group != NULL) return w;
    free(w);
    return NULL;
}

/* Waits for a worker and adds its outcome to that of all. */
static void worker_end(struct worker *w, struct outcome *outcome) {
    if (w->is_thread) pthread_join(w->thread, NULL);
    const size_t added = outcome->added + w->outcome.added;
    const bool failed = outcome->invalid || outcome->status != TAMIS_OK;
    if (!failed) *outcome = w->outcome;
    outcome->added = added;
    group_free(w->group);
    free(w);
}

/* Without a thread, or memory for one, the other threads do its work. */
static unsigned start_threads(struct job *job, unsigned count, struct worker **workers) {
    unsigned started = 0;
    for (; started < count; started++) {
        struct worker *w = worker_new(job);
        if (w == NULL) break;
        w->is_thread = pthread_create(&w->thread, NULL, work, w) == 0;
        workers[started] = w;
        if (w->is_thread) continue;
        group_free(w->group);
        free(w);
        break;
    }
    return started;
}

/* How many threads, besides that of the caller, are useful. */
static unsigned count_threads(const struct target *t, size_t rows, unsigned threads) {
    const bool alone = (t->action == BATCH_ADD && t->builder == NULL && !t->object->shared) ||
                       t->action == BATCH_DISCARD;
    const size_t useful = rows / THREAD_ROWS;
    if (alone || threads <= 1 || useful <= 1) return 0;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    return (useful < threads ? (unsigned)useful : threads) - 1;
}

void engine_run(const struct column *column, size_t from, size_t end, unsigned threads,
                const struct output *output, struct outcome *outcome) {
    struct job job = {.column = column, .output = output, .end = end, .next = from};
    struct worker *workers[THREADS_MAX];
    struct worker *own = worker_new(&job);
    if (own == NULL) {
        outcome->status = TAMIS_E_NOMEM;
        return;
    }
    const unsigned started =
        start_threads(&job, count_threads(column->target, end - from, threads), workers);
    work(own);
    worker_end(own, outcome);
    for (unsigned i = 0; i < started; i++) worker_end(workers[i], outcome);
}
