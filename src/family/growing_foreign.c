/* growing_foreign.c - RedisBloom's chain of Bloom filters
 *
 * A key is looked for in every link, the newest first.  One that none of them has is added to
 * the newest; when that has as many keys as it was made for, a link `growth` times as large
 * and with half the error is appended.
 *
 *     table   what BF.SCANDUMP gives, header and data in one piece, little-endian:
 *                 u64 keys, u32 links, u32 options, u32 growth
 *                 for each link: u64 bytes, u64 bits, u64 keys, f64 error, f64 bits per entry,
 *                                u32 hashes, u64 entries, u8 n2              (53 bytes)
 *                 the bits of each link
 *     shape   word[0] bytes of the table (a .tamis file pads it); word[1..4] entries, growth,
 *             options and error of the first link, for init
 *
 * The modulus is the number of bits, or 2^n2 in old filters, which also hash to 32 bits.
 * In memory the links are taken apart; later ones are blocks of their own; `export_table` puts
 * them together again. */
#include <math.h>
#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/chain_link.h"
#include "family/scheme.h"

enum { EXACT, ENTRIES, GROWTH, OPTIONS, ERROR };

#define LINKS_MOST 8192
#define HASHES_MOST 4096
#define TIGHTENING 0.5

/* RedisBloom's roundings of (ln 2)^2 and ln 2. */
#define LN2_SQUARED 0.480453013918201
#define LN2 0.693147180559945

enum { OPTION_NOROUND = 1, OPTION_FORCE64 = 4, OPTION_FIXED = 8 };

struct link {
    uint8_t *data;
    uint64_t bytes, bits, size, entries;
    double error, per_entry;
    uint32_t hashes;
    uint8_t n2;
    bool own; /* `data` is from tamis__table_alloc */
};

struct chain {
    tamis_filter base;
    struct link *link;
    size_t count, room;
    uint64_t size;
    uint32_t options, growth;
};

static struct chain *chain_of(tamis_filter *f) { return (struct chain *)f; }
static const struct chain *const_chain(const tamis_filter *f) { return (const struct chain *)f; }

/* ---- links */

bool tamis__chain_link_size(uint64_t entries, double error, struct tamis__chain_link *link) {
    link->per_entry = fabs(log(error) / LN2_SQUARED);
    const double bits = (double)entries * link->per_entry;
    if (!(bits < 4e18)) return false;
    const uint64_t whole = (uint64_t)bits == 0 ? 1 : (uint64_t)bits;
    link->bytes = tamis__div_up(whole, 64) * 8;
    const double hashes = ceil(LN2 * link->per_entry);
    link->hashes = (uint32_t)hashes;
    return hashes >= 1 && hashes <= HASHES_MOST;
}

static void write_link(struct tamis__writer *w, const struct link *l) {
    tamis__write64(w, l->bytes);
    tamis__write64(w, l->bits);
    tamis__write64(w, l->size);
    tamis__write64(w, tamis__double_bits(l->error));
    tamis__write64(w, tamis__double_bits(l->per_entry));
    tamis__write32(w, l->hashes);
    tamis__write64(w, l->entries);
    tamis__write8(w, l->n2);
}

static void read_link(struct tamis__reader *r, struct link *l) {
    *l = (struct link){.bytes = tamis__read64(r)};
    l->bits = tamis__read64(r);
    l->size = tamis__read64(r);
    l->error = tamis__bits_double(tamis__read64(r));
    l->per_entry = tamis__bits_double(tamis__read64(r));
    l->hashes = tamis__read32(r);
    l->entries = tamis__read64(r);
    l->n2 = tamis__read8(r);
}

