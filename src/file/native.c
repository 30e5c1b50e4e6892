/* native.c - the .tamis format, versions 1 and 2 (doc/format.md has it for readers)
 *
 *     offset size
 *       0     8   magic 93 74 61 6d 69 73 0d 0a  (".tamis\r\n": detects a text mode that
 *                 changes line ends)
 *       8     4   version: 1, or 2 if the table has a layout that came with it (bloom in pairs)
 *      12     4   bytes of this header, 192
 *      16     2   kind
 *      18     1   hasher: 0 XXH3-64, 1 SipHash-2-4, 2 none (keys come as hashes),
 *                 3 of a compatible format
 *      19     1   its id; 0 for hashers 0..2
 *      20     4   key form: flags
 *      24     4   key form: type
 *      28     4   key form: field
 *      32     1   key form: length of the separator
 *      33    14   key form: separator, padded with zeros
 *      47     1   0
 *      48     8   seed; 0 if keyed
 *      56     8   key id; 0 if not keyed
 *      64     8   capacity
 *      72     8   false positive rate, IEEE 754 double
 *      80     8   adds less removes
 *      88     8   bytes of the table, T; a multiple of 8
 *      96    64   shape: eight numbers, their meaning is the kind's
 *     160     4   log2 of the bytes that one checksum covers, 16
 *     164     4   layout of the table; 0 is ours
 *     168     8   0
 *     176     8   XXH3-64 of the checksums
 *     184     8   XXH3-64 of bytes 0..183
 *     192     T   table
 *     192+T       a checksum, XXH3-64, for each 64 KiB of the table (the last may be shorter)
 *
 * All numbers are little-endian.  The table begins on a cache line when the file is mapped.
 * Another layout is that of a compatible format (compat/registry.h); its table is padded with zeros
 * to a multiple of 8 bytes, and capacity and rate may be 0, unknown.
 * The header is verified by its 192 bytes, the table piece by piece.  Checksums cover everything,
 * so every changed byte is an error. */
#include <string.h>

#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "core/parallel.h"
#include "file/native.h"
#include "file/touched.h"
#include "filter/codec.h"

static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', '\r', '\n'};

#define VERSION 2 /* the newest */
#define PIECE_LG TAMIS__PIECE_LG
#define PIECE ((uint64_t)1 << PIECE_LG)

enum { AT_TABLE_BYTES = 88, AT_SUMS = 176, AT_HEADER_SUM = 184 };

uint64_t tamis__native_pieces(uint64_t table_bytes) { return tamis__div_up(table_bytes, PIECE); }

uint64_t tamis__native_piece_bytes(uint64_t table_bytes, uint64_t piece) {
    const uint64_t left = table_bytes - (piece << PIECE_LG);
    return left < PIECE ? left : PIECE;
}

uint64_t tamis__native_size(uint64_t table_bytes) {
    if (table_bytes > UINT64_MAX / 2) return UINT64_MAX;
    return TAMIS__HEADER_BYTES + table_bytes + 8 * tamis__native_pieces(table_bytes);
}

uint64_t tamis__native_room(uint64_t bytes) {
    if (bytes <= TAMIS__HEADER_BYTES + 8) return 0;
    uint64_t room = bytes - TAMIS__HEADER_BYTES;
    room -= 8 * tamis__div_up(room, PIECE + 8);
    return room & ~(uint64_t)7;
}

uint64_t tamis__native_table_bytes(const uint8_t *header) {
    return tamis__load64(header + AT_TABLE_BYTES);
}

uint64_t tamis__native_header_sum(const uint8_t *header) {
    return tamis__load64(header + AT_HEADER_SUM);
}

uint64_t tamis__native_sums_sum(const uint8_t *header) { return tamis__load64(header + AT_SUMS); }

/* ---- checksums of the table */

/* Pieces that a thread compares at a time. */
#define RUN 64

static uint64_t piece_sum(const uint8_t *table, uint64_t table_bytes, uint64_t piece) {
    const uint64_t bytes = tamis__native_piece_bytes(table_bytes, piece);
    return tamis__xxh3(table + (piece << PIECE_LG), (size_t)bytes, 0);
}

