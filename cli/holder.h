/* holder.h - which process holds a lock on a file */
#ifndef TAMIS_CLI_HOLDER_H
#define TAMIS_CLI_HOLDER_H

/* "process 1234 (tamis)", or "a process of another user" if it cannot be found. */
#define HOLDER_MAX 80
void lock_holder(const char *path, char holder[HOLDER_MAX]);

#endif
