/* memory.h - memory from the server, and how much of it a filter has
 *
 * The library takes its memory through a meter, which counts what it hands out: so MEMORY USAGE
 * and the limits of filters are exact sums, whatever the library keeps besides its tables.
 *
 * The server's own allocator ends the server when there is no memory left.  Where it offers a
 * kind that gives NULL instead (from 7.0 on), that is used; sizes that a client chose are
 * checked before in any case (see memory_admits).
 *
 * Built with TAMIS_REDIS_MALLOC the module uses malloc: for AddressSanitizer, which sees
 * nothing of the server's allocator. */
#ifndef TAMIS_REDIS_MEMORY_H
#define TAMIS_REDIS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis_module.h"
#include "tamis.h"

/* NULL if there is no memory, where the server can say so. */
void *memory_alloc(size_t size);
void *memory_zeroed(size_t size);
void memory_free(void *block);

/* An allocator for the library that counts into `*bytes`, which must outlive its filters. */
tamis_allocator memory_meter(size_t *bytes);

/* Would the server, at its limit of memory (maxmemory), take so many more bytes? */
bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes);

#endif
