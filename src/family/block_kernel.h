/* block_kernel.h - the operations of block filters, over two primitives
 *
 * Included by block_portable.c, block_shared.c, block_avx2.c, block_avx512.c and block_neon.c.
 * Each of them defines BLOCK_TARGET (the function attribute of its instruction set, or nothing)
 * before, and the primitives after it (with BLOCK_FOURS a third, for four keys; with BLOCK_GROUPS
 * also the batches); BLOCK_INSTANCES then defines the operations.  Everything is inlined into
 * those, where `rounds`, `rest`, `write` and `report` are constants.
 *
 * Batches.  Reading a table out of cache at the speed of the memory needs many outstanding loads,
 * more than the processor's own look-ahead finds.  So the line of a key is computed and
 * prefetched BLOCK_RING keys before it is needed, and kept in a ring until then.  The ring costs
 * nothing in small tables: at 100 KB it equals a plain loop, at 400 KB it takes 0.8 of its
 * time. */
#ifndef TAMIS_FAMILY_BLOCK_KERNEL_H
#define TAMIS_FAMILY_BLOCK_KERNEL_H

#include "core/bits.h"
#include "core/bytes.h"
#include "family/block.h"

#define BLOCK_TEMPLATE TAMIS_TEMPLATE BLOCK_TARGET

/* Before the loop over a ring: an add takes 1.42 instead of 1.50 ns with AVX2. */
#if defined(BLOCK_VECTORS)
#define BLOCK_UNROLL_PAIRS _Pragma("GCC unroll 2")
#else
#define BLOCK_UNROLL_PAIRS
#endif

/* 32, 64 and 128 are equal within the noise, from 1 to 125 MB. */
#define BLOCK_RING 64

/* Odd, otherwise arbitrary; part of the format. */
static const uint32_t block_multiplier[BLOCK_LANES] = {
    0x44974d91, 0xa2b7289d, 0x2df1424b, 0x5c6bfb31, 0x47b6137b, 0x8824ad5b, 0x705495c7, 0x9efc4947,
};

/* What an operation needs of a filter, in registers: stores to the table cannot alias it. */
struct block_table {
    uint8_t *lines;
    uint64_t count;
    unsigned rest;              /* lanes in the rest */
    const uint64_t *rest_lanes; /* and which they are: tamis__block_rest_lanes[rest] */
};

/* Where the bits of a key are. */
struct block_place {
    uint8_t *line;
    uint32_t seed;
};

/* ---- the primitives */

/* Are all bits of the key in its line?  Defined below unless BLOCK_VECTORS. */
BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest);

#if defined(BLOCK_FOURS)
/* The same for four keys: bit i of the result is that of key i. */
BLOCK_TEMPLATE unsigned block_covers_four(const struct block_table *t, const struct block_place *at,
                                          unsigned rounds, bool rest);
#endif

/* Sets the bits of the key in its line.  If `report`, returns whether one of them was clear. */
BLOCK_TEMPLATE bool block_join(const struct block_table *t, struct block_place at, unsigned rounds,
                               bool rest, bool report);

/* One lane of a line, which other threads may be changing if BLOCK_ATOMIC. */
BLOCK_TEMPLATE uint64_t block_word(const uint8_t *line, unsigned lane) {
#if defined(BLOCK_ATOMIC)
    const uint64_t *lanes = (const uint64_t *)(const void *)line;
    return TAMIS_LE64(__atomic_load_n(&lanes[lane], __ATOMIC_RELAXED));
#else
    return tamis__load64(line + 8 * lane);
#endif
}

/* ---- a lane in plain C: what vector code must agree with */

TAMIS_TEMPLATE unsigned block_bit(uint32_t seed, unsigned lane, unsigned round) {
    return seed * block_multiplier[lane] >> (26 - 6 * round) & (BLOCK_LANE_BITS - 1);
}

/* 1 if the lane takes part in the rest of the key, else 0. */
TAMIS_TEMPLATE uint64_t block_one(const struct block_table *t, uint32_t seed, unsigned lane) {
    return t->rest_lanes[seed % BLOCK_LANES + lane];
}

/* The bits of a key in a lane. */
TAMIS_TEMPLATE uint64_t block_lane(const struct block_table *t, uint32_t seed, unsigned lane,
                                   unsigned rounds, bool rest) {
    uint64_t bits = 0;
    for (unsigned r = 0; r < rounds; r++) bits |= (uint64_t)1 << block_bit(seed, lane, r);
    if (rest) bits |= block_one(t, seed, lane) << block_bit(seed, lane, rounds);
    return bits;
}

/* Does `word`, the lane of a line, have them?  The result is the lowest bit.  (Shifting the word
 * to the bit takes half the instructions of shifting the bit to the word.) */
