/* bloom_avx512.c - batches of a Bloom filter in pairs: the positions of sixteen keys at a time
 *
 * The probe sequences of a block of sixteen keys are two vectors of eight lanes; their positions
 * are vectors of sixteen 32-bit lanes, so the table must have fewer than 2^32 bits.  Words and
 * masks of the bits are stored, the lines are prefetched one block later, and bits are tested or
 * set later still: a load right after the store waits for the products (5.0 instead of 4.1 ns for a
 * present key at a million keys).
 *
 * A batch is looked up in runs.  If most keys of a run were present, the next run tests all
 * positions at once; so does the first run, when nothing is known yet.  Otherwise a run tests the
 * first line of all keys, collects the hashes of those that pass, and tests the rest of them. */
#include "family/bloom_table.h"

#if defined(TAMIS_HAVE_AVX512)
#include <string.h>

#include "core/avx512.h"
#include "core/bits.h"
#include "family/probe.h"
#include "family/probe_shape.h"

#define LANES 16
#define LATE 1   /* blocks between positions and their prefetch */
#define BLOCKS 8 /* whose positions are stored; fewer if keys have many visits */
#define BLOCKS_MIN 2
#define VISITS (BLOCKS_MIN * TAMIS__PROBES_MAX / 2) /* of all blocks */
#define RUN 512                                     /* keys */
#define SAMPLE 16 /* keys of the first run in a far table, which decides about the others */

/* What is the same for all keys. */
struct bloom {
    uint8_t *table;
    uint64_t lines, probes, visits; /* two probes each; the last has one if their number is odd */
};

/* Sixteen probe sequences. */
struct sequences {
    __m512i x[2], y[2];
};

/* One visit of sixteen keys: the 32-bit words of both bits, and their masks. */
struct visit {
    uint32_t word[2][LANES], mask[2][LANES];
};

TAMIS_AVX512_TEMPLATE struct bloom bloom_of(const tamis_filter *f) {
    const uint64_t probes = f->shape.word[HASHES];
    return (struct bloom){.table = f->table,
                          .lines = f->shape.word[BITS] / TAMIS__PAIR_LINE,
                          .probes = probes,
                          .visits = (probes + 1) / 2};
}

/* ---- positions */

/* tamis__probe_first */
TAMIS_AVX512_TEMPLATE void sequences_of(const uint64_t *hashes, size_t count, __m512i *x,
                                        __m512i *y) {
    const __m512i mixed = tamis__avx512_mix(tamis__avx512_load(hashes, count));
    const __m512i a = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 31));
    const __m512i flipped = _mm512_xor_si512(a, tamis__avx512_all(TAMIS__PROBE_FLIP));
    *x = a;
    *y = _mm512_mullo_epi64(flipped, tamis__avx512_all(TAMIS__PROBE_SCALE));
}

/* x * lines / 2^32: the line above, r below. */
TAMIS_AVX512_TEMPLATE __m512i product_of(__m512i x, __m512i lines) {
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, lines), 32);
    return _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), lines), low);
}

/* tamis__probe_pair.  `second` is 0 if this visit has one bit. */
TAMIS_AVX512_TEMPLATE void store_pair(const struct bloom *b, const struct sequences *s,
                                      struct visit *to, int second) {
    const __m512i lower =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i lines = tamis__avx512_all(b->lines);
    const __m512i p0 = product_of(s->x[0], lines), p1 = product_of(s->x[1], lines);
    const __m512i r = _mm512_permutex2var_epi32(p0, lower, p1);
    const __m512i one =
        _mm512_permutex2var_epi32(_mm512_srli_epi64(p0, 23), lower, _mm512_srli_epi64(p1, 23));
    /* rest - 2^23, so that the distance is `apart` + 1. */
    const __m512i less = _mm512_or_si512(r, _mm512_set1_epi32(-(1 << 23)));
    const __m512i distance = _mm512_srli_epi32(_mm512_sub_epi32(_mm512_slli_epi32(r, 9), less), 23);
    /* The sum modulo 512, in the same line. */
    const __m512i two = _mm512_ternarylogic_epi32(_mm512_set1_epi32(TAMIS__PAIR_LINE - 1),
                                                  _mm512_add_epi32(one, distance), one, 0xca);
    _mm512_store_si512(to->word[0], _mm512_srli_epi32(one, 5));
    _mm512_store_si512(to->word[1], _mm512_srli_epi32(two, 5));
    _mm512_store_si512(to->mask[0], _mm512_rolv_epi32(_mm512_set1_epi32(1), one));
    _mm512_store_si512(to->mask[1], _mm512_rolv_epi32(_mm512_set1_epi32(second), two));
}

