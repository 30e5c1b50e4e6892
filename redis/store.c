/* store.c - the keys of a filter: layers of segments
 *
 *     layer 0   capacity n0    [seg][seg][seg]          first: as large as was asked for
 *     layer 1   1.16 n0        [seg][seg][seg][seg]     later: 1.16 times all before
 *     ...                        ^ picked by the upper bits of the hash
 *
 * A key is added to the newest layer, and is there if any layer has it.  So the rates of the
 * layers add up, and their sum must stay below the promise however many there will be: the
 * first gets a share of it (all, if the store is not to grow), the others parts of the rest
 * that shrink by SHRINK.  With 1 % and a million keys the first layer takes 10.2 bits a key;
 * grown from a hundred thousand to a million, 14.1.  (Halving the rate in each layer and doubling
 * the size, as RedisBloom does: 11 and 21.5.)
 *
 * The share is FIRST_SHARE, or SMALL_SHARE for a first layer of few keys: there two bits more a
 * key are little beside the objects, what is left makes every later layer smaller by two bits a
 * key, and a small filter is the one that is likely to grow.  From a hundred keys to a million:
 * 18 bits instead of 19.7, where RedisBloom takes 30.  A large filter has its size because somebody
 * gave it: its first layer gets LARGE_SHARE, with which a block filter is as small as a Bloom
 * filter is with FIRST_SHARE.  Grown ten-fold it takes 16.5 bits.
 *
 * 1.16 makes three layers one factor of ten (2.16^3 = 10.08), so a store that was sized for a
 * round number and holds another has no newest layer that is nearly empty.
 *
 * Kinds.  A first layer is a Bloom filter, unless a cuckoo filter is clearly smaller: below 0.2 %.
 * A large one, of several segments, which no cache of a core holds, is a block filter in place of a
 * Bloom filter: one line a key instead of four.  Of ten million keys a command of 100 items takes
 * three quarters of the server's time then.  Later layers have low rates and are cuckoo filters, at
 * 13.5 instead of 14.7 bits.  A cuckoo filter that finds no room for a key is a full one: the key
 * goes to the next layer.  A store that must remove has cuckoo filters alone.
 *
 * Segments.  A layer of more than SEGMENT_KEYS keys is cut by the hash into filters of about two
 * million keys, each made when the first key comes to it.  So no command waits for more
 * than a few megabytes of memory to be cleared or dumped at a time, whatever the capacity; and
 * copies of a store share them one by one.  The upper bits of the hash choose the segment; inside
 * it the hash is mixed anew by the library, so that all places of a segment are used.
 *
 * Invariants
 *   - layer[i].keys <= layer[i].capacity, unless bits were merged.
 *   - a segment is NULL (nothing is there) or a filter, or is awaited (and NULL).
 *   - a segment that another store has as well is never changed, but replaced (shared.h).
 *   - nothing is added or removed while segments are awaited. */
#include "store.h"

#include <math.h>
#include <string.h>

#include "marks.h"
#include "memory.h"

#define SEGMENT_KEYS ((uint64_t)1 << 21)
#define SEGMENT_WORTH 8 /* keys for which a segment is asked by a batch: a vector */
#define LAYERS_MOST 64
#define LAYER_LEAST 64 /* keys of a later layer */
#define LAYER_MOST ((uint64_t)1 << 32)
/* Keys of all layers.  A header tells of a segment in one bit, for which a pointer is allocated. */
#define STORE_MOST ((uint64_t)1 << 35)

#define FIRST_SHARE 0.74
#define SMALL_SHARE 0.25
#define SMALL_KEYS 8192
#define LARGE_SHARE 0.95
#define SHRINK 0.7
#define GROWTH 1.16

/* 64 bits of hash tell no finer. */
#define RATE_LEAST 0x1p-48
#define RATE_MOST 0.5

#define CUCKOO_GAIN 0.92 /* a first layer is cuckoo if it is smaller by this factor */

/* What the library takes for a filter besides its encoded bytes. */
#define BITS_OBJECT 360
#define CUCKOO_OBJECT 1496

