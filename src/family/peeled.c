/* peeled.c - see peeled.h */
#include "family/peeled.h"

#include <string.h>

#include "build/linear.h"
#include "family/sizing.h"

/* Sets of up to this many keys use the dense layout. */
#define LINEAR_KEYS 2000

/* Attempts at peeling all keys. */
#define ATTEMPTS 24

const struct tamis__peeled_constants tamis__peeled_constants = {
    .mix = {TAMIS_MIX_FIRST, TAMIS_MIX_SECOND},
    .second_fold = TAMIS__XOR_SECOND_FOLD,
};

static uint64_t salt_of(unsigned attempt) {
    return tamis__mix64(UINT64_C(0x9e3779b97f4a7c15) * (attempt + 1)) | 1;
}

/* ---- building a shard */

struct shard_build {
    const struct tamis__peeled *how;
    enum tamis__graph graph;
    unsigned width, threads;
    const struct tamis__group *group;
    const tamis_allocator *allocator;
    struct tamis__shard *shard;
};

static tamis_status build_linear(const struct shard_build *b) {
    struct tamis__shard *shard = b->shard;
    struct tamis__linear shape;
    const tamis_status status =
        tamis__linear_build(b->group->hashes, b->group->count, b->width, b->allocator, &shape,
                            &shard->table, &shard->bytes);
    if (status != TAMIS_OK) return status;
    shard->word[TAMIS__PEELED_SALT] = shape.seed;
    shard->word[TAMIS__PEELED_RANGE] = shape.slots;
    return TAMIS_OK;
}

static void sift(uint64_t *heap, size_t at, size_t count) {
    const uint64_t moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1] > heap[child]) child++;
        if (heap[child] <= moved) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Heapsort: short, in place, and no choice of hashes makes it slow. */
static void sort(uint64_t *hashes, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sift(hashes, i, count);
    for (size_t end = count; end-- > 1;) {
        const uint64_t largest = hashes[0];
        hashes[0] = hashes[end];
        hashes[end] = largest;
        sift(hashes, 0, end);
    }
}

/* Lists the keys that are not in `order`.  Sorted hashes give a sorted list. */
static tamis_status list_rest(const struct shard_build *b, const uint64_t *hashes,
                              const struct tamis__order *order, uint8_t *list) {
    const size_t count = b->group->count;
    bool *peeled = (bool *)tamis__alloc(b->allocator, count * sizeof *peeled);
    if (peeled == NULL) return TAMIS_E_NOMEM;
    memset(peeled, 0, count * sizeof *peeled);
    for (size_t i = 0; i < order->left; i++) {
        peeled[tamis__peel_number(order->entries[i])] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (peeled[i]) continue;
        tamis__store64(list, hashes[i]);
        list += 8;
    }
    tamis__release(b->allocator, peeled, count * sizeof *peeled);
    return TAMIS_OK;
}

/* Fills the table from a peeling order, which holds indexes into `hashes`. */
static tamis_status build_table(const struct shard_build *b, const uint64_t *hashes,
                                const struct tamis__geometry *g, const struct tamis__order *order) {
    struct tamis__shard *shard = b->shard;
    const uint64_t array = tamis__fingerprints_bytes(tamis__geometry_slots(b->graph, g), b->width);
    const uint64_t listed = b->group->count - tamis__order_keys(order);
    const uint64_t bytes = array + 8 * listed;
    uint8_t *table = (uint8_t *)tamis__table_alloc(b->allocator, bytes);
    if (table == NULL) return TAMIS_E_NOMEM;
    tamis_status status =
        tamis__peel_assign(b->graph, g, hashes, order, b->width, b->threads, b->allocator, table);
    if (status == TAMIS_OK && listed != 0) status = list_rest(b, hashes, order, table + array);
    if (status != TAMIS_OK) {
        tamis__table_free(b->allocator, table, bytes);
        return status;
    }
    shard->table = table;
    shard->bytes = bytes;
    shard->word[TAMIS__PEELED_SALT] = g->salt;
    shard->word[TAMIS__PEELED_RANGE] = g->range;
    shard->word[TAMIS__PEELED_SEGMENT] = g->segment;
    shard->word[TAMIS__PEELED_LISTED] = listed;
    return TAMIS_OK;
}