/* Visits [from, to) of sixteen keys.  If there are fewer, the others are hash 0. */
TAMIS_AVX512_TEMPLATE void store_block(const struct bloom *b, const uint64_t *hashes, size_t count,
                                       uint64_t from, uint64_t to, struct visit *visits) {
    struct sequences s;
    sequences_of(hashes, count, &s.x[0], &s.y[0]);
    sequences_of(hashes + 8, count < 8 ? 0 : count - 8, &s.x[1], &s.y[1]);
    uint64_t step = TAMIS__PROBE_STEP;
    for (uint64_t j = 0; j < to; j++, step += TAMIS__PROBE_STEP) {
        if (j >= from) store_pair(b, &s, visits++, 2 * j + 1 < b->probes);
        TAMIS_UNROLL for (unsigned half = 0; half < 2; half++) {
            s.x[half] = _mm512_add_epi64(s.x[half], s.y[half]);
            s.y[half] = _mm512_add_epi64(s.y[half], tamis__avx512_all(step));
        }
    }
}

/* Prefetches the lines of a block. */
TAMIS_AVX512_TEMPLATE void fetch_block(const struct bloom *b, const struct visit *visits,
                                       uint64_t count, bool write) {
    const uint32_t *table = (const uint32_t *)(const void *)b->table;
    for (uint64_t j = 0; j < count; j++) {
        TAMIS_UNROLL for (unsigned lane = 0; lane < LANES; lane++) {
            const uint32_t *at = table + visits[j].word[0][lane];
            if (write) TAMIS_PREFETCH_WRITE(at);
            if (!write) TAMIS_PREFETCH(at);
        }
    }
}

/* ---- lookup */

TAMIS_AVX512_TEMPLATE __m128i four_words(const struct bloom *b, const uint32_t *word) {
    const uint32_t *table = (const uint32_t *)(const void *)b->table;
    __m128i four = _mm_loadu_si32(table + word[0]);
    four = _mm_insert_epi32(four, (int)table[word[1]], 1);
    four = _mm_insert_epi32(four, (int)table[word[2]], 2);
    return _mm_insert_epi32(four, (int)table[word[3]], 3);
}

/* Sixteen words.  On Zen 4 a gather takes half as long again (3.3 instead of 2.1 ns for a present
 * key at 10,000 keys). */
