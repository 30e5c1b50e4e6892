/* probe.c - the arithmetic of probe.h
 *
 * With m positions and t = k n probes a position stays free with probability (1 - 1/m)^t = z.  The
 * fill has mean 1 - z and variance about z (1 - (1 + t/m) z) / m.  The rate of a given filter is
 * the fill to the power of k, so it varies from set to set: by 0.1 % at a million keys, by half at
 * ten.  Sizes are chosen so that the rate holds at mean + 4 deviations.
 *
 * Positions are not independent, though.  If a and b (probe.h) of two keys differ by little, u / m
 * and v / m, their probes run in parallel, u + i v positions apart.  So an absent key hits all
 * positions of a present one with the probability
 *
 *     I / m^2,   I = the integral over u and v of  g(u) g(u + v) ... g(u + (k-1) v)  less f^k,
 *                where g(t) = f + (1 - f) max(0, 1 - |t|), and f is the fill
 *
 * I is 24 to 26 / (k^3 (1 - f)^2) from 14 probes on.  That is negligible beside f^k, unless there
 * are few keys or the rate is very low: it made ten keys at 10^-6 exceed their rate by an eighth,
 * and a thousand at 10^-9 by three times.
 *
 * In pairs, two positions of a line are more often both in use than two independent ones, since
 * one key may have set both.  With v visits of pairs per line, two given positions of it are both
 * free with the probability z^2 exp(v / P), where P = 512 * 511 / 2 is the number of pairs.  So an
 * absent key passes a visit with probability f^2 (1 + (z/f)^2 (exp(v/P) - 1)), which is 0.2 % above
 * f^2 at 1 %, and costs as much as 0.1 % of the positions.  (One position in each half of a line
 * would be easier to compute and cost twice that; three positions per line, five times.)  The
 * deviation of the fill is as above. */
#include "family/probe.h"

#include <math.h>

#include "family/sizing.h"

#define PLACES_MAX ((uint64_t)1 << 62)

/* ---- what a lookup reads */

struct reading {
    const tamis_filter *f;
    unsigned bits; /* of a position */
    uint32_t cells;
    tamis__part_taker *take_part;
    tamis__cell_taker *take_cell;
    void *context;
};

typedef void visitor(struct reading *r, uint64_t place);

/* Visits the positions of a key. */
TAMIS_TEMPLATE void visit_places(const struct tamis__places *of, uint64_t hash, visitor *visit,
                                 struct reading *r) {
    struct tamis__probe p = tamis__probe_first(hash);
    for (uint32_t i = 0; i < of->hashes; i += of->paired ? 2 : 1) {
        if (of->paired) {
            const struct tamis__pair pair = tamis__probe_pair(&p, of->places);
            visit(r, pair.first);
            if (i + 1 < of->hashes) visit(r, pair.second);
        } else {
            visit(r, tamis__probe_next(&p, of->places));
        }
    }
}

static void visit_part(struct reading *r, uint64_t place) {
    r->take_part(r->context, r->f->table + (place * r->bits >> 3), 1);
}

static void visit_cell(struct reading *r, uint64_t place) {
    const tamis_cell cell = {
        .bit = place * r->bits, .bits = r->bits, .equation = r->cells++, .rule = TAMIS_CELL_SET};
    r->take_cell(r->context, &cell);
}

void tamis__probe_touches(const tamis_filter *f, const struct tamis__places *of, unsigned bits,
                          uint64_t hash, tamis__part_taker *take, void *context) {
    struct reading r = {.f = f, .bits = bits, .take_part = take, .context = context};
    visit_places(of, hash, visit_part, &r);
}

void tamis__probe_cells(const struct tamis__places *of, unsigned bits, uint64_t hash,
                        tamis__cell_taker *take, void *context) {
    struct reading r = {.bits = bits, .take_cell = take, .context = context};
    visit_places(of, hash, visit_cell, &r);
}

/* ---- the fill and the rate */

