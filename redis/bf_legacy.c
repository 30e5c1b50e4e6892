/* bf_legacy.c - a Bloom filter that RedisBloom made, as it made it
 *
 * A chain of links, each `growth` times as large as the one before and with half its error.  A
 * key that no link has is added to the newest, or to a new one if that has as many items as it
 * was made for.
 *
 *     bit i of a key = (a + i b) mod bits,   a = MurmurHash64A(key, fixed seed),
 *                                            b = MurmurHash64A(key, a)
 *
 * The oldest filters (no FORCE64) hash to 32 bits and have powers of two of bits.
 *
 * Everything here is what RedisBloom would have done, so that a data set can be moved over and
 * back: sizes, growth, the bytes of chunks and of RDB.  What differs is what is believed: no
 * header, chunk or RDB is taken unless all of its numbers make sense together, and nothing is
 * allocated for a number that nobody has checked. */
#include "bf_legacy.h"

#include <math.h>
#include <string.h>

#include "legacy_hash.h"
#include "memory.h"
#include "wire.h"

#define SEED64 UINT64_C(0xc6a4a7935bd1e995)
#define SEED32 UINT32_C(0x9747b28c)
#define LN2_SQUARED 0.480453013918201
#define LN2 0.693147180559945
#define HEADER_BYTES 20
#define LINK_BYTES 53
#define LINKS_MOST 8192
#define HASHES_MOST 1100 /* that many belong to the smallest error above 0 */
#define GROWTH_MOST 32768
#define BYTES_MOST ((uint64_t)1 << 36)   /* of all links */
#define ENTRIES_MOST ((uint64_t)1 << 50) /* of one: in all links they are still a number */

/* ---- life */

static struct bf_legacy *legacy_new(uint32_t links) {
    struct bf_legacy *f = memory_zeroed(sizeof *f);
    if (f == NULL) return NULL;
    f->link = memory_zeroed(links * sizeof *f->link);
    if (f->link == NULL) {
        memory_free(f);
        return NULL;
    }
    return f;
}

void bf_legacy_free(struct bf_legacy *f) {
    if (f == NULL) return;
    for (uint32_t i = 0; i < f->links; i++) blocks_close(&f->link[i].data);
    memory_free(f->link);
    memory_free(f);
}

struct bf_legacy *bf_legacy_copy(const struct bf_legacy *from) {
    struct bf_legacy *f = legacy_new(from->links);
    if (f == NULL) return NULL;
    f->size = from->size;
    f->options = from->options;
    f->growth = from->growth;
    for (; f->links < from->links; f->links++) {
        struct legacy_link *l = &f->link[f->links];
        *l = from->link[f->links];
        if (!blocks_copy(&l->data, &from->link[f->links].data)) {
            bf_legacy_free(f);
            return NULL;
        }
    }
    return f;
}

size_t bf_legacy_unready(const struct bf_legacy *f, size_t items, bool change) {
    size_t unready = 0;
    for (uint32_t i = 0; i < f->links; i++) {
        const struct legacy_link *l = &f->link[i];
        unready += blocks_unready(&l->data, items * l->hashes, change);
    }
    return unready;
}

void bf_legacy_prepare(const struct bf_legacy *f) {
    for (uint32_t i = 0; i < f->links; i++) blocks_prepare(&f->link[i].data);
}

static uint64_t data_bytes(const struct bf_legacy *f) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < f->links; i++) bytes += f->link[i].bytes;
    return bytes;
}

/* As RedisBloom reckons it: BF.INFO tells the same size. */
size_t bf_legacy_bytes(const struct bf_legacy *f) {
    return 32 + 64 * (size_t)f->links + (size_t)data_bytes(f);
}

/* ---- sizes */

bool bf_legacy_size(uint64_t entries, double error, struct legacy_link *link) {
    *link = (struct legacy_link){.entries = entries, .error = error};
    link->per_entry = fabs(log(error) / LN2_SQUARED);
    const double bits = (double)entries * link->per_entry, hashes = ceil(LN2 * link->per_entry);
    if (!(bits < 9e18) || !(hashes >= 1 && hashes <= HASHES_MOST)) return false;
    const uint64_t whole = (uint64_t)bits == 0 ? 1 : (uint64_t)bits;
    link->bytes = (whole + 63) / 64 * 8;
    link->bits = link->bytes * 8;
    link->hashes = (uint32_t)hashes;
    return true;
}