TAMIS_AVX512_TEMPLATE __m512i words_of(const struct bloom *b, const uint32_t *word, bool gather) {
    if (gather) return _mm512_i32gather_epi32(_mm512_load_si512(word), (const void *)b->table, 4);
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(four_words(b, word)),
                                                four_words(b, word + 4), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(four_words(b, word + 8)),
                                                 four_words(b, word + 12), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The lanes whose bits of all visits are set. */
TAMIS_AVX512_TEMPLATE uint16_t test_block(const struct bloom *b, const struct visit *visits,
                                          uint64_t count, bool gather) {
    __m512i missing = _mm512_setzero_si512();
    for (uint64_t j = 0; j < count; j++) {
        TAMIS_UNROLL for (unsigned i = 0; i < 2; i++) { /* missing | (mask & ~words) */
            missing = _mm512_ternarylogic_epi32(missing, words_of(b, visits[j].word[i], gather),
                                                _mm512_load_si512(visits[j].mask[i]), 0xf2);
        }
    }
    return (uint16_t)_mm512_testn_epi32_mask(missing, missing);
}

/* A power of two.  The lines of 128 keys are in flight, or of 32 with three visits or more: out of
 * cache as fast as 64, and faster in cache. */
TAMIS_AVX512_TEMPLATE size_t ring_blocks(uint64_t visits) {
    size_t blocks = BLOCKS;
    while (blocks > BLOCKS_MIN && blocks * visits > BLOCKS) blocks /= 2;
    return blocks;
}

/* Tests visits [from, to) of at most RUN keys: a bit for each. */
TAMIS_AVX512_TEMPLATE void test_run(const struct bloom *b, const uint64_t *hashes, size_t count,
                                    uint64_t from, uint64_t to, uint16_t *passed, bool far,
                                    bool gather) {
    _Alignas(64) struct visit ring[VISITS];
    const uint64_t visits = to - from;
    const size_t blocks = (count + LANES - 1) / LANES, ahead = ring_blocks(visits);
    for (size_t i = 0; i < blocks + ahead; i++) {
        struct visit *slot = ring + (i & (ahead - 1)) * visits;
        if (i >= ahead) passed[i - ahead] = test_block(b, slot, visits, gather);
        if (i < blocks) {
            store_block(b, hashes + i * LANES, count - i * LANES, from, to, slot);
        }
        if (far && i >= LATE && i - LATE < blocks) {
            fetch_block(b, ring + ((i - LATE) & (ahead - 1)) * visits, visits, false);
        }
    }
}

/* The hashes of the keys that passed, in order; returns their number.  (To memory, a compression is
 * slow on AMD.) */
TAMIS_AVX512_TEMPLATE size_t keep_passed(const uint64_t *hashes, size_t count,
                                         const uint16_t *passed, uint64_t *kept) {
    size_t n = 0;
    for (size_t i = 0; i < count; i += 8) {
        const __mmask8 bits = (__mmask8)(passed[i / LANES] >> i % LANES);
        const __m512i eight = tamis__avx512_load(hashes + i, count - i);
        _mm512_storeu_si512(kept + n, _mm512_maskz_compress_epi64(bits, eight));
        n += tamis__popcount(bits);
    }
    return n;
}

/* Tests one visit of all keys, and the rest of those that pass; three of four absent keys do
 * not. */
TAMIS_AVX512_TEMPLATE void sift_run(const struct bloom *b, const uint64_t *hashes, size_t count,
                                    uint16_t *passed, bool far, bool gather) {
    uint64_t kept[RUN + 8];
    uint16_t rest[RUN / LANES + 2] = {0};
    test_run(b, hashes, count, 0, 1, passed, far, gather);
    if (count % LANES != 0) passed[count / LANES] &= (uint16_t)((1u << count % LANES) - 1);
    test_run(b, kept, keep_passed(hashes, count, passed, kept), 1, b->visits, rest, far, gather);
    size_t used = 0;
    for (size_t i = 0; i < count; i += LANES) {
        const uint32_t bits = rest[used / 16] | (uint32_t)rest[used / 16 + 1] << 16;
        const uint16_t first = passed[i / LANES];
        passed[i / LANES] = (uint16_t)_pdep_u32(bits >> used % 16, first);
        used += tamis__popcount(first);
    }
}

/* Writes the answers; returns how many are true. */
TAMIS_AVX512_TEMPLATE size_t answer_run(const uint16_t *passed, size_t count, bool *answers) {
    size_t found = 0, i = 0;
    for (; count - i >= LANES; i += LANES) {
        const uint32_t bits = passed[i / LANES];
        const __m128i bytes = _mm_maskz_set1_epi8((__mmask16)bits, 1);
        found += tamis__popcount(bits);
        if (answers != NULL) _mm_storeu_si128((__m128i *)(void *)(answers + i), bytes);
    }
    if (i == count) return found;
    const uint32_t bits = passed[i / LANES] & ((1u << (count - i)) - 1);
    if (answers != NULL) { /* a masked store is slow on AMD */
        bool last[LANES];
        _mm_storeu_si128((__m128i *)(void *)last, _mm_maskz_set1_epi8((__mmask16)bits, 1));
        memcpy(answers + i, last, count - i);
    }
    return found + tamis__popcount(bits);
}

TAMIS_AVX512_TEMPLATE size_t contains_all(const tamis_filter *f, const uint64_t *hashes,
                                          size_t count, bool *answers, bool far, bool gather) {
    const struct bloom b = bloom_of(f);
    uint16_t passed[RUN / LANES] = {0};
    bool sifted = false;
    size_t found = 0;
    for (size_t max = far ? SAMPLE : RUN; count > 0; max = RUN) {
        const size_t n = count < max ? count : max;
        if (sifted) {
            sift_run(&b, hashes, n, passed, far, gather);
        } else {
            test_run(&b, hashes, n, 0, b.visits, passed, far, gather);
        }
        const size_t some = answer_run(passed, n, answers);
        sifted = b.visits > 1 && 2 * some < n;
        found += some;
        if (answers != NULL) answers += n;
        hashes += n;
        count -= n;
    }
    return found;
}

TAMIS_TARGET_AVX512 size_t tamis__bloom_contains_avx512(const tamis_filter *f, const uint64_t *lo,
                                                        const uint64_t *hi, size_t count,
                                                        bool *answers) {
    (void)hi;
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_all(f, lo, count, answers, true, false)
               : contains_all(f, lo, count, answers, false, false);
}

TAMIS_TARGET_AVX512 size_t tamis__bloom_contains_gather(const tamis_filter *f, const uint64_t *lo,
                                                        const uint64_t *hi, size_t count,
                                                        bool *answers) {
    (void)hi;
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_all(f, lo, count, answers, true, true)
               : contains_all(f, lo, count, answers, false, true);
}

/* ---- add */

/* Sets the bits of a whole block. */
TAMIS_AVX512_TEMPLATE void set_block(const struct bloom *b, const struct visit *visits) {
    uint32_t *table = (uint32_t *)(void *)b->table;
    for (uint64_t j = 0; j < b->visits; j++) {
        const uint32_t *word = visits[j].word[0], *mask = visits[j].mask[0];
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): stored as vectors */
        TAMIS_UNROLL for (unsigned i = 0; i < 2 * LANES; i++) table[word[i]] |= mask[i];
    }
}

