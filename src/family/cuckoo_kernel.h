/* cuckoo_kernel.h - the layout of cuckoo filters, and operations on one class or one slot
 *
 * cuckoo.c explains the algorithm.  Everything here is inlined where `w`, the slots per window (2
 * or 3), and `form`, how windows are read, are constants. */
#ifndef TAMIS_FAMILY_CUCKOO_KERNEL_H
#define TAMIS_FAMILY_CUCKOO_KERNEL_H

#include "core/bits.h"
#include "core/bytes.h"
#include "filter/family.h"

/* Words of the shape; the others are 0. */
enum { CUCKOO_SLOTS, CUCKOO_WIDTH, CUCKOO_WINDOW };

#define CUCKOO_WIDTH_MAX 32
#define CUCKOO_SLOTS_MAX ((uint64_t)1 << 48)

enum cuckoo_form {
    CUCKOO_WIDE,   /* slot by slot */
    CUCKOO_PACKED, /* with one load of 64 bits */
    CUCKOO_PAIRED, /* with one of 32 bits, so that two windows fit in a word */
    CUCKOO_FORMS
};

/* Bits from the byte where a window begins, less a bit offset of 7. */
#define CUCKOO_PACKED_MAX 57
#define CUCKOO_PAIRED_MAX 25

/* The stash comes first in the table, then the slots. */
#define CUCKOO_STASH 8
#define CUCKOO_STASH_BYTES (8 * CUCKOO_STASH)

/* The second window begins at most this many slots after the first: near enough to share its page,
 * far enough to fill the table as well as with any distance (adds begin to fail at a load of 0.946
 * and 0.947; at 0.928 with 1024, at 0.906 with 256). */
#define CUCKOO_REACH 16384

/* A table of this size is out of cache: a search prefetches. */
#define CUCKOO_FAR ((uint64_t)4 << 20)

/* From this table size on, batches with vectors prefetch windows; in a smaller table that costs
 * more than it saves (3.3 instead of 2.6 ns at 10,000 keys). */
#define CUCKOO_FETCHED ((uint64_t)1 << 19)

/* Fingerprints that are equal modulo this have the same distance. */
#define CUCKOO_DISTANCES 256

/* Values derived from the shape and the address of the table.  Loops that write to memory work on
 * a copy, so that the compiler sees that they do not change it. */
struct cuckoo_grid {
    uint8_t *slots;
    uint64_t windows;      /* positions where a window can begin: slots - w + 1 */
    uint64_t windows_bits; /* windows * width */
    uint64_t mask;         /* `width` ones: a slot, or the first field of a packed window */
    uint64_t fingerprints; /* how many fingerprints there are */
    uint64_t width;        /* bits of a slot */
    uint32_t window;       /* w */
    uint32_t span;         /* how many distances there could be */

    /* Packed windows, seen as w fields: 2w in each; the symbols of fingerprint 0 in the first
     * and in the second window; all bits of each field but the top one; the top one. */
    uint64_t scale, first, second, low, top;

    /* The same for two windows in one word, the first in the lower half. */
    uint64_t pair_scale, pair_symbols, pair_low, pair_top;
    uint64_t pair_ones; /* the lowest bit of each field */

    /* The distance of the second window in bits, by fingerprint: stored, since every lookup waits
     * for it (1 ns of 10). */
    const uint32_t *leap;
};

struct tamis__cuckoo;
struct cuckoo_home;

/* Makes room for one more copy of a class whose locations are all taken, by moving others to their
 * other locations, and stores it.  false, and nothing has changed, if that is impossible. */
typedef bool cuckoo_search(const struct tamis__cuckoo *c, const struct cuckoo_home *home);

struct tamis__cuckoo {
    tamis_filter base;
    struct cuckoo_grid grid;
    cuckoo_search *search;
    uint32_t stashed; /* entries of the stash in use */
    uint32_t leap[CUCKOO_DISTANCES];
};

TAMIS_TEMPLATE struct tamis__cuckoo *cuckoo_of(tamis_filter *f) {
    return (struct tamis__cuckoo *)(void *)f;
}
TAMIS_TEMPLATE const struct tamis__cuckoo *cuckoo_of_const(const tamis_filter *f) {
    return (const struct tamis__cuckoo *)(const void *)f;
}

