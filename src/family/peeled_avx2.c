/* peeled_avx2.c - look-ups of many keys in xor and fuse filters, four at a time
 *
 * Everything is done in four lanes of 64 bits.  AVX2 has no product of 64 bits, so products are
 * put together from halves; that is still half the instructions of four keys one by one.  A
 * gather of 32 bits at the byte where a fingerprint begins has all of it, up to a width of 25,
 * and one of 64 bits any; so one kernel serves all widths.  (64 bits for all would read a
 * second line for one slot in nine, 32 do for one in 21.)  Filters with a list, or with a shard
 * that has no array, are not for this kernel (`plain` in peeled.h).
 *
 * In the cache a vector is looked up at once.  Beyond it, the places of a group of keys are
 * computed and prefetched while the group before arrives. */
#include "family/peeled.h"

#if defined(TAMIS__PEELED_AVX2)
#include <immintrin.h>

#define AVX2_TEMPLATE TAMIS_TARGET_AVX2 TAMIS_TEMPLATE

#define LANES 4
#define GROUP 32

/* What is the same for all keys. */
struct scene {
    const uint8_t *table;
    const struct tamis__shard *shards;
    unsigned lg_shards;
    __m256i width, mask;
};

/* A geometry, and the bit at which the array begins, in each lane. */
struct lanes {
    __m256i salt, range, segment, start;
};

/* Where the slots of four keys begin, in bits from the start of the table. */
struct targets {
    __m256i bit[TAMIS__ARITY_MAX];
    __m256i print;
};

/* ---- arithmetic */

AVX2_TEMPLATE __m256i all(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
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

/* Reads one field of the shards of four keys; `at` counts bytes. */
AVX2_TEMPLATE __m256i field(const struct tamis__shard *shards, __m256i at, size_t offset) {
    const uint8_t *base = (const uint8_t *)shards + offset;
    return _mm256_i64gather_epi64((const long long *)(const void *)base, at, 1);
}

static_assert(sizeof(struct tamis__shard) == 64, "shards are found by a shift");

AVX2_TEMPLATE struct lanes lanes_at(const struct scene *s, __m256i at) {
    const size_t word = offsetof(struct tamis__shard, word);
    const __m256i table = field(s->shards, at, offsetof(struct tamis__shard, table));
    const __m256i bytes = _mm256_sub_epi64(table, all((uintptr_t)s->table));
    const struct lanes l = {.salt = field(s->shards, at, word + 8 * TAMIS__PEELED_SALT),
                            .range = field(s->shards, at, word + 8 * TAMIS__PEELED_RANGE),
                            .segment = field(s->shards, at, word + 8 * TAMIS__PEELED_SEGMENT),
                            .start = _mm256_slli_epi64(bytes, 3)};
    return l;
}

AVX2_TEMPLATE struct lanes lanes_of_one(const struct scene *s) {
    const struct tamis__shard *shard = s->shards;
    const struct lanes l = {.salt = all(shard->word[TAMIS__PEELED_SALT]),
                            .range = all(shard->word[TAMIS__PEELED_RANGE]),
                            .segment = all(shard->word[TAMIS__PEELED_SEGMENT]),
                            .start = all(8 * (uint64_t)(shard->table - s->table))};
    return l;
}

AVX2_TEMPLATE __m256i bit_of(const struct scene *s, const struct lanes *l, __m256i slot) {
    return _mm256_add_epi64(l->start, _mm256_mul_epu32(slot, s->width));
}

/* tamis__places_of, up to the bits. */
AVX2_TEMPLATE struct targets targets_in(const struct scene *s, const struct lanes *l, __m256i hash,
                                        enum tamis__layout layout) {
    struct targets t;
    const __m256i x = fold(hash, l->salt);
    if (layout == TAMIS__XOR3) {
        const __m256i y = fold(x, all(TAMIS__XOR_SECOND_FOLD)), block = l->segment;
        const __m256i third = _mm256_add_epi64(block, block);
        t.bit[0] = bit_of(s, l, upper(_mm256_mul_epu32(upper(x), block)));
        t.bit[1] = bit_of(s, l, _mm256_add_epi64(block, upper(_mm256_mul_epu32(x, block))));
        t.bit[2] = bit_of(s, l, _mm256_add_epi64(third, upper(_mm256_mul_epu32(upper(y), block))));
        t.print = y;
        return t;
    }
    const int bits = layout == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    const __m256i mask = _mm256_sub_epi64(l->segment, all(1));
    __m256i first = scale(hash, l->range);
    t.bit[0] = bit_of(s, l, first);
    for (int j = 1; j < (int)tamis__arity(layout); j++) {
        first = _mm256_add_epi64(first, l->segment);
        const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(x, 64 - j * bits), mask);
        t.bit[j] = bit_of(s, l, _mm256_xor_si256(first, offset));
    }
    t.print = x;
    return t;
}

AVX2_TEMPLATE struct targets targets_of(const struct scene *s, const struct lanes *one,
                                        __m256i hash, enum tamis__layout layout, bool single) {
    const __m256i g = mix(hash);
    if (single) return targets_in(s, one, g, layout);
    const __m128i down = _mm_cvtsi32_si128((int)(63 - s->lg_shards));
    const __m128i up = _mm_cvtsi32_si128((int)s->lg_shards);
    const __m256i shard = _mm256_srl_epi64(_mm256_srli_epi64(g, 1), down);
    const struct lanes l = lanes_at(s, _mm256_slli_epi64(shard, 6));
    return targets_in(s, &l, _mm256_sll_epi64(g, up), layout);
}

