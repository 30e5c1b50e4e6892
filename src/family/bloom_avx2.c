/* bloom_avx2.c - batches of a Bloom filter: the places of eight keys at a time
 *
 * The steps are those of bloom_kernel.h: a group of keys is probed twice, those that pass are
 * gathered, and probed to the end; where most keys were there, the next group is probed to the end
 * at once, and so are the first keys, since nothing is known then.  Here the probe sequences of
 * eight keys are in two vectors of four lanes, their places, made by products of 32 bits, in one of
 * eight: so the table must have fewer than 2^32 bits.
 *
 *     sequences   | key 0 | key 1 | key 2 | key 3 |   | key 4 | key 5 | key 6 | key 7 |
 *     places      | 0 | 4 | 1 | 5 | 2 | 6 | 3 | 7 |   the upper halves of both
 *
 * Bits are read from words of 32, which are loaded one by one and put together to a vector.  What
 * is kept of a key that passes is its hash: to make the state of its probes again, in vectors,
 * takes less than to keep it. */
#include "core/compiler.h"

#if defined(TAMIS_HAVE_AVX2)
#include <string.h>

#include "core/avx2.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "family/bloom_table.h"
#include "family/probe.h"

#define LANES 8
#define GROUP 128   /* keys, fewer if they have many probes: */
#define PLACES 1024 /* so many places are kept for a group */
#define FIRST 2     /* probes that are made for every key; three of four absent keys fail here */

/* A table of so many bytes is far, and read ahead.  (With eight loads on their way by themselves it
 * pays later than it does one by one: 7.5 instead of 8.9 ns without, at 1.2 MB.) */
#define FAR ((uint64_t)4 << 20)

/* In a smaller one than this, all probes at once cost about as much as two and the sorting. */
#define NEAR ((uint64_t)1 << 19)

/* In a larger one the first keys, probed to the end, tell whether the others are sorted.  (Of 104
 * keys at 1.2 MB, absent ones take 7.6 ns each when they are sorted and 9.1 when not, present ones
 * 13.2 and 9.2.) */
#define SAMPLE 16 /* of whole vectors, and as many as any group has */

/* What is the same for all keys. */
struct bloom {
    uint8_t *table;
    uint64_t probes;
    __m256i bits;
};

/* Eight probe sequences. */
struct sequences {
    __m256i x[2], y[2];
};

TAMIS_AVX2_TEMPLATE struct bloom bloom_of(const tamis_filter *f) {
    const struct bloom b = {.table = f->table,
                            .probes = f->shape.word[HASHES],
                            .bits = tamis__avx2_all(f->shape.word[BITS])};
    return b;
}

/* Keys in a group: whole vectors. */
TAMIS_AVX2_TEMPLATE size_t group_size(uint64_t probes) {
    const uint64_t most = PLACES / probes / LANES * LANES;
    return most < GROUP ? (size_t)most : GROUP;
}

/* ---- places */

/* tamis__probe_first */
TAMIS_AVX2_TEMPLATE struct sequences sequences_of(const uint64_t *hashes) {
    struct sequences s;
    for (unsigned half = 0; half < 2; half++) {
        const __m256i *at = (const __m256i *)(const void *)hashes + half;
        const __m256i mixed = tamis__avx2_mix(_mm256_loadu_si256(at));
        const __m256i a = _mm256_xor_si256(mixed, _mm256_srli_epi64(mixed, 31));
        const __m256i flipped = _mm256_xor_si256(a, tamis__avx2_all(TAMIS__PROBE_FLIP));
        s.x[half] = a;
        s.y[half] = tamis__avx2_multiply(flipped, TAMIS__PROBE_SCALE);
    }
    return s;
}

/* Goes on to the next probe; `step` grows with each. */
TAMIS_AVX2_TEMPLATE void sequences_next(struct sequences *s, __m256i *step) {
    for (unsigned half = 0; half < 2; half++) {
        s->x[half] = _mm256_add_epi64(s->x[half], s->y[half]);
        s->y[half] = _mm256_add_epi64(s->y[half], *step);
    }
    *step = _mm256_add_epi64(*step, tamis__avx2_all(TAMIS__PROBE_STEP));
}

/* tamis__range, in the upper halves; the lower ones are of no meaning. */
TAMIS_AVX2_TEMPLATE __m256i range_high(__m256i x, __m256i range) {
    return _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), range),
                            _mm256_srli_epi64(_mm256_mul_epu32(x, range), 32));
}

