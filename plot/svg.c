/* svg.c - plots as SVG: plain shapes and text on a white ground, no script */
#include <math.h>
#include <string.h>

#include "axis.h"

#define WIDTH 780.0
#define HEIGHT 460.0
#define LEFT 64.0
#define RIGHT 170.0 /* the legend */
#define TOP 44.0
#define BOTTOM 56.0
#define LEGEND_STEP 18.0

/* Okabe and Ito's palette for colour-blind readers, its yellow replaced by violet, and grey.
 * Nine colours and eight marks: 72 series differ in one or the other. */
static const char *series_colour(size_t series) {
    static const char *const colours[] = {"#009e73", "#56b4e9", "#e69f00", "#cc79a7", "#0072b2",
                                          "#d55e00", "#000000", "#7b3fb5", "#7f7f7f"};
    return colours[series % (sizeof colours / sizeof colours[0])];
}

static const char *series_mark(size_t series) {
    static const char *const marks[] = {
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",                          /* circle */
        "M-3.6-3.6h7.2v7.2h-7.2z",                                     /* square */
        "M0-5L4.6 3.2H-4.6z",                                          /* triangle */
        "M0-5.4L4.4 0L0 5.4L-4.4 0z",                                  /* diamond */
        "M0 5L4.6-3.2H-4.6z",                                          /* triangle, down */
        "M-1.4-4.8h2.8v3.4h3.4v2.8h-3.4v3.4h-2.8v-3.4h-3.4v-2.8h3.4z", /* plus */
        "M-4.4-2.4L-2.4-4.4L0-2L2.4-4.4L4.4-2.4L2 0L4.4 2.4L2.4 4.4L0 2L-2.4 4.4L-4.4 2.4L-2 0z",
        "M0-5.6L1.5-1.8L5.5-1.7L2.4 .9L3.4 4.8L0 2.6L-3.4 4.8L-2.4 .9L-5.5-1.7L-1.5-1.8z"};
    return marks[series % (sizeof marks / sizeof marks[0])];
}

/* A series among the others of its plot. */
struct look {
    const char *colour, *mark, *dashes;
    bool hollow;
};

static struct look look_of(const struct plot *plot, size_t series) {
    static const char *const dashes[] = {"6 4", "2 3", "9 3 2 3"};
    const bool dashed = plot->series[series].dashed;
    return (struct look){series_colour(series), series_mark(series),
                         dashed ? dashes[series % 3] : "none", dashed};
}

static double svg_x(const struct plot *plot, double x) {
    return LEFT + axis_position(&plot->x, x) * (WIDTH - LEFT - RIGHT);
}
static double svg_y(const struct plot *plot, double y) {
    return HEIGHT - BOTTOM - axis_position(&plot->y, y) * (HEIGHT - TOP - BOTTOM);
}

static void escaped(FILE *to, const char *text) {
    for (; *text != '\0'; text++) {
        const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (*text == '&') entity = "&amp;";
        if (entity != NULL) {
            fputs(entity, to);
        } else {
            fputc(*text, to);
        }
    }
}

/* `attributes`: "", or further attributes with a blank in front. */
static void text_at(FILE *to, double x, double y, const char *attributes, const char *text) {
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    escaped(to, text);
    fputs("</text>\n", to);
}

static void grid_line(FILE *to, double x1, double y1, double x2, double y2) {
    fprintf(to, "<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2);
}

static void draw_axes(const struct plot *plot, FILE *to) {
    double ticks[AXIS_TICKS_MAX];
    char label[24], turned[96];
    size_t count = axis_ticks(&plot->x, ticks);
    for (size_t i = 0; i < count; i++) {
        const double x = svg_x(plot, ticks[i]);
        axis_tick_text(ticks[i], label, sizeof label);
        grid_line(to, x, TOP, x, HEIGHT - BOTTOM);
        text_at(to, x, HEIGHT - BOTTOM + 18, " text-anchor=\"middle\"", label);
    }
    count = axis_ticks(&plot->y, ticks);
    for (size_t i = 0; i < count; i++) {
        const double y = svg_y(plot, ticks[i]);
        axis_tick_text(ticks[i], label, sizeof label);
        grid_line(to, LEFT, y, WIDTH - RIGHT, y);
        text_at(to, LEFT - 8, y + 4, " text-anchor=\"end\"", label);
    }
    const double middle = (TOP + HEIGHT - BOTTOM) / 2;
    text_at(to, LEFT, 24, " class=\"title\"", plot->title);
    text_at(to, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, " text-anchor=\"middle\"", plot->x.title);
    snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 16 %.1f)\"",
             middle);
    text_at(to, 16, middle, turned, plot->y.title);
}

