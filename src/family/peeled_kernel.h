/* peeled_kernel.h - batch lookups in xor and binary fuse filters, several keys in a vector
 *
 * Included by peeled_avx2.c and peeled_avx512.c.  Each of them defines before it
 *
 *     PEELED_TARGET     the function attribute of its instruction set
 *     PEELED_TEMPLATE   TAMIS_TEMPLATE with that attribute
 *     LANES             the keys of a vector, one in each lane of 64 bits
 *     AHEAD_NEAR, AHEAD_FAR, LATE, DELAY   distances between the steps of a group, in groups
 *     RING              groups in the ring: a power of two, at least AHEAD_FAR + DELAY
 *     FETCHED           the size of table from which lines are prefetched, and groups AHEAD_FAR
 *     vector            the type, and arithmetic on it: see peeled_avx2.c
 *
 * and after it the primitives declared below.  PEELED_INSTANCE then defines a batch.
 * Everything is inlined into those, where `graph`, `loads`, `single` and `gather` are constants.
 *
 * The slots of a group of LANES keys are computed in vectors and stored; the fingerprints are
 * loaded one by one.  A load that soon follows such a store waits for it and for all arithmetic
 * before it, and fills the processor's buffers meanwhile.  So a group passes through a ring, and
 * each step uses what was stored some groups before:
 *
 *     slots  ...  prefetch  ...  load, combine  ...  compare, store the results
 *            LATE                                DELAY
 *            AHEAD_NEAR or AHEAD_FAR
 *
 * Fingerprints of a byte are combined in general registers and stored, and those of a group are
 * compared at once.  Others are combined and compared in vectors, without a delay.  There is no
 * branch on what was found.
 *
 * Filters with a list, or with a shard that has no array, do not use these kernels. */
#ifndef TAMIS_FAMILY_PEELED_KERNEL_H
#define TAMIS_FAMILY_PEELED_KERNEL_H

#include "family/peeled.h"

static_assert(RING >= AHEAD_FAR + DELAY && RING >= AHEAD_NEAR + DELAY,
              "a group is prepared when another has left its place");

/* How the fingerprints of a width are loaded: bytes; or 32 or 64 bits, and shifted. */
enum loads { BYTES, WORDS, LONG_WORDS };

/* A geometry, and the byte at which the array begins, in each lane. */
struct lanes {
    vector salt, range, segment, start;
};

/* What is the same for all keys. */
struct peeled_table {
    const uint8_t *bytes; /* positions count from here */
    const struct tamis__shard *shards;
    unsigned lg_shards, width;
    struct lanes lanes; /* one shard: its own, begins at `bytes`; else see `lanes_prepare` */
};

/* A group: the bytes at which fingerprints begin, how far to shift them, and what they xor to. */
struct targets {
    _Alignas(64) uint64_t byte[TAMIS__ARITY_MAX][LANES];
    vector shift[TAMIS__ARITY_MAX]; /* unused if fingerprints are bytes */
    vector fingerprint;             /* unused if fingerprints are bytes */
};

struct ring {
    struct targets targets[RING];
    /* If fingerprints are bytes: the keys' own, and the xors of those in the table. */
    _Alignas(8) uint8_t expected[RING][LANES];
    _Alignas(8) uint8_t found[RING][LANES];
};

/* ---- primitives of the including file */

/* The first n of LANES hashes; zeros after them. */
PEELED_TEMPLATE vector load_hashes(const uint64_t *hashes, size_t n);
PEELED_TEMPLATE void store_lanes(uint64_t *to, vector x);
/* The lowest byte of each lane. */
PEELED_TEMPLATE void store_bytes(uint8_t *to, vector x);
/* A filter of more than one shard: what lanes_of_shards needs, and the lanes of these shards. */
PEELED_TEMPLATE void lanes_prepare(struct peeled_table *t);
PEELED_TEMPLATE struct lanes lanes_of_shards(const struct peeled_table *t, vector shard);
/* A bit per key: is it possibly in the set? */
PEELED_TEMPLATE unsigned match(const struct peeled_table *t, const struct targets *to,
                               enum tamis__graph graph, enum loads loads, bool gather);
