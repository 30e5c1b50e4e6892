/* linear.c - the small dense layout: a plain ribbon with a search for a seed
 *
 * A table of slots, each `width` bits wide.  A key's hash picks up to 64 neighbouring slots
 * (a random subset of the window that starts at a random slot), and the key is reported as a
 * member if the xor of those slots is its fingerprint.  To build is to solve one linear
 * equation over GF(2) per key:
 *
 *     slot:    0         start             start+63         slots-1
 *     row:     0 ... 0 0 [1 c1 c2 c3 ... c62 c63] 0 0 ... 0        xor of those = fingerprint
 *
 *   1. Mix every hash with a seed; start, coefficients and fingerprint are drawn from that.
 *   2. Sort by start; eliminate: a row whose first slot is taken is xored with the row that
 *      took it, so that its first slot moves right, until it finds a free one or vanishes.
 *   3. A row that vanishes with a fingerprint left over is a contradiction: next seed, and
 *      every few seeds one slot (or a part in a thousand) more.
 *   4. Solve backwards; slots that no row took stay 0.
 *
 * Two things keep the search short.  Starts are drawn from a range that is LINEAR_MARGIN
 * wider on both sides and then clamped: without it the first and last slots see too few rows,
 * and slots = keys succeeds once in 500 seeds at 400 keys; with it once in 4, which is what
 * a dense random matrix does.  And if more than 64 rows must share one window, which is what
 * fails from 2000 keys on, a count of the starts shows it before any elimination.
 *
 * Slots over keys, and time to build at 8 bits: 0 % up to 1000 keys, 0.3 ms; 0.06 % at 2000,
 * 0.6 ms; 0.2 % at 4000, 1 ms; 0.7 % at 8000, 3 ms.
 *
 * The table holds the columns one after the other, bit by bit, so that nothing is lost to
 * rounding: bit s of column c is bit c * slots + s, counted from the lowest bit of byte 0.
 *
 *     | column 0: slots bits | column 1: slots bits | ... | zeros up to a multiple of 8 bytes |
 *
 * Packed tables are the same without those zeros, save what fills the last byte.
 *
 * Why the order of the hashes does not matter: whatever the order, the rows that elimination
 * keeps span the same space and are in echelon form, so the set of slots that are taken (the
 * leading positions of that space), the consistency of the system and the one solution in
 * which all other slots are 0 are properties of the set.
 *
 * Why it ends: every seed mixes by a bijection, so distinct hashes stay distinct; a matrix
 * with k slots to spare is singular with probability about 2^-k, and k grows. */
#include "build/linear.h"

#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"

/* Measured at 100 to 8000 keys: 16, 24 and 32 do equally well, 8 is worse from 1000 on. */
#define LINEAR_MARGIN 24
/* Seeds to try before the table grows. */
#define LINEAR_SEEDS 16
#define LINEAR_WINDOW 64

/* One equation. */
struct linear_row {
    uint64_t start;
    uint64_t coefficients; /* bit i: slot start + i */
    uint32_t value;
};

static uint64_t linear_window(uint64_t slots) {
    return slots < LINEAR_WINDOW ? slots : LINEAR_WINDOW;
}

/* The start is monotone in the mixed hash. */
TAMIS_TEMPLATE uint64_t linear_start(uint64_t mixed, uint64_t slots) {
    const uint64_t last = slots - linear_window(slots);
    const uint64_t drawn = tamis__range(mixed, last + 1 + 2 * LINEAR_MARGIN);
    const uint64_t start = drawn < LINEAR_MARGIN ? 0 : drawn - LINEAR_MARGIN;
    return start < last ? start : last;
}

TAMIS_TEMPLATE struct linear_row linear_row_of(uint64_t mixed, uint64_t slots, unsigned width) {
    const uint64_t mask = ~UINT64_C(0) >> (LINEAR_WINDOW - linear_window(slots));
    struct linear_row row;
    row.start = linear_start(mixed, slots);
    row.coefficients = (tamis__spread(mixed) | 1) & mask;
    row.value = (uint32_t)((mixed * UINT64_C(0xd6e8feb86659fd93)) >> (64 - width));
    return row;
}

TAMIS_TEMPLATE uint64_t linear_mix(uint64_t hash, uint64_t seed) {
    return tamis__mix64(hash ^ seed);
}

/* Seeds that differ in about half of their bits: hashes in arithmetic progression would meet
 * each other again under the seeds 1, 2, 3, ... */
uint64_t tamis__linear_seed(uint64_t attempt) { return tamis__mix64(attempt + 1); }

/* ------------------------------------------------------------------------- sizes */

/* From about 1000 keys on the number of rows per window varies by more than the window can
 * take, and some slots must be spared; past the intended sizes (up to a quarter) many. */
uint64_t tamis__linear_slots(uint64_t count) {
    const uint64_t quarter = count / 4;
    const uint64_t square = count < ((uint64_t)1 << 24) ? (count * count) >> 22 : quarter;
    return count + (square < quarter ? square : quarter);
}

