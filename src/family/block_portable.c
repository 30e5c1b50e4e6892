/* block_portable.c - block filters in plain C, for every machine */
#define BLOCK_TARGET
#include "family/block_kernel.h"

BLOCK_TEMPLATE uint64_t block_word(const uint8_t *line, unsigned lane) {
    return tamis__load64(line + 8 * lane);
}

/* All lanes are looked at, whatever the first ones say: leaving early is a branch that cannot be
 * predicted.  In the cache a batch takes 6.7 ns a key so and 9.9 with the branch; at 125 MB they
 * are level (11.7 and 10.6), and only single look-ups would gain there (52 and 35). */
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
    uint64_t missing = 0;
    BLOCK_UNROLL
    for (unsigned i = 0; i < BLOCK_LANES; i++) {
        const uint64_t bits = block_lane(t, at.seed, i, rounds, rest);
        const uint64_t lane = block_word(at.line, i);
        if (tell) missing |= bits & ~lane;
        tamis__store64(at.line + 8 * i, lane | bits);
    }
    return missing != 0;
}

BLOCK_INSTANCES(tamis__block_portable, "portable")
