/* plot.h - curves, drawn with characters or as SVG
 *
 * A plot has one pair of axes, each linear or logarithmic, and up to sixteen series: a curve
 * through its points, or marks.  The text form is for a terminal, with braille dots where the
 * locale is UTF-8 (2 x 4 dots in a character) and one letter a character where it is not. */
#ifndef TAMIS_CLI_PLOT_H
#define TAMIS_CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_SERIES 16
#define PLOT_POINTS 256

struct series {
    const char *name;
    bool dashed; /* a bound, or a curve that would hide another */
    size_t count;
    double x[PLOT_POINTS], y[PLOT_POINTS];
};

struct axis {
    const char *label;
    bool logarithmic;
    double low, high; /* set by plot_fit */
};

struct plot {
    const char *title;
    struct axis x, y;
    size_t count;
    struct series *series; /* PLOT_SERIES */
};

/* An empty plot with room for its series; freed by plot_free. */
void plot_start(struct plot *plot, const char *title, struct axis x, struct axis y);
void plot_free(struct plot *plot);

/* A new series to add points to.  In SVG its colour is that of its number, so that plots in one
 * file agree; one that stays empty is not shown. */
struct series *plot_series(struct plot *plot, const char *name, bool dashed);
/* A point that is not finite, or not positive on a logarithmic axis, is left out. */
void plot_point(const struct plot *plot, struct series *series, double x, double y);

void plot_text(struct plot *plot, FILE *to, unsigned columns, unsigned rows);

/* For --svg: the file to draw into.  Dies if there is none. */
const char *plot_file(const char *name);

/* Several plots below each other in one file; dies if it cannot be written. */
void plot_svg(struct plot *plots, size_t count, const char *path);

#endif
