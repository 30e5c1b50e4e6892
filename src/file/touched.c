/* touched.c - see touched.h
 *
 * The filter has operations of its own around those of its family, so other filters pay nothing.
 * The family names the parts of the table that a query of a hash depends on (`touches`).  Their
 * pieces are verified, and then the family answers.  If one is damaged the answer is "possibly",
 * and the damage is noted for tamis_query_status.
 *
 * A batch that touches much of the table verifies all of it first, in the order of the file and on
 * several threads: one long read is faster than many short ones.
 *
 * A file that is open for update (update.h) is verified in the same way, and each piece before the
 * first key changes it: afterwards its checksum is that of the old bytes. */
#include "file/touched.h"

#include <string.h>

#include "core/mutex.h"
#include "file/file.h"
#include "file/native.h"

/* All is verified if a batch touches, or earlier queries have touched, more than this share of the
 * pieces: 1/8. */
#define SHARE 8

/* Keys whose pieces are requested from the disk together. */
#define KEYS_AT_ONCE 64

struct tamis__touched {
    uint64_t *verified; /* a bit for each piece */
    uint64_t pieces;
    uint64_t count; /* pieces verified */
    bool damaged;   /* a query has touched a damaged piece */
    bool partial;   /* the whole table was compared, and some of it is damaged */
    unsigned threads;
    struct tamis__mutex whole; /* held while the whole table is compared: once is enough */
    tamis_allocator allocator;
    const struct tamis__ops *inner; /* the family's */
    struct tamis__ops ops;
};

/* ---- what has been verified
 *
 * Any number of threads may query a filter at once.  If the table does not change, two of them may
 * verify the same piece.  Of a file that is open for update, another thread may change a piece as
 * soon as it sees that it is verified: what the first one has read comes before that. */

static bool is_verified(const struct tamis__touched *t, uint64_t piece) {
    return (__atomic_load_n(&t->verified[piece / 64], __ATOMIC_ACQUIRE) >> piece % 64 & 1) != 0;
}

