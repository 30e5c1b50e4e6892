/* bloom_avx2.c - batches of a Bloom filter in pairs: the positions of eight keys at a time
 *
 * The steps are those of probe_kernel.h: test the first line of all keys of a group, collect the
 * keys that pass, and test the rest of those.  If most keys of a group were present, the next
 * group tests all positions at once; so does the first group, when nothing is known yet.  The
 * probe sequences of eight keys are two vectors of four lanes; their positions, products of 32
 * bits, are one vector of eight.  So the table must have fewer than 2^32 bits.
 *
 *     sequences   | key 0 | key 1 | key 2 | key 3 |   | key 4 | key 5 | key 6 | key 7 |
 *     lines       | 0 | 4 | 1 | 5 | 2 | 6 | 3 | 7 |   the upper halves of both products
 *     r           the same of the lower halves (see probe.h)
 *
 * A visit has a vector of first positions and one of second positions; with an odd number of
 * probes the very last one is stored and not used.
 *
 * Bits are read from 32-bit words, loaded one by one and combined into a vector.  Only the hash of
 * a key that passes is kept: computing the state of its probes again, in vectors, is cheaper than
 * storing it. */
#include "family/bloom_table.h"

#if defined(TAMIS_HAVE_AVX2)
#include <string.h>

#include "core/avx2.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "family/probe.h"
#include "family/probe_shape.h"

#define LANES 8
#define PAIR 2 /* positions per visit */

/* In a table out of cache (TAMIS__PROBE_FETCHED), which is prefetched, a sample of keys is tested
 * to the end and decides whether the others are filtered by their first visit.  (Of 104 keys at
 * 1.2 MB, with independent bits, absent ones took 7.6 ns each with filtering and 9.1 without,
 * present ones 13.2 and 9.2.)  In cache, all visits at once cost about as much as one visit and
 * the filtering. */
#define SAMPLE 16 /* whole vectors; no group has fewer keys */

/* What is the same for all keys. */
struct bloom {
    uint8_t *table;
    uint64_t probes, visits; /* two probes each; the last has one if their number is odd */
    __m256i lines;
};

/* Eight probe sequences. */
struct sequences {
    __m256i x[2], y[2];
};

TAMIS_AVX2_TEMPLATE struct bloom bloom_of(const tamis_filter *f) {
    const uint64_t probes = f->shape.word[HASHES];
    return (struct bloom){.table = f->table,
                          .probes = probes,
                          .visits = (probes + 1) / PAIR,
                          .lines = tamis__avx2_all(f->shape.word[BITS] / TAMIS__PAIR_LINE)};
}

/* Keys in a group: whole vectors. */
TAMIS_AVX2_TEMPLATE size_t group_size(uint64_t visits) {
    const uint64_t max = TAMIS__PROBED_POSITIONS / (visits * PAIR) / LANES * LANES;
    return max < TAMIS__PROBED_KEYS ? (size_t)max : TAMIS__PROBED_KEYS;
}

/* ---- positions */

/* tamis__probe_first */
TAMIS_AVX2_TEMPLATE struct sequences sequences_of(const uint64_t *hashes) {
    struct sequences s;
    TAMIS_UNROLL for (unsigned half = 0; half < 2; half++) {
        const __m256i *at = (const __m256i *)(const void *)hashes + half;
        const __m256i mixed = tamis__avx2_mix(_mm256_loadu_si256(at));
        const __m256i a = _mm256_xor_si256(mixed, _mm256_srli_epi64(mixed, 31));
        const __m256i flipped = _mm256_xor_si256(a, tamis__avx2_all(TAMIS__PROBE_FLIP));
        s.x[half] = a;
        s.y[half] = tamis__avx2_multiply(flipped, TAMIS__PROBE_SCALE);
    }
    return s;
}

/* Advances to the next visit; `step` grows with each. */
TAMIS_AVX2_TEMPLATE void sequences_next(struct sequences *s, __m256i *step) {
    TAMIS_UNROLL for (unsigned half = 0; half < 2; half++) {
        s->x[half] = _mm256_add_epi64(s->x[half], s->y[half]);
        s->y[half] = _mm256_add_epi64(s->y[half], *step);
    }
    *step = _mm256_add_epi64(*step, tamis__avx2_all(TAMIS__PROBE_STEP));
}

