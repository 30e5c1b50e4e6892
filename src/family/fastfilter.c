/* fastfilter.c - asking the xor and binary fuse filters of xor_singleheader
 *
 * A key is there if its fingerprint is the xor of three slots.  Keys are 64-bit integers; the
 * filter mixes them with its seed.  See fastfilter.h for the layout, fastfilter_fuse.c and
 * fastfilter_xor.c for building. */
#include "family/fastfilter.h"

#include <math.h>

#define GROUP 32
#define SLOTS_MOST ((uint64_t)1 << 40)

TAMIS_TEMPLATE struct tamis__fast_slots slots_of(const tamis_filter *f, uint64_t hash,
                                                 tamis_kind kind) {
    const uint64_t length = f->shape.word[TAMIS__FAST_LENGTH];
    return kind == TAMIS_XOR ? tamis__xor_slots(hash, length)
                             : tamis__fuse_slots(hash, length, f->shape.word[TAMIS__FAST_SEGMENTS]);
}

TAMIS_TEMPLATE bool slots_hold(const tamis_filter *f, const struct tamis__fast_slots *s,
                               uint64_t hash, uint64_t width) {
    const uint16_t sum = tamis__fast_get(f->table, s->at[0], width) ^
                         tamis__fast_get(f->table, s->at[1], width) ^
                         tamis__fast_get(f->table, s->at[2], width);
    return sum == tamis__fast_print(hash, width);
}

TAMIS_TEMPLATE bool fast_contains(const tamis_filter *f, uint64_t key, tamis_kind kind,
                                  uint64_t width) {
    const uint64_t hash = tamis__fast_hash(key, f->shape.word[TAMIS__FAST_SEED]);
    const struct tamis__fast_slots s = slots_of(f, hash, kind);
    return slots_hold(f, &s, hash, width);
}

TAMIS_TEMPLATE size_t fast_contains_batch(const tamis_filter *f, const uint64_t *keys, size_t count,
                                          bool *answers, tamis_kind kind, uint64_t width) {
    struct tamis__fast_slots slots[GROUP];
    uint64_t hash[GROUP];
    size_t found = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        for (size_t i = 0; i < n; i++) {
            hash[i] = tamis__fast_hash(keys[at + i], f->shape.word[TAMIS__FAST_SEED]);
            slots[i] = slots_of(f, hash[i], kind);
            for (int j = 0; j < 3; j++) TAMIS_PREFETCH(f->table + slots[i].at[j] * (width / 8));
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = slots_hold(f, &slots[i], hash[i], width);
            if (answers != NULL) answers[at + i] = maybe;
            found += maybe;
        }
    }
    return found;
}

/* One instance per kind and width: wrappers and a table, no logic. */
#define FAST_INSTANCE(name, kind, width)                                                   \
    static bool name##_contains(const tamis_filter *f, struct tamis__hash h) {             \
        return fast_contains(f, h.lo, kind, width);                                        \
    }                                                                                      \
    static size_t name##_contains_batch(const tamis_filter *f, const uint64_t *lo,         \
                                        const uint64_t *hi, size_t count, bool *answers) { \
        (void)hi;                                                                          \
        return fast_contains_batch(f, lo, count, answers, kind, width);                    \
    }                                                                                      \
    static const struct tamis__ops name##_ops = {                                          \
        .path = "portable",                                                                \
        .contains = name##_contains,                                                       \
        .contains_batch = name##_contains_batch,                                           \
    };

FAST_INSTANCE(xor8, TAMIS_XOR, 8)
FAST_INSTANCE(xor16, TAMIS_XOR, 16)
FAST_INSTANCE(fuse8, TAMIS_FUSE, 8)
FAST_INSTANCE(fuse16, TAMIS_FUSE, 16)

static const struct tamis__ops *xor_ops(const struct tamis__shape *shape, uint32_t cpu,
                                        bool shared) {
    (void)cpu, (void)shared;
    return shape->word[TAMIS__FAST_WIDTH] == 8 ? &xor8_ops : &xor16_ops;
}
static const struct tamis__ops *fuse_ops(const struct tamis__shape *shape, uint32_t cpu,
                                         bool shared) {
    (void)cpu, (void)shared;
    return shape->word[TAMIS__FAST_WIDTH] == 8 ? &fuse8_ops : &fuse16_ops;
}

/* ---- shapes */

static bool fast_check(const struct tamis__shape *shape, tamis_kind kind) {
    const uint64_t width = shape->word[TAMIS__FAST_WIDTH];
    if (shape->scheme != TAMIS__SCHEME_FASTFILTER || (width != 8 && width != 16)) return false;
    const uint64_t exact = tamis__fast_slots_of(kind, shape) * (width / 8);
    const uint64_t trail = shape->word[TAMIS__FAST_TRAIL];
    const bool may_trail = kind == TAMIS_FUSE && width == 16;
    return (trail == 0 || (trail == TAMIS__FAST_TRAIL_LENGTH && may_trail)) &&
           shape->table_bytes >= exact && shape->table_bytes - exact < 8;
}

/* The slots of a hash of 32 bits are below the length, which must not be 0. */
static bool xor_check(const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    return length >= 1 && length <= (uint64_t)1 << 32 && fast_check(shape, TAMIS_XOR);
}

/* An xor with less than the segment length stays in the segment, if that is a power of two. */
static bool fuse_check(const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    const uint64_t segments = shape->word[TAMIS__FAST_SEGMENTS];
    return length >= 1 && length <= (uint64_t)1 << 31 && (length & (length - 1)) == 0 &&
           segments >= 1 && segments <= SLOTS_MOST / length && fast_check(shape, TAMIS_FUSE);
}

static void fast_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = 3;
    traits->width = (uint32_t)shape->word[TAMIS__FAST_WIDTH];
    traits->cache_lines = 3;
}

/* A xor filter does not say how many keys it has: the sizing rule tells about. */
static void fast_state(const tamis_filter *f, struct tamis__state *state) {
    const double slots = (double)tamis__fast_slots_of(f->family->kind, &f->shape);
    state->stages = 1;
    state->fill = 1;
    state->rate_now = ldexp(1, -(int)f->shape.word[TAMIS__FAST_WIDTH]);
    state->distinct = (double)f->shape.word[TAMIS__FAST_KEYS];
    if (f->family->kind == TAMIS_XOR) {
        state->distinct = slots > 32 ? (slots - 32) / 1.23 : 0;
        state->distinct_error = 2;
    }
}

const struct tamis__family tamis__xor_foreign = {
    .kind = TAMIS_XOR,
    .name = "xor",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(tamis_filter),
    .traits = fast_traits,
    .check = xor_check,
    .ops = xor_ops,
    .state = fast_state,
};

const struct tamis__family tamis__fuse_foreign = {
    .kind = TAMIS_FUSE,
    .name = "fuse",
    .caps = TAMIS_IS_STATIC,
    .object_size = sizeof(tamis_filter),
    .traits = fast_traits,
    .check = fuse_check,
    .ops = fuse_ops,
    .state = fast_state,
};
