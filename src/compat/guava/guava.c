/* guava.c - BloomFilter of Google Guava: the stream of writeTo and readFrom
 *
 *     offset size
 *       0     1   strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *       1     1   k, 1..255
 *       2     4   words, big-endian, 1..2^31-1
 *       6   8*w   the bits: big-endian words, bit q is bit q % 64 of word q / 64
 *
 * Follows Guava 31.1; the stream is the same in all versions since 11.
 *
 * Quirks
 *   - The modulus is 64 * words, not the computed number of bits.
 *   - k is computed from the number of bits before it is rounded to words; 33.4 and later
 *     compute it from the rate alone (parameter version=33.4), and differ for small filters.
 *   - Neither the number of keys, nor the rate, nor the funnel is in the stream.  A funnel's
 *     bytes are the key: see doc/formats/guava.md for the funnels.
 *   - readFrom leaves bytes after the filter in its stream; a file that has some is rejected
 *     here. */
#include "compat/common/compat_bloom.h"
#include "compat/common/hashes.h"
#include "compat/common/java_sizing.h"
#include "compat/parameters.h"
#include "compat/registry.h"
#include "core/bytes.h"

#define HEADER 6

enum { MITZ_32, MITZ_64 };

/* ---- the hash: MurmurHash3 x64 128
 *
 * Two lanes of 64 bits take 16 bytes a round; up to 15 bytes that are left are mixed in as two
 * shorter words, and the length comes last.  Guava differs from the canonical function in two ways
 * that seed 0, which its Bloom filters use, and keys below 2 GiB do not show: its seed is a signed
 * 32-bit number whose sign is extended into both lanes (the caller passes all 64 bits), and the
 * length is mixed in as a signed 32-bit number. */

static const uint64_t murmur3_c1 = UINT64_C(0x87c37b91114253d5);
static const uint64_t murmur3_c2 = UINT64_C(0x4cf5ad432745937f);

TAMIS_TEMPLATE uint64_t murmur3_rotate(uint64_t x, unsigned left) {
    return x << left | x >> (64 - left);
}

/* Mixes a word before it enters its lane. */
TAMIS_TEMPLATE uint64_t murmur3_word1(uint64_t k) {
    return murmur3_rotate(k * murmur3_c1, 31) * murmur3_c2;
}
TAMIS_TEMPLATE uint64_t murmur3_word2(uint64_t k) {
    return murmur3_rotate(k * murmur3_c2, 33) * murmur3_c1;
}

/* The low 32 bits of the length with their sign extended, as Java's (long) of an int. */
static uint64_t murmur3_java_length(size_t length) {
    const uint64_t sign = UINT64_C(1) << 31;
    return (((uint64_t)length & UINT32_MAX) ^ sign) - sign;
}

static struct tamis__hash murmur3_128(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    const uint64_t java_length = murmur3_java_length(length);
    uint64_t a = seed, b = seed;

    for (; length >= 16; p += 16, length -= 16) {
        a ^= murmur3_word1(tamis__load64(p));
        a = (murmur3_rotate(a, 27) + b) * 5 + UINT64_C(0x52dce729);
        b ^= murmur3_word2(tamis__load64(p + 8));
        b = (murmur3_rotate(b, 31) + a) * 5 + UINT64_C(0x38495ab5);
    }
    if (length > 8) {
        b ^= murmur3_word2(tamis__load_tail(p + 8, length - 8));
        length = 8;
    }
    a ^= murmur3_word1(tamis__load_tail(p, length));

    a ^= java_length;
    b ^= java_length;
    a += b;
    b += a;
    a = tamis__murmur3_mix(a);
    b = tamis__murmur3_mix(b);
    a += b;
    b += a;
    return (struct tamis__hash){.lo = a, .hi = b};
}

static struct tamis__hash murmur3_first_half(const void *key, size_t length, uint64_t seed) {
    return (struct tamis__hash){murmur3_128(key, length, seed).lo, 0};
}

static const struct tamis__compat_hash guava_hash = {
    .id = 1, .wide = true, .name = "murmur3-128", .hash = murmur3_128};
static const struct tamis__compat_hash guava32_hash = {
    .id = 2, .name = "murmur3-128 (first half)", .hash = murmur3_first_half};

/* ---- the probe rule: a + i b in 64 bits without the sign, modulo m, in big-endian words */