/* The numbers of a link that came from outside. */
static bool link_is_sane(const struct legacy_link *l) {
    if (!(l->error > 0 && l->error < 1) || !(l->per_entry > 0 && isfinite(l->per_entry))) {
        return false;
    }
    if (l->bytes == 0 || l->bytes > BYTES_MOST || l->entries == 0 || l->entries > ENTRIES_MOST ||
        l->size > l->entries) {
        return false;
    }
    if (l->bits == 0 || l->bits > l->bytes * 8 || l->bytes > (l->bits + 63) / 64 * 8) return false;
    if (l->n2 > 60 || (l->n2 != 0 && (uint64_t)1 << l->n2 > l->bits)) return false;
    /* No link that RedisBloom made has fewer bits than its entries need. */
    if (!((double)l->entries * l->per_entry < (double)l->bits + 64)) return false;
    return l->hashes >= 1 && l->hashes <= HASHES_MOST &&
           (double)l->hashes == ceil(LN2 * l->per_entry);
}

static bool chain_is_sane(const struct bf_legacy *f, uint32_t links) {
    uint64_t items = 0;
    for (uint32_t i = 0; i < links; i++) items += f->link[i].size;
    const uint32_t known = LEGACY_NOROUND | 2 | LEGACY_FORCE64 | LEGACY_NONSCALING;
    return items == f->size && (f->options & ~known) == 0 && f->growth <= GROWTH_MOST;
}

/* ---- one key */

struct pair {
    uint64_t a, b;
};

static struct pair pair_of(const struct bf_legacy *f, const void *key, size_t length) {
    if ((f->options & LEGACY_FORCE64) != 0) {
        const uint64_t a = legacy_hash64(key, length, SEED64);
        return (struct pair){a, legacy_hash64(key, length, a)};
    }
    const uint32_t a = legacy_hash32(key, length, SEED32);
    return (struct pair){a, legacy_hash32(key, length, a)};
}

static uint64_t place_of(const struct bf_legacy *f, const struct legacy_link *l, struct pair p,
                         uint32_t i) {
    uint64_t x = p.a + i * p.b;
    if (l->n2 == 0) return x % l->bits;
    if ((f->options & LEGACY_FORCE64) == 0) x = (uint32_t)x;
    return x & (((uint64_t)1 << l->n2) - 1);
}

static bool link_contains(const struct bf_legacy *f, const struct legacy_link *l, struct pair p) {
    for (uint32_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_of(f, l, p, i);
        if ((blocks_get(&l->data, q / 8) >> (q % 8) & 1) == 0) return false;
    }
    return true;
}

/* False if there is no memory for a block: then some bits may be set, which does no harm. */
static bool link_add(const struct bf_legacy *f, struct legacy_link *l, struct pair p) {
    for (uint32_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_of(f, l, p, i);
        uint8_t *byte = blocks_at(&l->data, q / 8);
        if (byte == NULL) return false;
        *byte = (uint8_t)(*byte | 1u << (q % 8));
    }
    l->size++;
    return true;
}

static bool chain_contains(const struct bf_legacy *f, struct pair p) {
    for (uint32_t i = f->links; i-- > 0;) {
        if (link_contains(f, &f->link[i], p)) return true;
    }
    return false;
}

bool bf_legacy_contains(const struct bf_legacy *f, const void *key, size_t length) {
    return chain_contains(f, pair_of(f, key, length));
}

/* ---- adding */

/* No further than is read again. */
static bool chain_grow(struct bf_legacy *f) {
    const struct legacy_link *last = &f->link[f->links - 1];
    struct legacy_link next;
    if (f->growth == 0 || f->links == LINKS_MOST || last->entries > ENTRIES_MOST / f->growth ||
        !bf_legacy_size(last->entries * f->growth, last->error * 0.5, &next) ||
        next.bytes > BYTES_MOST - data_bytes(f)) {
        return false;
    }
    struct legacy_link *larger = memory_alloc((f->links + 1) * sizeof *larger);
    if (larger == NULL || !blocks_open(&next.data, next.bytes)) {
        memory_free(larger);
        return false;
    }
    memcpy(larger, f->link, f->links * sizeof *larger);
    memory_free(f->link);
    f->link = larger;
    f->link[f->links++] = next;
    return true;
}

