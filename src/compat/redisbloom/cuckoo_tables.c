/* cuckoo_tables.c - RedisBloom's cuckoo filter: sub-filters of one-byte fingerprints
 *
 * A fingerprint 1..255 lies in one of two buckets of some sub-filter; 0 is an empty slot.
 *
 *     h1 = MurmurHash64A(key, 0),  fingerprint = h1 mod 255 + 1,  h2 = h1 ^ fingerprint * MIX,
 *     bucket = h mod the number of buckets, a power of two
 *
 * A key goes to the first free slot, the newest sub-filter first; else fingerprints of the newest
 * are moved on, a fixed number of times; if that fails all is undone and a sub-filter appended.
 * Removals that leave many holes are followed by a compaction.  The same commands give the same
 * bytes.
 *
 *     table   what CF.SCANDUMP gives, header and data in one piece, little-endian:
 *                 u64 items, u64 buckets, u64 deletes, u64 sub-filters, u16 bucket size,
 *                 u16 iterations, u16 expansion                               (38 bytes)
 *                 the sub-filters; the j-th has buckets * expansion^j buckets
 *     shape   word[0] bytes of the table (a .tamis file pads it); word[1..4] buckets, bucket
 *             size, iterations and expansion, for init
 *
 * No number of a header is used before it has been checked.  The items are not compared with the
 * slots: a header may come before its slots, and RedisBloom does not compare them either. */
#include <math.h>

#include "compat/common/each.h"
#include "compat/redisbloom/redisbloom.h"
#include "core/bits.h"

enum { EXACT, BUCKETS, BUCKET_SIZE, ITERATIONS, EXPANSION };

#define TABLES_MAX 1024 /* 2 buckets of each are read: below TAMIS__LOOKUP_PROBES_MAX slots */
#define TABLES_FULL 32  /* RedisBloom's default: with this many it takes no more keys */
#define BUCKET_SIZE_MAX 255
#define MIX UINT64_C(0x5bd1e995)
#define NOWHERE UINT64_MAX

_Static_assert((uint64_t)2 * BUCKET_SIZE_MAX * TABLES_MAX <= TAMIS__LOOKUP_PROBES_MAX,
               "one lookup reads two buckets of every sub-filter");

/* ---- one key */

struct redis_key {
    uint64_t h1, h2;
    uint8_t fp;
};

static struct redis_key fingerprint_of(uint64_t hash) {
    const uint8_t fp = (uint8_t)(hash % 255 + 1);
    return (struct redis_key){hash, hash ^ fp * MIX, fp};
}

/* The first slot of a bucket.  RedisBloom keeps it in 32 bits. */
static uint64_t bucket_at(const struct tamis__redisbloom *c, const struct tamis__subfilter *t,
                          uint64_t hash) {
    return (uint32_t)(hash % t->buckets * c->bucket_size);
}

/* The first slot of a bucket that holds `fp`; NOWHERE if none does. */
TAMIS_TEMPLATE uint64_t slot_with(const struct tamis__redisbloom *c,
                                  const struct tamis__subfilter *t, uint64_t bucket, uint8_t fp,
                                  const tamis_storage *s, bool *failed) {
    const uint64_t end = bucket + c->bucket_size;
    for (uint64_t at = bucket, run; at < end; at += run) {
        const uint8_t *slots = tamis__sub_run(t, s, at, end - at, &run, failed);
        if (slots == NULL && fp == 0 && !*failed) return at;
        for (uint64_t i = 0; slots != NULL && i < run; i++) {
            if (slots[i] == fp) return at + i;
        }
    }
    return NOWHERE;
}

TAMIS_TEMPLATE uint64_t find_in(const struct tamis__redisbloom *c, const struct tamis__subfilter *t,
                                struct redis_key p, uint8_t fp, const tamis_storage *s,
                                bool *failed) {
    const uint64_t slot = slot_with(c, t, bucket_at(c, t, p.h1), fp, s, failed);
    return slot != NOWHERE ? slot : slot_with(c, t, bucket_at(c, t, p.h2), fp, s, failed);
}

