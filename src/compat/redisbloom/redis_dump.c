/* redis_dump.c - RedisBloom's filters as payloads of DUMP and RESTORE
 *
 *     07                      a module's value
 *     81 u64be                module id: nine characters of six bits, then ten of version
 *     values                  each after its opcode: 2 unsigned, 4 double, 5 string
 *     00                      end of the value
 *     u16le                   version of RDB
 *     u64le                   CRC-64 of all before
 *
 *     MBbloom--   keys, sub-filters, options, growth; for each: entries, error, hashes, bits per
 *                 entry, bits, n2, string of the bits, keys
 *     MBbloomCF   sub-filters, buckets, items, deletes, bucket size, iterations, expansion; for
 *                 each sub-filter: buckets, string of the slots
 *
 * Numbers have Redis's variable lengths; strings may be compressed (LZF).  Follows RedisBloom
 * 2.8.20 in Redis 7.0.15 (version 4 of both types) and reads the older ones, too.
 *
 * Quirks
 *   - Strings are written uncompressed: RESTORE takes them, and a DUMP after it returns the bytes
 *     that Redis writes.
 *   - The table is made, not borrowed: its header is SCANDUMP's. */
#include <string.h>

#include "compat/common/crc.h"
#include "compat/redisbloom/redisbloom.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "filter/codec.h"

#define MODULE 7
#define FOOTER 10
#define RDB_VERSION 10
#define VERSION 4

/* "MBbloom--" and "MBbloomCF" in base 64, without the version. */
#define BLOOM_ID UINT64_C(0x3016e5a289bef800)
#define CUCKOO_ID UINT64_C(0x3016e5a289821400)

enum { OP_END = 0, OP_UNSIGNED = 2, OP_DOUBLE = 4, OP_STRING = 5 };

/* ---- Redis's numbers and strings */

