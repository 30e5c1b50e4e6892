/* report.c - the results as tables and JSON */
#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contenders.h"
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

void bench_print_machine(FILE *out, const struct bench_settings *settings) {
    char processor[256], compiler[64], date[32];
    const time_t now = time(NULL);
    bench_processor(processor, sizeof processor);
    bench_compiler(compiler, sizeof compiler);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out,
            "tamis %s, %s, %s, %s.\n"
            "Nanoseconds per key: best (median) of %u repeats, CPU time of the thread, pinned;\n"
            "all contenders interleaved in one process.\n",
            tamis_version(), processor, compiler, date, settings->repeats);
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
    fprintf(out, "| %s | %.2f | %.4g %% | %+.1f %% |", row->name, row->bits_per_key, 100 * row->fpr,
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
    "| filter | bits/key | FPR | over the bound | build | build, 2 threads | add | add, batch "
    "| add, batch, 2 threads | times the limit | remove | remove, batch | peak bytes/key |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
static const char lookup_head[] =
    "| filter | hit | miss | 50/50 | hit, batch | miss, batch | 50/50, batch | miss, 2 threads "
    "| miss, batch, 2 threads | limit | times the limit |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n";

static bool same_table(const struct bench_row *a, const struct bench_row *b) {
    return a->n == b->n && a->sort == b->sort;
}

static bool first_of_table(const struct bench_results *results, size_t i) {
    for (size_t j = 0; j < i; j++) {
        if (same_table(&results->rows[j], &results->rows[i])) return false;
    }
    return true;
}

void bench_print_tables(FILE *out, const struct bench_results *results) {
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *first = &results->rows[i];
        if (!first_of_table(results, i)) continue;
        char n[32];
        bench_count_text(n, sizeof n, first->n);
        fprintf(out, "\n### %s %s keys: space, builds, adds, removes\n\n%s", n,
                bench_sort_name[first->sort], space_head);
        for (size_t j = i; j < results->count; j++) {
            if (same_table(first, &results->rows[j])) space_row(out, &results->rows[j]);
        }
        fprintf(out, "\n### %s %s keys: lookups\n\n%s", n, bench_sort_name[first->sort],
                lookup_head);
        for (size_t j = i; j < results->count; j++) {
            if (same_table(first, &results->rows[j])) lookup_row(out, &results->rows[j]);
        }
    }
}

/* ---- JSON */

static void json_figure(FILE *out, const char *name, const struct bench_figure *f) {
    if (f->best == 0) return;
    fprintf(out, ", \"%s\": {\"best\": %.4g, \"median\": %.4g", name, f->best, f->median);
    if (f->wall > 0) fprintf(out, ", \"wall\": %.4g", f->wall);
    fprintf(out, "}");
}

void bench_print_json(FILE *out, const struct bench_results *results) {
    char processor[256], compiler[64];
    bench_processor(processor, sizeof processor);
    bench_compiler(compiler, sizeof compiler);
    fprintf(out,
            "{\"version\": \"%s\", \"machine\": \"%s\", \"compiler\": \"%s\", \"unit\": "
            "\"nanoseconds per key\", \"rows\": [",
            tamis_version(), processor, compiler);
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *row = &results->rows[i];
        fprintf(out,
                "%s\n  {\"name\": \"%s\", \"ours\": %s, \"keys\": \"%s\", \"n\": %zu, "
                "\"bits_per_key\": %.5g, \"fpr\": %.5g, \"over_bound\": %.4g, "
                "\"table_bytes\": %.0f, \"peak_bytes\": %.0f",
                i > 0 ? "," : "", row->name, row->ours ? "true" : "false",
                bench_sort_name[row->sort], row->n, row->bits_per_key, row->fpr, row->over_bound,
                row->table_bytes, row->peak_bytes);
        for (unsigned op = 0; op < OPERATIONS; op++) {
            char two[64];
            snprintf(two, sizeof two, "%s_2_threads", bench_operation_name[op]);
            json_figure(out, bench_operation_name[op], &row->time[op][0]);
            json_figure(out, two, &row->time[op][1]);
        }
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

/* The limit of a row that was not measured here: that of the row nearest in size. */
static void lend_limit(const struct bench_results *results, struct bench_row *row) {
    double nearest = INFINITY;
    for (size_t i = 0; i < results->count; i++) {
        const struct bench_row *other = &results->rows[i];
        if (other == row || other->limit_read.best == 0) continue;
        const double distance = fabs(log(other->table_bytes / row->table_bytes));
        if (distance >= nearest) continue;
        nearest = distance;
        row->limit_read = other->limit_read;
        row->limit_write = other->limit_write;
    }
}

static bool is_ours(const char *name) {
    const struct bench_contender *ours[BENCH_CONTENDERS_MAX];
    const size_t count = bench_ours(ours);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ours[i]->name, name) == 0) return true;
    }
    return false;
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
        row->ours = is_ours(name);
        row->sort = strcmp(sort, "texts") == 0 ? SORT_TEXTS : SORT_WORDS;
        row->n = n;
        row->bits_per_key = bits;
        row->table_bytes = bits / 8 * (double)n;
        row->fpr = fpr;
        if (fpr > 0 && fpr < 1) row->over_bound = bits / -log2(fpr) - 1;
        read_figures(line + used, row);
        lend_limit(results, row);
    }
    fclose(file);
    return true;
}
