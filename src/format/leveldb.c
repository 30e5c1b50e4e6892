/* leveldb.c - one filter of LevelDB's built-in policy, leveldb.BuiltinBloomFilter2
 *
 *     offset size
 *       0     b   the bits: bit q is bit q % 8 of byte q / 8
 *       b     1   k
 *
 * Follows LevelDB 1.23.  The filters of a table lie in its filter block: see leveldb_table.c.
 *
 * Quirks
 *   - The modulus is 8 * b.  The size counts repeated keys as often as they come.
 *   - k above 30 is reserved for other encodings, and 0 was never written: the reader takes
 *     both for "may match", and so does this one, and says so.
 *   - A filter of fewer than two bytes matches nothing there.  Here it is an error: a file that
 *     lost its bytes must not say "absent". */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/format.h"

#define HASHES_MOST 30
#define BITS_PER_KEY_DEFAULT 10
#define BITS_PER_KEY_MOST 1000
#define BITS_MOST ((uint64_t)1 << 62)

enum { BITS, HASHES, RAW_K };

static bool is_reserved(uint64_t k) { return k == 0 || k > HASHES_MOST; }

static void leveldb_image(uint64_t bytes, uint64_t k, struct tamis__image *image) {
    *image = (struct tamis__image){.kind = TAMIS_BLOOM,
                                   .shape = {.word = {bytes * 8, is_reserved(k) ? 0 : k, k},
                                             .table_bytes = bytes,
                                             .scheme = TAMIS__SCHEME_WRAP32}};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_LEVELDB, 0);
}

static tamis_status leveldb_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                   const tamis_open_options *options, tamis_filter **out) {
    struct tamis__image image;
    (void)options;
    if (length < 2) return TAMIS_E_TRUNCATED;
    leveldb_image(length - 1, bytes[length - 1], &image);
    image.table = bytes;
    return tamis__image_open(&image, like, out);
}

/* A line feed is a fine k, but a file of text is no filter. */
static bool is_text(const uint8_t *bytes, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        const bool blank = bytes[i] >= '\t' && bytes[i] <= '\r';
        if (!blank && (bytes[i] < ' ' || bytes[i] > '~')) return false;
    }
    return true;
}

static enum tamis__likeness leveldb_detect(const uint8_t *bytes, uint64_t length) {
    if (length < 9 || is_reserved(bytes[length - 1])) return TAMIS__NOT;
    return is_text(bytes, length) ? TAMIS__NOT : TAMIS__COULD;
}

static uint64_t leveldb_encoded_size(const tamis_filter *f) { return f->shape.word[BITS] / 8 + 1; }

static tamis_status leveldb_encode(const tamis_filter *f, uint8_t *buffer) {
    const uint64_t bytes = f->shape.word[BITS] / 8;
    memcpy(buffer, f->table, (size_t)bytes);
    buffer[bytes] = (uint8_t)f->shape.word[RAW_K];
    return TAMIS_OK;
}

/* ---- making */

static uint64_t hashes_for(uint64_t bits_per_key) {
    const uint64_t k = (uint64_t)((double)bits_per_key * 0.69);
    return k < 1 ? 1 : k > HASHES_MOST ? HASHES_MOST : k;
}

static double rate_of_bits(uint64_t bits_per_key) {
    const double k = (double)hashes_for(bits_per_key);
    return bits_per_key == 0 ? 1 : pow(1 - exp(-k / (double)bits_per_key), k);
}

/* The least bits per key with which the rate is reached; 0 if none does. */
static uint64_t bits_for_rate(double rate) {
    for (uint64_t b = 1; b <= BITS_PER_KEY_MOST; b++) {
        if (rate_of_bits(b) <= rate) return b;
    }
    return 0;
}

static tamis_status leveldb_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    double asked = BITS_PER_KEY_DEFAULT, rate = recipe->rate;
    uint64_t bits_per_key;
    if (!tamis__parameter_number(recipe->parameters, "bits", &asked)) return TAMIS_E_ARGUMENT;
    if (tamis__parameter(recipe->parameters, "bits") || recipe->rate == 0) {
        if (asked > BITS_PER_KEY_MOST || asked != floor(asked)) return TAMIS_E_ARGUMENT;
        bits_per_key = (uint64_t)asked;
        rate = rate_of_bits(bits_per_key);
    } else {
        bits_per_key = bits_for_rate(rate);
        if (bits_per_key == 0) return TAMIS_E_TOO_FINE;
    }
    if (recipe->keys > BITS_MOST / BITS_PER_KEY_MOST) return TAMIS_E_TOO_BIG;
    const uint64_t bits = recipe->keys * bits_per_key;
    leveldb_image(tamis__div_up(bits < 64 ? 64 : bits, 8), hashes_for(bits_per_key), image);
    image->capacity = recipe->keys;
    image->rate = rate;
    return TAMIS_OK;
}

static const char *leveldb_refuse(const tamis_filter *f) {
    const uint64_t bits = f->shape.word[BITS], k = f->shape.word[RAW_K];
    if (!tamis__image_fits(f, TAMIS__SCHEME_WRAP32, TAMIS__FOREIGN_LEVELDB)) {
        return "LevelDB's bits come from its own hash of each key: the keys are needed";
    }
    const bool holds = bits != 0 && bits % 8 == 0 && k <= UINT8_MAX &&
                       f->shape.word[HASHES] == (is_reserved(k) ? 0 : k);
    return holds ? NULL : tamis__image_beyond;
}

static const char *leveldb_note(const tamis_filter *f) {
    return f->shape.word[HASHES] == 0 ? "its number of hashes is 0 or above 30, which LevelDB "
                                        "reserves: it matches every key"
                                      : NULL;
}

const struct tamis__codec tamis__leveldb = {
    .name = "leveldb",
    .about = "LevelDB's built-in Bloom filter, one of a filter block",
    .parameters = "bits",
    .detect = leveldb_detect,
    .decode = leveldb_decode,
    .encoded_size = leveldb_encoded_size,
    .encode = leveldb_encode,
    .make = leveldb_make,
    .refuse = leveldb_refuse,
    .note = leveldb_note,
};
