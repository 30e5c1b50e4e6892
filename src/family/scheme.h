/* scheme.h - whose layout a table has: the numbers in `shape.scheme`
 *
 * 0 is ours.  The others are layouts of other systems' filters; each belongs to one kind, and
 * dialects.c knows the family that works on it.  Values are in .tamis files: frozen. */
#ifndef TAMIS_FAMILY_SCHEME_H
#define TAMIS_FAMILY_SCHEME_H

#include "family/family.h"

enum tamis__scheme {
    TAMIS__SCHEME_OWN = 0,

    /* bloom: which bits are a key's (probe_kernel.h) */
    TAMIS__SCHEME_WRAP32 = 1, /* a + i b in 32 bits, mod m: LevelDB, libbloom 1 */
    TAMIS__SCHEME_FOLD32 = 2, /* a + (i+1) b in 32 bits, ~c if negative: Guava, Spark 1 */
    TAMIS__SCHEME_MASK64 = 3, /* a + i b in 64 bits without the sign: Guava */
    TAMIS__SCHEME_FOLD64 = 4, /* a + (i+1) b in 64 bits, ~c if negative: Spark 2 */
    TAMIS__SCHEME_SUM64 = 5,  /* a + i b of 32-bit numbers in 64 bits: libbloom 2 */
    TAMIS__SCHEME_DCSO = 6,   /* x <- x g mod 2^64 mod P */

    /* block */
    TAMIS__SCHEME_SPLIT = 16,       /* eight words of 32 bits, a bit in each: Parquet */
    TAMIS__SCHEME_FASTLOCAL = 17,   /* k bits of a 64-byte line: RocksDB */
    TAMIS__SCHEME_LEGACY_LINE = 18, /* k bits of a line: RocksDB before format 5 */

    /* ribbon */
    TAMIS__SCHEME_RIBBON128 = 24, /* RocksDB */

    /* growing, cuckoo */
    TAMIS__SCHEME_CHAIN = 32,     /* RedisBloom's chain of Bloom filters */
    TAMIS__SCHEME_SUBTABLES = 33, /* RedisBloom's cuckoo filter */
    TAMIS__SCHEME_QUARTET = 34,   /* buckets of four bytes: seiflotfy */

    /* xor, fuse */
    TAMIS__SCHEME_FASTFILTER = 40, /* xor_singleheader */
};

/* bloom: k is a loop count out of untrusted bytes; 1024 do for p = 1e-308. */
#define TAMIS__FOREIGN_HASHES_MOST 4096

/* dialects.c: the family of a foreign layout; NULL if there is none. */
const struct tamis__family *tamis__dialect_of(tamis_kind kind, uint32_t scheme);

#endif
