/* block_foreign.c - other systems' Bloom filters whose bits for a key lie in one line
 *
 *     SPLIT        Parquet: lines of eight 32-bit words, one bit in each.  The line is chosen
 *                  by the upper half of the hash, the bits by eight odd multipliers of the lower.
 *     FASTLOCAL    RocksDB from format version 5: k bits of a 64-byte line, by repeated
 *                  multiplication of the upper half; the line by the lower half.
 *     LEGACY_LINE  RocksDB before: k bits of a line of 2^l bytes by double hashing in 32 bits;
 *                  the line by a modulo.
 *
 *     table   the lines, as in the file
 *     shape   word[0] lines, word[1] k, word[2] log2 of a line's bytes, word[3] the length of
 *             the whole file where there are no lines, else 0
 *
 * No lines is RocksDB's filter of no keys, which matches nothing; k = 0 is one that its reader
 * does not understand, which matches everything. */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "core/ones.h"
#include "family/probe.h"
#include "family/scheme.h"

enum { LINES, HASHES, LINE_LG, WHOLE };

#define SPLIT_LG 5
#define SPLIT_HASHES 8
#define FASTLOCAL_LG 6
#define LINES_MAX ((uint64_t)1 << 32)
#define HASHES_MAX 127
#define EMPTY_BYTES 5
#define GROUP 32

/* ---- one key: bits inside its line, by each scheme */

struct line {
    uint64_t at; /* of its first byte */
    uint32_t x, y;
};

TAMIS_TEMPLATE struct line line_of(const tamis_filter *f, uint64_t h, uint32_t scheme) {
    const uint64_t lines = f->shape.word[LINES];
    const uint32_t low = (uint32_t)h, high = (uint32_t)(h >> 32);
    switch (scheme) {
        case TAMIS__SCHEME_SPLIT:
            return (struct line){(high * lines >> 32) << SPLIT_LG, low, 0};
        case TAMIS__SCHEME_FASTLOCAL:
            return (struct line){(low * lines >> 32) << FASTLOCAL_LG, high, 0};
        default:
            return (struct line){low % lines << f->shape.word[LINE_LG], low, high};
    }
}

/* The bit of the i-th probe within the line; then goes on to the next. */
TAMIS_TEMPLATE uint32_t line_next(struct line *line, uint64_t i, uint64_t lg, uint32_t scheme) {
    static const uint32_t salt[SPLIT_HASHES] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    const uint32_t x = line->x;
    switch (scheme) {
        case TAMIS__SCHEME_SPLIT:
            return (uint32_t)i * 32 + (x * salt[i] >> 27);
        case TAMIS__SCHEME_FASTLOCAL:
            line->x = x * UINT32_C(0x9e3779b9);
            return x >> 23;
        default:
            line->x = x + line->y;
            return x & ((UINT32_C(8) << lg) - 1);
    }
}

TAMIS_TEMPLATE bool line_contains(const tamis_filter *f, struct line line, uint32_t scheme) {
    const uint64_t hashes = scheme == TAMIS__SCHEME_SPLIT ? SPLIT_HASHES : f->shape.word[HASHES];
    const uint8_t *bytes = f->table + line.at;
    for (uint64_t i = 0; i < hashes; i++) {
        const uint32_t q = line_next(&line, i, f->shape.word[LINE_LG], scheme);
        if ((bytes[q >> 3] >> (q & 7) & 1) == 0) return false;
    }
    return true;
}

TAMIS_TEMPLATE bool line_add(tamis_filter *f, struct line line, uint32_t scheme) {
    const uint64_t hashes = scheme == TAMIS__SCHEME_SPLIT ? SPLIT_HASHES : f->shape.word[HASHES];
    uint8_t *bytes = f->table + line.at;
    bool fresh = false;
    for (uint64_t i = 0; i < hashes; i++) {
        const uint32_t q = line_next(&line, i, f->shape.word[LINE_LG], scheme);
        const uint8_t mask = (uint8_t)(1u << (q & 7));
        fresh |= (bytes[q >> 3] & mask) == 0;
        bytes[q >> 3] = bytes[q >> 3] | mask;
    }
    return fresh;
}

