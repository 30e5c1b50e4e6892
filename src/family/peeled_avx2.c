/* peeled_avx2.c - batch lookups in xor and binary fuse filters, four keys at a time
 *
 * The slots of four keys are computed in four lanes of 64 bits.  AVX2 has no 64-bit product, so
 * products are assembled from halves; that is still a third of the instructions of four keys one
 * by one.  The fingerprints are loaded one by one and combined into a vector: gathers are slower
 * (doc/performance.md).  Filters with a list, or with a shard that has no array, do not use this
 * kernel (`plain` in peeled.h).
 *
 * In cache a vector is looked up at once.  Out of cache, the lines of another vector, RING vectors
 * ahead, are prefetched after each:
 *
 *     positions -> prefetch  ...  RING vectors later  ...  load, compare, store the results */
#include "family/peeled.h"

#if defined(TAMIS__PEELED_AVX2)
#include "core/avx2.h"

#define LANES 4
#define RING 8

/* What is the same for all keys. */
struct peeled_table {
    const uint8_t *table;
    const struct tamis__shard *shards;
    unsigned lg_shards, width;
};

/* A geometry, and the byte at which the array begins, in each lane. */
struct lanes {
    __m256i salt, range, segment, start;
};

/* The slots of four keys: byte offsets from the start of the table, bit offsets within those
 * bytes, and the fingerprints. */
struct targets {
    uint64_t byte[TAMIS__ARITY_MAX][LANES];
    __m256i shift[TAMIS__ARITY_MAX]; /* unused if fingerprints are bytes */
    __m256i fingerprint;
};

/* ---- arithmetic */

TAMIS_AVX2_TEMPLATE __m256i four(const uint64_t x[LANES]) {
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}
TAMIS_AVX2_TEMPLATE __m256i upper(__m256i x) { return _mm256_srli_epi64(x, 32); }
TAMIS_AVX2_TEMPLATE __m256i low32(__m256i x) {
    return _mm256_and_si256(x, tamis__avx2_all(UINT32_MAX));
}

/* tamis__mix64 */
TAMIS_AVX2_TEMPLATE __m256i mix(__m256i x) {
    x = tamis__avx2_mix(x);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

/* tamis__fold: both halves of the product, from four products of halves. */
TAMIS_AVX2_TEMPLATE __m256i fold(__m256i x, __m256i odd) {
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
TAMIS_AVX2_TEMPLATE __m256i scale(__m256i x, __m256i range) {
    const __m256i carry = upper(_mm256_mul_epu32(x, range));
    return upper(_mm256_add_epi64(_mm256_mul_epu32(upper(x), range), carry));
}

/* ---- the slots of a key */

TAMIS_AVX2_TEMPLATE void store_lanes(uint64_t to[LANES], __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)to, x);
}

static_assert(offsetof(struct tamis__shard, word) - offsetof(struct tamis__shard, table) == 8,
              "a query reads the table and three words at once");

/* The geometries of four shards, transposed: one lane per shard. */
TAMIS_AVX2_TEMPLATE struct lanes lanes_at(const struct peeled_table *s, const uint64_t at[LANES]) {
    __m256i row[LANES];
    for (unsigned k = 0; k < LANES; k++) {
        row[k] = _mm256_loadu_si256((const __m256i *)(const void *)&s->shards[at[k]].table);
    }
    const __m256i even0 = _mm256_unpacklo_epi64(row[0], row[1]);
    const __m256i even1 = _mm256_unpacklo_epi64(row[2], row[3]);
    const __m256i odd0 = _mm256_unpackhi_epi64(row[0], row[1]);
    const __m256i odd1 = _mm256_unpackhi_epi64(row[2], row[3]);
    const __m256i table = _mm256_permute2x128_si256(even0, even1, 0x20);
    const __m256i byte = _mm256_sub_epi64(table, tamis__avx2_all((uintptr_t)s->table));
    return (struct lanes){.salt = _mm256_permute2x128_si256(odd0, odd1, 0x20),
                          .range = _mm256_permute2x128_si256(even0, even1, 0x31),
                          .segment = _mm256_permute2x128_si256(odd0, odd1, 0x31),
                          .start = byte};
}

TAMIS_AVX2_TEMPLATE struct lanes lanes_of_one(const struct peeled_table *s) {
    const struct tamis__shard *shard = s->shards;
    return (struct lanes){.salt = tamis__avx2_all(shard->word[TAMIS__PEELED_SALT]),
                          .range = tamis__avx2_all(shard->word[TAMIS__PEELED_RANGE]),
                          .segment = tamis__avx2_all(shard->word[TAMIS__PEELED_SEGMENT]),
                          .start = tamis__avx2_all((uint64_t)(shard->table - s->table))};
}

/* Slot j of the four keys. */
TAMIS_AVX2_TEMPLATE void aim_at(const struct peeled_table *s, const struct lanes *l, __m256i slot,
                                unsigned j, bool bytes, struct targets *t) {
    if (!bytes) {
        const __m256i bit = _mm256_mul_epu32(slot, tamis__avx2_all(s->width));
        t->shift[j] = _mm256_and_si256(bit, tamis__avx2_all(7));
        slot = _mm256_srli_epi64(bit, 3);
    }
    store_lanes(t->byte[j], _mm256_add_epi64(l->start, slot));
}

