/* interrupt.h - SIGINT, SIGTERM and SIGHUP
 *
 * A signal ends the process at once: files are replaced only by a rename, and files that keys are
 * spilled to have no name.  While a file is being saved, the handler removes its temporary first if
 * it has a name.
 * A change in place that has begun is finished before the process dies.  An upload polls for a
 * signal, cleans up, and then dies of it. */
#ifndef TAMIS_CLI_INTERRUPT_H
#define TAMIS_CLI_INTERRUPT_H

#include <stdbool.h>

/* How the name of a temporary begins. */
#define TEMPORARY_PREFIX ".tamis-"

void interrupt_start(void);

/* Before tamis_save to `path`, and before tamis_commit to it; after either. */
void interrupt_saving(const char *path);
void interrupt_committing(const char *path);
void interrupt_saved(void);

/* A line for stderr if a signal ends the process while nothing is saved yet; NULL: none.  It must
 * stay valid. */
void interrupt_note(const char *line);

/* Defers signals until interrupt_saved; is one pending? */
void interrupt_hold(void);
bool interrupt_waits(void);

#endif
