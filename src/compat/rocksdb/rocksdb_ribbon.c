/* rocksdb_ribbon.c - RocksDB's Standard128Ribbon: queries, and construction to the same bytes
 *
 * A key is in the filter if, in each column, the parity of its 128 coefficients over the
 * solution equals its result bit.  The solution is stored in blocks of 128 slots: a block is a
 * run of 16-byte segments, one for each column.
 *
 *     shape   word[0] blocks of 128 slots, word[1] segments of 16 bytes, word[2] seed
 *     table   segment (b, j) of block b and column j is number  b * columns - min(b, short) + j
 *
 * Where a key's coefficients reach into the next block, its segments are the next ones of the
 * table, also where that block has one column more. */
#include <math.h>
#include <string.h>

#include "compat/rocksdb/rocksdb.h"
#include "core/bits.h"
#include "core/bytes.h"

enum { BLOCKS, SEGMENTS, SEED };

#define SLOTS_PER_BLOCK 128
#define SEGMENT 16
#define COLUMNS_MAX 32
#define BLOCKS_MAX (((uint64_t)1 << 24) - 1)

/* 128 bits, without a compiler type that some machines lack. */
struct wide {
    uint64_t lo, hi;
};

TAMIS_TEMPLATE struct wide wide_and(struct wide a, struct wide b) {
    return (struct wide){a.lo & b.lo, a.hi & b.hi};
}
TAMIS_TEMPLATE struct wide wide_xor(struct wide a, struct wide b) {
    return (struct wide){a.lo ^ b.lo, a.hi ^ b.hi};
}
/* n is 0..127. */
TAMIS_TEMPLATE struct wide wide_left(struct wide a, unsigned n) {
    if (n == 0) return a;
    if (n >= 64) return (struct wide){0, a.lo << (n - 64)};
    return (struct wide){a.lo << n, a.hi << n | a.lo >> (64 - n)};
}
TAMIS_TEMPLATE struct wide wide_right(struct wide a, unsigned n) {
    if (n == 0) return a;
    if (n >= 64) return (struct wide){a.hi >> (n - 64), 0};
    return (struct wide){a.lo >> n | a.hi << (64 - n), a.hi >> n};
}
TAMIS_TEMPLATE bool wide_is_zero(struct wide a) { return (a.lo | a.hi) == 0; }
TAMIS_TEMPLATE unsigned wide_parity(struct wide a) { return tamis__popcount(a.lo ^ a.hi) & 1; }

/* A key's equation: 128 coefficients from slot `start` on, and the bits that they add up to. */
struct equation {
    uint64_t start;
    struct wide row;
    uint32_t result;
};

TAMIS_TEMPLATE struct equation equation_of(uint64_t hash, uint64_t seed, uint64_t blocks) {
    uint64_t t = seed * UINT64_C(0xc78219a23eeadd03);
    t ^= (t & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4;
    const uint64_t h = (hash ^ (uint32_t)t) * UINT64_C(0x6193d459236a3a0d);
    const uint64_t a = h * UINT64_C(0xc28f82822b650bed);
    const uint64_t starts = blocks * SLOTS_PER_BLOCK - (SLOTS_PER_BLOCK - 1);
    return (struct equation){tamis__mulhi(h, starts),
                             {(a ^ UINT64_C(0xc367844a6e52731d)) | 1, a},
                             (uint32_t)__builtin_bswap64(a)};
}

/* How segments are distributed: the first `short_blocks` blocks have one column less. */
struct columns {
    uint64_t columns, short_blocks;
};

/* The segments of a block. */
struct run {
    uint64_t first, columns;
};

TAMIS_TEMPLATE struct columns columns_of(uint64_t blocks, uint64_t segments) {
    const uint64_t columns = tamis__div_up(segments, blocks);
    if (columns > COLUMNS_MAX) return (struct columns){COLUMNS_MAX, 0};
    return (struct columns){columns, columns * blocks - segments};
}

TAMIS_TEMPLATE struct run run_of(struct columns c, uint64_t block) {
    const bool shorter = block < c.short_blocks;
    return (struct run){block * c.columns - (shorter ? block : c.short_blocks),
                        c.columns - shorter};
}

/* ---- queries */

static struct wide segment_at(const tamis_filter *f, uint64_t index) {
    const uint8_t *at = f->table + index * SEGMENT;
    return (struct wide){tamis__load64(at), tamis__load64(at + 8)};
}

struct lookup {
    struct equation equation;
    struct run run;
};

static struct lookup lookup_of(const tamis_filter *f, uint64_t hash) {
    const uint64_t blocks = f->shape.word[BLOCKS];
    const struct columns c = columns_of(blocks, f->shape.word[SEGMENTS]);
    const struct equation e = equation_of(hash, f->shape.word[SEED], blocks);
    return (struct lookup){e, run_of(c, e.start / SLOTS_PER_BLOCK)};
}

static bool lookup_holds(const tamis_filter *f, const struct lookup *p) {
    const unsigned offset = (unsigned)(p->equation.start % SLOTS_PER_BLOCK);
    const struct wide here = wide_left(p->equation.row, offset);
    const struct wide next =
        offset == 0 ? (struct wide){0, 0} : wide_right(p->equation.row, 128 - offset);
    for (uint64_t j = 0; j < p->run.columns; j++) {
        struct wide sum = wide_and(segment_at(f, p->run.first + j), here);
        if (offset != 0) {
            sum = wide_xor(sum, wide_and(segment_at(f, p->run.first + p->run.columns + j), next));
        }
        if (wide_parity(sum) != (p->equation.result >> j & 1)) return false;
    }
    return true;
}

static bool ribbon_contains(const tamis_filter *f, uint64_t hash) {
    const struct lookup p = lookup_of(f, hash);
    return lookup_holds(f, &p);
}

static size_t ribbon_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers) {
    struct lookup lookup[TAMIS__PREFETCHED_KEYS];
    size_t found = 0;
    (void)hi;
    for (size_t at = 0; at < count; at += TAMIS__PREFETCHED_KEYS) {
        const size_t n = count - at < TAMIS__PREFETCHED_KEYS ? count - at : TAMIS__PREFETCHED_KEYS;
        for (size_t i = 0; i < n; i++) {
            lookup[i] = lookup_of(f, lo[at + i]);
            TAMIS_PREFETCH(f->table + lookup[i].run.first * SEGMENT);
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = lookup_holds(f, &lookup[i]);
            if (answers != NULL) answers[at + i] = maybe;
            found += maybe;
        }
    }
    return found;
}

