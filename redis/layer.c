/* layer.c - one layer of a store: a table for so many keys, cut into segments
 *
 * Segments.  A layer of more than SEGMENT_KEYS keys is cut by the hash into filters of about two
 * million keys, each made when the first key comes to it.  So no command waits for more
 * than a few megabytes of memory to be cleared or dumped at a time, whatever the capacity; and
 * copies of a store share them one by one.  The upper bits of the hash choose the segment; inside
 * it the hash is mixed anew by the library, so that all places of a segment are used.
 *
 * Bare tables.  A filter of the library is an object of 320 bytes (a cuckoo filter's: 1500) and
 * 256 of a header where it is written.  Beside two million keys that is nothing, but most filters
 * of a server have a hundred: BF.ADD makes such a one for whoever has not asked for more.  So a
 * Bloom layer of fewer than SMALL_KEYS keys is bare bytes: the table, and one byte that says how to
 * read it. A layer for a hundred keys at 1 % takes 230 bytes in place of 900.  It is not shared but
 * copied, and its piece is its bytes with a checksum.
 *
 * Invariants
 *   - keys <= capacity, unless bits were merged.
 *   - a segment is NULL (nothing is there) or a filter, or is awaited (and NULL).
 *   - a segment that another store has as well is never changed, but replaced (shared.h).
 *   - nothing is added or removed while segments are awaited. */
#include "layer.h"

#include <string.h>

#include "marks.h"
#include "memory.h"
#include "pieces.h"
#include "sizes.h"

#define SEGMENT_KEYS ((uint64_t)1 << 21)
#define SEGMENT_WORTH 8 /* keys for which a segment is asked by a batch: a vector */

/* What the library takes for a filter besides its encoded bytes. */
#define BITS_OBJECT 360
#define CUCKOO_OBJECT 1496

#define MOVED_BELOW 16384 /* larger blocks have pages of their own */

/* ---- shapes */

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

/* Sets the bytes of one segment; false if there can be none. */
static bool find_size(struct layer *l) {
    const tamis_options o = segment_options(l);
    l->segment_bytes = size_find(&o, l->small).bytes;
    return l->segment_bytes != 0;
}

static uint64_t object_bytes(const struct layer *l) {
    return l->small ? 0 : l->kind == TAMIS_CUCKOO ? CUCKOO_OBJECT : BITS_OBJECT;
}

bool layer_shape(struct layer *l, uint64_t capacity, double rate, double gain, bool removes) {
    struct layer bits = {.kind = TAMIS_BLOOM,
                         .small = capacity < SMALL_KEYS,
                         .segments = segments_for(capacity),
                         .capacity = capacity,
                         .rate = rate};
    struct layer cuckoo = bits;
    bool has_bits = !removes && find_size(&bits);
    if (!removes && !has_bits && bits.small) { /* too fine for bare bytes */
        bits.small = false;
        has_bits = find_size(&bits);
    }
    cuckoo.kind = TAMIS_CUCKOO;
    cuckoo.small = false;
    const bool has_cuckoo = find_size(&cuckoo);
    const double bits_cost = (double)(bits.segment_bytes + object_bytes(&bits));
    const double cuckoo_cost = (double)(cuckoo.segment_bytes + object_bytes(&cuckoo));
    const bool is_cuckoo = has_cuckoo && (!has_bits || cuckoo_cost < gain * bits_cost);
    *l = is_cuckoo ? cuckoo : bits;
    return has_bits || has_cuckoo;
}

void layer_shape_blocks(struct layer *l, double rate) {
    struct layer blocks = *l;
    blocks.kind = TAMIS_BLOCK;
    blocks.rate = rate;
    if (find_size(&blocks)) *l = blocks;
}

uint64_t layer_plan(const struct layer *l) { return l->segments * l->segment_bytes; }

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
    if (tamis_create(&o, &f) == TAMIS_OK) l->table.segment[i] = shared_new(&segment_kind, f);
    return l->table.segment[i] != NULL;
}

/* An empty bare table; NULL if there is no memory. */
static uint8_t *bare_new(const struct layer *l) {
    const tamis_options o = segment_options(l);
    const struct size size = size_find(&o, l->small);
    uint8_t *bare = size.bytes == 0 ? NULL : memory_zeroed((size_t)size.bytes);
    if (bare != NULL) bare[size.bytes - 1] = size.last;
    return bare;
}

