/* exact_counts.c - exact counts of a few hashes
 *
 * Open addressing with linear probing, in tables of a power of two that are at most 3/4 full.  The
 * home of a hash is the upper bits of its product with a random odd number, which is never written
 * anywhere: the hashes are keyed, but the sender of a chunk or a dump chooses both key and hashes,
 * and 60,000 that collided took eight seconds to load.
 *
 * Copies share tables (cow_table.h).  A table is copied when it grows.  To keep that short, more
 * than SPLIT_AT entries are split by the upper bits of the hash into COUNTS_SHARDS tables, which
 * grow at different times. */
#include "filters/exact_counts.h"

#include <stdlib.h>
#include <string.h>

#include "server/memory.h"
#include "server/secret.h"
#include "tables/byte_io.h"
#include "tables/cow_table.h"

#define SPLIT_AT 32768
#define FIRST_BITS 2
#define NUMBER_MAX ((int64_t)1 << 62)

struct exact_counts_entry {
    uint64_t hash;
    int64_t number; /* 0: a free place */
};

struct exact_counts_table {
    uint32_t size; /* 2^bits */
    struct exact_counts_entry entry[];
};

struct exact_counts_shard {
    uint64_t multiplier; /* odd */
    uint32_t used, size; /* size: of the table, or 0 */
    uint32_t bits;
    struct cow_table *table; /* a struct exact_counts_table; NULL if size is 0 */
};

/* ---- tables */

static size_t table_size(uint32_t entries) {
    return sizeof(struct exact_counts_table) + entries * sizeof(struct exact_counts_entry);
}

static void *table_copy(const void *body) {
    const size_t size = table_size(((const struct exact_counts_table *)body)->size);
    struct exact_counts_table *copy = memory_alloc(size);
    if (copy != NULL) memcpy(copy, body, size);
    return copy;
}

static size_t table_bytes(const void *body) {
    return table_size(((const struct exact_counts_table *)body)->size);
}

/* Tables are never united. */
static const struct cow_table_kind table_kind = {
    .copy = table_copy, .free = memory_free, .bytes = table_bytes};

/* ---- one shard */

/* The `size` entries.  A table that is not a union always has a body. */
static const struct exact_counts_entry *entries_of(const struct exact_counts_shard *s) {
    return ((const struct exact_counts_table *)cow_table_look(s->table))->entry;
}

/* The same for writing; NULL if memory runs out. */
static struct exact_counts_entry *own_entries(struct exact_counts_shard *s) {
    struct exact_counts_table *table = cow_table_own(&s->table);
    return table == NULL ? NULL : table->entry;
}

static uint32_t home_of(const struct exact_counts_shard *s, uint64_t hash) {
    return (uint32_t)(hash * s->multiplier >> (64 - s->bits));
}

static uint32_t shard_find(const struct exact_counts_shard *s,
                           const struct exact_counts_entry *entry, uint64_t hash) {
    uint32_t i = home_of(s, hash);
    while (entry[i].number != 0 && entry[i].hash != hash) i = (i + 1) & (s->size - 1);
    return i;
}

