/* small.c - filters of a few keys as bare bytes: tamis_small_*
 *
 * A storage engine has millions of filters of tens of keys each.  There a header, a checksum
 * or an object per filter costs more than the filter.  So here a filter is a table of any
 * number of bytes, and one byte behind it that says how the table is to be read:
 *
 *     +-------------------------------------------+-----+
 *     | table: length - 1 bytes                   | how |
 *     +-------------------------------------------+-----+
 *
 *     how 0x00..0xbf   linear (linear.c): width 1 + how % 24, seed number how / 24.
 *                      slots = floor(8 * table bytes / width): nothing of the last byte is lost
 *         0xc0..0xdf   Bloom (probe.h): 1 + how - 0xc0 of the 8 * table bytes bits for a key
 *         0xe0..0xfe   left to later versions
 *         0xff         nothing is known
 *
 * What cannot be read matches every key: the last two rows, no byte at all, a table too short
 * for its width.  A table of no bytes is a set of no keys.
 *
 * Linear is as small as filters get: n slots for n keys, 2^-width of strangers matched, so a
 * table of 10 bits per key matches 0.1 % of them where a Bloom filter matches 0.8 %.  A square
 * system over GF(2) has a solution with a chance of 0.29 (for more than 1000 keys a smaller
 * one), so a few seeds are tried; the eight that fit into `how` suffice in 93 of 100 cases.
 * Then, if a rate was asked for, the table grows by a byte; if a size was, the width shrinks by
 * one, and there are slots to spare.  A second byte for more seeds was not worth it: in a given
 * size it takes the last bit of width from every filter, to save it for 7 in 100.
 *
 * Costs at 30 keys in 39 bytes: 180 ns a key to build (Bloom: 45; LevelDB's: 17), 30 ns to ask
 * (17; 22 with its hash).  Rows that are kept fully reduced, for up to 64 slots, would build only a
 * tenth faster.
 *
 * A Bloom filter can also be made empty, for a number of keys, and filled one by one: for servers
 * that have millions of small sets.  It is then sized as tamis_create does, to keep its rate for
 * the one set that it gets, and not on average over many.
 *
 * The bytes depend on the set of hashes and on the options only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bits.h"
#include "family/linear.h"
#include "family/probe.h"
#include "family/sizing.h"
#include "filter.h"
#include "plan/plan.h"

enum { WIDTH_MOST = 24, SEEDS = 8, HOW_BLOOM = WIDTH_MOST * SEEDS, BLOOM_MOST = 32 };

#define TABLE_MOST (UINT64_MAX / 8) /* bytes whose bits can be counted */

/* ---------------------------------------------------------------------- asking */

static bool linear_answer(const uint8_t *table, uint64_t bytes, uint8_t how, uint64_t hash) {
    struct tamis__linear shape = {.seed = tamis__linear_seed(how / WIDTH_MOST),
                                  .width = 1 + how % WIDTH_MOST};
    shape.slots = bytes * 8 / shape.width;
    if (shape.slots == 0 || shape.slots > TAMIS__LINEAR_SLOTS_MAX) return true;
    return tamis__linear_packed_contains(&shape, table, bytes, hash);
}

/* Bits that are looked at before the first branch.  Whether a bit is set is as good as random, and
 * a branch on each is foreseen wrongly for nearly every stranger: 20 ns, now 10. */
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

bool tamis_small_contains(const void *bytes, size_t length, uint64_t hash) {
    if (bytes == NULL || length == 0) return true;
    const uint8_t *table = bytes;
    const uint64_t size = length - 1;
    const uint8_t how = table[size];
    if (how >= HOW_BLOOM + BLOOM_MOST || size > TABLE_MOST) return true;
    if (size == 0) return false;
    if (how < HOW_BLOOM) return linear_answer(table, size, how, hash);
    return bloom_answer(table, size, 1u + how - HOW_BLOOM, hash);
}

/* ---------------------------------------------------------------------- adding */

/* Sets a key's bits; tells whether all were set. */
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