static void draw_mark(FILE *to, double x, double y, const struct look *look) {
    fprintf(to,
            "<path transform=\"translate(%.1f %.1f)\" fill=\"%s\" stroke=\"%s\" "
            "stroke-width=\"1.3\" d=\"%s\"/>\n",
            x, y, look->hollow ? "#fff" : look->colour, look->colour, look->mark);
}

static void draw_series(const struct plot *plot, size_t series, FILE *to) {
    const struct plot_series *s = &plot->series[series];
    const struct look look = look_of(plot, series);
    if (s->count > 1) {
        fprintf(to, "<path class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"", look.colour,
                look.dashes);
        for (size_t i = 0; i < s->count; i++) {
            fprintf(to, "%c%.1f %.1f", i > 0 ? 'L' : 'M', svg_x(plot, s->x[i]),
                    svg_y(plot, s->y[i]));
        }
        fputs("\"/>\n", to);
    }
    for (size_t i = 0; i < s->count; i++) {
        if (!axis_marks(plot, series, i)) continue;
        draw_mark(to, svg_x(plot, s->x[i]), svg_y(plot, s->y[i]), &look);
    }
}

static void draw_legend(const struct plot *plot, FILE *to) {
    size_t order[PLOT_SERIES_MAX];
    const size_t count = axis_legend(plot, order);
    const double step = fmin(LEGEND_STEP, (HEIGHT - TOP - 8) / (double)(count > 0 ? count : 1));
    for (size_t i = 0; i < count; i++) {
        const double x = WIDTH - RIGHT + 12, y = TOP + 6 + step * (double)i;
        const struct look look = look_of(plot, order[i]);
        if (plot->series[order[i]].count > 1) {
            fprintf(to,
                    "<path class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\" "
                    "d=\"M%.1f %.1fh26\"/>\n",
                    look.colour, look.dashes, x, y);
        }
        draw_mark(to, x + 13, y, &look);
        text_at(to, x + 32, y + 4, "", plot->series[order[i]].name);
    }
}

/* ---- names beside single points */

struct box {
    double x, y, width, height;
};

static bool overlap(const struct box *a, const struct box *b) {
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static bool is_free(const struct box *box, const struct box *taken, size_t count) {
    if (box->x < LEFT || box->x + box->width > WIDTH - RIGHT || box->y < TOP) return false;
    for (size_t i = 0; i < count; i++) {
        if (overlap(box, &taken[i])) return false;
    }
    return true;
}

/* Writes the name beside its point where there is room: right, left, above or below.  A name
 * without room is in the legend only. */
static void draw_names(const struct plot *plot, FILE *to) {
    struct box taken[2 * PLOT_SERIES_MAX];
    size_t count = 0;
    for (size_t s = 0; s < plot->count; s++) {
        if (plot->series[s].count != 1) continue;
        taken[count++] = (struct box){svg_x(plot, plot->series[s].x[0]) - 6,
                                      svg_y(plot, plot->series[s].y[0]) - 6, 12, 12};
    }
    const size_t points = count;
    for (size_t s = 0, point = 0; s < plot->count && point < points; s++) {
        if (plot->series[s].count != 1) continue;
        const struct box *at = &taken[point++];
        const double width = 6.4 * (double)strlen(plot->series[s].name), height = 13;
        const double right = at->x + 14, left = at->x - 2 - width, middle = at->x + 6 - width / 2;
        const struct box places[] = {
            {right, at->y, width, height},       {left, at->y, width, height},
            {middle, at->y - 13, width, height}, {middle, at->y + 12, width, height},
            {at->x, at->y - 13, width, height},  {at->x, at->y + 12, width, height}};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (!is_free(&places[i], taken, count)) continue;
            text_at(to, places[i].x, places[i].y + 10, " class=\"name\"", plot->series[s].name);
            taken[count++] = places[i];
            break;
        }
    }
}

void plot_svg(struct plot *plots, size_t count, FILE *to) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.title{font-size:15px;font-weight:bold}.name{font-size:11px;fill:#444}"
            ".grid{stroke:#ddd}.line{fill:none;stroke-width:1.8}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT * (double)count);
    for (size_t p = 0; p < count; p++) {
        axis_fit(&plots[p]);
        fprintf(to, "<g transform=\"translate(0 %.0f)\">\n", HEIGHT * (double)p);
        draw_axes(&plots[p], to);
        for (size_t s = 0; s < plots[p].count; s++) draw_series(&plots[p], s, to);
        draw_names(&plots[p], to);
        draw_legend(&plots[p], to);
        fputs("</g>\n", to);
    }
    fputs("</svg>\n", to);
}
