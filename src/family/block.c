/* block.c - blocked Bloom filter (Putze, Sanders, Singler, 2007): all bits of a key in one line
 *
 * The fastest filter that accepts adds: an operation reads or writes one cache line, computes and
 * tests the bits of a key in a few vector instructions, and threads add without a lock.  The
 * price is space, because some lines get more keys than others: 5 % more than a Bloom filter at a
 * false positive rate of 1 %, 9 % at 0.1 %, 36 % at 1e-6.
 *
 *     block.h          the layout of the table
 *     block_kernel.h   the operations, written once
 *     block_portable.c, block_avx2.c, block_avx512.c, block_neon.c, block_shared.c
 *                      their instruction sets
 *     block_model.c    the false positive rate from lines, hashes and keys
 *     block.c          sizing, state, merging
 *
 * Shape   word[0] lines, word[1] hashes; table_bytes = 64 * lines. */
#include <math.h>

#include "core/cpu.h"
#include "family/block.h"
#include "family/block_model.h"
#include "family/sizing.h"

const uint64_t tamis__block_rest_lanes[BLOCK_LANES][2 * BLOCK_LANES] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
    {1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0},
    {1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0},
    {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0},
    {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0},
};

const struct block_constants tamis__block_constants = {
    .one = {1, 1, 1, 1, 1, 1, 1, 1},
    .spread = TAMIS_SPREAD,
    .stir = BLOCK_STIR,
};

/* ---- sizing */

/* The maximum number of bits per key.  Below the rate that this gives, collisions of seeds
 * dominate, and every halving of the rate would double the table.  1e-8 is supported for any
 * number of keys. */
#define BLOCK_KEY_BITS_MAX 120
#define BLOCK_FPR_MIN 0x1p-120 /* the bound for as many bits; far below what is reached */
#define BLOCK_LINES_MAX ((uint64_t)1 << 56)

struct block_goal {
    double keys, fpr;
    unsigned hashes;
};

/* Does the rate hold for all but very rare sets of keys?  In small tables with a low rate it is
 * dominated by a few fuller lines, so it is far from normally distributed; its logarithm is
 * closer.  (With mean + 4 deviations one set of 135 exceeded the rate at 1000 keys and 1e-6, by
 * up to 18 times; this way, one of 2400.) */
static bool block_meets(uint64_t lines, const void *context) {
    const struct block_goal *goal = (const struct block_goal *)context;
    const struct tamis__block_forecast f = tamis__block_forecast(lines, goal->hashes, goal->keys);
    if (f.mean <= 0) return true;
    const double relative = f.deviation / f.mean, variance = log1p(relative * relative);
    return f.mean * exp(TAMIS__SIGMAS * sqrt(variance) - variance / 2) <= goal->fpr;
}

/* The number of lines for `keys` at BLOCK_KEY_BITS_MAX bits each; the bits may exceed 2^64. */
static uint64_t block_lines_max(uint64_t keys) {
    return keys / BLOCK_LINE_BITS * BLOCK_KEY_BITS_MAX +
           keys % BLOCK_LINE_BITS * BLOCK_KEY_BITS_MAX / BLOCK_LINE_BITS + 1;
}

/* The number of hashes that needs the fewest lines.  8 and 16, which have no rest and are about a
 * fifth faster in cache, are preferred if they need at most 2 % more. */
static tamis_status block_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    static const uint8_t order[BLOCK_HASHES_MAX] = {8, 16, 1,  2,  3,  4,  5,  6,
                                                    7, 9,  10, 11, 12, 13, 14, 15};
    if (spec->capacity / BLOCK_LINE_BITS >= BLOCK_LINES_MAX / BLOCK_KEY_BITS_MAX) {
        return TAMIS_E_TOO_BIG;
    }
    if (spec->fpr < BLOCK_FPR_MIN) return TAMIS_E_FPR_TOO_LOW;
    struct block_goal goal = {.keys = (double)spec->capacity, .fpr = spec->fpr};
    uint64_t best = 0, max = block_lines_max(spec->capacity);
    const uint64_t near = (uint64_t)(goal.keys * -log2(goal.fpr) * 1.7 / BLOCK_LINE_BITS);
    unsigned hashes = 0;
    for (unsigned i = 0; i < BLOCK_HASHES_MAX && max > 0; i++) {
        goal.hashes = order[i];
        const uint64_t lines = tamis__smallest(best == 0 ? near : max, max, block_meets, &goal);
        if (lines > max) continue;
        best = lines;
        hashes = goal.hashes;
        max = lines - 1;
        if (hashes % BLOCK_LANES == 0) max -= max / 50;
    }
    if (best == 0) return TAMIS_E_FPR_TOO_LOW;
    *shape = (struct tamis__shape){.word = {best, hashes}, .table_bytes = best * BLOCK_LINE_BYTES};
    return TAMIS_OK;
}

