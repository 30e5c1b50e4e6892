/* fault_at.c - lets the N-th system call or allocation of a program fail, or kills it there
 *
 *     FAULT_CALL=write,sync FAULT_AT=7 FAULT_ERROR=ENOSPC LD_PRELOAD=LIBRARY tamis add FILE
 *
 * FAULT_CALL   classes of calls that are counted, or "all": see `classes`
 * FAULT_AT     the call that fails, from 1; "7+": all later ones as well; 0: only count
 * FAULT_ERROR  EIO, ENOSPC, ...: the call returns this error and does nothing (close closes);
 *              short: it transfers half of the bytes; die: the process is killed there, in a write
 *              after half of the bytes, as when the power fails
 * FAULT_LOG    a file that receives a line for each counted call: its class and its name
 *
 * Writes to standard error are not counted: they carry the report of the failure.  Calls that the C
 * library makes itself (stdio) are not seen, except allocations.
 *
 * As a library it takes the place of the C library's functions (glibc).  Compiled with FAULT_WRAP
 * and linked with --wrap it is a part of a test program, which controls it by fault_at.h. */
#define _GNU_SOURCE 1
#undef _FILE_OFFSET_BITS /* both names of a call are wanted, not one for the other */
#undef _FORTIFY_SOURCE
#include "fault_at.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- which call fails, and how */

enum class {
    OPEN,
    READ,
    WRITE,
    SYNC,
    CUT,
    RENAME,
    LINK,
    UNLINK,
    CLOSE,
    STAT,
    LOCK,
    OWNER,
    MAP,
    MEMORY,
    RANDOM,
    THREAD,
    CLASSES
};
static const char *const classes[CLASSES + 1] = {
    "open",  "read", "write", "sync",  "cut", "rename", "link",   "unlink",
    "close", "stat", "lock",  "owner", "map", "memory", "random", "thread"};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},      {"EINTR", EINTR},
              {"EMFILE", EMFILE}, {"ENOLCK", ENOLCK}, {"EAGAIN", EAGAIN},      {"ENOMEM", ENOMEM},
              {"EPERM", EPERM},   {"EACCES", EACCES}, {"ENOTSUP", EOPNOTSUPP}, {"ENOSYS", ENOSYS}};

enum { HALF = -1, DIE = -2 }; /* beside the error numbers */

static unsigned counted; /* a bit for each class */
static uint64_t fail_at;
static bool and_later;
static int fault;
static int log_file = -1;
static _Atomic uint64_t calls;

static int error_number(const char *name) {
    if (strcmp(name, "short") == 0) return HALF;
    if (strcmp(name, "die") == 0) return DIE;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(name, errors[i].name) == 0) return errors[i].number;
    }
    fprintf(stderr, "fault_at: no error is named %s\n", name);
    abort();
}

static unsigned class_bits(const char *list) {
    unsigned bits = 0;
    if (strcmp(list, "all") == 0) return (1u << CLASSES) - 1;
    for (size_t length; *list != '\0'; list += length + (list[length] == ',')) {
        unsigned i = 0;
        length = strcspn(list, ",");
        while (i < CLASSES && (strlen(classes[i]) != length || strncmp(list, classes[i], length)))
            i++;
        if (i == CLASSES) {
            fprintf(stderr, "fault_at: no class is named %s\n", list);
            abort();
        }
        bits |= 1u << i;
    }
    return bits;
}

const char *fault_class(unsigned index) { return index < CLASSES ? classes[index] : NULL; }

void fault_set(const char *list, const char *error, uint64_t at, bool later) {
    fault = error_number(error);
    fail_at = at;
    and_later = later;
    atomic_store(&calls, 0);
    counted = class_bits(list);
}

uint64_t fault_end(void) {
    counted = 0;
    return atomic_load(&calls);
}

static void log_call(enum class class, const char *name) {
    char line[64];
    const int error = errno;
    const int length = snprintf(line, sizeof line, "%s %s\n", classes[class], name);
    if (length > 0) (void)!syscall(SYS_write, log_file, line, (size_t)length);
    errno = error;
}