#define MOVED_BELOW 16384 /* larger blocks have pages of their own */

/* ---- sizes */

static double rate_within(double rate) { return rate < RATE_LEAST ? RATE_LEAST : rate; }

/* The part of the promise that a first layer of this kind gets, if others may follow. */
static double first_share(tamis_kind kind, uint64_t capacity) {
    if (kind == TAMIS_BLOCK) return LARGE_SHARE;
    return capacity < SMALL_KEYS ? SMALL_SHARE : FIRST_SHARE;
}

/* The rate of the layer that comes next, which is not the first. */
static double later_rate(const struct store *s) {
    const struct layer *first = &s->layer[0];
    if (!s->grows) return rate_within(s->rate);
    const double rest = 1 - first_share(first->kind, first->capacity);
    return rate_within(s->rate * rest * (1 - SHRINK) * pow(SHRINK, s->layers - 1.0));
}

static uint32_t segments_for(uint64_t capacity) {
    return (uint32_t)((capacity + SEGMENT_KEYS - 1) / SEGMENT_KEYS);
}

static tamis_options segment_options(const struct layer *l) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = l->kind;
    o.capacity = (l->capacity + l->segments - 1) / l->segments;
    o.rate = l->rate;
    o.hasher = TAMIS_HASH_NONE;
    return o;
}

/* Encoded bytes of one segment; UINT64_MAX if there can be none. */
static uint64_t segment_size(const struct layer *l) {
    const tamis_options o = segment_options(l);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    return tamis_size(&o, &sizing) == TAMIS_OK ? sizing.bytes : UINT64_MAX;
}

/* A layer of the kind that takes the least space; a cuckoo filter only if it is smaller by a factor
 * of `gain`.  False if no filter can be like that. */
static bool layer_shape(struct layer *l, uint64_t capacity, double rate, double gain,
                        bool removes) {
    *l = (struct layer){.capacity = capacity, .rate = rate, .segments = segments_for(capacity)};
    l->kind = TAMIS_CUCKOO;
    const uint64_t cuckoo = segment_size(l);
    l->kind = TAMIS_BLOOM;
    const uint64_t bloom = segment_size(l);
    if (removes || (double)cuckoo < gain * (double)bloom) l->kind = TAMIS_CUCKOO;
    l->segment_bytes = l->kind == TAMIS_CUCKOO ? cuckoo : bloom;
    return l->segment_bytes != UINT64_MAX;
}

static bool first_shape(struct layer *l, uint64_t capacity, double promise, bool grows,
                        bool removes) {
    const double share = grows ? first_share(TAMIS_BLOOM, capacity) : 1;
    if (!layer_shape(l, capacity, rate_within(promise * share), CUCKOO_GAIN, removes)) return false;
    if (l->kind != TAMIS_BLOOM || l->segments == 1) return true;
    l->kind = TAMIS_BLOCK;
    l->rate = grows ? promise * first_share(TAMIS_BLOCK, capacity) : promise;
    l->segment_bytes = segment_size(l);
    return l->segment_bytes != UINT64_MAX;
}

static uint64_t layer_plan(const struct layer *l) { return l->segments * l->segment_bytes; }

uint64_t store_plan(const struct store_want *want) {
    struct layer first;
    return first_shape(&first, want->capacity, want->rate, want->grows, want->removes)
               ? layer_plan(&first)
               : UINT64_MAX;
}

/* ---- segments */

static void *segment_copy(const void *body) {
    tamis_filter *copy;
    return tamis_clone(body, &copy) == TAMIS_OK ? copy : NULL;
}

static bool segment_unite(void *into, const void *from) {
    return tamis_merge(into, from, TAMIS_UNION) == TAMIS_OK;
}

static void segment_free(void *body) { tamis_free(body); }

static size_t segment_bytes(const void *body) { return (size_t)tamis_encoded_size(body); }

static const struct shared_kind segment_kind = {
    .copy = segment_copy, .unite = segment_unite, .free = segment_free, .bytes = segment_bytes};

