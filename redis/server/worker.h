/* worker.h - a background thread for long work
 *
 * Copying or freeing a table of several megabytes takes milliseconds, during which the server's
 * only thread would serve no client.  Such jobs go to one thread of the module, which runs them in
 * order. */
#ifndef TAMIS_REDIS_SERVER_WORKER_H
#define TAMIS_REDIS_SERVER_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/redis_module.h"

typedef void worker_job(void *argument);

/* Call once, from the main thread.  The worker thread starts with the first job.
 * False if the system refuses. */
bool worker_open(void);

/* Queues the job; runs it at once if there is no worker. */
void worker_give(worker_job *job, void *argument);
/* Frees a large block: in the worker if a command would wait for it and the server is below
 * maxmemory, else at once. */
void worker_free(worker_job *free, void *block);

/* The number of jobs that are not done. */
size_t worker_jobs(void);
/* Returns whether the caller is the main thread. */
bool worker_is_main_thread(void);

/* Returns whether a command that needs `tables` missing tables builds them inline instead of
 * waiting. Builds one missing table inline (2 ms), rate-limited: a pipeline of commands for one
 * item each must not build all of them. */
bool worker_builds_inline(size_t tables);

/* Returns whether the client of a command can wait.  False in a transaction or a script, for
 * commands from a primary or an AOF file, and for commands that have waited already. */
bool worker_can_wait(RedisModuleCtx *ctx);
/* Blocks the client until all queued jobs are done; then the server runs the command `again` from
 * the start.  A command that writes does not run while clients are paused.  False if it cannot
 * wait. */
enum worker_intent {
    WORKER_READS,
    WORKER_WRITES,
    WORKER_CREATES
}; /* WORKER_CREATES: the key did not exist */
bool worker_wait(RedisModuleCtx *ctx, RedisModuleCmdFunc again, enum worker_intent intent);
/* Returns whether this is the second run of a command, after a wait. */
bool worker_has_waited(RedisModuleCtx *ctx);
/* Returns whether the first run found no key and was to create it. */
bool worker_creates(RedisModuleCtx *ctx);
/* The number of commands that have waited so far. */
size_t worker_waits(void);

#endif
