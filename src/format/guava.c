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
 *   - readFrom leaves bytes after the filter in its stream; a file that has some is refused
 *     here, because it is not just a filter. */
#include "format/java_sizing.h"

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"

#define HEADER 6
#define RATE_DEFAULT 0.03

enum { BITS, HASHES };
enum { MITZ_32, MITZ_64 };

extern const struct tamis__codec tamis__guava, tamis__guava32;

static const uint32_t scheme_of[] = {TAMIS__SCHEME_FOLD32, TAMIS__SCHEME_MASK64};
static const enum tamis__foreign_id hash_of[] = {TAMIS__FOREIGN_GUAVA32, TAMIS__FOREIGN_GUAVA};

static tamis_status guava_check(const uint8_t *bytes, uint64_t length) {
    if (length < HEADER) return TAMIS_E_TRUNCATED;
    const uint32_t words = tamis__load32_be(bytes + 2);
    if (bytes[0] > MITZ_64 || bytes[1] == 0 || words == 0 || words > INT32_MAX) {
        return TAMIS_E_CORRUPT;
    }
    const uint64_t size = HEADER + (uint64_t)words * 8;
    return length < size ? TAMIS_E_TRUNCATED : length > size ? TAMIS_E_TRAILING : TAMIS_OK;
}

static void guava_image(unsigned strategy, uint64_t hashes, uint64_t words,
                        struct tamis__image *image) {
    *image = (struct tamis__image){
        .kind = TAMIS_BLOOM,
        .shape = {
            .word = {words * 64, hashes}, .table_bytes = words * 8, .scheme = scheme_of[strategy]}};
    tamis__hashing_foreign(&image->hashing, hash_of[strategy], 0);
}

static tamis_status guava_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                 const tamis_open_options *options, tamis_filter **out) {
    struct tamis__image image;
    tamis_status status = guava_check(bytes, length);
    (void)options;
    if (status != TAMIS_OK) return status;
    guava_image(bytes[0], bytes[1], tamis__load32_be(bytes + 2), &image);
    image.table = bytes + HEADER;
    status = tamis__image_open(&image, like, out);
    if (status == TAMIS_OK) (*out)->codec = bytes[0] == MITZ_32 ? &tamis__guava32 : &tamis__guava;
    return status;
}

static enum tamis__likeness detect_strategy(const uint8_t *bytes, uint64_t length,
                                            unsigned strategy) {
    const bool is = guava_check(bytes, length) == TAMIS_OK && bytes[0] == strategy;
    return is ? TAMIS__SURE : TAMIS__NOT;
}
static enum tamis__likeness guava_detect(const uint8_t *bytes, uint64_t length) {
    return detect_strategy(bytes, length, MITZ_64);
}
static enum tamis__likeness guava32_detect(const uint8_t *bytes, uint64_t length) {
    return detect_strategy(bytes, length, MITZ_32);
}

static uint64_t guava_encoded_size(const tamis_filter *f) {
    return HEADER + f->shape.word[BITS] / 8;
}

static tamis_status guava_encode(const tamis_filter *f, uint8_t *buffer) {
    buffer[0] = f->shape.scheme == TAMIS__SCHEME_FOLD32 ? MITZ_32 : MITZ_64;
    buffer[1] = (uint8_t)f->shape.word[HASHES];
    tamis__store32_be(buffer + 2, (uint32_t)(f->shape.word[BITS] / 64));
    memcpy(buffer + HEADER, f->table, (size_t)(f->shape.word[BITS] / 8));
    return TAMIS_OK;
}

/* ---- making */

static tamis_status guava_hashes(const struct tamis__recipe *recipe, double rate, uint64_t bits,
                                 uint64_t keys, uint64_t *hashes) {
    double version = 31.1;
    if (!tamis__parameter_number(recipe->parameters, "version", &version)) return TAMIS_E_ARGUMENT;
    *hashes = tamis__java_hashes(bits, keys);
    if (version >= 33.4) {
        const double best = floor(-log(rate) / log(2) + 0.5);
        *hashes = best < 1 ? 1 : (uint64_t)best;
    }
    return *hashes > UINT8_MAX ? TAMIS_E_TOO_FINE : TAMIS_OK;
}

static tamis_status make_strategy(const struct tamis__recipe *recipe, unsigned strategy,
                                  struct tamis__image *image) {
    const uint64_t keys = recipe->keys == 0 ? 1 : recipe->keys;
    const double rate = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    const uint64_t bits = tamis__java_bits(keys, rate), words = tamis__div_up(bits, 64);
    uint64_t hashes;
    if (bits == 0) return TAMIS_E_ARGUMENT; /* Guava refuses a filter without bits as well */
    if (words > INT32_MAX) return TAMIS_E_TOO_BIG;
    const tamis_status status = guava_hashes(recipe, rate, bits, keys, &hashes);
    if (status != TAMIS_OK) return status;
    guava_image(strategy, hashes, words, image);
    image->capacity = recipe->keys;
    image->rate = rate;
    return TAMIS_OK;
}
static tamis_status guava_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_strategy(recipe, MITZ_64, image);
}
static tamis_status guava32_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_strategy(recipe, MITZ_32, image);
}

static const char *refuse_strategy(const tamis_filter *f, unsigned strategy) {
    const uint64_t bits = f->shape.word[BITS], hashes = f->shape.word[HASHES];
    if (!tamis__image_fits(f, scheme_of[strategy], hash_of[strategy])) {
        return "Guava's bits come from its own hash of each key: the keys are needed";
    }
    const bool holds = bits != 0 && bits / 64 <= INT32_MAX && hashes != 0 && hashes <= UINT8_MAX;
    return holds && f->hashing.seed == 0 ? NULL : tamis__image_beyond;
}
static const char *guava_refuse(const tamis_filter *f) { return refuse_strategy(f, MITZ_64); }
static const char *guava32_refuse(const tamis_filter *f) { return refuse_strategy(f, MITZ_32); }

const struct tamis__codec tamis__guava = {
    .name = "guava",
    .about = "Guava BloomFilter, MURMUR128_MITZ_64",
    .parameters = "version",
    .detect = guava_detect,
    .decode = guava_decode,
    .encoded_size = guava_encoded_size,
    .encode = guava_encode,
    .make = guava_make,
    .refuse = guava_refuse,
};

const struct tamis__codec tamis__guava32 = {
    .name = "guava32",
    .about = "Guava BloomFilter, MURMUR128_MITZ_32",
    .parameters = "version",
    .detect = guava32_detect,
    .decode = guava_decode,
    .encoded_size = guava_encoded_size,
    .encode = guava_encode,
    .make = guava32_make,
    .refuse = guava32_refuse,
};
