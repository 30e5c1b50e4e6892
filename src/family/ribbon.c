/* ribbon.c - the ribbon filter: static, within half a percent of the information bound
 *
 * A ribbon filter (Dillinger and Walzer, 2021) stores r bits in every slot of an array.  A key is
 * a member if the xor of a random half of the 64 slots from a random start on equals the key's
 * fingerprint of r bits.  Building it means solving a linear system over GF(2) whose rows are
 * narrow bands.  Bumping (Dillinger, Huebschle-Schneider, Sanders and Walzer, 2022) allows the
 * system to be overloaded: the few keys that cannot be satisfied move to a second, small system,
 * and so on, so that almost every slot is used.
 *
 *     query     hash -> segment, start; marked and before the threshold: hash again, next layer
 *     compare   for each column c: parity(64 bits of column c & coefficients) = bit c
 *     build     ribbon_build.c and ribbon_segment.c;  bytes: ribbon.h
 *
 *     shape     word[2] columns r, word[3] narrow: the share of keys with one column less,
 *               as a fraction of 2^32; so the rate is (1 + word[3] / 2^32) 2^-r
 *
 * Costs   At a rate of 2^-r, 0.2 % over r bits per key.  In between, the mix of r - 1 and r columns
 *         costs up to 0.086 bits more (1.2 % at 1 %): the price of rounding every key's
 *         fingerprint to whole bits, which no other layout of such a system avoids.
 *         An absent key reads 16 r contiguous bytes: at 1 % two or three cache lines.
 *         See ribbon_segment.c for the cost of building. */
#include "family/ribbon.h"

#include <math.h>

#include "core/cpu.h"
#include "family/sizing.h"

/* ---- lookup */

/* Which dense table has the keys of this hash. */
static unsigned dense_index(struct tamis__ribbon_form form, uint64_t hash) {
    return tamis__ribbon_is_narrow(form, hash) ? 0 : 1;
}

static bool dense_contains(const struct tamis__ribbon_shard *shard, struct tamis__ribbon_form form,
                           uint64_t hash) {
    const unsigned which = dense_index(form, hash);
    const struct tamis__linear *dense = &shard->dense[which];
    if (dense->slots == 0) return false;
    if (dense->width == 0) return true;
    return tamis__linear_contains(dense, shard->dense_table[which], hash);
}

struct tamis__ribbon_location tamis__ribbon_locate_deep(const struct tamis__ribbon_shard *shard,
                                                        struct tamis__ribbon_form form,
                                                        uint64_t hash) {
    for (unsigned i = 0; i < TAMIS__RIBBON_LAYERS && shard->layer[i].slots != 0; i++) {
        const struct tamis__ribbon_layer *layer = &shard->layer[i];
        const uint64_t slot = tamis__ribbon_slot(layer, hash);
        if (i > 0 && !tamis__ribbon_is_bumped(layer, hash, slot)) {
            return tamis__ribbon_location_at(layer, form.columns, hash, slot);
        }
        hash = tamis__ribbon_rehash(hash);
    }
    return (struct tamis__ribbon_location){NULL, hash, dense_contains(shard, form, hash), 0};
}

/* Half of the absent keys fail in each column, so stopping at the first mismatch saves more than a
 * mispredicted branch costs. */
static bool match_portable(const uint8_t *block, unsigned columns, uint64_t low, uint64_t high,
                           uint32_t fingerprint) {
    const uint8_t *next = block + 8 * columns;
    for (unsigned c = 0; c < columns; c++) {
        const uint64_t bits =
            (tamis__load64(block + 8 * c) & low) ^ (tamis__load64(next + 8 * c) & high);
        if (tamis__parity(bits) != (fingerprint >> c & 1)) return false;
    }
    return true;
}

static bool ribbon_contains(const tamis_filter *f, uint64_t hash) {
    return tamis__ribbon_contains(f, hash, match_portable);
}

