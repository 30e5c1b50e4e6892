/* descriptor.c - see descriptor.h */
#define _GNU_SOURCE /* F_SETPIPE_SZ */

#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Four of our blocks, and two of what cat writes at once.  `cat FILE | reader` moves 0.95 GB/s
 * through 64 KiB, 2.3 through 128 KiB, 2.9 through this, and no more through 1 MiB. */
#define PIPE_BYTES (256 << 10)

int descriptor_open(const char *path, int flags) {
    int descriptor;
    do {
        descriptor = open(path, flags | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor_apart(descriptor);
}

int descriptor_apart(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int apart = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    close(descriptor);
    errno = why;
    return apart;
}

void descriptor_widen(int descriptor) {
#if defined(F_GETPIPE_SZ) && defined(F_SETPIPE_SZ)
    const int room = fcntl(descriptor, F_GETPIPE_SZ); /* -1: no pipe */
    if (room > 0 && room < PIPE_BYTES) (void)fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES);
#else
    (void)descriptor;
#endif
}
