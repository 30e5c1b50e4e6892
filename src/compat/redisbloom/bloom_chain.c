/* bloom_chain.c - RedisBloom's Bloom filter: a chain of sub-filters
 *
 * A key is looked up in every sub-filter (RedisBloom: link), the newest first.  A key that none has
 * is added to the newest; when that has as many keys as it was made for, a sub-filter for `growth`
 * times as many keys and with half the error is appended.
 *
 *     bit i of a key = (a + i b) mod bits,   a = MurmurHash64A(key, fixed seed),
 *                                            b = MurmurHash64A(key, a)
 *
 *     table   what BF.SCANDUMP gives, header and data in one piece, little-endian:
 *                 u64 keys, u32 sub-filters, u32 options, u32 growth
 *                 for each: u64 bytes, u64 bits, u64 keys, f64 error, f64 bits per entry,
 *                                u32 hashes, u64 entries, u8 n2              (53 bytes)
 *                 the bits of each sub-filter
 *     shape   word[0] bytes of the table (a .tamis file pads it); word[1..4] entries, growth,
 *             options and error of the first sub-filter, for init
 *
 * The modulus is the number of bits, or 2^n2 in filters made before 2020.  Filters without
 * FORCE64 hash to 32 bits.
 *
 * No number of a header is used before it has been checked. */
#include <math.h>
#include <string.h>

#include "compat/common/each.h"
#include "compat/redisbloom/redisbloom.h"
#include "core/bits.h"

enum { EXACT, ENTRIES, GROWTH, OPTIONS, ERROR };

#define SUBS_MAX 8192
#define HASHES_MAX 1100 /* the smallest error above 0 needs 1,075 */
#define GROWTH_MAX 32768
#define TIGHTENING 0.5
#define BITS_MAX 4e18

/* RedisBloom's roundings of (ln 2)^2 and ln 2. */
#define LN2_SQUARED 0.480453013918201
#define LN2 0.693147180559945

enum {
    OPTION_NOROUND = 1,
    OPTION_ENTRIES_ARE_BITS = 2, /* log2 of the bits is given for the number of keys */
    OPTION_FORCE64 = 4,
    OPTION_FIXED = 8,
    OPTIONS_KNOWN = 15
};

static bool is_64bit(const struct tamis__redisbloom *c) {
    return (c->options & OPTION_FORCE64) != 0;
}

/* ---- one sub-filter */

/* The keys that `bits` bits have room for; 0 if they are more than can be counted. */
static uint64_t entries_of(double bits, double per_entry) {
    const double entries = bits / per_entry;
    return entries < 0x1p62 ? (uint64_t)entries : 0;
}

/* Sizes rounded up to a power of two hold more keys than were needed: RedisBloom before 2.2. */
static uint64_t rounded_bits(struct tamis__subfilter *t, double bits) {
    t->n2 = (uint8_t)(logb(bits) + 1);
    const uint64_t rounded = (uint64_t)1 << t->n2;
    t->entries += entries_of((double)(uint64_t)((double)rounded - bits), t->per_entry);
    return rounded;
}

bool tamis__chain_sub_size(uint64_t entries, double error, uint32_t options,
                           struct tamis__subfilter *t) {
    if (entries == 0 || !(error > 0 && error < 1)) return false;
    *t = (struct tamis__subfilter){.entries = entries, .error = error};
    t->per_entry = fabs(log(error) / LN2_SQUARED);
    const double needed = (double)entries * t->per_entry, hashes = ceil(LN2 * t->per_entry);
    if (!(needed < BITS_MAX) || hashes < 1 || hashes > HASHES_MAX) return false;
    uint64_t bits = needed < 1 ? 1 : (uint64_t)needed;
    if ((options & OPTION_ENTRIES_ARE_BITS) != 0) {
        if (entries > 61) return false;
        t->n2 = (uint8_t)entries;
        bits = (uint64_t)1 << entries;
        t->entries = entries_of((double)bits, t->per_entry);
        if (t->entries == 0) return false; /* sub_is_sane would refuse it when it is read again */
    } else if ((options & OPTION_NOROUND) == 0) {
        if (needed < 0.5) return false;
        bits = rounded_bits(t, needed);
    }
    t->bytes = tamis__div_up(bits, 64) * 8;
    t->bits = t->bytes * 8;
    t->hashes = (uint32_t)hashes;
    return true;
}

