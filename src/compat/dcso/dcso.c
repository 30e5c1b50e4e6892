/* dcso.c - the Bloom filter of DCSO (Go library and `bloom` command)
 *
 *     offset size
 *       0     8   flags: the lowest byte is the version, 1
 *       8     8   n, keys it was sized for
 *      16     8   p, IEEE 754 double
 *      24     8   k
 *      32     8   m, bits
 *      40     8   N, keys that set at least one bit when they were added
 *      48   8*w   the bits, w = ceil(m / 64): bit q is bit q % 8 of byte q / 8
 *      ...        attached data, to the end of the file
 *
 * Little-endian.  Follows 0.2.4.  The command's --gzip wraps all of it: unpack it first.
 *
 * Quirks
 *   - m = |ceil(n ln p / (ln 2)^2)| of a negative number, so it is rounded down; m and k may be
 *     0, and then every key matches.
 *   - The steps multiply modulo 2^64 first and modulo a prime after that.
 *   - N counts only keys that changed the filter.
 *   - k is a loop count: more than 4096 are rejected here, the library has no bound. */
#include <math.h>

#include "compat/common/compat_bloom.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

#define HEADER 48
#define VERSION 1
#define FPR_DEFAULT 0.01

enum { FLAGS = NOTES, KEYS, FPR };

/* ---- the hash: FNV-1 of 64 bits multiplies, then xors the byte; the better known FNV-1a does it
 * in the other order and gives other values */

static struct tamis__hash hash_fnv1(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    (void)seed;
    for (; length > 0; p++, length--) h = (h * UINT64_C(0x100000001b3)) ^ *p;
    return (struct tamis__hash){h, 0};
}

static const struct tamis__compat_hash fnv1 = {.id = 9, .name = "fnv-1", .hash = hash_fnv1};

/* ---- the probe rule: x <- x g modulo 2^64 modulo P, then modulo m */

#define PRIME UINT64_C(18446744073709551557)
#define STEP UINT64_C(18446744073709550147)

TAMIS_TEMPLATE struct tamis__probe dcso_first(struct tamis__hash h) {
    return (struct tamis__probe){h.lo % PRIME, 0, 0};
}
TAMIS_TEMPLATE uint64_t dcso_next(struct tamis__probe *p, uint64_t bits) {
    p->x = p->x * STEP % PRIME;
    return p->x % bits;
}
static const struct tamis__probe_rule dcso_rule = {dcso_first, dcso_next, .words = false};

/* A few keys at a high rate get no bits at all: the filter matches every key and accepts adds,
 * which change nothing. */
static tamis_status empty_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    (void)f, (void)hash;
    if (fresh != NULL) *fresh = false;
    return TAMIS_OK;
}
static const struct tamis__ops empty_ops = {
    .path = "portable",
    .contains = tamis__match_contains,
    .contains_batch = tamis__contains_each,
    .add = empty_add,
    .add_batch = tamis__add_each,
};

COMPAT_BLOOM(BLOOM_INSTANCE, dcso, &dcso_rule, 1, &empty_ops)
static const struct tamis__family dcso_family = COMPAT_BLOOM_FAMILY(dcso, 6);

/* ---- reading and writing */

static uint64_t table_bytes_of(uint64_t bits) { return tamis__div_up(bits, 64) * 8; }

static tamis_status dcso_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    struct tamis__reader r = {bytes, bytes + length, false};
    struct tamis__contents *c = &d->contents;
    uint64_t *word = c->shape.word;
    word[FLAGS] = tamis__read64(&r);
    word[KEYS] = c->capacity = tamis__read64(&r);
    word[FPR] = tamis__read64(&r);
    word[HASHES] = tamis__read64(&r);
    word[BITS] = tamis__read64(&r);
    c->adds = tamis__read64(&r);
    if (r.bad) return TAMIS_E_TRUNCATED;
    if ((word[FLAGS] & 0xff) != VERSION) return TAMIS_E_VERSION;
    if (word[BITS] > TAMIS__COMPAT_BITS_MAX) return TAMIS_E_CORRUPT;
    c->fpr = tamis__bits_double(word[FPR]);
    c->shape.table_bytes = table_bytes_of(word[BITS]);
    if (c->shape.table_bytes > length - HEADER) return TAMIS_E_TRUNCATED;
    c->table = bytes + HEADER;
    c->extra = c->table + c->shape.table_bytes;
    c->extra_bytes = length - HEADER - c->shape.table_bytes;
    return TAMIS_OK;
}