/* x * range / 2^32: the line above, r below. */
TAMIS_AVX2_TEMPLATE __m256i product_of(__m256i x, __m256i range) {
    return _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), range),
                            _mm256_srli_epi64(_mm256_mul_epu32(x, range), 32));
}

/* tamis__probe_pair: the first positions of this visit of eight keys, then the second ones. */
TAMIS_AVX2_TEMPLATE void store_pair(const struct bloom *b, const struct sequences *s,
                                    uint32_t *places) {
    const __m256i even = product_of(s->x[0], b->lines), odd = product_of(s->x[1], b->lines);
    const __m256i line = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    const __m256i r = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    const __m256i base = _mm256_slli_epi32(line, 9), first = _mm256_srli_epi32(r, 23);
    const __m256i rest = _mm256_and_si256(r, _mm256_set1_epi32(0x7fffff));
    const __m256i apart = _mm256_srli_epi32(_mm256_sub_epi32(_mm256_slli_epi32(rest, 9), rest), 23);
    const __m256i beyond = _mm256_add_epi32(_mm256_add_epi32(first, apart), _mm256_set1_epi32(1));
    const __m256i second = _mm256_and_si256(beyond, _mm256_set1_epi32(TAMIS__PAIR_LINE - 1));
    __m256i *to = (__m256i *)(void *)places;
    _mm256_storeu_si256(to, _mm256_or_si256(base, first));
    _mm256_storeu_si256(to + 1, _mm256_or_si256(base, second));
}

/* The probe sequences of `count` keys, rounded up to whole vectors. */
TAMIS_AVX2_TEMPLATE void write_sequences(const uint64_t *hashes, size_t count,
                                         struct sequences *sequences) {
    for (size_t i = 0; i < count; i += LANES) *sequences++ = sequences_of(hashes + i);
}

/* Prefetches the lines of eight positions. */
TAMIS_AVX2_TEMPLATE void fetch_lines(const struct bloom *b, const uint32_t *places, bool write) {
    TAMIS_UNROLL for (unsigned lane = 0; lane < LANES; lane++) {
        const uint8_t *at = b->table + (places[lane] >> 3);
        if (write) TAMIS_PREFETCH_WRITE(at);
        if (!write) TAMIS_PREFETCH(at);
    }
}

/* Stores the positions of visits [from, to) of `count` keys, rounded up to whole vectors, and
 * prefetches them: vector by vector, and visit by visit in each.  Without prefetching the
 * arithmetic is the bottleneck: then the sequences, each a long chain of products, are computed
 * first (5.4 instead of 5.9 ns at 10,000 keys; out of cache the opposite order is faster). */
TAMIS_AVX2_TEMPLATE void write_places(const struct bloom *b, const uint64_t *hashes, size_t count,
                                      uint64_t from, uint64_t to, uint32_t *places, bool fetch,
                                      bool write) {
    struct sequences made[(TAMIS__PROBED_KEYS + LANES) / LANES];
    if (!fetch) write_sequences(hashes, count, made);
    for (size_t i = 0; i < count; i += LANES) {
        struct sequences s = fetch ? sequences_of(hashes + i) : made[i / LANES];
        __m256i step = tamis__avx2_all(TAMIS__PROBE_STEP);
        for (uint64_t j = 0; j < from; j++) sequences_next(&s, &step);
        for (uint64_t j = from; j < to; j++, places += PAIR * LANES) {
            store_pair(b, &s, places);
            sequences_next(&s, &step);
            if (fetch) fetch_lines(b, places, write);
        }
    }
}

/* ---- lookup */