PEELED_TEMPLATE unsigned match_bytes(const uint8_t *expected, const uint8_t *found);
/* For fingerprints of bytes, where gathers are fast. */
PEELED_TEMPLATE void gather_bytes(const uint8_t *bytes, const struct targets *to,
                                  enum tamis__graph graph, uint8_t *found);
/* Stores the results of the first n of LANES keys; returns how many are true. */
PEELED_TEMPLATE size_t give(unsigned hits, size_t n, bool *answers);

/* ---- slots */

/* Slot j of a group. */
PEELED_TEMPLATE void aim_at(const struct peeled_table *t, const struct lanes *l, vector slot,
                            unsigned j, enum loads loads, bool single, struct targets *to) {
    if (loads != BYTES) {
        const vector bit = vector_product(slot, vector_all(t->width));
        to->shift[j] = vector_and(bit, vector_all(7));
        slot = vector_right(bit, 3);
    }
    if (!single) slot = vector_add(slot, l->start);
    store_lanes(to->byte[j], slot);
}

PEELED_TEMPLATE vector aim_xor(const struct peeled_table *t, const struct lanes *l, vector hash,
                               enum loads loads, bool single, struct targets *to) {
    const vector block = l->segment, x = vector_fold(hash, l->salt);
    const vector y = vector_fold(x, vector_all(TAMIS__XOR_SECOND_FOLD));
    const vector first = vector_product(vector_right(x, 32), block);
    const vector second = vector_right(vector_product(x, block), 32);
    const vector third = vector_right(vector_product(vector_right(y, 32), block), 32);
    aim_at(t, l, vector_right(first, 32), 0, loads, single, to);
    aim_at(t, l, vector_add(block, second), 1, loads, single, to);
    aim_at(t, l, vector_add(vector_add(block, block), third), 2, loads, single, to);
    return y;
}

PEELED_TEMPLATE vector aim_fuse(const struct peeled_table *t, const struct lanes *l, vector hash,
                                enum tamis__graph graph, enum loads loads, bool single,
                                struct targets *to) {
    const vector x = vector_fold(hash, l->salt);
    const unsigned bits = graph == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    const vector mask = vector_add(l->segment, vector_all(UINT64_MAX));
    vector first = vector_range(hash, l->range);
    aim_at(t, l, first, 0, loads, single, to);
    TAMIS_UNROLL
    for (unsigned j = 1; j < tamis__arity(graph); j++) {
        first = vector_add(first, l->segment);
        const vector slot = vector_choose(first, vector_right(x, 64 - j * bits), mask);
        aim_at(t, l, slot, j, loads, single, to);
    }
    return x;
}

/* tamis__key_slots_of for a group; returns the fingerprints. */
PEELED_TEMPLATE vector aim(const struct peeled_table *t, vector hash, enum tamis__graph graph,
                           enum loads loads, bool single, struct targets *to) {
    vector g = vector_mix(hash);
    struct lanes l = t->lanes;
    if (!single) {
        l = lanes_of_shards(t, vector_right_by(vector_right(g, 1), 63 - t->lg_shards));
        g = vector_left_by(g, t->lg_shards);
    }
    return graph == TAMIS__XOR3 ? aim_xor(t, &l, g, loads, single, to)
                                : aim_fuse(t, &l, g, graph, loads, single, to);
}

/* ---- the steps of a group */

PEELED_TEMPLATE void prepare(const struct peeled_table *t, const uint64_t *hashes, size_t n,
                             enum tamis__graph graph, enum loads loads, bool single,
                             struct ring *ring, size_t i) {
    struct targets *to = &ring->targets[i % RING];
    const vector fingerprint = aim(t, load_hashes(hashes, n), graph, loads, single, to);
    if (loads == BYTES) {
        store_bytes(ring->expected[i % RING], fingerprint);
    } else {
        to->fingerprint = fingerprint;
    }
}

PEELED_TEMPLATE void fetch(const struct peeled_table *t, enum tamis__graph graph,
                           const struct targets *to) {
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        TAMIS_UNROLL
        for (unsigned k = 0; k < LANES; k++) TAMIS_PREFETCH(t->bytes + to->byte[j][k]);
    }
}