/* ---- many keys */

TAMIS_TEMPLATE size_t line_contains_batch(const tamis_filter *f, const uint64_t *lo, size_t count,
                                          bool *answers, uint32_t scheme) {
    struct line line[GROUP];
    size_t found = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        for (size_t i = 0; i < n; i++) {
            line[i] = line_of(f, lo[at + i], scheme);
            TAMIS_PREFETCH(f->table + line[i].at);
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = line_contains(f, line[i], scheme);
            if (answers != NULL) answers[at + i] = maybe;
            found += maybe;
        }
    }
    return found;
}

TAMIS_TEMPLATE tamis_status line_add_batch(tamis_filter *f, const uint64_t *lo, size_t count,
                                           bool *fresh, size_t *done, uint32_t scheme) {
    for (size_t i = 0; i < count; i++) {
        const bool was_new = line_add(f, line_of(f, lo[i], scheme), scheme);
        if (fresh != NULL) fresh[i] = was_new;
    }
    *done = count;
    return TAMIS_OK;
}

/* One instance per scheme: wrappers and a table, no logic. */
#define LINE_INSTANCE(name, scheme)                                                               \
    static bool name##_contains(const tamis_filter *f, struct tamis__hash h) {                    \
        return line_contains(f, line_of(f, h.lo, scheme), scheme);                                \
    }                                                                                             \
    static size_t name##_contains_batch(const tamis_filter *f, const uint64_t *lo,                \
                                        const uint64_t *hi, size_t count, bool *answers) {        \
        (void)hi;                                                                                 \
        return line_contains_batch(f, lo, count, answers, scheme);                                \
    }                                                                                             \
    static tamis_status name##_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {          \
        const bool was_new = line_add(f, line_of(f, h.lo, scheme), scheme);                       \
        if (fresh != NULL) *fresh = was_new;                                                      \
        return TAMIS_OK;                                                                          \
    }                                                                                             \
    static tamis_status name##_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                                         size_t count, bool *fresh, size_t *done) {               \
        (void)hi;                                                                                 \
        return line_add_batch(f, lo, count, fresh, done, scheme);                                 \
    }                                                                                             \
    static const struct tamis__ops name##_ops = {                                                 \
        .path = "portable",                                                                       \
        .contains = name##_contains,                                                              \
        .contains_batch = name##_contains_batch,                                                  \
        .add = name##_add,                                                                        \
        .add_batch = name##_add_batch,                                                            \
    };

LINE_INSTANCE(split, TAMIS__SCHEME_SPLIT)
LINE_INSTANCE(fastlocal, TAMIS__SCHEME_FASTLOCAL)
LINE_INSTANCE(legacy, TAMIS__SCHEME_LEGACY_LINE)

/* ---- one answer for every key */

static size_t answer_all(size_t count, bool *answers, bool answer) {
    for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = answer;
    return answer ? count : 0;
}
static bool all_contains(const tamis_filter *f, struct tamis__hash h) {
    (void)f, (void)h;
    return true;
}
static size_t all_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                 size_t count, bool *answers) {
    (void)f, (void)lo, (void)hi;
    return answer_all(count, answers, true);
}
static bool none_contains(const tamis_filter *f, struct tamis__hash h) {
    (void)f, (void)h;
    return false;
}
static size_t none_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *answers) {
    (void)f, (void)lo, (void)hi;
    return answer_all(count, answers, false);
}
static const struct tamis__ops all_ops = {
    .path = "portable", .contains = all_contains, .contains_batch = all_contains_batch};
static const struct tamis__ops none_ops = {
    .path = "portable", .contains = none_contains, .contains_batch = none_contains_batch};

