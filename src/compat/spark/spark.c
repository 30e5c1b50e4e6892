/* spark.c - BloomFilter of Apache Spark (org.apache.spark.util.sketch): the stream of writeTo
 *
 *     version 1                         version 2
 *     offset size                       offset size
 *       0     4   1                       0     4   2
 *       4     4   k                       4     4   k
 *       8     4   words                   8     4   seed
 *      12   8*w   the bits               12     4   words
 *                                        16   8*w   the bits
 *
 * Everything is big-endian; bit q is bit q % 64 of word q / 64, as in Guava.  Follows the
 * sources of common/sketch at 09ebec3c.  SQL's might_contain takes this stream as BINARY.
 *
 * Quirks
 *   - The modulus is 64 * words; k is computed from the bits before they are rounded to words.
 *   - Integers of every type are hashed as 8 bytes; a string as its UTF-8.
 *   - The hash mixes the last one to three bytes of a key in a non-standard way.
 *   - Java serialization (writeObject) wraps the same bytes; the wrapper is not supported. */
#include "compat/common/compat_bloom.h"
#include "compat/common/hashes.h"
#include "compat/common/java_sizing.h"
#include "compat/registry.h"
#include "core/bytes.h"

#define HEADER1 12
#define HEADER2 16

/* ---- the hash: MurmurHash3 x86 32
 *
 * Whole words are hashed as the canonical function does.  The 1 to 3 bytes that are left are not:
 * Spark extends the sign of each to a word and hashes it as a whole block, where the canonical
 * function gathers them into one word.  Only keys whose length is a multiple of 4 have the
 * canonical value.
 *
 * Spark hashes an integer of any type as a long: low word, high word, length 8.  That is the hash
 * of its eight little-endian bytes, so integers need no function of their own. */

TAMIS_TEMPLATE uint32_t spark_rotate(uint32_t x, unsigned left) {
    return x << left | x >> (32 - left);
}

TAMIS_TEMPLATE uint32_t spark_block(uint32_t h, uint32_t k) {
    h ^= spark_rotate(k * UINT32_C(0xcc9e2d51), 15) * UINT32_C(0x1b873593);
    return spark_rotate(h, 13) * 5 + UINT32_C(0xe6546b64);
}

static uint32_t spark_murmur3(const void *key, size_t length, uint32_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    const uint32_t whole_length = (uint32_t)length;
    uint32_t h = seed;

    for (; length >= 4; p += 4, length -= 4) h = spark_block(h, tamis__load32(p));
    for (; length > 0; p++, length--) h = spark_block(h, tamis__sign_extend8(*p));

    h ^= whole_length;
    h ^= h >> 16;
    h *= UINT32_C(0x85ebca6b);
    h ^= h >> 13;
    h *= UINT32_C(0xc2b2ae35);
    h ^= h >> 16;
    return h;
}

static struct tamis__hash hash_spark1(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = spark_murmur3(key, length, (uint32_t)seed);
    return tamis__hash_of_two(a, spark_murmur3(key, length, a));
}

static uint64_t sign_extend32(uint32_t x) {
    return (uint64_t)x - ((uint64_t)(x & UINT32_C(0x80000000)) << 1);
}

/* The start is the first hash times 2^31 - 1, the step is the second, both signed. */
static struct tamis__hash hash_spark2(const void *key, size_t length, uint64_t seed) {
    const uint32_t a = spark_murmur3(key, length, (uint32_t)seed);
    const uint32_t b = spark_murmur3(key, length, a);
    return (struct tamis__hash){sign_extend32(a) * UINT64_C(0x7fffffff), sign_extend32(b)};
}

static const struct tamis__compat_hash spark1_hash = {
    .id = 3, .name = "spark murmur3", .hash = hash_spark1};
static const struct tamis__compat_hash spark2_hash = {
    .id = 4, .wide = true, .name = "spark murmur3 (version 2)", .hash = hash_spark2};

/* ---- the probe rule of version 2: a + (i+1) b in 64 bits, ~x if x is negative, modulo m, in
 * big-endian words; that of version 1 is the same in 32 bits */

