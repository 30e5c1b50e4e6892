/* growing.c - scalable filter: needs no capacity; stages with ever lower rates
 *
 * When a stage has reached its capacity, the next one is added, twice as large and with a lower
 * false positive rate.  The rates form a series whose sum is the requested rate p, so the total
 * stays within p for any number of stages (Almeida, Baquero, Preguica and Hutchison, 2007):
 *     stage 0      p / 2, because most filters never grow
 *     stage i > 0  p / 16 * (7/8)^(i-1)
 * After a thousandfold growth at 1 %, ten full stages take 19.6 bits per key, 8 more than a single
 * stage.  Halving the rate at each stage, as other filters do, would take 28.2.
 *
 * A key that an older stage possibly holds is not added again: a lookup finds it anyway.  So
 * duplicates cost no space.  Lookups go from the newest stage, which holds half of the keys, to
 * the oldest; with `block` stages each costs one cache line, and all but the last few stages are
 * small enough to be in cache.
 *
 *     shape   word[0] kind of the stages, word[1] capacity of stage 0, word[2] number of
 *             stages, word[3] p as the bits of a double
 *     table   directory: 128 bytes per stage
 *                 u64 capacity, f64 rate, u64 keys added, u64 offset of its table (a multiple
 *                 of 64), u64 bytes of its table, u64 word[8] of its shape, 24 zero bytes
 *             then the stages' tables in order, each padded with zeros to 64 bytes
 * In memory later stages are filters of their own; `export_table` joins them. */
#include <math.h>
#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "filter/family.h"

enum { STAGE_KIND, FIRST, STAGES, FPR };

#define ENTRY 128
#define STAGES_MAX 56
#define CAPACITY_DEFAULT 4096
#define CAPACITY_MAX ((uint64_t)1 << 56)
#define DOUBLINGS 24     /* that every filter supports at its rate */
#define KEYS_AT_ONCE 256 /* keys that go through the stages together */
#define FPR_MIN 0x1p-96  /* of decoded rates: no stage supports 2^-64, and shares stay normal */

struct growing {
    tamis_filter base;
    unsigned count;
    tamis_filter *stage[STAGES_MAX]; /* their `adds` are the keys in them */
};

static bool is_fpr(double fpr) { return fpr >= FPR_MIN && fpr < 1; }

/* ---- the plan of stages */

static double stage_fpr(double fpr, unsigned i) {
    if (i == 0) return fpr / 2;
    double share = fpr / 16;
    for (unsigned j = 1; j < i; j++) share *= 0.875;
    return share;
}

static uint64_t stage_capacity(uint64_t first, unsigned i) {
    return first > CAPACITY_MAX >> i ? CAPACITY_MAX : first << i;
}

/* A stage must never refuse a key: kinds that can be merged never do. */
static const struct tamis__family *stage_family(uint64_t kind) {
    const struct tamis__family *family =
        kind > TAMIS_GROWING ? NULL : tamis__family_of((tamis_kind)kind);
    return family != NULL && (family->caps & TAMIS_CAN_UNION) != 0 ? family : NULL;
}

static tamis_status stage_shape(const struct tamis__family *family, uint64_t first, double fpr,
                                unsigned i, struct tamis__shape *shape) {
    const struct tamis__spec spec = {.capacity = stage_capacity(first, i),
                                     .fpr = stage_fpr(fpr, i)};
    return family->shape(&spec, shape);
}

/* Does it support the rates of later stages, too? */
static bool can_grow(const struct tamis__family *family, uint64_t first, double fpr) {
    struct tamis__shape shape;
    return stage_shape(family, first, fpr, DOUBLINGS, &shape) != TAMIS_E_FPR_TOO_LOW;
}

static const struct tamis__family *default_family(uint64_t first, double fpr) {
    const struct tamis__family *block = tamis__family_of(TAMIS_BLOCK);
    return can_grow(block, first, fpr) ? block : tamis__family_of(TAMIS_BLOOM);
}

