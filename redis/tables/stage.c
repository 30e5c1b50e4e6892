/* stage.c - one stage of a scalable filter: a table of fixed capacity, divided into segments
 *
 * Segments.  A stage of more than SEGMENT_KEYS keys is divided by the hash into filters of about
 * two million keys, each created with its first key.  So no command has to clear or dump more than
 * a few megabytes at a time, whatever the capacity, and copies share segments one by one.  The
 * upper bits of the hash choose the segment; the library mixes the hash again, so all slots of a
 * segment are used.
 *
 * Bare tables.  A filter of the library is an object of 320 bytes (a cuckoo filter: 1500) with a
 * header of 256 bytes when encoded.  That is nothing next to two million keys, but most filters on
 * a server have a hundred: the default capacity of BF.ADD.  So a Bloom stage of fewer than
 * SMALL_KEYS keys is a bare table: its bits, and one byte that describes them.  A stage for a
 * hundred keys at 1 % takes 230 bytes instead of 900.  It is copied rather than shared, and its
 * chunk is its bytes with a checksum.
 *
 * Invariants
 *   - keys <= capacity, unless bits were merged.
 *   - a segment is a filter, or NULL: it is empty or not loaded yet (awaited).
 *   - a shared segment is never changed, but replaced (cow_table.h).
 *   - nothing is added or removed while segments are awaited. */
#include "tables/stage.h"

#include <string.h>

#include "server/memory.h"
#include "tables/bools.h"
#include "tables/size_cache.h"

#define SEGMENT_KEYS ((uint64_t)1 << 21)
#define SEGMENT_WORTH 8 /* keys per segment from which a batch query pays: one vector */

/* Memory of a filter of the library in addition to its encoded bytes. */
#define BITS_OBJECT 360
#define CUCKOO_OBJECT 1496

#define MOVED_BELOW 16384 /* larger blocks have pages of their own */

/* ---- shapes */

static uint32_t segments_for(uint64_t capacity) {
    return (uint32_t)((capacity + SEGMENT_KEYS - 1) / SEGMENT_KEYS);
}

static tamis_options segment_options(const struct stage *l) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = l->kind;
    o.capacity = (l->capacity + l->segments - 1) / l->segments;
    o.fpr = l->fpr;
    o.hasher = TAMIS_HASH_NONE;
    return o;
}

/* Sets the size of a segment; false if the parameters are not supported. */
static bool find_size(struct stage *l) {
    const tamis_options o = segment_options(l);
    l->segment_bytes = size_find(&o, l->small).bytes;
    return l->segment_bytes != 0;
}

static uint64_t object_bytes(const struct stage *l) {
    return l->small ? 0 : l->kind == TAMIS_CUCKOO ? CUCKOO_OBJECT : BITS_OBJECT;
}