tamis_status tamis_small_add(void *bytes, size_t length, uint64_t hash, bool *fresh) {
    if (bytes == NULL || length == 0) return TAMIS_E_ARGUMENT;
    uint8_t *table = bytes;
    const uint64_t size = length - 1;
    const uint8_t how = table[size];
    if (how < HOW_BLOOM || how >= HOW_BLOOM + BLOOM_MOST) return TAMIS_E_UNSUPPORTED;
    if (size == 0 || size > TABLE_MOST) return TAMIS_E_UNSUPPORTED;
    const bool was_there = bloom_put(table, size, 1u + how - HOW_BLOOM, hash);
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

/* ---------------------------------------------------------------------- options */

/* Options, checked. */
struct want {
    bool bloom;
    uint64_t capacity; /* what is made empty: keys that will come */
    double rate;       /* or, if 0, */
    uint64_t bytes;    /* the size of the table */
    tamis_allocator allocator;
};

static tamis_status want_kind(tamis_kind kind, bool *bloom) {
    switch (kind) {
        /* So few keys fit in a cache line or two, however the bits are placed. */
        case TAMIS_BLOOM:
        case TAMIS_BLOCK:
            *bloom = true;
            return TAMIS_OK;
        /* Of so few keys all three are made by linear.c. */
        case TAMIS_XOR:
        case TAMIS_FUSE:
        case TAMIS_RIBBON:
            *bloom = false;
            return TAMIS_OK;
        default:
            return tamis__family_of(kind) == NULL ? TAMIS_E_KIND : TAMIS_E_UNSUPPORTED;
    }
}

/* `automatic` is what TAMIS_AUTO stands for. */
static tamis_status want_read(const tamis_options *options, tamis_kind automatic,
                              struct want *want) {
    tamis_options o;
    tamis_status status = tamis__options_read(options, &o);
    if (status == TAMIS_OK && tamis__is_foreign(&o)) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK && o.kind == TAMIS_AUTO) o.kind = automatic;
    if (status == TAMIS_OK) status = want_kind(o.kind, &want->bloom);
    if (status != TAMIS_OK) return status;
    want->allocator = o.allocator;
    want->capacity = o.capacity;
    want->bytes = o.bytes == 0 ? 0 : o.bytes - 1;
    want->rate = o.rate == 0 && o.bytes == 0 ? TAMIS__RATE_DEFAULT : o.rate;
    if (want->rate == 0) return TAMIS_OK;
    if (!(want->rate > 0 && want->rate < 1)) return TAMIS_E_RATE;
    const unsigned finest = want->bloom ? BLOOM_MOST - 2 : WIDTH_MOST;
    return tamis__width_for(want->rate) > finest ? TAMIS_E_TOO_FINE : TAMIS_OK;
}

/* ------------------------------------------------------------------ Bloom: sizes */

struct bloom {
    uint64_t bytes;
    uint32_t hashes;
};

/* The mean over sets of keys, which is what an embedder with a million filters sees.  The rate
 * is a power of the fill and the fill varies, so the mean of the powers is above the power of
 * the mean: by the second term of the series, which is a tenth at 30 keys. */
static double bloom_rate(struct bloom b, double keys) {
    const double m = (double)b.bytes * 8, k = b.hashes;
    const double fill = tamis__probe_fill(m, k, keys), z = 1 - fill;
    const double variance = z * (1 - (1 + k * keys / m) * z) / m;
    return pow(fill, k) * (1 + k * (k - 1) / 2 * variance / (fill * fill));
}

/* What a table is to come to. */
struct bloom_goal {
    struct bloom least; /* no fewer bytes than these */
    double keys, rate;
};

static bool bloom_meets(uint64_t bytes, const void *context) {
    const struct bloom_goal *goal = context;
    const struct bloom b = {.bytes = bytes, .hashes = goal->least.hashes};
    return bytes >= goal->least.bytes && bloom_rate(b, goal->keys) <= goal->rate;
}