static tamis_status growing_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    const uint64_t first = spec->capacity == 0 ? CAPACITY_DEFAULT : spec->capacity;
    if (first > CAPACITY_MAX) return TAMIS_E_TOO_BIG;
    const struct tamis__family *family =
        spec->stage == TAMIS_AUTO ? default_family(first, spec->fpr) : stage_family(spec->stage);
    if (family == NULL) return TAMIS_E_KIND;
    if (!can_grow(family, first, spec->fpr))
        return TAMIS_E_FPR_TOO_LOW; /* now, not when it grows */
    struct tamis__shape stage;
    const tamis_status status = stage_shape(family, first, spec->fpr, 0, &stage);
    if (status != TAMIS_OK) return status;
    *shape = (struct tamis__shape){
        .word = {(uint64_t)family->kind, first, 1, tamis__double_bits(spec->fpr)},
        .table_bytes = ENTRY + tamis__pad_line(stage.table_bytes),
    };
    return TAMIS_OK;
}

static double growing_fpr(const struct tamis__shape *shape, double keys) {
    return keys > 0 ? tamis__bits_double(shape->word[FPR]) : 0;
}

static void growing_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    const struct tamis__family *family = stage_family(shape->word[STAGE_KIND]);
    struct tamis__shape stage;
    const double fpr = tamis__bits_double(shape->word[FPR]);
    if (stage_shape(family, shape->word[FIRST], fpr, 0, &stage) != TAMIS_OK) return;
    family->traits(&stage, traits);
}

static bool growing_check(const struct tamis__shape *shape) {
    const double fpr = tamis__bits_double(shape->word[FPR]);
    return tamis__shape_ends(shape, FPR) && stage_family(shape->word[STAGE_KIND]) != NULL &&
           shape->word[FIRST] >= 1 && shape->word[FIRST] <= CAPACITY_MAX &&
           shape->word[STAGES] >= 1 && shape->word[STAGES] <= STAGES_MAX && is_fpr(fpr) &&
           shape->table_bytes >= shape->word[STAGES] * ENTRY &&
           shape->table_bytes % TAMIS_LINE == 0;
}

/* ---- the directory */

static void store_entry(uint8_t *entry, const struct tamis__shape *stage, uint64_t capacity,
                        double fpr, uint64_t keys, uint64_t offset) {
    tamis__store64(entry, capacity);
    tamis__store64(entry + 8, tamis__double_bits(fpr));
    tamis__store64(entry + 16, keys);
    tamis__store64(entry + 24, offset);
    tamis__store64(entry + 32, stage->table_bytes);
    for (int i = 0; i < TAMIS__SHAPE_WORDS; i++) {
        tamis__store64(entry + 40 + 8 * i, stage->word[i]);
    }
}

static void growing_init(const struct tamis__shape *shape, uint8_t *table) {
    const struct tamis__family *family = stage_family(shape->word[STAGE_KIND]);
    const double fpr = tamis__bits_double(shape->word[FPR]);
    struct tamis__shape stage;
    if (stage_shape(family, shape->word[FIRST], fpr, 0, &stage) != TAMIS_OK) return;
    store_entry(table, &stage, shape->word[FIRST], stage_fpr(fpr, 0), 0, ENTRY);
    if (family->init != NULL) family->init(&stage, table + ENTRY);
}

static bool all_zero(const uint8_t *bytes, uint64_t count) {
    uint8_t any = 0;
    for (uint64_t i = 0; i < count; i++) any |= bytes[i];
    return any == 0;
}

