/* cf_filter.c - a cuckoo filter of this module
 *
 *     scalable       cuckoo filters (scalable.c): up to two copies of an item
 *     exact_counts   exact counts of the few items that need one (exact_counts.c)
 *
 * The count of an item = copies in the scalable filter + its exact count.
 *
 * Few items are in exact_counts only.  A cuckoo filter takes 1500 bytes for its object, and its
 * table is sized for the capacity, a thousand by default; up to COUNTS_ONLY_MAX items exact_counts
 * takes less and has no false positives.  With the next item all are moved to the scalable filter,
 * in the order of their hashes, so that every server has the same table.  When the last item is
 * removed, the filter starts again with exact_counts only.  (Not with a memory limit, which applies
 * to the scalable filter, and not in large filters, which create their segments one by one.)
 *
 * Adding.  The first two copies go to the scalable filter, all further ones are counted in
 * exact_counts: a cuckoo filter can hold only as many copies of a key as the key has slots, and
 * they displace its neighbours.  (RedisBloom opens a new sub-filter when the slots of one item are
 * full: adding the same item 5,000 times took 1.2 GB.)
 *
 * Removing must never remove a copy of another item.  In one stage, two items with the same
 * fingerprint and buckets are two equal copies, and either may be removed.  But an item with a copy
 * in an old stage may collide with another item in a newer one; then it is unknown which copy
 * belongs to which item.  So:
 *
 *     1. a positive exact count is decremented;
 *     2. an item found in only one stage loses a copy there;
 *     3. an item found in several stages keeps its copies, and its exact count becomes negative: it
 *        cancels as many copies.
 *
 * When copies and exact count add up to zero, all copies belong to the item (an item cannot be
 * removed more often than it was added), and all of them are removed.  So removing an item never
 * loses another, however many stages there are.
 *
 * Accounting in sub-filters of buckets is RedisBloom's, and CF.INFO reports it: the first
 * sub-filter has 2^n >= capacity / bucket size buckets, each further one is `expansion` times as
 * large, and the next is opened when there are as many items as slots.  RedisBloom opens it
 * earlier, when it finds no free slot; here all slots can be used. */
#include "filters/cf.h"

#include <string.h>

#include "server/live_counts.h"
#include "server/memory.h"
#include "server/secret.h"

#define COPIES 2           /* of an item in the scalable filter */
#define COUNTS_ONLY_MAX 48 /* entries: a table of 64 places, one kilobyte */

/* ---- accounting in sub-filters */

static uint64_t next_power_of_two(uint64_t x) {
    uint64_t power = 1;
    while (power < x) power *= 2;
    return power;
}

static uint64_t all_slots(const struct cf *f) { return f->other_slots + f->last_slots; }

static void open_first_subfilter(struct cf *f) {
    f->buckets = next_power_of_two(f->capacity / f->bucket_size);
    f->subfilters = 1;
    f->last_slots = f->buckets * f->bucket_size;
}