TAMIS_TEMPLATE struct tamis__probe mask64_first(struct tamis__hash h) {
    return (struct tamis__probe){h.lo, h.hi, 0};
}
TAMIS_TEMPLATE uint64_t mask64_next(struct tamis__probe *p, uint64_t bits) {
    const uint64_t x = p->x;
    p->x += p->y;
    return (x & INT64_MAX) % bits ^ TAMIS__BIG_ENDIAN_BIT;
}
static const struct tamis__probe_rule mask64_rule = {mask64_first, mask64_next, .words = false};
COMPAT_BLOOM(BLOOM_INSTANCE_WIDE, mask64, &mask64_rule, 64, &tamis__match_all)
static const struct tamis__family guava_family = COMPAT_BLOOM_FAMILY(mask64, 3);

/* ---- reading and writing */

static const struct tamis__codec guava, guava32;

static tamis_status guava_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    struct tamis__reader r = {bytes, bytes + length, false};
    const uint8_t strategy = tamis__read8(&r), hashes = tamis__read8(&r);
    const uint32_t words = tamis__read32_be(&r);
    if (r.bad) return TAMIS_E_TRUNCATED;
    if (strategy > MITZ_64 || hashes == 0 || words == 0 || words > INT32_MAX) {
        return TAMIS_E_CORRUPT;
    }
    d->codec = strategy == MITZ_32 ? &guava32 : &guava;
    d->contents = tamis__compat_contents(d->codec);
    d->contents.table = r.at;
    tamis__java_shape(words, hashes, &d->contents.shape);
    return tamis__length_status((uint64_t)(r.end - r.at), (uint64_t)words * 8);
}

static uint64_t guava_encoded_size(const tamis_filter *f) {
    return HEADER + f->shape.word[BITS] / 8;
}

static void guava_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    buffer[0] = f->family == &tamis__bloom_fold32 ? MITZ_32 : MITZ_64;
    buffer[1] = (uint8_t)f->shape.word[HASHES];
    tamis__store32_be(buffer + 2, (uint32_t)(f->shape.word[BITS] / 64));
    memcpy(buffer + HEADER, f->table, (size_t)(f->shape.word[BITS] / 8));
}

/* ---- making */

static tamis_status guava_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    double version = 31.1;
    const tamis_status status = tamis__java_size(spec, 0, contents);
    if (status != TAMIS_OK) return status;
    if (!tamis__parameter_number(spec->parameters, "version", &version)) return TAMIS_E_ARGUMENT;
    if (version >= 33.4) {
        const double best = floor(-log(contents->fpr) / log(2) + 0.5);
        contents->shape.word[HASHES] = best < 1 ? 1 : (uint64_t)best;
    }
    return contents->shape.word[HASHES] > UINT8_MAX ? TAMIS_E_FPR_TOO_LOW : TAMIS_OK;
}

static bool guava_holds(const tamis_filter *f) {
    const uint64_t bits = f->shape.word[BITS], hashes = f->shape.word[HASHES];
    return bits != 0 && bits / 64 <= INT32_MAX && hashes != 0 && hashes <= UINT8_MAX &&
           f->hashing.seed == 0;
}

/* The codec of a strategy. */
#define GUAVA_CODEC(NAME, ABOUT, FAMILY, HASH)                                                 \
    {                                                                                          \
        .name = NAME, .about = ABOUT, .parameters = "version", .family = FAMILY, .hash = HASH, \
        .refusal = "Guava's bits come from its own hash of each key: the keys are needed",     \
        .decode = guava_decode, .encoded_size = guava_encoded_size, .encode = guava_encode,    \
        .make = guava_make, .holds = guava_holds,                                              \
    }

static const struct tamis__codec guava =
    GUAVA_CODEC("guava", "Guava BloomFilter, MURMUR128_MITZ_64", &guava_family, &guava_hash);
static const struct tamis__codec guava32 = GUAVA_CODEC(
    "guava32", "Guava BloomFilter, MURMUR128_MITZ_32", &tamis__bloom_fold32, &guava32_hash);

const struct tamis__system tamis__system_guava = {
    .codecs = {&guava, &guava32},
    .families = {&guava_family, &tamis__bloom_fold32},
    .hashes = {&guava_hash, &guava32_hash},
};