bool tamis__native_piece_matches(const uint8_t *table, uint64_t table_bytes, uint64_t piece) {
    const uint8_t *sums = table + table_bytes;
    return piece_sum(table, table_bytes, piece) == tamis__load64(sums + 8 * piece);
}

struct compared {
    const uint8_t *table;
    uint64_t table_bytes, pieces;
};

static tamis_status compare_run(void *context, uint64_t run) {
    const struct compared *c = context;
    const uint64_t first = run * RUN, end = c->pieces - first < RUN ? c->pieces : first + RUN;
    for (uint64_t i = first; i < end; i++) {
        if (!tamis__native_piece_matches(c->table, c->table_bytes, i)) return TAMIS_E_CHECKSUM;
    }
    return TAMIS_OK;
}

tamis_status tamis__native_compare(const uint8_t *table, uint64_t table_bytes, unsigned threads) {
    struct compared c = {table, table_bytes, tamis__native_pieces(table_bytes)};
    return tamis__parallel(threads < 1 ? 1 : threads, tamis__div_up(c.pieces, RUN), compare_run,
                           &c);
}

/* `header` is a copy that has been checked: the table and its checksums are what follows it. */
static tamis_status verify_sums(const uint8_t header[TAMIS__HEADER_BYTES], const uint8_t *table) {
    const uint64_t table_bytes = tamis__native_table_bytes(header);
    const uint64_t sum =
        tamis__xxh3(table + table_bytes, (size_t)(8 * tamis__native_pieces(table_bytes)), 0);
    return sum == tamis__native_sums_sum(header) ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

static tamis_status verify_table(const uint8_t header[TAMIS__HEADER_BYTES], const uint8_t *table,
                                 unsigned threads) {
    const tamis_status status = verify_sums(header, table);
    if (status != TAMIS_OK) return status;
    return tamis__native_compare(table, tamis__native_table_bytes(header), threads);
}

/* ---- writing */

void tamis__native_header(const tamis_filter *f, uint64_t table_bytes, uint64_t sums,
                          uint8_t header[TAMIS__HEADER_BYTES]) {
    struct tamis__writer w = {header, header + TAMIS__HEADER_BYTES, false};
    tamis__write_bytes(&w, magic, sizeof magic);
    tamis__write32(&w, tamis__filter_version(f));
    tamis__write32(&w, TAMIS__HEADER_BYTES);
    tamis__write16(&w, (uint16_t)f->family->kind);
    tamis__write8(&w, (uint8_t)f->hashing.id);
    tamis__write8(&w, f->hashing.compat == NULL ? 0 : f->hashing.compat->id);
    tamis__write32(&w, f->settings.form.flags);
    tamis__write32(&w, f->settings.form.type);
    tamis__write32(&w, f->settings.form.field);
    tamis__write8(&w, f->settings.form.separator_length);
    tamis__write_bytes(&w, f->settings.form.separator, TAMIS_SEPARATOR_MAX);
    tamis__write8(&w, 0);
    tamis__write64(&w, f->hashing.seed);
    tamis__write64(&w, f->hashing.key_id);
    tamis__write64(&w, f->capacity);
    tamis__write64(&w, tamis__double_bits(f->fpr));
    tamis__write64(&w, f->adds);
    tamis__write64(&w, table_bytes);
    for (int i = 0; i < TAMIS__SHAPE_WORDS; i++) tamis__write64(&w, f->shape.word[i]);
    tamis__write32(&w, PIECE_LG);
    tamis__write32(&w, f->shape.layout);
    tamis__write64(&w, 0);
    tamis__write64(&w, sums);
    tamis__write64(&w, tamis__xxh3(header, AT_HEADER_SUM, 0));
    assert(!w.bad && w.at == w.end);
}

static uint64_t exact_table_bytes(const tamis_filter *f) {
    return f->family->export_bytes == NULL ? f->shape.table_bytes : f->family->export_bytes(f);
}

/* Padded; tables of our own layouts always are. */
static uint64_t native_table_bytes(const tamis_filter *f) {
    return (exact_table_bytes(f) + 7) & ~(uint64_t)7;
}

static uint64_t native_encoded_size(const tamis_filter *f) {
    return tamis__native_size(native_table_bytes(f));
}

/* Header and checksums for a table. */
static void frame_table(const tamis_filter *f, const uint8_t *table, uint64_t table_bytes,
                        uint8_t *header, uint8_t *sums) {
    const uint64_t pieces = tamis__native_pieces(table_bytes);
    for (uint64_t i = 0; i < pieces; i++) {
        tamis__store64(sums + 8 * i, piece_sum(table, table_bytes, i));
    }
    tamis__native_header(f, table_bytes, tamis__xxh3(sums, (size_t)(8 * pieces), 0), header);
}

static void native_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    const uint64_t table_bytes = native_table_bytes(f);
    const uint64_t exact = exact_table_bytes(f);
    uint8_t *table = buffer + TAMIS__HEADER_BYTES;
    memset(table + exact, 0, (size_t)(table_bytes - exact));
    if (f->family->export_table == NULL) {
        memcpy(table, f->table, (size_t)exact);
    } else {
        f->family->export_table(f, table);
    }
    frame_table(f, table, table_bytes, buffer, table + table_bytes);
}

