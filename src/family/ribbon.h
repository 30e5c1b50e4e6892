/* ribbon.h - what building and querying a ribbon filter share: the position of a key, the layout
 *
 * See ribbon.c for the algorithm, ribbon_build.c and ribbon_segment.c for construction.
 *
 * A shard has up to four layers.  A key is in the first one that did not bump it; those that
 * every layer bumped (and all keys of a small shard) are in two small dense tables, linear.h.
 * A layer is divided into 2^lg_segments segments of equal size, which are solved independently, a
 * segment into blocks of 64 slots and into buckets of 128 starts.
 *
 *     hash of a key in layer 0: g, as the shard sees it; in each next layer mixed once more
 *
 *     top lg_segments bits: segment | next bits: start within it, monotone | the rest
 *
 *     start, coefficients (64 bits, lowest set) and fingerprint are all derived from this hash.
 *     The key is a member if for every column the xor of the bits that the coefficients select,
 *     of 64 slots from the start on, equals the column's bit of the fingerprint.
 *
 * Columns.  A filter has r columns, but the share `narrow` / 2^32 of its keys, those with the
 * lowest hashes, uses only the first r - 1.  Starts grow with the hash, so whole blocks at the
 * beginning of a layer can do without the last column.  Hence any rate between 2^-r and
 * 2^-(r-1).
 *
 * The table of a shard
 *     for each layer
 *         columns: block after block (of all segments); a block is a word of 64 bits, bit i
 *             for its slot i, for each of its columns: r - 1 of them in the first
 *             `narrow_blocks` blocks, r in the others
 *
 *                 |- r-1 words -|- r-1 words -| ... |--- r words ---|--- r words ---|
 *                  block 0       block 1             block narrow_blocks
 *
 *         marks: one bit per bucket (of all segments), lowest first; up to whole bytes
 *         thresholds: one byte per segment.  The keys of a marked bucket whose start is less
 *             than the threshold into it were bumped
 *         zeros up to a multiple of 8 bytes
 *     the dense table of the narrow keys, r - 1 columns; that of the others, r columns
 *     8 bytes of zeros if all that is empty
 *
 * The words of a shard
 *     word[0], word[1]: a 32-bit half for each layer: blocks of a segment (16 bits),
 *                       lg_segments (8 bits); 0: no such layer
 *     word[2]           slots of the two dense tables, 32 bits each; 0: no such table
 *     word[3], word[4]  their seeds */
#ifndef TAMIS_FAMILY_RIBBON_H
#define TAMIS_FAMILY_RIBBON_H

#include "build/keys_group.h"
#include "build/linear.h"
#include "build/shards.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "family/ribbon_rows.h"

#define TAMIS__RIBBON_LAYERS 4
#define TAMIS__RIBBON_BUCKET 128
#define TAMIS__RIBBON_MARK_BLOCKS (8 * TAMIS__RIBBON_BUCKET / TAMIS__RIBBON_BLOCK) /* of a byte */
/* A shard or layer of up to this many keys goes into the dense tables: 0.3 % over the bound at
 * 5000 keys, where a layer with its ends and marks takes 0.5 %. */
#define TAMIS__RIBBON_DENSE 5000

/* Maximum keys per segment: its rows (32 bytes per key) stay in or near the caches, and a million
 * keys keep 8 threads busy; its ends cost about 20 slots. */
#define TAMIS__RIBBON_SEGMENT_KEYS ((uint64_t)1 << 17)

/* The family's own words of the shape. */
enum { TAMIS__RIBBON_COLUMNS = TAMIS__STATIC_OWN, TAMIS__RIBBON_NARROW };

/* What is the same in all shards. */
struct tamis__ribbon_form {
    unsigned columns; /* r: 1..32 */
    uint32_t narrow;  /* this many of 2^32 hashes use r - 1 columns */
};

/* A layer: its sizes and addresses. */
struct tamis__ribbon_layer {
    uint64_t slots; /* of a segment; 0: no such layer */
    unsigned lg_segments;
    uint64_t narrow_blocks; /* of the layer */
    const uint8_t *columns, *marks, *thresholds;
};

/* A shard, ready for queries. */
struct tamis__ribbon_shard {
    struct tamis__ribbon_layer layer[TAMIS__RIBBON_LAYERS];
    struct tamis__linear dense[2]; /* of narrow keys, of the others; no slots: no keys */
    const uint8_t *dense_table[2];
};

