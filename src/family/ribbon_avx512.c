/* ribbon_avx512.c - lookups in a ribbon filter with AVX-512
 *
 * A key is compared eight columns at a time, by counting ones.  A batch in a filter of one shard is
 * also located eight keys at a time, and what is compared is computed for eight keys.
 *
 *     eight keys    mix -> segment, slot -> block, word; bumped? then one by one, layer by layer
 *                   lines are fetched; after 32 keys
 *     eight keys    coefficients, shifted to both blocks; fingerprints -> memory
 *     each key      (block & low) ^ (next & high) -> ones per column -> odd? = fingerprint
 *
 * Costs   batches, 8 bits, a million keys, Zen 4: 7.1 ns per key; 9.2 with AVX2. */
#include "family/ribbon_one.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"

/* ---- one key, eight columns */

/* The columns from the pointers on whose parity is odd, of `count` columns. */
TAMIS_AVX512_TEMPLATE unsigned odd_columns(const uint8_t *block, const uint8_t *next,
                                           unsigned count, __m512i low, __m512i high) {
    const __mmask8 columns = (__mmask8)((1u << count) - 1);
    const __m512i a = _mm512_and_si512(_mm512_maskz_loadu_epi64(columns, block), low);
    const __m512i b = _mm512_maskz_loadu_epi64(columns, next);
    const __m512i bits = _mm512_ternarylogic_epi64(a, b, high, 0x78); /* a ^ (b & high) */
    return _mm512_test_epi64_mask(_mm512_popcnt_epi64(bits), tamis__avx512_all(1));
}

TAMIS_AVX512_TEMPLATE bool match_avx512(const uint8_t *block, unsigned columns, uint64_t low,
                                        uint64_t high, uint32_t fingerprint) {
    const uint8_t *next = block + 8 * columns;
    const __m512i low8 = tamis__avx512_all(low), high8 = tamis__avx512_all(high);
    while (TAMIS_UNLIKELY(columns > 8)) {
        if (odd_columns(block, next, 8, low8, high8) != (fingerprint & 255)) return false;
        block += 64;
        next += 64;
        fingerprint >>= 8;
        columns -= 8;
    }
    const uint32_t expected = fingerprint & ((1u << columns) - 1);
    return odd_columns(block, next, columns, low8, high8) == expected;
}

TAMIS_TARGET_AVX512 static bool contains_avx512(const tamis_filter *f, uint64_t h) {
    return tamis__ribbon_contains(f, h, match_avx512);
}

/* ---- eight keys */

/* tamis__ribbon_slot; shifts by 64, for a layer of one segment, give 0. */
TAMIS_AVX512_TEMPLATE __m512i eight_slots(const struct tamis__ribbon_layer *layer, __m512i hash,
                                          __m512i segment) {
    const uint64_t last = layer->slots - TAMIS__RIBBON_BLOCK - 1;
    const __m512i margin = tamis__avx512_all(TAMIS__RIBBON_MARGIN);
    const __m512i half =
        _mm512_srli_epi64(_mm512_sllv_epi64(hash, tamis__avx512_all(layer->lg_segments)), 32);
    const __m512i range = tamis__avx512_all(last + 1 + 2 * TAMIS__RIBBON_MARGIN);
    const __m512i drawn = _mm512_srli_epi64(_mm512_mul_epu32(half, range), 32);
    const __m512i start = _mm512_sub_epi64(_mm512_max_epu64(drawn, margin), margin);
    return _mm512_add_epi64(_mm512_mul_epu32(segment, tamis__avx512_all(layer->slots)),
                            _mm512_min_epu64(start, tamis__avx512_all(last)));
}

/* Eight words of a table: single loads, which are faster than a gather instruction. */
TAMIS_AVX512_TEMPLATE __m512i eight_words(const uint8_t *table, __m512i index) {
    uint64_t at[8], word[8];
    _mm512_storeu_si512(at, index);
    TAMIS_UNROLL for (size_t i = 0; i < 8; i++) word[i] = tamis__load64(table + 8 * at[i]);
    return _mm512_setr_epi64((long long)word[0], (long long)word[1], (long long)word[2],
                             (long long)word[3], (long long)word[4], (long long)word[5],
                             (long long)word[6], (long long)word[7]);
}

