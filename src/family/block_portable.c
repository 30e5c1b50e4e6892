/* block_portable.c - block filters in plain C, for every machine */
#define BLOCK_TARGET
#include "family/block_kernel.h"

BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report) {
    uint64_t missing = 0;
    TAMIS_UNROLL
    for (unsigned i = 0; i < BLOCK_LANES; i++) {
        const uint64_t bits = block_lane(t, at.seed, i, rounds, rest);
        const uint64_t lane = block_word(at.line, i);
        if (report) missing |= bits & ~lane;
        tamis__store64(at.line + 8 * i, lane | bits);
    }
    return missing != 0;
}

BLOCK_INSTANCES(tamis__block_portable, "portable")
