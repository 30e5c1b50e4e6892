/* keys.c - see keys.h
 *
 * In memory the hashes lie in pieces that double up to 4 MiB.  Sealing scatters them into one array
 * grouped by shard, giving each piece back as soon as it is empty, so the peak is little more than
 * 8 bytes a hash.  With one shard that step is left out, and the shard is grouped straight from the
 * pieces.
 *
 * Past the memory limit the pieces are flushed: a run of the temporary file holds the hashes
 * of one flush, grouped by their top 10 bits, and the run's starts are kept in memory.  A
 * shard then reads its part of every run. */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "family/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bits.h"

#define PIECE_FIRST ((size_t)32 << 10) /* bytes; each piece doubles the one before, */
#define PIECE_MOST ((size_t)4 << 20)   /* up to what is mapped, and given back, by itself */
#define RUN_LG 10
#define RUN_PARTS ((size_t)1 << RUN_LG)
#define BUCKET_KEYS 2048 /* a bucket and the set that finds its repeats fit in the L2 cache */
#define BUCKETS_LG_MAX 12

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
    const uint64_t *borrowed;        /* or the caller's array, not mixed */

    char *temporary;
    int file; /* -1: nothing spilled */
    uint64_t file_hashes;
    struct run *runs, *last_run;

    bool sealed;
    uint64_t *grouped; /* sealed in memory with several shards: by shard */
    size_t grouped_bytes;
    uint64_t *shard_start;
    size_t shard_start_bytes;
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

/* Takes the first piece off the list and frees it. */
static void drop_piece(struct tamis__keys *k) {
    struct piece *p = k->pieces;
    k->pieces = p->next;
    if (k->pieces == NULL) k->last = NULL;
    k->held_bytes -= p->bytes;
    tamis__table_free(&k->allocator, p, p->bytes);
}

void tamis__keys_free(struct tamis__keys *k) {
    if (k == NULL) return;
    while (k->pieces != NULL) drop_piece(k);
    while (k->runs != NULL) {
        struct run *next = k->runs->next;
        tamis__release(&k->allocator, k->runs, sizeof *k->runs);
        k->runs = next;
    }
    if (k->file >= 0) close(k->file);
    if (k->temporary != NULL) tamis__release(&k->allocator, k->temporary, strlen(k->temporary) + 1);
    tamis__table_free(&k->allocator, k->grouped, k->grouped_bytes);
    tamis__release(&k->allocator, k->shard_start, k->shard_start_bytes);
    const tamis_allocator a = k->allocator;
    tamis__release(&a, k, sizeof *k);
}

/* ---- all hashes in memory, piece by piece */

struct stretch {
    const uint64_t *hash;
    size_t count;
    bool raw; /* the caller's: not mixed yet */
};

TAMIS_TEMPLATE uint64_t stretch_at(const struct stretch *s, size_t i) {
    return s->raw ? tamis__mix64(s->hash[i]) : s->hash[i];
}

/* The part of a hash that tells its place: bits `skip` .. `skip + lg` from the top. */
TAMIS_TEMPLATE size_t part_of(uint64_t hash, unsigned skip, unsigned lg) {
    return (size_t)(((hash << skip) >> 1) >> (63 - lg));
}

static void count_parts(const struct stretch *s, unsigned skip, unsigned lg, uint64_t *counts) {
    for (size_t i = 0; i < s->count; i++) counts[part_of(stretch_at(s, i), skip, lg)]++;
}

/* Counts become starts: counts[p] is where part p begins; counts[parts] is the end. */
static void starts_from_counts(uint64_t *counts, size_t parts) {
    uint64_t at = 0;
    for (size_t p = 0; p < parts; p++) {
        const uint64_t n = counts[p];
        counts[p] = at;
        at += n;
    }
    counts[parts] = at;
}

/* Puts each hash, shifted left by `skip`, where its part goes on; `next` moves along. */
static void scatter(const struct stretch *s, unsigned skip, unsigned lg, uint64_t *next,
                    uint64_t *to) {
    for (size_t i = 0; i < s->count; i++) {
        const uint64_t hash = stretch_at(s, i);
        to[next[part_of(hash, skip, lg)]++] = hash << skip;
    }
}