/* Fills the table with a list of all keys. */
static tamis_status build_list(const struct shard_build *b, const uint64_t *sorted) {
    struct tamis__shard *shard = b->shard;
    const size_t count = b->group->count;
    uint8_t *table = (uint8_t *)tamis__table_alloc(b->allocator, 8 * (uint64_t)count);
    if (table == NULL) return TAMIS_E_NOMEM;
    for (size_t i = 0; i < count; i++) tamis__store64(table + 8 * i, sorted[i]);
    shard->table = table;
    shard->bytes = 8 * (uint64_t)count;
    shard->word[TAMIS__PEELED_LISTED] = count;
    return TAMIS_OK;
}

static struct tamis__geometry geometry_at(const struct shard_build *b, unsigned attempt) {
    struct tamis__geometry g = b->how->geometry(b->graph, b->group->count, attempt);
    g.salt = salt_of(attempt);
    return g;
}

enum attempt_outcome { DONE, TRY_AGAIN, GIVE_UP };

static tamis_status attempt(const struct shard_build *b, unsigned number,
                            enum attempt_outcome *outcome) {
    const struct tamis__geometry g = geometry_at(b, number);
    struct tamis__order order;
    tamis_status status = b->how->peel(b->graph, &g, b->group, b->threads, b->allocator, &order);
    *outcome = order.crowded ? GIVE_UP : TRY_AGAIN;
    if (status == TAMIS_OK && tamis__order_keys(&order) == b->group->count) {
        *outcome = DONE;
        status = build_table(b, b->group->hashes, &g, &order);
    }
    tamis__order_free(&order, b->allocator);
    return status;
}

/* Peels as many keys as possible, and lists the rest. */
static tamis_status build_max(const struct shard_build *b, const uint64_t *sorted) {
    const size_t count = b->group->count;
    if (count > TAMIS__PEEL_KEYS_MAX) return build_list(b, sorted);
    const struct tamis__geometry g = geometry_at(b, ATTEMPTS);
    struct tamis__order order;
    tamis_status status = tamis__peel_flat(b->graph, &g, sorted, count, true, b->allocator, &order);
    if (status == TAMIS_OK) {
        const bool peeled_most = order.left > count / 2;
        status = peeled_most ? build_table(b, sorted, &g, &order) : build_list(b, sorted);
    }
    tamis__order_free(&order, b->allocator);
    return status;
}

static tamis_status last_attempt(const struct shard_build *b) {
    size_t bytes;
    if (!tamis__array_size(b->group->count, sizeof(uint64_t), &bytes)) return TAMIS_E_NOMEM;
    uint64_t *sorted = (uint64_t *)tamis__alloc(b->allocator, bytes);
    if (sorted == NULL) return TAMIS_E_NOMEM;
    memcpy(sorted, b->group->hashes, bytes);
    sort(sorted, b->group->count);
    const tamis_status status = build_max(b, sorted);
    tamis__release(b->allocator, sorted, bytes);
    return status;
}

/* Builds from distinct keys, from the given attempt on. */
static tamis_status build_distinct(const struct shard_build *b, unsigned first,
                                   enum attempt_outcome outcome) {
    const size_t count = b->group->count;
    if (count <= LINEAR_KEYS) return build_linear(b);
    if (count > TAMIS__PEEL_KEYS_MAX) outcome = GIVE_UP;
    tamis_status status = TAMIS_OK;
    for (unsigned i = first; i < ATTEMPTS && outcome == TRY_AGAIN && status == TAMIS_OK; i++) {
        status = attempt(b, i, &outcome);
    }
    return status == TAMIS_OK && outcome != DONE ? last_attempt(b) : status;
}

/* Duplicates share all of their slots, so they are never peeled: a successful attempt proves that
 * there are none, and duplicates are searched only after a failed one. */
