/* counting.c - counting Bloom filter (Fan, Cao, Almeida, Broder, 2000): removes
 *
 * Each of the m bits is replaced by a 4-bit counter; a key has k of them (probe.h, the same
 * positions as in a bloom filter of m bits).  An add increments them, a removal decrements them,
 * and a key is possibly in the set if none is 0.
 *
 *     table   counter q is the low (q even) or high (q odd) half of byte q / 2; padded with
 *             zeros to a multiple of 8 bytes
 *     shape   word[0] m, word[1] k
 *
 * A counter that reaches 15 is saturated and never changes again: decrementing it could lose one
 * of the keys that share it.  So a key that was added 15 times stays for good.  By chance alone a
 * counter of a filter at capacity saturates once in 10^15.
 *
 * A removal first checks that the key's counters can be decremented; if one is 0 the key is
 * definitely absent, and nothing changes.  A key may have the same counter twice; then both
 * probes count.
 *
 * A lookup treats a counter that is not 0 as a set bit: probe_kernel.h serves both.
 *
 * Costs   four times the space of a bloom filter; an operation touches k lines. */
#include "core/bytes.h"
#include "core/popcount.h"
#include "family/probe_kernel.h"

enum { COUNTERS = BITS };

#define COUNTER_BITS 4
#define STUCK 15u
#define COUNTERS_MAX ((uint64_t)1 << 60)

static uint64_t counting_bytes(uint64_t counters) { return tamis__div_up(counters, 16) * 8; }

TAMIS_TEMPLATE unsigned counter_get(const uint8_t *table, uint64_t q) {
    return (unsigned)(table[q >> 1] >> (4 * (q & 1))) & 15u;
}

/* Adds `by` (+1 or -1) unless the counter is saturated; it must not be 0 if `by` is -1. */
TAMIS_TEMPLATE void counter_move(uint8_t *table, uint64_t q, int by) {
    const unsigned now = counter_get(table, q);
    if (now == STUCK) return;
    const unsigned shift = 4 * (q & 1);
    table[q >> 1] = (uint8_t)(table[q >> 1] + (unsigned)by * (1u << shift));
}

/* ---- one key */

TAMIS_TEMPLATE bool counting_up(tamis_filter *f, struct tamis__probe p) {
    /* In registers: stores to the table cannot alias them. */
    const uint64_t counters = f->shape.word[COUNTERS];
    uint8_t *table = f->table;
    bool fresh = false;
    for (uint64_t i = f->shape.word[HASHES]; i > 0; i--) {
        const uint64_t q = tamis__probe_next(&p, counters);
        fresh |= counter_get(table, q) == 0;
        counter_move(table, q, +1);
    }
    return fresh;
}

/* The minimum of its counters. */
static unsigned counting_count(const tamis_filter *f, uint64_t hash) {
    struct tamis__probe p = tamis__probe_first(hash);
    unsigned min = STUCK;
    for (uint64_t i = f->shape.word[HASHES]; i > 0; i--) {
        const unsigned n = counter_get(f->table, tamis__probe_next(&p, f->shape.word[COUNTERS]));
        if (n < min) min = n;
    }
    return min;
}

static bool counting_contains(const tamis_filter *f, uint64_t hash) {
    return bloom_test(f, tamis__probe_first(hash), f->shape.word[HASHES], &rule_counters, false);
}

static tamis_status counting_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    const bool was_new = counting_up(f, tamis__probe_first(hash));
    if (fresh != NULL) *fresh = was_new;
    return TAMIS_OK;
}

/* Increments the first `probes` counters again. */
static void counting_undo(tamis_filter *f, struct tamis__probe p, uint64_t probes) {
    while (probes-- > 0) {
        counter_move(f->table, tamis__probe_next(&p, f->shape.word[COUNTERS]), +1);
    }
}

/* A key that has one counter twice needs it to be 2, which only decrementing shows.  Decrementing
 * saturates no counter, so undoing restores all of them. */
static tamis_status counting_remove(tamis_filter *f, uint64_t hash) {
    const struct tamis__probe first = tamis__probe_first(hash);
    struct tamis__probe p = first;
    for (uint64_t i = 0; i < f->shape.word[HASHES]; i++) {
        const uint64_t q = tamis__probe_next(&p, f->shape.word[COUNTERS]);
        if (counter_get(f->table, q) == 0) {
            counting_undo(f, first, i);
            return TAMIS_E_ABSENT;
        }
        counter_move(f->table, q, -1);
    }
    return TAMIS_OK;
}

/* ---- many keys */

static size_t counting_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      size_t count, bool *answers) {
    return bloom_contains_batch(f, lo, hi, count, answers, &rule_counters, false);
}

#define ADDED 32 /* keys whose counters are prefetched together */

static void counting_fetch(const tamis_filter *f, struct tamis__probe p) {
    for (uint64_t i = f->shape.word[HASHES]; i > 0; i--) {
        TAMIS_PREFETCH_WRITE(f->table + (tamis__probe_next(&p, f->shape.word[COUNTERS]) >> 1));
    }
}

static void counting_prefetch(const tamis_filter *f, uint64_t hash) {
    counting_fetch(f, tamis__probe_first(hash));
}

