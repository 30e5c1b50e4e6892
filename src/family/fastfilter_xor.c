/* fastfilter_xor.c - building xor_singleheader's xor filter, to the same bytes
 *
 * Slots that only one key has are taken off one after the other until none is left; then the
 * keys get their fingerprints in reverse.  Which slot a key is taken off by, and so the bytes,
 * depends on the order: three stacks of slots, one for each block, emptied in turn. */
#include <string.h>

#include "family/fastfilter.h"

struct set {
    uint64_t hashes; /* xor of them */
    uint64_t count;
};

struct found {
    uint64_t hash;
    uint64_t slot;
};

struct peeling {
    uint64_t length; /* of a block */
    struct set *sets;
    struct found *queue[3];
    size_t queued[3];
    struct found *stack;
    size_t stacked;
};

static void push(struct peeling *p, unsigned block, uint64_t slot) {
    p->queue[block][p->queued[block]++] = (struct found){p->sets[slot].hashes, slot};
}

static void fill_sets(struct peeling *p, const uint64_t *keys, size_t count, uint64_t seed) {
    memset(p->sets, 0, (size_t)(3 * p->length) * sizeof *p->sets);
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = tamis__fast_hash(keys[i], seed);
        const struct tamis__fast_slots s = tamis__xor_slots(hash, p->length);
        for (int j = 0; j < 3; j++) {
            p->sets[s.at[j]].hashes ^= hash;
            p->sets[s.at[j]].count++;
        }
    }
    p->stacked = 0;
    for (unsigned block = 0; block < 3; block++) {
        p->queued[block] = 0;
        for (uint64_t i = block * p->length; i < (block + 1) * p->length; i++) {
            if (p->sets[i].count == 1) push(p, block, i);
        }
    }
}

/* Takes a key off by its slot in `block`.  false if more come off than there are, as may be
 * where some are repeated. */
static bool take(struct peeling *p, unsigned block, size_t count) {
    const struct found key = p->queue[block][--p->queued[block]];
    if (p->sets[key.slot].count == 0) return true;
    if (p->stacked == count) return false;
    const struct tamis__fast_slots s = tamis__xor_slots(key.hash, p->length);
    p->stack[p->stacked++] = key;
    for (unsigned other = 0; other < 3; other++) {
        if (other == block) continue;
        struct set *set = &p->sets[s.at[other]];
        set->hashes ^= key.hash;
        if (--set->count == 1) push(p, other, s.at[other]);
    }
    return true;
}

static bool peel(struct peeling *p, size_t count) {
    while (p->queued[0] + p->queued[1] + p->queued[2] > 0) {
        for (unsigned block = 0; block < 3; block++) {
            while (p->queued[block] > 0) {
                if (!take(p, block, count)) return false;
            }
        }
    }
    return p->stacked == count;
}

static void assign(const struct peeling *p, uint64_t width, uint8_t *table) {
    for (size_t i = p->stacked; i-- > 0;) {
        const struct found key = p->stack[i];
        const struct tamis__fast_slots s = tamis__xor_slots(key.hash, p->length);
        uint16_t print = tamis__fast_print(key.hash, width);
        for (int j = 0; j < 3; j++) {
            if (s.at[j] != key.slot) print ^= tamis__fast_get(table, s.at[j], width);
        }
        tamis__fast_set(table, key.slot, width, print);
    }
}

static tamis_status build(struct peeling *p, const uint64_t *keys, size_t count,
                          struct tamis__shape *shape, uint8_t *table) {
    uint64_t state = 1;
    for (int i = 0; i < TAMIS__FAST_TRIES; i++) {
        shape->word[TAMIS__FAST_SEED] = tamis__fast_seed(&state);
        fill_sets(p, keys, count, shape->word[TAMIS__FAST_SEED]);
        if (!peel(p, count)) continue;
        assign(p, shape->word[TAMIS__FAST_WIDTH], table);
        return TAMIS_OK;
    }
    return TAMIS_E_FULL;
}

tamis_status tamis__fast_build_xor(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                   struct tamis__shape *shape, uint8_t *table) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    const size_t set_bytes = (size_t)(3 * length) * sizeof(struct set);
    const size_t queue_bytes = (size_t)length * sizeof(struct found);
    const size_t stack_bytes = (count + 1) * sizeof(struct found);
    struct peeling p = {.length = length,
                        .sets = tamis__alloc(a, set_bytes),
                        .stack = tamis__alloc(a, stack_bytes)};
    bool have = p.sets != NULL && p.stack != NULL;
    for (int i = 0; i < 3; i++) {
        p.queue[i] = tamis__alloc(a, queue_bytes);
        have = have && p.queue[i] != NULL;
    }
    const tamis_status status = have ? build(&p, keys, count, shape, table) : TAMIS_E_NOMEM;
    for (int i = 0; i < 3; i++) tamis__release(a, p.queue[i], queue_bytes);
    tamis__release(a, p.stack, stack_bytes);
    tamis__release(a, p.sets, set_bytes);
    return status;
}