/* RedisBloom checks the same when it loads a chunk, and that a place is within the bits. */
static bool link_is_sane(const struct link *l) {
    if (!(l->error > 0 && l->error < 1) || !(l->per_entry > 0 && l->per_entry < 4096)) return false;
    if (l->bytes == 0 || l->bytes > UINT64_MAX / 8 || l->bits != l->bytes * 8) return false;
    if (l->n2 > 62 || (l->n2 != 0 && (uint64_t)1 << l->n2 > l->bits)) return false;
    return (double)l->hashes == ceil(LN2 * l->per_entry) && l->hashes >= 1 &&
           l->hashes <= HASHES_MOST;
}

/* ---- one key in one link */

/* Old filters hash to 32 bits, and step in as many unless the modulus is any number. */
TAMIS_TEMPLATE uint64_t place_at(const struct link *l, struct tamis__hash h, uint64_t i,
                                 bool force64) {
    uint64_t x = h.lo + i * h.hi;
    if (!force64) x = (uint32_t)h.lo + i * (h.lo >> 32);
    if (l->n2 == 0) return x % l->bits;
    if (!force64) x = (uint32_t)x;
    return x & (((uint64_t)1 << l->n2) - 1);
}

static bool link_contains(const struct link *l, struct tamis__hash h, bool force64) {
    for (uint64_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_at(l, h, i, force64);
        if ((l->data[q >> 3] >> (q & 7) & 1) == 0) return false;
    }
    return true;
}

static void link_add(struct link *l, struct tamis__hash h, bool force64) {
    for (uint64_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_at(l, h, i, force64);
        l->data[q >> 3] = (uint8_t)(l->data[q >> 3] | 1u << (q & 7));
    }
    l->size++;
}

/* ---- growth */

static tamis_status chain_reserve(struct chain *c) {
    if (c->count < c->room) return TAMIS_OK;
    const tamis_allocator *a = &c->base.allocator;
    const size_t room = c->room + c->room / 2 + 1;
    struct link *larger = tamis__alloc(a, room * sizeof *larger);
    if (larger == NULL) return TAMIS_E_NOMEM;
    memcpy(larger, c->link, c->count * sizeof *larger);
    tamis__release(a, c->link, c->room * sizeof *larger);
    c->link = larger;
    c->room = room;
    return TAMIS_OK;
}

/* Appends a link if it may grow.  Chains of the old, rounded kind stay as they are. */
static tamis_status chain_grow(struct chain *c) {
    const struct link *last = &c->link[c->count - 1];
    struct tamis__chain_link next;
    const uint32_t needed = OPTION_NOROUND | OPTION_FORCE64;
    if ((c->options & (needed | OPTION_FIXED)) != needed || c->growth == 0) return TAMIS_E_FULL;
    if (c->count == LINKS_MOST || last->entries > UINT64_MAX / c->growth) return TAMIS_E_FULL;
    struct link l = {
        .entries = last->entries * c->growth, .error = last->error * TIGHTENING, .own = true};
    if (!tamis__chain_link_size(l.entries, l.error, &next)) return TAMIS_E_FULL;
    const tamis_status status = chain_reserve(c);
    if (status != TAMIS_OK) return status;
    l.bytes = next.bytes;
    l.bits = next.bytes * 8;
    l.per_entry = next.per_entry;
    l.hashes = next.hashes;
    l.data = tamis__table_alloc(&c->base.allocator, l.bytes);
    if (l.data == NULL) return TAMIS_E_NOMEM;
    c->link[c->count++] = l;
    c->base.shape.table_bytes = c->base.shape.word[EXACT] += TAMIS__CHAIN_LINK + l.bytes;
    return TAMIS_OK;
}

/* ---- operations */

static bool chain_contains(const tamis_filter *f, struct tamis__hash h) {
    const struct chain *c = const_chain(f);
    const bool force64 = (c->options & OPTION_FORCE64) != 0;
    for (size_t i = c->count; i-- > 0;) {
        if (link_contains(&c->link[i], h, force64)) return true;
    }
    return false;
}

static size_t chain_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *answers) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__hash h = {lo[i], hi == NULL ? 0 : hi[i]};
        const bool maybe = chain_contains(f, h);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

