/* axis.h - what the terminal and the SVG form share */
#ifndef TAMIS_PLOT_AXIS_H
#define TAMIS_PLOT_AXIS_H

#include "plot.h"

#define AXIS_TICKS_MAX 24

/* Sets the limits of both axes from the points. */
void axis_fit(struct plot *plot);

/* The position of a value between the limits, 0 to 1. */
double axis_position(const struct plot_axis *axis, double value);

/* Round values between the limits: returns how many.  And such a value as text: 1e-6, 0.05, 20,
 * 10K, 5M. */
size_t axis_ticks(const struct plot_axis *axis, double ticks[AXIS_TICKS_MAX]);
void axis_tick_text(double tick, char *text, size_t size);

/* The series that have points, the one whose line ends highest first: the order of the legend. */
size_t axis_legend(const struct plot *plot, size_t order[PLOT_SERIES_MAX]);

/* Does the series carry a mark at point i?  A line of few points has one at each, a curve of many
 * has a few, which differ in position from those of its neighbours. */
bool axis_marks(const struct plot *plot, size_t series, size_t i);

#endif
