/* ribbon_rows_avx512.c - solving a ribbon segment with AVX-512: see ribbon_rows_kernel.h */
#include "family/ribbon_rows.h"

#if defined(TAMIS_HAVE_AVX512)
#include "core/avx512.h"
#include "core/bits.h"

#define WIDTH 8
#define BATCH 3
#define VEC_TEMPLATE TAMIS_AVX512_TEMPLATE

typedef __m512i vec;
typedef __mmask8 selection;

TAMIS_AVX512_TEMPLATE vec vec_all(uint64_t x) { return tamis__avx512_all(x); }
TAMIS_AVX512_TEMPLATE uint64_t vec_word(vec x) {
    return (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(x));
}
TAMIS_AVX512_TEMPLATE vec vec_add(vec x, vec y) { return _mm512_add_epi64(x, y); }
TAMIS_AVX512_TEMPLATE vec vec_or(vec x, vec y) { return _mm512_or_si512(x, y); }
TAMIS_AVX512_TEMPLATE bool vec_is_zero(vec x) { return _mm512_test_epi64_mask(x, x) == 0; }
TAMIS_AVX512_TEMPLATE vec vec_shift_left(vec x, unsigned by) { return _mm512_slli_epi64(x, by); }
TAMIS_AVX512_TEMPLATE vec vec_shift_right(vec x, unsigned by) { return _mm512_srli_epi64(x, by); }
TAMIS_AVX512_TEMPLATE vec vec_rotate(vec x, vec by) { return _mm512_rolv_epi64(x, by); }
TAMIS_AVX512_TEMPLATE vec vec_rotate_one(vec x) { return _mm512_rol_epi64(x, 1); }
TAMIS_AVX512_TEMPLATE vec vec_turned(uint64_t x, vec column, unsigned j) {
    (void)j;
    return vec_rotate(vec_all(x), column);
}

TAMIS_AVX512_TEMPLATE selection vec_having(vec x, vec bit) {
    return _mm512_test_epi64_mask(x, bit);
}
TAMIS_AVX512_TEMPLATE selection vec_having_from(vec x, vec bit, vec start, vec column) {
    return _mm512_mask_test_epi64_mask(_mm512_cmple_epi64_mask(start, column), x, bit);
}
/* In the registers for masks: gcc would do it in others, and the next column would wait. */
TAMIS_AVX512_TEMPLATE selection vec_either(selection a, selection b) { return _kor_mask8(a, b); }
TAMIS_AVX512_TEMPLATE bool vec_none(selection s) { return _kortestz_mask8_u8(s, s) != 0; }
TAMIS_AVX512_TEMPLATE vec vec_choose(vec x, selection s, vec y) {
    return _mm512_mask_mov_epi64(x, s, y);
}
TAMIS_AVX512_TEMPLATE vec vec_xor_if(vec x, selection s, vec y) {
    return _mm512_mask_xor_epi64(x, s, x, y);
}

/* The same selected lane of both, in all lanes. */
TAMIS_AVX512_TEMPLATE void vec_pick(selection s, vec *x, vec *y) {
    const vec first = _mm512_maskz_compress_epi64(s, *x),
              second = _mm512_maskz_compress_epi64(s, *y);
    *x = _mm512_broadcastq_epi64(_mm512_castsi512_si128(first));
    *y = _mm512_broadcastq_epi64(_mm512_castsi512_si128(second));
}

/* Up to four rows; zeros after them. */
TAMIS_AVX512_TEMPLATE vec four_rows(const struct tamis__ribbon_row *rows, size_t count) {
    const unsigned mask = count >= 4 ? 255 : (1u << (2 * count)) - 1;
    return _mm512_maskz_loadu_epi64((__mmask8)mask, rows);
}

/* The first and the second words of up to eight rows. */
TAMIS_AVX512_TEMPLATE void vec_load(const struct tamis__ribbon_row *rows, size_t count, vec *first,
                                    vec *second) {
    const vec a = four_rows(rows, count), b = four_rows(rows + 4, count > 4 ? count - 4 : 0);
    *first = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    *second = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
}

#include "family/ribbon_rows_kernel.h"

TAMIS_TARGET_AVX512 static bool insert(uint64_t *table, const struct tamis__ribbon_row *rows,
                                       size_t count, uint32_t **placed) {
    for (size_t at = 0, now; at < count; at += now) {
        const size_t rest = count - at;
        now = rest < (size_t)WIDTH * BATCH ? rest : (size_t)WIDTH * BATCH;
        const bool fits = now > 2 * WIDTH ? batch_insert(table, rows + at, now, 3, placed)
                                          : batch_insert(table, rows + at, now, 2, placed);
        if (!fits) return false;
    }
    return true;
}

/* ---- the solution */

/* Eight columns.  A column's word has bit i for slot i of the block, above the bit being solved
 * that of this block and below it that of the block after, so that it is never shifted. */
TAMIS_AVX512_TEMPLATE vec eight_columns(const uint64_t *rows, unsigned column, vec later) {
    const vec from =
        _mm512_add_epi64(vec_all(32 + column), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    vec at = vec_all(63), bit = vec_all((uint64_t)1 << 63);
    for (unsigned i = TAMIS__RIBBON_BLOCK; i-- > 0;) {
        const uint64_t taker = rows[2 * i];
        const vec others = vec_rotate(vec_all(taker & ~(uint64_t)1), at);
        /* The bit of the value, where the solved bit goes. */
        const vec value = _mm512_and_si512(
            _mm512_sllv_epi64(_mm512_srlv_epi64(vec_all(taker != 0 ? rows[2 * i + 1] : 0), from),
                              at),
            bit);
        /* (later & others) ^ value: 0x6a is that function's table. */
        const vec terms = _mm512_ternarylogic_epi64(value, later, others, 0x78);
        const vec solved = _mm512_sllv_epi64(_mm512_popcnt_epi64(terms), at);
        later = _mm512_ternarylogic_epi64(bit, solved, later, 0xca); /* bit ? solved : later */
        at = _mm512_sub_epi64(at, vec_all(1));
        bit = _mm512_ror_epi64(bit, 1);
    }
    return later;
}

TAMIS_TARGET_AVX512 static void solve_block(const uint64_t *rows, unsigned columns,
                                            uint64_t later[TAMIS__RIBBON_COLUMNS_MAX]) {
    for (unsigned c = 0; c < columns; c += 8) {
        _mm512_storeu_si512(later + c, eight_columns(rows, c, _mm512_loadu_si512(later + c)));
    }
}

const struct tamis__ribbon_solver tamis__ribbon_solver_avx512 = {insert, solve_block};

#endif