bool stage_shape(struct stage *l, uint64_t capacity, double fpr, double gain, bool removes) {
    struct stage bits = {.kind = TAMIS_BLOOM,
                         .small = capacity < SMALL_KEYS,
                         .segments = segments_for(capacity),
                         .capacity = capacity,
                         .fpr = fpr};
    struct stage cuckoo = bits;
    bool has_bits = !removes && find_size(&bits);
    if (!removes && !has_bits && bits.small) { /* the rate is too low for a bare table */
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

void stage_shape_blocked(struct stage *l, double fpr) {
    struct stage blocked = *l;
    blocked.kind = TAMIS_BLOCK;
    blocked.fpr = fpr;
    if (find_size(&blocked)) *l = blocked;
}

uint64_t stage_plan(const struct stage *l) { return l->segments * l->segment_bytes; }

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

static const struct cow_table_kind segment_kind = {
    .copy = segment_copy, .unite = segment_unite, .free = segment_free, .bytes = segment_bytes};

static bool segment_open(struct stage *l, uint32_t i) {
    tamis_options o = segment_options(l);
    tamis_filter *f;
    o.allocator = memory_allocator();
    if (tamis_create(&o, &f) == TAMIS_OK) l->table.segment[i] = cow_table_new(&segment_kind, f);
    return l->table.segment[i] != NULL;
}

/* An empty bare table; NULL if memory runs out. */
static uint8_t *bare_new(const struct stage *l) {
    const tamis_options o = segment_options(l);
    const struct size size = size_find(&o, l->small);
    uint8_t *bare = size.bytes == 0 ? NULL : memory_zeroed((size_t)size.bytes);
    if (bare != NULL) bare[size.bytes - 1] = size.last;
    return bare;
}

static uint8_t *bare_copy(const struct stage *l) {
    uint8_t *copy = memory_alloc((size_t)l->segment_bytes);
    if (copy != NULL) memcpy(copy, l->table.bare, (size_t)l->segment_bytes);
    return copy;
}

static bool bare_open(struct stage *l) {
    if (l->table.bare == NULL) l->table.bare = bare_new(l);
    return l->table.bare != NULL;
}

/* ---- creating and freeing */

static size_t bitmap_bytes(uint32_t segments) { return (segments + 7) / 8; }

bool stage_open(struct stage *l) {
    l->table.bare = NULL;
    l->awaited = NULL;
    if (l->small) return true;
    l->table.segment = memory_zeroed(l->segments * sizeof *l->table.segment);
    return l->table.segment != NULL;
}

bool stage_warm(struct stage *l) {
    if (l->small) return bare_open(l);
    return l->table.segment[0] != NULL || segment_open(l, 0);
}

void stage_forget(struct stage *l) {
    l->keys = 0;
    if (l->small) {
        memory_free(l->table.bare);
        l->table.bare = NULL;
        return;
    }
    for (uint32_t i = 0; i < l->segments; i++) {
        cow_table_drop(l->table.segment[i]);
        l->table.segment[i] = NULL;
    }
}

void stage_drop(struct stage *l) {
    stage_forget(l);
    if (l->small) return;
    memory_free(l->table.segment);
    memory_free(l->awaited);
}

bool stage_copy(struct stage *l, const struct stage *from) {
    *l = *from;
    if (!stage_open(l)) return false;
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
        struct cow_table *segment = from->table.segment[i];
        if (segment != NULL) l->table.segment[i] = cow_table_take(segment);
    }
    return true;
}

/* ---- queries */

/* The upper bits scaled to the number of segments, without a division. */
static uint32_t segment_of(const struct stage *l, uint64_t hash) {
    if (l->segments == 1) return 0;
    return (uint32_t)((hash >> 32) * l->segments >> 32);
}

static bool is_awaited(const struct stage *l, uint64_t i) {
    if (l->small) return l->awaiting != 0;
    return l->awaited != NULL && (l->awaited[i / 8] >> (i % 8) & 1) != 0;
}

static bool bare_contains(const struct stage *l, uint64_t hash) {
    if (l->table.bare == NULL) return l->awaiting != 0;
    return tamis_small_contains(l->table.bare, (size_t)l->segment_bytes, hash);
}

bool stage_contains(const struct stage *l, uint64_t hash) {
    if (l->small) return bare_contains(l, hash);
    const uint32_t i = segment_of(l, hash);
    if (l->table.segment[i] == NULL) return is_awaited(l, i);
    const tamis_filter *f = cow_table_look(l->table.segment[i]);
    return f == NULL || tamis_contains_hash(f, hash);
}

/* Sorts the hashes by segment; `from` receives their positions. */
static void sort_by_segment(const struct stage *l, const uint64_t *hashes, size_t count,
                            uint64_t *sorted, uint8_t *from) {
    uint8_t ends[SCALABLE_BATCH / SEGMENT_WORTH + 1] = {0};
    for (size_t k = 0; k < count; k++) ends[segment_of(l, hashes[k]) + 1]++;
    for (uint32_t i = 1; i <= l->segments; i++) ends[i] = (uint8_t)(ends[i] + ends[i - 1]);
    for (size_t k = 0; k < count; k++) {
        const uint8_t at = ends[segment_of(l, hashes[k])]++;
        sorted[at] = hashes[k];
        from[at] = (uint8_t)k;
    }
}

/* All hashes belong to one segment. */
static void query_segment(const struct stage *l, const uint64_t *hashes, size_t count,
                          bool *found) {
    const uint32_t i = segment_of(l, hashes[0]);
    struct cow_table *segment = l->table.segment[i];
    const tamis_filter *f = segment == NULL ? NULL : cow_table_look(segment);
    if (f != NULL) {
        tamis_contains_hash_batch(f, hashes, count, found);
    } else {
        memset(found, segment != NULL || is_awaited(l, i), count * sizeof *found);
    }
}

/* Queries segment by segment, so that the cache lines of a segment are fetched together. */
static void query_sorted(const struct stage *l, const uint64_t *hashes, size_t count,
                         bool *results) {
    uint64_t sorted[SCALABLE_BATCH];
    uint8_t from[SCALABLE_BATCH];
    bool found[SCALABLE_BATCH];
    sort_by_segment(l, hashes, count, sorted, from);
    for (size_t at = 0, end; at < count; at = end) {
        const uint32_t segment = segment_of(l, sorted[at]);
        for (end = at + 1; end < count && segment_of(l, sorted[end]) == segment;) end++;
        query_segment(l, sorted + at, end - at, found + at);
    }
    for (size_t k = 0; k < count; k++) results[from[k]] = found[k];
}

/* Prefetches the cache lines of keys in any segments; then they can be queried one by one. */
static void prefetch_keys(const struct stage *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct cow_table *segment = l->table.segment[segment_of(l, hashes[i])];
        const tamis_filter *f = segment == NULL ? NULL : cow_table_look(segment);
        if (f != NULL) tamis_prefetch_hash(f, hashes[i]);
    }
}

