/* keys_runs.c - see keys_runs.h */
#include "build/keys_runs.h"

#include <string.h>

#include "build/kept.h"
#include "core/io.h"
#include "core/parallel.h"

#define RUN_LG 10
#define RUN_PARTS ((size_t)1 << RUN_LG)

/* Part p is the hashes start[p] .. start[p+1), of `hashes` or, if that is NULL, of the file. */
struct tamis__run {
    struct tamis__run *next;
    uint64_t start[RUN_PARTS + 1];
    uint64_t *hashes;
};

/* Memory for several runs: together they are large enough for huge pages. */
struct tamis__slab {
    struct tamis__slab *next;
    uint64_t *hashes;
    size_t room, used; /* in hashes */
};

#define SLAB_BYTES ((size_t)4 << 20)

/* ---- creating and freeing */

tamis_status tamis__runs_open(struct tamis__runs *runs, const tamis_allocator *a, uint64_t limit,
                              const char *temporary) {
    *runs = (struct tamis__runs){.allocator = *a, .file = -1};
    tamis__pool_open(&runs->pool, 0);
    /* If memory is limited, no more than a run needs. */
    if (limit == 0 || limit >= 4 * SLAB_BYTES) runs->slab_min = SLAB_BYTES;
    if (limit == 0) return TAMIS_OK;
    runs->temporary_bytes = strlen(temporary) + 1;
    runs->temporary = tamis__alloc(a, runs->temporary_bytes);
    if (runs->temporary == NULL) return TAMIS_E_NOMEM;
    memcpy(runs->temporary, temporary, runs->temporary_bytes);
    return TAMIS_OK;
}

static void free_runs(const tamis_allocator *a, struct tamis__run *run) {
    while (run != NULL) {
        struct tamis__run *next = run->next;
        tamis__release(a, run, sizeof *run);
        run = next;
    }
}

static void free_slabs(const tamis_allocator *a, struct tamis__slab *slab) {
    while (slab != NULL) {
        struct tamis__slab *next = slab->next;
        tamis__table_free(a, slab->hashes, slab->room * 8);
        tamis__release(a, slab, sizeof *slab);
        slab = next;
    }
}

void tamis__runs_close(struct tamis__runs *runs) {
    const tamis_allocator *a = &runs->allocator;
    free_runs(a, runs->first);
    free_slabs(a, runs->slabs);
    free_slabs(a, runs->spare);
    tamis__pool_close(&runs->pool, a);
    tamis__close(runs->file);
    tamis__release(a, runs->temporary, runs->temporary_bytes);
    *runs = (struct tamis__runs){.allocator = *a, .file = -1};
}

/* ---- in memory */

static struct tamis__slab *take_spare(struct tamis__runs *runs) {
    struct tamis__slab *slab = runs->spare;
    if (slab != NULL) {
        runs->spare = slab->next;
        slab->next = NULL;
        slab->used = 0;
    }
    return slab;
}

/* A slab with room for `count` hashes, a spare one if there is one.  Spare slabs that are too small
 * come from the first runs, whose size does not recur. */
static struct tamis__slab *new_slab(struct tamis__runs *runs, size_t count) {
    struct tamis__slab *slab;
    while ((slab = take_spare(runs)) != NULL && slab->room < count) {
        free_slabs(&runs->allocator, slab);
    }
    if (slab != NULL) return slab;
    slab = tamis__alloc(&runs->allocator, sizeof *slab);
    if (slab == NULL) return NULL;
    *slab = (struct tamis__slab){.room = count};
    if (slab->room < runs->slab_min / 8) slab->room = runs->slab_min / 8;
    slab->hashes = tamis__table_alloc(&runs->allocator, (uint64_t)slab->room * 8);
    if (slab->hashes != NULL) return slab;
    tamis__release(&runs->allocator, slab, sizeof *slab);
    return NULL;
}

bool tamis__runs_give(struct tamis__runs *runs, void *table, size_t bytes) {
    struct tamis__slab *slab = NULL;
    if (bytes >= SLAB_BYTES) slab = tamis__alloc(&runs->allocator, sizeof *slab);
    if (slab == NULL) return false;
    *slab = (struct tamis__slab){.next = runs->spare, .hashes = table, .room = bytes / 8};
    runs->spare = slab;
    return true;
}

/* Room for `count` hashes; NULL if there is no memory. */
static uint64_t *take_room(struct tamis__runs *runs, size_t count) {
    struct tamis__slab *slab = runs->slabs;
    if (slab == NULL || slab->room - slab->used < count) {
        slab = new_slab(runs, count);
        if (slab == NULL) return NULL;
        slab->next = runs->slabs;
        runs->slabs = slab;
        runs->held_bytes += (uint64_t)slab->room * 8;
    }
    uint64_t *room = slab->hashes + slab->used;
    slab->used += count;
    return room;
}

