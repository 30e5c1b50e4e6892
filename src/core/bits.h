/* bits.h - arithmetic on 64-bit words that every family shares */
#ifndef TAMIS_CORE_BITS_H
#define TAMIS_CORE_BITS_H

#include <stdint.h>

#include "core/compiler.h"

/* WebAssembly multiplies 128-bit integers in a function, with the result in memory. */
#if defined(__SIZEOF_INT128__) && !defined(__wasm__)
#define TAMIS_HAVE_INT128 1
__extension__ typedef unsigned __int128 tamis__u128;
#endif

/* The upper half of the 128-bit product. */
TAMIS_TEMPLATE uint64_t tamis__mulhi(uint64_t a, uint64_t b) {
#if defined(TAMIS_HAVE_INT128)
    return (uint64_t)(((tamis__u128)a * b) >> 64);
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, mid = ah * bl + (low >> 32), cross = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (cross >> 32);
#endif
}

/* Both halves, of one product if the compiler supports it; separate calls compute two. */
TAMIS_TEMPLATE uint64_t tamis__mulboth(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(TAMIS_HAVE_INT128)
    const tamis__u128 product = (tamis__u128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    *low = a * b;
    return tamis__mulhi(a, b);
#endif
}

/* Both halves folded together: with an odd factor every bit depends on all of x, its upper bits
 * through the lower half and its lower bits through the upper half. */
TAMIS_TEMPLATE uint64_t tamis__fold(uint64_t x, uint64_t odd) {
    uint64_t low;
    const uint64_t high = tamis__mulboth(x, odd, &low);
    return high ^ low;
}

/* A number below `range` from a uniform hash: its upper bits, by a multiply instead of a
 * modulo, so monotone in the hash. */
TAMIS_TEMPLATE uint64_t tamis__range(uint64_t hash, uint64_t range) {
    return tamis__mulhi(hash, range);
}

/* A bijection of 64 bits in which every output bit depends on every input bit (the
 * finaliser of MurmurHash3 with the constants that David Stafford found best, "mix 13"). */
#define TAMIS_MIX_FIRST UINT64_C(0xbf58476d1ce4e5b9)
#define TAMIS_MIX_SECOND UINT64_C(0x94d049bb133111eb)
TAMIS_TEMPLATE uint64_t tamis__mix64_with(uint64_t x, uint64_t first, uint64_t second) {
    x ^= x >> 30;
    x *= first;
    x ^= x >> 27;
    x *= second;
    x ^= x >> 31;
    return x;
}
TAMIS_TEMPLATE uint64_t tamis__mix64(uint64_t x) {
    return tamis__mix64_with(x, TAMIS_MIX_FIRST, TAMIS_MIX_SECOND);
}

/* The inverse of tamis__mix64. */
TAMIS_TEMPLATE uint64_t tamis__unmix64(uint64_t x) {
    x ^= x >> 31 ^ x >> 62;
    x *= UINT64_C(0x319642b2d24d8ec3);
    x ^= x >> 27 ^ x >> 54;
    x *= UINT64_C(0x96de1b173f119089);
    x ^= x >> 30 ^ x >> 60;
    return x;
}

#define TAMIS_SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* Makes a weak hash (counters, pointers) usable with one multiply. */
TAMIS_TEMPLATE uint64_t tamis__spread(uint64_t x) { return tamis__fold(x, TAMIS_SPREAD); }

TAMIS_TEMPLATE unsigned tamis__popcount(uint64_t x) { return (unsigned)__builtin_popcountll(x); }

/* 1 if the number of ones is odd: the product of two vectors over GF(2), once they are ANDed.
 * The builtin folds if there is no popcount instruction; a popcount would not. */
TAMIS_TEMPLATE unsigned tamis__parity(uint64_t x) { return (unsigned)__builtin_parityll(x); }

/* Number of zero bits below the lowest one; x must not be 0. */
TAMIS_TEMPLATE unsigned tamis__ctz(uint64_t x) { return (unsigned)__builtin_ctzll(x); }

/* floor(log2(x)); x must not be 0. */
TAMIS_TEMPLATE unsigned tamis__log2(uint64_t x) { return 63u - (unsigned)__builtin_clzll(x); }

/* ceil(a / b), without overflow; b must not be 0. */
TAMIS_TEMPLATE uint64_t tamis__div_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

#endif
