/* store_merge.c - the union of two stores of one origin
 *
 * Where only one store has a segment both have it then; where both have one their union is noted
 * (shared.h), and made when it is needed, or before that by the worker.
 *
 * Two things have to be known at once, and be the same on every server that is told to merge:
 * whether the union keeps the promise of the layer, and how many keys are in it, since both may
 * have the same ones.  To count all would take as long as to unite all.  But keys are spread over
 * the segments by a keyed hash, so any one segment is a fair sample: the first that both have is
 * united at once.  Its fill tells whether the promise holds, and what share of the keys of the one
 * that has fewer was not in the other.  If that sample has n keys the share is known to about
 * 1 / sqrt(n) of itself: in a layer of a hundred million keys to a thousandth, and exactly where
 * one has all that the other has, since nothing changes then.  A layer of one segment is its own
 * sample.
 *
 * Cuckoo filters cannot be united.  A layer of them that both stores have, table for table, needs
 * no union: so a store of low rate, or one that has grown, can be merged again if it has not
 * changed since.  Where they share the tables that is seen at once; else (one was read from a file)
 * they are compared, four milliseconds for a full segment, and shared from then on.
 *
 * A bare table (layer.c) is its own sample too, and is united at once.
 *
 * Whether anything changes is known where a layer has one segment, and where both share a table;
 * a union that is still to be made counts as a change. */
#include <math.h>
#include <string.h>

#include "memory.h"
#include "store.h"

static bool layers_alike(const struct layer *a, const struct layer *b) {
    return a->kind == b->kind && a->small == b->small && a->capacity == b->capacity &&
           a->segments == b->segments && a->rate == b->rate;
}

/* Can the bits of these be united?  Those that came from outside may have another seed. */
static bool segments_alike(struct shared *a, struct shared *b) {
    tamis_facts one = TAMIS_FACTS_INIT, other = TAMIS_FACTS_INIT;
    const tamis_filter *f = shared_like(a), *g = shared_like(b);
    return f != NULL && g != NULL && tamis_info_brief(f, &one) == TAMIS_OK &&
           tamis_info_brief(g, &other) == TAMIS_OK && one.seed == other.seed &&
           one.table_bytes == other.table_bytes && one.hashes == other.hashes;
}

/* ---- the same */

static bool encode(struct shared *segment, uint8_t *bytes, size_t size) {
    const tamis_filter *f = shared_look(segment);
    size_t length = 0;
    return f != NULL && tamis_encode(f, bytes, size, &length) == TAMIS_OK && length == size;
}

static bool segments_same(struct shared *a, struct shared *b, size_t size) {
    if (a == b || a == NULL || b == NULL) return a == b;
    uint8_t *bytes = memory_alloc(2 * size);
    const bool same = bytes != NULL && encode(a, bytes, size) && encode(b, bytes + size, size) &&
                      memcmp(bytes, bytes + size, size) == 0;
    memory_free(bytes);
    return same;
}

/* Those without keys are the same: whether they have their tables yet depends on whether they were
 * made or read. */
static bool layers_same(const struct layer *a, const struct layer *b) {
    bool same = a->keys == b->keys;
    if (same && a->keys == 0) return true;
    for (uint32_t i = 0; i < a->segments && same; i++) {
        same = segments_same(a->table.segment[i], b->table.segment[i], (size_t)a->segment_bytes);
    }
    return same;
}

static void layer_share(struct layer *into, const struct layer *from) {
    for (uint32_t i = 0; i < into->segments && into->keys != 0; i++) {
        if (into->table.segment[i] == from->table.segment[i]) continue;
        shared_drop(into->table.segment[i]);
        into->table.segment[i] = shared_take(from->table.segment[i]);
    }
}

/* ---- united */

static bool distinct_keys(struct shared *segment, tamis_facts *facts) {
    const tamis_filter *f = shared_look(segment);
    return f != NULL && tamis_info(f, facts) == TAMIS_OK;
}

/* The shares of the keys of two layers that make up those of their union: one of them counts in
 * full. */
struct shares {
    double into, from;
};

static struct shares shares_of(double into, double from, double both) {
    const double more = into > from ? into : from, less = into > from ? from : into;
    double fresh = less > 0 ? (both - more) / less : 1;
    fresh = !(fresh > 0) ? 0 : fresh > 1 ? 1 : fresh; /* no number: all bits were set before */
    return into > from ? (struct shares){1, fresh} : (struct shares){fresh, 1};
}

/* Unites the sample, and tells the shares; false if that would not keep the promise. */
static bool sample_merge(struct shared **into, struct shared *from, struct shares *shares,
                         bool *changed) {
    tamis_facts a = TAMIS_FACTS_INIT, b = TAMIS_FACTS_INIT, both = TAMIS_FACTS_INIT;
    if (!distinct_keys(*into, &a) || !distinct_keys(from, &b)) return false;
    struct shared *trial = shared_take(*into);
    if (!shared_unite(&trial, from) || !distinct_keys(trial, &both) ||
        (both.over_capacity && both.fill > a.fill)) {
        shared_drop(trial);
        return false;
    }
    shared_drop(*into);
    *into = trial;
    *changed |= both.fill > a.fill;
    *shares = shares_of(a.distinct, b.distinct, both.distinct);
    return true;
}

