/* probe.h - which k of m places belong to a key: shared by bloom and counting
 *
 * Enhanced double hashing (Dillinger and Manolios, 2004) over 64-bit arithmetic:
 *     x_0 = a,  y_0 = b;   place_i = x_i * m / 2^64;   x_(i+1) = x_i + y_i,
 *     y_(i+1) = y_i + (i+1) * c
 * where a and b come from the key's 64-bit hash and c is a constant.  The cubic term keeps two
 * keys with related a and b apart, as plain double hashing does not.  Places are taken from
 * the upper bits by a multiply, so m may be any number up to 2^63 without a division, and c is
 * large because a small one would never reach the upper bits.
 *
 * In pairs: m is a multiple of 512, x_i chooses one of m / 512 lines, and what the multiply
 * leaves over, r_i, two different places of that line.  An odd k has one place in its last line. */
#ifndef TAMIS_FAMILY_PROBE_H
#define TAMIS_FAMILY_PROBE_H

#include "core/bits.h"
#include "family/family.h"

/* No more places than this for a key: beyond it a lower rate is out of reach of 64 bits. */
#define TAMIS__PROBES_MAX 64

struct tamis__probe {
    uint64_t x, y, step;
};

/* How b is made of a, and c; part of the format. */
#define TAMIS__PROBE_FLIP UINT64_C(0xd6e8feb86659fd93)
#define TAMIS__PROBE_SCALE UINT64_C(0xa24baed4963ee407)
#define TAMIS__PROBE_STEP UINT64_C(0x9e3779b97f4a7c15)

TAMIS_TEMPLATE struct tamis__probe tamis__probe_first(uint64_t hash) {
    const uint64_t a = tamis__mix64(hash);
    const struct tamis__probe p = {a, (a ^ TAMIS__PROBE_FLIP) * TAMIS__PROBE_SCALE,
                                   TAMIS__PROBE_STEP};
    return p;
}

/* The place of this probe among `places`; then goes on to the next. */
TAMIS_TEMPLATE uint64_t tamis__probe_next(struct tamis__probe *p, uint64_t places) {
    const uint64_t place = tamis__range(p->x, places);
    p->x += p->y;
    p->y += p->step;
    p->step += TAMIS__PROBE_STEP;
    return place;
}

/* ---- in pairs */

#define TAMIS__PAIR_LINE 512u /* places of a line */

struct tamis__pair {
    uint64_t first, second;
};

/* The two places of this visit among `places`; then goes on to the next.  r is the 32 bits of the
 * product below the line: 9 of them are the first place in it, and the second is 1 to 511 further
 * by the other 23. */
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

/* ---- the arithmetic of m places, k of them for each of n keys */

struct tamis__places {
    uint64_t places; /* m */
    uint32_t hashes; /* k */
    bool paired;
};

/* Expected share of places in use. */
double tamis__probe_fill(double places, double hashes, double keys);

/* Expected rate; the same where the fill is known. */
double tamis__probe_rate(const struct tamis__places *of, double keys);
double tamis__probe_rate_of_fill(const struct tamis__places *of, double keys, double fill);

/* The keys that explain a fill, and one standard deviation of that estimate. */
double tamis__probe_keys(double places, double hashes, double fill, double *error);

/* The places and probes for a want: as the user fixed them; or the fewest places with which
 * want->capacity keys stay within want->rate, unless the fill is more than TAMIS__SIGMAS
 * deviations above its mean.  `pairs` allows them where they pay: many places, of which the user
 * fixed nothing.  E_ARGUMENT, E_TOO_FINE, E_TOO_BIG (more than `most` places). */
tamis_status tamis__probe_size(const struct tamis__want *want, uint64_t most, bool pairs,
                               struct tamis__places *size);

#endif
