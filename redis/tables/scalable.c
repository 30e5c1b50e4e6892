/* scalable.c - a scalable filter: stages of segments
 *
 *     stage 0   capacity n0    [seg][seg][seg]          first: the capacity requested
 *     stage 1   1.16 n0        [seg][seg][seg][seg]     later: 1.16 times all before
 *     ...                        ^ picked by the upper bits of the hash
 *
 * Keys are added to the newest stage; a key is possibly in the set if any stage has it.  The false
 * positive rates of the stages add up, and their sum must stay below the target however many stages
 * there will be: the first gets a share of it (all of it, if the filter does not grow), the others
 * parts of the rest that shrink by SHRINK.  At 1 % and a million keys the first stage takes 10.2
 * bits per key; grown from a hundred thousand to a million, 14.1.  (RedisBloom halves the rate and
 * doubles the size with each sub-filter: 11 and 21.5.)
 *
 * The share is FIRST_SHARE, or SMALL_SHARE for a first stage of few keys: a small filter is likely
 * to grow, and two bits more per key in its first stage make every later stage two bits per key
 * smaller. From a hundred keys to a million: 18 bits instead of 19.7; RedisBloom takes 30.  The
 * capacity of a large filter was chosen by its user: its first stage gets LARGE_SHARE, with which a
 * blocked Bloom filter is as small as a Bloom filter with FIRST_SHARE.  Grown ten-fold it takes
 * 16.5 bits.
 *
 * A factor of 1.16 makes three stages a factor of ten (2.16^3 = 10.08), so a filter sized for one
 * round number that holds another has no nearly empty newest stage.
 *
 * Kinds.  A first stage is a Bloom filter, unless a cuckoo filter is clearly smaller: below 0.2 %
 * for many keys.  A large first stage, of several segments, exceeds the caches of a core; it is a
 * blocked Bloom filter if that supports the rate: one cache line per key instead of four.  With ten
 * million keys a command of 100 items then takes three quarters of the server's time.  Later stages
 * have low rates; from a few thousand keys on they are cuckoo filters, at 13.5 instead of 14.7
 * bits.  A cuckoo filter that has no slot for a key is full: the key goes to the next stage.  A
 * filter that supports removal has only cuckoo stages.
 *
 * stage.c has the segments, and the bare tables of small stages. */
#include "tables/scalable.h"

#include <math.h>
#include <string.h>

#include "server/memory.h"
#include "tables/bools.h"

#define STAGES_MAX 64
#define STAGE_MIN 64 /* keys of a later stage */
/* Keys of all stages.  A header describes a segment in one bit, and reading it allocates a pointer.
 */
#define SCALABLE_MAX ((uint64_t)1 << 35)

#define FIRST_SHARE 0.74
#define SMALL_SHARE 0.25
#define LARGE_SHARE 0.95
#define SHRINK 0.7
#define GROWTH 1.16

#define CUCKOO_FPR_MIN 0x1p-30
#define CUCKOO_GAIN 0.92 /* a first stage is cuckoo if it is smaller by this factor */

/* ---- sizes */

/* The supported rate: cuckoo filters have fingerprints of at most 32 bits. */
static double fpr_within(double fpr, bool removes) {
    const double min = removes ? CUCKOO_FPR_MIN : FPR_MIN;
    return fpr < min ? min : fpr;
}

/* The share of the rate that a first stage of this kind gets, if others may follow. */
static double first_share(tamis_kind kind, uint64_t capacity) {
    if (kind == TAMIS_BLOCK) return LARGE_SHARE;
    return capacity < SMALL_KEYS ? SMALL_SHARE : FIRST_SHARE;
}

/* The rate of the next stage, which is not the first. */
static double later_fpr(const struct scalable *s) {
    const struct stage *first = &s->stage[0];
    if (!s->grows) return fpr_within(s->fpr, s->removes);
    const double rest = 1 - first_share(first->kind, first->capacity);
    return fpr_within(s->fpr * rest * (1 - SHRINK) * pow(SHRINK, s->stages - 1.0), s->removes);
}

/* The shape of a first stage; false if it is not supported. */
static bool first_shape(struct stage *l, const struct scalable *s, uint64_t capacity) {
    const double share = s->grows ? first_share(TAMIS_BLOOM, capacity) : 1;
    const double fpr = fpr_within(s->fpr * share, s->removes);
    if (!stage_shape(l, capacity, fpr, CUCKOO_GAIN, s->removes)) return false;
    if (l->kind == TAMIS_BLOOM && l->segments > 1) {
        stage_shape_blocked(l, s->grows ? s->fpr * first_share(TAMIS_BLOCK, capacity) : s->fpr);
    }
    return true;
}

