/* numbers.h - counts, sizes and rates, from text and to text
 *
 * Counts and sizes: 1000, 1,000,000, 10K, 5M, 2G, 1T (decimal), 64Ki, 1Mi, 1Gi, 1Ti (binary), 1.5M,
 * 1e6. Rates: 0.01, 1%, 1e-6, 1/1000; between 0 and 1, both excluded. */
#ifndef TAMIS_CLI_NUMBERS_H
#define TAMIS_CLI_NUMBERS_H

#include "cli.h"

/* False if the text is no such number. */
bool number_parse(const char *text, uint64_t *number);
bool fpr_parse(const char *text, double *fpr);

/* The same for the value of an option: dies with a sentence that names valid values. */
uint64_t number_of(const char *option, const char *text);
uint64_t number_within(const char *option, const char *text, uint64_t low, uint64_t high);
double fpr_of(const char *option, const char *text);

/* Short texts, by value so that several can stand in one printf. */
struct text {
    char at[48];
};
struct text text_of(const char *format, ...) PRINTF_LIKE(1, 2);
struct text text_count(uint64_t number);                    /* 1,234,567 */
struct text text_plural(uint64_t number, const char *noun); /* 1 key, 2 keys */
struct text text_estimate(double number, double error);     /* 1,234,567 or "about 1,230,000" */
struct text text_bytes(uint64_t bytes);                     /* 1.14 MiB */
struct text text_bits(double bits);                         /* 9.61 or 102,089 */
struct text text_fpr(double fpr);                           /* 0.98 % or 9.5e-7 */
struct text text_odds(double fpr);                          /* 1 in 102 */
struct text text_few(double number);                        /* 0.0012, 1.2e-6, 1,234 */
struct text text_brief(double number);                      /* 12.3M */
struct text text_time(double seconds);                      /* 0:04, 1:02:03 */

/* The shortest decimal that reads back as this number. */
struct text text_exact(double number);

#endif
