/* descriptor.h - descriptors of the system: standard ones, pipes */
#ifndef TAMIS_CLI_DESCRIPTOR_H
#define TAMIS_CLI_DESCRIPTOR_H

/* Moves a descriptor above the standard ones: if those are closed, a file that is opened would take
 * their place.  -1 on failure, with errno. */
int descriptor_apart(int descriptor);

/* Opens a file, again if a signal interrupts that, on such a descriptor. */
int descriptor_open(const char *path, int flags);

/* Enlarges a pipe beyond the usual 64 KiB, where the system allows it: otherwise reader and writer
 * wait for each other at every block. */
void descriptor_widen(int descriptor);

#endif
