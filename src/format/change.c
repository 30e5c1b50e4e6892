/* change.c - a file that is opened to be changed, and changed in place where that pays
 *
 * A small file is read, changed in memory and written anew (file.c).  A large one, of a kind in
 * which a key has few places (bloom, block, counting), is mapped privately instead: the system
 * copies the pages that are written to, and the file stays as it was.  Which of its pieces of
 * 64 KiB change is known from the hashes: the filter gets operations of its own that mark the
 * pieces a key touches and then call the family's.
 *
 *     open     lock, finish what was interrupted, map            constant time
 *     add      mark pieces, change the private pages             reads what it touches
 *     commit   compare the marked pieces, as they are on disk, with their checksums;
 *              write the journal; carry it out (journal.h)       twice the marked pieces
 *
 * The journal doubles what is written, and every piece costs a seek.  So the file is written as
 * a whole after all if more than one piece in SHARE is marked; and also if somebody has it
 * mapped, for whoever maps a file must not see it change: they go on with the old one. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/io.h"
#include "format/file.h"
#include "format/journal.h"

/* A file of this size is written as a whole in about the time of the two further syncs that a
 * change in place takes. */
#define IN_PLACE_FROM ((uint64_t)16 << 20)
#define SHARE 8

struct tamis__change {
    tamis_allocator allocator;
    char *path; /* of the file itself, links resolved; from malloc */
    int descriptor;
    uint64_t file_bytes;
    bool alone; /* locks work here, and the file has no other name */

    /* In place: */
    struct tamis__ops ops;          /* the filter's, with those that change replaced */
    const struct tamis__ops *inner; /* the family's */
    uint64_t *marks;                /* a bit for each piece; NULL: the file was read */
    size_t marks_bytes;
    uint64_t pieces, marked;
    bool fetched; /* so much is marked that the file is wanted as a whole */
    bool done;
};

/* ---- opening */

static tamis_status open_alone(struct tamis__change *c) {
    if (tamis__is_stream(c->path)) return TAMIS_E_UNSUPPORTED;
    for (;;) {
        struct stat st;
        c->descriptor = tamis__open(c->path, O_RDWR, 0);
        if (c->descriptor < 0) return TAMIS_E_IO;
        const bool locked = tamis__lock(c->descriptor, TAMIS__LOCK_WRITER, true, true);
        if (tamis__same_file(c->path, c->descriptor)) {
            if (fstat(c->descriptor, &st) != 0) return TAMIS_E_IO;
            c->alone = locked && st.st_nlink == 1; /* another name would not find the journal */
            c->file_bytes = (uint64_t)st.st_size;
            return S_ISREG(st.st_mode) ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
        }
        /* Whoever had the lock has replaced the file. */
        close(c->descriptor);
    }
}

tamis_status tamis__change_begin(const char *path, const tamis_allocator *a,
                                 struct tamis__change **out) {
    struct tamis__change *c = tamis__alloc(a, sizeof *c);
    if (c == NULL) return TAMIS_E_NOMEM;
    *c = (struct tamis__change){.allocator = *a, .descriptor = -1};
    c->path = realpath(path, NULL);
    tamis_status status = c->path == NULL ? TAMIS_E_IO : open_alone(c);
    if (status == TAMIS_OK) status = tamis__journal_finish(c->path, c->descriptor, NULL);
    if (status != TAMIS_OK) {
        const int why = errno;
        tamis__change_free(c);
        errno = why;
        return status;
    }
    *out = c;
    return TAMIS_OK;
}

void tamis__change_free(struct tamis__change *c) {
    if (c == NULL) return;
    if (c->descriptor >= 0) close(c->descriptor);
    free(c->path);
    const tamis_allocator a = c->allocator;
    tamis__release(&a, c->marks, c->marks_bytes);
    tamis__release(&a, c, sizeof *c);
}

tamis_status tamis__change_map(const struct tamis__change *c, struct tamis__mapping *m) {
    uint8_t header[TAMIS__HEADER_BYTES];
    uint64_t table_bytes;
    if (!c->alone || c->file_bytes < IN_PLACE_FROM || c->file_bytes > SIZE_MAX / 2 ||
        !tamis__pread_all(c->descriptor, header, sizeof header, 0) ||
        tamis__native_frame(header, c->file_bytes, &table_bytes) != TAMIS_OK) {
        return TAMIS_E_UNSUPPORTED;
    }
    int flags = MAP_PRIVATE;
#if defined(MAP_NORESERVE)
    flags |= MAP_NORESERVE; /* only what is changed takes memory */
#endif
    void *at = mmap(NULL, (size_t)c->file_bytes, PROT_READ | PROT_WRITE, flags, c->descriptor, 0);
    if (at == MAP_FAILED) return TAMIS_E_UNSUPPORTED;
#if defined(MADV_RANDOM)
    (void)madvise(at, (size_t)c->file_bytes, MADV_RANDOM);
#endif
    *m = (struct tamis__mapping){at, c->file_bytes, -1};
    return TAMIS_OK;
}

