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

/* The same of longer keys, of at most `max` bytes: URLs, paths, mail addresses.  The secret is an
 * operand in memory, which saves the instructions that load it into registers.  A batch of keys of
 * 35 bytes takes 2.6 instead of 3.1 ns per key (Zen 4, gcc 12, with the call that inlining saves).
 */
#define TAMIS__XXH3_MEDIUM 128

TAMIS_TEMPLATE uint64_t tamis__xxh3_medium(const void *key, size_t length, size_t max) {
    const uint8_t *secret = XXH3_kSecret;
    if (length <= TAMIS__XXH3_SHORT || length > max) __builtin_unreachable();
    TAMIS_OPAQUE(secret);
    return XXH3_64bits_withSecret(key, length, secret, sizeof XXH3_kSecret);
}

/* ---- integers: keys of 8 bytes, several at once (xxh3_avx2.c, xxh3_avx512.c) */

#define TAMIS__XXH3_PRIME UINT64_C(0x9fb21c651e98df25)

/* Hashes keys from the first on until one has another length; the last ones may be left.  Returns
 * how many.  `flip` is tamis__xxh3_flip of the seed. */
typedef size_t tamis__xxh3_integers(uint64_t flip, const void *const *keys, const size_t *lengths,
                                    size_t count, uint64_t *hashes);

#if defined(TAMIS_HAVE_AVX2)
tamis__xxh3_integers tamis__xxh3_integers_avx2;
#endif
#if defined(TAMIS_HAVE_AVX512)
tamis__xxh3_integers tamis__xxh3_integers_avx512;
#endif

/* Two words of XXH3's secret, combined with the seed. */
TAMIS_TEMPLATE uint64_t tamis__xxh3_flip(uint64_t seed) {
    const uint64_t words = UINT64_C(0x1cad21f72c81017c) ^ UINT64_C(0xdb979083e96dd4de);
    return words - (seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32);
}

#endif
