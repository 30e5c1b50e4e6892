/* libbloom.c - libbloom: the file of bloom_save (2.0), and the bare bits of 1.x
 *
 *     offset size                       the struct, as x86-64 lays it out
 *       0     9   "libbloom2"             0  4  entries       40  1  ready, 1
 *       9     2   64                      8  8  bits          41  1  major, 2
 *      11    64   the struct             16  8  bytes         42  1  minor
 *      75     b   the bits               24  1  hashes        48  8  bits per entry, double
 *                                        32  8  error, double 56  8  an address
 *
 * Little-endian; bit q is bit q % 8 of byte q / 8.
 *
 * Quirks
 *   - The struct holds the address of the bits in the writer's memory: not read, written as 0.
 *   - bloom_save does not truncate the file it writes over: bytes after the filter are left
 *     from an older one, and are not read here either.
 *   - Version 1 steps in 32 bits, version 2 in 64, so the same keys set other bits.  Version 1
 *     has no file: "libbloom1" is the bare array, whose size the user has to tell, as
 *     libbloom1:entries=1000,error=0.01. */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/format.h"

static const uint8_t magic[9] = {'l', 'i', 'b', 'b', 'l', 'o', 'o', 'm', '2'};

#define STRUCT 64
#define HEADER (sizeof magic + 2 + STRUCT)
#define MAJOR 2
#define RATE_DEFAULT 0.01
#define ENTRIES_LEAST 1000
#define BITS_MOST ((uint64_t)1 << 62)

/* The library's own roundings of (ln 2)^2 and ln 2. */
#define LN2_SQUARED 0.480453013918201
#define LN2 0.693147180559945

enum {
    AT_BITS = 8,
    AT_BYTES = 16,
    AT_HASHES = 24,
    AT_ERROR = 32,
    AT_READY = 40,
    AT_MAJOR = 41,
    AT_MINOR = 42,
    AT_PER_ENTRY = 48
};
enum { BITS, HASHES, ERROR, PER_ENTRY, MINOR };

static enum tamis__likeness libbloom_detect(const uint8_t *bytes, uint64_t length) {
    return length >= HEADER && memcmp(bytes, magic, sizeof magic) == 0 ? TAMIS__SURE : TAMIS__NOT;
}

static tamis_status libbloom_check(const uint8_t *bytes, uint64_t length) {
    if (length < sizeof magic) return TAMIS_E_TRUNCATED;
    if (memcmp(bytes, magic, sizeof magic) != 0) return TAMIS_E_FORMAT;
    if (length < HEADER) return TAMIS_E_TRUNCATED;
    const uint8_t *s = bytes + sizeof magic + 2;
    if (tamis__load16(bytes + sizeof magic) != STRUCT) return TAMIS_E_VERSION;
    if (s[AT_MAJOR] != MAJOR) return TAMIS_E_VERSION;
    const uint64_t bits = tamis__load64(s + AT_BITS), table = tamis__load64(s + AT_BYTES);
    if (s[AT_READY] != 1 || s[AT_HASHES] == 0 || bits == 0 || bits > BITS_MOST ||
        table != tamis__div_up(bits, 8)) {
        return TAMIS_E_CORRUPT;
    }
    return table > length - HEADER ? TAMIS_E_TRUNCATED : TAMIS_OK;
}

static tamis_status libbloom_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                    const tamis_open_options *options, tamis_filter **out) {
    const tamis_status status = libbloom_check(bytes, length);
    (void)options;
    if (status != TAMIS_OK) return status;
    const uint8_t *s = bytes + sizeof magic + 2;
    const uint64_t error = tamis__load64(s + AT_ERROR);
    struct tamis__image image = {.kind = TAMIS_BLOOM,
                                 .shape = {.word = {tamis__load64(s + AT_BITS), s[AT_HASHES], error,
                                                    tamis__load64(s + AT_PER_ENTRY), s[AT_MINOR]},
                                           .table_bytes = tamis__load64(s + AT_BYTES),
                                           .scheme = TAMIS__SCHEME_SUM64},
                                 .capacity = tamis__load32(s),
                                 .rate = tamis__bits_double(error),
                                 .table = bytes + HEADER};
    tamis__hashing_foreign(&image.hashing, TAMIS__FOREIGN_MURMUR2, 0);
    return tamis__image_open(&image, like, out);
}

static uint64_t table_of(const tamis_filter *f) { return tamis__div_up(f->shape.word[BITS], 8); }

static uint64_t libbloom_encoded_size(const tamis_filter *f) { return HEADER + table_of(f); }

static tamis_status libbloom_encode(const tamis_filter *f, uint8_t *buffer) {
    uint8_t *s = buffer + sizeof magic + 2;
    memset(buffer, 0, HEADER);
    memcpy(buffer, magic, sizeof magic);
    tamis__store16(buffer + sizeof magic, STRUCT);
    tamis__store32(s, (uint32_t)f->capacity);
    tamis__store64(s + AT_BITS, f->shape.word[BITS]);
    tamis__store64(s + AT_BYTES, table_of(f));
    s[AT_HASHES] = (uint8_t)f->shape.word[HASHES];
    tamis__store64(s + AT_ERROR, f->shape.word[ERROR]);
    s[AT_READY] = 1;
    s[AT_MAJOR] = MAJOR;
    s[AT_MINOR] = (uint8_t)f->shape.word[MINOR];
    tamis__store64(s + AT_PER_ENTRY, f->shape.word[PER_ENTRY]);
    memcpy(buffer + HEADER, f->table, (size_t)table_of(f));
    return TAMIS_OK;
}

