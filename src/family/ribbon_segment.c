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
 * Costs   about 20 xors per row.  Each depends on the one before, so four rows are processed at a
 *         time: 35 ns per key instead of 71 with one.  A row that meets a slot just taken by
 *         another continues from there: the steps of the rows may interleave in any way.
 *         Memory: 28 bytes per key for one segment per thread, 16 bytes for every bumped key. */
#include <string.h>

#include "core/cpu.h"
#include "family/ribbon.h"

/* The first threshold.  A lower one leaves fewer slots empty after a mark, but must be raised more
 * often: with 24 one segment in 28, and 0.01 % more slots stay empty. */
#define THRESHOLD 22
/* Buckets to mark before one that cannot be solved, until the threshold is raised instead. */
#define DEPTH 4

/* Rows that a bucket and the window after it can hold: more cannot be solved. */
#define CROWD (TAMIS__RIBBON_BUCKET + TAMIS__RIBBON_BLOCK)

/* A row during elimination.  Its first coefficient, always 1, is that of its slot.  The value
 * (upper half) and twice the slot (lower half) share a word, so that four rows fit into the
 * registers: with three fields per row, four rows took 55 ns per key. */
struct row {
    uint64_t coefficients;
    uint64_t value_and_place;
};

/* One segment while it is solved. */
struct segment {
    const struct tamis__ribbon_layer *layer;
    unsigned columns;
    size_t buckets;
    uint64_t *keys; /* hashes by bucket */
    size_t *first;  /* buckets + 1: where a bucket's keys begin */

    uint64_t *rows;   /* two words per slot: the row that took it, from there on; 0: free */
    uint32_t *placed; /* the slots taken so far (times two), in order, to undo */
    size_t placed_count;
    size_t *before; /* buckets: placed_count when the bucket was begun */
    uint8_t *marks; /* in the table, as is */
    uint8_t *threshold;

    uint8_t *block;
    size_t block_bytes;
};

/* ------------------------------------------------------------------------ elimination */

enum outcome { GOES_ON, ALL_DONE, CONTRADICTION };

/* Rows still to be inserted, and the log of the slots they take. */
struct queue {
    const struct row *next, *end;
    uint32_t *placed;
};

/* One step of a row.  When it has found a slot, or is zero, the next row takes its place. */
TAMIS_TEMPLATE enum outcome row_step(struct row *row, uint64_t *rows, struct queue *queue) {
    const uint32_t place = (uint32_t)row->value_and_place;
    uint64_t *taker = rows + place;
    row->coefficients ^= taker[0];
    if (TAMIS_UNLIKELY(row->coefficients & 1)) { /* the slot was free: nothing was xored */
        taker[0] = row->coefficients;
        taker[1] = row->value_and_place >> 32 << 32;
        *queue->placed++ = place;
    } else {
        row->value_and_place ^= taker[1];
        if (TAMIS_LIKELY(row->coefficients != 0)) {
            const uint64_t skip = tamis__ctz(row->coefficients);
            row->value_and_place += 2 * skip;
            row->coefficients >>= skip;
            return GOES_ON;
        }
        if (row->value_and_place >> 32 != 0) return CONTRADICTION;
    }
    if (queue->next == queue->end) return ALL_DONE;
    *row = *queue->next++;
    return GOES_ON;
}

#define LANES 4

/* Advances `lanes` rows in turns, until one of them is done and none is left to follow it; the
 * others are then way[0 .. lanes-2].  False on a contradiction. */