/* Makes sure that one more item has a slot. */
static enum cf_result need_slot(struct cf *f, uint64_t expansions) {
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

static void close_last_subfilter(struct cf *f) {
    f->last_slots /= f->expansion;
    f->other_slots -= f->last_slots;
    f->subfilters--;
}

/* ---- creating and freeing */

struct cf *cf_new(void) {
    struct cf *f = memory_zeroed(sizeof *f);
    if (f != NULL) live_count_change(LIVE_CF, 1);
    return f;
}

static struct scalable scalable_want(const struct cf *want) {
    return (struct scalable){.fpr = want->error > CF_ERROR_MAX ? CF_ERROR_MAX : want->error,
                             .limit = want->limit,
                             .grows = true,
                             .removes = true};
}

uint64_t cf_plan(const struct cf *want) {
    const struct scalable scalable = scalable_want(want);
    const uint64_t bytes = scalable_plan(&scalable, want->capacity);
    return want->limit != 0 && bytes > want->limit ? UINT64_MAX : bytes;
}

struct cf *cf_create(const struct cf *want) {
    struct cf *f = cf_new();
    if (f == NULL) return NULL;
    struct scalable scalable = scalable_want(want);
    *f = *want;
    f->error = scalable.fpr;
    if (f->expansion != 0) f->expansion = (uint32_t)next_power_of_two(want->expansion);
    open_first_subfilter(f);
    secret_new(scalable.secret);
    f->scalable = scalable_create(&scalable, want->capacity, want->limit == 0);
    if (f->scalable != NULL) return f;
    cf_free(f);
    return NULL;
}

struct cf *cf_of_redisbloom(tamis_filter *redisbloom) {
    struct cf *f = redisbloom == NULL ? NULL : cf_new();
    if (f != NULL) f->redisbloom = redisbloom;
    if (f == NULL) tamis_free(redisbloom);
    return f;
}

void cf_free(void *cf) {
    struct cf *f = cf;
    if (f == NULL) return;
    live_count_change(LIVE_CF, -1);
    tamis_free(f->redisbloom);
    scalable_free(f->scalable);
    exact_counts_close(&f->exact_counts);
    memory_free(f);
}

struct cf *cf_copy(const struct cf *from) {
    if (from->redisbloom != NULL) return cf_of_redisbloom(redisbloom_copy(from->redisbloom));
    struct cf *f = cf_new();
    if (f == NULL) return NULL;
    *f = *from;
    f->exact_counts = (struct exact_counts){.shards = 0};
    f->scalable = scalable_copy(from->scalable);
    if (f->scalable != NULL && exact_counts_copy(&f->exact_counts, &from->exact_counts)) return f;
    cf_free(f);
    return NULL;
}

/* ---- one item */

bool cf_is_loading(const struct cf *f) {
    return f->redisbloom == NULL && (f->scalable->awaiting != 0 || f->awaiting != 0);
}

/* Corrects the result of the scalable filter by the exact count. */
static bool with_counts(const struct cf *f, uint64_t hash, bool in_scalable) {
    if (f->exact_counts.entries == 0) return in_scalable;
    const int64_t number = exact_counts_get(&f->exact_counts, hash);
    if (number == 0) return in_scalable;
    return number > 0 || (int64_t)scalable_count(f->scalable, hash) + number > 0;
}

void cf_contains(const struct cf *f, const struct items *items, bool *results) {
    uint64_t hashes[SCALABLE_BATCH];
    if (f->redisbloom != NULL) {
        tamis_contains_batch(f->redisbloom, items->bytes, items->length, items->count, results);
        return;
    }
    memset(results, f->awaiting != 0, items->count * sizeof *results);
    if (f->awaiting != 0) return;
    hash_items(f->scalable->secret, items, hashes);
    scalable_contains_batch(f->scalable, hashes, items->count, results);
    if (f->exact_counts.entries == 0) return;
    for (size_t i = 0; i < items->count; i++) results[i] = with_counts(f, hashes[i], results[i]);
}

bool cf_contains_one(const struct cf *f, const void *item, size_t length) {
    if (f->redisbloom != NULL) return tamis_contains(f->redisbloom, item, length);
    if (f->awaiting != 0) return true;
    const uint64_t hash = scalable_hash(f->scalable, item, length);
    return with_counts(f, hash, scalable_contains(f->scalable, hash, 0));
}

uint64_t cf_count(const struct cf *f, const void *item, size_t length) {
    if (f->redisbloom != NULL) return tamis_count(f->redisbloom, item, length);
    const uint64_t hash = scalable_hash(f->scalable, item, length);
    const int64_t count =
        (int64_t)scalable_count(f->scalable, hash) + exact_counts_get(&f->exact_counts, hash);
    return count > 0 ? (uint64_t)count : f->awaiting != 0;
}

/* ---- few items: exact counts only */

/* Returns whether the filter starts with exact_counts only. */
static bool starts_in_counts(const struct cf *f) {
    return f->limit == 0 && f->scalable->stage[0].segments == 1;
}

/* Returns whether all items are in exact_counts.  (Sharded counts are never few, whatever is in a
 * header.) */
static bool is_in_counts(const struct cf *f) {
    return starts_in_counts(f) && f->exact_counts.shards <= 1 && scalable_is_empty(f->scalable);
}

static bool move_one_to_tables(struct cf *f, uint64_t hash, int64_t number) {
    for (int64_t copy = 0; copy < number && copy < COPIES; copy++) {
        if (scalable_add(f->scalable, hash) != SCALABLE_OK) return false;
        if (!exact_counts_move(&f->exact_counts, hash, -1)) return false;
    }
    return true;
}

/* Moves all items to the scalable filter.  False if memory runs out: each item is then in one of
 * the two, or in both. */
static bool move_to_tables(struct cf *f) {
    const size_t size = exact_counts_chunk_size(&f->exact_counts, 0);
    uint8_t *chunk = memory_alloc(size);
    if (chunk == NULL) return false;
    exact_counts_chunk(&f->exact_counts, 0, chunk);
    bool good = true;
    for (size_t at = 0; at < size && good; at += COUNTS_ENTRY) {
        good =
            move_one_to_tables(f, byte_load(chunk + at, 8), (int64_t)byte_load(chunk + at + 8, 8));
    }
    memory_free(chunk);
    if (f->exact_counts.entries == 0) exact_counts_close(&f->exact_counts);
    return good;
}

/* ---- adding */

/* Returns whether the memory limit allows another exact count. */
static bool exact_counts_has_room(const struct cf *f) {
    return f->limit == 0 ||
           scalable_bytes(f->scalable) + exact_counts_bytes(&f->exact_counts) <= f->limit;
}

/* `seen`: the scalable filter may have copies of the hash. */
static enum cf_result add_hash(struct cf *f, uint64_t hash, bool seen, bool take_all) {
    if (is_in_counts(f)) {
        if (f->exact_counts.entries < COUNTS_ONLY_MAX ||
            exact_counts_get(&f->exact_counts, hash) != 0) {
            return exact_counts_move(&f->exact_counts, hash, +1) ? CF_ADDED : CF_NO_MEMORY;
        }
        /* A forged dump may have more entries; they stay where they are. */
        if (f->exact_counts.entries == COUNTS_ONLY_MAX && !move_to_tables(f)) return CF_NO_MEMORY;
    }
    const bool in_scalable = !seen || scalable_count(f->scalable, hash) < COPIES;
    if (in_scalable && exact_counts_get(&f->exact_counts, hash) == 0) {
        const enum scalable_result result = scalable_add(f->scalable, hash);
        if (result == SCALABLE_OK) return CF_ADDED;
        return result == SCALABLE_FULL && f->limit != 0 ? CF_LIMIT : CF_NO_MEMORY;
    }
    if (!take_all && !exact_counts_has_room(f)) return CF_LIMIT;
    return exact_counts_move(&f->exact_counts, hash, +1) ? CF_ADDED : CF_NO_MEMORY;
}

static enum cf_result add_one(struct cf *f, uint64_t hash, bool seen, bool nx,
                              uint64_t expansions) {
    if (nx && with_counts(f, hash, seen)) return CF_PRESENT;
    const uint64_t subfilters = f->subfilters;
    enum cf_result result = need_slot(f, expansions);
    if (result == CF_ADDED) result = add_hash(f, hash, seen, expansions == CF_TAKE_ALL);
    if (result == CF_ADDED) {
        f->items++;
    } else if (f->subfilters != subfilters) { /* a refused item is not replicated */
        close_last_subfilter(f);
    }
    return result;
}

/* Stores the result of an item and returns whether it was refused. */
static bool is_refused(enum cf_result result, uint8_t *to) {
    *to = (uint8_t)result;
    return result > CF_ADDED;
}

/* Returns whether a hash occurs twice. */
static bool has_repeats(const uint64_t *hashes, size_t count) {
    uint8_t place[256] = {0}; /* open addressing: index of a hash, from 1 */
    for (size_t i = 0; i < count; i++) {
        uint8_t at = (uint8_t)hashes[i];
        for (; place[at] != 0; at++) {
            if (hashes[place[at] - 1] == hashes[i]) return true;
        }
        place[at] = (uint8_t)(i + 1);
    }
    return false;
}

/* The number of hashes, from the first, that are new and have slots. */
static size_t new_ones(const struct cf *f, const uint64_t *hashes, size_t count, const bool *seen) {
    const uint64_t slots = f->items < all_slots(f) ? all_slots(f) - f->items : 0;
    const size_t max = count < slots ? count : (size_t)slots;
    const bool *first_seen = memchr(seen, true, max);
    const size_t unseen = first_seen == NULL ? max : (size_t)(first_seen - seen);
    if (f->exact_counts.entries == 0) return unseen;
    size_t i = 0;
    while (i < unseen && exact_counts_get(&f->exact_counts, hashes[i]) == 0) i++;
    return i;
}

/* Queries all items in one batch, which brings their cache lines into the cache.  Runs of new items
 * need not be counted and are added together.
 *
 * The others are added one by one, and so are all items if one of them may be added earlier in the
 * batch and that matters: with `nx`, or if an item is repeated.  (What remains: three new items of
 * a batch with the same fingerprint and buckets become three copies instead of two and an exact
 * count. It is harmless, and in a filter of a thousand items happens once in some ten thousand
 * batches; of a million, never.) */
static size_t add_batch(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
                        uint8_t *results) {
    const size_t count = items->count;
    uint64_t hashes[SCALABLE_BATCH];
    bool seen[SCALABLE_BATCH];
    size_t refused = 0, i = 0;
    memset(seen, 0, count * sizeof *seen);
    hash_items(f->scalable->secret, items, hashes);
    for (; i < count && is_in_counts(f); i++) {
        refused += is_refused(add_one(f, hashes[i], false, nx, expansions), &results[i]);
    }
    scalable_contains_batch(f->scalable, hashes, count, seen);
    const bool apart = nx || has_repeats(hashes, count);
    while (i < count) {
        const size_t fresh = apart || seen[i] ? 0 : new_ones(f, hashes + i, count - i, seen + i);
        const size_t added =
            fresh == 0
                ? 0
                : stage_add_some(&f->scalable->stage[f->scalable->stages - 1], hashes + i, fresh);
        f->items += added;
        memset(results + i, CF_ADDED, added);
        i += added;
        if (added != 0) continue;
        const bool may_be = !nx || scalable_contains(f->scalable, hashes[i], 0);
        refused += is_refused(add_one(f, hashes[i], may_be, nx, expansions), &results[i]);
        i++;
    }
    return refused;
}

static enum cf_result add_to_redisbloom(tamis_filter *f, const void *item, size_t length, bool nx,
                                        uint64_t expansions) {
    if (nx && tamis_contains(f, item, length)) return CF_PRESENT;
    if (expansions == 0 || tamis_storage_table(f, (size_t)expansions - 1) != NULL) {
        return CF_EXPANSIONS;
    }
    const tamis_status status = tamis_add(f, item, length, NULL);
    return status == TAMIS_OK ? CF_ADDED : status == TAMIS_E_FULL ? CF_FULL : CF_NO_MEMORY;
}

enum cf_result cf_add_one(struct cf *f, const void *item, size_t length, bool nx,
                          uint64_t expansions) {
    if (f->redisbloom != NULL)
        return add_to_redisbloom(f->redisbloom, item, length, nx, expansions);
    const uint64_t hash = scalable_hash(f->scalable, item, length);
    return add_one(f, hash, scalable_contains(f->scalable, hash, 0), nx, expansions);
}

size_t cf_add(struct cf *f, const struct items *items, bool nx, uint64_t expansions,
              uint8_t *results) {
    if (f->redisbloom == NULL && items->count > 1)
        return add_batch(f, items, nx, expansions, results);
    size_t refused = 0;
    for (size_t i = 0; i < items->count; i++) {
        refused += is_refused(cf_add_one(f, items->bytes[i], items->length[i], nx, expansions),
                              &results[i]);
    }
    return refused;
}

/* ---- removing */

/* Removes all copies, which are known to be the item's own, from tables that are writable.  The
 * exact count goes first: a negative count without its copies would cancel copies added later. */
static bool purge(struct cf *f, uint64_t hash, int64_t number) {
    if (number != 0 && !exact_counts_move(&f->exact_counts, hash, -number)) return false;
    while (scalable_remove(f->scalable, hash)) continue;
    return true;
}

/* As cf_remove. */
static bool remove_hash(struct cf *f, uint64_t hash, bool *removed) {
    const int64_t copies = scalable_count(f->scalable, hash),
                  number = exact_counts_get(&f->exact_counts, hash);
    const bool last = copies + number == 1;
    *removed = copies + number > 0;
    if (!*removed) return true;
    if (!last && (number > 0 || scalable_spread(f->scalable, hash) != 1)) {
        return exact_counts_move(&f->exact_counts, hash, -1);
    }
    if (!scalable_own(f->scalable, hash)) return false;
    return last ? purge(f, hash, number) : scalable_remove(f->scalable, hash);
}

bool cf_compact(struct cf *f) {
    bool moved;
    if (f->redisbloom != NULL) return tamis_compact(f->redisbloom, &moved) == TAMIS_OK && moved;
    const uint64_t deletes = f->deletes, subfilters = f->subfilters;
    const uint32_t stages = f->scalable->stages;
    while (f->subfilters > 1 && f->items <= f->other_slots) close_last_subfilter(f);
    scalable_trim(f->scalable);
    f->deletes = 0;
    return deletes != 0 || subfilters != f->subfilters || stages != f->scalable->stages;
}

static bool remove_from_redisbloom(tamis_filter *f, const void *item, size_t length,
                                   bool *removed) {
    const tamis_status status = tamis_remove(f, item, length);
    *removed = status == TAMIS_OK;
    return status == TAMIS_OK || status == TAMIS_E_ABSENT;
}

bool cf_remove(struct cf *f, const void *item, size_t length, bool *removed) {
    if (f->redisbloom != NULL) return remove_from_redisbloom(f->redisbloom, item, length, removed);
    if (!remove_hash(f, scalable_hash(f->scalable, item, length), removed)) return false;
    if (!*removed) return true;
    f->items -= f->items != 0;
    f->deletes++;
    if (f->items == 0 && starts_in_counts(f)) {
        scalable_forget(f->scalable);
        exact_counts_close(&f->exact_counts);
    }
    /* When RedisBloom compacts; here it takes no time. */
    if (f->subfilters > 1 && f->deletes > f->items / 10) (void)cf_compact(f);
    return true;
}

/* ---- tables */

size_t cf_unready(const void *cf, size_t items, bool change) {
    const struct cf *f = cf;
    if (f->redisbloom != NULL) return redisbloom_unready(f->redisbloom, items, change);
    return scalable_unready(f->scalable, items, change) +
           (change ? exact_counts_unready(&f->exact_counts, items) : 0);
}

void cf_prepare(const struct cf *f) {
    if (f->redisbloom != NULL) {
        redisbloom_prepare(f->redisbloom);
    } else {
        scalable_prepare(f->scalable);
        exact_counts_prepare(&f->exact_counts);
    }
}

/* ---- statistics */

struct cf_numbers cf_numbers(const struct cf *f) {
    if (f->redisbloom != NULL) return redisbloom_cuckoo(f->redisbloom);
    return (struct cf_numbers){
        .bytes = sizeof *f + scalable_bytes(f->scalable) + exact_counts_bytes(&f->exact_counts),
        .buckets = f->buckets,
        .subfilters = f->subfilters,
        .items = f->items,
        .deletes = f->deletes,
        .bucket_size = f->bucket_size,
        .expansion = f->expansion,
        .iterations = f->iterations};
}

size_t cf_effort(const struct cf *f) {
    if (f->redisbloom != NULL) return 1 + redisbloom_bytes(f->redisbloom) / EFFORT_BYTES;
    return scalable_effort(f->scalable) + f->exact_counts.shards;
}
