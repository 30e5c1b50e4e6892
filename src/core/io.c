/* io.c - see io.h */
#define _POSIX_C_SOURCE 200809L
#include "core/io.h"

#include <errno.h>
#include <unistd.h>

bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at) {
    const uint8_t *from = bytes;
    while (length > 0) {
        const size_t some = length < TAMIS__IO_MOST ? (size_t)length : TAMIS__IO_MOST;
        const ssize_t n = pwrite(descriptor, from, some, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
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
        if (n <= 0) return false;
        to += n;
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}