uint64_t scalable_plan(const struct scalable *want, uint64_t capacity) {
    struct stage first;
    return first_shape(&first, want, capacity) ? stage_plan(&first) : UINT64_MAX;
}

/* ---- stages */

/* Appends a stage; drops it if memory runs out. */
static bool stage_append(struct scalable *s, struct stage *l) {
    struct stage *larger = memory_alloc((s->stages + 1) * sizeof *larger);
    if (larger == NULL) {
        stage_drop(l);
        return false;
    }
    if (s->stages != 0) memcpy(larger, s->stage, s->stages * sizeof *larger);
    memory_free(s->stage);
    s->stage = larger;
    s->stage[s->stages++] = *l;
    return true;
}

static uint64_t planned_bytes(const struct scalable *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->stages; i++) sum += stage_plan(&s->stage[i]);
    return sum;
}

static uint64_t planned_keys(const struct scalable *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->stages; i++) sum += s->stage[i].capacity;
    return sum;
}

/* The capacity of the next stage, which is not the first. */
static uint64_t next_capacity(const struct scalable *s) {
    const uint64_t capacity = (uint64_t)ceil(GROWTH * (double)planned_keys(s));
    return capacity < STAGE_MIN ? STAGE_MIN : capacity > STAGE_MAX ? STAGE_MAX : capacity;
}

/* Appends the next stage. */
static enum scalable_result scalable_grow(struct scalable *s, uint64_t first_capacity, bool later) {
    struct stage l;
    const uint64_t capacity = s->stages == 0 ? first_capacity : next_capacity(s);
    if (s->stages == STAGES_MAX || capacity > SCALABLE_MAX - planned_keys(s)) return SCALABLE_FULL;
    const bool possible = s->stages == 0 ? first_shape(&l, s, capacity)
                                         : stage_shape(&l, capacity, later_fpr(s), 1, s->removes);
    if (!possible) return SCALABLE_FULL;
    if (s->limit != 0 && planned_bytes(s) + stage_plan(&l) > s->limit) return SCALABLE_FULL;
    if (!stage_open(&l)) return SCALABLE_NO_MEMORY;
    /* Allocated now, so that MEMORY USAGE shows it now. */
    if (l.segments == 1 && !later && !stage_warm(&l)) {
        stage_drop(&l);
        return SCALABLE_NO_MEMORY;
    }
    return stage_append(s, &l) ? SCALABLE_OK : SCALABLE_NO_MEMORY;
}

/* ---- creating and freeing */

/* A filter with the parameters of `want` and no stages. */
static struct scalable *scalable_empty(const struct scalable *want) {
    struct scalable *s = memory_alloc(sizeof *s);
    if (s == NULL) return NULL;
    *s = *want;
    s->stages = s->awaiting = 0;
    s->stage = NULL;
    return s;
}

struct scalable *scalable_create(const struct scalable *want, uint64_t capacity, bool later) {
    struct scalable *s = scalable_empty(want);
    if (s == NULL || scalable_grow(s, capacity, later) == SCALABLE_OK) return s;
    scalable_free(s);
    return NULL;
}

void scalable_free(struct scalable *s) {
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->stages; i++) stage_drop(&s->stage[i]);
    memory_free(s->stage);
    memory_free(s);
}

/* Appends a copy of a stage. */
static bool scalable_take(struct scalable *s, const struct stage *from) {
    struct stage copy;
    return stage_copy(&copy, from) && stage_append(s, &copy);
}

struct scalable *scalable_of_stage(const struct scalable *want, const struct stage *only) {
    struct scalable *s = scalable_empty(want);
    if (s == NULL || scalable_take(s, only)) return s;
    scalable_free(s);
    return NULL;
}

struct scalable *scalable_copy(const struct scalable *from) {
    struct scalable *s = scalable_empty(from);
    for (uint32_t i = 0; s != NULL && i < from->stages; i++) {
        if (scalable_take(s, &from->stage[i])) continue;
        scalable_free(s);
        s = NULL;
    }
    if (s != NULL) s->awaiting = from->awaiting;
    return s;
}

/* ---- queries */

bool scalable_contains(const struct scalable *s, uint64_t hash, uint32_t first) {
    for (uint32_t i = s->stages; i-- > first;) {
        if (stage_contains(&s->stage[i], hash)) return true;
    }
    return false;
}

/* Keys not found in any stage so far, and their positions in the batch. */
struct open_keys {
    size_t count;
    uint64_t hash[SCALABLE_BATCH];
    uint8_t number[SCALABLE_BATCH];
};