/* Other threads may be setting bits of the word if the filter is shared. */
TAMIS_AVX2_TEMPLATE int word_of(const struct bloom *b, uint32_t place) {
    const int *word = (const int *)(const void *)b->table + (place >> 5);
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The 32-bit words of eight positions.  By single loads: a gather takes a third longer (4.9
 * instead of 4.1 ns for a present key at 10,000 keys). */
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

/* Are the bits of eight keys set at the positions of `probes` probes?  A byte per key, 0 or 1. */
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

/* Probes of the first visit. */
TAMIS_AVX2_TEMPLATE uint64_t first_probes(const struct bloom *b) {
    return b->probes < PAIR ? b->probes : PAIR;
}

/* The first visit of all keys; three of four absent keys fail it.  Collects the hashes and the
 * indexes of the keys that pass, and returns their number. */
TAMIS_AVX2_TEMPLATE size_t sift(const struct bloom *b, const uint32_t *places,
                                const uint64_t *hashes, size_t count, bool *answers, uint64_t *kept,
                                uint8_t *number) {
    size_t passed = 0;
    for (size_t i = 0; i < count; i += LANES, places += PAIR * LANES) {
        uint8_t maybe[LANES];
        tamis__store64(maybe, test_places(b, places, first_probes(b)));
        memcpy(answers + i, maybe, LANES);
        TAMIS_UNROLL for (unsigned lane = 0; lane < LANES; lane++) {
            kept[passed] = hashes[i + lane];
            number[passed] = (uint8_t)(i + lane);
            passed += maybe[lane];
        }
    }
    return passed;
}

/* Tests the rest of the keys that passed; returns how many are possibly in the set. */
TAMIS_AVX2_TEMPLATE size_t test_kept(const struct bloom *b, uint32_t *places, uint64_t *kept,
                                     const uint8_t *number, size_t passed, bool *answers,
                                     bool fetch) {
    const uint64_t rest = (b->visits - 1) * PAIR, probes = b->probes - first_probes(b);
    size_t found = 0;
    memset(kept + passed, 0, LANES * sizeof *kept);
    write_places(b, kept, passed, 1, b->visits, places, fetch, false);
    for (size_t i = 0; i < passed; i += LANES) {
        uint8_t maybe[LANES];
        tamis__store64(maybe, test_places(b, places + i * rest, probes));
        for (unsigned lane = 0; lane < LANES && i + lane < passed; lane++) {
            answers[number[i + lane]] = maybe[lane];
            found += maybe[lane];
        }
    }
    return found;
}

/* `count` is a multiple of the vector length.  `*sifted`: are most keys expected to be absent?
 * Then one visit filters them; otherwise all positions are tested at once.  The result of this
 * group predicts the next. */
TAMIS_AVX2_TEMPLATE size_t contains_group(const struct bloom *b, const uint64_t *hashes,
                                          size_t count, bool *answers, bool fetch, bool *sifted) {
    uint32_t places[TAMIS__PROBED_POSITIONS];
    size_t found = 0;
    if (*sifted) {
        uint64_t kept[TAMIS__PROBED_KEYS + LANES];
        uint8_t number[TAMIS__PROBED_KEYS + LANES];
        write_places(b, hashes, count, 0, 1, places, fetch, false);
        const size_t passed = sift(b, places, hashes, count, answers, kept, number);
        found = test_kept(b, places, kept, number, passed, answers, fetch);
    } else {
        write_places(b, hashes, count, 0, b->visits, places, fetch, false);
        for (size_t i = 0; i < count; i += LANES) {
            const uint64_t maybe = test_places(b, places + i * PAIR * b->visits, b->probes);
            tamis__store64(answers + i, maybe);
            found += tamis__popcount(maybe);
        }
    }
    *sifted = 2 * found < count;
    return found;
}

/* The last keys, padded to a whole vector by others whose results are ignored. */
TAMIS_AVX2_TEMPLATE size_t contains_last(const struct bloom *b, const uint64_t *hashes,
                                         size_t count, bool *answers, bool fetch, bool *sifted) {
    const size_t whole = (count + LANES - 1) / LANES * LANES;
    uint64_t all_hashes[TAMIS__PROBED_KEYS] = {0};
    bool all_answers[TAMIS__PROBED_KEYS];
    memcpy(all_hashes, hashes, count * sizeof *hashes);
    size_t found = contains_group(b, all_hashes, whole, all_answers, fetch, sifted);
    for (size_t i = count; i < whole; i++) found -= all_answers[i];
    if (answers != NULL) memcpy(answers, all_answers, count);
    return found;
}

TAMIS_AVX2_TEMPLATE size_t contains_all(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                        bool *answers, bool far) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.visits);
    const bool sampled = far && count > SAMPLE;
    bool sifted = false, unread[TAMIS__PROBED_KEYS];
    size_t found = 0;
    for (size_t n = sampled ? SAMPLE : group; count >= n; n = group) {
        found += contains_group(&b, hashes, n, answers == NULL ? unread : answers, far, &sifted);
        if (answers != NULL) answers += n;
        hashes += n;
        count -= n;
    }
    if (count > 0) found += contains_last(&b, hashes, count, answers, far, &sifted);
    return found;
}