void tamis__native_spans(const tamis_filter *f, uint8_t header[TAMIS__HEADER_BYTES], uint8_t *sums,
                         struct tamis__span spans[3]) {
    const uint64_t table_bytes = f->shape.table_bytes;
    frame_table(f, f->table, table_bytes, header, sums);
    spans[0] = (struct tamis__span){header, TAMIS__HEADER_BYTES};
    spans[1] = (struct tamis__span){f->table, table_bytes};
    spans[2] = (struct tamis__span){sums, 8 * tamis__native_pieces(table_bytes)};
}

/* ---- reading */

bool tamis__native_begins(const uint8_t *bytes, uint64_t length) {
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static enum tamis__detection native_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                           uint64_t length) {
    (void)codec;
    return tamis__native_begins(bytes, length) ? TAMIS__CERTAIN : TAMIS__NO_MATCH;
}

/* The header as it is, before anything is verified. */
struct header {
    uint16_t kind;
    uint8_t hasher, compat;
    tamis_key_form form;
    uint64_t seed, key_id, capacity, fpr_bits, adds;
    struct tamis__shape shape;
    uint64_t zeros; /* all bytes that must be 0, or'ed */
    uint32_t piece_lg;
};

static void read_header(const uint8_t header[TAMIS__HEADER_BYTES], struct header *h) {
    struct tamis__reader r = {header + 16, header + TAMIS__HEADER_BYTES, false};
    *h = (struct header){.kind = tamis__read16(&r)};
    h->hasher = tamis__read8(&r);
    h->compat = tamis__read8(&r);
    h->form.flags = tamis__read32(&r);
    h->form.type = tamis__read32(&r);
    h->form.field = tamis__read32(&r);
    h->form.separator_length = tamis__read8(&r);
    tamis__read_copy(&r, h->form.separator, TAMIS_SEPARATOR_MAX);
    h->zeros |= tamis__read8(&r);
    h->seed = tamis__read64(&r);
    h->key_id = tamis__read64(&r);
    h->capacity = tamis__read64(&r);
    h->fpr_bits = tamis__read64(&r);
    h->adds = tamis__read64(&r);
    h->shape.table_bytes = tamis__read64(&r);
    for (int i = 0; i < TAMIS__SHAPE_WORDS; i++) h->shape.word[i] = tamis__read64(&r);
    h->piece_lg = tamis__read32(&r);
    h->shape.layout = tamis__read32(&r);
    h->zeros |= tamis__read64(&r);
}

