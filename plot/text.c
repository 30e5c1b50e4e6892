/* text.c - a plot on a terminal
 *
 * With UTF-8 a line is made of braille dots, 2 x 4 in a character, and a letter of the series at
 * its marks; a character has the colour of the series that was drawn last.
 *
 *      1 4        U+2800 + the sum of the bits of its dots
 *      2 5
 *      3 6
 *      7 8
 *
 * Without UTF-8 a line is made of its letter. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "axis.h"

#define COLUMNS_MAX 160
#define ROWS_MAX 48

struct cell {
    uint8_t dots;
    char letter; /* the mark of a series; 0: none */
    uint8_t series;
};

struct grid {
    const struct plot_screen *screen;
    unsigned columns, rows;
    struct cell cells[ROWS_MAX][COLUMNS_MAX];
};

static char series_letter(size_t series) { return "*+ox#@%&=~^$!?"[series % 14]; }

static const char *series_colour(const struct plot_screen *screen, size_t series) {
    static const char *const escapes[] = {"\033[32m", "\033[36m", "\033[33m",
                                          "\033[35m", "\033[34m", "\033[31m"};
    return screen->colour ? escapes[series % (sizeof escapes / sizeof escapes[0])] : "";
}

static const char *style(const struct plot_screen *screen, const char *escape) {
    return screen->colour ? escape : "";
}

/* ---- the grid */

static void grid_dot(struct grid *g, double right, double up, size_t series, bool mark) {
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (!(right >= 0 && right <= 1 && up >= 0 && up <= 1)) return;
    const unsigned x = (unsigned)(right * (2 * g->columns - 1) + 0.5);
    const unsigned y = (unsigned)((1 - up) * (4 * g->rows - 1) + 0.5);
    struct cell *cell = &g->cells[y / 4][x / 2];
    cell->dots = (uint8_t)(cell->dots | bits[y % 4][x % 2]);
    if (mark || cell->letter == 0) cell->series = (uint8_t)series;
    if (mark) cell->letter = series_letter(series);
}

static void grid_line(struct grid *g, const struct plot *plot, size_t series) {
    const struct plot_series *s = &plot->series[series];
    const bool letters = !g->screen->utf8;
    double x0 = 0, y0 = 0;
    for (size_t i = 0; i < s->count; i++) {
        const double x = axis_position(&plot->x, s->x[i]), y = axis_position(&plot->y, s->y[i]);
        const double steps =
            i == 0 ? 0 : ceil(fmax(fabs(x - x0) * 2 * g->columns, fabs(y - y0) * 4 * g->rows));
        for (double t = 1; t < steps; t++) {
            if (s->dashed && ((int)(x0 * 2 * g->columns + t) & 3) > 1) continue;
            grid_dot(g, x0 + (x - x0) * t / steps, y0 + (y - y0) * t / steps, series, letters);
        }
        grid_dot(g, x, y, series, letters || axis_marks(plot, series, i));
        x0 = x;
        y0 = y;
    }
}

static void print_cell(const struct grid *g, const struct cell *cell, FILE *to) {
    if (cell->dots == 0) {
        fputc(' ', to);
        return;
    }
    fputs(series_colour(g->screen, cell->series), to);
    if (cell->letter != 0) {
        fputc(cell->letter, to);
    } else {
        fprintf(to, "\xe2%c%c", (char)(0xa0 | cell->dots >> 6), (char)(0x80 | (cell->dots & 0x3f)));
    }
    fputs(style(g->screen, "\033[0m"), to);
}

/* ---- around it */

/* The tick of this row, or "". */
static void row_label(const struct plot *plot, unsigned row, unsigned rows, char *text,
                      size_t size) {
    double ticks[AXIS_TICKS_MAX];
    const size_t count = axis_ticks(&plot->y, ticks);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const double up = axis_position(&plot->y, ticks[i]);
        if ((unsigned)((1 - up) * (rows - 1) + 0.5) == row) axis_tick_text(ticks[i], text, size);
    }
}

static void print_rows(const struct grid *g, const struct plot *plot, FILE *to) {
    for (unsigned row = 0; row < g->rows; row++) {
        char label[24];
        row_label(plot, row, g->rows, label, sizeof label);
        fprintf(to, "%7s %s", label, !g->screen->utf8 ? "|" : label[0] != '\0' ? "┤" : "│");
        unsigned last = g->columns;
        while (last > 0 && g->cells[row][last - 1].dots == 0) last--;
        for (unsigned column = 0; column < last; column++) {
            print_cell(g, &g->cells[row][column], to);
        }
        fputc('\n', to);
    }
}

static void print_x_axis(const struct grid *g, const struct plot *plot, FILE *to) {
    char line[COLUMNS_MAX + 32];
    double ticks[AXIS_TICKS_MAX];
    const size_t count = axis_ticks(&plot->x, ticks);
    fprintf(to, "%8s%s", "", g->screen->utf8 ? "└" : "+");
    for (unsigned i = 0; i < g->columns; i++) fputs(g->screen->utf8 ? "─" : "-", to);
    memset(line, ' ', sizeof line);
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        axis_tick_text(ticks[i], text, sizeof text);
        const size_t at = (size_t)(axis_position(&plot->x, ticks[i]) * (g->columns - 1) + 0.5);
        if (end != 0 && at < end + 2) continue;
        memcpy(line + at, text, strlen(text));
        end = at + strlen(text);
    }
    fprintf(to, "\n%9s%.*s\n%9s%s%s%s\n", "", (int)end, line, "", style(g->screen, "\033[2m"),
            plot->x.title, style(g->screen, "\033[0m"));
}

static void print_legend(const struct grid *g, const struct plot *plot, FILE *to) {
    size_t order[PLOT_SERIES_MAX], column = 9;
    const size_t count = axis_legend(plot, order);
    fprintf(to, "%9s", "");
    for (size_t i = 0; i < count; i++) {
        const struct plot_series *s = &plot->series[order[i]];
        const char *line = !g->screen->utf8 ? "" : s->dashed ? "╌" : "─";
        const size_t width = strlen(s->name) + 6;
        if (column > 9 && column + width > g->columns + 9) {
            fprintf(to, "\n%9s", "");
            column = 9;
        }
        fprintf(to, "%s%s%c%s%s %s%s", series_colour(g->screen, order[i]), line,
                series_letter(order[i]), line, style(g->screen, "\033[0m"), s->name,
                i + 1 < count ? "  " : "");
        column += width;
    }
    fputc('\n', to);
}

void plot_text(struct plot *plot, const struct plot_screen *screen, FILE *to) {
    struct grid g;
    memset(&g, 0, sizeof g);
    g.screen = screen;
    g.columns = screen->columns < COLUMNS_MAX ? screen->columns : COLUMNS_MAX;
    g.rows = screen->rows < ROWS_MAX ? screen->rows : ROWS_MAX;
    axis_fit(plot);
    for (size_t s = 0; s < plot->count; s++) grid_line(&g, plot, s);
    const char *plain = style(screen, "\033[0m");
    fprintf(to, "%s%s%s\n%s%8s%s\n", style(screen, "\033[1m"), plot->title, plain,
            style(screen, "\033[2m"), plot->y.title, plain);
    print_rows(&g, plot, to);
    print_x_axis(&g, plot, to);
    print_legend(&g, plot, to);
}