/* A stage whose table lies in the growing filter's own; `*at` is where it must begin. */
static tamis_status read_stage(const struct growing *g, unsigned i, uint64_t *at,
                               tamis_filter **out) {
    const tamis_filter *f = &g->base;
    const struct tamis__family *family = stage_family(f->shape.word[STAGE_KIND]);
    uint8_t entry[ENTRY];
    tamis__copy_once(entry, f->table + (uint64_t)i * ENTRY, ENTRY);
    struct tamis__shape shape = {.table_bytes = tamis__load64(entry + 32)};
    for (int j = 0; j < TAMIS__SHAPE_WORDS; j++) shape.word[j] = tamis__load64(entry + 40 + 8 * j);
    const double fpr = tamis__bits_double(tamis__load64(entry + 8));
    const bool whole = tamis__load64(entry + 24) == *at && is_fpr(fpr) &&
                       shape.table_bytes <= f->shape.table_bytes - *at && family->check(&shape);
    if (!whole) return TAMIS_E_CORRUPT;
    const uint64_t padding = tamis__pad_line(shape.table_bytes) - shape.table_bytes;
    if (!all_zero(entry + 104, ENTRY - 104) ||
        !all_zero(f->table + *at + shape.table_bytes, padding)) {
        return TAMIS_E_CORRUPT;
    }

    const struct tamis__contents stage = {.family = family,
                                          .shape = shape,
                                          .hashing = f->hashing,
                                          .capacity = tamis__load64(entry),
                                          .fpr = fpr,
                                          .adds = tamis__load64(entry + 16),
                                          .table = f->table + *at};
    *at += tamis__pad_line(shape.table_bytes);
    return tamis__filter_make(&stage, &f->settings, out);
}

static tamis_status growing_attach(tamis_filter *f) {
    struct growing *g = (struct growing *)f;
    uint64_t at = f->shape.word[STAGES] * ENTRY;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && g->count < f->shape.word[STAGES]) {
        status = read_stage(g, g->count, &at, &g->stage[g->count]);
        g->count += status == TAMIS_OK;
    }
    if (status == TAMIS_OK && at != f->shape.table_bytes) status = TAMIS_E_CORRUPT;
    return status;
}

static void growing_detach(tamis_filter *f) {
    struct growing *g = (struct growing *)f;
    while (g->count > 0) tamis__filter_free(g->stage[--g->count]);
}

static uint64_t growing_export_bytes(const tamis_filter *f) {
    const struct growing *g = (const struct growing *)f;
    uint64_t bytes = (uint64_t)g->count * ENTRY;
    for (unsigned i = 0; i < g->count; i++)
        bytes += tamis__pad_line(g->stage[i]->shape.table_bytes);
    return bytes;
}

static void growing_export_table(const tamis_filter *f, uint8_t *bytes) {
    const struct growing *g = (const struct growing *)f;
    uint64_t at = (uint64_t)g->count * ENTRY;
    memset(bytes, 0, (size_t)at);
    for (unsigned i = 0; i < g->count; i++) {
        const tamis_filter *s = g->stage[i];
        const uint64_t size = s->shape.table_bytes, room = tamis__pad_line(size);
        store_entry(bytes + (uint64_t)i * ENTRY, &s->shape, s->capacity, s->fpr, s->adds, at);
        memcpy(bytes + at, s->table, (size_t)size);
        memset(bytes + at + size, 0, (size_t)(room - size));
        at += room;
    }
}

/* ---- growing */

static tamis_status add_stage(struct growing *g) {
    tamis_filter *f = &g->base;
    const struct tamis__family *family = stage_family(f->shape.word[STAGE_KIND]);
    const double fpr = tamis__bits_double(f->shape.word[FPR]);
    if (g->count == STAGES_MAX) return TAMIS_E_FULL;
    struct tamis__shape shape;
    tamis_status status = stage_shape(family, f->shape.word[FIRST], fpr, g->count, &shape);
    if (status != TAMIS_OK) return status;

    const struct tamis__contents stage = {
        .family = family,
        .shape = shape,
        .hashing = f->hashing,
        .capacity = stage_capacity(f->shape.word[FIRST], g->count),
        .fpr = stage_fpr(fpr, g->count)};
    status = tamis__filter_make(&stage, &f->settings, &g->stage[g->count]);
    if (status != TAMIS_OK) return status;
    g->count++;
    f->shape.word[STAGES] = g->count;
    f->shape.table_bytes = growing_export_bytes(f);
    return TAMIS_OK;
}