TAMIS_TEMPLATE uint64_t block_lane_covers(const struct block_table *t, uint32_t seed, unsigned lane,
                                          uint64_t word, unsigned rounds, bool rest) {
    uint64_t covers = 1;
    for (unsigned r = 0; r < rounds; r++) covers &= word >> block_bit(seed, lane, r);
    if (rest) {
        covers &= word >> block_bit(seed, lane, rounds) | (block_one(t, seed, lane) ^ 1);
    }
    return covers;
}

#if !defined(BLOCK_VECTORS)
/* Tests all lanes without leaving early: that branch could not be predicted.  In cache a batch
 * takes 6.7 ns per key this way and 9.9 with the branch; at 125 MB both are equal (11.7 and
 * 10.6), and only single lookups would gain there (52 and 35). */
BLOCK_TEMPLATE bool block_covers(const struct block_table *t, struct block_place at,
                                 unsigned rounds, bool rest) {
    uint64_t covers = 1;
    TAMIS_UNROLL
    for (unsigned i = 0; i < BLOCK_LANES; i++) {
        covers &= block_lane_covers(t, at.seed, i, block_word(at.line, i), rounds, rest);
    }
    return covers;
}
#endif

/* ---- one key */

BLOCK_TEMPLATE struct block_table block_table_of(const tamis_filter *f) {
    const unsigned rest = (unsigned)(f->shape.word[BLOCK_HASHES] % BLOCK_LANES);
    return (struct block_table){.lines = f->table,
                                .count = f->shape.word[BLOCK_LINES],
                                .rest = rest,
                                .rest_lanes = tamis__block_rest_lanes[rest]};
}

#if defined(BLOCK_MULX)
/* The products of block_stir and tamis__range.  gcc 12 knows mulx, which leaves its operands where
 * they are, but selects mul and two or three moves around it. */
BLOCK_TEMPLATE uint64_t block_stirred(uint64_t hash) {
    uint64_t low, high;
    __asm__("mulx %3, %0, %1"
            : "=r"(low), "=r"(high)
            : "d"(hash), "rm"(tamis__block_constants.spread));
    return (high ^ low) * tamis__block_constants.stir;
}
BLOCK_TEMPLATE uint64_t block_scaled(uint64_t g, uint64_t lines) {
    uint64_t high;
    __asm__("mulx %2, %0, %0" : "=r"(high) : "d"(g), "rm"(lines));
    return high;
}
#else
BLOCK_TEMPLATE uint64_t block_stirred(uint64_t hash) { return block_stir(hash); }
BLOCK_TEMPLATE uint64_t block_scaled(uint64_t g, uint64_t lines) { return tamis__range(g, lines); }
#endif

BLOCK_TEMPLATE struct block_place block_find(const struct block_table *t, uint64_t hash) {
    const uint64_t g = block_stirred(hash);
    uint8_t *line = t->lines + block_scaled(g, t->count) * BLOCK_LINE_BYTES;
    return (struct block_place){line, (uint32_t)g};
}

BLOCK_TEMPLATE bool block_contains(const tamis_filter *f, uint64_t hash, unsigned rounds,
                                   bool rest) {
    const struct block_table t = block_table_of(f);
    const struct block_place at = block_find(&t, hash);
    return block_covers(&t, at, rounds, rest);
}

BLOCK_TEMPLATE tamis_status block_add(tamis_filter *f, uint64_t hash, bool *fresh, unsigned rounds,
                                      bool rest) {
    const struct block_table t = block_table_of(f);
    const struct block_place at = block_find(&t, hash);
    if (fresh == NULL) {
        block_join(&t, at, rounds, rest, false);
    } else {
        *fresh = block_join(&t, at, rounds, rest, true);
    }
    return TAMIS_OK;
}

#if !defined(BLOCK_GROUPS)
/* ---- many keys */

/* Tests a key of a batch or, if `write`, adds it; stores the result if `report`. */
BLOCK_TEMPLATE bool block_visit(const struct block_table *t, struct block_place at, bool *results,
                                size_t i, unsigned rounds, bool rest, bool write, bool report) {
    const bool yes =
        write ? block_join(t, at, rounds, rest, report) : block_covers(t, at, rounds, rest);
    if (report) results[i] = yes;
    return yes;
}

BLOCK_TEMPLATE struct block_place block_prefetch(const struct block_table *t, uint64_t hash,
                                                 bool write) {
    const struct block_place at = block_find(t, hash);
    if (write) {
        TAMIS_PREFETCH_WRITE(at.line);
    } else {
        TAMIS_PREFETCH(at.line);
    }
    return at;
}