static bool segment_open(struct layer *l, uint32_t i) {
    tamis_options o = segment_options(l);
    tamis_filter *f;
    o.allocator = memory_allocator();
    if (tamis_create(&o, &f) == TAMIS_OK) l->segment[i] = shared_new(&segment_kind, f);
    return l->segment[i] != NULL;
}

/* ---- layers */

static size_t bitmap_bytes(uint32_t segments) { return (segments + 7) / 8; }

static void layer_drop(struct layer *l) {
    for (uint32_t i = 0; l->segment != NULL && i < l->segments; i++) shared_drop(l->segment[i]);
    memory_free(l->segment);
    memory_free(l->awaited);
}

/* Room for one more layer in the array. */
static bool layers_reserve(struct store *s) {
    struct layer *larger = memory_alloc((s->layers + 1) * sizeof *larger);
    if (larger == NULL) return false;
    if (s->layers != 0) memcpy(larger, s->layer, s->layers * sizeof *larger);
    memory_free(s->layer);
    s->layer = larger;
    return true;
}

/* Appends a layer whose shape is known; none of its segments is there yet. */
static bool layer_append(struct store *s, const struct layer *shape) {
    struct layer l = *shape;
    l.segment = memory_zeroed(l.segments * sizeof *l.segment);
    if (l.segment == NULL || !layers_reserve(s)) {
        memory_free(l.segment);
        return false;
    }
    s->layer[s->layers++] = l;
    return true;
}

static uint64_t planned_bytes(const struct store *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->layers; i++) sum += layer_plan(&s->layer[i]);
    return sum;
}

static uint64_t planned_keys(const struct store *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->layers; i++) sum += s->layer[i].capacity;
    return sum;
}

/* Keys of the layer that comes next, which is not the first. */
static uint64_t next_capacity(const struct store *s) {
    const uint64_t capacity = (uint64_t)ceil(GROWTH * (double)planned_keys(s));
    return capacity < LAYER_LEAST ? LAYER_LEAST : capacity > LAYER_MOST ? LAYER_MOST : capacity;
}

/* Appends the layer that comes next. */
static enum store_result store_grow(struct store *s, uint64_t first_capacity) {
    struct layer l;
    const uint64_t capacity = s->layers == 0 ? first_capacity : next_capacity(s);
    if (s->layers == LAYERS_MOST || capacity > STORE_MOST - planned_keys(s)) return STORE_FULL;
    const bool possible = s->layers == 0 ? first_shape(&l, capacity, s->rate, s->grows, s->removes)
                                         : layer_shape(&l, capacity, later_rate(s), 1, s->removes);
    if (!possible) return STORE_FULL;
    if (s->limit != 0 && planned_bytes(s) + layer_plan(&l) > s->limit) return STORE_FULL;
    if (!layer_append(s, &l)) return STORE_NO_MEMORY;
    /* Memory that is taken at once shows at once in MEMORY USAGE. */
    if (l.segments == 1 && !segment_open(&s->layer[s->layers - 1], 0)) {
        layer_drop(&s->layer[--s->layers]);
        return STORE_NO_MEMORY;
    }
    return STORE_OK;
}

/* ---- life */

static struct store *store_empty(const struct store_want *want) {
    struct store *s = memory_zeroed(sizeof *s);
    if (s == NULL) return NULL;
    memcpy(s->secret, want->secret, sizeof s->secret);
    s->rate = want->rate;
    s->limit = want->limit;
    s->grows = want->grows;
    s->removes = want->removes;
    return s;
}

struct store *store_create(const struct store_want *want) {
    struct store *s = store_empty(want);
    if (s != NULL && store_grow(s, want->capacity) != STORE_OK) {
        store_free(s);
        return NULL;
    }
    return s;
}

void store_free(struct store *s) {
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->layers; i++) layer_drop(&s->layer[i]);
    memory_free(s->layer);
    memory_free(s);
}