static double probe_free(double places, double hashes, double keys) {
    if (places <= 1) return keys > 0 ? 0 : 1;
    return exp(hashes * keys * log1p(-1 / places));
}

double tamis__probe_fill(double places, double hashes, double keys) {
    return 1 - probe_free(places, hashes, keys);
}

/* The factor by which pairs raise the rate above f^k. */
static double pairs_excess(const struct tamis__places *of, double keys, double fill) {
    if (!of->paired || !(fill > 0)) return 1;
    const double all = TAMIS__PAIR_LINE * (TAMIS__PAIR_LINE - 1) / 2.0;
    const double lines = (double)of->places / TAMIS__PAIR_LINE, pairs = (double)(of->hashes >> 1);
    const double ratio = (1 - fill) / fill;
    return pow(1 + ratio * ratio * expm1(keys * pairs / lines / all), pairs);
}

#define BESIDE_FROM 10 /* visits; with fewer it is negligible beside f^k */

/* The addition to the rate by keys whose probes run in parallel with those of a present key; the
 * second positions of pairs do not. */
static double beside(const struct tamis__places *of, double keys, double fill) {
    const double visits = of->paired ? (of->hashes + 1) / 2 : of->hashes;
    if (visits < BESIDE_FROM) return 0;
    const double m = (double)of->places;
    return keys * 28 / (m * m * pow(visits, 3) * (1 - fill) * (1 - fill)) *
           pow(fill, of->hashes - visits);
}

/* The rate without that addition.  Where f^k underflows a double the excess may overflow one: their
 * product is negligible, and must not become a NaN. */
static double base_fpr(const struct tamis__places *of, double keys, double fill) {
    const double independent = pow(fill, of->hashes);
    return independent > 0 ? independent * pairs_excess(of, keys, fill) : 0;
}

double tamis__probe_fpr_of_fill(const struct tamis__places *of, double keys, double fill) {
    if (!(fill < 1)) return 1;
    const double base = base_fpr(of, keys, fill), more = beside(of, keys, fill);
    return fmin(more < base / 1000 ? base : base + more, 1); /* below the accuracy of the model */
}

double tamis__probe_fpr(const struct tamis__places *of, double keys) {
    const double fill = tamis__probe_fill((double)of->places, of->hashes, keys);
    return tamis__probe_fpr_of_fill(of, keys, fill);
}

static double fill_deviation(double places, double hashes, double keys) {
    const double z = probe_free(places, hashes, keys);
    const double variance = z * (1 - (1 + hashes * keys / places) * z) / places;
    return variance > 0 ? sqrt(variance) : 0;
}

double tamis__probe_keys(double places, double hashes, double fill, double *error) {
    const double max = (places - 0.5) / places; /* a full table fits any number of keys */
    if (fill > max) fill = max;
    const double load = -log1p(-fill); /* probes per position */
    *error = sqrt(places * (expm1(load) - load)) / hashes;
    return load * places / hashes;
}

/* ---- sizing */

struct goal {
    double keys, fpr;
    uint32_t hashes;
    bool paired;
};

/* Uses the number of keys that such a fill is taken for; otherwise a filter at capacity would
 * report that it is over capacity.  The deviations leave room for a few more keys. */
static bool places_suffice(uint64_t places, const void *context) {
    const struct goal *g = context;
    const struct tamis__places of = {places, g->hashes, g->paired};
    const double m = (double)places, mean = tamis__probe_fill(m, g->hashes, g->keys);
    const double fill = mean + TAMIS__SIGMAS * fill_deviation(m, g->hashes, g->keys);
    if (!(fill < 1)) return false;
    double error;
    const double keys = fmax(tamis__probe_keys(m, g->hashes, fill, &error), g->keys);
    const double more = beside(&of, keys, fill);
    const bool fits = more <= (g->fpr - base_fpr(&of, g->keys, mean)) / 8;
    return base_fpr(&of, keys, fill) + (fits ? 0 : more) <= g->fpr;
}

static bool lines_suffice(uint64_t lines, const void *context) {
    return places_suffice(lines * TAMIS__PAIR_LINE, context);
}

