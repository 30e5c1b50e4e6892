/* redis_dump.c - RedisBloom's filters as Redis's DUMP gives them and RESTORE takes them
 *
 *     07                      a module's value
 *     81 u64be                module id: nine characters of six bits, then ten of version
 *     values                  each after its opcode: 2 unsigned, 4 double, 5 string
 *     00                      end of the value
 *     u16le                   version of RDB
 *     u64le                   CRC-64 of all before
 *
 *     MBbloom--   keys, links, options, growth; for each link: entries, error, hashes, bits per
 *                 entry, bits, n2, string of the bits, keys
 *     MBbloomCF   sub-filters, buckets, items, deletes, bucket size, iterations, expansion; for
 *                 each sub-filter: buckets, string of the slots
 *
 * Numbers have Redis's variable lengths; strings may be compressed (LZF).  Follows RedisBloom
 * 2.8.20 in Redis 7.0.15 (version 4 of both types) and reads the older ones, too.
 *
 * Quirks
 *   - Strings are written as they are, not compressed: RESTORE takes them, and a DUMP after it
 *     gives the very bytes that Redis itself would have written.
 *   - The table is made, not borrowed: its header is put together as SCANDUMP has it. */
#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "core/crc.h"
#include "family/chain_link.h"
#include "family/scheme.h"
#include "format/lzf.h"
#include "format/redisbloom.h"

#define MODULE 7
#define FOOTER 10
#define RDB_VERSION 10
#define VERSION 4

/* "MBbloom--" and "MBbloomCF" in base 64, without the version. */
#define BLOOM_ID UINT64_C(0x3016e5a289bef800)
#define CUCKOO_ID UINT64_C(0x3016e5a289821400)

enum { OP_END = 0, OP_UNSIGNED = 2, OP_DOUBLE = 4, OP_STRING = 5 };

/* ---- Redis's numbers and strings */

/* The upper two bits tell how long a number is; 3 is a string in another encoding. */
static uint64_t read_length(struct tamis__reader *r, bool *special) {
    const uint8_t first = tamis__read8(r);
    const uint8_t *p;
    *special = first >> 6 == 3;
    switch (first >> 6) {
        case 0:
        case 3:
            return first & 63;
        case 1:
            return (uint64_t)(first & 63) << 8 | tamis__read8(r);
        default:
            if (first != 0x80 && first != 0x81) r->bad = true;
            p = tamis__read_bytes(r, first == 0x80 ? 4 : 8);
            return p == NULL ? 0 : first == 0x80 ? tamis__load32_be(p) : tamis__load64_be(p);
    }
}

static uint64_t read_plain(struct tamis__reader *r) {
    bool special;
    const uint64_t value = read_length(r, &special);
    if (special) r->bad = true;
    return value;
}

static uint64_t read_unsigned(struct tamis__reader *r) {
    if (read_plain(r) != OP_UNSIGNED) r->bad = true;
    return read_plain(r);
}

/* As its bits. */
static uint64_t read_double(struct tamis__reader *r) {
    if (read_plain(r) != OP_DOUBLE) r->bad = true;
    return tamis__read64(r);
}

struct string {
    const uint8_t *bytes;
    uint64_t packed; /* its length in the payload */
    uint64_t length;
    bool compressed;
};

/* Short decimal numbers have encodings of their own, but they are no bit arrays. */
static struct string read_string(struct tamis__reader *r) {
    struct string s = {NULL, 0, 0, false};
    if (read_plain(r) != OP_STRING) r->bad = true;
    const uint64_t length = read_length(r, &s.compressed);
    if (s.compressed && length != 3) r->bad = true;
    s.packed = s.compressed ? read_plain(r) : length;
    s.length = s.compressed ? read_plain(r) : length;
    if (r->bad || s.packed > (uint64_t)(r->end - r->at)) r->bad = true;
    s.bytes = r->bad ? NULL : tamis__read_bytes(r, (size_t)s.packed);
    if (s.bytes != NULL && s.compressed && !tamis__lzf_unpack(s.bytes, s.packed, NULL, s.length)) {
        r->bad = true;
    }
    if (r->bad) s.length = 0;
    return s;
}

