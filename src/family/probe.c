/* probe.c - the arithmetic of probe.h
 *
 * With m places and t = k n throws a place stays free with probability (1 - 1/m)^t = z.  The
 * share in use has mean 1 - z and variance about z (1 - (1 + t/m) z) / m.  The rate of a given
 * filter is the share to the power of k, so it varies from set to set: by 0.1 % at a million
 * keys, by half at ten.  Sizes are chosen so that the rate holds at mean + 4 deviations.
 *
 * Places are not independent, though.  Of two keys whose a and b (probe.h) differ by little, u / m
 * and v / m, the probes run side by side, u + i v places apart.  An absent key meets in this way
 * all places of one that is there with the probability
 *
 *     I / m^2,   I = the integral over u and v of  g(u) g(u + v) ... g(u + (k-1) v)  less f^k,
 *                where g(t) = f + (1 - f) max(0, 1 - |t|), and f is the share in use
 *
 * I is 24 to 26 / (k^3 (1 - f)^2) from 14 probes on.  That is next to nothing beside f^k, unless
 * there are few keys or the rate is very low: it made ten keys at 10^-6 miss their rate by an
 * eighth, and a thousand at 10^-9 by three times.
 *
 * In pairs, two places of a line are more often both in use than two anywhere, since one key may
 * have brought both.  With v visits of pairs a line, two given places of it are both free with
 * the probability z^2 exp(v / P), where P = 512 * 511 / 2 is the number of pairs.  So a visit is
 * passed with f^2 (1 + (z/f)^2 (exp(v/P) - 1)), which is 0.2 % above f^2 at 1 %, and costs as much
 * as 0.1 % of the places.  (The two halves of a line, a place in each, would be easier to compute
 * and cost twice that; three places a line, five times.)  The deviation of the fill is as above.
 */
#include "family/probe.h"

#include <math.h>

#include "family/sizing.h"

#define PLACES_MAX ((uint64_t)1 << 62)

static double probe_free(double places, double hashes, double keys) {
    if (places <= 1) return keys > 0 ? 0 : 1;
    return exp(hashes * keys * log1p(-1 / places));
}

double tamis__probe_fill(double places, double hashes, double keys) {
    return 1 - probe_free(places, hashes, keys);
}

/* How much above f^k the rate is by places that come in pairs. */
static double pairs_excess(const struct tamis__places *of, double keys, double fill) {
    if (!of->paired || !(fill > 0)) return 1;
    const double all = TAMIS__PAIR_LINE * (TAMIS__PAIR_LINE - 1) / 2.0;
    const double lines = (double)of->places / TAMIS__PAIR_LINE, pairs = of->hashes / 2;
    const double ratio = (1 - fill) / fill;
    return pow(1 + ratio * ratio * expm1(keys * pairs / lines / all), pairs);
}

#define BESIDE_FROM 10 /* visits; with fewer it is lost in f^k */

/* What is added to the rate by keys that run beside one that is there; the second places of pairs
 * do not. */
static double beside(const struct tamis__places *of, double keys, double fill) {
    const double visits = of->paired ? (of->hashes + 1) / 2 : of->hashes;
    if (visits < BESIDE_FROM) return 0;
    const double m = (double)of->places;
    return keys * 28 / (m * m * pow(visits, 3) * (1 - fill) * (1 - fill)) *
           pow(fill, of->hashes - visits);
}

/* Without those.  Where f^k is less than a double can hold the excess may be more than one can: the
 * product is still next to nothing, and must not be taken for no number at all. */
static double base_rate(const struct tamis__places *of, double keys, double fill) {
    const double independent = pow(fill, of->hashes);
    return independent > 0 ? independent * pairs_excess(of, keys, fill) : 0;
}

double tamis__probe_rate_of_fill(const struct tamis__places *of, double keys, double fill) {
    if (!(fill < 1)) return 1;
    const double base = base_rate(of, keys, fill), more = beside(of, keys, fill);
    return fmin(more < base / 1000 ? base : base + more, 1); /* it is not that exactly known */
}

double tamis__probe_rate(const struct tamis__places *of, double keys) {
    const double fill = tamis__probe_fill((double)of->places, of->hashes, keys);
    return tamis__probe_rate_of_fill(of, keys, fill);
}

static double fill_deviation(double places, double hashes, double keys) {
    const double z = probe_free(places, hashes, keys);
    const double variance = z * (1 - (1 + hashes * keys / places) * z) / places;
    return variance > 0 ? sqrt(variance) : 0;
}

double tamis__probe_keys(double places, double hashes, double fill, double *error) {
    const double most = (places - 0.5) / places; /* a full table could be any number */
    if (fill > most) fill = most;
    const double load = -log1p(-fill); /* throws per place */
    *error = sqrt(places * (expm1(load) - load)) / hashes;
    return load * places / hashes;
}

/* ---- sizing */

struct goal {
    double keys, rate;
    uint32_t hashes;
    bool paired;
};

/* With the keys that such a fill is taken for, or a filter at its capacity would say that it is
 * over it.  The deviations leave room for a little more. */
