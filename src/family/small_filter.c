/* small_filter.c - filters of a few keys as bare bytes
 *
 * A storage engine has millions of filters of tens of keys each.  There a header, a checksum or an
 * object per filter costs more than the filter.  So here a filter is a table of any number of
 * bytes, followed by one byte that describes the table:
 *
 *     +-------------------------------------------+-----+
 *     | table: length - 1 bytes                   | how |
 *     +-------------------------------------------+-----+
 *
 *     how 0x00..0xbf   linear (linear.c): width 1 + how % 24, seed number how / 24.
 *                      slots = floor(8 * table bytes / width): no bit of the last byte is wasted
 *         0xc0..0xdf   Bloom (probe.h): 1 + how - 0xc0 of the 8 * table bytes bits for a key
 *         0xe0..0xfe   reserved for later versions
 *         0xff         unknown contents
 *
 * A filter that cannot be read matches every key: the last two rows, no byte at all, a table too
 * short for its width.  A table of no bytes is a set of no keys.
 *
 * Linear is as small as filters get: n slots for n keys and a false positive rate of 2^-width, so
 * a table of 10 bits per key has 0.1 % where a Bloom filter has 0.8 %.  A square system over GF(2)
 * has a solution with probability 0.29 (lower for more than 1000 keys), so a few seeds are tried;
 * the eight that fit into `how` suffice in 93 of 100 cases.  Otherwise, if a rate was requested,
 * the table grows by a byte; if a size was, the width shrinks by one, and there are slots to
 * spare.  A second byte for more seeds was not worth it: in a given size it takes the last bit of
 * width from every filter, to save it for 7 in 100.
 *
 * Costs at 30 keys in 39 bytes: 180 ns a key to build (Bloom: 45; LevelDB's: 17), 30 ns to query
 * (17; 22 with its hash).  Rows that are kept fully reduced, for up to 64 slots, would build only a
 * tenth faster.
 *
 * A Bloom filter can also be created empty, for a number of keys, and filled one by one: for
 * servers that have millions of small sets.  It is then sized as tamis_create does, to keep its
 * rate for the one set that it gets, and not on average over many.
 *
 * The bytes depend on the set of hashes and on the options only. */
#include "family/small_filter.h"

#include <math.h>
#include <string.h>

#include "build/linear.h"
#include "build/sequence.h"
#include "core/bits.h"
#include "family/probe.h"
#include "family/sizing.h"

enum { WIDTH_MAX = 24, SEEDS = 8, HOW_BLOOM = WIDTH_MAX * SEEDS, BLOOM_MAX = 32 };

#define TABLE_MAX (UINT64_MAX / 8) /* bytes whose bits can be counted */

static bool is_bloom(const struct tamis__spec *spec) { return spec->kind == TAMIS_BLOOM; }

/* ---------------------------------------------------------------------- queries */

static bool linear_answer(const uint8_t *table, uint64_t bytes, uint8_t how, uint64_t hash) {
    struct tamis__linear shape = {.seed = tamis__linear_seed(how / WIDTH_MAX),
                                  .width = 1 + how % WIDTH_MAX};
    shape.slots = bytes * 8 / shape.width;
    if (shape.slots == 0 || shape.slots > TAMIS__LINEAR_SLOTS_MAX) return true;
    return tamis__linear_packed_contains(&shape, table, bytes, hash);
}

/* Bits that are tested before the first branch.  Whether a bit is set is as good as random, and a
 * branch on each is mispredicted for nearly every absent key: 20 ns, now 10. */
#define BITS_TOGETHER 4

/* The next `count` bits of a key: are all set? */
TAMIS_TEMPLATE unsigned bits_set(const uint8_t *table, uint64_t bytes, struct tamis__probe *p,
                                 unsigned count) {
    unsigned set = 1;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t q = tamis__probe_next(p, bytes * 8);
        set &= (unsigned)table[q >> 3] >> (q & 7);
    }
    return set;
}

