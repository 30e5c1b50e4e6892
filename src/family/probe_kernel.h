/* probe_kernel.h - sets and tests the bits of keys, for any probe rule
 *
 * A template over a rule, which turns the hash of a key into a sequence of positions in the table.
 * bloom.c instantiates it with our two rules (positions anywhere, and in pairs), counting.c for
 * queries with one over counters, src/compat with the rules of other systems.  `rule` and `shared`
 * are constants at every call: each instance has its own arithmetic and no branch on them. */
#ifndef TAMIS_FAMILY_PROBE_KERNEL_H
#define TAMIS_FAMILY_PROBE_KERNEL_H

#include <stdatomic.h>

#include "core/bytes.h"
#include "family/probe.h"
#include "family/probe_shape.h"
#include "filter/family.h"

/* ---- rules */

struct tamis__probe_rule {
    struct tamis__probe (*first)(struct tamis__hash h);
    /* The position of this probe; then moves on to the next. */
    uint64_t (*next)(struct tamis__probe *p, uint64_t positions);
    bool paired;   /* two positions of a cache line at a time, by tamis__probe_pair */
    bool counters; /* positions are 4-bit counters: one that is not 0 is a set bit */
    bool words;    /* the table is whole 64-bit words */
};

TAMIS_TEMPLATE struct tamis__probe rule_own_first(struct tamis__hash h) {
    return tamis__probe_first(h.lo);
}

static const struct tamis__probe_rule rule_own = {rule_own_first, tamis__probe_next, .words = true};
static const struct tamis__probe_rule rule_pairs = {rule_own_first, tamis__probe_next,
                                                    .paired = true, .words = true};
static const struct tamis__probe_rule rule_counters = {rule_own_first, tamis__probe_next,
                                                       .counters = true};

/* The byte of a position. */
TAMIS_TEMPLATE uint64_t rule_byte(uint64_t q, const struct tamis__probe_rule *rule) {
    return rule->counters ? q >> 1 : q >> 3;
}

/* The i-th hash of a batch; our own filters have no `hi`. */
TAMIS_TEMPLATE struct tamis__hash hash_at(const uint64_t *lo, const uint64_t *hi, size_t i) {
    return (struct tamis__hash){lo[i], hi == NULL ? 0 : hi[i]};
}

/* ---- one bit */

TAMIS_TEMPLATE bool bit_test(const uint8_t *table, uint64_t q, const struct tamis__probe_rule *rule,
                             bool shared) {
    if (rule->counters) return (table[q >> 1] >> (4 * (q & 1)) & 15) != 0;
    if (!shared) return table[q >> 3] >> (q & 7) & 1;
    const uint64_t *word = (const uint64_t *)(const void *)table + (q >> 6);
    const uint64_t mask = TAMIS_LE64((uint64_t)1 << (q & 63));
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != 0;
}

/* Sets it and returns whether it was 0. Shared: a bit that is set already is only read, so that
 * threads do not contend for the cache lines of hot keys. In a table of whole words, setting a bit
 * of a word takes fewer instructions than of a byte (testing it takes more). */
TAMIS_TEMPLATE bool bit_set(uint8_t *table, uint64_t q, const struct tamis__probe_rule *rule,
                            bool shared) {
    uint64_t *word = (uint64_t *)(void *)table + (q >> 6);
    const uint64_t word_mask = TAMIS_LE64((uint64_t)1 << (q & 63));
    const uint8_t mask = (uint8_t)(1u << (q & 7));
    bool was_free;
    if (shared) {
        if (bit_test(table, q, rule, true)) return false;
        was_free = (__atomic_fetch_or(word, word_mask, __ATOMIC_RELAXED) & word_mask) == 0;
    } else if (rule->words) {
        was_free = (*word & word_mask) == 0;
        *word |= word_mask;
    } else {
        was_free = (table[q >> 3] & mask) == 0;
        table[q >> 3] |= mask;
    }
    return was_free;
}

/* ---- one key */

TAMIS_TEMPLATE bool bloom_test(const tamis_filter *f, struct tamis__probe p, uint64_t probes,
                               const struct tamis__probe_rule *rule, bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    for (; rule->paired && probes > 1; probes -= 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        const unsigned first = bit_test(f->table, pair.first, rule, shared);
        if (!(first & bit_test(f->table, pair.second, rule, shared))) return false;
    }
    if (rule->paired && probes > 0) {
        return bit_test(f->table, tamis__probe_pair(&p, bits).first, rule, shared);
    }
    while (probes-- > 0) {
        if (!bit_test(f->table, rule->next(&p, bits), rule, shared)) return false;
    }
    return true;
}

TAMIS_TEMPLATE bool bloom_set(tamis_filter *f, struct tamis__probe p,
                              const struct tamis__probe_rule *rule, bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    uint64_t probes = f->shape.word[HASHES];
    bool fresh = false;
    for (; rule->paired && probes > 0; probes -= probes < 2 ? 1 : 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        fresh |= bit_set(f->table, pair.first, rule, shared);
        if (probes > 1) fresh |= bit_set(f->table, pair.second, rule, shared);
    }
    for (; probes > 0; probes--) {
        fresh |= bit_set(f->table, rule->next(&p, bits), rule, shared);
    }
    return fresh;
}

