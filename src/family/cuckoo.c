/* cuckoo.c - cuckoo filter: fingerprints in overlapping windows; removes, in little space
 *
 * The table is an array of m slots of f bits.  A window is w adjacent slots (w is 2 or 3) and may
 * begin at any slot: small overlapping windows fill a table as well as larger buckets, and m may
 * be any number.  A key's hash gives its *class*: a fingerprint and a first window; the second
 * window begins at a distance from the first that depends on the fingerprint alone.  The key is
 * stored in any of these 2w locations.
 *
 *           first                       second = first + distance(fingerprint),
 *             v                            v     modulo the number of windows
 *     | . | . | 0 | 1 | . | . | . | . | . | 2 | 3 | . |      w = 2: locations 0..3
 *
 * A slot holds a symbol: the fingerprint and the location.
 *
 *     0                            an empty slot
 *     1 + fingerprint * 2w + a     the class of this fingerprint with this slot as location a
 *
 * So a slot determines its class, and hence the other locations of its key, without the key (the
 * usual cuckoo filter uses an xor for that, which needs a power of two of buckets), and a filter
 * is exactly a multiset of classes.  Storing the location costs no space: in each slot exactly one
 * symbol matches a class, as if the location were not stored.
 *
 *     rate = classes in the filter / all classes = 1 - exp(-keys / (windows * fingerprints)),
 *     with fingerprints = (2^f - 1) / 2w
 *
 * The rate does not vary from set to set, so sizing adds no margin for that.
 *
 * An add stores the symbol in an empty location, or makes room by a search (cuckoo_insert.c).
 * Filters are sized for a load factor of 0.92 (w = 2) or 0.95 (w = 3), where a search is short; it
 * succeeds up to about 0.945 and 0.98.  Beyond that an add returns E_FULL and changes nothing.
 *
 * The stash.  Below that load an add fails only if by chance many keys share few slots, such as
 * seven keys of two classes with a common window, and so six slots.  This happens to about
 * 0.03 n / fingerprints^5 of n keys: rarely, but in one filter of a thousand with a billion keys
 * at 1 %, and more often in small tables.  So eight such keys can be stored, as hashes, in front
 * of the slots.  Lookups read the stash only while it is in use.
 *
 * Copies.  A key that is added again takes another location, so that it can be removed as often.
 * With 2w copies its class is *saturated*: further adds and removals leave it unchanged, so the
 * key stays for good and is never lost.  Copies crowd the few locations of their key and its
 * neighbours: with three copies of each key one add in a thousand finds no room at half of the
 * capacity.  By chance alone n / (24 fingerprints^3) classes of different keys saturate (w = 2).
 *
 *     table   stash  8 x 8 bytes: the mixed hash of a key; 0: free
 *             slots  slot i is bits i*f .. i*f + f-1, bit b being bit b % 8 of byte b / 8
 *             zeros  at least 8 bytes, since slots are read by 8 bytes, to a multiple of 8
 *     shape   word[0] m, word[1] f, word[2] w
 *
 * Costs.  A lookup reads two windows, at most 16,384 slots apart.  Filling a filter takes four
 * times as long as querying it; one add takes up to 30 microseconds near capacity. */
#include <math.h>

#include "core/cpu.h"
#include "family/cuckoo_kernel.h"

/* For rarely called functions that would cost their callers registers if inlined. */
#define CUCKOO_APART __attribute__((noinline))

/* ---- the stash */

static uint64_t stash_get(const struct tamis__cuckoo *c, unsigned i) {
    return tamis__load64(c->base.table + 8 * i);
}

/* Is entry i of this class?  Entries are compared as classes, not as keys, since a removal may
 * take the entry of another key of the class. */
static bool stash_is(const struct tamis__cuckoo *c, unsigned i, const struct cuckoo_class *key) {
    const uint64_t g = stash_get(c, i);
    const struct cuckoo_class entry = cuckoo_class_of(&c->grid, g);
    return g != 0 && entry.first == key->first && entry.fingerprint == key->fingerprint;
}

/* Copies of the key's class in the stash. */
static CUCKOO_APART unsigned stash_copies(const struct tamis__cuckoo *c, uint64_t hash) {
    const struct cuckoo_class key = cuckoo_class_of(&c->grid, cuckoo_mix(hash));
    unsigned copies = 0;
    for (unsigned i = 0; i < CUCKOO_STASH; i++) copies += stash_is(c, i, &key);
    return copies;
}

