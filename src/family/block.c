/* block.c - Bloom bits in one cache line (Putze, Sanders, Singler, 2007), over all its lanes
 *
 * The fastest filter that takes adds: one line is read or written for a key, the bits of a key
 * are made and tested in a few vector instructions, and threads can add without a lock.  It
 * pays with a few bits, because some lines get more keys than others: 5 % over a Bloom filter
 * at a rate of 1 %, 9 % at 0.1 %, 36 % at 1e-6.
 *
 *     block.h          the layout of the table
 *     block_kernel.h   the operations, written once
 *     block_portable.c, block_avx2.c, block_neon.c, block_shared.c   their instruction sets
 *     block_model.c    the rate from lines, hashes and keys
 *     block.c          sizes, what a filter knows of itself, merging
 *
 * Shape   word[0] lines, word[1] hashes; table_bytes = 64 * lines. */
#include <math.h>
#include <string.h>

#include "core/cpu.h"
#include "family/block.h"
#include "family/block_model.h"
#include "family/sizing.h"

const uint64_t tamis__block_ones[BLOCK_LANES][2 * BLOCK_LANES] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
    {1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0},
    {1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0},
    {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0},
    {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0},
};

/* ---- sizing */

/* A rate that takes more bits for a key is refused.  It would be ruled by equal seeds, and
 * every halving of it would double the table.  1e-8 can be had for any number of keys. */
#define BLOCK_KEY_BITS_MAX 120
#define BLOCK_LINES_MAX ((uint64_t)1 << 56)

struct block_goal {
    double keys, rate;
    unsigned hashes;
};

/* Is the rate kept by all but the most unlucky sets of keys?  In small tables of a low rate it
 * comes from a few lines that are fuller than others, so it is far from normally distributed;
 * its logarithm is closer to that.  (With mean + 4 deviations one set of 135 was over the rate
 * at 1000 keys and 1e-6, by up to 18 times; so, one of 2400.) */
static bool block_meets(uint64_t lines, const void *context) {
    const struct block_goal *goal = (const struct block_goal *)context;
    const struct tamis__block_forecast f = tamis__block_forecast(lines, goal->hashes, goal->keys);
    if (f.mean <= 0) return true;
    const double relative = f.deviation / f.mean, variance = log1p(relative * relative);
    return f.mean * exp(TAMIS__SIGMAS * sqrt(variance) - variance / 2) <= goal->rate;
}

/* The lines of so many keys at BLOCK_KEY_BITS_MAX bits each; their bits may be more than 2^64. */
static uint64_t block_lines_most(uint64_t keys) {
    return keys / BLOCK_LINE_BITS * BLOCK_KEY_BITS_MAX +
           keys % BLOCK_LINE_BITS * BLOCK_KEY_BITS_MAX / BLOCK_LINE_BITS + 1;
}

/* The number of hashes that needs the fewest lines; but 8 or 16, which have no rest and so are
 * about a fifth faster in the cache, if they need at most 2 % more. */
static tamis_status block_shape(const struct tamis__want *want, struct tamis__shape *shape) {
    static const uint8_t order[BLOCK_HASHES_MAX] = {8, 16, 1,  2,  3,  4,  5,  6,
                                                    7, 9,  10, 11, 12, 13, 14, 15};
    if (want->bits != 0 || want->hashes != 0) return TAMIS_E_ARGUMENT;
    if (want->capacity / BLOCK_LINE_BITS >= BLOCK_LINES_MAX / BLOCK_KEY_BITS_MAX) {
        return TAMIS_E_TOO_BIG;
    }
    struct block_goal goal = {.keys = (double)want->capacity, .rate = want->rate};
    uint64_t best = 0, most = block_lines_most(want->capacity);
    const uint64_t near = (uint64_t)(goal.keys * log2(1 / goal.rate) * 1.7 / BLOCK_LINE_BITS);
    unsigned hashes = 0;
    for (unsigned i = 0; i < BLOCK_HASHES_MAX && most > 0; i++) {
        goal.hashes = order[i];
        const uint64_t lines = tamis__smallest(best == 0 ? near : most, most, block_meets, &goal);
        if (lines > most) continue;
        best = lines;
        hashes = goal.hashes;
        most = lines - 1;
        if (hashes % BLOCK_LANES == 0) most -= most / 50;
    }
    if (best == 0) return TAMIS_E_TOO_FINE;
    *shape = (struct tamis__shape){.word = {best, hashes}, .table_bytes = best * BLOCK_LINE_BYTES};
    return TAMIS_OK;
}

