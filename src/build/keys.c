/* keys.c - see keys.h
 *
 * While there is one shard, the hashes lie in memory in pieces that double up to 4 MiB, or in the
 * caller's array.  Sealing counts and scatters them by bucket into one array, which the shard uses
 * as it is; the caller's array, of any size, by shard and bucket.  Threads share the pieces, each
 * with its own counts, and free them as they go, so the peak is little more than 8 bytes a hash.
 *
 * From the hash on that makes two shards or reaches the memory limit, each full piece becomes a run
 * (keys_runs.h).  Earlier pieces become runs when sealing, or at once if memory is limited.  Runs
 * are half grouped already and need no second array.
 *
 * Several threads may add.  They copy their hashes to one piece in turn; the thread that fills it
 * makes a run of it while the others continue with another piece.  With a memory limit this happens
 * under the lock, because spilling frees the memory of all runs. */
#include "build/keys.h"

#include <stdlib.h>
#include <string.h>

#include "build/kept.h"
#include "build/keys_group.h"
#include "build/keys_runs.h"
#include "core/bits.h"
#include "core/io.h"
#include "core/mutex.h"
#include "core/parallel.h"

#define PIECE_FIRST ((size_t)32 << 10) /* bytes; each piece doubles the one before, */
#define PIECE_MAX ((size_t)4 << 20)    /* up to a size that is mapped, and unmapped, separately */
#define RUN_ROOM (TAMIS__RUN_MAX - sizeof(struct piece) / 8) /* so that it fits in a huge page */
/* Hashes that are worth a thread: if there are few, another core gets them from this one and gives
 * them back (builds of 300 thousand keys took a tenth longer with two threads than with one). */
#define SHARE_MIN ((size_t)1 << 19)

struct piece {
    struct piece *next;
    size_t bytes, room, count;
    uint64_t hash[];
};

struct tamis__keys {
    tamis_allocator allocator;
    struct tamis__mutex mutex; /* for adding */
    uint64_t count;
    struct piece *filling;      /* or NULL */
    struct piece *full, *spare; /* lists: hashes that are not in runs; empty pieces for reuse */
    uint64_t held_bytes, held_limit; /* of the pieces; runs are spilled at the limit; 0: never */
    struct tamis__runs runs;
    const uint64_t *borrowed; /* or the caller's array, not mixed */

    bool keep; /* all hashes; and what is stored, in pieces and runs: */
    uint64_t kept_count, kept_sum;

    bool sealed, again; /* shards may be read more than once */
    uint64_t *grouped;  /* sealed without runs: by shard, and by the next lg_parts bits */
    size_t grouped_bytes;
    unsigned lg_parts;
    uint64_t *start; /* where each part begins; and the end */
    size_t start_bytes;
};

unsigned tamis__keys_lg_shards(uint64_t count, uint64_t max) {
    unsigned lg = 0;
    while (lg < TAMIS__SHARDS_LG_MAX && count >> lg > max) lg++;
    return lg;
}

uint64_t tamis__keys_count(const struct tamis__keys *keys) {
    struct tamis__mutex *mutex = (struct tamis__mutex *)&keys->mutex; /* not part of the value */
    tamis__mutex_lock(mutex);
    const uint64_t count = keys->count;
    tamis__mutex_unlock(mutex);
    return count;
}

/* Bytes per hash of a shard that building takes in any static family, the hash included. */
#define BUILD_BYTES 16

unsigned tamis__keys_threads(const struct tamis__keys *k, unsigned lg_shards, unsigned threads) {
    if (k->held_limit == 0) return threads;
    const uint64_t shard = (k->count >> lg_shards) * BUILD_BYTES + 1;
    const uint64_t max = 2 * k->held_limit / shard;
    return max >= threads ? threads : max > 1 ? (unsigned)max : 1;
}

/* ---- creating and freeing */

tamis_status tamis__keys_create(const tamis_allocator *a, uint64_t memory, const char *temporary,
                                struct tamis__keys **out) {
    struct tamis__keys *k = tamis__alloc(a, sizeof *k);
    if (k == NULL) return TAMIS_E_NOMEM;
    *k = (struct tamis__keys){.allocator = *a};
    /* Building needs the other half. */
    if (memory != 0) k->held_limit = memory / 2 < PIECE_FIRST ? PIECE_FIRST : memory / 2;
    const tamis_status status =
        tamis__runs_open(&k->runs, a, k->held_limit, tamis__temporary_directory(temporary));
    if (status != TAMIS_OK) {
        tamis__release(a, k, sizeof *k);
        return status;
    }
    tamis__mutex_open(&k->mutex);
    *out = k;
    return TAMIS_OK;
}