struct tamis__run *tamis__runs_begin(struct tamis__runs *runs, size_t count) {
    struct tamis__run *run = tamis__alloc(&runs->allocator, sizeof *run);
    if (run == NULL) return NULL;
    run->hashes = take_room(runs, count);
    if (run->hashes != NULL) return run;
    tamis__release(&runs->allocator, run, sizeof *run);
    return NULL;
}

void tamis__run_fill(struct tamis__run *run, const uint64_t *hashes, size_t count) {
    const struct tamis__stretch s = {hashes, count, false};
    uint64_t next[RUN_PARTS + 1] = {0};
    tamis__stretch_count(&s, 0, RUN_LG, next);
    tamis__starts_from_counts(next, RUN_PARTS);
    memcpy(run->start, next, sizeof next);
    tamis__stretch_scatter(&s, 0, RUN_LG, 0, next, run->hashes);
}

/* The hashes of a part seen last, placed by their lowest bits. */
#define SEEN_LG 6
#define SEEN ((size_t)1 << SEEN_LG)

/* Copies a part and drops hashes seen shortly before.  Keys that repeat so often that a part grows
 * large are nearly all of it, so a few places suffice to recognize them. */
static size_t copy_without_repeats(const uint64_t *part, size_t count, uint64_t *to,
                                   uint64_t *dropped_sum) {
    uint64_t seen[SEEN];
    size_t kept = 0;
    for (size_t i = 0; i < SEEN; i++) seen[i] = i ^ 1; /* a hash that belongs to another place */
    for (size_t i = 0; i < count; i++) {
        uint64_t *const place = &seen[part[i] & (SEEN - 1)];
        if (*place == part[i]) {
            *dropped_sum += tamis__kept_term(part[i], 0);
        } else {
            to[kept++] = *place = part[i];
        }
    }
    return kept;
}

uint64_t tamis__run_drop_repeats(struct tamis__run *run, uint64_t *dropped_sum) {
    /* The standard deviation of a part is the root of its size, so chance does not double it. */
    const uint64_t all = run->start[RUN_PARTS], max = 2 * (all >> RUN_LG) + SEEN;
    uint64_t at = 0;
    *dropped_sum = 0;
    for (size_t p = 0; p < RUN_PARTS; p++) {
        const uint64_t from = run->start[p];
        size_t count = (size_t)(run->start[p + 1] - from);
        run->start[p] = at;
        if (count > max) {
            count = copy_without_repeats(run->hashes + from, count, run->hashes + at, dropped_sum);
        } else if (at != from) {
            memmove(run->hashes + at, run->hashes + from, count * 8);
        }
        at += count;
    }
    run->start[RUN_PARTS] = at;
    return all - at;
}

const uint64_t *tamis__run_hashes(const struct tamis__run *run, size_t *count) {
    *count = run->hashes == NULL ? 0 : (size_t)run->start[RUN_PARTS];
    return run->hashes;
}

const struct tamis__run *tamis__run_next(const struct tamis__run *run) { return run->next; }

void tamis__runs_append(struct tamis__runs *runs, struct tamis__run *run) {
    run->next = NULL;
    if (runs->last == NULL) {
        runs->first = run;
    } else {
        runs->last->next = run;
    }
    runs->last = run;
    runs->count++;
}

/* ---- in the file */

#define SPANS 256

/* Pieces of memory that are consecutive in the file. */
struct writer {
    int file;
    uint64_t at;
    struct tamis__span span[SPANS];
    size_t count;
};

static bool writer_flush(struct writer *w) {
    const bool written = tamis__write_spans(w->file, w->span, w->count, &w->at);
    w->count = 0;
    return written;
}

static bool writer_add(struct writer *w, const uint64_t *hashes, size_t count) {
    if (count == 0) return true;
    if (w->count == SPANS && !writer_flush(w)) return false;
    w->span[w->count++] = (struct tamis__span){(const uint8_t *)hashes, (uint64_t)count * 8};
    return true;
}

/* Appends the runs from `run` on to the file, merged, and records where the parts are. */
static bool write_merged(const struct tamis__runs *runs, const struct tamis__run *run,
                         uint64_t start[RUN_PARTS + 1]) {
    struct writer w = {.file = runs->file, .at = runs->file_hashes * 8};
    uint64_t at = runs->file_hashes;
    for (size_t p = 0; p < RUN_PARTS; p++) {
        start[p] = at;
        for (const struct tamis__run *r = run; r != NULL; r = r->next) {
            const size_t count = (size_t)(r->start[p + 1] - r->start[p]);
            if (!writer_add(&w, r->hashes + r->start[p], count)) return false;
            at += count;
        }
    }
    start[RUN_PARTS] = at;
    return writer_flush(&w);
}

