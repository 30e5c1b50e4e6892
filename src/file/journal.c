/* journal.c - see journal.h */
#define _GNU_SOURCE 1
#include "file/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/io.h"
#include "file/lock.h"
#include "file/native.h"
#include "file/update.h"
#include "filter/codec.h"

static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', 'j', '\n'};

#define VERSION 1
#define ENTRY 16

enum { AT_FILE_BYTES = 16, AT_SUM_BEFORE = 24, AT_COUNT = 32, AT_HEADER = 40, AT_ENTRIES = 232 };

/* Up to the pieces. */
static uint64_t head_bytes(uint64_t count) { return AT_ENTRIES + ENTRY * count + 8; }

/* Beside the file itself: a symbolic link is another name of the file and of its journal. */
static char *journal_path(const char *path, size_t *size) {
    struct stat st;
    char *real = NULL;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) real = realpath(path, NULL);
    char *name = tamis__path_with(real != NULL ? real : path, ".journal", size);
    free(real);
    return name;
}

/* ---- writing */

static void fill_head(const struct tamis__update_set *set, uint8_t *head) {
    const uint64_t bytes = head_bytes(set->count);
    struct tamis__writer w = {head, head + bytes, false};
    tamis__write_bytes(&w, magic, sizeof magic);
    tamis__write32(&w, VERSION);
    tamis__write32(&w, 0);
    tamis__write64(&w, set->file_bytes);
    tamis__write64(&w, set->header_sum_before);
    tamis__write64(&w, set->count);
    tamis__write_bytes(&w, set->header, TAMIS__HEADER_BYTES);
    for (uint64_t i = 0; i < set->count; i++) {
        tamis__write64(&w, set->pieces[i]);
        tamis__write64(&w, tamis__load64(set->sums + 8 * set->pieces[i]));
    }
    tamis__write64(&w, tamis__xxh3(head, (size_t)(bytes - 8), 0));
    assert(!w.bad && w.at == w.end);
}

static bool write_journal(int fd, const uint8_t *head, const struct tamis__update_set *set) {
    uint64_t at = head_bytes(set->count);
    if (!tamis__pwrite_all(fd, head, at, 0)) return false;
    for (uint64_t i = 0; i < set->count; i++) {
        const uint64_t from = set->pieces[i] << TAMIS__PIECE_LG;
        const uint64_t bytes = tamis__native_piece_bytes(set->table_bytes, set->pieces[i]);
        if (!tamis__pwrite_all(fd, set->table + from, bytes, at)) return false;
        at += bytes;
    }
    return fsync(fd) == 0;
}

/* In a directory where everybody may create files, another user's journal is not trusted; but a
 * user who may write the file may as well write its journal. */
static bool is_trusted(const struct stat *journal, const struct stat *file) {
    return journal->st_uid == file->st_uid || journal->st_uid == 0 ||
           (file->st_mode & S_IWOTH) != 0;
}

/* After a crash the journal is a part of the file: every user who may read the file must be able to
 * read and trust the journal. */
static bool is_for_all(int fd, const char *path) {
    struct stat journal, file;
    if (stat(path, &file) != 0) return false;
    tamis__file_copy_owner(fd, &file);
    return fstat(fd, &journal) == 0 && is_trusted(&journal, &file) &&
           ((journal.st_mode ^ file.st_mode) & 0777) == 0;
}

/* A new file: a reader may have an old one mapped, so it must never be truncated. */
static int create_journal(const char *name, const char *path) {
    if (unlink(name) != 0 && errno != ENOENT) return -1;
    const int fd = tamis__open(name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
    if (fd < 0 || is_for_all(fd, path)) return fd;
    close(fd);
    unlink(name);
    return -1;
}

tamis_status tamis__journal_write(const char *path, const struct tamis__update_set *set) {
    const tamis_allocator a = {0};
    const uint64_t bytes = head_bytes(set->count);
    size_t size;
    char *name = journal_path(path, &size);
    uint8_t *head = tamis__table_alloc(&a, bytes);
    tamis_status status = name != NULL && head != NULL ? TAMIS_OK : TAMIS_E_NOMEM;
    int why = errno;
    if (status == TAMIS_OK) {
        fill_head(set, head);
        const int fd = create_journal(name, path);
        const bool done = fd >= 0 && write_journal(fd, head, set) && tamis__sync_directory(path);
        why = errno;
        if (!done) status = fd >= 0 ? TAMIS_E_IO : TAMIS_E_UNSUPPORTED;
        if (fd >= 0) close(fd);
        if (!done && fd >= 0) unlink(name);
    }
    tamis__table_free(&a, head, bytes);
    tamis__path_free(name, size);
    errno = why;
    return status;
}

/* ---- reading */

/* Are numbers ascending and within the table, and is every piece complete? */
static bool pieces_are_whole(const uint8_t *bytes, uint64_t length, uint64_t table_bytes,
                             uint64_t count) {
    uint64_t at = head_bytes(count), next = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = bytes + AT_ENTRIES + ENTRY * i;
        const uint64_t piece = tamis__load64(entry);
        if (piece < next || piece >= tamis__native_pieces(table_bytes)) return false;
        const uint64_t size = tamis__native_piece_bytes(table_bytes, piece);
        if (size > length - at) return false;
        if (tamis__xxh3(bytes + at, (size_t)size, 0) != tamis__load64(entry + 8)) return false;
        at += size;
        next = piece + 1;
    }
    return at == length;
}

