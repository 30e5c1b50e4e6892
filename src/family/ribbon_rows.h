/* ribbon_rows.h - rows of a segment's system, and what solves them with each instruction set */
#ifndef TAMIS_FAMILY_RIBBON_ROWS_H
#define TAMIS_FAMILY_RIBBON_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bits.h"
#include "core/compiler.h"

#define TAMIS__RIBBON_COLUMNS_MAX 32
#define TAMIS__RIBBON_BLOCK 64

/* A row during elimination.  Its first coefficient, always 1, is that of its slot.  The value
 * (upper half) and twice the slot (lower half) share a word. */
struct tamis__ribbon_row {
    uint64_t coefficients;
    uint64_t value_and_place;
};

/* Vectors test for the end every 16 columns: the table has as many slots more, which stay free. */
#define TAMIS__RIBBON_STRIDE 16

/* The table of rows that have a slot: two words for each slot, the coefficients from the slot on,
 * and the value (upper half).  A free slot's first word is 0. */
struct tamis__ribbon_solver {
    /* Finds slots for rows, which are in order of their starts; false if one contradicts those
     * before or another of these.  Appends the slots taken (times two) to `*placed`. */
    bool (*insert)(uint64_t *table, const struct tamis__ribbon_row *rows, size_t count,
                   uint32_t **placed);
    /* Solves a block, of which `rows` is the first slot.  words[c] is column c of the block after
     * and becomes that of this block.  Columns are solved in groups: up to eight words after the
     * columns may change. */
    void (*solve_block)(const uint64_t *rows, unsigned columns,
                        uint64_t words[TAMIS__RIBBON_COLUMNS_MAX]);
};

extern const struct tamis__ribbon_solver tamis__ribbon_solver_portable;
#if defined(TAMIS_HAVE_AVX2)
extern const struct tamis__ribbon_solver tamis__ribbon_solver_avx2;
#endif
#if defined(TAMIS_HAVE_AVX512)
extern const struct tamis__ribbon_solver tamis__ribbon_solver_avx512;
#endif

/* Coefficients from column j on to coefficients by column, modulo 64, and back. */
TAMIS_TEMPLATE uint64_t tamis__ribbon_turn(uint64_t x, unsigned column) {
    return x << (column % 64) | x >> (-column % 64);
}
TAMIS_TEMPLATE uint64_t tamis__ribbon_turn_back(uint64_t x, unsigned column) {
    return x >> (column % 64) | x << (-column % 64);
}

/* Columns that are solved at a time: their last 64 bits stay in registers. */
#define TAMIS__RIBBON_ABREAST 4

/* Solves the slots of a block from the last to the first, without vectors. */
TAMIS_TEMPLATE void tamis__ribbon_solve_four(const uint64_t *rows, unsigned column,
                                             uint64_t words[TAMIS__RIBBON_ABREAST]) {
    uint64_t z0 = words[0], z1 = words[1], z2 = words[2], z3 = words[3];
    for (unsigned i = TAMIS__RIBBON_BLOCK; i-- > 0;) {
        const uint64_t taken = rows[2 * i] & 1; /* free slots are 0 */
        const uint64_t others = rows[2 * i] >> 1;
        const uint64_t value = rows[2 * i + 1] >> (32 + column);
        z0 = z0 << 1 | (taken & (tamis__parity(z0 & others) ^ value));
        z1 = z1 << 1 | (taken & (tamis__parity(z1 & others) ^ value >> 1));
        z2 = z2 << 1 | (taken & (tamis__parity(z2 & others) ^ value >> 2));
        z3 = z3 << 1 | (taken & (tamis__parity(z3 & others) ^ value >> 3));
    }
    words[0] = z0;
    words[1] = z1;
    words[2] = z2;
    words[3] = z3;
}

TAMIS_TEMPLATE void tamis__ribbon_solve_scalar(const uint64_t *rows, unsigned columns,
                                               uint64_t words[TAMIS__RIBBON_COLUMNS_MAX]) {
    for (unsigned c = 0; c < columns; c += TAMIS__RIBBON_ABREAST) {
        tamis__ribbon_solve_four(rows, c, words + c);
    }
}

#endif