static bool places_suffice(uint64_t places, const void *context) {
    const struct goal *g = context;
    const struct tamis__places of = {places, g->hashes, g->paired};
    const double m = (double)places, mean = tamis__probe_fill(m, g->hashes, g->keys);
    const double fill = mean + TAMIS__SIGMAS * fill_deviation(m, g->hashes, g->keys);
    if (!(fill < 1)) return false;
    double error;
    const double keys = fmax(tamis__probe_keys(m, g->hashes, fill, &error), g->keys);
    const double more = beside(&of, keys, fill);
    const bool fits = more <= (g->rate - base_rate(&of, g->keys, mean)) / 8;
    return base_rate(&of, keys, fill) + (fits ? 0 : more) <= g->rate;
}

static bool lines_suffice(uint64_t lines, const void *context) {
    return places_suffice(lines * TAMIS__PAIR_LINE, context);
}

/* Near what is needed if every table had the mean fill. */
static uint64_t places_guess(double keys, double rate) {
    const double places = -keys * log2(rate) * 1.4427 * (1 + 4 / sqrt(keys));
    return places < (double)PLACES_MAX ? (uint64_t)places : PLACES_MAX;
}

/* The numbers of probes among which the best is. */
static void probes_around(double rate, uint32_t *low, uint32_t *high) {
    const double best = -log2(rate);
    *low = best < 3 ? 1 : (uint32_t)best - 2;
    *high = best > TAMIS__PROBES_MAX - 2 ? TAMIS__PROBES_MAX : (uint32_t)best + 2;
    if (*low > *high) *low = *high;
}

/* The fewest places, and the number of probes (any if *hashes is 0); UINT64_MAX if none.  Of two
 * that do with the same places it is the fewer probes.  The best is likely to be in the middle;
 * most others then have to show but once that they are not better. */
static uint64_t fewest_places(uint64_t keys, double rate, uint32_t *hashes) {
    uint32_t low = *hashes, high = *hashes;
    if (*hashes == 0) probes_around(rate, &low, &high);
    const uint32_t first = low + (high - low) / 2;
    struct goal g = {(double)keys, rate, first, false};
    uint64_t fewest = tamis__smallest(places_guess(g.keys, rate), PLACES_MAX, places_suffice, &g);
    *hashes = first;
    for (g.hashes = low; g.hashes <= high; g.hashes++) {
        if (g.hashes == first) continue;
        const uint64_t most = g.hashes < *hashes && fewest <= PLACES_MAX ? fewest : fewest - 1;
        const uint64_t places = tamis__smallest(most, most, places_suffice, &g);
        if (places > most) continue;
        fewest = places;
        *hashes = g.hashes;
    }
    return fewest > PLACES_MAX ? UINT64_MAX : fewest;
}

/* Below this many places a table is in the nearest cache, and lines do not count; above, r would
 * have too few bits. */
#define PAIRED_LEAST ((uint64_t)1 << 16)
#define PAIRED_MOST ((uint64_t)1 << 48)

/* A visit less is worth so much more space: at 1 % six probes, in three lines, take 0.3 % more than
 * seven in four. */
#define PAIRED_SPARE 1.005

/* The fewest lines to visit with next to the fewest places.  There are not many more of them than
 * without pairs, for any k. */
static void size_in_pairs(uint64_t keys, double rate, struct tamis__places *size) {
    uint32_t low, high;
    uint64_t places[TAMIS__PROBES_MAX + 1], fewest = UINT64_MAX;
    probes_around(rate, &low, &high);
    for (uint32_t k = low; k <= high; k++) {
        const struct goal g = {(double)keys, rate, k, true};
        const uint64_t near = size->places / TAMIS__PAIR_LINE;
        places[k] = TAMIS__PAIR_LINE *
                    tamis__smallest(near, PLACES_MAX / TAMIS__PAIR_LINE, lines_suffice, &g);
        if (places[k] < fewest) fewest = places[k];
    }
    *size = (struct tamis__places){UINT64_MAX, TAMIS__PROBES_MAX, true};
    for (uint32_t k = low; k <= high; k++) {
        const bool spare = (double)places[k] <= PAIRED_SPARE * (double)fewest;
        const uint32_t visits = (k + 1) / 2, best = (size->hashes + 1) / 2;
        if (!spare || visits > best || (visits == best && places[k] >= size->places)) continue;
        size->places = places[k];
        size->hashes = k;
    }
}

tamis_status tamis__probe_size(const struct tamis__want *want, uint64_t most, bool pairs,
                               struct tamis__places *size) {
    const uint64_t keys = want->capacity == 0 ? 1 : want->capacity;
    *size = (struct tamis__places){want->bits, want->hashes, false};
    if (size->hashes > TAMIS__PROBES_MAX) return TAMIS_E_ARGUMENT;
    if (size->places == 0) {
        if (want->rate < tamis__rate_of_width(TAMIS__PROBES_MAX - 2)) return TAMIS_E_TOO_FINE;
        size->places = fewest_places(keys, want->rate, &size->hashes);
        const bool many = size->places >= PAIRED_LEAST && size->places <= PAIRED_MOST;
        if (pairs && many && want->hashes == 0) size_in_pairs(keys, want->rate, size);
    } else if (size->hashes == 0) {
        size->hashes = tamis_classic_hashes(size->places, keys);
        if (size->hashes > TAMIS__PROBES_MAX) size->hashes = TAMIS__PROBES_MAX;
    }
    return size->places > most ? TAMIS_E_TOO_BIG : TAMIS_OK;
}
