/* io.c - see io.h */
#define _GNU_SOURCE 1 /* O_TMPFILE, pwritev */
#include "core/io.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

int tamis__above_streams(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    close(descriptor);
    errno = why;
    return moved;
}

int tamis__open(const char *path, int flags, mode_t mode) {
    int descriptor;
    do {
        descriptor = open(path, flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    return tamis__above_streams(descriptor);
}

bool tamis__sync(int descriptor) {
    int failed;
    do {
        failed = fsync(descriptor);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
}

/* Reads or, if `write`, writes all bytes. */
static bool transfer(int descriptor, uint8_t *bytes, uint64_t length, uint64_t at, bool write) {
    while (length > 0) {
        const size_t some = length < TAMIS__IO_MAX ? (size_t)length : TAMIS__IO_MAX;
        const ssize_t n = write ? pwrite(descriptor, bytes, some, (off_t)at)
                                : pread(descriptor, bytes, some, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* the file has become shorter, or nothing was written */
        if (n <= 0) return false;
        bytes += n;
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}

bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at) {
    return transfer(descriptor, (uint8_t *)(uintptr_t)bytes, length, at, true);
}

bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at) {
    return transfer(descriptor, bytes, length, at, false);
}

void tamis__close(int descriptor) {
    if (descriptor >= 0) close(descriptor);
}

/* ---- spans */

#define VECTORS 256

static size_t gather_vectors(const struct tamis__span *spans, size_t count, struct iovec *vector) {
    const size_t some = count < VECTORS ? count : VECTORS;
    for (size_t i = 0; i < some; i++) {
        vector[i] = (struct iovec){(void *)(uintptr_t)spans[i].bytes, (size_t)spans[i].length};
    }
    return some;
}

/* count is not 0. */
static bool write_vectors(int descriptor, struct iovec *vector, size_t count, uint64_t *at) {
    do {
        const ssize_t written = pwritev(descriptor, vector, (int)count, (off_t)*at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        *at += (uint64_t)written;
        size_t rest = (size_t)written;
        for (; count > 0 && rest >= vector->iov_len; vector++, count--) rest -= vector->iov_len;
        if (count > 0) {
            vector->iov_base = (uint8_t *)vector->iov_base + rest;
            vector->iov_len -= rest;
        }
    } while (count > 0);
    return true;
}

bool tamis__write_spans(int descriptor, const struct tamis__span *spans, size_t count,
                        uint64_t *at) {
    struct iovec vector[VECTORS];
    while (count > 0) {
        const size_t some = gather_vectors(spans, count, vector);
        if (!write_vectors(descriptor, vector, some, at)) return false;
        spans += some;
        count -= some;
    }
    return true;
}

/* ---- temporary files */

const char *tamis__temporary_directory(const char *directory) {
    if (directory == NULL) directory = getenv("TMPDIR");
    return directory == NULL || *directory == '\0' ? "/tmp" : directory;
}

int tamis__nameless_file(const char *directory) {
#if defined(O_TMPFILE)
    const int fd = tamis__open(directory, O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0) return fd;
#endif
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s/tamis-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkstemp(name);
    if (named >= 0 && unlink(name) != 0) { /* it would stay for ever */
        const int why = errno;
        close(named);
        errno = why;
        return -1;
    }
    return tamis__above_streams(named);
}
#endif
