/* leveldb.c - one filter of LevelDB's built-in policy, leveldb.BuiltinBloomFilter2
 *
 *     offset size
 *       0     b   the bits: bit q is bit q % 8 of byte q / 8
 *       b     1   k
 *
 * Follows LevelDB 1.23.  The filters of a table are in its filter block: see leveldb_table.c.
 *
 * Quirks
 *   - The modulus is 8 * b.  The size counts repeated keys each time.
 *   - k above 30 is reserved for other encodings, and 0 was never written: the reader answers
 *     "may match" for both, and so does this one, with a note.
 *   - A filter of fewer than two bytes matches nothing there.  Here it is an error: a truncated
 *     file must not answer "absent". */
#include <math.h>

#include "compat/common/compat_bloom.h"
#include "compat/common/hashes.h"
#include "compat/leveldb/leveldb.h"
#include "compat/parameters.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

#define HASHES_MAX 30
#define BITS_PER_KEY_DEFAULT 10
#define BITS_PER_KEY_MAX 1000

enum { RAW_K = NOTES };

static struct tamis__hash hash_leveldb(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return tamis__leveldb_hash(key, length, false);
}

static const struct tamis__compat_hash leveldb_hash = {
    .id = 5, .name = "leveldb hash", .hash = hash_leveldb};

static bool is_reserved(uint64_t k) { return k == 0 || k > HASHES_MAX; }

static void leveldb_contents(uint64_t bytes, uint64_t k, struct tamis__contents *contents) {
    contents->shape =
        (struct tamis__shape){.word = {bytes * 8, is_reserved(k) ? 0 : k, k}, .table_bytes = bytes};
}

static tamis_status leveldb_decode(const uint8_t *bytes, uint64_t length,
                                   struct tamis__decoding *d) {
    if (length < 2) return TAMIS_E_TRUNCATED;
    leveldb_contents(length - 1, bytes[length - 1], &d->contents);
    d->contents.table = bytes;
    return TAMIS_OK;
}

/* A line feed is a valid k, but a text file is no filter. */
static bool is_text(const uint8_t *bytes, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        const bool blank = bytes[i] >= '\t' && bytes[i] <= '\r';
        if (!blank && (bytes[i] < ' ' || bytes[i] > '~')) return false;
    }
    return true;
}

static enum tamis__detection leveldb_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                            uint64_t length) {
    (void)codec;
    if (length < 9 || is_reserved(bytes[length - 1])) return TAMIS__NO_MATCH;
    return is_text(bytes, length) ? TAMIS__NO_MATCH : TAMIS__POSSIBLE;
}

static uint64_t leveldb_encoded_size(const tamis_filter *f) { return f->shape.word[BITS] / 8 + 1; }

static void leveldb_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    const uint64_t bytes = f->shape.word[BITS] / 8;
    memcpy(buffer, f->table, (size_t)bytes);
    buffer[bytes] = (uint8_t)f->shape.word[RAW_K];
}

/* ---- making */

static uint64_t hashes_for(uint64_t bits_per_key) {
    const uint64_t k = (uint64_t)((double)bits_per_key * 0.69);
    return k < 1 ? 1 : k > HASHES_MAX ? HASHES_MAX : k;
}

static double fpr_of_bits(uint64_t bits_per_key) {
    const double k = (double)hashes_for(bits_per_key);
    return bits_per_key == 0 ? 1 : pow(1 - exp(-k / (double)bits_per_key), k);
}

/* The fewest bits per key that reach the rate; 0 if none do. */
static uint64_t bits_for_fpr(double fpr) {
    for (uint64_t b = 1; b <= BITS_PER_KEY_MAX; b++) {
        if (fpr_of_bits(b) <= fpr) return b;
    }
    return 0;
}

static tamis_status leveldb_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    double bits_given = BITS_PER_KEY_DEFAULT, fpr = spec->fpr;
    uint64_t bits_per_key;
    if (!tamis__parameter_number(spec->parameters, "bits", &bits_given)) return TAMIS_E_ARGUMENT;
    if (tamis__parameter(spec->parameters, "bits") || spec->fpr == 0) {
        if (bits_given > BITS_PER_KEY_MAX || bits_given != floor(bits_given))
            return TAMIS_E_ARGUMENT;
        bits_per_key = (uint64_t)bits_given;
        fpr = fpr_of_bits(bits_per_key);
    } else {
        bits_per_key = bits_for_fpr(fpr);
        if (bits_per_key == 0) return TAMIS_E_FPR_TOO_LOW;
    }
    if (spec->capacity > TAMIS__COMPAT_BITS_MAX / BITS_PER_KEY_MAX) return TAMIS_E_TOO_BIG;
    const uint64_t bits = spec->capacity * bits_per_key;
    leveldb_contents(tamis__div_up(bits < 64 ? 64 : bits, 8), hashes_for(bits_per_key), contents);
    contents->capacity = spec->capacity;
    contents->fpr = fpr;
    return TAMIS_OK;
}

static bool leveldb_holds(const tamis_filter *f) {
    const uint64_t bits = f->shape.word[BITS], k = f->shape.word[RAW_K];
    return bits != 0 && bits % 8 == 0 && k <= UINT8_MAX &&
           f->shape.word[HASHES] == (is_reserved(k) ? 0 : k);
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
    .family = &tamis__bloom_wrap32,
    .hash = &leveldb_hash,
    .refusal = "LevelDB's bits come from its own hash of each key: the keys are needed",
    .detect = leveldb_detect,
    .decode = leveldb_decode,
    .encoded_size = leveldb_encoded_size,
    .encode = leveldb_encode,
    .make = leveldb_make,
    .holds = leveldb_holds,
    .note = leveldb_note,
};

const struct tamis__system tamis__system_leveldb = {
    .codecs = {&tamis__leveldb},
    .families = {&tamis__bloom_wrap32},
    .hashes = {&leveldb_hash},
    .container = &tamis__leveldb_table,
};