static enum tamis__graph graph_of(const struct tamis__peeled *how,
                                  const struct tamis__shape *shape) {
    return how->graph[shape->word[TAMIS__PEELED_ARITY] == 4];
}

tamis_status tamis__peeled_build_shard(const struct tamis__shard_maker *maker,
                                       const struct tamis__shape *shape, struct tamis__group *group,
                                       unsigned threads, const tamis_allocator *a,
                                       struct tamis__shard *shard) {
    const struct tamis__peeled *how = (const struct tamis__peeled *)maker;
    const unsigned width = (unsigned)shape->word[TAMIS__PEELED_WIDTH];
    const struct shard_build b = {how, graph_of(how, shape), width, threads, group, a, shard};
    const size_t count = group->count;
    const bool tries =
        count > LINEAR_KEYS && count <= TAMIS__PEEL_KEYS_MAX && tamis__group_looks_distinct(group);
    enum attempt_outcome outcome = TRY_AGAIN;
    tamis_status status = TAMIS_OK;
    memset(shard->word, 0, sizeof shard->word);
    if (tries) status = attempt(&b, 0, &outcome);
    if (status != TAMIS_OK || outcome == DONE) return status;
    status = tamis__group_distinct(group, threads);
    if (status != TAMIS_OK) return status;
    const bool counts = tries && group->count == count; /* that attempt was with these keys */
    return counts ? build_distinct(&b, 1, outcome) : build_distinct(&b, 0, TRY_AGAIN);
}

/* ---- reading a shard */

bool tamis__peeled_check_shard(const struct tamis__shard_maker *maker,
                               const struct tamis__shape *shape, const struct tamis__shard *shard) {
    const struct tamis__peeled *how = (const struct tamis__peeled *)maker;
    const enum tamis__graph graph = graph_of(how, shape);
    const unsigned width = (unsigned)shape->word[TAMIS__PEELED_WIDTH];
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    const uint64_t listed = shard->word[TAMIS__PEELED_LISTED];
    if (shard->word[TAMIS__PEELED_UNUSED] != 0 || listed > shard->keys) return false;
    if (listed > shard->bytes / 8) return false;
    const uint64_t array = shard->bytes - 8 * listed;
    if (g.segment != 0) {
        return g.range <= UINT32_MAX && g.segment <= g.range && how->check(graph, &g) &&
               tamis__geometry_slots(graph, &g) <= UINT32_MAX &&
               array == tamis__fingerprints_bytes(tamis__geometry_slots(graph, &g), width);
    }
    if (g.range == 0) return array == 0 && listed == shard->keys;
    const struct tamis__linear linear = {g.range, g.salt, width};
    return listed == 0 && tamis__linear_check(&linear, array);
}

static struct tamis__peeled_one one_of(const tamis_filter *f, const struct tamis__shard *shard) {
    const enum tamis__graph graph = graph_of((const void *)f->family->shards, &f->shape);
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    struct tamis__peeled_one one = {.array = shard->table,
                                    .salt = g.salt,
                                    .range = g.range,
                                    .width = f->shape.word[TAMIS__PEELED_WIDTH]};
    for (unsigned j = 0; j < TAMIS__ARITY_MAX; j++) {
        one.step[j] = graph == TAMIS__XOR3 ? j * g.segment : g.segment;
        one.bound[j] = graph == TAMIS__XOR3 ? g.segment : g.segment - 1;
    }
    return one;
}

tamis_status tamis__peeled_attach(tamis_filter *f) {
    const tamis_status status = tamis__shards_attach(f);
    if (status != TAMIS_OK) return status;
    struct tamis__peeled_filter *filter = (struct tamis__peeled_filter *)f;
    const struct tamis__shard *shards = filter->base.shards;
    const struct tamis__peeled_ops *ops = (const struct tamis__peeled_ops *)f->ops;
    bool plain = true;
    for (uint64_t i = 0; i < (uint64_t)1 << filter->base.lg_shards; i++) {
        plain &= tamis__peeled_has_array(&shards[i]) && shards[i].word[TAMIS__PEELED_LISTED] == 0;
    }
    filter->one = one_of(f, &shards[0]);
    if (plain) f->ops = filter->base.lg_shards == 0 ? &ops->one : &ops->plain;
    return TAMIS_OK;
}