/* Takes the runs in memory off the list: they come after those in the file. */
static struct tamis__run *detach_held(struct tamis__runs *runs) {
    struct tamis__run **at = &runs->first;
    runs->last = NULL;
    runs->count = 0;
    for (; *at != NULL && (*at)->hashes == NULL; at = &(*at)->next) {
        runs->last = *at;
        runs->count++;
    }
    struct tamis__run *held = *at;
    *at = NULL;
    return held;
}

/* Keeps their memory for reuse, or frees it. */
static void release_slabs(struct tamis__runs *runs, bool last) {
    struct tamis__slab **end = &runs->slabs;
    while (*end != NULL) end = &(*end)->next;
    *end = runs->spare;
    runs->spare = runs->slabs;
    runs->slabs = NULL;
    runs->held_bytes = 0;
    if (!last) return;
    free_slabs(&runs->allocator, runs->spare);
    runs->spare = NULL;
}

tamis_status tamis__runs_spill(struct tamis__runs *runs, bool last) {
    const tamis_allocator *a = &runs->allocator;
    if (runs->file < 0 && (runs->file = tamis__nameless_file(runs->temporary)) < 0)
        return TAMIS_E_IO;
    struct tamis__run *merged = tamis__alloc(a, sizeof *merged);
    if (merged == NULL) return TAMIS_E_NOMEM;
    const struct tamis__run *held = runs->first;
    while (held != NULL && held->hashes == NULL) held = held->next;
    if (!write_merged(runs, held, merged->start)) { /* the runs stay in memory: no hash is lost */
        tamis__release(a, merged, sizeof *merged);
        return TAMIS_E_IO;
    }
    free_runs(a, detach_held(runs));
    release_slabs(runs, last);
    merged->hashes = NULL;
    runs->file_hashes = merged->start[RUN_PARTS];
    tamis__runs_append(runs, merged);
    return TAMIS_OK;
}

/* ---- shards */

/* A shard is gathered in 2^lg_units units, each some parts of the runs and some buckets of the
 * group.  With more shards than parts, a part holds several of them: `mixed`. */
struct gather {
    const struct tamis__runs *runs;
    uint64_t shard;
    unsigned lg_shards, lg_units, lg_parts; /* units, and parts of a unit */
    bool mixed;
    struct tamis__stretch *stretch; /* of a unit, one for each run */
    uint64_t *copy, *next;          /* of a unit: hashes that must be copied; buckets */
    size_t copy_room, next_room;
};

/* The unit's stretch of a run, from its first part to its last. */
static size_t unit_of(const struct gather *t, const struct tamis__run *run, size_t unit,
                      uint64_t *from) {
    const size_t units = t->mixed ? (size_t)(t->shard >> (t->lg_shards - RUN_LG))
                                  : ((size_t)t->shard << t->lg_units) + unit;
    *from = run->start[units << t->lg_parts];
    return (size_t)(run->start[(units + 1) << t->lg_parts] - *from);
}

static bool is_copied(const struct gather *t, const struct tamis__run *run) {
    return run->hashes == NULL || t->mixed;
}

/* The hashes of a unit: all, or those that are copied. */
static size_t unit_count(const struct gather *t, size_t unit, bool all) {
    uint64_t from;
    size_t count = 0;
    for (const struct tamis__run *r = t->runs->first; r != NULL; r = r->next) {
        if (all || is_copied(t, r)) count += unit_of(t, r, unit, &from);
    }
    return count;
}

/* Keeps only the hashes of the shard. */
static size_t keep_shard(const struct gather *t, const uint64_t *hashes, size_t count,
                         uint64_t *to) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        to[kept] = hashes[i];
        kept += tamis__part_of(hashes[i], 0, t->lg_shards) == t->shard;
    }
    return kept;
}

/* Finds, or reads, the hashes of a unit. */
static bool gather_unit(const struct gather *t, size_t unit, size_t *count) {
    struct tamis__stretch *stretch = t->stretch;
    uint64_t *copy = t->copy, from;
    *count = 0;
    for (const struct tamis__run *r = t->runs->first; r != NULL; r = r->next, stretch++) {
        size_t n = unit_of(t, r, unit, &from);
        const uint64_t *hashes = r->hashes == NULL ? copy : r->hashes + from;
        if (r->hashes == NULL && !tamis__pread_all(t->runs->file, copy, n * 8, from * 8)) {
            return false;
        }
        if (t->mixed) {
            n = keep_shard(t, hashes, n, copy);
            hashes = copy;
        }
        if (is_copied(t, r)) copy += n;
        *stretch = (struct tamis__stretch){hashes, n, false};
        *count += n;
    }
    return true;
}