/* The first segment that both have; `segments` if there is none. */
static uint32_t sample_of(const struct layer *a, const struct layer *b) {
    uint32_t i = 0;
    while (i < a->segments && (a->table.segment[i] == NULL || b->table.segment[i] == NULL)) i++;
    return i;
}

static bool merge_rest(struct layer *into, const struct layer *from, uint32_t sample,
                       bool *changed) {
    for (uint32_t i = 0; i < into->segments; i++) {
        if (i == sample || from->table.segment[i] == NULL) continue;
        *changed |= into->table.segment[i] != from->table.segment[i];
        if (into->table.segment[i] == NULL) {
            into->table.segment[i] = shared_take(from->table.segment[i]);
        } else if (!shared_unite(&into->table.segment[i], from->table.segment[i])) {
            return false;
        }
    }
    return true;
}

static uint64_t union_keys(const struct layer *a, const struct layer *b, struct shares shares) {
    const uint64_t least = a->keys > b->keys ? a->keys : b->keys;
    const uint64_t keys =
        (uint64_t)(shares.into * (double)a->keys + shares.from * (double)b->keys + 0.5);
    return keys < least ? least : keys > a->capacity ? a->capacity : keys;
}

/* ---- bare tables: united at once, since none is large */

/* What grows with the keys in a table in which so many bits of `bytes` are set: the keys, but for
 * a factor that is the same for all tables of one shape. */
static double keys_of_bits(uint64_t set, uint64_t bytes) {
    return -log1p(-(double)set / ((double)bytes * 8));
}

static uint64_t bits_set(const uint8_t *table, uint64_t bytes) {
    uint64_t set = 0;
    for (uint64_t i = 0; i < bytes; i++) set += (uint64_t)__builtin_popcount(table[i]);
    return set;
}

static bool bare_merge(struct layer *into, const struct layer *from, bool *changed) {
    const uint64_t bytes = into->segment_bytes - 1; /* and one that is the same in both */
    uint8_t *const to = into->table.bare, *const other = from->table.bare;
    uint64_t mine = bits_set(to, bytes), theirs = bits_set(other, bytes), both = 0;
    for (uint64_t i = 0; i < bytes; i++) both += (uint64_t)__builtin_popcount(to[i] | other[i]);
    const double a = keys_of_bits(mine, bytes), b = keys_of_bits(theirs, bytes);
    const double united = keys_of_bits(both, bytes);
    const double keys = (double)(into->keys + from->keys) * united / (a + b);
    if (both > mine && !(keys <= (double)into->capacity)) return false;
    for (uint64_t i = 0; i < bytes; i++) to[i] |= other[i];
    const uint64_t sum = union_keys(into, from, shares_of(a, b, united));
    *changed |= both > mine || sum != into->keys;
    into->keys = sum;
    return true;
}

static bool small_merge(struct layer *into, const struct layer *from, bool *changed) {
    if (from->keys == 0) return true;
    if (into->keys != 0) return bare_merge(into, from, changed);
    struct layer copy;
    if (!layer_copy(&copy, from)) return false;
    layer_drop(into);
    *into = copy;
    *changed = true;
    return true;
}

static bool layer_merge(struct layer *into, const struct layer *from, bool *changed) {
    if (into->small) return small_merge(into, from, changed);
    const uint32_t sample = sample_of(into, from);
    struct shares shares = {1, 1};
    if (into->kind == TAMIS_CUCKOO) {
        layer_share(into, from);
        return true;
    }
    if (sample < into->segments && !sample_merge(&into->table.segment[sample],
                                                 from->table.segment[sample], &shares, changed)) {
        return false;
    }
    if (!merge_rest(into, from, sample, changed)) return false;
    const uint64_t keys = union_keys(into, from, shares);
    *changed |= keys != into->keys;
    into->keys = keys;
    return true;
}

static bool can_merge(const struct layer *into, const struct layer *from) {
    if (!layers_alike(into, from)) return false;
    if (into->small) return true; /* such bytes come from outside as their layer makes them alone */
    if (into->kind == TAMIS_CUCKOO) return layers_same(into, from);
    for (uint32_t i = 0; i < into->segments; i++) {
        if (into->table.segment[i] == NULL || from->table.segment[i] == NULL) continue;
        if (!segments_alike(into->table.segment[i], from->table.segment[i])) return false;
    }
    return true;
}

bool store_merge(struct store *into, const struct store *from, bool *changed) {
    if (memcmp(into->secret, from->secret, sizeof into->secret) != 0) return false;
    if (from->layers > into->layers || into->awaiting != 0 || from->awaiting != 0) return false;
    for (uint32_t i = 0; i < from->layers; i++) {
        if (!can_merge(&into->layer[i], &from->layer[i])) return false;
    }
    for (uint32_t i = 0; i < from->layers; i++) {
        if (!layer_merge(&into->layer[i], &from->layer[i], changed)) return false;
    }
    return true;
}