static double block_rate(const struct tamis__shape *shape, double keys) {
    const unsigned hashes = (unsigned)shape->word[BLOCK_HASHES];
    return tamis__block_forecast(shape->word[BLOCK_LINES], hashes, keys).mean;
}

static void block_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    *traits = (struct tamis__traits){
        .hashes = (uint32_t)shape->word[BLOCK_HASHES],
        .cache_lines = 1,
    };
}

/* ---- life */

static bool block_check(const struct tamis__shape *shape) {
    const uint64_t lines = shape->word[BLOCK_LINES], hashes = shape->word[BLOCK_HASHES];
    for (unsigned i = BLOCK_WORDS; i < TAMIS__SHAPE_WORDS; i++) {
        if (shape->word[i] != 0) return false;
    }
    return lines >= 1 && lines <= BLOCK_LINES_MAX && hashes >= 1 && hashes <= BLOCK_HASHES_MAX &&
           shape->table_bytes == lines * BLOCK_LINE_BYTES;
}

static enum block_form block_form_of(uint64_t hashes) {
    if (hashes < BLOCK_LANES) return BLOCK_REST;
    if (hashes == BLOCK_LANES) return BLOCK_ROUND;
    return hashes < 2 * BLOCK_LANES ? BLOCK_ROUND_REST : BLOCK_TWO_ROUNDS;
}

static const struct block_path *block_path_for(uint32_t cpu, bool shared) {
    if (shared) return &tamis__block_shared;
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return &tamis__block_avx2;
#endif
#if defined(TAMIS_HAVE_NEON)
    if (cpu & TAMIS__CPU_NEON) return &tamis__block_neon;
#endif
    (void)cpu;
    return &tamis__block_portable;
}

static const struct tamis__ops *block_ops(const struct tamis__shape *shape, uint32_t cpu,
                                          bool shared) {
    return &block_path_for(cpu, shared)->ops[block_form_of(shape->word[BLOCK_HASHES])];
}

/* ---- the whole table */

/* Keys that may have the seed of another: no more than were added, where that is known.  Of a few
 * keys the estimate is off by some percent, and the lowest rates are ruled by this alone. */
static double block_keys(const tamis_filter *f, double distinct) {
    const uint64_t adds = __atomic_load_n(&f->adds, __ATOMIC_RELAXED);
    return adds != 0 && (double)adds < distinct ? (double)adds : distinct;
}

/* The rate is that of the very table, so it is right after merging and overfilling too. */
static void block_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t lines = f->shape.word[BLOCK_LINES];
    const double count = (double)lines;
    struct block_tally tally;
    block_path_for(f->portable ? 0 : tamis__cpu(), f->shared)->tally(f, &tally);
    *state =
        (struct tamis__state){.fill = (double)tally.ones / (count * BLOCK_LINE_BITS), .stages = 1};
    state->distinct = tamis__block_distinct(lines, (unsigned)f->shape.word[BLOCK_HASHES],
                                            state->fill, &state->distinct_error);
    const double rate =
        tally.matches / count + block_keys(f, state->distinct) / count * BLOCK_SAME_SEED;
    state->rate_now = rate < 1 ? rate : 1;
}

/* A word in the machine's byte order, for AND and OR.  Threads may be adding to a shared one. */
static uint64_t block_raw_word(const tamis_filter *f, uint64_t i) {
    const uint8_t *at = f->table + 8 * i;
    if (f->shared) return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static tamis_status block_merge(tamis_filter *into, const tamis_filter *from,
                                tamis_merge_mode mode) {
    for (uint64_t i = 0; i < into->shape.table_bytes / 8; i++) {
        const uint64_t a = block_raw_word(into, i), b = block_raw_word(from, i);
        const uint64_t word = mode == TAMIS_UNION ? a | b : a & b;
        memcpy(into->table + 8 * i, &word, 8);
    }
    return TAMIS_OK;
}

static uint64_t line_of(const tamis_filter *f, uint64_t hash) {
    return tamis__range(block_stir(hash), f->shape.word[BLOCK_LINES]) * BLOCK_LINE_BYTES;
}

static size_t block_touched(const tamis_filter *f, uint64_t hash,
                            uint64_t offsets[TAMIS__TOUCHED_MOST]) {
    offsets[0] = line_of(f, hash);
    return 1;
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
    .rate = block_rate,
    .traits = block_traits,
    .check = block_check,
    .ops = block_ops,
    .state = block_state,
    .merge = block_merge,
    .touched = block_touched,
    .prefetch = block_prefetch,
};
