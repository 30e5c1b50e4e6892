/* probe.h - the k of m positions of a key: shared by bloom and counting
 *
 * Enhanced double hashing (Dillinger and Manolios, 2004) over 64-bit arithmetic:
 *     x_0 = a,  y_0 = b;   position_i = x_i * m / 2^64;   x_(i+1) = x_i + y_i,
 *     y_(i+1) = y_i + (i+1) * c
 * where a and b come from the key's 64-bit hash and c is a constant.  The cubic term separates two
 * keys with related a and b, which plain double hashing does not.  A multiply maps the upper bits
 * to a position, so m may be any number up to 2^63 without a division, and c is large because a
 * small one would never reach the upper bits.
 *
 * In pairs: m is a multiple of 512, x_i selects one of m / 512 lines, and the low part of the
 * product, r_i, two different positions in that line.  An odd k has one position in its last
 * line. */
#ifndef TAMIS_FAMILY_PROBE_H
#define TAMIS_FAMILY_PROBE_H

#include "core/bits.h"
#include "filter/family.h"

/* Maximum positions per key: more cannot lower the rate of 64-bit hashes. */
#define TAMIS__PROBES_MAX 64

struct tamis__probe {
    uint64_t x, y, step;
};

/* The multiplier that derives b from a, and c; part of the format. */
#define TAMIS__PROBE_FLIP UINT64_C(0xd6e8feb86659fd93)
#define TAMIS__PROBE_SCALE UINT64_C(0xa24baed4963ee407)
#define TAMIS__PROBE_STEP UINT64_C(0x9e3779b97f4a7c15)

TAMIS_TEMPLATE struct tamis__probe tamis__probe_first(uint64_t hash) {
    const uint64_t a = tamis__mix64(hash);
    const struct tamis__probe p = {a, (a ^ TAMIS__PROBE_FLIP) * TAMIS__PROBE_SCALE,
                                   TAMIS__PROBE_STEP};
    return p;
}

/* The position of this probe, below `places`; then advances to the next. */
TAMIS_TEMPLATE uint64_t tamis__probe_next(struct tamis__probe *p, uint64_t places) {
    const uint64_t place = tamis__range(p->x, places);
    p->x += p->y;
    p->y += p->step;
    p->step += TAMIS__PROBE_STEP;
    return place;
}

/* ---- in pairs */

#define TAMIS__PAIR_LINE 512u /* positions per line */

struct tamis__pair {
    uint64_t first, second;
};

/* The two positions of this visit, below `places`; then advances to the next.  r is the 32 bits of
 * the product below the line: 9 of them are the first position in it, the other 23 give the
 * distance of the second, 1 to 511. */
TAMIS_TEMPLATE struct tamis__pair tamis__probe_pair(struct tamis__probe *p, uint64_t places) {
    uint64_t low;
    const uint64_t line = tamis__mulboth(p->x, places / TAMIS__PAIR_LINE, &low);
    const uint32_t r = (uint32_t)(low >> 32), rest = r & 0x7fffff, first = r >> 23;
    const uint32_t apart = (rest * (TAMIS__PAIR_LINE - 1)) >> 23;
    const struct tamis__pair pair = {
        line * TAMIS__PAIR_LINE + first,
        line * TAMIS__PAIR_LINE + (first + 1 + apart) % TAMIS__PAIR_LINE};
    p->x += p->y;
    p->y += p->step;
    p->step += TAMIS__PROBE_STEP;
    return pair;
}

/* ---- what a lookup reads */

struct tamis__places {
    uint64_t places; /* m */
    uint32_t hashes; /* k */
    bool paired;
};

/* For the families' entries of the same names; a position has `bits` bits of the table. */
void tamis__probe_touches(const tamis_filter *f, const struct tamis__places *of, unsigned bits,
                          uint64_t hash, tamis__part_taker *take, void *context);
void tamis__probe_cells(const struct tamis__places *of, unsigned bits, uint64_t hash,
                        tamis__cell_taker *take, void *context);

/* ---- the arithmetic of m positions, k of them for each of n keys */

/* Expected fraction of positions in use. */
double tamis__probe_fill(double places, double hashes, double keys);

/* Expected rate; the same where the fill is known. */
double tamis__probe_fpr(const struct tamis__places *of, double keys);
double tamis__probe_fpr_of_fill(const struct tamis__places *of, double keys, double fill);

/* The number of keys estimated from a fill, and one standard deviation of that estimate. */
double tamis__probe_keys(double places, double hashes, double fill, double *error);

/* The positions and probes for a spec: as the user fixed them; or the fewest positions with which
 * spec->capacity keys stay within spec->fpr, unless the fill is more than TAMIS__SIGMAS
 * deviations above its mean.  `pairs` allows them where they pay: many positions, of which the user
 * fixed nothing.  E_ARGUMENT, E_FPR_TOO_LOW, E_TOO_BIG (more than `max` positions). */
tamis_status tamis__probe_size(const struct tamis__spec *spec, uint64_t max, bool pairs,
                               struct tamis__places *size);

#endif