void tamis__chain_write_sub(struct tamis__writer *w, const struct tamis__subfilter *t) {
    tamis__write64(w, t->bytes);
    tamis__write64(w, t->bits);
    tamis__write64(w, t->size);
    tamis__write64(w, tamis__double_bits(t->error));
    tamis__write64(w, tamis__double_bits(t->per_entry));
    tamis__write32(w, t->hashes);
    tamis__write64(w, t->entries);
    tamis__write8(w, t->n2);
}

void tamis__chain_write(struct tamis__writer *w, const struct tamis__redisbloom *c) {
    tamis__write64(w, c->items);
    tamis__write32(w, (uint32_t)c->count);
    tamis__write32(w, c->options);
    tamis__write32(w, c->growth);
}

static void read_sub(struct tamis__reader *r, struct tamis__subfilter *l) {
    l->bytes = tamis__read64(r);
    l->bits = tamis__read64(r);
    l->size = tamis__read64(r);
    l->error = tamis__bits_double(tamis__read64(r));
    l->per_entry = tamis__bits_double(tamis__read64(r));
    l->hashes = tamis__read32(r);
    l->entries = tamis__read64(r);
    l->n2 = tamis__read8(r);
}

/* What RedisBloom checks when it loads a sub-filter; and what holds for every one that it makes:
 * entries that fit into the bits, no more keys than entries. */
static bool sub_is_sane(const struct tamis__subfilter *l) {
    if (!(l->error > 0 && l->error < 1) || !(l->per_entry > 0)) return false;
    if (l->entries == 0 || l->size > l->entries ||
        !((double)l->entries * l->per_entry < (double)l->bits + 64)) {
        return false;
    }
    if (l->bytes == 0 || l->bytes > UINT64_MAX / 8 || l->bits != l->bytes * 8) return false;
    if (l->n2 > 63 || (l->n2 != 0 && (uint64_t)1 << l->n2 > l->bits)) return false;
    return l->hashes >= 1 && l->hashes <= HASHES_MAX &&
           (double)l->hashes == ceil(LN2 * l->per_entry);
}

/* ---- one key in one sub-filter */

TAMIS_TEMPLATE uint64_t place_at(const struct tamis__subfilter *l, struct tamis__hash h, uint64_t i,
                                 bool force64) {
    const uint64_t x = force64 ? h.lo + i * h.hi : (uint32_t)h.lo + i * (h.lo >> 32);
    return l->n2 == 0 ? x % l->bits : x & (((uint64_t)1 << l->n2) - 1);
}

TAMIS_TEMPLATE bool sub_contains(const struct tamis__subfilter *l, struct tamis__hash h,
                                 bool force64, const tamis_storage *s, bool *failed) {
    for (uint64_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_at(l, h, i, force64);
        if ((tamis__sub_get(l, s, q >> 3, failed) >> (q & 7) & 1) == 0) return false;
    }
    return true;
}

/* If memory runs out some bits may be set, which does no harm. */
TAMIS_TEMPLATE tamis_status sub_add(struct tamis__subfilter *l, struct tamis__hash h, bool force64,
                                    const tamis_storage *s) {
    for (uint64_t i = 0; i < l->hashes; i++) {
        const uint64_t q = place_at(l, h, i, force64);
        uint8_t *byte = tamis__sub_at(l, s, q >> 3);
        if (s != NULL && byte == NULL) return TAMIS_E_NOMEM;
        *byte = (uint8_t)(*byte | 1u << (q & 7));
    }
    l->size++;
    return TAMIS_OK;
}

/* ---- growth */

/* The bits that a lookup reads at most. */
static uint64_t probes_of(const struct tamis__redisbloom *c) {
    uint64_t probes = 0;
    for (size_t i = 0; i < c->count; i++) probes += c->sub[i].hashes;
    return probes;
}

static tamis_status chain_grow(struct tamis__redisbloom *c) {
    tamis_filter *f = &c->base;
    const struct tamis__subfilter *last = &c->sub[c->count - 1];
    struct tamis__subfilter next;
    const uint64_t data = f->shape.word[EXACT] - TAMIS__CHAIN_HEADER - c->count * TAMIS__CHAIN_SUB;
    if ((c->options & OPTION_FIXED) != 0) return TAMIS_E_FULL;
    if (c->growth == 0 || c->count == SUBS_MAX || last->entries > UINT64_MAX / c->growth ||
        !tamis__chain_sub_size(last->entries * c->growth, last->error * TIGHTENING, c->options,
                               &next) ||
        next.bytes > tamis__subs_max_bytes(f) - data ||
        next.hashes > TAMIS__LOOKUP_PROBES_MAX - probes_of(c)) {
        return TAMIS_E_TOO_BIG;
    }
    return tamis__subs_append(c, &next, TAMIS__CHAIN_SUB);
}

