/* plot_axis.h - what the two forms of a plot share */
#ifndef TAMIS_CLI_PLOT_AXIS_H
#define TAMIS_CLI_PLOT_AXIS_H

#include "plot.h"

/* Sets the limits of both axes from the points. */
void plot_fit(struct plot *plot);

/* Where a value lies between the limits: 0 to 1. */
double axis_place(const struct axis *axis, double value);

/* Round values between the limits, at most `most`; and such a value as text. */
size_t axis_ticks(const struct axis *axis, double *ticks, size_t most);
void axis_tick_text(const struct axis *axis, double tick, char *text, size_t size);

#endif