static inline struct tamis__ribbon_form tamis__ribbon_form_of(const struct tamis__shape *shape) {
    return (struct tamis__ribbon_form){(unsigned)shape->word[TAMIS__RIBBON_COLUMNS],
                                       (uint32_t)shape->word[TAMIS__RIBBON_NARROW]};
}

/* ---- from a hash */

/* The hash of a key in the layer after one in which it was `hash`: a bijection. */
TAMIS_TEMPLATE uint64_t tamis__ribbon_rehash(uint64_t hash) {
    return tamis__mix64(hash + UINT64_C(0x9e3779b97f4a7c15));
}

TAMIS_TEMPLATE bool tamis__ribbon_is_narrow(struct tamis__ribbon_form form, uint64_t hash) {
    return hash >> 32 < form.narrow;
}

TAMIS_TEMPLATE uint64_t tamis__ribbon_coefficients(uint64_t hash) {
    return tamis__spread(hash) | 1;
}

#define TAMIS__RIBBON_FINGERPRINT UINT64_C(0xd6e8feb86659fd93)

TAMIS_TEMPLATE uint32_t tamis__ribbon_fingerprint(uint64_t hash, unsigned columns) {
    return (uint32_t)((hash * TAMIS__RIBBON_FINGERPRINT) >> (64 - columns));
}

/* Starts are drawn from a range that is wider than the segment by this on both sides, and clamped,
 * so that the slots at its ends get as many rows as the others: without it a segment leaves about
 * 30 more slots empty.  16 to 32 do equally well. */
#define TAMIS__RIBBON_MARGIN 24

/* The start in a segment, from the upper half of the hash below the segment's bits: segments are
 * small, and vector instructions have products of halves.  The last start leaves one slot unused,
 * so that the block after that of a start is always in the segment and needs no test. */
TAMIS_TEMPLATE uint64_t tamis__ribbon_start(uint64_t hash, uint64_t slots) {
    const uint64_t last = slots - TAMIS__RIBBON_BLOCK - 1;
    const uint64_t drawn = ((hash >> 32) * (last + 1 + 2 * TAMIS__RIBBON_MARGIN)) >> 32;
    const uint64_t start = drawn < TAMIS__RIBBON_MARGIN ? 0 : drawn - TAMIS__RIBBON_MARGIN;
    return start < last ? start : last;
}

TAMIS_TEMPLATE uint64_t tamis__ribbon_segment(const struct tamis__ribbon_layer *layer,
                                              uint64_t hash) {
    return hash >> 1 >> (63 - layer->lg_segments);
}

/* The first of a key's slots, counted from the layer's first. */
TAMIS_TEMPLATE uint64_t tamis__ribbon_slot(const struct tamis__ribbon_layer *layer, uint64_t hash) {
    return tamis__ribbon_segment(layer, hash) * layer->slots +
           tamis__ribbon_start(hash << layer->lg_segments, layer->slots);
}

/* ---- sizes */

#define TAMIS__RIBBON_SEGMENTS_LG_MAX 24

/* Are the numbers of blocks per segment and of segments valid?  Segments must not share a byte of
 * marks, because threads build them. */
static inline bool tamis__ribbon_layer_check(uint64_t segment_blocks, unsigned lg_segments) {
    return segment_blocks >= 2 && segment_blocks <= UINT16_MAX &&
           lg_segments <= TAMIS__RIBBON_SEGMENTS_LG_MAX &&
           (lg_segments == 0 || segment_blocks % TAMIS__RIBBON_MARK_BLOCKS == 0);
}

/* Sets all but the pointers.  A key is narrow if its block is; a block with keys on both sides of
 * the limit is wide, which makes the rate slightly lower than necessary. */
static inline void tamis__ribbon_layer_init(struct tamis__ribbon_form form, uint64_t segment_blocks,
                                            unsigned lg_segments,
                                            struct tamis__ribbon_layer *layer) {
    layer->slots = segment_blocks * TAMIS__RIBBON_BLOCK;
    layer->lg_segments = lg_segments;
    layer->narrow_blocks =
        tamis__ribbon_slot(layer, (uint64_t)form.narrow << 32) / TAMIS__RIBBON_BLOCK;
}

static inline uint64_t tamis__ribbon_slots(const struct tamis__ribbon_layer *layer) {
    return layer->slots << layer->lg_segments;
}

/* The block's first word, counted from the layer's first. */
TAMIS_TEMPLATE uint64_t tamis__ribbon_word(const struct tamis__ribbon_layer *layer,
                                           unsigned columns, uint64_t block) {
    return block * columns - (block < layer->narrow_blocks ? block : layer->narrow_blocks);
}

