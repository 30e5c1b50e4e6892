/* ribbon_foreign_build.c - solving RocksDB's Standard128Ribbon, to the same bytes
 *
 * Banding: each equation goes to the slot of its first coefficient; if that is taken, the two
 * are added, which moves the sum to a later slot, until one is free or nothing is left of it
 * (then it must be consistent).  If it is not, all is begun again with the next seed.
 * Back substitution runs from the last slot to the first and keeps, for each column, the 128
 * solution bits from the current slot on; at the end of a block they are its segments. */
#include <string.h>

#include "family/ribbon_foreign.h"
#include "family/ribbon_solve.h"

#define SEEDS 256

struct band {
    struct wide *row;
    uint32_t *result;
};

static unsigned trailing_zeros(struct wide a) {
    return a.lo != 0 ? tamis__ctz(a.lo) : 64 + tamis__ctz(a.hi);
}

static bool band_add(const struct band *band, struct equation e) {
    for (uint64_t at = e.start;;) {
        if (wide_is_zero(band->row[at])) {
            band->row[at] = e.row;
            band->result[at] = e.result;
            return true;
        }
        e.row = wide_xor(e.row, band->row[at]);
        e.result ^= band->result[at];
        if (wide_is_zero(e.row)) return e.result == 0;
        const unsigned zeros = trailing_zeros(e.row);
        e.row = wide_right(e.row, zeros);
        at += zeros;
    }
}

static bool band_all(const struct band *band, uint64_t slots, const uint64_t *hashes,
                     uint64_t count, uint64_t seed) {
    memset(band->row, 0, (size_t)slots * sizeof *band->row);
    memset(band->result, 0, (size_t)slots * sizeof *band->result);
    for (uint64_t i = 0; i < count; i++) {
        if (!band_add(band, equation_of(hashes[i], seed, slots / SLOTS_PER_BLOCK))) return false;
    }
    return true;
}

static void solve_slot(const struct band *band, uint64_t slot, uint64_t columns,
                       struct wide state[COLUMNS_MOST]) {
    for (uint64_t j = 0; j < columns; j++) {
        struct wide next = wide_left(state[j], 1);
        next.lo |= wide_parity(wide_and(next, band->row[slot])) ^ (band->result[slot] >> j & 1);
        state[j] = next;
    }
}

static void substitute(const struct band *band, const struct tamis__shape *shape, uint8_t *table) {
    const uint64_t blocks = shape->word[BLOCKS];
    const struct columns c = columns_of(blocks, shape->word[SEGMENTS]);
    struct wide state[COLUMNS_MOST] = {{0, 0}};
    for (uint64_t block = blocks; block-- > 0;) {
        const uint64_t columns = c.columns - (block < c.short_blocks);
        const uint64_t shorter = block < c.short_blocks ? block : c.short_blocks;
        uint8_t *at = table + (block * c.columns - shorter) * SEGMENT;
        for (uint64_t slot = (block + 1) * SLOTS_PER_BLOCK; slot-- > block * SLOTS_PER_BLOCK;) {
            solve_slot(band, slot, columns, state);
        }
        for (uint64_t j = 0; j < columns; j++) {
            tamis__store64(at + j * SEGMENT, state[j].lo);
            tamis__store64(at + j * SEGMENT + 8, state[j].hi);
        }
    }
}

tamis_status tamis__ribbon128_solve(const tamis_allocator *a, const uint64_t *hashes,
                                    uint64_t count, struct tamis__shape *shape, uint8_t *table) {
    const uint64_t slots = shape->word[BLOCKS] * SLOTS_PER_BLOCK;
    size_t row_bytes, result_bytes;
    if (!tamis__array_size(slots, sizeof(struct wide), &row_bytes)) return TAMIS_E_NOMEM;
    result_bytes = (size_t)slots * sizeof(uint32_t);
    const struct band band = {tamis__alloc(a, row_bytes), tamis__alloc(a, result_bytes)};
    tamis_status status = TAMIS_E_FULL;
    if (band.row == NULL || band.result == NULL) status = TAMIS_E_NOMEM;
    for (unsigned i = 0; i < SEEDS && status == TAMIS_E_FULL; i++) {
        if (band_all(&band, slots, hashes, count, shape->word[SEED])) {
            status = TAMIS_OK;
        } else {
            shape->word[SEED] = (shape->word[SEED] + 1) % SEEDS;
        }
    }
    if (status == TAMIS_OK) substitute(&band, shape, table);
    tamis__release(a, band.row, row_bytes);
    tamis__release(a, band.result, result_bytes);
    return status;
}