/* Refuses the one mixed hash that equals a free entry. */
static tamis_status stash_put(struct tamis__cuckoo *c, uint64_t g) {
    for (unsigned i = 0; i < CUCKOO_STASH; i++) {
        if (stash_get(c, i) != 0 || g == 0) continue;
        tamis__store64(c->base.table + 8 * i, g);
        c->stashed++;
        return TAMIS_OK;
    }
    return TAMIS_E_FULL;
}

/* Removes one copy of the key's class; there is one. */
static void stash_take(struct tamis__cuckoo *c, uint64_t hash) {
    const struct cuckoo_class key = cuckoo_class_of(&c->grid, cuckoo_mix(hash));
    unsigned i = 0;
    while (!stash_is(c, i, &key)) i++;
    tamis__store64(c->base.table + 8 * i, 0);
    c->stashed--;
}

/* ---- one key */

/* Is it in one of its windows? */
TAMIS_TEMPLATE bool cuckoo_holds(const struct tamis__cuckoo *c, const struct cuckoo_home *home,
                                 unsigned w, enum cuckoo_form form) {
    const struct cuckoo_grid *g = &c->grid;
    if (form == CUCKOO_PAIRED) return cuckoo_pair_holds(g, home);
    const bool packed = form != CUCKOO_WIDE;
    return (cuckoo_copies(g, home, 0, w, packed) | cuckoo_copies(g, home, 1, w, packed)) != 0;
}

TAMIS_TEMPLATE bool cuckoo_test(const struct tamis__cuckoo *c, const struct cuckoo_home *home,
                                uint64_t hash, unsigned w, enum cuckoo_form form) {
    const bool held = cuckoo_holds(c, home, w, form);
    /* Presence of a key is unpredictable; use of the stash is predictable. */
    if (TAMIS_LIKELY(c->stashed == 0)) return held;
    return held || stash_copies(c, hash) != 0;
}

/* Copies of the key's class, wherever they are. */
static unsigned cuckoo_count(const tamis_filter *f, uint64_t hash) {
    const struct tamis__cuckoo *c = cuckoo_of_const(f);
    const struct cuckoo_grid *g = &c->grid;
    const struct cuckoo_home home = cuckoo_home_of(c, hash);
    const bool packed = g->window * g->width <= CUCKOO_PACKED_MAX;
    return tamis__popcount(cuckoo_copies(g, &home, 0, g->window, packed)) +
           tamis__popcount(cuckoo_copies(g, &home, 1, g->window, packed)) +
           (c->stashed == 0 ? 0 : stash_copies(c, hash));
}

/* The lookup of a filter that uses its stash: separate, so that others need not keep the hash. */
static CUCKOO_APART bool cuckoo_contains_stashed(const tamis_filter *f, uint64_t hash) {
    return cuckoo_count(f, hash) != 0;
}

/* Adds a key whose locations are all taken, possibly by copies of itself (then the search fails
 * at once).  Its home is passed in registers. */
static CUCKOO_APART tamis_status cuckoo_squeeze(struct tamis__cuckoo *c, uint64_t hash,
                                                uint64_t first, uint64_t second,
                                                uint64_t fingerprint) {
    const struct cuckoo_home home = {first, second, fingerprint};
    if (c->search(c, &home)) return TAMIS_OK;
    const unsigned copies = cuckoo_count(&c->base, hash);
    return copies >= 2 * c->grid.window ? TAMIS_OK : stash_put(c, cuckoo_mix(hash));
}

/* Finds an empty location; false if there is none.  Without a branch: which window has it is
 * random in a full table. */
TAMIS_TEMPLATE bool cuckoo_room(const struct cuckoo_grid *g, const struct cuckoo_home *home,
                                unsigned w, enum cuckoo_form form, struct cuckoo_spot *spot) {
    if (form == CUCKOO_PAIRED) {
        const uint64_t empty = cuckoo_pair_empty(g, home->first, home->second);
        if (TAMIS_UNLIKELY(empty == 0)) return false;
        *spot = cuckoo_pair_lowest(g, empty, w);
        return true;
    }
    const bool packed = form == CUCKOO_PACKED;
    const uint64_t first = cuckoo_empty(g, home->first, w, packed);
    const uint64_t second = cuckoo_empty(g, home->second, w, packed);
    if (TAMIS_UNLIKELY((first | second) == 0)) return false;
    *spot = cuckoo_lowest_of(g, first, second, w, packed);
    return true;
}