/* The bits that follow the start of a byte: 32 of them or, if `wide`, 64. */
AVX2_TEMPLATE __m256i gather(const uint8_t *table, __m256i byte, bool wide) {
    if (wide) return _mm256_i64gather_epi64((const long long *)(const void *)table, byte, 1);
    return _mm256_cvtepu32_epi64(_mm256_i64gather_epi32((const int *)(const void *)table, byte, 1));
}

/* A bit per key: may it be there? */
AVX2_TEMPLATE unsigned match(const struct scene *s, const struct targets *t,
                             enum tamis__layout layout, bool wide) {
    __m256i print = t->print;
    for (unsigned j = 0; j < tamis__arity(layout); j++) {
        const __m256i byte = _mm256_srli_epi64(t->bit[j], 3);
        const __m256i shift = _mm256_and_si256(t->bit[j], all(7));
        const __m256i word = gather(s->table, byte, wide);
        print = _mm256_xor_si256(print, _mm256_srlv_epi64(word, shift));
    }
    const __m256i none = _mm256_setzero_si256();
    const __m256i equal = _mm256_cmpeq_epi64(_mm256_and_si256(print, s->mask), none);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

/* ---- many keys */

/* Up to four hashes; zeros where there are fewer. */
AVX2_TEMPLATE __m256i load_hashes(const uint64_t *hashes, size_t count) {
    if (TAMIS_LIKELY(count >= LANES)) {
        return _mm256_loadu_si256((const __m256i *)(const void *)hashes);
    }
    uint64_t padded[LANES] = {0};
    for (size_t i = 0; i < count; i++) padded[i] = hashes[i];
    return _mm256_loadu_si256((const __m256i *)(const void *)padded);
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

AVX2_TEMPLATE size_t batch_near(const struct scene *s, const uint64_t *hashes, size_t count,
                                bool *answers, enum tamis__layout layout, bool wide) {
    const struct lanes one = lanes_of_one(s);
    size_t found = 0;
    for (size_t i = 0; i < count; i += LANES) {
        const __m256i hash = load_hashes(hashes + i, count - i);
        const struct targets t = targets_of(s, &one, hash, layout, true);
        found += give(match(s, &t, layout, wide), count - i, answers == NULL ? NULL : answers + i);
    }
    return found;
}

/* Computes and prefetches the places of up to GROUP keys. */
AVX2_TEMPLATE void request(const struct scene *s, const struct lanes *one, const uint64_t *hashes,
                           size_t count, struct targets *group, enum tamis__layout layout,
                           bool single) {
    for (size_t i = 0; i < GROUP && i < count; i += LANES) {
        struct targets *t = &group[i / LANES];
        *t = targets_of(s, one, load_hashes(hashes + i, count - i), layout, single);
        for (unsigned j = 0; j < tamis__arity(layout); j++) {
            uint64_t bit[LANES];
            _mm256_storeu_si256((__m256i *)(void *)bit, t->bit[j]);
            for (unsigned k = 0; k < LANES; k++) TAMIS_PREFETCH(s->table + bit[k] / 8);
        }
    }
}

AVX2_TEMPLATE size_t receive(const struct scene *s, const struct targets *group, size_t count,
                             bool *answers, enum tamis__layout layout, bool wide) {
    size_t found = 0;
    for (size_t i = 0; i < GROUP && i < count; i += LANES) {
        const unsigned answer = match(s, &group[i / LANES], layout, wide);
        found += give(answer, count - i, answers == NULL ? NULL : answers + i);
    }
    return found;
}

AVX2_TEMPLATE size_t batch_far(const struct scene *s, const uint64_t *hashes, size_t count,
                               bool *answers, enum tamis__layout layout, bool single, bool wide) {
    const struct lanes one = lanes_of_one(s);
    struct targets group[2][GROUP / LANES];
    size_t found = 0;
    request(s, &one, hashes, count, group[0], layout, single);
    for (size_t i = 0; i < count; i += GROUP) {
        struct targets *now = group[i / GROUP % 2], *next = group[i / GROUP % 2 ^ 1];
        if (count - i > GROUP) {
            request(s, &one, hashes + i + GROUP, count - i - GROUP, next, layout, single);
        }
        found += receive(s, now, count - i, answers == NULL ? NULL : answers + i, layout, wide);
    }
    return found;
}

AVX2_TEMPLATE size_t batch(const tamis_filter *f, const uint64_t *hashes, size_t count,
                           bool *answers, enum tamis__layout layout, bool wide) {
    const struct tamis__static *filter = (const struct tamis__static *)f;
    const unsigned width = (unsigned)f->shape.word[TAMIS__PEELED_WIDTH];
    const struct scene s = {f->table, filter->shards, filter->lg_shards, all(width),
                            all(((uint64_t)1 << width) - 1)};
    if (s.lg_shards != 0) return batch_far(&s, hashes, count, answers, layout, false, wide);
    if (f->shape.table_bytes > TAMIS__PEELED_NEAR_BYTES) {
        return batch_far(&s, hashes, count, answers, layout, true, wide);
    }
    return batch_near(&s, hashes, count, answers, layout, wide);
}

AVX2_TEMPLATE size_t batch_layout(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                  bool *answers, enum tamis__layout layout) {
    return f->shape.word[TAMIS__PEELED_WIDTH] <= 25
               ? batch(f, hashes, count, answers, layout, false)
               : batch(f, hashes, count, answers, layout, true);
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
