/* progress.h - one line on a terminal for work that takes longer than a second
 *
 *     build  12.3M records  4.10M/s  861 MiB of 1.20 GiB (70 %)  ETA 0:04
 *
 * There is one such line in the process.  Everything else that talks on stderr calls
 * progress_clear first. */
#ifndef TAMIS_CLI_PROGRESS_H
#define TAMIS_CLI_PROGRESS_H

#include "options.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF };

/* -j, --progress, --no-progress, -q as given. */
struct run_options {
    unsigned threads; /* 0: all cores */
    enum progress_mode progress;
    bool quiet; /* no summary */
};

/* Takes one option of options_running, or OPT_QUIET; false if it is another. */
bool run_options_take(struct run_options *run, int id, const struct args *args);

/* How many threads to use. */
unsigned run_options_threads(const struct run_options *run);

/* `total`: of bytes, or of records that come from no input; 0 if it is not known.
 * `records_on_stdout`: records are printed as well, so no line if that is the terminal. */
void progress_start(const struct run_options *run, const char *verb, uint64_t total,
                    bool records_on_stdout);

/* Before a filter is opened, which reads all of it; the work itself has a start of its own. */
void progress_opening(const struct run_options *run, const char *verb);

/* To be called now and then with what was done so far, and once before there is anything; no bytes
 * if the records come from no input. */
#define NO_FILL (-1.0)
void progress_show(uint64_t records, uint64_t bytes, double fill);

/* The same for work that has no records. */
void progress_show_bytes(uint64_t bytes);

/* A phase of which only the beginning can be told: "writing".  It lasts until anything else is
 * shown. */
void progress_phase(const char *what);

/* Gone until the next call of the above. */
void progress_clear(void);
void progress_end(void);

/* What a signal handler writes to be rid of the line. */
const char *progress_erasure(void);

#endif
