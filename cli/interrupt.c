/* interrupt.c - signals: clean up, then die of the signal */
#define _DEFAULT_SOURCE

#include "interrupt.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define SIGNALS (sizeof signals / sizeof signals[0])

/* The temporary of tamis_save and the journal of tamis_commit.  Written while `saving` and
 * `committing` are 0. */
static char temporary[PATH_MAX + 8], journal[PATH_MAX + 12];
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

/* Descriptors among which that of the temporary is looked for. */
#define DESCRIPTORS_LOOKED_AT 256

static bool is_temporary(int descriptor) {
    struct stat named, open;
    return stat(temporary, &named) == 0 && fstat(descriptor, &open) == 0 &&
           open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/* Is the temporary open in this process, and locked by it?  Two processes that write the same file
 * take turns: the one that waits has it open too, but not locked, and must not remove it. */
static bool is_ours(void) {
    for (int d = STDERR_FILENO + 1; d < DESCRIPTORS_LOOKED_AT; d++) {
        const bool locked = is_temporary(d) && flock(d, LOCK_EX | LOCK_NB) == 0;
        if (locked && is_temporary(d)) return true; /* and not renamed meanwhile */
    }
    return false;
}

static bool remove_temporary(void) { return saving && is_ours() && unlink(temporary) == 0; }

/* A change in place has begun once the journal exists. */
static bool must_be_finished(void) { return held || (committing && access(journal, F_OK) == 0); }

/* Only async-signal-safe calls (and flock, a plain system call).  The
 * default action is restored here, not by SA_RESETHAND: with that, a second signal that comes
 * before the handler has begun kills at once, and timeout(1) always sends two. */
static void on_signal(int number) {
    const bool removed = remove_temporary();
    if (!removed && must_be_finished()) {
        postponed = number;
        return;
    }
    write_plainly(progress_erasure());
    /* Without its temporary a file that is being saved may be the old one or the new one. */
    if (note != NULL && (removed || !saving)) write_plainly(note);
    die_of(number);
}

static atomic_flag lost_page = ATOMIC_FLAG_INIT;

/* Another process has truncated a mapped file.  Other threads that read it wait for the end. */
static void on_lost_page(int number) {
    (void)number;
    while (atomic_flag_test_and_set(&lost_page)) pause();
    (void)remove_temporary();
    write_plainly(progress_erasure());
    write_plainly("tamis: a filter was truncated while it was being read\n");
    _exit(EXIT_ERROR);
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
    const int length = snprintf(temporary, sizeof temporary, "%s.part", path);
    saving = length > 0 && (size_t)length < sizeof temporary;
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
