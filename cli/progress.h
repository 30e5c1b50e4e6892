/* progress.h - one line on a terminal for work that takes longer than a second
 *
 *     build  12.3M records  4.10M/s  861 MiB of 1.20 GiB (70 %)  ETA 0:04
 *
 * There is one such line in the process.  Other messages on stderr call
 * progress_clear first. */
#ifndef TAMIS_CLI_PROGRESS_H
#define TAMIS_CLI_PROGRESS_H

#include "options.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF };

/* -j, --progress, --no-progress, -q as given. */
struct run_options {
    uint32_t threads; /* 0: all cores */
    enum progress_mode progress;
    bool quiet; /* no summary */
};

/* Takes -j, --progress, --no-progress or -q; false if it is another. */
bool run_options_take(struct run_options *run, int id, const struct args *args);

/* A clock that only goes forward. */
double seconds_now(void);

/* How many threads to use. */
unsigned run_options_threads(const struct run_options *run);

/* `total`: bytes, or records that come from no input; 0: unknown.
 * `records_on_stdout`: records are printed as well, so no line if that is the terminal. */
void progress_start(const struct run_options *run, const char *verb, uint64_t total,
                    bool records_on_stdout);

/* Before a filter is opened, which reads all of it; the work then calls progress_start. */
void progress_opening(const struct run_options *run, const char *verb);

/* Reports what was done so far, and once before anything was done; 0 bytes if the records come from
 * no input. */
#define NO_FILL (-1.0)
void progress_show(uint64_t records, uint64_t bytes, double fill);

/* The same for work that has no records. */
void progress_show_bytes(uint64_t bytes);

/* A phase without counts, such as "writing".  It lasts until the next call. */
void progress_phase(const char *what);

/* Erases the line until the next report. */
void progress_clear(void);
void progress_end(void);

/* What a signal handler writes to erase the line. */
const char *progress_erasure(void);

#endif