/* ---- making */

static tamis_status libbloom_size(uint64_t entries, double error, uint32_t scheme,
                                  struct tamis__image *image) {
    if (entries < ENTRIES_LEAST || entries > UINT32_MAX) return TAMIS_E_ARGUMENT;
    const double per_entry = -(log(error) / LN2_SQUARED);
    const long double bits = (long double)entries * (long double)per_entry;
    const double hashes = ceil(LN2 * per_entry);
    if (hashes > UINT8_MAX) return TAMIS_E_TOO_FINE;
    if (bits < 1) return TAMIS_E_ARGUMENT; /* the library would divide by them */
    *image = (struct tamis__image){
        .kind = TAMIS_BLOOM,
        .shape = {.word = {(uint64_t)bits, (uint64_t)hashes, tamis__double_bits(error),
                           tamis__double_bits(per_entry)},
                  .table_bytes = tamis__div_up((uint64_t)bits, 8),
                  .scheme = scheme},
        .capacity = entries,
        .rate = error};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_MURMUR2, 0);
    return TAMIS_OK;
}

/* A set that is counted may be smaller than the library allows. */
static tamis_status make_scheme(const struct tamis__recipe *recipe, uint32_t scheme,
                                struct tamis__image *image) {
    const uint64_t entries = recipe->keys < ENTRIES_LEAST ? ENTRIES_LEAST : recipe->keys;
    const double error = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    return libbloom_size(entries, error, scheme, image);
}
static tamis_status libbloom_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_scheme(recipe, TAMIS__SCHEME_SUM64, image);
}
static tamis_status libbloom1_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return make_scheme(recipe, TAMIS__SCHEME_WRAP32, image);
}

static const char *const refusal =
    "libbloom's bits come from its own hash of each key: the keys are needed";

static const char *libbloom_refuse(const tamis_filter *f) {
    const uint64_t hashes = f->shape.word[HASHES];
    if (!tamis__image_fits(f, TAMIS__SCHEME_SUM64, TAMIS__FOREIGN_MURMUR2)) return refusal;
    return hashes != 0 && hashes <= UINT8_MAX ? NULL : tamis__image_beyond;
}
static const char *libbloom1_refuse(const tamis_filter *f) {
    return tamis__image_fits(f, TAMIS__SCHEME_WRAP32, TAMIS__FOREIGN_MURMUR2) ? NULL : refusal;
}

/* ---- the bare bits of version 1 */

static enum tamis__likeness libbloom1_detect(const uint8_t *bytes, uint64_t length) {
    (void)bytes, (void)length;
    return TAMIS__NOT; /* they could be anything, and entries and error are not in them */
}

static tamis_status libbloom1_decode(const uint8_t *bytes, uint64_t length,
                                     const tamis_filter *like, const tamis_open_options *options,
                                     tamis_filter **out) {
    const char *parameters = options->format == NULL ? NULL : strchr(options->format, ':');
    double entries = 0, error = 0;
    struct tamis__image image;
    if (parameters == NULL || !tamis__parameters_known(parameters + 1, "entries,error") ||
        !tamis__parameter_number(parameters + 1, "entries", &entries) ||
        !tamis__parameter_number(parameters + 1, "error", &error) || !(error > 0 && error < 1)) {
        return TAMIS_E_ARGUMENT;
    }
    const tamis_status status =
        libbloom_size((uint64_t)entries, error, TAMIS__SCHEME_WRAP32, &image);
    if (status != TAMIS_OK) return status;
    if (length != image.shape.table_bytes) {
        return length < image.shape.table_bytes ? TAMIS_E_TRUNCATED : TAMIS_E_TRAILING;
    }
    image.table = bytes;
    return tamis__image_open(&image, like, out);
}

static tamis_status libbloom1_encode(const tamis_filter *f, uint8_t *buffer) {
    memcpy(buffer, f->table, (size_t)table_of(f));
    return TAMIS_OK;
}

const struct tamis__codec tamis__libbloom = {
    .name = "libbloom",
    .about = "libbloom 2.0, bloom_save",
    .detect = libbloom_detect,
    .decode = libbloom_decode,
    .encoded_size = libbloom_encoded_size,
    .encode = libbloom_encode,
    .make = libbloom_make,
    .refuse = libbloom_refuse,
};

const struct tamis__codec tamis__libbloom1 = {
    .name = "libbloom1",
    .about = "libbloom 1.x, the bare bits (say libbloom1:entries=N,error=P)",
    .detect = libbloom1_detect,
    .decode = libbloom1_decode,
    .encoded_size = table_of,
    .encode = libbloom1_encode,
    .make = libbloom1_make,
    .refuse = libbloom1_refuse,
};
