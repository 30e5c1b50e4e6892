/* fuse_peel.c - peeling a large fuse array in two sweeps
 *
 * The slots of a key lie in three or four consecutive segments, and the hashes come grouped in
 * buckets in the order of their first slots.  So the words of the slots (peel.h) need not all
 * exist at once.  A sweep goes through the buckets from one end of the array:
 *
 *          peeled         being peeled     being counted      not yet touched
 *     .................|................|.................|......................
 *                   final -->        bucket -->        reach -->
 *
 * It clears the words up to the bucket's reach, adds the bucket's keys, and peels the slots
 * that no later key can have.  The end of the array, where fewer keys meet, starts the
 * peeling, and it follows the buckets through to the middle.  Words live in a ring, of which
 * the part in use fits in the second-level cache; a word that is not empty when its place is
 * needed again means that the peeling has stopped and the attempt has failed.
 *
 * A second sweep comes from the other end.  There a key's first slot is its last one to be
 * reached, so slots are mirrored (slot p is treated as slots - 1 - p) and become final K
 * segments behind the bucket.  The two touch no word in common: the left one adds the lower
 * half of the buckets, the right one the upper half, each into its own ring, and each peels
 * only slots that the other's keys cannot have.  What is left in the two rings is then merged
 * (counts add, numbers xor) and peeled in one piece.
 *
 *     0            split           split + K segments            slots
 *     |--- left ---->|<--- middle --->|<----------- right ---------|
 *
 * There are always two sweeps, on one thread or on two, so the order is the same.  Likewise
 * the assignment: the middle first, which both sides read, then both sides.
 *
 * Costs   4 bytes a key for the order, besides the hashes; 16 bytes a place of the ring for two
 *         rings and queues: 2 MiB, or 4 MiB with segments of 2^13; and the middle. */
#include "build/fuse_peel.h"

#include <string.h>

#include "core/parallel.h"

/* Segments that fit in the ring besides a bucket.  The peeling follows the bucket by K
 * segments, and lags further behind where keys happen to be dense: with half of this one attempt
 * in twenty failed (four slots, 10^6 keys); twice as much fails no less often. */
#define RING_SEGMENTS 28

/* Slots that are searched for count 1 before the queue is worked off: few enough that they
 * are still in the nearest cache. */
#define CHUNK 4096

struct sweep {
    uint32_t *ring, *queue;
    uint64_t done;   /* slots below this no longer wait */
    uint64_t opened; /* slots below this have had a place in the ring */
    size_t peeled;
    bool failed, crowded;
};

struct job {
    enum tamis__graph graph;
    struct tamis__geometry geometry;
    uint64_t slots;
    const struct tamis__group *group;
    struct tamis__order *order;
    size_t split; /* the first bucket of the right sweep */
    uint32_t ring_mask;
    struct sweep side[2];
};

/* First slots of the keys of bucket b are from edge(b) to edge(b + 1), both included. */
static uint64_t edge(const struct tamis__geometry *g, const struct tamis__group *group,
                     size_t bucket) {
    const unsigned lg = group->lg_buckets;
    if (bucket >> lg != 0) return g->range;
    return bucket == 0 ? 0 : tamis__range((uint64_t)bucket << (64 - lg), g->range);
}

/* The end of the segments that keys with this first slot reach. */
static uint64_t reach(enum tamis__graph graph, const struct tamis__geometry *g, uint64_t first) {
    const uint64_t end = (first & ~(g->segment - 1)) + tamis__arity(graph) * g->segment;
    const uint64_t slots = tamis__geometry_slots(graph, g);
    return end < slots ? end : slots;
}

/* The state of a sweep after it has added bucket b: how far its keys reach, and which slots no
 * later key of either side can have.  In mirrored slots if it comes from the right. */
static void horizon(const struct job *job, bool mirrored, size_t bucket, uint64_t *reached,
                    uint64_t *final) {
    if (mirrored) {
        const uint64_t low = edge(&job->geometry, job->group, bucket);
        *reached = job->slots - low;
        *final = job->slots - reach(job->graph, &job->geometry, low);
    } else {
        const uint64_t high = edge(&job->geometry, job->group, bucket + 1);
        *reached = reach(job->graph, &job->geometry, high);
        *final = high;
    }
}

/* ---- a sweep */

/* Gives the slots up to `end` their places. */
static void open_to(struct sweep *s, uint32_t mask, uint64_t end) {
    uint32_t stale = 0;
    while (s->opened < end) {
        const uint64_t at = s->opened & mask, rest = (uint64_t)mask + 1 - at;
        const uint64_t count = end - s->opened < rest ? end - s->opened : rest;
        uint32_t *words = s->ring + at;
        for (uint64_t i = 0; i < count; i++) {
            stale |= words[i] ^ TAMIS__PEEL_EMPTY;
            words[i] = TAMIS__PEEL_EMPTY ^ TAMIS__PEEL_WAITING;
        }
        s->opened += count;
    }
    if (stale != 0) s->failed = true;
}

