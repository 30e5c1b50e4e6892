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
 * The share is FIRST_SHARE, or SMALL_SHARE for a first layer of few keys: a small filter
 * is the one that is likely to grow, and for two bits more a key in its first layer every later one
 * is smaller by two bits a key.  From a hundred keys to a million:
 * 18 bits instead of 19.7, where RedisBloom takes 30.  A large filter has its size because somebody
 * gave it: its first layer gets LARGE_SHARE, with which a block filter is as small as a Bloom
 * filter is with FIRST_SHARE.  Grown ten-fold it takes 16.5 bits.
 *
 * 1.16 makes three layers one factor of ten (2.16^3 = 10.08), so a store that was sized for a
 * round number and holds another has no newest layer that is nearly empty.
 *
 * Kinds.  A first layer is a Bloom filter, unless a cuckoo filter is clearly smaller: below 0.2 %
 * for many keys.  A large one, of several segments, which no cache of a core holds, is a block
 * filter in place of a Bloom filter, if that can be so fine: one line a key instead of four.  Of
 * ten million keys a command of 100 items takes three quarters of the server's time then.  Later
 * layers have low rates, and from a few thousand keys on they are cuckoo filters, at 13.5 instead
 * of 14.7 bits.  A cuckoo filter that finds no room for a key is a full one: the key goes to the
 * next layer.  A store that must remove has cuckoo filters alone.
 *
 * layer.c has the segments, and the bare tables of small layers. */
#include "store.h"

#include <math.h>
#include <string.h>

#include "marks.h"
#include "memory.h"

#define LAYERS_MOST 64
#define LAYER_LEAST 64 /* keys of a later layer */
/* Keys of all layers.  A header tells of a segment in one bit, for which a pointer is allocated. */
#define STORE_MOST ((uint64_t)1 << 35)

#define FIRST_SHARE 0.74
#define SMALL_SHARE 0.25
#define LARGE_SHARE 0.95
#define SHRINK 0.7
#define GROWTH 1.16

#define CUCKOO_RATE_LEAST 0x1p-30
#define CUCKOO_GAIN 0.92 /* a first layer is cuckoo if it is smaller by this factor */

/* ---- sizes */

/* What can be had: a cuckoo filter's fingerprints are of 32 bits at most. */
static double rate_within(double rate, bool removes) {
    const double least = removes ? CUCKOO_RATE_LEAST : RATE_LEAST;
    return rate < least ? least : rate;
}

/* The part of the promise that a first layer of this kind gets, if others may follow. */
static double first_share(tamis_kind kind, uint64_t capacity) {
    if (kind == TAMIS_BLOCK) return LARGE_SHARE;
    return capacity < SMALL_KEYS ? SMALL_SHARE : FIRST_SHARE;
}

/* The rate of the layer that comes next, which is not the first. */
static double later_rate(const struct store *s) {
    const struct layer *first = &s->layer[0];
    if (!s->grows) return rate_within(s->rate, s->removes);
    const double rest = 1 - first_share(first->kind, first->capacity);
    return rate_within(s->rate * rest * (1 - SHRINK) * pow(SHRINK, s->layers - 1.0), s->removes);
}

static bool first_shape(struct layer *l, uint64_t capacity, double promise, bool grows,
                        bool removes) {
    const double share = grows ? first_share(TAMIS_BLOOM, capacity) : 1;
    const double rate = rate_within(promise * share, removes);
    if (!layer_shape(l, capacity, rate, CUCKOO_GAIN, removes)) return false;
    if (l->kind == TAMIS_BLOOM && l->segments > 1) {
        layer_shape_blocks(l, grows ? promise * first_share(TAMIS_BLOCK, capacity) : promise);
    }
    return true;
}

uint64_t store_plan(const struct store_want *want) {
    struct layer first;
    return first_shape(&first, want->capacity, want->rate, want->grows, want->removes)
               ? layer_plan(&first)
               : UINT64_MAX;
}

/* ---- layers */

/* Room for one more layer in the array. */
static bool layers_reserve(struct store *s) {
    struct layer *larger = memory_alloc((s->layers + 1) * sizeof *larger);
    if (larger == NULL) return false;
    if (s->layers != 0) memcpy(larger, s->layer, s->layers * sizeof *larger);
    memory_free(s->layer);
    s->layer = larger;
    return true;
}