/* Stores a class in an empty location; false if there is none. */
TAMIS_TEMPLATE bool cuckoo_place(const struct tamis__cuckoo *c, const struct cuckoo_home *home,
                                 unsigned w, enum cuckoo_form form) {
    struct cuckoo_spot spot;
    if (!cuckoo_room(&c->grid, home, w, form, &spot)) return false;
    const uint64_t bit = home->first ^ ((home->first ^ home->second) & spot.in_second);
    const uint64_t symbol = cuckoo_symbol(home->fingerprint, 0, w) + (w & spot.in_second) + spot.j;
    cuckoo_set(&c->grid, bit + spot.offset, symbol);
    return true;
}

TAMIS_TEMPLATE tamis_status cuckoo_put(struct tamis__cuckoo *c, const struct cuckoo_home *home,
                                       uint64_t hash, unsigned w, enum cuckoo_form form) {
    if (cuckoo_place(c, home, w, form)) return TAMIS_OK;
    return cuckoo_squeeze(c, hash, home->first, home->second, home->fingerprint);
}

/* After a slot became free: moves entries of the stash to their locations where possible, so that
 * adding and removing do not exhaust the stash. */
static CUCKOO_APART void stash_empty(struct tamis__cuckoo *c) {
    for (unsigned i = 0; i < CUCKOO_STASH; i++) {
        const uint64_t mixed = stash_get(c, i);
        const struct cuckoo_home home = cuckoo_home_of_mixed(c, mixed);
        if (mixed == 0) continue;
        if (!cuckoo_place(c, &home, c->grid.window, CUCKOO_WIDE) && !c->search(c, &home)) continue;
        tamis__store64(c->base.table + 8 * i, 0);
        c->stashed--;
    }
}

TAMIS_TEMPLATE tamis_status cuckoo_take(struct tamis__cuckoo *c, const struct cuckoo_home *home,
                                        uint64_t hash, unsigned w, bool packed) {
    const struct cuckoo_grid *g = &c->grid;
    const uint64_t first = cuckoo_copies(g, home, 0, w, packed);
    const uint64_t second = cuckoo_copies(g, home, 1, w, packed);
    const unsigned stashed = TAMIS_UNLIKELY(c->stashed != 0) ? stash_copies(c, hash) : 0;
    if ((first | second) == 0 && stashed == 0) return TAMIS_E_ABSENT;
    if (tamis__popcount(first) + tamis__popcount(second) + stashed >= 2 * w) return TAMIS_OK;
    if (stashed != 0) {
        stash_take(c, hash);
        return TAMIS_OK;
    }
    const unsigned j = cuckoo_lowest(g, first == 0 ? second : first, w, packed);
    cuckoo_set(g, (first == 0 ? home->second : home->first) + j * g->width, 0);
    if (TAMIS_UNLIKELY(c->stashed != 0)) stash_empty(c);
    return TAMIS_OK;
}

/* ---- many keys
 *
 * The windows of a key are prefetched RING keys before they are needed; a ring holds their
 * positions until then. */

#define RING 32

TAMIS_TEMPLATE void ring_fill(const struct tamis__cuckoo *c, struct cuckoo_home *ring, size_t i,
                              const uint64_t *hashes, size_t count) {
    if (i >= count) return;
    const struct cuckoo_home home = cuckoo_home_of(c, hashes[i]);
    TAMIS_PREFETCH(cuckoo_byte(&c->grid, home.first));
    TAMIS_PREFETCH(cuckoo_byte(&c->grid, home.second));
    ring[i % RING] = home;
}

