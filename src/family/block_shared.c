/* block_shared.c - block filters that many threads add to at once, without a lock
 *
 * A lane is an atomic word, and bits are only ever set.  Relaxed order is enough: a thread that
 * learns of an add by other means (a join, a release, ...) sees its bits through them.
 *
 * An add reads the line first.  If all bits are there it ends, so that threads that add the
 * same keys share the line instead of taking it from each other.  Otherwise it ORs each of its
 * lanes, those already set too: a branch per lane costs more than an OR for nothing (40 ns a key
 * against 23 in the cache).  The reading decides `fresh`, because an OR that returns the old value
 * is a loop of compare-and-swap on x86; so of two threads that add one key at the same moment, both
 * may be told that it is fresh. */
#define BLOCK_TARGET
#include "family/block_kernel.h"

BLOCK_TEMPLATE uint64_t block_word(const uint8_t *line, unsigned lane) {
    const uint64_t *lanes = (const uint64_t *)(const void *)line;
    return TAMIS_LE64(__atomic_load_n(&lanes[lane], __ATOMIC_RELAXED));
}

BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest) {
    uint64_t covers = 1;
    BLOCK_UNROLL
    for (unsigned i = 0; i < BLOCK_LANES; i++) {
        covers &= block_lane_covers(t, at.seed, i, block_word(at.line, i), rounds, rest);
    }
    return covers;
}

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool tell) {
    (void)tell;
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
