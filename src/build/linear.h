/* linear.h - the small dense layout that the static families share
 *
 * A few thousand keys or fewer in as many slots as there are keys: no peeling, no segments,
 * no rounding except to whole words.  See linear.c. */
#ifndef TAMIS_BUILD_LINEAR_H
#define TAMIS_BUILD_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/bits.h"
#include "filter/family.h"

#define TAMIS__LINEAR_WIDTH_MAX 32

/* All that is needed to use a table again. */
struct tamis__linear {
    uint64_t slots;
    uint64_t seed; /* any value */
    unsigned width;
};

/* Builds from `count` distinct hashes, at least one, that may be anything else: sequential,
 * equal but for a few bits.  The table is from tamis__table_alloc.  Fails only if memory
 * runs out.  The result does not depend on the order of the hashes.  Meant for up to about 5000
 * hashes; more work, but take more slots per key. */
tamis_status tamis__linear_build(const uint64_t *hashes, size_t count, unsigned width,
                                 const tamis_allocator *a, struct tamis__linear *shape,
                                 uint8_t **table, uint64_t *bytes);

/* Could this shape, of unknown origin, be that of a table of `bytes` bytes?  Then every
 * query stays within them. */
bool tamis__linear_check(const struct tamis__linear *shape, uint64_t bytes);

bool tamis__linear_contains(const struct tamis__linear *shape, const uint8_t *table, uint64_t hash);

/* The cells that decide that, one for each column; the table begins at bit `first`. */
void tamis__linear_cells(const struct tamis__linear *shape, uint64_t first, uint64_t hash,
                         tamis__cell_taker *take, void *context);

/* ---- packed: the same table to the byte, if the caller chooses slots and seed (small_filter.c) */

#define TAMIS__LINEAR_SLOTS_MAX ((uint64_t)1 << 40)

/* The seed of the n-th attempt. */
uint64_t tamis__linear_seed(uint64_t attempt);

/* Scratch of a build, kept from one attempt to the next.  Starts as {.count = distinct hashes},
 * of which there is at least one. */
struct tamis__linear_work {
    size_t count;
    uint64_t capacity;      /* slots that there is room for */
    uint64_t *mixed;        /* count: hashes mixed with the seed */
    uint64_t *sorted;       /* count: the same by start */
    uint64_t *coefficients; /* capacity: the row that took a slot, from that slot on; 0: free */
    uint32_t *values;       /* capacity */
    uint32_t *starts;       /* capacity + 1: how many rows start there, then where they end */
    uint8_t *block;
    size_t block_bytes;
};

/* Can the equations be solved with this shape?  E_NOMEM. */
tamis_status tamis__linear_attempt(const uint64_t *hashes, const struct tamis__linear *shape,
                                   const tamis_allocator *a, struct tamis__linear_work *w,
                                   bool *solvable);

/* The solution, into ceil(slots * width / 8) bytes that are 0. */
void tamis__linear_solve(const struct tamis__linear_work *w, const struct tamis__linear *shape,
                         uint8_t *table);
void tamis__linear_release(const tamis_allocator *a, struct tamis__linear_work *w);

/* As tamis__linear_contains, of a table that has `bytes` bytes anywhere in memory:
 * 1 <= slots <= TAMIS__LINEAR_SLOTS_MAX, slots * width <= 8 * bytes. */
bool tamis__linear_packed_contains(const struct tamis__linear *shape, const uint8_t *table,
                                   uint64_t bytes, uint64_t hash);

/* For sizing: the slots that `count` hashes usually need, and the bytes of a table. */
uint64_t tamis__linear_slots(uint64_t count);
uint64_t tamis__linear_bytes(uint64_t slots, unsigned width);

#endif