TAMIS_TEMPLATE size_t cuckoo_test_batch(const struct tamis__cuckoo *c, const uint64_t *hashes,
                                        size_t count, bool *answers, unsigned w,
                                        enum cuckoo_form form) {
    struct cuckoo_home ring[RING];
    size_t found = 0;
    for (size_t i = 0; i < RING; i++) ring_fill(c, ring, i, hashes, count);
    for (size_t i = 0; i < count; i++) {
        const bool maybe = cuckoo_test(c, &ring[i % RING], hashes[i], w, form);
        ring_fill(c, ring, i + RING, hashes, count);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

TAMIS_TEMPLATE tamis_status cuckoo_put_batch(struct tamis__cuckoo *c, const uint64_t *hashes,
                                             size_t count, bool *fresh, size_t *done, unsigned w,
                                             enum cuckoo_form form) {
    struct cuckoo_home ring[RING];
    for (size_t i = 0; i < RING; i++) ring_fill(c, ring, i, hashes, count);
    for (*done = 0; *done < count; ++*done) {
        const size_t i = *done;
        const struct cuckoo_home home = ring[i % RING];
        ring_fill(c, ring, i + RING, hashes, count);
        if (fresh != NULL) fresh[i] = !cuckoo_test(c, &home, hashes[i], w, form);
        const tamis_status status = cuckoo_put(c, &home, hashes[i], w, form);
        if (status != TAMIS_OK) return status;
    }
    return TAMIS_OK;
}

/* ---- operations: wrappers that make `w` and `form` constants */

#define CUCKOO_INSTANCE(NAME, TARGET, W, FORM)                                                 \
    TARGET static bool NAME##_contains(const tamis_filter *f, uint64_t hash) {                 \
        const struct tamis__cuckoo *c = cuckoo_of_const(f);                                    \
        if (TAMIS_UNLIKELY(c->stashed != 0)) return cuckoo_contains_stashed(f, hash);          \
        const struct cuckoo_home home = cuckoo_home_of(c, hash);                               \
        return cuckoo_holds(c, &home, W, FORM);                                                \
    }                                                                                          \
    TARGET static tamis_status NAME##_add(tamis_filter *f, uint64_t hash, bool *fresh) {       \
        struct tamis__cuckoo *c = cuckoo_of(f);                                                \
        if (TAMIS_UNLIKELY(fresh != NULL)) *fresh = !f->ops->contains(f, hash);                \
        const struct cuckoo_home home = cuckoo_home_of(c, hash);                               \
        return cuckoo_put(c, &home, hash, W, FORM);                                            \
    }                                                                                          \
    TARGET static tamis_status NAME##_add_batch(tamis_filter *f, const uint64_t *lo,           \
                                                const uint64_t *hi, size_t count, bool *fresh, \
                                                size_t *done) {                                \
        (void)hi;                                                                              \
        return cuckoo_put_batch(cuckoo_of(f), lo, count, fresh, done, W, FORM);                \
    }                                                                                          \
    TARGET static tamis_status NAME##_remove(tamis_filter *f, uint64_t hash) {                 \
        struct tamis__cuckoo *c = cuckoo_of(f);                                                \
        const struct cuckoo_home home = cuckoo_home_of(c, hash);                               \
        return cuckoo_take(c, &home, hash, W, (FORM) != CUCKOO_WIDE);                          \
    }