static bool bloom_answer(const uint8_t *table, uint64_t bytes, unsigned hashes, uint64_t hash) {
    struct tamis__probe p = tamis__probe_first(hash);
    for (; hashes >= BITS_TOGETHER; hashes -= BITS_TOGETHER) {
        if (!bits_set(table, bytes, &p, BITS_TOGETHER)) return false;
    }
    return bits_set(table, bytes, &p, hashes) != 0;
}

bool tamis__small_contains(const uint8_t *bytes, size_t length, uint64_t hash) {
    const uint64_t size = length - 1;
    const uint8_t how = bytes[size];
    if (how >= HOW_BLOOM + BLOOM_MAX || size > TABLE_MAX) return true;
    if (size == 0) return false;
    if (how < HOW_BLOOM) return linear_answer(bytes, size, how, hash);
    return bloom_answer(bytes, size, 1u + how - HOW_BLOOM, hash);
}

/* ---------------------------------------------------------------------- adding */

/* Sets a key's bits; returns whether all were set. */
static bool bloom_put(uint8_t *table, uint64_t bytes, unsigned hashes, uint64_t hash) {
    struct tamis__probe p = tamis__probe_first(hash);
    unsigned set = 1;
    while (hashes-- > 0) {
        const uint64_t q = tamis__probe_next(&p, bytes * 8);
        set &= (unsigned)table[q >> 3] >> (q & 7);
        table[q >> 3] = (uint8_t)(table[q >> 3] | 1u << (q & 7));
    }
    return set != 0;
}