static uint64_t linear_attempt_slots(uint64_t count, uint64_t attempt) {
    return tamis__linear_slots(count) + attempt / LINEAR_SEEDS * (1 + count / 1024);
}

uint64_t tamis__linear_bytes(uint64_t slots, unsigned width) {
    return tamis__div_up(slots * width, 64) * 8;
}

bool tamis__linear_check(const struct tamis__linear *shape, uint64_t bytes) {
    return shape->width >= 1 && shape->width <= TAMIS__LINEAR_WIDTH_MAX && shape->slots >= 1 &&
           shape->slots <= TAMIS__LINEAR_SLOTS_MAX &&
           bytes == tamis__linear_bytes(shape->slots, shape->width);
}

/* ------------------------------------------------------------------------- query */

/* 64 bits of a column from bit `at` on.  If the window does not reach into the next word,
 * that is not read: it may lie outside the table.  The bits above the window do not matter,
 * because their coefficients are 0. */
TAMIS_TEMPLATE uint64_t linear_bits(const uint8_t *table, uint64_t at, uint64_t window) {
    const unsigned shift = (unsigned)(at & 63);
    const uint64_t word = at >> 6, next = word + (shift + window > 64);
    return tamis__load64(table + word * 8) >> shift | tamis__load64(table + next * 8)
                                                          << 1 << (63 - shift);
}

/* The same for bytes that end where the table ends.  A window that begins within the last eight
 * bytes lies within them. */
TAMIS_TEMPLATE uint64_t linear_packed_bits(const uint8_t *table, uint64_t bytes, uint64_t at,
                                           uint64_t window) {
    const uint64_t byte = at >> 3, tail = bytes - 8;
    if (byte >= tail) return tamis__load64(table + tail) >> (at - tail * 8);
    const unsigned shift = (unsigned)(at & 7);
    uint64_t bits = tamis__load64(table + byte) >> shift;
    if (shift + window > 64) bits |= (uint64_t)table[byte + 8] << (64 - shift);
    return bits;
}

/* Is the xor of the key's slots its fingerprint, in every column? */
TAMIS_TEMPLATE bool linear_contains(const struct tamis__linear *shape, const uint8_t *table,
                                    uint64_t bytes, bool packed, uint64_t hash) {
    const uint64_t slots = shape->slots, window = linear_window(slots);
    const struct linear_row row = linear_row_of(linear_mix(hash, shape->seed), slots, shape->width);
    uint64_t at = row.start;
    for (unsigned column = 0; column < shape->width; column++, at += slots) {
        const uint64_t bits =
            packed ? linear_packed_bits(table, bytes, at, window) : linear_bits(table, at, window);
        if (tamis__parity(bits & row.coefficients) != (row.value >> column & 1)) return false;
    }
    return true;
}

bool tamis__linear_contains(const struct tamis__linear *shape, const uint8_t *table,
                            uint64_t hash) {
    return linear_contains(shape, table, 0, false, hash);
}

void tamis__linear_cells(const struct tamis__linear *shape, uint64_t first, uint64_t hash,
                         tamis__cell_taker *take, void *context) {
    const struct linear_row row =
        linear_row_of(linear_mix(hash, shape->seed), shape->slots, shape->width);
    tamis_cell cell = {.bit = first + row.start,
                       .bits = (uint32_t)linear_window(shape->slots),
                       .rule = TAMIS_CELL_PARITY,
                       .mask = row.coefficients};
    for (; cell.equation < shape->width; cell.equation++, cell.bit += shape->slots) {
        cell.expected = row.value >> cell.equation & 1;
        take(context, &cell);
    }
}

bool tamis__linear_packed_contains(const struct tamis__linear *shape, const uint8_t *table,
                                   uint64_t bytes, uint64_t hash) {
    uint8_t word[8] = {0};
    if (bytes < sizeof word) {
        memcpy(word, table, (size_t)bytes);
        table = word;
        bytes = sizeof word;
    }
    return linear_contains(shape, table, bytes, true, hash);
}

/* ------------------------------------------------------------------------- building */

void tamis__linear_release(const tamis_allocator *a, struct tamis__linear_work *w) {
    tamis__release(a, w->block, w->block_bytes);
    w->block = NULL;
}

/* Room for tables of `slots` slots, and for some attempts after that. */
static bool linear_reserve(const tamis_allocator *a, uint64_t slots, struct tamis__linear_work *w) {
    tamis__linear_release(a, w);
    w->capacity = slots + slots / 8 + 16;
    const uint64_t words = 2 * (uint64_t)w->count + w->capacity;
    const uint64_t halves = 2 * w->capacity + 1;
    if (!tamis__array_size(words + tamis__div_up(halves, 2), 8, &w->block_bytes)) return false;
    w->block = (uint8_t *)tamis__alloc(a, w->block_bytes);
    if (w->block == NULL) return false;
    w->mixed = (uint64_t *)(void *)w->block;
    w->sorted = w->mixed + w->count;
    w->coefficients = w->sorted + w->count;
    w->values = (uint32_t *)(void *)(w->coefficients + w->capacity);
    w->starts = w->values + w->capacity;
    return true;
}

