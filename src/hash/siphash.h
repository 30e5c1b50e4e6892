/* siphash.h - shared by the portable and the AVX2 SipHash */
#ifndef TAMIS_HASH_SIPHASH_H
#define TAMIS_HASH_SIPHASH_H

#include "core/bytes.h"
#include "hash/hash.h"

#define SIP_A UINT64_C(0x736f6d6570736575)
#define SIP_B UINT64_C(0x646f72616e646f6d)
#define SIP_C UINT64_C(0x6c7967656e657261)
#define SIP_D UINT64_C(0x7465646279746573)

/* The last block: the bytes beyond the whole words, at most seven, and the length above them.  Read
 * with overlapping loads, since a loop over the bytes is mispredicted. */
TAMIS_TEMPLATE uint64_t sip_last(const uint8_t *key, size_t length) {
    const size_t tail = length % 8;
    const uint64_t top = (uint64_t)length << 56;
    if (tail == 0) return top;
    if (length >= 8) return top | tamis__load64(key + length - 8) >> (64 - 8 * tail);
    if (tail >= 4) {
        return top | tamis__load32(key) |
               (uint64_t)tamis__load32(key + tail - 4) << (8 * tail - 32);
    }
    const size_t middle = tail / 2, end = tail - 1;
    return top | key[0] | (uint64_t)key[middle] << (8 * middle) | (uint64_t)key[end] << (8 * end);
}

#if defined(TAMIS_HAVE_AVX2)
#define SIP_LANES 8 /* keys at once */

/* siphash_avx2.c: hashes keys in groups of eight that have the same number of whole words, at least
 * one; stops at the first group that does not.  Returns how many keys were hashed. */
size_t tamis__siphash24_alike_avx2(const uint64_t secret[2], const void *const *keys,
                                   const size_t *lengths, size_t count, uint64_t *hashes);
/* The hashes of eight keys, each of which has from `min` to `max` whole words. */
void tamis__siphash24_avx2(const uint64_t secret[2], const void *const *keys, const size_t *lengths,
                           size_t min, size_t max, uint64_t *hashes);
#endif

#endif
