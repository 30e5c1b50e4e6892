/* progress.c - the progress line: at most five times a second, and gone at the end
 *
 * The counting thread draws the line.  For a phase, which is one long call, and while a slow pipe
 * is waited for, a thread of its own draws it; it runs only where progress is shown. */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"
#include "term.h"

#define FIRST_SECONDS 1.0
#define EVERY_SECONDS 0.2
#define EVERY_SECONDS_IN_FILE 5.0
/* The thread draws the counts if no new ones have been reported for so long. */
#define PATIENCE_SECONDS 2.0

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
    bool on, terminal, escapes, ticking;
    bool counting;            /* the counts are to be shown, */
    const char *verb, *phase; /* or this phase, if not NULL */
    uint64_t total, records, bytes;
    double fill, started, next;
} line;

static volatile sig_atomic_t shown; /* on a terminal; read by the signal handler */

double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool run_options_take(struct run_options *run, int id, const struct args *args) {
    const struct binding list[] = {
        {OPT_THREADS, .small = &run->threads, .high = 1024}, {OPT_QUIET, .flag = &run->quiet}, {0}};
    if (id != OPT_PROGRESS && id != OPT_NO_PROGRESS) return args_store(args, id, list);
    run->progress = id == OPT_PROGRESS ? PROGRESS_ON : PROGRESS_OFF;
    return true;
}

unsigned run_options_threads(const struct run_options *run) {
    if (run->threads != 0) return run->threads;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 1024 ? 1024 : (unsigned)cores;
}

/* ---- the line, with the lock held */

/* A terminal that cannot erase the rest of a line gets blanks instead. */
static void print_line(const char *text) {
    const unsigned width = term_width(stderr);
    const int most = (int)(width > 1 ? width - 1 : 1);
    if (!line.terminal) {
        fprintf(stderr, "%s\n", text);
    } else if (line.escapes) {
        fprintf(stderr, "\r%.*s\033[K", most, text);
    } else {
        fprintf(stderr, "\r%-*.*s", most, most, text);
    }
    shown = line.terminal;
}

static void clear_line(void) {
    line.phase = NULL;
    line.counting = false;
    if (!shown) return;
    if (!line.escapes) print_line("");
    fputs(line.escapes ? "\r\033[K" : "\r", stderr);
    shown = 0;
}

/* Is it time for a line?  Then `elapsed` is the time since the start. */
static bool is_due(double *elapsed) {
    if (!line.on) return false;
    const double time = seconds_now();
    if (time < line.next) return false;
    line.next = time + (line.terminal ? EVERY_SECONDS : EVERY_SECONDS_IN_FILE);
    *elapsed = time - line.started;
    return true;
}

/* ---- the line */

/* Appends "  861 MiB of 1.20 GiB (70 %)  ETA 0:04"; the latter part if the whole is known. */
static void add_share(char *text, size_t size, uint64_t done, struct text (*as_text)(uint64_t),
                      double elapsed) {
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "  %s", as_text(done).at);
    if (line.total == 0 || done == 0) return;
    const double share = (double)done / (double)line.total;
    snprintf(text + used, size - used, " of %s (%.0f %%)  ETA %s", as_text(line.total).at,
             100 * share, text_time(elapsed / share - elapsed + 0.5).at);
}

static struct text brief_count(uint64_t count) { return text_brief((double)count); }

static void show_counts(double elapsed) {
    char text[256];
    snprintf(text, sizeof text, "%s  %s records  %s/s", line.verb, brief_count(line.records).at,
             text_brief((double)line.records / elapsed).at);
    if (line.bytes != 0) {
        add_share(text, sizeof text, line.bytes, text_bytes, elapsed);
    } else if (line.total != 0 && line.records != 0) {
        add_share(text, sizeof text, line.records, brief_count, elapsed);
    }
    const size_t used = strlen(text);
    if (line.fill >= 0) {
        snprintf(text + used, sizeof text - used, "  fill %.0f %%", 100 * line.fill);
    }
    print_line(text);
}