/* How many of BLOCK_RING results are true: eight are added up by one multiplication. */
BLOCK_TEMPLATE size_t block_count(const bool *results) {
    size_t sum = 0;
    for (size_t j = 0; j < BLOCK_RING; j += 8) {
        sum += tamis__load64(results + j) * UINT64_C(0x0101010101010101) >> 56;
    }
    return sum;
}

/* Processes the keys of a ring, and replaces them by those of `next`. */
BLOCK_TEMPLATE size_t block_turn(const struct block_table *t, struct block_place *ring,
                                 const uint64_t *next, bool *results, unsigned rounds, bool rest,
                                 bool write, bool report) {
    size_t sum = 0;
    BLOCK_UNROLL_PAIRS
    for (size_t j = 0; j < BLOCK_RING; j++) {
        const bool yes = block_visit(t, ring[j], results, j, rounds, rest, write, report);
        ring[j] = block_prefetch(t, next[j], write);
        if (!report) sum += yes;
    }
    return report ? block_count(results) : sum;
}

#if defined(BLOCK_FOURS)
/* The same, if they are only tested. */
BLOCK_TEMPLATE size_t block_turn_fours(const struct block_table *t, struct block_place *ring,
                                       const uint64_t *next, bool *results, unsigned rounds,
                                       bool rest, bool report) {
    size_t sum = 0;
    for (size_t j = 0; j < BLOCK_RING; j += 4) {
        const unsigned yes = block_covers_four(t, ring + j, rounds, rest);
        /* Bit i of the four becomes bit 8 i. */
        if (report) tamis__store32(results + j, (yes * UINT32_C(0x204081)) & UINT32_C(0x1010101));
        TAMIS_UNROLL
        for (size_t i = j; i < j + 4; i++) ring[i] = block_prefetch(t, next[i], false);
        sum += tamis__popcount(yes);
    }
    return sum;
}
#endif

/* Processes every key of a batch, in order, and counts the results that are true. */
BLOCK_TEMPLATE size_t block_visit_all(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                      bool *results, unsigned rounds, bool rest, bool write,
                                      bool report) {
    const struct block_table t = block_table_of(f);
    size_t i = 0, sum = 0;
    struct block_place ring[BLOCK_RING];
    const size_t ahead = count < BLOCK_RING ? count : BLOCK_RING;
    for (size_t j = 0; j < ahead; j++) ring[j] = block_prefetch(&t, hashes[j], write);
    /* Whole turns of the ring first, so that its index is the loop's own. */
    for (; count - i >= 2 * BLOCK_RING; i += BLOCK_RING) {
        const uint64_t *next = hashes + i + BLOCK_RING;
        bool *to = report ? results + i : NULL;
#if defined(BLOCK_FOURS)
        if (!write) {
            sum += block_turn_fours(&t, ring, next, to, rounds, rest, report);
            continue;
        }
#endif
        sum += block_turn(&t, ring, next, to, rounds, rest, write, report);
    }
    for (; i < count; i++) {
        sum += block_visit(&t, ring[i % BLOCK_RING], results, i, rounds, rest, write, report);
        if (count - i > BLOCK_RING) {
            ring[i % BLOCK_RING] = block_prefetch(&t, hashes[i + BLOCK_RING], write);
        }
    }
    return sum;
}

BLOCK_TEMPLATE size_t block_contains_batch(const tamis_filter *f, const uint64_t *hashes,
                                           size_t count, bool *answers, unsigned rounds,
                                           bool rest) {
    return answers == NULL ? block_visit_all(f, hashes, count, NULL, rounds, rest, false, false)
                           : block_visit_all(f, hashes, count, answers, rounds, rest, false, true);
}

BLOCK_TEMPLATE tamis_status block_add_batch(tamis_filter *f, const uint64_t *hashes, size_t count,
                                            bool *fresh, size_t *done, unsigned rounds, bool rest) {
    if (fresh == NULL) {
        block_visit_all(f, hashes, count, NULL, rounds, rest, true, false);
    } else {
        block_visit_all(f, hashes, count, fresh, rounds, rest, true, true);
    }
    *done = count;
    return TAMIS_OK;
}
#endif

/* ---- the whole table */

/* An absent key matches a line if all of its bits are set: in every lane one of 64 for each
 * round, and one more in `rest` lanes, from any lane on. */