/* Memory for the largest of a thread's units. */
static tamis_status gather_open(struct gather *t, size_t from, size_t to, unsigned lg_buckets) {
    const tamis_allocator *a = &t->runs->allocator;
    for (size_t unit = from; unit < to; unit++) {
        const size_t count = unit_count(t, unit, false);
        if (count > t->copy_room) t->copy_room = count;
    }
    t->next_room = (size_t)1 << (lg_buckets - t->lg_units);
    t->stretch = tamis__alloc(a, t->runs->count * sizeof *t->stretch);
    t->copy = tamis__alloc(a, t->copy_room * 8);
    t->next = tamis__alloc(a, t->next_room * 8);
    const bool ready = t->stretch != NULL && t->copy != NULL && t->next != NULL;
    return ready ? TAMIS_OK : TAMIS_E_NOMEM;
}

static void gather_close(const struct gather *t) {
    const tamis_allocator *a = &t->runs->allocator;
    tamis__release(a, t->stretch, t->runs->count * sizeof *t->stretch);
    tamis__release(a, t->copy, t->copy_room * 8);
    tamis__release(a, t->next, t->next_room * 8);
}

static void fill_unit(const struct gather *t, struct tamis__group *g, size_t unit) {
    tamis__group_fill(g, t->stretch, t->runs->count, t->lg_shards, unit, t->lg_units, t->next);
}

/* The shard is a fraction of a part: its size is known after selecting its hashes. */
static tamis_status gather_mixed(struct gather *t, struct tamis__group *g) {
    size_t count = unit_count(t, 0, true);
    tamis_status status = gather_open(t, 0, 1, tamis__group_lg_buckets(count));
    if (status == TAMIS_OK && !gather_unit(t, 0, &count)) status = TAMIS_E_IO;
    if (status == TAMIS_OK) status = tamis__group_open(g, count);
    if (status == TAMIS_OK) fill_unit(t, g, 0);
    gather_close(t);
    return status;
}

/* Threads have some units each. */
struct unit_shares {
    const struct gather *gather;
    struct tamis__group *group;
    unsigned count;
};

static tamis_status gather_share(void *context, uint64_t i) {
    const struct unit_shares *s = (const struct unit_shares *)context;
    struct gather t = *s->gather;
    const size_t units = (size_t)1 << t.lg_units;
    const size_t from = units * (size_t)i / s->count, to = units * (size_t)(i + 1) / s->count;
    tamis_status status = gather_open(&t, from, to, s->group->lg_buckets);
    for (size_t unit = from, count; unit < to && status == TAMIS_OK; unit++) {
        if (!gather_unit(&t, unit, &count)) status = TAMIS_E_IO;
        if (status == TAMIS_OK) fill_unit(&t, s->group, unit);
    }
    gather_close(&t);
    return status;
}

static tamis_status gather_all(struct gather *t, unsigned threads, struct tamis__group *g) {
    /* One unit for the whole shard. */
    const size_t count = unit_count(t, 0, true);
    const unsigned lg_buckets = tamis__group_lg_buckets(count);
    t->lg_units = lg_buckets < t->lg_parts ? lg_buckets : t->lg_parts;
    t->lg_parts -= t->lg_units;
    const tamis_status status = tamis__group_open(g, count);
    if (status != TAMIS_OK) return status;
    const unsigned lg = lg_buckets - t->lg_units;
    for (size_t unit = 1; unit < (size_t)1 << t->lg_units; unit++) {
        g->start[unit << lg] = g->start[(unit - 1) << lg] + unit_count(t, unit - 1, true);
    }
    struct unit_shares s = {t, g, threads < 1 ? 1 : threads};
    return tamis__parallel(s.count, s.count, gather_share, &s);
}

static struct gather gather_of(struct tamis__runs *runs, uint64_t shard) {
    struct gather t = {.runs = runs, .shard = shard, .lg_shards = runs->lg_shards};
    t.mixed = t.lg_shards > RUN_LG;
    t.lg_parts = t.mixed ? 0 : RUN_LG - t.lg_shards;
    return t;
}

void tamis__runs_seal(struct tamis__runs *runs, unsigned lg_shards) {
    size_t max = 0;
    runs->lg_shards = lg_shards;
    for (uint64_t shard = 0; lg_shards <= RUN_LG && shard >> lg_shards == 0; shard++) {
        const struct gather t = gather_of(runs, shard);
        const size_t count = unit_count(&t, 0, true);
        if (count > max) max = count;
    }
    tamis__pool_open(&runs->pool, max);
}

tamis_status tamis__runs_shard(struct tamis__runs *runs, uint64_t shard, unsigned threads,
                               struct tamis__group *g) {
    struct gather t = gather_of(runs, shard);
    if (!t.mixed) g->pool = &runs->pool; /* otherwise its size is not known in advance */
    const tamis_status status = t.mixed ? gather_mixed(&t, g) : gather_all(&t, threads, g);
    if (status != TAMIS_OK) tamis__group_free(g);
    return status;
}
