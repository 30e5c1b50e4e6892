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
 *     over from an older one, and are ignored here as well.
 *   - Version 1 steps in 32 bits, version 2 in 64, so the same keys set different bits.  Version 1
 *     has no file: "libbloom1" is the bare array, whose size the user gives, as
 *     libbloom1:entries=1000,error=0.01. */
#include <math.h>

#include "compat/common/compat_bloom.h"
#include "compat/common/hashes.h"
#include "compat/parameters.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

static const uint8_t magic[9] = {'l', 'i', 'b', 'b', 'l', 'o', 'o', 'm', '2'};

#define STRUCT 64
#define HEADER (sizeof magic + 2 + STRUCT)
#define MAJOR 2
#define FPR_DEFAULT 0.01
#define ENTRIES_MIN 1000

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
enum { ERROR = NOTES, PER_ENTRY, MINOR };

/* ---- the probe rule of version 2: a + i b of 32-bit numbers in 64 bits, modulo m */

TAMIS_TEMPLATE struct tamis__probe sum64_first(struct tamis__hash h) {
    return (struct tamis__probe){(uint32_t)h.lo, h.lo >> 32, 0};
}
TAMIS_TEMPLATE uint64_t sum64_next(struct tamis__probe *p, uint64_t bits) {
    const uint64_t x = p->x;
    p->x += p->y;
    return x % bits;
}
static const struct tamis__probe_rule sum64_rule = {sum64_first, sum64_next, .words = false};
COMPAT_BLOOM(BLOOM_INSTANCE, sum64, &sum64_rule, 1, &tamis__match_all)
static const struct tamis__family sum64_family = COMPAT_BLOOM_FAMILY(sum64, 5);

/* ---- reading and writing */

static enum tamis__detection libbloom_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                             uint64_t length) {
    (void)codec;
    return length >= HEADER && memcmp(bytes, magic, sizeof magic) == 0 ? TAMIS__CERTAIN
                                                                       : TAMIS__NO_MATCH;
}

static tamis_status libbloom_decode(const uint8_t *bytes, uint64_t length,
                                    struct tamis__decoding *d) {
    uint8_t header[HEADER], *s = header + sizeof magic + 2;
    if (length < sizeof magic) return TAMIS_E_TRUNCATED;
    tamis__copy_once(header, bytes, (size_t)(length < HEADER ? length : HEADER));
    if (memcmp(header, magic, sizeof magic) != 0) return TAMIS_E_FORMAT;
    if (length < HEADER) return TAMIS_E_TRUNCATED;
    if (tamis__load16(header + sizeof magic) != STRUCT) return TAMIS_E_VERSION;
    if (s[AT_MAJOR] != MAJOR) return TAMIS_E_VERSION;
    const uint64_t bits = tamis__load64(s + AT_BITS), table = tamis__load64(s + AT_BYTES);
    const uint64_t error = tamis__load64(s + AT_ERROR);
    if (s[AT_READY] != 1 || s[AT_HASHES] == 0 || bits == 0 || bits > TAMIS__COMPAT_BITS_MAX ||
        table != tamis__div_up(bits, 8)) {
        return TAMIS_E_CORRUPT;
    }
    d->contents.shape = (struct tamis__shape){
        .word = {bits, s[AT_HASHES], error, tamis__load64(s + AT_PER_ENTRY), s[AT_MINOR]},
        .table_bytes = table};
    d->contents.capacity = tamis__load32(s);
    d->contents.fpr = tamis__bits_double(error);
    d->contents.table = bytes + HEADER;
    return table > length - HEADER ? TAMIS_E_TRUNCATED : TAMIS_OK;
}

static uint64_t table_of(const tamis_filter *f) { return tamis__div_up(f->shape.word[BITS], 8); }

static uint64_t libbloom_encoded_size(const tamis_filter *f) { return HEADER + table_of(f); }

static void libbloom_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
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
}

/* ---- making */

static tamis_status libbloom_size(uint64_t entries, double error,
                                  struct tamis__contents *contents) {
    if (entries < ENTRIES_MIN || entries > UINT32_MAX) return TAMIS_E_ARGUMENT;
    const double per_entry = -(log(error) / LN2_SQUARED);
    const long double bits = (long double)entries * (long double)per_entry;
    const double hashes = ceil(LN2 * per_entry);
    if (hashes > UINT8_MAX) return TAMIS_E_FPR_TOO_LOW;
    if (bits < 1) return TAMIS_E_ARGUMENT; /* the library would divide by them */
    contents->shape =
        (struct tamis__shape){.word = {(uint64_t)bits, (uint64_t)hashes, tamis__double_bits(error),
                                       tamis__double_bits(per_entry)},
                              .table_bytes = tamis__div_up((uint64_t)bits, 8)};
    contents->capacity = entries;
    contents->fpr = error;
    return TAMIS_OK;
}

/* A counted set may be smaller than the library allows. */
static tamis_status libbloom_make(const struct tamis__spec *spec,
                                  struct tamis__contents *contents) {
    const uint64_t entries = spec->capacity < ENTRIES_MIN ? ENTRIES_MIN : spec->capacity;
    return libbloom_size(entries, spec->fpr == 0 ? FPR_DEFAULT : spec->fpr, contents);
}

#define REFUSAL "libbloom's bits come from its own hash of each key: the keys are needed"

static bool libbloom_holds(const tamis_filter *f) {
    return f->shape.word[HASHES] != 0 && f->shape.word[HASHES] <= UINT8_MAX;
}

/* ---- the bare bits of version 1 */

/* They could be anything: without entries and error nothing is detected. */
static tamis_status libbloom1_decode(const uint8_t *bytes, uint64_t length,
                                     struct tamis__decoding *d) {
    double entries = 0, error = 0;
    if (d->parameters == NULL || !tamis__parameter_number(d->parameters, "entries", &entries) ||
        !tamis__parameter_number(d->parameters, "error", &error) || !(error > 0 && error < 1)) {
        return TAMIS_E_ARGUMENT;
    }
    const tamis_status status = libbloom_size((uint64_t)entries, error, &d->contents);
    d->contents.table = bytes;
    return status != TAMIS_OK ? status
                              : tamis__length_status(length, d->contents.shape.table_bytes);
}

static void libbloom1_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    memcpy(buffer, f->table, (size_t)size);
}

static const struct tamis__codec libbloom = {
    .name = "libbloom",
    .about = "libbloom 2.0, bloom_save",
    .family = &sum64_family,
    .hash = &tamis__hash_murmur2,
    .refusal = REFUSAL,
    .detect = libbloom_detect,
    .decode = libbloom_decode,
    .encoded_size = libbloom_encoded_size,
    .encode = libbloom_encode,
    .make = libbloom_make,
    .holds = libbloom_holds,
};

static const struct tamis__codec libbloom1 = {
    .name = "libbloom1",
    .about = "libbloom 1.x, the bare bits (as libbloom1:entries=N,error=P)",
    .parameters = "entries,error",
    .family = &tamis__bloom_wrap32,
    .hash = &tamis__hash_murmur2,
    .refusal = REFUSAL,
    .decode = libbloom1_decode,
    .encoded_size = table_of,
    .encode = libbloom1_encode,
    .make = libbloom_make,
};

const struct tamis__system tamis__system_libbloom = {
    .codecs = {&libbloom, &libbloom1},
    .families = {&sum64_family, &tamis__bloom_wrap32},
    .hashes = {&tamis__hash_murmur2},
};
