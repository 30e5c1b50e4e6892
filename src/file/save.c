/* save.c - see save.h
 *
 * Everything that can fail comes before the new name, except the sync of the directory.  Two
 * processes that save one file do not wait for each other: each has its own draft, and the last
 * name counts.  An update of the file (update.h) must not replace a file that it has not read:
 * TAMIS__LOCK_NAME makes the comparison and the rename one step. */
#define _GNU_SOURCE 1
#include "file/save.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "file/directory.h"
#include "file/journal.h"
#include "file/lock.h"

/* A lock on the name is held for the time of a rename.  After this time another process holds it
 * for another reason, and the rename goes on without it. */
#define NAME_WAIT_MS 1000
#define NAME_TRIES 100

static bool write_all(int fd, const uint8_t *bytes, uint64_t length) {
    while (length > 0) {
        const ssize_t n = write(fd, bytes, length < TAMIS__IO_MAX ? (size_t)length : TAMIS__IO_MAX);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return false;
        bytes += n;
        length -= (uint64_t)n;
    }
    return true;
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

/* A save in progress. */
struct save {
    const char *path;
    struct tamis__directory directory;
    struct tamis__draft_file draft;
    char journal[TAMIS__JOURNAL_NAME];
    bool replace;
    bool had; /* there is a file of that name, */
    struct stat old;
    int over; /* and it must be this one; -1: any */
};

static bool write_draft(struct save *s, bool named, const struct tamis__span *spans, size_t count) {
    if (!tamis__draft_create(&s->directory, s->had ? 0600 : 0666, named, &s->draft)) return false;
    if (s->had) tamis__file_copy_owner(s->draft.descriptor, &s->old);
    for (size_t i = 0; i < count; i++) {
        if (!write_all(s->draft.descriptor, spans[i].bytes, spans[i].length)) return false;
    }
    return tamis__sync(s->draft.descriptor);
}

/* Locks the name of the file that has it now; -1 if there is none or it cannot be opened. */
static int hold_name(const struct save *s) {
    for (int i = 0; s->had && S_ISREG(s->old.st_mode) && i < NAME_TRIES; i++) {
        const int fd = tamis__open(s->path, O_RDWR | O_NONBLOCK, 0);
        if (fd < 0) return -1;
        (void)tamis__lock(fd, TAMIS__LOCK_NAME, true, NAME_WAIT_MS);
        if (tamis__same_file(s->path, fd)) return fd;
        close(fd);
    }
    return -1;
}

/* Is there another file than the one to be replaced? */
static bool is_replaced(const struct save *s) {
    if (s->over < 0 || access(s->path, F_OK) != 0 || tamis__same_file(s->path, s->over)) {
        return false;
    }
    errno = ESTALE;
    return true;
}

/* Until the new name is durable a power cut may bring the old file back, and it may be torn: its
 * journal goes afterwards.  If the sync fails it stays: it does not fit the new file. */
static void drop_journal(const struct save *s) {
    if (access(s->journal, F_OK) == 0 && tamis__directory_sync(&s->directory)) {
        (void)unlink(s->journal);
    }
}

/* A journal that a crash left is void once the file is replaced; but while another process updates
 * the old file, the journal is in use. */
static bool publish(struct save *s, bool *left) {
    const int held = hold_name(s);
    const bool idle = held >= 0 && tamis__lock(held, TAMIS__LOCK_WRITER, true, 0);
    const bool done =
        !is_replaced(s) && tamis__draft_publish(&s->directory, &s->draft, s->replace, left);
    int why = errno;
    if (done && (idle || s->over >= 0) && s->journal[0] != '\0') drop_journal(s);
    if (held >= 0) close(held);
    errno = why;
    return done;
}

/* On a file system, or without /proc, where an unnamed draft cannot get a name, the second try is
 * with a named one. */
static bool may_be_unnamed(int error) {
    return error != EEXIST && error != ESTALE && error != ENOSPC && error != EDQUOT;
}

static tamis_status save_draft(struct save *s, const struct tamis__span *spans, size_t count) {
    bool left = false;
    for (bool named = false;; named = true) {
        if (!write_draft(s, named, spans, count)) return TAMIS_E_IO;
        const bool unnamed = s->draft.name[0] == '\0';
        if (publish(s, &left)) break;
        if (errno == EEXIST && !s->replace) return TAMIS_E_EXISTS;
        if (!unnamed || !may_be_unnamed(errno)) return TAMIS_E_IO;
        tamis__draft_discard(&s->directory, &s->draft);
    }
    return tamis__directory_sync(&s->directory) && !left ? TAMIS_OK : TAMIS_E_CHANGED;
}

static tamis_status start(struct save *s) {
    s->had = stat(s->path, &s->old) == 0;
    if (s->directory.name[0] == '\0' || (s->had && S_ISDIR(s->old.st_mode))) {
        errno = EISDIR;
        return TAMIS_E_IO;
    }
    if (s->had && !s->replace) return TAMIS_E_EXISTS;
    if (s->had && !S_ISREG(s->old.st_mode)) {
        errno = ENOTSUP;
        return TAMIS_E_IO;
    }
    tamis__journal_name(s->path, s->journal);
    return TAMIS_OK;
}

/* The file behind a symbolic link, from malloc; NULL: there is none.  Links that another user has
 * made are not followed: the file would be of that user's choice. */
static char *target_of(const char *path) {
    struct stat link, file;
    if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode)) return NULL;
    if (link.st_uid != geteuid() && link.st_uid != 0) return NULL;
    return stat(path, &file) == 0 ? realpath(path, NULL) : NULL;
}

static tamis_status save(const char *path, bool replace, int old, const struct tamis__span *spans,
                         size_t count) {
    struct save s = {.path = path, .replace = replace, .over = old, .draft = {.descriptor = -1}};
    if (!tamis__directory_open(path, &s.directory)) return TAMIS_E_IO;
    tamis_status status = start(&s);
    if (status == TAMIS_OK) status = save_draft(&s, spans, count);
    const int why = errno;
    tamis__draft_discard(&s.directory, &s.draft);
    tamis__directory_close(&s.directory);
    errno = why;
    return status;
}

tamis_status tamis__file_save(const char *path, bool replace, int old,
                              const struct tamis__span *spans, size_t count) {
    char *target = target_of(path);
    const tamis_status status = save(target != NULL ? target : path, replace, old, spans, count);
    const int why = errno;
    free(target);
    errno = why;
    return status;
}
#endif
