/* ribbon_avx2.c - lookups in a ribbon filter with AVX2
 *
 * A key is compared four columns at a time.  A batch in a filter of one shard (up to 4 million
 * keys, where instructions matter more than memory) is also located four keys at a time: in cache
 * 11 ns per key instead of 14. */
#include "family/ribbon_one.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"

/* ---- one key, four columns */

/* Does one of four columns differ?  The parity of a lane is that of the sum of its nibbles'
 * parities. */
TAMIS_AVX2_TEMPLATE bool four_differ(const uint8_t *block, const uint8_t *next, __m256i low,
                                     __m256i high, uint32_t fingerprint) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i odd = _mm256_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0,
                                         1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0);
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)block);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)next);
    __m256i x = _mm256_xor_si256(_mm256_and_si256(a, low), _mm256_and_si256(b, high));
    x = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 4)), nibble);
    x = _mm256_sad_epu8(_mm256_shuffle_epi8(odd, x), _mm256_setzero_si256());
    x = _mm256_slli_epi64(x, 63);
    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(x)) != (fingerprint & 15);
}

/* The last four columns may overlap those before: nothing beyond the columns is read.  Up to eight
 * are compared without a branch, although 15 of 16 absent keys fail in the first four: with a mix
 * of present and absent keys the branch is unpredictable (19 ns per key instead of 13). */
TAMIS_AVX2_TEMPLATE bool match_avx2(const uint8_t *block, unsigned columns, uint64_t low,
                                    uint64_t high, uint32_t fingerprint) {
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
    const __m256i low4 = _mm256_set1_epi64x((long long)low);
    const __m256i high4 = _mm256_set1_epi64x((long long)high);
    const size_t last = columns - 4;
    const bool first_differ = four_differ(block, next, low4, high4, fingerprint);
    const bool last_differ =
        four_differ(block + 8 * last, next + 8 * last, low4, high4, fingerprint >> last);
    if (TAMIS_LIKELY(columns <= 8)) return !(first_differ | last_differ);
    for (size_t c = 4; c < last; c += 4) {
        if (four_differ(block + 8 * c, next + 8 * c, low4, high4, fingerprint >> c)) return false;
    }
    return !(first_differ | last_differ);
}

TAMIS_TARGET_AVX2 static bool contains_avx2(const tamis_filter *f, uint64_t hash) {
    return tamis__ribbon_contains(f, hash, match_avx2);
}

/* ---- four keys */

/* tamis__ribbon_slot; shifts by 64, for a layer of one segment, give 0. */
TAMIS_AVX2_TEMPLATE __m256i four_slots(const struct tamis__ribbon_layer *layer, __m256i hash,
                                       __m256i segment) {
    const uint64_t last = layer->slots - TAMIS__RIBBON_BLOCK - 1;
    const __m256i margin = tamis__avx2_all(TAMIS__RIBBON_MARGIN);
    const __m256i lg = tamis__avx2_all(layer->lg_segments);
    const __m256i half = _mm256_srli_epi64(_mm256_sllv_epi64(hash, lg), 32);
    const __m256i range = tamis__avx2_all(last + 1 + 2 * TAMIS__RIBBON_MARGIN);
    const __m256i drawn = _mm256_srli_epi64(_mm256_mul_epu32(half, range), 32);
    const __m256i start = _mm256_sub_epi64(_mm256_max_epu32(drawn, margin), margin);
    return _mm256_add_epi64(_mm256_mul_epu32(segment, tamis__avx2_all(layer->slots)),
                            _mm256_min_epu32(start, tamis__avx2_all(last)));
}

TAMIS_AVX2_TEMPLATE void four_store(uint64_t *to, __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)to, x);
}

/* Four words of a table: single loads, which are faster than a gather instruction. */
TAMIS_AVX2_TEMPLATE __m256i four_words(const uint8_t *table, __m256i index) {
    uint64_t at[4];
    four_store(at, index);
    return _mm256_setr_epi64x(
        (long long)tamis__load64(table + 8 * at[0]), (long long)tamis__load64(table + 8 * at[1]),
        (long long)tamis__load64(table + 8 * at[2]), (long long)tamis__load64(table + 8 * at[3]));
}

/* Which of four keys were bumped?  Marks are read as whole words: those of a layer, with the
 * thresholds after them, are padded to words. */
