/* update.c - files opened for update, and updated in place where that pays
 *
 * A small file is read, changed in memory and rewritten (save.h).  A large one, of a kind in which
 * a key touches few bytes (bloom, block, counting), is mapped privately instead: the system copies
 * the pages that are written to, and the file does not change.  The hashes determine which of its
 * pieces of 64 KiB change: the filter gets wrapped operations that verify (touched.h) and mark the
 * pieces a key touches, and then call the family's.
 *
 *     open     lock, complete an interrupted update, map,
 *              compare the checksums with the header           1/8192 of the file
 *     query    verify pieces                                   reads what it touches
 *     add      verify and mark pieces, change private pages    reads what it touches
 *     commit   write the journal; apply it (journal.h)         twice the marked pieces
 *
 * The journal doubles the bytes written, and every piece costs a seek.  So the file is written as a
 * whole if more than one piece in SHARE is marked, and also if another process has it mapped: a
 * mapped file must not change, and that process keeps the old one. */
#define _GNU_SOURCE 1
#include "file/update.h"

#if !defined(TAMIS_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/io.h"
#include "file/file.h"
#include "file/journal.h"
#include "file/lock.h"
#include "file/native.h"
#include "file/touched.h"

/* A file of this size is written as a whole in about the time of the two further syncs that an
 * update in place takes. */
#define IN_PLACE_FROM ((uint64_t)16 << 20)
#define SHARE 8

struct tamis__update {
    tamis_allocator allocator;
    char *path; /* of the file itself, links resolved; from malloc */
    int descriptor;
    uint64_t file_bytes;
    bool alone;    /* locks work here, and the file has no other name */
    bool mappable; /* and no other user can change it */

    /* In place: */
    struct tamis__ops ops;          /* the filter's, with those that change replaced */
    const struct tamis__ops *inner; /* the family's */
    uint64_t *marks;                /* a bit for each piece; NULL: the file was read */
    size_t marks_bytes;
    uint64_t pieces, marked;
    bool fetched; /* so much is marked that the whole file is prefetched */
    bool done;
};

/* ---- opening */

static tamis_status open_alone(struct tamis__update *u, int64_t wait_ms) {
    if (tamis__is_stream(u->path)) return TAMIS_E_UNSUPPORTED;
    for (;;) {
        struct stat st, named;
        u->descriptor = tamis__open(u->path, O_RDWR | O_NONBLOCK, 0);
        if (u->descriptor < 0) return TAMIS_E_IO;
        const bool locked = tamis__lock(u->descriptor, TAMIS__LOCK_WRITER, true, wait_ms);
        if (!locked && errno == EAGAIN) return TAMIS_E_BUSY;
        if (fstat(u->descriptor, &st) != 0 || stat(u->path, &named) != 0) return TAMIS_E_IO;
        if (st.st_ino == named.st_ino && st.st_dev == named.st_dev) {
            u->alone = locked && st.st_nlink == 1; /* another name would not find the journal */
            u->mappable = u->alone && tamis__file_is_private(&st);
            u->file_bytes = (uint64_t)st.st_size;
            return S_ISREG(st.st_mode) ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
        }
        /* The process that had the lock has replaced the file. */
        close(u->descriptor);
        u->descriptor = -1;
    }
}

tamis_status tamis__update_begin(const char *path, int64_t wait_ms, const tamis_allocator *a,
                                 struct tamis__update **out) {
    struct tamis__update *u = tamis__alloc(a, sizeof *u);
    if (u == NULL) return TAMIS_E_NOMEM;
    struct stat st;
    *u = (struct tamis__update){.allocator = *a, .descriptor = -1};
    /* realpath also follows links of other users, which the system may refuse to follow. */
    u->path = stat(path, &st) == 0 ? realpath(path, NULL) : NULL;
    tamis_status status = u->path == NULL ? TAMIS_E_IO : open_alone(u, wait_ms);
    if (status == TAMIS_OK) status = tamis__journal_finish(u->path, u->descriptor);
    if (status != TAMIS_OK) {
        const int why = errno;
        tamis__update_free(u);
        errno = why;
        return status;
    }
    *out = u;
    return TAMIS_OK;
}