/* The newest sub-filter with a slot that holds `fp`; NULL if none has one. */
TAMIS_TEMPLATE struct tamis__subfilter *find(const struct tamis__redisbloom *c, struct redis_key p,
                                             uint8_t fp, const tamis_storage *s, uint64_t *slot,
                                             bool *failed) {
    for (size_t i = c->count; i-- > 0;) {
        *slot = find_in(c, &c->sub[i], p, fp, s, failed);
        if (*slot != NOWHERE) return &c->sub[i];
    }
    return NULL;
}

/* Puts one fingerprint in the place of another, which becomes `*fp`; false: out of memory. */
TAMIS_TEMPLATE bool swap_slot(const struct tamis__subfilter *t, uint64_t slot, uint8_t *fp,
                              const tamis_storage *s) {
    uint8_t *byte = tamis__sub_at(t, s, slot);
    if (s != NULL && byte == NULL) return false;
    const uint8_t old = *byte;
    *byte = *fp;
    *fp = old;
    return true;
}

TAMIS_TEMPLATE bool set_slot(const struct tamis__subfilter *t, uint64_t slot, uint8_t fp,
                             const tamis_storage *s) {
    return swap_slot(t, slot, &fp, s);
}

/* ---- eviction and growth */

static uint64_t other_bucket(uint64_t bucket, uint8_t fp, uint64_t buckets) {
    return (bucket ^ fp * MIX) % buckets;
}

/* Moves fingerprints of the newest sub-filter on until one finds a free slot; undoes it all and
 * returns false if none does, or if memory runs out.  Undoing writes the same pages again. */
TAMIS_TEMPLATE bool evict(struct tamis__redisbloom *c, struct redis_key p, const tamis_storage *s) {
    const struct tamis__subfilter *t = &c->sub[c->count - 1];
    uint64_t bucket = p.h1 % t->buckets;
    unsigned victim = 0, moved = 0;
    uint8_t fp = p.fp;
    bool failed = false;
    for (; moved < c->iterations; moved++) {
        if (!swap_slot(t, bucket_at(c, t, bucket) + victim, &fp, s)) break;
        bucket = other_bucket(bucket, fp, t->buckets);
        const uint64_t empty = slot_with(c, t, bucket_at(c, t, bucket), 0, s, &failed);
        if (empty != NOWHERE && set_slot(t, empty, fp, s)) return true;
        victim = (victim + 1) % c->bucket_size;
    }
    while (moved-- > 0) {
        victim = (victim + c->bucket_size - 1) % c->bucket_size;
        bucket = other_bucket(bucket, fp, t->buckets);
        (void)swap_slot(t, bucket_at(c, t, bucket) + victim, &fp, s);
    }
    return false;
}

/* No further than `attach` accepts. */
static tamis_status grow(struct tamis__redisbloom *c) {
    tamis_filter *f = &c->base;
    const uint64_t last = c->sub[c->count - 1].buckets;
    const uint64_t data = f->shape.word[EXACT] - TAMIS__CUCKOO_HEADER;
    if (c->expansion == 0 || c->count == TABLES_MAX) return TAMIS_E_FULL;
    if (last > ((uint64_t)1 << 56) / c->expansion / c->bucket_size ||
        last * c->expansion * c->bucket_size > tamis__subs_max_bytes(f) - data) {
        return TAMIS_E_TOO_BIG;
    }
    struct tamis__subfilter next = {.buckets = last * c->expansion,
                                    .bytes = last * c->expansion * c->bucket_size};
    return tamis__subs_append(c, &next, 0);
}

static void drop_last(struct tamis__redisbloom *c) {
    tamis_filter *f = &c->base;
    struct tamis__subfilter *t = &c->sub[--c->count];
    f->shape.table_bytes = f->shape.word[EXACT] -= t->bytes;
    tamis__sub_close(f, t);
}

/* ---- compaction */

/* Moves a fingerprint to the first free slot of an earlier sub-filter.  Its own page is made
 * writable first: if memory runs out, the fingerprint stays where it was. */
