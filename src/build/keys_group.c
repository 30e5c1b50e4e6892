/* keys_group.c - the hashes of a shard, by buckets: grouped, without repeats, sorted
 *
 * Repeats are found bucket by bucket, with a set that fits in the caches.  Families that detect
 * repeats themselves skip this (peeled.c): it takes 4 ns a hash. */
#include "build/keys_group.h"
#include "build/sequence.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/bits.h"
#include "core/parallel.h"

#define BUCKET_KEYS 2048 /* a bucket and the set that finds its repeats fit in the L2 cache */
#define BUCKETS_LG_MAX 12

/* ---- grouping */

TAMIS_TEMPLATE uint64_t stretch_at(const struct tamis__stretch *s, size_t i) {
    return s->raw ? tamis__mix64(s->hash[i]) : s->hash[i];
}

void tamis__stretch_count(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                          uint64_t *counts) {
    for (size_t i = 0; i < s->count; i++) counts[tamis__part_of(stretch_at(s, i), skip, lg)]++;
}

void tamis__stretch_scatter(const struct tamis__stretch *s, unsigned skip, unsigned lg,
                            unsigned shift, uint64_t *next, uint64_t *to) {
    for (size_t i = 0; i < s->count; i++) {
        const uint64_t hash = stretch_at(s, i);
        to[next[tamis__part_of(hash, skip, lg)]++] = hash << shift;
    }
}

void tamis__starts_from_counts(uint64_t *counts, size_t parts) {
    uint64_t at = 0;
    for (size_t p = 0; p < parts; p++) {
        const uint64_t n = counts[p];
        counts[p] = at;
        at += n;
    }
    counts[parts] = at;
}

unsigned tamis__group_lg_buckets(uint64_t count) {
    unsigned lg = 0;
    while (lg < BUCKETS_LG_MAX && count >> lg > BUCKET_KEYS) lg++;
    return lg;
}

/* All but the hashes. */
static tamis_status group_init(struct tamis__group *g, size_t count) {
    g->count = count;
    g->lg_buckets = tamis__group_lg_buckets(count);
    g->start_bytes = (((size_t)1 << g->lg_buckets) + 1) * sizeof *g->start;
    g->start = (size_t *)tamis__alloc(&g->allocator, g->start_bytes);
    return g->start == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
}

tamis_status tamis__group_lend(struct tamis__group *g, uint64_t *hashes, size_t count,
                               const uint64_t *start, unsigned lg_finer) {
    const tamis_status status = group_init(g, count);
    if (status != TAMIS_OK) return status;
    g->hashes = hashes;
    g->lent = true;
    for (size_t b = 0; b <= (size_t)1 << g->lg_buckets; b++) {
        g->start[b] = (size_t)(start[b << lg_finer] - start[0]);
    }
    return TAMIS_OK;
}

/* ---- the pool */

void tamis__pool_open(struct tamis__pool *pool, size_t max) {
    pool->bytes = max * sizeof(uint64_t);
    for (size_t i = 0; i < TAMIS__POOL_BLOCKS; i++) atomic_init(&pool->place[i], NULL);
}

void tamis__pool_close(struct tamis__pool *pool, const tamis_allocator *a) {
    for (size_t i = 0; i < TAMIS__POOL_BLOCKS; i++) {
        tamis__table_free(a, atomic_load(&pool->place[i]), pool->bytes);
    }
}

static void *pool_take(struct tamis__pool *pool) {
    void *memory = NULL;
    for (size_t i = 0; pool != NULL && memory == NULL && i < TAMIS__POOL_BLOCKS; i++) {
        memory = atomic_exchange(&pool->place[i], NULL);
    }
    return memory;
}

static bool pool_put(struct tamis__pool *pool, void *memory) {
    for (size_t i = 0; pool != NULL && i < TAMIS__POOL_BLOCKS; i++) {
        void *nothing = NULL;
        if (atomic_compare_exchange_strong(&pool->place[i], &nothing, memory)) return true;
    }
    return false;
}

/* ---- a group */

tamis_status tamis__group_open(struct tamis__group *g, size_t count) {
    const tamis_status status = group_init(g, count);
    if (status != TAMIS_OK) return status;
    g->start[0] = 0;
    g->start[(size_t)1 << g->lg_buckets] = count;
    g->hashes_bytes = g->pool != NULL ? g->pool->bytes : count * sizeof *g->hashes;
    g->hashes = (uint64_t *)pool_take(g->pool);
    if (g->hashes == NULL) g->hashes = tamis__table_alloc(&g->allocator, g->hashes_bytes);
    return g->hashes == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
}

