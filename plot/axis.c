/* axis.c - series, limits and ticks */
#include "axis.h"

#include <math.h>

struct plot_series *plot_series(struct plot *plot, const char *name, bool dashed) {
    const size_t i = plot->count < PLOT_SERIES_MAX ? plot->count++ : PLOT_SERIES_MAX - 1;
    struct plot_series *s = &plot->series[i];
    s->name = name;
    s->dashed = dashed;
    s->count = 0;
    return s;
}

void plot_point(const struct plot *plot, struct plot_series *s, double x, double y) {
    const bool drawable = isfinite(x) && isfinite(y) && (x > 0 || !plot->x.logarithmic) &&
                          (y > 0 || !plot->y.logarithmic);
    if (!drawable || s->count == PLOT_POINTS_MAX) return;
    s->x[s->count] = x;
    s->y[s->count] = y;
    s->count++;
}

/* The step of a linear axis: 1, 2 or 5 times a power of ten, about five steps. */
static double linear_step(double range) {
    const double rough = range / 5, power = pow(10, floor(log10(rough))), lead = rough / power;
    return power * (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1);
}

/* A linear axis runs from 0 to a tick; a logarithmic one leaves a margin for the marks. */
static void fit(struct plot_axis *axis) {
    if (!(axis->low <= axis->high)) axis->low = axis->high = 1;
    if (axis->logarithmic) {
        const double margin = fmax(pow(axis->high / axis->low, 0.03), 1.05);
        axis->low /= margin;
        axis->high *= margin;
    } else {
        if (axis->high <= 0) axis->high = 1;
        const double step = linear_step(axis->high);
        axis->low = 0;
        axis->high = ceil(axis->high / step - 1e-9) * step;
    }
}

static void include(struct plot_axis *axis, double value) {
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void axis_fit(struct plot *plot) {
    plot->x.low = plot->y.low = INFINITY;
    plot->x.high = plot->y.high = -INFINITY;
    for (size_t s = 0; s < plot->count; s++) {
        for (size_t i = 0; i < plot->series[s].count; i++) {
            include(&plot->x, plot->series[s].x[i]);
            include(&plot->y, plot->series[s].y[i]);
        }
    }
    fit(&plot->x);
    fit(&plot->y);
}

double axis_position(const struct plot_axis *axis, double value) {
    if (!axis->logarithmic) return (value - axis->low) / (axis->high - axis->low);
    return log(value / axis->low) / log(axis->high / axis->low);
}

/* The wider the range, the fewer ticks in each decade. */
size_t axis_ticks(const struct plot_axis *axis, double ticks[AXIS_TICKS_MAX]) {
    static const double leads[] = {1, 2, 5, 3, 7, 4, 6, 8, 9};
    size_t count = 0;
    if (!axis->logarithmic) {
        const double step = linear_step(axis->high);
        for (; count < AXIS_TICKS_MAX && (double)count * step <= axis->high * 1.0001; count++) {
            ticks[count] = (double)count * step;
        }
        return count;
    }
    const double decades = log10(axis->high / axis->low);
    const size_t each = decades > 3.2 ? 1 : decades > 1.2 ? 3 : decades > 0.6 ? 5 : 9;
    const int first = (int)floor(log10(axis->low)), last = (int)floor(log10(axis->high));
    for (int power = first; power <= last; power++) {
        if (decades > 9 && power % 2 != 0) continue;
        for (size_t i = 0; i < each && count < AXIS_TICKS_MAX; i++) {
            const double tick = leads[i] * pow(10, power);
            if (tick >= axis->low && tick <= axis->high) ticks[count++] = tick;
        }
    }
    return count;
}

void axis_tick_text(double tick, char *text, size_t size) {
    static const char letters[] = "KMGT";
    if (tick > 0 && tick < 0.0099) {
        const int power = (int)floor(log10(tick) + 1e-9);
        snprintf(text, size, "%.0fe%d", tick / pow(10, power), power);
        return;
    }
    size_t letter = 0;
    while (tick >= (letter > 0 ? 999.9 : 9999) && letter < sizeof letters - 1) {
        tick /= 1000;
        letter++;
    }
    snprintf(text, size, letter > 0 ? "%g%c" : "%g", tick, letters[letter > 0 ? letter - 1 : 0]);
}

static double last_y(const struct plot *plot, size_t series) {
    const struct plot_series *s = &plot->series[series];
    return s->y[s->count - 1];
}

size_t axis_legend(const struct plot *plot, size_t order[PLOT_SERIES_MAX]) {
    size_t count = 0;
    for (size_t s = 0; s < plot->count; s++) {
        if (plot->series[s].count == 0) continue;
        size_t at = count++;
        for (; at > 0 && last_y(plot, order[at - 1]) < last_y(plot, s); at--) {
            order[at] = order[at - 1];
        }
        order[at] = s;
    }
    return count;
}

bool axis_marks(const struct plot *plot, size_t series, size_t i) {
    const size_t count = plot->series[series].count, marks = 5;
    if (count <= 2 * marks) return true;
    const size_t gap = count / marks;
    return i % gap == gap * (3 * series % 8) / 8;
}
