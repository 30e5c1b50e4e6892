/* worker.h - a thread for what takes long and nobody has to wait for
 *
 * To copy or to free a table of some megabytes takes milliseconds, in which the server's one
 * thread serves nobody.  Such jobs are given to one thread of the module's, which does them in
 * the order in which they came. */
#ifndef TAMIS_REDIS_WORKER_H
#define TAMIS_REDIS_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "redis_module.h"

typedef void worker_job(void *argument);

/* To be called once, by the thread that serves commands; the worker itself is started when there
 * is something to do.  False if the system refuses. */
bool worker_open(void);

/* Does the job later, after all that were given before; at once where there is no worker. */
void worker_give(worker_job *job, void *argument);
/* Frees something large: later, if it is a command that would wait for it and the server does
 * not need the memory now. */
void worker_free(worker_job *free, void *block);

/* How many jobs are not done yet. */
size_t worker_jobs(void);
/* Is this the thread that serves commands? */
bool worker_serves(void);

/* Should a command that needs so many tables which are not ready make them itself, rather than wait
 * for the worker?  One takes it two milliseconds, which is not worth to wait for; but only if
 * no other has just done so, lest a pipeline of commands for one item each makes all of them. */
bool worker_leaves(size_t tables);

/* Can the client of a command wait?  Not if that is part of a transaction or of a script, follows a
 * primary or an AOF, or has waited already. */
bool worker_can_wait(RedisModuleCtx *ctx);
/* Has the client wait until all jobs that there are have been done; then the command is run
 * `again`, from its beginning.  One that may `change` something is not run while clients are
 * paused.  False if it cannot wait. */
enum worker_intent { WORKER_ASKS, WORKER_CHANGES, WORKER_MAKES }; /* makes: the key was not there */
bool worker_wait(RedisModuleCtx *ctx, RedisModuleCmdFunc again, enum worker_intent intent);
/* Is the command run again, after a wait? */
bool worker_has_waited(RedisModuleCtx *ctx);
/* And was it to make its first key, which was not there then? */
bool worker_makes(RedisModuleCtx *ctx);
/* How many commands have waited so far. */
size_t worker_waits(void);

#endif