TAMIS_TEMPLATE bool relocate(struct tamis__redisbloom *c, size_t table, uint64_t slot, uint8_t fp,
                             const tamis_storage *s) {
    const uint64_t bucket = slot / c->bucket_size;
    const struct redis_key p = {bucket, bucket ^ fp * MIX, fp};
    bool failed = false;
    if (s != NULL && !set_slot(&c->sub[table], slot, fp, s)) return false;
    for (size_t i = 0; i < table; i++) {
        const uint64_t empty = find_in(c, &c->sub[i], p, 0, s, &failed);
        if (empty == NOWHERE || !set_slot(&c->sub[i], empty, fp, s)) continue;
        return set_slot(&c->sub[table], slot, 0, s);
    }
    return false;
}

/* Returns whether the sub-filter is empty afterwards. */
TAMIS_TEMPLATE bool compact_one(struct tamis__redisbloom *c, size_t table, const tamis_storage *s) {
    const uint64_t slots = c->sub[table].bytes;
    bool empty = true, failed = false;
    for (uint64_t slot = 0; slot < slots; slot++) {
        const uint8_t fp = tamis__sub_get(&c->sub[table], s, slot, &failed);
        if (failed || (fp != 0 && !relocate(c, table, slot, fp, s))) empty = false;
    }
    if (empty && table == c->count - 1) drop_last(c);
    return empty;
}

/* A sub-filter that cannot be emptied keeps those before it from being dropped.  `all`: their
 * fingerprints are moved to the front nevertheless, as CF.COMPACT does. */
static void compact(struct tamis__redisbloom *c, bool all) {
    const tamis_storage *s = c->base.settings.pages;
    for (size_t i = c->count; i-- > 1;) {
        if (!(s == NULL ? compact_one(c, i, NULL) : compact_one(c, i, s)) && !all) break;
    }
    c->deletes = 0;
}

static tamis_status redis_compact(tamis_filter *f, bool *changed) {
    struct tamis__redisbloom *c = tamis__subs(f);
    *changed = c->count > 1 || c->deletes != 0;
    compact(c, true);
    return TAMIS_OK;
}

/* ---- operations, for contiguous tables (no storage) and for pages */

TAMIS_TEMPLATE bool contains_in(const struct tamis__redisbloom *c, uint64_t hash,
                                const tamis_storage *s) {
    const struct redis_key p = fingerprint_of(hash);
    bool failed = false;
    uint64_t slot;
    return find(c, p, p.fp, s, &slot, &failed) != NULL || failed;
}

/* Puts the fingerprint into a free slot, or makes one free. */
TAMIS_TEMPLATE tamis_status place(struct tamis__redisbloom *c, struct redis_key p,
                                  const tamis_storage *s) {
    bool failed = false;
    uint64_t slot;
    const struct tamis__subfilter *t = find(c, p, 0, s, &slot, &failed);
    if (t != NULL) return set_slot(t, slot, p.fp, s) ? TAMIS_OK : TAMIS_E_NOMEM;
    if (failed) return TAMIS_E_NOMEM;
    return evict(c, p, s) ? TAMIS_OK : TAMIS_E_FULL;
}