/* Counts the call.  0: it is carried out; otherwise an error number, HALF or DIE. */
static int turn(enum class class, const char *name) {
    if ((counted >> class & 1) == 0) return 0;
    const uint64_t now = atomic_fetch_add(&calls, 1) + 1;
    if (log_file >= 0) log_call(class, name);
    if (fail_at == 0 || now < fail_at || (now > fail_at && !and_later)) return 0;
    if (fault > 0) errno = fault;
    return fault;
}

/* The same for a call that transfers nothing. */
static bool fails(enum class class, const char *name) {
    const int how = turn(class, name);
    if (how == DIE) raise(SIGKILL);
    return how > 0;
}

static size_t shortened(int how, size_t length) {
    return how == DIE || (how == HALF && length > 1) ? length / 2 : length;
}

/* ---- the calls */

/* `next` is the function of the C library. */
#if defined(FAULT_WRAP)
#define NAME(name) __wrap_##name
#define NEXT(type, name, parameters) type(*const next) parameters = __real_##name
#define DECLARE(type, name, parameters) \
    type __wrap_##name parameters;      \
    type __real_##name parameters
#define NEXT_MEMORY(name) __real_##name
#else
#define NAME(name) name
#define NEXT(type, name, parameters) \
    static type(*next) parameters;   \
    if (next == NULL) find(&next, #name)
#define DECLARE(type, name, parameters) type name parameters
#define NEXT_MEMORY(name) __libc_##name /* looking it up would allocate */

/* POSIX wants the conversion from data to function pointers to work; C has no word for it. */
static void find(void *function, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static void __attribute__((constructor)) start(void) {
    const char *list = getenv("FAULT_CALL"), *at = getenv("FAULT_AT");
    const char *error = getenv("FAULT_ERROR"), *path = getenv("FAULT_LOG");
    if (list == NULL) return;
    if (path != NULL) {
        /* Above the descriptors of the program. */
        const long low = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_TRUNC | O_WRONLY, 0666);
        log_file = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 500);
        syscall(SYS_close, low);
    }
    char *end = NULL;
    const uint64_t number = at != NULL ? strtoull(at, &end, 10) : 0;
    fault_set(list, error != NULL ? error : "EIO", number, end != NULL && *end == '+');
}
#endif