static void copy_string(const struct string *s, uint8_t *to) {
    if (s->compressed) {
        (void)tamis__lzf_unpack(s->bytes, s->packed, to, s->length);
    } else if (s->length != 0) {
        memcpy(to, s->bytes, (size_t)s->length);
    }
}

/* ---- reading: the same walk twice, first to measure, then to write the table */

struct target {
    struct tamis__writer header; /* bad on the first walk, when there is no room at all */
    uint8_t *data;               /* NULL on the first walk */
    uint64_t bytes;              /* of data */
    uint64_t parts;              /* links or sub-filters */
    uint64_t added;
    uint32_t options;
};

static void take_string(struct target *t, const struct string *s) {
    if (t->data != NULL) copy_string(s, t->data + t->bytes);
    t->bytes += s->length;
}

static void walk_link(struct tamis__reader *r, unsigned version, struct target *t) {
    const uint64_t entries = read_unsigned(r), error = read_double(r), hashes = read_unsigned(r);
    const uint64_t per_entry = read_double(r);
    uint64_t bits = version == 0 ? 0 : read_unsigned(r);
    const uint64_t n2 = version == 0 ? 0 : read_unsigned(r);
    const struct string s = read_string(r);
    if (version == 0) bits = s.length * 8;
    const uint64_t size = read_unsigned(r);
    if (n2 > UINT8_MAX || hashes > UINT32_MAX) r->bad = true;
    tamis__write64(&t->header, s.length);
    tamis__write64(&t->header, bits);
    tamis__write64(&t->header, size);
    tamis__write64(&t->header, error);
    tamis__write64(&t->header, per_entry);
    tamis__write32(&t->header, (uint32_t)hashes);
    tamis__write64(&t->header, entries);
    tamis__write8(&t->header, (uint8_t)n2);
    take_string(t, &s);
}

static void walk_chain(struct tamis__reader *r, unsigned version, struct target *t) {
    t->added = read_unsigned(r);
    t->parts = read_unsigned(r);
    const uint64_t options = version < 2 ? 0 : read_unsigned(r);
    const uint64_t growth = version < 4 ? 2 : read_unsigned(r);
    if (t->parts > (uint64_t)(r->end - r->at) || options > UINT32_MAX || growth > UINT32_MAX) {
        r->bad = true;
    }
    t->options = (uint32_t)options;
    tamis__write64(&t->header, t->added);
    tamis__write32(&t->header, (uint32_t)t->parts);
    tamis__write32(&t->header, t->options);
    tamis__write32(&t->header, (uint32_t)growth);
    for (uint64_t i = 0; i < t->parts && !r->bad; i++) walk_link(r, version, t);
}

/* Versions before 4 know one size of sub-filter and nothing to choose. */
static void walk_cuckoo(struct tamis__reader *r, unsigned version, struct target *t) {
    const bool old = version < 4;
    t->parts = read_unsigned(r);
    uint64_t buckets = read_unsigned(r);
    t->added = read_unsigned(r);
    const uint64_t deletes = old ? 0 : read_unsigned(r);
    const uint64_t size = old ? 2 : read_unsigned(r), iterations = old ? 20 : read_unsigned(r);
    const uint64_t expansion = old ? 1 : read_unsigned(r);
    if (t->parts > (uint64_t)(r->end - r->at) || size > UINT16_MAX || iterations > UINT16_MAX ||
        expansion > UINT16_MAX) {
        r->bad = true;
    }
    tamis__write64(&t->header, t->added);
    tamis__write64(&t->header, buckets);
    tamis__write64(&t->header, deletes);
    tamis__write64(&t->header, t->parts);
    tamis__write16(&t->header, (uint16_t)size);
    tamis__write16(&t->header, (uint16_t)iterations);
    tamis__write16(&t->header, (uint16_t)expansion);
    for (uint64_t i = 0; i < t->parts && !r->bad; i++, buckets *= expansion) {
        const uint64_t own = old ? buckets : read_unsigned(r);
        const struct string s = read_string(r);
        if (own != buckets) r->bad = true;
        take_string(t, &s);
        if (buckets > UINT64_MAX >> 16) r->bad = true;
    }
}