TAMIS_TEMPLATE void add_bucket(const struct job *job, enum tamis__graph graph, bool mirrored,
                               size_t bucket, struct sweep *s) {
    const struct tamis__geometry geometry = job->geometry;
    const uint32_t mask = job->ring_mask, flip = mirrored ? (uint32_t)job->slots - 1 : 0;
    const uint64_t *hashes = job->group->hashes;
    uint32_t *ring = s->ring, seen = 0;
    const size_t end = job->group->start[bucket + 1];
    for (size_t i = job->group->start[bucket]; i < end; i++) {
        const struct tamis__key_slots p = tamis__key_slots_of(graph, &geometry, hashes[i]);
        TAMIS_UNROLL
        for (unsigned j = 0; j < tamis__arity(graph); j++) {
            uint32_t *word = &ring[(mirrored ? flip - p.at[j] : p.at[j]) & mask];
            *word = tamis__peel_add(*word, tamis__peel_entry((uint32_t)i, j));
            seen |= *word;
        }
    }
    if (tamis__peel_crowded(seen)) s->failed = s->crowded = true;
}

/* Peels the slots [from, to) and what follows from them among the earlier ones: a chunk.  No
 * slot enters the queue twice, so it cannot outgrow the ring. */
TAMIS_TEMPLATE void peel_chunk(const struct job *job, enum tamis__graph graph, bool mirrored,
                               uint32_t from, uint32_t to, struct sweep *s) {
    const struct tamis__geometry geometry = job->geometry;
    const uint64_t *hashes = job->group->hashes;
    const uint32_t mask = job->ring_mask, flip = mirrored ? (uint32_t)job->slots - 1 : 0;
    uint32_t *ring = s->ring, *queue = s->queue, *entries = job->order->entries;
    const size_t last = job->order->room - 1;
    size_t head = 0, tail = 0, peeled = s->peeled;
    for (uint32_t slot = from; slot < to; slot++) {
        const uint32_t at = slot & mask, word = ring[at] ^ TAMIS__PEEL_WAITING;
        ring[at] = word;
        queue[tail] = at;
        tail += tamis__peel_single(word);
    }
    while (head < tail) {
        tamis__peel_prefetch(hashes, ring[queue[head + TAMIS__PEEL_AHEAD]]);
        const uint32_t entry = ring[queue[head++]];
        if (!tamis__peel_single(entry)) continue; /* its key was peeled through another slot */
        const uint32_t number = tamis__peel_number(entry);
        const struct tamis__key_slots p = tamis__key_slots_of(graph, &geometry, hashes[number]);
        entries[mirrored ? last - peeled : peeled] = entry;
        peeled++;
        TAMIS_UNROLL
        for (unsigned j = 0; j < tamis__arity(graph); j++) {
            const uint32_t at = (mirrored ? flip - p.at[j] : p.at[j]) & mask;
            const uint32_t left = tamis__peel_take(ring[at], tamis__peel_entry(number, j));
            ring[at] = left;
            queue[tail] = at;
            tail += tamis__peel_single(left);
        }
    }
    s->peeled = peeled;
}

TAMIS_TEMPLATE void run_sweep(const struct job *job, enum tamis__graph graph, bool mirrored,
                              struct sweep *s) {
    const size_t buckets = (size_t)1 << job->group->lg_buckets;
    const size_t first = mirrored ? job->split : 0, end = mirrored ? buckets : job->split;
    for (size_t i = 0; i < end - first && !s->failed; i++) {
        const size_t bucket = mirrored ? end - 1 - i : first + i;
        uint64_t reached, final;
        horizon(job, mirrored, bucket, &reached, &final);
        open_to(s, job->ring_mask, reached);
        add_bucket(job, graph, mirrored, bucket, s);
        while (s->done < final && !s->failed) {
            const uint64_t next = final - s->done < CHUNK ? final : s->done + CHUNK;
            peel_chunk(job, graph, mirrored, (uint32_t)s->done, (uint32_t)next, s);
            s->done = next;
        }
    }
}

static tamis_status sweep_job(void *context, uint64_t i) {
    struct job *job = (struct job *)context;
    struct sweep *s = &job->side[i];
    const bool three = job->graph == TAMIS__FUSE3, mirrored = i != 0;
    if (three && !mirrored) run_sweep(job, TAMIS__FUSE3, false, s);
    if (three && mirrored) run_sweep(job, TAMIS__FUSE3, true, s);
    if (!three && !mirrored) run_sweep(job, TAMIS__FUSE4, false, s);
    if (!three && mirrored) run_sweep(job, TAMIS__FUSE4, true, s);
    return TAMIS_OK;
}

/* ---- the middle */