/* Half of the keys of a grown filter are in its newest stage and a quarter in the one before: keys
 * that are found are not looked up in ten more.  Branch-free, because the outcome is random. */
static void open_keys_drop(struct open_keys *open, const bool *found, bool *results) {
    size_t kept = 0;
    for (size_t i = 0; i < open->count; i++) {
        results[open->number[i]] = found[i];
        open->hash[kept] = open->hash[i];
        open->number[kept] = open->number[i];
        kept += !found[i];
    }
    open->count = kept;
}

/* Queries the stages from the newest on, each for the keys not found yet. */
static void query_stages(const struct scalable *s, const uint64_t *hashes, size_t count,
                         bool *results) {
    struct open_keys open = {.count = count};
    bool found[SCALABLE_BATCH];
    memcpy(open.hash, hashes, count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) open.number[i] = (uint8_t)i;
    memcpy(found, results, count * sizeof *found);
    open_keys_drop(&open, found, results);
    for (uint32_t i = s->stages; open.count > 0 && i-- > 0;) {
        stage_contains_batch(&s->stage[i], open.hash, open.count, found);
        open_keys_drop(&open, found, results);
    }
}

void scalable_contains_batch(const struct scalable *s, const uint64_t *hashes, size_t count,
                             bool *results) {
    bool found[SCALABLE_BATCH];
    if (count == 1) { /* a batch of one would be slower */
        *results = *results || scalable_contains(s, *hashes, 0);
    } else if (s->stages > 1) {
        query_stages(s, hashes, count, results);
    } else if (count > 0) {
        stage_contains_batch(&s->stage[0], hashes, count, found);
        bools_unite(results, found, count);
    }
}

/* ---- adding */

/* Removals may have made room in an older stage. */
static enum scalable_result add_to_older(struct scalable *s, uint64_t hash) {
    for (uint32_t i = s->stages - 1; s->removes && i-- > 0;) {
        const enum scalable_result result = stage_add(&s->stage[i], hash);
        if (result != SCALABLE_FULL) return result;
    }
    return SCALABLE_FULL;
}

enum scalable_result scalable_add(struct scalable *s, uint64_t hash) {
    enum scalable_result result = stage_add(&s->stage[s->stages - 1], hash);
    if (result == SCALABLE_FULL) result = add_to_older(s, hash);
    if (result != SCALABLE_FULL) return result;
    result = scalable_grow(s, 0, false);
    return result == SCALABLE_OK ? stage_add(&s->stage[s->stages - 1], hash) : result;
}

bool scalable_takes(const struct scalable *s, size_t count) {
    const struct stage *l = &s->stage[0];
    return s->stages == 1 && l->kind != TAMIS_CUCKOO && count <= l->capacity - l->keys;
}

bool scalable_add_fresh(struct scalable *s, const uint64_t *hashes, size_t count, bool *fresh,
                        size_t *added) {
    struct stage *l = &s->stage[0];
    const uint64_t before = l->keys;
    if (!stage_add_fresh(l, hashes, count, fresh)) return false;
    *added += (size_t)(l->keys - before);
    return true;
}

/* ---- counting and removing */

unsigned scalable_count(const struct scalable *s, uint64_t hash) {
    unsigned count = 0;
    for (uint32_t i = 0; i < s->stages; i++) count += stage_count(&s->stage[i], hash);
    return count;
}

unsigned scalable_spread(const struct scalable *s, uint64_t hash) {
    unsigned spread = 0;
    for (uint32_t i = 0; i < s->stages; i++) spread += stage_contains(&s->stage[i], hash);
    return spread;
}

bool scalable_own(struct scalable *s, uint64_t hash) {
    for (uint32_t i = 0; i < s->stages; i++) {
        if (!stage_own(&s->stage[i], hash)) return false;
    }
    return true;
}

bool scalable_remove(struct scalable *s, uint64_t hash) {
    for (uint32_t i = s->stages; i-- > 0;) {
        if (stage_remove(&s->stage[i], hash)) return true;
    }
    return false;
}

bool scalable_is_empty(const struct scalable *s) {
    return s->stages == 1 && s->awaiting == 0 && s->stage[0].keys == 0;
}

void scalable_forget(struct scalable *s) {
    while (s->stages > 1) stage_drop(&s->stage[--s->stages]);
    stage_forget(&s->stage[0]);
}

void scalable_trim(struct scalable *s) {
    while (s->stages > 1 && s->stage[s->stages - 1].keys == 0) stage_drop(&s->stage[--s->stages]);
}

/* ---- sums */

uint64_t scalable_keys(const struct scalable *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->stages; i++) sum += s->stage[i].keys;
    return sum;
}

