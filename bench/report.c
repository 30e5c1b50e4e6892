/* report.c - the results as tables and JSON */
#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"
#include "tamis.h"

void bench_count_text(char *text, size_t size, size_t n) {
    size_t power = 1;
    for (unsigned i = 0; i < 19; i++, power *= 10) {
        if (power == n) {
            snprintf(text, size, "10^%u", i);
            return;
        }
    }
    for (unsigned i = 10; i < 63; i++) {
        if ((size_t)1 << i == n) {
            snprintf(text, size, "2^%u", i);
            return;
        }
    }
    snprintf(text, size, "%zu", n);
}

void bench_print_machine(FILE *out, unsigned repeats) {
    char processor[256], date[32];
    const time_t now = time(NULL);
    bench_processor(processor);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out,
            "tamis %s, %s, %s.\n"
            "Compiled by %s.\n"
            "Nanoseconds per key: best (median) of %u rounds, CPU time of the thread, pinned;\n"
            "all contenders interleaved in one process, in another order every time, each warm.\n",
            tamis_version(), processor, date, bench_compiler(), repeats);
    fflush(out);
}

/* ---- tables */

static void cell(FILE *out, const struct bench_figure *f) {
    if (f->best == 0) {
        fprintf(out, " - |");
    } else if (f->best < 10) {
        fprintf(out, " %.2f (%.2f) |", f->best, f->median);
    } else {
        fprintf(out, " %.1f (%.1f) |", f->best, f->median);
    }
}

static void times_cell(FILE *out, const struct bench_figure *f, const struct bench_figure *limit) {
    if (f->best == 0 || limit->best == 0) {
        fprintf(out, " - |");
    } else {
        fprintf(out, " %.2f |", f->best / limit->best);
    }
}

static const struct bench_figure *batch_or_single(const struct bench_row *row,
                                                  enum bench_operation batch,
                                                  enum bench_operation single) {
    return row->time[batch][0].best > 0 ? &row->time[batch][0] : &row->time[single][0];
}

static void space_row(FILE *out, const struct bench_row *row) {
    fprintf(out, "| %s | %s | %.2f | %.4g %% | %+.1f %% |", row->name,
            row->path[0] != '\0' ? row->path : "-", row->bits_per_key, 100 * row->fpr,
            100 * row->over_bound);
    cell(out, &row->time[OP_BUILD][0]);
    cell(out, &row->time[OP_BUILD][1]);
    cell(out, &row->time[OP_ADD][0]);
    cell(out, &row->time[OP_ADD_BATCH][0]);
    cell(out, &row->time[OP_ADD_BATCH][1]);
    times_cell(out, batch_or_single(row, OP_ADD_BATCH, OP_ADD), &row->limit_write);
    cell(out, &row->time[OP_REMOVE][0]);
    cell(out, &row->time[OP_REMOVE_BATCH][0]);
    if (row->peak_bytes > 0 && row->n >= 100000) {
        fprintf(out, " %.1f |\n", row->peak_bytes / (double)row->n);
    } else {
        fprintf(out, " - |\n");
    }
}

static void lookup_row(FILE *out, const struct bench_row *row) {
    fprintf(out, "| %s |", row->name);
    cell(out, &row->time[OP_HIT][0]);
    cell(out, &row->time[OP_MISS][0]);
    cell(out, &row->time[OP_MIXED][0]);
    cell(out, &row->time[OP_HIT_BATCH][0]);
    cell(out, &row->time[OP_MISS_BATCH][0]);
    cell(out, &row->time[OP_MIXED_BATCH][0]);
    cell(out, &row->time[OP_MISS][1]);
    cell(out, &row->time[OP_MISS_BATCH][1]);
    cell(out, &row->limit_read);
    times_cell(out, batch_or_single(row, OP_MISS_BATCH, OP_MISS), &row->limit_read);
    fprintf(out, "\n");
}

static const char space_head[] =
    "| filter | path | bits/key | FPR | over the bound | build | build, 2 threads | add | add, "
    "batch "
    "| add, batch, 2 threads | times the limit | remove | remove, batch | peak bytes/key |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
static const char lookup_head[] =
    "| filter | hit | miss | 50/50 | hit, batch | miss, batch | 50/50, batch | miss, 2 threads "
    "| miss, batch, 2 threads | limit | times the limit |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n";

static void print_rows(FILE *out, const struct bench_results *results, const struct bench_row *like,
                       void (*print)(FILE *out, const struct bench_row *row)) {
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        if (row->printed || row->n != like->n || row->sort != like->sort) continue;
        if (row->pages == like->pages) print(out, row);
    }
}

