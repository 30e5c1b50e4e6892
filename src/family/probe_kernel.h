/* probe_kernel.h - setting and testing the bits of keys, for any scheme
 *
 * Included by the files that instantiate it: bloom.c with our own scheme, bloom_foreign.c with
 * those of other systems, counting.c to ask.  `scheme` and `shared` are constants at every call, so
 * each instance has its own arithmetic and no branch on them.
 *
 * A scheme turns a key's hash into a sequence of places (first, next).  Two systems keep their
 * bits in big-endian words: bit q of such a table is bit q ^ 56 of the same bytes in
 * order, so the table stays as it is in the file.  Our own tables have two schemes: places
 * anywhere, and places in pairs (probe.h), which are made two at a time. */
#ifndef TAMIS_FAMILY_PROBE_KERNEL_H
#define TAMIS_FAMILY_PROBE_KERNEL_H

#include <stdatomic.h>

#include "core/bytes.h"
#include "family/family.h"
#include "family/probe.h"
#include "family/probe_shape.h"
#include "family/scheme.h"

/* ---- the schemes */

/* A prime and a multiplier of its own making: DCSO. */
#define DCSO_PRIME UINT64_C(18446744073709551557)
#define DCSO_STEP UINT64_C(18446744073709550147)

#define BIG_ENDIAN_WORDS 56

/* Ours, too, but the shape tells it by PAIRED. */
#define SCHEME_PAIRED UINT32_MAX

/* Ours with counters of 4 bits (counting.c): one that is not 0 is taken for a bit that is set. */
#define SCHEME_COUNTERS (UINT32_MAX - 1)

TAMIS_TEMPLATE bool scheme_is_own(uint32_t scheme) {
    return scheme == TAMIS__SCHEME_OWN || scheme >= SCHEME_COUNTERS;
}

/* The byte that a place is in. */
TAMIS_TEMPLATE uint64_t scheme_byte(uint64_t q, uint32_t scheme) {
    return scheme == SCHEME_COUNTERS ? q >> 1 : q >> 3;
}

TAMIS_TEMPLATE struct tamis__probe scheme_first(struct tamis__hash h, uint32_t scheme) {
    const uint64_t a = (uint32_t)h.lo, b = h.lo >> 32;
    switch (scheme) {
        case TAMIS__SCHEME_WRAP32:
        case TAMIS__SCHEME_SUM64:
            return (struct tamis__probe){a, b, 0};
        case TAMIS__SCHEME_FOLD32:
            return (struct tamis__probe){a + b, b, 0};
        case TAMIS__SCHEME_MASK64:
            return (struct tamis__probe){h.lo, h.hi, 0};
        case TAMIS__SCHEME_FOLD64:
            return (struct tamis__probe){h.lo + h.hi, h.hi, 0};
        case TAMIS__SCHEME_DCSO:
            return (struct tamis__probe){h.lo % DCSO_PRIME, 0, 0};
        default:
            return tamis__probe_first(h.lo);
    }
}

/* The place of this probe; then goes on to the next. */
TAMIS_TEMPLATE uint64_t scheme_next(struct tamis__probe *p, uint64_t bits, uint32_t scheme) {
    if (scheme_is_own(scheme)) return tamis__probe_next(p, bits);
    if (scheme == TAMIS__SCHEME_DCSO) {
        p->x = p->x * DCSO_STEP % DCSO_PRIME;
        return p->x % bits;
    }
    const uint64_t x = p->x;
    const uint32_t low = (uint32_t)x;
    p->x += p->y;
    switch (scheme) {
        case TAMIS__SCHEME_WRAP32:
            return low % bits;
        case TAMIS__SCHEME_FOLD32:
            return (low >> 31 != 0 ? ~low : low) % bits ^ BIG_ENDIAN_WORDS;
        case TAMIS__SCHEME_MASK64:
            return (x & INT64_MAX) % bits ^ BIG_ENDIAN_WORDS;
        case TAMIS__SCHEME_FOLD64:
            return (x >> 63 != 0 ? ~x : x) % bits ^ BIG_ENDIAN_WORDS;
        default:
            return x % bits;
    }
}

