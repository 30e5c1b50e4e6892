/* block_shared.c - block filters that many threads add to at once, without a lock
 *
 * A lane is an atomic word, and bits are only ever set.  Relaxed order is enough: a thread that
 * synchronises with an add by other means (a join, a release, ...) sees its bits through them.
 *
 * An add reads the line first.  If all bits are set it ends, so that threads that add the same
 * keys share the cache line instead of invalidating it.  Otherwise it ORs each of its lanes,
 * including those already set: a branch per lane costs more than a redundant OR (40 ns per key
 * against 23 in cache).  The read decides `fresh`, because an OR that returns the old value is a
 * compare-and-swap loop on x86; so if two threads add one key at the same moment, both may report
 * it as fresh. */
#define BLOCK_TARGET
#define BLOCK_ATOMIC
#include "family/block_kernel.h"

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report) {
    (void)report;
    if (block_covers(t, at, rounds, rest)) return false;
    uint64_t *lanes = (uint64_t *)(void *)at.line;
    const unsigned count = rounds > 0 ? BLOCK_LANES : t->rest;
    for (unsigned i = 0; i < count; i++) {
        const unsigned lane = (i - at.seed) % BLOCK_LANES; /* the first is 0 after the turn */
        const uint64_t bits = TAMIS_LE64(block_lane(t, at.seed, lane, rounds, rest));
        __atomic_fetch_or(&lanes[lane], bits, __ATOMIC_RELAXED);
    }
    return true;
}

BLOCK_INSTANCES(tamis__block_shared, "portable")
