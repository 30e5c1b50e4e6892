/* draw.c - the plots: lookup time by size for each n; lookup and fill time by n */
#include <ctype.h>
#include <string.h>

#include "plot.h"
#include "report.h"

/* A second setting of one of our kinds ("fuse3-8", "cuckoo-0.18%"), omitted from the plots. */
static bool is_variant(const struct bench_row *row) {
    const char *dash = strchr(row->name, '-');
    return row->ours && dash != NULL && isdigit((unsigned char)dash[1]);
}

static bool is_shared(const struct bench_row *row) { return strstr(row->name, "-shared") != NULL; }

/* The series of a row.  All plots add all rows in the same order, so that a filter looks the same
 * in each of them. */
static struct plot_series *series_of(struct plot *p, const struct bench_row *row) {
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->series[i].name, row->name) == 0) return &p->series[i];
    }
    return plot_series(p, row->name, !row->ours);
}

static void add_all_series(struct plot *p, const struct bench_results *results) {
    p->count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (!is_shared(row) && !is_variant(row)) series_of(p, row);
    }
}

static bool write_plot(struct plot *p, const char *directory, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.svg", directory, name);
    FILE *out = fopen(path, "w");
    if (out == NULL) return false;
    plot_svg(p, 1, out);
    return fclose(out) == 0;
}

/* The batch where there is one. */
static double lookup_time(const struct bench_row *row) {
    const double batch = row->time[OP_MISS_BATCH][0].best;
    return batch > 0 ? batch : row->time[OP_MISS][0].best;
}

static double fill_time(const struct bench_row *row) {
    const enum bench_operation ways[] = {OP_ADD_BATCH, OP_ADD, OP_BUILD};
    for (size_t i = 0; i < 3; i++) {
        if (row->time[ways[i]][0].best > 0) return row->time[ways[i]][0].best;
    }
    return 0;
}

/* A Java virtual machine uses small pages. */
static bool is_drawn(const struct bench_row *row) {
    const bool guava = strcmp(row->name, "guava") == 0;
    return row->sort == SORT_WORDS && (guava || bench_has_pages(row, PAGES_HUGE));
}

/* Few contenders make no plot; a table with ribbon has all kinds. */
static bool whole_table(const struct bench_results *results, size_t n) {
    return bench_find(results, "ribbon", SORT_WORDS, n, PAGES_HUGE) != NULL;
}

static bool draw_space(const char *directory, const struct bench_results *results, size_t n) {
    static struct plot p;
    char title[96], name[64], count[32];
    bench_count_text(count, sizeof count, n);
    snprintf(title, sizeof title, "Lookup time of an absent key by size, %s keys", count);
    snprintf(name, sizeof name, "space-%zu", n);
    p.title = title;
    p.x = (struct plot_axis){"size, bits per key", true, 0, 0};
    p.y = (struct plot_axis){"nanoseconds per key, in batches if possible", true, 0, 0};
    add_all_series(&p, results);
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (!is_drawn(row) || row->n != n || is_shared(row)) continue;
        plot_point(&p, series_of(&p, row), row->bits_per_key, lookup_time(row));
    }
    return write_plot(&p, directory, name);
}

static bool draw_time(const char *directory, const struct bench_results *results,
                      double (*time)(const struct bench_row *), const char *title,
                      const char *name) {
    static struct plot p;
    p.title = title;
    p.x = (struct plot_axis){"keys in the filter", true, 0, 0};
    p.y = (struct plot_axis){"nanoseconds per key, in batches if possible", true, 0, 0};
    add_all_series(&p, results);
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (!is_drawn(row) || !whole_table(results, row->n)) continue;
        if (is_shared(row) || is_variant(row)) continue;
        plot_point(&p, series_of(&p, row), (double)row->n, time(row));
    }
    return write_plot(&p, directory, name);
}

bool bench_draw(const char *directory, const struct bench_results *results) {
    bool good = draw_time(directory, results, lookup_time, "Lookup time of an absent key", "miss");
    good =
        draw_time(directory, results, fill_time, "Time to add or build, per key", "fill") && good;
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (strcmp(row->name, "ribbon") != 0 || !is_drawn(row)) continue;
        good = draw_space(directory, results, row->n) && good;
    }
    return good;
}
