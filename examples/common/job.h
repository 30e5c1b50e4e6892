/* job.h - shared by the examples: failures, a clock, memory, random numbers, tables
 *
 * Using a filter needs none of it. */
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

/* As malloc and realloc; ends the program if memory runs out. */
void *job_allocate(size_t size);
void *job_resize(void *block, size_t size);

/* Opens a file for reading, or ends the program. */
FILE *job_open(const char *path);

/* The next line without its end, in `*line` (from malloc, kept between calls as getline does);
 * false at the end of the file. */
bool job_line(FILE *file, char **line, size_t *room, size_t *length);

/* Seconds of a monotonic clock. */
double job_seconds(void);

/* The peak memory of this process, in bytes. */
double job_peak_memory(void);

/* Mixes the bits of a number (the finaliser of splitmix64): 0, 1, 2, ... give a repeatable
 * pseudo-random sequence. */
uint64_t job_mix(uint64_t number);

/* Prints a row of a table: the first text on the left, the rest in columns; NULL ends the list. */
void job_row(const char *first, ...) __attribute__((sentinel));

/* A number as text for job_row: "1,234,567"; and as printf.  Valid for the next 15 calls. */
const char *job_count(double number);
const char *job_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
