/* bf_small.c - a small Bloom filter that has not grown, in one block
 *
 * Most filters of a server are small: the default capacity of BF.ADD is a hundred items, and many
 * applications keep a filter per user or page.  A generation with a scalable filter of one stage
 * takes 250 bytes of fields for such a filter, and its table 170.  Most fields follow from those of
 * struct bf, so a small filter stores only the others, in one block:
 *
 *     struct bf { error, capacity, expansion, bf_small } -> { secret, rate, keys, bytes, table }
 *
 * The default filter takes 330 bytes with its key (RedisBloom: 300 to 390).
 *
 * Queries and adds work on the block.  Everything else unpacks it to an array of generations: for
 * good when it outgrows its first sub-filter or another filter is merged into it, and temporarily
 * when it is serialized, because a small filter is written like any other.  A loaded filter is
 * packed if possible. */
#include <string.h>

#include "filters/bf.h"
#include "server/memory.h"

struct bf_small {
    uint8_t secret[TAMIS_SECRET_BYTES];
    double fpr; /* of its stage */
    uint32_t keys;
    uint32_t bytes; /* of the table */
    uint8_t table[];
};

bool bf_is_small(const struct bf *f) { return f->redisbloom == NULL && f->generations == 0; }

/* Its only stage. */
static struct stage stage_of(const struct bf *f) {
    struct bf_small *b = f->in.bf_small;
    return (struct stage){.kind = TAMIS_BLOOM,
                          .small = true,
                          .segments = 1,
                          .capacity = f->capacity,
                          .keys = b->keys,
                          .fpr = b->fpr,
                          .segment_bytes = b->bytes,
                          .table.bare = b->table};
}

/* ---- packing */

/* Returns whether all other fields follow from those of struct bf. */
static bool can_pack(const struct bf *f) {
    if (f->redisbloom != NULL || f->generations != 1 || f->window != 0 || f->limit != 0)
        return false;
    const struct generation *c = &f->in.generation[0];
    const struct scalable *s = c->scalable;
    const struct stage *l = &s->stage[0];
    return s->stages == 1 && l->small && l->table.bare != NULL && l->capacity == f->capacity &&
           s->fpr == f->error && s->limit == 0 && s->grows == (f->expansion != 0) &&
           c->subfilters == 1 && c->before == 0 && c->last_size == l->keys && !c->merged &&
           c->epoch == 0 && c->last_capacity == f->capacity;
}

void bf_pack(struct bf *f) {
    if (!can_pack(f)) return;
    struct scalable *s = f->in.generation[0].scalable;
    const struct stage *l = &s->stage[0];
    struct bf_small *b = memory_alloc(sizeof *b + (size_t)l->segment_bytes);
    if (b == NULL) return; /* it stays unpacked */
    memcpy(b->secret, s->secret, sizeof b->secret);
    b->fpr = l->fpr;
    b->keys = (uint32_t)l->keys;
    b->bytes = (uint32_t)l->segment_bytes;
    memcpy(b->table, l->table.bare, b->bytes);
    scalable_free(s);
    memory_free(f->in.generation);
    f->generations = 0;
    f->in.bf_small = b;
}

bool bf_unpack(struct bf *f) {
    if (!bf_is_small(f)) return true;
    struct bf_small *b = f->in.bf_small;
    const struct stage stage = stage_of(f);
    struct scalable want = {.fpr = f->error, .grows = f->expansion != 0};
    memcpy(want.secret, b->secret, sizeof want.secret);
    struct generation *generation = memory_zeroed(sizeof *generation);
    if (generation == NULL) return false;
    *generation = (struct generation){.scalable = scalable_of_stage(&want, &stage),
                                      .subfilters = 1,
                                      .last_capacity = f->capacity,
                                      .last_size = b->keys,
                                      .first_capacity = f->capacity};
    if (generation->scalable == NULL) {
        memory_free(generation);
        return false;
    }
    memory_free(b);
    f->in.generation = generation;
    f->generations = 1;
    return true;
}

struct bf *bf_unpacked(const struct bf *f) {
    struct bf *unpacked = bf_copy(f);
    if (unpacked == NULL || bf_unpack(unpacked)) return unpacked;
    bf_free(unpacked);
    return NULL;
}

struct bf_small *bf_small_copy(const struct bf_small *b) {
    struct bf_small *copy = memory_alloc(bf_small_bytes(b));
    if (copy != NULL) memcpy(copy, b, bf_small_bytes(b));
    return copy;
}

/* ---- items */

void bf_small_contains(const struct bf *f, const struct items *items, bool *results) {
    uint64_t hashes[SCALABLE_BATCH];
    const struct stage stage = stage_of(f);
    hash_items(f->in.bf_small->secret, items, hashes);
    stage_contains_batch(&stage, hashes, items->count, results);
}

void bf_small_add(struct bf *f, const struct items *items, struct bf_batch *batch) {
    uint64_t hashes[SCALABLE_BATCH];
    struct stage stage = stage_of(f);
    hash_items(f->in.bf_small->secret, items, hashes);
    for (; batch->done < items->count; batch->done++) {
        const uint64_t hash = hashes[batch->done];
        bool fresh = false;
        if (stage.keys < stage.capacity) {
            (void)stage_add_fresh(&stage, &hash, 1, &fresh); /* cannot fail: the table exists */
        } else if (!stage_contains(&stage, hash)) {
            break;
        }
        batch->fresh[batch->done] = batch->changed[batch->done] = fresh;
        batch->changes += fresh;
    }
    f->in.bf_small->keys = (uint32_t)stage.keys;
}

/* ---- statistics */

uint64_t bf_small_keys(const struct bf_small *b) { return b->keys; }
size_t bf_small_bytes(const struct bf_small *b) { return sizeof *b + b->bytes; }
