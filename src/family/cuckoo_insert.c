/* cuckoo_insert.c - making room in a cuckoo filter
 *
 * When all locations of a key are taken, the symbol in one of them must move to another of its own
 * locations, which may be taken too, and so on.  A breadth-first search finds a short chain of
 * moves that ends in an empty slot:
 *
 *     queue   the slots that could be freed, each with the step that it would be freed for;
 *             initially the key's own
 *     step    take the next slot of the queue and read the class of its symbol.  If one of the
 *             class's two windows has an empty slot, the chain is found; otherwise the slots of
 *             both windows are queued, except those of the window through which the step came.
 *             Queueing is postponed until the queue would run out, since a step queues three
 *             slots and most searches end earlier.
 *
 * Nothing is written before a chain is found, so a failed add leaves the table unchanged; and
 * nothing is random, so the same adds give the same bytes, after a reload too.
 *
 * Search limit.  While a filter fills up to its capacity a search takes 7 steps on average, near
 * capacity 20; of the last adds one in 4,000 needs more than 256 steps, and each 128 further steps
 * make that 70 times rarer.  SEARCH_SLOTS is far beyond, and bounds the time of a failed add.  The
 * usual random walk fits 1 % more into a table in the end, but must be undone when it fails, needs
 * random numbers, and takes twice as long out of cache, since its slots cannot be prefetched.
 *
 * A slot may be queued twice, by chains that meet.  Keeping a set of the queued slots took longer
 * than it saved, except with fewer fingerprints than filters are sized for. */
#include "family/cuckoo_kernel.h"

#define SEARCH_SLOTS 1024
#define SEARCH_ROOT UINT32_MAX
#define SEARCH_AHEAD 8 /* steps, in a table out of cache */

/* A slot that could be freed: slot j of a window.  The symbol that would move into it is in
 * queue[from] (or is the key's), and would be `coming` in slot 0 of the window. */
struct cuckoo_step {
    uint64_t window;
    uint32_t symbol; /* in the slot now */
    uint32_t coming;
    uint32_t from;
    uint32_t j;
};

struct search {
    uint32_t count, prefetched;
    struct cuckoo_step queue[SEARCH_SLOTS];
};

TAMIS_TEMPLATE struct cuckoo_step search_from(uint64_t window, uint32_t coming, uint32_t from) {
    return (struct cuckoo_step){.window = window, .coming = coming, .from = from};
}

/* The contents of a window. */
struct cuckoo_view {
    uint32_t symbol[3];
    uint64_t empty; /* marks */
};

TAMIS_TEMPLATE struct cuckoo_view search_look(const struct cuckoo_grid *g, uint64_t window,
                                              unsigned w, bool packed) {
    struct cuckoo_view view = {.empty = cuckoo_empty(g, window, w, packed)};
    const uint64_t word = cuckoo_load(g, window);
    TAMIS_UNROLL for (unsigned j = 0; j < w; j++) {
        view.symbol[j] = packed ? (uint32_t)(word >> (j * g->width) & g->mask)
                                : cuckoo_get(g, window + j * g->width);
    }
    return view;
}

TAMIS_TEMPLATE uint64_t search_bit(const struct cuckoo_grid *g, const struct cuckoo_step *step) {
    return step->window + step->j * g->width;
}

/* Queues the slots of a window, all taken. */
TAMIS_TEMPLATE void search_queue(struct search *s, const struct cuckoo_view *view,
                                 struct cuckoo_step step, unsigned w) {
    TAMIS_UNROLL for (step.j = 0; step.j < w; step.j++) {
        step.symbol = view->symbol[step.j];
        s->queue[s->count++] = step;
    }
}

/* The same except for those that are in the window `known` as well: branch-free, since these are
 * random. */
TAMIS_TEMPLATE void search_queue_but(struct search *s, const struct cuckoo_grid *g,
                                     const struct cuckoo_view *view, struct cuckoo_step step,
                                     uint64_t known, unsigned w) {
    TAMIS_UNROLL for (step.j = 0; step.j < w; step.j++) {
        const uint64_t bit = search_bit(g, &step);
        step.symbol = view->symbol[step.j];
        s->queue[s->count] = step;
        s->count += bit - known >= w * g->width;
    }
}