/* ---- slots, by the number of their first bit */

TAMIS_TEMPLATE uint8_t *cuckoo_byte(const struct cuckoo_grid *g, uint64_t bit) {
    return g->slots + (bit >> 3);
}

/* At least CUCKOO_PACKED_MAX bits of the table.  Eight bytes are read: hence the padding. */
TAMIS_TEMPLATE uint64_t cuckoo_load(const struct cuckoo_grid *g, uint64_t bit) {
    return tamis__load64(cuckoo_byte(g, bit)) >> (bit & 7);
}

/* The symbol in a slot; 0 if it is empty. */
TAMIS_TEMPLATE uint32_t cuckoo_get(const struct cuckoo_grid *g, uint64_t bit) {
    return (uint32_t)(cuckoo_load(g, bit) & g->mask);
}

TAMIS_TEMPLATE void cuckoo_set(const struct cuckoo_grid *g, uint64_t bit, uint64_t symbol) {
    uint8_t *at = cuckoo_byte(g, bit);
    const unsigned shift = (unsigned)(bit & 7);
    tamis__store64(at, (tamis__load64(at) & ~(g->mask << shift)) | symbol << shift);
}

/* ---- classes */

/* The mixed hash, from which all else is derived: tamis__mix64 without its last step, since only
 * the upper bits are used.  One multiplication less (tamis__spread) gains 1 ns in 10, but maps some
 * sets of equidistant numbers to few windows, so that the table is full too soon. */
TAMIS_TEMPLATE uint64_t cuckoo_mix(uint64_t hash) {
    hash ^= hash >> 30;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 27;
    return hash * UINT64_C(0x94d049bb133111eb);
}

struct cuckoo_class {
    uint64_t first; /* where the first window begins */
    uint64_t fingerprint;
};

/* The integer part of mixed * fingerprints is the fingerprint, its fraction gives the window: so
 * the window is uniform for every fingerprint, in tables of any size.  In this order, since the
 * second window waits for the fingerprint. */
TAMIS_TEMPLATE struct cuckoo_class cuckoo_class_of(const struct cuckoo_grid *g, uint64_t mixed) {
    uint64_t fraction, rest;
    struct cuckoo_class key;
    key.fingerprint = tamis__mulboth(mixed, g->fingerprints, &fraction);
    key.first = tamis__mulboth(fraction, g->windows, &rest);
    return key;
}

/* The distance of the second window in slots: at least w, so that the windows never overlap, and
 * at most windows - w, so that they do not overlap after wrapping around either.  Squares, because
 * a table fills badly if sums of few distances often coincide: with 15 fingerprints it filled to
 * 0.935 with multiples of the golden ratio, to 0.948 with squares. */
TAMIS_TEMPLATE uint64_t cuckoo_distance(const struct cuckoo_grid *g, uint32_t fingerprint,
                                        unsigned w) {
    const uint32_t n = fingerprint % CUCKOO_DISTANCES + 1;
    return w + ((uint64_t)(n * n * UINT32_C(0x9e3779b1)) * g->span >> 32);
}

TAMIS_TEMPLATE enum cuckoo_form cuckoo_form_of(uint64_t width, uint64_t window) {
    if (width * window <= CUCKOO_PAIRED_MAX) return CUCKOO_PAIRED;
    return width * window <= CUCKOO_PACKED_MAX ? CUCKOO_PACKED : CUCKOO_WIDE;
}

/* The home of a class: the first bits of its two windows. */
struct cuckoo_home {
    uint64_t first, second;
    uint64_t fingerprint;
};

/* The position modulo the number of windows, given that it is less than twice that number: the
 * smaller of both candidates, since a negative one is large.  Branch-free, because in small tables
 * the case is random. */
TAMIS_TEMPLATE uint64_t cuckoo_wrap(const struct cuckoo_grid *g, uint64_t bit) {
    const uint64_t wrapped = bit - g->windows_bits;
    return wrapped < bit ? wrapped : bit;
}

