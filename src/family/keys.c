/* keys.c - see keys.h
 *
 * In memory the hashes lie in pieces that double up to 4 MiB, or in the caller's array.  Sealing
 * counts and scatters them into one array, in which a shard is a stretch.  Threads share the
 * pieces, each with counts of its own:
 *
 *     the caller's array    -> by shard and bucket: a shard is lent out as it lies
 *     pieces of one shard   -> by bucket: likewise
 *     pieces of several     -> by shard only; a shard is grouped when it is asked for
 *
 * The last because places of all buckets, and with them all pages, are written to at once, while
 * a few shards fill up as the pieces are given back: so the peak is little more than 8 bytes a
 * hash.
 *
 * Past the memory limit the pieces are flushed, and filled again: a run of the temporary file
 * holds the hashes of one flush, grouped by their top 10 bits, and the run's starts are kept in
 * memory.  A shard then reads its part of every run. */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "family/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bits.h"
#include "core/parallel.h"
#include "family/keys_group.h"

#define PIECE_FIRST ((size_t)32 << 10) /* bytes; each piece doubles the one before, */
#define PIECE_MOST ((size_t)4 << 20)   /* up to what is mapped, and given back, by itself */
#define RUN_LG 10
#define RUN_PARTS ((size_t)1 << RUN_LG)
#define SHARE_LEAST ((size_t)1 << 16) /* hashes that are worth a thread */

struct piece {
    struct piece *next;
    size_t bytes, room, count;
    uint64_t hash[];
};

/* One flush: part p of it is hashes start[p] .. start[p+1) of the file. */
struct run {
    struct run *next;
    uint64_t start[RUN_PARTS + 1];
};

struct tamis__keys {
    tamis_allocator allocator;
    uint64_t count;
    struct piece *pieces, *last;
    uint64_t held_bytes, held_limit; /* of the pieces; flush at the limit; 0: never */
    struct piece *spare;             /* emptied by a flush, for the next: new memory is cleared */
    uint64_t *run_buffer;            /* so is that in which a run is grouped */
    uint64_t run_buffer_bytes;
    const uint64_t *borrowed; /* or the caller's array, not mixed */

    char *temporary;
    int file; /* -1: nothing spilled */
    uint64_t file_hashes;
    struct run *runs, *last_run;

    bool sealed, again; /* shards may be asked for more than once */
    uint64_t *grouped;  /* sealed in memory: by shard, and by the next lg_parts bits */
    size_t grouped_bytes;
    unsigned lg_parts;
    uint64_t *start; /* where each part begins; and the end */
    size_t start_bytes;
};

unsigned tamis__keys_lg_shards(uint64_t count) {
    unsigned lg = 0;
    while (lg < TAMIS__SHARDS_LG_MAX && count >> lg > TAMIS__SHARD_KEYS) lg++;
    return lg;
}

uint64_t tamis__keys_count(const struct tamis__keys *keys) { return keys->count; }

/* ---- life */

