/* cuckoo_insert.c - making room in a cuckoo filter
 *
 * When all locations of a key are taken, what is in one of them must move to another of its
 * own locations, which may be taken too, and so on: what is wanted is a short chain of moves
 * that ends in an empty slot.  It is searched breadth first:
 *
 *     queue   the slots that could be freed, each with the step that it would be freed for;
 *             at first the key's own
 *     step    take the next slot of the queue and read the class of what is in it.  If one of
 *             the class's two windows has an empty slot, the chain is found; otherwise queue
 *             the slots of both, but for those of the window through which the step came.
 *
 * Nothing is written before a chain is found, so a refusal leaves the table as it was; and
 * nothing is random, so the same adds give the same bytes, after a reload too.
 *
 * How far to look.  While a filter fills up to its capacity a chain is found after 7 steps on
 * average, at the end after 20; of the last adds one in 4,000 needs more than 256 steps, and
 * with each 128 more that gets 70 times rarer.  SEARCH_SLOTS is far beyond, and bounds the
 * time of a refusal.  A walk at random, the usual way, gets 1 % more into a table in the end,
 * but must be undone when it fails, needs a source of chance, and out of the cache takes
 * twice as long, since its slots cannot be asked for ahead.
 *
 * A slot may be queued twice, by chains that meet.  Keeping a set of the queued ones took longer
 * than it saved, except with fewer fingerprints than filters are sized for. */
#include "family/cuckoo_kernel.h"

#define SEARCH_SLOTS 1024
#define SEARCH_ROOT UINT32_MAX
#define SEARCH_NONE ((uint64_t)1 << 63) /* a window far from all */
#define SEARCH_AHEAD 8                  /* steps, in a table that is not in the cache */

/* A slot that could be freed: slot j of a window.  What would then come into it is in
 * queue[from] (or is the key), and would be `coming` in slot 0 of the window. */
struct cuckoo_step {
    uint64_t window;
    uint32_t symbol; /* in the slot now */
    uint32_t coming;
    uint32_t from;
    uint32_t j;
};

struct cuckoo_search {
    struct cuckoo_grid g;
    bool far;
    uint32_t count, asked;
    struct cuckoo_step queue[SEARCH_SLOTS];
};

TAMIS_TEMPLATE struct cuckoo_step search_from(uint64_t window, uint32_t coming, uint32_t from) {
    const struct cuckoo_step step = {.window = window, .coming = coming, .from = from};
    return step;
}

/* What is in a window. */
struct cuckoo_view {
    uint32_t symbol[3];
    uint64_t empty; /* marks */
};

TAMIS_TEMPLATE struct cuckoo_view search_look(const struct cuckoo_grid *g, uint64_t window,
                                              unsigned w, bool packed) {
    struct cuckoo_view view = {.empty = cuckoo_empty(g, window, w, packed)};
    const uint64_t word = cuckoo_load(g, window);
    for (unsigned j = 0; j < w; j++) {
        view.symbol[j] = packed ? (uint32_t)(word >> (j * g->width) & g->mask)
                                : cuckoo_get(g, window + j * g->width);
    }
    return view;
}

TAMIS_TEMPLATE uint64_t search_bit(const struct cuckoo_grid *g, const struct cuckoo_step *step) {
    return step->window + step->j * g->width;
}

/* Queues the slots of a window, all taken, but for those that are in the window `known` as well:
 * branch-free, since which these are is as good as random. */
TAMIS_TEMPLATE void search_queue(struct cuckoo_search *s, const struct cuckoo_grid *g,
                                 const struct cuckoo_view *view, struct cuckoo_step step,
                                 uint64_t known, unsigned w) {
    for (step.j = 0; step.j < w; step.j++) {
        const uint64_t bit = search_bit(g, &step);
        step.symbol = view->symbol[step.j];
        s->queue[s->count] = step;
        s->count += bit - known >= w * g->width;
    }
}

/* Asks for the windows that the steps before `end` will look at. */
TAMIS_TEMPLATE void search_ask(struct cuckoo_search *s, const struct cuckoo_grid *g, uint32_t end,
                               unsigned w) {
    for (; s->asked < end && s->asked < s->count; s->asked++) {
        const struct cuckoo_step *step = &s->queue[s->asked];
        struct cuckoo_item item;
        if (!cuckoo_read(g, search_bit(g, step), step->symbol, w, &item)) continue;
        TAMIS_PREFETCH(cuckoo_byte(g, item.other));
    }
}

