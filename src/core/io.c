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
    return tamis__above_streams(open(path, flags | O_CLOEXEC, mode));
}

bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at) {
    const uint8_t *from = bytes;
    while (length > 0) {
        const size_t some = length < TAMIS__IO_MOST ? (size_t)length : TAMIS__IO_MOST;
        const ssize_t n = pwrite(descriptor, from, some, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* it takes no more */
        if (n <= 0) return false;
        from += n;
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}

bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at) {
    uint8_t *to = bytes;
    while (length > 0) {
        const size_t some = length < TAMIS__IO_MOST ? (size_t)length : TAMIS__IO_MOST;
        const ssize_t n = pread(descriptor, to, some, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* it has become shorter */
        if (n <= 0) return false;
        to += n;
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}
