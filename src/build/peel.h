/* peel.h - building by peeling, shared by xor and binary fuse filters
 *
 * Both map a key to a few slots of an array of fingerprints, so that the fingerprints in its
 * slots xor to the fingerprint of the key.  Each key is an equation; they are solved
 * without elimination whenever keys can be taken away, one after another, each having at that
 * moment a slot that no other remaining key has.  Then, in the opposite order, each key may
 * set that slot to what its equation lacks: no key set later reads it.
 *
 *     count    every slot keeps one word: how many keys have it, and the xor of their numbers
 *     peel     a slot of count 1 names its key; taking that key out of its slots may bring
 *              others down to 1, which wait in a queue
 *     assign   backwards through the order of peeling
 *
 * The word of a slot
 *     bit  31..25     24..23                   22..0
 *          count - 1  xor of "which of its     xor of the numbers of the keys
 *                     slots" is this (0..3)
 * A number of 23 bits, looked up in the array of hashes, instead of the hash itself halves
 * the words and the order: 4 bytes each.  Since the count is kept less one, the word of a
 * slot of one key is that key's entry in the order, and the only kind of word below ONE.  The
 * count cannot wrap unnoticed: the words of all additions are or-ed together, and a count
 * above 32 (a crowded slot) shows in bit 30.  Flipping bit 31 makes a slot wait: while keys may
 * still come, it is not taken for a slot of one key.
 *
 * A first-in first-out queue, because its items are independent of each other and the
 * processor overlaps them (a stack takes each from the one before it).  What is left when no
 * slot has count 1 (the 2-core) depends on the set of keys only; and since the queue starts
 * in the order of slots, so does the order of peeling: the order in which the keys came
 * changes nothing but their numbers.
 *
 * Where a key's slots are (g is its hash, x = fold(g * salt), salt odd):
 *     fuse   first = upper half of g * range: monotone in g, and without salt, so that one
 *            grouping of the hashes serves every attempt
 *            slot j = (first + j * segment) ^ 12 or 13 bits of x, below `segment`
 *     xor    slot j = block j, at a place from 32 bits of x or of another fold of it
 *     both   the fingerprint is the lower bits of the last fold */
#ifndef TAMIS_BUILD_PEEL_H
#define TAMIS_BUILD_PEEL_H

#include "build/fingerprint.h"
#include "core/alloc.h"
#include "core/bits.h"

enum tamis__graph { TAMIS__XOR3, TAMIS__FUSE3, TAMIS__FUSE4 };

#define TAMIS__ARITY_MAX 4

TAMIS_TEMPLATE unsigned tamis__arity(enum tamis__graph graph) {
    return graph == TAMIS__FUSE4 ? 4 : 3;
}

/* The longest segments: as many bits of the fold as an offset has. */
#define TAMIS__FUSE3_LG_MAX 13
#define TAMIS__FUSE4_LG_MAX 12

struct tamis__geometry {
    uint64_t salt;
    uint64_t range;   /* first slots are below this.  fuse: a multiple of segment */
    uint64_t segment; /* fuse: slots of a segment, a power of two; xor: of a block */
};

TAMIS_TEMPLATE uint64_t tamis__geometry_slots(enum tamis__graph graph,
                                              const struct tamis__geometry *g) {
    return g->range + (tamis__arity(graph) - 1) * g->segment;
}

/* The slots of a key, and its fingerprint (lower bits). */
struct tamis__key_slots {
    uint32_t at[TAMIS__ARITY_MAX];
    uint32_t fingerprint;
};

/* xor needs more bits than one fold has. */
#define TAMIS__XOR_SECOND_FOLD UINT64_C(0xd6e8feb86659fd93)

/* tamis__fold with two products.  With one, gcc 12 spills the halves to memory if it is short of
 * registers, and an xor build takes 46 ns a key instead of 30 (100 thousand keys). */
TAMIS_TEMPLATE uint64_t tamis__fold_apart(uint64_t x, uint64_t odd) {
    return tamis__mulhi(x, odd) ^ (x * odd);
}

TAMIS_TEMPLATE struct tamis__key_slots tamis__key_slots_of(enum tamis__graph graph,
                                                           const struct tamis__geometry *g,
                                                           uint64_t hash) {
    struct tamis__key_slots p = {{0}, 0};
    if (graph == TAMIS__XOR3) {
        const uint64_t x = tamis__fold_apart(hash, g->salt);
        const uint64_t y = tamis__fold_apart(x, TAMIS__XOR_SECOND_FOLD);
        const uint64_t block = g->segment;
        p.at[0] = (uint32_t)((x >> 32) * block >> 32);
        p.at[1] = (uint32_t)(block + ((uint32_t)x * block >> 32));
        p.at[2] = (uint32_t)(2 * block + ((y >> 32) * block >> 32));
        p.fingerprint = (uint32_t)y;
        return p;
    }
    const uint64_t x = tamis__fold(hash, g->salt);
    const uint32_t segment = (uint32_t)g->segment, mask = segment - 1;
    const uint32_t first = (uint32_t)tamis__range(hash, g->range);
    const unsigned bits = graph == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    p.at[0] = first;
    TAMIS_UNROLL
    for (unsigned j = 1; j < tamis__arity(graph); j++) {
        p.at[j] = (first + j * segment) ^ ((uint32_t)(x >> (64 - j * bits)) & mask);
    }
    p.fingerprint = (uint32_t)x;
    return p;
}

