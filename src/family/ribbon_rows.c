/* ribbon_rows.c - solving a ribbon segment without vectors
 *
 * Each step of a row depends on the one before, so four rows are processed at a time: 35 ns per key
 * instead of 71 with one.  A row that meets a slot just taken by another continues from there: the
 * steps of the rows may interleave in any way.  Place and value of a row share a word, so that four
 * rows fit into the registers: with three fields per row, four rows took 55 ns per key. */
#include "family/ribbon_rows.h"

enum outcome { GOES_ON, ALL_DONE, CONTRADICTION };

/* Rows still to be inserted, and the log of the slots they take. */
struct queue {
    const struct tamis__ribbon_row *next, *end;
    uint32_t *placed;
};

/* One step of a row.  When it has found a slot, or is zero, the next row takes its place. */
TAMIS_TEMPLATE enum outcome row_step(struct tamis__ribbon_row *row, uint64_t *rows,
                                     struct queue *queue) {
    const uint32_t place = (uint32_t)row->value_and_place;
    uint64_t *taker = rows + place;
    row->coefficients ^= taker[0];
    if (TAMIS_UNLIKELY(row->coefficients & 1)) { /* the slot was free: nothing was xored */
        taker[0] = row->coefficients;
        taker[1] = row->value_and_place >> 32 << 32;
        *queue->placed++ = place;
    } else {
        row->value_and_place ^= taker[1];
        if (TAMIS_LIKELY(row->coefficients != 0)) {
            const uint64_t skip = tamis__ctz(row->coefficients);
            row->value_and_place += 2 * skip;
            row->coefficients >>= skip;
            return GOES_ON;
        }
        if (row->value_and_place >> 32 != 0) return CONTRADICTION;
    }
    if (queue->next == queue->end) return ALL_DONE;
    *row = *queue->next++;
    return GOES_ON;
}

#define LANES 4

/* Advances `lanes` rows in turns, until one of them is done and none is left to follow it; the
 * others are then way[0 .. lanes-2].  False on a contradiction. */
TAMIS_TEMPLATE bool rows_advance(struct tamis__ribbon_row way[LANES], uint64_t *rows,
                                 struct queue *queue, unsigned lanes) {
    struct queue q = *queue; /* a copy, for the compiler to keep in registers */
    struct tamis__ribbon_row a = way[0], b = way[1], c = way[2], d = way[3];
    enum outcome outcome;
    for (;;) {
        outcome = row_step(&a, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            a = lanes == 4 ? d : lanes == 3 ? c : b;
            break;
        }
        if (lanes < 2) continue;
        outcome = row_step(&b, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            b = lanes == 4 ? d : c;
            break;
        }
        if (lanes < 3) continue;
        outcome = row_step(&c, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            c = d;
            break;
        }
        if (lanes < 4) continue;
        outcome = row_step(&d, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) break;
    }
    way[0] = a, way[1] = b, way[2] = c;
    *queue = q;
    return outcome == ALL_DONE;
}

static bool insert(uint64_t *table, const struct tamis__ribbon_row *rows, size_t count,
                   uint32_t **placed) {
    struct queue queue = {rows, rows + count, *placed};
    struct tamis__ribbon_row way[LANES] = {{0, 0}};
    unsigned lanes = 0;
    while (lanes < LANES && queue.next < queue.end) way[lanes++] = *queue.next++;
    bool fits = true;
    if (lanes == 4) fits = rows_advance(way, table, &queue, lanes--);
    if (lanes == 3 && fits) fits = rows_advance(way, table, &queue, lanes--);
    if (lanes == 2 && fits) fits = rows_advance(way, table, &queue, lanes--);
    if (lanes == 1 && fits) fits = rows_advance(way, table, &queue, lanes);
    *placed = queue.placed;
    return fits;
}

static void solve_block(const uint64_t *rows, unsigned columns,
                        uint64_t words[TAMIS__RIBBON_COLUMNS_MAX]) {
    tamis__ribbon_solve_scalar(rows, columns, words);
}

const struct tamis__ribbon_solver tamis__ribbon_solver_portable = {insert, solve_block};