/* The places of this probe. */
TAMIS_AVX2_TEMPLATE __m256i sequences_places(const struct bloom *b, const struct sequences *s) {
    const __m256i even = range_high(s->x[0], b->bits), odd = range_high(s->x[1], b->bits);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* The probe sequences of `count` keys, rounded up to whole vectors. */
TAMIS_AVX2_TEMPLATE void write_sequences(const uint64_t *hashes, size_t count,
                                         struct sequences *sequences) {
    for (size_t i = 0; i < count; i += LANES) *sequences++ = sequences_of(hashes + i);
}

/* Writes down the places of probes [from, to) of `count` keys, rounded up to whole vectors, and
 * fetches them: vector by vector, and probe by probe in each.  What is not fetched waits for
 * arithmetic: then the sequences, of which each is a long chain of products, are made before (5.4
 * instead of 5.9 ns at 10 thousand keys; where memory is waited for, it is the other way around).
 */
TAMIS_AVX2_TEMPLATE void write_places(const struct bloom *b, const uint64_t *hashes, size_t count,
                                      uint64_t from, uint64_t to, uint32_t *places, bool fetch,
                                      bool write) {
    struct sequences made[(GROUP + LANES) / LANES];
    if (!fetch) write_sequences(hashes, count, made);
    for (size_t i = 0; i < count; i += LANES) {
        struct sequences s = fetch ? sequences_of(hashes + i) : made[i / LANES];
        __m256i step = tamis__avx2_all(TAMIS__PROBE_STEP);
        for (uint64_t j = 0; j < from; j++) sequences_next(&s, &step);
        for (uint64_t j = from; j < to; j++, places += LANES) {
            _mm256_storeu_si256((__m256i *)(void *)places, sequences_places(b, &s));
            sequences_next(&s, &step);
            if (!fetch) continue;
            for (unsigned lane = 0; lane < LANES; lane++) {
                const uint8_t *at = b->table + (places[lane] >> 3);
                if (write) TAMIS_PREFETCH_WRITE(at);
                if (!write) TAMIS_PREFETCH(at);
            }
        }
    }
}

/* ---- asking */

/* Of a shared filter, others may be setting bits of the word meanwhile. */
TAMIS_AVX2_TEMPLATE int word_of(const struct bloom *b, uint32_t place) {
    const int *word = (const int *)(const void *)b->table + (place >> 5);
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The words of 32 bits that eight places are in.  By single loads: a gather takes a third longer
 * (4.9 instead of 4.1 ns for a present key at 10 thousand keys). */
TAMIS_AVX2_TEMPLATE __m256i words_of(const struct bloom *b, const uint32_t *places) {
    __m128i low = _mm_cvtsi32_si128(word_of(b, places[0]));
    __m128i high = _mm_cvtsi32_si128(word_of(b, places[4]));
    low = _mm_insert_epi32(low, word_of(b, places[1]), 1);
    high = _mm_insert_epi32(high, word_of(b, places[5]), 1);
    low = _mm_insert_epi32(low, word_of(b, places[2]), 2);
    high = _mm_insert_epi32(high, word_of(b, places[6]), 2);
    low = _mm_insert_epi32(low, word_of(b, places[3]), 3);
    high = _mm_insert_epi32(high, word_of(b, places[7]), 3);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Are the bits of eight keys set at all of their places?  A byte for each key, 0 or 1. */
TAMIS_AVX2_TEMPLATE uint64_t test_places(const struct bloom *b, const uint32_t *places,
                                         uint64_t probes) {
    const __m256i order =
        _mm256_setr_epi8(0, 8, -1, -1, 4, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 8,
                         -1, -1, 4, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i all = _mm256_set1_epi32(1);
    for (uint64_t j = 0; j < probes; j++, places += LANES) {
        const __m256i place = _mm256_loadu_si256((const __m256i *)(const void *)places);
        const __m256i bit = _mm256_and_si256(place, _mm256_set1_epi32(31));
        all = _mm256_and_si256(all, _mm256_srlv_epi32(words_of(b, places), bit));
    }
    all = _mm256_shuffle_epi8(all, order);
    const __m128i bytes =
        _mm_or_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    return (uint64_t)_mm_cvtsi128_si64(bytes);
}

/* The first probes of all keys.  Gathers the hashes and the numbers of those that pass, and returns
 * how many they are. */
TAMIS_AVX2_TEMPLATE size_t sift(const struct bloom *b, const uint32_t *places,
                                const uint64_t *hashes, size_t count, bool *answers, uint64_t *kept,
                                uint8_t *number) {
    size_t passed = 0;
    for (size_t i = 0; i < count; i += LANES, places += FIRST * LANES) {
        uint8_t maybe[LANES];
        tamis__store64(maybe, test_places(b, places, FIRST));
        memcpy(answers + i, maybe, LANES);
        for (unsigned lane = 0; lane < LANES; lane++) {
            kept[passed] = hashes[i + lane];
            number[passed] = (uint8_t)(i + lane);
            passed += maybe[lane];
        }
    }
    return passed;
}

/* Probes those that passed to the end; returns how many may be there. */
TAMIS_AVX2_TEMPLATE size_t test_kept(const struct bloom *b, uint32_t *places, uint64_t *kept,
                                     const uint8_t *number, size_t passed, bool *answers,
                                     bool fetch) {
    const uint64_t rest = b->probes - FIRST;
    size_t found = 0;
    memset(kept + passed, 0, LANES * sizeof *kept);
    write_places(b, kept, passed, FIRST, b->probes, places, fetch, false);
    for (size_t i = 0; i < passed; i += LANES) {
        uint8_t maybe[LANES];
        tamis__store64(maybe, test_places(b, places + i * rest, rest));
        for (unsigned lane = 0; lane < LANES && i + lane < passed; lane++) {
            answers[number[i + lane]] = maybe[lane];
            found += maybe[lane];
        }
    }
    return found;
}

/* `count` is of whole vectors.  `*sifted` tells whether most keys are expected to be absent: then
 * two probes sort them out; otherwise all are probed to the end at once.  As it was with this group
 * it is expected of the next. */
TAMIS_AVX2_TEMPLATE size_t contains_group(const struct bloom *b, const uint64_t *hashes,
                                          size_t count, bool *answers, bool fetch, bool *sifted) {
    uint32_t places[PLACES];
    size_t found = 0;
    if (*sifted) {
        uint64_t kept[GROUP + LANES];
        uint8_t number[GROUP + LANES];
        write_places(b, hashes, count, 0, FIRST, places, fetch, false);
        const size_t passed = sift(b, places, hashes, count, answers, kept, number);
        found = test_kept(b, places, kept, number, passed, answers, fetch);
    } else {
        write_places(b, hashes, count, 0, b->probes, places, fetch, false);
        for (size_t i = 0; i < count; i += LANES) {
            const uint64_t maybe = test_places(b, places + i * b->probes, b->probes);
            tamis__store64(answers + i, maybe);
            found += tamis__popcount(maybe);
        }
    }
    *sifted = 2 * found < count;
    return found;
}

/* The last keys: made up to a whole vector by others, which do not count. */
TAMIS_AVX2_TEMPLATE size_t contains_last(const struct bloom *b, const uint64_t *hashes,
                                         size_t count, bool *answers, bool fetch, bool *sifted) {
    const size_t whole = (count + LANES - 1) / LANES * LANES;
    uint64_t all_hashes[GROUP] = {0};
    bool all_answers[GROUP];
    memcpy(all_hashes, hashes, count * sizeof *hashes);
    size_t found = contains_group(b, all_hashes, whole, all_answers, fetch, sifted);
    for (size_t i = count; i < whole; i++) found -= all_answers[i];
    if (answers != NULL) memcpy(answers, all_answers, count);
    return found;
}

TAMIS_AVX2_TEMPLATE size_t contains_all(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                        bool *answers, bool fetch) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.probes);
    const bool sampled = f->shape.table_bytes >= NEAR && count > SAMPLE;
    bool sifted = false, unread[GROUP];
    size_t found = 0;
    for (size_t n = sampled ? SAMPLE : group; count >= n; n = group) {
        found += contains_group(&b, hashes, n, answers == NULL ? unread : answers, fetch, &sifted);
        if (answers != NULL) answers += n;
        hashes += n;
        count -= n;
    }
    if (count > 0) found += contains_last(&b, hashes, count, answers, fetch, &sifted);
    return found;
}

TAMIS_TARGET_AVX2 size_t tamis__bloom_contains_avx2(const tamis_filter *f, const uint64_t *lo,
                                                    const uint64_t *hi, size_t count,
                                                    bool *answers) {
    (void)hi;
    return f->shape.table_bytes >= FAR ? contains_all(f, lo, count, answers, true)
                                       : contains_all(f, lo, count, answers, false);
}

/* ---- adding */

/* Sets the bit; returns the word as it was, shifted so that the bit is its lowest. */
TAMIS_AVX2_TEMPLATE uint64_t set_place(const struct bloom *b, uint32_t place) {
    uint64_t *words = (uint64_t *)(void *)b->table;
    const uint64_t before = words[place >> 6];
    words[place >> 6] = before | (uint64_t)1 << (place & 63);
    return before >> (place & 63);
}

/* Adds key `i` of a vector; returns 1 if it was there, else 0. */
TAMIS_AVX2_TEMPLATE uint64_t set_key(const struct bloom *b, const uint32_t *places, size_t i) {
    static const uint8_t lane_of[LANES] = {0, 2, 4, 6, 1, 3, 5, 7};
    uint64_t all = 1;
    places += lane_of[i];
    for (uint64_t j = 0; j < b->probes; j++) all &= set_place(b, places[j * LANES]);
    return all;
}

/* Adds the first keys of a vector, in order, and tells which were new; returns how many were not.
 */
TAMIS_AVX2_TEMPLATE size_t set_keys(const struct bloom *b, const uint32_t *places, size_t count,
                                    bool *fresh) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t there = set_key(b, places, i);
        fresh[i] = there == 0;
        known += there;
    }
    return known;
}