TAMIS_AVX2_TEMPLATE unsigned four_bumped(const struct one_shard *f, __m256i slot, __m256i segment) {
    const struct tamis__ribbon_layer *layer = &f->shard->layer[0];
    const __m256i words = four_words(layer->marks, _mm256_srli_epi64(slot, 13));
    const __m256i bucket = _mm256_and_si256(_mm256_srli_epi64(slot, 7), tamis__avx2_all(63));
    const __m256i marked = _mm256_slli_epi64(_mm256_srlv_epi64(words, bucket), 63);
    const __m256i threshold = four_words((const uint8_t *)f->threshold, segment);
    const __m256i offset = _mm256_and_si256(slot, tamis__avx2_all(TAMIS__RIBBON_BUCKET - 1));
    const __m256i low = _mm256_cmpgt_epi64(threshold, offset);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(marked, low)));
}

/* Locates four keys of the group, from index `at` on. */
TAMIS_AVX2_TEMPLATE void four_locate(const struct one_shard *f, const uint64_t *h,
                                     struct locations *to, size_t at) {
    const struct tamis__ribbon_layer *layer = &f->shard->layer[0];
    const __m256i x = tamis__avx2_mix(_mm256_loadu_si256((const __m256i *)(const void *)h));
    const __m256i hash = _mm256_xor_si256(x, _mm256_srli_epi64(x, 31)); /* tamis__mix64 */
    const __m256i segment = _mm256_srlv_epi64(hash, tamis__avx2_all(64 - layer->lg_segments));
    const __m256i slot = four_slots(layer, hash, segment);
    const __m256i block = _mm256_srli_epi64(slot, 6),
                  narrow = tamis__avx2_all(layer->narrow_blocks);
    const __m256i columns = tamis__avx2_all(f->form.columns);
    const __m256i word =
        _mm256_sub_epi64(_mm256_mul_epu32(block, columns), _mm256_min_epu32(block, narrow));
    four_store(to->block + at,
               _mm256_add_epi64(tamis__avx2_all((uint64_t)(uintptr_t)layer->columns),
                                _mm256_slli_epi64(word, 3)));
    four_store(to->hash + at, hash);
    four_store(to->columns + at, _mm256_add_epi64(columns, _mm256_cmpgt_epi64(narrow, block)));
    four_store(to->shift + at, _mm256_and_si256(slot, tamis__avx2_all(TAMIS__RIBBON_BLOCK - 1)));
    locate_bumped(f, four_bumped(f, slot, segment), to, at);
}

TAMIS_AVX2_TEMPLATE struct tamis__ribbon_location location_at(const struct locations *l, size_t i) {
    return (struct tamis__ribbon_location){(const uint8_t *)(uintptr_t)l->block[i], l->hash[i],
                                           (uint32_t)l->columns[i], (uint32_t)l->shift[i]};
}

/* Looks up `count` keys, a multiple of four. */
TAMIS_TARGET_AVX2 static size_t contains_fours(const struct one_shard *f, const uint64_t *h,
                                               size_t count, bool *answers) {
    struct locations located[2];
    size_t found = 0, waiting = 0; /* of the group before */
    for (size_t at = 0, turn = 0; at < count || waiting > 0; turn ^= 1) {
        const size_t rest = count - at;
        const size_t now = rest < TAMIS__RIBBON_AHEAD ? rest : TAMIS__RIBBON_AHEAD;
        for (size_t i = 0; i < now; i += 4) four_locate(f, h + at + i, &located[turn], i);
        for (size_t i = 0; i < now; i++) prefetch_located(&located[turn], i);
        for (size_t i = 0; i < waiting; i++) {
            const struct tamis__ribbon_location location = location_at(&located[turn ^ 1], i);
            const bool answer = tamis__ribbon_location_matches(&location, f->form, match_avx2);
            found += answer;
            if (answers != NULL) answers[at - waiting + i] = answer;
        }
        at += now;
        waiting = now;
    }
    return found;
}

TAMIS_TARGET_AVX2 static size_t contains_batch_avx2(const tamis_filter *filter, const uint64_t *lo,
                                                    const uint64_t *hi, size_t count,
                                                    bool *answers) {
    struct one_shard one;
    size_t done = 0, found = 0;
    (void)hi;
    if (count >= TAMIS__RIBBON_AHEAD && one_shard_of(filter, &one)) {
        done = count & ~(size_t)3;
        found = contains_fours(&one, lo, done, answers);
    }
    bool *others = answers == NULL ? NULL : answers + done;
    return found +
           tamis__ribbon_contains_batch(filter, lo + done, count - done, others, match_avx2);
}

const struct tamis__ops tamis__ribbon_ops_avx2 = {
    .path = "avx2", .contains = contains_avx2, .contains_batch = contains_batch_avx2};

#endif