static uint8_t *bare_copy(const struct layer *l) {
    uint8_t *copy = memory_alloc((size_t)l->segment_bytes);
    if (copy != NULL) memcpy(copy, l->table.bare, (size_t)l->segment_bytes);
    return copy;
}

static bool bare_open(struct layer *l) {
    if (l->table.bare == NULL) l->table.bare = bare_new(l);
    return l->table.bare != NULL;
}

/* ---- life */

static size_t bitmap_bytes(uint32_t segments) { return (segments + 7) / 8; }

bool layer_open(struct layer *l) {
    l->table.bare = NULL;
    l->awaited = NULL;
    if (l->small) return true;
    l->table.segment = memory_zeroed(l->segments * sizeof *l->table.segment);
    return l->table.segment != NULL;
}

bool layer_warm(struct layer *l) {
    if (l->small) return bare_open(l);
    return l->table.segment[0] != NULL || segment_open(l, 0);
}

void layer_forget(struct layer *l) {
    l->keys = 0;
    if (l->small) {
        memory_free(l->table.bare);
        l->table.bare = NULL;
        return;
    }
    for (uint32_t i = 0; i < l->segments; i++) {
        shared_drop(l->table.segment[i]);
        l->table.segment[i] = NULL;
    }
}

void layer_drop(struct layer *l) {
    layer_forget(l);
    if (l->small) return;
    memory_free(l->table.segment);
    memory_free(l->awaited);
}

bool layer_copy(struct layer *l, const struct layer *from) {
    *l = *from;
    if (!layer_open(l)) return false;
    if (l->small) {
        if (from->table.bare != NULL) l->table.bare = bare_copy(from);
        return (l->table.bare == NULL) == (from->table.bare == NULL);
    }
    if (from->awaited != NULL) {
        l->awaited = memory_alloc(bitmap_bytes(l->segments));
        if (l->awaited == NULL) {
            memory_free(l->table.segment);
            return false;
        }
        memcpy(l->awaited, from->awaited, bitmap_bytes(l->segments));
    }
    for (uint32_t i = 0; i < l->segments; i++) {
        struct shared *segment = from->table.segment[i];
        if (segment != NULL) l->table.segment[i] = shared_take(segment);
    }
    return true;
}

/* ---- asking */

/* By the upper bits, without a division. */
static uint32_t segment_of(const struct layer *l, uint64_t hash) {
    if (l->segments == 1) return 0;
    return (uint32_t)((hash >> 32) * l->segments >> 32);
}

static bool is_awaited(const struct layer *l, uint64_t i) {
    if (l->small) return l->awaiting != 0;
    return l->awaited != NULL && (l->awaited[i / 8] >> (i % 8) & 1) != 0;
}

static bool bare_contains(const struct layer *l, uint64_t hash) {
    if (l->table.bare == NULL) return l->awaiting != 0;
    return tamis_small_contains(l->table.bare, (size_t)l->segment_bytes, hash);
}

bool layer_contains(const struct layer *l, uint64_t hash) {
    if (l->small) return bare_contains(l, hash);
    const uint32_t i = segment_of(l, hash);
    if (l->table.segment[i] == NULL) return is_awaited(l, i);
    const tamis_filter *f = shared_look(l->table.segment[i]);
    return f == NULL || tamis_contains_hash(f, hash);
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
    struct shared *segment = l->table.segment[i];
    const tamis_filter *f = segment == NULL ? NULL : shared_look(segment);
    if (f != NULL) {
        tamis_contains_hash_batch(f, hashes, count, found);
    } else {
        memset(found, segment != NULL || is_awaited(l, i), count * sizeof *found);
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
    for (size_t k = 0; k < count; k++) answers[from[k]] = found[k];
}

/* Has what the keys need fetched, of whichever segments: then they can be taken one by one. */
static void fetch_keys(const struct layer *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct shared *segment = l->table.segment[segment_of(l, hashes[i])];
        const tamis_filter *f = segment == NULL ? NULL : shared_look(segment);
        if (f != NULL) tamis_prefetch_hash(f, hashes[i]);
    }
}

/* A hundred keys at ten million items are 20 for each of five segments, and at a hundred million
 * two for each of 48: sorted, these would be 48 batches, of which each waits for memory. */