static tamis_status counting_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                       size_t count, bool *fresh, size_t *done) {
    (void)hi;
    struct tamis__probe key[ADDED];
    for (size_t at = 0; at < count; at += ADDED) {
        const size_t n = count - at < ADDED ? count - at : ADDED;
        for (size_t i = 0; i < n; i++) {
            key[i] = tamis__probe_first(lo[at + i]);
            if (TAMIS_CAN_PREFETCH) counting_fetch(f, key[i]);
        }
        for (size_t i = 0; i < n; i++) {
            const bool was_new = counting_up(f, key[i]);
            if (fresh != NULL) fresh[at + i] = was_new;
        }
    }
    *done = count;
    return TAMIS_OK;
}

static const struct tamis__ops counting_table = {
    .path = "portable",
    .contains = counting_contains,
    .contains_batch = counting_contains_batch,
    .add = counting_add,
    .add_batch = counting_add_batch,
    .remove = counting_remove,
};

/* ---- sizing */

static tamis_status counting_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    struct tamis__places size;
    const tamis_status status = tamis__probe_size(spec, COUNTERS_MAX, false, &size);
    if (status != TAMIS_OK) return status;
    *shape = (struct tamis__shape){.word = {size.places, size.hashes},
                                   .table_bytes = counting_bytes(size.places)};
    return TAMIS_OK;
}

static struct tamis__places counting_places(const struct tamis__shape *shape) {
    return (struct tamis__places){shape->word[COUNTERS], (uint32_t)shape->word[HASHES], false};
}

static double counting_fpr(const struct tamis__shape *shape, double keys) {
    const struct tamis__places of = counting_places(shape);
    return tamis__probe_fpr(&of, keys);
}

static void counting_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->width = 4;
    traits->cache_lines = traits->hashes < 2 ? 1 : 2;
}

static bool counting_check(const struct tamis__shape *shape) {
    const uint64_t counters = shape->word[COUNTERS], hashes = shape->word[HASHES];
    return tamis__shape_ends(shape, HASHES) && counters >= 1 && counters <= COUNTERS_MAX &&
           hashes >= 1 && hashes <= TAMIS__PROBES_MAX &&
           shape->table_bytes == counting_bytes(counters);
}

/* ---- the whole table */

/* Bit 0 of each half byte that is not 0. */
static uint64_t counters_in_use(uint64_t word) {
    word |= word >> 2;
    word |= word >> 1;
    return word & UINT64_C(0x1111111111111111);
}

static void counting_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__places of = counting_places(&f->shape);
    const double counters = (double)of.places;
    uint64_t used = 0;
    for (uint64_t i = 0; i < f->shape.table_bytes; i += 8) {
        used += tamis__popcount(counters_in_use(tamis__load64(f->table + i)));
    }
    state->fill = (double)used / counters;
    state->distinct = tamis__probe_keys(counters, of.hashes, state->fill, &state->distinct_error);
    state->fpr_now = tamis__probe_fpr_of_fill(&of, state->distinct, state->fill);
}

static uint8_t sum_stuck(unsigned a, unsigned b) {
    const unsigned sum = a + b;
    return (uint8_t)(sum > STUCK ? STUCK : sum);
}

static tamis_status counting_merge(tamis_filter *into, const tamis_filter *from,
                                   tamis_merge_mode mode) {
    if (mode != TAMIS_UNION) return TAMIS_E_NO_MERGE;
    for (uint64_t i = 0; i < into->shape.table_bytes; i++) {
        const unsigned a = into->table[i], b = from->table[i];
        into->table[i] = (uint8_t)(sum_stuck(a & 15, b & 15) | sum_stuck(a >> 4, b >> 4) << 4);
    }
    return TAMIS_OK;
}

static tamis_status counting_convert_shape(const tamis_filter *f, tamis_kind kind,
                                           struct tamis__shape *shape) {
    if (kind != TAMIS_BLOOM) return TAMIS_E_CONVERT;
    const uint64_t bits = f->shape.word[COUNTERS];
    *shape = (struct tamis__shape){.word = {bits, f->shape.word[HASHES]},
                                   .table_bytes = tamis__div_up(bits, 64) * 8};
    return TAMIS_OK;
}

static void counting_convert_table(const tamis_filter *f, uint8_t *table) {
    for (uint64_t q = 0; q < f->shape.word[COUNTERS]; q++) {
        if (counter_get(f->table, q) != 0) table[q >> 3] = (uint8_t)(table[q >> 3] | 1u << (q & 7));
    }
}

static void counting_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                             void *context) {
    const struct tamis__places of = counting_places(&f->shape);
    tamis__probe_touches(f, &of, COUNTER_BITS, hash, take, context);
}

static void counting_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                           void *context) {
    const struct tamis__places of = counting_places(&f->shape);
    tamis__probe_cells(&of, COUNTER_BITS, hash, take, context);
}

const struct tamis__family tamis__counting = {
    .kind = TAMIS_COUNTING,
    .name = "counting",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE | TAMIS_CAN_UNION,
    .takes_bits = true,
    .object_size = sizeof(tamis_filter),
    .shape = counting_shape,
    .fpr = counting_fpr,
    .traits = counting_traits,
    .check = counting_check,
    .only_ops = &counting_table,
    .state = counting_state,
    .count = counting_count,
    .merge = counting_merge,
    .convert_shape = counting_convert_shape,
    .convert_table = counting_convert_table,
    .touches = counting_touches,
    .in_place = true,
    .cells = counting_cells,
    .prefetch = counting_prefetch,
};