TAMIS_TEMPLATE bool rows_advance(struct row way[LANES], uint64_t *rows, struct queue *queue,
                                 unsigned lanes) {
    struct queue q = *queue; /* a copy, for the compiler to keep in registers */
    struct row a = way[0], b = way[1], c = way[2], d = way[3];
    enum outcome outcome;
    for (;;) {
        outcome = row_step(&a, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            a = lanes == 4 ? d : lanes == 3 ? c : b;
            break;
        }
        if (lanes < 2) continue;
        outcome = row_step(&b, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            b = lanes == 4 ? d : c;
            break;
        }
        if (lanes < 3) continue;
        outcome = row_step(&c, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) {
            c = d;
            break;
        }
        if (lanes < 4) continue;
        outcome = row_step(&d, rows, &q);
        if (TAMIS_UNLIKELY(outcome != GOES_ON)) break;
    }
    way[0] = a, way[1] = b, way[2] = c;
    *queue = q;
    return outcome == ALL_DONE;
}

/* Finds slots for rows; false if one contradicts those before or another of these. */
static bool rows_insert(struct segment *s, const struct row *rows, size_t count) {
    struct queue queue = {rows, rows + count, s->placed + s->placed_count};
    struct row way[LANES] = {{0, 0}};
    unsigned lanes = 0;
    while (lanes < LANES && queue.next < queue.end) way[lanes++] = *queue.next++;
    bool fits = true;
    if (lanes == 4) fits = rows_advance(way, s->rows, &queue, lanes--);
    if (lanes == 3 && fits) fits = rows_advance(way, s->rows, &queue, lanes--);
    if (lanes == 2 && fits) fits = rows_advance(way, s->rows, &queue, lanes--);
    if (lanes == 1 && fits) fits = rows_advance(way, s->rows, &queue, lanes);
    s->placed_count = (size_t)(queue.placed - s->placed);
    return fits;
}

/* ------------------------------------------------------------------------ a bucket */

TAMIS_TEMPLATE uint64_t segment_start(const struct segment *s, uint64_t hash) {
    return tamis__ribbon_start(hash << s->layer->lg_segments, s->layer->slots);
}

TAMIS_TEMPLATE bool is_low(const struct segment *s, uint64_t start) {
    return start % TAMIS__RIBBON_BUCKET < *s->threshold;
}

static bool is_marked(const struct segment *s, size_t bucket) {
    return s->marks[bucket / 8] >> (bucket % 8) & 1;
}

static void mark(struct segment *s, size_t bucket) {
    s->marks[bucket / 8] |= (uint8_t)(1u << (bucket % 8));
}

static void segment_undo(struct segment *s, size_t placed_count) {
    while (s->placed_count > placed_count) s->rows[s->placed[--s->placed_count]] = 0;
}

/* Computes the rows of a bucket: those that start past the threshold from the front of `rows`, the
 * low ones from its back.  `*high` is the number of the former.  False if there are too many. */
static bool bucket_rows(const struct segment *s, size_t bucket, struct row rows[CROWD],
                        size_t *high) {
    const size_t end = s->first[bucket + 1];
    size_t front = 0, back = CROWD;
    for (size_t i = s->first[bucket]; i < end; i++) {
        const uint64_t hash = s->keys[i], start = segment_start(s, hash);
        const uint64_t value = tamis__ribbon_fingerprint(hash, s->columns);
        const struct row row = {tamis__ribbon_coefficients(hash), value << 32 | 2 * start};
        const bool low = is_low(s, start);
        rows[low ? back - 1 : front] = row; /* a branch would be mispredicted */
        front += !low;
        back -= low;
        if (front == back) back = CROWD; /* more than CROWD, so marked: low ones are not needed */
        if (front == CROWD) return false;
    }
    *high = front;
    return true;
}

/* Inserts a bucket, marking it if necessary; false, with nothing changed but the mark, if that is
 * not enough. */