tamis_status tamis__keys_borrow(const tamis_allocator *a, const uint64_t *hashes, size_t count,
                                struct tamis__keys **out) {
    const tamis_status status = tamis__keys_create(a, 0, NULL, out);
    if (status != TAMIS_OK) return status;
    (*out)->borrowed = hashes;
    (*out)->count = count;
    return TAMIS_OK;
}

static void push_piece(struct piece **list, struct piece *p) {
    p->next = *list;
    *list = p;
}

/* NULL if there is none. */
static struct piece *pop_piece(struct piece **list) {
    struct piece *p = *list;
    if (p != NULL) *list = p->next;
    return p;
}

static void free_pieces(struct tamis__keys *k, struct piece **list) {
    for (struct piece *p; (p = pop_piece(list)) != NULL;) {
        k->held_bytes -= p->bytes;
        tamis__table_free(&k->allocator, p, p->bytes);
    }
}

void tamis__keys_drop(struct tamis__keys *k) {
    if (k->keep) return;
    if (k->filling != NULL) push_piece(&k->full, k->filling);
    k->filling = NULL;
    free_pieces(k, &k->full);
    free_pieces(k, &k->spare);
    tamis__runs_close(&k->runs);
    tamis__table_free(&k->allocator, k->grouped, k->grouped_bytes);
    k->grouped = NULL;
}

void tamis__keys_free(struct tamis__keys *k) {
    if (k == NULL) return;
    k->keep = false;
    tamis__keys_drop(k);
    tamis__release(&k->allocator, k->start, k->start_bytes);
    tamis__mutex_close(&k->mutex);
    const tamis_allocator a = k->allocator;
    tamis__release(&a, k, sizeof *k);
}

/* ---- grouping all hashes in memory */

/* The work of several threads: stretches, distributed to them in turn. */
struct shares {
    const tamis_allocator *allocator;
    struct tamis__stretch *stretches;
    struct piece **pieces; /* to be freed when done; NULL: kept */
    size_t count;
    unsigned threads, lg, shift;
    uint64_t *next; /* per thread and part: counts, then the next position */
    uint64_t *to;
};

static uint64_t *share_next(const struct shares *s, uint64_t thread) {
    return s->next + (thread << s->lg);
}

static tamis_status count_share(void *context, uint64_t thread) {
    const struct shares *s = (const struct shares *)context;
    for (size_t i = (size_t)thread; i < s->count; i += s->threads) {
        tamis__stretch_count(&s->stretches[i], 0, s->lg, share_next(s, thread));
    }
    return TAMIS_OK;
}

static tamis_status scatter_share(void *context, uint64_t thread) {
    const struct shares *s = (const struct shares *)context;
    for (size_t i = (size_t)thread; i < s->count; i += s->threads) {
        tamis__stretch_scatter(&s->stretches[i], 0, s->lg, s->shift, share_next(s, thread), s->to);
        if (s->pieces[i] != NULL)
            tamis__table_free(s->allocator, s->pieces[i], s->pieces[i]->bytes);
    }
    return TAMIS_OK;
}

/* Turns the counts of all threads into positions, thread after thread within each part. */
static void share_places(const struct shares *s, uint64_t *start) {
    const size_t parts = (size_t)1 << s->lg;
    uint64_t at = 0;
    for (size_t p = 0; p < parts; p++) {
        start[p] = at;
        for (unsigned t = 0; t < s->threads; t++) {
            uint64_t *next = &share_next(s, t)[p];
            const uint64_t count = *next;
            *next = at;
            at += count;
        }
    }
    start[parts] = at;
}

/* Equal stretches of the caller's array, or one per piece. */
static void share_out(const struct tamis__keys *k, struct shares *s) {
    const size_t each = (size_t)k->count / s->threads;
    for (unsigned t = 0; k->borrowed != NULL && t < s->threads; t++) {
        const size_t from = each * t, end = t + 1 == s->threads ? (size_t)k->count : from + each;
        s->pieces[s->count] = NULL;
        s->stretches[s->count++] = (struct tamis__stretch){k->borrowed + from, end - from, true};
    }
    for (struct piece *p = k->full; p != NULL; p = p->next) {
        s->pieces[s->count] = k->keep ? NULL : p;
        s->stretches[s->count++] = (struct tamis__stretch){p->hash, p->count, false};
    }
}

