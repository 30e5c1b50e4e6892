/* bloom_foreign.c - the Bloom filters of other systems
 *
 * The same filter as bloom.c, over the same kernel, with another rule for which bits are a
 * key's.  The table is the other system's, byte for byte; its length need not be a multiple of
 * 8 (one that was kept in a .tamis file is padded to it).
 *
 *     shape   word[0] m, word[1] k, word[2..7] notes of the codec: what else its header says
 *
 * Other systems write filters with k = 0 or m = 0, and read some that they do not understand
 * as "may match": both are a filter with k = 0, which has every key and takes none.  But DCSO's
 * takes any, and does not change: so few keys at so high a rate are sized to no bits at all. */
#include "family/bloom_table.h"
#include "family/probe_kernel.h"

#define BITS_MAX ((uint64_t)1 << 62)

BLOOM_INSTANCE(wrap32, TAMIS__SCHEME_WRAP32, false)
BLOOM_INSTANCE(fold32, TAMIS__SCHEME_FOLD32, false)
BLOOM_INSTANCE(mask64, TAMIS__SCHEME_MASK64, false)
BLOOM_INSTANCE(fold64, TAMIS__SCHEME_FOLD64, false)
BLOOM_INSTANCE(sum64, TAMIS__SCHEME_SUM64, false)
BLOOM_INSTANCE(dcso, TAMIS__SCHEME_DCSO, false)

/* ---- everything matches, nothing can be added */

static bool all_contains(const tamis_filter *f, struct tamis__hash h) {
    (void)f, (void)h;
    return true;
}
static size_t all_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                 size_t count, bool *answers) {
    (void)f, (void)lo, (void)hi;
    for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = true;
    return count;
}
static const struct tamis__ops all_ops = {
    .path = "portable",
    .contains = all_contains,
    .contains_batch = all_contains_batch,
};

static tamis_status all_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    (void)f, (void)h;
    if (fresh != NULL) *fresh = false;
    return TAMIS_OK;
}
static tamis_status all_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *fresh, size_t *done) {
    (void)f, (void)lo, (void)hi;
    for (size_t i = 0; fresh != NULL && i < count; i++) fresh[i] = false;
    *done = count;
    return TAMIS_OK;
}
static const struct tamis__ops all_dcso_ops = {
    .path = "portable",
    .add = all_add,
    .add_batch = all_add_batch,
    .contains = all_contains,
    .contains_batch = all_contains_batch,
};

static const struct tamis__ops *foreign_ops(const struct tamis__shape *shape, uint32_t cpu,
                                            bool shared) {
    (void)cpu, (void)shared;
    if (shape->word[HASHES] == 0) {
        return shape->scheme == TAMIS__SCHEME_DCSO ? &all_dcso_ops : &all_ops;
    }
    switch (shape->scheme) {
        case TAMIS__SCHEME_WRAP32:
            return &wrap32_ops;
        case TAMIS__SCHEME_FOLD32:
            return &fold32_ops;
        case TAMIS__SCHEME_MASK64:
            return &mask64_ops;
        case TAMIS__SCHEME_FOLD64:
            return &fold64_ops;
        case TAMIS__SCHEME_SUM64:
            return &sum64_ops;
        default:
            return &dcso_ops;
    }
}

/* ---- shapes */

static void foreign_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->cache_lines = traits->hashes < 2 ? 1 : 2;
}

static bool is_big_endian(uint32_t scheme) {
    return scheme == TAMIS__SCHEME_FOLD32 || scheme == TAMIS__SCHEME_MASK64 ||
           scheme == TAMIS__SCHEME_FOLD64;
}

/* The bits must be there, whatever the codec says of them; whole words where words count. */
static bool foreign_check(const struct tamis__shape *shape) {
    const uint64_t bits = shape->word[BITS], hashes = shape->word[HASHES];
    if (bits > BITS_MAX || hashes > TAMIS__FOREIGN_HASHES_MOST) return false;
    if (bits == 0 && hashes != 0) return false;
    if (is_big_endian(shape->scheme) && bits % 64 != 0) return false;
    const uint64_t least = tamis__div_up(bits, 8), padded = tamis__div_up(bits, 64) * 8;
    return shape->scheme >= TAMIS__SCHEME_WRAP32 && shape->scheme <= TAMIS__SCHEME_DCSO &&
           shape->table_bytes >= least && shape->table_bytes <= padded;
}

const struct tamis__family tamis__bloom_foreign = {
    .kind = TAMIS_BLOOM,
    .name = "bloom",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT,
    .object_size = sizeof(tamis_filter),
    .traits = foreign_traits,
    .check = foreign_check,
    .ops = foreign_ops,
    .state = tamis__bloom_state,
    .merge = tamis__bloom_merge,
};
