/* report.h - the results as tables, JSON and plots */
#ifndef TAMIS_BENCH_REPORT_H
#define TAMIS_BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* Markdown: the machine. */
void bench_print_machine(FILE *out, unsigned repeats);
/* Two tables of the rows with the keys and pages of `like` that were not printed before. */
void bench_print_tables(FILE *out, struct bench_results *results, const struct bench_row *like);
/* Markdown: the goals, each with its measured value; `left_out`: why sizes are missing. */
void bench_print_goals(FILE *out, const struct bench_results *results, const char *left_out);
void bench_print_json(FILE *out, const struct bench_results *results);
/* Plots into a directory that exists; false if a file could not be written. */
bool bench_draw(const char *directory, const struct bench_results *results);

/* Adds the rows of another program: lines of "name sort n bits rate", then operation, best and
 * median for each operation, separated by tabs. */
bool bench_read_rows(const char *path, struct bench_results *results);

/* "10^6", "2^25", or the number. */
void bench_count_text(char *text, size_t size, size_t n);

#endif