/* ---- operations, for contiguous tables (no storage) and for pages */

TAMIS_TEMPLATE bool contains_in(const struct tamis__redisbloom *c, struct tamis__hash h,
                                const tamis_storage *s, bool *failed) {
    const bool force64 = is_64bit(c);
    for (size_t i = c->count; i-- > 0;) {
        if (sub_contains(&c->sub[i], h, force64, s, failed)) return true;
    }
    return false;
}

/* A page that cannot be read must not count as one that has the key. */
TAMIS_TEMPLATE tamis_status add_to(struct tamis__redisbloom *c, struct tamis__hash h,
                                   const tamis_storage *s, bool *fresh) {
    bool failed = false;
    const bool was_there = contains_in(c, h, s, &failed);
    if (failed) return TAMIS_E_NOMEM;
    if (!was_there) {
        const struct tamis__subfilter *last = &c->sub[c->count - 1];
        tamis_status status = last->size >= last->entries ? chain_grow(c) : TAMIS_OK;
        if (status == TAMIS_OK) {
            status = sub_add(&c->sub[c->count - 1], h, is_64bit(c), s);
        }
        if (status != TAMIS_OK) return status;
        c->items++;
    }
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

/* A constant NULL for the storage leaves the code for contiguous tables alone. */
static bool chain_contains(const tamis_filter *f, struct tamis__hash h) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    const tamis_storage *s = f->settings.pages;
    bool failed = false;
    return s == NULL ? contains_in(c, h, NULL, &failed) : contains_in(c, h, s, &failed);
}

static tamis_status chain_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    struct tamis__redisbloom *c = tamis__subs(f);
    const tamis_storage *s = f->settings.pages;
    return s == NULL ? add_to(c, h, NULL, fresh) : add_to(c, h, s, fresh);
}

static const struct tamis__ops chain_ops = {
    .path = "portable",
    .contains_wide = chain_contains,
    .contains_batch = tamis__contains_each,
    .add_wide = chain_add,
    .add_batch = tamis__add_each,
};

/* ---- creating and freeing */

static bool chain_check(const struct tamis__shape *shape) {
    const uint64_t exact = shape->word[EXACT];
    return exact >= TAMIS__CHAIN_HEADER + TAMIS__CHAIN_SUB && exact <= shape->table_bytes &&
           shape->table_bytes - exact < 8;
}

static void chain_init(const struct tamis__shape *shape, uint8_t *table) {
    struct tamis__subfilter first = {0};
    struct tamis__writer w = {table, table + shape->word[EXACT], false};
    const struct tamis__redisbloom c = {.count = 1,
                                        .options = (uint32_t)shape->word[OPTIONS],
                                        .growth = (uint32_t)shape->word[GROWTH]};
    (void)tamis__chain_sub_size(shape->word[ENTRIES], tamis__bits_double(shape->word[ERROR]),
                                c.options, &first); /* the codec has checked it */
    tamis__chain_write(&w, &c);
    tamis__chain_write_sub(&w, &first);
}

static bool read_subs(struct tamis__redisbloom *c, struct tamis__reader *r) {
    uint64_t sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct tamis__subfilter *l = &c->sub[i];
        read_sub(r, l);
        if (!sub_is_sane(l) || l->size > c->items - sum) return false;
        sum += l->size;
    }
    return !r->bad && sum == c->items;
}

static tamis_status chain_attach(tamis_filter *f) {
    struct tamis__redisbloom *c = tamis__subs(f);
    struct tamis__reader r = {f->table, f->table + f->shape.word[EXACT], false};
    c->items = tamis__read64(&r);
    const uint32_t subs = tamis__read32(&r);
    c->options = tamis__read32(&r);
    c->growth = tamis__read32(&r);
    if (subs == 0 || c->options > OPTIONS_KNOWN || c->growth > GROWTH_MAX) return TAMIS_E_CORRUPT;
    if (subs > (uint64_t)(r.end - r.at) / TAMIS__CHAIN_SUB) return TAMIS_E_TRUNCATED;
    if (subs > SUBS_MAX) return TAMIS_E_UNSUPPORTED;
    const tamis_status status = tamis__subs_alloc(c, subs);
    if (status != TAMIS_OK) return status;
    if (!read_subs(c, &r)) return TAMIS_E_CORRUPT;
    if (probes_of(c) > TAMIS__LOOKUP_PROBES_MAX) return TAMIS_E_UNSUPPORTED;
    return tamis__subs_attach(f, (uint64_t)(r.at - f->table));
}