void tamis__update_free(struct tamis__update *u) {
    if (u == NULL) return;
    if (u->descriptor >= 0) close(u->descriptor);
    free(u->path);
    const tamis_allocator a = u->allocator;
    tamis__release(&a, u->marks, u->marks_bytes);
    tamis__release(&a, u, sizeof *u);
}

tamis_status tamis__update_map(const struct tamis__update *u, struct tamis__file *file) {
    uint8_t header[TAMIS__HEADER_BYTES];
    uint64_t table_bytes;
    if (!u->mappable || u->file_bytes < IN_PLACE_FROM || u->file_bytes > SIZE_MAX / 2 ||
        !tamis__pread_all(u->descriptor, header, sizeof header, 0) ||
        tamis__native_frame(header, u->file_bytes, &table_bytes) != TAMIS_OK) {
        return TAMIS_E_UNSUPPORTED;
    }
    int flags = MAP_PRIVATE;
#if defined(MAP_NORESERVE)
    flags |= MAP_NORESERVE; /* only what is changed takes memory */
#endif
    void *at = mmap(NULL, (size_t)u->file_bytes, PROT_READ | PROT_WRITE, flags, u->descriptor, 0);
    if (at == MAP_FAILED) return TAMIS_E_UNSUPPORTED;
#if defined(MADV_RANDOM)
    (void)madvise(at, (size_t)u->file_bytes, MADV_RANDOM);
#endif
    *file = (struct tamis__file){at, u->file_bytes, TAMIS__DRAFT, u->file_bytes, -1};
    return TAMIS_OK;
}

tamis_status tamis__update_read(const struct tamis__update *u, struct tamis__file *file) {
    return tamis__file_read(u->descriptor, &u->allocator, file);
}

/* ---- what changes */

/* Several threads of a shared filter may mark at once. Relaxed order is enough, as it is for the
 * bits of the filter: the commit comes after all of them. */

static bool is_marked(const struct tamis__update *u, uint64_t piece) {
    return (__atomic_load_n(&u->marks[piece / 64], __ATOMIC_RELAXED) >> piece % 64 & 1) != 0;
}

static void mark_piece(struct tamis__update *u, uint64_t piece) {
    const uint64_t bit = (uint64_t)1 << piece % 64;
    if (is_marked(u, piece)) return;
    if (__atomic_fetch_or(&u->marks[piece / 64], bit, __ATOMIC_RELAXED) & bit) return;
    __atomic_fetch_add(&u->marked, 1, __ATOMIC_RELAXED);
}

static bool too_many(const struct tamis__update *u) {
    return __atomic_load_n(&u->marked, __ATOMIC_RELAXED) > u->pieces / SHARE;
}

/* A part is at most a cache line, and so in one piece. */
static void mark_part(void *context, const uint8_t *at, uint64_t bytes) {
    const tamis_filter *f = context;
    (void)bytes;
    mark_piece(f->update, (uint64_t)(at - f->table) >> TAMIS__PIECE_LG);
}

/* false: a piece that the keys touch is damaged.  It must not get a valid checksum. */
static bool mark(tamis_filter *f, const uint64_t *hashes, size_t count) {
    struct tamis__update *u = f->update;
    if (!tamis__touched_all_ready(f, hashes, count)) return false;
    for (size_t i = 0; i < count; i++) f->family->touches(f, hashes[i], mark_part, f);
    if (__atomic_load_n(&u->fetched, __ATOMIC_RELAXED) || !too_many(u)) return true;
    /* One long read is faster than many short ones. */
    if (__atomic_exchange_n(&u->fetched, true, __ATOMIC_RELAXED)) return true;
#if defined(MADV_WILLNEED)
    (void)madvise(f->block, (size_t)f->block_bytes, MADV_NORMAL);
    (void)madvise(f->block, (size_t)f->block_bytes, MADV_WILLNEED);
#endif
    return true;
}