static void count_all(const struct tamis__keys *k, unsigned lg, uint64_t *counts) {
    const struct stretch lent = {k->borrowed, (size_t)k->count, true};
    if (k->borrowed != NULL) count_parts(&lent, 0, lg, counts);
    for (const struct piece *p = k->pieces; p != NULL; p = p->next) {
        const struct stretch s = {p->hash, p->count, false};
        count_parts(&s, 0, lg, counts);
    }
}

/* Frees the pieces on the way. */
static void scatter_all(struct tamis__keys *k, unsigned lg, uint64_t *next, uint64_t *to) {
    const struct stretch lent = {k->borrowed, (size_t)k->count, true};
    if (k->borrowed != NULL) scatter(&lent, 0, lg, next, to);
    while (k->pieces != NULL) {
        const struct stretch s = {k->pieces->hash, k->pieces->count, false};
        scatter(&s, 0, lg, next, to);
        drop_piece(k);
    }
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

/* Writes all pieces to the file as one run, and frees them. */
static tamis_status flush(struct tamis__keys *k) {
    if (k->file < 0 && (k->file = nameless_file(k->temporary)) < 0) return TAMIS_E_IO;
    struct run *run = tamis__alloc(&k->allocator, sizeof *run);
    if (run == NULL) return TAMIS_E_NOMEM;
    memset(run, 0, sizeof *run);
    count_all(k, RUN_LG, run->start);
    starts_from_counts(run->start, RUN_PARTS);
    const uint64_t count = run->start[RUN_PARTS], bytes = count * 8;

    uint64_t *grouped = tamis__table_alloc(&k->allocator, bytes);
    tamis_status status = grouped == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    if (status == TAMIS_OK) {
        uint64_t next[RUN_PARTS];
        memcpy(next, run->start, sizeof next);
        scatter_all(k, RUN_LG, next, grouped);
        if (!write_all(k->file, (const uint8_t *)grouped, (size_t)bytes, k->file_hashes * 8)) {
            status = TAMIS_E_IO;
        }
    }
    tamis__table_free(&k->allocator, grouped, bytes);
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
    struct piece *p = tamis__table_alloc(&k->allocator, bytes);
    if (p == NULL) return TAMIS_E_NOMEM;
    p->bytes = bytes;
    p->room = (bytes - sizeof *p) / 8;
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

tamis_status tamis__keys_seal(struct tamis__keys *k) {
    if (k->sealed) return TAMIS_OK;
    k->sealed = true;
    if (k->file >= 0) return flush(k);
    const unsigned lg = tamis__keys_lg_shards(k->count);
    if (lg == 0) return TAMIS_OK;

    const size_t shards = (size_t)1 << lg;
    k->shard_start_bytes = (shards + 1) * 8;
    k->shard_start = tamis__alloc(&k->allocator, k->shard_start_bytes);
    k->grouped_bytes = (size_t)k->count * 8;
    k->grouped = tamis__table_alloc(&k->allocator, k->grouped_bytes);
    uint64_t *next = tamis__alloc(&k->allocator, k->shard_start_bytes);
    tamis_status status = TAMIS_E_NOMEM;
    if (k->shard_start != NULL && k->grouped != NULL && next != NULL) {
        memset(k->shard_start, 0, k->shard_start_bytes);
        count_all(k, lg, k->shard_start);
        starts_from_counts(k->shard_start, shards);
        memcpy(next, k->shard_start, k->shard_start_bytes);
        scatter_all(k, lg, next, k->grouped);
        status = TAMIS_OK;
    }
    tamis__release(&k->allocator, next, k->shard_start_bytes);
    return status;
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
        if (part_of(hashes[i], 0, lg) == shard) hashes[kept++] = hashes[i];
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

/* ---- a shard: distinct hashes */

/* A set of hashes that grows; 0 marks a free place, so the hash 0 is kept aside. */
struct set {
    uint64_t *place;
    size_t places, used;
    bool has_zero;
    const tamis_allocator *allocator;
};

/* A product, because hashes of a bucket have their upper bits in common, those of a shard have
 * lost lower ones, and chosen ones may differ in any few. */
TAMIS_TEMPLATE size_t set_first(const struct set *s, uint64_t hash) {
    return (size_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (s->places - 1);
}

/* True if the hash is new.  The set has a free place. */
TAMIS_TEMPLATE bool set_add(struct set *s, uint64_t hash) {
    if (hash == 0) {
        const bool fresh = !s->has_zero;
        s->has_zero = true;
        return fresh;
    }
    size_t at = set_first(s, hash);
    while (s->place[at] != 0) {
        if (s->place[at] == hash) return false;
        at = (at + 1) & (s->places - 1);
    }
    s->place[at] = hash;
    s->used++;
    return true;
}

static bool set_resize(struct set *s, size_t places) {
    const struct set old = *s;
    s->place = tamis__table_alloc(s->allocator, places * 8);
    if (s->place == NULL) {
        *s = old;
        return false;
    }
    s->places = places;
    s->used = 0;
    for (size_t i = 0; i < old.places; i++) {
        if (old.place[i] != 0) set_add(s, old.place[i]);
    }
    tamis__table_free(s->allocator, old.place, old.places * 8);
    return true;
}

#define SET_PLACES ((size_t)4 * BUCKET_KEYS)

/* Empties it; one that had to grow for an unusual bucket starts small again. */
static bool set_clear(struct set *s) {
    s->has_zero = false;
    if (s->places > SET_PLACES) {
        tamis__table_free(s->allocator, s->place, s->places * 8);
        s->place = NULL;
        s->places = 0;
        return set_resize(s, SET_PLACES);
    }
    memset(s->place, 0, s->places * 8);
    s->used = 0;
    return true;
}

/* Keeps the first of equal hashes in g->hashes[from..to), moved down to `kept`; returns the
 * new end, or SIZE_MAX if there is no memory. */
static size_t keep_distinct(struct set *set, uint64_t *hashes, size_t from, size_t to,
                            size_t kept) {
    for (size_t i = from; i < to; i++) {
        if (set->used * 2 >= set->places && !set_resize(set, set->places * 4)) return SIZE_MAX;
        const uint64_t hash = hashes[i];
        hashes[kept] = hash;
        kept += set_add(set, hash);
    }
    return set_clear(set) ? kept : SIZE_MAX;
}

/* Drops repeats within each bucket and closes the gaps; bucket b ends at ends[b]. */
static tamis_status drop_repeats(struct tamis__group *g, const uint64_t *ends) {
    const size_t buckets = (size_t)1 << g->lg_buckets;
    struct set set = {.allocator = &g->allocator};
    size_t kept = 0, from = 0;
    if (!set_resize(&set, SET_PLACES)) return TAMIS_E_NOMEM;
    for (size_t b = 0; b < buckets && kept != SIZE_MAX; b++) {
        g->start[b] = kept;
        kept = keep_distinct(&set, g->hashes, from, (size_t)ends[b], kept);
        from = (size_t)ends[b];
    }
    tamis__table_free(&g->allocator, set.place, set.places * 8);
    if (kept == SIZE_MAX) return TAMIS_E_NOMEM;
    g->start[buckets] = kept;
    g->count = kept;
    return TAMIS_OK;
}

static unsigned lg_buckets_for(uint64_t count) {
    unsigned lg = 0;
    while (lg < BUCKETS_LG_MAX && count >> lg > BUCKET_KEYS) lg++;
    return lg;
}

/* The group's arrays for `count` hashes; `next` has room for the buckets and one more. */
static tamis_status group_alloc(struct tamis__group *g, uint64_t count, uint64_t **next) {
    g->lg_buckets = lg_buckets_for(count);
    g->start_bytes = (((size_t)1 << g->lg_buckets) + 1) * sizeof(size_t);
    if (!tamis__array_size(count, 8, &g->hashes_bytes)) return TAMIS_E_NOMEM;
    g->start = tamis__alloc(&g->allocator, g->start_bytes);
    g->hashes = tamis__table_alloc(&g->allocator, g->hashes_bytes);
    *next = tamis__alloc(&g->allocator, (((size_t)1 << g->lg_buckets) + 1) * 8);
    if (g->start == NULL || g->hashes == NULL || *next == NULL) return TAMIS_E_NOMEM;
    memset(*next, 0, (((size_t)1 << g->lg_buckets) + 1) * 8);
    return TAMIS_OK;
}

/* Groups one stretch, or (NULL) all pieces. */
static tamis_status group_from(struct tamis__keys *k, const struct stretch *s, unsigned skip,
                               struct tamis__group *g) {
    uint64_t *next = NULL;
    const uint64_t count = s == NULL ? k->count : s->count;
    tamis_status status = group_alloc(g, count, &next);
    if (status == TAMIS_OK) {
        const unsigned lg = g->lg_buckets;
        if (s == NULL) {
            count_all(k, lg, next);
            starts_from_counts(next, (size_t)1 << lg);
            scatter_all(k, lg, next, g->hashes);
        } else {
            count_parts(s, skip, lg, next);
            starts_from_counts(next, (size_t)1 << lg);
            scatter(s, skip, lg, next, g->hashes);
        }
        status = drop_repeats(g, next); /* next[b] is now the end of bucket b */
    }
    tamis__release(&g->allocator, next, (((size_t)1 << g->lg_buckets) + 1) * 8);
    if (status != TAMIS_OK) tamis__group_free(g);
    return status;
}

tamis_status tamis__keys_shard(struct tamis__keys *k, uint64_t shard, struct tamis__group *g) {
    const unsigned lg = tamis__keys_lg_shards(k->count);
    *g = (struct tamis__group){.allocator = k->allocator};
    if (k->file >= 0) {
        uint64_t *hashes;
        size_t count, bytes;
        tamis_status status = read_shard(k, shard, lg, &hashes, &count, &bytes);
        if (status != TAMIS_OK) return status;
        const struct stretch s = {hashes, count, false};
        status = group_from(k, &s, lg, g);
        tamis__table_free(&k->allocator, hashes, bytes);
        return status;
    }
    if (lg == 0) return group_from(k, NULL, 0, g);
    /* Sealing has shifted nothing out: scatter with skip 0 kept the whole hash. */
    const uint64_t from = k->shard_start[shard], to = k->shard_start[shard + 1];
    const struct stretch s = {k->grouped + from, (size_t)(to - from), false};
    return group_from(k, &s, lg, g);
}

void tamis__group_free(struct tamis__group *g) {
    tamis__table_free(&g->allocator, g->hashes, g->hashes_bytes);
    tamis__release(&g->allocator, g->start, g->start_bytes);
    g->hashes = NULL;
    g->start = NULL;
}

/* ---- sorting a group */

static int compare_hashes(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

#define SORT_LG 8
#define SORT_PARTS ((size_t)1 << SORT_LG)
#define SORT_FEW 32 /* hashes of a part that are sorted by insertion */

static void insertion_sort(uint64_t *hash, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const uint64_t x = hash[i];
        size_t at = i;
        for (; at > 0 && hash[at - 1] > x; at--) hash[at] = hash[at - 1];
        hash[at] = x;
    }
}

/* The hashes of a bucket agree in their first `skip` bits and are uniform after that, as a
 * rule; so the next 8 bits cut it into parts of a few hashes (10 ns a hash; qsort takes 60). */
static void sort_bucket(uint64_t *hash, size_t count, unsigned skip) {
    uint64_t copy[2 * BUCKET_KEYS], next[SORT_PARTS + 1] = {0};
    if (count > 2 * BUCKET_KEYS) {
        qsort(hash, count, sizeof *hash, compare_hashes);
        return;
    }
    const struct stretch s = {copy, count, false};
    memcpy(copy, hash, count * sizeof *hash);
    count_parts(&s, skip, SORT_LG, next);
    starts_from_counts(next, SORT_PARTS);
    for (size_t i = 0; i < count; i++) hash[next[part_of(copy[i], skip, SORT_LG)]++] = copy[i];
    for (size_t p = 0, from = 0; p < SORT_PARTS; from = (size_t)next[p++]) {
        const size_t few = (size_t)next[p] - from;
        if (few <= SORT_FEW) {
            insertion_sort(hash + from, few);
        } else {
            qsort(hash + from, few, sizeof *hash, compare_hashes);
        }
    }
}

void tamis__group_sort(struct tamis__group *g) {
    for (size_t b = 0; b < (size_t)1 << g->lg_buckets; b++) {
        sort_bucket(g->hashes + g->start[b], g->start[b + 1] - g->start[b], g->lg_buckets);
    }
}
