/* sequence.h - hashes in the order in which they came, repeats included
 *
 * For compatible formats whose size depends on the number of keys and whose bytes depend on their
 * order. */
#ifndef TAMIS_BUILD_SEQUENCE_H
#define TAMIS_BUILD_SEQUENCE_H

#include "core/alloc.h"
#include "core/compiler.h"
#include "tamis.h"

/* All zeros but `allocator` and `wide` is an empty one. */
struct tamis__sequence {
    tamis_allocator allocator;
    bool wide;         /* hashes of 128 bits */
    uint64_t *lo, *hi; /* hi: NULL unless wide */
    size_t count, room;
};

/* Appends all or, on E_NOMEM, none.  `hi` may be NULL unless the sequence is wide. */
tamis_status tamis__sequence_append(struct tamis__sequence *s, const uint64_t *lo,
                                    const uint64_t *hi, size_t count);
/* The number of distinct values of `lo`. */
tamis_status tamis__sequence_distinct(const struct tamis__sequence *s, uint64_t *distinct);
/* Leaves an empty sequence. */
void tamis__sequence_free(struct tamis__sequence *s);

/* For qsort. */
int tamis__compare_words(const void *a, const void *b);
/* Sorts words and drops repeats; returns how many are left. */
size_t tamis__distinct_words(uint64_t *words, size_t count);

#endif