tamis_status tamis__change_read(const struct tamis__change *c, uint8_t **block,
                                uint64_t *block_bytes, uint64_t *length) {
    return tamis__descriptor_read(c->descriptor, &c->allocator, block, block_bytes, length);
}

/* ---- what changes */

/* Of a shared filter several threads mark at once.  Relaxed order is enough, as it is for the bits
 * of the filter: who commits comes after all of them. */

static bool is_marked(const struct tamis__change *c, uint64_t piece) {
    return (__atomic_load_n(&c->marks[piece / 64], __ATOMIC_RELAXED) >> piece % 64 & 1) != 0;
}

static void mark_piece(struct tamis__change *c, uint64_t piece) {
    const uint64_t bit = (uint64_t)1 << piece % 64;
    if (is_marked(c, piece)) return;
    if (__atomic_fetch_or(&c->marks[piece / 64], bit, __ATOMIC_RELAXED) & bit) return;
    __atomic_fetch_add(&c->marked, 1, __ATOMIC_RELAXED);
}

static bool too_many(const struct tamis__change *c) {
    return __atomic_load_n(&c->marked, __ATOMIC_RELAXED) > c->pieces / SHARE;
}

static void mark(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    struct tamis__change *c = f->change;
    uint64_t offsets[TAMIS__TOUCHED_MOST];
    for (size_t i = 0; i < count; i++) {
        const size_t touched = f->family->touched(f, hashes[i], offsets);
        for (size_t j = 0; j < touched; j++) mark_piece(c, offsets[j] >> TAMIS__PIECE_LG);
    }
    if (__atomic_load_n(&c->fetched, __ATOMIC_RELAXED) || !too_many(c)) return;
    /* Rather one long read than many short ones. */
    if (__atomic_exchange_n(&c->fetched, true, __ATOMIC_RELAXED)) return;
#if defined(MADV_WILLNEED)
    (void)madvise(f->block, (size_t)f->block_bytes, MADV_NORMAL);
    (void)madvise(f->block, (size_t)f->block_bytes, MADV_WILLNEED);
#endif
}

static tamis_status change_add(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    mark(f, &h.lo, 1);
    return f->change->inner->add(f, h, fresh);
}

static tamis_status change_add_batch(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *fresh, size_t *done) {
    mark(f, lo, count);
    return f->change->inner->add_batch(f, lo, hi, count, fresh, done);
}

static tamis_status change_remove(tamis_filter *f, struct tamis__hash h) {
    mark(f, &h.lo, 1);
    return f->change->inner->remove(f, h);
}

void tamis__change_all(tamis_filter *f) {
    for (uint64_t p = 0; f->change->marks != NULL && p < f->change->pieces; p++) {
        mark_piece(f->change, p);
    }
}

tamis_status tamis__change_attach(struct tamis__change *c, tamis_filter *f) {
    f->change = c;
    if (f->storage != TAMIS__DRAFT) return TAMIS_OK;
    c->pieces = tamis__native_pieces(f->shape.table_bytes);
    c->marks_bytes = (size_t)(c->pieces / 64 + 1) * sizeof *c->marks;
    c->marks = tamis__alloc(&c->allocator, c->marks_bytes);
    if (c->marks == NULL) return TAMIS_E_NOMEM;
    memset(c->marks, 0, c->marks_bytes);
    c->inner = f->ops;
    c->ops = *f->ops;
    c->ops.add = change_add;
    c->ops.add_batch = change_add_batch;
    if (c->ops.remove != NULL) c->ops.remove = change_remove;
    f->ops = &c->ops;
    return TAMIS_OK;
}

const char *tamis__change_path(const tamis_filter *f) { return f->change->path; }
int tamis__change_descriptor(const tamis_filter *f) { return f->change->descriptor; }

/* ---- checksums: what is damaged must not get a new sum */

static const uint8_t *sums_of(const tamis_filter *f) { return f->table + f->shape.table_bytes; }

/* All is compared as it is on disk: before a commit that is the old file, after it the new one.  In
 * memory a page that was written to keeps what else it held, old sums or the old header.
 *
 * `buffer` has room for a piece, and behind that for the sums. */