/* tamis__key_slots_of */
TAMIS_AVX2_TEMPLATE void aim_in(const struct peeled_table *s, const struct lanes *l, __m256i hash,
                                enum tamis__graph graph, bool bytes, struct targets *t) {
    const __m256i x = fold(hash, l->salt);
    if (graph == TAMIS__XOR3) {
        const __m256i y = fold(x, tamis__avx2_all(TAMIS__XOR_SECOND_FOLD)), block = l->segment;
        const __m256i second = upper(_mm256_mul_epu32(x, block));
        const __m256i third = upper(_mm256_mul_epu32(upper(y), block));
        aim_at(s, l, upper(_mm256_mul_epu32(upper(x), block)), 0, bytes, t);
        aim_at(s, l, _mm256_add_epi64(block, second), 1, bytes, t);
        aim_at(s, l, _mm256_add_epi64(_mm256_add_epi64(block, block), third), 2, bytes, t);
        t->fingerprint = y;
        return;
    }
    const int bits = graph == TAMIS__FUSE3 ? TAMIS__FUSE3_LG_MAX : TAMIS__FUSE4_LG_MAX;
    const __m256i mask = _mm256_sub_epi64(l->segment, tamis__avx2_all(1));
    __m256i first = scale(hash, l->range);
    aim_at(s, l, first, 0, bytes, t);
    for (int j = 1; j < (int)tamis__arity(graph); j++) {
        first = _mm256_add_epi64(first, l->segment);
        const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(x, 64 - j * bits), mask);
        aim_at(s, l, _mm256_xor_si256(first, offset), (unsigned)j, bytes, t);
    }
    t->fingerprint = x;
}

/* Computes the slots of four keys. */
TAMIS_AVX2_TEMPLATE void aim(const struct peeled_table *s, const struct lanes *one, __m256i hash,
                             enum tamis__graph graph, bool bytes, bool single, struct targets *t) {
    const __m256i g = mix(hash);
    if (single) {
        aim_in(s, one, g, graph, bytes, t);
        return;
    }
    const __m128i down = _mm_cvtsi32_si128((int)(63 - s->lg_shards));
    const __m128i up = _mm_cvtsi32_si128((int)s->lg_shards);
    uint64_t shard[LANES];
    store_lanes(shard, _mm256_srl_epi64(_mm256_srli_epi64(g, 1), down));
    const struct lanes l = lanes_at(s, shard);
    aim_in(s, &l, _mm256_sll_epi64(g, up), graph, bytes, t);
}

/* The bits that follow the start of four bytes: 32 of each or, if `wide`, 64. */
TAMIS_AVX2_TEMPLATE __m256i fetch(const uint8_t *table, const uint64_t byte[LANES], bool wide) {
    if (wide) {
        return _mm256_set_epi64x(
            (long long)tamis__load64(table + byte[3]), (long long)tamis__load64(table + byte[2]),
            (long long)tamis__load64(table + byte[1]), (long long)tamis__load64(table + byte[0]));
    }
    return _mm256_cvtepu32_epi64(
        _mm_set_epi32((int)tamis__load32(table + byte[3]), (int)tamis__load32(table + byte[2]),
                      (int)tamis__load32(table + byte[1]), (int)tamis__load32(table + byte[0])));
}

/* A bit per key: is it possibly in the set? */
TAMIS_AVX2_TEMPLATE unsigned match(const struct peeled_table *s, const struct targets *t,
                                   enum tamis__graph graph, bool wide) {
    __m256i fingerprint = t->fingerprint;
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        const __m256i word = fetch(s->table, t->byte[j], wide);
        fingerprint = _mm256_xor_si256(fingerprint, _mm256_srlv_epi64(word, t->shift[j]));
    }
    const __m256i none = _mm256_setzero_si256(),
                  mask = tamis__avx2_all(((uint64_t)1 << s->width) - 1);
    const __m256i equal = _mm256_cmpeq_epi64(_mm256_and_si256(fingerprint, mask), none);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

/* ---- many keys */

/* Up to four hashes; zeros where there are fewer. */
TAMIS_AVX2_TEMPLATE __m256i load_hashes(const uint64_t *hashes, size_t count) {
    if (TAMIS_LIKELY(count >= LANES)) return four(hashes);
    uint64_t padded[LANES] = {0};
    for (size_t i = 0; i < count; i++) padded[i] = hashes[i];
    return four(padded);
}

/* Stores the results of up to four keys; returns how many are true. */
TAMIS_AVX2_TEMPLATE size_t give(unsigned answer, size_t count, bool *answers) {
    static_assert(sizeof(bool) == 1, "four answers are stored as one word");
    if (TAMIS_UNLIKELY(count < LANES)) {
        answer &= (1u << count) - 1;
        for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = answer >> i & 1;
    } else if (answers != NULL) {
        tamis__store32(answers, answer * 0x00204081u & 0x01010101u);
    }
    return tamis__popcount(answer);
}