enum legacy_result bf_legacy_add(struct bf_legacy *f, const void *key, size_t length) {
    const struct pair p = pair_of(f, key, length);
    const size_t failures = shared_failures();
    const bool there = chain_contains(f, p);
    if (shared_failures() != failures) return LEGACY_FAILED;
    if (there) return LEGACY_PRESENT;
    const struct legacy_link *last = &f->link[f->links - 1];
    if (last->size >= last->entries) {
        if ((f->options & LEGACY_NONSCALING) != 0) return LEGACY_FULL;
        if (!chain_grow(f)) return LEGACY_FAILED;
    }
    if (!link_add(f, &f->link[f->links - 1], p)) return LEGACY_FAILED;
    f->size++;
    return LEGACY_ADDED;
}

bool bf_legacy_merge(struct bf_legacy *into, const struct bf_legacy *from) {
    if (into->links != from->links || into->options != from->options) return false;
    for (uint32_t i = 0; i < into->links; i++) {
        const struct legacy_link *a = &into->link[i], *b = &from->link[i];
        if (a->bits != b->bits || a->hashes != b->hashes || a->n2 != b->n2 ||
            a->entries != b->entries || a->size + b->size > a->entries) {
            return false;
        }
    }
    for (uint32_t i = 0; i < into->links; i++) {
        if (!blocks_unite(&into->link[i].data, &from->link[i].data)) return false;
        into->link[i].size += from->link[i].size;
    }
    into->size += from->size;
    return true;
}

/* ---- chunks
 *
 *     header  u64 items, u32 links, u32 options, u32 growth; for each link: u64 bytes,
 *             u64 bits, u64 items, f64 error, f64 bits per entry, u32 hashes, u64 entries, u8 n2
 *     chunks  the bits of the links, at most 16 MiB at a time and never of two links at once;
 *             the iterator is 1 + the bytes up to the end of the chunk that came with it */

static uint8_t *header_chunk(const struct bf_legacy *f, size_t *length) {
    *length = HEADER_BYTES + (size_t)f->links * LINK_BYTES;
    struct wire_writer w = {.bytes = memory_alloc(*length), .capacity = *length};
    if (w.bytes == NULL) return NULL;
    wire_put64(&w, f->size);
    wire_put32(&w, f->links);
    wire_put32(&w, f->options);
    wire_put32(&w, f->growth);
    for (uint32_t i = 0; i < f->links; i++) {
        const struct legacy_link *l = &f->link[i];
        wire_put64(&w, l->bytes);
        wire_put64(&w, l->bits);
        wire_put64(&w, l->size);
        wire_put_double(&w, l->error);
        wire_put_double(&w, l->per_entry);
        wire_put32(&w, l->hashes);
        wire_put64(&w, l->entries);
        wire_put(&w, l->n2, 1);
    }
    return w.bytes;
}

static void read_link(struct wire_reader *r, struct legacy_link *l) {
    *l = (struct legacy_link){.bytes = wire_get64(r)};
    l->bits = wire_get64(r);
    l->size = wire_get64(r);
    l->error = wire_get_double(r);
    l->per_entry = wire_get_double(r);
    l->hashes = wire_get32(r);
    l->entries = wire_get64(r);
    l->n2 = (uint8_t)wire_get(r, 1);
}

/* Links that hold together and take no more than `most` bytes: without their data. */
static bool read_links(struct wire_reader *r, struct bf_legacy *f, uint32_t links, uint64_t most) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < links; i++) {
        struct legacy_link *l = &f->link[i];
        read_link(r, l);
        if (r->bad || !link_is_sane(l) || l->bytes > most - total) return false;
        total += l->bytes;
    }
    return true;
}

static bool allocate_links(struct bf_legacy *f, uint32_t links) {
    for (; f->links < links; f->links++) {
        struct legacy_link *l = &f->link[f->links];
        if (!blocks_open(&l->data, l->bytes)) return false;
    }
    return true;
}

struct bf_legacy *bf_legacy_from_header(const uint8_t *header, size_t length, uint64_t most) {
    struct wire_reader r = {header, header + length, false};
    const uint64_t size = wire_get64(&r);
    const uint32_t links = wire_get32(&r), options = wire_get32(&r), growth = wire_get32(&r);
    if (r.bad || links == 0 || links > LINKS_MOST ||
        length != HEADER_BYTES + (size_t)links * LINK_BYTES) {
        return NULL;
    }
    struct bf_legacy *f = legacy_new(links);
    if (f == NULL) return NULL;
    f->size = size;
    f->options = options;
    f->growth = growth;
    if (read_links(&r, f, links, most) && chain_is_sane(f, links) && allocate_links(f, links)) {
        return f;
    }
    bf_legacy_free(f);
    return NULL;
}