/* Writes all hashes, shifted left by `shift`, to `to`, grouped by their top `lg` bits, and where
 * each part begins to `start`.  Frees the pieces. */
static tamis_status group_all(struct tamis__keys *k, unsigned lg, unsigned shift, unsigned threads,
                              uint64_t *start, uint64_t *to) {
    const tamis_allocator *a = &k->allocator;
    size_t max = 1 + (size_t)k->count / SHARE_MIN;
    struct shares s = {.allocator = a, .lg = lg, .shift = shift, .to = to};
    s.threads = threads < 1 ? 1 : threads < max ? threads : (unsigned)max;
    max = s.threads;
    for (const struct piece *p = k->full; p != NULL; p = p->next) max++;
    const size_t next_bytes = ((size_t)s.threads << lg) * sizeof *s.next;
    s.next = (uint64_t *)tamis__alloc(a, next_bytes);
    s.stretches = (struct tamis__stretch *)tamis__alloc(a, max * sizeof *s.stretches);
    s.pieces = (struct piece **)tamis__alloc(a, max * sizeof *s.pieces);
    const bool ready = s.next != NULL && s.stretches != NULL && s.pieces != NULL;
    if (ready) {
        memset(s.next, 0, next_bytes);
        share_out(k, &s);
        (void)tamis__parallel(s.threads, s.threads, count_share, &s);
        share_places(&s, start);
        if (!k->keep) {
            k->full = NULL;
            k->held_bytes = 0;
        }
        (void)tamis__parallel(s.threads, s.threads, scatter_share, &s);
    }
    tamis__release(a, s.next, next_bytes);
    tamis__release(a, s.stretches, max * sizeof *s.stretches);
    tamis__release(a, s.pieces, max * sizeof *s.pieces);
    return ready ? TAMIS_OK : TAMIS_E_NOMEM;
}

/* ---- intake */

/* All of this runs with the mutex locked. */

/* Makes a run of some hashes of a piece that only this thread uses. */
static tamis_status make_run(struct tamis__keys *k, const uint64_t *hashes, size_t count) {
    struct tamis__run *run = tamis__runs_begin(&k->runs, count);
    if (run == NULL) return TAMIS_E_NOMEM;
    if (k->held_limit == 0) tamis__mutex_unlock(&k->mutex);
    tamis__run_fill(run, hashes, count);
    if (k->held_limit == 0) tamis__mutex_lock(&k->mutex);
    if (k->held_limit != 0) {
        uint64_t sum;
        k->kept_count -= tamis__run_drop_repeats(run, &sum);
        k->kept_sum -= sum;
    }
    tamis__runs_append(&k->runs, run);
    return TAMIS_OK;
}

/* Empties a piece that only this thread uses.  If memory runs out it stays as it is: repeats are
 * harmless. */
static tamis_status make_runs(struct tamis__keys *k, struct piece *p) {
    for (size_t at = 0, n; at < p->count; at += n) {
        n = p->count - at < RUN_ROOM ? p->count - at : RUN_ROOM;
        const tamis_status status = make_run(k, p->hash + at, n);
        if (status != TAMIS_OK) {
            k->kept_count += at; /* they are in runs as well */
            k->kept_sum += tamis__kept_sum(p->hash, NULL, at);
            return status;
        }
    }
    p->count = 0;
    if (p->room > RUN_ROOM) p->room = RUN_ROOM;
    return TAMIS_OK;
}

static void drop_piece(struct tamis__keys *k, struct piece *p) {
    const size_t bytes = p->bytes;
    k->held_bytes -= bytes;
    if (!tamis__runs_give(&k->runs, p, bytes)) tamis__table_free(&k->allocator, p, bytes);
}

/* Is there one shard, and memory for more hashes in it? */
static bool is_small(const struct tamis__keys *k) {
    const bool within = k->held_limit == 0 || k->held_bytes < k->held_limit / 2;
    return k->runs.first == NULL && within && k->count < TAMIS__SHARD_KEYS;
}

/* Another piece to fill. */
static tamis_status next_piece(struct tamis__keys *k, size_t bytes) {
    struct piece *p = pop_piece(&k->spare);
    if (p == NULL) {
        p = tamis__table_alloc(&k->allocator, bytes);
        if (p == NULL) return TAMIS_E_NOMEM;
        *p = (struct piece){.bytes = bytes, .room = (bytes - sizeof *p) / 8};
        k->held_bytes += bytes;
    }
    k->filling = p;
    return TAMIS_OK;
}

