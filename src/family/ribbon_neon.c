/* ribbon_neon.c - lookups in a ribbon filter with NEON: a key is compared two columns per vector
 *
 * The coefficients that select from the block of a start and those that select from the next block
 * have no bit in common.  So a vector merges both blocks, selects by the rotated coefficients, and
 * counts bits:
 *
 *     merged   bits of the next block below the offset of the start, of the start's from there on
 *     cnt      bits per byte of merged & rotated coefficients, 8 bytes per column
 *     addp     three times: one byte per column of eight columns, whose lowest bit is the parity
 *
 * A batch in a filter of one shard (up to 4 million keys, where instructions matter more than
 * memory) is located four keys at a time, in lanes of 32 bits.  Hashes are mixed in plain C:
 * products of 64 bits take one instruction there, and six in NEON.
 *
 * Instructions per key in cache at 1 %, counted under qemu, gcc 12 -O2, and in plain C: present 138
 * and 230; absent 129 and 136, where plain C has a branch per column that cannot be predicted.
 * (Times were not measured.) */
#include "family/ribbon.h"

#if defined(TAMIS_HAVE_NEON)
#include "core/neon.h"

/* Which bits of a word come from the next block, and which of both count. */
struct selection {
    uint64x2_t next, both;
};

/* Columns c and c + 1: the bits that count, by bytes. */
TAMIS_TEMPLATE uint8x16_t two_columns(const struct selection *s, const uint8_t *block,
                                      const uint8_t *next, size_t c) {
    const uint64x2_t a = vreinterpretq_u64_u8(vld1q_u8(block + 8 * c));
    const uint64x2_t b = vreinterpretq_u64_u8(vld1q_u8(next + 8 * c));
    return vcntq_u8(vreinterpretq_u8_u64(vandq_u64(vbslq_u64(s->next, b, a), s->both)));
}

/* Four columns from c on: four bytes for each. */
TAMIS_TEMPLATE uint8x16_t four_columns(const struct selection *s, const uint8_t *block,
                                       const uint8_t *next, size_t c) {
    return vpaddq_u8(two_columns(s, block, next, c), two_columns(s, block, next, c + 2));
}

/* Does one of four columns from c on, or of four from d on, differ? */
TAMIS_TEMPLATE bool eight_differ(const struct selection *s, const uint8_t *block,
                                 const uint8_t *next, size_t c, size_t d, uint32_t fingerprint) {
    static const uint8_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t sums =
        vpaddq_u8(four_columns(s, block, next, c), four_columns(s, block, next, d));
    const uint8x8_t ones = vpadd_u8(vget_low_u8(sums), vget_high_u8(sums));
    const uint8_t wanted = (uint8_t)((fingerprint >> c & 15) | fingerprint >> d << 4);
    const uint8x8_t differ =
        veor_u8(vtst_u8(ones, vdup_n_u8(1)), vtst_u8(vdup_n_u8(wanted), vld1_u8(bit)));
    return vget_lane_u64(vreinterpret_u64_u8(differ), 0) != 0;
}

/* The last four columns may overlap those before: nothing beyond the columns is read.  Up to eight
 * are compared without a branch (see ribbon_avx2.c). */
TAMIS_TEMPLATE bool match_neon(const uint8_t *block, unsigned columns, uint64_t low, uint64_t high,
                               uint32_t fingerprint) {
    const uint8_t *next = block + 8 * columns;
    if (TAMIS_UNLIKELY(columns < 4)) {
        unsigned differ = 0;
        for (unsigned c = 0; c < columns; c++) {
            const uint64_t bits =
                (tamis__load64(block + 8 * c) & low) ^ (tamis__load64(next + 8 * c) & high);
            differ |= tamis__parity(bits) ^ (fingerprint >> c & 1);
        }
        return differ == 0;
    }
    /* The lowest coefficient is set, so the lowest bit of `low` is the offset of the start. */
    const struct selection s = {vdupq_n_u64((low & -low) - 1), vdupq_n_u64(low | high)};
    const size_t last = columns - 4;
    bool differ = eight_differ(&s, block, next, 0, last < 4 ? last : 4, fingerprint);
    for (size_t c = 8; TAMIS_UNLIKELY(c < columns) && !differ; c += 8) {
        const size_t from = c < last ? c : last, to = c + 4 < last ? c + 4 : last;
        differ = eight_differ(&s, block, next, from, to, fingerprint);
    }
    return !differ;
}

