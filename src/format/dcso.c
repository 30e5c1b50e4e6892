/* dcso.c - the Bloom filter of DCSO (Go library and `bloom` command)
 *
 *     offset size
 *       0     8   flags: the lowest byte is the version, 1
 *       8     8   n, keys it was made for
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
 *     0, and then everything matches.
 *   - The steps multiply modulo 2^64 first and modulo a prime after that.
 *   - N counts only keys that changed the filter.
 *   - k is a loop count: up to 4096 are believed here, the library has no bound. */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/format.h"

#define HEADER 48
#define VERSION 1
#define RATE_DEFAULT 0.01
#define BITS_MOST ((uint64_t)1 << 62)

enum { BITS, HASHES, FLAGS, KEYS, RATE };

struct header {
    uint64_t flags, keys, rate_bits, hashes, bits, added;
};

static uint64_t words_of(uint64_t bits) { return tamis__div_up(bits, 64); }

static tamis_status dcso_header(const uint8_t *bytes, uint64_t length, struct header *h) {
    struct tamis__reader r = {bytes, bytes + length, false};
    *h = (struct header){.flags = tamis__read64(&r)};
    h->keys = tamis__read64(&r);
    h->rate_bits = tamis__read64(&r);
    h->hashes = tamis__read64(&r);
    h->bits = tamis__read64(&r);
    h->added = tamis__read64(&r);
    if (r.bad) return TAMIS_E_TRUNCATED;
    if ((h->flags & 0xff) != VERSION) return TAMIS_E_VERSION;
    if (h->bits > BITS_MOST) return TAMIS_E_CORRUPT;
    return words_of(h->bits) * 8 > length - HEADER ? TAMIS_E_TRUNCATED : TAMIS_OK;
}

static void dcso_image(const struct header *h, struct tamis__image *image) {
    *image = (struct tamis__image){
        .kind = TAMIS_BLOOM,
        .shape = {.word = {h->bits, h->hashes, h->flags, h->keys, h->rate_bits},
                  .table_bytes = words_of(h->bits) * 8,
                  .scheme = TAMIS__SCHEME_DCSO},
        .capacity = h->keys,
        .rate = tamis__bits_double(h->rate_bits),
        .adds = h->added};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_FNV1, 0);
}

static tamis_status dcso_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                const tamis_open_options *options, tamis_filter **out) {
    struct header h;
    struct tamis__image image;
    const tamis_status status = dcso_header(bytes, length, &h);
    (void)options;
    if (status != TAMIS_OK) return status;
    dcso_image(&h, &image);
    image.table = bytes + HEADER;
    image.extra = image.table + image.shape.table_bytes;
    image.extra_bytes = length - HEADER - image.shape.table_bytes;
    return tamis__image_open(&image, like, out);
}

/* m and k that follow from n and p; false if they are out of reach. */
static bool dcso_size(uint64_t keys, double rate, uint64_t *bits, uint64_t *hashes) {
    if (keys == 0 || !(rate > 0 && rate < 1)) return false;
    const double m = fabs(ceil((double)keys * log(rate) / (log(2) * log(2))));
    if (m > (double)BITS_MOST) return false;
    *bits = (uint64_t)m;
    *hashes = (uint64_t)ceil(log(2) * m / (double)keys);
    return true;
}

static enum tamis__likeness dcso_detect(const uint8_t *bytes, uint64_t length) {
    struct header h;
    uint64_t bits, hashes;
    if (dcso_header(bytes, length, &h) != TAMIS_OK) return TAMIS__NOT;
    const bool follows = dcso_size(h.keys, tamis__bits_double(h.rate_bits), &bits, &hashes) &&
                         bits == h.bits && hashes == h.hashes;
    return follows ? TAMIS__SURE : TAMIS__NOT;
}

static uint64_t dcso_encoded_size(const tamis_filter *f) {
    return HEADER + words_of(f->shape.word[BITS]) * 8 + f->extra_bytes;
}

static tamis_status dcso_encode(const tamis_filter *f, uint8_t *buffer) {
    const uint64_t table = words_of(f->shape.word[BITS]) * 8;
    struct tamis__writer w = {buffer, buffer + HEADER + table + f->extra_bytes, false};
    tamis__write64(&w, f->shape.word[FLAGS]);
    tamis__write64(&w, f->shape.word[KEYS]);
    tamis__write64(&w, f->shape.word[RATE]);
    tamis__write64(&w, f->shape.word[HASHES]);
    tamis__write64(&w, f->shape.word[BITS]);
    tamis__write64(&w, f->adds);
    tamis__write_bytes(&w, f->table, (size_t)table);
    tamis__write_bytes(&w, f->extra, (size_t)f->extra_bytes);
    assert(!w.bad && w.at == w.end);
    return TAMIS_OK;
}

static tamis_status dcso_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    const double rate = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    struct header h = {.flags = VERSION,
                       .keys = recipe->keys == 0 ? 1 : recipe->keys,
                       .rate_bits = tamis__double_bits(rate)};
    if (!dcso_size(h.keys, rate, &h.bits, &h.hashes)) return TAMIS_E_TOO_BIG;
    dcso_image(&h, image);
    return TAMIS_OK;
}

static const char *dcso_refuse(const tamis_filter *f) {
    if (!tamis__image_fits(f, TAMIS__SCHEME_DCSO, TAMIS__FOREIGN_FNV1)) {
        return "DCSO's bits come from its own hash of each key: the keys are needed";
    }
    return (f->shape.word[FLAGS] & 0xff) == VERSION ? NULL : tamis__image_beyond;
}

static const char *dcso_note(const tamis_filter *f) {
    return f->shape.word[HASHES] == 0 ? "its number of hashes is 0: it matches every key" : NULL;
}

const struct tamis__codec tamis__dcso = {
    .name = "dcso",
    .about = "DCSO bloom, library and command",
    .flags = TAMIS__COUNTS_FRESH,
    .detect = dcso_detect,
    .decode = dcso_decode,
    .encoded_size = dcso_encoded_size,
    .encode = dcso_encode,
    .make = dcso_make,
    .refuse = dcso_refuse,
    .note = dcso_note,
};
