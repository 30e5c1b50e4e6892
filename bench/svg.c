/* svg.c - the plots: time against space for each n, and time against n */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define WIDTH 760.0
#define HEIGHT 480.0
#define LEFT 64.0
#define RIGHT 150.0 /* room for names */
#define TOP 40.0
#define BOTTOM 48.0
#define LABEL_STEP 13.0
#define SERIES_MAX 64
#define POINTS_MAX 8

struct series {
    const char *name;
    bool ours;
    size_t count;
    double x[POINTS_MAX], y[POINTS_MAX];
};

struct plot {
    const char *title, *x_name, *y_name;
    bool x_log;
    struct series series[SERIES_MAX];
    size_t count;
    double x_low, x_high, y_low, y_high;
};

static struct series *series_of(struct plot *p, const struct bench_row *row) {
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->series[i].name, row->name) == 0) return &p->series[i];
    }
    if (p->count == SERIES_MAX) return NULL;
    p->series[p->count] = (struct series){.name = row->name, .ours = row->ours};
    return &p->series[p->count++];
}

static void add_point(struct plot *p, const struct bench_row *row, double x, double y) {
    struct series *s = y > 0 && x > 0 ? series_of(p, row) : NULL;
    if (s == NULL || s->count == POINTS_MAX) return;
    s->x[s->count] = x;
    s->y[s->count++] = y;
}

static void find_range(struct plot *p) {
    p->x_low = p->y_low = INFINITY;
    p->x_high = p->y_high = 0;
    for (size_t i = 0; i < p->count; i++) {
        for (size_t j = 0; j < p->series[i].count; j++) {
            p->x_low = fmin(p->x_low, p->series[i].x[j]);
            p->x_high = fmax(p->x_high, p->series[i].x[j]);
            p->y_low = fmin(p->y_low, p->series[i].y[j]);
            p->y_high = fmax(p->y_high, p->series[i].y[j]);
        }
    }
    p->y_low /= 1.3;
    p->y_high *= 1.3;
    if (!p->x_log) {
        p->x_low = floor(p->x_low - 0.5);
        p->x_high = ceil(p->x_high + 0.5);
    }
}