/* The same for a whole vector, but asks first, and leaves those that are there alone: loads overlap
 * where one that waits for a store does not, and lines that do not change need not be written back.
 */
TAMIS_AVX2_TEMPLATE size_t set_absent(const struct bloom *b, const uint32_t *places, bool *fresh) {
    const uint64_t there = test_places(b, places, b->probes);
    if (there == UINT64_C(0x0101010101010101)) {
        memset(fresh, false, LANES);
        return LANES;
    }
    size_t known = 0;
    for (size_t i = 0; i < LANES; i++) {
        const bool is_there = (there >> 8 * i & 1) != 0 || set_key(b, places, i) != 0;
        fresh[i] = !is_there;
        known += is_there;
    }
    return known;
}

/* In a table that is not `near` all keys are asked first: known ones take 11.6 instead of 21 ns at
 * 1.2 MB, new ones as long as without.  In a near one, where new ones would take a third longer,
 * only as long as most are known. */
TAMIS_AVX2_TEMPLATE void add_group(const struct bloom *b, const uint64_t *hashes, size_t count,
                                   bool *fresh, bool near, bool fetch) {
    uint32_t places[PLACES];
    bool ask = !near;
    write_places(b, hashes, count, 0, b->probes, places, fetch, true);
    if (fresh == NULL) { /* to find out would cost a third more */
        for (uint64_t i = 0; i < count * b->probes; i++) set_place(b, places[i]);
        return;
    }
    for (size_t i = 0; i < count; i += LANES) {
        const uint32_t *at = places + i * b->probes;
        const size_t known = ask ? set_absent(b, at, fresh + i) : set_keys(b, at, LANES, fresh + i);
        ask = !near || 2 * known >= LANES;
    }
}

