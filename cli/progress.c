/* progress.c - the progress line: at most five times a second, and gone at the end */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"
#include "term.h"

#define FIRST_SECONDS 1.0
#define EVERY_SECONDS 0.2
#define EVERY_SECONDS_IN_FILE 5.0

static struct {
    bool on, terminal, shown;
    const char *verb;
    uint64_t total_bytes;
    double started, next;
} line;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool run_options_take(struct run_options *run, int id, const struct args *args) {
    switch (id) {
        case OPT_THREADS:
            run->threads = (unsigned)number_within(args->shown, args->value, 0, 1024);
            return true;
        case OPT_PROGRESS:
            run->progress = PROGRESS_ON;
            return true;
        case OPT_NO_PROGRESS:
            run->progress = PROGRESS_OFF;
            return true;
        case OPT_QUIET:
            run->quiet = true;
            return true;
        default:
            return false;
    }
}

unsigned run_options_threads(const struct run_options *run) {
    if (run->threads != 0) return run->threads;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 1024 ? 1024 : (unsigned)cores;
}

void progress_start(const struct run_options *run, const char *verb, uint64_t total_bytes,
                    bool records_on_stdout) {
    line.terminal = term_is(stderr);
    line.on =
        run->progress == PROGRESS_ON || (run->progress == PROGRESS_AUTO && line.terminal &&
                                         !run->quiet && !(records_on_stdout && term_is(stdout)));
    line.verb = verb;
    line.total_bytes = total_bytes;
    line.started = now();
    line.next = line.started + FIRST_SECONDS;
}

static void print_line(const char *text) {
    if (line.terminal) {
        const unsigned width = term_width(stderr);
        fprintf(stderr, "\r%.*s\033[K", (int)(width > 1 ? width - 1 : 1), text);
    } else {
        fprintf(stderr, "%s\n", text);
    }
    line.shown = line.terminal;
}

/* Is it time for a line?  Then `elapsed` is the time since the start. */
static bool is_due(double *elapsed) {
    if (!line.on) return false;
    const double time = now();
    if (time < line.next) return false;
    line.next = time + (line.terminal ? EVERY_SECONDS : EVERY_SECONDS_IN_FILE);
    *elapsed = time - line.started;
    return true;
}

/* " of 1.20 GiB (70 %)  ETA 0:04", if the whole is known. */
static size_t share_text(char *text, size_t size, uint64_t bytes, double elapsed) {
    if (line.total_bytes == 0 || bytes == 0) return 0;
    const double share = (double)bytes / (double)line.total_bytes;
    const int used =
        snprintf(text, size, " of %s (%.0f %%)  ETA %s", text_bytes(line.total_bytes).at,
                 100 * share, text_time(elapsed / share - elapsed + 0.5).at);
    return used > 0 ? (size_t)used : 0;
}

void progress_show(uint64_t records, uint64_t bytes, double fill) {
    double elapsed;
    char text[256];
    if (!is_due(&elapsed)) return;
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s  %s records  %s/s", line.verb,
                         text_brief((double)records).at, text_brief((double)records / elapsed).at);
    if (bytes != 0) {
        used += (size_t)snprintf(text + used, sizeof text - used, "  %s", text_bytes(bytes).at);
    }
    used += share_text(text + used, sizeof text - used, bytes, elapsed);
    if (fill >= 0) snprintf(text + used, sizeof text - used, "  fill %.0f %%", 100 * fill);
    print_line(text);
}

void progress_show_bytes(uint64_t bytes) {
    double elapsed;
    char text[256];
    if (!is_due(&elapsed)) return;
    const size_t used =
        (size_t)snprintf(text, sizeof text, "%s  %s/s  %s", line.verb,
                         text_bytes((uint64_t)((double)bytes / elapsed)).at, text_bytes(bytes).at);
    share_text(text + used, sizeof text - used, bytes, elapsed);
    print_line(text);
}

void progress_phase(const char *what) {
    if (!line.on || now() < line.started + FIRST_SECONDS) return;
    char text[128];
    snprintf(text, sizeof text, "%s  %s ...", line.verb, what);
    print_line(text);
}

void progress_clear(void) {
    if (!line.shown) return;
    fputs("\r\033[K", stderr);
    line.shown = false;
}

void progress_end(void) {
    progress_clear();
    line.on = false;
}
