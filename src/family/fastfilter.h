/* fastfilter.h - the xor and binary fuse filters of xor_singleheader: geometry and building
 *
 *     shape of fuse   word[0] seed, word[1] keys, word[2] segment length, word[3] segments
 *     shape of xor    word[0] seed, word[1] 0, word[2] block length, word[3] 0
 *     of both         word[4] bits of a fingerprint (8 or 16), word[5] bytes that trail in the
 *                     file (0 or 4), word[6] those bytes
 *     table           the fingerprints, little-endian */
#ifndef TAMIS_FAMILY_FASTFILTER_H
#define TAMIS_FAMILY_FASTFILTER_H

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "hash/foreign.h"

enum {
    TAMIS__FAST_SEED,
    TAMIS__FAST_KEYS,
    TAMIS__FAST_LENGTH,
    TAMIS__FAST_SEGMENTS,
    TAMIS__FAST_WIDTH,
    TAMIS__FAST_TRAIL,
    TAMIS__FAST_TRAIL_BYTES
};

#define TAMIS__FAST_TRAIL_LENGTH 4

/* A key's hash, its fingerprint and its three slots. */
struct tamis__fast_slots {
    uint64_t at[3];
};

TAMIS_TEMPLATE uint64_t tamis__fast_hash(uint64_t key, uint64_t seed) {
    return tamis__murmur3_mix(key + seed);
}

TAMIS_TEMPLATE uint16_t tamis__fast_print(uint64_t hash, uint64_t width) {
    return (uint16_t)((hash ^ hash >> 32) & (((uint32_t)1 << width) - 1));
}

TAMIS_TEMPLATE struct tamis__fast_slots tamis__fuse_slots(uint64_t hash, uint64_t length,
                                                          uint64_t segments) {
    const uint64_t mask = length - 1, first = tamis__mulhi(hash, segments * length);
    return (struct tamis__fast_slots){
        {first, (first + length) ^ (hash >> 18 & mask), (first + 2 * length) ^ (hash & mask)}};
}

TAMIS_TEMPLATE struct tamis__fast_slots tamis__xor_slots(uint64_t hash, uint64_t length) {
    const uint64_t a = (uint32_t)hash, b = (uint32_t)(hash << 21 | hash >> 43),
                   c = (uint32_t)(hash << 42 | hash >> 22);
    return (struct tamis__fast_slots){
        {a * length >> 32, length + (b * length >> 32), 2 * length + (c * length >> 32)}};
}

/* Number of fingerprints. */
TAMIS_TEMPLATE uint64_t tamis__fast_slots_of(tamis_kind kind, const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    return kind == TAMIS_XOR ? 3 * length : (shape->word[TAMIS__FAST_SEGMENTS] + 2) * length;
}

/* Sets length, segments and table_bytes for so many keys; width is set. */
void tamis__fast_geometry(tamis_kind kind, uint64_t keys, struct tamis__shape *shape);

/* Builds in the order of the keys, to the bytes of the original: shape (width is set) and a
 * table from tamis__table_alloc. */
tamis_status tamis__fast_build(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table);

/* fastfilter_xor.c and fastfilter_fuse.c: one attempt after the other.  E_FULL: not even the
 * hundredth worked, which repeated keys explain. */
tamis_status tamis__fast_build_xor(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                   struct tamis__shape *shape, uint8_t *table);
tamis_status tamis__fast_build_fuse(const tamis_allocator *a, const uint64_t *keys, size_t count,
                                    struct tamis__shape *shape, uint8_t *table);

/* The original's source of seeds. */
TAMIS_TEMPLATE uint64_t tamis__fast_seed(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#define TAMIS__FAST_TRIES 100

TAMIS_TEMPLATE uint16_t tamis__fast_get(const uint8_t *table, uint64_t at, uint64_t width) {
    return width == 8 ? table[at] : tamis__load16(table + 2 * at);
}
TAMIS_TEMPLATE void tamis__fast_set(uint8_t *table, uint64_t at, uint64_t width, uint16_t print) {
    if (width == 8) {
        table[at] = (uint8_t)print;
    } else {
        tamis__store16(table + 2 * at, print);
    }
}

#endif
