/* pool.h - memory for our filters that is used again
 *
 * The peers take their memory from malloc, which keeps what was freed (main.c).  The library maps
 * large tables itself and gives them back, so that each of its filters would pay for fresh pages:
 * 0.1 to 4 ms a MiB, and 3 ns a key of what is measured in bad minutes.  In the benchmark they come
 * from here: in huge pages, as the library's own, mapped once. */
#ifndef TAMIS_BENCH_POOL_H
#define TAMIS_BENCH_POOL_H

#include "tamis.h"

/* For options.allocator; from any thread. */
tamis_allocator bench_pool(void);

/* From now on bench_pool() is the library's own allocator: for a child process whose memory is
 * measured. */
void bench_pool_leave(void);

/* Gives back what is not in use. */
void bench_pool_trim(void);

#endif