TAMIS_TEMPLATE struct cuckoo_home cuckoo_home_of_mixed(const struct tamis__cuckoo *c,
                                                       uint64_t mixed) {
    const struct cuckoo_class key = cuckoo_class_of(&c->grid, mixed);
    struct cuckoo_home home;
    home.first = key.first * c->grid.width;
    home.second = cuckoo_wrap(&c->grid, home.first + c->leap[key.fingerprint % CUCKOO_DISTANCES]);
    home.fingerprint = key.fingerprint;
    return home;
}

TAMIS_TEMPLATE struct cuckoo_home cuckoo_home_of(const struct tamis__cuckoo *c, uint64_t hash) {
    return cuckoo_home_of_mixed(c, cuckoo_mix(hash));
}

/* The symbol of a class in the first slot of its first (which = 0) or second window. */
TAMIS_TEMPLATE uint32_t cuckoo_symbol(uint64_t fingerprint, unsigned which, unsigned w) {
    return (uint32_t)(1 + fingerprint * 2 * w + which * w);
}

/* ---- windows
 *
 * A mark is one bit per slot of a window.  Packed, slot j is field j of the word, and its mark is
 * the top bit of the field; otherwise it is bit j. */

/* Marks the fields that are 0.  (x & low) + low carries into the top bit of a field unless its
 * lower bits are 0, so the top bit is set, here or in x, in exactly the fields that are not 0. */
TAMIS_TEMPLATE uint64_t cuckoo_zeros(const struct cuckoo_grid *g, uint64_t x) {
    return ~(((x & g->low) + g->low) | x) & g->top;
}

/* Marks the empty slots of a window. */
TAMIS_TEMPLATE uint64_t cuckoo_empty(const struct cuckoo_grid *g, uint64_t bit, unsigned w,
                                     bool packed) {
    if (packed) return cuckoo_zeros(g, cuckoo_load(g, bit));
    uint64_t marks = 0;
    TAMIS_UNROLL for (unsigned j = 0; j < w; j++) {
        marks |= (uint64_t)(cuckoo_get(g, bit + j * g->width) == 0) << j;
    }
    return marks;
}

/* Marks the slots of the first (which = 0) or second window of a class that hold it. */
TAMIS_TEMPLATE uint64_t cuckoo_copies(const struct cuckoo_grid *g, const struct cuckoo_home *home,
                                      unsigned which, unsigned w, bool packed) {
    const uint64_t bit = which == 0 ? home->first : home->second;
    if (packed) {
        const uint64_t symbols = home->fingerprint * g->scale + (which == 0 ? g->first : g->second);
        return cuckoo_zeros(g, cuckoo_load(g, bit) ^ symbols);
    }
    uint64_t marks = 0;
    TAMIS_UNROLL for (unsigned j = 0; j < w; j++) {
        const uint32_t symbol = cuckoo_symbol(home->fingerprint, which, w) + j;
        marks |= (uint64_t)(cuckoo_get(g, bit + j * g->width) == symbol) << j;
    }
    return marks;
}

/* The first marked slot of a window; there is one. */
TAMIS_TEMPLATE unsigned cuckoo_lowest(const struct cuckoo_grid *g, uint64_t marks, unsigned w,
                                      bool packed) {
    const uint64_t one = packed ? g->mask : 1, two = packed ? g->mask << g->width | g->mask : 3;
    return (unsigned)((marks & one) == 0) + (unsigned)(w == 3 && (marks & two) == 0);
}

/* ---- pairs of windows: the marks of the second are 32 bits above those of the first */

TAMIS_TEMPLATE uint64_t cuckoo_load_pair(const struct cuckoo_grid *g, uint64_t first,
                                         uint64_t second) {
    const uint64_t one = tamis__load32(cuckoo_byte(g, first)) >> (first & 7);
    const uint64_t two = tamis__load32(cuckoo_byte(g, second)) >> (second & 7);
    return one | two << 32;
}

TAMIS_TEMPLATE uint64_t cuckoo_pair_zeros(const struct cuckoo_grid *g, uint64_t x) {
    return ~(((x & g->pair_low) + g->pair_low) | x) & g->pair_top;
}