/* The stage that accepts keys now. */
static tamis_status open_stage(struct growing *g, tamis_filter **stage) {
    if (g->stage[g->count - 1]->adds >= g->stage[g->count - 1]->capacity) {
        const tamis_status status = add_stage(g);
        if (status != TAMIS_OK) return status;
    }
    *stage = g->stage[g->count - 1];
    return TAMIS_OK;
}

/* ---- one key */

static bool growing_contains(const tamis_filter *f, uint64_t hash) {
    const struct growing *g = (const struct growing *)f;
    for (unsigned i = g->count; i-- > 0;) {
        if (g->stage[i]->ops->contains(g->stage[i], hash)) return true;
    }
    return false;
}

static tamis_status growing_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    size_t done;
    return f->ops->add_batch(f, &hash, NULL, 1, fresh, &done);
}

static void growing_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                            void *context) {
    const struct growing *g = (const struct growing *)f;
    take(context, f->table, (uint64_t)g->count * ENTRY);
    for (unsigned i = 0; i < g->count; i++) {
        g->stage[i]->family->touches(g->stage[i], hash, take, context);
    }
}

struct stage_cells {
    tamis__cell_taker *take;
    void *context;
    uint64_t first; /* bit of the stage's table in the exported one */
    uint32_t stage;
};

static void take_stage_cell(void *context, const tamis_cell *cell) {
    const struct stage_cells *s = context;
    tamis_cell moved = *cell;
    moved.bit += s->first;
    moved.group = s->stage; /* stages have one group */
    s->take(s->context, &moved);
}

static void growing_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                          void *context) {
    const struct growing *g = (const struct growing *)f;
    struct stage_cells s = {take, context, 8 * (uint64_t)g->count * ENTRY, 0};
    for (; s.stage < g->count; s.stage++) {
        const tamis_filter *stage = g->stage[s.stage];
        stage->family->cells(stage, hash, take_stage_cell, &s);
        s.first += 8 * tamis__pad_line(stage->shape.table_bytes);
    }
}

static void growing_prefetch(const tamis_filter *f, uint64_t hash) {
    const struct growing *g = (const struct growing *)f;
    for (unsigned i = 0; i < g->count; i++) g->stage[i]->family->prefetch(g->stage[i], hash);
}

/* ---- many keys */

/* Some keys of a group: their hashes and their indices in it. */
struct some_keys {
    uint64_t hash[KEYS_AT_ONCE];
    uint32_t index[KEYS_AT_ONCE];
    size_t count;
};

/* The keys of a group that no stage below `stages` possibly holds. */
static void keep_unseen(const struct growing *g, unsigned stages, const uint64_t *lo, size_t count,
                        struct some_keys *keys) {
    bool seen[KEYS_AT_ONCE];
    memcpy(keys->hash, lo, count * sizeof *lo);
    for (uint32_t i = 0; i < count; i++) keys->index[i] = i;
    for (unsigned s = stages; s-- > 0 && count > 0;) {
        const tamis_filter *stage = g->stage[s];
        if (stage->ops->contains_batch(stage, keys->hash, NULL, count, seen) == 0) continue;
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            keys->hash[kept] = keys->hash[i];
            keys->index[kept] = keys->index[i];
            kept += !seen[i];
        }
        count = kept;
    }
    keys->count = count;
}

static size_t growing_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers) {
    (void)hi;
    const struct growing *g = (const struct growing *)f;
    if (g->count == 1)
        return g->stage[0]->ops->contains_batch(g->stage[0], lo, NULL, count, answers);
    struct some_keys absent;
    size_t found = 0;
    for (size_t at = 0; at < count; at += KEYS_AT_ONCE) {
        const size_t n = count - at < KEYS_AT_ONCE ? count - at : KEYS_AT_ONCE;
        keep_unseen(g, g->count, lo + at, n, &absent);
        found += n - absent.count;
        if (answers == NULL) continue;
        memset(answers + at, 1, n * sizeof *answers);
        for (size_t i = 0; i < absent.count; i++) answers[at + absent.index[i]] = false;
    }
    return found;
}