static bool layer_copy(struct store *s, const struct layer *from) {
    struct layer shape = *from;
    shape.segment = NULL;
    shape.awaited = NULL;
    if (!layer_append(s, &shape)) return false;
    struct layer *l = &s->layer[s->layers - 1];
    if (from->awaited != NULL) {
        l->awaited = memory_alloc(bitmap_bytes(l->segments));
        if (l->awaited == NULL) return false;
        memcpy(l->awaited, from->awaited, bitmap_bytes(l->segments));
    }
    for (uint32_t i = 0; i < l->segments; i++) {
        if (from->segment[i] != NULL) l->segment[i] = shared_take(from->segment[i]);
    }
    return true;
}

struct store *store_copy(const struct store *from) {
    const struct store_want want = {.secret = from->secret,
                                    .rate = from->rate,
                                    .limit = from->limit,
                                    .grows = from->grows,
                                    .removes = from->removes};
    struct store *s = store_empty(&want);
    for (uint32_t i = 0; s != NULL && i < from->layers; i++) {
        if (layer_copy(s, &from->layer[i])) continue;
        store_free(s);
        s = NULL;
    }
    if (s != NULL) s->awaiting = from->awaiting;
    return s;
}

/* ---- one key */

/* By the upper bits, without a division. */
static uint32_t segment_of(const struct layer *l, uint64_t hash) {
    if (l->segments == 1) return 0;
    return (uint32_t)((hash >> 32) * l->segments >> 32);
}

static bool is_awaited(const struct layer *l, uint32_t i) {
    return l->awaited != NULL && (l->awaited[i / 8] >> (i % 8) & 1) != 0;
}

static bool layer_contains(const struct layer *l, uint64_t hash) {
    const uint32_t i = segment_of(l, hash);
    if (l->segment[i] == NULL) return is_awaited(l, i);
    const tamis_filter *f = shared_look(l->segment[i]);
    return f == NULL || tamis_contains_hash(f, hash);
}

bool store_contains_since(const struct store *s, uint64_t hash, uint32_t layer) {
    for (uint32_t i = s->layers; i-- > layer;) {
        if (layer_contains(&s->layer[i], hash)) return true;
    }
    return false;
}

bool store_contains(const struct store *s, uint64_t hash) {
    return store_contains_since(s, hash, 0);
}

/* Puts the hashes in the order of their segments; `from` tells where each was. */
static void sort_by_segment(const struct layer *l, const uint64_t *hashes, size_t count,
                            uint64_t *sorted, uint8_t *from) {
    uint8_t ends[STORE_BATCH / SEGMENT_WORTH + 1] = {0};
    for (size_t k = 0; k < count; k++) ends[segment_of(l, hashes[k]) + 1]++;
    for (uint32_t i = 1; i <= l->segments; i++) ends[i] = (uint8_t)(ends[i] + ends[i - 1]);
    for (size_t k = 0; k < count; k++) {
        const uint8_t at = ends[segment_of(l, hashes[k])]++;
        sorted[at] = hashes[k];
        from[at] = (uint8_t)k;
    }
}

/* Hashes that are all of one segment. */
static void ask_segment(const struct layer *l, const uint64_t *hashes, size_t count, bool *found) {
    const uint32_t i = segment_of(l, hashes[0]);
    const tamis_filter *f = l->segment[i] == NULL ? NULL : shared_look(l->segment[i]);
    if (f != NULL) {
        tamis_contains_hash_batch(f, hashes, count, found);
    } else {
        memset(found, l->segment[i] != NULL || is_awaited(l, i), count * sizeof *found);
    }
}

/* Asks them segment by segment: together their cache lines are fetched together. */
static void ask_sorted(const struct layer *l, const uint64_t *hashes, size_t count, bool *answers) {
    uint64_t sorted[STORE_BATCH];
    uint8_t from[STORE_BATCH];
    bool found[STORE_BATCH];
    sort_by_segment(l, hashes, count, sorted, from);
    for (size_t at = 0, end; at < count; at = end) {
        const uint32_t segment = segment_of(l, sorted[at]);
        for (end = at + 1; end < count && segment_of(l, sorted[end]) == segment;) end++;
        ask_segment(l, sorted + at, end - at, found + at);
    }
    for (size_t k = 0; k < count; k++) answers[from[k]] |= found[k];
}

