/* cf_legacy.c - a cuckoo filter that RedisBloom made, as it made it
 *
 * Tables of buckets of one-byte fingerprints, 1 to 255; 0 is a free slot.  A key has one
 * fingerprint and two buckets in each table:
 *
 *     h1 = MurmurHash64A(key, 0),  fingerprint = h1 mod 255 + 1,  h2 = h1 ^ fingerprint * M,
 *     bucket = h mod the number of buckets, a power of two
 *
 * It goes to the first free slot, newest table first; else fingerprints of the newest table
 * are moved on, a fixed number of times; if that fails all is undone, and a table that is
 * `expansion` times as large is appended.  Nothing is left to chance: the same commands give
 * the same bytes as in RedisBloom.
 *
 * All numbers from outside are checked before anything is allocated for them. */
#include "cf_legacy.h"

#include <string.h>

#include "legacy_hash.h"
#include "memory.h"
#include "wire.h"

#define MIX UINT64_C(0x5bd1e995)
#define TABLES_MOST 1024
#define EXPANSION_MOST 32768
#define BYTES_MOST ((uint64_t)1 << 36) /* of all tables */
#define RDB_WITH_BUCKETS 4 /* older versions know one size of table and nothing to choose */

/* ---- life */

static struct cf_legacy *legacy_new(uint32_t tables) {
    struct cf_legacy *f = memory_zeroed(sizeof *f);
    if (f == NULL) return NULL;
    f->table = memory_zeroed(tables * sizeof *f->table);
    if (f->table == NULL) {
        memory_free(f);
        return NULL;
    }
    return f;
}

void cf_legacy_free(struct cf_legacy *f) {
    if (f == NULL) return;
    for (uint32_t i = 0; i < f->tables; i++) blocks_close(&f->table[i].slots);
    memory_free(f->table);
    memory_free(f);
}

struct cf_legacy *cf_legacy_copy(const struct cf_legacy *from) {
    struct cf_legacy *f = legacy_new(from->tables);
    if (f == NULL) return NULL;
    struct cf_legacy_table *tables = f->table;
    *f = *from;
    f->table = tables;
    for (f->tables = 0; f->tables < from->tables; f->tables++) {
        struct cf_legacy_table *t = &f->table[f->tables];
        t->buckets = from->table[f->tables].buckets;
        if (!blocks_copy(&t->slots, &from->table[f->tables].slots)) {
            cf_legacy_free(f);
            return NULL;
        }
    }
    return f;
}

/* An item that finds no free slot moves others: each is one place more. */
size_t cf_legacy_unready(const struct cf_legacy *f, size_t items, bool change) {
    const size_t places = items * (change ? 2 + (size_t)f->iterations : 2);
    size_t unready = 0;
    for (uint32_t i = 0; i < f->tables; i++) {
        unready += blocks_unready(&f->table[i].slots, places, change);
    }
    return unready;
}

void cf_legacy_prepare(const struct cf_legacy *f) {
    for (uint32_t i = 0; i < f->tables; i++) blocks_prepare(&f->table[i].slots);
}

static uint64_t all_slots(const struct cf_legacy *f) {
    uint64_t slots = 0;
    for (uint32_t i = 0; i < f->tables; i++) slots += f->table[i].slots.bytes;
    return slots;
}

/* As RedisBloom reckons it: CF.INFO tells the same size. */
size_t cf_legacy_bytes(const struct cf_legacy *f) {
    return 40 + 16 * (size_t)f->tables + (size_t)all_slots(f);
}

/* ---- one key */

struct print {
    uint64_t h1, h2;
    uint8_t fp;
};

static struct print print_of(const void *key, size_t length) {
    const uint64_t h = legacy_hash64(key, length, 0);
    const uint8_t fp = (uint8_t)(h % 255 + 1);
    return (struct print){h, h ^ fp * MIX, fp};
}

/* The place of a bucket's first slot; RedisBloom keeps it in 32 bits. */
static uint64_t bucket_at(const struct cf_legacy *f, const struct cf_legacy_table *t,
                          uint64_t hash) {
    return (uint32_t)(hash % t->buckets * f->bucket_size);
}

#define NOWHERE UINT64_MAX

/* The slot of a bucket that has this fingerprint (0: that is free). */
static uint64_t slot_with(const struct cf_legacy *f, const struct cf_legacy_table *t,
                          uint64_t bucket, uint8_t fp) {
    for (uint64_t i = bucket; i < bucket + f->bucket_size; i++) {
        if (blocks_get(&t->slots, i) == fp) return i;
    }
    return NOWHERE;
}

static uint64_t find_in(const struct cf_legacy *f, const struct cf_legacy_table *t, struct print p,
                        uint8_t fp) {
    const uint64_t slot = slot_with(f, t, bucket_at(f, t, p.h1), fp);
    return slot != NOWHERE ? slot : slot_with(f, t, bucket_at(f, t, p.h2), fp);
}