TAMIS_TEMPLATE tamis_status bloom_add(tamis_filter *f, struct tamis__hash h, bool *fresh,
                                      const struct tamis__probe_rule *rule, bool shared) {
    const bool was_new = bloom_set(f, rule->first(h), rule, shared);
    if (fresh != NULL) *fresh = was_new;
    return TAMIS_OK;
}

/* ---- many keys
 *
 * A group of keys is processed in steps, so that the cache lines of all of them are fetched at once
 * and no step branches on the contents of the table: half of the bits of a random key are set, and
 * a misprediction costs as much as four probes.  Positions are stored, because computing them again
 * takes longer. */

#define FIRST 2 /* probes that are made for every key; three of four absent keys fail here */

/* 0 for keys with more probes than are stored. */
TAMIS_TEMPLATE size_t group_size(uint64_t probes) {
    const uint64_t max = TAMIS__PROBED_POSITIONS / probes;
    return max < TAMIS__PROBED_KEYS ? (size_t)max : TAMIS__PROBED_KEYS;
}

TAMIS_TEMPLATE void fetch_position(const tamis_filter *f, uint64_t position,
                                   const struct tamis__probe_rule *rule, bool write) {
    const uint8_t *at = f->table + rule_byte(position, rule);
    if (write) TAMIS_PREFETCH_WRITE(at);
    if (!write) TAMIS_PREFETCH(at);
}

/* Stores the next `count` positions of a key, and prefetches them unless the table is in a near
 * cache. The state is passed by value: behind a pointer it would be stored at every probe. */
TAMIS_TEMPLATE struct tamis__probe write_positions(const tamis_filter *f, struct tamis__probe p,
                                                   uint64_t count, uint64_t *positions,
                                                   const struct tamis__probe_rule *rule, bool fetch,
                                                   bool write) {
    const uint64_t bits = f->shape.word[BITS];
    for (uint64_t i = 0; rule->paired && i < count; i += 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        positions[i] = pair.first;
        if (i + 1 < count) positions[i + 1] = pair.second;
        if (fetch) fetch_position(f, pair.first, rule, write);
    }
    for (uint64_t i = 0; !rule->paired && i < count; i++) {
        positions[i] = rule->next(&p, bits);
        if (fetch) fetch_position(f, positions[i], rule, write);
    }
    return p;
}

/* Are all bits at these positions set? */
TAMIS_TEMPLATE bool test_positions(const tamis_filter *f, const uint64_t *positions, uint64_t count,
                                   const struct tamis__probe_rule *rule, bool shared) {
    unsigned all = 1;
    for (uint64_t i = 0; i < count; i++) all &= bit_test(f->table, positions[i], rule, shared);
    return all;
}

TAMIS_TEMPLATE size_t contains_group(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers,
                                     const struct tamis__probe_rule *rule, bool shared,
                                     bool fetch) {
    const uint64_t rest = f->shape.word[HASHES] - FIRST;
    struct tamis__probe key[TAMIS__PROBED_KEYS];
    uint64_t positions[TAMIS__PROBED_POSITIONS];
    size_t left[TAMIS__PROBED_KEYS], passed = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = rule->first(hash_at(lo, hi, i));
        key[i] = write_positions(f, p, FIRST, positions + i * FIRST, rule, fetch, false);
    }
    for (size_t i = 0; i < count; i++) {
        const bool maybe = test_positions(f, positions + i * FIRST, FIRST, rule, shared);
        if (answers != NULL) answers[i] = maybe;
        left[passed] = i;
        passed += maybe;
    }
    for (size_t j = 0; j < passed; j++) {
        write_positions(f, key[left[j]], rest, positions + j * rest, rule, fetch, false);
    }
    for (size_t j = 0; j < passed; j++) {
        const bool maybe = test_positions(f, positions + j * rest, rest, rule, shared);
        if (answers != NULL) answers[left[j]] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE size_t contains_groups(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      size_t count, bool *answers,
                                      const struct tamis__probe_rule *rule, bool shared,
                                      bool fetch) {
    const size_t group = group_size(f->shape.word[HASHES]);
    size_t found = 0;
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        found += contains_group(f, lo + at, hi == NULL ? NULL : hi + at, n,
                                answers == NULL ? NULL : answers + at, rule, shared, fetch);
    }
    return found;
}

/* Keys of a single probe, or of more than are stored; all where nothing can be prefetched. */
TAMIS_TEMPLATE size_t contains_each(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers,
                                    const struct tamis__probe_rule *rule, bool shared) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = rule->first(hash_at(lo, hi, i));
        const bool maybe = bloom_test(f, p, f->shape.word[HASHES], rule, shared);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE size_t bloom_contains_batch(const tamis_filter *f, const uint64_t *lo,
                                           const uint64_t *hi, size_t count, bool *answers,
                                           const struct tamis__probe_rule *rule, bool shared) {
    const uint64_t probes = f->shape.word[HASHES];
    if (!TAMIS_CAN_PREFETCH || probes < FIRST || probes > TAMIS__PROBED_POSITIONS) {
        return contains_each(f, lo, hi, count, answers, rule, shared);
    }
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_groups(f, lo, hi, count, answers, rule, shared, true)
               : contains_groups(f, lo, hi, count, answers, rule, shared, false);
}

