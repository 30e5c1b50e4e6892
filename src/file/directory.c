/* directory.c - see directory.h
 *
 * A draft is unnamed (O_TMPFILE) until it is complete: a crash leaves nothing behind.  Where that
 * is not supported it has a random name, created with O_EXCL: another user can neither provide the
 * file nor a link in its place. */
#define _GNU_SOURCE 1
#include "file/directory.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

#include "core/io.h"

_Static_assert(PATH_MAX <= TAMIS__PATH_MAX, "realpath writes up to PATH_MAX bytes");

#define NAME_TRIES 100

/* ---- the directory */

#if !defined(O_PATH)
#define O_PATH O_RDONLY
#endif

bool tamis__directory_open(const char *path, struct tamis__directory *d) {
    char name[TAMIS__PATH_MAX];
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    *d = (struct tamis__directory){.descriptor = -1, .name = slash == NULL ? path : slash + 1};
    if (length >= sizeof name) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    if (length == 0) strcpy(name, slash == NULL ? "." : "/");
    d->descriptor = tamis__open(name, O_RDONLY | O_DIRECTORY, 0);
    d->can_sync = d->descriptor >= 0;
    /* It may be writable, but not readable. */
    if (d->descriptor < 0 && errno == EACCES) {
        d->descriptor = tamis__open(name, O_PATH | O_DIRECTORY, 0);
    }
    return d->descriptor >= 0;
}

void tamis__directory_close(struct tamis__directory *d) {
    if (d->descriptor >= 0) close(d->descriptor);
    d->descriptor = -1;
}

bool tamis__directory_sync(const struct tamis__directory *d) {
    if (!d->can_sync) {
        sync();
        return true;
    }
    /* Some file systems cannot sync a directory: that is not a failed write. */
    return tamis__sync(d->descriptor) || errno == EINVAL || errno == ENOTSUP;
}

/* ---- drafts */

static uint64_t random_number(void) {
    uint64_t number = 0;
#if defined(__linux__)
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == (ssize_t)sizeof number) return number;
#endif
    /* Another user may guess this name, and create it: O_EXCL detects that. */
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    number ^= (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
    return number ^ (uint64_t)getpid() << 24 ^ (uint64_t)(uintptr_t)&number;
}

static void draft_name(char name[TAMIS__DRAFT_NAME]) {
    snprintf(name, TAMIS__DRAFT_NAME, ".tamis-%016llx.part", (unsigned long long)random_number());
}

static int create_named(const struct tamis__directory *d, mode_t mode,
                        char name[TAMIS__DRAFT_NAME]) {
    for (int i = 0; i < NAME_TRIES; i++) {
        draft_name(name);
        const int fd = tamis__above_streams(openat(
            d->descriptor, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode));
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

bool tamis__draft_create(const struct tamis__directory *d, mode_t mode, bool named,
                         struct tamis__draft_file *draft) {
    *draft = (struct tamis__draft_file){.descriptor = -1};
#if defined(O_TMPFILE)
    if (!named) {
        const int flags = O_TMPFILE | O_WRONLY | O_CLOEXEC;
        draft->descriptor = tamis__above_streams(openat(d->descriptor, ".", flags, mode));
        if (draft->descriptor >= 0) return true;
    }
#endif
    draft->descriptor = create_named(d, mode, draft->name);
    if (draft->descriptor < 0) draft->name[0] = '\0';
    return draft->descriptor >= 0;
}

void tamis__draft_discard(const struct tamis__directory *d, struct tamis__draft_file *draft) {
    const int why = errno;
    if (draft->name[0] != '\0') (void)unlinkat(d->descriptor, draft->name, 0);
    if (draft->descriptor >= 0) close(draft->descriptor);
    *draft = (struct tamis__draft_file){.descriptor = -1};
    errno = why;
}

/* Gives an unnamed draft a name that no file has. */
static bool link_unnamed(const struct tamis__directory *d, int descriptor, const char *name) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, path, d->descriptor, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool name_draft(const struct tamis__directory *d, struct tamis__draft_file *draft) {
    char name[TAMIS__DRAFT_NAME];
    for (int i = 0; i < NAME_TRIES; i++) {
        draft_name(name);
        if (link_unnamed(d, draft->descriptor, name)) {
            memcpy(draft->name, name, sizeof name);
            return true;
        }
        if (errno != EEXIST) return false;
    }
    return false;
}

/* Renames a named draft to a name that no file has. */
static bool rename_to_new(const struct tamis__directory *d, const char *from, bool *left) {
#if defined(RENAME_NOREPLACE)
    if (renameat2(d->descriptor, from, d->descriptor, d->name, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
#endif
    if (linkat(d->descriptor, from, d->descriptor, d->name, 0) == 0) {
        *left = unlinkat(d->descriptor, from, 0) != 0;
        return true;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) return false;
    if (faccessat(d->descriptor, d->name, F_OK, 0) == 0) { /* a file system without links */
        errno = EEXIST;
        return false;
    }
    return renameat(d->descriptor, from, d->descriptor, d->name) == 0;
}

/* Between its two names an unnamed draft has one that would stay if a signal ended the process. */
static bool replace_with(const struct tamis__directory *d, struct tamis__draft_file *draft) {
    sigset_t all, before;
    sigfillset(&all);
    const bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    const bool done = (draft->name[0] != '\0' || name_draft(d, draft)) &&
                      renameat(d->descriptor, draft->name, d->descriptor, d->name) == 0;
    if (done) draft->name[0] = '\0';
    const int why = errno;
    if (blocked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return done;
}

bool tamis__draft_publish(const struct tamis__directory *d, struct tamis__draft_file *draft,
                          bool replace, bool *left) {
    *left = false;
    if (replace) return replace_with(d, draft);
    if (draft->name[0] == '\0') return link_unnamed(d, draft->descriptor, d->name);
    if (!rename_to_new(d, draft->name, left)) return false;
    draft->name[0] = '\0';
    return true;
}
#endif