tamis_status tamis__small_add(uint8_t *bytes, size_t length, uint64_t hash, bool *fresh) {
    const uint64_t size = length - 1;
    const uint8_t how = bytes[size];
    if (how < HOW_BLOOM || how >= HOW_BLOOM + BLOOM_MAX) return TAMIS_E_UNSUPPORTED;
    if (size == 0 || size > TABLE_MAX) return TAMIS_E_UNSUPPORTED;
    const bool present = bloom_put(bytes, size, 1u + how - HOW_BLOOM, hash);
    if (fresh != NULL) *fresh = !present;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------ Bloom: sizes */

struct bloom_size {
    uint64_t bytes;
    uint32_t hashes;
};

/* The mean over sets of keys, which is what an embedder with a million filters sees.  The rate
 * is a power of the fill and the fill varies, so the mean of the powers is above the power of
 * the mean: by the second term of the series, which is a tenth at 30 keys. */
static double bloom_fpr(struct bloom_size b, double keys) {
    const double m = (double)b.bytes * 8, k = b.hashes;
    const double fill = tamis__probe_fill(m, k, keys), z = 1 - fill;
    const double variance = z * (1 - (1 + k * keys / m) * z) / m;
    return pow(fill, k) * (1 + k * (k - 1) / 2 * variance / (fill * fill));
}

/* What a table must reach. */
struct bloom_goal {
    struct bloom_size min; /* no fewer bytes than these */
    double keys, fpr;
};

static bool bloom_meets(uint64_t bytes, const void *context) {
    const struct bloom_goal *goal = context;
    const struct bloom_size b = {.bytes = bytes, .hashes = goal->min.hashes};
    return bytes >= goal->min.bytes && bloom_fpr(b, goal->keys) <= goal->fpr;
}

static struct bloom_size bloom_size(const struct tamis__spec *spec, uint64_t keys) {
    struct bloom_size b = {.bytes = spec->bits / 8};
    if (spec->fpr == 0) {
        b.hashes = tamis__classic_hashes(b.bytes * 8, keys);
        if (b.hashes > BLOOM_MAX) b.hashes = BLOOM_MAX;
        return b;
    }
    b.hashes = (uint32_t)(0.5 - log2(spec->fpr));
    if (b.hashes == 0) b.hashes = 1;
    b.bytes = tamis__classic_bits(keys, spec->fpr) / 8 + 1;
    /* Exactly the fewest, so that a set never takes more than a larger one, and tamis_small_bound
     * need not know how many hashes are repeats. */
    const struct bloom_goal goal = {b, (double)keys, spec->fpr};
    b.bytes = tamis__smallest(b.bytes, TABLE_MAX, bloom_meets, &goal);
    return b;
}

/* For spec->capacity keys that are still to come. */
static tamis_status bloom_size_ahead(const struct tamis__spec *spec, struct bloom_size *b) {
    struct tamis__places size;
    if (spec->fpr == 0 && spec->bits == 0) return TAMIS_E_ARGUMENT;
    const tamis_status status = tamis__probe_size(spec, TABLE_MAX, false, &size);
    if (status != TAMIS_OK) return status;
    b->bytes = tamis__div_up(size.places, 8);
    b->hashes = size.hashes > BLOOM_MAX ? BLOOM_MAX : size.hashes;
    return TAMIS_OK;
}

/* ----------------------------------------------------------------- linear: sizes */

static uint64_t linear_first(uint64_t keys, unsigned width) {
    return tamis__div_up(tamis__linear_slots(keys) * width, 8);
}

/* More than any set takes that was not made to be unsolvable. */
static uint64_t linear_last(uint64_t keys, unsigned width) {
    const uint64_t slots = tamis__linear_slots(keys);
    return tamis__div_up((slots + slots / 4 + 64) * width, 8);
}

/* One choice of table after the other, each to be tried with all seeds. */
struct choice {
    uint64_t bytes;
    unsigned width; /* 0: there is none left */
};

/* More bytes than the widest table can use, with eight slots to spare, are left unused. */
static struct choice choice_first(const struct tamis__spec *spec, uint64_t keys) {
    struct choice c = {spec->bits / 8, 0};
    if (spec->fpr > 0) {
        c.width = tamis__width_for(spec->fpr);
        c.bytes = linear_first(keys, c.width);
        return c;
    }
    const uint64_t max = linear_first(keys, WIDTH_MAX) + WIDTH_MAX;
    if (c.bytes > max) c.bytes = max;
    const uint64_t width = c.bytes * 8 / keys;
    c.width = width > WIDTH_MAX ? WIDTH_MAX : (unsigned)width;
    return c;
}

static void choice_next(const struct tamis__spec *spec, uint64_t keys, struct choice *c) {
    if (spec->fpr == 0) {
        c->width--;
    } else {
        c->bytes += 1 + keys / 8192 * c->width;
        if (c->bytes > linear_last(keys, c->width)) c->width = 0;
    }
}

/* -------------------------------------------------------------------- building */

tamis_status tamis__small_check(const struct tamis__spec *spec) {
    if (spec->fpr == 0) return TAMIS_OK;
    if (!(spec->fpr > 0 && spec->fpr < 1)) return TAMIS_E_FPR;
    const unsigned lowest = is_bloom(spec) ? BLOOM_MAX - 2 : WIDTH_MAX;
    return tamis__width_for(spec->fpr) > lowest ? TAMIS_E_FPR_TOO_LOW : TAMIS_OK;
}

size_t tamis__small_bound(const struct tamis__spec *spec, size_t count) {
    if (count > TAMIS__LINEAR_SLOTS_MAX / 2) return 0;
    uint64_t bytes = spec->bits / 8;
    if (count == 0) {
        bytes = 0;
    } else if (spec->fpr > 0 && is_bloom(spec)) {
        bytes = bloom_size(spec, count).bytes;
    } else if (spec->fpr > 0) {
        bytes = linear_last(count, tamis__width_for(spec->fpr));
    }
    return bytes < SIZE_MAX / 8 ? (size_t)bytes + 1 : 0;
}

/* Zeroes the table and writes the byte after it. */
static tamis_status start_table(struct tamis__small_buffer *buffer, uint64_t bytes, unsigned how) {
    if (bytes >= buffer->capacity) return TAMIS_E_BUFFER;
    memset(buffer->bytes, 0, (size_t)bytes);
    buffer->bytes[bytes] = (uint8_t)how;
    buffer->length = (size_t)bytes + 1;
    return TAMIS_OK;
}

/* A spec, the distinct hashes, and where the filter goes. */
struct small_job {
    const struct tamis__spec *spec;
    const tamis_allocator *allocator;
    const uint64_t *hashes;
    size_t count;
    struct tamis__small_buffer *buffer;
};

static tamis_status build_bloom(const struct small_job *job) {
    const struct bloom_size b = bloom_size(job->spec, job->count);
    if (b.bytes == 0) return start_table(job->buffer, 0, TAMIS_SMALL_ANY);
    const tamis_status status = start_table(job->buffer, b.bytes, HOW_BLOOM + b.hashes - 1);
    for (size_t i = 0; i < job->count && status == TAMIS_OK; i++) {
        (void)bloom_put(job->buffer->bytes, b.bytes, b.hashes, job->hashes[i]);
    }
    return status;
}

/* Tries all seeds on one choice; *seed is SEEDS if none works. */
static tamis_status try_seeds(const struct small_job *job, struct choice c,
                              struct tamis__linear *shape, struct tamis__linear_work *w,
                              unsigned *seed) {
    shape->width = c.width;
    shape->slots = c.bytes * 8 / c.width;
    for (*seed = 0; *seed < SEEDS; ++*seed) {
        bool solvable;
        shape->seed = tamis__linear_seed(*seed);
        const tamis_status status =
            tamis__linear_attempt(job->hashes, shape, job->allocator, w, &solvable);
        if (status != TAMIS_OK || solvable) return status;
    }
    return TAMIS_OK;
}

static tamis_status build_linear(const struct small_job *job) {
    struct tamis__linear_work w = {.count = job->count};
    struct tamis__linear shape;
    struct choice c = choice_first(job->spec, job->count);
    unsigned seed = SEEDS;
    tamis_status status = TAMIS_OK;
    while (c.width > 0) {
        status = try_seeds(job, c, &shape, &w, &seed);
        if (status != TAMIS_OK || seed < SEEDS) break;
        choice_next(job->spec, job->count, &c);
    }
    if (status == TAMIS_OK && c.width == 0) {
        status = start_table(job->buffer, 0, TAMIS_SMALL_ANY);
    } else if (status == TAMIS_OK) {
        status = start_table(job->buffer, c.bytes, seed * WIDTH_MAX + c.width - 1);
        if (status == TAMIS_OK) tamis__linear_solve(&w, &shape, job->buffer->bytes);
    }
    tamis__linear_release(job->allocator, &w);
    return status;
}

tamis_status tamis__small_build(const struct tamis__spec *spec, const tamis_allocator *a,
                                const uint64_t *hashes, size_t count,
                                struct tamis__small_buffer *buffer) {
    size_t bytes;
    if (count == 0) return start_table(buffer, 0, is_bloom(spec) ? HOW_BLOOM : 0);
    if (tamis__small_bound(spec, count) == 0) return TAMIS_E_TOO_BIG;
    if (!tamis__array_size(count, sizeof *hashes, &bytes)) return TAMIS_E_TOO_BIG;
    uint64_t *sorted = tamis__alloc(a, bytes);
    if (sorted == NULL) return TAMIS_E_NOMEM;
    memcpy(sorted, hashes, bytes);
    const struct small_job job = {spec, a, sorted, tamis__distinct_words(sorted, count), buffer};
    const tamis_status status = is_bloom(spec) ? build_bloom(&job) : build_linear(&job);
    tamis__release(a, sorted, bytes);
    return status;
}

tamis_status tamis__small_create(const struct tamis__spec *spec,
                                 struct tamis__small_buffer *buffer) {
    struct bloom_size b;
    const tamis_status status = bloom_size_ahead(spec, &b);
    if (status != TAMIS_OK) return status;
    if (b.bytes >= SIZE_MAX / 8) return TAMIS_E_TOO_BIG;
    buffer->length = (size_t)b.bytes + 1; /* known even if the buffer is too small */
    return start_table(buffer, b.bytes, HOW_BLOOM + b.hashes - 1);
}
