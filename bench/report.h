/* report.h - the results as tables, JSON and plots */
#ifndef TAMIS_BENCH_REPORT_H
#define TAMIS_BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* Markdown: the machine, then two tables for every n and sort of keys. */
void bench_print_machine(FILE *out, const struct bench_settings *settings);
void bench_print_tables(FILE *out, const struct bench_results *results);
/* Markdown: the goals, each with its measured value. */
void bench_print_goals(FILE *out, const struct bench_results *results);
void bench_print_json(FILE *out, const struct bench_results *results);
/* Plots into a directory that exists; false if a file could not be written. */
bool bench_draw(const char *directory, const struct bench_results *results);

/* Adds the rows of another program: lines of "name sort n bits rate", then operation, best and
 * median for each operation, separated by tabs. */
bool bench_read_rows(const char *path, struct bench_results *results);

/* "10^6", "2^25", or the number. */
void bench_count_text(char *text, size_t size, size_t n);

#endif
