/* descriptor.h - descriptors of the system: standard ones, pipes */
#ifndef TAMIS_CLI_DESCRIPTOR_H
#define TAMIS_CLI_DESCRIPTOR_H

/* A descriptor that is none of the standard ones, in place of one that may be: if those are closed,
 * the next file that is opened is taken for one of them.  -1 if there is none; errno says why. */
int descriptor_apart(int descriptor);

/* If it is a pipe, gives it more room than the usual 64 KiB, where the system lets us: with that
 * little, reader and writer wait for each other at every block. */
void descriptor_widen(int descriptor);

#endif
