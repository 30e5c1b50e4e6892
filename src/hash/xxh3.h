/* xxh3.h - XXH3-64, compiled in from the header of libxxhash
 *
 * Keys are short, and the call into a shared library takes half as long as the hash itself. */
#ifndef TAMIS_HASH_XXH3_H
#define TAMIS_HASH_XXH3_H

#if !defined(XXH_INLINE_ALL)
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "core/compiler.h"

/* XXH3 of keys of at most this many bytes, without a seed.  The compiler omits the code for other
 * keys: 38 instead of 56 instructions for 32 bytes. */
#define TAMIS__XXH3_SHORT 32

TAMIS_TEMPLATE uint64_t tamis__xxh3_short(const void *key, size_t length) {
    if (length > TAMIS__XXH3_SHORT) __builtin_unreachable();
    return XXH3_64bits_withSeed(key, length, 0);
}

#endif
