/* file.c - see file.h
 *
 * A mapped file shows every later change of its bytes, and reading a page behind a new end is a
 * signal.  So only a file that no other user can change is mapped; any other is copied first. */
#define _GNU_SOURCE 1
#include "file/file.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "file/journal.h"
#include "file/lock.h"
#include "file/native.h"

bool tamis__is_stream(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool tamis__file_is_private(const struct stat *st) {
    const bool own = st->st_uid == geteuid();
    if (!own && st->st_uid != 0) return false;
    if ((st->st_mode & S_IWOTH) != 0) return false;
    /* Where users have groups of their own, files are often writable by the group. */
    return (st->st_mode & S_IWGRP) == 0 || (own && st->st_gid == getegid());
}

/* ---- reading */

static bool read_some(int fd, uint8_t *to, uint64_t max, uint64_t *got) {
    for (;;) {
        const ssize_t n = read(fd, to, max < TAMIS__IO_MAX ? (size_t)max : TAMIS__IO_MAX);
        if (n < 0 && errno == EINTR) continue;
        *got = n < 0 ? 0 : (uint64_t)n;
        return n >= 0;
    }
}

/* Room for more: half as much again. */
static bool enlarge(const tamis_allocator *a, struct tamis__file *f) {
    const uint64_t room = f->room + f->room / 2 + 4096;
    uint8_t *bytes = tamis__table_alloc(a, room);
    if (bytes == NULL) return false;
    memcpy(bytes, f->bytes, (size_t)f->length);
    tamis__table_free(a, f->bytes, f->room);
    f->bytes = bytes;
    f->room = room;
    return true;
}

/* The size of a plain file is known; a pipe's grows. */
tamis_status tamis__file_read(int descriptor, const tamis_allocator *a, struct tamis__file *f) {
    struct stat st;
    uint64_t got = 1;
    *f = (struct tamis__file){.storage = TAMIS__OWNED, .descriptor = -1};
    if (fstat(descriptor, &st) != 0) return TAMIS_E_IO;
    f->room = (S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 4095) + 1;
    f->bytes = tamis__table_alloc(a, f->room);
    tamis_status status = f->bytes == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    while (status == TAMIS_OK && got != 0) {
        if (!read_some(descriptor, f->bytes + f->length, f->room - f->length, &got)) {
            status = TAMIS_E_IO;
        }
        f->length += got;
        if (status == TAMIS_OK && f->length == f->room && !enlarge(a, f)) status = TAMIS_E_NOMEM;
    }
    const int why = errno;
    if (status != TAMIS_OK) tamis__file_close(f, a);
    errno = why;
    return status;
}

static tamis_status read_with(const struct tamis__journal *journal, int descriptor,
                              uint64_t file_bytes, const tamis_allocator *a,
                              struct tamis__file *f) {
    tamis_status status = tamis__file_read(descriptor, a, f);
    if (status != TAMIS_OK || journal->head == NULL || f->length != file_bytes) return status;
    status = tamis__journal_replay(journal, f->bytes);
    const int why = errno;
    if (status != TAMIS_OK) tamis__file_close(f, a);
    errno = why;
    return status;
}

/* ---- mapping */

static tamis_status map_with(const struct tamis__journal *journal, int descriptor,
                             uint64_t file_bytes, struct tamis__file *f) {
    const bool pending = journal->head != NULL;
    if (file_bytes > SIZE_MAX / 2) return TAMIS_E_TOO_BIG;
    *f = (struct tamis__file){.storage = TAMIS__MAPPED, .descriptor = -1};
    /* An empty file cannot be mapped; the decoder reports what is missing. */
    if (file_bytes == 0) return TAMIS_OK;
    void *at = mmap(NULL, (size_t)file_bytes, pending ? PROT_READ | PROT_WRITE : PROT_READ,
                    pending ? MAP_PRIVATE : MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) return errno == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_IO;
    f->bytes = at;
    f->length = f->room = file_bytes;
    const tamis_status status = pending ? tamis__journal_replay(journal, at) : TAMIS_OK;
    const int why = errno;
    if (status != TAMIS_OK) tamis__file_close(f, NULL);
    if (status == TAMIS_OK && pending) (void)mprotect(at, (size_t)file_bytes, PROT_READ);
#if defined(MADV_RANDOM)
    if (status == TAMIS_OK) (void)madvise(at, (size_t)file_bytes, MADV_RANDOM);
#endif
    errno = why;
    return status;
}

static void advise(const uint8_t *bytes, uint64_t length, int advice) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = (uintptr_t)bytes / page * page;
    (void)madvise((void *)from, (size_t)((uintptr_t)bytes + length - from), advice);
}