tamis_status tamis__native_frame(const uint8_t *bytes, uint64_t length, uint64_t *table_bytes) {
    if (!tamis__native_begins(bytes, length)) return TAMIS_E_FORMAT;
    if (length < 16) return TAMIS_E_TRUNCATED;
    if (tamis__load32(bytes + 8) > VERSION) return TAMIS_E_VERSION;
    if (length < TAMIS__HEADER_BYTES) return TAMIS_E_TRUNCATED;
    if (tamis__xxh3(bytes, AT_HEADER_SUM, 0) != tamis__load64(bytes + AT_HEADER_SUM)) {
        return TAMIS_E_CHECKSUM;
    }
    if (tamis__load32(bytes + 8) == 0 || tamis__load32(bytes + 12) != TAMIS__HEADER_BYTES) {
        return TAMIS_E_CORRUPT;
    }
    *table_bytes = tamis__native_table_bytes(bytes);
    if (*table_bytes % 8 != 0) return TAMIS_E_CORRUPT;
    const uint64_t size = tamis__native_size(*table_bytes);
    return length < size ? TAMIS_E_TRUNCATED : length > size ? TAMIS_E_TRAILING : TAMIS_OK;
}

/* The header, copied once and then checked: another process may change the bytes. */
static tamis_status copy_header(const uint8_t *bytes, uint64_t length,
                                uint8_t header[TAMIS__HEADER_BYTES]) {
    uint64_t table_bytes;
    const uint64_t present = length < TAMIS__HEADER_BYTES ? length : TAMIS__HEADER_BYTES;
    tamis__copy_once(header, bytes, (size_t)present);
    return tamis__native_frame(header, length, &table_bytes);
}

tamis_status tamis__native_verify(const uint8_t *bytes, uint64_t length) {
    uint8_t header[TAMIS__HEADER_BYTES];
    const tamis_status status = copy_header(bytes, length, header);
    return status == TAMIS_OK ? verify_table(header, bytes + TAMIS__HEADER_BYTES, 1) : status;
}

static bool form_is_sane(const tamis_key_form *form) {
    const uint32_t known = TAMIS__KEY_FLAGS;
    if ((form->flags & ~known) != 0 || form->type > TAMIS_KEY_F64) return false;
    if (form->separator_length > TAMIS_SEPARATOR_MAX) return false;
    for (int i = form->separator_length; i < TAMIS_SEPARATOR_MAX; i++) {
        if (form->separator[i] != 0) return false;
    }
    return true;
}

/* A compatible format's layout has a compatible format's hash, and vice versa. */
static bool hasher_is_sane(const struct header *h) {
    if (h->shape.layout == 0) return h->hasher <= TAMIS_HASH_NONE && h->compat == 0;
    return h->hasher == TAMIS_HASH_COMPAT && tamis__compat_hash_of(h->compat) != NULL;
}

static bool fpr_is_sane(const struct header *h, double fpr) {
    return (fpr > 0 && fpr < 1) || (h->shape.layout != 0 && h->fpr_bits == 0);
}

static bool header_is_sane(const struct header *h, const struct tamis__family *family, double fpr) {
    return h->zeros == 0 && h->piece_lg == PIECE_LG && hasher_is_sane(h) &&
           (h->key_id == 0 || h->hasher == TAMIS_HASH_SIP24) &&
           (h->seed == 0 || h->hasher != TAMIS_HASH_SIP24) && form_is_sane(&h->form) &&
           fpr_is_sane(h, fpr) && family->check(&h->shape);
}

static tamis_status read_hashing(const struct header *h, const uint8_t *secret,
                                 struct tamis__hashing *hashing) {
    if (h->hasher == TAMIS_HASH_COMPAT) {
        tamis__hashing_compat(hashing, tamis__compat_hash_of(h->compat), h->seed);
        return TAMIS_OK;
    }
    if (h->hasher != TAMIS_HASH_SIP24) {
        tamis__hashing_init(hashing, (tamis_hasher)h->hasher, h->seed, NULL);
        return TAMIS_OK;
    }
    if (secret == NULL) return TAMIS_E_SECRET;
    tamis__hashing_init(hashing, TAMIS_HASH_SIP24, 0, secret);
    return hashing->key_id == h->key_id ? TAMIS_OK : TAMIS_E_WRONG_SECRET;
}

static const struct tamis__family *family_of(const struct header *h) {
    const tamis_kind kind = (tamis_kind)h->kind;
    return h->shape.layout == 0 ? tamis__family_of(kind)
                                : tamis__compat_family_of(kind, h->shape.layout);
}