/* Slots whose place in the ring is reused; all of them are peeled. */
static uint64_t forgotten(const struct job *job, const struct sweep *s) {
    const uint64_t places = (uint64_t)job->ring_mask + 1;
    return s->opened > places ? s->opened - places : 0;
}

/* The word that a sweep has left for a slot, in its own coordinates. */
static uint32_t word_left(const struct sweep *s, uint32_t mask, uint64_t slot) {
    if (slot >= s->opened) return TAMIS__PEEL_EMPTY;
    return s->ring[slot & mask] ^ (slot < s->done ? 0 : TAMIS__PEEL_WAITING);
}

/* The words of both sweeps for a slot, merged: counts (less one) add, entries xor. */
static uint32_t merged(const struct job *job, uint64_t slot) {
    const uint32_t counts = TAMIS__PEEL_EMPTY;
    const uint32_t a = word_left(&job->side[0], job->ring_mask, slot);
    const uint32_t b = word_left(&job->side[1], job->ring_mask, job->slots - 1 - slot);
    return ((a ^ b) & ~counts) | ((a & counts) + (b & counts) + TAMIS__PEEL_ONE);
}

/* Merges the two rings and peels what is left of them: usually a few segments, and at most
 * the places of both rings, since the sweeps' reaches overlap. */
static tamis_status peel_middle(const struct job *job, const tamis_allocator *a) {
    uint64_t low = forgotten(job, &job->side[0]);
    uint64_t high = job->slots - forgotten(job, &job->side[1]);
    while (low < high && merged(job, low) == TAMIS__PEEL_EMPTY) low++;
    while (low < high && merged(job, high - 1) == TAMIS__PEEL_EMPTY) high--;
    const uint64_t length = high - low, bytes = (2 * length + 1) * sizeof(uint32_t);
    uint32_t *words = (uint32_t *)tamis__table_alloc(a, bytes);
    if (words == NULL) return TAMIS_E_NOMEM;
    uint32_t *queue = words + length;

    for (uint64_t slot = low; slot < high; slot++) words[slot - low] = merged(job, slot);
    struct tamis__order *order = job->order;
    order->middle =
        tamis__peel_run(job->graph, &job->geometry, job->group->hashes, low, length, words, queue);
    memcpy(order->entries + order->left, queue, order->middle * sizeof *queue);
    tamis__table_free(a, words, bytes);
    return TAMIS_OK;
}

/* ---- the whole */

static uint64_t ring_places(const struct tamis__geometry *g, unsigned lg_buckets) {
    const uint64_t needed = (g->range >> lg_buckets) + 1 + RING_SEGMENTS * g->segment;
    return (uint64_t)2 << tamis__log2(needed - 1);
}

/* A place for every slot of the ring, and for what the prefetch reads beyond the end. */
static uint64_t queue_places(const struct job *job) {
    return (uint64_t)job->ring_mask + 2 + TAMIS__PEEL_AHEAD;
}

static tamis_status peel_sides(struct job *job, unsigned threads, const tamis_allocator *a) {
    const uint64_t ring = (uint64_t)job->ring_mask + 1, queue = queue_places(job);
    size_t bytes;
    if (!tamis__array_size(2 * (ring + queue), sizeof(uint32_t), &bytes)) return TAMIS_E_NOMEM;
    uint32_t *scratch = (uint32_t *)tamis__alloc(a, bytes);
    if (scratch == NULL) return TAMIS_E_NOMEM;
    for (uint64_t i = 0; i < 2 * ring; i++) scratch[i] = TAMIS__PEEL_EMPTY;
    memset(scratch + 2 * ring, 0, 2 * queue * sizeof(uint32_t)); /* the prefetch reads ahead */
    for (size_t i = 0; i < 2; i++) {
        job->side[i].ring = scratch + i * ring;
        job->side[i].queue = scratch + 2 * ring + i * queue;
    }
    (void)tamis__parallel(threads, 2, sweep_job, job);
    job->order->left = job->side[0].peeled;
    job->order->right = job->side[1].peeled;
    job->order->crowded = job->side[0].crowded || job->side[1].crowded;
    tamis_status status = TAMIS_OK;
    if (!job->side[0].failed && !job->side[1].failed) status = peel_middle(job, a);
    tamis__release(a, scratch, bytes);
    return status;
}

tamis_status tamis__fuse_peel(enum tamis__graph graph, const struct tamis__geometry *g,
                              const struct tamis__group *group, unsigned threads,
                              const tamis_allocator *a, struct tamis__order *order) {
    struct job job = {.graph = graph,
                      .geometry = *g,
                      .slots = tamis__geometry_slots(graph, g),
                      .group = group,
                      .order = order,
                      .split = ((size_t)1 << group->lg_buckets) / 2,
                      .ring_mask = (uint32_t)(ring_places(g, group->lg_buckets) - 1)};
    if (!tamis__order_create(order, group->count, a)) return TAMIS_E_NOMEM;
    return peel_sides(&job, threads, a);
}
