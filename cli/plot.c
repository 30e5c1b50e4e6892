/* plot.c - the data of a plot, its axes, and the text form
 *
 * The text form is a grid of dots, eight to a character:
 *
 *      1 4        a braille character is U+2800 + the sum of its dots' bits, so a curve is
 *      2 5        as fine as 2 x columns by 4 x rows; a character has one colour, that of
 *      3 6        the series which came last.
 *      7 8
 */
#include "plot.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "numbers.h"
#include "plot_axis.h"
#include "term.h"

void plot_start(struct plot *plot, const char *title, struct axis x, struct axis y) {
    plot->title = title;
    plot->x = x;
    plot->y = y;
    plot->count = 0;
    plot->series = (struct series *)need(PLOT_SERIES * sizeof *plot->series);
}

void plot_free(struct plot *plot) { free(plot->series); }

struct series *plot_series(struct plot *plot, const char *name, bool dashed) {
    struct series *s = &plot->series[plot->count < PLOT_SERIES ? plot->count++ : PLOT_SERIES - 1];
    s->name = name;
    s->dashed = dashed;
    s->count = 0;
    return s;
}

void plot_point(const struct plot *plot, struct series *s, double x, double y) {
    const bool good = isfinite(x) && isfinite(y) && (x > 0 || !plot->x.logarithmic) &&
                      (y > 0 || !plot->y.logarithmic);
    if (!good || s->count == PLOT_POINTS) return;
    s->x[s->count] = x;
    s->y[s->count] = y;
    s->count++;
}

/* ---- axes */

static void axis_include(struct axis *axis, double value) {
    if (value < axis->low) axis->low = value;
    if (value > axis->high) axis->high = value;
}

/* Limits that hold all points; on a linear axis from zero, with some air above. */
void plot_fit(struct plot *plot) {
    plot->x.low = plot->y.low = INFINITY;
    plot->x.high = plot->y.high = -INFINITY;
    for (size_t s = 0; s < plot->count; s++) {
        for (size_t i = 0; i < plot->series[s].count; i++) {
            axis_include(&plot->x, plot->series[s].x[i]);
            axis_include(&plot->y, plot->series[s].y[i]);
        }
    }
    struct axis *const axes[] = {&plot->x, &plot->y};
    for (size_t a = 0; a < 2; a++) {
        struct axis *axis = axes[a];
        if (!(axis->low <= axis->high)) axis->low = axis->high = 1;
        if (!axis->logarithmic) {
            axis->low = 0;
            axis->high *= 1.05;
        }
        if (axis->low == axis->high) axis->high = axis->low + (axis->low > 0 ? axis->low : 1);
    }
}

double axis_place(const struct axis *axis, double value) {
    if (!axis->logarithmic) return (value - axis->low) / (axis->high - axis->low);
    return log(value / axis->low) / log(axis->high / axis->low);
}

/* 1, 2 or 5 times a power of ten, so that there are about four steps. */
static double linear_step(const struct axis *axis) {
    const double rough = (axis->high - axis->low) / 4;
    const double power = pow(10, floor(log10(rough)));
    const double lead = rough / power;
    return power * (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1);
}

size_t axis_ticks(const struct axis *axis, double *ticks, size_t most) {
    size_t count = 0;
    if (!axis->logarithmic) {
        const double step = linear_step(axis);
        for (double t = 0; t <= axis->high && count < most; t += step) ticks[count++] = t;
        return count;
    }
    const int first = (int)ceil(log10(axis->low) - 1e-9),
              last = (int)floor(log10(axis->high) + 1e-9);
    const int stride = last - first >= 8 ? 2 : 1;
    for (int power = first; power <= last && count < most; power += stride) {
        ticks[count++] = pow(10, power);
    }
    return count;
}

void axis_tick_text(const struct axis *axis, double tick, char *text, size_t size) {
    if (axis->logarithmic && (tick < 0.0099 || tick > 99999)) {
        snprintf(text, size, "1e%d", (int)floor(log10(tick) + 0.5));
    } else {
        snprintf(text, size, "%g", tick);
    }
}

/* ---- the grid */

struct grid {
    unsigned columns, rows; /* in characters */
    uint8_t *dots;          /* braille bits */
    uint8_t *owner;         /* rank of the series + 1 */
};

static void grid_dot(struct grid *g, double right, double up, size_t rank) {
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const unsigned wide = 2 * g->columns, high = 4 * g->rows;
    if (!(right >= 0 && right <= 1 && up >= 0 && up <= 1)) return;
    const unsigned x = (unsigned)(right * (wide - 1) + 0.5);
    const unsigned y = (unsigned)((1 - up) * (high - 1) + 0.5);
    const size_t cell = (size_t)(y / 4) * g->columns + x / 2;
    g->dots[cell] = (uint8_t)(g->dots[cell] | bits[y % 4][x % 2]);
    g->owner[cell] = (uint8_t)(rank + 1);
}

static void grid_curve(struct grid *g, const struct plot *plot, const struct series *s,
                       size_t rank) {
    for (size_t i = 0; i < s->count; i++) {
        const double x = axis_place(&plot->x, s->x[i]), y = axis_place(&plot->y, s->y[i]);
        if (i == 0) grid_dot(g, x, y, rank);
        if (i == 0) continue;
        const double x0 = axis_place(&plot->x, s->x[i - 1]), y0 = axis_place(&plot->y, s->y[i - 1]);
        const double steps = ceil(fmax(fabs(x - x0) * 2 * g->columns, fabs(y - y0) * 4 * g->rows));
        for (double t = 1; t <= steps; t++) {
            if (s->dashed && ((int)(x0 * 2 * g->columns + t) & 3) > 1) continue;
            grid_dot(g, x0 + (x - x0) * t / steps, y0 + (y - y0) * t / steps, rank);
        }
        if (steps == 0) grid_dot(g, x, y, rank);
    }
}