struct payload {
    bool chain;
    unsigned version;
    struct tamis__reader values;
};

static void walk(const struct payload *p, struct target *t, struct tamis__reader *r) {
    *r = p->values;
    if (p->chain) {
        walk_chain(r, p->version, t);
    } else {
        walk_cuckoo(r, p->version, t);
    }
    if (read_plain(r) != OP_END || r->at != r->end) r->bad = true;
}

static tamis_status open_payload(const uint8_t *bytes, uint64_t length, struct payload *p) {
    if (length < 2) return TAMIS_E_TRUNCATED;
    if (bytes[0] != MODULE || bytes[1] != 0x81) return TAMIS_E_FORMAT;
    if (length < 10 + FOOTER) return TAMIS_E_TRUNCATED;
    const uint64_t id = tamis__load64_be(bytes + 2);
    p->chain = (id & ~UINT64_C(1023)) == BLOOM_ID;
    if (!p->chain && (id & ~UINT64_C(1023)) != CUCKOO_ID) return TAMIS_E_FORMAT;
    p->version = (unsigned)(id & 1023);
    if (p->version > VERSION) return TAMIS_E_VERSION;
    const uint8_t *end = bytes + length;
    if (tamis__crc64(0, bytes, (size_t)(length - 8)) != tamis__load64(end - 8)) {
        return TAMIS_E_CHECKSUM;
    }
    p->values = (struct tamis__reader){bytes + 10, end - FOOTER, false};
    return TAMIS_OK;
}

static uint64_t header_bytes(const struct payload *p, uint64_t parts) {
    return p->chain ? TAMIS__CHAIN_HEADER + parts * TAMIS__CHAIN_LINK : TAMIS__SUBTABLES_HEADER;
}

static tamis_status dump_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                const tamis_open_options *options, tamis_filter **out) {
    struct payload p;
    struct tamis__reader r;
    struct tamis__image image;
    const tamis_status status = open_payload(bytes, length, &p);
    (void)options;
    if (status != TAMIS_OK) return status;
    struct target measure = {.header = {.bad = true}};
    walk(&p, &measure, &r);
    if (r.bad) return TAMIS_E_CORRUPT;
    const uint64_t header = header_bytes(&p, measure.parts);
    if (measure.bytes > UINT64_MAX / 4) return TAMIS_E_CORRUPT;
    tamis__redis_image(p.chain ? TAMIS__SCHEME_CHAIN : TAMIS__SCHEME_SUBTABLES, measure.options,
                       header + measure.bytes, &image);
    image.adds = measure.added;
    image.made = tamis__table_alloc(&like->allocator, image.shape.table_bytes);
    if (image.made == NULL) return TAMIS_E_NOMEM;
    struct target fill = {.header = {image.made, image.made + header, false},
                          .data = image.made + header};
    walk(&p, &fill, &r);
    return tamis__image_open(&image, like, out);
}

static enum tamis__likeness dump_detect(const uint8_t *bytes, uint64_t length) {
    struct payload p;
    return open_payload(bytes, length, &p) == TAMIS_OK ? TAMIS__SURE : TAMIS__NOT;
}

/* ---- writing: measured with a writer without room, which only counts */

struct sink {
    uint8_t *at; /* NULL: count only */
    uint64_t bytes;
};

static void put(struct sink *s, const void *bytes, uint64_t length) {
    if (s->at != NULL) memcpy(s->at + s->bytes, bytes, (size_t)length);
    s->bytes += length;
}

static void put_length(struct sink *s, uint64_t value) {
    uint8_t bytes[9] = {(uint8_t)value};
    size_t length = 1;
    if (value >= 64 && value < 16384) {
        bytes[0] = (uint8_t)(0x40 | value >> 8);
        bytes[1] = (uint8_t)value;
        length = 2;
    } else if (value >= 16384 && value <= UINT32_MAX) {
        bytes[0] = 0x80;
        tamis__store32_be(bytes + 1, (uint32_t)value);
        length = 5;
    } else if (value > UINT32_MAX) {
        bytes[0] = 0x81;
        tamis__store64_be(bytes + 1, value);
        length = 9;
    }
    put(s, bytes, length);
}