void tamis__peeled_prefetch(const tamis_filter *f, uint64_t hash) {
    const struct tamis__peeled *how = (const struct tamis__peeled *)f->family->shards;
    const enum tamis__graph graph = graph_of(how, &f->shape);
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    struct tamis__peeled_pending unread;
    tamis__peeled_request(f, hash, graph, tamis__access_of(width), width, &unread);
}

void tamis__peeled_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                           void *context) {
    const struct tamis__static *s = (const struct tamis__static *)f;
    const enum tamis__graph graph = graph_of((const void *)f->family->shards, &f->shape);
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    uint64_t inner;
    const struct tamis__shard *shard = tamis__shard_of(s, hash, &inner);
    tamis__shards_touch(s, shard, take, context);
    if (!tamis__peeled_has_array(shard)) {
        take(context, shard->table, shard->bytes);
        return;
    }
    const uint64_t listed = 8 * shard->word[TAMIS__PEELED_LISTED];
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    const struct tamis__key_slots p = tamis__key_slots_of(graph, &g, inner);
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        const uint64_t bit = (uint64_t)p.at[j] * width;
        take(context, shard->table + bit / 8, tamis__div_up(bit % 8 + width, 8));
    }
    take(context, shard->table + (shard->bytes - listed), listed);
}

/* The entry of a listed hash; NULL if it is not listed. */
static const uint8_t *find_listed(const struct tamis__shard *shard, uint64_t inner) {
    uint64_t low = 0, high = shard->word[TAMIS__PEELED_LISTED];
    const uint8_t *list = shard->table + (shard->bytes - 8 * high);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2, hash = tamis__load64(list + 8 * middle);
        if (hash == inner) return list + 8 * middle;
        if (hash < inner) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

bool tamis__peeled_listed(const struct tamis__shard *shard, uint64_t inner) {
    return find_listed(shard, inner) != NULL;
}

/* Of a shard without an array; no slots: all of its keys are listed. */
static struct tamis__linear linear_of(const struct tamis__shard *shard, unsigned width) {
    return (struct tamis__linear){shard->word[TAMIS__PEELED_RANGE], shard->word[TAMIS__PEELED_SALT],
                                  width};
}

bool tamis__peeled_find_other(const struct tamis__shard *shard, unsigned width, uint64_t inner) {
    if (shard->keys == 0) return false;
    const struct tamis__linear linear = linear_of(shard, width);
    if (linear.slots != 0) return tamis__linear_contains(&linear, shard->table, inner);
    return tamis__peeled_listed(shard, inner);
}

/* ---- cells */

static void array_cells(const struct tamis__shard *shard, enum tamis__graph graph, unsigned width,
                        uint64_t first, uint64_t inner, tamis__cell_taker *take, void *context) {
    const struct tamis__geometry g = tamis__peeled_geometry(shard);
    const struct tamis__key_slots p = tamis__key_slots_of(graph, &g, inner);
    const uint32_t mask = tamis__fingerprint_mask(TAMIS__PACKED, width);
    tamis_cell cell = {.bits = width, .rule = TAMIS_CELL_XOR, .expected = p.fingerprint & mask};
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        cell.bit = first + tamis__fingerprint_bit(p.at[j], TAMIS__PACKED, width);
        take(context, &cell);
    }
}

/* A listed hash matches whether the array does or not: it has a group of its own. */
void tamis__peeled_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                         void *context) {
    const enum tamis__graph graph = graph_of((const void *)f->family->shards, &f->shape);
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    uint64_t inner;
    const struct tamis__shard *shard =
        tamis__shard_of((const struct tamis__static *)f, hash, &inner);
    const uint64_t first = 8 * (uint64_t)(shard->table - f->table);
    const struct tamis__linear linear = linear_of(shard, width);
    if (tamis__peeled_has_array(shard)) {
        array_cells(shard, graph, width, first, inner, take, context);
    } else if (linear.slots != 0) {
        tamis__linear_cells(&linear, first, inner, take, context);
    }
    const uint8_t *entry = find_listed(shard, inner);
    if (entry == NULL) return;
    const tamis_cell cell = {.bit = 8 * (uint64_t)(entry - f->table),
                             .bits = 64,
                             .group = 1,
                             .rule = TAMIS_CELL_EQUAL,
                             .expected = inner};
    take(context, &cell);
}

