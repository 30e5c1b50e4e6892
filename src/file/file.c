/* file.c - whole files: atomic writes, and reads
 *
 * A file is written to `path.part`, synced, renamed over `path`, and the directory synced.
 * The name is fixed: the next writer reuses what a crash left behind, and nothing accumulates.
 * A lock on it separates two writers; a writer that waited checks that the name still means the
 * file that it locked. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "file/file.h"
#include "file/journal.h"
#include "file/lock.h"
#include "file/native.h"
#include "filter/codec.h"

static bool write_all(int fd, const uint8_t *bytes, uint64_t length) {
    while (length > 0) {
        const ssize_t n = write(fd, bytes, length < TAMIS__IO_MAX ? (size_t)length : TAMIS__IO_MAX);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        length -= (uint64_t)n;
    }
    return true;
}

/* ---- locks */

#if defined(F_OFD_SETLK)
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, bool wait) {
    struct flock lock = {.l_type = alone ? F_WRLCK : F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)which,
                         .l_len = 1};
    int failed;
    do {
        failed = fcntl(descriptor, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    } while (failed != 0 && errno == EINTR);
    if (failed != 0 && errno == EACCES) errno = EAGAIN;
    return failed == 0;
}

void tamis__unlock(int descriptor, enum tamis__lock which) {
    struct flock lock = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1};
    (void)fcntl(descriptor, F_OFD_SETLK, &lock);
}
#else
/* Locks of a whole process are lost when another descriptor of the file is closed. */
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, bool wait) {
    (void)descriptor, (void)which, (void)alone, (void)wait;
    errno = ENOLCK;
    return false;
}

void tamis__unlock(int descriptor, enum tamis__lock which) { (void)descriptor, (void)which; }
#endif

