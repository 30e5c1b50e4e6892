/* record.c - preloaded into the command: logs its calls that change files, with their data
 *
 *     POWER_LOG=log LD_PRELOAD=.../librecord.so tamis add ...
 *
 * A call is logged after it succeeded, as one record (record.h).  Calls go to the kernel directly,
 * not to the next library.  With POWER_NAMED files without a name cannot be created, as on some
 * file systems.  Files are identified by their inode, names by their last component: cuts.c works
 * in one directory.  It compares the directory with what the log makes of it, so a call that is
 * missing here does not go unnoticed. */
#define _GNU_SOURCE 1
#undef _FILE_OFFSET_BITS /* both names of a call are wanted, not one for the other */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int log_file(void) {
    static int descriptor = -1;
    if (descriptor < 0) {
        const char *path = getenv("POWER_LOG");
        if (path == NULL) return -1;
        const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
        const int low = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
        descriptor = fcntl(low, F_DUPFD_CLOEXEC, 200); /* the command's numbers stay as they are */
        syscall(SYS_close, low);
    }
    return descriptor;
}

static const char *last_component(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void put(enum record_kind kind, uint64_t inode, const char *name, const char *other,
                uint64_t at, const void *data, uint64_t length) {
    struct record r = {.kind = kind, .inode = inode, .at = at, .length = length};
    const int descriptor = log_file();
    name = name == NULL ? "" : last_component(name);
    other = other == NULL ? "" : last_component(other);
    r.name_bytes = (uint32_t)strlen(name) + 1;
    r.other_bytes = (uint32_t)strlen(other) + 1;
    const struct iovec parts[] = {{&r, sizeof r},
                                  {(void *)(uintptr_t)name, r.name_bytes},
                                  {(void *)(uintptr_t)other, r.other_bytes},
                                  {(void *)(uintptr_t)data, data == NULL ? 0 : length}};
    ssize_t all = 0;
    for (int i = 0; i < 4; i++) all += (ssize_t)parts[i].iov_len;
    if (descriptor >= 0 && syscall(SYS_writev, descriptor, parts, 4) != all) abort();
}

/* The inode of a regular file; 0: it is none. */
static uint64_t inode_of(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_ino : 0;
}

static uint64_t inode_named(int directory, const char *name) {
    struct stat st;
    return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_ino : 0;
}

/* ---- opening */

static int open_logged(int directory, const char *path, int flags, mode_t mode) {
    struct stat st;
    const int existed = fstatat(directory, path, &st, 0) == 0;
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("POWER_NAMED") != NULL) {
        errno = EOPNOTSUPP;
        return -1;
    }
    const int fd = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (fd < 0) return fd;
    const uint64_t inode = inode_of(fd);
    if (inode == 0) return fd;
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        put(RECORD_CREATE, inode, NULL, NULL, 0, NULL, 0);
    } else if ((flags & O_CREAT) != 0 && !existed) {
        put(RECORD_CREATE, inode, path, NULL, 0, NULL, 0);
    } else if ((flags & O_TRUNC) != 0) {
        put(RECORD_TRUNCATE, inode, NULL, NULL, 0, NULL, 0);
    }
    return fd;
}

static mode_t mode_of(int flags, va_list list) {
    const int creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? va_arg(list, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_logged(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_logged(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_logged(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return open_logged(directory, path, flags, mode);
}

/* ---- writing */

ssize_t write(int fd, const void *bytes, size_t length) {
    const ssize_t n = syscall(SYS_write, fd, bytes, length);
    const uint64_t inode = n > 0 ? inode_of(fd) : 0;
    if (inode != 0) {
        const off64_t end = lseek64(fd, 0, SEEK_CUR);
        put(RECORD_WRITE, inode, NULL, NULL, (uint64_t)(end - n), bytes, (uint64_t)n);
    }
    return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    const ssize_t n = syscall(SYS_pwrite64, fd, bytes, length, at);
    const uint64_t inode = n > 0 ? inode_of(fd) : 0;
    if (inode != 0) put(RECORD_WRITE, inode, NULL, NULL, (uint64_t)at, bytes, (uint64_t)n);
    return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    return pwrite64(fd, bytes, length, at);
}

int ftruncate64(int fd, off64_t length) {
    const int result = (int)syscall(SYS_ftruncate, fd, length);
    const uint64_t inode = result == 0 ? inode_of(fd) : 0;
    if (inode != 0) put(RECORD_TRUNCATE, inode, NULL, NULL, (uint64_t)length, NULL, 0);
    return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

/* ---- syncing */

static int synced(int fd, int result) {
    struct stat st;
    if (result != 0 || fstat(fd, &st) != 0) return result;
    if (S_ISDIR(st.st_mode)) put(RECORD_SYNC_DIR, 0, NULL, NULL, 0, NULL, 0);
    if (S_ISREG(st.st_mode)) put(RECORD_SYNC, (uint64_t)st.st_ino, NULL, NULL, 0, NULL, 0);
    return result;
}

int fsync(int fd) { return synced(fd, (int)syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { return synced(fd, (int)syscall(SYS_fdatasync, fd)); }

void sync(void) {
    syscall(SYS_sync);
    put(RECORD_SYNC_ALL, 0, NULL, NULL, 0, NULL, 0);
}

/* ---- names */

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    const uint64_t inode = inode_named(from_at, from);
    const int result = (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    if (result == 0) put(RECORD_RENAME, inode, from, to, 0, NULL, 0);
    return result;
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
    return renameat2(from_at, from, to_at, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    const int result = (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
    if (result == 0) put(RECORD_LINK, inode_named(to_at, to), NULL, to, 0, NULL, 0);
    return result;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int directory, const char *path, int flags) {
    const uint64_t inode = inode_named(directory, path);
    const int result = (int)syscall(SYS_unlinkat, directory, path, flags);
    if (result == 0) put(RECORD_UNLINK, inode, path, NULL, 0, NULL, 0);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