static const struct tamis__ops ribbon_ops = {
    .path = "portable",
    .contains = ribbon_contains,
    .contains_batch = ribbon_contains_batch,
};

/* The last block is only reached by its first slot, so nothing is read past the end. */
static bool ribbon_check(const struct tamis__shape *shape) {
    const uint64_t blocks = shape->word[BLOCKS], segments = shape->word[SEGMENTS];
    return blocks >= 2 && blocks <= BLOCKS_MAX && shape->word[SEED] <= UINT8_MAX && segments >= 1 &&
           segments <= (uint64_t)1 << 40 && shape->table_bytes == segments * SEGMENT;
}

static void ribbon_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    const struct columns c = columns_of(shape->word[BLOCKS], shape->word[SEGMENTS]);
    traits->hashes = 1;
    traits->width = (uint32_t)c.columns;
    traits->cache_lines = 2;
}

/* The file does not contain the number of keys; a filter built here has it. */
static void ribbon_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t blocks = f->shape.word[BLOCKS];
    const struct columns c = columns_of(blocks, f->shape.word[SEGMENTS]);
    const double whole = ldexp(1, -(int)c.columns), shorter = (double)c.short_blocks;
    state->stages = 1;
    state->fill = 1;
    state->distinct = (double)f->capacity;
    state->fpr_now = whole * (1 + shorter / (double)blocks);
}

const struct tamis__family tamis__ribbon128 = {
    .kind = TAMIS_RIBBON,
    .layout = 24,
    .name = "ribbon",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(tamis_filter),
    .traits = ribbon_traits,
    .check = ribbon_check,
    .only_ops = &ribbon_ops,
    .state = ribbon_state,
};

/* ---- construction
 *
 * Banding: each equation goes to the slot of its first coefficient; if that is taken, the two
 * are added, which moves the sum to a later slot, until one is free or nothing is left of it
 * (then it must be consistent).  If it is not, construction starts again with the next seed.
 * Back substitution runs from the last slot to the first and keeps, for each column, the 128
 * solution bits from the current slot on; at the end of a block they are its segments. */

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
                       struct wide state[COLUMNS_MAX]) {
    for (uint64_t j = 0; j < columns; j++) {
        struct wide next = wide_left(state[j], 1);
        next.lo |= wide_parity(wide_and(next, band->row[slot])) ^ (band->result[slot] >> j & 1);
        state[j] = next;
    }
}

static void substitute(const struct band *band, const struct tamis__shape *shape, uint8_t *table) {
    const uint64_t blocks = shape->word[BLOCKS];
    const struct columns c = columns_of(blocks, shape->word[SEGMENTS]);
    struct wide state[COLUMNS_MAX] = {{0, 0}};
    for (uint64_t block = blocks; block-- > 0;) {
        const struct run run = run_of(c, block);
        uint8_t *at = table + run.first * SEGMENT;
        for (uint64_t slot = (block + 1) * SLOTS_PER_BLOCK; slot-- > block * SLOTS_PER_BLOCK;) {
            solve_slot(band, slot, run.columns, state);
        }
        for (uint64_t j = 0; j < run.columns; j++) {
            tamis__store64(at + j * SEGMENT, state[j].lo);
            tamis__store64(at + j * SEGMENT + 8, state[j].hi);
        }
    }
}

tamis_status tamis__ribbon128_solve(const tamis_allocator *a, const uint64_t *hashes,
                                    uint64_t count, struct tamis__contents *contents) {
    struct tamis__shape *shape = &contents->shape;
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
    if (status == TAMIS_OK) contents->made = tamis__table_alloc(a, shape->table_bytes);
    if (status == TAMIS_OK && contents->made == NULL) status = TAMIS_E_NOMEM;
    if (status == TAMIS_OK) substitute(&band, shape, contents->made);
    tamis__release(a, band.row, row_bytes);
    tamis__release(a, band.result, result_bytes);
    return status;
}