/* How the table is verified.  A family that cannot say what a query touches needs all of it. */
static tamis_verification verification(const tamis_open_options *options,
                                       const struct tamis__family *family) {
    const bool whole = options->verify == TAMIS_VERIFY_DEFAULT ||
                       (options->verify == TAMIS_VERIFY_TOUCHED && family->touches == NULL);
    return whole ? TAMIS_VERIFY_ALL : options->verify;
}

/* The filter, of a table that is verified as it should be when it is opened. */
static tamis_status make(const struct header *h, uint32_t version,
                         const struct tamis__contents *contents,
                         const struct tamis__settings *settings, tamis_filter **out) {
    struct tamis__settings own = *settings;
    own.form = h->form;
    const tamis_status status = tamis__filter_make(contents, &own, out);
    if (status != TAMIS_OK || tamis__filter_version(*out) == version) return status;
    tamis__filter_free(*out);
    *out = NULL;
    return TAMIS_E_CORRUPT;
}

/* A damaged table may be inconsistent: then its checksums are the better reason. */
static tamis_status reason_of(tamis_status status, const uint8_t header[TAMIS__HEADER_BYTES],
                              const uint8_t *table, const tamis_open_options *options) {
    if (status != TAMIS_E_CORRUPT || options->verify != TAMIS_VERIFY_TOUCHED) return status;
    return verify_table(header, table, options->threads) == TAMIS_OK ? status : TAMIS_E_CHECKSUM;
}

static tamis_status attach_touched(tamis_filter **f, unsigned threads) {
    const tamis_status status = tamis__touched_attach(*f, threads);
    if (status == TAMIS_OK) return TAMIS_OK;
    tamis__filter_free(*f);
    *f = NULL;
    return status;
}

tamis_status tamis__native_open(const uint8_t *bytes, uint64_t length,
                                const struct tamis__settings *settings,
                                const tamis_open_options *options, tamis_filter **out) {
    uint8_t header[TAMIS__HEADER_BYTES];
    tamis_status status = copy_header(bytes, length, header);
    if (status != TAMIS_OK) return status;
    const uint8_t *table = bytes + TAMIS__HEADER_BYTES;
    struct header h;
    read_header(header, &h);
    const double fpr = tamis__bits_double(h.fpr_bits);
    const struct tamis__family *family = family_of(&h);
    if (family == NULL || !header_is_sane(&h, family, fpr)) return TAMIS_E_CORRUPT;
    if (settings->shared && (family->caps & TAMIS_CAN_SHARE) == 0) return TAMIS_E_UNSUPPORTED;
    struct tamis__contents contents = {.family = family,
                                       .shape = h.shape,
                                       .capacity = h.capacity,
                                       .fpr = fpr,
                                       .adds = h.adds,
                                       .table = table};
    const tamis_verification verify = verification(options, family);
    if (verify == TAMIS_VERIFY_ALL) status = verify_table(header, table, options->threads);
    if (verify == TAMIS_VERIFY_TOUCHED) status = verify_sums(header, table);
    if (status == TAMIS_OK) status = read_hashing(&h, options->secret, &contents.hashing);
    if (status == TAMIS_OK) status = make(&h, tamis__load32(header + 8), &contents, settings, out);
    if (status != TAMIS_OK) return reason_of(status, header, table, options);
    (*out)->unverified = verify != TAMIS_VERIFY_ALL;
    return verify == TAMIS_VERIFY_TOUCHED ? attach_touched(out, options->threads) : TAMIS_OK;
}

/* Everything except the data that another system's file has besides its filter. */
static const char *native_reason(const struct tamis__codec *codec, const tamis_filter *f) {
    (void)codec;
    return f->extra_bytes == 0 ? NULL : "a .tamis file cannot store the data attached to it";
}

const struct tamis__codec tamis__native = {
    .name = "tamis",
    .about = "the .tamis format",
    .reason = native_reason,
    .detect = native_detect,
    .encoded_size = native_encoded_size,
    .encode = native_encode,
};