static bool is_set(const bool *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static void set(bool *flag) { __atomic_store_n(flag, true, __ATOMIC_RELEASE); }

/* The filter is const for those who query it, but this flag may be set at any time. */
static bool *compared_of(const tamis_filter *f) {
    return &((tamis_filter *)(uintptr_t)f)->compared;
}

static void set_verified(const tamis_filter *f, uint64_t piece) {
    struct tamis__touched *t = f->touched;
    const uint64_t bit = (uint64_t)1 << piece % 64;
    if (__atomic_fetch_or(&t->verified[piece / 64], bit, __ATOMIC_ACQ_REL) & bit) return;
    if (__atomic_add_fetch(&t->count, 1, __ATOMIC_ACQ_REL) == t->pieces) set(compared_of(f));
}

/* ---- the pieces of a query */

struct visit {
    const tamis_filter *f;
    uint64_t unverified; /* pieces, each as often as it is touched */
    bool damaged;
};

typedef void piece_visitor(struct visit *v, uint64_t piece);

/* Visits the pieces of a part that are not verified yet. */
TAMIS_TEMPLATE void visit_part(struct visit *v, const uint8_t *at, uint64_t bytes,
                               piece_visitor *visit) {
    const uint64_t from = (uint64_t)(at - v->f->table);
    if (bytes == 0) return;
    const uint64_t last = (from + bytes - 1) >> TAMIS__PIECE_LG;
    for (uint64_t i = from >> TAMIS__PIECE_LG; i <= last; i++) {
        if (!is_verified(v->f->touched, i)) visit(v, i);
    }
}

static void count_piece(struct visit *v, uint64_t piece) {
    (void)piece;
    v->unverified++;
}

static void request_piece(struct visit *v, uint64_t piece) {
    const tamis_filter *f = v->f;
    v->unverified++;
    if (f->storage != TAMIS__MAPPED && f->storage != TAMIS__DRAFT) return;
    tamis__file_prefetch(f->table + (piece << TAMIS__PIECE_LG),
                         tamis__native_piece_bytes(f->shape.table_bytes, piece));
}

static void verify_piece(struct visit *v, uint64_t piece) {
    if (tamis__native_piece_matches(v->f->table, v->f->shape.table_bytes, piece)) {
        set_verified(v->f, piece);
    } else {
        v->damaged = true;
    }
}

/* Another thread may change a piece as soon as it is verified, so one thread verifies it. */
static void verify_piece_alone(struct visit *v, uint64_t piece) {
    struct tamis__mutex *alone = &v->f->touched->whole;
    tamis__mutex_lock(alone);
    if (!is_verified(v->f->touched, piece)) verify_piece(v, piece);
    tamis__mutex_unlock(alone);
}

static void count_part(void *context, const uint8_t *at, uint64_t bytes) {
    visit_part(context, at, bytes, count_piece);
}
static void request_part(void *context, const uint8_t *at, uint64_t bytes) {
    visit_part(context, at, bytes, request_piece);
}
static void verify_part(void *context, const uint8_t *at, uint64_t bytes) {
    visit_part(context, at, bytes, verify_piece);
}
static void verify_part_alone(void *context, const uint8_t *at, uint64_t bytes) {
    visit_part(context, at, bytes, verify_piece_alone);
}

/* Verifies what the keys touch; false if some of it is damaged.  All of it is requested first, so
 * that the disk can read it at once. */
static bool verify_touched(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    struct visit v = {.f = f};
    for (size_t i = 0; i < count; i++) f->family->touches(f, hashes[i], request_part, &v);
    if (v.unverified == 0) return true;
    tamis__part_taker *verify = f->storage == TAMIS__DRAFT ? verify_part_alone : verify_part;
    for (size_t i = 0; i < count; i++) f->family->touches(f, hashes[i], verify, &v);
    return !v.damaged;
}

/* ---- one key */

bool tamis__touched_ready(const tamis_filter *f, uint64_t hash) {
    if (is_set(&f->compared) || verify_touched(f, &hash, 1)) return true;
    set(&f->touched->damaged);
    return false;
}

static bool touched_contains(const tamis_filter *f, uint64_t hash) {
    return !tamis__touched_ready(f, hash) || f->touched->inner->contains(f, hash);
}

/* ---- many keys */

/* Is it time to verify the whole table? */
static bool touches_much(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    const struct tamis__touched *t = f->touched;
    const uint64_t much = t->pieces / SHARE;
    /* Of a file that is open for update, some pieces may have been changed. */
    if (count < 2 || is_set(&t->partial) || f->storage == TAMIS__DRAFT) return false;
    if (__atomic_load_n(&t->count, __ATOMIC_RELAXED) > much) return true;
    struct visit v = {.f = f};
    for (size_t i = 0; i < count && v.unverified <= much; i++) {
        f->family->touches(f, hashes[i], count_part, &v);
    }
    return v.unverified > much;
}

bool tamis__touched_all_ready(const tamis_filter *f, const uint64_t *hashes, size_t count) {
    if (is_set(&f->compared)) return true;
    if (touches_much(f, hashes, count) && tamis__touched_verify(f) == TAMIS_OK) return true;
    bool all = true;
    for (size_t at = 0; at < count; at += KEYS_AT_ONCE) {
        const size_t n = count - at < KEYS_AT_ONCE ? count - at : KEYS_AT_ONCE;
        all &= verify_touched(f, hashes + at, n);
    }
    if (!all) set(&f->touched->damaged);
    return all;
}

/* If the batch touches a damaged piece, keys that do not touch it still get their answers. */
static size_t touched_contains_batch(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                     size_t count, bool *answers) {
    if (TAMIS_LIKELY(tamis__touched_all_ready(f, lo, count))) {
        return f->touched->inner->contains_batch(f, lo, hi, count, answers);
    }
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const bool maybe = touched_contains(f, lo[i]);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

/* ---- the whole table */

tamis_status tamis__touched_verify(const tamis_filter *f) {
    struct tamis__touched *t = f->touched;
    tamis_status status = TAMIS_OK;
    tamis__mutex_lock(&t->whole);
    if (!is_set(&f->compared)) {
        const bool mapped = f->storage == TAMIS__MAPPED;
        if (mapped) tamis__file_scan(f->table, f->shape.table_bytes, true);
        status = tamis__native_compare(f->table, f->shape.table_bytes, t->threads);
        if (mapped) tamis__file_scan(f->table, f->shape.table_bytes, false);
        set(status == TAMIS_OK ? compared_of(f) : &t->partial);
    }
    tamis__mutex_unlock(&t->whole);
    return status;
}

tamis_status tamis__touched_status(const tamis_filter *f) {
    return f->touched != NULL && is_set(&f->touched->damaged) ? TAMIS_E_CHECKSUM : TAMIS_OK;
}

/* ---- creating and freeing */

static size_t bitmap_bytes(uint64_t pieces) { return (size_t)(pieces / 64 + 1) * 8; }

tamis_status tamis__touched_attach(tamis_filter *f, unsigned threads) {
    const tamis_allocator a = f->settings.allocator;
    const uint64_t pieces = tamis__native_pieces(f->shape.table_bytes);
    struct tamis__touched *t = tamis__alloc(&a, sizeof *t);
    uint64_t *verified = tamis__alloc(&a, bitmap_bytes(pieces));
    if (t == NULL || verified == NULL) {
        tamis__release(&a, t, sizeof *t);
        tamis__release(&a, verified, bitmap_bytes(pieces));
        return TAMIS_E_NOMEM;
    }
    memset(verified, 0, bitmap_bytes(pieces));
    *t = (struct tamis__touched){.verified = verified, .pieces = pieces, .threads = threads};
    t->allocator = a;
    t->inner = f->ops;
    t->ops = *f->ops;
    t->ops.contains = touched_contains;
    t->ops.contains_batch = touched_contains_batch;
    tamis__mutex_open(&t->whole);
    f->touched = t;
    f->ops = &t->ops;
    tamis__calls_attach(f);
    return TAMIS_OK;
}

void tamis__touched_free(struct tamis__touched *t) {
    if (t == NULL) return;
    const tamis_allocator a = t->allocator;
    tamis__mutex_close(&t->whole);
    tamis__release(&a, t->verified, bitmap_bytes(t->pieces));
    tamis__release(&a, t, sizeof *t);
}