static tamis_status update_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    if (!mark(f, &hash, 1)) return TAMIS_E_CHECKSUM;
    return f->update->inner->add(f, hash, fresh);
}

static tamis_status update_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *fresh, size_t *done) {
    *done = 0;
    if (!mark(f, lo, count)) return TAMIS_E_CHECKSUM;
    return f->update->inner->add_batch(f, lo, hi, count, fresh, done);
}

static tamis_status update_remove(tamis_filter *f, uint64_t hash) {
    if (!mark(f, &hash, 1)) return TAMIS_E_CHECKSUM;
    return f->update->inner->remove(f, hash);
}

void tamis__update_all(tamis_filter *f) {
    for (uint64_t p = 0; f->update->marks != NULL && p < f->update->pieces; p++) {
        mark_piece(f->update, p);
    }
}

tamis_status tamis__update_attach(struct tamis__update *u, tamis_filter *f) {
    f->update = u;
    if (f->storage != TAMIS__DRAFT) return TAMIS_OK;
    u->pieces = tamis__native_pieces(f->shape.table_bytes);
    u->marks_bytes = (size_t)(u->pieces / 64 + 1) * sizeof *u->marks;
    u->marks = tamis__alloc(&u->allocator, u->marks_bytes);
    if (u->marks == NULL) return TAMIS_E_NOMEM;
    memset(u->marks, 0, u->marks_bytes);
    u->inner = f->ops;
    u->ops = *f->ops;
    u->ops.add = update_add;
    u->ops.add_counted = NULL;
    u->ops.add_batch = update_add_batch;
    if (u->ops.remove != NULL) u->ops.remove = update_remove;
    f->ops = &u->ops;
    tamis__calls_attach(f);
    return TAMIS_OK;
}

const char *tamis__update_path(const tamis_filter *f) { return f->update->path; }
int tamis__update_descriptor(const tamis_filter *f) { return f->update->descriptor; }

/* ---- checksums of the whole file */

static const uint8_t *sums_of(const tamis_filter *f) { return f->table + f->shape.table_bytes; }

/* Compares the bytes on disk: before a commit the old file, after it the new one. In memory a piece
 * that was changed still has the old checksum.
 *
 * `buffer` has room for a piece followed by the checksums. */
