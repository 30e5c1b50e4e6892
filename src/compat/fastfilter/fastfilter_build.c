/* fastfilter_build.c - sizing and building xor_singleheader's filters, to the same bytes
 *
 * Slots with one key are peeled one after the other until none is left; then the keys get their
 * fingerprints in reverse.  The slot by which a key is peeled, and so the bytes, depends on the
 * order, which is the original's.
 *
 * xor    three stacks of slots, one for each block, emptied in turn.
 * fuse   Hashes are first sorted roughly by segment.  Then they are counted into their slots; slots
 *        with one hash are peeled, last found first.  A slot's count is a byte: six bits of number,
 *        two bits for which of the hash's three slots it is.  It overflows at 64 hashes, and the
 *        next seed is tried.
 *        A repeated hash shows where it cancels itself in a slot of two.  If an attempt fails after
 *        that, the original sorts its keys to remove repeats, with a comparison that truncates the
 *        difference of two keys to 32 bits.  So does this file, with the merge sort of the C
 *        library that the original ran on, because the bytes depend on the order of the keys.
 *
 * The original fails after 100 attempts, which happens with repeated keys.  Then each key is kept
 * once, in the order of first appearance, and construction starts again: it fails only when memory
 * runs out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build/sequence.h"
#include "compat/fastfilter/fastfilter.h"

#define SEGMENT_MAX 262144
#define KEYS_MAX UINT32_MAX
#define ATTEMPTS 100
#define XOR_STATE 1
#define FUSE_STATE UINT64_C(0x726b2b9d438b9d4d)

static uint64_t fuse_segment_length(uint64_t keys) {
    if (keys == 0) return 4;
    const double exponent = floor(log((double)keys) / log(3.33) + 2.25);
    const uint64_t length = (uint64_t)1 << (unsigned)exponent;
    return length < SEGMENT_MAX ? length : SEGMENT_MAX;
}

static uint64_t fuse_capacity(uint64_t keys) {
    if (keys <= 1) return 0;
    const double n = (double)keys;
    const double growth = 0.25 * log(1000000) / log(n), factor = 0.875 + growth;
    return (uint64_t)round(n * (factor > 1.125 ? factor : 1.125));
}

void tamis__fast_geometry(tamis_kind kind, uint64_t keys, struct tamis__shape *shape) {
    if (kind == TAMIS_XOR) {
        const double capacity = 1.23 * (double)keys;
        shape->word[TAMIS__FAST_LENGTH] = (uint64_t)(32 + capacity) / 3;
    } else {
        const uint64_t length = fuse_segment_length(keys);
        const uint64_t segments = tamis__div_up(fuse_capacity(keys), length);
        shape->word[TAMIS__FAST_KEYS] = keys;
        shape->word[TAMIS__FAST_LENGTH] = length;
        shape->word[TAMIS__FAST_SEGMENTS] = segments <= 2 ? 1 : segments - 2;
    }
    shape->table_bytes = tamis__fast_slots_of(kind, shape) * (shape->word[TAMIS__FAST_WIDTH] / 8);
}

/* ---- peeling */

struct peeling {
    tamis_kind kind;
    uint64_t length, segments, slots, width;
    uint64_t *keys; /* a copy: it may be sorted */
    size_t count;
    uint64_t *order; /* the peeled hashes; one more than keys */
    uint8_t *found;  /* of each: by which of its three slots */
    size_t peeled;
    uint64_t *hashes; /* of each slot: xor */

    /* xor */
    uint64_t *queue[3]; /* of each block: hashes with a slot of their own */
    size_t queued[3];
    uint32_t *numbers; /* of each slot: hashes */

    /* fuse: `order` has all hashes before they are peeled, never 0 */
    uint8_t *counts;
    uint32_t *start; /* of each run of segments */
    unsigned lg_runs;
    uint32_t *alone;
    size_t repeats;
};

static struct tamis__fast_slots slots_of(const struct peeling *p, uint64_t hash) {
    return tamis__fast_slots(p->kind, hash, p->length, p->segments);
}