/* A hundred keys at ten million items are 20 for each of five segments; at a hundred million they
 * are two for each of 48: sorted, that would be 48 batches, each of which waits for memory. */
void stage_contains_batch(const struct stage *l, const uint64_t *hashes, size_t count,
                          bool *results) {
    if (l->small) {
        for (size_t i = 0; i < count; i++) results[i] = bare_contains(l, hashes[i]);
    } else if (l->segments == 1) {
        query_segment(l, hashes, count, results);
    } else if (l->segments <= count / SEGMENT_WORTH) {
        query_sorted(l, hashes, count, results);
    } else {
        prefetch_keys(l, hashes, count);
        for (size_t i = 0; i < count; i++) results[i] = stage_contains(l, hashes[i]);
    }
}

/* ---- adding */

static bool bare_add(struct stage *l, uint64_t hash) {
    bool fresh = false;
    (void)tamis_small_add(l->table.bare, (size_t)l->segment_bytes, hash, &fresh);
    return fresh;
}

/* The stage counts the keys.  A segment's own count would include adds that changed nothing, which
 * are not replicated: reset to 0, its bytes are the same on every server. */
static void segment_uncount(tamis_filter *segment) { (void)tamis_set_adds(segment, 0); }

static enum scalable_result segment_add(struct stage *l, uint64_t hash) {
    const uint32_t i = segment_of(l, hash);
    if (l->table.segment[i] == NULL && !segment_open(l, i)) return SCALABLE_NO_MEMORY;
    tamis_filter *f = cow_table_own(&l->table.segment[i]);
    if (f == NULL) return SCALABLE_NO_MEMORY;
    const tamis_status status = tamis_add_hash(f, hash, NULL);
    segment_uncount(f);
    return status == TAMIS_OK       ? SCALABLE_OK
           : status == TAMIS_E_FULL ? SCALABLE_FULL
                                    : SCALABLE_NO_MEMORY;
}