void tamis__file_prefetch(const uint8_t *bytes, uint64_t length) {
#if defined(MADV_WILLNEED)
    advise(bytes, length, MADV_WILLNEED);
#else
    (void)bytes, (void)length;
#endif
}

void tamis__file_scan(const uint8_t *bytes, uint64_t length, bool begins) {
#if defined(MADV_RANDOM)
    advise(bytes, length, begins ? MADV_NORMAL : MADV_RANDOM);
#else
    (void)bytes, (void)length, (void)begins;
#endif
}

/* ---- opening and closing */

/* Opens it for reading, when no process updates it in place. */
static tamis_status open_unlocked(const char *path, int64_t wait_ms, int *fd, struct stat *st) {
    *fd = tamis__open(path, O_RDONLY, 0);
    if (*fd < 0) return TAMIS_E_IO;
    if (fstat(*fd, st) != 0) return TAMIS_E_IO;
    if (S_ISDIR(st->st_mode)) {
        errno = EISDIR;
        return TAMIS_E_IO;
    }
    /* Where files cannot be locked they are not updated in place either. */
    if (!S_ISREG(st->st_mode) || tamis__lock(*fd, TAMIS__LOCK_READERS, false, wait_ms) ||
        errno != EAGAIN) {
        return TAMIS_OK;
    }
    return TAMIS_E_BUSY;
}

static tamis_status open_bytes(const char *path, const struct tamis__file_how *how, int fd,
                               const struct stat *st, struct tamis__file *f) {
    struct tamis__journal journal = {.descriptor = -1};
    const uint64_t bytes = (uint64_t)st->st_size;
    tamis_status status = TAMIS_OK;
    if (S_ISREG(st->st_mode)) status = tamis__journal_open(path, fd, bytes, &journal);
    if (status == TAMIS_OK) {
        status = how->map && tamis__file_is_private(st)
                     ? map_with(&journal, fd, bytes, f)
                     : read_with(&journal, fd, bytes, how->allocator, f);
    }
    const int why = errno;
    tamis__journal_close(&journal);
    errno = why;
    return status;
}

tamis_status tamis__file_open(const char *path, const struct tamis__file_how *how,
                              struct tamis__file *f) {
    struct stat st;
    int fd = -1;
    if (how->map && tamis__is_stream(path)) return TAMIS_E_UNSUPPORTED;
    tamis_status status = open_unlocked(path, how->wait_ms, &fd, &st);
    if (status == TAMIS_OK && how->map && !S_ISREG(st.st_mode)) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK) status = open_bytes(path, how, fd, &st, f);
    const int why = errno;
    /* Only .tamis files are ever updated in place. */
    if (status == TAMIS_OK && f->storage == TAMIS__MAPPED &&
        tamis__native_begins(f->bytes, f->length)) {
        f->descriptor = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    errno = why;
    return status;
}

void tamis__file_close(const struct tamis__file *f, const tamis_allocator *a) {
    if (f->storage == TAMIS__OWNED) {
        tamis__table_free(a, f->bytes, f->room);
    } else if (f->room != 0) {
        munmap(f->bytes, (size_t)f->room);
    }
    if (f->descriptor >= 0) close(f->descriptor);
}
#endif
