/* cf_filter.c - a cuckoo filter of ours
 *
 *     store   cuckoo filters (store.c): keeps up to two copies of an item
 *     tally   exact numbers for the few items that need one (tally.c)
 *
 * How often an item is there = copies in the store + its number in the tally.
 *
 * A few items are in the tally alone.  The object of a cuckoo filter takes 1500 bytes and its table
 * is made for the items that were announced, a thousand by default; for no more than FEW items
 * the tally takes less, and it knows them for certain.  With the next one all are poured into the
 * store, in the order of their hashes, so that every server has the same table.  When the last item
 * is removed it begins anew.  (Not where the memory is limited: the limit is for the store; nor in
 * large filters, which open their segments one by one.)
 *
 * Adding.  The first two copies go to the store, all further ones are counted in the tally: a
 * cuckoo filter can hold only as many copies of a key as the key has places, and they crowd
 * out its neighbours.  (RedisBloom opens a new sub-filter when the places of one item are
 * full: 5,000 times the same item took 1.2 GB.)
 *
 * Removing must never take away what belongs to another item.  In one layer of the store two
 * items that look alike there are a multiset of two, and either copy may go.  But an item whose
 * copy is in an old layer may look like another in a newer one; then nobody can tell which
 * copy is whose.  So:
 *
 *     1. a positive number in the tally is counted down;
 *     2. an item that only one layer has loses a copy there;
 *     3. an item that several layers seem to have keeps its copies, and its number in the
 *        tally goes below zero: so many of the copies do not count any more.
 *
 * When copies and number come to nothing then all copies were the item's own (it cannot have
 * been removed more often than added), and all of them are taken out.  An item that was added is
 * therefore never lost by the removal of another, however many layers there are.
 *
 * The reckoning in sub-filters of buckets is RedisBloom's, and is what CF.INFO tells: a first one
 * of 2^n >= capacity / bucket size buckets, each next `expansion` times as large, the next opened
 * when there are as many items as slots.  Where RedisBloom gives up because no place is found,
 * all slots can be used here. */
#include "cf.h"

#include <string.h>

#include "census.h"
#include "memory.h"
#include "secret.h"

#define COPIES 2 /* of an item in the store */
#define FEW 48   /* entries of a tally of 64 places: a kilobyte */

/* ---- the reckoning */

static uint64_t next_power_of_two(uint64_t x) {
    uint64_t power = 1;
    while (power < x) power *= 2;
    return power;
}

static uint64_t all_slots(const struct cf *f) { return f->other_slots + f->last_slots; }

static void reckon_first(struct cf *f) {
    f->buckets = next_power_of_two(f->capacity / f->bucket_size);
    f->subfilters = 1;
    f->last_slots = f->buckets * f->bucket_size;
}

/* Makes sure that one more item has a slot. */
static enum cf_result reckon_more(struct cf *f, uint64_t expansions) {
    if (f->items < all_slots(f)) return CF_ADDED;
    if (f->expansion == 0) return CF_FULL;
    if (f->subfilters + 1 >= expansions || f->last_slots > UINT64_MAX / 4 / f->expansion) {
        return CF_EXPANSIONS;
    }
    f->other_slots += f->last_slots;
    f->last_slots *= f->expansion;
    f->subfilters++;
    return CF_ADDED;
}

static void reckon_last_less(struct cf *f) {
    f->last_slots /= f->expansion;
    f->other_slots -= f->last_slots;
    f->subfilters--;
}

/* Gives up sub-filters that are not needed for the items there are. */
static void reckon_less(struct cf *f) {
    while (f->subfilters > 1 && f->items <= f->other_slots) reckon_last_less(f);
}

/* ---- life */

struct cf *cf_new(void) {
    struct cf *f = memory_zeroed(sizeof *f);
    if (f != NULL) census_born(CENSUS_CF);
    return f;
}

static struct store_want want_store(const struct cf_want *want, const uint8_t *secret) {
    return (struct store_want){.secret = secret,
                               .capacity = want->capacity,
                               .rate = want->error > CF_ERROR_MOST ? CF_ERROR_MOST : want->error,
                               .limit = want->limit,
                               .grows = true,
                               .removes = true,
                               .later = want->limit == 0};
}

uint64_t cf_plan(const struct cf_want *want) {
    const struct store_want store = want_store(want, NULL);
    const uint64_t bytes = store_plan(&store);
    return want->limit != 0 && bytes > want->limit ? UINT64_MAX : bytes;
}