TAMIS_TEMPLATE tamis_status add_to(struct tamis__redisbloom *c, uint64_t hash, bool *fresh,
                                   const tamis_storage *s) {
    const bool was_there = fresh != NULL && contains_in(c, hash, s);
    const uint32_t full = s == NULL || s->max_tables == 0 ? TABLES_FULL : s->max_tables;
    if (c->count >= full) return TAMIS_E_FULL;
    tamis_status status;
    while ((status = place(c, fingerprint_of(hash), s)) == TAMIS_E_FULL) {
        status = grow(c);
        if (status != TAMIS_OK) break;
    }
    if (status != TAMIS_OK) return status;
    c->items++;
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

TAMIS_TEMPLATE tamis_status remove_from(struct tamis__redisbloom *c, uint64_t hash,
                                        const tamis_storage *s) {
    const struct redis_key p = fingerprint_of(hash);
    bool failed = false;
    uint64_t slot;
    const struct tamis__subfilter *t = find(c, p, p.fp, s, &slot, &failed);
    if (t == NULL) return failed ? TAMIS_E_NOMEM : TAMIS_E_ABSENT;
    if (!set_slot(t, slot, 0, s)) return TAMIS_E_NOMEM;
    c->items -= c->items != 0;
    c->deletes++;
    if (c->count > 1 && (double)c->deletes > (double)c->items * 0.1) compact(c, false);
    return TAMIS_OK;
}

/* A constant NULL for the storage leaves the code for contiguous tables alone. */
static bool redis_contains(const tamis_filter *f, uint64_t hash) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    const tamis_storage *s = f->settings.pages;
    return s == NULL ? contains_in(c, hash, NULL) : contains_in(c, hash, s);
}
static tamis_status redis_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    struct tamis__redisbloom *c = tamis__subs(f);
    const tamis_storage *s = f->settings.pages;
    return s == NULL ? add_to(c, hash, fresh, NULL) : add_to(c, hash, fresh, s);
}
static tamis_status redis_remove(tamis_filter *f, uint64_t hash) {
    struct tamis__redisbloom *c = tamis__subs(f);
    const tamis_storage *s = f->settings.pages;
    return s == NULL ? remove_from(c, hash, NULL) : remove_from(c, hash, s);
}

static const struct tamis__ops redis_ops = {
    .path = "portable",
    .contains = redis_contains,
    .contains_batch = tamis__contains_each,
    .add = redis_add,
    .add_batch = tamis__add_each,
    .remove = redis_remove,
};

static unsigned bucket_count(const struct tamis__redisbloom *c, const struct tamis__subfilter *t,
                             uint64_t bucket, uint8_t fp) {
    const uint64_t end = bucket + c->bucket_size;
    unsigned count = 0;
    bool failed = false;
    for (uint64_t at = bucket, run; at < end; at += run) {
        const uint8_t *slots =
            tamis__sub_run(t, c->base.settings.pages, at, end - at, &run, &failed);
        for (uint64_t i = 0; slots != NULL && i < run; i++) count += slots[i] == fp;
    }
    return failed ? 1 : count;
}

/* As RedisBloom counts: if both buckets of the key are the same, its slots count twice. */
static unsigned redis_count(const tamis_filter *f, uint64_t hash) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    const struct redis_key p = fingerprint_of(hash);
    unsigned copies = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct tamis__subfilter *t = &c->sub[i];
        copies += bucket_count(c, t, bucket_at(c, t, p.h1), p.fp);
        copies += bucket_count(c, t, bucket_at(c, t, p.h2), p.fp);
    }
    return copies;
}

/* ---- creating and freeing */

static bool redis_check(const struct tamis__shape *shape) {
    const uint64_t exact = shape->word[EXACT];
    return exact >= TAMIS__CUCKOO_HEADER && exact <= shape->table_bytes &&
           shape->table_bytes - exact < 8;
}

void tamis__cuckoo_write(struct tamis__writer *w, const struct tamis__redisbloom *c) {
    tamis__write64(w, c->items);
    tamis__write64(w, c->buckets);
    tamis__write64(w, c->deletes);
    tamis__write64(w, c->count);
    tamis__write16(w, c->bucket_size);
    tamis__write16(w, c->iterations);
    tamis__write16(w, c->expansion);
}