static bool set_slot(struct cf_legacy_table *t, uint64_t slot, uint8_t fp) {
    uint8_t *byte = blocks_at(&t->slots, slot);
    if (byte != NULL) *byte = fp;
    return byte != NULL;
}

/* Puts one fingerprint in the place of another, which becomes `*fp`. */
static bool swap_slot(struct cf_legacy_table *t, uint64_t slot, uint8_t *fp) {
    const uint8_t old = blocks_get(&t->slots, slot);
    const bool done = set_slot(t, slot, *fp);
    if (done) *fp = old;
    return done;
}

/* Where both buckets are the same one, in a table of a few, RedisBloom counts it twice. */
unsigned cf_legacy_count(const struct cf_legacy *f, const void *key, size_t length) {
    const struct print p = print_of(key, length);
    unsigned count = 0;
    for (uint32_t i = 0; i < f->tables; i++) {
        const struct cf_legacy_table *t = &f->table[i];
        const uint64_t first = bucket_at(f, t, p.h1), second = bucket_at(f, t, p.h2);
        for (uint64_t k = 0; k < f->bucket_size; k++) {
            count += blocks_get(&t->slots, first + k) == p.fp;
            count += blocks_get(&t->slots, second + k) == p.fp;
        }
    }
    return count;
}

/* ---- adding */

static uint64_t other_bucket(uint64_t bucket, uint8_t fp, uint64_t buckets) {
    return (bucket ^ fp * MIX) % buckets;
}

/* Moves fingerprints of the newest table on until one finds a free slot; undoes it all if none
 * does.  A full table has all of its blocks, so no swap can fail. */
static bool evict(struct cf_legacy *f, struct print p) {
    struct cf_legacy_table *t = &f->table[f->tables - 1];
    uint64_t bucket = p.h1 % t->buckets;
    unsigned victim = 0, moved = 0;
    uint8_t fp = p.fp;
    for (; moved < f->iterations; moved++) {
        if (!swap_slot(t, bucket_at(f, t, bucket) + victim, &fp)) break;
        bucket = other_bucket(bucket, fp, t->buckets);
        const uint64_t empty = slot_with(f, t, bucket_at(f, t, bucket), 0);
        if (empty != NOWHERE && set_slot(t, empty, fp)) return true;
        victim = (victim + 1) % f->bucket_size;
    }
    while (moved-- > 0) {
        victim = (victim + f->bucket_size - 1) % f->bucket_size;
        bucket = other_bucket(bucket, fp, t->buckets);
        (void)swap_slot(t, bucket_at(f, t, bucket) + victim, &fp);
    }
    return false;
}

/* No further than is_sane() takes: else the server could not load its own file. */
static enum cf_legacy_result grow(struct cf_legacy *f) {
    const uint64_t last = f->table[f->tables - 1].buckets;
    if (f->expansion == 0 || f->tables == TABLES_MOST) return CF_LEGACY_FULL;
    if (last > (BYTES_MOST - all_slots(f)) / f->expansion / f->bucket_size) return CF_LEGACY_FAILED;
    struct cf_legacy_table t = {.buckets = last * f->expansion};
    struct cf_legacy_table *larger = memory_alloc((f->tables + 1) * sizeof *larger);
    if (larger == NULL || !blocks_open(&t.slots, t.buckets * f->bucket_size)) {
        memory_free(larger);
        return CF_LEGACY_FAILED;
    }
    memcpy(larger, f->table, f->tables * sizeof *larger);
    memory_free(f->table);
    f->table = larger;
    f->table[f->tables++] = t;
    return CF_LEGACY_OK;
}

enum cf_legacy_result cf_legacy_add(struct cf_legacy *f, const void *key, size_t length,
                                    bool may_grow) {
    const struct print p = print_of(key, length);
    for (;;) {
        for (uint32_t i = f->tables; i-- > 0;) {
            const uint64_t slot = find_in(f, &f->table[i], p, 0);
            if (slot == NOWHERE) continue;
            if (!set_slot(&f->table[i], slot, p.fp)) return CF_LEGACY_FAILED;
            f->items++;
            return CF_LEGACY_OK;
        }
        if (evict(f, p)) {
            f->items++;
            return CF_LEGACY_OK;
        }
        const enum cf_legacy_result result = may_grow ? grow(f) : CF_LEGACY_FULL;
        if (result != CF_LEGACY_OK) return result;
    }
}

/* ---- removing */