static bool bucket_solve(struct segment *s, size_t bucket) {
    struct row rows[CROWD];
    size_t high;
    const size_t count = s->first[bucket + 1] - s->first[bucket], before = s->placed_count;
    if (count >= CROWD) mark(s, bucket);
    if (!bucket_rows(s, bucket, rows, &high)) return false;
    if (!rows_insert(s, rows, high)) {
        segment_undo(s, before);
        return false;
    }
    if (is_marked(s, bucket)) return true;
    const size_t between = s->placed_count, low = count - high;
    if (!rows_insert(s, rows + CROWD - low, low)) {
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

/* Counts the keys of each bucket into first[bucket + 1], and returns their number. */
static size_t segment_count(struct segment *s, const struct tamis__group *group, uint64_t index) {
    size_t from, to, count = 0;
    segment_range(group, s->layer->lg_segments, index, &from, &to);
    for (size_t i = from; i < to; i++) {
        const uint64_t hash = group->hashes[i];
        if (tamis__ribbon_segment(s->layer, hash) != index) continue;
        s->first[segment_start(s, hash) / TAMIS__RIBBON_BUCKET + 1]++;
        count++;
    }
    return count;
}

/* Sorts the keys by bucket.  Uses before[] for the next position of each bucket. */
static void segment_sort(struct segment *s, const struct tamis__group *group, uint64_t index) {
    for (size_t b = 0; b < s->buckets; b++) {
        s->before[b] = s->first[b];
        s->first[b + 1] += s->first[b];
    }
    size_t from, to;
    segment_range(group, s->layer->lg_segments, index, &from, &to);
    for (size_t i = from; i < to; i++) {
        const uint64_t hash = group->hashes[i];
        if (tamis__ribbon_segment(s->layer, hash) != index) continue;
        s->keys[s->before[segment_start(s, hash) / TAMIS__RIBBON_BUCKET]++] = hash;
    }
}

/* Allocates all but the keys, whose number is not known yet. */
static tamis_status segment_alloc(struct segment *s, const tamis_allocator *a) {
    const uint64_t slots = s->layer->slots;
    s->buckets = (size_t)tamis__div_up(slots, TAMIS__RIBBON_BUCKET);
    const uint64_t words = 2 * slots + slots / 2; /* slots is even */
    const uint64_t sizes = 2 * (uint64_t)s->buckets + 1;
    if (!tamis__array_size(words + sizes, 8, &s->block_bytes)) return TAMIS_E_NOMEM;
    s->block = (uint8_t *)tamis__alloc(a, s->block_bytes);
    if (s->block == NULL) return TAMIS_E_NOMEM;
    memset(s->block, 0, s->block_bytes);
    s->rows = (uint64_t *)(void *)s->block;
    s->placed = (uint32_t *)(s->rows + 2 * slots);
    s->first = (size_t *)(void *)(s->rows + words);
    s->before = s->first + s->buckets + 1;
    return TAMIS_OK;
}

/* Writes the hashes in the next layer of the keys that were bumped to `hashes`, unless that is
 * NULL, and returns their number. */
static size_t segment_bumped(const struct segment *s, uint64_t *hashes) {
    size_t count = 0;
    for (size_t b = 0; b < s->buckets; b++) {
        if (!is_marked(s, b)) continue;
        for (size_t i = s->first[b]; i < s->first[b + 1]; i++) {
            if (!is_low(s, segment_start(s, s->keys[i]))) continue;
            if (hashes != NULL) hashes[count] = tamis__ribbon_rehash(s->keys[i]);
            count++;
        }
    }
    return count;
}

/* ------------------------------------------------------------------------ the solution */

/* Columns that are solved at a time: their last 64 bits stay in registers. */
#define ABREAST 4

/* Solves the slots of a block from the last to the first for ABREAST columns.  later[c] has
 * the solved bits of a column, that of the slot just after in its lowest bit. */
TAMIS_TEMPLATE void solve_block(const uint64_t *rows, unsigned column, uint64_t later[ABREAST]) {
    uint64_t z0 = later[0], z1 = later[1], z2 = later[2], z3 = later[3];
    for (unsigned i = TAMIS__RIBBON_BLOCK; i-- > 0;) {
        const uint64_t taken = rows[2 * i] & 1; /* free slots are 0 */
        const uint64_t others = rows[2 * i] >> 1;
        const uint64_t value = rows[2 * i + 1] >> (32 + column);
        z0 = z0 << 1 | (taken & (tamis__parity(z0 & others) ^ value));
        z1 = z1 << 1 | (taken & (tamis__parity(z1 & others) ^ value >> 1));
        z2 = z2 << 1 | (taken & (tamis__parity(z2 & others) ^ value >> 2));
        z3 = z3 << 1 | (taken & (tamis__parity(z3 & others) ^ value >> 3));
    }
    later[0] = z0;
    later[1] = z1;
    later[2] = z2;
    later[3] = z3;
}

/* Solves the segment from its last block to the first and writes the columns.  Columns are solved
 * in whole groups of ABREAST; those beyond the block's own are not written. */
TAMIS_TEMPLATE void segment_solve(const struct segment *s, uint64_t index, uint8_t *table) {
    const uint64_t blocks = s->layer->slots / TAMIS__RIBBON_BLOCK;
    uint64_t later[TAMIS__RIBBON_COLUMNS_MAX] = {0};
    for (uint64_t block = blocks; block-- > 0;) {
        const uint64_t slot = block * TAMIS__RIBBON_BLOCK, whole = index * blocks + block;
        for (unsigned c = 0; c < s->columns; c += ABREAST) {
            solve_block(s->rows + 2 * slot, c, later + c);
        }
        uint8_t *to = table + 8 * tamis__ribbon_word(s->layer, s->columns, whole);
        const unsigned columns = s->columns - (whole < s->layer->narrow_blocks);
        for (unsigned c = 0; c < columns; c++) tamis__store64(to + 8 * c, later[c]);
    }
}

#if defined(TAMIS_HAVE_AVX2)
/* With a popcount instruction: 6 ns per key and 8 columns instead of 14. */
TAMIS_TARGET_AVX2 static void segment_solve_popcnt(const struct segment *s, uint64_t index,
                                                   uint8_t *table) {
    segment_solve(s, index, table);
}
#endif

static void segment_write(const struct segment *s, uint64_t index, uint8_t *table) {
#if defined(TAMIS_HAVE_AVX2)
    if (tamis__cpu() & TAMIS__CPU_AVX2) {
        segment_solve_popcnt(s, index, table);
        return;
    }
#endif
    segment_solve(s, index, table);
}

/* ------------------------------------------------------------------------ the whole segment */

/* Solves a segment whose keys are sorted, and collects the keys that it bumps. */
static tamis_status segment_run(struct segment *s, const struct tamis__ribbon_job *job,
                                uint64_t index, struct tamis__stretch *bumped) {
    uint8_t *marks = job->table + tamis__ribbon_column_bytes(s->layer, s->columns);
    s->marks = marks + index * (s->buckets / 8);
    s->threshold = marks + tamis__ribbon_mark_bytes(s->layer) + index;
    segment_eliminate(s);
    segment_write(s, index, job->table);
    const size_t count = segment_bumped(s, NULL);
    uint64_t *hashes = tamis__alloc(job->allocator, count * sizeof *hashes);
    if (hashes == NULL) return TAMIS_E_NOMEM;
    segment_bumped(s, hashes);
    *bumped = (struct tamis__stretch){hashes, count, false};
    return TAMIS_OK;
}

tamis_status tamis__ribbon_solve_segment(const struct tamis__ribbon_job *job, uint64_t index,
                                         struct tamis__stretch *bumped) {
    struct segment s = {.layer = &job->layer, .columns = job->form.columns};
    tamis_status status = segment_alloc(&s, job->allocator);
    if (status != TAMIS_OK) return status;
    const size_t bytes = segment_count(&s, job->group, index) * sizeof *s.keys;
    s.keys = (uint64_t *)tamis__alloc(job->allocator, bytes);
    if (s.keys != NULL) {
        segment_sort(&s, job->group, index);
        status = segment_run(&s, job, index, bumped);
    } else {
        status = TAMIS_E_NOMEM;
    }
    tamis__release(job->allocator, s.keys, bytes);
    tamis__release(job->allocator, s.block, s.block_bytes);
    return status;
}