static inline uint64_t tamis__ribbon_column_bytes(const struct tamis__ribbon_layer *layer,
                                                  unsigned columns) {
    return 8 * tamis__ribbon_word(layer, columns, tamis__ribbon_slots(layer) / TAMIS__RIBBON_BLOCK);
}

static inline uint64_t tamis__ribbon_mark_bytes(const struct tamis__ribbon_layer *layer) {
    return tamis__div_up(tamis__ribbon_slots(layer), (uint64_t)8 * TAMIS__RIBBON_BUCKET);
}

static inline uint64_t tamis__ribbon_layer_bytes(const struct tamis__ribbon_layer *layer,
                                                 unsigned columns) {
    const uint64_t others = tamis__ribbon_mark_bytes(layer) + ((uint64_t)1 << layer->lg_segments);
    return tamis__ribbon_column_bytes(layer, columns) + tamis__div_up(others, 8) * 8;
}

/* ---- lookup */

struct tamis__ribbon {
    struct tamis__static base;
    struct tamis__ribbon_shard *shards; /* 2^lg_shards */
};

/* The location of a key. */
struct tamis__ribbon_location {
    const uint8_t *block; /* of its start; NULL: it is in no layer, and the result is known */
    uint64_t hash;        /* in its layer */
    uint32_t columns;     /* of the block; or the result */
    uint32_t shift;       /* of the start in the block */
};

/* Does the xor of the selected slots give the fingerprint, in every column?  `low` selects
 * from the block, `high` from the next one, which has at least as many columns. */
typedef bool tamis__ribbon_match(const uint8_t *block, unsigned columns, uint64_t low,
                                 uint64_t high, uint32_t fingerprint);

/* Was the key with this first slot bumped? */
TAMIS_TEMPLATE bool tamis__ribbon_is_bumped(const struct tamis__ribbon_layer *layer, uint64_t hash,
                                            uint64_t slot) {
    const uint64_t bucket = slot / TAMIS__RIBBON_BUCKET;
    const unsigned marked = layer->marks[bucket / 8] >> (bucket % 8) & 1;
    const unsigned threshold = layer->thresholds[tamis__ribbon_segment(layer, hash)];
    return marked & (slot % TAMIS__RIBBON_BUCKET < threshold);
}

/* The location of a key that the layer did not bump. */
TAMIS_TEMPLATE struct tamis__ribbon_location tamis__ribbon_location_at(
    const struct tamis__ribbon_layer *layer, unsigned columns, uint64_t hash, uint64_t slot) {
    const uint64_t block = slot / TAMIS__RIBBON_BLOCK;
    return (struct tamis__ribbon_location){
        layer->columns + 8 * tamis__ribbon_word(layer, columns, block), hash,
        columns - (block < layer->narrow_blocks), slot % TAMIS__RIBBON_BLOCK};
}

/* The same for a key that is not in layer 0: searches the other layers and the dense tables. */
struct tamis__ribbon_location tamis__ribbon_locate_deep(const struct tamis__ribbon_shard *shard,
                                                        struct tamis__ribbon_form form,
                                                        uint64_t hash);

/* Finds the layer of a key: reads marks only, which are a bit per 128 keys and so in cache. */
TAMIS_TEMPLATE struct tamis__ribbon_location tamis__ribbon_locate(const struct tamis__ribbon *f,
                                                                  struct tamis__ribbon_form form,
                                                                  uint64_t h) {
    const uint64_t g = tamis__mix64(h), hash = g << f->base.lg_shards;
    const struct tamis__ribbon_shard *shard = &f->shards[g >> 1 >> (63 - f->base.lg_shards)];
    const struct tamis__ribbon_layer *layer = shard->layer;
    if (TAMIS_LIKELY(layer->slots != 0)) {
        const uint64_t slot = tamis__ribbon_slot(layer, hash);
        if (TAMIS_LIKELY(!tamis__ribbon_is_bumped(layer, hash, slot))) {
            return tamis__ribbon_location_at(layer, form.columns, hash, slot);
        }
    }
    return tamis__ribbon_locate_deep(shard, form, hash);
}

/* Prefetches the lines of the two blocks.  Out of cache every line counts, in cache every
 * instruction; up to 8 columns take at most three lines. */