#define CUCKOO_INSTANCES(PREFIX, TARGET)                       \
    CUCKOO_INSTANCE(PREFIX##paired2, TARGET, 2, CUCKOO_PAIRED) \
    CUCKOO_INSTANCE(PREFIX##paired3, TARGET, 3, CUCKOO_PAIRED) \
    CUCKOO_INSTANCE(PREFIX##packed2, TARGET, 2, CUCKOO_PACKED) \
    CUCKOO_INSTANCE(PREFIX##packed3, TARGET, 3, CUCKOO_PACKED)

CUCKOO_INSTANCE(wide2, , 2, CUCKOO_WIDE)
CUCKOO_INSTANCE(wide3, , 3, CUCKOO_WIDE)
CUCKOO_INSTANCES(, )

/* The batch queries of plain C. */
#define CUCKOO_BATCH(NAME, W, FORM)                                                           \
    static size_t NAME##_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi, \
                               size_t count, bool *answers) {                                 \
        (void)hi;                                                                             \
        return cuckoo_test_batch(cuckoo_of_const(f), lo, count, answers, W, FORM);            \
    }

CUCKOO_BATCH(wide2, 2, CUCKOO_WIDE)
CUCKOO_BATCH(wide3, 3, CUCKOO_WIDE)
CUCKOO_BATCH(paired2, 2, CUCKOO_PAIRED)
CUCKOO_BATCH(paired3, 3, CUCKOO_PAIRED)
CUCKOO_BATCH(packed2, 2, CUCKOO_PACKED)
CUCKOO_BATCH(packed3, 3, CUCKOO_PACKED)

#define CUCKOO_OPS(NAME, BATCH, PATH)                                                          \
    {                                                                                          \
        .path = PATH, .contains = NAME##_contains, .contains_batch = BATCH, .add = NAME##_add, \
        .add_batch = NAME##_add_batch, .remove = NAME##_remove,                                \
    }

/* By form and w - 2. */
static const struct tamis__ops portable_ops[CUCKOO_FORMS][2] = {
    [CUCKOO_WIDE] = {CUCKOO_OPS(wide2, wide2_batch, "portable"),
                     CUCKOO_OPS(wide3, wide3_batch, "portable")},
    [CUCKOO_PACKED] = {CUCKOO_OPS(packed2, packed2_batch, "portable"),
                       CUCKOO_OPS(packed3, packed3_batch, "portable")},
    [CUCKOO_PAIRED] = {CUCKOO_OPS(paired2, paired2_batch, "portable"),
                       CUCKOO_OPS(paired3, paired3_batch, "portable")},
};

/* The batch queries with vectors.  These do not read the stash: a filter that uses it is queried in
 * plain C. */
#define CUCKOO_VECTORS(NAME, KERNEL)                                                            \
    static size_t NAME##_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,   \
                               size_t count, bool *answers) {                                   \
        const struct tamis__cuckoo *c = cuckoo_of_const(f);                                     \
        if (TAMIS_LIKELY(c->stashed == 0)) return KERNEL(c, lo, count, answers);                \
        const struct cuckoo_grid *g = &c->grid;                                                 \
        return portable_ops[cuckoo_form_of(g->width, g->window)][g->window - 2].contains_batch( \
            f, lo, hi, count, answers);                                                         \
    }

#define CUCKOO_OPS_OF_FORMS(PREFIX, BATCH, PATH)                      \
    {                                                                 \
        [CUCKOO_PACKED] = {CUCKOO_OPS(PREFIX##packed2, BATCH, PATH),  \
                           CUCKOO_OPS(PREFIX##packed3, BATCH, PATH)}, \
        [CUCKOO_PAIRED] = {CUCKOO_OPS(PREFIX##paired2, BATCH, PATH),  \
                           CUCKOO_OPS(PREFIX##paired3, BATCH, PATH)}, \
    }

#if defined(TAMIS_HAVE_AVX2)
CUCKOO_INSTANCES(avx2_, TAMIS_TARGET_AVX2)

CUCKOO_VECTORS(avx2, tamis__cuckoo_contains_avx2)
CUCKOO_VECTORS(avx512, tamis__cuckoo_contains_avx512)
CUCKOO_VECTORS(gather, tamis__cuckoo_contains_gather)

static const struct tamis__ops avx2_ops[CUCKOO_FORMS][2] =
    CUCKOO_OPS_OF_FORMS(avx2_, avx2_batch, "avx2");
static const struct tamis__ops avx512_ops[CUCKOO_FORMS][2] =
    CUCKOO_OPS_OF_FORMS(avx2_, avx512_batch, "avx512");
static const struct tamis__ops gather_ops[CUCKOO_FORMS][2] =
    CUCKOO_OPS_OF_FORMS(avx2_, gather_batch, "avx512");
#endif

#if defined(TAMIS_HAVE_NEON)
CUCKOO_VECTORS(neon, tamis__cuckoo_contains_neon)
static const struct tamis__ops neon_ops[CUCKOO_FORMS][2] =
    CUCKOO_OPS_OF_FORMS(, neon_batch, "neon");
#endif

static const struct tamis__ops *cuckoo_ops(const struct tamis__shape *shape, uint32_t cpu,
                                           bool shared) {
    const uint64_t window = shape->word[CUCKOO_WINDOW];
    const enum cuckoo_form form = cuckoo_form_of(shape->word[CUCKOO_WIDTH], window);
    (void)cpu, (void)shared;
#if defined(TAMIS_HAVE_AVX2)
    if (form != CUCKOO_WIDE && shape->word[CUCKOO_SLOTS] < (uint64_t)1 << 31) {
        if (cpu & TAMIS__CPU_GATHER) return &gather_ops[form][window - 2];
        if (cpu & TAMIS__CPU_AVX512) return &avx512_ops[form][window - 2];
        if (cpu & TAMIS__CPU_AVX2) return &avx2_ops[form][window - 2];
    }
#endif
#if defined(TAMIS_HAVE_NEON)
    const uint64_t bits = shape->word[CUCKOO_SLOTS] * shape->word[CUCKOO_WIDTH];
    if ((cpu & TAMIS__CPU_NEON) && form != CUCKOO_WIDE && bits < (uint64_t)1 << 31) {
        return &neon_ops[form][window - 2];
    }
#endif
    return &portable_ops[form][window - 2];
}

/* ---- sizing */

struct cuckoo_plan {
    uint32_t window;
    uint32_t narrowest; /* below, too many keys share a class for the stash */
    double load;        /* load factor that filters are sized for */
    double max;         /* load factor at which adds begin to fail */
};

/* Load factors at which a search takes 20 steps on average: the last 2 % of the slots would double
 * the total time of all adds. */
static const struct cuckoo_plan plans[2] = {
    {.window = 2, .narrowest = 8, .load = 0.92, .max = 0.945},
    {.window = 3, .narrowest = 6, .load = 0.95, .max = 0.98},
};

/* The load is lowered by this / fingerprints: with few fingerprints, searches revisit the same
 * slots. */
#define FEW 0.3

/* Additional slots: small tables vary more.  With them, measured for every capacity up to 2000 and
 * many more, one filter in 10^5 uses the stash, and none needed it for three keys. */
#define SPARE 12

/* A table is enlarged by at most this factor to reach a rate: the next width is cheaper. */
#define STRETCH 2

/* 64-bit hashes cannot distinguish more classes than this. */
#define CLASSES_MAX 0x1p62

static uint32_t cuckoo_fingerprints(uint64_t width, uint64_t window) {
    return (uint32_t)((((uint64_t)1 << width) - 1) / (2 * window));
}

static uint64_t cuckoo_bytes(uint64_t slots, uint64_t width) {
    return CUCKOO_STASH_BYTES + tamis__div_up(slots * width, 64) * 8 + 8;
}

static double cuckoo_classes(const struct tamis__shape *shape) {
    const uint64_t window = shape->word[CUCKOO_WINDOW];
    return (double)(shape->word[CUCKOO_SLOTS] - window + 1) *
           cuckoo_fingerprints(shape->word[CUCKOO_WIDTH], window);
}

/* The slots that `keys` keys need, for the load factor and for the rate; INFINITY if no reasonable
 * number of such slots gives the rate. */
static double plan_slots(const struct cuckoo_plan *plan, uint32_t width, double keys, double fpr) {
    const double fingerprints = cuckoo_fingerprints(width, plan->window);
    const double room = ceil(keys / (plan->load - FEW / fingerprints)) + SPARE;
    /* Even if no two keys share a class: the rate then holds for every set. */
    const double need = ceil(keys / (fpr * fingerprints)) + plan->window - 1;
    if (need > STRETCH * room) return INFINITY;
    return need > room ? need : room;
}

/* Tries all widths and windows for the fewest bits. */
static tamis_status cuckoo_shape(const struct tamis__spec *spec, struct tamis__shape *shape) {
    const double keys = spec->capacity == 0 ? 1 : (double)spec->capacity;
    double best = INFINITY;
    if (plan_slots(&plans[0], CUCKOO_WIDTH_MAX, keys, 1) > (double)CUCKOO_SLOTS_MAX) {
        return TAMIS_E_TOO_BIG;
    }
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        for (uint32_t width = plans[i].narrowest; width <= CUCKOO_WIDTH_MAX; width++) {
            const double slots = plan_slots(&plans[i], width, keys, spec->fpr);
            if (slots > (double)CUCKOO_SLOTS_MAX || slots * width >= best) continue;
            best = slots * width;
            *shape = (struct tamis__shape){.word = {(uint64_t)slots, width, plans[i].window}};
        }
    }
    if (best == INFINITY || cuckoo_classes(shape) > CLASSES_MAX) return TAMIS_E_FPR_TOO_LOW;
    shape->table_bytes = cuckoo_bytes(shape->word[CUCKOO_SLOTS], shape->word[CUCKOO_WIDTH]);
    return TAMIS_OK;
}

static double cuckoo_fpr(const struct tamis__shape *shape, double keys) {
    const double max = plans[shape->word[CUCKOO_WINDOW] - 2].max;
    if (keys > max * (double)shape->word[CUCKOO_SLOTS]) return 1;
    return -expm1(-keys / cuckoo_classes(shape));
}

/* A window spans two cache lines if it begins in the last bits of one. */
static void cuckoo_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    const uint32_t window = (uint32_t)shape->word[CUCKOO_WINDOW];
    traits->hashes = 2 * window;
    traits->width = (uint32_t)shape->word[CUCKOO_WIDTH];
    traits->cache_lines = 2 * (1 + (double)(window * traits->width - 1) / (8 * TAMIS_LINE));
}

/* ---- creating and freeing */

static bool cuckoo_check(const struct tamis__shape *shape) {
    const uint64_t slots = shape->word[CUCKOO_SLOTS], width = shape->word[CUCKOO_WIDTH];
    const uint64_t window = shape->word[CUCKOO_WINDOW];
    return tamis__shape_ends(shape, CUCKOO_WINDOW) && (window == 2 || window == 3) &&
           width >= plans[window - 2].narrowest && width <= CUCKOO_WIDTH_MAX && slots >= SPARE &&
           slots <= CUCKOO_SLOTS_MAX && shape->table_bytes == cuckoo_bytes(slots, width);
}

static void grid_init(struct cuckoo_grid *g, const struct tamis__shape *shape) {
    const uint32_t width = (uint32_t)shape->word[CUCKOO_WIDTH];
    const uint32_t window = (uint32_t)shape->word[CUCKOO_WINDOW];
    *g = (struct cuckoo_grid){.width = width, .window = window};
    g->windows = shape->word[CUCKOO_SLOTS] - window + 1;
    g->windows_bits = g->windows * width;
    g->mask = ((uint64_t)1 << width) - 1;
    g->fingerprints = cuckoo_fingerprints(width, window);
    const uint64_t farthest = g->windows - window;
    g->span = (uint32_t)(farthest < CUCKOO_REACH ? farthest : CUCKOO_REACH) - window + 1;
    if (window * width > CUCKOO_PACKED_MAX) return;
    for (uint32_t j = 0; j < window; j++) {
        const uint64_t one = (uint64_t)1 << (j * width);
        g->scale += one * 2 * window;
        g->first += one * (cuckoo_symbol(0, 0, window) + j);
        g->second += one * (cuckoo_symbol(0, 1, window) + j);
        g->low += one * (g->mask >> 1);
        g->top += one << (width - 1);
    }
    if (window * width > CUCKOO_PAIRED_MAX) return;
    g->pair_scale = g->scale | g->scale << 32;
    g->pair_symbols = g->first | g->second << 32;
    g->pair_low = g->low | g->low << 32;
    g->pair_top = g->top | g->top << 32;
    for (uint32_t j = 0; j < window; j++) g->pair_ones += UINT64_C(0x100000001) << (j * width);
}

static tamis_status cuckoo_attach(tamis_filter *f) {
    struct tamis__cuckoo *c = cuckoo_of(f);
    grid_init(&c->grid, &f->shape);
    c->grid.slots = f->table + CUCKOO_STASH_BYTES;
    c->grid.leap = c->leap;
    c->search = tamis__cuckoo_search;
#if defined(TAMIS_HAVE_AVX2)
    if (!f->settings.portable && (tamis__cpu() & TAMIS__CPU_AVX2))
        c->search = tamis__cuckoo_search_avx2;
#endif
    for (uint32_t i = 0; i < CUCKOO_DISTANCES; i++) {
        c->leap[i] = (uint32_t)(cuckoo_distance(&c->grid, i, c->grid.window) * c->grid.width);
    }
    c->stashed = 0;
    for (unsigned i = 0; i < CUCKOO_STASH; i++) c->stashed += stash_get(c, i) != 0;
    return TAMIS_OK;
}

/* ---- the whole table */

/* Copies are counted in this many slots and extrapolated. */
#define SAMPLE ((uint64_t)1 << 20)

/* The copies of the class in a slot; 1 for a symbol that no add wrote, or that has just changed. */
static unsigned copies_of(const struct cuckoo_grid *g, uint64_t bit, uint32_t symbol) {
    struct cuckoo_item item;
    if (!cuckoo_read(g, bit, symbol, g->window, &item)) return 1;
    unsigned copies = 0;
    for (uint32_t j = 0; j < g->window; j++) {
        copies += cuckoo_get(g, item.here + j * g->width) == item.here_symbol + j;
        copies += cuckoo_get(g, item.other + j * g->width) == item.other_symbol + j;
    }
    return copies == 0 ? 1 : copies;
}

static void cuckoo_state(const tamis_filter *f, struct tamis__state *state) {
    const struct tamis__cuckoo *c = cuckoo_of_const(f);
    const uint64_t slots = f->shape.word[CUCKOO_SLOTS], width = c->grid.width;
    uint64_t used = 0, sampled = 0;
    double once = 0; /* in the sample, counting copies once */
    for (uint64_t slot = 0; slot < slots; slot++) {
        const uint32_t symbol = cuckoo_get(&c->grid, slot * width);
        used += symbol != 0;
        if (symbol == 0 || slot >= SAMPLE) continue;
        sampled++;
        once += 1.0 / copies_of(&c->grid, slot * width, symbol);
    }
    const double share = sampled == 0 ? 1 : once / (double)sampled;
    const double classes = (double)used * share + c->stashed, all = cuckoo_classes(&f->shape);
    const double sampling = sampled == used ? 0 : (double)used * sqrt(share * (1 - share) / SAMPLE);
    state->fill = (double)used / (double)slots;
    state->fpr_now = classes < all ? classes / all : 1;
    /* A key whose class was present already looks like a copy: the expected number of those. */
    state->distinct = classes < all ? -all * log1p(-classes / all) : all;
    state->distinct_error = hypot(sqrt(state->distinct * state->fpr_now / 2), sampling);
}

/* The stash is read when the filter is opened: whether it is in use. */
static void cuckoo_touches(const tamis_filter *f, uint64_t hash, tamis__part_taker *take,
                           void *context) {
    const struct tamis__cuckoo *c = cuckoo_of_const(f);
    const struct cuckoo_home home = cuckoo_home_of(c, hash);
    const uint64_t bits = c->grid.window * c->grid.width;
    take(context, f->table, CUCKOO_STASH_BYTES);
    take(context, cuckoo_byte(&c->grid, home.first), tamis__div_up((home.first & 7) + bits, 8));
    take(context, cuckoo_byte(&c->grid, home.second), tamis__div_up((home.second & 7) + bits, 8));
}

static void cuckoo_cells(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take,
                         void *context) {
    const struct tamis__cuckoo *c = cuckoo_of_const(f);
    const struct cuckoo_grid *g = &c->grid;
    const struct cuckoo_class key = cuckoo_class_of(g, cuckoo_mix(hash));
    const struct cuckoo_home home = cuckoo_home_of(c, hash);
    tamis_cell cell = {.bits = (uint32_t)g->width, .rule = TAMIS_CELL_EQUAL};
    for (uint32_t i = 0; i < 2 * g->window; i++, cell.group++) {
        const uint32_t which = i >= g->window, j = i - which * g->window;
        cell.bit = 8 * CUCKOO_STASH_BYTES + (which ? home.second : home.first) + j * g->width;
        cell.expected = cuckoo_symbol(home.fingerprint, which, g->window) + j;
        take(context, &cell);
    }
    cell.bits = 64;
    for (unsigned i = 0; i < CUCKOO_STASH; i++) {
        if (!stash_is(c, i, &key)) continue;
        cell.bit = 64 * (uint64_t)i;
        cell.expected = stash_get(c, i);
        take(context, &cell);
        cell.group++;
    }
}

static void cuckoo_prefetch(const tamis_filter *f, uint64_t hash) {
    struct cuckoo_home unread;
    ring_fill(cuckoo_of_const(f), &unread, 0, &hash, 1);
}

const struct tamis__family tamis__cuckoo = {
    .kind = TAMIS_CUCKOO,
    .name = "cuckoo",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE,
    .ordered = true,
    .object_size = sizeof(struct tamis__cuckoo),
    .shape = cuckoo_shape,
    .fpr = cuckoo_fpr,
    .traits = cuckoo_traits,
    .check = cuckoo_check,
    .ops = cuckoo_ops,
    .attach = cuckoo_attach,
    .touches = cuckoo_touches,
    .cells = cuckoo_cells,
    .prefetch = cuckoo_prefetch,
    .state = cuckoo_state,
    .count = cuckoo_count,
};