enum scalable_result stage_add(struct stage *l, uint64_t hash) {
    if (l->keys >= l->capacity) return SCALABLE_FULL;
    if (l->small) {
        if (!bare_open(l)) return SCALABLE_NO_MEMORY;
        (void)bare_add(l, hash);
        l->keys++;
        return SCALABLE_OK;
    }
    const enum scalable_result result = segment_add(l, hash);
    if (result == SCALABLE_OK) l->keys++;
    return result;
}

size_t stage_add_some(struct stage *l, const uint64_t *hashes, size_t count) {
    const bool one_batch = !l->small && l->segments == 1 && l->table.segment[0] != NULL;
    size_t done = 0;
    if (one_batch && count > 1 && l->keys + count <= l->capacity) {
        tamis_filter *f = cow_table_own(&l->table.segment[0]);
        if (f == NULL) return 0;
        (void)tamis_add_hash_batch(f, hashes, count, NULL, &done);
        segment_uncount(f);
        l->keys += done;
    } else {
        while (done < count && stage_add(l, hashes[done]) == SCALABLE_OK) done++;
    }
    return done;
}

/* Creates the segments of these keys and makes them writable, so that nothing after it can fail. */
static bool segments_open(struct stage *l, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct cow_table **segment = &l->table.segment[segment_of(l, hashes[i])];
        if (*segment == NULL && !segment_open(l, segment_of(l, hashes[i]))) return false;
        const tamis_filter *f = cow_table_look(*segment);
        if (f == NULL) return false;
        if (!cow_table_is_own(*segment) && tamis_contains_hash(f, hashes[i])) continue;
        if (cow_table_own(segment) == NULL) return false;
    }
    return true;
}

/* Adds a key whose segment is open.  If the segment is shared, it has the key. */
static void add_one_fresh(struct stage *l, uint64_t hash, bool *fresh) {
    struct cow_table *segment = l->table.segment[segment_of(l, hash)];
    *fresh = false;
    if (!cow_table_is_own(segment)) return;
    tamis_filter *f = cow_table_own(&segment);
    (void)tamis_add_hash(f, hash, fresh);
    segment_uncount(f);
}

static bool segments_add_fresh(struct stage *l, const uint64_t *hashes, size_t count, bool *fresh) {
    if (!segments_open(l, hashes, l->segments == 1 ? 1 : count)) return false;
    if (l->segments == 1 && count > 1) {
        tamis_filter *f = cow_table_own(&l->table.segment[0]);
        if (f == NULL) return false;
        (void)tamis_add_hash_batch(f, hashes, count, fresh, NULL);
        segment_uncount(f);
        return true;
    }
    prefetch_keys(l, hashes, count);
    for (size_t i = 0; i < count; i++) add_one_fresh(l, hashes[i], &fresh[i]);
    return true;
}

bool stage_add_fresh(struct stage *l, const uint64_t *hashes, size_t count, bool *fresh) {
    if (l->small) {
        if (!bare_open(l)) return false;
        for (size_t i = 0; i < count; i++) fresh[i] = bare_add(l, hashes[i]);
    } else if (!segments_add_fresh(l, hashes, count, fresh)) {
        return false;
    }
    l->keys += bools_count(fresh, count);
    return true;
}

/* ---- counting and removing: cuckoo stages, which are never bare */

unsigned stage_count(const struct stage *l, uint64_t hash) {
    if (l->small) return bare_contains(l, hash);
    const uint32_t i = segment_of(l, hash);
    struct cow_table *segment = l->table.segment[i];
    const tamis_filter *f = segment == NULL ? NULL : cow_table_look(segment);
    return (f == NULL ? 0 : tamis_count_hash(f, hash)) + is_awaited(l, i);
}

bool stage_own(struct stage *l, uint64_t hash) {
    if (l->small || !stage_contains(l, hash)) return true;
    return cow_table_own(&l->table.segment[segment_of(l, hash)]) != NULL;
}