/* Prefetches the windows that the steps before `end` will read. */
TAMIS_TEMPLATE void search_prefetch(struct search *s, const struct cuckoo_grid *g, uint32_t end,
                                    unsigned w) {
    for (; s->prefetched < end && s->prefetched < s->count; s->prefetched++) {
        const struct cuckoo_step *step = &s->queue[s->prefetched];
        struct cuckoo_item item;
        if (!cuckoo_read(g, search_bit(g, step), step->symbol, w, &item)) continue;
        TAMIS_PREFETCH(cuckoo_byte(g, item.other));
    }
}

/* A chain that returns to one of its slots cannot be applied. */
TAMIS_TEMPLATE bool search_meets_itself(const struct search *s, const struct cuckoo_grid *g,
                                        uint32_t at) {
    for (; at != SEARCH_ROOT; at = s->queue[at].from) {
        const uint64_t bit = search_bit(g, &s->queue[at]);
        for (uint32_t i = s->queue[at].from; i != SEARCH_ROOT; i = s->queue[i].from) {
            if (search_bit(g, &s->queue[i]) == bit) return true;
        }
    }
    return false;
}

/* Applies the chain of moves, from the empty slot at its end up to the key. */
TAMIS_TEMPLATE void search_move(const struct search *s, const struct cuckoo_grid *g, uint32_t at,
                                uint64_t bit, uint64_t symbol) {
    for (; at != SEARCH_ROOT; at = s->queue[at].from) {
        cuckoo_set(g, bit, symbol);
        bit = search_bit(g, &s->queue[at]);
        symbol = s->queue[at].coming + s->queue[at].j;
    }
    cuckoo_set(g, bit, symbol);
}

/* Where the symbol in a slot could move, and what symbol it becomes there. */
struct cuckoo_exit {
    uint64_t bit, symbol;
};

/* Has one of its windows an empty slot? */
TAMIS_TEMPLATE bool search_exit(const struct cuckoo_grid *g, uint64_t bit, uint32_t symbol,
                                unsigned w, enum cuckoo_form form, struct cuckoo_exit *exit) {
    struct cuckoo_item item;
    struct cuckoo_spot spot;
    if (!cuckoo_read(g, bit, symbol, w, &item)) return false;
    if (form == CUCKOO_PAIRED) {
        const uint64_t empty = cuckoo_pair_empty(g, item.here, item.other);
        if (TAMIS_LIKELY(empty == 0)) return false;
        spot = cuckoo_pair_lowest(g, empty, w);
    } else {
        const bool packed = form == CUCKOO_PACKED;
        const uint64_t here = cuckoo_empty(g, item.here, w, packed);
        const uint64_t other = cuckoo_empty(g, item.other, w, packed);
        if (TAMIS_LIKELY((here | other) == 0)) return false;
        spot = cuckoo_lowest_of(g, here, other, w, packed);
    }
    exit->bit = (spot.in_second ? item.other : item.here) + spot.offset;
    exit->symbol = (spot.in_second ? item.other_symbol : item.here_symbol) + spot.j;
    return true;
}

/* Does a step end a chain?  Then applies it. */
TAMIS_TEMPLATE bool search_step(const struct search *s, const struct cuckoo_grid *g, uint32_t at,
                                unsigned w, enum cuckoo_form form) {
    const struct cuckoo_step *step = &s->queue[at];
    struct cuckoo_exit exit;
    if (!search_exit(g, search_bit(g, step), step->symbol, w, form, &exit)) return false;
    if (search_meets_itself(s, g, at)) return false;
    search_move(s, g, at, exit.bit, exit.symbol);
    return true;
}

/* The first steps, without a queue: two of three searches end here. */
TAMIS_TEMPLATE bool search_roots(const struct cuckoo_grid *g, const struct cuckoo_home *home,
                                 unsigned w, enum cuckoo_form form) {
    TAMIS_UNROLL for (unsigned which = 0; which < 2; which++) {
        const uint64_t window = which == 0 ? home->first : home->second;
        const struct cuckoo_view view = search_look(g, window, w, form != CUCKOO_WIDE);
        TAMIS_UNROLL for (unsigned j = 0; j < w; j++) {
            const uint64_t bit = window + j * g->width;
            struct cuckoo_exit exit;
            if (!search_exit(g, bit, view.symbol[j], w, form, &exit)) continue;
            cuckoo_set(g, exit.bit, exit.symbol);
            cuckoo_set(g, bit, cuckoo_symbol(home->fingerprint, which, w) + j);
            return true;
        }
    }
    return false;
}

