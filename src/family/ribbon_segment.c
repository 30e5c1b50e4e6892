/* ribbon_segment.c - solving the equations of a segment, and bumping those that do not fit
 *
 * Every key is a row of the system: 64 coefficients from its start on.  Rows come in order of
 * their start, so elimination works within a window of 64 slots that moves to the right.  The
 * rows of a bucket that find no slot in it spill into the slots beyond, at most 64 of them.  A
 * layer has about 6 % fewer slots than keys, so rows nearly always spill, and few slots stay
 * empty; but the spill overflows every few buckets.  Then the bucket is marked, and the keys at
 * its beginning (whose slots the spilled rows can take) are bumped to the next layer.
 *
 *     bucket:   |<- threshold ->|<------------- the other starts ------------->|
 *     marked:     bumped          solved
 *
 *   for each bucket, from left to right
 *     insert the rows that start past the threshold; if one contradicts those before, undo,
 *         mark the nearest bucket before this one that is not yet marked, and go back there
 *     insert the rows that start before the threshold; if one contradicts, undo these, and
 *         mark the bucket
 *
 * Going back is rare (one bucket in 80) but it pays: with it one bit per bucket and a low
 * threshold are enough, and 0.05 % of the slots stay empty.  Two bits and three thresholds per
 * bucket without going back leave 0.14 % empty and take twice the marks.  If DEPTH buckets before
 * are marked already, the bucket itself is overloaded, and the segment restarts with a higher
 * threshold (one segment in 10).  A threshold of the whole bucket bumps every key that does not
 * fit, so the algorithm terminates for any set, even if all keys fall into a single bucket.
 *
 * The result depends on the set of keys, not on their order: whether the rows of a bucket fit with
 * those before is a property of both sets, and so are the set of slots taken and the solution in
 * which the others are 0 (see linear.c).
 *
 * Costs   about 20 xors per row: ribbon_rows.c, and ribbon_rows_kernel.h with vectors.  Those take
 *         rows in order of their starts, so keys are sorted by start, not by bucket.
 *         Memory: 32 bytes per key for one segment per thread, 16 bytes for every bumped key. */
#include <string.h>

#include "core/cpu.h"
#include "family/ribbon.h"
#include "family/ribbon_rows.h"

/* The first threshold.  A lower one leaves fewer slots empty after a mark, but must be raised more
 * often: with 24 one segment in 28, and 0.01 % more slots stay empty. */
#define THRESHOLD 22
/* Buckets to mark before one that cannot be solved, until the threshold is raised instead. */
#define DEPTH 4

/* Rows that a bucket and the window after it can hold: more cannot be solved. */
#define CROWD (TAMIS__RIBBON_BUCKET + TAMIS__RIBBON_BLOCK)

/* One segment while it is solved. */
struct segment {
    const struct tamis__ribbon_layer *layer;
    unsigned columns;
    const struct tamis__ribbon_solver *solver;
    size_t buckets;
    uint64_t *keys; /* hashes by start */
    uint32_t *next; /* slots: where the keys of the next start begin */

    uint64_t *rows;   /* two words per slot: the row that took it, from there on; 0: free */
    uint32_t *placed; /* the slots taken so far (times two), in order, to undo */
    size_t placed_count;
    size_t *before; /* buckets: placed_count when the bucket was begun */
    uint8_t *marks; /* in the table, as is */
    uint8_t *threshold;

    uint8_t *block;
    size_t block_bytes;
};

/* ------------------------------------------------------------------------ a bucket */

TAMIS_TEMPLATE uint64_t segment_start(const struct segment *s, uint64_t hash) {
    return tamis__ribbon_start(hash << s->layer->lg_segments, s->layer->slots);
}

/* The keys that start before a slot. */
static size_t keys_before(const struct segment *s, size_t slot) {
    if (slot == 0) return 0;
    return s->next[slot < s->layer->slots ? slot - 1 : s->layer->slots - 1];
}