static tamis_status verify_piece(const tamis_filter *f, uint64_t piece, uint8_t *buffer) {
    const uint64_t from = piece << TAMIS__PIECE_LG;
    const uint64_t bytes = tamis__native_piece_bytes(f->shape.table_bytes, piece);
    const uint8_t *sums = buffer + ((size_t)1 << TAMIS__PIECE_LG), *at = f->table + from;
    if (is_marked(f->change, piece)) {
        at = buffer;
        if (!tamis__pread_all(f->change->descriptor, buffer, bytes, TAMIS__HEADER_BYTES + from)) {
            return TAMIS_E_IO;
        }
    }
    const bool right = tamis__xxh3(at, (size_t)bytes, 0) == tamis__load64(sums + 8 * piece);
    return right ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

static tamis_status verify_sums(const tamis_filter *f, uint8_t *sums) {
    const struct tamis__change *c = f->change;
    const uint64_t from = TAMIS__HEADER_BYTES + f->shape.table_bytes;
    uint8_t header[TAMIS__HEADER_BYTES];
    if (!tamis__pread_all(c->descriptor, header, sizeof header, 0) ||
        !tamis__pread_all(c->descriptor, sums, 8 * c->pieces, from)) {
        return TAMIS_E_IO;
    }
    const uint64_t sum = tamis__xxh3(sums, (size_t)(8 * c->pieces), 0);
    return sum == tamis__native_sums_sum(header) ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

static tamis_status verify_pieces(const tamis_filter *f, bool all) {
    const struct tamis__change *c = f->change;
    const size_t piece_bytes = (size_t)1 << TAMIS__PIECE_LG;
    const size_t bytes = piece_bytes + (size_t)(8 * c->pieces);
    uint8_t *buffer = tamis__alloc(&c->allocator, bytes);
    tamis_status status = buffer == NULL ? TAMIS_E_NOMEM : verify_sums(f, buffer + piece_bytes);
    for (uint64_t p = 0; p < c->pieces && status == TAMIS_OK; p++) {
        if (all || is_marked(c, p)) status = verify_piece(f, p, buffer);
    }
    tamis__release(&c->allocator, buffer, bytes);
    return status;
}

tamis_status tamis__change_verify(const tamis_filter *f) {
    return f->change->marks == NULL ? TAMIS_OK : verify_pieces(f, true);
}

/* ---- writing back */

/* The numbers of the pieces that are not as they were, `*count` of them, and the checksums of all,
 * in one block: numbers first, with room for as many as are marked. */
static uint64_t *new_sums(const tamis_filter *f, uint64_t *count, size_t *bytes) {
    const struct tamis__change *c = f->change;
    *bytes = (size_t)(c->marked + c->pieces) * 8;
    uint64_t *pieces = tamis__alloc(&c->allocator, *bytes);
    if (pieces == NULL) return NULL;
    uint8_t *sums = (uint8_t *)(pieces + c->marked);
    memcpy(sums, sums_of(f), (size_t)(8 * c->pieces));
    *count = 0;
    for (uint64_t p = 0; p < c->pieces; p++) {
        if (!is_marked(c, p)) continue;
        const uint64_t size = tamis__native_piece_bytes(f->shape.table_bytes, p);
        const uint64_t sum = tamis__xxh3(f->table + (p << TAMIS__PIECE_LG), (size_t)size, 0);
        if (sum == tamis__load64(sums + 8 * p)) continue; /* the key was there already */
        tamis__store64(sums + 8 * p, sum);
        pieces[(*count)++] = p;
    }
    return pieces;
}

static tamis_status write_journal(const tamis_filter *f) {
    const struct tamis__change *c = f->change;
    uint8_t header[TAMIS__HEADER_BYTES];
    uint64_t count;
    size_t bytes;
    uint64_t *pieces = new_sums(f, &count, &bytes);
    if (pieces == NULL) return TAMIS_E_NOMEM;
    const uint8_t *sums = (const uint8_t *)(pieces + c->marked);
    tamis__native_header(f, f->shape.table_bytes, tamis__xxh3(sums, (size_t)(8 * c->pieces), 0),
                         header);
    const struct tamis__change_set set = {.file_bytes = c->file_bytes,
                                          .header_sum_before = tamis__native_header_sum(f->block),
                                          .header = header,
                                          .table = f->table,
                                          .table_bytes = f->shape.table_bytes,
                                          .sums = sums,
                                          .pieces = pieces,
                                          .count = count};
    const tamis_status status = tamis__journal_write(c->path, &set);
    const int why = errno;
    tamis__release(&c->allocator, pieces, bytes);
    errno = why;
    return status;
}

/* Others may change the file now; but not in place while the filter is still mapped. */
void tamis__change_end(tamis_filter *f) {
    struct tamis__change *c = f->change;
    c->done = true;
    if (c->marks != NULL) (void)tamis__lock(c->descriptor, TAMIS__LOCK_READERS, false, true);
    tamis__unlock(c->descriptor, TAMIS__LOCK_WRITER);
}

tamis_status tamis__change_commit(tamis_filter *f, uint64_t *written, bool *whole) {
    const struct tamis__change *c = f->change;
    *written = 0;
    if (c->done) return TAMIS_E_ARGUMENT;
    *whole = c->marks == NULL || too_many(c) || f->codec != NULL ||
             !tamis__same_file(c->path, c->descriptor) ||
             !tamis__lock(c->descriptor, TAMIS__LOCK_READERS, true, false);
    if (*whole) return TAMIS_OK;
    /* From here on readers wait, so that they find the old file or the new one. */
    tamis_status status = verify_pieces(f, false);
    if (status == TAMIS_OK) status = write_journal(f);
    if (status == TAMIS_OK) status = tamis__journal_finish(c->path, c->descriptor, written);
    const int why = errno;
    if (status != TAMIS_OK) tamis__unlock(c->descriptor, TAMIS__LOCK_READERS);
    errno = why;
    *whole = status == TAMIS_E_UNSUPPORTED; /* no journal can be made there */
    return *whole ? TAMIS_OK : status;
}
