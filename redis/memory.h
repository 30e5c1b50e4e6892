/* memory.h - memory from the server
 *
 * The server's own allocator ends the server when there is no memory left; what is used is the kind
 * that gives NULL instead.  Sizes that a client chose are checked before in any case (see
 * memory_admits).
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

/* NULL if there is no memory.  Large blocks of zeros cost nothing
 * before they are used: the system gives them page by page. */
void *memory_alloc(size_t size);
void *memory_zeroed(size_t size);
void memory_free(void *block);

/* What is written to be kept (RDB, AOF, DUMP) is written whole: without memory for so many bytes of
 * it the process ends, as the server ends itself.  If it is a child that saves, then the last file
 * stays; one that lacks something would take its place. */
_Noreturn void memory_end(size_t size);

/* The same, for the library. */
tamis_allocator memory_allocator(void);

/* Would the server, at its limit of memory (maxmemory), take so many more bytes?  One that follows
 * another takes what that has taken. */
bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes);

/* Is the server at that limit now?  For the thread that serves commands. */
bool memory_is_short(void);

/* The work of freeing a value, as the server is told it.  Much of it the server leaves to another
 * thread; but at its limit it would go on evicting until that thread is through. */
size_t memory_effort(size_t effort);

/* The most bytes of a filter of RedisBloom that comes in chunks: from a client, or from an AOF. */
uint64_t memory_legacy_most(RedisModuleCtx *ctx);

#endif