static void assign(const struct peeling *p, uint8_t *table) {
    for (size_t i = p->peeled; i-- > 0;) {
        const unsigned found = p->found[i];
        const struct tamis__fast_slots s = slots_of(p, p->order[i]);
        const uint16_t fingerprint = tamis__fast_fingerprint(p->order[i], p->width) ^
                                     tamis__fast_get(table, s.at[(found + 1) % 3], p->width) ^
                                     tamis__fast_get(table, s.at[(found + 2) % 3], p->width);
        tamis__fast_set(table, s.at[found], p->width, fingerprint);
    }
}

/* ---- xor */

static void xor_push(struct peeling *p, unsigned block, uint64_t slot) {
    p->queue[block][p->queued[block]++] = p->hashes[slot];
}

static void xor_count(struct peeling *p, uint64_t seed) {
    memset(p->numbers, 0, (size_t)p->slots * sizeof *p->numbers);
    memset(p->hashes, 0, (size_t)p->slots * sizeof *p->hashes);
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t hash = tamis__fast_hash(p->keys[i], seed);
        const struct tamis__fast_slots s = slots_of(p, hash);
        for (int j = 0; j < 3; j++) {
            p->hashes[s.at[j]] ^= hash;
            p->numbers[s.at[j]]++;
        }
    }
    p->peeled = 0;
    for (unsigned block = 0; block < 3; block++) {
        p->queued[block] = 0;
        for (uint64_t i = block * p->length; i < (block + 1) * p->length; i++) {
            if (p->numbers[i] == 1) xor_push(p, block, i);
        }
    }
}

/* Peels a key by its slot in `block`. false if more are peeled than there are, which happens with
 * repeated keys. */
static bool xor_take(struct peeling *p, unsigned block) {
    const uint64_t hash = p->queue[block][--p->queued[block]];
    const struct tamis__fast_slots s = slots_of(p, hash);
    if (p->numbers[s.at[block]] == 0) return true;
    if (p->peeled == p->count) return false;
    p->found[p->peeled] = (uint8_t)block;
    p->order[p->peeled++] = hash;
    for (unsigned other = 0; other < 3; other++) {
        if (other == block) continue;
        p->hashes[s.at[other]] ^= hash;
        if (--p->numbers[s.at[other]] == 1) xor_push(p, other, s.at[other]);
    }
    return true;
}

static bool xor_attempt(struct peeling *p, uint64_t seed) {
    xor_count(p, seed);
    while (p->queued[0] + p->queued[1] + p->queued[2] > 0) {
        for (unsigned block = 0; block < 3; block++) {
            while (p->queued[block] > 0) {
                if (!xor_take(p, block)) return false;
            }
        }
    }
    return p->peeled == p->count;
}

/* ---- fuse */

/* The original computes the start in 32 bits for 8-bit fingerprints: it differs from 2^32 on. */
static void put_in_order(struct peeling *p, uint64_t seed) {
    const uint64_t runs = (uint64_t)1 << p->lg_runs;
    for (uint64_t i = 0; i < runs; i++) {
        const uint64_t product = i * p->count;
        p->start[i] = (uint32_t)((p->width == 8 ? (uint32_t)product : product) >> p->lg_runs);
    }
    memset(p->order, 0, p->count * sizeof *p->order);
    p->order[p->count] = 1;
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t hash = tamis__fast_hash(p->keys[i], seed);
        uint64_t run = hash >> (64 - p->lg_runs);
        while (p->order[p->start[run]] != 0) run = (run + 1) & (runs - 1);
        p->order[p->start[run]++] = hash;
    }
}

static void toggle(struct peeling *p, const struct tamis__fast_slots *s, uint64_t hash, int by) {
    for (int j = 0; j < 3; j++) {
        p->counts[s->at[j]] = (uint8_t)((p->counts[s->at[j]] + by) ^ j);
        p->hashes[s->at[j]] ^= hash;
    }
}

static bool cancels(const struct peeling *p, const struct tamis__fast_slots *s) {
    if ((p->hashes[s->at[0]] & p->hashes[s->at[1]] & p->hashes[s->at[2]]) != 0) return false;
    for (int j = 0; j < 3; j++) {
        if (p->hashes[s->at[j]] == 0 && p->counts[s->at[j]] == 8) return true;
    }
    return false;
}

