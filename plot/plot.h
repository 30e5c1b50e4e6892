/* plot.h - line and scatter plots, for a terminal and as SVG
 *
 * A plot has two axes, each linear or logarithmic, and up to PLOT_SERIES_MAX series.  A series is
 * drawn as a line through its points, with marks; a series of one point is a mark.  Series differ
 * in colour and in mark, so that a plot can be read without colours.
 *
 * The module allocates nothing and depends on libc and libm only: cli/, bench/ and
 * examples/memory use it. */
#ifndef TAMIS_PLOT_H
#define TAMIS_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_SERIES_MAX 40
#define PLOT_POINTS_MAX 128

struct plot_axis {
    const char *title; /* with the unit */
    bool logarithmic;
    double low, high; /* set when the plot is drawn */
};

struct plot_series {
    const char *name;
    bool dashed; /* dashed line, hollow marks */
    size_t count;
    double x[PLOT_POINTS_MAX], y[PLOT_POINTS_MAX];
};

struct plot {
    const char *title;
    struct plot_axis x, y;
    size_t count;
    struct plot_series series[PLOT_SERIES_MAX];
};

/* Adds an empty series.  Its position determines its colour and mark, so plots that add the same
 * series in the same order agree; a series without points is not drawn. */
struct plot_series *plot_series(struct plot *plot, const char *name, bool dashed);

/* Adds a point.  Ignores a point that is not finite, or not positive on a logarithmic axis. */
void plot_point(const struct plot *plot, struct plot_series *series, double x, double y);

/* What the terminal can display. */
struct plot_screen {
    unsigned columns, rows; /* of the area between the axes; at most 160 x 48 */
    bool utf8, colour;
};

void plot_text(struct plot *plot, const struct plot_screen *screen, FILE *to);

/* Draws the plots below each other in one document. */
void plot_svg(struct plot *plots, size_t count, FILE *to);

#endif
