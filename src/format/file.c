/* file.c - whole files: written so that a crash leaves the old one or the new one
 *
 * A file is written to `path.part`, synced, renamed over `path`, and the directory synced.
 * The name is fixed on purpose: what a crash left behind is simply used again by the next
 * writer, and nothing piles up.  A lock on it keeps two writers apart; whoever waited must
 * make sure that the name still means the file that it locked. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"

#define WRITE_MOST ((size_t)1 << 30) /* Linux takes no more than 2 GiB in one call */

static bool write_all(int fd, const uint8_t *bytes, uint64_t length) {
    while (length > 0) {
        const ssize_t n = write(fd, bytes, length < WRITE_MOST ? (size_t)length : WRITE_MOST);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        length -= (uint64_t)n;
    }
    return true;
}

/* path with a suffix, in memory of the default allocator; NULL if there is none. */
static char *path_with(const char *path, const char *suffix, size_t *size) {
    const tamis_allocator a = {0};
    const size_t length = strlen(path), more = strlen(suffix);
    *size = length + more + 1;
    char *joined = tamis__alloc(&a, *size);
    if (joined == NULL) return NULL;
    memcpy(joined, path, length);
    memcpy(joined + length, suffix, more + 1);
    return joined;
}

/* Opens and locks the temporary; -1 and errno if that cannot be. */
static int open_part(const char *part, mode_t mode) {
    for (;;) {
        const int fd = open(part, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode);
        if (fd < 0) return -1;
        struct stat mine, named;
        const bool locked = flock(fd, LOCK_EX) == 0 && fstat(fd, &mine) == 0;
        if (locked && stat(part, &named) == 0 && mine.st_ino == named.st_ino &&
            mine.st_dev == named.st_dev) {
            if (ftruncate(fd, 0) == 0) return fd;
        } else if (locked) {
            close(fd); /* another writer has just renamed it: try again */
            continue;
        }
        const int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
}

static bool sync_directory(const char *path) {
    size_t size;
    const tamis_allocator a = {0};
    char *directory = path_with(path, "", &size);
    if (directory == NULL) return false;
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[slash == directory] = '\0'; /* "/x" is in "/" */
    const char *name = slash == NULL ? "." : directory;
    const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tamis__release(&a, directory, size);
    if (fd < 0) return false;
    /* Some file systems cannot sync a directory and say so: that is not a failed write. */
    const bool done = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    close(fd);
    return done;
}

/* Gives the finished temporary its name. */
static tamis_status publish(const char *part, const char *path, bool replace) {
    if (replace) return rename(part, path) == 0 ? TAMIS_OK : TAMIS_E_IO;
    if (link(part, path) == 0) {
        unlink(part);
        return TAMIS_OK;
    }
    if (errno == EEXIST) return TAMIS_E_EXISTS;
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) return TAMIS_E_IO;
    if (access(path, F_OK) == 0) return TAMIS_E_EXISTS; /* a file system without links */
    return rename(part, path) == 0 ? TAMIS_OK : TAMIS_E_IO;
}

static tamis_status write_part(const char *part, const char *path, bool replace,
                               const struct tamis__span *spans, size_t count) {
    struct stat old;
    const bool had = stat(path, &old) == 0;
    if (had && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return TAMIS_E_IO;
    }
    if (had && !replace) return TAMIS_E_EXISTS;
    const int fd = open_part(part, 0666);
    if (fd < 0) return TAMIS_E_IO;
    if (had) (void)fchmod(fd, old.st_mode & 07777); /* a replaced file keeps its permissions */
    bool written = true;
    for (size_t i = 0; i < count && written; i++) {
        written = write_all(fd, spans[i].bytes, spans[i].length);
    }
    tamis_status status = written && fsync(fd) == 0 ? TAMIS_OK : TAMIS_E_IO;
    if (status == TAMIS_OK) status = publish(part, path, replace);
    const int why = errno;
    if (status != TAMIS_OK) unlink(part);
    close(fd); /* and with it the lock */
    if (status == TAMIS_OK && !sync_directory(path)) return TAMIS_E_IO;
    errno = why;
    return status;
}