/* Has what the keys need fetched, of whichever segments: then they can be taken one by one. */
static void fetch_keys(const struct layer *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t k = segment_of(l, hashes[i]);
        const tamis_filter *f = l->segment[k] == NULL ? NULL : shared_look(l->segment[k]);
        if (f != NULL) tamis_prefetch_hash(f, hashes[i]);
    }
}

/* A hundred keys at ten million items are 20 for each of five segments, and at a hundred million
 * two for each of 48: sorted, these would be 48 batches, of which each waits for memory. */
void store_contains_batch(const struct store *s, const uint64_t *hashes, size_t count,
                          bool *answers) {
    bool found[STORE_BATCH];
    if (count == 1) { /* to fill a vector for it would take longer */
        *answers = *answers || store_contains(s, *hashes);
        return;
    }
    for (uint32_t i = s->layers; count > 0 && i-- > 0;) {
        const struct layer *l = &s->layer[i];
        if (l->segments == 1) {
            ask_segment(l, hashes, count, found);
            marks_unite(answers, found, count);
        } else if (l->segments <= count / SEGMENT_WORTH) {
            ask_sorted(l, hashes, count, answers);
        } else {
            fetch_keys(l, hashes, count);
            for (size_t k = 0; k < count; k++) answers[k] |= layer_contains(l, hashes[k]);
        }
    }
}

/* The layer counts the keys.  A segment's own count would have adds that changed nothing as well,
 * which a replica and an AOF never hear of: with none its bytes are the same everywhere. */
static void segment_uncount(tamis_filter *segment) { (void)tamis_set_adds(segment, 0); }

/* STORE_FULL: this layer has no room for the key. */
static enum store_result layer_add(struct layer *l, uint64_t hash) {
    const uint32_t i = segment_of(l, hash);
    if (l->keys >= l->capacity) return STORE_FULL;
    if (l->segment[i] == NULL && !segment_open(l, i)) return STORE_NO_MEMORY;
    tamis_filter *f = shared_own(&l->segment[i]);
    if (f == NULL) return STORE_NO_MEMORY;
    const tamis_status status = tamis_add_hash(f, hash, NULL);
    segment_uncount(f);
    if (status == TAMIS_OK) l->keys++;
    return status == TAMIS_OK ? STORE_OK : status == TAMIS_E_FULL ? STORE_FULL : STORE_NO_MEMORY;
}

/* Where keys were removed an older layer may have room again. */
static enum store_result add_to_older(struct store *s, uint64_t hash) {
    for (uint32_t i = s->layers - 1; s->removes && i-- > 0;) {
        const enum store_result result = layer_add(&s->layer[i], hash);
        if (result != STORE_FULL) return result;
    }
    return STORE_FULL;
}

enum store_result store_add(struct store *s, uint64_t hash) {
    enum store_result result = layer_add(&s->layer[s->layers - 1], hash);
    if (result == STORE_FULL) result = add_to_older(s, hash);
    if (result != STORE_FULL) return result;
    result = store_grow(s, 0);
    return result == STORE_OK ? layer_add(&s->layer[s->layers - 1], hash) : result;
}

size_t store_add_some(struct store *s, const uint64_t *hashes, size_t count) {
    struct layer *l = &s->layer[s->layers - 1];
    const bool one_batch = l->segments == 1 && l->segment[0] != NULL;
    size_t done = 0;
    if (one_batch && count > 1 && l->keys + count <= l->capacity) {
        tamis_filter *f = shared_own(&l->segment[0]);
        if (f == NULL) return 0;
        (void)tamis_add_hash_batch(f, hashes, count, NULL, &done);
        segment_uncount(f);
        l->keys += done;
    } else {
        while (done < count && layer_add(l, hashes[done]) == STORE_OK) done++;
    }
    return done;
}

bool store_takes(const struct store *s, size_t count) {
    const struct layer *l = &s->layer[0];
    return s->layers == 1 && l->kind != TAMIS_CUCKOO && count <= l->capacity - l->keys;
}

/* Makes sure that the segments of these keys are there, and can be changed: then nothing that
 * follows fails half-way. */
