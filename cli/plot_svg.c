/* plot_svg.c - plots as SVG: plain shapes and text, no script, readable on white and on black */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "interrupt.h"
#include "plot_axis.h"

#define WIDE 640.0
#define HIGH 400.0
#define LEFT 64.0
#define RIGHT 132.0
#define TOP 40.0
#define BOTTOM 56.0

/* Told apart by people who see fewer colours (Okabe and Ito's palette with a darker yellow, and
 * a violet).  One for each kind of filter, and grey for what comes after them. */
static const char *series_colour(size_t series) {
    static const char *const colours[] = {"#009e73", "#56b4e9", "#e69f00", "#cc79a7", "#0072b2",
                                          "#d55e00", "#8c7a00", "#9467bd", "#7f7f7f"};
    return colours[series % (sizeof colours / sizeof colours[0])];
}

static double svg_x(const struct plot *plot, double x) {
    return LEFT + axis_place(&plot->x, x) * (WIDE - LEFT - RIGHT);
}
static double svg_y(const struct plot *plot, double y) {
    return HIGH - BOTTOM - axis_place(&plot->y, y) * (HIGH - TOP - BOTTOM);
}

static void svg_text(FILE *to, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
            case '<':
                fputs("&lt;", to);
                break;
            case '>':
                fputs("&gt;", to);
                break;
            case '&':
                fputs("&amp;", to);
                break;
            default:
                fputc(*text, to);
        }
    }
}

static void svg_axes(const struct plot *plot, FILE *to) {
    double ticks[32];
    char label[24];
    size_t count = axis_ticks(&plot->x, ticks, 32);
    for (size_t i = 0; i < count; i++) {
        const double x = svg_x(plot, ticks[i]);
        axis_tick_text(&plot->x, ticks[i], label, sizeof label);
        fprintf(to,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                x, TOP, x, HIGH - BOTTOM, x, HIGH - BOTTOM + 16, label);
    }
    count = axis_ticks(&plot->y, ticks, 32);
    for (size_t i = 0; i < count; i++) {
        const double y = svg_y(plot, ticks[i]);
        axis_tick_text(&plot->y, ticks[i], label, sizeof label);
        fprintf(to,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDE - RIGHT, y, LEFT - 6, y + 4, label);
    }
    fprintf(to, "<text class=\"title\" x=\"%.1f\" y=\"22\">", LEFT);
    svg_text(to, plot->title);
    fprintf(to, "</text>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
            (LEFT + WIDE - RIGHT) / 2, HIGH - 16);
    svg_text(to, plot->x.label);
    fprintf(to,
            "</text>\n<text text-anchor=\"middle\" transform=\"translate(18 %.1f) rotate(-90)\">",
            (TOP + HIGH - BOTTOM) / 2);
    svg_text(to, plot->y.label);
    fputs("</text>\n", to);
}

static void svg_series(const struct plot *plot, size_t index, size_t legend_row, FILE *to) {
    const struct series *s = &plot->series[index];
    const char *colour = series_colour(index);
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
            s->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (size_t i = 0; i < s->count; i++) {
        fprintf(to, "%s%.1f,%.1f", i > 0 ? " " : "", svg_x(plot, s->x[i]), svg_y(plot, s->y[i]));
    }
    fputs("\"/>\n", to);
    if (s->count == 1) {
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", svg_x(plot, s->x[0]),
                svg_y(plot, s->y[0]), colour);
    }
    const double y = TOP + 8 + 18 * (double)legend_row, x = WIDE - RIGHT + 14;
    fprintf(to,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\"%s/><text x=\"%.1f\" y=\"%.1f\">",
            x, y, x + 20, y, colour, s->dashed ? " stroke-dasharray=\"6 4\"" : "", x + 26, y + 4);
    svg_text(to, s->name);
    fputs("</text>\n", to);
}

static void svg_write(struct plot *plots, size_t count, FILE *to) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>text{fill:#444}.title{font-size:15px;font-weight:bold}"
            ".grid{stroke:#888;stroke-opacity:.25}"
            "@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>\n",
            WIDE, HIGH * (double)count);
    for (size_t p = 0; p < count; p++) {
        size_t row = 0;
        plot_fit(&plots[p]);
        fprintf(to, "<g transform=\"translate(0 %.0f)\">\n", HIGH * (double)p);
        svg_axes(&plots[p], to);
        for (size_t s = 0; s < plots[p].count; s++) {
            if (plots[p].series[s].count != 0) svg_series(&plots[p], s, row++, to);
        }
        fputs("</g>\n", to);
    }
    fputs("</svg>\n", to);
}

const char *plot_file(const char *name) {
    if (name[0] == '\0') die("--svg: the name of the file is empty");
    if (strcmp(name, "-") == 0) die("--svg needs a file: standard output is for the numbers");
    return name;
}

/* A file is replaced in one step, by a temporary that ends in .part; a device or a link
 * is written to. */
void plot_svg(struct plot *plots, size_t count, const char *path) {
    struct stat status;
    const bool file = lstat(path, &status) != 0 || S_ISREG(status.st_mode);
    char *part = (char *)need(strlen(path) + 6);
    sprintf(part, "%s%s", path, file ? ".part" : "");
    if (file) interrupt_saving(path);
    if (file) unlink(part); /* that a crash has left, or a trap */
    FILE *to = fopen(part, file ? "wx" : "w");
    bool good = to != NULL;
    if (good) {
        svg_write(plots, count, to);
        good = fflush(to) == 0 && ferror(to) == 0;
        if (good && file) good = fsync(fileno(to)) == 0 && rename(part, path) == 0;
    }
    const int why = errno;
    if (!good && file && to != NULL) unlink(part);
    if (to != NULL) fclose(to); /* not before: a signal removes the temporary that is open */
    interrupt_saved();
    free(part);
    if (!good) die("cannot write '%s': %s", path, strerror(why));
}
