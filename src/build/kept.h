/* kept.h - a copy of the hashes that a builder was given, for the self-check
 *
 * A builder that adds each key to the filter at once has none to query at the end.  With
 * tamis_options.check it keeps the hashes here: in the order in which they came, in memory or, if
 * memory is limited, in a nameless temporary file, and a sum of them all that is formed before they
 * are stored.  A bit that flips in this copy changes the sum.  Builders that collect the hashes
 * anyway only form the sum (keys.h has its own).
 *
 *     term  mix64(lo ^ mix64(hi)): a bijection of either half, so one flipped bit changes it
 *     sum   of all terms, modulo 2^64, in any order: threads add up parts of it
 *
 * Memory: 8 bytes a hash, 16 if it is wide.  With a limit: one block. */
#ifndef TAMIS_BUILD_KEPT_H
#define TAMIS_BUILD_KEPT_H

#include "core/alloc.h"
#include "core/bits.h"
#include "core/compiler.h"
#include "hash/hash.h"
#include "tamis.h"

struct tamis__kept_block;

struct tamis__kept {
    tamis_allocator allocator;
    struct tamis__hashing hashing; /* as it was when the first key came */
    bool wide;                     /* hashes of 128 bits: two words each */
    bool sums_only;                /* the caller keeps the keys */
    uint64_t count, sum;
    size_t reserved;                        /* words of `last` that are promised to callers */
    struct tamis__kept_block *first, *last; /* a list; `last` is being filled */
    uint64_t blocks;
    size_t block_bytes; /* of the next block */
    int file;           /* blocks are written to it one after the other; -1: none */
    uint64_t file_words;
};

/* Is on, and empty, with these settings.  `memory` as in tamis__keys_create; E_IO. */
tamis_status tamis__kept_open(struct tamis__kept *k, const tamis_allocator *a,
                              const struct tamis__hashing *hashing, uint64_t memory,
                              const char *temporary);
/* Also for one that was never opened and is all zeros. */
void tamis__kept_close(struct tamis__kept *k);

/* Room for `count` hashes, so that adding cannot fail; several callers may have some. */
tamis_status tamis__kept_reserve(struct tamis__kept *k, size_t count);
/* Gives back room for `reserved` hashes and adds `count` of them.  `hi` may be NULL unless they are
 * wide. */
void tamis__kept_add(struct tamis__kept *k, const uint64_t *lo, const uint64_t *hi, size_t count,
                     size_t reserved);

/* The copy in units, to be read by several threads.  `words` is in the copy or in `buffer`, which
 * has TAMIS__KEPT_UNIT words if there is a file; false: the file could not be read. */
#define TAMIS__KEPT_UNIT ((size_t)1 << 16)
uint64_t tamis__kept_units(const struct tamis__kept *k);
bool tamis__kept_unit(const struct tamis__kept *k, uint64_t unit, uint64_t *buffer,
                      const uint64_t **words, size_t *count);

TAMIS_TEMPLATE uint64_t tamis__kept_term(uint64_t lo, uint64_t hi) {
    return tamis__mix64(lo ^ tamis__mix64(hi));
}

/* The sum of some hashes. */
uint64_t tamis__kept_sum(const uint64_t *lo, const uint64_t *hi, size_t count);

#endif
