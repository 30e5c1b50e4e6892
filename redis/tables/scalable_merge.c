/* scalable_merge.c - the union of two scalable filters with the same secret
 *
 * If one filter has a segment, the union shares it; if both have it, their union is recorded
 * (cow_table.h) and built when it is needed, or before that by the worker.
 *
 * Two things must be known at once and be the same on primary and replicas: whether the union keeps
 * the false positive rate of the stage, and how many keys it has, because both filters may have the
 * same ones.  Counting all bits would take as long as uniting all tables.  But a keyed hash spreads
 * the keys over the segments, so any segment is a fair sample: the first that both have is united
 * at once. Its fill shows whether the rate holds, and which share of the smaller filter's keys the
 * larger one did not have.  With n keys in the sample the relative error of the share is about 1 /
 * sqrt(n): a thousandth in a stage of a hundred million keys, and zero if one filter has all keys
 * of the other, since nothing changes then.  A stage of one segment is its own sample.
 *
 * Cuckoo filters cannot be united.  A cuckoo stage that is equal in both filters, table for table,
 * needs no union: so a filter with a low rate, or one that has grown, can be merged again if it has
 * not changed since.  If the tables are shared that is known at once; else (one was read from a
 * file) they are compared, four milliseconds for a full segment, and shared from then on.
 *
 * A bare table (stage.c) is its own sample too, and is united at once.
 *
 * Whether anything changes is known for a stage of one segment and for shared tables; a union that
 * is not built yet counts as a change. */
#include <math.h>
#include <string.h>

#include "server/memory.h"
#include "tables/scalable.h"

static bool same_shape(const struct stage *a, const struct stage *b) {
    return a->kind == b->kind && a->small == b->small && a->capacity == b->capacity &&
           a->segments == b->segments && a->fpr == b->fpr;
}

/* Returns whether the bits can be united.  Loaded segments may have another seed. */
static bool same_segment_shape(struct cow_table *a, struct cow_table *b) {
    tamis_facts one = TAMIS_FACTS_INIT, other = TAMIS_FACTS_INIT;
    const tamis_filter *f = cow_table_sample(a), *g = cow_table_sample(b);
    return f != NULL && g != NULL && tamis_info_brief(f, &one) == TAMIS_OK &&
           tamis_info_brief(g, &other) == TAMIS_OK && one.seed == other.seed &&
           one.table_bytes == other.table_bytes && one.hashes == other.hashes;
}

/* ---- comparing */

static bool encode(struct cow_table *segment, uint8_t *bytes, size_t size) {
    const tamis_filter *f = cow_table_look(segment);
    size_t length = 0;
    return f != NULL && tamis_encode(f, bytes, size, &length) == TAMIS_OK && length == size;
}

static bool segments_same(struct cow_table *a, struct cow_table *b, size_t size) {
    if (a == b || a == NULL || b == NULL) return a == b;
    uint8_t *bytes = memory_alloc(2 * size);
    const bool same = bytes != NULL && encode(a, bytes, size) && encode(b, bytes + size, size) &&
                      memcmp(bytes, bytes + size, size) == 0;
    memory_free(bytes);
    return same;
}

/* Stages without keys are equal: whether they have tables depends on whether they were created or
 * read. */
static bool stages_same(const struct stage *a, const struct stage *b) {
    bool same = a->keys == b->keys;
    if (same && a->keys == 0) return true;
    for (uint32_t i = 0; i < a->segments && same; i++) {
        same = segments_same(a->table.segment[i], b->table.segment[i], (size_t)a->segment_bytes);
    }
    return same;
}

static void stage_share(struct stage *into, const struct stage *from) {
    for (uint32_t i = 0; i < into->segments && into->keys != 0; i++) {
        if (into->table.segment[i] == from->table.segment[i]) continue;
        cow_table_drop(into->table.segment[i]);
        into->table.segment[i] = cow_table_take(from->table.segment[i]);
    }
}

/* ---- uniting */

static bool distinct_keys(struct cow_table *segment, tamis_facts *facts) {
    const tamis_filter *f = cow_table_look(segment);
    return f != NULL && tamis_info(f, facts) == TAMIS_OK;
}

/* The shares of the keys of two stages that add up to the keys of their union: one of them is 1. */
struct shares {
    double into, from;
};

static struct shares shares_of(double into, double from, double both) {
    const double more = into > from ? into : from, less = into > from ? from : into;
    double fresh = less > 0 ? (both - more) / less : 1;
    fresh = !(fresh > 0) ? 0 : fresh > 1 ? 1 : fresh; /* NaN: all bits were set before */
    return into > from ? (struct shares){1, fresh} : (struct shares){fresh, 1};
}