static size_t ribbon_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers) {
    (void)hi;
    return tamis__ribbon_contains_batch(f, lo, count, answers, match_portable);
}

/* The parts of a shard.  Marks and thresholds lead from layer to layer. */
static void shard_touches(const struct tamis__ribbon_shard *shard, struct tamis__ribbon_form form,
                          uint64_t hash, tamis__part_taker *take, void *context) {
    for (unsigned i = 0; i < TAMIS__RIBBON_LAYERS && shard->layer[i].slots != 0; i++) {
        const struct tamis__ribbon_layer *layer = &shard->layer[i];
        const uint64_t slot = tamis__ribbon_slot(layer, hash);
        take(context, layer->marks + slot / TAMIS__RIBBON_BUCKET / 8, 1);
        take(context, layer->thresholds + tamis__ribbon_segment(layer, hash), 1);
        if (!tamis__ribbon_is_bumped(layer, hash, slot)) {
            const struct tamis__ribbon_location at =
                tamis__ribbon_location_at(layer, form.columns, hash, slot);
            take(context, at.block, 16 * (uint64_t)at.columns);
            return;
        }
        hash = tamis__ribbon_rehash(hash);
    }
    const unsigned which = dense_index(form, hash);
    const struct tamis__linear *dense = &shard->dense[which];
    if (dense->slots == 0 || dense->width == 0) return;
    take(context, shard->dense_table[which], tamis__linear_bytes(dense->slots, dense->width));
}

static void ribbon_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                           void *context) {
    const struct tamis__ribbon *r = (const struct tamis__ribbon *)(const void *)f;
    uint64_t inner;
    const struct tamis__shard *shard = tamis__shard_of(&r->base, hash, &inner);
    tamis__shards_touch(&r->base, shard, take, context);
    shard_touches(&r->shards[shard - r->base.shards], tamis__ribbon_form_of(&f->shape), inner, take,
                  context);
}

static const tamis_cell always = {.rule = TAMIS_CELL_ALWAYS};

static void dense_cells(const tamis_filter *f, const struct tamis__ribbon_shard *shard,
                        uint64_t hash, tamis__cell_taker *take, void *context) {
    const unsigned which = dense_index(tamis__ribbon_form_of(&f->shape), hash);
    const struct tamis__linear *dense = &shard->dense[which];
    if (dense->slots == 0) return;
    if (dense->width == 0) {
        take(context, &always);
        return;
    }
    const uint64_t first = 8 * (uint64_t)(shard->dense_table[which] - f->table);
    tamis__linear_cells(dense, first, hash, take, context);
}

/* The slots from `shift` on in the words of a block, and those up to it in the next block. */
static void block_cells(const tamis_filter *f, const struct tamis__ribbon_location *at,
                        tamis__cell_taker *take, void *context) {
    const uint64_t coefficients = tamis__ribbon_coefficients(at->hash);
    const uint32_t fingerprint =
        tamis__ribbon_fingerprint(at->hash, (unsigned)f->shape.word[TAMIS__RIBBON_COLUMNS]);
    const uint64_t first = 8 * (uint64_t)(at->block - f->table);
    if (at->columns == 0) take(context, &always);
    for (uint32_t c = 0; c < at->columns; c++) {
        tamis_cell cell = {.bit = first + TAMIS__RIBBON_BLOCK * (uint64_t)c + at->shift,
                           .bits = TAMIS__RIBBON_BLOCK - at->shift,
                           .equation = c,
                           .rule = TAMIS_CELL_PARITY,
                           .mask = coefficients & UINT64_MAX >> at->shift,
                           .expected = fingerprint >> c & 1};
        take(context, &cell);
        if (at->shift == 0) continue;
        cell.bit = first + TAMIS__RIBBON_BLOCK * ((uint64_t)at->columns + c);
        cell.bits = at->shift;
        cell.mask = coefficients >> (TAMIS__RIBBON_BLOCK - at->shift);
        take(context, &cell);
    }
}