/* false if a count overflowed. */
static bool count_all(struct peeling *p) {
    bool overflow = false;
    memset(p->counts, 0, (size_t)p->slots);
    memset(p->hashes, 0, (size_t)p->slots * sizeof *p->hashes);
    p->repeats = 0;
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t hash = p->order[i];
        const struct tamis__fast_slots s = slots_of(p, hash);
        toggle(p, &s, hash, 4);
        if (cancels(p, &s)) {
            p->repeats++;
            toggle(p, &s, hash, -4);
        }
        for (int j = 0; j < 3; j++) overflow = overflow || p->counts[s.at[j]] < 4;
    }
    return !overflow;
}

/* Removes a hash from one of its other two slots. */
static size_t take_off(struct peeling *p, uint64_t hash, uint64_t slot, unsigned which,
                       size_t queued) {
    p->alone[queued] = (uint32_t)slot;
    queued += p->counts[slot] >> 2 == 2;
    p->counts[slot] = (uint8_t)((p->counts[slot] - 4) ^ which);
    p->hashes[slot] ^= hash;
    return queued;
}

static void peel(struct peeling *p) {
    size_t queued = 0;
    p->peeled = 0;
    for (uint64_t i = 0; i < p->slots; i++) {
        p->alone[queued] = (uint32_t)i;
        queued += p->counts[i] >> 2 == 1;
    }
    while (queued > 0) {
        const uint32_t slot = p->alone[--queued];
        if (p->counts[slot] >> 2 != 1) continue;
        const uint64_t hash = p->hashes[slot];
        const unsigned found = p->counts[slot] & 3, next = (found + 1) % 3, last = (found + 2) % 3;
        const struct tamis__fast_slots s = slots_of(p, hash);
        if (found > 2 || p->peeled == p->count) return; /* repeats have corrupted it */
        p->found[p->peeled] = (uint8_t)found;
        p->order[p->peeled++] = hash;
        queued = take_off(p, hash, s.at[next], next, queued);
        queued = take_off(p, hash, s.at[last], last, queued);
    }
}

/* The original's sort. */
static bool goes_first(uint64_t a, uint64_t b) { return (uint32_t)(a - b) - 1 >= INT32_MAX; }

static void merge_sort(uint64_t *keys, size_t count, uint64_t *room) {
    if (count <= 1) return;
    const size_t half = count / 2;
    merge_sort(keys, half, room);
    merge_sort(keys + half, count - half, room);
    size_t i = 0, j = half, n = 0;
    while (i < half && j < count) {
        room[n++] = goes_first(keys[i], keys[j]) ? keys[i++] : keys[j++];
    }
    memcpy(room + n, keys + i, (half - i) * sizeof *keys);
    n += half - i;
    memcpy(keys, room, n * sizeof *keys);
}

static void sort_and_drop(struct peeling *p) {
    size_t kept = 0;
    merge_sort(p->keys, p->count, p->order);
    for (size_t i = 0; i < p->count; i++) {
        if (i == 0 || p->keys[i] != p->keys[kept - 1]) p->keys[kept++] = p->keys[i];
    }
    p->count = kept;
}

static bool fuse_attempt(struct peeling *p, uint64_t seed) {
    put_in_order(p, seed);
    if (!count_all(p)) return false;
    peel(p);
    if (p->peeled + p->repeats == p->count) return true;
    if (p->repeats > 0) sort_and_drop(p);
    return false;
}

/* ---- the whole construction */