/* A terminal has few colours: they go to the series that are shown, by their rank among these. */
static enum style series_style(size_t rank) {
    static const enum style styles[] = {STYLE_GREEN,   STYLE_CYAN, STYLE_YELLOW,
                                        STYLE_MAGENTA, STYLE_BLUE, STYLE_RED};
    return styles[rank % (sizeof styles / sizeof styles[0])];
}

static char series_letter(size_t rank) { return "*+ox#@%&=~^$!?"[rank % 14]; }

/* Curves of dots are told apart by their colours, and where there are none they have letters. */
static void print_cell(FILE *to, uint8_t dots, uint8_t owner, bool dotted) {
    if (dots == 0) {
        fputc(' ', to);
        return;
    }
    fputs(term_style(to, series_style((size_t)owner - 1)), to);
    if (dotted) {
        fprintf(to, "\xe2%c%c", (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f)));
    } else {
        fputc(series_letter((size_t)owner - 1), to);
    }
    fputs(term_style(to, STYLE_PLAIN), to);
}

/* The tick that belongs to this row of characters, or "". */
static void row_label(const struct plot *plot, unsigned row, unsigned rows, char *text,
                      size_t size) {
    double ticks[32];
    const size_t count = axis_ticks(&plot->y, ticks, 32);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const double up = axis_place(&plot->y, ticks[i]);
        if ((unsigned)((1 - up) * (rows - 1) + 0.5) == row) {
            axis_tick_text(&plot->y, ticks[i], text, size);
        }
    }
}

static void print_x_axis(const struct plot *plot, FILE *to, unsigned columns, bool utf8) {
    char *line = (char *)need((size_t)columns + 32);
    double ticks[32];
    const size_t count = axis_ticks(&plot->x, ticks, 32);
    fprintf(to, "%8s%s", "", utf8 ? "└" : "+");
    for (unsigned i = 0; i < columns; i++) fputs(utf8 ? "─" : "-", to);
    memset(line, ' ', (size_t)columns + 31);
    size_t free_from = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        axis_tick_text(&plot->x, ticks[i], text, sizeof text);
        const size_t at = (size_t)(axis_place(&plot->x, ticks[i]) * (columns - 1) + 0.5);
        if (at < free_from) continue;
        memcpy(line + at, text, strlen(text));
        free_from = at + strlen(text) + 2;
    }
    line[columns + 31] = '\0';
    size_t end = columns + 31;
    while (end > 0 && line[end - 1] == ' ') line[--end] = '\0';
    fprintf(to, "\n%9s%s\n%9s%s%s%s\n", "", line, "", term_style(to, STYLE_DIM), plot->x.label,
            term_style(to, STYLE_PLAIN));
    free(line);
}

static void print_legend(const struct plot *plot, FILE *to, bool dotted) {
    fprintf(to, "%9s", "");
    for (size_t s = 0, rank = 0; s < plot->count; s++) {
        if (plot->series[s].count == 0) continue;
        fprintf(to, "%s", term_style(to, series_style(rank)));
        if (dotted) {
            fputs(plot->series[s].dashed ? "╌╌" : "──", to);
        } else {
            fputc(series_letter(rank), to);
        }
        fprintf(to, "%s %s  ", term_style(to, STYLE_PLAIN), plot->series[s].name);
        rank++;
    }
    fputc('\n', to);
}

void plot_text(struct plot *plot, FILE *to, unsigned columns, unsigned rows) {
    const bool utf8 = term_utf8(), dotted = utf8 && term_style(to, STYLE_BOLD)[0] != '\0';
    const size_t cells = (size_t)columns * rows;
    struct grid g = {columns, rows, (uint8_t *)need(cells), (uint8_t *)need(cells)};
    memset(g.dots, 0, cells);
    memset(g.owner, 0, cells);
    plot_fit(plot);
    for (size_t s = 0, rank = 0; s < plot->count; s++) {
        if (plot->series[s].count != 0) grid_curve(&g, plot, &plot->series[s], rank++);
    }

    fprintf(to, "%s%s%s\n%s%8s%s\n", term_style(to, STYLE_BOLD), plot->title,
            term_style(to, STYLE_PLAIN), term_style(to, STYLE_DIM), plot->y.label,
            term_style(to, STYLE_PLAIN));
    for (unsigned row = 0; row < rows; row++) {
        char label[24];
        row_label(plot, row, rows, label, sizeof label);
        fprintf(to, "%7s %s", label, utf8 ? (label[0] != '\0' ? "┤" : "│") : "|");
        unsigned last = columns;
        while (last > 0 && g.dots[(size_t)row * columns + last - 1] == 0) last--;
        for (unsigned column = 0; column < last; column++) {
            const size_t cell = (size_t)row * columns + column;
            print_cell(to, g.dots[cell], g.owner[cell], dotted);
        }
        fputc('\n', to);
    }
    print_x_axis(plot, to, columns, utf8);
    print_legend(plot, to, dotted);
    free(g.dots);
    free(g.owner);
}
