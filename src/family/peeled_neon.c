/* peeled_neon.c - batch lookups in xor and binary fuse filters of one shard, four keys at a time
 *
 * Hashes are mixed and folded in general registers, where a product of 64 bits is one instruction.
 * Slots, products and sums of 32 bits, are computed in four lanes.  The fingerprints are loaded one
 * by one and combined into a vector.
 *
 * As in peeled_avx2.c, a vector in cache is looked up at once; out of cache the lines of another
 * vector, RING vectors ahead, are prefetched after each.  Filters of several shards, which are out
 * of cache, and fingerprints of more than 25 bits use plain C.
 *
 * Instructions per key in cache at 1 %, counted under qemu, gcc 12 -O3, and in plain C: fuse 41 and
 * 55, xor 37 and 49; fingerprints of a byte take 39 and 37 in plain C, but more products of 64
 * bits: 5 and 9 instead of 4 and 6.  (Times were not measured.) */
#include "family/peeled.h"

#if defined(TAMIS_HAVE_NEON)
#include "core/neon.h"

#define LANES TAMIS_NEON_LANES
#define RING 8

/* The array, and what is the same for all keys. */
struct peeled_array {
    const uint8_t *table;
    uint64_t salt;
    uint32_t range, segment, width;
};

/* The slots of four keys: their bytes, the bits to shift right by (negative), and the
 * fingerprints. */
struct targets {
    uint32_t byte[TAMIS__ARITY_MAX][LANES];
    int32x4_t shift[TAMIS__ARITY_MAX];
    uint32x4_t fingerprint;
};

/* Lower and upper halves of four 64-bit numbers. */
struct halves {
    uint32x4_t low, high;
};
TAMIS_TEMPLATE struct halves halves_of(const uint64_t x[LANES]) {
    const uint64x2_t a = tamis__neon_two(x[0], x[1]), b = tamis__neon_two(x[2], x[3]);
    return (struct halves){tamis__neon_low(a, b), tamis__neon_high(a, b)};
}

/* ---- the slots of a key: tamis__key_slots_of */

/* Slot j of the four keys. */
TAMIS_TEMPLATE void aim_at(const struct peeled_array *s, uint32x4_t slot, unsigned j,
                           struct targets *t) {
    const uint32x4_t bit = vmulq_n_u32(slot, s->width);
    t->shift[j] = vnegq_s32(vreinterpretq_s32_u32(vandq_u32(bit, vdupq_n_u32(7))));
    vst1q_u32(t->byte[j], vshrq_n_u32(bit, 3));
}

TAMIS_TEMPLATE void aim_xor(const struct peeled_array *s, const uint64_t folded[LANES],
                            struct targets *t) {
    uint64_t again[LANES];
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        again[i] = tamis__fold_apart(folded[i], TAMIS__XOR_SECOND_FOLD);
    }
    const struct halves x = halves_of(folded), y = halves_of(again);
    const uint32x4_t block = vdupq_n_u32(s->segment);
    const uint32x4_t second = vaddq_u32(block, tamis__neon_scale(x.low, s->segment));
    const uint32x4_t third = vaddq_u32(block, tamis__neon_scale(y.high, s->segment));
    aim_at(s, tamis__neon_scale(x.high, s->segment), 0, t);
    aim_at(s, second, 1, t);
    aim_at(s, vaddq_u32(block, third), 2, t);
    t->fingerprint = y.low;
}

/* The lower 32 bits of the fold, shifted to offset j. */
TAMIS_TEMPLATE uint32x4_t offset_of(const struct halves *x, unsigned j, enum tamis__graph graph) {
    static_assert(TAMIS__FUSE3_LG_MAX == 13 && TAMIS__FUSE4_LG_MAX == 12, "the shifts");
    if (graph == TAMIS__FUSE3) {
        return j == 1 ? vshrq_n_u32(x->high, 19) : vshrq_n_u32(x->high, 6);
    }
    if (j == 3) return vsriq_n_u32(vshlq_n_u32(x->high, 4), x->low, 28);
    return j == 1 ? vshrq_n_u32(x->high, 20) : vshrq_n_u32(x->high, 8);
}

TAMIS_TEMPLATE void aim_fuse(const struct peeled_array *s, const uint64_t mixed[LANES],
                             const uint64_t folded[LANES], enum tamis__graph graph,
                             struct targets *t) {
    const struct halves g = halves_of(mixed), x = halves_of(folded);
    const uint32x4_t segment = vdupq_n_u32(s->segment), mask = vdupq_n_u32(s->segment - 1);
    uint32x4_t first = tamis__neon_product(g.low, g.high, s->range).whole;
    aim_at(s, first, 0, t);
    TAMIS_UNROLL
    for (unsigned j = 1; j < tamis__arity(graph); j++) {
        first = vaddq_u32(first, segment);
        aim_at(s, veorq_u32(first, vandq_u32(offset_of(&x, j, graph), mask)), j, t);
    }
    t->fingerprint = x.low;
}