/* The original's generator of seeds. */
static uint64_t next_seed(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static tamis_status attempt(struct peeling *p, struct tamis__shape *shape, uint8_t *table) {
    uint64_t state = p->kind == TAMIS_XOR ? XOR_STATE : FUSE_STATE;
    for (int i = 0; i < ATTEMPTS; i++) {
        const uint64_t seed = next_seed(&state);
        if (!(p->kind == TAMIS_XOR ? xor_attempt(p, seed) : fuse_attempt(p, seed))) continue;
        shape->word[TAMIS__FAST_SEED] = seed;
        assign(p, table);
        return TAMIS_OK;
    }
    return TAMIS_E_FULL;
}

static void *array(uint8_t *block, size_t *at, uint64_t count, size_t size) {
    uint8_t *begin = block + *at;
    *at += (size_t)count * size;
    return begin;
}

/* The arrays of one block of memory, the widest first; returns its size. */
static size_t lay_out(struct peeling *p, uint8_t *block) {
    size_t at = 0;
    p->keys = array(block, &at, p->count + 1, sizeof *p->keys);
    p->order = array(block, &at, p->count + 1, sizeof *p->order);
    p->hashes = array(block, &at, p->slots, sizeof *p->hashes);
    if (p->kind == TAMIS_XOR) {
        for (int i = 0; i < 3; i++) p->queue[i] = array(block, &at, p->length, sizeof(uint64_t));
        p->numbers = array(block, &at, p->slots, sizeof *p->numbers);
    } else { /* a peeled hash adds two to `alone` and removes one */
        p->alone = array(block, &at, p->slots + p->count + 1, sizeof *p->alone);
        p->start = array(block, &at, (uint64_t)1 << p->lg_runs, sizeof *p->start);
        p->counts = array(block, &at, p->slots, 1);
    }
    p->found = array(block, &at, p->count + 1, 1);
    return at;
}

static tamis_status build_once(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table) {
    tamis__fast_geometry(kind, count, shape);
    struct peeling p = {.kind = kind,
                        .length = shape->word[TAMIS__FAST_LENGTH],
                        .segments = shape->word[TAMIS__FAST_SEGMENTS],
                        .slots = tamis__fast_slots_of(kind, shape),
                        .width = shape->word[TAMIS__FAST_WIDTH],
                        .count = count,
                        .lg_runs = 1};
    while ((uint64_t)1 << p.lg_runs < p.segments) p.lg_runs++;
    *table = tamis__table_alloc(a, shape->table_bytes);
    if (*table == NULL) return TAMIS_E_NOMEM;
    const size_t size = lay_out(&p, *table); /* the first time for its size alone */
    uint8_t *block = tamis__alloc(a, size);
    tamis_status status = TAMIS_E_NOMEM;
    if (block != NULL) {
        (void)lay_out(&p, block);
        if (count != 0) memcpy(p.keys, keys, count * sizeof *keys);
        status = attempt(&p, shape, *table);
    }
    tamis__release(a, block, size);
    if (status != TAMIS_OK) tamis__table_free(a, *table, shape->table_bytes);
    return status;
}

/* Each key once, in the order of first appearance. */
static tamis_status distinct_keys(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                  uint64_t **out, size_t *kept) {
    const size_t bytes = count * sizeof *keys;
    uint64_t *sorted = tamis__alloc(a, bytes + count);
    *out = tamis__alloc(a, bytes);
    if (sorted == NULL || *out == NULL) {
        tamis__release(a, sorted, bytes + count);
        tamis__release(a, *out, bytes);
        return TAMIS_E_NOMEM;
    }
    bool *seen = (bool *)(sorted + count);
    memcpy(sorted, keys, bytes);
    memset(seen, 0, count);
    const size_t distinct = tamis__distinct_words(sorted, count);
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *at =
            bsearch(&keys[i], sorted, distinct, sizeof *sorted, tamis__compare_words);
        if (seen[at - sorted]) continue;
        seen[at - sorted] = true;
        (*out)[(*kept)++] = keys[i];
    }
    tamis__release(a, sorted, bytes + count);
    return TAMIS_OK;
}

tamis_status tamis__fast_build(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table) {
    uint64_t *distinct;
    size_t kept;
    if (count > KEYS_MAX / 2) return TAMIS_E_TOO_BIG;
    tamis_status status = build_once(a, kind, keys, count, shape, table);
    if (status != TAMIS_E_FULL) return status;
    status = distinct_keys(a, keys, count, &distinct, &kept);
    if (status != TAMIS_OK) return status;
    status = build_once(a, kind, distinct, kept, shape, table);
    tamis__release(a, distinct, count * sizeof *distinct);
    return status;
}
