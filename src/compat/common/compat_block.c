/* compat_block.c - see compat_block.h */
#include "compat/common/compat_block.h"

#include "compat/common/each.h"
#include "core/popcount.h"
#include "family/probe.h"

#define BLOCKS_MAX ((uint64_t)1 << 32)
#define BLOCK_LG_MAX 28
#define HASHES_MAX 127

bool tamis__compat_blocks_check(const struct tamis__shape *shape) {
    const uint64_t blocks = shape->word[BLOCKS], hashes = shape->word[HASHES];
    const uint64_t lg = shape->word[BLOCK_LG];
    if (blocks > BLOCKS_MAX || lg > BLOCK_LG_MAX || hashes == 0 || hashes > HASHES_MAX) {
        return false;
    }
    const uint64_t exact = blocks << lg, padded = (exact + 7) & ~(uint64_t)7;
    return shape->table_bytes == exact || shape->table_bytes == padded;
}

static bool none_contains(const tamis_filter *f, uint64_t hash) {
    (void)f, (void)hash;
    return false;
}
static const struct tamis__ops match_none = {
    .path = "portable", .contains = none_contains, .contains_batch = tamis__contains_each};

const struct tamis__ops *tamis__compat_blocks_choose(const struct tamis__shape *shape,
                                                     const struct tamis__ops *ops) {
    if (shape->word[HASHES] == 0) return &tamis__match_all;
    return shape->word[BLOCKS] == 0 ? &match_none : ops;
}

void tamis__compat_blocks_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->cache_lines = 1;
}

void tamis__compat_blocks_state(const tamis_filter *f, struct tamis__state *state,
                                double (*fpr)(const tamis_filter *f, const uint8_t *block,
                                              uint64_t bytes)) {
    const uint64_t blocks = f->shape.word[BLOCKS], bytes = (uint64_t)1 << f->shape.word[BLOCK_LG];
    const double bits = (double)blocks * (double)bytes * 8;
    double sum = 0;
    for (uint64_t i = 0; i < blocks; i++) sum += fpr(f, f->table + i * bytes, bytes);
    state->stages = 1;
    state->fill = (double)tamis__popcount_bytes(f->table, blocks * bytes) / bits;
    state->distinct =
        tamis__probe_keys(bits, (double)f->shape.word[HASHES], state->fill, &state->distinct_error);
    state->fpr_now = sum / (double)blocks;
}