static bool is_marked(const struct segment *s, size_t bucket) {
    return s->marks[bucket / 8] >> (bucket % 8) & 1;
}

static void mark(struct segment *s, size_t bucket) {
    s->marks[bucket / 8] |= (uint8_t)(1u << (bucket % 8));
}

/* Finds slots for rows; false if one contradicts those before or another of these. */
static bool rows_insert(struct segment *s, const struct tamis__ribbon_row *rows, size_t count) {
    uint32_t *placed = s->placed + s->placed_count;
    const bool fits = s->solver->insert(s->rows, rows, count, &placed);
    s->placed_count = (size_t)(placed - s->placed);
    return fits;
}

static void segment_undo(struct segment *s, size_t placed_count) {
    while (s->placed_count > placed_count) s->rows[s->placed[--s->placed_count]] = 0;
}

/* The rows of the keys from..to. */
static void make_rows(const struct segment *s, size_t from, size_t to,
                      struct tamis__ribbon_row *rows) {
    for (size_t i = from; i < to; i++) {
        const uint64_t hash = s->keys[i], start = segment_start(s, hash);
        const uint64_t value = tamis__ribbon_fingerprint(hash, s->columns);
        *rows++ =
            (struct tamis__ribbon_row){tamis__ribbon_coefficients(hash), value << 32 | 2 * start};
    }
}

/* Inserts a bucket, marking it if necessary; false, with nothing changed but the mark, if that is
 * not enough. */
static bool bucket_solve(struct segment *s, size_t bucket) {
    struct tamis__ribbon_row rows[CROWD];
    const size_t first = bucket * TAMIS__RIBBON_BUCKET, before = s->placed_count;
    const size_t from = keys_before(s, first), high = keys_before(s, first + *s->threshold);
    const size_t end = keys_before(s, first + TAMIS__RIBBON_BUCKET);
    if (end - from >= CROWD) mark(s, bucket);
    if (end - high >= CROWD) return false;
    make_rows(s, high, end, rows);
    if (!rows_insert(s, rows, end - high)) {
        segment_undo(s, before);
        return false;
    }
    if (is_marked(s, bucket)) return true;
    const size_t between = s->placed_count;
    make_rows(s, from, high, rows);
    if (!rows_insert(s, rows, high - from)) {
        segment_undo(s, between);
        mark(s, bucket);
    }
    return true;
}

/* ------------------------------------------------------------------------ a segment */

static void segment_raise(struct segment *s) {
    const unsigned raised = *s->threshold + *s->threshold / 2;
    *s->threshold = (uint8_t)(raised < TAMIS__RIBBON_BUCKET ? raised : TAMIS__RIBBON_BUCKET);
    memset(s->marks, 0, (size_t)tamis__div_up(s->buckets, 8));
}

/* Marks a bucket before one that cannot be solved, or raises the threshold, and returns the bucket
 * to continue from.  A mark removes rows, so the buckets solved before stay solvable. */
static size_t segment_go_back(struct segment *s, size_t bucket) {
    size_t back = bucket;
    while (back > 0 && is_marked(s, back - 1)) back--;
    if (back == 0 || bucket - back >= DEPTH) {
        segment_raise(s);
        return 0;
    }
    mark(s, back - 1);
    return back - 1;
}

static void segment_eliminate(struct segment *s) {
    *s->threshold = THRESHOLD;
    for (size_t bucket = 0; bucket < s->buckets;) {
        s->before[bucket] = s->placed_count;
        if (bucket_solve(s, bucket)) {
            bucket++;
        } else {
            bucket = segment_go_back(s, bucket);
            segment_undo(s, s->before[bucket]);
        }
    }
}

/* The range of the group that contains the hashes of a segment, and only those if the group has at
 * least as many parts as the layer has segments. */