void tamis__group_fill(struct tamis__group *g, const struct tamis__stretch *s, size_t stretches,
                       unsigned skip, size_t unit, unsigned lg_units, uint64_t *next) {
    const unsigned lg = g->lg_buckets - lg_units;
    const size_t buckets = (size_t)1 << lg;
    size_t *start = g->start + (unit << lg);
    memset(next, 0, buckets * sizeof *next);
    for (size_t i = 0; i < stretches; i++) {
        tamis__stretch_count(&s[i], skip + lg_units, lg, next);
    }
    size_t at = start[0];
    for (size_t b = 0; b < buckets; b++) {
        const size_t count = (size_t)next[b];
        if (b != 0) start[b] = at;
        next[b] = at;
        at += count;
    }
    for (size_t i = 0; i < stretches; i++) {
        tamis__stretch_scatter(&s[i], skip + lg_units, lg, skip, next, g->hashes);
    }
}

tamis_status tamis__group_copy(struct tamis__group *g, const struct tamis__stretch *s,
                               size_t stretches) {
    size_t count = 0;
    for (size_t i = 0; i < stretches; i++) count += s[i].count;
    tamis_status status = tamis__group_open(g, count);
    const size_t next_bytes = sizeof(uint64_t) << g->lg_buckets;
    uint64_t *next = (uint64_t *)tamis__alloc(&g->allocator, next_bytes);
    if (next == NULL) status = TAMIS_E_NOMEM;
    if (status == TAMIS_OK) {
        tamis__group_fill(g, s, stretches, 0, 0, 0, next);
    } else {
        tamis__group_free(g);
    }
    tamis__release(&g->allocator, next, next_bytes);
    return status;
}

void tamis__group_free(struct tamis__group *g) {
    if (!g->lent && !pool_put(g->pool, g->hashes)) {
        tamis__table_free(&g->allocator, g->hashes, g->hashes_bytes);
    }
    tamis__release(&g->allocator, g->start, g->start_bytes);
    g->hashes = NULL;
    g->start = NULL;
}

/* ---- distinct hashes */

/* A growing set of hashes, in the order in which they came.  A place holds the number of a hash,
 * from 1 on; 0 is empty.  The places of a bucket fit in the L1 cache and are cleared quickly. */
struct set {
    uint64_t *kept; /* with room for one more hash */
    size_t used;
    uint32_t *place;
    size_t places, room; /* in use, a power of two; allocated */
    const tamis_allocator *allocator;
};

/* A product, because hashes of a bucket share their upper bits, those of a shard have lost lower
 * ones, and adversarial ones may differ in any few bits. */
