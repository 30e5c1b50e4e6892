/* job.h - what the examples share besides tamis.h: failing, a clock, memory, chance, and tables
 *
 * None of it is needed to use a filter: it is what a demonstration needs around one. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tamis.h>

/* Prints a sentence and ends the program with code 1. */
_Noreturn void job_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless the status is TAMIS_OK: "WHAT: the sentence of the status". */
void job_check(tamis_status status, const char *what);

/* As malloc and realloc; fails for want of memory. */
void *job_allocate(size_t size);
void *job_resize(void *block, size_t size);

/* Opens a file to be read, or fails. */
FILE *job_open(const char *path);

/* The next line without its end, in `*line` (from malloc, kept between calls as getline does);
 * false at the end of the file. */
bool job_line(FILE *file, char **line, size_t *room, size_t *length);

/* Seconds of a clock that only goes forward. */
double job_seconds(void);

/* The most memory that this process ever held, in bytes. */
double job_peak_memory(void);

/* Spreads the bits of a number (the finish of splitmix64); the numbers 0, 1, 2, ... give what
 * looks like chance, and always the same. */
uint64_t job_mix(uint64_t number);

/* A row of a table: the first text to the left, the rest in columns to the right, NULL ends. */
void job_row(const char *first, ...) __attribute__((sentinel));

/* A number as text, for job_row: "1,234,567"; and by printf's rules.  Good for the next 15. */
const char *job_count(double number);
const char *job_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