static tamis_status chain_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    struct chain *c = chain_of(f);
    const bool was_there = chain_contains(f, h);
    if (!was_there) {
        const struct link *last = &c->link[c->count - 1];
        const tamis_status status = last->size >= last->entries ? chain_grow(c) : TAMIS_OK;
        if (status != TAMIS_OK) return status;
        link_add(&c->link[c->count - 1], h, (c->options & OPTION_FORCE64) != 0);
        c->size++;
    }
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

static tamis_status chain_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *fresh, size_t *done) {
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < count; ++*done) {
        const struct tamis__hash h = {lo[*done], hi == NULL ? 0 : hi[*done]};
        status = chain_add(f, h, fresh == NULL ? NULL : fresh + *done);
        if (status != TAMIS_OK) break;
    }
    return status;
}

static const struct tamis__ops chain_ops = {
    .path = "portable",
    .contains = chain_contains,
    .contains_batch = chain_contains_batch,
    .add = chain_add,
    .add_batch = chain_add_batch,
};

static const struct tamis__ops *ops_of(const struct tamis__shape *shape, uint32_t cpu,
                                       bool shared) {
    (void)shape, (void)cpu, (void)shared;
    return &chain_ops;
}

/* ---- life */

static bool chain_check(const struct tamis__shape *shape) {
    const uint64_t exact = shape->word[EXACT];
    return shape->scheme == TAMIS__SCHEME_CHAIN &&
           exact >= TAMIS__CHAIN_HEADER + TAMIS__CHAIN_LINK && exact <= shape->table_bytes &&
           shape->table_bytes - exact < 8;
}

static void chain_init(const struct tamis__shape *shape, uint8_t *table) {
    struct tamis__chain_link size = {0};
    struct link l = {.entries = shape->word[ENTRIES],
                     .error = tamis__bits_double(shape->word[ERROR])};
    struct tamis__writer w = {table, table + shape->word[EXACT], false};
    (void)tamis__chain_link_size(l.entries, l.error, &size); /* the codec has seen to it */
    l.bytes = size.bytes;
    l.bits = size.bytes * 8;
    l.per_entry = size.per_entry;
    l.hashes = size.hashes;
    tamis__write64(&w, 0);
    tamis__write32(&w, 1);
    tamis__write32(&w, (uint32_t)shape->word[OPTIONS]);
    tamis__write32(&w, (uint32_t)shape->word[GROWTH]);
    write_link(&w, &l);
}

/* The links of a header, with their data behind it: exactly as many bytes as there are. */
static bool read_links(struct chain *c, struct tamis__reader *r) {
    uint64_t left = (uint64_t)(r->end - r->at) - c->count * TAMIS__CHAIN_LINK, sum = 0;
    uint8_t *data = c->base.table + TAMIS__CHAIN_HEADER + c->count * TAMIS__CHAIN_LINK;
    for (size_t i = 0; i < c->count; i++) {
        struct link *l = &c->link[i];
        read_link(r, l);
        if (!link_is_sane(l) || l->bytes > left || l->size > c->size - sum) return false;
        l->data = data;
        data += l->bytes;
        left -= l->bytes;
        sum += l->size;
    }
    return !r->bad && left == 0 && sum == c->size;
}

static tamis_status chain_attach(tamis_filter *f) {
    struct chain *c = chain_of(f);
    struct tamis__reader r = {f->table, f->table + f->shape.word[EXACT], false};
    c->size = tamis__read64(&r);
    const uint32_t links = tamis__read32(&r);
    c->options = tamis__read32(&r);
    c->growth = tamis__read32(&r);
    if (links == 0) return TAMIS_E_CORRUPT;
    if (links > (uint64_t)(r.end - r.at) / TAMIS__CHAIN_LINK) return TAMIS_E_TRUNCATED;
    if (links > LINKS_MOST) return TAMIS_E_UNSUPPORTED;
    c->link = tamis__alloc(&f->allocator, links * sizeof *c->link);
    if (c->link == NULL) return TAMIS_E_NOMEM;
    memset(c->link, 0, links * sizeof *c->link);
    c->count = c->room = links;
    return read_links(c, &r) ? TAMIS_OK : TAMIS_E_CORRUPT;
}