/* ---- the words */

#define TAMIS__PEEL_KEYS_MAX ((size_t)1 << 23)
#define TAMIS__PEEL_NUMBER (((uint32_t)1 << 23) - 1)
#define TAMIS__PEEL_ONE ((uint32_t)1 << 25)
#define TAMIS__PEEL_EMPTY (0 - TAMIS__PEEL_ONE)
#define TAMIS__PEEL_WAITING ((uint32_t)1 << 31) /* to flip */

/* A key's number and which of its slots: what the words xor, and what the order lists. */
TAMIS_TEMPLATE uint32_t tamis__peel_entry(uint32_t number, unsigned which) {
    return number + ((uint32_t)which << 23);
}
TAMIS_TEMPLATE uint32_t tamis__peel_number(uint32_t word) { return word & TAMIS__PEEL_NUMBER; }
TAMIS_TEMPLATE unsigned tamis__peel_which(uint32_t entry) { return entry >> 23; }

TAMIS_TEMPLATE uint32_t tamis__peel_add(uint32_t word, uint32_t entry) {
    return (word ^ entry) + TAMIS__PEEL_ONE;
}
TAMIS_TEMPLATE uint32_t tamis__peel_take(uint32_t word, uint32_t entry) {
    return (word ^ entry) - TAMIS__PEEL_ONE;
}
TAMIS_TEMPLATE bool tamis__peel_single(uint32_t word) { return word < TAMIS__PEEL_ONE; }
TAMIS_TEMPLATE bool tamis__peel_crowded(uint32_t seen) { return (seen >> 30 & 1) != 0; }

/* How far ahead of the queue hashes are prefetched: the one load of a step whose address is
 * not known long before. */
#define TAMIS__PEEL_AHEAD 8

TAMIS_TEMPLATE void tamis__peel_prefetch(const uint64_t *hashes, uint32_t word) {
    /* The word may combine several keys, and its number then is not a key's. */
    TAMIS_PREFETCH((const void *)((uintptr_t)hashes + (uintptr_t)tamis__peel_number(word) * 8));
}

/* ---- the order of peeling */

/* Three stretches of one array.  The middle one was peeled after the others, which have no
 * slot in common that either of them sets:
 *     [0, left)                upwards: the key peeled first comes first
 *     [left, left + middle)    upwards
 *     [room - right, room)     downwards: the key peeled last comes first */
struct tamis__order {
    uint32_t *entries;
    size_t room, left, middle, right;
    bool crowded; /* some slot had more keys than a word can count: nothing was peeled */
};

/* Allocates room for `room` entries; false if there is no memory. */
bool tamis__order_create(struct tamis__order *order, size_t room, const tamis_allocator *a);
void tamis__order_free(struct tamis__order *order, const tamis_allocator *a);

/* Number of keys in it. */
static inline size_t tamis__order_keys(const struct tamis__order *order) {
    return order->left + order->middle + order->right;
}

/* ---- the steps */

/* Peels what can be peeled from the words of the slots [base, base + length), which have all
 * slots of their keys.  `queue` has room for every slot that is not empty, and one more; the
 * order of peeling is left at its start, and its length returned. */
size_t tamis__peel_run(enum tamis__graph graph, const struct tamis__geometry *g,
                       const uint64_t *hashes, uint64_t base, uint64_t length, uint32_t *words,
                       uint32_t *queue);

/* Counts and peels all keys at once, with a word for every slot.  Creates `order`: of all keys
 * or, if not all can be peeled, of fewer.  With `lenient`, keys that would crowd a slot are
 * left out, instead of none being peeled; which ones depends on the order of `hashes`, so they
 * should be sorted.  OK or E_NOMEM. */
tamis_status tamis__peel_flat(enum tamis__graph graph, const struct tamis__geometry *g,
                              const uint64_t *hashes, size_t count, bool lenient,
                              const tamis_allocator *a, struct tamis__order *order);

/* Fills the array of fingerprints `table`, which must be zero, so that every key in `order`
 * finds its own.  OK or E_NOMEM. */
tamis_status tamis__peel_assign(enum tamis__graph graph, const struct tamis__geometry *g,
                                const uint64_t *hashes, const struct tamis__order *order,
                                unsigned width, unsigned threads, const tamis_allocator *a,
                                uint8_t *table);

#endif