static const struct tamis__ops *line_ops(const struct tamis__shape *shape, uint32_t cpu,
                                         bool shared) {
    (void)cpu, (void)shared;
    if (shape->word[HASHES] == 0) return &all_ops;
    if (shape->word[LINES] == 0) return &none_ops;
    switch (shape->scheme) {
        case TAMIS__SCHEME_SPLIT:
            return &split_ops;
        case TAMIS__SCHEME_FASTLOCAL:
            return &fastlocal_ops;
        default:
            return &legacy_ops;
    }
}

/* ---- shapes and whole tables */

/* A filter that matches everything keeps its bytes, whatever they are; one of no keys has none, or
 * those that tell what it is. */
static bool line_check(const struct tamis__shape *shape) {
    const uint64_t lines = shape->word[LINES], lg = shape->word[LINE_LG];
    const uint64_t whole = shape->word[WHOLE];
    if (lines > LINES_MAX || shape->word[HASHES] > HASHES_MAX || lg > 31) return false;
    if (shape->word[HASHES] == 0) {
        return lines == 0 && shape->scheme == TAMIS__SCHEME_FASTLOCAL &&
               whole <= shape->table_bytes;
    }
    if (whole != 0 && (lines != 0 || whole != EMPTY_BYTES)) return false;
    const uint64_t exact = lines << lg, padded = (exact + 7) & ~(uint64_t)7;
    if (shape->table_bytes != exact && shape->table_bytes != padded) return false;
    switch (shape->scheme) {
        case TAMIS__SCHEME_SPLIT:
            return lines != 0 && lg == SPLIT_LG && shape->word[HASHES] == SPLIT_HASHES;
        case TAMIS__SCHEME_FASTLOCAL:
            return lg == FASTLOCAL_LG;
        default:
            return shape->scheme == TAMIS__SCHEME_LEGACY_LINE && lg <= 28;
    }
}

static void line_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->cache_lines = 1;
}

/* The chance that a key of this line is a false positive. */
static double line_rate(const tamis_filter *f, const uint8_t *line, uint64_t bytes) {
    if (f->shape.scheme != TAMIS__SCHEME_SPLIT) {
        const double fill = (double)tamis__count_ones(line, bytes) / (double)(bytes * 8);
        return pow(fill, (double)f->shape.word[HASHES]);
    }
    double rate = 1;
    for (unsigned i = 0; i < SPLIT_HASHES; i++) {
        rate *= (double)tamis__popcount(tamis__load32(line + 4 * i)) / 32;
    }
    return rate;
}

static void line_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t lines = f->shape.word[LINES], bytes = (uint64_t)1 << f->shape.word[LINE_LG];
    state->stages = 1;
    state->rate_now = f->shape.word[HASHES] == 0;
    if (lines == 0) return;
    const double bits = (double)lines * (double)bytes * 8;
    double rates = 0;
    for (uint64_t i = 0; i < lines; i++) rates += line_rate(f, f->table + i * bytes, bytes);
    state->fill = (double)tamis__count_ones(f->table, lines * bytes) / bits;
    state->distinct =
        tamis__probe_keys(bits, (double)f->shape.word[HASHES], state->fill, &state->distinct_error);
    state->rate_now = rates / (double)lines;
}

static tamis_status line_merge(tamis_filter *into, const tamis_filter *from,
                               tamis_merge_mode mode) {
    const uint64_t a_bytes = into->shape.table_bytes, b_bytes = from->shape.table_bytes;
    if (into->shape.word[HASHES] == 0) return TAMIS_OK; /* all keys match: these are no bits */
    for (uint64_t i = 0; i < a_bytes && i < b_bytes; i++) {
        const uint8_t a = into->table[i], b = from->table[i];
        into->table[i] = mode == TAMIS_UNION ? a | b : a & b;
    }
    return TAMIS_OK;
}

const struct tamis__family tamis__block_foreign = {
    .kind = TAMIS_BLOCK,
    .name = "block",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT,
    .object_size = sizeof(tamis_filter),
    .traits = line_traits,
    .check = line_check,
    .ops = line_ops,
    .state = line_state,
    .merge = line_merge,
};
