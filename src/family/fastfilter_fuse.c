/* fastfilter_fuse.c - building xor_singleheader's binary fuse filter, to the same bytes
 *
 * Hashes are first put roughly in order of their segment.  Then they are counted into their
 * slots; slots of one hash are taken off, last found first, until none is left; and in reverse
 * order the keys get their fingerprints.  A slot's count is a byte: six bits of number, two of
 * which of the hash's three places it is, so it overflows at 64 hashes, and the next seed is
 * tried.
 *
 * Repeats are noticed where a hash cancels itself in a slot of two.  If a try fails after that,
 * the original sorts its keys to get rid of repeats, with a comparison that cuts the difference
 * of two keys to 32 bits: so does this, merging as the C library that it ran on did, because the
 * order of the keys is in the bytes. */
#include <string.h>

#include "family/fastfilter.h"

#define FIRST_STATE UINT64_C(0x726b2b9d438b9d4d)

struct fusing {
    uint64_t length, segments, slots;
    uint64_t *keys; /* a copy: it may be sorted */
    size_t count;
    uint64_t *order; /* hashes; later those taken off; one more than keys, never 0 */
    uint8_t *place;  /* of the hashes taken off: by which of its three slots */
    uint32_t *start; /* of each run of segments */
    unsigned lg_runs;
    uint64_t *hashes; /* of each slot: xor */
    uint8_t *counts;
    uint32_t *alone;
    size_t stacked, repeats;
};

static struct tamis__fast_slots slots_of(const struct fusing *f, uint64_t hash) {
    return tamis__fuse_slots(hash, f->length, f->segments);
}

/* The original computes the start in 32 bits for 8-bit fingerprints: other from 2^32 on. */
static void put_in_order(struct fusing *f, uint64_t seed, uint64_t width) {
    const uint64_t runs = (uint64_t)1 << f->lg_runs;
    for (uint64_t i = 0; i < runs; i++) {
        const uint64_t product = i * f->count;
        f->start[i] = (uint32_t)((width == 8 ? (uint32_t)product : product) >> f->lg_runs);
    }
    memset(f->order, 0, f->count * sizeof *f->order);
    f->order[f->count] = 1;
    for (size_t i = 0; i < f->count; i++) {
        const uint64_t hash = tamis__fast_hash(f->keys[i], seed);
        uint64_t run = hash >> (64 - f->lg_runs);
        while (f->order[f->start[run]] != 0) run = (run + 1) & (runs - 1);
        f->order[f->start[run]++] = hash;
    }
}

static void toggle(struct fusing *f, const struct tamis__fast_slots *s, uint64_t hash, int by) {
    for (int j = 0; j < 3; j++) {
        f->counts[s->at[j]] = (uint8_t)((f->counts[s->at[j]] + by) ^ j);
        f->hashes[s->at[j]] ^= hash;
    }
}

static bool cancels(const struct fusing *f, const struct tamis__fast_slots *s) {
    if ((f->hashes[s->at[0]] & f->hashes[s->at[1]] & f->hashes[s->at[2]]) != 0) return false;
    for (int j = 0; j < 3; j++) {
        if (f->hashes[s->at[j]] == 0 && f->counts[s->at[j]] == 8) return true;
    }
    return false;
}

/* false if a count overflowed. */
static bool count_all(struct fusing *f) {
    bool overflow = false;
    memset(f->counts, 0, (size_t)f->slots);
    memset(f->hashes, 0, (size_t)f->slots * sizeof *f->hashes);
    f->repeats = 0;
    for (size_t i = 0; i < f->count; i++) {
        const uint64_t hash = f->order[i];
        const struct tamis__fast_slots s = slots_of(f, hash);
        toggle(f, &s, hash, 4);
        if (cancels(f, &s)) {
            f->repeats++;
            toggle(f, &s, hash, -4);
        }
        for (int j = 0; j < 3; j++) overflow = overflow || f->counts[s.at[j]] < 4;
    }
    return !overflow;
}

/* Takes a hash off one of its other two slots. */
static size_t take_off(struct fusing *f, uint64_t hash, uint64_t slot, unsigned place,
                       size_t queued) {
    f->alone[queued] = (uint32_t)slot;
    queued += f->counts[slot] >> 2 == 2;
    f->counts[slot] = (uint8_t)((f->counts[slot] - 4) ^ place);
    f->hashes[slot] ^= hash;
    return queued;
}

