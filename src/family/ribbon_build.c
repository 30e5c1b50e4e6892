/* ribbon_build.c - building the layers of a shard, each from the keys that the one before bumped
 *
 *   group of keys -> layer 0 -> bumped keys, rehashed and grouped -> layer 1 -> ... -> few keys
 *                                                                        -> two dense tables
 *
 * A layer bumps about 6 % of its keys, so 4 million keys take three layers: 240,000 go to the
 * second, 15,000 to the third and 900 to the dense tables.  The segments of a layer are solved
 * independently (ribbon_segment.c), by all threads.
 *
 * The number of keys alone decides the sizes of a layer, and with them the position of every key,
 * so the result depends neither on threads nor on the order of the keys. */
#include <string.h>

#include "core/parallel.h"
#include "family/ribbon.h"

/* One key in 17 more than slots.  Measured from 140,000 to 4 million keys: 16 to 18 give the same
 * space; with 20 more slots stay empty (0.02 %), with 22 still more (0.06 %). */
#define OVERLOAD 17

/* A layer while it is built. */
struct layer_build {
    struct tamis__ribbon_job job;
    uint64_t bytes;
    struct tamis__stretch *bumped; /* by segment */
    size_t bumped_bytes;
};

/* ------------------------------------------------------------------------ a layer */

void tamis__ribbon_layer_for(struct tamis__ribbon_form form, uint64_t count,
                             struct tamis__ribbon_layer *layer) {
    const uint64_t whole = TAMIS__RIBBON_MARK_BLOCKS, max = UINT16_MAX / whole * whole;
    unsigned lg = 0;
    while (lg < TAMIS__RIBBON_SEGMENTS_LG_MAX && count >> lg > TAMIS__RIBBON_SEGMENT_KEYS) lg++;
    uint64_t blocks = (count - count / OVERLOAD) / TAMIS__RIBBON_BLOCK >> lg;
    if (lg > 0) blocks = (blocks + whole / 2) / whole * whole; /* tamis__ribbon_layer_check */
    if (blocks > max) blocks = max;
    if (blocks < 2) blocks = 2;
    tamis__ribbon_layer_init(form, blocks, lg, layer);
}

static uint64_t segments_of(const struct layer_build *b) {
    return (uint64_t)1 << b->job.layer.lg_segments;
}

static tamis_status build_segment(void *context, uint64_t index) {
    struct layer_build *b = (struct layer_build *)context;
    return tamis__ribbon_solve_segment(&b->job, index, &b->bumped[index]);
}

/* Builds the layer of all keys of the group. */
static tamis_status build_layer(struct layer_build *b, unsigned threads) {
    struct tamis__ribbon_job *job = &b->job;
    tamis__ribbon_layer_for(job->form, job->group->count, &job->layer);
    b->bytes = tamis__ribbon_layer_bytes(&job->layer, job->form.columns);
    b->bumped_bytes = (size_t)segments_of(b) * sizeof *b->bumped;
    job->table = (uint8_t *)tamis__table_alloc(job->allocator, b->bytes);
    b->bumped = tamis__alloc(job->allocator, b->bumped_bytes);
    if (b->bumped != NULL) memset(b->bumped, 0, b->bumped_bytes);
    if (job->table == NULL || b->bumped == NULL) return TAMIS_E_NOMEM;
    return tamis__parallel(threads, segments_of(b), build_segment, b);
}

static void free_bumped(struct layer_build *b) {
    const tamis_allocator *a = b->job.allocator;
    for (uint64_t i = 0; b->bumped != NULL && i < segments_of(b); i++) {
        tamis__release(a, (void *)(uintptr_t)b->bumped[i].hash, b->bumped[i].count * 8);
    }
    tamis__release(a, b->bumped, b->bumped_bytes);
    b->bumped = NULL;
}

/* ------------------------------------------------------------------------ a shard */

#define PIECES (TAMIS__RIBBON_LAYERS + 2)

/* The parts of a shard's table, in order. */
struct pieces {
    uint8_t *table[PIECES];
    uint64_t bytes[PIECES];
};

static void free_pieces(const tamis_allocator *a, struct pieces *p) {
    for (unsigned i = 0; i < PIECES; i++) tamis__table_free(a, p->table[i], p->bytes[i]);
}