/* The same for fingerprints of one byte, which are loaded and compared faster one by one. */
TAMIS_AVX2_TEMPLATE size_t give_bytes(const struct peeled_table *s, const struct targets *t,
                                      size_t count, bool *answers, enum tamis__graph graph) {
    uint64_t fingerprint[LANES];
    size_t found = 0;
    store_lanes(fingerprint, t->fingerprint);
    for (unsigned k = 0; k < LANES && k < count; k++) {
        uint8_t rest = (uint8_t)fingerprint[k];
        for (unsigned j = 0; j < tamis__arity(graph); j++) rest ^= s->table[t->byte[j][k]];
        if (answers != NULL) answers[k] = rest == 0;
        found += rest == 0;
    }
    return found;
}

TAMIS_AVX2_TEMPLATE size_t answer(const struct peeled_table *s, const struct targets *t,
                                  size_t count, bool *answers, enum tamis__graph graph, bool bytes,
                                  bool wide) {
    if (bytes) return give_bytes(s, t, count, answers, graph);
    return give(match(s, t, graph, wide), count, answers);
}

TAMIS_AVX2_TEMPLATE size_t batch_near(const struct peeled_table *s, const uint64_t *hashes,
                                      size_t count, bool *answers, enum tamis__graph graph,
                                      bool bytes, bool wide) {
    const struct lanes one = lanes_of_one(s);
    struct targets t;
    size_t found = 0;
    for (size_t i = 0; i < count; i += LANES) {
        aim(s, &one, load_hashes(hashes + i, count - i), graph, bytes, true, &t);
        found += answer(s, &t, count - i, answers == NULL ? NULL : answers + i, graph, bytes, wide);
    }
    return found;
}

/* Computes the slots of up to four keys and prefetches their lines. */
TAMIS_AVX2_TEMPLATE void request(const struct peeled_table *s, const struct lanes *one,
                                 const uint64_t *hashes, size_t count, enum tamis__graph graph,
                                 bool bytes, bool single, struct targets *t) {
    aim(s, one, load_hashes(hashes, count), graph, bytes, single, t);
    for (unsigned j = 0; j < tamis__arity(graph); j++) {
        for (unsigned k = 0; k < LANES; k++) {
            TAMIS_PREFETCH(s->table + t->byte[j][k]);
        }
    }
}

TAMIS_AVX2_TEMPLATE size_t batch_far(const struct peeled_table *s, const uint64_t *hashes,
                                     size_t count, bool *answers, enum tamis__graph graph,
                                     bool bytes, bool wide, bool single) {
    const struct lanes one = lanes_of_one(s);
    struct targets ring[RING];
    size_t found = 0;
    for (size_t i = 0; i < RING * LANES && i < count; i += LANES) {
        request(s, &one, hashes + i, count - i, graph, bytes, single, &ring[i / LANES]);
    }
    for (size_t i = 0; i < count; i += LANES) {
        struct targets *t = &ring[i / LANES % RING];
        const size_t ahead = i + RING * LANES;
        found += answer(s, t, count - i, answers == NULL ? NULL : answers + i, graph, bytes, wide);
        if (ahead < count) {
            request(s, &one, hashes + ahead, count - ahead, graph, bytes, single, t);
        }
    }
    return found;
}

TAMIS_AVX2_TEMPLATE size_t batch(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                 bool *answers, enum tamis__graph graph, bool bytes, bool wide) {
    const struct tamis__static *filter = (const struct tamis__static *)f;
    const struct peeled_table s = {f->table, filter->shards, filter->lg_shards,
                                   (unsigned)f->shape.word[TAMIS__PEELED_WIDTH]};
    if (s.lg_shards != 0) return batch_far(&s, hashes, count, answers, graph, bytes, wide, false);
    if (f->shape.table_bytes > TAMIS__PEELED_NEAR_BYTES) {
        return batch_far(&s, hashes, count, answers, graph, bytes, wide, true);
    }
    return batch_near(&s, hashes, count, answers, graph, bytes, wide);
}

TAMIS_AVX2_TEMPLATE size_t batch_graph(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                       bool *answers, enum tamis__graph graph) {
    const uint64_t width = f->shape.word[TAMIS__PEELED_WIDTH];
    if (width == 8) return batch(f, hashes, count, answers, graph, true, false);
    if (width <= 25) return batch(f, hashes, count, answers, graph, false, false);
    return batch(f, hashes, count, answers, graph, false, true);
}

TAMIS_TARGET_AVX2 size_t tamis__peeled_batch_avx2(const tamis_filter *f, const uint64_t *hashes,
                                                  size_t count, bool *answers,
                                                  enum tamis__graph graph) {
    if (graph == TAMIS__XOR3) return batch_graph(f, hashes, count, answers, TAMIS__XOR3);
    return graph == TAMIS__FUSE3 ? batch_graph(f, hashes, count, answers, TAMIS__FUSE3)
                                 : batch_graph(f, hashes, count, answers, TAMIS__FUSE4);
}

#endif