bool stage_remove(struct stage *l, uint64_t hash) {
    if (l->small || !stage_contains(l, hash)) return false;
    tamis_filter *f = cow_table_own(&l->table.segment[segment_of(l, hash)]);
    if (f == NULL || tamis_remove_hash(f, hash) != TAMIS_OK) return false;
    l->keys -= l->keys != 0;
    return true;
}

/* ---- sums */

/* Computed, so that it is the same before and after a reload: a created and a loaded segment differ
 * by a few bytes. */
size_t stage_bytes(const struct stage *l) {
    size_t bytes = sizeof *l;
    if (l->small) return bytes + (l->table.bare == NULL ? 0 : (size_t)l->segment_bytes);
    bytes += l->segments * sizeof *l->table.segment;
    for (uint32_t i = 0; i < l->segments; i++) {
        if (l->table.segment[i] == NULL) continue;
        bytes += sizeof(struct cow_table) + (size_t)(object_bytes(l) + l->segment_bytes);
    }
    return bytes;
}

/* ---- shared tables */

size_t stage_unready(const struct stage *l, size_t max, bool change) {
    size_t unready = 0;
    if (l->small) return 0;
    for (uint32_t i = 0; i < l->segments && unready < max; i++) {
        struct cow_table *segment = l->table.segment[i];
        if (segment != NULL) unready += !cow_table_is_ready(segment, change);
    }
    return unready;
}

void stage_prepare(const struct stage *l) {
    for (uint32_t i = 0; !l->small && i < l->segments; i++) {
        if (l->table.segment[i] != NULL) cow_table_prepare(l->table.segment[i]);
    }
}

void stage_move(struct stage *l) {
    if (l->small) {
        uint8_t *copy = l->table.bare == NULL ? NULL : bare_copy(l);
        if (copy == NULL) return;
        memory_free(l->table.bare);
        l->table.bare = copy;
        return;
    }
    struct cow_table **first = &l->table.segment[0];
    if (l->segment_bytes >= MOVED_BELOW || *first == NULL || !cow_table_is_own(*first)) return;
    struct cow_table *copy = cow_table_copy(*first);
    if (copy == NULL) return;
    cow_table_drop(*first);
    *first = copy;
}

/* ---- as bytes
 *
 *     u32 kind, plus 256 for a bare table   u32 segments   u64 capacity   u64 keys
 *     f64 rate   a bit for each segment that has keys, padded to bytes */

#define KIND_BARE 256u

/* A stage without keys has no chunks: a new filter is only a description. */
bool stage_has_chunk(const struct stage *l, uint64_t segment) {
    if (l->keys == 0) return false;
    return l->small ? l->table.bare != NULL : l->table.segment[segment] != NULL;
}

void stage_write(const struct stage *l, struct byte_writer *w) {
    byte_put32(w, (uint32_t)l->kind | (l->small ? KIND_BARE : 0));
    byte_put32(w, l->segments);
    byte_put64(w, l->capacity);
    byte_put64(w, l->keys);
    byte_put_double(w, l->fpr);
    for (uint32_t k = 0; k < l->segments; k += 8) {
        uint8_t bits = 0;
        for (uint32_t j = k; j < l->segments && j < k + 8; j++) {
            const bool there = stage_has_chunk(l, j) || is_awaited(l, j);
            bits = (uint8_t)(bits | (unsigned)there << (j - k));
        }
        byte_put(w, bits, 1);
    }
}

static bool is_sane(const struct stage *l, bool removes) {
    const bool bits = l->kind == TAMIS_BLOOM || (l->kind == TAMIS_BLOCK && !l->small);
    return ((l->kind == TAMIS_CUCKOO && !l->small) || (bits && !removes)) && l->capacity >= 1 &&
           l->capacity <= STAGE_MAX && l->keys <= l->capacity &&
           l->segments == segments_for(l->capacity) && (!l->small || l->capacity < SMALL_KEYS) &&
           l->fpr >= FPR_MIN && l->fpr <= FPR_MAX;
}