/* Computes the slots of up to four keys. */
TAMIS_TEMPLATE void aim(const struct peeled_array *s, const uint64_t *hashes, size_t count,
                        enum tamis__graph graph, struct targets *t) {
    uint64_t padded[LANES] = {0}, mixed[LANES], folded[LANES];
    if (TAMIS_UNLIKELY(count < LANES)) {
        for (size_t i = 0; i < count; i++) padded[i] = hashes[i];
        hashes = padded;
    }
    TAMIS_UNROLL
    for (unsigned i = 0; i < LANES; i++) {
        mixed[i] = tamis__mix64(hashes[i]);
        folded[i] = tamis__fold_apart(mixed[i], s->salt);
    }
    if (graph == TAMIS__XOR3) aim_xor(s, folded, t);
    if (graph != TAMIS__XOR3) aim_fuse(s, mixed, folded, graph, t);
}

/* ---- the results */

TAMIS_TEMPLATE uint32_t match(const struct peeled_array *s, const struct targets *t,
                              enum tamis__graph graph) {
    uint32x4_t fingerprint = t->fingerprint;
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        const uint32_t *byte = t->byte[j];
        const uint32x4_t word = {
            tamis__load32(s->table + byte[0]), tamis__load32(s->table + byte[1]),
            tamis__load32(s->table + byte[2]), tamis__load32(s->table + byte[3])};
        fingerprint = veorq_u32(fingerprint, vshlq_u32(word, t->shift[j]));
    }
    const uint32x4_t mask = vdupq_n_u32(tamis__fingerprint_mask(TAMIS__PACKED, s->width));
    return tamis__neon_bytes(vceqzq_u32(vandq_u32(fingerprint, mask)));
}

TAMIS_TEMPLATE size_t answer(const struct peeled_array *s, const struct targets *t, size_t count,
                             bool *answers, enum tamis__graph graph) {
    return tamis__neon_answer(match(s, t, graph), count, answers);
}

/* ---- many keys */

TAMIS_TEMPLATE size_t batch_near(const struct peeled_array *s, const uint64_t *hashes, size_t count,
                                 bool *answers, enum tamis__graph graph) {
    struct targets t;
    size_t found = 0;
    for (size_t i = 0; i < count; i += LANES) {
        aim(s, hashes + i, count - i, graph, &t);
        found += answer(s, &t, count - i, answers == NULL ? NULL : answers + i, graph);
    }
    return found;
}

/* Computes the slots of up to four keys and prefetches their lines. */
TAMIS_TEMPLATE void request(const struct peeled_array *s, const uint64_t *hashes, size_t count,
                            enum tamis__graph graph, struct targets *t) {
    aim(s, hashes, count, graph, t);
    TAMIS_UNROLL
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        TAMIS_UNROLL
        for (unsigned k = 0; k < LANES; k++) TAMIS_PREFETCH(s->table + t->byte[j][k]);
    }
}

TAMIS_TEMPLATE size_t batch_far(const struct peeled_array *s, const uint64_t *hashes, size_t count,
                                bool *answers, enum tamis__graph graph) {
    struct targets ring[RING];
    size_t found = 0;
    for (size_t i = 0; i < RING * LANES && i < count; i += LANES) {
        request(s, hashes + i, count - i, graph, &ring[i / LANES]);
    }
    for (size_t i = 0; i < count; i += LANES) {
        struct targets *t = &ring[i / LANES % RING];
        const size_t ahead = i + RING * LANES;
        found += answer(s, t, count - i, answers == NULL ? NULL : answers + i, graph);
        if (ahead < count) request(s, hashes + ahead, count - ahead, graph, t);
    }
    return found;
}

TAMIS_TEMPLATE size_t batch(const tamis_filter *f, const uint64_t *hashes, size_t count,
                            bool *answers, enum tamis__graph graph) {
    const struct tamis__shard *shard = ((const struct tamis__static *)f)->shards;
    const uint64_t width = f->shape.word[TAMIS__PEELED_WIDTH];
    const bool near = f->shape.table_bytes <= TAMIS__PEELED_NEAR_BYTES;
    if (f->shape.word[TAMIS__STATIC_LG_SHARDS] != 0 || width > 25 ||
        shard->bytes > UINT32_MAX / 8) {
        return tamis__peeled_contains_batch(f, hashes, count, answers, graph, TAMIS__WIDE);
    }
    const struct peeled_array s = {shard->table, shard->word[TAMIS__PEELED_SALT],
                                   (uint32_t)shard->word[TAMIS__PEELED_RANGE],
                                   (uint32_t)shard->word[TAMIS__PEELED_SEGMENT], (uint32_t)width};
    return near ? batch_near(&s, hashes, count, answers, graph)
                : batch_far(&s, hashes, count, answers, graph);
}

size_t tamis__xor3_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                        bool *answers) {
    (void)hi;
    return batch(f, lo, count, answers, TAMIS__XOR3);
}

size_t tamis__fuse3_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                         size_t count, bool *answers) {
    (void)hi;
    return batch(f, lo, count, answers, TAMIS__FUSE3);
}

size_t tamis__fuse4_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                         size_t count, bool *answers) {
    (void)hi;
    return batch(f, lo, count, answers, TAMIS__FUSE4);
}

#endif
