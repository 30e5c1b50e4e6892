/* cuckoo_foreign.c - RedisBloom's cuckoo filter: sub-filters of one-byte fingerprints
 *
 * A fingerprint 1..255 lies in one of two buckets of some sub-filter; 0 is an empty slot.  A
 * key goes to the first free slot, the newest sub-filter first; else fingerprints of the newest
 * are moved on, a fixed number of times; if that fails all is undone and a sub-filter appended.
 * Removals that leave many holes are followed by a compaction.  Nothing is left to chance, so
 * the same commands give the same bytes.
 *
 *     table   what CF.SCANDUMP gives, header and data in one piece, little-endian:
 *                 u64 items, u64 buckets, u64 deletes, u64 sub-filters, u16 bucket size,
 *                 u16 iterations, u16 expansion                               (38 bytes)
 *                 the sub-filters; the j-th has buckets * expansion^j buckets
 *     shape   word[0] bytes of the table (a .tamis file pads it); word[1..4] buckets, bucket
 *             size, iterations and expansion, for init */
#include <math.h>
#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/chain_link.h"
#include "family/scheme.h"

enum { EXACT, BUCKETS, BUCKET_SIZE, ITERATIONS, EXPANSION };

#define TABLES_MOST 1024
#define TABLES_REFUSE 32 /* RedisBloom takes no more keys once it has so many */
#define MIX UINT64_C(0x5bd1e995)

struct subtable {
    uint8_t *slots;
    uint64_t buckets;
    bool own; /* `slots` are from tamis__table_alloc */
};

struct redis_cuckoo {
    tamis_filter base;
    struct subtable *tables;
    size_t count, room;
    uint64_t items, buckets, deletes;
    uint16_t bucket_size, iterations, expansion;
};

static struct redis_cuckoo *cuckoo_of(tamis_filter *f) { return (struct redis_cuckoo *)f; }
static const struct redis_cuckoo *const_cuckoo(const tamis_filter *f) {
    return (const struct redis_cuckoo *)f;
}

/* ---- one key */

struct print {
    uint64_t h1, h2;
    uint8_t fp;
};

static struct print print_of(uint64_t hash) {
    const uint8_t fp = (uint8_t)(hash % 255 + 1);
    return (struct print){hash, hash ^ fp * MIX, fp};
}

/* The original keeps the place in 32 bits. */
static uint8_t *bucket_at(const struct redis_cuckoo *c, const struct subtable *t, uint64_t hash) {
    return t->slots + (uint32_t)(hash % t->buckets * c->bucket_size);
}

/* The slot that holds `fp` in a bucket; NULL if none does. */
static uint8_t *slot_with(const struct redis_cuckoo *c, uint8_t *bucket, uint8_t fp) {
    for (unsigned i = 0; i < c->bucket_size; i++) {
        if (bucket[i] == fp) return bucket + i;
    }
    return NULL;
}

static uint8_t *find_in(const struct redis_cuckoo *c, const struct subtable *t, struct print p,
                        uint8_t fp) {
    uint8_t *slot = slot_with(c, bucket_at(c, t, p.h1), fp);
    return slot != NULL ? slot : slot_with(c, bucket_at(c, t, p.h2), fp);
}

static uint8_t *find(const struct redis_cuckoo *c, struct print p, uint8_t fp) {
    for (size_t i = c->count; i-- > 0;) {
        uint8_t *slot = find_in(c, &c->tables[i], p, fp);
        if (slot != NULL) return slot;
    }
    return NULL;
}

/* ---- eviction and growth */

static uint64_t other_bucket(uint64_t bucket, uint8_t fp, uint64_t buckets) {
    return (bucket ^ fp * MIX) % buckets;
}

static void swap_with(uint8_t *slot, uint8_t *fp) {
    const uint8_t old = *slot;
    *slot = *fp;
    *fp = old;
}

/* Moves fingerprints of the newest sub-filter on until one finds a free slot; undoes it all
 * and returns false if none does. */
static bool evict(struct redis_cuckoo *c, struct print p) {
    const struct subtable *t = &c->tables[c->count - 1];
    uint64_t i = p.h1 % t->buckets;
    unsigned victim = 0, moved = 0;
    uint8_t fp = p.fp;
    for (; moved < c->iterations; moved++) {
        swap_with(bucket_at(c, t, i) + victim, &fp);
        i = other_bucket(i, fp, t->buckets);
        uint8_t *empty = slot_with(c, bucket_at(c, t, i), 0);
        if (empty != NULL) {
            *empty = fp;
            return true;
        }
        victim = (victim + 1) % c->bucket_size;
    }
    while (moved-- > 0) {
        victim = (victim + c->bucket_size - 1) % c->bucket_size;
        i = other_bucket(i, fp, t->buckets);
        swap_with(bucket_at(c, t, i) + victim, &fp);
    }
    return false;
}

