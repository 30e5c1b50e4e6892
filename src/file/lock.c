/* lock.c - see lock.h */
#define _GNU_SOURCE 1
#include "file/lock.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#if defined(F_OFD_SETLK)
static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A waiting process tries again: the call that waits has no limit. */
#define PAUSE_MAX_MS 32

bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, int64_t wait_ms) {
    struct flock lock = {.l_type = alone ? F_WRLCK : F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)which,
                         .l_len = 1};
    const int64_t start = wait_ms > 0 ? now_ms() : 0;
    for (long pause_ms = 1;; pause_ms += pause_ms < PAUSE_MAX_MS ? pause_ms : 0) {
        if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return true;
        if (errno == EINTR) continue;
        if (errno == EACCES) errno = EAGAIN;
        if (errno != EAGAIN || wait_ms <= 0 || now_ms() - start >= wait_ms) return false;
        const struct timespec pause = {0, pause_ms * 1000000};
        (void)nanosleep(&pause, NULL);
        errno = EAGAIN;
    }
}

void tamis__unlock(int descriptor, enum tamis__lock which) {
    struct flock lock = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1};
    (void)fcntl(descriptor, F_OFD_SETLK, &lock);
}
#else
/* Locks of a whole process are lost when another descriptor of the file is closed. */
bool tamis__lock(int descriptor, enum tamis__lock which, bool alone, int64_t wait_ms) {
    (void)descriptor, (void)which, (void)alone, (void)wait_ms;
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
#endif
