/* each.h - operations of families that have nothing to gain from batches */
#ifndef TAMIS_COMPAT_COMMON_EACH_H
#define TAMIS_COMPAT_COMMON_EACH_H

#include "filter/family.h"

/* Batches, one key at a time, by the filter's other operations. */
size_t tamis__contains_each(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                            size_t count, bool *answers);
tamis_status tamis__add_each(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                             bool *fresh, size_t *done);

/* A filter without bits, which matches every key and takes none. */
bool tamis__match_contains(const tamis_filter *f, uint64_t hash);
extern const struct tamis__ops tamis__match_all;

#endif
