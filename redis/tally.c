/* tally.c - exact numbers for a few hashes
 *
 * Open addressing with linear probing, in tables of a power of two that are at most 3/4 full.
 * The place of a hash is the upper bits of its product with a random odd number that each tally
 * has for itself and tells nobody: the hashes are keyed, but who sends a chunk or a dump chooses
 * both key and hashes, and 60,000 that met in one place took eight seconds to load.
 *
 * Copies of a tally share its tables (shared.h).  A table is copied when it grows.  So that this
 * stays short, a tally of more than SPLIT_AT entries is split by the upper bits of the hash into
 * TALLY_SHARDS tables, which grow at different times. */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "secret.h"
#include "shared.h"
#include "wire.h"

#define SPLIT_AT 32768
#define FIRST_BITS 2
#define NUMBER_MOST ((int64_t)1 << 62)

struct tally_entry {
    uint64_t hash;
    int64_t number; /* 0: a free place */
};

struct tally_table {
    uint32_t size; /* 2^bits */
    struct tally_entry entry[];
};

struct tally_shard {
    uint64_t multiplier; /* odd */
    uint32_t used, size; /* size: that of the table, or 0 */
    uint32_t bits;
    struct shared *table; /* a struct tally_table; NULL if the size is 0 */
};

/* ---- tables */

static size_t table_size(uint32_t entries) {
    return sizeof(struct tally_table) + entries * sizeof(struct tally_entry);
}

static void *table_copy(const void *body) {
    const size_t size = table_size(((const struct tally_table *)body)->size);
    struct tally_table *copy = memory_alloc(size);
    if (copy != NULL) memcpy(copy, body, size);
    return copy;
}

static void table_free(void *body) { memory_free(body); }

static size_t table_bytes(const void *body) {
    return table_size(((const struct tally_table *)body)->size);
}

/* Tables are never united. */
static const struct shared_kind table_kind = {
    .copy = table_copy, .free = table_free, .bytes = table_bytes};

/* ---- one shard */

/* The entries, of which there are `size`.  A table that is not a union is always there. */
static const struct tally_entry *entries_of(const struct tally_shard *s) {
    return ((const struct tally_table *)shared_look(s->table))->entry;
}

/* The same to be changed; NULL if there is no memory. */
static struct tally_entry *own_entries(struct tally_shard *s) {
    struct tally_table *table = shared_own(&s->table);
    return table == NULL ? NULL : table->entry;
}

static uint32_t home_of(const struct tally_shard *s, uint64_t hash) {
    return (uint32_t)(hash * s->multiplier >> (64 - s->bits));
}

static uint32_t shard_find(const struct tally_shard *s, const struct tally_entry *entry,
                           uint64_t hash) {
    uint32_t i = home_of(s, hash);
    while (entry[i].number != 0 && entry[i].hash != hash) i = (i + 1) & (s->size - 1);
    return i;
}

static bool shard_grow(struct tally_shard *s) {
    struct tally_shard larger = *s;
    larger.bits = s->size == 0 ? FIRST_BITS : s->bits + 1;
    larger.size = (uint32_t)1 << larger.bits;
    struct tally_table *table = memory_zeroed(table_size(larger.size));
    if (table == NULL) return false;
    table->size = larger.size;
    larger.table = shared_new(&table_kind, table);
    if (larger.table == NULL) return false;
    const struct tally_entry *entry = s->size == 0 ? NULL : entries_of(s);
    for (uint32_t i = 0; i < s->size; i++) {
        const struct tally_entry *e = &entry[i];
        if (e->number != 0) table->entry[shard_find(&larger, table->entry, e->hash)] = *e;
    }
    shared_drop(s->table);
    *s = larger;
    return true;
}