static tamis_status reserve(struct redis_cuckoo *c) {
    if (c->count < c->room) return TAMIS_OK;
    const tamis_allocator *a = &c->base.allocator;
    const size_t room = c->room + c->room / 2 + 1;
    struct subtable *larger = tamis__alloc(a, room * sizeof *larger);
    if (larger == NULL) return TAMIS_E_NOMEM;
    memcpy(larger, c->tables, c->count * sizeof *larger);
    tamis__release(a, c->tables, c->room * sizeof *larger);
    c->tables = larger;
    c->room = room;
    return TAMIS_OK;
}

static tamis_status grow(struct redis_cuckoo *c) {
    const uint64_t last = c->tables[c->count - 1].buckets;
    if (c->expansion == 0) return TAMIS_E_FULL;
    if (last > ((uint64_t)1 << 56) / c->expansion / c->bucket_size) return TAMIS_E_TOO_BIG;
    const tamis_status status = reserve(c);
    if (status != TAMIS_OK) return status;
    struct subtable t = {.buckets = last * c->expansion, .own = true};
    const uint64_t bytes = t.buckets * c->bucket_size;
    t.slots = tamis__table_alloc(&c->base.allocator, bytes);
    if (t.slots == NULL) return TAMIS_E_NOMEM;
    c->tables[c->count++] = t;
    c->base.shape.table_bytes = c->base.shape.word[EXACT] += bytes;
    return TAMIS_OK;
}

static void drop_last(struct redis_cuckoo *c) {
    const struct subtable *t = &c->tables[--c->count];
    const uint64_t bytes = t->buckets * c->bucket_size;
    if (t->own) tamis__table_free(&c->base.allocator, t->slots, bytes);
    c->base.shape.table_bytes = c->base.shape.word[EXACT] -= bytes;
}

/* ---- compaction */

/* Moves a fingerprint of a bucket to the first free place in an earlier sub-filter. */
static bool relocate(struct redis_cuckoo *c, size_t table, uint64_t bucket, uint8_t *slot) {
    const struct print p = {bucket, bucket ^ *slot * MIX, *slot};
    for (size_t i = 0; i < table; i++) {
        uint8_t *empty = find_in(c, &c->tables[i], p, 0);
        if (empty == NULL) continue;
        *empty = *slot;
        *slot = 0;
        return true;
    }
    return false;
}

/* Returns whether the sub-filter is empty afterwards. */
static bool compact_one(struct redis_cuckoo *c, size_t table) {
    const struct subtable *t = &c->tables[table];
    bool empty = true;
    for (uint64_t b = 0; b < t->buckets; b++) {
        for (unsigned s = 0; s < c->bucket_size; s++) {
            uint8_t *slot = t->slots + b * c->bucket_size + s;
            if (*slot != 0 && !relocate(c, table, b, slot)) empty = false;
        }
    }
    if (empty && table == c->count - 1) drop_last(c);
    return empty;
}

static void compact(struct redis_cuckoo *c) {
    for (size_t i = c->count; i-- > 1;) {
        if (!compact_one(c, i)) break;
    }
    c->deletes = 0;
}

/* ---- operations */

static bool redis_contains(const tamis_filter *f, struct tamis__hash h) {
    const struct print p = print_of(h.lo);
    return find(const_cuckoo(f), p, p.fp) != NULL;
}

