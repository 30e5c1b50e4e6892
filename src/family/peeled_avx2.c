/* peeled_avx2.c - look-ups of many keys in xor and fuse filters, four at a time
 *
 * Where four keys are is computed in four lanes of 64 bits.  AVX2 has no product of 64 bits, so
 * products are put together from halves; that is still a third of the instructions of four keys
 * one by one.  The fingerprints are loaded one by one and put together to a vector again: gathers
 * are slower (doc/performance.md).  Filters with a list, or with a shard that has no array, are not
 * for this kernel (`plain` in peeled.h).
 *
 * In the cache a vector is looked up at once.  Beyond it, each vector is followed by the request
 * for the lines of another one, RING vectors ahead:
 *
 *     places -> prefetch  ...  RING vectors later  ...  load, compare, answer */
#include "family/peeled.h"

#if defined(TAMIS__PEELED_AVX2)
#include <immintrin.h>

#define AVX2_TEMPLATE TAMIS_TARGET_AVX2 TAMIS_TEMPLATE

#define LANES 4
#define RING 8

/* What is the same for all keys. */
struct scene {
    const uint8_t *table;
    const struct tamis__shard *shards;
    unsigned lg_shards, width;
};

/* A geometry, and the byte at which the array begins, in each lane. */
struct lanes {
    __m256i salt, range, segment, start;
};

/* Where four keys have their slots: the bytes, from the start of the table, in which they begin,
 * and the bits by which they begin later; and the fingerprints. */
struct targets {
    uint64_t byte[TAMIS__ARITY_MAX][LANES];
    __m256i shift[TAMIS__ARITY_MAX]; /* not for bytes */
    __m256i print;
};

/* ---- arithmetic */

AVX2_TEMPLATE __m256i all(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
AVX2_TEMPLATE __m256i four(const uint64_t x[LANES]) {
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}
AVX2_TEMPLATE __m256i upper(__m256i x) { return _mm256_srli_epi64(x, 32); }
AVX2_TEMPLATE __m256i low32(__m256i x) { return _mm256_and_si256(x, all(UINT32_MAX)); }

/* The lower half of the product. */
AVX2_TEMPLATE __m256i product(__m256i a, __m256i b) {
    const __m256i cross =
        _mm256_add_epi64(_mm256_mul_epu32(upper(a), b), _mm256_mul_epu32(a, upper(b)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

AVX2_TEMPLATE __m256i shift_xor(__m256i x, int bits) {
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, bits));
}

/* tamis__mix64 */
AVX2_TEMPLATE __m256i mix(__m256i x) {
    x = product(shift_xor(x, 30), all(UINT64_C(0xbf58476d1ce4e5b9)));
    x = product(shift_xor(x, 27), all(UINT64_C(0x94d049bb133111eb)));
    return shift_xor(x, 31);
}

/* tamis__fold: both halves of the product, from the four products of halves. */
AVX2_TEMPLATE __m256i fold(__m256i x, __m256i odd) {
    const __m256i xh = upper(x), oh = upper(odd);
    const __m256i low = _mm256_mul_epu32(x, odd);
    const __m256i mid = _mm256_add_epi64(_mm256_mul_epu32(xh, odd), upper(low));
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(x, oh), low32(mid));
    const __m256i high =
        _mm256_add_epi64(_mm256_mul_epu32(xh, oh), _mm256_add_epi64(upper(mid), upper(cross)));
    const __m256i lower = _mm256_or_si256(_mm256_slli_epi64(cross, 32), low32(low));
    return _mm256_xor_si256(high, lower);
}

/* tamis__range, for a range below 2^32. */
AVX2_TEMPLATE __m256i scale(__m256i x, __m256i range) {
    const __m256i carry = upper(_mm256_mul_epu32(x, range));
    return upper(_mm256_add_epi64(_mm256_mul_epu32(upper(x), range), carry));
}

/* ---- where a key is */

AVX2_TEMPLATE void store_lanes(uint64_t to[LANES], __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)to, x);
}