struct cf *cf_create(const struct cf_want *want) {
    uint8_t secret[TAMIS_SECRET_BYTES];
    struct cf *f = cf_new();
    if (f == NULL) return NULL;
    f->error = want->error > CF_ERROR_MOST ? CF_ERROR_MOST : want->error;
    f->capacity = want->capacity;
    f->limit = want->limit;
    f->bucket_size = want->bucket_size;
    f->iterations = want->iterations;
    f->expansion = want->expansion == 0 ? 0 : (uint32_t)next_power_of_two(want->expansion);
    reckon_first(f);
    secret_new(secret);
    const struct store_want store = want_store(want, secret);
    f->store = store_create(&store);
    if (f->store != NULL) return f;
    cf_free(f);
    return NULL;
}

struct cf *cf_of_legacy(struct cf_legacy *legacy) {
    struct cf *f = legacy == NULL ? NULL : cf_new();
    if (f != NULL) f->legacy = legacy;
    if (f == NULL) cf_legacy_free(legacy);
    return f;
}

void cf_free(struct cf *f) {
    if (f == NULL) return;
    census_died(CENSUS_CF);
    cf_legacy_free(f->legacy);
    store_free(f->store);
    tally_close(&f->tally);
    memory_free(f);
}

struct cf *cf_copy(const struct cf *from) {
    if (from->legacy != NULL) return cf_of_legacy(cf_legacy_copy(from->legacy));
    struct cf *f = cf_new();
    if (f == NULL) return NULL;
    *f = *from;
    f->tally = (struct tally){.shards = 0};
    f->store = store_copy(from->store);
    if (f->store != NULL && tally_copy(&f->tally, &from->tally)) return f;
    cf_free(f);
    return NULL;
}

/* ---- one item */

bool cf_is_loading(const struct cf *f) {
    return f->legacy == NULL && (f->store->awaiting != 0 || f->awaiting != 0);
}

/* What the tally makes of the store's answer. */
static bool with_tally(const struct cf *f, uint64_t hash, bool in_store) {
    if (f->tally.entries == 0) return in_store;
    const int64_t number = tally_get(&f->tally, hash);
    if (number == 0) return in_store;
    return number > 0 || (int64_t)store_count(f->store, hash) + number > 0;
}

void cf_contains_batch(const struct cf *f, const struct items *items, bool *answers) {
    uint64_t hashes[STORE_BATCH];
    if (f->legacy != NULL) {
        for (size_t i = 0; i < items->count; i++) {
            answers[i] = cf_legacy_count(f->legacy, items->bytes[i], items->length[i]) != 0;
        }
        return;
    }
    memset(answers, f->awaiting != 0, items->count * sizeof *answers);
    if (f->awaiting != 0) return;
    store_hash_items(f->store, items, hashes);
    store_contains_batch(f->store, hashes, items->count, answers);
    if (f->tally.entries == 0) return;
    for (size_t i = 0; i < items->count; i++) answers[i] = with_tally(f, hashes[i], answers[i]);
}

bool cf_contains(const struct cf *f, const void *item, size_t length) {
    if (f->legacy != NULL) return cf_legacy_count(f->legacy, item, length) != 0;
    const uint64_t hash = store_hash(f->store, item, length);
    return f->awaiting != 0 || with_tally(f, hash, store_contains(f->store, hash));
}

uint64_t cf_count(const struct cf *f, const void *item, size_t length) {
    if (f->legacy != NULL) return cf_legacy_count(f->legacy, item, length);
    const uint64_t hash = store_hash(f->store, item, length);
    const int64_t count = (int64_t)store_count(f->store, hash) + tally_get(&f->tally, hash);
    return count > 0 ? (uint64_t)count : f->awaiting != 0;
}

/* ---- few items */

/* Is it one that begins in the tally? */
static bool starts_few(const struct cf *f) {
    return f->limit == 0 && f->store->layer[0].segments == 1;
}

/* Are all items in the tally?  (One that is in many tables is not for a few, whoever says so.) */
static bool is_few(const struct cf *f) {
    return starts_few(f) && f->tally.shards <= 1 && store_is_empty(f->store);
}

static bool pour_one(struct cf *f, uint64_t hash, int64_t number) {
    for (int64_t copy = 0; copy < number && copy < COPIES; copy++) {
        if (store_add(f->store, hash) != STORE_OK) return false;
        if (!tally_move(&f->tally, hash, -1)) return false;
    }
    return true;
}

/* Puts them into the store.  False if there is no memory: each is in either, or in both, then. */
static bool pour(struct cf *f) {
    const size_t size = tally_piece_size(&f->tally, 0);
    uint8_t *piece = memory_alloc(size);
    if (piece == NULL) return false;
    tally_piece(&f->tally, 0, piece);
    bool good = true;
    for (size_t at = 0; at < size && good; at += TALLY_ENTRY) {
        good = pour_one(f, wire_load(piece + at, 8), (int64_t)wire_load(piece + at + 8, 8));
    }
    memory_free(piece);
    if (f->tally.entries == 0) tally_close(&f->tally);
    return good;
}

/* ---- adding */