void layer_ask(const struct layer *l, const uint64_t *hashes, size_t count, bool *answers) {
    if (l->small) {
        for (size_t i = 0; i < count; i++) answers[i] = bare_contains(l, hashes[i]);
    } else if (l->segments == 1) {
        ask_segment(l, hashes, count, answers);
    } else if (l->segments <= count / SEGMENT_WORTH) {
        ask_sorted(l, hashes, count, answers);
    } else {
        fetch_keys(l, hashes, count);
        for (size_t i = 0; i < count; i++) answers[i] = layer_contains(l, hashes[i]);
    }
}

/* ---- adding */

static bool bare_add(struct layer *l, uint64_t hash) {
    bool fresh = false;
    (void)tamis_small_add(l->table.bare, (size_t)l->segment_bytes, hash, &fresh);
    return fresh;
}

/* The layer counts the keys.  A segment's own count would have adds that changed nothing as well,
 * which a replica and an AOF never hear of: with none its bytes are the same everywhere. */
static void segment_uncount(tamis_filter *segment) { (void)tamis_set_adds(segment, 0); }

static enum store_result segment_add(struct layer *l, uint64_t hash) {
    const uint32_t i = segment_of(l, hash);
    if (l->table.segment[i] == NULL && !segment_open(l, i)) return STORE_NO_MEMORY;
    tamis_filter *f = shared_own(&l->table.segment[i]);
    if (f == NULL) return STORE_NO_MEMORY;
    const tamis_status status = tamis_add_hash(f, hash, NULL);
    segment_uncount(f);
    return status == TAMIS_OK ? STORE_OK : status == TAMIS_E_FULL ? STORE_FULL : STORE_NO_MEMORY;
}

enum store_result layer_add(struct layer *l, uint64_t hash) {
    if (l->keys >= l->capacity) return STORE_FULL;
    if (l->small) {
        if (!bare_open(l)) return STORE_NO_MEMORY;
        (void)bare_add(l, hash);
        l->keys++;
        return STORE_OK;
    }
    const enum store_result result = segment_add(l, hash);
    if (result == STORE_OK) l->keys++;
    return result;
}

size_t layer_add_some(struct layer *l, const uint64_t *hashes, size_t count) {
    const bool one_batch = !l->small && l->segments == 1 && l->table.segment[0] != NULL;
    size_t done = 0;
    if (one_batch && count > 1 && l->keys + count <= l->capacity) {
        tamis_filter *f = shared_own(&l->table.segment[0]);
        if (f == NULL) return 0;
        (void)tamis_add_hash_batch(f, hashes, count, NULL, &done);
        segment_uncount(f);
        l->keys += done;
    } else {
        while (done < count && layer_add(l, hashes[done]) == STORE_OK) done++;
    }
    return done;
}

/* Makes sure that the segments of these keys are there, and can be changed: then nothing that
 * follows fails half-way. */
static bool segments_open(struct layer *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct shared **segment = &l->table.segment[segment_of(l, hashes[i])];
        if (*segment == NULL && !segment_open(l, segment_of(l, hashes[i]))) return false;
        const tamis_filter *f = shared_look(*segment);
        if (f == NULL) return false;
        if (!shared_is_own(*segment) && tamis_contains_hash(f, hashes[i])) continue;
        if (shared_own(segment) == NULL) return false;
    }
    return true;
}

/* Adds a key whose segment is open.  Where that is not this store's own the key is there. */
static void add_one_fresh(struct layer *l, uint64_t hash, bool *fresh) {
    struct shared *segment = l->table.segment[segment_of(l, hash)];
    *fresh = false;
    if (!shared_is_own(segment)) return;
    tamis_filter *f = shared_own(&segment);
    (void)tamis_add_hash(f, hash, fresh);
    segment_uncount(f);
}

static bool segments_add_fresh(struct layer *l, const uint64_t *hashes, size_t count, bool *fresh) {
    if (!segments_open(l, hashes, l->segments == 1 ? 1 : count)) return false;
    if (l->segments == 1 && count > 1) {
        tamis_filter *f = shared_own(&l->table.segment[0]);
        if (f == NULL) return false;
        (void)tamis_add_hash_batch(f, hashes, count, fresh, NULL);
        segment_uncount(f);
        return true;
    }
    fetch_keys(l, hashes, count);
    for (size_t i = 0; i < count; i++) add_one_fresh(l, hashes[i], &fresh[i]);
    return true;
}

