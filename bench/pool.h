/* pool.h - the memory of all contenders: large blocks are kept and used again, in pages of a size
 * that is chosen
 *
 * This program defines malloc and its relatives, so peers in shared libraries use them, too.
 * Blocks of 1 MiB and more, ours and the peers', come from one pool: mapped and touched once, so
 * that no filter pays for fresh pages (0.1 to 4 ms per MiB, up to 3 ns per key), and all in pages
 * of 4 KiB or all in huge pages.  The library by itself uses huge pages for tables from 4 MiB on.
 */
#ifndef TAMIS_BENCH_POOL_H
#define TAMIS_BENCH_POOL_H

#include "measure.h"
#include "tamis.h"

/* Returns unused memory to the system; blocks from now on have these pages. */
void bench_use_pages(enum bench_pages pages);

/* For options.allocator; from any thread. */
tamis_allocator bench_pool(void);

/* From now on malloc is the C library's and bench_pool() the library's own allocator: for a child
 * process whose memory is measured. */
void bench_pool_leave(void);

#endif