/* Is every byte of it valid? Nothing in it is trusted before. */
static bool journal_is_whole(const uint8_t *bytes, uint64_t length) {
    if (length < head_bytes(0) || memcmp(bytes, magic, sizeof magic) != 0) return false;
    if (tamis__load32(bytes + 8) != VERSION || tamis__load32(bytes + 12) != 0) return false;
    const uint64_t count = tamis__load64(bytes + AT_COUNT);
    if (count > (length - head_bytes(0)) / ENTRY) return false;
    const uint64_t head = head_bytes(count);
    if (tamis__xxh3(bytes, (size_t)(head - 8), 0) != tamis__load64(bytes + head - 8)) return false;
    uint64_t table_bytes;
    return tamis__native_frame(bytes + AT_HEADER, tamis__load64(bytes + AT_FILE_BYTES),
                               &table_bytes) == TAMIS_OK &&
           pieces_are_whole(bytes, length, table_bytes, count);
}

/* Is the file the one to be updated: before, during or after the update? A valid header that is
 * neither of the two is another file's. */
static bool belongs(const uint8_t *journal, const uint8_t *now, uint64_t file_bytes) {
    uint64_t table_bytes;
    if (tamis__native_frame(now, file_bytes, &table_bytes) != TAMIS_OK) return true;
    return tamis__native_header_sum(now) == tamis__load64(journal + AT_SUM_BEFORE) ||
           memcmp(now, journal + AT_HEADER, TAMIS__HEADER_BYTES) == 0;
}

/* Could this be the file's journal? A link or a pipe is none. */
static bool could_be(const struct stat *journal, const struct stat *file) {
    return S_ISREG(journal->st_mode) && (is_trusted(journal, file) || journal->st_uid == geteuid());
}

/* Opens the file of that name; -1 in `j` if it cannot be a journal. One that may be a journal and
 * cannot be read is an error: without it the file may be torn. */
static tamis_status open_journal(const char *name, int descriptor, struct tamis__journal *j) {
    struct stat st, file;
    if (fstat(descriptor, &file) != 0) return TAMIS_E_IO;
    if (lstat(name, &st) != 0) {
        return errno == ENOENT || errno == ENAMETOOLONG ? TAMIS_OK : TAMIS_E_IO;
    }
    if (!could_be(&st, &file)) return TAMIS_OK;
    j->descriptor = tamis__open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (j->descriptor < 0) return errno == ENOENT ? TAMIS_OK : TAMIS_E_IO;
    if (fstat(j->descriptor, &st) != 0) return TAMIS_E_IO;
    if (!could_be(&st, &file)) { /* it was replaced meanwhile */
        close(j->descriptor);
        j->descriptor = -1;
    }
    j->length = (uint64_t)st.st_size;
    return TAMIS_OK;
}

static tamis_status map_journal(struct tamis__journal *j) {
    if (j->length == 0) return TAMIS_OK;
    if (j->length > SIZE_MAX / 2) return TAMIS_E_TOO_BIG;
    void *at = mmap(NULL, (size_t)j->length, PROT_READ, MAP_PRIVATE, j->descriptor, 0);
    if (at == MAP_FAILED) return TAMIS_E_NOMEM;
    j->bytes = at;
    return TAMIS_OK;
}

static void drop_bytes(struct tamis__journal *j) {
    if (j->bytes != NULL) munmap((void *)(uintptr_t)j->bytes, (size_t)j->length);
    j->bytes = NULL;
}

