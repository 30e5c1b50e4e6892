/* interval.c - the exact interval of a binomial share
 *
 * The limits are quantiles of the beta distribution: low is the share that gives as
 * many hits or more with probability (1 - confidence) / 2, high the share that gives as many or
 * fewer.  The distribution function is the regularised incomplete beta function, by its
 * continued fraction (Lentz's method); the quantile is found by bisection. */
#include "interval.h"

#include <math.h>

#define TINY 1e-300
#define STEPS_MAX 2000

static double away_from_zero(double x) { return fabs(x) < TINY ? TINY : x; }

/* The continued fraction of I_x(a, b); converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int i = 1; i <= STEPS_MAX; i++) {
        const double m = i;
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        value *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < 1e-12) break;
    }
    return value;
}

/* The probability that a beta-distributed share is below x. */
static double beta_below(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double beta_quantile(double a, double b, double probability) {
    double low = 0, high = 1;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        const double middle = (low + high) / 2;
        if (beta_below(a, b, middle) < probability) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

void share_interval(uint64_t hits, uint64_t trials, double confidence, double *low, double *high) {
    const double h = (double)hits, n = (double)trials, tail = (1 - confidence) / 2;
    *low = hits == 0 ? 0 : beta_quantile(h, n - h + 1, tail);
    *high = hits == trials ? 1 : beta_quantile(h + 1, n - h, 1 - tail);
}