/* Sets the bits of one key; returns whether some were not set. */
TAMIS_AVX512_TEMPLATE bool set_key(const struct bloom *b, const struct visit *visits, size_t lane) {
    uint32_t *table = (uint32_t *)(void *)b->table, missing = 0;
    for (uint64_t j = 0; j < b->visits; j++) {
        TAMIS_UNROLL for (unsigned i = 0; i < 2; i++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
            uint32_t *word = table + visits[j].word[i][lane];
            const uint32_t mask = visits[j].mask[i][lane], before = *word;
            *word = before | mask;
            missing |= mask & ~before;
        }
    }
    return missing != 0;
}

/* Adds the first keys of a block, in order, and reports which were new; returns how many were
 * not.  `look_up`: skips those that are present.  Loads overlap where a load that waits for a store
 * does not, and unchanged lines need no write-back. */
TAMIS_AVX512_TEMPLATE size_t set_keys(const struct bloom *b, const struct visit *visits,
                                      size_t count, bool look_up, bool *fresh) {
    const uint32_t there = look_up ? test_block(b, visits, b->visits, false) : 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        fresh[i] = (there >> i & 1) == 0 && set_key(b, visits, i);
        known += !fresh[i];
    }
    return known;
}

/* Stores the positions of a group and prefetches its lines.  (In a ring of two or four blocks adds
 * at ten million keys take 8.6 to 9.2 instead of 7.4 ns.) */
TAMIS_AVX512_TEMPLATE void store_group(const struct bloom *b, const uint64_t *hashes, size_t count,
                                       struct visit *visits, bool far) {
    const size_t blocks = (count + LANES - 1) / LANES;
    for (size_t i = 0; i < blocks + LATE; i++) {
        if (i < blocks) {
            store_block(b, hashes + i * LANES, count - i * LANES, 0, b->visits,
                        visits + i * b->visits);
        }
        if (far && i >= LATE) {
            fetch_block(b, visits + (i - LATE) * b->visits, b->visits, true);
        }
    }
}

/* Whole blocks if `fresh` is NULL.  Otherwise keys are looked up first as long as most are present:
 * always doing so would slow down new keys. */
TAMIS_AVX512_TEMPLATE void add_all(tamis_filter *f, const uint64_t *hashes, size_t count,
                                   bool *fresh, bool far) {
    _Alignas(64) struct visit visits[VISITS];
    const struct bloom b = bloom_of(f);
    const size_t most = VISITS / b.visits, group = LANES * (most < BLOCKS ? most : BLOCKS);
    bool look_up = false;
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        store_group(&b, hashes + at, n, visits, far);
        for (size_t i = 0; i < n; i += LANES) {
            const struct visit *block = visits + i / LANES * b.visits;
            if (fresh == NULL) {
                set_block(&b, block);
                continue;
            }
            const size_t keys = n - i < LANES ? n - i : LANES;
            look_up = 2 * set_keys(&b, block, keys, look_up, fresh + at + i) >= keys;
        }
    }
}

/* Without `fresh` the last keys, which do not fill a block, are added as if they were reported. */
TAMIS_AVX512_TEMPLATE void add_batch(tamis_filter *f, const uint64_t *hashes, size_t count,
                                     bool *fresh, bool far) {
    bool unread[LANES];
    if (fresh != NULL) {
        add_all(f, hashes, count, fresh, far);
        return;
    }
    const size_t whole = count / LANES * LANES;
    add_all(f, hashes, whole, NULL, far);
    add_all(f, hashes + whole, count - whole, unread, false);
}

TAMIS_TARGET_AVX512 tamis_status tamis__bloom_add_avx512(tamis_filter *f, const uint64_t *lo,
                                                         const uint64_t *hi, size_t count,
                                                         bool *fresh, size_t *done) {
    (void)hi;
    if (f->shape.table_bytes >= TAMIS__PROBE_FETCHED) {
        add_batch(f, lo, count, fresh, true);
    } else {
        add_batch(f, lo, count, fresh, false);
    }
    *done = count;
    return TAMIS_OK;
}

#endif