bool tamis__same_file(const char *path, int descriptor) {
    struct stat mine, named;
    return fstat(descriptor, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

bool tamis__is_stream(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* ---- paths */

char *tamis__path_with(const char *path, const char *suffix, size_t *size) {
    const tamis_allocator a = {0};
    const size_t length = strlen(path), more = strlen(suffix);
    *size = length + more + 1;
    char *joined = tamis__alloc(&a, *size);
    if (joined == NULL) return NULL;
    memcpy(joined, path, length);
    memcpy(joined + length, suffix, more + 1);
    return joined;
}

void tamis__path_free(char *path, size_t size) {
    const tamis_allocator a = {0};
    tamis__release(&a, path, size);
}

/* ---- writing */

/* A crash in `publish`, between the two names, leaves a temporary that is the file itself: a write
 * to it would be a write to the file, and it would never go away. */
static bool has_other_name(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink > 1;
}

/* Opens and locks the temporary; -1 and errno on failure. */
static int open_part(const char *part, mode_t mode) {
    for (;;) {
        /* Not blocking: opening a pipe of that name would wait for a reader. */
        const int fd = tamis__open(part, O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK, mode);
        if (fd < 0) return -1;
        bool good = flock(fd, LOCK_EX) == 0, again = false;
        if (good && !tamis__same_file(part, fd)) {
            again = true; /* another writer has just renamed it */
        } else if (good && has_other_name(fd)) {
            again = good = unlink(part) == 0;
        } else if (good) {
            good = ftruncate(fd, 0) == 0;
        }
        if (good && !again) return fd;
        const int why = errno;
        close(fd);
        errno = why;
        if (!good) return -1;
    }
}

bool tamis__sync_directory(const char *path) {
    size_t size;
    char *directory = tamis__path_with(path, "", &size);
    if (directory == NULL) return false;
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[slash == directory] = '\0'; /* "/x" is in "/" */
    const char *name = slash == NULL ? "." : directory;
    const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tamis__path_free(directory, size);
    if (fd < 0) {
        /* The directory may be writable but not readable, or there is no descriptor left. The file
         * has its name by now, so this must not report that nothing was changed. */
        sync();
        return true;
    }
    /* Some file systems cannot sync a directory: that is not a failed write. */
    const bool done = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    close(fd);
    return done;
}

/* Renames the finished temporary. */
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

/* The same where there may be an old file. A journal that a crash left is void once the file is
 * replaced; but while another process updates the old file, the journal is in use. */
static tamis_status publish_over(const char *part, const char *path, bool had, bool replace) {
    const int old = had ? tamis__open(path, O_RDWR, 0) : -1;
    const bool idle = old >= 0 && tamis__lock(old, TAMIS__LOCK_WRITER, true, false);
    const tamis_status status = publish(part, path, replace);
    const int why = errno;
    if (status == TAMIS_OK && idle) tamis__journal_remove(path);
    if (old >= 0) close(old);
    errno = why;
    return status;
}

void tamis__file_copy_owner(int fd, const struct stat *old) {
    struct stat now;
    mode_t mode = old->st_mode & 0777;
    if (fstat(fd, &now) != 0) return;
    if (now.st_uid != old->st_uid || now.st_gid != old->st_gid) {
        const bool kept =
            fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
        /* The permissions of one group are not those of another. */
        if (!kept) mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    }
    (void)fchmod(fd, mode);
}

/* Is there another file than the one to be replaced? Only the writer that holds the temporary
 * renames it to `path`, so the answer stays valid. */
static bool is_replaced(const char *path, int old) {
    if (old < 0 || access(path, F_OK) != 0 || tamis__same_file(path, old)) return false;
    errno = ESTALE;
    return true;
}

static tamis_status write_part(const char *part, const char *path, bool replace, int over,
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
    if (had) tamis__file_copy_owner(fd, &old);
    bool written = !is_replaced(path, over);
    for (size_t i = 0; i < count && written; i++) {
        written = write_all(fd, spans[i].bytes, spans[i].length);
    }
    tamis_status status = written && fsync(fd) == 0 ? TAMIS_OK : TAMIS_E_IO;
    if (status == TAMIS_OK && is_replaced(path, over)) status = TAMIS_E_IO;
    if (status == TAMIS_OK) status = publish_over(part, path, had, replace);
    const int why = errno;
    if (status != TAMIS_OK) unlink(part);
    close(fd); /* and with it the lock */
    if (status == TAMIS_OK && !tamis__sync_directory(path)) return TAMIS_E_IO;
    errno = why;
    return status;
}

tamis_status tamis__file_write(const char *path, bool replace, int old,
                               const struct tamis__span *spans, size_t count) {
    size_t size;
    char *part = tamis__path_with(path, ".part", &size);
    if (part == NULL) return TAMIS_E_NOMEM;
    const tamis_status status = write_part(part, path, replace, old, spans, count);
    tamis__path_free(part, size);
    return status;
}

/* ---- reading */

/* Opens it for reading, when no process updates it in place. */
static int open_file(const char *path, struct stat *st) {
    const int fd = tamis__open(path, O_RDONLY, 0);
    if (fd < 0) return -1;
    int why = fstat(fd, st) == 0 ? 0 : errno;
    if (why == 0 && S_ISDIR(st->st_mode)) why = EISDIR;
    /* Where files cannot be locked they are not updated in place either. */
    if (why == 0 && S_ISREG(st->st_mode)) (void)tamis__lock(fd, TAMIS__LOCK_READERS, false, true);
    if (why == 0) return fd;
    close(fd);
    errno = why;
    return -1;
}

static bool read_some(int fd, uint8_t *to, uint64_t max, uint64_t *got) {
    for (;;) {
        const ssize_t n = read(fd, to, max < TAMIS__IO_MAX ? (size_t)max : TAMIS__IO_MAX);
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
            tamis__table_free(a, to, room);
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

tamis_status tamis__descriptor_read(int descriptor, const tamis_allocator *a, uint8_t **block,
                                    uint64_t *block_bytes, uint64_t *length) {
    struct stat st;
    if (fstat(descriptor, &st) != 0) return TAMIS_E_IO;
    const uint64_t expected = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 4095;
    return read_to_end(descriptor, a, expected, block, block_bytes, length);
}

tamis_status tamis__file_read(const char *path, const tamis_allocator *a, uint8_t **block,
                              uint64_t *block_bytes, uint64_t *length) {
    struct stat st;
    struct tamis__journal journal = {.descriptor = -1};
    const int fd = open_file(path, &st);
    if (fd < 0) return TAMIS_E_IO;
    tamis_status status = TAMIS_OK;
    if (S_ISREG(st.st_mode)) {
        status = tamis__journal_open(path, fd, (uint64_t)st.st_size, &journal);
    }
    if (status == TAMIS_OK) status = tamis__descriptor_read(fd, a, block, block_bytes, length);
    const int why = errno;
    if (status == TAMIS_OK && journal.bytes != NULL && *length == (uint64_t)st.st_size) {
        tamis__journal_replay(&journal, *block);
    }
    tamis__journal_close(&journal);
    close(fd);
    errno = why;
    return status;
}

/* Only .tamis files are ever updated in place. */
static bool is_native(const struct tamis__mapping *m) {
    return tamis__native_begins(m->bytes, m->length);
}

/* Maps an open file that has bytes, and applies its journal. */
static tamis_status map_descriptor(const char *path, struct tamis__mapping *m) {
    struct tamis__journal journal;
    const tamis_status status = tamis__journal_open(path, m->descriptor, m->length, &journal);
    if (status != TAMIS_OK) return status;
    const bool pending = journal.bytes != NULL;
    void *at = mmap(NULL, (size_t)m->length, pending ? PROT_READ | PROT_WRITE : PROT_READ,
                    pending ? MAP_PRIVATE : MAP_SHARED, m->descriptor, 0);
    const int why = errno;
    if (at != MAP_FAILED && pending) {
        tamis__journal_replay(&journal, at);
        (void)mprotect(at, (size_t)m->length, PROT_READ);
    }
    tamis__journal_close(&journal);
    errno = why;
    if (at == MAP_FAILED) return TAMIS_E_IO;
    m->bytes = at;
#if defined(MADV_RANDOM)
    (void)madvise(at, (size_t)m->length, MADV_RANDOM);
#endif
    return TAMIS_OK;
}

tamis_status tamis__file_map(const char *path, struct tamis__mapping *m) {
    struct stat st = {0};
    if (tamis__is_stream(path)) return TAMIS_E_UNSUPPORTED;
    *m = (struct tamis__mapping){.descriptor = open_file(path, &st)};
    if (m->descriptor < 0) return TAMIS_E_IO;
    m->length = (uint64_t)st.st_size;
    tamis_status status = S_ISREG(st.st_mode) ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
    if (m->length > SIZE_MAX / 2) status = TAMIS_E_TOO_BIG;
    /* An empty file cannot be mapped; the decoder reports what is missing. */
    if (status == TAMIS_OK && m->length != 0) status = map_descriptor(path, m);
    if (status != TAMIS_OK || !is_native(m)) {
        const int why = errno;
        close(m->descriptor);
        m->descriptor = -1;
        errno = why;
    }
    return status;
}

void tamis__file_prefetch(const uint8_t *bytes, uint64_t length) {
#if defined(MADV_WILLNEED)
    (void)madvise((void *)(uintptr_t)bytes, (size_t)length, MADV_WILLNEED);
#else
    (void)bytes, (void)length;
#endif
}

void tamis__file_unmap(struct tamis__mapping *m) {
    if (m->length != 0) munmap(m->bytes, (size_t)m->length);
    if (m->descriptor >= 0) close(m->descriptor);
}
