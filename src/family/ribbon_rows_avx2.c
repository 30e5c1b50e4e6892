/* ribbon_rows_avx2.c - solving a ribbon segment with AVX2: see ribbon_rows_kernel.h */
#include "family/ribbon_rows.h"

#if defined(TAMIS_HAVE_AVX2)
#include "core/avx2.h"
#include "core/bits.h"

#define WIDTH 4
#define BATCH 3 /* with 4 gcc keeps some in memory: 52 ns per key instead of 47 */
#define VEC_TEMPLATE TAMIS_AVX2_TEMPLATE

typedef __m256i vec;
typedef __m256i selection; /* lanes of all ones or 0 */

TAMIS_AVX2_TEMPLATE vec vec_all(uint64_t x) { return tamis__avx2_all(x); }
TAMIS_AVX2_TEMPLATE uint64_t vec_word(vec x) {
    return (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(x));
}
TAMIS_AVX2_TEMPLATE vec vec_add(vec x, vec y) { return _mm256_add_epi64(x, y); }
TAMIS_AVX2_TEMPLATE vec vec_or(vec x, vec y) { return _mm256_or_si256(x, y); }
TAMIS_AVX2_TEMPLATE bool vec_is_zero(vec x) { return _mm256_testz_si256(x, x) != 0; }
TAMIS_AVX2_TEMPLATE vec vec_shift_left(vec x, int by) { return _mm256_slli_epi64(x, by); }
TAMIS_AVX2_TEMPLATE vec vec_shift_right(vec x, int by) { return _mm256_srli_epi64(x, by); }
TAMIS_AVX2_TEMPLATE vec vec_rotate(vec x, vec by) {
    const vec left = _mm256_and_si256(by, vec_all(63));
    return vec_or(_mm256_sllv_epi64(x, left),
                  _mm256_srlv_epi64(x, _mm256_sub_epi64(vec_all(64), left)));
}
TAMIS_AVX2_TEMPLATE vec vec_rotate_one(vec x) {
    return vec_or(vec_add(x, x), vec_shift_right(x, 63));
}
TAMIS_AVX2_TEMPLATE vec vec_turned(uint64_t x, vec column, unsigned j) {
    (void)column;
    return vec_all(tamis__ribbon_turn(x, j));
}

TAMIS_AVX2_TEMPLATE selection vec_having(vec x, vec bit) {
    return _mm256_cmpeq_epi64(_mm256_and_si256(x, bit), bit);
}
TAMIS_AVX2_TEMPLATE selection vec_having_from(vec x, vec bit, vec start, vec column) {
    return _mm256_andnot_si256(_mm256_cmpgt_epi64(start, column), vec_having(x, bit));
}
TAMIS_AVX2_TEMPLATE selection vec_either(selection a, selection b) { return vec_or(a, b); }
TAMIS_AVX2_TEMPLATE bool vec_none(selection s) { return vec_is_zero(s); }
TAMIS_AVX2_TEMPLATE vec vec_choose(vec x, selection s, vec y) {
    return _mm256_blendv_epi8(x, y, s);
}
TAMIS_AVX2_TEMPLATE vec vec_xor_if(vec x, selection s, vec y) {
    return _mm256_xor_si256(x, _mm256_and_si256(s, y));
}

/* The same selected lane of both, in all lanes. */
TAMIS_AVX2_TEMPLATE void vec_pick(selection s, vec *x, vec *y) {
    const unsigned lane = tamis__ctz((unsigned)_mm256_movemask_epi8(s)) / 4; /* of 32 bits */
    const vec halves = vec_all((uint64_t)(lane + 1) << 32 | lane);
    *x = _mm256_permutevar8x32_epi32(*x, halves);
    *y = _mm256_permutevar8x32_epi32(*y, halves);
}

/* Up to two rows; zeros after them. */
TAMIS_AVX2_TEMPLATE vec two_rows(const struct tamis__ribbon_row *rows, size_t count) {
    const vec zero = vec_all(0);
    if (TAMIS_LIKELY(count >= 2)) return _mm256_loadu_si256((const __m256i *)(const void *)rows);
    if (count == 0) return zero;
    return _mm256_inserti128_si256(zero, _mm_loadu_si128((const __m128i *)(const void *)rows), 0);
}

/* The first and the second words of up to four rows, both in the same order of lanes. */
TAMIS_AVX2_TEMPLATE void vec_load(const struct tamis__ribbon_row *rows, size_t count, vec *first,
                                  vec *second) {
    const vec a = two_rows(rows, count), b = two_rows(rows + 2, count > 2 ? count - 2 : 0);
    *first = _mm256_unpacklo_epi64(a, b);
    *second = _mm256_unpackhi_epi64(a, b);
}

#include "family/ribbon_rows_kernel.h"

TAMIS_TARGET_AVX2 static bool insert(uint64_t *table, const struct tamis__ribbon_row *rows,
                                     size_t count, uint32_t **placed) {
    for (size_t at = 0, now; at < count; at += now) {
        const size_t rest = count - at;
        now = rest < (size_t)WIDTH * BATCH ? rest : (size_t)WIDTH * BATCH;
        if (!batch_insert(table, rows + at, now, BATCH, placed)) return false;
    }
    return true;
}

/* With a popcount instruction: 6 ns per key and 8 columns instead of 14. */
TAMIS_TARGET_AVX2 static void solve_block(const uint64_t *rows, unsigned columns,
                                          uint64_t words[TAMIS__RIBBON_COLUMNS_MAX]) {
    tamis__ribbon_solve_scalar(rows, columns, words);
}

const struct tamis__ribbon_solver tamis__ribbon_solver_avx2 = {insert, solve_block};

#endif