tamis_status tamis__file_write(const char *path, bool replace, const struct tamis__span *spans,
                               size_t count) {
    const tamis_allocator a = {0};
    size_t size;
    char *part = path_with(path, ".part", &size);
    if (part == NULL) return TAMIS_E_NOMEM;
    const tamis_status status = write_part(part, path, replace, spans, count);
    const int why = errno;
    tamis__release(&a, part, size);
    errno = why;
    return status;
}

/* ---- reading */

static int open_file(const char *path, struct stat *st) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    int why = fstat(fd, st) == 0 ? 0 : errno;
    if (why == 0 && S_ISDIR(st->st_mode)) why = EISDIR;
    if (why == 0) return fd;
    close(fd);
    errno = why;
    return -1;
}

static bool read_some(int fd, uint8_t *to, uint64_t most, uint64_t *got) {
    for (;;) {
        const ssize_t n = read(fd, to, most < WRITE_MOST ? (size_t)most : WRITE_MOST);
        if (n < 0 && errno == EINTR) continue;
        *got = n < 0 ? 0 : (uint64_t)n;
        return n >= 0;
    }
}

/* Reads to the end.  The size of a plain file is known; a pipe's grows by half each time. */
static tamis_status read_to_end(int fd, const tamis_allocator *a, uint64_t expected,
                                uint8_t **block, uint64_t *block_bytes, uint64_t *length) {
    uint64_t room = expected + 1, used = 0, got;
    uint8_t *to = tamis__table_alloc(a, room);
    if (to == NULL) return TAMIS_E_NOMEM;
    for (;;) {
        if (!read_some(fd, to + used, room - used, &got)) {
            const int why = errno;
            tamis__table_free(a, to, room);
            errno = why;
            return TAMIS_E_IO;
        }
        used += got;
        if (got == 0) break;
        if (used < room) continue;
        const uint64_t larger = room + room / 2 + 4096;
        uint8_t *grown = tamis__table_alloc(a, larger);
        if (grown == NULL) {
            tamis__table_free(a, to, room);
            return TAMIS_E_NOMEM;
        }
        memcpy(grown, to, (size_t)used);
        tamis__table_free(a, to, room);
        to = grown;
        room = larger;
    }
    *block = to;
    *block_bytes = room;
    *length = used;
    return TAMIS_OK;
}

tamis_status tamis__file_read(const char *path, const tamis_allocator *a, uint8_t **block,
                              uint64_t *block_bytes, uint64_t *length) {
    struct stat st;
    const int fd = open_file(path, &st);
    if (fd < 0) return TAMIS_E_IO;
    const uint64_t expected = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 4095;
    const tamis_status status = read_to_end(fd, a, expected, block, block_bytes, length);
    const int why = errno;
    close(fd);
    errno = why;
    return status;
}

tamis_status tamis__file_map(const char *path, uint8_t **block, uint64_t *length) {
    struct stat st;
    const int fd = open_file(path, &st);
    if (fd < 0) return TAMIS_E_IO;
    *length = (uint64_t)st.st_size;
    void *at = MAP_FAILED;
    if (*length != 0) at = mmap(NULL, (size_t)*length, PROT_READ, MAP_SHARED, fd, 0);
    const int why = errno;
    close(fd);
    if (*length == 0) return TAMIS_E_TRUNCATED;
    if (at == MAP_FAILED) {
        errno = why;
        return TAMIS_E_IO;
    }
#if defined(MADV_RANDOM)
    (void)madvise(at, (size_t)*length, MADV_RANDOM);
#endif
    *block = at;
    return TAMIS_OK;
}

void tamis__file_unmap(uint8_t *block, uint64_t length) { munmap(block, (size_t)length); }