/* The piece is kept as it is, and followed by a larger one. */
static tamis_status keep_piece(struct tamis__keys *k) {
    size_t bytes = PIECE_FIRST;
    if (k->filling != NULL) {
        bytes = k->filling->bytes < PIECE_MAX / 2 ? 2 * k->filling->bytes : PIECE_MAX;
        push_piece(&k->full, k->filling);
        k->filling = NULL;
    }
    return next_piece(k, bytes);
}

/* The piece becomes runs, while others fill another one. */
static tamis_status pass_piece(struct tamis__keys *k) {
    struct piece *p = k->filling;
    k->filling = NULL;
    tamis_status status = next_piece(k, PIECE_MAX);
    if (status == TAMIS_OK) {
        if (k->filling->room > RUN_ROOM) k->filling->room = RUN_ROOM;
        status = make_runs(k, p);
    }
    push_piece(status == TAMIS_OK ? &k->spare : &k->full, p);
    return status;
}

/* All pieces become runs, and runs are spilled at the limit; the last piece is filled again. */
static tamis_status pass_all(struct tamis__keys *k) {
    tamis_status status = make_runs(k, k->filling);
    while (status == TAMIS_OK && k->full != NULL) {
        status = make_runs(k, k->full);
        if (status == TAMIS_OK) drop_piece(k, pop_piece(&k->full));
    }
    if (status != TAMIS_OK || k->runs.held_bytes < k->held_limit) return status;
    return tamis__runs_spill(&k->runs, false);
}

/* Makes room for at least one hash; another thread may use it first. */
static tamis_status make_room(struct tamis__keys *k) {
    if (k->filling == NULL || is_small(k)) return keep_piece(k);
    return k->held_limit == 0 ? pass_piece(k) : pass_all(k);
}

static size_t room_left(const struct tamis__keys *k) {
    return k->filling == NULL ? 0 : k->filling->room - k->filling->count;
}

static tamis_status add_locked(struct tamis__keys *k, const uint64_t *hashes, size_t count) {
    tamis_status status = TAMIS_OK;
    while (count > 0 && status == TAMIS_OK) {
        const size_t room = room_left(k), n = count < room ? count : room;
        struct piece *p = k->filling;
        for (size_t i = 0; k->keep && i < n; i++) {
            k->kept_sum += tamis__kept_term(tamis__mix64(hashes[i]), 0);
        }
        k->kept_count += n;
        for (size_t i = 0; i < n; i++) p->hash[p->count + i] = tamis__mix64(hashes[i]);
        if (n != 0) p->count += n;
        k->count += n;
        hashes += n;
        count -= n;
        if (count > 0) status = make_room(k);
    }
    return status;
}

tamis_status tamis__keys_add(struct tamis__keys *k, const uint64_t *hashes, size_t count) {
    tamis__mutex_lock(&k->mutex);
    const tamis_status status = add_locked(k, hashes, count);
    tamis__mutex_unlock(&k->mutex);
    return status;
}

/* ---- sealing */

/* The parts into which sealing cuts a shard: usually the buckets that it will have.  Shard sizes
 * differ by far less than a 64th; a shard that needs other buckets gets them when it is read. */
static unsigned parts_for(const struct tamis__keys *k, unsigned lg_shards) {
    const uint64_t mean = k->count >> lg_shards;
    if (lg_shards == 0) return tamis__group_lg_buckets(mean);
    return !k->again ? tamis__group_lg_buckets(mean + mean / 64) : 0;
}

static tamis_status seal_piece(void *context, uint64_t i) {
    struct tamis__keys *k = (struct tamis__keys *)context;
    (void)i;
    tamis__mutex_lock(&k->mutex);
    struct piece *p = pop_piece(&k->full);
    const tamis_status status = make_runs(k, p);
    drop_piece(k, p);
    tamis__mutex_unlock(&k->mutex);
    return status;
}

/* The last runs, and no more pieces. */
static tamis_status seal_runs(struct tamis__keys *k, unsigned lg_shards, unsigned threads) {
    uint64_t pieces = 0;
    free_pieces(k, &k->spare);
    for (const struct piece *p = k->full; p != NULL; p = p->next) pieces++;
    tamis_status status = tamis__parallel(threads, pieces, seal_piece, k);
    if (status == TAMIS_OK && k->runs.file >= 0) status = tamis__runs_spill(&k->runs, true);
    tamis__runs_seal(&k->runs, lg_shards);
    return status;
}