static bool contains_neon(const tamis_filter *f, uint64_t hash) {
    return tamis__ribbon_contains(f, hash, match_neon);
}

/* ---- four keys */

#define LANES TAMIS_NEON_LANES

/* A table of fewer bytes is in a near cache: prefetching would only take instructions. */
#define NEAR_BYTES ((uint64_t)1 << 18)

/* A filter of one shard: the numbers of its layer 0. */
struct one_shard {
    const struct tamis__ribbon_shard *shard;
    struct tamis__ribbon_form form;
    const uint8_t *columns, *marks, *thresholds;
    uint32_t segment_slots, last, range, narrow; /* as in tamis__ribbon_start, and in a layer */
    int32_t lg_segments;
};

/* Located keys, as tamis__ribbon_location, but as one array per field. */
struct locations {
    uint64_t block[TAMIS__RIBBON_AHEAD], hash[TAMIS__RIBBON_AHEAD];
    uint32_t columns[TAMIS__RIBBON_AHEAD], shift[TAMIS__RIBBON_AHEAD];
};

/* Positions of four keys in layer 0. */
struct positions {
    uint32_t segment[LANES], slot[LANES], word[LANES];
};

/* tamis__ribbon_slot, and the block of the slot.  Stores the mixed hashes, too. */
TAMIS_TEMPLATE void four_positions(const struct one_shard *f, const uint64_t *h,
                                   struct locations *to, size_t at, struct positions *p) {
    const uint64x2_t a = tamis__neon_two(tamis__mix64(h[0]), tamis__mix64(h[1]));
    const uint64x2_t b = tamis__neon_two(tamis__mix64(h[2]), tamis__mix64(h[3]));
    const int64x2_t left = vdupq_n_s64(f->lg_segments);
    const uint32x4_t upper = tamis__neon_high(a, b);
    const uint32x4_t half = tamis__neon_high(vshlq_u64(a, left), vshlq_u64(b, left));
    /* A shift by -32, for a layer of one segment, gives 0. */
    const uint32x4_t segment = vshlq_u32(upper, vdupq_n_s32(f->lg_segments - 32));
    const uint32x4_t drawn = tamis__neon_scale(half, f->range);
    const uint32x4_t start =
        vminq_u32(vqsubq_u32(drawn, vdupq_n_u32(TAMIS__RIBBON_MARGIN)), vdupq_n_u32(f->last));
    const uint32x4_t slot = vmlaq_n_u32(start, segment, f->segment_slots);
    const uint32x4_t block = vshrq_n_u32(slot, 6), narrow = vdupq_n_u32(f->narrow);
    vst1q_u64(to->hash + at, a);
    vst1q_u64(to->hash + at + 2, b);
    vst1q_u32(p->segment, segment);
    vst1q_u32(p->slot, slot);
    vst1q_u32(p->word, vsubq_u32(vmulq_n_u32(block, f->form.columns), vminq_u32(block, narrow)));
    vst1q_u32(to->columns + at, vaddq_u32(vdupq_n_u32(f->form.columns), vcltq_u32(block, narrow)));
    vst1q_u32(to->shift + at, vandq_u32(slot, vdupq_n_u32(TAMIS__RIBBON_BLOCK - 1)));
}

/* Was the key with this first slot bumped?  (tamis__ribbon_is_bumped) */
TAMIS_TEMPLATE bool is_bumped(const struct one_shard *f, uint32_t segment, uint32_t slot) {
    const uint32_t bucket = slot / TAMIS__RIBBON_BUCKET;
    const uint32_t marked = (uint32_t)f->marks[bucket / 8] >> (bucket % 8) & 1;
    return marked & (slot % TAMIS__RIBBON_BUCKET < f->thresholds[segment]);
}

