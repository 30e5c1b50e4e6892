/* compat_bloom.h - the Bloom filters of other systems, as families
 *
 * The same filter as src/family/bloom.c over the same kernel, with another probe rule: the function
 * from a key's hash to its bits.  The table is the other system's, byte for byte.  Its length need
 * not be a multiple of 8; one that was stored in a .tamis file is padded to it.
 *
 *     shape   word[0] m, word[1] k, word[2..7] the codec's own: other fields of its header
 *
 * Other systems write filters with k = 0 or m = 0, and read some that they do not understand as
 * "may match".  Both are a filter with k = 0 here: it matches every key and takes none. */
#ifndef TAMIS_COMPAT_COMMON_COMPAT_BLOOM_H
#define TAMIS_COMPAT_COMMON_COMPAT_BLOOM_H

#include "compat/common/each.h"
#include "family/bloom_table.h"
#include "family/probe_kernel.h"

#define TAMIS__COMPAT_BITS_MAX ((uint64_t)1 << 62)

/* k is a loop count that untrusted bytes give: far below TAMIS__LOOKUP_PROBES_MAX, since a filter
 * of one table never needs more than 1,075.  Spark computes more if a caller gives it more than
 * 5,900 bits per key; such filters are not read. */
#define TAMIS__COMPAT_HASHES_MAX 4096

/* Bit q of big-endian 64-bit words is bit q ^ 56 of the same bytes in order. */
#define TAMIS__BIG_ENDIAN_BIT 56

/* m and k of untrusted bytes; m is a multiple of `unit`. */
bool tamis__compat_bloom_check(const struct tamis__shape *shape, uint64_t unit);
void tamis__compat_bloom_traits(const struct tamis__shape *shape, struct tamis__traits *traits);

/* The operations NAME of a probe rule; `INSTANCE` is BLOOM_INSTANCE, or BLOOM_INSTANCE_WIDE for
 * keys of 128 bits; `EMPTY` are the operations of a filter with k = 0. */
#define COMPAT_BLOOM(INSTANCE, NAME, RULE, UNIT, EMPTY)                                           \
    INSTANCE(NAME, RULE, false)                                                                   \
    static const struct tamis__ops *NAME##_choose(const struct tamis__shape *shape, uint32_t cpu, \
                                                  bool shared) {                                  \
        (void)cpu, (void)shared;                                                                  \
        return shape->word[HASHES] == 0 ? (EMPTY) : &NAME##_ops;                                  \
    }                                                                                             \
    static bool NAME##_check(const struct tamis__shape *shape) {                                  \
        return tamis__compat_bloom_check(shape, UNIT);                                            \
    }

/* The family of those operations. */
#define COMPAT_BLOOM_FAMILY(NAME, LAYOUT)                                          \
    {                                                                              \
        .kind = TAMIS_BLOOM, .layout = LAYOUT, .name = "bloom",                    \
        .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT,             \
        .object_size = sizeof(tamis_filter), .traits = tamis__compat_bloom_traits, \
        .check = NAME##_check, .ops = NAME##_choose, .state = tamis__bloom_state,  \
        .merge = tamis__merge_bits,                                                \
    }

/* ---- the rules that two systems share */

/* a + i b in 32 bits, modulo m: LevelDB, libbloom 1. */
extern const struct tamis__family tamis__bloom_wrap32;
/* a + (i+1) b in 32 bits, ~x if x is negative, modulo m, in big-endian words: Guava, Spark 1. */
extern const struct tamis__family tamis__bloom_fold32;

#endif