static_assert(offsetof(struct tamis__shard, word) - offsetof(struct tamis__shard, table) == 8,
              "a query reads the table and three words at once");

/* The lanes of four shards, counted from the first: their rows turned into columns. */
AVX2_TEMPLATE struct lanes lanes_at(const struct scene *s, const uint64_t at[LANES]) {
    __m256i row[LANES];
    for (unsigned k = 0; k < LANES; k++) {
        row[k] = _mm256_loadu_si256((const __m256i *)(const void *)&s->shards[at[k]].table);
    }
    const __m256i even0 = _mm256_unpacklo_epi64(row[0], row[1]);
    const __m256i even1 = _mm256_unpacklo_epi64(row[2], row[3]);
    const __m256i odd0 = _mm256_unpackhi_epi64(row[0], row[1]);
    const __m256i odd1 = _mm256_unpackhi_epi64(row[2], row[3]);
    const __m256i table = _mm256_permute2x128_si256(even0, even1, 0x20);
    const __m256i byte = _mm256_sub_epi64(table, all((uintptr_t)s->table));
    const struct lanes l = {.salt = _mm256_permute2x128_si256(odd0, odd1, 0x20),
                            .range = _mm256_permute2x128_si256(even0, even1, 0x31),
                            .segment = _mm256_permute2x128_si256(odd0, odd1, 0x31),
                            .start = byte};
    return l;
}

AVX2_TEMPLATE struct lanes lanes_of_one(const struct scene *s) {
    const struct tamis__shard *shard = s->shards;
    const struct lanes l = {.salt = all(shard->word[TAMIS__PEELED_SALT]),
                            .range = all(shard->word[TAMIS__PEELED_RANGE]),
                            .segment = all(shard->word[TAMIS__PEELED_SEGMENT]),
                            .start = all((uint64_t)(shard->table - s->table))};
    return l;
}

/* Slot j of the four keys. */
AVX2_TEMPLATE void aim_at(const struct scene *s, const struct lanes *l, __m256i slot, unsigned j,
                          bool bytes, struct targets *t) {
    if (!bytes) {
        const __m256i bit = _mm256_mul_epu32(slot, all(s->width));
        t->shift[j] = _mm256_and_si256(bit, all(7));
        slot = _mm256_srli_epi64(bit, 3);
    }
    store_lanes(t->byte[j], _mm256_add_epi64(l->start, slot));
}

/* tamis__places_of */
AVX2_TEMPLATE void aim_in(const struct scene *s, const struct lanes *l, __m256i hash,
                          enum tamis__layout layout, bool bytes, struct targets *t) {
    const __m256i x = fold(hash, l->salt);
    if (layout == TAMIS__XOR3) {
        const __m256i y = fold(x, all(TAMIS__XOR_SECOND_FOLD)), block = l->segment;
        const __m256i second = upper(_mm256_mul_epu32(x, block));
        const __m256i third = upper(_mm256_mul_epu32(upper(y), block));
        aim_at(s, l, upper(_mm256_mul_epu32(upper(x), block)), 0, bytes, t);
        aim_at(s, l, _mm256_add_epi64(block, second), 1, bytes, t);
        aim_at(s, l, _mm256_add_epi64(_mm256_add_epi64(block, block), third), 2, bytes, t);
        t->print = y;
        return;
    }
    const int bits = layout == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    const __m256i mask = _mm256_sub_epi64(l->segment, all(1));
    __m256i first = scale(hash, l->range);
    aim_at(s, l, first, 0, bytes, t);
    for (int j = 1; j < (int)tamis__arity(layout); j++) {
        first = _mm256_add_epi64(first, l->segment);
        const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(x, 64 - j * bits), mask);
        aim_at(s, l, _mm256_xor_si256(first, offset), (unsigned)j, bytes, t);
    }
    t->print = x;
}