static void show_phase(double elapsed) {
    char text[128];
    snprintf(text, sizeof text, "%s  %s ...  %s", line.verb, line.phase, text_time(elapsed).at);
    print_line(text);
}

/* ---- the thread */

static double due(void) { return line.next + (line.phase != NULL ? 0 : PATIENCE_SECONDS); }

/* Waits until a line is due or the state has changed. */
static void wait_for_line(void) {
    struct timespec until;
    double whole;
    clock_gettime(CLOCK_REALTIME, &until);
    const double part = modf(fmax(due() - seconds_now(), 0) + 1e-9 * (double)until.tv_nsec, &whole);
    until.tv_sec += (time_t)whole;
    until.tv_nsec = (long)(1e9 * part);
    pthread_cond_timedwait(&changed, &lock, &until);
}

static void show_line(void) {
    double elapsed;
    if (seconds_now() < due() || !is_due(&elapsed)) return;
    if (line.phase != NULL) {
        show_phase(elapsed);
    } else {
        show_counts(elapsed);
    }
}

static void *tick(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (line.phase == NULL && !line.counting) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        wait_for_line();
        if (line.phase != NULL || line.counting) show_line();
    }
    return NULL;
}

/* The thread blocks all signals.  If it cannot be created, no line is drawn. */
static void wake_thread(void) {
    sigset_t all, before;
    pthread_t thread;
    pthread_cond_signal(&changed);
    if (line.ticking || !line.on) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    line.ticking = pthread_create(&thread, NULL, tick, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (line.ticking) pthread_detach(thread);
}

/* ---- the interface */

void progress_start(const struct run_options *run, const char *verb, uint64_t total,
                    bool records_on_stdout) {
    pthread_mutex_lock(&lock);
    clear_line();
    line.terminal = term_is(stderr);
    line.escapes = term_escapes(stderr);
    line.on =
        run->progress == PROGRESS_ON || (run->progress == PROGRESS_AUTO && line.terminal &&
                                         !run->quiet && !(records_on_stdout && term_is(stdout)));
    line.verb = verb;
    line.total = total;
    line.started = seconds_now();
    line.next = line.started + FIRST_SECONDS;
    pthread_mutex_unlock(&lock);
}

void progress_opening(const struct run_options *run, const char *verb) {
    progress_start(run, verb, 0, false);
    progress_phase("reading the filter");
}

void progress_phase(const char *what) {
    pthread_mutex_lock(&lock);
    if (line.on) line.phase = what;
    wake_thread();
    pthread_mutex_unlock(&lock);
}

void progress_show(uint64_t records, uint64_t bytes, double fill) {
    double elapsed;
    pthread_mutex_lock(&lock);
    line.phase = NULL;
    line.records = records;
    line.bytes = bytes;
    line.fill = fill;
    if (is_due(&elapsed)) show_counts(elapsed);
    if (line.on && !line.counting) {
        line.counting = true;
        wake_thread();
    }
    pthread_mutex_unlock(&lock);
}

void progress_show_bytes(uint64_t bytes) {
    double elapsed;
    char text[256];
    pthread_mutex_lock(&lock);
    line.phase = NULL;
    line.counting = false; /* no records */
    if (is_due(&elapsed)) {
        snprintf(text, sizeof text, "%s  %s/s", line.verb,
                 text_bytes((uint64_t)((double)bytes / elapsed)).at);
        add_share(text, sizeof text, bytes, text_bytes, elapsed);
        print_line(text);
    }
    pthread_mutex_unlock(&lock);
}

void progress_clear(void) {
    pthread_mutex_lock(&lock);
    clear_line();
    pthread_mutex_unlock(&lock);
}

void progress_end(void) {
    pthread_mutex_lock(&lock);
    clear_line();
    line.on = false;
    pthread_mutex_unlock(&lock);
}

const char *progress_erasure(void) {
    if (!shown) return "";
    return line.escapes ? "\r\033[K" : "\n";
}