static void ribbon_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                         void *context) {
    const struct tamis__ribbon *r = (const struct tamis__ribbon *)(const void *)f;
    const struct tamis__ribbon_location at =
        tamis__ribbon_locate(r, tamis__ribbon_form_of(&f->shape), hash);
    uint64_t inner;
    const struct tamis__shard *shard = tamis__shard_of(&r->base, hash, &inner);
    if (at.block != NULL) {
        block_cells(f, &at, take, context);
    } else {
        dense_cells(f, &r->shards[shard - r->base.shards], at.hash, take, context);
    }
}

static void ribbon_prefetch(const tamis_filter *f, uint64_t hash) {
    const struct tamis__ribbon *r = (const struct tamis__ribbon *)(const void *)f;
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(&f->shape);
    const struct tamis__ribbon_location location = tamis__ribbon_locate(r, form, hash);
    if (location.block != NULL) tamis__ribbon_prefetch(&location);
}

static const struct tamis__ops ribbon_ops_portable = {
    .path = "portable", .contains = ribbon_contains, .contains_batch = ribbon_contains_batch};

static const struct tamis__ops *ribbon_ops(const struct tamis__shape *shape, uint32_t cpu,
                                           bool shared) {
    (void)shape, (void)shared;
#if defined(TAMIS_HAVE_AVX512)
    if (cpu & TAMIS__CPU_AVX512) return &tamis__ribbon_ops_avx512;
#endif
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return &tamis__ribbon_ops_avx2;
#endif
#if defined(TAMIS_HAVE_NEON)
    if (cpu & TAMIS__CPU_NEON) return &tamis__ribbon_ops_neon;
#endif
    (void)cpu;
    return &ribbon_ops_portable;
}

/* ---- sizing */

/* Slots of a layer that stay empty, for estimates. */
#define EMPTY_SHARE 0.0007

/* The share of narrow keys is rounded down, so that the rate is at most the target. */
static bool form_for(double fpr, struct tamis__ribbon_form *form) {
    form->columns = tamis__width_for(fpr);
    if (form->columns > TAMIS__RIBBON_COLUMNS_MAX) return false;
    const double narrow = floor((ldexp(fpr, (int)form->columns) - 1) * 0x1p32);
    form->narrow = narrow < 0x1p32 ? (uint32_t)narrow : UINT32_MAX;
    return true;
}

static double form_fpr(struct tamis__ribbon_form form) {
    return ldexp(1 + form.narrow * 0x1p-32, -(int)form.columns);
}

/* Expected bytes of a shard of `count` keys. */
static double shard_bytes(struct tamis__ribbon_form form, uint64_t count) {
    double bytes = 0;
    for (unsigned i = 0; i < TAMIS__RIBBON_LAYERS && count > TAMIS__RIBBON_DENSE; i++) {
        struct tamis__ribbon_layer layer;
        tamis__ribbon_layer_for(form, count, &layer);
        bytes += (double)tamis__ribbon_layer_bytes(&layer, form.columns);
        const uint64_t slots = tamis__ribbon_slots(&layer);
        const uint64_t kept = slots - (uint64_t)((double)slots * EMPTY_SHARE);
        count -= kept < count ? kept : count;
    }
    const uint64_t narrow = (uint64_t)((double)count * form.narrow * 0x1p-32);
    bytes += (double)tamis__linear_bytes(tamis__linear_slots(narrow), form.columns - 1);
    bytes += (double)tamis__linear_bytes(tamis__linear_slots(count - narrow), form.columns);
    return bytes;
}