static void chain_export(const tamis_filter *f, uint8_t *bytes) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    struct tamis__writer w = {bytes, bytes + f->shape.word[EXACT], false};
    tamis__chain_write(&w, c);
    for (size_t i = 0; i < c->count; i++) tamis__chain_write_sub(&w, &c->sub[i]);
    tamis__subs_export_data(f, &w);
}

/* ---- the caller's storage */

static size_t chain_header_part(const tamis_filter *f, size_t offset, uint8_t *part,
                                size_t *begins) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    struct tamis__writer w = {part, part + TAMIS__CHAIN_SUB, false};
    *begins = 0;
    if (offset < TAMIS__CHAIN_HEADER) {
        tamis__chain_write(&w, c);
        return TAMIS__CHAIN_HEADER;
    }
    const size_t i = (offset - TAMIS__CHAIN_HEADER) / TAMIS__CHAIN_SUB;
    if (i >= c->count) return 0;
    *begins = TAMIS__CHAIN_HEADER + i * TAMIS__CHAIN_SUB;
    tamis__chain_write_sub(&w, &c->sub[i]);
    return TAMIS__CHAIN_SUB;
}

/* Do both have the same sub-filters, and room for the keys of both? */
static bool are_alike(const struct tamis__redisbloom *a, const struct tamis__redisbloom *b) {
    if (a->count != b->count || a->options != b->options) return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct tamis__subfilter *l = &a->sub[i], *m = &b->sub[i];
        if (l->bits != m->bits || l->hashes != m->hashes || l->n2 != m->n2 ||
            l->entries != m->entries || l->size > l->entries || m->size > l->entries - l->size) {
            return false;
        }
    }
    return true;
}

static tamis_status chain_unite(tamis_filter *into, const tamis_filter *from) {
    struct tamis__redisbloom *a = tamis__subs(into);
    const struct tamis__redisbloom *b = tamis__const_subs(from);
    if (!are_alike(a, b)) return TAMIS_E_MISMATCH;
    for (size_t i = 0; i < a->count; i++) {
        if (!into->settings.pages->unite(a->sub[i].pages, b->sub[i].pages)) return TAMIS_E_NOMEM;
        a->sub[i].size += b->sub[i].size;
        a->items += b->sub[i].size;
    }
    return TAMIS_OK;
}

static const struct tamis__paged chain_paged = {
    .header_part = chain_header_part,
    .table = tamis__subs_table,
    .copy = tamis__subs_copy,
    .unite = chain_unite,
};

/* ---- information */

static void chain_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    struct tamis__subfilter first;
    if (tamis__chain_sub_size(shape->word[ENTRIES], tamis__bits_double(shape->word[ERROR]),
                              (uint32_t)shape->word[OPTIONS], &first)) {
        traits->hashes = first.hashes;
    }
    traits->cache_lines = 2;
}

static void chain_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    double bits = 0, ones = 0, miss = 1;
    for (size_t i = 0; i < c->count; i++) {
        const struct tamis__subfilter *l = &c->sub[i];
        const uint64_t set = tamis__sub_count(f, l, true);
        bits += (double)l->bits;
        ones += (double)set;
        miss *= 1 - pow((double)set / (double)l->bits, (double)l->hashes);
        const bool fits = l->entries <= UINT64_MAX - state->capacity;
        state->capacity = fits ? state->capacity + l->entries : UINT64_MAX;
    }
    state->fill = ones / bits;
    state->distinct = (double)c->items;
    state->fpr_now = 1 - miss;
    state->stages = (uint32_t)c->count;
}

const struct tamis__family tamis__growing_compat = {
    .kind = TAMIS_GROWING,
    .layout = 32,
    .name = "growing",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_GROW,
    .object_size = sizeof(struct tamis__redisbloom),
    .traits = chain_traits,
    .init = chain_init,
    .check = chain_check,
    .only_ops = &chain_ops,
    .attach = chain_attach,
    .detach = tamis__subs_detach,
    .state = chain_state,
    .export_bytes = tamis__subs_export_bytes,
    .export_table = chain_export,
    .paged = &chain_paged,
};