TAMIS_TEMPLATE void tamis__ribbon_prefetch(const struct tamis__ribbon_location *location) {
    const size_t bytes = (size_t)16 * location->columns;
    TAMIS_PREFETCH(location->block);
    for (size_t at = TAMIS_LINE; at + TAMIS_LINE < bytes; at += TAMIS_LINE) {
        TAMIS_PREFETCH(location->block + at);
    }
    TAMIS_PREFETCH(location->block + bytes - 8);
}

TAMIS_TEMPLATE bool tamis__ribbon_location_matches(const struct tamis__ribbon_location *location,
                                                   struct tamis__ribbon_form form,
                                                   tamis__ribbon_match *match) {
    if (TAMIS_UNLIKELY(location->block == NULL)) return location->columns != 0;
    const uint64_t coefficients = tamis__ribbon_coefficients(location->hash);
    return match(location->block, location->columns, coefficients << location->shift,
                 coefficients >> 1 >> (63 - location->shift),
                 tamis__ribbon_fingerprint(location->hash, form.columns));
}

/* Keys whose lines are prefetched together. */
#define TAMIS__RIBBON_AHEAD 32

TAMIS_TEMPLATE bool tamis__ribbon_contains(const tamis_filter *filter, uint64_t h,
                                           tamis__ribbon_match *match) {
    const struct tamis__ribbon *f = (const struct tamis__ribbon *)(const void *)filter;
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(&filter->shape);
    const struct tamis__ribbon_location location = tamis__ribbon_locate(f, form, h);
    return tamis__ribbon_location_matches(&location, form, match);
}

TAMIS_TEMPLATE size_t tamis__ribbon_contains_batch(const tamis_filter *filter, const uint64_t *h,
                                                   size_t count, bool *answers,
                                                   tamis__ribbon_match *match) {
    const struct tamis__ribbon *f = (const struct tamis__ribbon *)(const void *)filter;
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(&filter->shape);
    struct tamis__ribbon_location locations[2][TAMIS__RIBBON_AHEAD];
    size_t found = 0, waiting = 0; /* of the group before */
    for (size_t at = 0, group = 0; at < count || waiting > 0; group ^= 1) {
        const size_t rest = count - at;
        const size_t now = rest < TAMIS__RIBBON_AHEAD ? rest : TAMIS__RIBBON_AHEAD;
        for (size_t i = 0; i < now; i++) {
            struct tamis__ribbon_location *a = &locations[group][i];
            *a = tamis__ribbon_locate(f, form, h[at + i]);
            if (a->block != NULL) tamis__ribbon_prefetch(a);
        }
        for (size_t i = 0; i < waiting; i++) {
            const bool answer =
                tamis__ribbon_location_matches(&locations[group ^ 1][i], form, match);
            found += answer;
            if (answers != NULL) answers[at - waiting + i] = answer;
        }
        at += now;
        waiting = now;
    }
    return found;
}

/* ---- ribbon_avx2.c, ribbon_avx512.c */

#if defined(TAMIS_HAVE_AVX2)
extern const struct tamis__ops tamis__ribbon_ops_avx2;
#endif
#if defined(TAMIS_HAVE_AVX512)
extern const struct tamis__ops tamis__ribbon_ops_avx512;
#endif

/* ---- ribbon_neon.c */

#if defined(TAMIS_HAVE_NEON)
extern const struct tamis__ops tamis__ribbon_ops_neon;
#endif

/* ---- ribbon_segment.c */

/* A layer to be built. */
struct tamis__ribbon_job {
    struct tamis__ribbon_form form;
    struct tamis__ribbon_layer layer; /* its sizes */
    const struct tamis__group *group; /* its keys: their hashes in this layer */
    const tamis_allocator *allocator;
    uint8_t *table; /* zeros to begin with */
};

/* Writes a segment's part of the table.  Segments may be solved at the same time.  `bumped`
 * receives the keys for the next layer, with their hashes there, from tamis__alloc. */
tamis_status tamis__ribbon_solve_segment(const struct tamis__ribbon_job *job, uint64_t index,
                                         struct tamis__stretch *bumped);

/* ---- ribbon_build.c */

/* The layer for `count` keys, pointers excepted. */
void tamis__ribbon_layer_for(struct tamis__ribbon_form form, uint64_t count,
                             struct tamis__ribbon_layer *layer);

tamis_status tamis__ribbon_build_shard(const struct tamis__shard_maker *maker,
                                       const struct tamis__shape *shape, struct tamis__group *group,
                                       unsigned threads, const tamis_allocator *a,
                                       struct tamis__shard *shard);

#endif