/* Locates four keys of the group, from index `at` on. */
TAMIS_TEMPLATE void four_locate(const struct one_shard *f, const uint64_t *h, struct locations *to,
                                size_t at, bool fetch) {
    struct positions p;
    four_positions(f, h + at, to, at, &p);
    TAMIS_UNROLL
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t i = at + lane;
        struct tamis__ribbon_location location = {f->columns + (size_t)8 * p.word[lane],
                                                  to->hash[i], to->columns[i], to->shift[i]};
        if (TAMIS_UNLIKELY(is_bumped(f, p.segment[lane], p.slot[lane]))) {
            location = tamis__ribbon_locate_deep(f->shard, f->form, location.hash);
            to->hash[i] = location.hash;
            to->columns[i] = location.columns;
            to->shift[i] = location.shift;
        }
        to->block[i] = (uint64_t)(uintptr_t)location.block;
        if (fetch && location.block != NULL) tamis__ribbon_prefetch(&location);
    }
}

TAMIS_TEMPLATE struct tamis__ribbon_location location_at(const struct locations *l, size_t i) {
    return (struct tamis__ribbon_location){(const uint8_t *)(uintptr_t)l->block[i], l->hash[i],
                                           l->columns[i], l->shift[i]};
}

/* Looks up `count` keys, a multiple of four. */
TAMIS_TEMPLATE size_t contains_fours(const struct one_shard *f, const uint64_t *h, size_t count,
                                     bool *answers, bool fetch) {
    struct locations located[2];
    size_t found = 0, waiting = 0; /* of the group before */
    for (size_t at = 0, turn = 0; at < count || waiting > 0; turn ^= 1) {
        const size_t rest = count - at;
        const size_t now = rest < TAMIS__RIBBON_AHEAD ? rest : TAMIS__RIBBON_AHEAD;
        for (size_t i = 0; i < now; i += LANES) four_locate(f, h + at, &located[turn], i, fetch);
        for (size_t i = 0; i < waiting; i++) {
            const struct tamis__ribbon_location location = location_at(&located[turn ^ 1], i);
            const bool answer = tamis__ribbon_location_matches(&location, f->form, match_neon);
            found += answer;
            if (answers != NULL) answers[at - waiting + i] = answer;
        }
        at += now;
        waiting = now;
    }
    return found;
}

/* The four-key path needs one shard with slots of 32 bits. */
static bool has_one_shard(const struct tamis__ribbon *f, struct tamis__ribbon_form form,
                          struct one_shard *only) {
    const struct tamis__ribbon_layer *layer = &f->shards[0].layer[0];
    if (f->base.lg_shards != 0 || layer->slots == 0) return false;
    if (tamis__ribbon_slots(layer) > UINT32_MAX) return false;
    const uint32_t last = (uint32_t)layer->slots - TAMIS__RIBBON_BLOCK - 1;
    *only = (struct one_shard){.shard = &f->shards[0],
                               .form = form,
                               .columns = layer->columns,
                               .marks = layer->marks,
                               .thresholds = layer->thresholds,
                               .segment_slots = (uint32_t)layer->slots,
                               .last = last,
                               .range = last + 1 + 2 * TAMIS__RIBBON_MARGIN,
                               .narrow = (uint32_t)layer->narrow_blocks,
                               .lg_segments = (int32_t)layer->lg_segments};
    return true;
}

static size_t contains_batch_neon(const tamis_filter *filter, const uint64_t *lo,
                                  const uint64_t *hi, size_t count, bool *answers) {
    const struct tamis__ribbon *f = (const struct tamis__ribbon *)(const void *)filter;
    const struct tamis__ribbon_form form = tamis__ribbon_form_of(&filter->shape);
    struct one_shard only;
    size_t done = 0, found = 0;
    (void)hi;
    if (count >= TAMIS__RIBBON_AHEAD && has_one_shard(f, form, &only)) {
        done = count & ~(size_t)(LANES - 1);
        found = filter->shape.table_bytes < NEAR_BYTES
                    ? contains_fours(&only, lo, done, answers, false)
                    : contains_fours(&only, lo, done, answers, true);
    }
    bool *others = answers == NULL ? NULL : answers + done;
    return found +
           tamis__ribbon_contains_batch(filter, lo + done, count - done, others, match_neon);
}

const struct tamis__ops tamis__ribbon_ops_neon = {
    .path = "neon", .contains = contains_neon, .contains_batch = contains_batch_neon};

#endif
