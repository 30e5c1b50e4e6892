/* parallel.h - run the same job for i = 0..count-1 on a few threads */
#ifndef TAMIS_CORE_PARALLEL_H
#define TAMIS_CORE_PARALLEL_H

#include <stdint.h>

#include "tamis.h"

/* Calls job(context, i) once for each i, on at most `threads` threads, this one included;
 * the order of starting is 0, 1, 2, ...  Returns when all are done.  After the first job that
 * fails no new ones are started, and its status is returned.  If a thread cannot be created,
 * the others do its work. */
tamis_status tamis__parallel(unsigned threads, uint64_t count,
                             tamis_status (*job)(void *context, uint64_t i), void *context);

#endif
