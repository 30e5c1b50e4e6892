/* die_at.c - preloaded into the command: kills it at its N-th call that changes a file
 *
 *     DIE_AT=7 DIE_LOG=calls LD_PRELOAD=.../libdie_at.so tamis add ...
 *
 * The calls are write and pwrite to a regular file, fsync, rename, link, unlink and ftruncate of
 * the process, in turn.  A write that it dies in is half done, as when the power fails.  With
 * DIE_AT=0 it only counts.  The number of calls so far is written to DIE_LOG. */
#define _GNU_SOURCE 1
#undef _FILE_OFFSET_BITS /* both names of a call are wanted, not one for the other */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ssize_t write_call(int, const void *, size_t);
typedef ssize_t pwrite_call(int, const void *, size_t, off64_t);
typedef int path_call(const char *);
typedef int paths_call(const char *, const char *);
typedef int fd_call(int);
typedef int cut_call(int, off64_t);

/* POSIX wants the conversion from data to function pointers to work; C has no word for it. */
static void find(void *function, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static long calls;

static void log_calls(void) {
    const char *path = getenv("DIE_LOG");
    FILE *file = path != NULL ? fopen(path, "we") : NULL;
    if (file == NULL) return;
    fprintf(file, "%ld\n", calls);
    fclose(file);
}

/* Is this the call to die in? */
static int its_turn(void) {
    const char *at = getenv("DIE_AT");
    static int logging; /* what is logged is not a call of the command */
    if (logging) return 0;
    calls++;
    logging = 1;
    log_calls();
    logging = 0;
    return at != NULL && calls == atol(at);
}

static void die(void) { raise(SIGKILL); }

static int is_regular(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    static write_call *next;
    if (next == NULL) find(&next, "write");
    if (!is_regular(fd) || !its_turn()) return next(fd, bytes, length);
    const ssize_t done = next(fd, bytes, length / 2);
    die();
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    static pwrite_call *next;
    if (next == NULL) find(&next, "pwrite64");
    if (!is_regular(fd) || !its_turn()) return next(fd, bytes, length, at);
    const ssize_t done = next(fd, bytes, length / 2, at);
    die();
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    return pwrite64(fd, bytes, length, at);
}

int fsync(int fd) {
    static fd_call *next;
    if (next == NULL) find(&next, "fsync");
    if (its_turn()) die();
    return next(fd);
}

int ftruncate64(int fd, off64_t length) {
    static cut_call *next;
    if (next == NULL) find(&next, "ftruncate64");
    if (its_turn()) die();
    return next(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int rename(const char *from, const char *to) {
    static paths_call *next;
    if (next == NULL) find(&next, "rename");
    if (its_turn()) die();
    return next(from, to);
}

int link(const char *from, const char *to) {
    static paths_call *next;
    if (next == NULL) find(&next, "link");
    if (its_turn()) die();
    return next(from, to);
}

int unlink(const char *path) {
    static path_call *next;
    if (next == NULL) find(&next, "unlink");
    if (its_turn()) die();
    return next(path);
}
