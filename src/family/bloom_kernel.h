/* bloom_kernel.h - setting and testing the bits of keys, for any scheme
 *
 * Included by the files that instantiate it: bloom.c with our own scheme, bloom_foreign.c with
 * those of other systems.  `scheme` and `shared` are constants at every call, so each instance
 * has its own arithmetic and no branch on them.
 *
 * A scheme turns a key's hash into a sequence of places (first, next).  Two systems keep their
 * bits in big-endian words: bit q of such a table is bit q ^ 56 of the same bytes in
 * order, so the table stays as it is in the file. */
#ifndef TAMIS_FAMILY_BLOOM_KERNEL_H
#define TAMIS_FAMILY_BLOOM_KERNEL_H

#include <stdatomic.h>

#include "core/bytes.h"
#include "family/family.h"
#include "family/probe.h"
#include "family/scheme.h"

enum { BITS, HASHES, NOTES };

/* ---- the schemes */

/* A prime and a multiplier of its own making: DCSO. */
#define DCSO_PRIME UINT64_C(18446744073709551557)
#define DCSO_STEP UINT64_C(18446744073709550147)

#define BIG_ENDIAN_WORDS 56

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
    if (scheme == TAMIS__SCHEME_OWN) return tamis__probe_next(p, bits);
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

TAMIS_TEMPLATE bool bit_test(const uint8_t *table, uint64_t q, bool shared) {
    if (!shared) return table[q >> 3] >> (q & 7) & 1;
    const uint64_t *word = (const uint64_t *)(const void *)table + (q >> 6);
    const uint64_t mask = TAMIS_LE64((uint64_t)1 << (q & 63));
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != 0;
}

/* Sets it and tells whether it was 0.  Shared: a bit that is set already is only read, so
 * that hot keys do not make the threads fight for lines. */
TAMIS_TEMPLATE bool bit_set(uint8_t *table, uint64_t q, bool shared) {
    if (shared) {
        if (bit_test(table, q, true)) return false;
        uint64_t *word = (uint64_t *)(void *)table + (q >> 6);
        const uint64_t mask = TAMIS_LE64((uint64_t)1 << (q & 63));
        return (__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask) == 0;
    }
    const uint8_t mask = (uint8_t)(1u << (q & 7));
    const bool was_free = (table[q >> 3] & mask) == 0;
    table[q >> 3] = table[q >> 3] | mask;
    return was_free;
}

/* ---- one key */

TAMIS_TEMPLATE bool bloom_test(const tamis_filter *f, struct tamis__probe p, uint64_t probes,
                               uint32_t scheme, bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    while (probes-- > 0) {
        if (!bit_test(f->table, scheme_next(&p, bits, scheme), shared)) return false;
    }
    return true;
}

TAMIS_TEMPLATE bool bloom_set(tamis_filter *f, struct tamis__probe p, uint32_t scheme,
                              bool shared) {
    const uint64_t bits = f->shape.word[BITS];
    bool fresh = false;
    for (uint64_t i = f->shape.word[HASHES]; i > 0; i--) {
        fresh |= bit_set(f->table, scheme_next(&p, bits, scheme), shared);
    }
    return fresh;
}

TAMIS_TEMPLATE tamis_status bloom_add(tamis_filter *f, struct tamis__hash h, bool *fresh,
                                      uint32_t scheme, bool shared) {
    const bool was_new = bloom_set(f, scheme_first(h, scheme), scheme, shared);
    if (fresh != NULL) *fresh = was_new;
    return TAMIS_OK;
}

/* ---- many keys */

#define GROUP 32
#define FIRST 2 /* probes that are prefetched for every key */

TAMIS_TEMPLATE void bloom_prefetch(const tamis_filter *f, struct tamis__probe p, uint64_t probes,
                                   uint32_t scheme, bool write) {
    const uint64_t bits = f->shape.word[BITS];
    while (probes-- > 0) {
        const uint8_t *at = f->table + (scheme_next(&p, bits, scheme) >> 3);
        if (write) {
            TAMIS_PREFETCH_WRITE(at);
        } else {
            TAMIS_PREFETCH(at);
        }
    }
}

TAMIS_TEMPLATE size_t contains_group(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers, uint32_t scheme, bool shared) {
    const uint64_t probes = f->shape.word[HASHES];
    const uint64_t first = probes < FIRST ? probes : FIRST;
    struct tamis__probe key[GROUP];
    size_t left[GROUP], passed = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        key[i] = scheme_first(hash_at(lo, hi, i), scheme);
        bloom_prefetch(f, key[i], first, scheme, false);
    }
    for (size_t i = 0; i < count; i++) {
        left[passed] = i;
        const bool maybe = bloom_test(f, key[i], first, scheme, shared);
        if (answers != NULL) answers[i] = maybe;
        passed += maybe;
    }
    for (size_t j = 0; j < passed; j++) bloom_prefetch(f, key[left[j]], probes, scheme, false);
    for (size_t j = 0; j < passed; j++) {
        const bool maybe = bloom_test(f, key[left[j]], probes, scheme, shared);
        if (answers != NULL) answers[left[j]] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE size_t bloom_contains_batch(const tamis_filter *f, const uint64_t *lo,
                                           const uint64_t *hi, size_t count, bool *answers,
                                           uint32_t scheme, bool shared) {
    size_t found = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        found += contains_group(f, lo + at, hi == NULL ? NULL : hi + at, n,
                                answers == NULL ? NULL : answers + at, scheme, shared);
    }
    return found;
}

TAMIS_TEMPLATE tamis_status bloom_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                            size_t count, bool *fresh, size_t *done,
                                            uint32_t scheme, bool shared) {
    struct tamis__probe key[GROUP];
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        for (size_t i = 0; i < n; i++) {
            key[i] = scheme_first(hash_at(lo, hi, at + i), scheme);
            bloom_prefetch(f, key[i], f->shape.word[HASHES], scheme, true);
        }
        for (size_t i = 0; i < n; i++) {
            const bool was_new = bloom_set(f, key[i], scheme, shared);
            if (fresh != NULL) fresh[at + i] = was_new;
        }
    }
    *done = count;
    return TAMIS_OK;
}

#endif