/* A chain that comes back to a slot cannot be moved along. */
static bool search_meets_itself(const struct cuckoo_search *s, uint32_t at) {
    for (; at != SEARCH_ROOT; at = s->queue[at].from) {
        const uint64_t bit = search_bit(&s->g, &s->queue[at]);
        for (uint32_t i = s->queue[at].from; i != SEARCH_ROOT; i = s->queue[i].from) {
            if (search_bit(&s->g, &s->queue[i]) == bit) return true;
        }
    }
    return false;
}

/* Moves everything along the chain, from the empty slot at its end up to the key. */
static void search_move(const struct cuckoo_search *s, uint32_t at, uint64_t bit, uint32_t symbol) {
    for (; at != SEARCH_ROOT; at = s->queue[at].from) {
        cuckoo_set(&s->g, bit, symbol);
        bit = search_bit(&s->g, &s->queue[at]);
        symbol = s->queue[at].coming + s->queue[at].j;
    }
    cuckoo_set(&s->g, bit, symbol);
}

TAMIS_TEMPLATE bool search_step(struct cuckoo_search *s, const struct cuckoo_grid *g, uint32_t at,
                                unsigned w, bool packed) {
    const struct cuckoo_step *step = &s->queue[at];
    struct cuckoo_item item;
    if (!cuckoo_read(g, search_bit(g, step), step->symbol, w, &item)) return false;
    const struct cuckoo_view here = search_look(g, item.here, w, packed);
    const struct cuckoo_view other = search_look(g, item.other, w, packed);
    if (TAMIS_UNLIKELY((here.empty | other.empty) != 0)) {
        const bool in_other = here.empty == 0;
        const unsigned j = cuckoo_lowest(g, in_other ? other.empty : here.empty, w, packed);
        const uint64_t bit = (in_other ? item.other : item.here) + j * g->width;
        if (search_meets_itself(s, at)) return false;
        search_move(s, at, bit, (in_other ? item.other_symbol : item.here_symbol) + j);
        return true;
    }
    if (s->count > SEARCH_SLOTS - 2 * w) return false;
    const uint64_t known = step->window;
    search_queue(s, g, &other, search_from(item.other, item.other_symbol, at), SEARCH_NONE, w);
    search_queue(s, g, &here, search_from(item.here, item.here_symbol, at), known, w);
    return false;
}

TAMIS_TEMPLATE bool search_run(struct cuckoo_search *s, const struct cuckoo_home *home, unsigned w,
                               bool packed) {
    const struct cuckoo_grid g = s->g; /* in registers: stores to the queue cannot change it */
    const struct cuckoo_view first = search_look(&g, home->first, w, packed);
    const struct cuckoo_view second = search_look(&g, home->second, w, packed);
    const uint32_t in_first = cuckoo_symbol(home->print, 0, w);
    const uint32_t in_second = cuckoo_symbol(home->print, 1, w);
    bool saturated = true;
    for (unsigned j = 0; j < w; j++) {
        saturated &= first.symbol[j] == in_first + j && second.symbol[j] == in_second + j;
    }
    if (saturated) return false;
    search_queue(s, &g, &first, search_from(home->first, in_first, SEARCH_ROOT), SEARCH_NONE, w);
    search_queue(s, &g, &second, search_from(home->second, in_second, SEARCH_ROOT), SEARCH_NONE, w);
    for (uint32_t at = 0; at < s->count; at++) {
        if (s->far) search_ask(s, &g, at + SEARCH_AHEAD, w);
        if (search_step(s, &g, at, w, packed)) return true;
    }
    return false;
}

bool tamis__cuckoo_search(const struct tamis__cuckoo *c, const struct cuckoo_home *home) {
    struct cuckoo_search s;
    s.g = c->grid;
    s.far = c->base.shape.table_bytes >= CUCKOO_FAR;
    s.count = s.asked = 0;
    if (s.g.window * s.g.width <= CUCKOO_PACKED_MAX) {
        return s.g.window == 2 ? search_run(&s, home, 2, true) : search_run(&s, home, 3, true);
    }
    return s.g.window == 2 ? search_run(&s, home, 2, false) : search_run(&s, home, 3, false);
}