static void peel(struct fusing *f) {
    size_t queued = 0;
    f->stacked = 0;
    for (uint64_t i = 0; i < f->slots; i++) {
        f->alone[queued] = (uint32_t)i;
        queued += f->counts[i] >> 2 == 1;
    }
    while (queued > 0) {
        const uint32_t slot = f->alone[--queued];
        if (f->counts[slot] >> 2 != 1) continue;
        const uint64_t hash = f->hashes[slot];
        const unsigned found = f->counts[slot] & 3, next = (found + 1) % 3, last = (found + 2) % 3;
        const struct tamis__fast_slots s = slots_of(f, hash);
        if (found > 2 || f->stacked == f->count) return; /* repeats have made nonsense of it */
        f->place[f->stacked] = (uint8_t)found;
        f->order[f->stacked++] = hash;
        queued = take_off(f, hash, s.at[next], next, queued);
        queued = take_off(f, hash, s.at[last], last, queued);
    }
}

static void assign(const struct fusing *f, uint64_t width, uint8_t *table) {
    for (size_t i = f->stacked; i-- > 0;) {
        const unsigned found = f->place[i];
        const struct tamis__fast_slots s = slots_of(f, f->order[i]);
        const uint16_t print = tamis__fast_print(f->order[i], width) ^
                               tamis__fast_get(table, s.at[(found + 1) % 3], width) ^
                               tamis__fast_get(table, s.at[(found + 2) % 3], width);
        tamis__fast_set(table, s.at[found], width, print);
    }
}

/* ---- the original's sort */

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

static void sort_and_drop(struct fusing *f) {
    size_t kept = 0;
    merge_sort(f->keys, f->count, f->order);
    for (size_t i = 0; i < f->count; i++) {
        if (i == 0 || f->keys[i] != f->keys[kept - 1]) f->keys[kept++] = f->keys[i];
    }
    f->count = kept;
}

/* ---- all of it */

static tamis_status build(struct fusing *f, struct tamis__shape *shape, uint8_t *table) {
    const uint64_t width = shape->word[TAMIS__FAST_WIDTH];
    uint64_t state = FIRST_STATE;
    for (int i = 0; i < TAMIS__FAST_TRIES; i++) {
        shape->word[TAMIS__FAST_SEED] = tamis__fast_seed(&state);
        put_in_order(f, shape->word[TAMIS__FAST_SEED], width);
        if (!count_all(f)) continue;
        peel(f);
        if (f->stacked + f->repeats == f->count) {
            assign(f, width, table);
            return TAMIS_OK;
        }
        if (f->repeats > 0) sort_and_drop(f);
    }
    return TAMIS_E_FULL;
}

/* The arrays of one block of memory, the widest first. */
static size_t lay_out(struct fusing *f, uint8_t *block) {
    const size_t slots = (size_t)f->slots, count = f->count;
    size_t at = 0;
    f->keys = (uint64_t *)(void *)block;
    at += (count + 1) * sizeof *f->keys;
    f->order = (uint64_t *)(void *)(block + at);
    at += (count + 1) * sizeof *f->order;
    f->hashes = (uint64_t *)(void *)(block + at);
    at += slots * sizeof *f->hashes;
    f->alone = (uint32_t *)(void *)(block + at);
    at += (slots + count + 1) * sizeof *f->alone; /* a hash taken off adds two and removes one */
    f->start = (uint32_t *)(void *)(block + at);
    at += ((size_t)1 << f->lg_runs) * sizeof *f->start;
    f->counts = block + at;
    at += slots;
    f->place = block + at;
    return at + count + 1;
}

tamis_status tamis__fast_build_fuse(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                    struct tamis__shape *shape, uint8_t *table) {
    struct fusing f = {.length = shape->word[TAMIS__FAST_LENGTH],
                       .segments = shape->word[TAMIS__FAST_SEGMENTS],
                       .slots = tamis__fast_slots_of(TAMIS_FUSE, shape),
                       .count = count,
                       .lg_runs = 1};
    while ((uint64_t)1 << f.lg_runs < f.segments) f.lg_runs++;
    const size_t size = lay_out(&f, table); /* the first time for its size alone */
    uint8_t *block = tamis__alloc(a, size);
    if (block == NULL) return TAMIS_E_NOMEM;
    (void)lay_out(&f, block);
    if (count != 0) memcpy(f.keys, keys, count * sizeof *keys);
    const tamis_status status = build(&f, shape, table);
    tamis__release(a, block, size);
    return status;
}