static void segment_range(const struct tamis__group *group, unsigned lg_segments, uint64_t index,
                          size_t *from, size_t *to) {
    const unsigned lg = group->lg_buckets;
    if (lg >= lg_segments) {
        *from = group->start[index << (lg - lg_segments)];
        *to = group->start[(index + 1) << (lg - lg_segments)];
    } else {
        *from = group->start[index >> (lg_segments - lg)];
        *to = group->start[(index >> (lg_segments - lg)) + 1];
    }
}

/* Sorts hashes, whose starts are low..high, to keys[at] and so on; returns the next position.
 * `mixed`: those of other segments are among them. */
TAMIS_TEMPLATE size_t sort_part(struct segment *s, const uint64_t *hashes, size_t count,
                                uint64_t index, bool mixed, uint64_t low, uint64_t high,
                                size_t at) {
    uint32_t *next = s->next;
    for (size_t i = 0; i < count; i++) {
        if (mixed && tamis__ribbon_segment(s->layer, hashes[i]) != index) continue;
        next[segment_start(s, hashes[i]) + 1]++;
    }
    next[low] = (uint32_t)at; /* the part before may have had this start, too */
    for (uint64_t start = low; start < high; start++) next[start + 1] += next[start];
    at = next[high] + next[high + 1];
    next[high + 1] = 0;
    for (size_t i = 0; i < count; i++) {
        if (mixed && tamis__ribbon_segment(s->layer, hashes[i]) != index) continue;
        s->keys[next[segment_start(s, hashes[i])]++] = hashes[i];
    }
    return at;
}

/* Sorts the keys by their start.  Starts grow with the hash, so the buckets of the group are sorted
 * one by one, each within the L1 cache. */
static void segment_sort(struct segment *s, const struct tamis__group *group, uint64_t index) {
    const unsigned lg_segments = s->layer->lg_segments;
    const uint64_t last = segment_start(s, UINT64_MAX);
    size_t from, to, at = 0;
    segment_range(group, lg_segments, index, &from, &to);
    if (group->lg_buckets <= lg_segments) {
        at = sort_part(s, group->hashes + from, to - from, index, true, 0, last, at);
    } else {
        const unsigned lg = group->lg_buckets - lg_segments;
        const size_t *start = group->start + (index << lg);
        for (uint64_t part = 0; part >> lg == 0; part++) {
            const uint64_t low = part << (64 - lg), high = low | UINT64_MAX >> lg;
            at = sort_part(s, group->hashes + start[part], start[part + 1] - start[part], index,
                           false, tamis__ribbon_start(low, s->layer->slots),
                           tamis__ribbon_start(high, s->layer->slots), at);
        }
    }
    for (uint64_t slot = last + 1; slot < s->layer->slots; slot++) s->next[slot] = (uint32_t)at;
}

/* Allocates all but the keys, whose number is not known yet. */
static tamis_status segment_alloc(struct segment *s, const tamis_allocator *a) {
    const uint64_t slots = s->layer->slots;
    s->buckets = (size_t)tamis__div_up(slots, TAMIS__RIBBON_BUCKET);
    const uint64_t table = 2 * (slots + TAMIS__RIBBON_STRIDE), words = table + slots;
    if (!tamis__array_size(words + s->buckets, 8, &s->block_bytes)) return TAMIS_E_NOMEM;
    s->block = (uint8_t *)tamis__alloc(a, s->block_bytes);
    if (s->block == NULL) return TAMIS_E_NOMEM;
    memset(s->block, 0, s->block_bytes);
    s->rows = (uint64_t *)(void *)s->block;
    s->placed = (uint32_t *)(s->rows + table);
    s->next = s->placed + slots;
    s->before = (size_t *)(void *)(s->rows + words);
    return TAMIS_OK;
}

/* Writes the hashes in the next layer of the keys that were bumped to `hashes`, unless that is
 * NULL, and returns their number. */