/* Unites the sample and returns the shares; false if the union would exceed the rate. */
static bool sample_merge(struct cow_table **into, struct cow_table *from, struct shares *shares,
                         bool *changed) {
    tamis_facts a = TAMIS_FACTS_INIT, b = TAMIS_FACTS_INIT, both = TAMIS_FACTS_INIT;
    if (!distinct_keys(*into, &a) || !distinct_keys(from, &b)) return false;
    struct cow_table *trial = cow_table_take(*into);
    if (!cow_table_unite(&trial, from) || !distinct_keys(trial, &both) ||
        (both.over_capacity && both.fill > a.fill)) {
        cow_table_drop(trial);
        return false;
    }
    cow_table_drop(*into);
    *into = trial;
    *changed |= both.fill > a.fill;
    *shares = shares_of(a.distinct, b.distinct, both.distinct);
    return true;
}

/* The first segment that both have; `segments` if there is none. */
static uint32_t sample_of(const struct stage *a, const struct stage *b) {
    uint32_t i = 0;
    while (i < a->segments && (a->table.segment[i] == NULL || b->table.segment[i] == NULL)) i++;
    return i;
}

static bool merge_rest(struct stage *into, const struct stage *from, uint32_t sample,
                       bool *changed) {
    for (uint32_t i = 0; i < into->segments; i++) {
        if (i == sample || from->table.segment[i] == NULL) continue;
        *changed |= into->table.segment[i] != from->table.segment[i];
        if (into->table.segment[i] == NULL) {
            into->table.segment[i] = cow_table_take(from->table.segment[i]);
        } else if (!cow_table_unite(&into->table.segment[i], from->table.segment[i])) {
            return false;
        }
    }
    return true;
}

static uint64_t union_keys(const struct stage *a, const struct stage *b, struct shares shares) {
    const uint64_t min = a->keys > b->keys ? a->keys : b->keys;
    const uint64_t keys =
        (uint64_t)(shares.into * (double)a->keys + shares.from * (double)b->keys + 0.5);
    return keys < min ? min : keys > a->capacity ? a->capacity : keys;
}

/* ---- bare tables: small, so united at once */

/* Proportional to the number of keys in a table of `bytes` with `set` bits set; the factor is the
 * same for all tables of one shape. */
static double keys_of_bits(uint64_t set, uint64_t bytes) {
    return -log1p(-(double)set / ((double)bytes * 8));
}

static uint64_t bits_set(const uint8_t *table, uint64_t bytes) {
    uint64_t set = 0;
    for (uint64_t i = 0; i < bytes; i++) set += (uint64_t)__builtin_popcount(table[i]);
    return set;
}

static bool bare_merge(struct stage *into, const struct stage *from, bool *changed) {
    const uint64_t bytes = into->segment_bytes - 1; /* the last byte is the same in both */
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

static bool small_merge(struct stage *into, const struct stage *from, bool *changed) {
    if (from->keys == 0) return true;
    if (into->keys != 0) return bare_merge(into, from, changed);
    struct stage copy;
    if (!stage_copy(&copy, from)) return false;
    stage_drop(into);
    *into = copy;
    *changed = true;
    return true;
}

static bool stage_merge(struct stage *into, const struct stage *from, bool *changed) {
    if (into->small) return small_merge(into, from, changed);
    const uint32_t sample = sample_of(into, from);
    struct shares shares = {1, 1};
    if (into->kind == TAMIS_CUCKOO) {
        stage_share(into, from);
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

static bool can_merge(const struct stage *into, const struct stage *from) {
    if (!same_shape(into, from)) return false;
    if (into->small) return true; /* loaded only if it is exactly as its stage creates it */
    if (into->kind == TAMIS_CUCKOO) return stages_same(into, from);
    for (uint32_t i = 0; i < into->segments; i++) {
        if (into->table.segment[i] == NULL || from->table.segment[i] == NULL) continue;
        if (!same_segment_shape(into->table.segment[i], from->table.segment[i])) return false;
    }
    return true;
}

bool scalable_merge(struct scalable *into, const struct scalable *from, bool *changed) {
    if (memcmp(into->secret, from->secret, sizeof into->secret) != 0) return false;
    if (from->stages > into->stages || into->awaiting != 0 || from->awaiting != 0) return false;
    for (uint32_t i = 0; i < from->stages; i++) {
        if (!can_merge(&into->stage[i], &from->stage[i])) return false;
    }
    for (uint32_t i = 0; i < from->stages; i++) {
        if (!stage_merge(&into->stage[i], &from->stage[i], changed)) return false;
    }
    return true;
}