size_t scalable_bytes(const struct scalable *s) {
    size_t bytes = sizeof *s;
    for (uint32_t i = 0; i < s->stages; i++) bytes += stage_bytes(&s->stage[i]);
    return bytes;
}

/* Freeing a large segment takes as long as many small blocks, because its pages are unmapped. */
size_t scalable_effort(const struct scalable *s) { return 1 + scalable_bytes(s) / EFFORT_BYTES; }

/* ---- shared tables */

size_t scalable_unready(const struct scalable *s, size_t keys, bool change) {
    size_t unready = 0;
    for (uint32_t i = 0; i < s->stages; i++) unready += stage_unready(&s->stage[i], keys, change);
    return unready;
}

void scalable_prepare(const struct scalable *s) {
    for (uint32_t i = 0; i < s->stages; i++) stage_prepare(&s->stage[i]);
}

void scalable_move(struct scalable *s) {
    for (uint32_t i = 0; i < s->stages; i++) stage_move(&s->stage[i]);
}

/* ---- as bytes
 *
 *     16 secret, f64 rate, u64 limit, u32 flags (1 grows), u32 stages, the stages (stage.c) */

enum { FLAG_GROWS = 1 };

void scalable_write(const struct scalable *s, struct byte_writer *w) {
    byte_put_bytes(w, s->secret, sizeof s->secret);
    byte_put_double(w, s->fpr);
    byte_put64(w, s->limit);
    byte_put32(w, s->grows ? FLAG_GROWS : 0);
    byte_put32(w, s->stages);
    for (uint32_t i = 0; i < s->stages; i++) stage_write(&s->stage[i], w);
}

/* Rejects and drops a stage of another size than this filter would create. */
static bool stage_follows(const struct scalable *s, struct stage *l) {
    const bool fits = s->stages == 0 || l->capacity == next_capacity(s);
    if (fits && l->capacity <= SCALABLE_MAX - planned_keys(s)) return true;
    stage_drop(l);
    return false;
}

static bool read_stage(struct scalable *s, struct byte_reader *r) {
    struct stage l;
    if (!stage_read(&l, s->removes, r) || !stage_follows(s, &l)) return false;
    const uint32_t awaiting = l.awaiting;
    if (!stage_append(s, &l)) return false;
    s->awaiting += awaiting;
    return true;
}

struct scalable *scalable_read(struct byte_reader *r, bool removes) {
    const uint8_t *secret = byte_take(r, TAMIS_SECRET_BYTES);
    struct scalable want = {.removes = removes};
    want.fpr = byte_get_double(r);
    want.limit = byte_get64(r);
    const uint32_t flags = byte_get32(r), stages = byte_get32(r);
    want.grows = (flags & FLAG_GROWS) != 0;
    if (r->bad || !(want.fpr > 0 && want.fpr < 1) || flags > FLAG_GROWS || stages == 0 ||
        stages > STAGES_MAX) {
        return NULL;
    }
    memcpy(want.secret, secret, sizeof want.secret);
    struct scalable *s = scalable_empty(&want);
    for (uint32_t i = 0; s != NULL && i < stages; i++) {
        if (read_stage(s, r)) continue;
        scalable_free(s);
        s = NULL;
    }
    return s;
}

bool scalable_warm(struct scalable *s) {
    struct stage *l = &s->stage[0];
    if (s->stages != 1 || l->segments != 1 || s->awaiting != 0) return true;
    return stage_warm(l);
}

uint64_t scalable_chunks(const struct scalable *s) {
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < s->stages; i++) chunks += s->stage[i].segments;
    return chunks;
}

/* The stage of chunk `*index`, which becomes the number of the segment in it; NULL if there is
 * none. */
static struct stage *stage_of_chunk(const struct scalable *s, uint64_t *index) {
    for (uint32_t i = 0; i < s->stages; i++) {
        if (*index < s->stage[i].segments) return &s->stage[i];
        *index -= s->stage[i].segments;
    }
    return NULL;
}

bool scalable_has_chunk(const struct scalable *s, uint64_t index) {
    const struct stage *l = stage_of_chunk(s, &index);
    return l != NULL && stage_has_chunk(l, index);
}

uint8_t *scalable_chunk(const struct scalable *s, uint64_t index, size_t *length) {
    const struct stage *l = stage_of_chunk(s, &index);
    return stage_chunk(l, index, length);
}

bool scalable_load(struct scalable *s, uint64_t index, const void *bytes, size_t length) {
    struct stage *l = stage_of_chunk(s, &index);
    if (l == NULL || !stage_load(l, index, bytes, length)) return false;
    s->awaiting--;
    return true;
}