/* Counts the rows per start and returns whether, at every slot, the rows without a slot so far fit
 * between there and the end of the last row's window. */
static bool linear_count(struct tamis__linear_work *w, uint64_t slots) {
    const uint64_t last = slots - linear_window(slots);
    memset(w->starts, 0, (size_t)(last + 1) * sizeof *w->starts);
    for (size_t i = 0; i < w->count; i++) w->starts[linear_start(w->mixed[i], slots)]++;
    uint64_t waiting = 0;
    for (uint64_t s = 0; s <= last; s++) {
        waiting += w->starts[s];
        if (waiting > linear_window(slots)) return false;
        if (waiting > 0) waiting--;
    }
    return true;
}

static void linear_sort(struct tamis__linear_work *w, uint64_t slots) {
    const uint64_t last = slots - linear_window(slots);
    uint32_t begin = 0;
    for (uint64_t s = 0; s <= last; s++) {
        const uint32_t rows = w->starts[s];
        w->starts[s] = begin;
        begin += rows;
    }
    for (size_t i = 0; i < w->count; i++) {
        w->sorted[w->starts[linear_start(w->mixed[i], slots)]++] = w->mixed[i];
    }
}

/* Finds a slot for a row; false if it contradicts those before. */
static bool linear_eliminate(struct tamis__linear_work *w, struct linear_row row) {
    uint64_t at = row.start, c = row.coefficients;
    while (w->coefficients[at] != 0) {
        c ^= w->coefficients[at];
        row.value ^= w->values[at];
        if (c == 0) return row.value == 0;
        const unsigned skip = tamis__ctz(c);
        at += skip;
        c >>= skip;
    }
    w->coefficients[at] = c;
    w->values[at] = row.value;
    return true;
}

static bool linear_try(struct tamis__linear_work *w, const uint64_t *hashes,
                       const struct tamis__linear *shape) {
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    for (size_t i = 0; i < w->count; i++) w->mixed[i] = linear_mix(hashes[i], shape->seed);
    if (!linear_count(w, shape->slots)) return false;
    linear_sort(w, shape->slots);
    memset(w->coefficients, 0, (size_t)shape->slots * sizeof *w->coefficients);
    for (size_t i = 0; i < w->count; i++) {
        if (!linear_eliminate(w, linear_row_of(w->sorted[i], shape->slots, shape->width))) {
            return false;
        }
    }
    return true;
}

tamis_status tamis__linear_attempt(const uint64_t *hashes, const struct tamis__linear *shape,
                                   const tamis_allocator *a, struct tamis__linear_work *w,
                                   bool *solvable) {
    if (shape->slots > w->capacity && !linear_reserve(a, shape->slots, w)) return TAMIS_E_NOMEM;
    *solvable = linear_try(w, hashes, shape);
    return TAMIS_OK;
}

/* Solves from the last slot to the first.  later[c] has the solved bits of column c, that of
 * the slot just after in its lowest bit. */
void tamis__linear_solve(const struct tamis__linear_work *w, const struct tamis__linear *shape,
                         uint8_t *table) {
    uint64_t later[TAMIS__LINEAR_WIDTH_MAX] = {0};
    for (uint64_t s = shape->slots; s-- > 0;) {
        const bool taken = w->coefficients[s] != 0;
        const uint64_t others = w->coefficients[s] >> 1;
        for (unsigned column = 0; column < shape->width; column++) {
            unsigned bit = 0;
            if (taken) bit = tamis__parity(later[column] & others) ^ (w->values[s] >> column & 1);
            later[column] = later[column] << 1 | bit;
            const uint64_t at = column * shape->slots + s;
            table[at >> 3] |= (uint8_t)(bit << (at & 7));
        }
    }
}

tamis_status tamis__linear_build(const uint64_t *hashes, size_t count, unsigned width,
                                 const tamis_allocator *a, struct tamis__linear *shape,
                                 uint8_t **table, uint64_t *bytes) {
    struct tamis__linear_work w = {.count = count};
    bool solvable = false;
    *table = NULL;
    shape->width = width;
    for (uint64_t attempt = 0; !solvable; attempt++) {
        shape->seed = tamis__linear_seed(attempt);
        shape->slots = linear_attempt_slots(count, attempt);
        const tamis_status status = tamis__linear_attempt(hashes, shape, a, &w, &solvable);
        if (status != TAMIS_OK) return status;
    }
    *bytes = tamis__linear_bytes(shape->slots, width);
    *table = (uint8_t *)tamis__table_alloc(a, *bytes);
    if (*table != NULL) tamis__linear_solve(&w, shape, *table);
    tamis__linear_release(a, &w);
    return *table == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
}
