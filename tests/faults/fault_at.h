/* fault_at.h - control of the faults in the process itself: see fault_at.c */
#ifndef TESTS_FAULTS_FAULT_AT_H
#define TESTS_FAULTS_FAULT_AT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on counts the calls of these classes ("write,sync", "all") and lets the `at`-th fail
 * with this error ("EIO", "short", ...); if `later`, all that follow it as well.  0: none. */
void fault_set(const char *classes, const char *error, uint64_t at, bool later);

/* Ends that; the number of calls since. */
uint64_t fault_end(void);

/* The calls that could fail; NULL past the end. */
const char *fault_class(unsigned index);

#endif