/* The thresholds of eight segments; most layers have at most eight in all. */
TAMIS_AVX512_TEMPLATE __m512i eight_thresholds(const struct one_shard *f, __m512i segment) {
    const uint64_t *t = f->threshold;
    if (TAMIS_LIKELY(f->shard->layer[0].lg_segments <= 3)) {
        return _mm512_permutexvar_epi64(segment, _mm512_loadu_si512(t));
    }
    const __m512i low =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(t), segment, _mm512_loadu_si512(t + 8));
    const __m512i high =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(t + 16), segment, _mm512_loadu_si512(t + 24));
    const __mmask8 is_high = _mm512_test_epi64_mask(segment, tamis__avx512_all(16));
    return _mm512_mask_mov_epi64(low, is_high, high);
}

/* Which of eight keys were bumped?  Marks are read as whole words: those of a layer, with the
 * thresholds after them, are padded to words. */
TAMIS_AVX512_TEMPLATE unsigned eight_bumped(const struct one_shard *f, __m512i slot,
                                            __m512i segment) {
    const struct tamis__ribbon_layer *layer = &f->shard->layer[0];
    const __m512i offset = _mm512_and_si512(slot, tamis__avx512_all(TAMIS__RIBBON_BUCKET - 1));
    const __mmask8 low = _mm512_cmplt_epu64_mask(offset, eight_thresholds(f, segment));
    const __m512i words = eight_words(layer->marks, _mm512_srli_epi64(slot, 13));
    /* Shifts by the bucket modulo 64. */
    const __m512i marked = _mm512_rorv_epi64(words, _mm512_srli_epi64(slot, 7));
    return _mm512_mask_test_epi64_mask(low, marked, tamis__avx512_all(1));
}

/* Locates eight keys of the group, from index `at` on. */
TAMIS_AVX512_TEMPLATE void eight_locate(const struct one_shard *f, const uint64_t *h,
                                        struct locations *to, size_t at) {
    const struct tamis__ribbon_layer *layer = &f->shard->layer[0];
    const __m512i x = tamis__avx512_mix(_mm512_loadu_si512(h));
    const __m512i hash = _mm512_xor_si512(x, _mm512_srli_epi64(x, 31)); /* tamis__mix64 */
    const __m512i segment = _mm512_srlv_epi64(hash, tamis__avx512_all(64 - layer->lg_segments));
    const __m512i slot = eight_slots(layer, hash, segment);
    const __m512i block = _mm512_srli_epi64(slot, 6);
    const __m512i narrow = tamis__avx512_all(layer->narrow_blocks);
    const __m512i columns = tamis__avx512_all(f->form.columns);
    const __m512i word =
        _mm512_sub_epi64(_mm512_mul_epu32(block, columns), _mm512_min_epu64(block, narrow));
    const __m512i base = tamis__avx512_all((uint64_t)(uintptr_t)layer->columns);
    const __mmask8 is_narrow = _mm512_cmplt_epu64_mask(block, narrow);
    _mm512_storeu_si512(to->block + at, _mm512_add_epi64(base, _mm512_slli_epi64(word, 3)));
    _mm512_storeu_si512(to->hash + at, hash);
    _mm512_storeu_si512(to->columns + at,
                        _mm512_mask_sub_epi64(columns, is_narrow, columns, tamis__avx512_all(1)));
    _mm512_storeu_si512(to->shift + at,
                        _mm512_and_si512(slot, tamis__avx512_all(TAMIS__RIBBON_BLOCK - 1)));
    locate_bumped(f, eight_bumped(f, slot, segment), to, at);
}

/* The upper half of the product by a constant: the sum of four products of halves. */
TAMIS_AVX512_TEMPLATE __m512i eight_high(__m512i x, uint64_t by) {
    const __m512i low = tamis__avx512_all((uint32_t)by), high = tamis__avx512_all(by >> 32);
    const __m512i ones = tamis__avx512_all(UINT32_MAX), xh = _mm512_srli_epi64(x, 32);
    const __m512i mid = _mm512_add_epi64(_mm512_mul_epu32(xh, low),
                                         _mm512_srli_epi64(_mm512_mul_epu32(x, low), 32));
    const __m512i cross = _mm512_add_epi64(_mm512_mul_epu32(x, high), _mm512_and_si512(mid, ones));
    return _mm512_add_epi64(
        _mm512_add_epi64(_mm512_mul_epu32(xh, high), _mm512_srli_epi64(mid, 32)),
        _mm512_srli_epi64(cross, 32));
}