/* Near what is needed if every table had the mean fill. */
static uint64_t places_guess(double keys, double fpr) {
    const double places = -keys * log2(fpr) * 1.4427 * (1 + 4 / sqrt(keys));
    return places < (double)PLACES_MAX ? (uint64_t)places : PLACES_MAX;
}

/* The range of probe counts that contains the best one. */
static void probes_around(double fpr, uint32_t *low, uint32_t *high) {
    const double best = -log2(fpr);
    *low = best < 3 ? 1 : (uint32_t)best - 2;
    *high = best > TAMIS__PROBES_MAX - 2 ? TAMIS__PROBES_MAX : (uint32_t)best + 2;
    if (*low > *high) *low = *high;
}

/* The fewest positions, and the number of probes (any if *hashes is 0); UINT64_MAX if none.  Of two
 * with equal positions, the one with fewer probes.  The best is likely in the middle; one test then
 * excludes max of the others. */
static uint64_t fewest_places(uint64_t keys, double fpr, uint32_t *hashes) {
    uint32_t low = *hashes, high = *hashes;
    if (*hashes == 0) probes_around(fpr, &low, &high);
    const uint32_t first = low + (high - low) / 2;
    struct goal g = {(double)keys, fpr, first, false};
    uint64_t fewest = tamis__smallest(places_guess(g.keys, fpr), PLACES_MAX, places_suffice, &g);
    *hashes = first;
    for (g.hashes = low; g.hashes <= high; g.hashes++) {
        if (g.hashes == first) continue;
        const uint64_t max = g.hashes < *hashes && fewest <= PLACES_MAX ? fewest : fewest - 1;
        const uint64_t places = tamis__smallest(max, max, places_suffice, &g);
        if (places > max) continue;
        fewest = places;
        *hashes = g.hashes;
    }
    return fewest > PLACES_MAX ? UINT64_MAX : fewest;
}

/* Below this many positions a table is in the L1 cache, and lines do not matter; above, r would
 * have too few bits. */
#define PAIRED_MIN ((uint64_t)1 << 16)
#define PAIRED_MAX ((uint64_t)1 << 48)

/* One visit less is worth this much more space: at 1 % six probes, in three lines, take 0.3 % more
 * than seven in four. */
#define PAIRED_SPARE 1.005

/* The fewest visits with almost the fewest positions.  Pairs need hardly more positions, for any
 * k. */
static void size_in_pairs(uint64_t keys, double fpr, struct tamis__places *size) {
    uint32_t low, high;
    uint64_t places[TAMIS__PROBES_MAX + 1], fewest = UINT64_MAX;
    probes_around(fpr, &low, &high);
    for (uint32_t k = low; k <= high; k++) {
        const struct goal g = {(double)keys, fpr, k, true};
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

tamis_status tamis__probe_size(const struct tamis__spec *spec, uint64_t max, bool pairs,
                               struct tamis__places *size) {
    const uint64_t keys = spec->capacity == 0 ? 1 : spec->capacity;
    *size = (struct tamis__places){spec->bits, spec->hashes, false};
    if (size->hashes > TAMIS__PROBES_MAX) return TAMIS_E_ARGUMENT;
    if (size->places == 0) {
        if (spec->fpr < tamis__fpr_of_width(TAMIS__PROBES_MAX - 2)) return TAMIS_E_FPR_TOO_LOW;
        size->places = fewest_places(keys, spec->fpr, &size->hashes);
        const bool many = size->places >= PAIRED_MIN && size->places <= PAIRED_MAX;
        if (pairs && many && spec->hashes == 0) size_in_pairs(keys, spec->fpr, size);
    } else if (size->hashes == 0) {
        size->hashes = tamis__classic_hashes(size->places, keys);
        if (size->hashes > TAMIS__PROBES_MAX) size->hashes = TAMIS__PROBES_MAX;
    }
    return size->places > max ? TAMIS_E_TOO_BIG : TAMIS_OK;
}