static bool segments_open(struct layer *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t k = segment_of(l, hashes[i]);
        if (l->segment[k] == NULL && !segment_open(l, k)) return false;
        if (!shared_is_own(l->segment[k]) && layer_contains(l, hashes[i])) continue;
        if (shared_own(&l->segment[k]) == NULL) return false;
    }
    return true;
}

/* Adds a key whose segment is open.  Where that is not this store's own the key is there. */
static void add_one_fresh(struct layer *l, uint64_t hash, bool *fresh) {
    struct shared *segment = l->segment[segment_of(l, hash)];
    *fresh = false;
    if (!shared_is_own(segment)) return;
    tamis_filter *f = shared_own(&segment);
    (void)tamis_add_hash(f, hash, fresh);
    segment_uncount(f);
}

bool store_add_fresh(struct store *s, const uint64_t *hashes, size_t count, bool *fresh,
                     size_t *added) {
    struct layer *l = &s->layer[0];
    if (!segments_open(l, hashes, l->segments == 1 ? 1 : count)) return false;
    if (l->segments == 1 && count > 1) {
        tamis_filter *f = shared_own(&l->segment[0]);
        if (f == NULL) return false;
        (void)tamis_add_hash_batch(f, hashes, count, fresh, NULL);
        segment_uncount(f);
    } else {
        fetch_keys(l, hashes, count);
        for (size_t i = 0; i < count; i++) add_one_fresh(l, hashes[i], &fresh[i]);
    }
    const size_t keys = marks_count(fresh, count);
    l->keys += keys;
    *added += keys;
    return true;
}

unsigned store_count(const struct store *s, uint64_t hash) {
    unsigned count = 0;
    for (uint32_t i = 0; i < s->layers; i++) {
        const struct layer *l = &s->layer[i];
        const uint32_t k = segment_of(l, hash);
        const tamis_filter *f = l->segment[k] == NULL ? NULL : shared_look(l->segment[k]);
        if (f != NULL) count += tamis_count_hash(f, hash);
        if (is_awaited(l, k)) count++;
    }
    return count;
}

unsigned store_spread(const struct store *s, uint64_t hash) {
    unsigned spread = 0;
    for (uint32_t i = 0; i < s->layers; i++) spread += layer_contains(&s->layer[i], hash);
    return spread;
}

bool store_remove(struct store *s, uint64_t hash) {
    for (uint32_t i = s->layers; i-- > 0;) {
        struct layer *l = &s->layer[i];
        if (!layer_contains(l, hash)) continue;
        tamis_filter *f = shared_own(&l->segment[segment_of(l, hash)]);
        if (f == NULL || tamis_remove_hash(f, hash) != TAMIS_OK) continue;
        l->keys -= l->keys != 0;
        return true;
    }
    return false;
}

void store_trim(struct store *s) {
    while (s->layers > 1 && s->layer[s->layers - 1].keys == 0) layer_drop(&s->layer[--s->layers]);
}

/* ---- sums */

uint64_t store_keys(const struct store *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->layers; i++) sum += s->layer[i].keys;
    return sum;
}

/* By arithmetic, so that it is the same before and after a reload: what a segment takes differs
 * by some bytes between one that was made and one that was read. */
static size_t layer_bytes(const struct layer *l) {
    const size_t object = l->kind == TAMIS_CUCKOO ? CUCKOO_OBJECT : BITS_OBJECT;
    size_t bytes = sizeof *l + l->segments * sizeof *l->segment;
    for (uint32_t i = 0; i < l->segments; i++) {
        if (l->segment[i] == NULL) continue;
        bytes += sizeof *l->segment[i] + object + (size_t)l->segment_bytes;
    }
    return bytes;
}

size_t store_bytes(const struct store *s) {
    size_t bytes = sizeof *s;
    for (uint32_t i = 0; i < s->layers; i++) bytes += layer_bytes(&s->layer[i]);
    return bytes;
}

/* To give back a large segment takes as long as many small blocks: the pages are unmapped. */
size_t store_effort(const struct store *s) { return 1 + store_bytes(s) / EFFORT_BYTES; }

