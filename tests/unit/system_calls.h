/* system_calls.h - the system calls of src/file, which fail on purpose
 *
 * A unit test that includes this and lists the calls in its "wraps:" comment decides what fails:
 *
 *     fault     the n-th call of a function, or all from there on, with an error number, or with
 *               fewer bytes than requested
 *     lacking   what the system does not support: unnamed files, links, locks, ...
 *     meanwhile runs before the n-th call of a function: another process interferes
 *
 * Only between arm() and disarm(), and in one thread.  fsync and sync do nothing: tests do not
 * crash the machine, and the real calls are slow. */
#ifndef TESTS_UNIT_SYSTEM_CALLS_H
#define TESTS_UNIT_SYSTEM_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CALL_MAP(X) \
    X(OPEN)         \
    X(OPENAT)       \
    X(READ)         \
    X(WRITE)        \
    X(PREAD)        \
    X(PWRITE)       \
    X(FSYNC)        \
    X(FTRUNCATE)    \
    X(UNLINK)       \
    X(UNLINKAT)     \
    X(RENAMEAT)     \
    X(RENAMEAT2)    \
    X(LINKAT)       \
    X(MMAP)         \
    X(FSTAT)        \
    X(LSTAT)        \
    X(STAT)         \
    X(FCNTL)        \
    X(FCHOWN)       \
    X(FCHMOD)       \
    X(MALLOC)
#define CALL_ENUM(name) CALL_##name,
#define CALL_NAME(name) #name,
enum call { CALL_MAP(CALL_ENUM) CALLS };
static const char *const call_names[] = {CALL_MAP(CALL_NAME)};

enum { SHORT = -1, NOTHING = -2 }; /* instead of an error number: half of the bytes, no bytes */

static struct {
    enum call which;
    unsigned at; /* the first call is 1; 0: none fails */
    bool lasting;
    int error;
} fault;

enum lacking {
    NO_UNNAMED = 1,         /* O_TMPFILE */
    NO_PROC = 2,            /* /proc/self/fd */
    NO_RENAMEAT2 = 4,       /* RENAME_NOREPLACE */
    NO_LINKS = 8,           /* hard links */
    NO_RANDOM = 16,         /* getrandom */
    NO_LOCKS = 32,          /* F_OFD_SETLK */
    NO_DIRECTORY_READ = 64, /* a directory that is only writable */
    NO_DIRECTORY_SYNC = 128,
    NO_REMOVAL = 256 /* of files that exist, nor of their bytes */
};
static unsigned lacking;

static struct {
    void (*run)(void);
    enum call before;
    unsigned at;
} meanwhile;

static bool armed;
static unsigned seen[CALLS], faults_made;

static void arm(void) {
    for (int i = 0; i < CALLS; i++) seen[i] = 0;
    armed = true;
}

static void disarm(void) { armed = false; }

/* 0, or the fault that this call has. */
static int fault_of(enum call which) {
    if (!armed) return 0;
    seen[which]++;
    if (meanwhile.run != NULL && meanwhile.before == which && seen[which] == meanwhile.at) {
        armed = false;
        meanwhile.run();
        armed = true;
    }
    const bool now = fault.lasting ? seen[which] >= fault.at : seen[which] == fault.at;
    if (fault.at == 0 || fault.which != which || !now) return 0;
    faults_made++;
    return fault.error;
}

/* Sets errno and returns true if the call fails. */
static bool fails(enum call which) {
    const int error = fault_of(which);
    if (error == 0) return false;
    errno = error > 0 ? error : EIO;
    return true;
}

static bool lacks(enum lacking what, int error) {
    if (!armed || (lacking & what) == 0) return false;
    errno = error;
    return true;
}

/* The bytes that a transfer of `length` may have; -1 and errno if it fails. */
static ssize_t allowed(enum call which, size_t length) {
    const int error = fault_of(which);
    if (error > 0) {
        errno = error;
        return -1;
    }
    return (ssize_t)(error == SHORT ? (length + 1) / 2 : error == NOTHING ? 0 : length);
}

/* ---- the calls */

#define WRAP(type, name, parameters) \
    type __real_##name parameters;   \
    type __wrap_##name parameters;   \
    type __wrap_##name parameters

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    const bool lists = (flags & O_DIRECTORY) != 0 && (flags & O_PATH) == 0;
    if (lists && lacks(NO_DIRECTORY_READ, EACCES)) return -1;
    return fails(CALL_OPEN) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    const unsigned mode = unnamed || (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    if (unnamed && lacks(NO_UNNAMED, EOPNOTSUPP)) return -1;
    return fails(CALL_OPENAT) ? -1 : __real_openat64(at, path, flags, mode);
}

int __real_fcntl64(int descriptor, int command, ...);
int __wrap_fcntl64(int descriptor, int command, ...);
int __wrap_fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    const long argument = va_arg(rest, long);
    va_end(rest);
    if (command != F_OFD_SETLK) return __real_fcntl64(descriptor, command, argument);
    if (lacks(NO_LOCKS, ENOLCK)) return -1;
    return fails(CALL_FCNTL) ? -1 : __real_fcntl64(descriptor, command, argument);
}

