/* check.h - shared by the test programs: a run, its effort, its counts and its failures
 *
 * A law is a plain program.  It starts a run, checks, and ends the run:
 *
 *     int main(int argc, char **argv) {
 *         run_start(argc, argv, "merge");
 *         CHECK(status == TAMIS_OK, "union of %zu keys gave %s", n, tamis_status_name(status));
 *         count_up("keys", n);
 *         return run_end();
 *     }
 *
 * Every program takes --quick (the inner loop), nothing, or --full (the long runs); --seed N
 * and --kind NAME to reproduce a failure; --count N where the law repeats something at will.  All
 * random numbers come from the run's seed, which is fixed and printed, so that a run gives the same
 * result every time.  A program that checks nothing fails. */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum effort { EFFORT_QUICK, EFFORT_NORMAL, EFFORT_FULL };

void run_start(int argc, char **argv, const char *law);
/* Prints what was checked; 0, or 1 if anything failed or nothing was checked. */
int run_end(void);

enum effort run_effort(void);
uint64_t run_seed(void);
/* The value for the effort of this run. */
uint64_t run_pick(uint64_t quick, uint64_t normal, uint64_t full);
/* What --count N gives, or the value for the effort: how often to repeat what a law counts.
 * scripts/trust raises it. */
uint64_t run_count(uint64_t quick, uint64_t normal, uint64_t full);
/* false if --kind names another one. */
bool run_wants(const char *kind);
/* true if --kind is given: laws about the whole registry do not hold then. */
bool run_filtered(void);

/* Adds to a counter that run_end prints.  `what` must live as long as the program. */
void count_up(const char *what, uint64_t count);

/* Counts a check and returns whether it held; the message is printed only if not.  Of the
 * failures of one line the first three are printed, the others counted. */
bool check_that(bool holds, const char *file, int line, const char *condition, const char *message,
                ...) __attribute__((format(printf, 5, 6)));
#define CHECK(condition, ...) check_that((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

/* A generator for tests (SplitMix64): uniform, and the same everywhere. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
/* Below `range`, which is not 0. */
uint64_t rng_below(struct rng *r, uint64_t range);

/* Memory of the tests themselves: ends the program if there is none. */
void *need(size_t count, size_t each);
#define NEED(type, count) ((type *)need((count), sizeof(type)))

/* A directory of the run's own, removed by run_end with the files in it. */
const char *run_directory(void);
/* Number of entries in a directory, without "." and "..". */
size_t directory_entries(const char *path);

#endif