static struct bloom bloom_size(const struct want *want, uint64_t keys) {
    struct bloom b = {.bytes = want->bytes};
    if (want->rate == 0) {
        b.hashes = tamis_classic_hashes(b.bytes * 8, keys);
        if (b.hashes > BLOOM_MOST) b.hashes = BLOOM_MOST;
        return b;
    }
    b.hashes = (uint32_t)(0.5 - log2(want->rate));
    if (b.hashes == 0) b.hashes = 1;
    b.bytes = tamis_classic_bits(keys, want->rate) / 8 + 1;
    /* Just the fewest, because so a set never takes more than a larger one, and tamis_small_bound
     * need not know how many hashes are repeats. */
    const struct bloom_goal goal = {b, (double)keys, want->rate};
    b.bytes = tamis__smallest(b.bytes, TABLE_MOST, bloom_meets, &goal);
    return b;
}

/* For keys that are still to come. */
static tamis_status bloom_size_ahead(const struct want *want, struct bloom *b) {
    const bool fixed = want->rate == 0;
    if (fixed && want->bytes == 0) return TAMIS_E_ARGUMENT;
    if (fixed && want->bytes > TABLE_MOST) return TAMIS_E_TOO_BIG;
    const struct tamis__want keys = {
        .capacity = want->capacity, .rate = want->rate, .bits = fixed ? want->bytes * 8 : 0};
    struct tamis__places size;
    const tamis_status status = tamis__probe_size(&keys, TABLE_MOST, false, &size);
    if (status != TAMIS_OK) return status;
    b->bytes = tamis__div_up(size.places, 8);
    b->hashes = size.hashes > BLOOM_MOST ? BLOOM_MOST : size.hashes;
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
static struct choice choice_first(const struct want *want, uint64_t keys) {
    struct choice c = {want->bytes, 0};
    if (want->rate > 0) {
        c.width = tamis__width_for(want->rate);
        c.bytes = linear_first(keys, c.width);
        return c;
    }
    const uint64_t most = linear_first(keys, WIDTH_MOST) + WIDTH_MOST;
    if (c.bytes > most) c.bytes = most;
    const uint64_t width = c.bytes * 8 / keys;
    c.width = width > WIDTH_MOST ? WIDTH_MOST : (unsigned)width;
    return c;
}

static void choice_next(const struct want *want, uint64_t keys, struct choice *c) {
    if (want->rate == 0) {
        c->width--;
    } else {
        c->bytes += 1 + keys / 8192 * c->width;
        if (c->bytes > linear_last(keys, c->width)) c->width = 0;
    }
}

/* -------------------------------------------------------------------- building */

/* The distinct hashes, and the caller's buffer. */
struct job {
    struct want want;
    uint64_t *hashes;
    size_t count;
    uint8_t *buffer;
    size_t capacity;
    size_t *length;
};

/* Zeroes a table and writes what stands behind it. */
static tamis_status put(const struct job *job, uint64_t table_bytes, unsigned how) {
    if (table_bytes >= job->capacity) return TAMIS_E_SMALL;
    memset(job->buffer, 0, (size_t)table_bytes);
    job->buffer[table_bytes] = (uint8_t)how;
    *job->length = (size_t)table_bytes + 1;
    return TAMIS_OK;
}

static tamis_status build_bloom(const struct job *job) {
    const struct bloom b = bloom_size(&job->want, job->count);
    if (b.bytes == 0) return put(job, 0, TAMIS_SMALL_ANY);
    const tamis_status status = put(job, b.bytes, HOW_BLOOM + b.hashes - 1);
    for (size_t i = 0; i < job->count && status == TAMIS_OK; i++) {
        (void)bloom_put(job->buffer, b.bytes, b.hashes, job->hashes[i]);
    }
    return status;
}

/* Tries all seeds on one choice; *seed is SEEDS if none will do. */
static tamis_status try_seeds(const struct job *job, struct choice c, struct tamis__linear *shape,
                              struct tamis__linear_work *w, unsigned *seed) {
    shape->width = c.width;
    shape->slots = c.bytes * 8 / c.width;
    for (*seed = 0; *seed < SEEDS; ++*seed) {
        bool solvable;
        shape->seed = tamis__linear_seed(*seed);
        const tamis_status status =
            tamis__linear_attempt(job->hashes, shape, &job->want.allocator, w, &solvable);
        if (status != TAMIS_OK || solvable) return status;
    }
    return TAMIS_OK;
}

static tamis_status build_linear(const struct job *job) {
    struct tamis__linear_work w = {.count = job->count};
    struct tamis__linear shape;
    struct choice c = choice_first(&job->want, job->count);
    unsigned seed = SEEDS;
    tamis_status status = TAMIS_OK;
    while (c.width > 0) {
        status = try_seeds(job, c, &shape, &w, &seed);
        if (status != TAMIS_OK || seed < SEEDS) break;
        choice_next(&job->want, job->count, &c);
    }
    if (status == TAMIS_OK && c.width == 0) {
        status = put(job, 0, TAMIS_SMALL_ANY);
    } else if (status == TAMIS_OK) {
        status = put(job, c.bytes, seed * WIDTH_MOST + c.width - 1);
        if (status == TAMIS_OK) tamis__linear_solve(&w, &shape, job->buffer);
    }
    tamis__linear_release(&job->want.allocator, &w);
    return status;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts and drops repeats. */
static size_t distinct(uint64_t *hashes, size_t count) {
    qsort(hashes, count, sizeof *hashes, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || hashes[kept - 1] != hashes[i]) hashes[kept++] = hashes[i];
    }
    return kept;
}

size_t tamis_small_bound(const tamis_options *options, size_t count) {
    struct want want;
    if (want_read(options, TAMIS_RIBBON, &want) != TAMIS_OK || count > TAMIS__LINEAR_SLOTS_MAX / 2)
        return 0;
    uint64_t bytes = want.bytes;
    if (count == 0) {
        bytes = 0;
    } else if (want.rate > 0 && want.bloom) {
        bytes = bloom_size(&want, count).bytes;
    } else if (want.rate > 0) {
        bytes = linear_last(count, tamis__width_for(want.rate));
    }
    return bytes < SIZE_MAX / 8 ? (size_t)bytes + 1 : 0;
}

tamis_status tamis_small_build(const tamis_options *options, const uint64_t *hashes, size_t count,
                               void *buffer, size_t capacity, size_t *length) {
    struct job job = {.buffer = buffer, .capacity = buffer == NULL ? 0 : capacity};
    if (length == NULL || (hashes == NULL && count != 0)) return TAMIS_E_ARGUMENT;
    *length = 0;
    job.length = length;
    tamis_status status = want_read(options, TAMIS_RIBBON, &job.want);
    if (status != TAMIS_OK) return status;
    if (count == 0) return put(&job, 0, job.want.bloom ? HOW_BLOOM : 0);
    size_t bytes;
    if (tamis_small_bound(options, count) == 0) return TAMIS_E_TOO_BIG;
    if (!tamis__array_size(count, sizeof *hashes, &bytes)) return TAMIS_E_TOO_BIG;
    job.hashes = tamis__alloc(&job.want.allocator, bytes);
    if (job.hashes == NULL) return TAMIS_E_NOMEM;
    memcpy(job.hashes, hashes, bytes);
    job.count = distinct(job.hashes, count);
    status = job.want.bloom ? build_bloom(&job) : build_linear(&job);
    tamis__release(&job.want.allocator, job.hashes, bytes);
    return status;
}

tamis_status tamis_small_create(const tamis_options *options, void *buffer, size_t capacity,
                                size_t *length) {
    struct job job = {.buffer = buffer, .capacity = buffer == NULL ? 0 : capacity};
    struct bloom b;
    if (length == NULL) return TAMIS_E_ARGUMENT;
    *length = 0;
    job.length = length;
    tamis_status status = want_read(options, TAMIS_BLOOM, &job.want);
    if (status == TAMIS_OK && !job.want.bloom) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK) status = bloom_size_ahead(&job.want, &b);
    if (status == TAMIS_OK && b.bytes >= SIZE_MAX / 8) status = TAMIS_E_TOO_BIG;
    if (status != TAMIS_OK) return status;
    *length = (size_t)b.bytes + 1;
    return put(&job, b.bytes, HOW_BLOOM + b.hashes - 1);
}