static void redis_init(const struct tamis__shape *shape, uint8_t *table) {
    const struct tamis__redisbloom first = {.buckets = shape->word[BUCKETS],
                                            .count = 1,
                                            .bucket_size = (uint16_t)shape->word[BUCKET_SIZE],
                                            .iterations = (uint16_t)shape->word[ITERATIONS],
                                            .expansion = (uint16_t)shape->word[EXPANSION]};
    struct tamis__writer w = {table, table + TAMIS__CUCKOO_HEADER, false};
    tamis__cuckoo_write(&w, &first);
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* What RedisBloom checks; and that the sub-filters are powers of two, as those it makes. */
static bool is_sane(const struct tamis__redisbloom *c, uint64_t tables) {
    const bool grows = is_power_of_two(c->expansion) || (c->expansion == 0 && tables == 1);
    return is_power_of_two(c->buckets) && c->bucket_size >= 1 &&
           c->bucket_size <= BUCKET_SIZE_MAX && c->iterations >= 1 && tables >= 1 && grows;
}

/* false: more buckets than can be addressed. */
static bool size_tables(struct tamis__redisbloom *c) {
    uint64_t buckets = c->buckets;
    for (size_t i = 0; i < c->count; i++) {
        if (buckets > (uint64_t)1 << 47) return false;
        c->sub[i].buckets = buckets;
        c->sub[i].bytes = buckets * c->bucket_size;
        buckets *= c->expansion;
    }
    return true;
}

static tamis_status redis_attach(tamis_filter *f) {
    struct tamis__redisbloom *c = tamis__subs(f);
    struct tamis__reader r = {f->table, f->table + f->shape.word[EXACT], false};
    c->items = tamis__read64(&r);
    c->buckets = tamis__read64(&r);
    c->deletes = tamis__read64(&r);
    const uint64_t tables = tamis__read64(&r);
    c->bucket_size = tamis__read16(&r);
    c->iterations = tamis__read16(&r);
    c->expansion = tamis__read16(&r);
    if (!is_sane(c, tables)) return TAMIS_E_CORRUPT;
    if (f->settings.pages == NULL && tables > (uint64_t)(r.end - r.at)) return TAMIS_E_TRUNCATED;
    if (tables > TABLES_MAX) return TAMIS_E_UNSUPPORTED;
    const tamis_status status = tamis__subs_alloc(c, (size_t)tables);
    if (status != TAMIS_OK) return status;
    if (!size_tables(c)) return f->settings.pages == NULL ? TAMIS_E_TRUNCATED : TAMIS_E_TOO_BIG;
    return tamis__subs_attach(f, TAMIS__CUCKOO_HEADER);
}

static void redis_export(const tamis_filter *f, uint8_t *bytes) {
    struct tamis__writer w = {bytes, bytes + f->shape.word[EXACT], false};
    tamis__cuckoo_write(&w, tamis__const_subs(f));
    tamis__subs_export_data(f, &w);
}

static size_t redis_header_part(const tamis_filter *f, size_t offset, uint8_t *part,
                                size_t *begins) {
    struct tamis__writer w = {part, part + TAMIS__CUCKOO_HEADER, false};
    *begins = 0;
    if (offset >= TAMIS__CUCKOO_HEADER) return 0;
    tamis__cuckoo_write(&w, tamis__const_subs(f));
    return TAMIS__CUCKOO_HEADER;
}

static const struct tamis__paged redis_paged = {
    .header_part = redis_header_part,
    .table = tamis__subs_table,
    .copy = tamis__subs_copy,
};

/* ---- information */

static void redis_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    (void)shape;
    traits->hashes = 2;
    traits->width = 8;
    traits->cache_lines = 2;
}

/* An absent key is compared with two buckets of every sub-filter, each slot of which has its
 * fingerprint with a chance of one in 255 if it is taken. */
static void redis_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__redisbloom *c = tamis__const_subs(f);
    double slots = 0, used = 0, compared = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct tamis__subfilter *t = &c->sub[i];
        const double taken = (double)tamis__sub_count(f, t, false);
        slots += (double)t->bytes;
        used += taken;
        compared += 2.0 * c->bucket_size * taken / (double)t->bytes;
    }
    state->fill = used / slots;
    state->distinct = (double)c->items;
    state->capacity = (uint64_t)slots;
    state->fpr_now = 1 - pow(254.0 / 255, compared);
    state->stages = (uint32_t)c->count;
}

const struct tamis__family tamis__cuckoo_compat = {
    .kind = TAMIS_CUCKOO,
    .layout = 33,
    .name = "cuckoo",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE,
    .object_size = sizeof(struct tamis__redisbloom),
    .traits = redis_traits,
    .init = redis_init,
    .check = redis_check,
    .only_ops = &redis_ops,
    .attach = redis_attach,
    .detach = tamis__subs_detach,
    .state = redis_state,
    .count = redis_count,
    .compact = redis_compact,
    .export_bytes = tamis__subs_export_bytes,
    .export_table = redis_export,
    .paged = &redis_paged,
};
