/* cuckoo_quartet.c - the cuckoo filter of seiflotfy (Go): buckets of four one-byte fingerprints
 *
 *     table   four bytes a bucket, 0 is an empty slot
 *     shape   word[0] buckets, a power of two
 *
 * A fingerprint lies in bucket (h >> 32) mod n, or in that xor the hash of the fingerprint.
 * Where both are full, others are moved on up to 500 times.  The original draws lots for them
 * and, if that fails, loses the last one; here the choice is fixed by the fingerprints, and a
 * failure undoes all of it: a filter that is full has still every key. */
#include <math.h>
#include <string.h>

#include "core/bits.h"
#include "family/scheme.h"
#include "hash/foreign.h"

enum { BUCKETS };

#define SLOTS 4
#define BUCKETS_MOST ((uint64_t)1 << 32)
#define KICKS 500
#define METRO_SEED 1337

struct quartet {
    tamis_filter base;
    uint64_t jump[256]; /* hash of each fingerprint: from one of its buckets to the other */
};

struct print {
    uint64_t first, second; /* buckets */
    uint8_t fp;
};

static uint64_t mask_of(const tamis_filter *f) { return f->shape.word[BUCKETS] - 1; }

static struct print print_of(const tamis_filter *f, uint64_t hash) {
    const uint8_t fp = (uint8_t)(hash % 255 + 1);
    const uint64_t first = (hash >> 32) & mask_of(f);
    const uint64_t jump = ((const struct quartet *)f)->jump[fp];
    return (struct print){first, first ^ (jump & mask_of(f)), fp};
}

static uint8_t *slot_with(const tamis_filter *f, uint64_t bucket, uint8_t fp) {
    uint8_t *slots = f->table + bucket * SLOTS;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i] == fp) return slots + i;
    }
    return NULL;
}

static uint8_t *find(const tamis_filter *f, struct print p, uint8_t fp) {
    uint8_t *slot = slot_with(f, p.first, fp);
    return slot != NULL ? slot : slot_with(f, p.second, fp);
}

/* ---- eviction */

static void swap_with(uint8_t *slot, uint8_t *fp) {
    const uint8_t old = *slot;
    *slot = *fp;
    *fp = old;
}

/* The slots that were changed, so that they can be changed back. */
static bool evict(tamis_filter *f, struct print p) {
    const uint64_t *jump = ((const struct quartet *)f)->jump;
    uint8_t *path[KICKS], fp = p.fp;
    uint64_t bucket = (p.fp & 1) != 0 ? p.first : p.second;
    unsigned moved = 0;
    while (moved < KICKS) {
        path[moved] = f->table + bucket * SLOTS + (fp + moved) % SLOTS;
        swap_with(path[moved++], &fp);
        bucket ^= jump[fp] & mask_of(f);
        uint8_t *empty = slot_with(f, bucket, 0);
        if (empty != NULL) {
            *empty = fp;
            return true;
        }
    }
    while (moved-- > 0) swap_with(path[moved], &fp);
    return false;
}

/* ---- operations */

static bool quartet_contains(const tamis_filter *f, struct tamis__hash h) {
    const struct print p = print_of(f, h.lo);
    return find(f, p, p.fp) != NULL;
}

static size_t quartet_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers) {
    size_t found = 0;
    (void)hi;
    for (size_t i = 0; i < count; i++) {
        const bool maybe = quartet_contains(f, (struct tamis__hash){lo[i], 0});
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

static tamis_status quartet_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    const struct print p = print_of(f, h.lo);
    const bool was_there = fresh != NULL && find(f, p, p.fp) != NULL;
    uint8_t *empty = find(f, p, 0);
    if (empty != NULL) {
        *empty = p.fp;
    } else if (!evict(f, p)) {
        return TAMIS_E_FULL;
    }
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

static tamis_status quartet_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                      size_t count, bool *fresh, size_t *done) {
    tamis_status status = TAMIS_OK;
    (void)hi;
    for (*done = 0; *done < count; ++*done) {
        const struct tamis__hash h = {lo[*done], 0};
        status = quartet_add(f, h, fresh == NULL ? NULL : fresh + *done);
        if (status != TAMIS_OK) break;
    }
    return status;
}

static tamis_status quartet_remove(tamis_filter *f, struct tamis__hash h) {
    const struct print p = print_of(f, h.lo);
    uint8_t *slot = find(f, p, p.fp);
    if (slot == NULL) return TAMIS_E_ABSENT;
    *slot = 0;
    return TAMIS_OK;
}

static unsigned copies_in(const tamis_filter *f, uint64_t bucket, uint8_t fp) {
    const uint8_t *slots = f->table + bucket * SLOTS;
    unsigned copies = 0;
    for (unsigned i = 0; i < SLOTS; i++) copies += slots[i] == fp;
    return copies;
}

static unsigned quartet_count(const tamis_filter *f, struct tamis__hash h) {
    const struct print p = print_of(f, h.lo);
    const unsigned copies = copies_in(f, p.first, p.fp);
    return p.second == p.first ? copies : copies + copies_in(f, p.second, p.fp);
}

static const struct tamis__ops quartet_ops = {
    .path = "portable",
    .contains = quartet_contains,
    .contains_batch = quartet_contains_batch,
    .add = quartet_add,
    .add_batch = quartet_add_batch,
    .remove = quartet_remove,
};

static const struct tamis__ops *ops_of(const struct tamis__shape *shape, uint32_t cpu,
                                       bool shared) {
    (void)shape, (void)cpu, (void)shared;
    return &quartet_ops;
}

/* ---- life */

static bool quartet_check(const struct tamis__shape *shape) {
    const uint64_t n = shape->word[BUCKETS], exact = n * SLOTS;
    if (n == 0 || n > BUCKETS_MOST || (n & (n - 1)) != 0) return false;
    return shape->scheme == TAMIS__SCHEME_QUARTET && shape->table_bytes >= exact &&
           shape->table_bytes - exact < 8;
}

static tamis_status quartet_attach(tamis_filter *f) {
    uint64_t *jump = ((struct quartet *)f)->jump;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t fp = (uint8_t)i;
        jump[i] = tamis__metrohash(&fp, 1, METRO_SEED);
    }
    return TAMIS_OK;
}

static void quartet_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    (void)shape;
    traits->hashes = 2;
    traits->width = 8;
    traits->cache_lines = 2;
}

static void quartet_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t slots = f->shape.word[BUCKETS] * SLOTS;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < slots; i++) taken += f->table[i] != 0;
    state->fill = (double)taken / (double)slots;
    state->distinct = (double)taken;
    state->capacity = slots;
    state->rate_now = 1 - pow(254.0 / 255, 2 * SLOTS * state->fill);
    state->stages = 1;
}

const struct tamis__family tamis__cuckoo_quartet = {
    .kind = TAMIS_CUCKOO,
    .name = "cuckoo",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE,
    .object_size = sizeof(struct quartet),
    .traits = quartet_traits,
    .check = quartet_check,
    .ops = ops_of,
    .attach = quartet_attach,
    .state = quartet_state,
    .count = quartet_count,
};
