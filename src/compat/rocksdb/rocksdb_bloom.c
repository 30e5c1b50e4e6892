/* rocksdb_bloom.c - RocksDB's two Bloom filters, whose bits for a key are in one block
 *
 *     FastLocalBloom  from format version 5: k bits of a 64-byte block, by repeated multiplication
 *                     of the upper half of the hash; the lower half chooses the block
 *     legacy Bloom    before: k bits of a block of 2^l bytes by double hashing in 32 bits; a
 *                     modulo chooses the block
 *
 *     shape   word[0..2] as in compat_block.h, word[3] the length of the whole file where there
 *             are no blocks, else 0
 *
 * No blocks is RocksDB's filter of no keys, which matches nothing.  k = 0 is one that its reader
 * does not understand, which matches everything; its table is the file as it is. */
#include <math.h>

#include "compat/common/compat_block.h"
#include "compat/rocksdb/rocksdb.h"
#include "core/popcount.h"
#include "family/bloom_table.h"

#define FASTLOCAL_LG 6
#define EMPTY_BYTES 5

/* ---- the probe rules */

TAMIS_TEMPLATE struct tamis__block_probe fastlocal_first(const tamis_filter *f, uint64_t h) {
    const uint64_t block = (uint32_t)h * f->shape.word[BLOCKS] >> 32;
    return (struct tamis__block_probe){block << FASTLOCAL_LG, (uint32_t)(h >> 32), 0};
}
TAMIS_TEMPLATE uint32_t fastlocal_next(struct tamis__block_probe *p, uint64_t i,
                                       uint64_t block_lg) {
    const uint32_t x = p->x;
    (void)i, (void)block_lg;
    p->x = x * UINT32_C(0x9e3779b9);
    return x >> 23;
}
static const struct tamis__block_rule fastlocal_rule = {fastlocal_first, fastlocal_next, 0};
COMPAT_BLOCK(fastlocal, &fastlocal_rule)

TAMIS_TEMPLATE struct tamis__block_probe legacy_first(const tamis_filter *f, uint64_t h) {
    const uint32_t low = (uint32_t)h;
    return (struct tamis__block_probe){low % f->shape.word[BLOCKS] << f->shape.word[BLOCK_LG], low,
                                       (uint32_t)(h >> 32)};
}
TAMIS_TEMPLATE uint32_t legacy_next(struct tamis__block_probe *p, uint64_t i, uint64_t block_lg) {
    const uint32_t x = p->x;
    (void)i;
    p->x = x + p->y;
    return x & ((UINT32_C(8) << block_lg) - 1);
}
static const struct tamis__block_rule legacy_rule = {legacy_first, legacy_next, 0};
COMPAT_BLOCK(legacy, &legacy_rule)

/* ---- shapes and whole tables */

/* A filter of no keys has no bytes, or the five that identify it. */
static bool legacy_check(const struct tamis__shape *shape) {
    const uint64_t whole = shape->word[WHOLE];
    return (whole == 0 || (shape->word[BLOCKS] == 0 && whole == EMPTY_BYTES)) &&
           tamis__compat_blocks_check(shape);
}

static bool fastlocal_check(const struct tamis__shape *shape) {
    if (shape->word[HASHES] == 0) {
        return shape->word[BLOCKS] == 0 && shape->word[WHOLE] <= shape->table_bytes;
    }
    return shape->word[BLOCK_LG] == FASTLOCAL_LG && legacy_check(shape);
}

static double block_fpr(const tamis_filter *f, const uint8_t *block, uint64_t bytes) {
    const double fill = (double)tamis__popcount_bytes(block, bytes) / (double)(bytes * 8);
    return pow(fill, (double)f->shape.word[HASHES]);
}

static void bloom_state(const tamis_filter *f, struct tamis__state *state) {
    state->stages = 1;
    state->fpr_now = f->shape.word[HASHES] == 0;
    if (f->shape.word[BLOCKS] != 0) tamis__compat_blocks_state(f, state, block_fpr);
}

static tamis_status bloom_merge(tamis_filter *into, const tamis_filter *from,
                                tamis_merge_mode mode) {
    if (into->shape.word[HASHES] == 0) return TAMIS_OK; /* all keys match: its bytes are not bits */
    return tamis__merge_bits(into, from, mode);
}

const struct tamis__family tamis__fastlocal =
    COMPAT_BLOCK_FAMILY(fastlocal, 17, bloom_state, bloom_merge);
const struct tamis__family tamis__legacy_bloom =
    COMPAT_BLOCK_FAMILY(legacy, 18, bloom_state, bloom_merge);
