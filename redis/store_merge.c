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
 * sample. */
#include <string.h>

#include "store.h"

static bool layers_alike(const struct layer *a, const struct layer *b) {
    return a->kind == b->kind && a->kind != TAMIS_CUCKOO && a->capacity == b->capacity &&
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
    fresh = fresh < 0 ? 0 : fresh > 1 ? 1 : fresh;
    return into > from ? (struct shares){1, fresh} : (struct shares){fresh, 1};
}

/* Unites the sample, and tells the shares; false if that would not keep the promise. */
static bool sample_merge(struct shared **into, struct shared *from, struct shares *shares) {
    tamis_facts a = TAMIS_FACTS_INIT, b = TAMIS_FACTS_INIT, both = TAMIS_FACTS_INIT;
    if (!distinct_keys(*into, &a) || !distinct_keys(from, &b)) return false;
    struct shared *trial = shared_take(*into);
    if (!shared_unite(&trial, from) || !distinct_keys(trial, &both) || both.over_capacity) {
        shared_drop(trial);
        return false;
    }
    shared_drop(*into);
    *into = trial;
    *shares = shares_of(a.distinct, b.distinct, both.distinct);
    return true;
}

/* The first segment that both have; `segments` if there is none. */
static uint32_t sample_of(const struct layer *a, const struct layer *b) {
    uint32_t i = 0;
    while (i < a->segments && (a->segment[i] == NULL || b->segment[i] == NULL)) i++;
    return i;
}

static bool merge_rest(struct layer *into, const struct layer *from, uint32_t sample) {
    for (uint32_t i = 0; i < into->segments; i++) {
        if (i == sample || from->segment[i] == NULL) continue;
        if (into->segment[i] == NULL) {
            into->segment[i] = shared_take(from->segment[i]);
        } else if (!shared_unite(&into->segment[i], from->segment[i])) {
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

static bool layer_merge(struct layer *into, const struct layer *from) {
    const uint32_t sample = sample_of(into, from);
    struct shares shares = {1, 1};
    if (sample < into->segments &&
        !sample_merge(&into->segment[sample], from->segment[sample], &shares)) {
        return false;
    }
    if (!merge_rest(into, from, sample)) return false;
    into->keys = union_keys(into, from, shares);
    return true;
}

static bool can_merge(const struct layer *into, const struct layer *from) {
    if (!layers_alike(into, from)) return false;
    for (uint32_t i = 0; i < into->segments; i++) {
        if (into->segment[i] == NULL || from->segment[i] == NULL) continue;
        if (!segments_alike(into->segment[i], from->segment[i])) return false;
    }
    return true;
}

bool store_merge(struct store *into, const struct store *from) {
    if (memcmp(into->secret, from->secret, sizeof into->secret) != 0) return false;
    if (from->layers > into->layers || into->awaiting != 0 || from->awaiting != 0) return false;
    for (uint32_t i = 0; i < from->layers; i++) {
        if (!can_merge(&into->layer[i], &from->layer[i])) return false;
    }
    for (uint32_t i = 0; i < from->layers; i++) {
        if (!layer_merge(&into->layer[i], &from->layer[i])) return false;
    }
    return true;
}
