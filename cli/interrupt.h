/* interrupt.h - SIGINT, SIGTERM and SIGHUP
 *
 * A signal ends the process at once, at any moment: files are replaced by a rename alone, and
 * what is spilled to disk has no name.  While a filter is being saved there is its temporary
 * beside the target; then that is removed first.  A change in place that has begun takes a moment
 * and is better finished than left to the next one who opens the file: the signal waits for it.
 * An upload asks whether there is one, cleans up, and then dies of it. */
#ifndef TAMIS_CLI_INTERRUPT_H
#define TAMIS_CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_start(void);

/* Before tamis_save to `path`, and before tamis_commit to it; after either. */
void interrupt_saving(const char *path);
void interrupt_committing(const char *path);
void interrupt_saved(void);

/* Makes signals wait until interrupt_saved; does one? */
void interrupt_hold(void);
bool interrupt_waits(void);

#endif
