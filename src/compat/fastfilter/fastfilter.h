/* fastfilter.h - the xor and binary fuse filters of xor_singleheader: geometry and building
 *
 *     shape of fuse   word[0] seed, word[1] keys, word[2] segment length, word[3] segments
 *     shape of xor    word[0] seed, word[1] 0, word[2] block length, word[3] 0
 *     of both         word[4] bits of a fingerprint (8 or 16), word[5] trailing bytes of the
 *                     file (0 or 4), word[6] those bytes
 *     table           the fingerprints, little-endian */
#ifndef TAMIS_COMPAT_FASTFILTER_FASTFILTER_H
#define TAMIS_COMPAT_FASTFILTER_FASTFILTER_H

#include "compat/common/hashes.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "filter/family.h"

enum {
    TAMIS__FAST_SEED,
    TAMIS__FAST_KEYS,
    TAMIS__FAST_LENGTH,
    TAMIS__FAST_SEGMENTS,
    TAMIS__FAST_WIDTH,
    TAMIS__FAST_TRAIL,
    TAMIS__FAST_TRAIL_BYTES
};

/* A key's hash, its fingerprint and its three slots. */
struct tamis__fast_slots {
    uint64_t at[3];
};

TAMIS_TEMPLATE uint64_t tamis__fast_hash(uint64_t key, uint64_t seed) {
    return tamis__murmur3_mix(key + seed);
}

TAMIS_TEMPLATE uint16_t tamis__fast_fingerprint(uint64_t hash, uint64_t width) {
    return (uint16_t)((hash ^ hash >> 32) & (((uint32_t)1 << width) - 1));
}

TAMIS_TEMPLATE struct tamis__fast_slots tamis__fast_slots(tamis_kind kind, uint64_t hash,
                                                          uint64_t length, uint64_t segments) {
    if (kind == TAMIS_XOR) {
        const uint64_t a = (uint32_t)hash, b = (uint32_t)(hash << 21 | hash >> 43),
                       c = (uint32_t)(hash << 42 | hash >> 22);
        return (struct tamis__fast_slots){
            {a * length >> 32, length + (b * length >> 32), 2 * length + (c * length >> 32)}};
    }
    const uint64_t mask = length - 1, first = tamis__mulhi(hash, segments * length);
    return (struct tamis__fast_slots){
        {first, (first + length) ^ (hash >> 18 & mask), (first + 2 * length) ^ (hash & mask)}};
}

/* Number of fingerprints. */
TAMIS_TEMPLATE uint64_t tamis__fast_slots_of(tamis_kind kind, const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    return kind == TAMIS_XOR ? 3 * length : (shape->word[TAMIS__FAST_SEGMENTS] + 2) * length;
}

/* Sets length, segments and table_bytes for a number of keys; width is set. */
void tamis__fast_geometry(tamis_kind kind, uint64_t keys, struct tamis__shape *shape);

/* fastfilter_build.c: the original's bytes, in the order of the keys: shape (width is set) and a
 * table from tamis__table_alloc. */
tamis_status tamis__fast_build(const tamis_allocator *a, tamis_kind kind, const uint64_t *keys,
                               size_t count, struct tamis__shape *shape, uint8_t **table);

TAMIS_TEMPLATE uint16_t tamis__fast_get(const uint8_t *table, uint64_t at, uint64_t width) {
    return width == 8 ? table[at] : tamis__load16(table + 2 * at);
}
TAMIS_TEMPLATE void tamis__fast_set(uint8_t *table, uint64_t at, uint64_t width,
                                    uint16_t fingerprint) {
    if (width == 8) {
        table[at] = (uint8_t)fingerprint;
    } else {
        tamis__store16(table + 2 * at, fingerprint);
    }
}

#endif