/* Compares eight located keys; returns how many match. */
TAMIS_AVX512_TEMPLATE size_t eight_match(const struct one_shard *f, const struct locations *l,
                                         size_t at, bool *answers) {
    uint64_t low[8], high[8], fingerprint[8];
    const __m512i hash = _mm512_loadu_si512(l->hash + at);
    const __m512i shift = _mm512_loadu_si512(l->shift + at);
    const __m512i product = _mm512_mullo_epi64(hash, tamis__avx512_all(TAMIS_SPREAD));
    const __m512i spread = _mm512_xor_si512(product, eight_high(hash, TAMIS_SPREAD));
    const __m512i coefficients = _mm512_or_si512(spread, tamis__avx512_all(1));
    const __m512i mixed = _mm512_mullo_epi64(hash, tamis__avx512_all(TAMIS__RIBBON_FINGERPRINT));
    _mm512_storeu_si512(low, _mm512_sllv_epi64(coefficients, shift));
    _mm512_storeu_si512(
        high, _mm512_srlv_epi64(coefficients, _mm512_sub_epi64(tamis__avx512_all(64), shift)));
    _mm512_storeu_si512(fingerprint,
                        _mm512_srlv_epi64(mixed, tamis__avx512_all(64 - f->form.columns)));
    size_t found = 0;
    for (size_t i = 0; i < 8; i++) {
        const uint8_t *block = (const uint8_t *)(uintptr_t)l->block[at + i];
        const unsigned columns = (unsigned)l->columns[at + i];
        const bool answer =
            TAMIS_UNLIKELY(block == NULL)
                ? columns != 0
                : match_avx512(block, columns, low[i], high[i], (uint32_t)fingerprint[i]);
        found += answer;
        if (answers != NULL) answers[i] = answer;
    }
    return found;
}

/* Looks up `count` keys, a multiple of eight. */
TAMIS_TARGET_AVX512 static size_t contains_eights(const struct one_shard *f, const uint64_t *h,
                                                  size_t count, bool *answers) {
    struct locations located[2];
    size_t found = 0, waiting = 0; /* of the group before */
    for (size_t at = 0, turn = 0; at < count || waiting > 0; turn ^= 1) {
        const size_t rest = count - at;
        const size_t now = rest < TAMIS__RIBBON_AHEAD ? rest : TAMIS__RIBBON_AHEAD;
        for (size_t i = 0; i < now; i += 8) {
            eight_locate(f, h + at + i, &located[turn], i);
            for (size_t k = i; k < i + 8; k++) prefetch_located(&located[turn], k);
        }
        for (size_t i = 0; i < waiting; i += 8) {
            bool *to = answers == NULL ? NULL : answers + (at - waiting + i);
            found += eight_match(f, &located[turn ^ 1], i, to);
        }
        at += now;
        waiting = now;
    }
    return found;
}

TAMIS_TARGET_AVX512 static size_t contains_batch_avx512(const tamis_filter *filter,
                                                        const uint64_t *lo, const uint64_t *hi,
                                                        size_t count, bool *answers) {
    struct one_shard one;
    size_t done = 0, found = 0;
    (void)hi;
    if (count >= TAMIS__RIBBON_AHEAD && one_shard_of(filter, &one)) {
        done = count & ~(size_t)7;
        found = contains_eights(&one, lo, done, answers);
    }
    bool *others = answers == NULL ? NULL : answers + done;
    return found +
           tamis__ribbon_contains_batch(filter, lo + done, count - done, others, match_avx512);
}

const struct tamis__ops tamis__ribbon_ops_avx512 = {
    .path = "avx512", .contains = contains_avx512, .contains_batch = contains_batch_avx512};

#endif