static void chain_detach(tamis_filter *f) {
    struct chain *c = chain_of(f);
    for (size_t i = 0; i < c->count; i++) {
        struct link *l = &c->link[i];
        if (l->own) tamis__table_free(&f->allocator, l->data, l->bytes);
    }
    tamis__release(&f->allocator, c->link, c->room * sizeof *c->link);
}

static uint64_t chain_export_bytes(const tamis_filter *f) { return f->shape.word[EXACT]; }

static void write_header(struct tamis__writer *w, const struct chain *c) {
    tamis__write64(w, c->size);
    tamis__write32(w, (uint32_t)c->count);
    tamis__write32(w, c->options);
    tamis__write32(w, c->growth);
}

void tamis__chain_header(const tamis_filter *f, uint8_t header[TAMIS__CHAIN_HEADER]) {
    struct tamis__writer w = {header, header + TAMIS__CHAIN_HEADER, false};
    write_header(&w, const_chain(f));
}

const uint8_t *tamis__chain_link_at(const tamis_filter *f, size_t i,
                                    uint8_t entry[TAMIS__CHAIN_LINK]) {
    const struct link *l = &const_chain(f)->link[i];
    struct tamis__writer w = {entry, entry + TAMIS__CHAIN_LINK, false};
    write_link(&w, l);
    return l->data;
}

static void chain_export(const tamis_filter *f, uint8_t *bytes) {
    const struct chain *c = const_chain(f);
    struct tamis__writer w = {bytes, bytes + f->shape.word[EXACT], false};
    write_header(&w, c);
    for (size_t i = 0; i < c->count; i++) write_link(&w, &c->link[i]);
    for (size_t i = 0; i < c->count; i++) {
        tamis__write_bytes(&w, c->link[i].data, (size_t)c->link[i].bytes);
    }
    assert(!w.bad && w.at == w.end);
}

/* ---- looking inside */

static void chain_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    struct tamis__chain_link size;
    if (shape->word[ENTRIES] != 0 &&
        tamis__chain_link_size(shape->word[ENTRIES], tamis__bits_double(shape->word[ERROR]),
                               &size)) {
        traits->hashes = size.hashes;
    }
    traits->cache_lines = 2;
}

static void chain_state(const tamis_filter *f, struct tamis__state *state) {
    const struct chain *c = const_chain(f);
    double bits = 0, ones = 0, miss = 1;
    for (size_t i = 0; i < c->count; i++) {
        const struct link *l = &c->link[i];
        uint64_t set = 0;
        for (uint64_t j = 0; j < l->bytes; j++) set += tamis__popcount(l->data[j]);
        bits += (double)l->bits;
        ones += (double)set;
        miss *= 1 - pow((double)set / (double)l->bits, (double)l->hashes);
        const bool fits = l->entries <= UINT64_MAX - state->capacity;
        state->capacity = fits ? state->capacity + l->entries : UINT64_MAX;
    }
    state->fill = ones / bits;
    state->distinct = (double)c->size;
    state->rate_now = 1 - miss;
    state->stages = (uint32_t)c->count;
}

const struct tamis__family tamis__growing_foreign = {
    .kind = TAMIS_GROWING,
    .name = "growing",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_GROW,
    .object_size = sizeof(struct chain),
    .traits = chain_traits,
    .init = chain_init,
    .check = chain_check,
    .ops = ops_of,
    .attach = chain_attach,
    .detach = chain_detach,
    .state = chain_state,
    .export_bytes = chain_export_bytes,
    .export_table = chain_export,
};