/* Aims at the slots of four keys. */
AVX2_TEMPLATE void aim(const struct scene *s, const struct lanes *one, __m256i hash,
                       enum tamis__layout layout, bool bytes, bool single, struct targets *t) {
    const __m256i g = mix(hash);
    if (single) {
        aim_in(s, one, g, layout, bytes, t);
        return;
    }
    const __m128i down = _mm_cvtsi32_si128((int)(63 - s->lg_shards));
    const __m128i up = _mm_cvtsi32_si128((int)s->lg_shards);
    uint64_t shard[LANES];
    store_lanes(shard, _mm256_srl_epi64(_mm256_srli_epi64(g, 1), down));
    const struct lanes l = lanes_at(s, shard);
    aim_in(s, &l, _mm256_sll_epi64(g, up), layout, bytes, t);
}

/* The bits that follow the start of four bytes: 32 of each or, if `wide`, 64. */
AVX2_TEMPLATE __m256i fetch(const uint8_t *table, const uint64_t byte[LANES], bool wide) {
    if (wide) {
        return _mm256_set_epi64x(
            (long long)tamis__load64(table + byte[3]), (long long)tamis__load64(table + byte[2]),
            (long long)tamis__load64(table + byte[1]), (long long)tamis__load64(table + byte[0]));
    }
    return _mm256_cvtepu32_epi64(
        _mm_set_epi32((int)tamis__load32(table + byte[3]), (int)tamis__load32(table + byte[2]),
                      (int)tamis__load32(table + byte[1]), (int)tamis__load32(table + byte[0])));
}

