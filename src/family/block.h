/* block.h - the layout of a block table, and what the files of this family share
 *
 * The table is an array of lines of 64 bytes: one cache line each.  All bits of a key are in
 * one line, so a lookup reads one line and an add changes one.  A line is eight lanes of 64
 * bits, and a key has `hashes` (1..16) bits, spread evenly over the lanes:
 *
 *     g       = spread(hash) * stir mod 2^64
 *     line    = g * lines >> 64            from the upper bits
 *     seed    = g mod 2^32                 decides everything inside of the line
 *     product = seed * multiplier[lane] mod 2^32
 *
 *     round 0 sets bit product >> 26 of the lane, round 1 bit (product >> 20) mod 64
 *
 *     byte       0       8       16      24      32      40      48      56      64
 *                | lane 0| lane 1| lane 2| lane 3| lane 4| lane 5| lane 6| lane 7|
 *     hashes  8  |   0   |   0   |   0   |   0   |   0   |   0   |   0   |   0   |
 *             6  |   0   |   0   |       |       |   0   |   0   |   0   |   0   | turn = 4
 *            11  |  0 1  |  0 1  |   0   |   0   |   0   |   0   |   0   |  0 1  | turn = 1
 *            16  |  0 1  |  0 1  |  0 1  |  0 1  |  0 1  |  0 1  |  0 1  |  0 1  |
 *
 * hashes = 8 * rounds + rest.  Each of the rounds sets one bit in every lane.  If there is a
 * rest, a further round sets a bit in `rest` neighbouring lanes, those with
 * (lane + turn) mod 8 < rest, where turn = seed mod 8, so that all lanes fill evenly.
 *
 * Lanes are little-endian.  Any bytes are a valid table. */
#ifndef TAMIS_FAMILY_BLOCK_H
#define TAMIS_FAMILY_BLOCK_H

#include "core/bits.h"
#include "core/compiler.h" /* TAMIS_HAVE_AVX2, TAMIS_HAVE_NEON */
#include "filter/family.h"

/* Data of another file that need not be looked up at run time. */
#define BLOCK_INTERNAL __attribute__((visibility("hidden")))

#define BLOCK_LINE_BYTES 64
#define BLOCK_LANES 8
#define BLOCK_LANE_BITS 64
#define BLOCK_LINE_BITS (BLOCK_LANES * BLOCK_LANE_BITS)
/* A third round (17..24) would save 1 to 3 % of the bits at rates of 1e-7 and 1e-8, and nothing
 * elsewhere. */
#define BLOCK_HASHES_MAX 16

/* tamis__spread alone leaves patterned hashes too close together: with a million hashes i << 16
 * the rate was 176 times the target.  With one more multiplication it held for 80 kinds of
 * patterned hashes, at 0.2 ns per key in cache and no cost out of cache.
 * Odd, otherwise arbitrary; part of the format. */
#define BLOCK_STIR UINT64_C(0xd1342543de82ef95)

/* An operand in memory saves a single call the instruction that moves a constant to a register.
 * Compilers must not see the values, so they are defined in a file without operations (block.c). */
struct block_constants {
    uint64_t one[BLOCK_LANES];
    uint64_t spread, stir;
};
extern const struct block_constants tamis__block_constants BLOCK_INTERNAL;

/* tamis__spread(hash) * BLOCK_STIR */
TAMIS_TEMPLATE uint64_t block_stir(uint64_t hash) {
    return tamis__fold(hash, tamis__block_constants.spread) * tamis__block_constants.stir;
}

/* The words of the shape; the others are 0. */
enum { BLOCK_LINES, BLOCK_HASHES };

/* The four forms of a mask; each has its own operations. */
enum block_form {
    BLOCK_REST,       /* hashes 1..7: no full round */
    BLOCK_ROUND,      /* 8 */
    BLOCK_ROUND_REST, /* 9..15 */
    BLOCK_TWO_ROUNDS, /* 16 */
    BLOCK_FORMS
};

/* Result of a pass over the whole table. */
struct block_totals {
    uint64_t bits_set; /* bits that are set */
    double matches;    /* sum over the lines of the chance that an absent key matches */
};

/* The code of one instruction set. */
struct block_path {
    const struct tamis__ops *ops; /* one for each form */
    void (*totals)(const tamis_filter *f, struct block_totals *totals);
};

extern const struct block_path tamis__block_portable;
/* block_portable.c: the family's entry `cells`. */
void tamis__block_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                        void *context);
extern const struct block_path tamis__block_shared; /* lock-free adds */
#if defined(TAMIS_HAVE_AVX2)
extern const struct block_path tamis__block_avx2;
#endif
#if defined(TAMIS_HAVE_AVX512)
extern const struct block_path tamis__block_avx512; /* fewer than 2^32 lines */
#endif
#if defined(TAMIS_HAVE_NEON)
extern const struct block_path tamis__block_neon;
#endif

/* Row `rest` has 1 for a lane that takes part in the rest and 0 for one that does not, repeated
 * twice: the row for turn t is the eight entries from t on. */
extern const uint64_t tamis__block_rest_lanes[BLOCK_LANES][2 * BLOCK_LANES] BLOCK_INTERNAL;

#endif
