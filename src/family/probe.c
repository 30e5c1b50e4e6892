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
 * eighth, and a thousand at 10^-9 by three times. */
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

#define BESIDE_FROM 10 /* probes; with fewer it is lost in f^k */

/* What is added to the rate by keys that run beside one that is there. */
static double beside(double places, double hashes, double keys, double fill) {
    if (hashes < BESIDE_FROM) return 0;
    return keys * 28 / (places * places * pow(hashes, 3) * (1 - fill) * (1 - fill));
}

double tamis__probe_rate_of_fill(double places, double hashes, double keys, double fill) {
    if (!(fill < 1)) return 1;
    const double base = pow(fill, hashes), more = beside(places, hashes, keys, fill);
    return more < base / 1000 ? base : fmin(base + more, 1); /* it is not that exactly known */
}

double tamis__probe_rate(double places, double hashes, double keys) {
    const double fill = tamis__probe_fill(places, hashes, keys);
    return tamis__probe_rate_of_fill(places, hashes, keys, fill);
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

struct goal {
    double keys, rate, hashes;
};

/* With the keys that such a fill is taken for, or a filter at its capacity would say that it is
 * over it.  The deviations leave room for a little more. */
static bool places_suffice(uint64_t places, const void *context) {
    const struct goal *g = context;
    const double m = (double)places, mean = tamis__probe_fill(m, g->hashes, g->keys);
    const double fill = mean + TAMIS__SIGMAS * fill_deviation(m, g->hashes, g->keys);
    if (!(fill < 1)) return false;
    double error;
    const double keys = tamis__probe_keys(m, g->hashes, fill, &error);
    const double more = beside(m, g->hashes, fmax(keys, g->keys), fill);
    const bool fits = more <= (g->rate - pow(mean, g->hashes)) / 8;
    return pow(fill, g->hashes) + (fits ? 0 : more) <= g->rate;
}

static uint64_t places_for(uint64_t keys, double rate, uint32_t hashes) {
    const struct goal g = {(double)keys, rate, hashes};
    return tamis__smallest(1, PLACES_MAX, places_suffice, &g);
}

/* The fewest places, and the number of probes (any if *hashes is 0); UINT64_MAX if none. */
static uint64_t fewest_places(uint64_t keys, double rate, uint32_t *hashes) {
    uint32_t low = *hashes, high = *hashes;
    if (*hashes == 0) {
        const double best = -log2(rate);
        low = best < 3 ? 1 : (uint32_t)best - 2;
        high = best > TAMIS__PROBES_MAX - 2 ? TAMIS__PROBES_MAX : (uint32_t)best + 2;
        if (low > high) low = high;
    }
    uint64_t fewest = UINT64_MAX;
    for (uint32_t k = low; k <= high; k++) {
        const uint64_t places = places_for(keys, rate, k);
        if (places <= PLACES_MAX && places < fewest) {
            fewest = places;
            *hashes = k;
        }
    }
    return fewest;
}

tamis_status tamis__probe_size(const struct tamis__want *want, uint64_t most, uint64_t *places,
                               uint32_t *hashes) {
    const uint64_t keys = want->capacity == 0 ? 1 : want->capacity;
    *places = want->bits;
    *hashes = want->hashes;
    if (*hashes > TAMIS__PROBES_MAX) return TAMIS_E_ARGUMENT;
    if (*places == 0) {
        if (want->rate < tamis__rate_of_width(TAMIS__PROBES_MAX - 2)) return TAMIS_E_TOO_FINE;
        *places = fewest_places(keys, want->rate, hashes);
    } else if (*hashes == 0) {
        *hashes = tamis_classic_hashes(*places, keys);
        if (*hashes > TAMIS__PROBES_MAX) *hashes = TAMIS__PROBES_MAX;
    }
    return *places > most ? TAMIS_E_TOO_BIG : TAMIS_OK;
}