/* Marks the empty slots of two windows. */
TAMIS_TEMPLATE uint64_t cuckoo_pair_empty(const struct cuckoo_grid *g, uint64_t first,
                                          uint64_t second) {
    return cuckoo_pair_zeros(g, cuckoo_load_pair(g, first, second));
}

/* Does a slot of a class's windows hold it?  Subtracting 1 from a field sets its top bit if it was
 * 0; in a field that is not 0 only a borrow from a lower one can.  So the result is right, in fewer
 * steps than marks take. */
TAMIS_TEMPLATE bool cuckoo_pair_holds(const struct cuckoo_grid *g, const struct cuckoo_home *home) {
    const uint64_t symbols = home->fingerprint * g->pair_scale + g->pair_symbols;
    const uint64_t x = cuckoo_load_pair(g, home->first, home->second) ^ symbols;
    return ((x - g->pair_ones) & ~x & g->pair_top) != 0;
}

/* The first marked slot of a pair. */
struct cuckoo_spot {
    uint64_t in_second; /* all ones, or 0 */
    uint64_t offset;    /* bits from the beginning of its window */
    uint32_t j;         /* its number in the window */
};

TAMIS_TEMPLATE struct cuckoo_spot cuckoo_pair_lowest(const struct cuckoo_grid *g, uint64_t marks,
                                                     unsigned w) {
    const unsigned top = tamis__ctz(marks);
    struct cuckoo_spot spot = {.in_second = -(uint64_t)(top >> 5)};
    spot.offset = (top & 31) - (g->width - 1);
    spot.j = (uint32_t)(spot.offset != 0) + (uint32_t)(w == 3 && spot.offset > g->width);
    return spot;
}

/* The first marked slot of two windows, where each has marks of its own. */
TAMIS_TEMPLATE struct cuckoo_spot cuckoo_lowest_of(const struct cuckoo_grid *g, uint64_t first,
                                                   uint64_t second, unsigned w, bool packed) {
    struct cuckoo_spot spot = {.in_second = first == 0 ? UINT64_MAX : 0};
    spot.j = cuckoo_lowest(g, first | (second & spot.in_second), w, packed);
    spot.offset = spot.j * g->width;
    return spot;
}

/* ---- the symbol in a slot */

/* The class of the symbol in a slot: its window, the other one, and their first symbols.  Returns
 * false for a symbol that no add wrote, as a file may hold (a fingerprint too large, a window
 * beyond the table); such symbols never move. */
struct cuckoo_item {
    uint64_t here, other;
    uint32_t here_symbol, other_symbol;
};

TAMIS_TEMPLATE bool cuckoo_read(const struct cuckoo_grid *g, uint64_t bit, uint32_t symbol,
                                unsigned w, struct cuckoo_item *item) {
    const uint32_t fingerprint = (symbol - 1) / (2 * w), a = (symbol - 1) % (2 * w);
    const uint32_t in_second = a >= w, leap = g->leap[fingerprint % CUCKOO_DISTANCES];
    item->here = bit - (a - in_second * w) * g->width;
    item->other = cuckoo_wrap(g, item->here + (in_second ? g->windows_bits - leap : leap));
    item->here_symbol = symbol - a + in_second * w;
    item->other_symbol = symbol - a + (1 - in_second) * w;
    return fingerprint < g->fingerprints && item->here < g->windows_bits;
}

/* ---- cuckoo_insert.c */

cuckoo_search tamis__cuckoo_search;

#if defined(TAMIS_HAVE_AVX2)
cuckoo_search tamis__cuckoo_search_avx2; /* compiled for the machine */
#endif

/* ---- cuckoo_avx2.c, cuckoo_avx512.c, cuckoo_neon.c */

/* contains_batch for tables with packed windows, fewer than 2^31 of them (NEON: bits of slots), and
 * an empty stash. */
typedef size_t cuckoo_contains(const struct tamis__cuckoo *c, const uint64_t *hashes, size_t count,
                               bool *answers);

cuckoo_contains tamis__cuckoo_contains_avx2;
cuckoo_contains tamis__cuckoo_contains_avx512;
cuckoo_contains tamis__cuckoo_contains_gather; /* with AVX-512 too */
cuckoo_contains tamis__cuckoo_contains_neon;

#endif