bool layer_add_fresh(struct layer *l, const uint64_t *hashes, size_t count, bool *fresh) {
    if (l->small) {
        if (!bare_open(l)) return false;
        for (size_t i = 0; i < count; i++) fresh[i] = bare_add(l, hashes[i]);
    } else if (!segments_add_fresh(l, hashes, count, fresh)) {
        return false;
    }
    l->keys += marks_count(fresh, count);
    return true;
}

/* ---- counting and removing: of cuckoo layers, which are never bare */

unsigned layer_count(const struct layer *l, uint64_t hash) {
    if (l->small) return bare_contains(l, hash);
    const uint32_t i = segment_of(l, hash);
    struct shared *segment = l->table.segment[i];
    const tamis_filter *f = segment == NULL ? NULL : shared_look(segment);
    return (f == NULL ? 0 : tamis_count_hash(f, hash)) + is_awaited(l, i);
}

bool layer_remove(struct layer *l, uint64_t hash) {
    if (l->small || !layer_contains(l, hash)) return false;
    tamis_filter *f = shared_own(&l->table.segment[segment_of(l, hash)]);
    if (f == NULL || tamis_remove_hash(f, hash) != TAMIS_OK) return false;
    l->keys -= l->keys != 0;
    return true;
}

/* ---- sums */

/* By arithmetic, so that it is the same before and after a reload: what a segment takes differs
 * by some bytes between one that was made and one that was read. */
size_t layer_bytes(const struct layer *l) {
    size_t bytes = sizeof *l;
    if (l->small) return bytes + (l->table.bare == NULL ? 0 : (size_t)l->segment_bytes);
    bytes += l->segments * sizeof *l->table.segment;
    for (uint32_t i = 0; i < l->segments; i++) {
        if (l->table.segment[i] == NULL) continue;
        bytes += sizeof(struct shared) + (size_t)(object_bytes(l) + l->segment_bytes);
    }
    return bytes;
}

/* ---- what is shared */

size_t layer_unready(const struct layer *l, size_t most, bool change) {
    size_t unready = 0;
    if (l->small) return 0;
    for (uint32_t i = 0; i < l->segments && unready < most; i++) {
        struct shared *segment = l->table.segment[i];
        if (segment != NULL) unready += !shared_is_ready(segment, change);
    }
    return unready;
}

void layer_prepare(const struct layer *l) {
    for (uint32_t i = 0; !l->small && i < l->segments; i++) {
        if (l->table.segment[i] != NULL) shared_prepare(l->table.segment[i]);
    }
}

void layer_move(struct layer *l) {
    if (l->small) {
        uint8_t *copy = l->table.bare == NULL ? NULL : bare_copy(l);
        if (copy == NULL) return;
        memory_free(l->table.bare);
        l->table.bare = copy;
        return;
    }
    struct shared **first = &l->table.segment[0];
    if (l->segment_bytes >= MOVED_BELOW || *first == NULL || !shared_is_own(*first)) return;
    struct shared *copy = shared_copy(*first);
    if (copy == NULL) return;
    shared_drop(*first);
    *first = copy;
}

/* ---- as bytes
 *
 *     u32 kind, and 256 if it is a bare table   u32 segments   u64 capacity   u64 keys
 *     f64 rate   a bit for each segment that is there, padded to bytes */

#define KIND_BARE 256u

/* Those of a layer without keys are not worth their bytes; a filter that was just made is nothing
 * but a description. */
bool layer_has_piece(const struct layer *l, uint64_t segment) {
    if (l->keys == 0) return false;
    return l->small ? l->table.bare != NULL : l->table.segment[segment] != NULL;
}

void layer_write(const struct layer *l, struct wire_writer *w) {
    wire_put32(w, (uint32_t)l->kind | (l->small ? KIND_BARE : 0));
    wire_put32(w, l->segments);
    wire_put64(w, l->capacity);
    wire_put64(w, l->keys);
    wire_put_double(w, l->rate);
    for (uint32_t k = 0; k < l->segments; k += 8) {
        uint8_t bits = 0;
        for (uint32_t j = k; j < l->segments && j < k + 8; j++) {
            const bool there = layer_has_piece(l, j) || is_awaited(l, j);
            bits = (uint8_t)(bits | (unsigned)there << (j - k));
        }
        wire_put(w, bits, 1);
    }
}

