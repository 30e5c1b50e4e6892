/* bloom_table.h - a Bloom filter's table: what all layouts and instruction sets share */
#ifndef TAMIS_FAMILY_BLOOM_TABLE_H
#define TAMIS_FAMILY_BLOOM_TABLE_H

#include "core/compiler.h" /* TAMIS_HAVE_AVX2 */
#include "filter/family.h"

void tamis__bloom_state(const tamis_filter *f, struct tamis__state *state);

#if defined(TAMIS_HAVE_AVX2)
/* ---- bloom_avx2.c: batches of our own layout in pairs, below 2^32 bits */

/* Other threads may be adding. */
size_t tamis__bloom_contains_avx2(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *answers);
/* Needs exclusive access. */
tamis_status tamis__bloom_add_avx2(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *fresh, size_t *done);
#endif

#if defined(TAMIS_HAVE_AVX512)
/* ---- bloom_avx512.c: the same; both need exclusive access */

size_t tamis__bloom_contains_avx512(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers);
size_t tamis__bloom_contains_gather(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *answers);
tamis_status tamis__bloom_add_avx512(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *fresh, size_t *done);
#endif

#if defined(TAMIS_HAVE_NEON)
/* ---- bloom_neon.c: as bloom_avx2.c */

size_t tamis__bloom_contains_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *answers);
tamis_status tamis__bloom_add_neon(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *fresh, size_t *done);
#endif

#endif