/* m and k for n and p; false if they are out of range. */
static bool dcso_size(uint64_t keys, double fpr, uint64_t *bits, uint64_t *hashes) {
    if (keys == 0 || !(fpr > 0 && fpr < 1)) return false;
    const double m = fabs(ceil((double)keys * log(fpr) / (log(2) * log(2))));
    if (m > (double)TAMIS__COMPAT_BITS_MAX) return false;
    *bits = (uint64_t)m;
    *hashes = (uint64_t)ceil(log(2) * m / (double)keys);
    return true;
}

static enum tamis__detection dcso_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                         uint64_t length) {
    struct tamis__decoding d = {.codec = codec};
    const uint64_t *word = d.contents.shape.word;
    uint64_t bits, hashes;
    if (dcso_decode(bytes, length, &d) != TAMIS_OK) return TAMIS__NO_MATCH;
    const bool follows = dcso_size(word[KEYS], d.contents.fpr, &bits, &hashes) &&
                         bits == word[BITS] && hashes == word[HASHES];
    return follows ? TAMIS__CERTAIN : TAMIS__NO_MATCH;
}

static uint64_t dcso_encoded_size(const tamis_filter *f) {
    return HEADER + table_bytes_of(f->shape.word[BITS]) + f->extra_bytes;
}

static void dcso_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    const uint64_t table = table_bytes_of(f->shape.word[BITS]);
    struct tamis__writer w = {buffer, buffer + size, false};
    tamis__write64(&w, f->shape.word[FLAGS]);
    tamis__write64(&w, f->shape.word[KEYS]);
    tamis__write64(&w, f->shape.word[FPR]);
    tamis__write64(&w, f->shape.word[HASHES]);
    tamis__write64(&w, f->shape.word[BITS]);
    tamis__write64(&w, f->adds);
    tamis__write_bytes(&w, f->table, (size_t)table);
    tamis__write_bytes(&w, f->extra, (size_t)f->extra_bytes);
    assert(!w.bad && w.at == w.end);
}

static tamis_status dcso_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    uint64_t *word = contents->shape.word;
    contents->capacity = word[KEYS] = spec->capacity == 0 ? 1 : spec->capacity;
    contents->fpr = spec->fpr == 0 ? FPR_DEFAULT : spec->fpr;
    word[FLAGS] = VERSION;
    word[FPR] = tamis__double_bits(contents->fpr);
    if (!dcso_size(word[KEYS], contents->fpr, &word[BITS], &word[HASHES])) return TAMIS_E_TOO_BIG;
    contents->shape.table_bytes = table_bytes_of(word[BITS]);
    return TAMIS_OK;
}

static bool dcso_holds(const tamis_filter *f) { return (f->shape.word[FLAGS] & 0xff) == VERSION; }

static const char *dcso_note(const tamis_filter *f) {
    return f->shape.word[HASHES] == 0 ? "its number of hashes is 0: it matches every key" : NULL;
}

static const struct tamis__codec dcso = {
    .name = "dcso",
    .about = "DCSO bloom, library and command",
    .flags = TAMIS__COUNTS_FRESH,
    .family = &dcso_family,
    .hash = &fnv1,
    .refusal = "DCSO's bits come from its own hash of each key: the keys are needed",
    .detect = dcso_detect,
    .decode = dcso_decode,
    .encoded_size = dcso_encoded_size,
    .encode = dcso_encode,
    .make = dcso_make,
    .holds = dcso_holds,
    .note = dcso_note,
};

const struct tamis__system tamis__system_dcso = {
    .codecs = {&dcso}, .families = {&dcso_family}, .hashes = {&fnv1}};
