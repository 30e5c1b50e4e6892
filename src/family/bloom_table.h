/* bloom_table.h - a Bloom filter's table: what is the same for every scheme and every path */
#ifndef TAMIS_FAMILY_BLOOM_TABLE_H
#define TAMIS_FAMILY_BLOOM_TABLE_H

#include "core/compiler.h" /* TAMIS_HAVE_AVX2 */
#include "family/family.h"

void tamis__bloom_state(const tamis_filter *f, struct tamis__state *state);
tamis_status tamis__bloom_merge(tamis_filter *into, const tamis_filter *from,
                                tamis_merge_mode mode);

#if defined(TAMIS_HAVE_AVX2)
/* ---- bloom_avx2.c: batches of our own scheme in pairs, in less than 2^32 bits */

/* Other threads may be adding. */
size_t tamis__bloom_contains_avx2(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *answers);
/* Nobody else may use the filter. */
tamis_status tamis__bloom_add_avx2(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *fresh, size_t *done);
#endif

#endif
