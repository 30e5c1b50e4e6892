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

/* Two rounds may give the same bit of a lane: then it is one cell. */
void tamis__block_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                        void *context) {
    const struct block_table t = block_table_of(f);
    const struct block_place at = block_find(&t, hash);
    const unsigned rounds = (unsigned)(f->shape.word[BLOCK_HASHES] / BLOCK_LANES);
    tamis_cell cell = {.bits = 1, .rule = TAMIS_CELL_SET};
    for (unsigned lane = 0; lane < BLOCK_LANES; lane++) {
        const uint64_t first = (uint64_t)(at.line - t.lines) * 8 + lane * BLOCK_LANE_BITS;
        uint64_t bits = block_lane(&t, at.seed, lane, rounds, t.rest != 0);
        for (; bits != 0; bits &= bits - 1, cell.equation++) {
            cell.bit = first + tamis__ctz(bits);
            take(context, &cell);
        }
    }
}
