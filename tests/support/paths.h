/* paths.h - the instruction sets that this machine has, one after the other
 *
 * A program that is linked with paths.c and --wrap=tamis__cpu can select one. */
#ifndef TAMIS_TESTS_SUPPORT_PATHS_H
#define TAMIS_TESTS_SUPPORT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the i-th path of this machine, "portable" first; NULL after the last. */
const char *path_at(size_t i);

/* Filters that are made from now on use the i-th, where their kind has it.  Not while other threads
 * make filters. */
void path_use(size_t i);

/* From now on they use the best. */
void path_use_all(void);

#endif