/* Is there memory for another number in the tally? */
static bool tally_has_room(const struct cf *f) {
    return f->limit == 0 || store_bytes(f->store) + tally_bytes(&f->tally) <= f->limit;
}

/* The store may have copies of a hash that is `seen`. */
static enum cf_result add_hash(struct cf *f, uint64_t hash, bool seen, bool take_all) {
    if (is_few(f)) {
        if (f->tally.entries < FEW || tally_get(&f->tally, hash) != 0) {
            return tally_move(&f->tally, hash, +1) ? CF_ADDED : CF_NO_MEMORY;
        }
        /* More than a few, if somebody made them up, stay where they are. */
        if (f->tally.entries == FEW && !pour(f)) return CF_NO_MEMORY;
    }
    const bool in_store = !seen || store_count(f->store, hash) < COPIES;
    if (in_store && tally_get(&f->tally, hash) == 0) {
        switch (store_add(f->store, hash)) {
            case STORE_OK:
                return CF_ADDED;
            case STORE_FULL:
                return f->limit != 0 ? CF_LIMIT : CF_NO_MEMORY;
            default:
                return CF_NO_MEMORY;
        }
    }
    if (!take_all && !tally_has_room(f)) return CF_LIMIT;
    return tally_move(&f->tally, hash, +1) ? CF_ADDED : CF_NO_MEMORY;
}

static enum cf_result add_one(struct cf *f, uint64_t hash, bool seen, bool nx,
                              uint64_t expansions) {
    if (nx && with_tally(f, hash, seen)) return CF_PRESENT;
    const uint64_t subfilters = f->subfilters;
    enum cf_result result = reckon_more(f, expansions);
    if (result == CF_ADDED) result = add_hash(f, hash, seen, expansions == CF_TAKE_ALL);
    if (result == CF_ADDED) {
        f->items++;
    } else if (f->subfilters != subfilters) { /* nobody else hears of an item that was refused */
        reckon_last_less(f);
    }
    return result;
}

/* Notes what became of an item, and tells whether it was refused. */
static bool told(enum cf_result result, uint8_t *to) {
    *to = (uint8_t)result;
    return result > CF_ADDED;
}

/* Does a hash come twice? */
static bool has_repeats(const uint64_t *hashes, size_t count) {
    uint8_t place[256] = {0}; /* open addressing: the number of a hash, from 1 on */
    for (size_t i = 0; i < count; i++) {
        uint8_t at = (uint8_t)hashes[i];
        for (; place[at] != 0; at++) {
            if (hashes[place[at] - 1] == hashes[i]) return true;
        }
        place[at] = (uint8_t)(i + 1);
    }
    return false;
}

/* How many of these, from the first, are new and have slots. */
static size_t new_ones(const struct cf *f, const uint64_t *hashes, size_t count, const bool *seen) {
    const uint64_t slots = f->items < all_slots(f) ? all_slots(f) - f->items : 0;
    const size_t most = count < slots ? count : (size_t)slots;
    const bool *first_seen = memchr(seen, true, most);
    const size_t unseen = first_seen == NULL ? most : (size_t)(first_seen - seen);
    if (f->tally.entries == 0) return unseen;
    size_t i = 0;
    while (i < unseen && tally_get(&f->tally, hashes[i]) == 0) i++;
    return i;
}

/* First all are asked in one go, which brings what they need into the cache.  Those that are new
 * need not be counted, and are added together as far as there are some in a row.
 *
 * The others are added one by one; so are all if one of them may be there when its turn comes, and
 * that matters: with `nx`, or if an item comes twice.  (What is left: three new ones of a batch
 * that look alike are three copies, and not two and a number.  It does no harm, and in a filter of
 * a thousand items happens once in some ten thousand batches; of a million, never.) */
static size_t add_batch(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
                        uint8_t *results) {
    const size_t count = items->count;
    uint64_t hashes[STORE_BATCH];
    bool seen[STORE_BATCH];
    size_t refused = 0, i = 0;
    memset(seen, 0, count * sizeof *seen);
    store_hash_items(f->store, items, hashes);
    for (; i < count && is_few(f); i++) {
        refused += told(add_one(f, hashes[i], false, nx, expansions), &results[i]);
    }
    store_contains_batch(f->store, hashes, count, seen);
    const bool apart = nx || has_repeats(hashes, count);
    while (i < count) {
        const size_t fresh = apart || seen[i] ? 0 : new_ones(f, hashes + i, count - i, seen + i);
        const size_t added = fresh == 0 ? 0 : store_add_some(f->store, hashes + i, fresh);
        f->items += added;
        memset(results + i, CF_ADDED, added);
        i += added;
        if (added != 0) continue;
        const bool may_be = !nx || store_contains(f->store, hashes[i]);
        refused += told(add_one(f, hashes[i], may_be, nx, expansions), &results[i]);
        i++;
    }
    return refused;
}