/* Keeps the bytes of a journal that is complete and belongs to the file. */
static tamis_status check_journal(int descriptor, uint64_t file_bytes, struct tamis__journal *j) {
    uint8_t now[TAMIS__HEADER_BYTES];
    const bool needed = j->bytes != NULL && journal_is_whole(j->bytes, j->length) &&
                        tamis__load64(j->bytes + AT_FILE_BYTES) == file_bytes;
    if (needed && !tamis__pread_all(descriptor, now, sizeof now, 0)) return TAMIS_E_IO;
    if (!needed || !belongs(j->bytes, now, file_bytes)) drop_bytes(j);
    return TAMIS_OK;
}

/* Only a .tamis file has a journal. */
static bool begins_as_native(int descriptor) {
    uint8_t now[TAMIS__HEADER_BYTES];
    return !tamis__pread_all(descriptor, now, sizeof now, 0) ||
           tamis__native_begins(now, sizeof now);
}

tamis_status tamis__journal_open(const char *path, int descriptor, uint64_t file_bytes,
                                 struct tamis__journal *j) {
    size_t size;
    *j = (struct tamis__journal){.descriptor = -1};
    if (file_bytes < TAMIS__HEADER_BYTES) return TAMIS_OK;
    char *name = journal_path(path, &size);
    if (name == NULL) return TAMIS_E_NOMEM;
    tamis_status status = open_journal(name, descriptor, j);
    if (status == TAMIS_OK && j->descriptor >= 0) status = map_journal(j);
    if (status == TAMIS_OK) status = check_journal(descriptor, file_bytes, j);
    const int why = errno;
    tamis__path_free(name, size);
    if (status != TAMIS_OK) {
        tamis__journal_close(j);
        if (!begins_as_native(descriptor)) status = TAMIS_OK;
    }
    errno = why;
    return status;
}

void tamis__journal_close(struct tamis__journal *j) {
    drop_bytes(j);
    if (j->descriptor >= 0) close(j->descriptor);
    j->descriptor = -1;
}

/* ---- applying it, in memory or on disk */

struct place {
    uint8_t *memory; /* NULL: */
    int descriptor;
    uint64_t written;
};

static bool put(struct place *to, const uint8_t *bytes, uint64_t length, uint64_t at) {
    to->written += length;
    if (to->memory == NULL) return tamis__pwrite_all(to->descriptor, bytes, length, at);
    memcpy(to->memory + at, bytes, (size_t)length);
    return true;
}

static bool carry_out(const struct tamis__journal *j, struct place *to) {
    const uint8_t *header = j->bytes + AT_HEADER;
    const uint64_t count = tamis__load64(j->bytes + AT_COUNT);
    const uint64_t table_bytes = tamis__native_table_bytes(header);
    uint64_t from = head_bytes(count);
    bool done = true;
    for (uint64_t i = 0; i < count && done; i++) {
        const uint8_t *entry = j->bytes + AT_ENTRIES + ENTRY * i;
        const uint64_t piece = tamis__load64(entry);
        const uint64_t bytes = tamis__native_piece_bytes(table_bytes, piece);
        done = put(to, j->bytes + from, bytes, TAMIS__HEADER_BYTES + (piece << TAMIS__PIECE_LG)) &&
               put(to, entry + 8, 8, TAMIS__HEADER_BYTES + table_bytes + 8 * piece);
        from += bytes;
    }
    return done && put(to, header, TAMIS__HEADER_BYTES, 0);
}

void tamis__journal_replay(const struct tamis__journal *j, uint8_t *file) {
    struct place memory = {file, -1, 0};
    (void)carry_out(j, &memory);
}

tamis_status tamis__journal_finish(const char *path, int descriptor, uint64_t *written) {
    struct tamis__journal j;
    struct stat st;
    struct place disk = {NULL, descriptor, 0};
    if (fstat(descriptor, &st) != 0) return TAMIS_E_IO;
    tamis_status status = tamis__journal_open(path, descriptor, (uint64_t)st.st_size, &j);
    if (status != TAMIS_OK) return status;
    const bool there = j.descriptor >= 0;
    if (j.bytes != NULL && (!carry_out(&j, &disk) || fsync(descriptor) != 0)) status = TAMIS_E_IO;
    const int why = errno;
    tamis__journal_close(&j);
    if (status == TAMIS_OK && there) tamis__journal_remove(path);
    if (status == TAMIS_OK && written != NULL) *written += disk.written;
    errno = why;
    return status;
}

void tamis__journal_remove(const char *path) {
    size_t size;
    char *name = journal_path(path, &size);
    if (name == NULL) return;
    unlink(name);
    tamis__path_free(name, size);
}
