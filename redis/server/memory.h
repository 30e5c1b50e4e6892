/* memory.h - memory from the server
 *
 * The server's default allocator ends the server when memory runs out; this module uses the one
 * that returns NULL.  Sizes chosen by a client are checked first (memory_admits).
 *
 * Built with TAMIS_REDIS_MALLOC the module uses malloc, so that AddressSanitizer sees its memory.
 */
#ifndef TAMIS_REDIS_SERVER_MEMORY_H
#define TAMIS_REDIS_SERVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_module.h"
#include "tamis.h"

/* NULL if memory runs out.  Large zeroed blocks cost nothing until they are used: the system
 * provides their pages on first touch. */
void *memory_alloc(size_t size);
void *memory_zeroed(size_t size);
void memory_free(void *block);

/* Ends the process because `size` bytes could not be allocated while saving a filter (RDB, AOF,
 * DUMP). A filter is saved whole or not at all: if a child that saves ends, the last file stays in
 * place, and an incomplete file never replaces it. */
_Noreturn void memory_exhausted(size_t size);

/* The same functions, for the library. */
tamis_allocator memory_allocator(void);

/* Returns whether `bytes` more fit below maxmemory.  Always true for commands from a primary, which
 * has accepted them. */
bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes);

/* Returns whether the server is at maxmemory.  For the main thread. */
bool memory_is_short(void);

/* The effort of freeing a value, as reported to the server.  The server leaves large efforts to
 * another thread; at maxmemory it would go on evicting until that thread is done, so the effort is
 * 1 then. */
size_t memory_effort(size_t effort);

#endif
