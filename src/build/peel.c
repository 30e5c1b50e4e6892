/* peel.c - see peel.h */
#include "build/peel.h"

#include "core/parallel.h"

bool tamis__order_create(struct tamis__order *order, size_t room, const tamis_allocator *a) {
    *order = (struct tamis__order){.room = room};
    size_t bytes;
    if (!tamis__array_size(room, sizeof *order->entries, &bytes)) return false;
    order->entries = (uint32_t *)tamis__table_alloc(a, bytes);
    return order->entries != NULL;
}

void tamis__order_free(struct tamis__order *order, const tamis_allocator *a) {
    tamis__table_free(a, order->entries, order->room * sizeof *order->entries);
    order->entries = NULL;
}

/* ---- count */

/* The key's slots' words, or-ed together, as they would be with one more key. */
TAMIS_TEMPLATE uint32_t seen_with(enum tamis__graph graph, const struct tamis__key_slots *p,
                                  const uint32_t *words) {
    uint32_t seen = 0;
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        seen |= tamis__peel_add(words[p->at[j]], 0);
    }
    return seen;
}

/* Sets the words of all slots.  False: a slot is crowded, and the words cannot be used. */
TAMIS_TEMPLATE bool count_graph(enum tamis__graph graph, const struct tamis__geometry *g,
                                const uint64_t *hashes, size_t count, bool lenient,
                                uint32_t *words) {
    const struct tamis__geometry geometry = *g;
    const uint64_t slots = tamis__geometry_slots(graph, g);
    uint32_t seen = 0;
    for (uint64_t slot = 0; slot < slots; slot++) words[slot] = TAMIS__PEEL_EMPTY;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__key_slots p = tamis__key_slots_of(graph, &geometry, hashes[i]);
        if (lenient && tamis__peel_crowded(seen_with(graph, &p, words))) continue;
        TAMIS_UNROLL
        for (unsigned j = 0; j < tamis__arity(graph); j++) {
            uint32_t *word = &words[p.at[j]];
            *word = tamis__peel_add(*word, tamis__peel_entry((uint32_t)i, j));
            seen |= *word;
        }
    }
    return !tamis__peel_crowded(seen);
}

static bool count_keys(enum tamis__graph graph, const struct tamis__geometry *g,
                       const uint64_t *hashes, size_t count, bool lenient, uint32_t *words) {
    if (lenient) return count_graph(graph, g, hashes, count, true, words);
    if (graph == TAMIS__XOR3) return count_graph(TAMIS__XOR3, g, hashes, count, false, words);
    return graph == TAMIS__FUSE3 ? count_graph(TAMIS__FUSE3, g, hashes, count, false, words)
                                 : count_graph(TAMIS__FUSE4, g, hashes, count, false, words);
}

/* ---- peel */

/* The order grows in the part of the queue that has been worked off: an item of the queue
 * gives at most one entry of the order.  No slot enters the queue twice: it reaches a count of
 * 1 either before the search for such slots or after it. */
TAMIS_TEMPLATE size_t run_graph(enum tamis__graph graph, const struct tamis__geometry *g,
                                const uint64_t *hashes, uint64_t base, uint64_t length,
                                uint32_t *words, uint32_t *queue) {
    const struct tamis__geometry geometry = *g;
    size_t head = 0, tail = 0, peeled = 0;
    for (uint64_t slot = 0; slot < length; slot++) {
        queue[tail] = (uint32_t)slot;
        tail += tamis__peel_single(words[slot]);
    }
    while (head < tail) {
        const size_t ahead = head + TAMIS__PEEL_AHEAD;
        if (ahead < tail) tamis__peel_prefetch(hashes, words[queue[ahead]]);
        const uint32_t entry = words[queue[head++]];
        if (!tamis__peel_single(entry)) continue; /* its key was peeled through another slot */
        const uint32_t number = tamis__peel_number(entry);
        const struct tamis__key_slots p = tamis__key_slots_of(graph, &geometry, hashes[number]);
        queue[peeled++] = entry;
        TAMIS_UNROLL
        for (unsigned j = 0; j < tamis__arity(graph); j++) {
            const uint64_t at = p.at[j] - base;
            const uint32_t left = tamis__peel_take(words[at], tamis__peel_entry(number, j));
            words[at] = left;
            queue[tail] = (uint32_t)at;
            tail += tamis__peel_single(left);
        }
    }
    return peeled;
}

size_t tamis__peel_run(enum tamis__graph graph, const struct tamis__geometry *g,
                       const uint64_t *hashes, uint64_t base, uint64_t length, uint32_t *words,
                       uint32_t *queue) {
    if (graph == TAMIS__XOR3) {
        return run_graph(TAMIS__XOR3, g, hashes, base, length, words, queue);
    }
    return graph == TAMIS__FUSE3 ? run_graph(TAMIS__FUSE3, g, hashes, base, length, words, queue)
                                 : run_graph(TAMIS__FUSE4, g, hashes, base, length, words, queue);
}

/* The room for the queue: a slot in use enters it at most once. */
static size_t slots_in_use(const uint32_t *words, uint64_t slots) {
    size_t used = 0;
    for (uint64_t slot = 0; slot < slots; slot++) used += words[slot] != TAMIS__PEEL_EMPTY;
    return used;
}