tamis_status tamis__keys_create(const tamis_allocator *a, uint64_t memory, const char *temporary,
                                struct tamis__keys **out) {
    struct tamis__keys *k = tamis__alloc(a, sizeof *k);
    if (k == NULL) return TAMIS_E_NOMEM;
    *k = (struct tamis__keys){.allocator = *a, .file = -1};
    if (memory != 0) {
        /* Flushing groups a copy of the pieces, and building needs the rest. */
        k->held_limit = memory / 4 < PIECE_FIRST ? PIECE_FIRST : memory / 4;
        if (temporary == NULL) temporary = getenv("TMPDIR");
        if (temporary == NULL || *temporary == '\0') temporary = "/tmp";
        const size_t length = strlen(temporary) + 1;
        k->temporary = tamis__alloc(a, length);
        if (k->temporary == NULL) {
            tamis__release(a, k, sizeof *k);
            return TAMIS_E_NOMEM;
        }
        memcpy(k->temporary, temporary, length);
    }
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

/* Takes the first piece off the list, and frees it or keeps it for later. */
static void drop_piece(struct tamis__keys *k) {
    struct piece *p = k->pieces;
    k->pieces = p->next;
    if (k->pieces == NULL) k->last = NULL;
    k->held_bytes -= p->bytes;
    if (k->held_limit != 0 && !k->sealed) {
        p->next = k->spare;
        k->spare = p;
    } else {
        tamis__table_free(&k->allocator, p, p->bytes);
    }
}

/* What was kept for the next run. */
static void drop_spares(struct tamis__keys *k) {
    while (k->spare != NULL) {
        struct piece *p = k->spare;
        k->spare = p->next;
        tamis__table_free(&k->allocator, p, p->bytes);
    }
    tamis__table_free(&k->allocator, k->run_buffer, k->run_buffer_bytes);
    k->run_buffer = NULL;
}

void tamis__keys_free(struct tamis__keys *k) {
    if (k == NULL) return;
    while (k->pieces != NULL) drop_piece(k);
    drop_spares(k);
    while (k->runs != NULL) {
        struct run *next = k->runs->next;
        tamis__release(&k->allocator, k->runs, sizeof *k->runs);
        k->runs = next;
    }
    if (k->file >= 0) close(k->file);
    if (k->temporary != NULL) tamis__release(&k->allocator, k->temporary, strlen(k->temporary) + 1);
    tamis__table_free(&k->allocator, k->grouped, k->grouped_bytes);
    tamis__release(&k->allocator, k->start, k->start_bytes);
    const tamis_allocator a = k->allocator;
    tamis__release(&a, k, sizeof *k);
}

/* ---- grouping all hashes in memory */

/* The work of several threads: stretches, of which thread t has every one after the t-th. */
struct shares {
    const tamis_allocator *allocator;
    struct tamis__stretch *stretches;
    struct piece **pieces; /* that they are, to be freed; NULL for the caller's array */
    size_t count;
    unsigned threads, lg, shift;
    uint64_t *next; /* for each thread and part: counts, then where it goes on */
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

/* All threads' counts become places, thread after thread within each part. */
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

/* The caller's array in equal stretches; or a stretch for each piece. */
static void share_out(const struct tamis__keys *k, struct shares *s) {
    const size_t each = (size_t)k->count / s->threads;
    for (unsigned t = 0; k->borrowed != NULL && t < s->threads; t++) {
        const size_t from = each * t, end = t + 1 == s->threads ? (size_t)k->count : from + each;
        s->pieces[s->count] = NULL;
        s->stretches[s->count++] = (struct tamis__stretch){k->borrowed + from, end - from, true};
    }
    for (struct piece *p = k->pieces; p != NULL; p = p->next) {
        s->pieces[s->count] = p;
        s->stretches[s->count++] = (struct tamis__stretch){p->hash, p->count, false};
    }
}

/* Writes all hashes, shifted left by `shift`, to `to`, grouped by their top `lg` bits, and where
 * each part begins to `start`.  Frees the pieces. */
static tamis_status group_all(struct tamis__keys *k, unsigned lg, unsigned shift, unsigned threads,
                              uint64_t *start, uint64_t *to) {
    const tamis_allocator *a = &k->allocator;
    size_t most = 1 + (size_t)k->count / SHARE_LEAST;
    struct shares s = {.allocator = a, .lg = lg, .shift = shift, .to = to};
    s.threads = threads < 1 ? 1 : threads < most ? threads : (unsigned)most;
    most = s.threads;
    for (const struct piece *p = k->pieces; p != NULL; p = p->next) most++;
    const size_t next_bytes = ((size_t)s.threads << lg) * sizeof *s.next;
    s.next = (uint64_t *)tamis__alloc(a, next_bytes);
    s.stretches = (struct tamis__stretch *)tamis__alloc(a, most * sizeof *s.stretches);
    s.pieces = (struct piece **)tamis__alloc(a, most * sizeof *s.pieces);
    const bool ready = s.next != NULL && s.stretches != NULL && s.pieces != NULL;
    if (ready) {
        memset(s.next, 0, next_bytes);
        share_out(k, &s);
        (void)tamis__parallel(s.threads, s.threads, count_share, &s);
        share_places(&s, start);
        k->pieces = k->last = NULL;
        k->held_bytes = 0;
        (void)tamis__parallel(s.threads, s.threads, scatter_share, &s);
    }
    tamis__release(a, s.next, next_bytes);
    tamis__release(a, s.stretches, most * sizeof *s.stretches);
    tamis__release(a, s.pieces, most * sizeof *s.pieces);
    return ready ? TAMIS_OK : TAMIS_E_NOMEM;
}

/* ---- spilling */

static int nameless_file(const char *directory) {
#if defined(O_TMPFILE)
    const int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
#endif
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s/tamis-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkstemp(name);
    if (named >= 0) unlink(name);
    return named;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size, uint64_t at) {
    while (size > 0) {
        const ssize_t n = pwrite(fd, bytes, size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, uint8_t *bytes, size_t size, uint64_t at) {
    while (size > 0) {
        const ssize_t n = pread(fd, bytes, size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

/* Memory for a run of so many bytes, kept from the last one if that was as large. */
static uint64_t *run_buffer(struct tamis__keys *k, uint64_t bytes) {
    if (k->run_buffer != NULL && k->run_buffer_bytes >= bytes) return k->run_buffer;
    tamis__table_free(&k->allocator, k->run_buffer, k->run_buffer_bytes);
    k->run_buffer_bytes = bytes;
    k->run_buffer = tamis__table_alloc(&k->allocator, bytes);
    return k->run_buffer;
}

/* Writes all pieces to the file as one run, and empties them. */
static tamis_status flush(struct tamis__keys *k) {
    if (k->file < 0 && (k->file = nameless_file(k->temporary)) < 0) return TAMIS_E_IO;
    struct run *run = tamis__alloc(&k->allocator, sizeof *run);
    if (run == NULL) return TAMIS_E_NOMEM;
    run->next = NULL;
    const uint64_t count = k->count - k->file_hashes, bytes = count * 8;

    uint64_t *grouped = run_buffer(k, bytes);
    tamis_status status = grouped == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    if (status == TAMIS_OK) status = group_all(k, RUN_LG, 0, 1, run->start, grouped);
    if (status == TAMIS_OK &&
        !write_all(k->file, (const uint8_t *)grouped, (size_t)bytes, k->file_hashes * 8)) {
        status = TAMIS_E_IO;
    }
    if (k->sealed) drop_spares(k); /* it was the last run */
    if (status != TAMIS_OK) {
        tamis__release(&k->allocator, run, sizeof *run);
        return status;
    }
    for (size_t p = 0; p <= RUN_PARTS; p++) run->start[p] += k->file_hashes;
    if (k->last_run == NULL) {
        k->runs = run;
    } else {
        k->last_run->next = run;
    }
    k->last_run = run;
    k->file_hashes += count;
    return TAMIS_OK;
}

/* ---- intake */

static tamis_status add_piece(struct tamis__keys *k) {
    if (k->held_limit != 0 && k->held_bytes >= k->held_limit) {
        const tamis_status status = flush(k);
        if (status != TAMIS_OK) return status;
    }
    size_t bytes = k->last == NULL ? PIECE_FIRST : 2 * k->last->bytes;
    if (bytes > PIECE_MOST) bytes = PIECE_MOST;
    struct piece *p = k->spare;
    if (p != NULL) {
        k->spare = p->next;
        bytes = p->bytes;
    } else if ((p = tamis__table_alloc(&k->allocator, bytes)) == NULL) {
        return TAMIS_E_NOMEM;
    }
    *p = (struct piece){.bytes = bytes, .room = (bytes - sizeof *p) / 8};
    if (k->last == NULL) {
        k->pieces = p;
    } else {
        k->last->next = p;
    }
    k->last = p;
    k->held_bytes += bytes;
    return TAMIS_OK;
}

tamis_status tamis__keys_add(struct tamis__keys *k, const uint64_t *hashes, size_t count) {
    while (count > 0) {
        if (k->last == NULL || k->last->count == k->last->room) {
            const tamis_status status = add_piece(k);
            if (status != TAMIS_OK) return status;
        }
        struct piece *p = k->last;
        const size_t room = p->room - p->count, n = count < room ? count : room;
        for (size_t i = 0; i < n; i++) p->hash[p->count + i] = tamis__mix64(hashes[i]);
        p->count += n;
        k->count += n;
        hashes += n;
        count -= n;
    }
    return TAMIS_OK;
}

/* ---- sealing */

/* The parts into which sealing cuts a shard, as a rule the buckets that it will have.  Shards
 * differ by far less than a 64th; one that does need other buckets gets them when it is asked
 * for. */
static unsigned parts_for(const struct tamis__keys *k, unsigned lg_shards) {
    const uint64_t mean = k->count >> lg_shards;
    if (lg_shards == 0) return tamis__group_lg_buckets(mean);
    return k->borrowed != NULL && !k->again ? tamis__group_lg_buckets(mean + mean / 64) : 0;
}

tamis_status tamis__keys_seal(struct tamis__keys *k, unsigned threads, bool again) {
    if (k->sealed) return TAMIS_OK;
    k->sealed = true;
    k->again = again;
    if (k->file >= 0) return flush(k);
    const unsigned lg_shards = tamis__keys_lg_shards(k->count);
    k->lg_parts = parts_for(k, lg_shards);
    const unsigned lg = lg_shards + k->lg_parts;
    k->start_bytes = (((size_t)1 << lg) + 1) * sizeof *k->start;
    k->grouped_bytes = (size_t)k->count * sizeof *k->grouped;
    k->start = (uint64_t *)tamis__alloc(&k->allocator, k->start_bytes);
    k->grouped = (uint64_t *)tamis__table_alloc(&k->allocator, k->grouped_bytes);
    if (k->start == NULL || k->grouped == NULL) return TAMIS_E_NOMEM;
    return group_all(k, lg, lg_shards, threads, k->start, k->grouped);
}

/* ---- a shard: its hashes in one array */

/* Where a shard of a spilled set lies in a run. */
static void run_part(const struct run *run, uint64_t shard, unsigned lg, uint64_t *from,
                     uint64_t *to) {
    if (lg >= RUN_LG) {
        const uint64_t part = shard >> (lg - RUN_LG);
        *from = run->start[part];
        *to = run->start[part + 1];
    } else {
        *from = run->start[shard << (RUN_LG - lg)];
        *to = run->start[(shard + 1) << (RUN_LG - lg)];
    }
}

/* Keeps the hashes of one shard: with more shards than parts, a part holds several. */
static size_t keep_shard(uint64_t *hashes, size_t count, uint64_t shard, unsigned lg) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (tamis__part_of(hashes[i], 0, lg) == shard) hashes[kept++] = hashes[i];
    }
    return kept;
}

static tamis_status read_shard(const struct tamis__keys *k, uint64_t shard, unsigned lg,
                               uint64_t **hashes, size_t *count, size_t *bytes) {
    uint64_t total = 0, from, to;
    for (const struct run *r = k->runs; r != NULL; r = r->next) {
        run_part(r, shard, lg, &from, &to);
        total += to - from;
    }
    if (!tamis__array_size(total, 8, bytes)) return TAMIS_E_NOMEM;
    *hashes = tamis__table_alloc(&k->allocator, *bytes);
    if (*hashes == NULL) return TAMIS_E_NOMEM;
    *count = 0;
    for (const struct run *r = k->runs; r != NULL; r = r->next) {
        run_part(r, shard, lg, &from, &to);
        const size_t n = (size_t)(to - from);
        if (!read_all(k->file, (uint8_t *)(*hashes + *count), n * 8, from * 8)) {
            tamis__table_free(&k->allocator, *hashes, *bytes);
            return TAMIS_E_IO;
        }
        *count += lg > RUN_LG ? keep_shard(*hashes + *count, n, shard, lg) : n;
    }
    return TAMIS_OK;
}

/* A shard that lies in memory: lent if sealing has cut it into its buckets or finer. */
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
    return tamis__group_copy(g, &s, 0);
}

static tamis_status spilled_shard(const struct tamis__keys *k, uint64_t shard,
                                  struct tamis__group *g) {
    const unsigned lg = tamis__keys_lg_shards(k->count);
    uint64_t *hashes;
    size_t count, bytes;
    tamis_status status = read_shard(k, shard, lg, &hashes, &count, &bytes);
    if (status != TAMIS_OK) return status;
    const struct tamis__stretch s = {hashes, count, false};
    status = tamis__group_copy(g, &s, lg);
    tamis__table_free(&k->allocator, hashes, bytes);
    return status;
}

tamis_status tamis__keys_shard(struct tamis__keys *k, uint64_t shard, struct tamis__group *g) {
    *g = (struct tamis__group){.allocator = k->allocator};
    return k->file >= 0 ? spilled_shard(k, shard, g) : sealed_shard(k, shard, g);
}