/* The i-th hash of a batch; our own filters have no `hi`. */
TAMIS_TEMPLATE struct tamis__hash hash_at(const uint64_t *lo, const uint64_t *hi, size_t i) {
    return (struct tamis__hash){lo[i], hi == NULL ? 0 : hi[i]};
}

/* ---- one bit */

TAMIS_TEMPLATE bool bit_test(const uint8_t *table, uint64_t q, uint32_t scheme, bool shared) {
    if (scheme == SCHEME_COUNTERS) return (table[q >> 1] >> (4 * (q & 1)) & 15) != 0;
    if (!shared) return table[q >> 3] >> (q & 7) & 1;
    const uint64_t *word = (const uint64_t *)(const void *)table + (q >> 6);
    const uint64_t mask = TAMIS_LE64((uint64_t)1 << (q & 63));
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != 0;
}

/* Sets it and tells whether it was 0.  Shared: a bit that is set already is only read, so
 * that hot keys do not make the threads fight for lines.  Our own tables are whole words: to set
 * a bit of a word takes fewer instructions than of a byte (to test it takes more). */
TAMIS_TEMPLATE bool bit_set(uint8_t *table, uint64_t q, uint32_t scheme, bool shared) {
    uint64_t *word = (uint64_t *)(void *)table + (q >> 6);
    const uint64_t word_mask = TAMIS_LE64((uint64_t)1 << (q & 63));
    const uint8_t mask = (uint8_t)(1u << (q & 7));
    bool was_free;
    if (shared) {
        if (bit_test(table, q, scheme, true)) return false;
        was_free = (__atomic_fetch_or(word, word_mask, __ATOMIC_RELAXED) & word_mask) == 0;
    } else if (scheme_is_own(scheme)) {
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
                               uint32_t scheme, bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    for (; scheme == SCHEME_PAIRED && probes > 1; probes -= 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        const unsigned first = bit_test(f->table, pair.first, scheme, shared);
        if (!(first & bit_test(f->table, pair.second, scheme, shared))) return false;
    }
    if (scheme == SCHEME_PAIRED && probes > 0) {
        return bit_test(f->table, tamis__probe_pair(&p, bits).first, scheme, shared);
    }
    while (probes-- > 0) {
        if (!bit_test(f->table, scheme_next(&p, bits, scheme), scheme, shared)) return false;
    }
    return true;
}

TAMIS_TEMPLATE bool bloom_set(tamis_filter *f, struct tamis__probe p, uint32_t scheme,
                              bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    uint64_t probes = f->shape.word[HASHES];
    bool fresh = false;
    for (; scheme == SCHEME_PAIRED && probes > 0; probes -= probes < 2 ? 1 : 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        fresh |= bit_set(f->table, pair.first, scheme, shared);
        if (probes > 1) fresh |= bit_set(f->table, pair.second, scheme, shared);
    }
    for (; probes > 0; probes--) {
        fresh |= bit_set(f->table, scheme_next(&p, bits, scheme), scheme, shared);
    }
    return fresh;
}

TAMIS_TEMPLATE tamis_status bloom_add(tamis_filter *f, struct tamis__hash h, bool *fresh,
                                      uint32_t scheme, bool shared) {
    const bool was_new = bloom_set(f, scheme_first(h, scheme), scheme, shared);
    if (fresh != NULL) *fresh = was_new;
    return TAMIS_OK;
}

/* ---- many keys
 *
 * A group of keys goes through in steps, so that the lines of all of them are fetched at once
 * and no step has a branch on what the table holds: of a random key half of the bits are set,
 * and a wrong guess costs as much as four probes.  Places are written down, as to compute them
 * again takes longer. */

#define GROUP 128   /* keys in a group, fewer if they have many probes: */
#define PLACES 1024 /* so many places are kept for a group */
#define FIRST 2     /* probes that are made for every key; three of four absent keys fail here */

/* 0 for keys with more probes than are kept. */
TAMIS_TEMPLATE size_t group_size(uint64_t probes) {
    const uint64_t most = PLACES / probes;
    return most < GROUP ? (size_t)most : GROUP;
}

TAMIS_TEMPLATE void fetch_place(const tamis_filter *f, uint64_t place, uint32_t scheme,
                                bool write) {
    const uint8_t *at = f->table + scheme_byte(place, scheme);
    if (write) TAMIS_PREFETCH_WRITE(at);
    if (!write) TAMIS_PREFETCH(at);
}

/* The next `count` places of a key, written down and fetched; in a near cache only written.
 * The state goes in and out by value: behind a pointer it would be stored at every probe. */
TAMIS_TEMPLATE struct tamis__probe write_places(const tamis_filter *f, struct tamis__probe p,
                                                uint64_t count, uint64_t *places, uint32_t scheme,
                                                bool fetch, bool write) {
    const uint64_t bits = f->shape.word[BITS];
    for (uint64_t i = 0; scheme == SCHEME_PAIRED && i < count; i += 2) {
        const struct tamis__pair pair = tamis__probe_pair(&p, bits);
        places[i] = pair.first;
        if (i + 1 < count) places[i + 1] = pair.second;
        if (fetch) fetch_place(f, pair.first, scheme, write);
    }
    for (uint64_t i = 0; scheme != SCHEME_PAIRED && i < count; i++) {
        places[i] = scheme_next(&p, bits, scheme);
        if (fetch) fetch_place(f, places[i], scheme, write);
    }
    return p;
}

/* Are the bits at all of them set? */
TAMIS_TEMPLATE bool test_places(const tamis_filter *f, const uint64_t *places, uint64_t count,
                                uint32_t scheme, bool shared) {
    unsigned all = 1;
    for (uint64_t i = 0; i < count; i++) all &= bit_test(f->table, places[i], scheme, shared);
    return all;
}

TAMIS_TEMPLATE size_t contains_group(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers, uint32_t scheme, bool shared,
                                     bool fetch) {
    const uint64_t rest = f->shape.word[HASHES] - FIRST;
    struct tamis__probe key[GROUP];
    uint64_t places[PLACES];
    size_t left[GROUP], passed = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = scheme_first(hash_at(lo, hi, i), scheme);
        key[i] = write_places(f, p, FIRST, places + i * FIRST, scheme, fetch, false);
    }
    for (size_t i = 0; i < count; i++) {
        const bool maybe = test_places(f, places + i * FIRST, FIRST, scheme, shared);
        if (answers != NULL) answers[i] = maybe;
        left[passed] = i;
        passed += maybe;
    }
    for (size_t j = 0; j < passed; j++) {
        write_places(f, key[left[j]], rest, places + j * rest, scheme, fetch, false);
    }
    for (size_t j = 0; j < passed; j++) {
        const bool maybe = test_places(f, places + j * rest, rest, scheme, shared);
        if (answers != NULL) answers[left[j]] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE size_t contains_groups(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      size_t count, bool *answers, uint32_t scheme, bool shared,
                                      bool fetch) {
    const size_t group = group_size(f->shape.word[HASHES]);
    size_t found = 0;
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        found += contains_group(f, lo + at, hi == NULL ? NULL : hi + at, n,
                                answers == NULL ? NULL : answers + at, scheme, shared, fetch);
    }
    return found;
}

/* Keys of a single probe, or of more than are kept. */
TAMIS_TEMPLATE size_t contains_each(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers, uint32_t scheme, bool shared) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = scheme_first(hash_at(lo, hi, i), scheme);
        const bool maybe = bloom_test(f, p, f->shape.word[HASHES], scheme, shared);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE size_t bloom_contains_batch(const tamis_filter *f, const uint64_t *lo,
                                           const uint64_t *hi, size_t count, bool *answers,
                                           uint32_t scheme, bool shared) {
    const uint64_t probes = f->shape.word[HASHES];
    if (probes < FIRST || probes > PLACES) {
        return contains_each(f, lo, hi, count, answers, scheme, shared);
    }
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_groups(f, lo, hi, count, answers, scheme, shared, true)
               : contains_groups(f, lo, hi, count, answers, scheme, shared, false);
}

/* Sets the bits at all of them; were some not? */
TAMIS_TEMPLATE bool set_places(tamis_filter *f, const uint64_t *places, uint64_t count,
                               uint32_t scheme, bool shared) {
    bool fresh = false;
    for (uint64_t i = 0; i < count; i++) fresh |= bit_set(f->table, places[i], scheme, shared);
    return fresh;
}

TAMIS_TEMPLATE void add_group(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, uint32_t scheme, bool shared) {
    const uint64_t probes = f->shape.word[HASHES];
    uint64_t places[PLACES];
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = scheme_first(hash_at(lo, hi, i), scheme);
        write_places(f, p, probes, places + i * probes, scheme, true, true);
    }
    if (fresh == NULL) { /* to find out would cost a third more */
        set_places(f, places, count * probes, scheme, shared);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fresh[i] = set_places(f, places + i * probes, probes, scheme, shared);
    }
}