static void put_unsigned(struct sink *s, uint64_t value) {
    put_length(s, OP_UNSIGNED);
    put_length(s, value);
}

static void put_double(struct sink *s, uint64_t bits) {
    uint8_t bytes[8];
    put_length(s, OP_DOUBLE);
    tamis__store64(bytes, bits);
    put(s, bytes, sizeof bytes);
}

static void put_string(struct sink *s, const uint8_t *bytes, uint64_t length) {
    put_length(s, OP_STRING);
    put_length(s, length);
    put(s, bytes, length);
}

static void put_chain(struct sink *s, const tamis_filter *f) {
    uint8_t header[TAMIS__CHAIN_HEADER], link[TAMIS__CHAIN_LINK];
    tamis__chain_header(f, header);
    const uint32_t links = tamis__load32(header + 8);
    put_unsigned(s, tamis__load64(header));
    put_unsigned(s, links);
    put_unsigned(s, tamis__load32(header + 12));
    put_unsigned(s, tamis__load32(header + 16));
    for (uint32_t i = 0; i < links; i++) {
        const uint8_t *data = tamis__chain_link_at(f, i, link);
        put_unsigned(s, tamis__load64(link + 44));
        put_double(s, tamis__load64(link + 24));
        put_unsigned(s, tamis__load32(link + 40));
        put_double(s, tamis__load64(link + 32));
        put_unsigned(s, tamis__load64(link + 8));
        put_unsigned(s, link[52]);
        put_string(s, data, tamis__load64(link));
        put_unsigned(s, tamis__load64(link + 16));
    }
}

static void put_cuckoo(struct sink *s, const tamis_filter *f) {
    uint8_t header[TAMIS__SUBTABLES_HEADER];
    tamis__subtables_header(f, header);
    const uint64_t tables = tamis__load64(header + 24), size = tamis__load16(header + 32);
    put_unsigned(s, tables);
    put_unsigned(s, tamis__load64(header + 8));
    put_unsigned(s, tamis__load64(header));
    put_unsigned(s, tamis__load64(header + 16));
    put_unsigned(s, size);
    put_unsigned(s, tamis__load16(header + 34));
    put_unsigned(s, tamis__load16(header + 36));
    for (uint64_t i = 0; i < tables; i++) {
        uint64_t buckets;
        const uint8_t *slots = tamis__subtable_at(f, (size_t)i, &buckets);
        put_unsigned(s, buckets);
        put_string(s, slots, buckets * size);
    }
}

static void put_payload(struct sink *s, const tamis_filter *f) {
    const bool chain = f->shape.scheme == TAMIS__SCHEME_CHAIN;
    uint8_t bytes[10] = {MODULE, 0x81};
    tamis__store64_be(bytes + 2, (chain ? BLOOM_ID : CUCKOO_ID) | VERSION);
    put(s, bytes, sizeof bytes);
    if (chain) {
        put_chain(s, f);
    } else {
        put_cuckoo(s, f);
    }
    put_length(s, OP_END);
    tamis__store16(bytes, RDB_VERSION);
    put(s, bytes, 2);
    const uint64_t crc = s->at == NULL ? 0 : tamis__crc64(0, s->at, (size_t)s->bytes);
    tamis__store64(bytes, crc);
    put(s, bytes, 8);
}

/* Whoever asks how long the encoding is may not have the memory for it: nothing is allocated. */
static uint64_t dump_encoded_size(const tamis_filter *f) {
    struct sink s = {NULL, 0};
    put_payload(&s, f);
    return s.bytes;
}

static tamis_status dump_encode(const tamis_filter *f, uint8_t *buffer) {
    struct sink s = {buffer, 0};
    put_payload(&s, f);
    return TAMIS_OK;
}

const struct tamis__codec tamis__redisbloom_dump = {
    .name = "redisbloom-dump",
    .about = "RedisBloom filter, Bloom or cuckoo: payload of DUMP and RESTORE",
    .parameters = "expansion,nonscaling,cuckoo,bucket,iterations",
    .detect = dump_detect,
    .decode = dump_decode,
    .encoded_size = dump_encoded_size,
    .encode = dump_encode,
    .make = tamis__redis_make,
    .refuse = tamis__redis_refuse,
};