static tamis_status ribbon_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    struct tamis__ribbon_form form;
    if (!form_for(spec->fpr, &form)) return TAMIS_E_FPR_TOO_LOW;
    const unsigned lg_shards = tamis__keys_lg_shards(spec->capacity, TAMIS__SHARD_KEYS);
    const uint64_t keys = spec->capacity >> lg_shards;
    const double bits = keys == 0 ? 0 : 8 * shard_bytes(form, keys) / (double)keys;
    *shape = (struct tamis__shape){.table_bytes =
                                       tamis__shards_estimate(spec->capacity, lg_shards, bits)};
    shape->word[TAMIS__STATIC_LG_SHARDS] = lg_shards;
    shape->word[TAMIS__STATIC_KEYS] = spec->capacity;
    shape->word[TAMIS__RIBBON_COLUMNS] = form.columns;
    shape->word[TAMIS__RIBBON_NARROW] = form.narrow;
    return shape->table_bytes == UINT64_MAX ? TAMIS_E_TOO_BIG : TAMIS_OK;
}

static double ribbon_fpr(const struct tamis__shape *shape, double keys) {
    if (!(keys > 0)) return 0;
    if (keys > (double)shape->word[TAMIS__STATIC_KEYS]) return 1;
    return form_fpr(tamis__ribbon_form_of(shape));
}

/* Building takes the hashes of a shard, grouped (8 bytes per key), the bumped ones twice (1 byte),
 * the table once more, and the rows of a segment. */
static void ribbon_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(shape);
    const double keys = (double)shape->word[TAMIS__STATIC_KEYS];
    const double segments = keys / (double)TAMIS__RIBBON_SEGMENT_KEYS;
    traits->hashes = form.columns;
    traits->width = form.columns;
    traits->cache_lines = 1 + (16.0 * form.columns - 8) / TAMIS_LINE;
    traits->build_bytes_per_key = 9 + form.columns / 8.0 + 32 / (segments > 1 ? segments : 1);
}

/* ---- creating and freeing */

static bool ribbon_check(const struct tamis__shape *shape) {
    const uint64_t columns = shape->word[TAMIS__RIBBON_COLUMNS];
    if (columns < 1 || columns > TAMIS__RIBBON_COLUMNS_MAX) return false;
    if (shape->word[TAMIS__RIBBON_NARROW] > UINT32_MAX) return false;
    return tamis__shards_check(shape) && tamis__shape_ends(shape, TAMIS__RIBBON_NARROW);
}

/* Reads the words of an untrusted shard; false if they do not account for its bytes. */
static bool shard_read(struct tamis__ribbon_form form, const struct tamis__shard *shard,
                       struct tamis__ribbon_shard *view) {
    uint64_t at = 0;
    bool ended = false;
    *view = (struct tamis__ribbon_shard){.dense_table = {NULL}};
    for (unsigned i = 0; i < TAMIS__RIBBON_LAYERS; i++) {
        const uint32_t half = (uint32_t)(shard->word[i / 2] >> (32 * (i % 2)));
        const uint32_t blocks = half & UINT16_MAX, lg = half >> 16;
        if (half == 0) ended = true;
        if (ended && half != 0) return false;
        if (ended) continue;
        if (!tamis__ribbon_layer_check(blocks, lg)) return false;
        /* 2^16 blocks, 2^24 segments, 2^8 bytes per block: far from overflow. */
        struct tamis__ribbon_layer *layer = &view->layer[i];
        tamis__ribbon_layer_init(form, blocks, lg, layer);
        layer->columns = shard->table + at;
        layer->marks = layer->columns + tamis__ribbon_column_bytes(layer, form.columns);
        layer->thresholds = layer->marks + tamis__ribbon_mark_bytes(layer);
        at += tamis__ribbon_layer_bytes(layer, form.columns);
        if (at > shard->bytes) return false;
    }
    for (unsigned k = 0; k < 2; k++) {
        struct tamis__linear *dense = &view->dense[k];
        *dense = (struct tamis__linear){(uint32_t)(shard->word[2] >> (32 * k)), shard->word[3 + k],
                                        form.columns - (k == 0)};
        view->dense_table[k] = shard->table + at;
        if (dense->slots == 0 && dense->seed != 0) return false;
        if (dense->width == 0) {
            if (dense->slots != 0) return false;
            dense->slots = 1; /* keys without columns always match */
        } else if (dense->slots != 0) {
            const uint64_t bytes = tamis__linear_bytes(dense->slots, dense->width);
            if (!tamis__linear_check(dense, bytes)) return false;
            at += bytes;
        }
        if (at > shard->bytes) return false;
    }
    return at == shard->bytes || (at == 0 && shard->bytes == 8);
}