static tamis_status join_pieces(const tamis_allocator *a, struct pieces *p,
                                struct tamis__shard *shard) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < PIECES; i++) bytes += p->bytes[i];
    if (bytes == 0) bytes = 8; /* a shard that has keys has a table */
    shard->table = (uint8_t *)tamis__table_alloc(a, bytes);
    if (shard->table == NULL) return TAMIS_E_NOMEM;
    shard->bytes = bytes;
    uint8_t *to = shard->table;
    for (unsigned i = 0; i < PIECES; i++) {
        if (p->table[i] == NULL) continue;
        memcpy(to, p->table[i], (size_t)p->bytes[i]);
        to += p->bytes[i];
    }
    return TAMIS_OK;
}

/* The dense tables of the keys that are left. */
static tamis_status build_dense(struct tamis__ribbon_form form, const struct tamis__group *group,
                                const tamis_allocator *a, struct pieces *p,
                                struct tamis__shard *shard) {
    const size_t bytes = group->count * sizeof *group->hashes;
    uint64_t *sorted = (uint64_t *)tamis__alloc(a, bytes); /* narrow ones first */
    if (sorted == NULL) return TAMIS_E_NOMEM;
    size_t narrow = 0, wide = group->count;
    for (size_t i = 0; i < group->count; i++) {
        const uint64_t hash = group->hashes[i];
        sorted[tamis__ribbon_is_narrow(form, hash) ? narrow++ : --wide] = hash;
    }
    tamis_status status = TAMIS_OK;
    for (unsigned k = 0; k < 2 && status == TAMIS_OK; k++) {
        const size_t from = k == 0 ? 0 : narrow, count = k == 0 ? narrow : group->count - narrow;
        const unsigned width = form.columns - (k == 0);
        const unsigned piece = TAMIS__RIBBON_LAYERS + k;
        struct tamis__linear linear;
        if (count == 0 || width == 0) continue;
        status = tamis__linear_build(sorted + from, count, width, a, &linear, &p->table[piece],
                                     &p->bytes[piece]);
        if (status == TAMIS_OK && linear.slots > UINT32_MAX) status = TAMIS_E_TOO_BIG;
        if (status != TAMIS_OK) break;
        shard->word[2] |= linear.slots << (32 * k);
        shard->word[3 + k] = linear.seed;
    }
    tamis__release(a, sorted, bytes);
    return status;
}

/* Builds layers until the keys that are left are few; `*rest` receives them.  It is the
 * caller's group if there is no layer at all. */
static tamis_status build_layers(struct tamis__ribbon_form form, unsigned threads,
                                 const tamis_allocator *a, struct tamis__group *rest,
                                 struct pieces *p, struct tamis__shard *shard, unsigned *layers) {
    tamis_status status = TAMIS_OK;
    while (*layers < TAMIS__RIBBON_LAYERS && rest->count > TAMIS__RIBBON_DENSE) {
        struct layer_build b = {.job = {.form = form, .group = rest, .allocator = a}};
        const struct tamis__ribbon_layer *layer = &b.job.layer;
        struct tamis__group next = {.allocator = *a};
        status = build_layer(&b, threads);
        if (status == TAMIS_OK) status = tamis__group_copy(&next, b.bumped, segments_of(&b));
        free_bumped(&b);
        p->table[*layers] = b.job.table;
        p->bytes[*layers] = b.bytes;
        const uint64_t half = layer->slots / TAMIS__RIBBON_BLOCK | layer->lg_segments << 16;
        shard->word[*layers / 2] |= half << (32 * (*layers % 2));
        if (*layers > 0) tamis__group_free(rest);
        *rest = next;
        ++*layers;
        if (status != TAMIS_OK) break;
    }
    return status;
}

tamis_status tamis__ribbon_build_shard(const struct tamis__shard_maker *maker,
                                       const struct tamis__shape *shape, struct tamis__group *group,
                                       unsigned threads, const tamis_allocator *a,
                                       struct tamis__shard *shard) {
    (void)maker;
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(shape);
    struct pieces pieces = {{NULL}, {0}};
    unsigned layers = 0;
    memset(shard->word, 0, sizeof shard->word);
    if (group->count <= TAMIS__RIBBON_SEGMENT_KEYS) threads = 1; /* there is one segment */
    tamis_status status =
        tamis__group_distinct(group, threads); /* their number decides the layers */
    struct tamis__group rest = *group;
    if (status == TAMIS_OK) status = build_layers(form, threads, a, &rest, &pieces, shard, &layers);
    if (status == TAMIS_OK) status = build_dense(form, &rest, a, &pieces, shard);
    if (layers > 0) tamis__group_free(&rest);
    if (status == TAMIS_OK) status = join_pieces(a, &pieces, shard);
    free_pieces(a, &pieces);
    return status;
}
