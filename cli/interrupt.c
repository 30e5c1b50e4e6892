/* interrupt.c - signals: clean up, then die of the signal */
#define _DEFAULT_SOURCE

#include "interrupt.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define SIGNALS (sizeof signals / sizeof signals[0])

/* The file that is saved, which file had that name before, and the journal of tamis_commit. Written
 * while `saving` and `committing` are 0. */
static char target[PATH_MAX], journal[PATH_MAX + 12];
static struct stat before;
static volatile sig_atomic_t saving, committing, held, postponed;
static const char *volatile note;

static void write_plainly(const char *text) {
    const ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Lets the parent see which signal it was. */
static void die_of(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

/* Descriptors among which that of a temporary is looked for. */
#define DESCRIPTORS_LOOKED_AT 256

/* Removes the temporaries that this process has open: usually they have no name. */
static void remove_temporaries(void) {
    char link[40], name[PATH_MAX];
    for (int d = STDERR_FILENO + 1; d < DESCRIPTORS_LOOKED_AT; d++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", d);
        const ssize_t length = readlink(link, name, sizeof name - 1);
        if (length <= 0) continue;
        name[length] = '\0';
        const char *slash = strrchr(name, '/');
        if (slash == NULL || strncmp(slash + 1, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) != 0) {
            continue;
        }
        unlink(name);
    }
}

/* Has the file not been replaced yet? */
static bool is_as_before(void) {
    struct stat now = {0};
    (void)stat(target, &now);
    return now.st_ino == before.st_ino && now.st_dev == before.st_dev;
}

/* A change in place has begun once the journal exists. */
static bool must_be_finished(void) { return held || (committing && access(journal, F_OK) == 0); }

/* Only async-signal-safe calls (and snprintf of a number).  The
 * default action is restored here, not by SA_RESETHAND: with that, a second signal that comes
 * before the handler has begun kills at once, and timeout(1) always sends two. */
static void on_signal(int number) {
    if (must_be_finished()) {
        postponed = number;
        return;
    }
    if (saving) remove_temporaries();
    write_plainly(progress_erasure());
    if (note != NULL && (!saving || is_as_before())) write_plainly(note);
    die_of(number);
}

static atomic_flag lost_page = ATOMIC_FLAG_INIT;

/* Another process has truncated a mapped file.  Other threads that read it wait for the end. */
static void on_lost_page(int number) {
    (void)number;
    while (atomic_flag_test_and_set(&lost_page)) pause();
    remove_temporaries();
    write_plainly(progress_erasure());
    write_plainly("tamis: a filter was truncated while it was being read\n");
    _exit(error_exit_code());
}

void interrupt_start(void) {
    struct sigaction action, old;
    action.sa_handler = on_lost_page;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;
    sigaction(SIGBUS, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* exceeding ulimit -f is reported as a write error */
    for (size_t i = 0; i < SIGNALS; i++) {
        action.sa_handler = on_signal;
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_RESTART;
        /* Signals that the parent ignores (nohup) stay ignored. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

void interrupt_saving(const char *path) {
    before = (struct stat){0};
    (void)stat(path, &before);
    const int length = snprintf(target, sizeof target, "%s", path);
    saving = length > 0 && (size_t)length < sizeof target;
}

void interrupt_committing(const char *path) {
    const int length = snprintf(journal, sizeof journal, "%s.journal", path);
    interrupt_saving(path);
    committing = length > 0 && (size_t)length < sizeof journal;
}

void interrupt_note(const char *line) { note = line; }

void interrupt_hold(void) { held = 1; }

bool interrupt_waits(void) { return postponed != 0; }

void interrupt_saved(void) {
    saving = committing = held = 0;
    note = NULL;
    if (postponed) die_of((int)postponed);
}
