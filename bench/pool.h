/* pool.h - reuses memory for our filters
 *
 * The peers allocate with malloc, which keeps freed memory (main.c).  The library maps large
 * tables and unmaps them, so each of its filters would pay for fresh pages: 0.1 to 4 ms per MiB,
 * up to 3 ns per key.  In the benchmark they come from this pool: in huge pages, as in the
 * library, mapped once. */
#ifndef TAMIS_BENCH_POOL_H
#define TAMIS_BENCH_POOL_H

#include "tamis.h"

/* For options.allocator; from any thread. */
tamis_allocator bench_pool(void);

/* From now on bench_pool() is the library's own allocator: for a child process whose memory is
 * measured. */
void bench_pool_leave(void);

/* Returns unused memory to the system. */
void bench_pool_trim(void);

#endif