/* Fewer keys than a vector has lanes. */
TAMIS_AVX2_TEMPLATE void add_last(const struct bloom *b, const uint64_t *hashes, size_t count,
                                  bool *fresh) {
    uint64_t all_hashes[LANES] = {0};
    uint32_t places[LANES * TAMIS__PROBES_MAX];
    bool unread[LANES];
    memcpy(all_hashes, hashes, count * sizeof *hashes);
    write_places(b, all_hashes, LANES, 0, b->probes, places, false, true);
    set_keys(b, places, count, fresh == NULL ? unread : fresh);
}

TAMIS_AVX2_TEMPLATE void add_all(tamis_filter *f, const uint64_t *hashes, size_t count, bool *fresh,
                                 bool fetch) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.probes);
    while (count >= LANES) {
        const size_t n = count < group ? count / LANES * LANES : group;
        add_group(&b, hashes, n, fresh, f->shape.table_bytes < NEAR, fetch);
        hashes += n;
        count -= n;
        if (fresh != NULL) fresh += n;
    }
    if (count > 0) add_last(&b, hashes, count, fresh);
}

TAMIS_TARGET_AVX2 tamis_status tamis__bloom_add_avx2(tamis_filter *f, const uint64_t *lo,
                                                     const uint64_t *hi, size_t count, bool *fresh,
                                                     size_t *done) {
    (void)hi;
    if (f->shape.table_bytes >= FAR) {
        add_all(f, lo, count, fresh, true);
    } else {
        add_all(f, lo, count, fresh, false);
    }
    *done = count;
    return TAMIS_OK;
}

#else
typedef int tamis__bloom_avx2_is_not_here;
#endif
