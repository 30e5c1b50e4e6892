/* journal.c - see journal.h */
#define _GNU_SOURCE 1
#include "file/journal.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/io.h"
#include "file/directory.h"
#include "file/native.h"
#include "file/save.h"
#include "filter/codec.h"

static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', 'j', '\n'};

#define VERSION 1
#define ENTRY 16

enum { AT_FILE_BYTES = 16, AT_SUM_BEFORE = 24, AT_COUNT = 32, AT_HEADER = 40, AT_ENTRIES = 232 };

/* Up to the pieces. */
static uint64_t head_bytes(uint64_t count) { return AT_ENTRIES + ENTRY * count + 8; }

void tamis__journal_name(const char *path, char name[TAMIS__JOURNAL_NAME]) {
    struct stat st;
    char real[TAMIS__PATH_MAX];
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real) != NULL) path = real;
    const size_t length = strlen(path);
    name[0] = '\0';
    if (length >= TAMIS__PATH_MAX) return;
    memcpy(name, path, length);
    memcpy(name + length, ".journal", sizeof ".journal");
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
    return true;
}

/* In a directory where everybody may create files, another user's journal is not trusted. */
static bool is_trusted(const struct stat *journal, const struct stat *file) {
    return journal->st_uid == file->st_uid || journal->st_uid == 0;
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

static int create_journal(const char *name, const char *path) {
    if (name[0] == '\0') return -1;
    if (unlink(name) != 0 && errno != ENOENT) return -1;
    const int fd = tamis__open(name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
    if (fd < 0 || is_for_all(fd, path)) return fd;
    close(fd);
    unlink(name);
    return -1;
}

/* Removes a journal that must not be applied, or at least makes it void.  false if readers may
 * still apply it. */
static bool withdraw(const char *name, int fd) {
    const bool empty = ftruncate(fd, 0) == 0;
    return unlink(name) == 0 || empty;
}

static bool write_in_place(const struct tamis__update_set *set, int fd, uint64_t *written) {
    const uint64_t sums_at = TAMIS__HEADER_BYTES + set->table_bytes;
    for (uint64_t i = 0; i < set->count; i++) {
        const uint64_t piece = set->pieces[i], from = piece << TAMIS__PIECE_LG;
        const uint64_t bytes = tamis__native_piece_bytes(set->table_bytes, piece);
        if (!tamis__pwrite_all(fd, set->table + from, bytes, TAMIS__HEADER_BYTES + from) ||
            !tamis__pwrite_all(fd, set->sums + 8 * piece, 8, sums_at + 8 * piece)) {
            return false;
        }
        *written += bytes + 8;
    }
    *written += TAMIS__HEADER_BYTES;
    return tamis__pwrite_all(fd, set->header, TAMIS__HEADER_BYTES, 0) && tamis__sync(fd);
}

/* What a commit needs, all of it acquired before the journal is complete. */
struct commit {
    char name[TAMIS__JOURNAL_NAME];
    struct tamis__directory directory;
    int journal;
};

static tamis_status commit_with(struct commit *c, const char *path, int descriptor,
                                const uint8_t *head, const struct tamis__update_set *set,
                                uint64_t *written) {
    if (!tamis__directory_open(path, &c->directory)) return TAMIS_E_IO;
    c->journal = create_journal(c->name, path);
    if (c->journal < 0) return TAMIS_E_UNSUPPORTED;
    const bool complete = write_journal(c->journal, head, set);
    if (!complete || !tamis__sync(c->journal) || !tamis__directory_sync(&c->directory)) {
        const int why = errno;
        const bool gone = withdraw(c->name, c->journal);
        errno = why;
        return gone || !complete ? TAMIS_E_IO : TAMIS_E_CHANGED; /* an incomplete one is void */
    }
    if (!write_in_place(set, descriptor, written)) return TAMIS_E_CHANGED;
    if (unlink(c->name) == 0) return TAMIS_OK;
    const int why = errno;
    (void)withdraw(c->name, c->journal); /* never applied to an old copy of the file */
    errno = why;
    return TAMIS_E_CHANGED;
}

tamis_status tamis__journal_commit(const char *path, int descriptor,
                                   const struct tamis__update_set *set, uint64_t *written) {
    const tamis_allocator a = {0};
    const uint64_t bytes = head_bytes(set->count);
    struct commit c = {.directory = {.descriptor = -1}, .journal = -1};
    uint8_t *head = tamis__table_alloc(&a, bytes);
    if (head == NULL) return TAMIS_E_NOMEM;
    fill_head(set, head);
    tamis__journal_name(path, c.name);
    const tamis_status status = commit_with(&c, path, descriptor, head, set, written);
    const int why = errno;
    if (c.journal >= 0) close(c.journal);
    tamis__directory_close(&c.directory);
    tamis__table_free(&a, head, bytes);
    errno = why;
    return status;
}

/* ---- reading */

/* Could this be the file's journal? A link or a pipe is none. */
static bool could_be(const struct stat *journal, const struct stat *file) {
    return S_ISREG(journal->st_mode) && (is_trusted(journal, file) || journal->st_uid == geteuid());
}

/* Opens the file of that name; -1 in `j` if it cannot be a journal. One that may be a journal and
 * cannot be read is an error: without it the file may be torn. */
static tamis_status open_journal(const char *name, int descriptor, struct tamis__journal *j,
                                 uint64_t *length) {
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
    *length = (uint64_t)st.st_size;
    return TAMIS_OK;
}

/* The bytes of a complete journal of a file of `file_bytes` are at most these. */
static uint64_t longest(uint64_t file_bytes) {
    return head_bytes(tamis__native_pieces(file_bytes)) + file_bytes;
}

static const uint8_t *entry_at(const struct tamis__journal *j, uint64_t index) {
    return j->head + AT_ENTRIES + ENTRY * index;
}

/* Copies the head into memory.  `*whole` becomes false if it is incomplete or damaged. */
static tamis_status read_head(struct tamis__journal *j, uint64_t length, bool *whole) {
    const tamis_allocator a = {0};
    uint8_t fixed[AT_ENTRIES];
    *whole = false;
    if (!tamis__pread_all(j->descriptor, fixed, sizeof fixed, 0)) return TAMIS_E_IO;
    if (memcmp(fixed, magic, sizeof magic) != 0 || tamis__load32(fixed + 8) != VERSION ||
        tamis__load32(fixed + 12) != 0) {
        return TAMIS_OK;
    }
    j->count = tamis__load64(fixed + AT_COUNT);
    if (j->count > (length - head_bytes(0)) / ENTRY) return TAMIS_OK;
    j->head_bytes = head_bytes(j->count);
    j->head = tamis__table_alloc(&a, j->head_bytes + TAMIS__PIECE_BYTES);
    if (j->head == NULL) return TAMIS_E_NOMEM;
    j->piece = j->head + j->head_bytes;
    memcpy(j->head, fixed, sizeof fixed);
    if (!tamis__pread_all(j->descriptor, j->head + AT_ENTRIES, j->head_bytes - AT_ENTRIES,
                          AT_ENTRIES)) {
        return TAMIS_E_IO;
    }
    const uint64_t summed = j->head_bytes - 8;
    *whole = tamis__xxh3(j->head, (size_t)summed, 0) == tamis__load64(j->head + summed);
    return TAMIS_OK;
}

/* Reads the next piece, `*bytes` long, from offset `at` into j->piece. */
static tamis_status read_piece(const struct tamis__journal *j, uint64_t index, uint64_t at,
                               uint64_t *bytes) {
    *bytes = tamis__native_piece_bytes(j->table_bytes, tamis__load64(entry_at(j, index)));
    if (!tamis__pread_all(j->descriptor, j->piece, *bytes, at)) return TAMIS_E_IO;
    const uint64_t sum = tamis__xxh3(j->piece, (size_t)*bytes, 0);
    return sum == tamis__load64(entry_at(j, index) + 8) ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

/* Are the numbers of the pieces ascending and within the table, and do the pieces fill the journal?
 */
static bool pieces_fit(const struct tamis__journal *j, uint64_t length) {
    uint64_t at = j->head_bytes, next = 0;
    for (uint64_t i = 0; i < j->count; i++) {
        const uint64_t piece = tamis__load64(entry_at(j, i));
        if (piece < next || piece >= tamis__native_pieces(j->table_bytes)) return false;
        at += tamis__native_piece_bytes(j->table_bytes, piece);
        next = piece + 1;
    }
    return at == length;
}

/* Is every piece complete? */
static tamis_status check_pieces(const struct tamis__journal *j, bool *whole) {
    uint64_t at = j->head_bytes, bytes;
    tamis_status status = TAMIS_OK;
    for (uint64_t i = 0; i < j->count && status == TAMIS_OK; i++, at += bytes) {
        status = read_piece(j, i, at, &bytes);
    }
    *whole = status == TAMIS_OK;
    return status == TAMIS_E_CHECKSUM ? TAMIS_OK : status;
}

/* Is the file the one to be updated: before, during or after the update? A valid header that is
 * neither of the two is another file's. */
static bool belongs(const struct tamis__journal *j, const uint8_t *now, uint64_t file_bytes) {
    uint64_t table_bytes;
    if (tamis__native_frame(now, file_bytes, &table_bytes) != TAMIS_OK) return true;
    return tamis__native_header_sum(now) == tamis__load64(j->head + AT_SUM_BEFORE) ||
           memcmp(now, j->head + AT_HEADER, TAMIS__HEADER_BYTES) == 0;
}

/* Is it complete, and does it belong to the file?  Nothing in it is trusted before. */
static tamis_status check_journal(int descriptor, uint64_t file_bytes, uint64_t length,
                                  struct tamis__journal *j, bool *needed) {
    uint8_t now[TAMIS__HEADER_BYTES];
    *needed = length >= head_bytes(0) && length <= longest(file_bytes);
    tamis_status status = *needed ? read_head(j, length, needed) : TAMIS_OK;
    if (status != TAMIS_OK || !*needed) return status;
    *needed = tamis__load64(j->head + AT_FILE_BYTES) == file_bytes &&
              tamis__native_frame(j->head + AT_HEADER, file_bytes, &j->table_bytes) == TAMIS_OK &&
              pieces_fit(j, length);
    if (*needed) status = check_pieces(j, needed);
    if (status != TAMIS_OK || !*needed) return status;
    if (!tamis__pread_all(descriptor, now, sizeof now, 0)) return TAMIS_E_IO;
    *needed = belongs(j, now, file_bytes);
    return TAMIS_OK;
}

/* Only a .tamis file has a journal. */
static bool begins_as_native(int descriptor) {
    uint8_t now[TAMIS__HEADER_BYTES];
    return !tamis__pread_all(descriptor, now, sizeof now, 0) ||
           tamis__native_begins(now, sizeof now);
}

static void drop_head(struct tamis__journal *j) {
    const tamis_allocator a = {0};
    tamis__table_free(&a, j->head, j->head_bytes + TAMIS__PIECE_BYTES);
    j->head = NULL;
}

tamis_status tamis__journal_open(const char *path, int descriptor, uint64_t file_bytes,
                                 struct tamis__journal *j) {
    char name[TAMIS__JOURNAL_NAME];
    uint64_t length = 0;
    bool needed = false;
    *j = (struct tamis__journal){.descriptor = -1};
    tamis__journal_name(path, name);
    if (file_bytes < TAMIS__HEADER_BYTES || name[0] == '\0') return TAMIS_OK;
    tamis_status status = open_journal(name, descriptor, j, &length);
    if (status == TAMIS_OK && j->descriptor >= 0) {
        status = check_journal(descriptor, file_bytes, length, j, &needed);
    }
    const int why = errno;
    if (!needed) drop_head(j);
    if (status != TAMIS_OK) {
        tamis__journal_close(j);
        if (!begins_as_native(descriptor)) status = TAMIS_OK;
    }
    errno = why;
    return status;
}

void tamis__journal_close(struct tamis__journal *j) {
    drop_head(j);
    if (j->descriptor >= 0) close(j->descriptor);
    j->descriptor = -1;
}

/* ---- applying it, in memory or on disk */

struct place {
    uint8_t *memory; /* NULL: */
    int descriptor;
};

static bool put(const struct place *to, const uint8_t *bytes, uint64_t length, uint64_t at) {
    if (to->memory == NULL) return tamis__pwrite_all(to->descriptor, bytes, length, at);
    memcpy(to->memory + at, bytes, (size_t)length);
    return true;
}

static tamis_status carry_out(const struct tamis__journal *j, const struct place *to) {
    const uint64_t sums_at = TAMIS__HEADER_BYTES + j->table_bytes;
    uint64_t from = j->head_bytes, bytes;
    for (uint64_t i = 0; i < j->count; i++, from += bytes) {
        const uint64_t piece = tamis__load64(entry_at(j, i));
        const tamis_status status = read_piece(j, i, from, &bytes);
        if (status != TAMIS_OK) return status;
        if (!put(to, j->piece, bytes, TAMIS__HEADER_BYTES + (piece << TAMIS__PIECE_LG)) ||
            !put(to, entry_at(j, i) + 8, 8, sums_at + 8 * piece)) {
            return TAMIS_E_IO;
        }
    }
    return put(to, j->head + AT_HEADER, TAMIS__HEADER_BYTES, 0) ? TAMIS_OK : TAMIS_E_IO;
}

tamis_status tamis__journal_replay(const struct tamis__journal *j, uint8_t *file) {
    const struct place memory = {file, -1};
    return carry_out(j, &memory);
}

tamis_status tamis__journal_finish(const char *path, int descriptor) {
    struct tamis__journal j;
    struct stat st;
    char name[TAMIS__JOURNAL_NAME];
    const struct place disk = {NULL, descriptor};
    if (fstat(descriptor, &st) != 0) return TAMIS_E_IO;
    tamis_status status = tamis__journal_open(path, descriptor, (uint64_t)st.st_size, &j);
    if (status != TAMIS_OK) return status;
    if (j.head != NULL) status = carry_out(&j, &disk);
    if (j.head != NULL && status == TAMIS_OK && !tamis__sync(descriptor)) status = TAMIS_E_IO;
    const int why = errno;
    tamis__journal_name(path, name);
    if (status == TAMIS_OK && j.descriptor >= 0) (void)unlink(name);
    tamis__journal_close(&j);
    errno = why;
    return status;
}
#endif
