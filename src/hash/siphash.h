/* siphash.h - shared by the portable and the vector SipHash */
#ifndef TAMIS_HASH_SIPHASH_H
#define TAMIS_HASH_SIPHASH_H

#include "core/bytes.h"
#include "hash/hash.h"

#define SIP_A UINT64_C(0x736f6d6570736575)
#define SIP_B UINT64_C(0x646f72616e646f6d)
#define SIP_C UINT64_C(0x6c7967656e657261)
#define SIP_D UINT64_C(0x7465646279746573)

/* The bytes beyond the whole words, at most seven.  Read with overlapping loads, since a loop over
 * the bytes is mispredicted. */
TAMIS_TEMPLATE uint64_t sip_tail(const uint8_t *key, size_t length) {
    const size_t tail = length % 8;
    if (tail == 0) return 0;
    if (length >= 8) return tamis__load64(key + length - 8) >> (64 - 8 * tail);
    if (tail >= 4) {
        return tamis__load32(key) | (uint64_t)tamis__load32(key + tail - 4) << (8 * tail - 32);
    }
    const size_t middle = tail / 2, end = tail - 1;
    return key[0] | (uint64_t)key[middle] << (8 * middle) | (uint64_t)key[end] << (8 * end);
}

/* ---- eight keys at once */

#define SIP_LANES 8

/* Do these keys, a multiple of eight, have the same number of whole words? */
TAMIS_TEMPLATE bool sip_are_alike(const size_t *lengths, unsigned count) {
    size_t differ = 0;
    TAMIS_UNROLL
    for (unsigned i = 1; i < count; i++) differ |= lengths[i] ^ lengths[0];
    return differ < 8;
}

/* The least and the greatest number of whole words of eight keys.  Returns false if the greatest
 * exceeds `times` the mean by more than four: then too many lanes would wait. */
TAMIS_TEMPLATE bool sip_are_close(const size_t *lengths, unsigned times, size_t *min, size_t *max) {
    size_t least = SIZE_MAX, most = 0, sum = 0;
    TAMIS_UNROLL
    for (unsigned i = 0; i < SIP_LANES; i++) {
        const size_t words = lengths[i] / 8;
        least = words < least ? words : least;
        most = words > most ? words : most;
        sum += words;
    }
    *min = least;
    *max = most;
    return most <= sum * times / SIP_LANES + 4;
}

/* The hashes of keys that are not close. */
TAMIS_TEMPLATE void sip_each(const uint64_t secret[2], const void *const *keys,
                             const size_t *lengths, size_t count, uint64_t *hashes) {
    for (size_t i = 0; i < count; i++) hashes[i] = tamis__siphash24(keys[i], lengths[i], secret);
}

/* The hashes of keys, a multiple of eight: siphash_avx2.c, siphash_avx512.c. */
typedef void sip_eights(const uint64_t secret[2], const void *const *keys, const size_t *lengths,
                        size_t count, uint64_t *hashes);

#if defined(TAMIS_HAVE_AVX2)
sip_eights tamis__siphash24_avx2;
#endif
#if defined(TAMIS_HAVE_AVX512)
sip_eights tamis__siphash24_avx512;
#endif

#endif