/* The upper two bits are the length of a number; 3 is a string in another encoding. */
static uint64_t read_length(struct tamis__reader *r, bool *special) {
    const uint8_t first = tamis__read8(r);
    *special = first >> 6 == 3;
    switch (first >> 6) {
        case 0:
        case 3:
            return first & 63;
        case 1:
            return (uint64_t)(first & 63) << 8 | tamis__read8(r);
        default:
            if (first != 0x80 && first != 0x81) r->bad = true;
            return first == 0x80 ? tamis__read32_be(r) : tamis__read64_be(r);
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

static double read_double(struct tamis__reader *r) {
    if (read_plain(r) != OP_DOUBLE) r->bad = true;
    return tamis__bits_double(tamis__read64(r));
}

/* A number of at most `max`; more is bad. */
static uint64_t read_up_to(struct tamis__reader *r, uint64_t max) {
    const uint64_t value = read_unsigned(r);
    if (value > max) r->bad = true;
    return value;
}

#define LZF_EXPANSION_MAX 88 /* three bytes copy up to 264 */

/* LZF.  A byte below 32 is followed by that many literal bytes and one more.  Any other begins a
 * copy of what came before: three bits of length (7: a byte of length follows), thirteen of
 * distance.  `out` has room for `size` bytes.  false if the bytes are not LZF or do not give just
 * `size` bytes. */
static bool lzf_unpack(struct tamis__reader r, uint8_t *out, uint64_t size) {
    uint64_t at = 0;
    while (!r.bad && r.at < r.end) {
        const unsigned control = tamis__read8(&r);
        uint64_t run = control + 1;
        if (control < 32) {
            if (run > size - at) return false;
            tamis__read_copy(&r, out + at, (size_t)run);
            at += run;
            continue;
        }
        run = control >> 5;
        if (run == 7) run += tamis__read8(&r);
        const uint64_t back = ((uint64_t)(control & 31) << 8 | tamis__read8(&r)) + 1;
        run += 2;
        if (back > at || run > size - at) return false;
        /* Byte by byte: a copy may run into what it has just written. */
        for (uint64_t i = 0; i < run; i++) out[at + i] = out[at + i - back];
        at += run;
    }
    return !r.bad && at == size;
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
    if (s.length / LZF_EXPANSION_MAX > s.packed) r->bad = true;
    s.bytes = r->bad ? NULL : tamis__read_bytes(r, (size_t)s.packed);
    return r->bad ? (struct string){NULL, 0, 0, false} : s;
}

/* ---- reading: the same walk twice, first to measure, then to write the table
 *
 * The bytes may change in between.  So the second walk writes no more than the first one measured,
 * and what it wrote is checked when the table is attached. */

struct target {
    struct tamis__writer header, data; /* bad on the first walk, when there is no room at all */
    uint64_t bytes;                    /* of data */
    struct tamis__redisbloom filter;   /* its numbers */
};

static void take_string(struct target *t, const struct string *s) {
    struct tamis__writer *w = &t->data;
    t->bytes += s->length;
    if (!s->compressed) {
        tamis__write_bytes(w, s->bytes, (size_t)s->length);
        return;
    }
    const struct tamis__reader packed = {s->bytes, s->bytes + s->packed, false};
    if (!w->bad && s->length <= (uint64_t)(w->end - w->at) &&
        lzf_unpack(packed, w->at, s->length)) {
        w->at += s->length;
    } else {
        w->bad = true;
    }
}

/* Is all of it written? */
static bool is_filled(const struct target *t) {
    return !t->header.bad && t->header.at == t->header.end && !t->data.bad &&
           t->data.at == t->data.end;
}

/* The first encoding leaves the number of bits to its reader. */
static uint64_t bits_of(uint64_t entries, double per_entry) {
    const double bits = (double)entries * per_entry;
    return bits >= 0 && bits < 0x1p63 ? (uint64_t)bits : 0;
}

static void walk_sub(struct tamis__reader *r, unsigned version, struct target *t) {
    struct tamis__subfilter sub = {.entries = read_unsigned(r)};
    sub.error = read_double(r);
    sub.hashes = (uint32_t)read_up_to(r, UINT32_MAX);
    sub.per_entry = read_double(r);
    sub.bits = version == 0 ? bits_of(sub.entries, sub.per_entry) : read_unsigned(r);
    sub.n2 = version == 0 ? 0 : (uint8_t)read_up_to(r, UINT8_MAX);
    const struct string s = read_string(r);
    sub.size = read_unsigned(r);
    sub.bytes = s.length;
    tamis__chain_write_sub(&t->header, &sub);
    take_string(t, &s);
}

static void walk_chain(struct tamis__reader *r, unsigned version, struct target *t) {
    struct tamis__redisbloom *c = &t->filter;
    c->items = read_unsigned(r);
    c->count = (size_t)read_up_to(r, (uint64_t)(r->end - r->at));
    c->options = version < 2 ? 0 : (uint32_t)read_up_to(r, UINT32_MAX);
    c->growth = version < 4 ? 2 : (uint32_t)read_up_to(r, UINT32_MAX);
    tamis__chain_write(&t->header, c);
    for (size_t i = 0; i < c->count && !r->bad; i++) walk_sub(r, version, t);
}

/* Before version 4 all sub-filters have one size, and there are no parameters. */
static void walk_cuckoo(struct tamis__reader *r, unsigned version, struct target *t) {
    const bool old = version < 4;
    struct tamis__redisbloom *c = &t->filter;
    c->count = (size_t)read_up_to(r, (uint64_t)(r->end - r->at));
    c->buckets = read_unsigned(r);
    c->items = read_unsigned(r);
    c->deletes = old ? 0 : read_unsigned(r);
    c->bucket_size = old ? 2 : (uint16_t)read_up_to(r, UINT16_MAX);
    c->iterations = old ? 20 : (uint16_t)read_up_to(r, UINT16_MAX);
    c->expansion = old ? 1 : (uint16_t)read_up_to(r, UINT16_MAX);
    tamis__cuckoo_write(&t->header, c);
    uint64_t buckets = c->buckets;
    for (size_t i = 0; i < c->count && !r->bad; i++, buckets *= c->expansion) {
        const uint64_t own = old ? buckets : read_unsigned(r);
        const struct string s = read_string(r);
        if (own != buckets || buckets > UINT64_MAX >> 16) r->bad = true;
        take_string(t, &s);
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

static tamis_status dump_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    struct payload p;
    struct tamis__reader r;
    struct tamis__contents *contents = &d->contents;
    const tamis_status status = open_payload(bytes, length, &p);
    if (status != TAMIS_OK) return status;
    struct target measure = {.header = {.bad = true}, .data = {.bad = true}};
    walk(&p, &measure, &r);
    if (r.bad) return TAMIS_E_CORRUPT;
    const uint64_t subs = measure.filter.count;
    const uint64_t header =
        p.chain ? TAMIS__CHAIN_HEADER + subs * TAMIS__CHAIN_SUB : TAMIS__CUCKOO_HEADER;
    const uint64_t size = header + measure.bytes;
    tamis__redis_contents(p.chain, measure.filter.options, size, contents);
    contents->adds = measure.filter.items;
    uint8_t *table = contents->made = tamis__table_alloc(&d->allocator, size);
    if (table == NULL) return TAMIS_E_NOMEM;
    struct target fill = {.header = {table, table + header, false},
                          .data = {table + header, table + size, false}};
    walk(&p, &fill, &r);
    if (!r.bad && is_filled(&fill)) return TAMIS_OK;
    tamis__table_free(&d->allocator, table, size);
    return TAMIS_E_CORRUPT;
}

static enum tamis__detection dump_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                         uint64_t length) {
    struct payload p;
    (void)codec;
    return open_payload(bytes, length, &p) == TAMIS_OK ? TAMIS__CERTAIN : TAMIS__NO_MATCH;
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

static void put_double(struct sink *s, double value) {
    uint8_t bytes[8];
    put_length(s, OP_DOUBLE);
    tamis__store64(bytes, tamis__double_bits(value));
    put(s, bytes, sizeof bytes);
}

static void put_string(struct sink *s, const uint8_t *bytes, uint64_t length) {
    put_length(s, OP_STRING);
    put_length(s, length);
    put(s, bytes, length);
}

static void put_chain(struct sink *s, const struct tamis__redisbloom *c) {
    put_unsigned(s, c->items);
    put_unsigned(s, c->count);
    put_unsigned(s, c->options);
    put_unsigned(s, c->growth);
    for (size_t i = 0; i < c->count; i++) {
        const struct tamis__subfilter *t = &c->sub[i];
        put_unsigned(s, t->entries);
        put_double(s, t->error);
        put_unsigned(s, t->hashes);
        put_double(s, t->per_entry);
        put_unsigned(s, t->bits);
        put_unsigned(s, t->n2);
        put_string(s, t->data, t->bytes);
        put_unsigned(s, t->size);
    }
}

static void put_cuckoo(struct sink *s, const struct tamis__redisbloom *c) {
    put_unsigned(s, c->count);
    put_unsigned(s, c->buckets);
    put_unsigned(s, c->items);
    put_unsigned(s, c->deletes);
    put_unsigned(s, c->bucket_size);
    put_unsigned(s, c->iterations);
    put_unsigned(s, c->expansion);
    for (size_t i = 0; i < c->count; i++) {
        put_unsigned(s, c->sub[i].buckets);
        put_string(s, c->sub[i].data, c->sub[i].bytes);
    }
}

static void put_payload(struct sink *s, const tamis_filter *f) {
    const bool chain = f->family == &tamis__growing_compat;
    uint8_t bytes[10] = {MODULE, 0x81};
    tamis__store64_be(bytes + 2, (chain ? BLOOM_ID : CUCKOO_ID) | VERSION);
    put(s, bytes, sizeof bytes);
    if (chain) {
        put_chain(s, tamis__const_subs(f));
    } else {
        put_cuckoo(s, tamis__const_subs(f));
    }
    put_length(s, OP_END);
    tamis__store16(bytes, RDB_VERSION);
    put(s, bytes, 2);
    const uint64_t crc = s->at == NULL ? 0 : tamis__crc64(0, s->at, (size_t)s->bytes);
    tamis__store64(bytes, crc);
    put(s, bytes, 8);
}

/* Does not allocate. */
static uint64_t dump_encoded_size(const tamis_filter *f) {
    struct sink s = {NULL, 0};
    put_payload(&s, f);
    return s.bytes;
}

static void dump_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    struct sink s = {buffer, 0};
    put_payload(&s, f);
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
    .reason = tamis__redis_reason,
};