/* Moves a fingerprint to a free slot of an earlier table. */
static bool relocate(struct cf_legacy *f, uint32_t table, uint64_t bucket, uint64_t slot) {
    const uint8_t fp = blocks_get(&f->table[table].slots, slot);
    const struct print p = {bucket, bucket ^ fp * MIX, fp};
    for (uint32_t i = 0; i < table; i++) {
        const uint64_t empty = find_in(f, &f->table[i], p, 0);
        if (empty == NOWHERE || !set_slot(&f->table[i], empty, fp)) continue;
        return set_slot(&f->table[table], slot, 0);
    }
    return false;
}

/* Is the table empty afterwards? */
static bool compact_table(struct cf_legacy *f, uint32_t table) {
    const uint64_t slots = f->table[table].slots.bytes;
    bool empty = true;
    for (uint64_t slot = 0; slot < slots; slot++) {
        if (blocks_get(&f->table[table].slots, slot) == 0) continue;
        if (!relocate(f, table, slot / f->bucket_size, slot)) empty = false;
    }
    if (empty && table + 1 == f->tables) blocks_close(&f->table[--f->tables].slots);
    return empty;
}

/* A table that cannot be emptied keeps those before it from being freed.  `all`: they are moved to
 * the front all the same. */
static void compact(struct cf_legacy *f, bool all) {
    for (uint32_t i = f->tables; i-- > 1;) {
        if (!compact_table(f, i) && !all) break;
    }
    f->deletes = 0;
}

bool cf_legacy_compact(struct cf_legacy *f) {
    const bool work = f->tables > 1 || f->deletes != 0;
    compact(f, true);
    return work;
}

bool cf_legacy_remove(struct cf_legacy *f, const void *key, size_t length) {
    const struct print p = print_of(key, length);
    for (uint32_t i = f->tables; i-- > 0;) {
        const uint64_t slot = find_in(f, &f->table[i], p, p.fp);
        if (slot == NOWHERE) continue;
        (void)set_slot(&f->table[i], slot, 0);
        f->items -= f->items != 0;
        f->deletes++;
        if (f->tables > 1 && (double)f->deletes > (double)f->items * 0.1) compact(f, false);
        return true;
    }
    return false;
}

/* ---- numbers from outside */

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* All but the tables; `most`: bytes that these may take.  The items are not compared with the
 * slots: those that a header tells of come in chunks, and others may be added before. */
static bool is_sane(const struct cf_legacy *f, uint64_t tables, uint64_t most) {
    const bool grows = is_power_of_two(f->expansion) && f->expansion <= EXPANSION_MOST;
    if (tables == 0 || tables > TABLES_MOST || !is_power_of_two(f->buckets)) return false;
    if (f->bucket_size == 0 || f->bucket_size > 255 || f->iterations == 0) return false;
    if (!grows && (f->expansion != 0 || tables != 1)) return false;
    uint64_t buckets = f->buckets, slots = 0;
    for (uint64_t i = 0; i < tables; i++, buckets *= f->expansion) {
        if (buckets > (most - slots) / f->bucket_size) return false;
        slots += buckets * f->bucket_size;
    }
    return true;
}

static bool open_tables(struct cf_legacy *f, uint64_t tables) {
    uint64_t buckets = f->buckets;
    for (; f->tables < tables; f->tables++, buckets *= f->expansion) {
        struct cf_legacy_table *t = &f->table[f->tables];
        t->buckets = buckets;
        if (!blocks_open(&t->slots, buckets * f->bucket_size)) return false;
    }
    return true;
}

/* ---- chunks
 *
 *     header  u64 items, u64 buckets, u64 deletes, u64 tables, u16 bucket size, u16 iterations,
 *             u16 expansion
 *     chunks  the slots of the tables, at most 16 MiB at a time and never of two tables at once;
 *             iterators as in bf_legacy.c */

static uint8_t *header_chunk(const struct cf_legacy *f, size_t *length) {
    *length = CF_LEGACY_HEADER;
    struct wire_writer w = {.bytes = memory_alloc(*length), .capacity = *length};
    if (w.bytes == NULL) return NULL;
    wire_put64(&w, f->items);
    wire_put64(&w, f->buckets);
    wire_put64(&w, f->deletes);
    wire_put64(&w, f->tables);
    wire_put(&w, f->bucket_size, 2);
    wire_put(&w, f->iterations, 2);
    wire_put(&w, f->expansion, 2);
    return w.bytes;
}