PEELED_TEMPLATE void collect(const struct peeled_table *t, enum tamis__graph graph, bool gather,
                             struct ring *ring, size_t i) {
    const struct targets *to = &ring->targets[i % RING];
    uint8_t *found = ring->found[i % RING];
    if (gather) {
        gather_bytes(t->bytes, to, graph, found);
        return;
    }
    TAMIS_UNROLL
    for (unsigned k = 0; k < LANES; k++) {
        uint8_t byte = t->bytes[to->byte[0][k]];
        TAMIS_UNROLL
        for (unsigned j = 1; j < tamis__arity(graph); j++) byte ^= t->bytes[to->byte[j][k]];
        found[k] = byte;
    }
}

/* ---- batches */

/* The constants of a batch, and what it reads. */
struct batch {
    const struct peeled_table *t;
    const uint64_t *hashes;
    size_t count;
    bool *answers;
    size_t ahead;
    bool fetches;
};

PEELED_TEMPLATE bool *answers_at(const struct batch *b, size_t group) {
    return b->answers == NULL ? NULL : b->answers + LANES * group;
}

/* Prepares group i and prefetches an earlier one. */
PEELED_TEMPLATE void enter(const struct batch *b, enum tamis__graph graph, enum loads loads,
                           bool single, struct ring *ring, size_t i) {
    const size_t at = LANES * i;
    if (at < b->count) prepare(b->t, b->hashes + at, b->count - at, graph, loads, single, ring, i);
    if (b->fetches && i >= LATE && LANES * (i - LATE) < b->count) {
        fetch(b->t, graph, &ring->targets[(i - LATE) % RING]);
    }
}

PEELED_TEMPLATE size_t run(const struct batch *b, enum tamis__graph graph, enum loads loads,
                           bool single, bool gather) {
    const size_t groups = tamis__div_up(b->count, LANES);
    const size_t delay = loads == BYTES ? DELAY : 0;
    struct ring ring;
    size_t found = 0;
    for (size_t i = 0; i < b->ahead; i++) enter(b, graph, loads, single, &ring, i);
    for (size_t i = 0; i < groups + delay; i++) {
        const size_t done = i - delay;
        if (loads == BYTES && i < groups) collect(b->t, graph, gather, &ring, i);
        if (i >= delay) {
            const unsigned hits =
                loads == BYTES ? match_bytes(ring.expected[done % RING], ring.found[done % RING])
                               : match(b->t, &ring.targets[done % RING], graph, loads, gather);
            found += give(hits, b->count - LANES * done, answers_at(b, done));
        }
        enter(b, graph, loads, single, &ring, i + b->ahead);
    }
    return found;
}

PEELED_TEMPLATE struct peeled_table table_of(const tamis_filter *f) {
    const struct tamis__static *s = (const struct tamis__static *)f;
    struct peeled_table t = {.bytes = f->table,
                             .shards = s->shards,
                             .lg_shards = s->lg_shards,
                             .width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH]};
    if (t.lg_shards != 0) {
        lanes_prepare(&t);
        return t;
    }
    const struct tamis__geometry g = tamis__peeled_geometry(s->shards);
    t.bytes = s->shards->table;
    t.lanes = (struct lanes){
        .salt = vector_all(g.salt), .range = vector_all(g.range), .segment = vector_all(g.segment)};
    return t;
}

PEELED_TEMPLATE size_t batch_loads(const struct batch *b, enum tamis__graph graph, enum loads loads,
                                   bool gather) {
    return b->t->lg_shards == 0 ? run(b, graph, loads, true, gather)
                                : run(b, graph, loads, false, gather);
}

PEELED_TEMPLATE size_t contains_batch(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                      bool *answers, enum tamis__graph graph, bool gather) {
    const struct peeled_table t = table_of(f);
    const bool far = f->shape.table_bytes >= FETCHED;
    const struct batch b = {&t, hashes, count, answers, far ? AHEAD_FAR : AHEAD_NEAR, far};
    if (t.width == 8) return batch_loads(&b, graph, BYTES, gather);
    if (t.width <= 25) return batch_loads(&b, graph, WORDS, gather);
    return batch_loads(&b, graph, LONG_WORDS, gather);
}

#define PEELED_INSTANCE(NAME, GRAPH, GATHER)                                                 \
    PEELED_TARGET size_t NAME(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                              size_t count, bool *answers) {                                 \
        (void)hi;                                                                            \
        return contains_batch(f, lo, count, answers, GRAPH, GATHER);                         \
    }

#endif