static bool is_sane(const struct layer *l, bool removes) {
    const bool bits = l->kind == TAMIS_BLOOM || (l->kind == TAMIS_BLOCK && !l->small);
    return ((l->kind == TAMIS_CUCKOO && !l->small) || (bits && !removes)) && l->capacity >= 1 &&
           l->capacity <= LAYER_MOST && l->keys <= l->capacity &&
           l->segments == segments_for(l->capacity) && (!l->small || l->capacity < SMALL_KEYS) &&
           l->rate >= RATE_LEAST && l->rate <= RATE_MOST;
}

/* Notes which segments are to come; false if there is no memory. */
static bool await(struct layer *l, const uint8_t *bits) {
    for (uint32_t i = 0; i < l->segments; i++) l->awaiting += bits[i / 8] >> (i % 8) & 1;
    if (l->awaiting == 0 || l->small) return true;
    l->awaited = memory_alloc(bitmap_bytes(l->segments));
    if (l->awaited != NULL) memcpy(l->awaited, bits, bitmap_bytes(l->segments));
    return l->awaited != NULL;
}

bool layer_read(struct layer *l, bool removes, struct wire_reader *r) {
    const uint32_t kind = wire_get32(r);
    *l = (struct layer){.kind = (tamis_kind)(kind & ~KIND_BARE), .small = (kind & KIND_BARE) != 0};
    l->segments = wire_get32(r);
    l->capacity = wire_get64(r);
    l->keys = wire_get64(r);
    l->rate = wire_get_double(r);
    if (r->bad || !is_sane(l, removes)) return false;
    const uint8_t *bits = wire_take(r, bitmap_bytes(l->segments));
    if (bits == NULL || !find_size(l) || !layer_open(l)) return false;
    if (await(l, bits) && (l->awaiting != 0 || l->keys == 0)) return true;
    layer_drop(l);
    return false;
}

/* ---- pieces: a segment as a .tamis file, or a bare table with its checksum */

static void write_bare(const void *layer, struct wire_writer *w) {
    const struct layer *l = layer;
    wire_put_bytes(w, l->table.bare, (size_t)l->segment_bytes);
}

uint8_t *layer_piece(const struct layer *l, uint64_t segment, size_t *length) {
    if (l->small) return seal(write_bare, l, length);
    const tamis_filter *f = shared_look(l->table.segment[segment]);
    *length = (size_t)l->segment_bytes;
    return f == NULL ? NULL : piece_of(f, length);
}

static bool load_bare(struct layer *l, const void *bytes, size_t length) {
    struct wire_reader r = unseal(bytes, length);
    const uint8_t *table = wire_take(&r, (size_t)l->segment_bytes);
    uint8_t *bare = table == NULL || r.at != r.end ? NULL : bare_new(l);
    if (bare == NULL) return false;
    const size_t last = (size_t)l->segment_bytes - 1; /* says how to read it */
    if (bare[last] != table[last]) {
        memory_free(bare);
        return false;
    }
    memcpy(bare, table, last);
    l->table.bare = bare;
    return true;
}

/* Is it the filter that this layer would have made? */
static bool segment_fits(const struct layer *l, const tamis_filter *f) {
    const tamis_options o = segment_options(l);
    tamis_facts facts = TAMIS_FACTS_INIT;
    return tamis_info(f, &facts) == TAMIS_OK && facts.kind == l->kind &&
           facts.hasher == TAMIS_HASH_NONE && facts.capacity == o.capacity &&
           facts.rate_target == o.rate && facts.encoded_bytes == l->segment_bytes;
}

static bool load_segment(struct layer *l, uint64_t segment, const void *bytes, size_t length) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f;
    open.format = "tamis";
    open.allocator = memory_allocator();
    if (length != l->segment_bytes || tamis_decode(bytes, length, &open, &f) != TAMIS_OK) {
        return false;
    }
    if (!segment_fits(l, f)) {
        tamis_free(f);
        return false;
    }
    l->table.segment[segment] = shared_new(&segment_kind, f);
    return l->table.segment[segment] != NULL;
}

bool layer_load(struct layer *l, uint64_t segment, const void *bytes, size_t length) {
    if (!is_awaited(l, segment)) return false;
    if (l->small ? !load_bare(l, bytes, length) : !load_segment(l, segment, bytes, length)) {
        return false;
    }
    l->awaiting--;
    if (l->small) return true;
    l->awaited[segment / 8] = (uint8_t)(l->awaited[segment / 8] & ~(1u << (segment % 8)));
    if (l->awaiting == 0) {
        memory_free(l->awaited);
        l->awaited = NULL;
    }
    return true;
}