static bool shard_grow(struct exact_counts_shard *s) {
    struct exact_counts_shard larger = *s;
    larger.bits = s->size == 0 ? FIRST_BITS : s->bits + 1;
    larger.size = (uint32_t)1 << larger.bits;
    struct exact_counts_table *table = memory_zeroed(table_size(larger.size));
    if (table == NULL) return false;
    table->size = larger.size;
    larger.table = cow_table_new(&table_kind, table);
    if (larger.table == NULL) return false;
    const struct exact_counts_entry *entry = s->size == 0 ? NULL : entries_of(s);
    for (uint32_t i = 0; i < s->size; i++) {
        const struct exact_counts_entry *e = &entry[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        if (e->number != 0) table->entry[shard_find(&larger, table->entry, e->hash)] = *e;
    }
    cow_table_drop(s->table);
    *s = larger;
    return true;
}

/* Frees a place and moves up the entries after it that could not be found otherwise. */
static void shard_erase(struct exact_counts_shard *s, struct exact_counts_entry *entry,
                        uint32_t hole) {
    const uint32_t mask = s->size - 1;
    for (uint32_t i = (hole + 1) & mask; entry[i].number != 0; i = (i + 1) & mask) {
        const uint32_t home = home_of(s, entry[i].hash);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        entry[hole] = entry[i];
        hole = i;
    }
    entry[hole].number = 0;
    s->used--;
}

/* 0 for a hash without a count. */
static int64_t shard_get(const struct exact_counts_shard *s, uint64_t hash) {
    if (s->size == 0) return 0;
    const struct exact_counts_entry *entry = entries_of(s);
    return entry[shard_find(s, entry, hash)].number;
}

static bool shard_set(struct exact_counts_shard *s, uint64_t hash, int64_t number) {
    const bool crowded = 4 * ((uint64_t)s->used + 1) > 3 * (uint64_t)s->size;
    if (crowded && shard_get(s, hash) == 0 && !shard_grow(s)) return false;
    struct exact_counts_entry *entry = own_entries(s);
    if (entry == NULL) return false;
    const uint32_t i = shard_find(s, entry, hash);
    s->used += entry[i].number == 0;
    entry[i] = (struct exact_counts_entry){hash, number};
    return true;
}

/* ---- all of them */

static struct exact_counts_shard *shard_of(const struct exact_counts *t, uint64_t hash) {
    return &t->shard[t->shards == 1 ? 0 : hash >> 56];
}

bool exact_counts_open(struct exact_counts *t, uint32_t shards) {
    *t = (struct exact_counts){.shards = shards};
    if (shards == 0) return true;
    t->shard = memory_zeroed(shards * sizeof *t->shard);
    if (t->shard == NULL) {
        t->shards = 0;
        return false;
    }
    const uint64_t multiplier = secret_number() | 1;
    for (uint32_t i = 0; i < shards; i++) t->shard[i].multiplier = multiplier;
    return true;
}

void exact_counts_close(struct exact_counts *t) {
    for (uint32_t i = 0; i < t->shards; i++) cow_table_drop(t->shard[i].table);
    memory_free(t->shard);
    *t = (struct exact_counts){.shards = 0};
}

static bool exact_counts_add_all(struct exact_counts *to, const struct exact_counts *from) {
    for (uint32_t i = 0; i < from->shards; i++) {
        const struct exact_counts_shard *s = &from->shard[i];
        const struct exact_counts_entry *entry = s->size == 0 ? NULL : entries_of(s);
        for (uint32_t k = 0; k < s->size; k++) {
            const struct exact_counts_entry *e = &entry[k];
            if (e->number != 0 && !shard_set(shard_of(to, e->hash), e->hash, e->number)) {
                return false;
            }
        }
    }
    to->entries = from->entries;
    return true;
}

bool exact_counts_copy(struct exact_counts *to, const struct exact_counts *from) {
    if (!exact_counts_open(to, from->shards)) return false;
    for (uint32_t i = 0; i < from->shards; i++) {
        to->shard[i] = from->shard[i];
        if (to->shard[i].table != NULL) cow_table_take(to->shard[i].table);
    }
    to->entries = from->entries;
    return true;
}

size_t exact_counts_unready(const struct exact_counts *t, size_t hashes) {
    size_t unready = 0;
    for (uint32_t i = 0; i < t->shards && unready < hashes; i++) {
        const struct cow_table *table = t->shard[i].table;
        if (table != NULL) unready += !cow_table_is_ready(table, true);
    }
    return unready;
}

void exact_counts_prepare(const struct exact_counts *t) {
    for (uint32_t i = 0; i < t->shards; i++) {
        if (t->shard[i].table != NULL) cow_table_prepare(t->shard[i].table);
    }
}

/* Splits into many tables; does nothing if memory runs out. */
static void exact_counts_split(struct exact_counts *t) {
    struct exact_counts larger;
    if (!exact_counts_open(&larger, COUNTS_SHARDS)) return;
    if (exact_counts_add_all(&larger, t)) {
        exact_counts_close(t);
        *t = larger;
    } else {
        exact_counts_close(&larger);
    }
}

int64_t exact_counts_get(const struct exact_counts *t, uint64_t hash) {
    return t->entries == 0 ? 0 : shard_get(shard_of(t, hash), hash);
}

bool exact_counts_move(struct exact_counts *t, uint64_t hash, int64_t by) {
    const int64_t number = exact_counts_get(t, hash) + by;
    if (number > NUMBER_MAX || number < -NUMBER_MAX) return false;
    if (t->shards == 0 && !exact_counts_open(t, 1)) return false;
    if (t->shards == 1 && t->entries == SPLIT_AT) exact_counts_split(t);
    struct exact_counts_shard *s = shard_of(t, hash);
    const uint32_t before = s->used;
    if (number != 0) {
        if (!shard_set(s, hash, number)) return false;
    } else if (by != 0) {
        struct exact_counts_entry *entry = own_entries(s);
        if (entry == NULL) return false;
        shard_erase(s, entry, shard_find(s, entry, hash));
    }
    t->entries = t->entries + s->used - before;
    return true;
}

size_t exact_counts_bytes(const struct exact_counts *t) {
    size_t bytes = t->shards * sizeof *t->shard;
    for (uint32_t i = 0; i < t->shards; i++) {
        if (t->shard[i].size != 0) bytes += sizeof(struct cow_table) + table_size(t->shard[i].size);
    }
    return bytes;
}

/* ---- as bytes */

size_t exact_counts_chunk_size(const struct exact_counts *t, uint32_t shard) {
    return shard < t->shards ? (size_t)t->shard[shard].used * COUNTS_ENTRY : 0;
}

static int by_hash(const void *a, const void *b) {
    const uint64_t x = byte_load(a, 8), y = byte_load(b, 8);
    return x < y ? -1 : x > y;
}

/* Sorted, because the order in the table depends on its history. */
void exact_counts_chunk(const struct exact_counts *t, uint32_t shard, uint8_t *bytes) {
    const struct exact_counts_shard *s = &t->shard[shard];
    const struct exact_counts_entry *entry = entries_of(s);
    uint8_t *at = bytes;
    for (uint32_t i = 0; i < s->size; i++) {
        if (entry[i].number == 0) continue;
        byte_store(at, entry[i].hash, 8);
        byte_store(at + 8, (uint64_t)entry[i].number, 8);
        at += COUNTS_ENTRY;
    }
    qsort(bytes, s->used, COUNTS_ENTRY, by_hash);
}

static void shard_clear(struct exact_counts *t, struct exact_counts_shard *s) {
    cow_table_drop(s->table);
    t->entries -= s->used;
    *s = (struct exact_counts_shard){.multiplier = s->multiplier};
}

bool exact_counts_load(struct exact_counts *t, uint32_t shard, const uint8_t *bytes,
                       size_t length) {
    if (shard >= t->shards || length == 0 || length % COUNTS_ENTRY != 0) return false;
    struct exact_counts_shard *s = &t->shard[shard];
    if (s->used != 0) return false;
    for (size_t at = 0; at < length; at += COUNTS_ENTRY) {
        const uint64_t hash = byte_load(bytes + at, 8);
        const int64_t number = (int64_t)byte_load(bytes + at + 8, 8);
        const bool sane = number != 0 && number <= NUMBER_MAX && number >= -NUMBER_MAX &&
                          shard_of(t, hash) == s && exact_counts_get(t, hash) == 0;
        if (!sane || !shard_set(s, hash, number)) {
            shard_clear(t, s);
            return false;
        }
        t->entries++;
    }
    return true;
}