static size_t redis_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *answers) {
    size_t found = 0;
    (void)hi;
    for (size_t i = 0; i < count; i++) {
        const bool maybe = redis_contains(f, (struct tamis__hash){lo[i], 0});
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

static tamis_status redis_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    struct redis_cuckoo *c = cuckoo_of(f);
    const struct print p = print_of(h.lo);
    const bool was_there = fresh != NULL && find(c, p, p.fp) != NULL;
    if (c->count >= TABLES_REFUSE) return TAMIS_E_FULL;
    for (;;) {
        uint8_t *empty = find(c, p, 0);
        if (empty != NULL) *empty = p.fp;
        if (empty != NULL || evict(c, p)) break;
        const tamis_status status = grow(c);
        if (status != TAMIS_OK) return status;
    }
    /* A header may have claimed more than there were: it is read again only up to the slots. */
    c->items += c->items < f->shape.word[EXACT] - TAMIS__SUBTABLES_HEADER;
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

static tamis_status redis_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    size_t count, bool *fresh, size_t *done) {
    tamis_status status = TAMIS_OK;
    (void)hi;
    for (*done = 0; *done < count; ++*done) {
        const struct tamis__hash h = {lo[*done], 0};
        status = redis_add(f, h, fresh == NULL ? NULL : fresh + *done);
        if (status != TAMIS_OK) break;
    }
    return status;
}

static tamis_status redis_remove(tamis_filter *f, struct tamis__hash h) {
    struct redis_cuckoo *c = cuckoo_of(f);
    const struct print p = print_of(h.lo);
    uint8_t *slot = find(c, p, p.fp);
    if (slot == NULL) return TAMIS_E_ABSENT;
    *slot = 0;
    c->items -= c->items != 0;
    c->deletes++;
    if (c->count > 1 && (double)c->deletes > (double)c->items * 0.1) compact(c);
    return TAMIS_OK;
}

static const struct tamis__ops redis_ops = {
    .path = "portable",
    .contains = redis_contains,
    .contains_batch = redis_contains_batch,
    .add = redis_add,
    .add_batch = redis_add_batch,
    .remove = redis_remove,
};

static const struct tamis__ops *ops_of(const struct tamis__shape *shape, uint32_t cpu,
                                       bool shared) {
    (void)shape, (void)cpu, (void)shared;
    return &redis_ops;
}

static unsigned redis_count(const tamis_filter *f, struct tamis__hash h) {
    const struct redis_cuckoo *c = const_cuckoo(f);
    const struct print p = print_of(h.lo);
    unsigned copies = 0;
    for (size_t i = 0; i < c->count; i++) {
        const uint8_t *first = bucket_at(c, &c->tables[i], p.h1);
        const uint8_t *second = bucket_at(c, &c->tables[i], p.h2);
        for (unsigned j = 0; j < c->bucket_size; j++) {
            copies += first[j] == p.fp;
            copies += second != first && second[j] == p.fp;
        }
    }
    return copies;
}

/* ---- life */

static bool redis_check(const struct tamis__shape *shape) {
    const uint64_t exact = shape->word[EXACT];
    return shape->scheme == TAMIS__SCHEME_SUBTABLES && exact > TAMIS__SUBTABLES_HEADER &&
           exact <= shape->table_bytes && shape->table_bytes - exact < 8;
}

static void write_header(struct tamis__writer *w, const struct redis_cuckoo *c) {
    tamis__write64(w, c->items);
    tamis__write64(w, c->buckets);
    tamis__write64(w, c->deletes);
    tamis__write64(w, c->count);
    tamis__write16(w, c->bucket_size);
    tamis__write16(w, c->iterations);
    tamis__write16(w, c->expansion);
}

static void redis_init(const struct tamis__shape *shape, uint8_t *table) {
    const struct redis_cuckoo first = {.buckets = shape->word[BUCKETS],
                                       .count = 1,
                                       .bucket_size = (uint16_t)shape->word[BUCKET_SIZE],
                                       .iterations = (uint16_t)shape->word[ITERATIONS],
                                       .expansion = (uint16_t)shape->word[EXPANSION]};
    struct tamis__writer w = {table, table + TAMIS__SUBTABLES_HEADER, false};
    write_header(&w, &first);
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

static tamis_status read_tables(struct redis_cuckoo *c, uint64_t left) {
    uint8_t *data = c->base.table + TAMIS__SUBTABLES_HEADER;
    uint64_t buckets = c->buckets, slots = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (buckets == 0 || buckets > left / c->bucket_size) return TAMIS_E_TRUNCATED;
        const uint64_t bytes = buckets * c->bucket_size;
        c->tables[i] = (struct subtable){data, buckets, false};
        data += bytes;
        left -= bytes;
        slots += bytes;
        buckets *= c->expansion; /* at most left * 65535: beyond that the next test fails */
        if (buckets > (uint64_t)1 << 47) buckets = (uint64_t)1 << 47;
    }
    if (left != 0) return TAMIS_E_TRAILING;
    return c->items <= slots ? TAMIS_OK : TAMIS_E_CORRUPT;
}

static tamis_status redis_attach(tamis_filter *f) {
    struct redis_cuckoo *c = cuckoo_of(f);
    struct tamis__reader r = {f->table, f->table + f->shape.word[EXACT], false};
    c->items = tamis__read64(&r);
    c->buckets = tamis__read64(&r);
    c->deletes = tamis__read64(&r);
    const uint64_t tables = tamis__read64(&r);
    c->bucket_size = tamis__read16(&r);
    c->iterations = tamis__read16(&r);
    c->expansion = tamis__read16(&r);
    const bool grows = is_power_of_two(c->expansion) || (c->expansion == 0 && tables == 1);
    if (!is_power_of_two(c->buckets) || c->bucket_size == 0 || tables == 0 || !grows) {
        return TAMIS_E_CORRUPT;
    }
    if (tables > (uint64_t)(r.end - r.at)) return TAMIS_E_TRUNCATED;
    if (tables > TABLES_MOST) return TAMIS_E_UNSUPPORTED;
    c->tables = tamis__alloc(&f->allocator, (size_t)tables * sizeof *c->tables);
    if (c->tables == NULL) return TAMIS_E_NOMEM;
    memset(c->tables, 0, (size_t)tables * sizeof *c->tables);
    c->count = c->room = (size_t)tables;
    return read_tables(c, (uint64_t)(r.end - r.at));
}

static void redis_detach(tamis_filter *f) {
    struct redis_cuckoo *c = cuckoo_of(f);
    for (size_t i = 0; i < c->count; i++) {
        const struct subtable *t = &c->tables[i];
        if (t->own) tamis__table_free(&f->allocator, t->slots, t->buckets * c->bucket_size);
    }
    tamis__release(&f->allocator, c->tables, c->room * sizeof *c->tables);
}

static uint64_t redis_export_bytes(const tamis_filter *f) { return f->shape.word[EXACT]; }

void tamis__subtables_header(const tamis_filter *f, uint8_t header[TAMIS__SUBTABLES_HEADER]) {
    struct tamis__writer w = {header, header + TAMIS__SUBTABLES_HEADER, false};
    write_header(&w, const_cuckoo(f));
}

const uint8_t *tamis__subtable_at(const tamis_filter *f, size_t i, uint64_t *buckets) {
    const struct subtable *t = &const_cuckoo(f)->tables[i];
    *buckets = t->buckets;
    return t->slots;
}

static void redis_export(const tamis_filter *f, uint8_t *bytes) {
    const struct redis_cuckoo *c = const_cuckoo(f);
    struct tamis__writer w = {bytes, bytes + f->shape.word[EXACT], false};
    write_header(&w, c);
    for (size_t i = 0; i < c->count; i++) {
        tamis__write_bytes(&w, c->tables[i].slots, (size_t)(c->tables[i].buckets * c->bucket_size));
    }
    assert(!w.bad && w.at == w.end);
}

/* ---- looking inside */

static void redis_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    (void)shape;
    traits->hashes = 2;
    traits->width = 8;
    traits->cache_lines = 2;
}