static double block_fpr(const struct tamis__shape *shape, double keys) {
    const unsigned hashes = (unsigned)shape->word[BLOCK_HASHES];
    return tamis__block_forecast(shape->word[BLOCK_LINES], hashes, keys).mean;
}

static void block_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[BLOCK_HASHES];
    traits->cache_lines = 1;
}

/* ---- creating and freeing */

static bool block_check(const struct tamis__shape *shape) {
    const uint64_t lines = shape->word[BLOCK_LINES], hashes = shape->word[BLOCK_HASHES];
    return tamis__shape_ends(shape, BLOCK_HASHES) && lines >= 1 && lines <= BLOCK_LINES_MAX &&
           hashes >= 1 && hashes <= BLOCK_HASHES_MAX &&
           shape->table_bytes == lines * BLOCK_LINE_BYTES;
}

static enum block_form block_form_of(uint64_t hashes) {
    if (hashes < BLOCK_LANES) return BLOCK_REST;
    if (hashes == BLOCK_LANES) return BLOCK_ROUND;
    return hashes < 2 * BLOCK_LANES ? BLOCK_ROUND_REST : BLOCK_TWO_ROUNDS;
}

static const struct block_path *block_path_for(const struct tamis__shape *shape, uint32_t cpu,
                                               bool shared) {
    if (shared && TAMIS_HAS_THREADS) return &tamis__block_shared;
#if defined(TAMIS_HAVE_AVX512)
    const bool narrow = shape->word[BLOCK_LINES] <= UINT32_MAX;
    if (narrow && (cpu & TAMIS__CPU_AVX512) != 0) return &tamis__block_avx512;
#endif
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return &tamis__block_avx2;
#endif
#if defined(TAMIS_HAVE_NEON)
    if (cpu & TAMIS__CPU_NEON) return &tamis__block_neon;
#endif
    (void)shape, (void)cpu;
    return &tamis__block_portable;
}

static const struct tamis__ops *block_ops(const struct tamis__shape *shape, uint32_t cpu,
                                          bool shared) {
    return &block_path_for(shape, cpu, shared)->ops[block_form_of(shape->word[BLOCK_HASHES])];
}

/* ---- the whole table */

/* The number of keys whose seed may collide: at most the number of adds, where that is known.  The
 * estimate for a few keys is off by some percent, and this alone decides the lowest rates. */
static double block_keys(const tamis_filter *f, double distinct) {
    const uint64_t adds = __atomic_load_n(&f->adds, __ATOMIC_RELAXED);
    return adds != 0 && (double)adds < distinct ? (double)adds : distinct;
}

/* Computed from the table itself, so it is right after merging and overfilling too. */
static void block_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t lines = f->shape.word[BLOCK_LINES];
    const double count = (double)lines;
    struct block_totals totals;
    const uint32_t cpu = f->settings.portable ? 0 : tamis__cpu();
    block_path_for(&f->shape, cpu, f->settings.shared)->totals(f, &totals);
    state->fill = (double)totals.bits_set / (count * BLOCK_LINE_BITS);
    state->distinct = tamis__block_distinct(lines, (unsigned)f->shape.word[BLOCK_HASHES],
                                            state->fill, &state->distinct_error);
    const double fpr =
        totals.matches / count + block_keys(f, state->distinct) / count * BLOCK_SAME_SEED;
    state->fpr_now = fpr < 1 ? fpr : 1;
}

static uint64_t line_of(const tamis_filter *f, uint64_t hash) {
    return tamis__range(block_stir(hash), f->shape.word[BLOCK_LINES]) * BLOCK_LINE_BYTES;
}

static void block_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                          void *context) {
    take(context, f->table + line_of(f, hash), BLOCK_LINE_BYTES);
}

static void block_prefetch(const tamis_filter *f, uint64_t hash) {
    TAMIS_PREFETCH(f->table + line_of(f, hash));
}

const struct tamis__family tamis__block = {
    .kind = TAMIS_BLOCK,
    .name = "block",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT | TAMIS_CAN_SHARE,
    .object_size = sizeof(tamis_filter),
    .shape = block_shape,
    .fpr = block_fpr,
    .traits = block_traits,
    .check = block_check,
    .ops = block_ops,
    .state = block_state,
    .merge = tamis__merge_bits,
    .touches = block_touches,
    .in_place = true,
    .cells = tamis__block_cells,
    .prefetch = block_prefetch,
};