static enum cf_result add_to_legacy(struct cf_legacy *f, const void *item, size_t length, bool nx,
                                    uint64_t expansions) {
    if (nx && cf_legacy_count(f, item, length) != 0) return CF_PRESENT;
    if (f->tables >= expansions) return CF_EXPANSIONS;
    switch (cf_legacy_add(f, item, length, true)) {
        case CF_LEGACY_OK:
            return CF_ADDED;
        case CF_LEGACY_FULL:
            return CF_FULL;
        default:
            return CF_NO_MEMORY;
    }
}

enum cf_result cf_add_one(struct cf *f, const void *item, size_t length, bool nx,
                          uint64_t expansions) {
    if (f->legacy != NULL) return add_to_legacy(f->legacy, item, length, nx, expansions);
    const uint64_t hash = store_hash(f->store, item, length);
    return add_one(f, hash, store_contains(f->store, hash), nx, expansions);
}

size_t cf_add(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
              uint8_t *results) {
    if (f->legacy == NULL && items->count > 1) return add_batch(f, items, nx, expansions, results);
    size_t refused = 0;
    for (size_t i = 0; i < items->count; i++) {
        refused +=
            told(cf_add_one(f, items->bytes[i], items->length[i], nx, expansions), &results[i]);
    }
    return refused;
}

/* ---- removing */

/* Takes out all copies, which are known to be the item's own.  The number goes first: copies that
 * did not count would, without them, take away from what is added later.  False, and nothing
 * changes, if there is no memory. */
static bool purge(struct cf *f, uint64_t hash) {
    const int64_t number = tally_get(&f->tally, hash);
    if (number != 0 && !tally_move(&f->tally, hash, -number)) return false;
    while (store_remove(f->store, hash)) continue;
    return true;
}

static bool remove_hash(struct cf *f, uint64_t hash) {
    const int64_t copies = store_count(f->store, hash), number = tally_get(&f->tally, hash);
    if (copies + number <= 0) return false;
    if (copies + number == 1) return purge(f, hash);
    if (number <= 0 && store_spread(f->store, hash) == 1) return store_remove(f->store, hash);
    return tally_move(&f->tally, hash, -1);
}

bool cf_compact(struct cf *f) {
    if (f->legacy != NULL) return cf_legacy_compact(f->legacy);
    const uint64_t deletes = f->deletes, subfilters = f->subfilters;
    const uint32_t layers = f->store->layers;
    reckon_less(f);
    store_trim(f->store);
    f->deletes = 0;
    return deletes != 0 || subfilters != f->subfilters || layers != f->store->layers;
}

bool cf_remove(struct cf *f, const void *item, size_t length) {
    if (f->legacy != NULL) return cf_legacy_remove(f->legacy, item, length);
    if (!remove_hash(f, store_hash(f->store, item, length))) return false;
    f->items -= f->items != 0;
    f->deletes++;
    if (f->items == 0 && starts_few(f)) {
        store_forget(f->store);
        tally_close(&f->tally);
    }
    /* As RedisBloom compacts; here it takes no time. */
    if (f->subfilters > 1 && f->deletes > f->items / 10) (void)cf_compact(f);
    return true;
}

/* ---- tables */

size_t cf_unready(const struct cf *f, size_t items, bool change) {
    if (f->legacy != NULL) return cf_legacy_unready(f->legacy, items, change);
    return store_unready(f->store, items, change) + (change ? tally_unready(&f->tally, items) : 0);
}

void cf_prepare(const struct cf *f) {
    if (f->legacy != NULL) {
        cf_legacy_prepare(f->legacy);
    } else {
        store_prepare(f->store);
        tally_prepare(&f->tally);
    }
}

/* ---- numbers */

static struct cf_numbers legacy_numbers(const struct cf_legacy *f) {
    return (struct cf_numbers){.bytes = cf_legacy_bytes(f),
                               .buckets = f->buckets,
                               .subfilters = f->tables,
                               .items = f->items,
                               .deletes = f->deletes,
                               .bucket_size = f->bucket_size,
                               .expansion = f->expansion,
                               .iterations = f->iterations};
}

struct cf_numbers cf_numbers(const struct cf *f) {
    if (f->legacy != NULL) return legacy_numbers(f->legacy);
    return (struct cf_numbers){.bytes = sizeof *f + store_bytes(f->store) + tally_bytes(&f->tally),
                               .buckets = f->buckets,
                               .subfilters = f->subfilters,
                               .items = f->items,
                               .deletes = f->deletes,
                               .bucket_size = f->bucket_size,
                               .expansion = f->expansion,
                               .iterations = f->iterations};
}

size_t cf_effort(const struct cf *f) {
    if (f->legacy != NULL) return 1 + cf_legacy_bytes(f->legacy) / EFFORT_BYTES;
    return store_effort(f->store) + f->tally.shards;
}