/* Sets the bits at these positions; were some not set? */
TAMIS_TEMPLATE bool set_positions(tamis_filter *f, const uint64_t *positions, uint64_t count,
                                  const struct tamis__probe_rule *rule, bool shared) {
    bool fresh = false;
    for (uint64_t i = 0; i < count; i++) fresh |= bit_set(f->table, positions[i], rule, shared);
    return fresh;
}

TAMIS_TEMPLATE void add_group(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, const struct tamis__probe_rule *rule, bool shared) {
    const uint64_t probes = f->shape.word[HASHES];
    uint64_t positions[TAMIS__PROBED_POSITIONS];
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = rule->first(hash_at(lo, hi, i));
        write_positions(f, p, probes, positions + i * probes, rule, true, true);
    }
    if (fresh == NULL) { /* finding out would cost a third more */
        set_positions(f, positions, count * probes, rule, shared);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fresh[i] = set_positions(f, positions + i * probes, probes, rule, shared);
    }
}

/* In a near cache, or with more probes than are stored. */
TAMIS_TEMPLATE void add_each(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                             bool *fresh, const struct tamis__probe_rule *rule, bool shared) {
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = rule->first(hash_at(lo, hi, i));
        const bool was_new = bloom_set(f, p, rule, shared);
        if (fresh != NULL) fresh[i] = was_new;
    }
}

TAMIS_TEMPLATE tamis_status bloom_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                            size_t count, bool *fresh, size_t *done,
                                            const struct tamis__probe_rule *rule, bool shared) {
    const size_t group = group_size(f->shape.word[HASHES]);
    *done = count;
    if (!TAMIS_CAN_PREFETCH || group == 0 || f->shape.table_bytes < TAMIS__PROBE_FETCHED) {
        if (fresh == NULL) {
            add_each(f, lo, hi, count, NULL, rule, shared);
        } else {
            add_each(f, lo, hi, count, fresh, rule, shared);
        }
        return TAMIS_OK;
    }
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        add_group(f, lo + at, hi == NULL ? NULL : hi + at, n, fresh == NULL ? NULL : fresh + at,
                  rule, shared);
    }
    return TAMIS_OK;
}

/* ---- an instance: wrappers and a table, no logic */

#define BLOOM_BATCHES(NAME, RULE, SHARED)                                                         \
    static size_t NAME##_contains_batch(const tamis_filter *f, const uint64_t *lo,                \
                                        const uint64_t *hi, size_t count, bool *answers) {        \
        return bloom_contains_batch(f, lo, hi, count, answers, RULE, SHARED);                     \
    }                                                                                             \
    static tamis_status NAME##_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                         size_t count, bool *fresh, size_t *done) {               \
        return bloom_add_batch(f, lo, hi, count, fresh, done, RULE, SHARED);                      \
    }

#define BLOOM_INSTANCE(NAME, RULE, SHARED)                                          \
    BLOOM_BATCHES(NAME, RULE, SHARED)                                               \
    static bool NAME##_contains(const tamis_filter *f, uint64_t hash) {             \
        const struct tamis__probe p = (RULE)->first((struct tamis__hash){hash, 0}); \
        return bloom_test(f, p, f->shape.word[HASHES], RULE, SHARED);               \
    }                                                                               \
    static tamis_status NAME##_add(tamis_filter *f, uint64_t hash, bool *fresh) {   \
        return bloom_add(f, (struct tamis__hash){hash, 0}, fresh, RULE, SHARED);    \
    }                                                                               \
    static const struct tamis__ops NAME##_ops = {                                   \
        .path = "portable",                                                         \
        .contains = NAME##_contains,                                                \
        .contains_batch = NAME##_contains_batch,                                    \
        .add = NAME##_add,                                                          \
        .add_batch = NAME##_add_batch,                                              \
    };

/* The same for keys of 128 bits. */
#define BLOOM_INSTANCE_WIDE(NAME, RULE, SHARED)                                          \
    BLOOM_BATCHES(NAME, RULE, SHARED)                                                    \
    static bool NAME##_contains(const tamis_filter *f, struct tamis__hash h) {           \
        return bloom_test(f, (RULE)->first(h), f->shape.word[HASHES], RULE, SHARED);     \
    }                                                                                    \
    static tamis_status NAME##_add(tamis_filter *f, struct tamis__hash h, bool *fresh) { \
        return bloom_add(f, h, fresh, RULE, SHARED);                                     \
    }                                                                                    \
    static const struct tamis__ops NAME##_ops = {                                        \
        .path = "portable",                                                              \
        .contains_wide = NAME##_contains,                                                \
        .contains_batch = NAME##_contains_batch,                                         \
        .add_wide = NAME##_add,                                                          \
        .add_batch = NAME##_add_batch,                                                   \
    };

#endif