/* Appends a layer, or drops it if there is no memory. */
static bool layer_append(struct store *s, struct layer *l) {
    if (!layers_reserve(s)) {
        layer_drop(l);
        return false;
    }
    s->layer[s->layers++] = *l;
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
static enum store_result store_grow(struct store *s, uint64_t first_capacity, bool later) {
    struct layer l;
    const uint64_t capacity = s->layers == 0 ? first_capacity : next_capacity(s);
    if (s->layers == LAYERS_MOST || capacity > STORE_MOST - planned_keys(s)) return STORE_FULL;
    const bool possible = s->layers == 0 ? first_shape(&l, capacity, s->rate, s->grows, s->removes)
                                         : layer_shape(&l, capacity, later_rate(s), 1, s->removes);
    if (!possible) return STORE_FULL;
    if (s->limit != 0 && planned_bytes(s) + layer_plan(&l) > s->limit) return STORE_FULL;
    if (!layer_open(&l)) return STORE_NO_MEMORY;
    /* Memory that is taken at once shows at once in MEMORY USAGE. */
    if (l.segments == 1 && !later && !layer_warm(&l)) {
        layer_drop(&l);
        return STORE_NO_MEMORY;
    }
    return layer_append(s, &l) ? STORE_OK : STORE_NO_MEMORY;
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
    if (s != NULL && store_grow(s, want->capacity, want->later) != STORE_OK) {
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

/* Appends a copy of a layer. */
static bool store_take(struct store *s, const struct layer *from) {
    struct layer copy;
    return layer_copy(&copy, from) && layer_append(s, &copy);
}

struct store *store_of_layer(const struct store_want *want, const struct layer *only) {
    struct store *s = store_empty(want);
    if (s == NULL || store_take(s, only)) return s;
    store_free(s);
    return NULL;
}

struct store *store_copy(const struct store *from) {
    const struct store_want want = {.secret = from->secret,
                                    .rate = from->rate,
                                    .limit = from->limit,
                                    .grows = from->grows,
                                    .removes = from->removes};
    struct store *s = store_empty(&want);
    for (uint32_t i = 0; s != NULL && i < from->layers; i++) {
        if (store_take(s, &from->layer[i])) continue;
        store_free(s);
        s = NULL;
    }
    if (s != NULL) s->awaiting = from->awaiting;
    return s;
}

/* ---- asking */

bool store_contains_since(const struct store *s, uint64_t hash, uint32_t layer) {
    for (uint32_t i = s->layers; i-- > layer;) {
        if (layer_contains(&s->layer[i], hash)) return true;
    }
    return false;
}

bool store_contains(const struct store *s, uint64_t hash) {
    return store_contains_since(s, hash, 0);
}

/* Keys that no layer has had so far, and which of all each one is. */
struct open_keys {
    size_t count;
    uint64_t hash[STORE_BATCH];
    uint8_t number[STORE_BATCH];
};

/* Half of the keys of a grown store are in its newest layer, and a quarter in the one before: what
 * is found need not be looked for in ten more.  Not branched on: it is as good as random. */
static void open_keys_drop(struct open_keys *open, const bool *found, bool *answers) {
    size_t kept = 0;
    for (size_t i = 0; i < open->count; i++) {
        answers[open->number[i]] = found[i];
        open->hash[kept] = open->hash[i];
        open->number[kept] = open->number[i];
        kept += !found[i];
    }
    open->count = kept;
}

/* Asks layer by layer from the newest on, each for what is still open. */
static void ask_layers(const struct store *s, const uint64_t *hashes, size_t count, bool *answers) {
    struct open_keys open = {.count = count};
    bool found[STORE_BATCH];
    memcpy(open.hash, hashes, count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) open.number[i] = (uint8_t)i;
    memcpy(found, answers, count * sizeof *found);
    open_keys_drop(&open, found, answers);
    for (uint32_t i = s->layers; open.count > 0 && i-- > 0;) {
        layer_ask(&s->layer[i], open.hash, open.count, found);
        open_keys_drop(&open, found, answers);
    }
}

void store_contains_batch(const struct store *s, const uint64_t *hashes, size_t count,
                          bool *answers) {
    bool found[STORE_BATCH];
    if (count == 1) { /* to fill a vector for it would take longer */
        *answers = *answers || store_contains(s, *hashes);
    } else if (s->layers > 1) {
        ask_layers(s, hashes, count, answers);
    } else if (count > 0) {
        layer_ask(&s->layer[0], hashes, count, found);
        marks_unite(answers, found, count);
    }
}

/* ---- adding */

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
    result = store_grow(s, 0, false);
    return result == STORE_OK ? layer_add(&s->layer[s->layers - 1], hash) : result;
}

size_t store_add_some(struct store *s, const uint64_t *hashes, size_t count) {
    return layer_add_some(&s->layer[s->layers - 1], hashes, count);
}

bool store_takes(const struct store *s, size_t count) {
    const struct layer *l = &s->layer[0];
    return s->layers == 1 && l->kind != TAMIS_CUCKOO && count <= l->capacity - l->keys;
}

bool store_add_fresh(struct store *s, const uint64_t *hashes, size_t count, bool *fresh,
                     size_t *added) {
    struct layer *l = &s->layer[0];
    const uint64_t before = l->keys;
    if (!layer_add_fresh(l, hashes, count, fresh)) return false;
    *added += (size_t)(l->keys - before);
    return true;
}

/* ---- counting and removing */

unsigned store_count(const struct store *s, uint64_t hash) {
    unsigned count = 0;
    for (uint32_t i = 0; i < s->layers; i++) count += layer_count(&s->layer[i], hash);
    return count;
}

unsigned store_spread(const struct store *s, uint64_t hash) {
    unsigned spread = 0;
    for (uint32_t i = 0; i < s->layers; i++) spread += layer_contains(&s->layer[i], hash);
    return spread;
}

bool store_remove(struct store *s, uint64_t hash) {
    for (uint32_t i = s->layers; i-- > 0;) {
        if (layer_remove(&s->layer[i], hash)) return true;
    }
    return false;
}

bool store_is_empty(const struct store *s) {
    return s->layers == 1 && s->awaiting == 0 && s->layer[0].keys == 0;
}

void store_forget(struct store *s) {
    while (s->layers > 1) layer_drop(&s->layer[--s->layers]);
    layer_forget(&s->layer[0]);
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

size_t store_bytes(const struct store *s) {
    size_t bytes = sizeof *s;
    for (uint32_t i = 0; i < s->layers; i++) bytes += layer_bytes(&s->layer[i]);
    return bytes;
}

/* To give back a large segment takes as long as many small blocks: the pages are unmapped. */
size_t store_effort(const struct store *s) { return 1 + store_bytes(s) / EFFORT_BYTES; }

/* ---- what is shared */

size_t store_unready(const struct store *s, size_t keys, bool change) {
    size_t unready = 0;
    for (uint32_t i = 0; i < s->layers; i++) unready += layer_unready(&s->layer[i], keys, change);
    return unready;
}

void store_prepare(const struct store *s) {
    for (uint32_t i = 0; i < s->layers; i++) layer_prepare(&s->layer[i]);
}

void store_move(struct store *s) {
    for (uint32_t i = 0; i < s->layers; i++) layer_move(&s->layer[i]);
}

/* ---- as bytes
 *
 *     16 secret, f64 rate, u64 limit, u32 flags (1 grows), u32 layers, the layers (layer.c) */

enum { FLAG_GROWS = 1 };

void store_write(const struct store *s, struct wire_writer *w) {
    wire_put_bytes(w, s->secret, sizeof s->secret);
    wire_put_double(w, s->rate);
    wire_put64(w, s->limit);
    wire_put32(w, s->grows ? FLAG_GROWS : 0);
    wire_put32(w, s->layers);
    for (uint32_t i = 0; i < s->layers; i++) layer_write(&s->layer[i], w);
}

/* No layer is larger than the store would have made it: `l` is dropped if it is. */
static bool layer_follows(const struct store *s, struct layer *l) {
    const bool fits = s->layers == 0 || l->capacity == next_capacity(s);
    if (fits && l->capacity <= STORE_MOST - planned_keys(s)) return true;
    layer_drop(l);
    return false;
}

static bool read_layer(struct store *s, struct wire_reader *r) {
    struct layer l;
    if (!layer_read(&l, s->removes, r) || !layer_follows(s, &l)) return false;
    const uint32_t awaiting = l.awaiting;
    if (!layer_append(s, &l)) return false;
    s->awaiting += awaiting;
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
        if (read_layer(s, r)) continue;
        store_free(s);
        s = NULL;
    }
    return s;
}

bool store_warm(struct store *s) {
    struct layer *l = &s->layer[0];
    if (s->layers != 1 || l->segments != 1 || s->awaiting != 0) return true;
    return layer_warm(l);
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

bool store_has_piece(const struct store *s, uint64_t slot) {
    const struct layer *l = layer_of_slot(s, &slot);
    return l != NULL && layer_has_piece(l, slot);
}

uint8_t *store_piece(const struct store *s, uint64_t slot, size_t *length) {
    const struct layer *l = layer_of_slot(s, &slot);
    return layer_piece(l, slot, length);
}

bool store_load(struct store *s, uint64_t slot, const void *bytes, size_t length) {
    struct layer *l = layer_of_slot(s, &slot);
    if (l == NULL || !layer_load(l, slot, bytes, length)) return false;
    s->awaiting--;
    return true;
}