static double x_of(const struct plot *p, double x) {
    const double share = p->x_log ? log(x / p->x_low) / fmax(log(p->x_high / p->x_low), 1e-9)
                                  : (x - p->x_low) / (p->x_high - p->x_low);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct plot *p, double y) {
    return HEIGHT - BOTTOM -
           log(y / p->y_low) / log(p->y_high / p->y_low) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(FILE *out, const struct plot *p) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%g\" y=\"22\" font-size=\"15\">%s</text>\n"
            "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n"
            "<text x=\"14\" y=\"%g\" transform=\"rotate(-90 14 %g)\" "
            "text-anchor=\"middle\">%s</text>\n",
            WIDTH, HEIGHT, LEFT, p->title, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, p->x_name,
            (TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2, p->y_name);
    static const double steps[] = {1, 2, 5};
    for (int power = -2; power < 5; power++) {
        for (size_t i = 0; i < 3; i++) {
            const double y = steps[i] * pow(10, power);
            if (y < p->y_low || y > p->y_high) continue;
            fprintf(out,
                    "<path d=\"M%g %.1fH%g\" stroke=\"#ddd\"/>"
                    "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                    LEFT, y_of(p, y), WIDTH - RIGHT, LEFT - 6, y_of(p, y) + 4, y);
        }
    }
    const double step = p->x_high - p->x_low > 24 ? 5 : 1;
    for (double x = p->x_low; x <= p->x_high * 1.0001; x = p->x_log ? x * 10 : x + step) {
        char text[32];
        snprintf(text, sizeof text, "%g", x);
        if (p->x_log) bench_count_text(text, sizeof text, (size_t)(x + 0.5));
        fprintf(out,
                "<path d=\"M%.1f %gV%g\" stroke=\"#eee\"/>"
                "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
                x_of(p, x), TOP, HEIGHT - BOTTOM, x_of(p, x), HEIGHT - BOTTOM + 16, text);
    }
}

static double last_y(const struct plot *p, const struct series *s) {
    return y_of(p, s->y[s->count - 1]);
}

/* Names stand at the right in the order of their last points, pushed apart where they would
 * cover each other, each with a thread to its point. */
static void draw_names(FILE *out, const struct plot *p) {
    size_t order[SERIES_MAX];
    for (size_t i = 0; i < p->count; i++) {
        size_t at = i;
        for (; at > 0 && last_y(p, &p->series[order[at - 1]]) > last_y(p, &p->series[i]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    double y = TOP - LABEL_STEP;
    for (size_t i = 0; i < p->count; i++) {
        const struct series *s = &p->series[order[i]];
        const double room = HEIGHT - 6 - LABEL_STEP * (double)(p->count - 1 - i);
        y = fmin(fmax(last_y(p, s), y + LABEL_STEP), room);
        fprintf(out,
                "<path d=\"M%.1f %.1fL%g %.1f\" stroke=\"#ccc\" stroke-dasharray=\"2 2\"/>"
                "<text x=\"%g\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
                x_of(p, s->x[s->count - 1]), last_y(p, s), WIDTH - RIGHT + 14, y,
                WIDTH - RIGHT + 18, y + 4, s->ours ? "#0a5c8a" : "#a04000", s->name);
    }
}

static bool write_plot(struct plot *p, const char *directory, const char *name) {
    char path[4096];
    if (p->count == 0) return true;
    find_range(p);
    snprintf(path, sizeof path, "%s/%s.svg", directory, name);
    FILE *out = fopen(path, "w");
    if (out == NULL) return false;
    draw_axes(out, p);
    draw_names(out, p);
    for (size_t i = 0; i < p->count; i++) {
        const struct series *s = &p->series[i];
        const char *colour = s->ours ? "#0a5c8a" : "#a04000";
        fprintf(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colour);
        for (size_t j = 0; j < s->count; j++) {
            fprintf(out, "%c%.1f %.1f", j > 0 ? 'L' : 'M', x_of(p, s->x[j]), y_of(p, s->y[j]));
        }
        fprintf(out, "\"/>\n");
        for (size_t j = 0; j < s->count; j++) {
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
                    x_of(p, s->x[j]), y_of(p, s->y[j]), colour);
        }
    }
    fprintf(out, "</svg>\n");
    return fclose(out) == 0;
}

/* The best way that a contender has. */
static double best_question(const struct bench_row *row) {
    const double batch = row->time[OP_MISS_BATCH][0].best;
    return batch > 0 ? batch : row->time[OP_MISS][0].best;
}

static double best_filling(const struct bench_row *row) {
    const enum bench_operation ways[] = {OP_ADD_BATCH, OP_ADD, OP_BUILD};
    for (size_t i = 0; i < 3; i++) {
        if (row->time[ways[i]][0].best > 0) return row->time[ways[i]][0].best;
    }
    return 0;
}

/* The table with a single contender for a few is no plot. */
static bool whole_table(const struct bench_results *results, size_t n) {
    return bench_find(results, "ribbon", SORT_WORDS, n) != NULL;
}

static bool draw_space(const char *directory, const struct bench_results *results, size_t n) {
    static struct plot p;
    char title[96], name[64], count[32];
    bench_count_text(count, sizeof count, n);
    snprintf(title, sizeof title, "Asking for an absent key, %s keys in the filter", count);
    snprintf(name, sizeof name, "space-%zu", n);
    p = (struct plot){.title = title,
                      .x_name = "bits per key",
                      .y_name = "nanoseconds, batch where there is one"};
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (row->sort != SORT_WORDS || row->n != n || strstr(row->name, "-shared")) continue;
        add_point(&p, row, row->bits_per_key, best_question(row));
    }
    return write_plot(&p, directory, name);
}

static bool draw_cost(const char *directory, const struct bench_results *results,
                      double (*cost)(const struct bench_row *), const char *title,
                      const char *name) {
    static struct plot p;
    p = (struct plot){.title = title,
                      .x_name = "keys in the filter",
                      .x_log = true,
                      .y_name = "nanoseconds, batch where there is one"};
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (row->sort != SORT_WORDS || !whole_table(results, row->n) ||
            strstr(row->name, "-shared")) {
            continue;
        }
        add_point(&p, row, (double)row->n, cost(row));
    }
    return write_plot(&p, directory, name);
}

bool bench_draw(const char *directory, const struct bench_results *results) {
    bool good = draw_cost(directory, results, best_question, "Asking for an absent key", "miss") &&
                draw_cost(directory, results, best_filling, "Adding or building, per key", "fill");
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (strcmp(row->name, "ribbon") != 0 || row->sort != SORT_WORDS) continue;
        good = draw_space(directory, results, row->n) && good;
    }
    return good;
}