/* Records which segments are to be loaded; false if memory runs out. */
static bool await(struct stage *l, const uint8_t *bits) {
    for (uint32_t i = 0; i < l->segments; i++) l->awaiting += bits[i / 8] >> (i % 8) & 1;
    if (l->awaiting == 0 || l->small) return true;
    l->awaited = memory_alloc(bitmap_bytes(l->segments));
    if (l->awaited != NULL) memcpy(l->awaited, bits, bitmap_bytes(l->segments));
    return l->awaited != NULL;
}

bool stage_read(struct stage *l, bool removes, struct byte_reader *r) {
    const uint32_t kind = byte_get32(r);
    *l = (struct stage){.kind = (tamis_kind)(kind & ~KIND_BARE), .small = (kind & KIND_BARE) != 0};
    l->segments = byte_get32(r);
    l->capacity = byte_get64(r);
    l->keys = byte_get64(r);
    l->fpr = byte_get_double(r);
    if (r->bad || !is_sane(l, removes)) return false;
    const uint8_t *bits = byte_take(r, bitmap_bytes(l->segments));
    if (bits == NULL || !find_size(l) || !stage_open(l)) return false;
    if (await(l, bits) && (l->awaiting != 0 || l->keys == 0)) return true;
    stage_drop(l);
    return false;
}

/* ---- chunks: a segment as a .tamis file, or a bare table with its checksum */

static void write_bare(const void *stage, struct byte_writer *w) {
    const struct stage *l = stage;
    byte_put_bytes(w, l->table.bare, (size_t)l->segment_bytes);
}

/* NULL if memory runs out, with the length needed. */
static uint8_t *segment_chunk(const tamis_filter *segment, size_t *length) {
    const size_t size = (size_t)tamis_encoded_size(segment);
    uint8_t *bytes = memory_alloc(size);
    *length = size;
    if (bytes == NULL) return NULL;
    if (tamis_encode(segment, bytes, size, length) == TAMIS_OK) return bytes;
    memory_free(bytes);
    return NULL;
}

uint8_t *stage_chunk(const struct stage *l, uint64_t segment, size_t *length) {
    if (l->small) return seal(write_bare, l, length);
    const tamis_filter *f = cow_table_look(l->table.segment[segment]);
    *length = (size_t)l->segment_bytes;
    return f == NULL ? NULL : segment_chunk(f, length);
}

static bool load_bare(struct stage *l, const void *bytes, size_t length) {
    struct byte_reader r = unseal(bytes, length);
    const uint8_t *table = byte_take(&r, (size_t)l->segment_bytes);
    uint8_t *bare = table == NULL || r.at != r.end ? NULL : bare_new(l);
    if (bare == NULL) return false;
    const size_t last = (size_t)l->segment_bytes - 1; /* the byte that describes the table */
    if (bare[last] != table[last]) {
        memory_free(bare);
        return false;
    }
    memcpy(bare, table, last);
    l->table.bare = bare;
    return true;
}

/* Returns whether it is the filter that this stage would create. */
static bool segment_fits(const struct stage *l, const tamis_filter *f) {
    const tamis_options o = segment_options(l);
    tamis_facts facts = TAMIS_FACTS_INIT;
    return tamis_info(f, &facts) == TAMIS_OK && facts.kind == l->kind &&
           facts.hasher == TAMIS_HASH_NONE && facts.capacity == o.capacity &&
           facts.fpr_target == o.fpr && facts.encoded_bytes == l->segment_bytes;
}

static bool load_segment(struct stage *l, uint64_t segment, const void *bytes, size_t length) {
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
    l->table.segment[segment] = cow_table_new(&segment_kind, f);
    return l->table.segment[segment] != NULL;
}

bool stage_load(struct stage *l, uint64_t segment, const void *bytes, size_t length) {
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
