/* fingerprint.h - an array of fingerprints of any width from 1 to 32 bits
 *
 * Fingerprint i takes the bits [i * width, (i + 1) * width) of the array; bit q is bit q % 8
 * of byte q / 8.  With width 7:
 *
 *     byte        0               1               2
 *     bit   0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 *           |<-- 0 ------>|<-- 1 ------>|<-- 2 ------>|<--
 *
 * so the widths 8, 16 and 32 are plain little-endian integers.  All widths come from the
 * functions below, which take the access mode as a constant and do not branch on it:
 *
 *     BYTE, HALF, WORD   width 8, 16, 32: one load of that size
 *     PACKED             width 1..25: an unaligned load of 32 bits has them all, since a
 *                        fingerprint begins at most 7 bits into its first byte
 *     WIDE               width 26..31: the same with 64 bits
 *
 * A load may read bytes past the last fingerprint: tamis__fingerprints_bytes includes them.
 * (Packing that never crosses a cache line costs a division by the number of fingerprints in
 * a line, which is more than the rare crossing: a load of 32 bits crosses once in 21.) */
#ifndef TAMIS_BUILD_FINGERPRINT_H
#define TAMIS_BUILD_FINGERPRINT_H

#include "core/bytes.h"

#define TAMIS__WIDTH_MAX 32

enum tamis__access { TAMIS__BYTE, TAMIS__HALF, TAMIS__WORD, TAMIS__PACKED, TAMIS__WIDE };

static inline enum tamis__access tamis__access_of(unsigned width) {
    if (width == 8) return TAMIS__BYTE;
    if (width == 16) return TAMIS__HALF;
    if (width == 32) return TAMIS__WORD;
    return width <= 25 ? TAMIS__PACKED : TAMIS__WIDE;
}

/* Bytes of an array: a multiple of 8, with room for a load at the last fingerprint.
 * `slots` must be at most 2^48. */
static inline uint64_t tamis__fingerprints_bytes(uint64_t slots, unsigned width) {
    return ((slots * width + 7) / 8 + 7 + 7) / 8 * 8;
}

/* The width, if the access mode determines it. */
TAMIS_TEMPLATE unsigned tamis__fingerprint_width(enum tamis__access access, unsigned width) {
    if (access == TAMIS__BYTE) return 8;
    if (access == TAMIS__HALF) return 16;
    if (access == TAMIS__WORD) return 32;
    return width;
}

/* The bit at which fingerprint `slot` begins, and the byte, for prefetches. */
TAMIS_TEMPLATE uint64_t tamis__fingerprint_bit(uint64_t slot, enum tamis__access access,
                                               unsigned width) {
    return slot * tamis__fingerprint_width(access, width);
}
TAMIS_TEMPLATE uint64_t tamis__fingerprint_byte(uint64_t slot, enum tamis__access access,
                                                unsigned width) {
    return tamis__fingerprint_bit(slot, access, width) / 8;
}

/* Fingerprint `slot`, with bits of its neighbours above it: xor first, mask once. */
TAMIS_TEMPLATE uint32_t tamis__fingerprint_load(const uint8_t *table, uint64_t slot,
                                                enum tamis__access access, unsigned width) {
    if (access == TAMIS__BYTE) return table[slot];
    if (access == TAMIS__HALF) return tamis__load16(table + 2 * slot);
    if (access == TAMIS__WORD) return tamis__load32(table + 4 * slot);
    const uint64_t bit = tamis__fingerprint_bit(slot, access, width);
    const uint8_t *at = table + bit / 8;
    if (access == TAMIS__PACKED) return tamis__load32(at) >> bit % 8;
    return (uint32_t)(tamis__load64(at) >> bit % 8);
}

/* The bits that count. */
TAMIS_TEMPLATE uint32_t tamis__fingerprint_mask(enum tamis__access access, unsigned width) {
    return UINT32_MAX >> (32 - tamis__fingerprint_width(access, width));
}

/* ---- writing
 *
 * Fingerprints are computed in a loose array, of the next larger of the widths 8, 16 and 32,
 * and then packed.  (Setting them in the packed array directly took 9 ns a key, against 5 for
 * the loose array and 1 to pack it.) */

static inline enum tamis__access tamis__access_loose(unsigned width) {
    return width <= 8 ? TAMIS__BYTE : width <= 16 ? TAMIS__HALF : TAMIS__WORD;
}

/* BYTE, HALF or WORD only. */
TAMIS_TEMPLATE void tamis__fingerprint_store(uint8_t *loose, uint64_t slot, uint32_t fingerprint,
                                             enum tamis__access access) {
    if (access == TAMIS__BYTE) {
        loose[slot] = (uint8_t)fingerprint;
    } else if (access == TAMIS__HALF) {
        tamis__store16(loose + 2 * slot, (uint16_t)fingerprint);
    } else {
        tamis__store32(loose + 4 * slot, fingerprint);
    }
}

/* Packs the slots [from, to) of a loose array into `table`; `from` must be a multiple of 64,
 * so that it begins a word.  Upper bits of the loose fingerprints are dropped. */
TAMIS_TEMPLATE void tamis__fingerprints_pack_from(const uint8_t *loose, enum tamis__access access,
                                                  uint64_t from, uint64_t to, unsigned width,
                                                  uint8_t *table) {
    const uint32_t mask = tamis__fingerprint_mask(TAMIS__PACKED, width);
    uint8_t *out = table + from / 8 * width;
    uint64_t word = 0;
    unsigned filled = 0;
    for (uint64_t slot = from; slot < to; slot++) {
        const uint64_t fingerprint = tamis__fingerprint_load(loose, slot, access, 0) & mask;
        word |= fingerprint << filled;
        filled += width;
        if (filled >= 64) {
            tamis__store64(out, word);
            out += 8;
            filled -= 64;
            word = fingerprint >> (width - filled);
        }
    }
    if (filled != 0) tamis__store64(out, word);
}

static inline void tamis__fingerprints_pack(const uint8_t *loose, uint64_t from, uint64_t to,
                                            unsigned width, uint8_t *table) {
    if (tamis__access_loose(width) == TAMIS__BYTE) {
        tamis__fingerprints_pack_from(loose, TAMIS__BYTE, from, to, width, table);
    } else if (tamis__access_loose(width) == TAMIS__HALF) {
        tamis__fingerprints_pack_from(loose, TAMIS__HALF, from, to, width, table);
    } else {
        tamis__fingerprints_pack_from(loose, TAMIS__WORD, from, to, width, table);
    }
}

#endif