/* In a near cache, or with more probes than are kept. */
TAMIS_TEMPLATE void add_each(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                             bool *fresh, uint32_t scheme, bool shared) {
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = scheme_first(hash_at(lo, hi, i), scheme);
        const bool was_new = bloom_set(f, p, scheme, shared);
        if (fresh != NULL) fresh[i] = was_new;
    }
}

TAMIS_TEMPLATE tamis_status bloom_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                            size_t count, bool *fresh, size_t *done,
                                            uint32_t scheme, bool shared) {
    const size_t group = group_size(f->shape.word[HASHES]);
    *done = count;
    if (group == 0 || f->shape.table_bytes < TAMIS__PROBE_FETCHED) {
        if (fresh == NULL) {
            add_each(f, lo, hi, count, NULL, scheme, shared);
        } else {
            add_each(f, lo, hi, count, fresh, scheme, shared);
        }
        return TAMIS_OK;
    }
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        add_group(f, lo + at, hi == NULL ? NULL : hi + at, n, fresh == NULL ? NULL : fresh + at,
                  scheme, shared);
    }
    return TAMIS_OK;
}

/* ---- an instance: wrappers and a table, no logic */

#define BLOOM_INSTANCE(NAME, SCHEME, SHARED)                                                      \
    static bool NAME##_contains(const tamis_filter *f, struct tamis__hash h) {                    \
        return bloom_test(f, scheme_first(h, SCHEME), f->shape.word[HASHES], SCHEME, SHARED);     \
    }                                                                                             \
    static size_t NAME##_contains_batch(const tamis_filter *f, const uint64_t *lo,                \
                                        const uint64_t *hi, size_t count, bool *answers) {        \
        return bloom_contains_batch(f, lo, hi, count, answers, SCHEME, SHARED);                   \
    }                                                                                             \
    static tamis_status NAME##_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {          \
        return bloom_add(f, h, fresh, SCHEME, SHARED);                                            \
    }                                                                                             \
    static tamis_status NAME##_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                         size_t count, bool *fresh, size_t *done) {               \
        return bloom_add_batch(f, lo, hi, count, fresh, done, SCHEME, SHARED);                    \
    }                                                                                             \
    static const struct tamis__ops NAME##_ops = {                                                 \
        .path = "portable",                                                                       \
        .contains = NAME##_contains,                                                              \
        .contains_batch = NAME##_contains_batch,                                                  \
        .add = NAME##_add,                                                                        \
        .add_batch = NAME##_add_batch,                                                            \
    };

#endif