void bench_print_tables(FILE *out, struct bench_results *results, const struct bench_row *like) {
    char n[32];
    const bool both = like->n >= PAGES_MATTER;
    bench_count_text(n, sizeof n, like->n);
    fprintf(out, "\n### %s %s keys%s%s, %u rounds: space, builds, adds, removes\n\n%s", n,
            bench_sort_name[like->sort], both ? ", " : "",
            both ? bench_pages_name[like->pages] : "", like->rounds, space_head);
    print_rows(out, results, like, space_row);
    if (like->limit_read.count > 0) {
        fprintf(out, "\n### %s %s keys%s%s, %u rounds: lookups\n\n%s", n,
                bench_sort_name[like->sort], both ? ", " : "",
                both ? bench_pages_name[like->pages] : "", like->rounds, lookup_head);
        print_rows(out, results, like, lookup_row);
    }
    fflush(out);
    for (size_t i = 0; i < results->count; i++) {
        struct bench_row *row = &results->rows[i];
        if (row->n == like->n && row->sort == like->sort && row->pages == like->pages) {
            row->printed = true;
        }
    }
}

/* ---- JSON */

static void json_figure(FILE *out, const char *name, const struct bench_figure *f) {
    if (f->best == 0) return;
    fprintf(out, ", \"%s\": {\"best\": %.4g, \"median\": %.4g", name, f->best, f->median);
    fprintf(out, "}");
}

void bench_print_json(FILE *out, const struct bench_results *results) {
    char processor[256];
    bench_processor(processor);
    fprintf(out,
            "{\"version\": \"%s\", \"machine\": \"%s\", \"compiler\": \"%s\", \"unit\": "
            "\"nanoseconds per key\", \"rows\": [",
            tamis_version(), processor, bench_compiler());
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        fprintf(out,
                "%s\n  {\"name\": \"%s\", \"ours\": %s, \"path\": \"%s\", \"keys\": \"%s\", "
                "\"pages\": \"%s\", \"n\": %zu, \"steps_contains\": %.4g, \"steps_add\": %.4g, "
                "\"bits_per_key\": %.5g, \"fpr\": %.5g, \"over_bound\": %.4g, "
                "\"table_bytes\": %.0f, \"peak_bytes\": %.0f",
                i > 0 ? "," : "", row->name, row->ours ? "true" : "false", row->path,
                bench_sort_name[row->sort], bench_pages_name[row->pages], row->n,
                row->steps_contains, row->steps_add, row->bits_per_key, row->fpr, row->over_bound,
                row->table_bytes, row->peak_bytes);
        for (unsigned op = 0; op < OPERATIONS; op++) {
            char two[64];
            snprintf(two, sizeof two, "%s_2_threads", bench_operation_name[op]);
            json_figure(out, bench_operation_name[op], &row->time[op][0]);
            json_figure(out, two, &row->time[op][1]);
        }
        json_figure(out, "build_wall", &row->build_wall[0]);
        json_figure(out, "build_2_threads_wall", &row->build_wall[1]);
        json_figure(out, "limit_read", &row->limit_read);
        json_figure(out, "limit_write", &row->limit_write);
        json_figure(out, "hashing", &row->hashing);
        json_figure(out, "prehashed_batch", &row->prehashed);
        fprintf(out, "}");
    }
    fprintf(out, "\n]}\n");
}

/* ---- rows of another program */

static void read_figures(char *rest, struct bench_row *row) {
    char *save = NULL;
    for (char *name = strtok_r(rest, "\t\n", &save); name != NULL;
         name = strtok_r(NULL, "\t\n", &save)) {
        const char *best = strtok_r(NULL, "\t\n", &save);
        const char *median = strtok_r(NULL, "\t\n", &save);
        if (median == NULL) return;
        for (unsigned op = 0; op < OPERATIONS; op++) {
            if (strcmp(name, bench_operation_name[op]) != 0) continue;
            row->time[op][0].best = strtod(best, NULL);
            row->time[op][0].median = strtod(median, NULL);
        }
    }
}

bool bench_read_rows(const char *path, struct bench_results *results) {
    char line[2048], name[BENCH_NAME_MAX], sort[32];
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    while (fgets(line, sizeof line, file) != NULL) {
        size_t n;
        double bits, fpr;
        int used = 0;
        if (sscanf(line, "%31s\t%31s\t%zu\t%lf\t%lf%n", name, sort, &n, &bits, &fpr, &used) != 5) {
            continue;
        }
        struct bench_row *row = bench_new_row(results);
        snprintf(row->name, sizeof row->name, "%s", name);
        row->sort = strcmp(sort, "texts") == 0 ? SORT_TEXTS : SORT_WORDS;
        row->n = n;
        row->bits_per_key = bits;
        row->table_bytes = bits / 8 * (double)n;
        row->fpr = fpr;
        if (fpr > 0 && fpr < 1) row->over_bound = bits / -log2(fpr) - 1;
        read_figures(line + used, row);
    }
    fclose(file);
    return true;
}