/* The link of a place in the data, which becomes a place in the link; NULL past the end. */
static struct legacy_link *link_at(const struct bf_legacy *f, uint64_t *offset) {
    for (uint32_t i = 0; i < f->links; i++) {
        if (*offset < f->link[i].bytes) return &f->link[i];
        *offset -= f->link[i].bytes;
    }
    return NULL;
}

uint8_t *bf_legacy_chunk(const struct bf_legacy *f, long long iterator, size_t *length,
                         long long *next) {
    *length = 0;
    *next = iterator == 0;
    if (iterator == 0) return header_chunk(f, length);
    uint64_t offset = (uint64_t)iterator - 1;
    const struct legacy_link *l = iterator < 0 ? NULL : link_at(f, &offset);
    if (l == NULL) return NULL;
    uint8_t *bytes = blocks_chunk(&l->data, offset, length);
    *next = iterator + (long long)*length;
    return bytes;
}

const char *bf_legacy_load_chunk(struct bf_legacy *f, long long iterator, const void *data,
                                 size_t length) {
    if ((uint64_t)iterator < length) return "ERR received bad data";
    uint64_t offset = (uint64_t)iterator - 1 - length; /* past the end, if it is before the first */
    struct legacy_link *l = link_at(f, &offset);
    if (l == NULL) return "ERR invalid offset - no link found";
    if (length > l->bytes - offset) return "ERR invalid chunk - Too big for current filter";
    return blocks_write(&l->data, offset, data, length) ? NULL : "ERR Insufficient memory";
}

/* ---- RDB */

void bf_legacy_save(RedisModuleIO *rdb, const struct bf_legacy *f) {
    RedisModule_SaveUnsigned(rdb, f->size);
    RedisModule_SaveUnsigned(rdb, f->links);
    RedisModule_SaveUnsigned(rdb, f->options);
    RedisModule_SaveUnsigned(rdb, f->growth);
    for (uint32_t i = 0; i < f->links; i++) {
        const struct legacy_link *l = &f->link[i];
        RedisModule_SaveUnsigned(rdb, l->entries);
        RedisModule_SaveDouble(rdb, l->error);
        RedisModule_SaveUnsigned(rdb, l->hashes);
        RedisModule_SaveDouble(rdb, l->per_entry);
        RedisModule_SaveUnsigned(rdb, l->bits);
        RedisModule_SaveUnsigned(rdb, l->n2);
        blocks_save(rdb, &l->data);
        RedisModule_SaveUnsigned(rdb, l->size);
    }
}

/* A number that must fit; UINT32_MAX, which nothing accepts, if it does not. */
static uint32_t load32(RedisModuleIO *rdb) {
    const uint64_t value = RedisModule_LoadUnsigned(rdb);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static bool load_link(RedisModuleIO *rdb, struct legacy_link *l, int version) {
    l->entries = RedisModule_LoadUnsigned(rdb);
    l->error = RedisModule_LoadDouble(rdb);
    l->hashes = load32(rdb);
    l->per_entry = RedisModule_LoadDouble(rdb);
    if (version > 0) {
        l->bits = RedisModule_LoadUnsigned(rdb);
        const uint32_t n2 = load32(rdb);
        l->n2 = n2 > UINT8_MAX ? UINT8_MAX : (uint8_t)n2;
    }
    if (RedisModule_IsIOError(rdb) || !blocks_load(rdb, &l->data)) return false;
    l->bytes = l->data.bytes;
    l->size = RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb)) return false;
    if (version == 0) l->bits = l->bytes * 8;
    return link_is_sane(l);
}

struct bf_legacy *bf_legacy_load(RedisModuleIO *rdb, uint64_t size, int version) {
    const uint32_t links = load32(rdb);
    const uint32_t options = version < 2 ? 0 : load32(rdb);
    const uint32_t growth = version < 4 ? 2 : load32(rdb);
    if (RedisModule_IsIOError(rdb) || links == 0 || links > LINKS_MOST) return NULL;
    struct bf_legacy *f = legacy_new(links);
    if (f == NULL) return NULL;
    f->size = size;
    f->options = options;
    f->growth = growth;
    bool good = true;
    while (good && f->links < links) good = load_link(rdb, &f->link[f->links++], version);
    if (good && chain_is_sane(f, links)) return f;
    bf_legacy_free(f);
    return NULL;
}