BLOCK_TEMPLATE void block_totals_of(const tamis_filter *f, struct block_totals *totals) {
    const uint64_t lines = f->shape.word[BLOCK_LINES];
    const unsigned rounds = (unsigned)(f->shape.word[BLOCK_HASHES] / BLOCK_LANES);
    const unsigned rest = (unsigned)(f->shape.word[BLOCK_HASHES] % BLOCK_LANES);
    totals->bits_set = 0;
    totals->matches = 0;
    for (uint64_t i = 0; i < lines; i++) {
        double share[2 * BLOCK_LANES], turn[BLOCK_LANES], every = 1, some = 0;
        for (unsigned lane = 0; lane < BLOCK_LANES; lane++) {
            const unsigned set = tamis__popcount(block_word(f->table + i * BLOCK_LINE_BYTES, lane));
            totals->bits_set += set;
            share[lane] = share[lane + BLOCK_LANES] = set * (1.0 / BLOCK_LANE_BITS);
            every *= share[lane];
            turn[lane] = 1;
        }
        for (unsigned j = 0; j < rest; j++) {
            for (unsigned lane = 0; lane < BLOCK_LANES; lane++) turn[lane] *= share[lane + j];
        }
        for (unsigned lane = 0; lane < BLOCK_LANES; lane++) some += turn[lane] / BLOCK_LANES;
        for (unsigned r = 0; r < rounds; r++) some *= every;
        totals->matches += some;
    }
}

/* ---- the operations: wrappers with the constants of a form */

/* An add that counts itself.  What reports whether the key is new is called, not inlined: it
 * would cost the others registers.  Shared filters are counted by the caller. */
#if defined(BLOCK_ATOMIC)
#define BLOCK_COUNTED(form, rounds, rest)
#define BLOCK_COUNTED_ENTRY(form) NULL
#else
#define BLOCK_COUNTED(form, rounds, rest)                                               \
    BLOCK_TARGET static tamis_status form##_add_counted(tamis_filter *f, uint64_t hash, \
                                                        bool *fresh) {                  \
        f->adds++;                                                                      \
        if (TAMIS_UNLIKELY(fresh != NULL)) return form##_add(f, hash, fresh);           \
        return block_add(f, hash, NULL, rounds, rest);                                  \
    }
#define BLOCK_COUNTED_ENTRY(form) form##_add_counted
#endif

#define BLOCK_INSTANCE(form, rounds, rest)                                                       \
    BLOCK_TARGET static bool form##_contains(const tamis_filter *f, uint64_t hash) {             \
        return block_contains(f, hash, rounds, rest);                                            \
    }                                                                                            \
    BLOCK_TARGET static size_t form##_contains_batch(const tamis_filter *f, const uint64_t *lo,  \
                                                     const uint64_t *hi, size_t n, bool *yes) {  \
        (void)hi;                                                                                \
        return block_contains_batch(f, lo, n, yes, rounds, rest);                                \
    }                                                                                            \
    BLOCK_TARGET static __attribute__((noinline))                                                \
    tamis_status form##_add(tamis_filter *f, uint64_t hash, bool *fresh) {                       \
        return block_add(f, hash, fresh, rounds, rest);                                          \
    }                                                                                            \
    BLOCK_COUNTED(form, rounds, rest)                                                            \
    BLOCK_TARGET static tamis_status form##_add_batch(tamis_filter *f, const uint64_t *lo,       \
                                                      const uint64_t *hi, size_t n, bool *fresh, \
                                                      size_t *done) {                            \
        (void)hi;                                                                                \
        return block_add_batch(f, lo, n, fresh, done, rounds, rest);                             \
    }

#define BLOCK_ENTRY(form, isa)                                                             \
    {                                                                                      \
        .path = isa, .contains = form##_contains, .contains_batch = form##_contains_batch, \
        .add = form##_add, .add_counted = BLOCK_COUNTED_ENTRY(form),                       \
        .add_batch = form##_add_batch,                                                     \
    }

#define BLOCK_INSTANCES(name, isa)                                                            \
    BLOCK_INSTANCE(rest, 0, true)                                                             \
    BLOCK_INSTANCE(round, 1, false)                                                           \
    BLOCK_INSTANCE(round_rest, 1, true)                                                       \
    BLOCK_INSTANCE(two_rounds, 2, false)                                                      \
    BLOCK_TARGET static void totals_all(const tamis_filter *f, struct block_totals *totals) { \
        block_totals_of(f, totals);                                                           \
    }                                                                                         \
    static const struct tamis__ops all_ops[BLOCK_FORMS] = {                                   \
        [BLOCK_REST] = BLOCK_ENTRY(rest, isa),                                                \
        [BLOCK_ROUND] = BLOCK_ENTRY(round, isa),                                              \
        [BLOCK_ROUND_REST] = BLOCK_ENTRY(round_rest, isa),                                    \
        [BLOCK_TWO_ROUNDS] = BLOCK_ENTRY(two_rounds, isa),                                    \
    };                                                                                        \
    const struct block_path name = {.ops = all_ops, .totals = totals_all};

#endif