/* CALL(class, type, name, parameters, arguments, value if it fails) */
#define CALL(class, type, name, parameters, arguments, failed)  \
    DECLARE(type, name, parameters);                            \
    type NAME(name) parameters {                                \
        NEXT(type, name, parameters);                           \
        return fails(class, #name) ? (failed) : next arguments; \
    }

CALL(SYNC, int, fsync, (int fd), (fd), -1)
CALL(SYNC, int, fdatasync, (int fd), (fd), -1)
CALL(CUT, int, ftruncate, (int fd, off_t length), (fd, length), -1)
CALL(CUT, int, ftruncate64, (int fd, off64_t length), (fd, length), -1)
CALL(RENAME, int, rename, (const char *from, const char *to), (from, to), -1)
CALL(RENAME, int, renameat, (int from_in, const char *from, int to_in, const char *to),
     (from_in, from, to_in, to), -1)
CALL(RENAME, int, renameat2,
     (int from_in, const char *from, int to_in, const char *to, unsigned flags),
     (from_in, from, to_in, to, flags), -1)
CALL(LINK, int, link, (const char *from, const char *to), (from, to), -1)
CALL(LINK, int, linkat, (int from_in, const char *from, int to_in, const char *to, int flags),
     (from_in, from, to_in, to, flags), -1)
CALL(UNLINK, int, unlink, (const char *path), (path), -1)
CALL(UNLINK, int, unlinkat, (int in, const char *path, int flags), (in, path, flags), -1)
CALL(STAT, int, stat, (const char *path, struct stat *to), (path, to), -1)
CALL(STAT, int, stat64, (const char *path, struct stat64 *to), (path, to), -1)
CALL(STAT, int, lstat, (const char *path, struct stat *to), (path, to), -1)
CALL(STAT, int, lstat64, (const char *path, struct stat64 *to), (path, to), -1)
CALL(STAT, int, fstat, (int fd, struct stat *to), (fd, to), -1)
CALL(STAT, int, fstat64, (int fd, struct stat64 *to), (fd, to), -1)
CALL(STAT, int, fstatat, (int in, const char *path, struct stat *to, int flags),
     (in, path, to, flags), -1)
CALL(STAT, int, fstatat64, (int in, const char *path, struct stat64 *to, int flags),
     (in, path, to, flags), -1)
CALL(STAT, int, access, (const char *path, int mode), (path, mode), -1)
CALL(STAT, int, faccessat, (int in, const char *path, int mode, int flags), (in, path, mode, flags),
     -1)
CALL(STAT, ssize_t, readlink, (const char *path, char *to, size_t room), (path, to, room), -1)
CALL(STAT, char *, realpath, (const char *path, char *to), (path, to), NULL)
CALL(LOCK, int, flock, (int fd, int operation), (fd, operation), -1)
CALL(OWNER, int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
CALL(OWNER, int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), -1)
CALL(OPEN, DIR *, opendir, (const char *path), (path), NULL)
CALL(OPEN, FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
CALL(OPEN, FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
CALL(OPEN, int, mkstemp, (char *path), (path), -1)
CALL(OPEN, int, mkstemp64, (char *path), (path), -1)
CALL(RANDOM, ssize_t, getrandom, (void *to, size_t length, unsigned flags), (to, length, flags), -1)
CALL(MAP, void *, mmap, (void *at, size_t length, int prot, int flags, int fd, off_t from),
     (at, length, prot, flags, fd, from), MAP_FAILED)
CALL(MAP, void *, mmap64, (void *at, size_t length, int prot, int flags, int fd, off64_t from),
     (at, length, prot, flags, fd, from), MAP_FAILED)
CALL(THREAD, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *context),
     (thread, how, run, context), errno)

/* MEMORY_CALL(name, the C library's own name, parameters, arguments) */
#define MEMORY_CALL(name, own, parameters, arguments) \
    DECLARE(void *, name, parameters);                \
    void *NEXT_MEMORY(own) parameters;                \
    void *NAME(name) parameters { return fails(MEMORY, #name) ? NULL : NEXT_MEMORY(own) arguments; }

#if !defined(FAULT_WITHOUT_MEMORY)
MEMORY_CALL(malloc, malloc, (size_t size), (size))
MEMORY_CALL(calloc, calloc, (size_t count, size_t size), (count, size))
MEMORY_CALL(realloc, realloc, (void *old, size_t size), (old, size))
#if defined(FAULT_WRAP)
MEMORY_CALL(aligned_alloc, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
#else
MEMORY_CALL(aligned_alloc, memalign, (size_t alignment, size_t size), (alignment, size))
#endif
#endif

/* Transfers of `length` bytes. */
#define TRANSFER(class, name, parameters, arguments)                  \
    DECLARE(ssize_t, name, parameters);                               \
    ssize_t NAME(name) parameters {                                   \
        NEXT(ssize_t, name, parameters);                              \
        const int how = fd == STDERR_FILENO ? 0 : turn(class, #name); \
        if (how > 0) return -1;                                       \
        length = shortened(how, length);                              \
        const ssize_t done = next arguments;                          \
        if (how == DIE) raise(SIGKILL);                               \
        return done;                                                  \
    }

TRANSFER(READ, read, (int fd, void *to, size_t length), (fd, to, length))
TRANSFER(READ, pread, (int fd, void *to, size_t length, off_t at), (fd, to, length, at))
TRANSFER(READ, pread64, (int fd, void *to, size_t length, off64_t at), (fd, to, length, at))
TRANSFER(WRITE, write, (int fd, const void *from, size_t length), (fd, from, length))
TRANSFER(WRITE, pwrite, (int fd, const void *from, size_t length, off_t at), (fd, from, length, at))
TRANSFER(WRITE, pwrite64, (int fd, const void *from, size_t length, off64_t at),
         (fd, from, length, at))

/* Of several pieces, half of the first. */
static ssize_t write_pieces(int how, int fd, const struct iovec *pieces, int count, off64_t at) {
    struct iovec first = pieces[0];
    first.iov_len = shortened(how, first.iov_len);
    if (how == HALF || how == DIE) {
        pieces = &first;
        count = 1;
    }
    const ssize_t done = syscall(SYS_pwritev, fd, pieces, count, at, (unsigned long)0);
    if (how == DIE) raise(SIGKILL);
    return done;
}

#define VECTOR_CALL(name, offset)                                                       \
    DECLARE(ssize_t, name, (int fd, const struct iovec *pieces, int count, offset at)); \
    ssize_t NAME(name)(int fd, const struct iovec *pieces, int count, offset at) {      \
        const int how = turn(WRITE, #name);                                             \
        return how > 0 || count < 1 ? -1 : write_pieces(how, fd, pieces, count, at);    \
    }
VECTOR_CALL(pwritev, off_t)
VECTOR_CALL(pwritev64, off64_t)

/* A descriptor is closed even if close fails. */
DECLARE(int, close, (int fd));
int NAME(close)(int fd) {
    NEXT(int, close, (int fd));
    const bool failed = fails(CLOSE, "close");
    const int error = errno, done = next(fd);
    if (!failed) return done;
    errno = error;
    return -1;
}

/* The mode follows only if a file may be created. */
static mode_t mode_of(int flags, va_list rest) {
    const bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return given ? va_arg(rest, mode_t) : 0;
}

#define OPEN_CALL(name)                                           \
    DECLARE(int, name, (const char *path, int flags, ...));       \
    int NAME(name)(const char *path, int flags, ...) {            \
        NEXT(int, name, (const char *, int, ...));                \
        va_list rest;                                             \
        va_start(rest, flags);                                    \
        const mode_t mode = mode_of(flags, rest);                 \
        va_end(rest);                                             \
        return fails(OPEN, #name) ? -1 : next(path, flags, mode); \
    }
OPEN_CALL(open)
OPEN_CALL(open64)

#define OPENAT_CALL(name)                                             \
    DECLARE(int, name, (int in, const char *path, int flags, ...));   \
    int NAME(name)(int in, const char *path, int flags, ...) {        \
        NEXT(int, name, (int, const char *, int, ...));               \
        va_list rest;                                                 \
        va_start(rest, flags);                                        \
        const mode_t mode = mode_of(flags, rest);                     \
        va_end(rest);                                                 \
        return fails(OPEN, #name) ? -1 : next(in, path, flags, mode); \
    }
OPENAT_CALL(openat)
OPENAT_CALL(openat64)

/* Of fcntl, locks are counted, but not unlocking. */
static bool is_lock(int command, const void *argument) {
    if (command != F_OFD_SETLK && command != F_OFD_SETLKW && command != F_SETLK &&
        command != F_SETLKW) {
        return false;
    }
    return ((const struct flock *)argument)->l_type != F_UNLCK;
}

#define FCNTL_CALL(name)                                                 \
    DECLARE(int, name, (int fd, int command, ...));                      \
    int NAME(name)(int fd, int command, ...) {                           \
        NEXT(int, name, (int, int, ...));                                \
        va_list rest;                                                    \
        va_start(rest, command);                                         \
        void *argument = va_arg(rest, void *);                           \
        va_end(rest);                                                    \
        if (is_lock(command, argument) && fails(LOCK, #name)) return -1; \
        return next(fd, command, argument);                              \
    }
FCNTL_CALL(fcntl)
FCNTL_CALL(fcntl64)