/* ---- what is shared */

static size_t layer_unready(const struct layer *l, size_t most, bool change) {
    size_t unready = 0;
    for (uint32_t i = 0; i < l->segments && unready < most; i++) {
        if (l->segment[i] != NULL) unready += !shared_is_ready(l->segment[i], change);
    }
    return unready;
}

size_t store_unready(const struct store *s, size_t keys, bool change) {
    size_t unready = 0;
    for (uint32_t i = 0; i < s->layers; i++) unready += layer_unready(&s->layer[i], keys, change);
    return unready;
}

void store_prepare(const struct store *s) {
    for (uint32_t i = 0; i < s->layers; i++) {
        const struct layer *l = &s->layer[i];
        for (uint32_t k = 0; k < l->segments; k++) {
            if (l->segment[k] != NULL) shared_prepare(l->segment[k]);
        }
    }
}

/* ---- as bytes
 *
 *     16 secret, f64 rate, u64 limit, u32 flags (1 grows), u32 layers
 *     for each layer: u32 kind, u32 segments, u64 capacity, u64 keys, f64 rate,
 *                     a bit for each segment that is there, padded to bytes */

enum { FLAG_GROWS = 1 };

/* A segment that may hold keys.  Those of a layer without any are not worth their bytes; a filter
 * that was just made is nothing but a description. */
static struct shared *segment_in_use(const struct layer *l, uint64_t i) {
    return l->keys == 0 ? NULL : l->segment[i];
}

void store_write(const struct store *s, struct wire_writer *w) {
    wire_put_bytes(w, s->secret, sizeof s->secret);
    wire_put_double(w, s->rate);
    wire_put64(w, s->limit);
    wire_put32(w, s->grows ? FLAG_GROWS : 0);
    wire_put32(w, s->layers);
    for (uint32_t i = 0; i < s->layers; i++) {
        const struct layer *l = &s->layer[i];
        wire_put32(w, (uint32_t)l->kind);
        wire_put32(w, l->segments);
        wire_put64(w, l->capacity);
        wire_put64(w, l->keys);
        wire_put_double(w, l->rate);
        for (uint32_t k = 0; k < l->segments; k += 8) {
            uint8_t bits = 0;
            for (uint32_t j = k; j < l->segments && j < k + 8; j++) {
                const bool there = segment_in_use(l, j) != NULL || is_awaited(l, j);
                bits = (uint8_t)(bits | (unsigned)there << (j - k));
            }
            wire_put(w, bits, 1);
        }
    }
}

static bool layer_is_sane(const struct layer *l, bool removes) {
    const bool bits = l->kind == TAMIS_BLOOM || l->kind == TAMIS_BLOCK;
    return (l->kind == TAMIS_CUCKOO || (bits && !removes)) && l->capacity >= 1 &&
           l->capacity <= LAYER_MOST && l->keys <= l->capacity &&
           l->segments == segments_for(l->capacity) && l->rate >= RATE_LEAST &&
           l->rate <= RATE_MOST;
}

static bool layer_read(struct store *s, struct wire_reader *r) {
    struct layer l = {.kind = (tamis_kind)wire_get32(r)};
    l.segments = wire_get32(r);
    l.capacity = wire_get64(r);
    l.keys = wire_get64(r);
    l.rate = wire_get_double(r);
    if (r->bad || !layer_is_sane(&l, s->removes)) return false;
    if (s->layers != 0 && l.capacity != next_capacity(s)) return false;
    if (l.capacity > STORE_MOST - planned_keys(s)) return false;
    const uint8_t *bits = wire_take(r, bitmap_bytes(l.segments));
    l.segment_bytes = segment_size(&l);
    if (bits == NULL || l.segment_bytes == UINT64_MAX || !layer_append(s, &l)) return false;
    struct layer *own = &s->layer[s->layers - 1];
    for (uint32_t i = 0; i < l.segments; i++) own->awaiting += bits[i / 8] >> (i % 8) & 1;
    if (own->awaiting == 0) return l.keys == 0;
    own->awaited = memory_alloc(bitmap_bytes(l.segments));
    if (own->awaited == NULL) return false;
    memcpy(own->awaited, bits, bitmap_bytes(l.segments));
    s->awaiting += own->awaiting;
    return true;
}