/* ---- sizing */

/* Bits per key of a shard that is built at the first attempt. */
static double shard_bits(const struct tamis__peeled *how, enum tamis__graph graph, uint64_t keys,
                         unsigned width) {
    if (keys == 0) return 0;
    if (keys > TAMIS__PEEL_KEYS_MAX) keys = TAMIS__PEEL_KEYS_MAX;
    uint64_t bytes;
    if (keys <= LINEAR_KEYS) {
        bytes = tamis__linear_bytes(tamis__linear_slots(keys), width);
    } else {
        const struct tamis__geometry g = how->geometry(graph, (size_t)keys, 0);
        bytes = tamis__fingerprints_bytes(tamis__geometry_slots(graph, &g), width);
    }
    return 8 * (double)bytes / (double)keys;
}

tamis_status tamis__peeled_shape(const struct tamis__peeled *how, enum tamis__graph graph,
                                 const struct tamis__spec *spec, struct tamis__shape *shape) {
    const unsigned width = tamis__width_for(spec->fpr);
    if (width > TAMIS__WIDTH_MAX) return TAMIS_E_FPR_TOO_LOW;
    const unsigned lg_shards = tamis__keys_lg_shards(spec->capacity, how->maker.max);
    *shape = (struct tamis__shape){.table_bytes = 0};
    shape->word[TAMIS__STATIC_LG_SHARDS] = lg_shards;
    shape->word[TAMIS__STATIC_KEYS] = spec->capacity;
    shape->word[TAMIS__PEELED_WIDTH] = width;
    shape->word[TAMIS__PEELED_ARITY] = tamis__arity(graph);
    shape->table_bytes = tamis__shards_estimate(
        spec->capacity, lg_shards, shard_bits(how, graph, spec->capacity >> lg_shards, width));
    return shape->table_bytes == UINT64_MAX ? TAMIS_E_TOO_BIG : TAMIS_OK;
}

double tamis__peeled_fpr(const struct tamis__shape *shape, double keys) {
    if (!(keys > 0)) return 0;
    if (keys > (double)shape->word[TAMIS__STATIC_KEYS]) return 1;
    return tamis__fpr_of_width((unsigned)shape->word[TAMIS__PEELED_WIDTH]);
}

bool tamis__peeled_check(const struct tamis__shape *shape) {
    const uint64_t width = shape->word[TAMIS__PEELED_WIDTH];
    if (width < 1 || width > TAMIS__WIDTH_MAX) return false;
    return tamis__shards_check(shape) && tamis__shape_ends(shape, TAMIS__PEELED_ARITY);
}

static uint64_t shard_slots(const struct tamis__shape *shape, const struct tamis__shard *shard) {
    const uint64_t steps = shape->word[TAMIS__PEELED_ARITY] - 1;
    return shard->word[TAMIS__PEELED_RANGE] + steps * shard->word[TAMIS__PEELED_SEGMENT] +
           shard->word[TAMIS__PEELED_LISTED];
}

void tamis__peeled_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__static *s = (const struct tamis__static *)f;
    const uint64_t shards = (uint64_t)1 << s->lg_shards;
    const double keys = (double)f->shape.word[TAMIS__STATIC_KEYS];
    double slots = 0;
    for (uint64_t i = 0; i < shards; i++) slots += (double)shard_slots(&f->shape, &s->shards[i]);
    state->fill = keys > 0 ? keys / slots : 0;
    state->distinct = keys;
    state->fpr_now = tamis__peeled_fpr(&f->shape, keys);
    state->stages = (uint32_t)shards;
}