/* Adds `count` keys, no more than the open stage has room for. */
static tamis_status add_group(struct growing *g, tamis_filter *stage, const uint64_t *lo,
                              size_t count, bool *fresh) {
    struct some_keys unseen;
    bool was_new[KEYS_AT_ONCE];
    size_t done = 0;
    keep_unseen(g, g->count - 1, lo, count, &unseen);
    const tamis_status status =
        stage->ops->add_batch(stage, unseen.hash, NULL, unseen.count, was_new, &done);
    if (fresh != NULL && status == TAMIS_OK) memset(fresh, 0, count * sizeof *fresh);
    for (size_t i = 0; i < done; i++) {
        stage->adds += was_new[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript) */
        if (fresh != NULL) fresh[unseen.index[i]] = was_new[i];
    }
    return status;
}

static tamis_status growing_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      size_t count, bool *fresh, size_t *done) {
    (void)hi;
    struct growing *g = (struct growing *)f;
    for (*done = 0; *done < count;) {
        tamis_filter *stage;
        tamis_status status = open_stage(g, &stage);
        if (status != TAMIS_OK) return status;
        const uint64_t room = stage->capacity - stage->adds;
        size_t n = count - *done < KEYS_AT_ONCE ? count - *done : KEYS_AT_ONCE;
        if (n > room) n = (size_t)room;
        status = add_group(g, stage, lo + *done, n, fresh == NULL ? NULL : fresh + *done);
        if (status != TAMIS_OK) return status;
        *done += n;
    }
    return TAMIS_OK;
}

static const struct tamis__ops growing_table = {
    .path = "portable",
    .contains = growing_contains,
    .contains_batch = growing_contains_batch,
    .add = growing_add,
    .add_batch = growing_add_batch,
};

static uint32_t growing_version(const tamis_filter *f) {
    const struct growing *g = (const struct growing *)f;
    uint32_t version = 1;
    for (unsigned i = 0; i < g->count; i++) {
        const uint32_t needed = tamis__filter_version(g->stage[i]);
        if (needed > version) version = needed;
    }
    return version;
}

static void growing_state(const tamis_filter *f, struct tamis__state *state) {
    const struct growing *g = (const struct growing *)f;
    double variance = 0, places = 0, used = 0, absent = 1, log_absent = 0;
    for (unsigned i = 0; i < g->count; i++) {
        struct tamis__state s = {0};
        const double bytes = (double)g->stage[i]->shape.table_bytes;
        g->stage[i]->family->state(g->stage[i], &s);
        /* A stage received only keys that no older stage matched.  If an older stage matches every
         * key (hostile bytes can), this one counts its own keys alone. */
        const double share = absent > 0 ? absent : 1, error = s.distinct_error / share;
        state->distinct += s.distinct / share;
        state->capacity += g->stage[i]->capacity;
        variance += error * error;
        places += bytes;
        used += bytes * s.fill;
        absent *= 1 - s.fpr_now;
        log_absent += log1p(-s.fpr_now);
    }
    state->fill = used / places;
    state->distinct_error = sqrt(variance);
    /* 1 less `absent` is 0 for rates below 1e-16. */
    state->fpr_now = log_absent < 0 ? -expm1(log_absent) : 0;
    state->stages = g->count;
}

const struct tamis__family tamis__growing = {
    .kind = TAMIS_GROWING,
    .name = "growing",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_GROW,
    .ordered = true,
    .object_size = sizeof(struct growing),
    .shape = growing_shape,
    .fpr = growing_fpr,
    .traits = growing_traits,
    .init = growing_init,
    .check = growing_check,
    .only_ops = &growing_table,
    .attach = growing_attach,
    .detach = growing_detach,
    .touches = growing_touches,
    .cells = growing_cells,
    .prefetch = growing_prefetch,
    .version = growing_version,
    .state = growing_state,
    .export_bytes = growing_export_bytes,
    .export_table = growing_export_table,
};
