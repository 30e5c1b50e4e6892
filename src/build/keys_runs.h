/* keys_runs.h - hashes of sets of more than one shard, grouped as they come
 *
 * A run is some hashes grouped by their top RUN_LG bits: a part of it is all of its hashes that
 * begin with the same bits.  Runs are made in memory, of up to TAMIS__RUN_MAX hashes: a huge page,
 * so that two threads that fill one each do not wait for the same page to be cleared.  When those
 * in memory have grown to a limit, they are merged, part by part, into one run of a nameless
 * temporary file; no run may be in progress then.
 *
 *     run 1, in memory    [part 0][part 1][part 2]...[part 1023]
 *     run 2, in memory    [part 0][part 1][part 2]...[part 1023]
 *     run 3, in the file  [   part 0   ][   part 1   ]...
 *
 * A shard is some parts of every run: they are gathered part by part, and the buckets of a part
 * are few, so that this stays in the cache as well. */
#ifndef TAMIS_BUILD_KEYS_RUNS_H
#define TAMIS_BUILD_KEYS_RUNS_H

#include "build/keys_group.h"

#define TAMIS__RUN_MAX ((size_t)1 << 18)

struct tamis__run;
struct tamis__slab;

struct tamis__runs {
    tamis_allocator allocator;
    struct tamis__run *first, *last;
    size_t count;
    struct tamis__slab *slabs; /* memory of the runs that are not in the file */
    uint64_t held_bytes;       /* of these slabs */
    unsigned lg_shards;        /* once it is sealed */
    size_t slab_min;           /* usual bytes of a slab */
    struct tamis__slab *spare; /* of spilled runs, for reuse: the kernel would clear new memory */

    struct tamis__pool pool; /* for the groups of its shards, once it is sealed */

    char *temporary;
    size_t temporary_bytes;
    int file; /* -1: nothing spilled */
    uint64_t file_hashes;
};

/* Spills to `temporary` from `limit` bytes on; 0: never. */
tamis_status tamis__runs_open(struct tamis__runs *runs, const tamis_allocator *a, uint64_t limit,
                              const char *temporary);
void tamis__runs_close(struct tamis__runs *runs);

/* A run in memory of at most TAMIS__RUN_MAX mixed hashes: reserved, filled (several threads may
 * fill a run each) and then added to the others.  NULL if there is no memory. */
struct tamis__run *tamis__runs_begin(struct tamis__runs *runs, size_t count);
void tamis__run_fill(struct tamis__run *run, const uint64_t *hashes, size_t count);
void tamis__runs_append(struct tamis__runs *runs, struct tamis__run *run);

/* Drops duplicates if they would make a part, and so a shard, far larger than others:
 * a build within a memory limit must not depend on how often one key repeats.  Does not drop all
 * repeats, and none of a run with even parts.  Returns the number of dropped hashes; their terms
 * (kept.h) add up to `*dropped_sum`. */
uint64_t tamis__run_drop_repeats(struct tamis__run *run, uint64_t *dropped_sum);

/* All of its hashes, while it is in memory. */
const uint64_t *tamis__run_hashes(const struct tamis__run *run, size_t *count);
/* The next one; NULL at the end. */
const struct tamis__run *tamis__run_next(const struct tamis__run *run);

/* Takes over a table of the same allocator for later runs; false: not needed. */
bool tamis__runs_give(struct tamis__runs *runs, void *table, size_t bytes);

/* Moves the runs in memory to the file; `last`: no more runs follow. */
tamis_status tamis__runs_spill(struct tamis__runs *runs, bool last);

/* Ends the runs and prepares 2^lg_shards shards. */
void tamis__runs_seal(struct tamis__runs *runs, unsigned lg_shards);

/* Gathers a shard, on several threads, into a group that has only its allocator set.  May be called
 * from several threads, and for a shard more than once. */
tamis_status tamis__runs_shard(struct tamis__runs *runs, uint64_t shard, unsigned threads,
                               struct tamis__group *g);

#endif