/* A bit per key: may it be there? */
AVX2_TEMPLATE unsigned match(const struct scene *s, const struct targets *t,
                             enum tamis__layout layout, bool wide) {
    __m256i print = t->print;
    for (unsigned j = 0; j < tamis__arity(layout); j++) {
        const __m256i word = fetch(s->table, t->byte[j], wide);
        print = _mm256_xor_si256(print, _mm256_srlv_epi64(word, t->shift[j]));
    }
    const __m256i none = _mm256_setzero_si256(), mask = all(((uint64_t)1 << s->width) - 1);
    const __m256i equal = _mm256_cmpeq_epi64(_mm256_and_si256(print, mask), none);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

/* ---- many keys */

/* Up to four hashes; zeros where there are fewer. */
AVX2_TEMPLATE __m256i load_hashes(const uint64_t *hashes, size_t count) {
    if (TAMIS_LIKELY(count >= LANES)) return four(hashes);
    uint64_t padded[LANES] = {0};
    for (size_t i = 0; i < count; i++) padded[i] = hashes[i];
    return four(padded);
}

/* Takes the answers for up to four keys; returns how many are true. */
AVX2_TEMPLATE size_t give(unsigned answer, size_t count, bool *answers) {
    static_assert(sizeof(bool) == 1, "four answers are stored as one word");
    if (TAMIS_UNLIKELY(count < LANES)) {
        answer &= (1u << count) - 1;
        for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = answer >> i & 1;
    } else if (answers != NULL) {
        tamis__store32(answers, answer * 0x00204081u & 0x01010101u);
    }
    return tamis__popcount(answer);
}

/* The same for fingerprints that are bytes, which are loaded and compared faster one by one. */
AVX2_TEMPLATE size_t give_bytes(const struct scene *s, const struct targets *t, size_t count,
                                bool *answers, enum tamis__layout layout) {
    uint64_t print[LANES];
    size_t found = 0;
    store_lanes(print, t->print);
    for (unsigned k = 0; k < LANES && k < count; k++) {
        uint8_t rest = (uint8_t)print[k];
        for (unsigned j = 0; j < tamis__arity(layout); j++) rest ^= s->table[t->byte[j][k]];
        if (answers != NULL) answers[k] = rest == 0;
        found += rest == 0;
    }
    return found;
}

AVX2_TEMPLATE size_t answer(const struct scene *s, const struct targets *t, size_t count,
                            bool *answers, enum tamis__layout layout, bool bytes, bool wide) {
    if (bytes) return give_bytes(s, t, count, answers, layout);
    return give(match(s, t, layout, wide), count, answers);
}

AVX2_TEMPLATE size_t batch_near(const struct scene *s, const uint64_t *hashes, size_t count,
                                bool *answers, enum tamis__layout layout, bool bytes, bool wide) {
    const struct lanes one = lanes_of_one(s);
    struct targets t;
    size_t found = 0;
    for (size_t i = 0; i < count; i += LANES) {
        aim(s, &one, load_hashes(hashes + i, count - i), layout, bytes, true, &t);
        found +=
            answer(s, &t, count - i, answers == NULL ? NULL : answers + i, layout, bytes, wide);
    }
    return found;
}

/* Aims at up to four keys and prefetches their lines. */
AVX2_TEMPLATE void request(const struct scene *s, const struct lanes *one, const uint64_t *hashes,
                           size_t count, enum tamis__layout layout, bool bytes, bool single,
                           struct targets *t) {
    aim(s, one, load_hashes(hashes, count), layout, bytes, single, t);
    for (unsigned j = 0; j < tamis__arity(layout); j++) {
        for (unsigned k = 0; k < LANES; k++) {
            TAMIS_PREFETCH(s->table + t->byte[j][k]);
        }
    }
}

AVX2_TEMPLATE size_t batch_far(const struct scene *s, const uint64_t *hashes, size_t count,
                               bool *answers, enum tamis__layout layout, bool bytes, bool wide,
                               bool single) {
    const struct lanes one = lanes_of_one(s);
    struct targets ring[RING];
    size_t found = 0;
    for (size_t i = 0; i < RING * LANES && i < count; i += LANES) {
        request(s, &one, hashes + i, count - i, layout, bytes, single, &ring[i / LANES]);
    }
    for (size_t i = 0; i < count; i += LANES) {
        struct targets *t = &ring[i / LANES % RING];
        const size_t ahead = i + RING * LANES;
        found += answer(s, t, count - i, answers == NULL ? NULL : answers + i, layout, bytes, wide);
        if (ahead < count) {
            request(s, &one, hashes + ahead, count - ahead, layout, bytes, single, t);
        }
    }
    return found;
}

AVX2_TEMPLATE size_t batch(const tamis_filter *f, const uint64_t *hashes, size_t count,
                           bool *answers, enum tamis__layout layout, bool bytes, bool wide) {
    const struct tamis__static *filter = (const struct tamis__static *)f;
    const struct scene s = {f->table, filter->shards, filter->lg_shards,
                            (unsigned)f->shape.word[TAMIS__PEELED_WIDTH]};
    if (s.lg_shards != 0) return batch_far(&s, hashes, count, answers, layout, bytes, wide, false);
    if (f->shape.table_bytes > TAMIS__PEELED_NEAR_BYTES) {
        return batch_far(&s, hashes, count, answers, layout, bytes, wide, true);
    }
    return batch_near(&s, hashes, count, answers, layout, bytes, wide);
}

AVX2_TEMPLATE size_t batch_layout(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                  bool *answers, enum tamis__layout layout) {
    const uint64_t width = f->shape.word[TAMIS__PEELED_WIDTH];
    if (width == 8) return batch(f, hashes, count, answers, layout, true, false);
    if (width <= 25) return batch(f, hashes, count, answers, layout, false, false);
    return batch(f, hashes, count, answers, layout, false, true);
}

TAMIS_TARGET_AVX2 size_t tamis__peeled_batch_avx2(const tamis_filter *f, const uint64_t *hashes,
                                                  size_t count, bool *answers,
                                                  enum tamis__layout layout) {
    switch (layout) {
        case TAMIS__XOR3:
            return batch_layout(f, hashes, count, answers, TAMIS__XOR3);
        case TAMIS__FUSE3:
            return batch_layout(f, hashes, count, answers, TAMIS__FUSE3);
        case TAMIS__FUSE4:
            return batch_layout(f, hashes, count, answers, TAMIS__FUSE4);
    }
    return 0;
}

#else
typedef int tamis__peeled_avx2_is_not_here;
#endif