struct store *store_read(struct wire_reader *r, bool removes) {
    const uint8_t *secret = wire_take(r, TAMIS_SECRET_BYTES);
    struct store_want want = {.secret = secret, .removes = removes};
    want.rate = wire_get_double(r);
    want.limit = wire_get64(r);
    const uint32_t flags = wire_get32(r), layers = wire_get32(r);
    want.grows = (flags & FLAG_GROWS) != 0;
    if (r->bad || !(want.rate > 0 && want.rate < 1) || flags > FLAG_GROWS || layers == 0 ||
        layers > LAYERS_MOST) {
        return NULL;
    }
    struct store *s = store_empty(&want);
    for (uint32_t i = 0; s != NULL && i < layers; i++) {
        if (layer_read(s, r)) continue;
        store_free(s);
        s = NULL;
    }
    return s;
}

bool store_warm(struct store *s) {
    struct layer *l = &s->layer[0];
    if (s->layers != 1 || l->segments != 1 || l->segment[0] != NULL || s->awaiting != 0)
        return true;
    return segment_open(l, 0);
}

uint64_t store_slots(const struct store *s) {
    uint64_t slots = 0;
    for (uint32_t i = 0; i < s->layers; i++) slots += s->layer[i].segments;
    return slots;
}

/* The layer of a slot, which becomes the segment's number in it; NULL if there is none. */
static struct layer *layer_of_slot(const struct store *s, uint64_t *slot) {
    for (uint32_t i = 0; i < s->layers; i++) {
        if (*slot < s->layer[i].segments) return &s->layer[i];
        *slot -= s->layer[i].segments;
    }
    return NULL;
}

const tamis_filter *store_slot(const struct store *s, uint64_t slot) {
    const struct layer *l = layer_of_slot(s, &slot);
    struct shared *segment = l == NULL ? NULL : segment_in_use(l, slot);
    return segment == NULL ? NULL : shared_look(segment);
}

/* Is it the filter that this layer would have made? */
static bool segment_fits(const struct layer *l, const tamis_filter *f) {
    const tamis_options o = segment_options(l);
    tamis_facts facts = TAMIS_FACTS_INIT;
    return tamis_info(f, &facts) == TAMIS_OK && facts.kind == l->kind &&
           facts.hasher == TAMIS_HASH_NONE && facts.capacity == o.capacity &&
           facts.rate_target == o.rate && facts.encoded_bytes == l->segment_bytes;
}

bool store_load(struct store *s, uint64_t slot, const void *bytes, size_t length) {
    struct layer *l = layer_of_slot(s, &slot);
    if (l == NULL || !is_awaited(l, (uint32_t)slot) || length != l->segment_bytes) return false;
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f;
    open.format = "tamis";
    open.allocator = memory_allocator();
    if (tamis_decode(bytes, length, &open, &f) != TAMIS_OK) return false;
    if (!segment_fits(l, f)) {
        tamis_free(f);
        return false;
    }
    l->segment[slot] = shared_new(&segment_kind, f);
    if (l->segment[slot] == NULL) return false;
    l->awaited[slot / 8] = (uint8_t)(l->awaited[slot / 8] & ~(1u << (slot % 8)));
    s->awaiting--;
    if (--l->awaiting == 0) {
        memory_free(l->awaited);
        l->awaited = NULL;
    }
    return true;
}

/* ---- moving */

void store_move(struct store *s) {
    for (uint32_t i = 0; i < s->layers; i++) {
        struct layer *l = &s->layer[i];
        if (l->segment_bytes >= MOVED_BELOW || l->segment[0] == NULL) continue;
        if (!shared_is_own(l->segment[0])) continue;
        struct shared *copy = shared_copy(l->segment[0]);
        if (copy == NULL) continue;
        shared_drop(l->segment[0]);
        l->segment[0] = copy;
    }
}