struct cf_legacy *cf_legacy_from_header(const uint8_t header[CF_LEGACY_HEADER], uint64_t most) {
    struct wire_reader r = {header, header + CF_LEGACY_HEADER, false};
    struct cf_legacy numbers = {.items = wire_get64(&r)};
    numbers.buckets = wire_get64(&r);
    numbers.deletes = wire_get64(&r);
    const uint64_t tables = wire_get64(&r);
    numbers.bucket_size = (uint16_t)wire_get(&r, 2);
    numbers.iterations = (uint16_t)wire_get(&r, 2);
    numbers.expansion = (uint16_t)wire_get(&r, 2);
    if (!is_sane(&numbers, tables, most)) return NULL;
    struct cf_legacy *f = legacy_new((uint32_t)tables);
    if (f == NULL) return NULL;
    numbers.table = f->table;
    *f = numbers;
    if (open_tables(f, tables)) return f;
    cf_legacy_free(f);
    return NULL;
}

/* The table of a place in the data, which becomes a place in it; NULL past the end. */
static struct cf_legacy_table *table_at(const struct cf_legacy *f, uint64_t *offset) {
    for (uint32_t i = 0; i < f->tables; i++) {
        if (*offset < f->table[i].slots.bytes) return &f->table[i];
        *offset -= f->table[i].slots.bytes;
    }
    return NULL;
}

uint8_t *cf_legacy_chunk(const struct cf_legacy *f, long long iterator, size_t *length,
                         long long *next) {
    *length = 0;
    *next = iterator == 0;
    if (iterator == 0) return header_chunk(f, length);
    uint64_t offset = (uint64_t)iterator - 1;
    const struct cf_legacy_table *t = iterator < 0 ? NULL : table_at(f, &offset);
    if (t == NULL) return NULL;
    uint8_t *bytes = blocks_chunk(&t->slots, offset, length);
    *next = iterator + (long long)*length;
    return bytes;
}

bool cf_legacy_load_chunk(struct cf_legacy *f, long long iterator, const void *data,
                          size_t length) {
    if (iterator < 1 || length == 0 || (uint64_t)iterator - 1 < length) return false;
    uint64_t offset = (uint64_t)iterator - 1 - length;
    struct cf_legacy_table *t = table_at(f, &offset);
    if (t == NULL || length > t->slots.bytes - offset) return false;
    return blocks_write(&t->slots, offset, data, length);
}

/* ---- RDB */

void cf_legacy_save(RedisModuleIO *rdb, const struct cf_legacy *f) {
    RedisModule_SaveUnsigned(rdb, f->tables);
    RedisModule_SaveUnsigned(rdb, f->buckets);
    RedisModule_SaveUnsigned(rdb, f->items);
    RedisModule_SaveUnsigned(rdb, f->deletes);
    RedisModule_SaveUnsigned(rdb, f->bucket_size);
    RedisModule_SaveUnsigned(rdb, f->iterations);
    RedisModule_SaveUnsigned(rdb, f->expansion);
    for (uint32_t i = 0; i < f->tables; i++) {
        RedisModule_SaveUnsigned(rdb, f->table[i].buckets);
        blocks_save(rdb, &f->table[i].slots);
    }
}

/* A number of 16 bits; 0, which nothing but an expansion may be, if it has more. */
static uint16_t load16(RedisModuleIO *rdb, bool *bad) {
    const uint64_t value = RedisModule_LoadUnsigned(rdb);
    if (value > UINT16_MAX) *bad = true;
    return (uint16_t)value;
}

static bool load_table(RedisModuleIO *rdb, const struct cf_legacy *f, struct cf_legacy_table *t,
                       uint64_t buckets, int version) {
    t->buckets = version < RDB_WITH_BUCKETS ? buckets : RedisModule_LoadUnsigned(rdb);
    if (RedisModule_IsIOError(rdb) || t->buckets != buckets) return false;
    return blocks_load(rdb, &t->slots) && t->slots.bytes == buckets * f->bucket_size;
}

struct cf_legacy *cf_legacy_load(RedisModuleIO *rdb, uint64_t tables, int version) {
    const bool old = version < RDB_WITH_BUCKETS;
    bool bad = false;
    struct cf_legacy numbers = {.buckets = RedisModule_LoadUnsigned(rdb)};
    numbers.items = RedisModule_LoadUnsigned(rdb);
    numbers.deletes = old ? 0 : RedisModule_LoadUnsigned(rdb);
    numbers.bucket_size = old ? 2 : load16(rdb, &bad);
    numbers.iterations = old ? 20 : load16(rdb, &bad);
    numbers.expansion = old ? 1 : load16(rdb, &bad);
    if (RedisModule_IsIOError(rdb) || bad || !is_sane(&numbers, tables, BYTES_MOST)) return NULL;
    struct cf_legacy *f = legacy_new((uint32_t)tables);
    if (f == NULL) return NULL;
    numbers.table = f->table;
    *f = numbers;
    for (uint64_t buckets = f->buckets; f->tables < tables; buckets *= f->expansion) {
        if (load_table(rdb, f, &f->table[f->tables++], buckets, version)) continue;
        cf_legacy_free(f);
        return NULL;
    }
    return f;
}
