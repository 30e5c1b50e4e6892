/* ribbon_foreign.h - RocksDB's Standard128Ribbon: what asking and building share
 *
 *     shape   word[0] blocks of 128 slots, word[1] segments of 16 bytes, word[2] seed */
#ifndef TAMIS_FAMILY_RIBBON_FOREIGN_H
#define TAMIS_FAMILY_RIBBON_FOREIGN_H

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"

enum { BLOCKS, SEGMENTS, SEED };

#define SLOTS_PER_BLOCK 128
#define SEGMENT 16
#define COLUMNS_MOST 32
#define BLOCKS_MOST (((uint64_t)1 << 24) - 1)

/* 128 bits, without asking the compiler for a type that some machines lack. */
struct wide {
    uint64_t lo, hi;
};

TAMIS_TEMPLATE struct wide wide_and(struct wide a, struct wide b) {
    return (struct wide){a.lo & b.lo, a.hi & b.hi};
}
TAMIS_TEMPLATE struct wide wide_xor(struct wide a, struct wide b) {
    return (struct wide){a.lo ^ b.lo, a.hi ^ b.hi};
}
/* n is 0..127. */
TAMIS_TEMPLATE struct wide wide_left(struct wide a, unsigned n) {
    if (n == 0) return a;
    if (n >= 64) return (struct wide){0, a.lo << (n - 64)};
    return (struct wide){a.lo << n, a.hi << n | a.lo >> (64 - n)};
}
TAMIS_TEMPLATE struct wide wide_right(struct wide a, unsigned n) {
    if (n == 0) return a;
    if (n >= 64) return (struct wide){a.hi >> (n - 64), 0};
    return (struct wide){a.lo >> n | a.hi << (64 - n), a.hi >> n};
}
TAMIS_TEMPLATE bool wide_is_zero(struct wide a) { return (a.lo | a.hi) == 0; }
TAMIS_TEMPLATE unsigned wide_parity(struct wide a) { return tamis__popcount(a.lo ^ a.hi) & 1; }

/* A key's equation: 128 coefficients from slot `start` on, and the bits that they add up to. */
struct equation {
    uint64_t start;
    struct wide row;
    uint32_t result;
};

TAMIS_TEMPLATE struct equation equation_of(uint64_t hash, uint64_t seed, uint64_t blocks) {
    uint64_t t = seed * UINT64_C(0xc78219a23eeadd03);
    t ^= (t & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4;
    const uint64_t h = (hash ^ (uint32_t)t) * UINT64_C(0x6193d459236a3a0d);
    const uint64_t a = h * UINT64_C(0xc28f82822b650bed);
    const uint64_t starts = blocks * SLOTS_PER_BLOCK - (SLOTS_PER_BLOCK - 1);
    return (struct equation){tamis__mulhi(h, starts),
                             {(a ^ UINT64_C(0xc367844a6e52731d)) | 1, a},
                             (uint32_t)__builtin_bswap64(a)};
}

/* How the segments are spread: the first `short_blocks` blocks have a column less. */
struct columns {
    uint64_t columns, short_blocks;
};

TAMIS_TEMPLATE struct columns columns_of(uint64_t blocks, uint64_t segments) {
    const uint64_t columns = tamis__div_up(segments, blocks);
    if (columns > COLUMNS_MOST) return (struct columns){COLUMNS_MOST, 0};
    return (struct columns){columns, columns * blocks - segments};
}

#endif