tamis_status tamis__peel_flat(enum tamis__graph graph, const struct tamis__geometry *g,
                              const uint64_t *hashes, size_t count, bool lenient,
                              const tamis_allocator *a, struct tamis__order *order) {
    const uint64_t slots = tamis__geometry_slots(graph, g);
    *order = (struct tamis__order){.room = 0};
    uint32_t *words = (uint32_t *)tamis__table_alloc(a, slots * sizeof *words);
    if (words == NULL) return TAMIS_E_NOMEM;
    tamis_status status = TAMIS_OK;
    if (!count_keys(graph, g, hashes, count, lenient, words)) {
        order->crowded = true;
    } else if (!tamis__order_create(order, slots_in_use(words, slots) + 1, a)) {
        status = TAMIS_E_NOMEM;
    } else {
        order->left = tamis__peel_run(graph, g, hashes, 0, slots, words, order->entries);
    }
    tamis__table_free(a, words, slots * sizeof *words);
    return status;
}

/* ---- assign */

/* Packing takes 1 ns a key, and starting a thread 30 microseconds. */
#define PACK_KEYS ((size_t)1 << 18)

/* Entries ahead of which hashes are prefetched: they were last read long ago. */
#define ASSIGN_AHEAD 48

struct assignment {
    enum tamis__graph graph;
    const struct tamis__geometry *geometry;
    const uint64_t *hashes;
    const struct tamis__order *order;
    unsigned width;
    uint8_t *loose, *table;
};

TAMIS_TEMPLATE void assign_keys(const struct assignment *t, enum tamis__graph graph,
                                enum tamis__access access, const uint32_t *entries, size_t count,
                                bool downwards) {
    const struct tamis__geometry geometry = *t->geometry;
    const uint64_t *hashes = t->hashes;
    uint8_t *loose = t->loose;
    for (size_t i = 0; i < count; i++) {
        const size_t ahead = i + ASSIGN_AHEAD;
        if (ahead < count) {
            tamis__peel_prefetch(hashes, entries[downwards ? ahead : count - 1 - ahead]);
        }
        const uint32_t entry = entries[downwards ? i : count - 1 - i];
        const struct tamis__key_slots p =
            tamis__key_slots_of(graph, &geometry, hashes[tamis__peel_number(entry)]);
        uint32_t fingerprint = p.fingerprint, at[TAMIS__ARITY_MAX];
        TAMIS_UNROLL
        for (unsigned j = 0; j < tamis__arity(graph); j++) {
            at[j] = p.at[j];
            fingerprint ^=
                tamis__fingerprint_load(loose, at[j], access, 0); /* its own is still 0 */
        }
        tamis__fingerprint_store(loose, at[tamis__peel_which(entry)], fingerprint, access);
    }
}

TAMIS_TEMPLATE void assign_graph(const struct assignment *t, enum tamis__graph graph,
                                 const uint32_t *entries, size_t count, bool downwards) {
    const enum tamis__access access = tamis__access_loose(t->width);
    if (access == TAMIS__BYTE) {
        assign_keys(t, graph, TAMIS__BYTE, entries, count, downwards);
    } else if (access == TAMIS__HALF) {
        assign_keys(t, graph, TAMIS__HALF, entries, count, downwards);
    } else {
        assign_keys(t, graph, TAMIS__WORD, entries, count, downwards);
    }
}

static void assign(const struct assignment *t, const uint32_t *entries, size_t count,
                   bool downwards) {
    if (t->graph == TAMIS__XOR3) {
        assign_graph(t, TAMIS__XOR3, entries, count, downwards);
    } else if (t->graph == TAMIS__FUSE3) {
        assign_graph(t, TAMIS__FUSE3, entries, count, downwards);
    } else {
        assign_graph(t, TAMIS__FUSE4, entries, count, downwards);
    }
}

static tamis_status assign_side(void *context, uint64_t i) {
    const struct assignment *t = (const struct assignment *)context;
    const struct tamis__order *o = t->order;
    if (i == 0) {
        assign(t, o->entries, o->left, false);
    } else {
        assign(t, o->entries + (o->room - o->right), o->right, true);
    }
    return TAMIS_OK;
}

/* An order of one stretch is for one thread: another would be started for nothing. */
static void assign_sides(struct assignment *t, unsigned threads) {
    (void)tamis__parallel(t->order->right == 0 ? 1 : threads, 2, assign_side, t);
}

static tamis_status pack_side(void *context, uint64_t i) {
    const struct assignment *t = (const struct assignment *)context;
    const uint64_t slots = tamis__geometry_slots(t->graph, t->geometry);
    const uint64_t half = slots / 2 & ~(uint64_t)63;
    tamis__fingerprints_pack(t->loose, i == 0 ? 0 : half, i == 0 ? half : slots, t->width,
                             t->table);
    return TAMIS_OK;
}

tamis_status tamis__peel_assign(enum tamis__graph graph, const struct tamis__geometry *g,
                                const uint64_t *hashes, const struct tamis__order *order,
                                unsigned width, unsigned threads, const tamis_allocator *a,
                                uint8_t *table) {
    const enum tamis__access access = tamis__access_loose(width);
    const bool packed = tamis__access_of(width) != access;
    const uint64_t bytes = tamis__fingerprints_bytes(tamis__geometry_slots(graph, g),
                                                     tamis__fingerprint_width(access, 0));
    uint8_t *loose = packed ? (uint8_t *)tamis__table_alloc(a, bytes) : table;
    if (loose == NULL) return TAMIS_E_NOMEM;

    struct assignment t = {graph, g, hashes, order, width, loose, table};
    assign(&t, order->entries + order->left, order->middle, false);
    assign_sides(&t, threads);
    if (packed) {
        (void)tamis__parallel(order->room < PACK_KEYS ? 1 : threads, 2, pack_side, &t);
        tamis__table_free(a, loose, bytes);
    }
    return TAMIS_OK;
}