WRAP(ssize_t, read, (int descriptor, void *bytes, size_t length)) {
    const ssize_t n = allowed(CALL_READ, length);
    return n <= 0 ? n : __real_read(descriptor, bytes, (size_t)n);
}
WRAP(ssize_t, write, (int descriptor, const void *bytes, size_t length)) {
    const ssize_t n = allowed(CALL_WRITE, length);
    return n <= 0 ? n : __real_write(descriptor, bytes, (size_t)n);
}
WRAP(ssize_t, pread64, (int descriptor, void *bytes, size_t length, off_t at)) {
    const ssize_t n = allowed(CALL_PREAD, length);
    return n <= 0 ? n : __real_pread64(descriptor, bytes, (size_t)n, at);
}
WRAP(ssize_t, pwrite64, (int descriptor, const void *bytes, size_t length, off_t at)) {
    const ssize_t n = allowed(CALL_PWRITE, length);
    return n <= 0 ? n : __real_pwrite64(descriptor, bytes, (size_t)n, at);
}

WRAP(int, fsync, (int descriptor)) {
    struct stat st;
    if (lacking != 0 && fstat(descriptor, &st) == 0 && S_ISDIR(st.st_mode) &&
        lacks(NO_DIRECTORY_SYNC, EINVAL)) {
        return -1;
    }
    return fails(CALL_FSYNC) ? -1 : 0;
}
WRAP(void, sync, (void)) {}
WRAP(int, ftruncate64, (int descriptor, off_t length)) {
    if (lacks(NO_REMOVAL, EPERM)) return -1;
    return fails(CALL_FTRUNCATE) ? -1 : __real_ftruncate64(descriptor, length);
}
WRAP(int, unlink, (const char *path)) {
    if (access(path, F_OK) == 0 && lacks(NO_REMOVAL, EPERM)) return -1;
    return fails(CALL_UNLINK) ? -1 : __real_unlink(path);
}
WRAP(int, unlinkat, (int at, const char *path, int flags)) {
    return fails(CALL_UNLINKAT) ? -1 : __real_unlinkat(at, path, flags);
}
WRAP(int, renameat, (int from_at, const char *from, int to_at, const char *to)) {
    return fails(CALL_RENAMEAT) ? -1 : __real_renameat(from_at, from, to_at, to);
}
WRAP(int, renameat2, (int from_at, const char *from, int to_at, const char *to, unsigned flags)) {
    if (lacks(NO_RENAMEAT2, EINVAL)) return -1;
    return fails(CALL_RENAMEAT2) ? -1 : __real_renameat2(from_at, from, to_at, to, flags);
}
WRAP(int, linkat, (int from_at, const char *from, int to_at, const char *to, int flags)) {
    if ((flags & AT_SYMLINK_FOLLOW) != 0 && lacks(NO_PROC, ENOENT)) return -1;
    if (lacks(NO_LINKS, EPERM)) return -1;
    return fails(CALL_LINKAT) ? -1 : __real_linkat(from_at, from, to_at, to, flags);
}
WRAP(ssize_t, getrandom, (void *bytes, size_t length, unsigned flags)) {
    return lacks(NO_RANDOM, ENOSYS) ? -1 : __real_getrandom(bytes, length, flags);
}

WRAP(void *, mmap64,
     (void *at, size_t length, int access, int flags, int descriptor, off_t offset)) {
    if (descriptor >= 0 && fails(CALL_MMAP)) return MAP_FAILED;
    return __real_mmap64(at, length, access, flags, descriptor, offset);
}
WRAP(int, fstat64, (int descriptor, struct stat *st)) {
    return fails(CALL_FSTAT) ? -1 : __real_fstat64(descriptor, st);
}
WRAP(int, lstat64, (const char *path, struct stat *st)) {
    return fails(CALL_LSTAT) ? -1 : __real_lstat64(path, st);
}
WRAP(int, stat64, (const char *path, struct stat *st)) {
    return fails(CALL_STAT) ? -1 : __real_stat64(path, st);
}
WRAP(int, fchown, (int descriptor, uid_t user, gid_t group)) {
    return fails(CALL_FCHOWN) ? -1 : __real_fchown(descriptor, user, group);
}
WRAP(int, fchmod, (int descriptor, mode_t mode)) {
    return fails(CALL_FCHMOD) ? -1 : __real_fchmod(descriptor, mode);
}
/* A wait ends at once: the clock moves on by a second with each query. */
WRAP(int, nanosleep, (const struct timespec *time, struct timespec *left)) {
    return armed ? 0 : __real_nanosleep(time, left);
}
WRAP(int, clock_gettime, (clockid_t clock, struct timespec *now)) {
    static time_t passed;
    const int result = __real_clock_gettime(clock, now);
    if (armed) now->tv_sec += ++passed;
    return result;
}
WRAP(void *, malloc, (size_t size)) { return fails(CALL_MALLOC) ? NULL : __real_malloc(size); }

#endif
