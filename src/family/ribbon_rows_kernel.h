/* ribbon_rows_kernel.h - inserting rows, many at a time, with any set of vector instructions
 *
 * A row is a lane: its coefficients in one vector, its value in another.  All rows of a batch go
 * through the columns together.  In a column that a row has taken before, this row is added to the
 * lanes that have a coefficient there.  In a free column one of these lanes takes the slot and is
 * added to the others and to itself, so that its lane becomes zero.
 *
 *     column j                    |
 *     lane 0     . . . . . . . . .1 0 1 1 0 . .          had: all zero before column j
 *     lane 1     . . . . . . . . .0 1 1 0 . . .
 *     lane 2     . . . . . . . . . . . 1 1 0 1 .         starts later: left alone until then
 *
 * The coefficient of column j is bit j mod 64, so that no lane is ever shifted: a lane that has
 * come to column j spans at most 64 columns from there on.  The loop has no branch that depends on
 * one row only; row by row, each costs a mispredicted branch.
 *
 * Costs   on Zen 4, per key of a build: 14 ns with AVX-512, 20 with AVX2, 26 row by row.  From one
 *         free column to the next is a chain: rows with a coefficient, one of them, in all lanes,
 *         added.  Fewer instructions elsewhere or longer batches change little
 * (doc/performance.md).
 *
 * The file that includes this one defines vectors of WIDTH words, selections of their lanes, and
 * the functions used below whose names begin with vec; VEC_TEMPLATE begins its functions, and BATCH
 * is the largest number of vectors per batch. */
#ifndef TAMIS_FAMILY_RIBBON_ROWS_KERNEL_H
#define TAMIS_FAMILY_RIBBON_ROWS_KERNEL_H

#include "family/ribbon_rows.h"

struct lanes {
    vec coefficients[BATCH], value[BATCH], start[BATCH];
};

VEC_TEMPLATE void lanes_load(struct lanes *l, const struct tamis__ribbon_row *rows, size_t count,
                             unsigned vectors) {
    TAMIS_UNROLL for (size_t g = 0; g < vectors; g++) {
        const size_t at = g * WIDTH;
        vec second;
        vec_load(rows + at, at < count ? count - at : 0, &l->coefficients[g], &second);
        l->start[g] = vec_shift_right(vec_shift_left(second, 32), 33);
        l->value[g] = vec_shift_left(vec_shift_right(second, 32), 32);
        l->coefficients[g] = vec_rotate(l->coefficients[g], l->start[g]);
    }
}

VEC_TEMPLATE bool lanes_zero(const vec *lanes, unsigned vectors) {
    vec any = lanes[0];
    TAMIS_UNROLL for (size_t g = 1; g < vectors; g++) any = vec_or(any, lanes[g]);
    return vec_is_zero(any);
}

/* A lane with a coefficient in this column: it takes the slot.  False if there is none. */
VEC_TEMPLATE bool lanes_take(const struct lanes *l, const selection *having, unsigned vectors,
                             uint64_t *slot, unsigned column, vec *coefficients, vec *value) {
    selection any = having[vectors - 1];
    vec first = l->coefficients[vectors - 1], second = l->value[vectors - 1];
    TAMIS_UNROLL for (size_t later = 1; later < vectors; later++) {
        const size_t g = vectors - 1 - later;
        any = vec_either(any, having[g]);
        first = vec_choose(first, having[g], l->coefficients[g]);
        second = vec_choose(second, having[g], l->value[g]);
    }
    if (vec_none(any)) return false;
    vec_pick(any, &first, &second);
    *coefficients = first;
    *value = second;
    slot[0] = tamis__ribbon_turn_back(vec_word(first), column);
    slot[1] = vec_word(second);
    return true;
}

/* Takes the lanes through the columns from..to-1, or fewer if all rows have a slot.  `left` rows
 * have none; returns their new number.  `starting`: some rows start after `from`. */
VEC_TEMPLATE size_t lanes_advance(struct lanes *in, unsigned vectors, uint64_t *table, size_t from,
                                  size_t to, bool starting, size_t left, uint32_t **placed) {
    struct lanes l = *in; /* a copy, for the compiler to keep in registers */
    uint32_t *log = *placed;
    vec bit = vec_all((uint64_t)1 << (from % 64)), column = vec_all(from);
    for (size_t j = from; j < to && left > 0; j++) {
        uint64_t *slot = table + 2 * j;
        selection having[BATCH];
        vec coefficients = vec_all(0), value = coefficients;
        TAMIS_UNROLL for (size_t g = 0; g < vectors; g++) {
            having[g] = starting ? vec_having_from(l.coefficients[g], bit, l.start[g], column)
                                 : vec_having(l.coefficients[g], bit);
        }
        if (TAMIS_LIKELY(slot[0] != 0)) {
            coefficients = vec_turned(slot[0], column, (unsigned)j);
            value = vec_all(slot[1]);
        } else if (lanes_take(&l, having, vectors, slot, (unsigned)j, &coefficients, &value)) {
            *log++ = (uint32_t)(2 * j);
            left--;
        }
        TAMIS_UNROLL for (size_t g = 0; g < vectors; g++) {
            l.coefficients[g] = vec_xor_if(l.coefficients[g], having[g], coefficients);
            l.value[g] = vec_xor_if(l.value[g], having[g], value);
        }
        bit = vec_rotate_one(bit);
        column = vec_add(column, vec_all(1));
    }
    *in = l;
    *placed = log;
    return left;
}

/* Inserts up to vectors * WIDTH rows. */
VEC_TEMPLATE bool batch_insert(uint64_t *table, const struct tamis__ribbon_row *rows, size_t count,
                               unsigned vectors, uint32_t **placed) {
    const size_t first = (uint32_t)rows[0].value_and_place / 2;
    const size_t last = (uint32_t)rows[count - 1].value_and_place / 2;
    struct lanes l;
    lanes_load(&l, rows, count, vectors);
    size_t left = lanes_advance(&l, vectors, table, first, last, true, count, placed);
    for (size_t j = last; left > 0 && !lanes_zero(l.coefficients, vectors);
         j += TAMIS__RIBBON_STRIDE) {
        left = lanes_advance(&l, vectors, table, j, j + TAMIS__RIBBON_STRIDE, false, left, placed);
    }
    return left == 0 || lanes_zero(l.value, vectors);
}

#endif
