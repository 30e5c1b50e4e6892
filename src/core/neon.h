/* neon.h - arithmetic on four 32-bit numbers, shared by the families' NEON kernels
 *
 * NEON has no products of 64 bits: one is assembled from four of 32 bits, in about six
 * instructions per pair of lanes, where general registers take one.  So kernels mix hashes in
 * general registers, and then work on the halves of four hashes. */
#ifndef TAMIS_CORE_NEON_H
#define TAMIS_CORE_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/compiler.h"

#define TAMIS_NEON_LANES 4

/* Two 64-bit numbers from general registers.  (A vector loaded right after its halves were stored
 * would wait for both stores.) */
TAMIS_TEMPLATE uint64x2_t tamis__neon_two(uint64_t a, uint64_t b) {
    return vcombine_u64(vcreate_u64(a), vcreate_u64(b));
}

/* The lower halves of four 64-bit numbers, and the upper halves. */
TAMIS_TEMPLATE uint32x4_t tamis__neon_low(uint64x2_t a, uint64x2_t b) {
    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}
TAMIS_TEMPLATE uint32x4_t tamis__neon_high(uint64x2_t a, uint64x2_t b) {
    return vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

/* x * by / 2^32 */
TAMIS_TEMPLATE uint32x4_t tamis__neon_scale(uint32x4_t x, uint32_t by) {
    return tamis__neon_high(vmull_n_u32(vget_low_u32(x), by), vmull_high_n_u32(x, by));
}

/* x * by, where x is 64 bits wide: 32 bits before the point, which is above x, and 64 after it. */
struct tamis__neon_product {
    uint32x4_t whole, fraction, rest;
};
TAMIS_TEMPLATE struct tamis__neon_product tamis__neon_product(uint32x4_t low, uint32x4_t high,
                                                              uint32_t by) {
    const uint64x2_t low01 = vmull_n_u32(vget_low_u32(low), by);
    const uint64x2_t low23 = vmull_high_n_u32(low, by);
    const uint64x2_t p01 = vsraq_n_u64(vmull_n_u32(vget_low_u32(high), by), low01, 32);
    const uint64x2_t p23 = vsraq_n_u64(vmull_high_n_u32(high, by), low23, 32);
    return (struct tamis__neon_product){tamis__neon_high(p01, p23), tamis__neon_low(p01, p23),
                                        tamis__neon_low(low01, low23)};
}

/* A byte per lane, 0 or 1, from lanes of zeros or ones. */
TAMIS_TEMPLATE uint32_t tamis__neon_bytes(uint32x4_t lanes) {
    const uint16x4_t halves = vmovn_u32(lanes);
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
    return vget_lane_u32(vreinterpret_u32_u8(bytes), 0) & UINT32_C(0x01010101);
}

/* Stores the results of up to four keys, one per byte, 0 or 1; returns how many are true. */
TAMIS_TEMPLATE size_t tamis__neon_answer(uint32_t answer, size_t count, bool *answers) {
    if (TAMIS_UNLIKELY(count < TAMIS_NEON_LANES)) {
        answer &= (UINT32_C(1) << 8 * count) - 1;
        if (answers != NULL) memcpy(answers, &answer, count);
    } else if (answers != NULL) {
        memcpy(answers, &answer, TAMIS_NEON_LANES);
    }
    return (answer * UINT32_C(0x01010101)) >> 24;
}

#endif