static size_t segment_bumped(const struct segment *s, uint64_t *hashes) {
    size_t count = 0;
    for (size_t b = 0; b < s->buckets; b++) {
        if (!is_marked(s, b)) continue;
        const size_t first = b * TAMIS__RIBBON_BUCKET;
        const size_t end = keys_before(s, first + *s->threshold);
        for (size_t i = keys_before(s, first); i < end; i++) {
            if (hashes != NULL) hashes[count] = tamis__ribbon_rehash(s->keys[i]);
            count++;
        }
    }
    return count;
}

/* ------------------------------------------------------------------------ the solution */

/* Solves the segment from its last block to the first and writes the columns.  Those beyond the
 * block's own are not written. */
static void segment_solve(const struct segment *s, uint64_t index, uint8_t *table) {
    const uint64_t blocks = s->layer->slots / TAMIS__RIBBON_BLOCK;
    uint64_t words[TAMIS__RIBBON_COLUMNS_MAX] = {0};
    for (uint64_t block = blocks; block-- > 0;) {
        const uint64_t slot = block * TAMIS__RIBBON_BLOCK, whole = index * blocks + block;
        s->solver->solve_block(s->rows + 2 * slot, s->columns, words);
        uint8_t *to = table + 8 * tamis__ribbon_word(s->layer, s->columns, whole);
        const unsigned columns = s->columns - (whole < s->layer->narrow_blocks);
        for (unsigned c = 0; c < columns; c++) tamis__store64(to + 8 * c, words[c]);
    }
}

static const struct tamis__ribbon_solver *solver_for(uint32_t cpu) {
#if defined(TAMIS_HAVE_AVX512)
    if (cpu & TAMIS__CPU_AVX512) return &tamis__ribbon_solver_avx512;
#endif
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return &tamis__ribbon_solver_avx2;
#endif
    (void)cpu;
    return &tamis__ribbon_solver_portable;
}

/* ------------------------------------------------------------------------ the whole segment */

/* Solves a segment whose keys are sorted, and collects the keys that it bumps. */
static tamis_status segment_run(struct segment *s, const struct tamis__ribbon_job *job,
                                uint64_t index, struct tamis__stretch *bumped) {
    uint8_t *marks = job->table + tamis__ribbon_column_bytes(s->layer, s->columns);
    s->marks = marks + index * (s->buckets / 8);
    s->threshold = marks + tamis__ribbon_mark_bytes(s->layer) + index;
    segment_eliminate(s);
    segment_solve(s, index, job->table);
    const size_t count = segment_bumped(s, NULL);
    uint64_t *hashes = tamis__alloc(job->allocator, count * sizeof *hashes);
    if (hashes == NULL) return TAMIS_E_NOMEM;
    segment_bumped(s, hashes);
    *bumped = (struct tamis__stretch){hashes, count, false};
    return TAMIS_OK;
}

tamis_status tamis__ribbon_solve_segment(const struct tamis__ribbon_job *job, uint64_t index,
                                         struct tamis__stretch *bumped) {
    struct segment s = {
        .layer = &job->layer, .columns = job->form.columns, .solver = solver_for(tamis__cpu())};
    tamis_status status = segment_alloc(&s, job->allocator);
    if (status != TAMIS_OK) return status;
    size_t from, to;
    segment_range(job->group, job->layer.lg_segments, index, &from, &to);
    const size_t count = to - from, bytes = count * sizeof *s.keys;
    s.keys = (uint64_t *)tamis__alloc(job->allocator, bytes);
    if (count > UINT32_MAX) {
        status = TAMIS_E_TOO_BIG; /* not covered: 32 GB of keys whose hashes are chosen */
    } else if (s.keys != NULL) {
        segment_sort(&s, job->group, index);
        status = segment_run(&s, job, index, bumped);
    } else {
        status = TAMIS_E_NOMEM;
    }
    tamis__release(job->allocator, s.keys, bytes);
    tamis__release(job->allocator, s.block, s.block_bytes);
    return status;
}
