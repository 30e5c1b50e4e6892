/* ribbon_foreign.c - asking RocksDB's Standard128Ribbon
 *
 * A key is in the filter if, in each column, the parity of its 128 coefficients over the
 * solution equals its result bit.  The solution is kept by blocks of 128 slots: a block is a
 * run of 16-byte segments, one for a column.
 *
 *     table   segment (b, j) of block b and column j is number  b * columns - min(b, short) + j
 *
 * Where a key's coefficients reach into the next block, its segments are simply the next ones
 * of the table, also where that block has a column more: so the writer places them. */
#include "family/ribbon_foreign.h"

#include <math.h>

#define GROUP 32

static struct wide segment_at(const tamis_filter *f, uint64_t index) {
    const uint8_t *at = f->table + index * SEGMENT;
    return (struct wide){tamis__load64(at), tamis__load64(at + 8)};
}

struct place {
    struct equation equation;
    uint64_t first; /* segment */
    uint64_t columns;
};

static struct place place_of(const tamis_filter *f, uint64_t hash) {
    const uint64_t blocks = f->shape.word[BLOCKS];
    const struct columns c = columns_of(blocks, f->shape.word[SEGMENTS]);
    const struct equation e = equation_of(hash, f->shape.word[SEED], blocks);
    const uint64_t block = e.start / SLOTS_PER_BLOCK;
    const uint64_t shorter = block < c.short_blocks ? block : c.short_blocks;
    return (struct place){e, block * c.columns - shorter, c.columns - (block < c.short_blocks)};
}

static bool place_holds(const tamis_filter *f, const struct place *p) {
    const unsigned offset = (unsigned)(p->equation.start % SLOTS_PER_BLOCK);
    const struct wide here = wide_left(p->equation.row, offset);
    const struct wide next =
        offset == 0 ? (struct wide){0, 0} : wide_right(p->equation.row, 128 - offset);
    for (uint64_t j = 0; j < p->columns; j++) {
        struct wide sum = wide_and(segment_at(f, p->first + j), here);
        if (offset != 0) {
            sum = wide_xor(sum, wide_and(segment_at(f, p->first + p->columns + j), next));
        }
        if (wide_parity(sum) != (p->equation.result >> j & 1)) return false;
    }
    return true;
}

static bool ribbon_contains(const tamis_filter *f, struct tamis__hash h) {
    const struct place p = place_of(f, h.lo);
    return place_holds(f, &p);
}

static size_t ribbon_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers) {
    struct place place[GROUP];
    size_t found = 0;
    (void)hi;
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        for (size_t i = 0; i < n; i++) {
            place[i] = place_of(f, lo[at + i]);
            TAMIS_PREFETCH(f->table + place[i].first * SEGMENT);
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = place_holds(f, &place[i]);
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

static const struct tamis__ops *ops_of(const struct tamis__shape *shape, uint32_t cpu,
                                       bool shared) {
    (void)shape, (void)cpu, (void)shared;
    return &ribbon_ops;
}

/* The last block is only reached by its first slot, so nothing is read past the end. */
static bool ribbon_check(const struct tamis__shape *shape) {
    const uint64_t blocks = shape->word[BLOCKS], segments = shape->word[SEGMENTS];
    return shape->scheme == TAMIS__SCHEME_RIBBON128 && blocks >= 2 && blocks <= BLOCKS_MOST &&
           shape->word[SEED] <= UINT8_MAX && segments >= 1 && segments <= (uint64_t)1 << 40 &&
           shape->table_bytes == segments * SEGMENT;
}

static void ribbon_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    const struct columns c = columns_of(shape->word[BLOCKS], shape->word[SEGMENTS]);
    traits->hashes = 1;
    traits->width = (uint32_t)c.columns;
    traits->cache_lines = 2;
}

/* How many keys there are is not in the file; a filter made here knows it. */
static void ribbon_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t blocks = f->shape.word[BLOCKS];
    const struct columns c = columns_of(blocks, f->shape.word[SEGMENTS]);
    const double whole = ldexp(1, -(int)c.columns), shorter = (double)c.short_blocks;
    state->stages = 1;
    state->fill = 1;
    state->distinct = (double)f->capacity;
    state->rate_now = whole * (1 + shorter / (double)blocks);
}

const struct tamis__family tamis__ribbon_foreign = {
    .kind = TAMIS_RIBBON,
    .name = "ribbon",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(tamis_filter),
    .traits = ribbon_traits,
    .check = ribbon_check,
    .ops = ops_of,
    .state = ribbon_state,
};
