/* io.c - see io.h */
#define _POSIX_C_SOURCE 200809L
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
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