/* Queues the slots of both windows of a step that ended no chain. */
TAMIS_TEMPLATE void search_expand(struct search *s, const struct cuckoo_grid *g, uint32_t at,
                                  unsigned w, bool packed) {
    const struct cuckoo_step *step = &s->queue[at];
    struct cuckoo_item item;
    if (s->count > SEARCH_SLOTS - 2 * w) return;
    if (!cuckoo_read(g, search_bit(g, step), step->symbol, w, &item)) return;
    const struct cuckoo_view here = search_look(g, item.here, w, packed);
    const struct cuckoo_view other = search_look(g, item.other, w, packed);
    if ((here.empty | other.empty) != 0) return; /* its chain returns to itself */
    const uint64_t known = step->window;
    search_queue(s, &other, search_from(item.other, item.other_symbol, at), w);
    search_queue_but(s, g, &here, search_from(item.here, item.here_symbol, at), known, w);
}

/* Queues the key's own slots; false if all of them hold it. */
TAMIS_TEMPLATE bool search_begin(struct search *s, const struct cuckoo_grid *g,
                                 const struct cuckoo_home *home, unsigned w, bool packed) {
    const struct cuckoo_view first = search_look(g, home->first, w, packed);
    const struct cuckoo_view second = search_look(g, home->second, w, packed);
    const uint32_t in_first = cuckoo_symbol(home->fingerprint, 0, w);
    const uint32_t in_second = cuckoo_symbol(home->fingerprint, 1, w);
    bool saturated = true;
    TAMIS_UNROLL for (unsigned j = 0; j < w; j++) {
        saturated &= first.symbol[j] == in_first + j && second.symbol[j] == in_second + j;
    }
    s->count = 0;
    search_queue(s, &first, search_from(home->first, in_first, SEARCH_ROOT), w);
    search_queue(s, &second, search_from(home->second, in_second, SEARCH_ROOT), w);
    s->prefetched = s->count;
    return !saturated;
}

TAMIS_TEMPLATE bool search_run(const struct tamis__cuckoo *c, const struct cuckoo_home *home,
                               unsigned w, enum cuckoo_form form) {
    if (search_roots(&c->grid, home, w, form)) return true;
    const struct cuckoo_grid g = c->grid; /* in registers: stores to the queue cannot alias it */
    const bool far = c->base.shape.table_bytes >= CUCKOO_FAR, packed = form != CUCKOO_WIDE;
    const uint32_t ahead = far ? SEARCH_AHEAD : 0;
    uint32_t expanded = 0;
    struct search s;
    if (!search_begin(&s, &g, home, w, packed)) return false;
    for (uint32_t at = s.count;; at++) {
        while (expanded < at && at + ahead >= s.count) {
            search_expand(&s, &g, expanded++, w, packed);
        }
        if (at >= s.count) return false;
        if (far) search_prefetch(&s, &g, at + ahead, w);
        if (search_step(&s, &g, at, w, form)) return true;
    }
}

TAMIS_TEMPLATE bool search_any(const struct tamis__cuckoo *c, const struct cuckoo_home *home) {
    const bool two = c->grid.window == 2;
    const enum cuckoo_form form = cuckoo_form_of(c->grid.width, c->grid.window);
    if (form == CUCKOO_PAIRED) {
        return two ? search_run(c, home, 2, CUCKOO_PAIRED) : search_run(c, home, 3, CUCKOO_PAIRED);
    }
    if (form == CUCKOO_PACKED) {
        return two ? search_run(c, home, 2, CUCKOO_PACKED) : search_run(c, home, 3, CUCKOO_PACKED);
    }
    return two ? search_run(c, home, 2, CUCKOO_WIDE) : search_run(c, home, 3, CUCKOO_WIDE);
}

bool tamis__cuckoo_search(const struct tamis__cuckoo *c, const struct cuckoo_home *home) {
    return search_any(c, home);
}

#if defined(TAMIS_HAVE_AVX2)
TAMIS_TARGET_AVX2 bool tamis__cuckoo_search_avx2(const struct tamis__cuckoo *c,
                                                 const struct cuckoo_home *home) {
    return search_any(c, home);
}
#endif