static bool shard_check(const struct tamis__shard_maker *maker, const struct tamis__shape *shape,
                        const struct tamis__shard *shard) {
    (void)maker;
    struct tamis__ribbon_shard view;
    return shard_read(tamis__ribbon_form_of(shape), shard, &view);
}

static const struct tamis__shard_maker ribbon_maker = {TAMIS__SHARD_KEYS, 4.5,
                                                       tamis__ribbon_build_shard, shard_check};

static tamis_status ribbon_attach(tamis_filter *filter) {
    struct tamis__ribbon *f = (struct tamis__ribbon *)(void *)filter;
    const tamis_status status = tamis__shards_attach(filter);
    if (status != TAMIS_OK) return status;
    const uint64_t count = (uint64_t)1 << f->base.lg_shards;
    size_t bytes;
    if (!tamis__array_size(count, sizeof *f->shards, &bytes)) return TAMIS_E_NOMEM;
    f->shards = (struct tamis__ribbon_shard *)tamis__alloc(&filter->settings.allocator, bytes);
    if (f->shards == NULL) return TAMIS_E_NOMEM;
    for (uint64_t i = 0; i < count; i++) {
        const struct tamis__shard *shard = &f->base.shards[i];
        f->shards[i] = (struct tamis__ribbon_shard){.dense_table = {NULL}};
        if (shard->keys == 0) continue; /* no layers, no slots: matches no key */
        if (!shard_read(tamis__ribbon_form_of(&filter->shape), shard, &f->shards[i])) {
            return TAMIS_E_CORRUPT;
        }
    }
    return TAMIS_OK;
}

static void ribbon_detach(tamis_filter *filter) {
    struct tamis__ribbon *f = (struct tamis__ribbon *)(void *)filter;
    tamis__release(&filter->settings.allocator, f->shards, sizeof *f->shards << f->base.lg_shards);
    f->shards = NULL;
    tamis__shards_detach(filter);
}

static double shard_slots(const struct tamis__ribbon_shard *view) {
    double slots = (double)view->dense[0].slots + (double)view->dense[1].slots;
    for (unsigned i = 0; i < TAMIS__RIBBON_LAYERS; i++) {
        slots += (double)tamis__ribbon_slots(&view->layer[i]);
    }
    return slots;
}

static void ribbon_state(const tamis_filter *filter, struct tamis__state *state) {
    const struct tamis__ribbon *f = (const struct tamis__ribbon *)(const void *)filter;
    const uint64_t shards = (uint64_t)1 << f->base.lg_shards;
    const double keys = (double)filter->shape.word[TAMIS__STATIC_KEYS];
    double slots = 0;
    for (uint64_t i = 0; i < shards; i++) slots += shard_slots(&f->shards[i]);
    state->fill = keys < slots ? keys / slots : keys > 0;
    state->distinct = keys;
    state->fpr_now = ribbon_fpr(&filter->shape, keys);
    state->stages = (uint32_t)shards;
}

const struct tamis__family tamis__ribbon = {
    .kind = TAMIS_RIBBON,
    .name = "ribbon",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(struct tamis__ribbon),
    .shape = ribbon_shape,
    .fpr = ribbon_fpr,
    .traits = ribbon_traits,
    .check = ribbon_check,
    .ops = ribbon_ops,
    .attach = ribbon_attach,
    .detach = ribbon_detach,
    .touches = ribbon_touches,
    .cells = ribbon_cells,
    .prefetch = ribbon_prefetch,
    .state = ribbon_state,
    .shards = &ribbon_maker,
};
