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
 *   - The modulus is 64 * words; k is computed from the bits before they are made words.
 *   - Integers of every type are hashed as 8 bytes; a string as its UTF-8.
 *   - The hash mixes the last one to three bytes of a key in a way of its own.
 *   - Java serialization (writeObject) wraps the same bytes; that wrapper is not read. */
#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/java_sizing.h"

#define HEADER1 12
#define HEADER2 16
#define RATE_DEFAULT 0.03

enum { BITS, HASHES };

extern const struct tamis__codec tamis__spark1, tamis__spark2;

struct header {
    uint32_t hashes, seed, words;
    uint64_t bytes; /* of the header itself */
};

static tamis_status spark_header(const uint8_t *bytes, uint64_t length, struct header *h) {
    if (length < HEADER1) return TAMIS_E_TRUNCATED;
    const uint32_t version = tamis__load32_be(bytes);
    if (version != 1 && version != 2) return TAMIS_E_FORMAT;
    h->bytes = version == 1 ? HEADER1 : HEADER2;
    if (length < h->bytes) return TAMIS_E_TRUNCATED;
    h->hashes = tamis__load32_be(bytes + 4);
    h->seed = version == 1 ? 0 : tamis__load32_be(bytes + 8);
    h->words = tamis__load32_be(bytes + h->bytes - 4);
    if (h->hashes == 0 || h->hashes > INT32_MAX || h->words == 0 || h->words > INT32_MAX) {
        return TAMIS_E_CORRUPT;
    }
    const uint64_t size = h->bytes + (uint64_t)h->words * 8;
    return length < size ? TAMIS_E_TRUNCATED : length > size ? TAMIS_E_TRAILING : TAMIS_OK;
}

static void spark_image(const struct header *h, struct tamis__image *image) {
    const bool first = h->bytes == HEADER1;
    *image = (struct tamis__image){
        .kind = TAMIS_BLOOM,
        .shape = {.word = {(uint64_t)h->words * 64, h->hashes},
                  .table_bytes = (uint64_t)h->words * 8,
                  .scheme = first ? TAMIS__SCHEME_FOLD32 : TAMIS__SCHEME_FOLD64}};
    tamis__hashing_foreign(&image->hashing, first ? TAMIS__FOREIGN_SPARK1 : TAMIS__FOREIGN_SPARK2,
                           h->seed);
}

static tamis_status spark_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                 const tamis_open_options *options, tamis_filter **out) {
    struct header h;
    struct tamis__image image;
    tamis_status status = spark_header(bytes, length, &h);
    (void)options;
    if (status != TAMIS_OK) return status;
    spark_image(&h, &image);
    image.table = bytes + h.bytes;
    status = tamis__image_open(&image, like, out);
    if (status == TAMIS_OK) (*out)->codec = h.bytes == HEADER1 ? &tamis__spark1 : &tamis__spark2;
    return status;
}

static enum tamis__likeness detect_version(const uint8_t *bytes, uint64_t length, uint64_t own) {
    struct header h;
    return spark_header(bytes, length, &h) == TAMIS_OK && h.bytes == own ? TAMIS__SURE : TAMIS__NOT;
}
static enum tamis__likeness spark1_detect(const uint8_t *bytes, uint64_t length) {
    return detect_version(bytes, length, HEADER1);
}
static enum tamis__likeness spark2_detect(const uint8_t *bytes, uint64_t length) {
    return detect_version(bytes, length, HEADER2);
}

static uint64_t spark1_encoded_size(const tamis_filter *f) {
    return HEADER1 + f->shape.word[BITS] / 8;
}
static uint64_t spark2_encoded_size(const tamis_filter *f) {
    return HEADER2 + f->shape.word[BITS] / 8;
}

static void spark_store(const tamis_filter *f, uint32_t version, uint64_t header, uint8_t *buffer) {
    const uint64_t bits = f->shape.word[BITS];
    tamis__store32_be(buffer, version);
    tamis__store32_be(buffer + 4, (uint32_t)f->shape.word[HASHES]);
    tamis__store32_be(buffer + header - 4, (uint32_t)(bits / 64));
    memcpy(buffer + header, f->table, (size_t)(bits / 8));
}
static tamis_status spark1_encode(const tamis_filter *f, uint8_t *buffer) {
    spark_store(f, 1, HEADER1, buffer);
    return TAMIS_OK;
}
static tamis_status spark2_encode(const tamis_filter *f, uint8_t *buffer) {
    tamis__store32_be(buffer + 8, (uint32_t)f->hashing.seed);
    spark_store(f, 2, HEADER2, buffer);
    return TAMIS_OK;
}

/* ---- making */

static tamis_status make_version(const struct tamis__recipe *recipe, uint64_t header,
                                 struct tamis__image *image) {
    const uint64_t keys = recipe->keys == 0 ? 1 : recipe->keys;
    const double rate = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    const uint64_t bits = recipe->bits != 0 ? recipe->bits : tamis__java_bits(keys, rate);
    const uint64_t words = tamis__div_up(bits, 64);
    if (bits == 0) return TAMIS_E_ARGUMENT;
    if (words > INT32_MAX) return TAMIS_E_TOO_BIG;
    if (recipe->seed > UINT32_MAX || (header == HEADER1 && recipe->seed != 0)) {
        return TAMIS_E_ARGUMENT; /* version 1 has no seed */
    }
    const uint64_t hashes = tamis__java_hashes(bits, keys);
    if (hashes > TAMIS__FOREIGN_HASHES_MOST) return TAMIS_E_TOO_FINE;
    const struct header h = {(uint32_t)hashes, (uint32_t)recipe->seed, (uint32_t)words, header};
    spark_image(&h, image);
    image->capacity = recipe->keys;
    image->rate = recipe->bits != 0 ? 0 : rate;
    return TAMIS_OK;
}
static tamis_status spark1_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_version(recipe, HEADER1, image);
}
static tamis_status spark2_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_version(recipe, HEADER2, image);
}

static const char *const refusal =
    "Spark's bits come from its own hash of each key: the keys are needed";

static const char *refuse_numbers(const tamis_filter *f, uint64_t seed_most) {
    const uint64_t bits = f->shape.word[BITS];
    const bool holds = bits != 0 && bits / 64 <= INT32_MAX && f->shape.word[HASHES] != 0;
    return holds && f->hashing.seed <= seed_most ? NULL : tamis__image_beyond;
}
static const char *spark1_refuse(const tamis_filter *f) {
    const bool fits = tamis__image_fits(f, TAMIS__SCHEME_FOLD32, TAMIS__FOREIGN_SPARK1);
    return fits ? refuse_numbers(f, 0) : refusal;
}
static const char *spark2_refuse(const tamis_filter *f) {
    const bool fits = tamis__image_fits(f, TAMIS__SCHEME_FOLD64, TAMIS__FOREIGN_SPARK2);
    return fits ? refuse_numbers(f, UINT32_MAX) : refusal;
}

const struct tamis__codec tamis__spark1 = {
    .name = "spark1",
    .about = "Spark BloomFilter, version 1",
    .detect = spark1_detect,
    .decode = spark_decode,
    .encoded_size = spark1_encoded_size,
    .encode = spark1_encode,
    .make = spark1_make,
    .refuse = spark1_refuse,
};

const struct tamis__codec tamis__spark2 = {
    .name = "spark2",
    .about = "Spark BloomFilter, version 2 (the default since Spark 4)",
    .detect = spark2_detect,
    .decode = spark_decode,
    .encoded_size = spark2_encoded_size,
    .encode = spark2_encode,
    .make = spark2_make,
    .refuse = spark2_refuse,
};