tamis_status tamis__keys_seal(struct tamis__keys *k, unsigned lg_shards, unsigned threads,
                              bool again) {
    if (k->sealed) return TAMIS_OK;
    k->sealed = true;
    k->again = again;
    if (k->filling != NULL) push_piece(&k->full, k->filling);
    k->filling = NULL;
    if (k->runs.first != NULL || (k->borrowed == NULL && k->count > TAMIS__SHARD_KEYS)) {
        return seal_runs(k, lg_shards, threads);
    }
    k->lg_parts = parts_for(k, lg_shards);
    const unsigned lg = lg_shards + k->lg_parts;
    k->start_bytes = (((size_t)1 << lg) + 1) * sizeof *k->start;
    k->grouped_bytes = (size_t)k->count * sizeof *k->grouped;
    k->start = (uint64_t *)tamis__alloc(&k->allocator, k->start_bytes);
    k->grouped = (uint64_t *)tamis__table_alloc(&k->allocator, k->grouped_bytes);
    if (k->start == NULL || k->grouped == NULL) return TAMIS_E_NOMEM;
    return group_all(k, lg, lg_shards, threads, k->start, k->grouped);
}

bool tamis__keys_copied(const struct tamis__keys *k) { return k->grouped == NULL || k->again; }

/* ---- a shard */

/* Lends its hashes if sealing has cut them into its buckets or finer. */
static tamis_status sealed_shard(const struct tamis__keys *k, uint64_t shard,
                                 struct tamis__group *g) {
    const uint64_t *start = k->start + (shard << k->lg_parts);
    const size_t count = (size_t)(start[(size_t)1 << k->lg_parts] - start[0]);
    uint64_t *hashes = k->grouped + start[0];
    const unsigned lg = tamis__group_lg_buckets(count);
    if (lg <= k->lg_parts && !k->again) {
        return tamis__group_lend(g, hashes, count, start, k->lg_parts - lg);
    }
    const struct tamis__stretch s = {hashes, count, false};
    return tamis__group_copy(g, &s, 1);
}

tamis_status tamis__keys_shard(struct tamis__keys *k, uint64_t shard, unsigned threads,
                               struct tamis__group *g) {
    *g = (struct tamis__group){.allocator = k->allocator};
    if (k->runs.first == NULL) return sealed_shard(k, shard, g);
    return tamis__runs_shard(&k->runs, shard, threads, g);
}

/* ---- the hashes that are kept */

void tamis__keys_keep(struct tamis__keys *k) { k->keep = true; }

bool tamis__keys_spilled(const struct tamis__keys *k) { return k->runs.file_hashes != 0; }

void tamis__keys_expected(const struct tamis__keys *k, uint64_t *count, uint64_t *sum) {
    *count = k->kept_count;
    *sum = k->kept_sum;
}

static uint64_t file_units(const struct tamis__keys *k) {
    return tamis__div_up(k->runs.file_hashes, TAMIS__KEPT_UNIT);
}

uint64_t tamis__keys_units(const struct tamis__keys *k) {
    uint64_t units = file_units(k) + k->runs.count;
    for (const struct piece *p = k->full; p != NULL; p = p->next) units++;
    return units;
}

bool tamis__keys_unit(const struct tamis__keys *k, uint64_t unit, uint64_t *buffer,
                      const uint64_t **words, size_t *count) {
    const uint64_t from = unit * TAMIS__KEPT_UNIT, spilled = k->runs.file_hashes;
    if (from < spilled) {
        *count = (size_t)(spilled - from < TAMIS__KEPT_UNIT ? spilled - from : TAMIS__KEPT_UNIT);
        *words = buffer;
        return tamis__pread_all(k->runs.file, buffer, 8 * (uint64_t)*count, 8 * from);
    }
    unit -= file_units(k);
    const struct tamis__run *run = k->runs.first;
    for (; run != NULL && unit != 0; unit--) run = tamis__run_next(run);
    if (run != NULL) {
        *words = tamis__run_hashes(run, count);
        return true;
    }
    const struct piece *p = k->full;
    for (; unit != 0; unit--) p = p->next;
    *words = p->hash;
    *count = p->count;
    return true;
}