TAMIS_TEMPLATE struct tamis__probe fold64_first(struct tamis__hash h) {
    return (struct tamis__probe){h.lo + h.hi, h.hi, 0};
}
TAMIS_TEMPLATE uint64_t fold64_next(struct tamis__probe *p, uint64_t bits) {
    const uint64_t x = p->x;
    p->x += p->y;
    return (x >> 63 != 0 ? ~x : x) % bits ^ TAMIS__BIG_ENDIAN_BIT;
}
static const struct tamis__probe_rule fold64_rule = {fold64_first, fold64_next, .words = false};
COMPAT_BLOOM(BLOOM_INSTANCE_WIDE, fold64, &fold64_rule, 64, &tamis__match_all)
static const struct tamis__family fold64_family = COMPAT_BLOOM_FAMILY(fold64, 4);

/* ---- reading and writing */

static const struct tamis__codec spark1, spark2;

static tamis_status spark_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    struct tamis__reader r = {bytes, bytes + length, false};
    const uint32_t version = tamis__read32_be(&r), hashes = tamis__read32_be(&r);
    if (length < HEADER1) return TAMIS_E_TRUNCATED;
    if (version != 1 && version != 2) return TAMIS_E_FORMAT;
    const uint32_t seed = version == 2 ? tamis__read32_be(&r) : 0;
    const uint32_t words = tamis__read32_be(&r);
    if (r.bad) return TAMIS_E_TRUNCATED;
    if (hashes == 0 || hashes > INT32_MAX || words == 0 || words > INT32_MAX) {
        return TAMIS_E_CORRUPT;
    }
    d->codec = version == 1 ? &spark1 : &spark2;
    d->contents = tamis__compat_contents(d->codec);
    d->contents.hashing.seed = seed;
    d->contents.table = r.at;
    tamis__java_shape(words, hashes, &d->contents.shape);
    return tamis__length_status((uint64_t)(r.end - r.at), (uint64_t)words * 8);
}

static uint64_t header_of(const tamis_filter *f) {
    return f->family == &fold64_family ? HEADER2 : HEADER1;
}

static uint64_t spark_encoded_size(const tamis_filter *f) {
    return header_of(f) + f->shape.word[BITS] / 8;
}

static void spark_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    const uint64_t bits = f->shape.word[BITS], header = header_of(f);
    tamis__store32_be(buffer, header == HEADER1 ? 1 : 2);
    tamis__store32_be(buffer + 4, (uint32_t)f->shape.word[HASHES]);
    if (header == HEADER2) tamis__store32_be(buffer + 8, (uint32_t)f->hashing.seed);
    tamis__store32_be(buffer + header - 4, (uint32_t)(bits / 64));
    memcpy(buffer + header, f->table, (size_t)(bits / 8));
}

/* ---- making */

/* Version 1 has no seed. */
static uint64_t seed_max(const struct tamis__family *family) {
    return family == &fold64_family ? UINT32_MAX : 0;
}

static tamis_status spark_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const tamis_status status = tamis__java_size(spec, spec->bits, contents);
    if (status != TAMIS_OK) return status;
    if (spec->seed > seed_max(contents->family)) return TAMIS_E_ARGUMENT;
    contents->hashing.seed = spec->seed;
    return contents->shape.word[HASHES] > TAMIS__COMPAT_HASHES_MAX ? TAMIS_E_FPR_TOO_LOW : TAMIS_OK;
}

static bool spark_holds(const tamis_filter *f) {
    const uint64_t bits = f->shape.word[BITS];
    return bits != 0 && bits / 64 <= INT32_MAX && f->shape.word[HASHES] != 0 &&
           f->hashing.seed <= seed_max(f->family);
}

/* The codec of a version. */
#define SPARK_CODEC(NAME, ABOUT, FAMILY, HASH)                                              \
    {                                                                                       \
        .name = NAME, .about = ABOUT, .family = FAMILY, .hash = HASH,                       \
        .refusal = "Spark's bits come from its own hash of each key: the keys are needed",  \
        .decode = spark_decode, .encoded_size = spark_encoded_size, .encode = spark_encode, \
        .make = spark_make, .holds = spark_holds,                                           \
    }

static const struct tamis__codec spark1 =
    SPARK_CODEC("spark1", "Spark BloomFilter, version 1", &tamis__bloom_fold32, &spark1_hash);
static const struct tamis__codec spark2 =
    SPARK_CODEC("spark2", "Spark BloomFilter, version 2 (the default since Spark 4)",
                &fold64_family, &spark2_hash);

const struct tamis__system tamis__system_spark = {
    .codecs = {&spark1, &spark2},
    .families = {&tamis__bloom_fold32, &fold64_family},
    .hashes = {&spark1_hash, &spark2_hash},
};
