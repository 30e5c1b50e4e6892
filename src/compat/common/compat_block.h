/* compat_block.h - the blocked Bloom filters of other systems, as families
 *
 * All bits of a key are in one block.  A rule chooses the block and, probe by probe, the bits in
 * it; `rule` is a constant at every call, so each instance has its own arithmetic.
 *
 *     table   the blocks, as in the file
 *     shape   word[0] blocks, word[1] k, word[2] log2 of a block's bytes, word[3] the codec's own
 */
#ifndef TAMIS_COMPAT_COMMON_COMPAT_BLOCK_H
#define TAMIS_COMPAT_COMMON_COMPAT_BLOCK_H

#include "core/compiler.h"
#include "filter/family.h"

enum { BLOCKS, HASHES, BLOCK_LG, WHOLE };

struct tamis__block_probe {
    uint64_t at; /* the first byte of the block */
    uint32_t x, y;
};

struct tamis__block_rule {
    struct tamis__block_probe (*first)(const tamis_filter *f, uint64_t hash);
    /* The bit of the i-th probe within its block; then moves on to the next. */
    uint32_t (*next)(struct tamis__block_probe *p, uint64_t i, uint64_t block_lg);
    uint64_t hashes; /* k, if it is fixed; 0: in the shape */
};

/* Sizes of untrusted bytes: up to 2^32 blocks, k up to 127, a table of just these blocks, padded or
 * not. */
bool tamis__compat_blocks_check(const struct tamis__shape *shape);
void tamis__compat_blocks_traits(const struct tamis__shape *shape, struct tamis__traits *traits);
/* `ops`, or those of a filter without blocks, or of one with k = 0: none or all keys match. */
const struct tamis__ops *tamis__compat_blocks_choose(const struct tamis__shape *shape,
                                                     const struct tamis__ops *ops);
/* `fpr` is the false positive rate of one block. */
void tamis__compat_blocks_state(const tamis_filter *f, struct tamis__state *state,
                                double (*fpr)(const tamis_filter *f, const uint8_t *block,
                                              uint64_t bytes));

TAMIS_TEMPLATE uint64_t block_hashes(const tamis_filter *f, const struct tamis__block_rule *rule) {
    return rule->hashes != 0 ? rule->hashes : f->shape.word[HASHES];
}

TAMIS_TEMPLATE bool block_contains(const tamis_filter *f, struct tamis__block_probe p,
                                   const struct tamis__block_rule *rule) {
    const uint64_t hashes = block_hashes(f, rule);
    const uint8_t *bytes = f->table + p.at;
    for (uint64_t i = 0; i < hashes; i++) {
        const uint32_t q = rule->next(&p, i, f->shape.word[BLOCK_LG]);
        if ((bytes[q >> 3] >> (q & 7) & 1) == 0) return false;
    }
    return true;
}

TAMIS_TEMPLATE bool block_add(tamis_filter *f, struct tamis__block_probe p,
                              const struct tamis__block_rule *rule) {
    const uint64_t hashes = block_hashes(f, rule);
    uint8_t *bytes = f->table + p.at;
    bool fresh = false;
    for (uint64_t i = 0; i < hashes; i++) {
        const uint32_t q = rule->next(&p, i, f->shape.word[BLOCK_LG]);
        const uint8_t mask = (uint8_t)(1u << (q & 7));
        fresh |= (bytes[q >> 3] & mask) == 0;
        bytes[q >> 3] = bytes[q >> 3] | mask;
    }
    return fresh;
}

TAMIS_TEMPLATE size_t block_contains_batch(const tamis_filter *f, const uint64_t *lo, size_t count,
                                           bool *answers, const struct tamis__block_rule *rule) {
    struct tamis__block_probe p[TAMIS__PREFETCHED_KEYS];
    size_t found = 0;
    for (size_t at = 0; at < count; at += TAMIS__PREFETCHED_KEYS) {
        const size_t n = count - at < TAMIS__PREFETCHED_KEYS ? count - at : TAMIS__PREFETCHED_KEYS;
        for (size_t i = 0; i < n; i++) {
            p[i] = rule->first(f, lo[at + i]);
            TAMIS_PREFETCH(f->table + p[i].at);
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = block_contains(f, p[i], rule);
            if (answers != NULL) answers[at + i] = maybe;
            found += maybe;
        }
    }
    return found;
}

TAMIS_TEMPLATE tamis_status block_add_batch(tamis_filter *f, const uint64_t *lo, size_t count,
                                            bool *fresh, size_t *done,
                                            const struct tamis__block_rule *rule) {
    for (size_t i = 0; i < count; i++) {
        const bool was_new = block_add(f, rule->first(f, lo[i]), rule);
        if (fresh != NULL) fresh[i] = was_new;
    }
    *done = count;
    return TAMIS_OK;
}

/* The operations of a rule and NAME_choose: wrappers and a table, no logic. */
#define COMPAT_BLOCK(name, rule)                                                                  \
    static bool name##_contains(const tamis_filter *f, uint64_t hash) {                           \
        return block_contains(f, (rule)->first(f, hash), rule);                                   \
    }                                                                                             \
    static size_t name##_contains_batch(const tamis_filter *f, const uint64_t *lo,                \
                                        const uint64_t *hi, size_t count, bool *answers) {        \
        (void)hi;                                                                                 \
        return block_contains_batch(f, lo, count, answers, rule);                                 \
    }                                                                                             \
    static tamis_status name##_add(tamis_filter *f, uint64_t hash, bool *fresh) {                 \
        const bool was_new = block_add(f, (rule)->first(f, hash), rule);                          \
        if (fresh != NULL) *fresh = was_new;                                                      \
        return TAMIS_OK;                                                                          \
    }                                                                                             \
    static tamis_status name##_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                         size_t count, bool *fresh, size_t *done) {               \
        (void)hi;                                                                                 \
        return block_add_batch(f, lo, count, fresh, done, rule);                                  \
    }                                                                                             \
    static const struct tamis__ops name##_ops = {                                                 \
        .path = "portable",                                                                       \
        .contains = name##_contains,                                                              \
        .contains_batch = name##_contains_batch,                                                  \
        .add = name##_add,                                                                        \
        .add_batch = name##_add_batch,                                                            \
    };                                                                                            \
    static const struct tamis__ops *name##_choose(const struct tamis__shape *shape, uint32_t cpu, \
                                                  bool shared) {                                  \
        (void)cpu, (void)shared;                                                                  \
        return tamis__compat_blocks_choose(shape, &name##_ops);                                   \
    }

/* The family of the operations NAME: with NAME_check. */
#define COMPAT_BLOCK_FAMILY(NAME, LAYOUT, STATE, MERGE)                              \
    {                                                                                \
        .kind = TAMIS_BLOCK, .layout = LAYOUT, .name = "block",                      \
        .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT,               \
        .object_size = sizeof(tamis_filter), .traits = tamis__compat_blocks_traits,  \
        .check = NAME##_check, .ops = NAME##_choose, .state = STATE, .merge = MERGE, \
    }

#endif