static tamis_status verify_piece(const tamis_filter *f, uint64_t piece, uint8_t *buffer) {
    const uint64_t from = piece << TAMIS__PIECE_LG;
    const uint64_t bytes = tamis__native_piece_bytes(f->shape.table_bytes, piece);
    const uint8_t *sums = buffer + ((size_t)1 << TAMIS__PIECE_LG), *at = f->table + from;
    if (is_marked(f->update, piece)) {
        at = buffer;
        if (!tamis__pread_all(f->update->descriptor, buffer, bytes, TAMIS__HEADER_BYTES + from)) {
            return TAMIS_E_IO;
        }
    }
    const bool right = tamis__xxh3(at, (size_t)bytes, 0) == tamis__load64(sums + 8 * piece);
    return right ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

static tamis_status verify_sums(const tamis_filter *f, uint8_t *sums) {
    const struct tamis__update *u = f->update;
    const uint64_t from = TAMIS__HEADER_BYTES + f->shape.table_bytes;
    uint8_t header[TAMIS__HEADER_BYTES];
    if (!tamis__pread_all(u->descriptor, header, sizeof header, 0) ||
        !tamis__pread_all(u->descriptor, sums, 8 * u->pieces, from)) {
        return TAMIS_E_IO;
    }
    const uint64_t sum = tamis__xxh3(sums, (size_t)(8 * u->pieces), 0);
    return sum == tamis__native_sums_sum(header) ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

tamis_status tamis__update_verify(const tamis_filter *f) {
    const struct tamis__update *u = f->update;
    if (u->marks == NULL) return TAMIS_OK;
    const size_t piece_bytes = (size_t)1 << TAMIS__PIECE_LG;
    const size_t bytes = piece_bytes + (size_t)(8 * u->pieces);
    uint8_t *buffer = tamis__alloc(&u->allocator, bytes);
    tamis_status status = buffer == NULL ? TAMIS_E_NOMEM : verify_sums(f, buffer + piece_bytes);
    for (uint64_t p = 0; p < u->pieces && status == TAMIS_OK; p++) {
        status = verify_piece(f, p, buffer);
    }
    tamis__release(&u->allocator, buffer, bytes);
    return status;
}

/* ---- writing back */

/* The numbers of the pieces that changed, `*count` of them, and the checksums of all, in one block:
 * numbers first, with room for all that are marked. */
static uint64_t *new_sums(const tamis_filter *f, uint64_t *count, size_t *bytes) {
    const struct tamis__update *u = f->update;
    *bytes = (size_t)(u->marked + u->pieces) * 8;
    uint64_t *pieces = tamis__alloc(&u->allocator, *bytes);
    if (pieces == NULL) return NULL;
    uint8_t *sums = (uint8_t *)(pieces + u->marked);
    memcpy(sums, sums_of(f), (size_t)(8 * u->pieces));
    *count = 0;
    for (uint64_t p = 0; p < u->pieces; p++) {
        if (!is_marked(u, p)) continue;
        const uint64_t size = tamis__native_piece_bytes(f->shape.table_bytes, p);
        const uint64_t sum = tamis__xxh3(f->table + (p << TAMIS__PIECE_LG), (size_t)size, 0);
        if (sum == tamis__load64(sums + 8 * p)) continue; /* the key was a member already */
        tamis__store64(sums + 8 * p, sum);
        pieces[(*count)++] = p;
    }
    return pieces;
}

static tamis_status write_changes(const tamis_filter *f, uint64_t *written) {
    const struct tamis__update *u = f->update;
    uint8_t header[TAMIS__HEADER_BYTES];
    uint64_t count;
    size_t bytes;
    uint64_t *pieces = new_sums(f, &count, &bytes);
    if (pieces == NULL) return TAMIS_E_NOMEM;
    const uint8_t *sums = (const uint8_t *)(pieces + u->marked);
    tamis__native_header(f, f->shape.table_bytes, tamis__xxh3(sums, (size_t)(8 * u->pieces), 0),
                         header);
    const struct tamis__update_set set = {.file_bytes = u->file_bytes,
                                          .header_sum_before = tamis__native_header_sum(f->block),
                                          .header = header,
                                          .table = f->table,
                                          .table_bytes = f->shape.table_bytes,
                                          .sums = sums,
                                          .pieces = pieces,
                                          .count = count};
    const tamis_status status = tamis__journal_commit(u->path, u->descriptor, &set, written);
    tamis__release(&u->allocator, pieces, bytes);
    return status;
}

/* Other processes may update the file now, but not in place while the filter is mapped. */
void tamis__update_end(tamis_filter *f) {
    struct tamis__update *u = f->update;
    u->done = true;
    if (u->marks != NULL) (void)tamis__lock(u->descriptor, TAMIS__LOCK_READERS, false, 0);
    tamis__unlock(u->descriptor, TAMIS__LOCK_WRITER);
}

tamis_status tamis__update_commit(tamis_filter *f, uint64_t *written, bool *whole) {
    const struct tamis__update *u = f->update;
    *written = 0;
    if (u->done) return TAMIS_E_ARGUMENT;
    *whole = u->marks == NULL || too_many(u) || f->settings.codec != NULL ||
             !tamis__same_file(u->path, u->descriptor) ||
             !tamis__lock(u->descriptor, TAMIS__LOCK_READERS, true, 0);
    if (*whole) return TAMIS_OK;
    /* From here on readers wait, so that they find the old file or the new one. */
    const tamis_status status = write_changes(f, written);
    const int why = errno;
    if (status != TAMIS_OK) tamis__unlock(u->descriptor, TAMIS__LOCK_READERS);
    errno = why;
    *whole = status == TAMIS_E_UNSUPPORTED; /* no journal can be created there */
    return *whole ? TAMIS_OK : status;
}
#endif