TAMIS_TARGET_AVX2 size_t tamis__bloom_contains_avx2(const tamis_filter *f, const uint64_t *lo,
                                                    const uint64_t *hi, size_t count,
                                                    bool *answers) {
    (void)hi;
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_all(f, lo, count, answers, true)
               : contains_all(f, lo, count, answers, false);
}

/* ---- add */

/* Sets the bit; returns the old word, shifted so that the bit is its lowest. */
TAMIS_AVX2_TEMPLATE uint64_t set_place(const struct bloom *b, uint32_t place) {
    uint64_t *words = (uint64_t *)(void *)b->table;
    const uint64_t before = words[place >> 6];
    words[place >> 6] = before | (uint64_t)1 << (place & 63);
    return before >> (place & 63);
}

/* Adds key `i` of a vector; returns 1 if it was present, else 0. */
TAMIS_AVX2_TEMPLATE uint64_t set_key(const struct bloom *b, const uint32_t *places, size_t i) {
    static const uint8_t lane_of[LANES] = {0, 2, 4, 6, 1, 3, 5, 7};
    uint64_t all = 1;
    places += lane_of[i];
    for (uint64_t j = 0; j < b->probes; j++) all &= set_place(b, places[j * LANES]);
    return all;
}

/* Adds the first keys of a vector, in order, and reports which were new; returns how many were
 * not. */
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

/* The same for a whole vector, but looks the keys up first and skips those that are present: loads
 * overlap where a load that waits for a store does not, and unchanged lines need no write-back. */
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

/* Looks keys up first as long as most are present.  Doing so always would save a tenth for present
 * keys, but new keys would take a tenth longer, in cache a third. */
TAMIS_AVX2_TEMPLATE void add_group(const struct bloom *b, const uint64_t *hashes, size_t count,
                                   bool *fresh, bool far) {
    uint32_t places[TAMIS__PROBED_POSITIONS];
    bool look_up_first = false;
    write_places(b, hashes, count, 0, b->visits, places, far, true);
    for (size_t i = 0; i < count; i += LANES) {
        const uint32_t *at = places + i * PAIR * b->visits;
        if (fresh == NULL) { /* looking up first would cost a third more */
            for (uint64_t j = 0; j < b->probes * LANES; j++) set_place(b, at[j]);
            continue;
        }
        const size_t known =
            look_up_first ? set_absent(b, at, fresh + i) : set_keys(b, at, LANES, fresh + i);
        look_up_first = 2 * known >= LANES;
    }
}

/* Fewer keys than a vector has lanes. */
TAMIS_AVX2_TEMPLATE void add_last(const struct bloom *b, const uint64_t *hashes, size_t count,
                                  bool *fresh) {
    uint64_t all_hashes[LANES] = {0};
    uint32_t places[LANES * TAMIS__PROBES_MAX];
    bool unread[LANES];
    memcpy(all_hashes, hashes, count * sizeof *hashes);
    write_places(b, all_hashes, LANES, 0, b->visits, places, false, true);
    set_keys(b, places, count, fresh == NULL ? unread : fresh);
}

TAMIS_AVX2_TEMPLATE void add_all(tamis_filter *f, const uint64_t *hashes, size_t count, bool *fresh,
                                 bool far) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.visits);
    while (count >= LANES) {
        const size_t n = count < group ? count / LANES * LANES : group;
        add_group(&b, hashes, n, fresh, far);
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
    if (f->shape.table_bytes >= TAMIS__PROBE_FETCHED) {
        add_all(f, lo, count, fresh, true);
    } else {
        add_all(f, lo, count, fresh, false);
    }
    *done = count;
    return TAMIS_OK;
}

#endif