/* An absent key is compared with two buckets of every sub-filter, each slot of which has its
 * fingerprint with a chance of one in 255 if it is taken. */
static void redis_state(const tamis_filter *f, struct tamis__state *state) {
    const struct redis_cuckoo *c = const_cuckoo(f);
    double slots = 0, used = 0, compared = 0;
    for (size_t i = 0; i < c->count; i++) {
        const uint64_t bytes = c->tables[i].buckets * c->bucket_size;
        uint64_t taken = 0;
        for (uint64_t j = 0; j < bytes; j++) taken += c->tables[i].slots[j] != 0;
        slots += (double)bytes;
        used += (double)taken;
        compared += 2.0 * c->bucket_size * (double)taken / (double)bytes;
    }
    state->fill = used / slots;
    state->distinct = (double)c->items;
    state->capacity = (uint64_t)slots;
    state->rate_now = 1 - pow(254.0 / 255, compared);
    state->stages = (uint32_t)c->count;
}

const struct tamis__family tamis__cuckoo_foreign = {
    .kind = TAMIS_CUCKOO,
    .name = "cuckoo",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE,
    .object_size = sizeof(struct redis_cuckoo),
    .traits = redis_traits,
    .init = redis_init,
    .check = redis_check,
    .ops = ops_of,
    .attach = redis_attach,
    .detach = redis_detach,
    .state = redis_state,
    .count = redis_count,
    .export_bytes = redis_export_bytes,
    .export_table = redis_export,
};