/* Frees a place, and moves those behind it that could not be found any more. */
static void shard_erase(struct tally_shard *s, struct tally_entry *entry, uint32_t hole) {
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

static bool shard_has(const struct tally_shard *s, uint64_t hash) {
    if (s->size == 0) return false;
    const struct tally_entry *entry = entries_of(s);
    return entry[shard_find(s, entry, hash)].number != 0;
}

static bool shard_set(struct tally_shard *s, uint64_t hash, int64_t number) {
    const bool crowded = 4 * ((uint64_t)s->used + 1) > 3 * (uint64_t)s->size;
    if (crowded && !shard_has(s, hash) && !shard_grow(s)) return false;
    struct tally_entry *entry = own_entries(s);
    if (entry == NULL) return false;
    const uint32_t i = shard_find(s, entry, hash);
    s->used += entry[i].number == 0;
    entry[i] = (struct tally_entry){hash, number};
    return true;
}

/* ---- all of them */

static struct tally_shard *shard_of(const struct tally *t, uint64_t hash) {
    return &t->shard[t->shards == 1 ? 0 : hash >> 56];
}

bool tally_open(struct tally *t, uint32_t shards) {
    *t = (struct tally){.shards = shards};
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

void tally_close(struct tally *t) {
    for (uint32_t i = 0; i < t->shards; i++) shared_drop(t->shard[i].table);
    memory_free(t->shard);
    *t = (struct tally){.shards = 0};
}

static bool tally_add_all(struct tally *to, const struct tally *from) {
    for (uint32_t i = 0; i < from->shards; i++) {
        const struct tally_shard *s = &from->shard[i];
        const struct tally_entry *entry = s->size == 0 ? NULL : entries_of(s);
        for (uint32_t k = 0; k < s->size; k++) {
            const struct tally_entry *e = &entry[k];
            if (e->number != 0 && !shard_set(shard_of(to, e->hash), e->hash, e->number)) {
                return false;
            }
        }
    }
    to->entries = from->entries;
    return true;
}

bool tally_copy(struct tally *to, const struct tally *from) {
    if (!tally_open(to, from->shards)) return false;
    for (uint32_t i = 0; i < from->shards; i++) {
        to->shard[i] = from->shard[i];
        if (to->shard[i].table != NULL) shared_take(to->shard[i].table);
    }
    to->entries = from->entries;
    return true;
}

size_t tally_unready(const struct tally *t, size_t hashes) {
    size_t unready = 0;
    for (uint32_t i = 0; i < t->shards && unready < hashes; i++) {
        const struct shared *table = t->shard[i].table;
        if (table != NULL) unready += !shared_is_ready(table, true);
    }
    return unready;
}

void tally_prepare(const struct tally *t) {
    for (uint32_t i = 0; i < t->shards; i++) {
        if (t->shard[i].table != NULL) shared_prepare(t->shard[i].table);
    }
}

/* Into many tables; stays as it is if there is no memory. */
static void tally_split(struct tally *t) {
    struct tally larger;
    if (!tally_open(&larger, TALLY_SHARDS)) return;
    if (tally_add_all(&larger, t)) {
        tally_close(t);
        *t = larger;
    } else {
        tally_close(&larger);
    }
}

int64_t tally_get(const struct tally *t, uint64_t hash) {
    if (t->entries == 0) return 0;
    const struct tally_shard *s = shard_of(t, hash);
    if (s->size == 0) return 0;
    const struct tally_entry *entry = entries_of(s);
    return entry[shard_find(s, entry, hash)].number;
}

bool tally_move(struct tally *t, uint64_t hash, int64_t by) {
    const int64_t number = tally_get(t, hash) + by;
    if (number > NUMBER_MOST || number < -NUMBER_MOST) return false;
    if (t->shards == 0 && !tally_open(t, 1)) return false;
    if (t->shards == 1 && t->entries == SPLIT_AT) tally_split(t);
    struct tally_shard *s = shard_of(t, hash);
    const uint32_t before = s->used;
    if (number != 0) {
        if (!shard_set(s, hash, number)) return false;
    } else if (by != 0) {
        struct tally_entry *entry = own_entries(s);
        if (entry == NULL) return false;
        shard_erase(s, entry, shard_find(s, entry, hash));
    }
    t->entries = t->entries + s->used - before;
    return true;
}

size_t tally_bytes(const struct tally *t) {
    size_t bytes = t->shards * sizeof *t->shard;
    for (uint32_t i = 0; i < t->shards; i++) {
        if (t->shard[i].size != 0) bytes += sizeof(struct shared) + table_size(t->shard[i].size);
    }
    return bytes;
}

/* ---- as bytes */

size_t tally_piece_size(const struct tally *t, uint32_t shard) {
    return shard < t->shards ? (size_t)t->shard[shard].used * TALLY_ENTRY : 0;
}

static int by_hash(const void *a, const void *b) {
    const uint64_t x = wire_load(a, 8), y = wire_load(b, 8);
    return x < y ? -1 : x > y;
}

/* Sorted, since the order in the table depends on its past. */
void tally_piece(const struct tally *t, uint32_t shard, uint8_t *bytes) {
    const struct tally_shard *s = &t->shard[shard];
    const struct tally_entry *entry = entries_of(s);
    uint8_t *at = bytes;
    for (uint32_t i = 0; i < s->size; i++) {
        if (entry[i].number == 0) continue;
        wire_store(at, entry[i].hash, 8);
        wire_store(at + 8, (uint64_t)entry[i].number, 8);
        at += TALLY_ENTRY;
    }
    qsort(bytes, s->used, TALLY_ENTRY, by_hash);
}

static void shard_clear(struct tally *t, struct tally_shard *s) {
    shared_drop(s->table);
    t->entries -= s->used;
    *s = (struct tally_shard){.multiplier = s->multiplier};
}

bool tally_load(struct tally *t, uint32_t shard, const uint8_t *bytes, size_t length) {
    if (shard >= t->shards || length == 0 || length % TALLY_ENTRY != 0) return false;
    struct tally_shard *s = &t->shard[shard];
    if (s->used != 0) return false;
    for (size_t at = 0; at < length; at += TALLY_ENTRY) {
        const uint64_t hash = wire_load(bytes + at, 8);
        const int64_t number = (int64_t)wire_load(bytes + at + 8, 8);
        const bool sane = number != 0 && number <= NUMBER_MOST && number >= -NUMBER_MOST &&
                          shard_of(t, hash) == s && tally_get(t, hash) == 0;
        if (!sane || !shard_set(s, hash, number)) {
            shard_clear(t, s);
            return false;
        }
        t->entries++;
    }
    return true;
}
