/* interrupt.h - SIGINT, SIGTERM and SIGHUP
 *
 * A signal ends the process at once, at any moment: files are replaced by a rename alone, and
 * what is spilled to disk has no name.  While a filter is being saved there is its temporary
 * beside the target; then that is removed first. */
#ifndef TAMIS_CLI_INTERRUPT_H
#define TAMIS_CLI_INTERRUPT_H

void interrupt_start(void);

/* Around tamis_save to `path`. */
void interrupt_saving(const char *path);
void interrupt_saved(void);

#endif