TAMIS_TEMPLATE size_t set_first(const struct set *s, uint64_t hash) {
    return (size_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (s->places - 1);
}

/* Adds hashes until all are in or the places are half full; returns how many it has processed.
 * Whether a hash is new is unpredictable, so the loop does not branch on it (3.9 ns a hash; 6.5 if
 * it does). */
static size_t set_add(struct set *s, const uint64_t *hashes, size_t count) {
    const struct set set = *s; /* a copy that the writes below cannot alias */
    size_t used = s->used, i = 0;
    for (; i < count && 2 * used < set.places; i++) {
        const uint64_t hash = hashes[i];
        uint32_t number;
        uint64_t taken, another; /* all ones or 0; not 0 if another hash holds the place */
        size_t at = set_first(&set, hash);
        for (;; at = (at + 1) & (set.places - 1)) {
            number = set.place[at];
            taken = 0 - (uint64_t)(number != 0);
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            another = (set.kept[number + taken] ^ hash) & taken;
            if (another == 0) break;
        }
        set.kept[used] = hash;
        set.place[at] = taken != 0 ? number : (uint32_t)used + 1;
        used += 1 + taken;
    }
    s->used = used;
    return i;
}

static bool set_room(struct set *s, size_t places) {
    uint32_t *place = tamis__alloc(s->allocator, places * sizeof *place);
    if (place == NULL) return false;
    tamis__release(s->allocator, s->place, s->room * sizeof *place);
    s->place = place;
    s->room = places;
    return true;
}

/* Empties the places, and sets their number. */
static void set_clear(struct set *s, size_t places) {
    s->places = places;
    s->used = 0;
    memset(s->place, 0, places * sizeof *s->place);
}

static bool set_grow(struct set *s) {
    const size_t used = s->used, places = 4 * s->places;
    if (s->places > UINT32_MAX / 4) return false; /* numbers would not fit */
    if (places > s->room && !set_room(s, places)) return false;
    set_clear(s, places);
    (void)set_add(s, s->kept, used);
    return true;
}

/* Enough for a typical bucket; others may have many more hashes that are equal. */
#define SET_PLACES ((size_t)4 * BUCKET_KEYS)

static size_t set_places(size_t count) {
    size_t places = 64;
    while (places < SET_PLACES && places < 2 * count) places *= 2;
    return places;
}

/* Keeps the first of equal hashes in hashes[from..to), moved down to `kept`; returns the
 * new end, or SIZE_MAX if there is no memory. */
static size_t keep_distinct(struct set *set, uint64_t *hashes, size_t from, size_t to,
                            size_t kept) {
    if (set->room > SET_PLACES && !set_room(set, SET_PLACES)) return SIZE_MAX;
    set_clear(set, set_places(to - from));
    set->kept = hashes + kept;
    while ((from += set_add(set, hashes + from, to - from)) < to) {
        if (!set_grow(set)) return SIZE_MAX;
    }
    return kept + set->used;
}

/* A group in ranges of buckets, one for each thread. */
struct ranges {
    struct tamis__group *group;
    size_t buckets; /* of a range */
    size_t *kept;   /* the end of what is kept of each */
};
#define RANGES_LG_MAX 6

/* Drops the repeats of a range.  The kept hashes begin where the range does, at `start`, which is
 * not written: another thread reads it as its end. */
static tamis_status distinct_range(void *context, uint64_t range) {
    const struct ranges *r = (const struct ranges *)context;
    struct tamis__group *g = r->group;
    struct set set = {.allocator = &g->allocator};
    if (!set_room(&set, SET_PLACES)) return TAMIS_E_NOMEM;
    const size_t first = (size_t)range * r->buckets, end = first + r->buckets;
    size_t from = g->start[first], kept = from;
    for (size_t b = first; b < end && kept != SIZE_MAX; b++) {
        const size_t to = g->start[b + 1];
        if (b != first) g->start[b] = kept;
        kept = keep_distinct(&set, g->hashes, from, to, kept);
        from = to;
    }
    tamis__release(&g->allocator, set.place, set.room * sizeof *set.place);
    r->kept[range] = kept;
    return kept == SIZE_MAX ? TAMIS_E_NOMEM : TAMIS_OK;
}

/* Moves the kept hashes of each range to the end of the range before. */
static void close_gaps(const struct ranges *r, size_t ranges) {
    struct tamis__group *g = r->group;
    size_t at = 0;
    for (size_t i = 0; i < ranges; i++) {
        const size_t first = i * r->buckets, from = g->start[first], count = r->kept[i] - from;
        if (at != from) memmove(g->hashes + at, g->hashes + from, count * sizeof *g->hashes);
        for (size_t b = first; b < first + r->buckets; b++) g->start[b] -= from - at;
        at += count;
    }
    g->start[ranges * r->buckets] = g->count = at;
}

tamis_status tamis__group_distinct(struct tamis__group *g, unsigned threads) {
    if (g->distinct) return TAMIS_OK;
    size_t kept[(size_t)1 << RANGES_LG_MAX];
    unsigned lg = 0;
    while (lg < RANGES_LG_MAX && lg < g->lg_buckets && threads >> lg > 1) lg++;
    struct ranges r = {g, (size_t)1 << (g->lg_buckets - lg), kept};
    const tamis_status status = tamis__parallel(threads, (uint64_t)1 << lg, distinct_range, &r);
    if (status != TAMIS_OK) return status;
    close_gaps(&r, (size_t)1 << lg);
    g->distinct = true;
    return TAMIS_OK;
}

#define SAMPLE 512

bool tamis__group_looks_distinct(const struct tamis__group *g) {
    uint64_t kept[SAMPLE];
    uint32_t place[4 * SAMPLE];
    struct set set = {.kept = kept, .place = place};
    const size_t count = g->start[1] < SAMPLE ? g->start[1] : SAMPLE;
    set_clear(&set, 4 * SAMPLE);
    (void)set_add(&set, g->hashes, count);
    return set.used == count;
}

/* ---- sorting a group */

#define SORT_LG 8
#define SORT_PARTS ((size_t)1 << SORT_LG)
#define SORT_FEW 32 /* hashes of a part that are sorted by insertion */

static void insertion_sort(uint64_t *hash, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const uint64_t x = hash[i];
        size_t at = i;
        for (; at > 0 && hash[at - 1] > x; at--) hash[at] = hash[at - 1];
        hash[at] = x;
    }
}

/* The hashes of a bucket share their first `skip` bits and are usually uniform after that, so the
 * next 8 bits cut it into parts of a few hashes (10 ns a hash; qsort takes 60). */
static void sort_bucket(uint64_t *hash, size_t count, unsigned skip) {
    uint64_t copy[2 * BUCKET_KEYS], next[SORT_PARTS + 1] = {0};
    if (count > 2 * BUCKET_KEYS) {
        qsort(hash, count, sizeof *hash, tamis__compare_words);
        return;
    }
    const struct tamis__stretch s = {copy, count, false};
    memcpy(copy, hash, count * sizeof *hash);
    tamis__stretch_count(&s, skip, SORT_LG, next);
    tamis__starts_from_counts(next, SORT_PARTS);
    tamis__stretch_scatter(&s, skip, SORT_LG, 0, next, hash);
    for (size_t p = 0, from = 0; p < SORT_PARTS; from = (size_t)next[p++]) {
        const size_t few = (size_t)next[p] - from;
        if (few <= SORT_FEW) {
            insertion_sort(hash + from, few);
        } else {
            qsort(hash + from, few, sizeof *hash, tamis__compare_words);
        }
    }
}

void tamis__group_sort(struct tamis__group *g) {
    for (size_t b = 0; b < (size_t)1 << g->lg_buckets; b++) {
        sort_bucket(g->hashes + g->start[b], g->start[b + 1] - g->start[b], g->lg_buckets);
    }
}
