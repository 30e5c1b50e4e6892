/* bf_bud.c - a Bloom filter of ours that is small and has not grown
 *
 * Most filters of a server are like that: BF.ADD makes one for a hundred items for whoever has not
 * asked for more, and many keep one for each user or page.  A chain of a store of a layer is
 * 250 bytes of numbers for such a one, and its table 170.  Nearly all of the numbers follow
 * from the few that the filter has anyway, so a bud has in one block what does not:
 *
 *     struct bf { error, capacity, expansion, bud } -> { secret, rate, keys, bytes, table }
 *
 * The default filter with its key takes 330 bytes so (RedisBloom's: 300 to 390).
 *
 * A bud answers and takes items; for all else it is unpacked to a whole filter: for good when it
 * grows beyond its first link or another is merged into it, and for a moment when it is described
 * or written, since a bud is written like any other filter.  A filter that was loaded is packed if
 * it can be. */
#include <string.h>

#include "bf.h"
#include "memory.h"

struct bud {
    uint8_t secret[TAMIS_SECRET_BYTES];
    double rate;    /* of its layer */
    uint32_t keys;  /* in it */
    uint32_t bytes; /* of the table */
    uint8_t table[];
};

bool bf_is_bud(const struct bf *f) { return f->legacy == NULL && f->chains == 0; }

/* Its only layer. */
static struct layer layer_of(const struct bf *f) {
    struct bud *b = f->in.bud;
    return (struct layer){.kind = TAMIS_BLOOM,
                          .small = true,
                          .segments = 1,
                          .capacity = f->capacity,
                          .keys = b->keys,
                          .rate = b->rate,
                          .segment_bytes = b->bytes,
                          .table.bare = b->table};
}

/* ---- packing */

/* Does all else follow from the filter's own numbers? */
static bool can_pack(const struct bf *f) {
    if (f->legacy != NULL || f->chains != 1 || f->window != 0 || f->limit != 0) return false;
    const struct chain *c = &f->in.chain[0];
    const struct store *s = c->store;
    const struct layer *l = &s->layer[0];
    return s->layers == 1 && l->small && l->table.bare != NULL && l->capacity == f->capacity &&
           s->rate == f->error && s->limit == 0 && s->grows == (f->expansion != 0) &&
           c->links == 1 && c->before == 0 && c->last_size == l->keys && !c->guest &&
           c->epoch == 0 && c->last_capacity == f->capacity;
}

void bf_pack(struct bf *f) {
    if (!can_pack(f)) return;
    struct store *s = f->in.chain[0].store;
    const struct layer *l = &s->layer[0];
    struct bud *b = memory_alloc(sizeof *b + (size_t)l->segment_bytes);
    if (b == NULL) return; /* as it is, it is right too */
    memcpy(b->secret, s->secret, sizeof b->secret);
    b->rate = l->rate;
    b->keys = (uint32_t)l->keys;
    b->bytes = (uint32_t)l->segment_bytes;
    memcpy(b->table, l->table.bare, b->bytes);
    store_free(s);
    memory_free(f->in.chain);
    f->chains = 0;
    f->in.bud = b;
}

bool bf_unpack(struct bf *f) {
    if (!bf_is_bud(f)) return true;
    struct bud *b = f->in.bud;
    const struct layer layer = layer_of(f);
    const struct store_want want = {
        .secret = b->secret, .rate = f->error, .grows = f->expansion != 0};
    struct chain *chain = memory_zeroed(sizeof *chain);
    if (chain == NULL) return false;
    *chain = (struct chain){.store = store_of_layer(&want, &layer),
                            .links = 1,
                            .last_capacity = f->capacity,
                            .last_size = b->keys,
                            .first_capacity = f->capacity};
    if (chain->store == NULL) {
        memory_free(chain);
        return false;
    }
    memory_free(b);
    f->in.chain = chain;
    f->chains = 1;
    return true;
}

struct bf *bf_whole(const struct bf *f) {
    struct bf *whole = bf_copy(f);
    if (whole == NULL || bf_unpack(whole)) return whole;
    bf_free(whole);
    return NULL;
}

struct bud *bud_copy(const struct bud *b) {
    struct bud *copy = memory_alloc(bud_bytes(b));
    if (copy != NULL) memcpy(copy, b, bud_bytes(b));
    return copy;
}

/* ---- items */

void bud_contains(const struct bf *f, const struct items *items, bool *answers) {
    uint64_t hashes[STORE_BATCH];
    const struct layer layer = layer_of(f);
    hash_items(f->in.bud->secret, items, hashes);
    layer_ask(&layer, hashes, items->count, answers);
}

void bud_add(struct bf *f, const struct items *items, struct bf_batch *batch) {
    uint64_t hashes[STORE_BATCH];
    struct layer layer = layer_of(f);
    hash_items(f->in.bud->secret, items, hashes);
    for (; batch->done < items->count; batch->done++) {
        const uint64_t hash = hashes[batch->done];
        bool fresh = false;
        if (layer.keys < layer.capacity) {
            (void)layer_add_fresh(&layer, &hash, 1, &fresh); /* the table is there: no memory */
        } else if (!layer_contains(&layer, hash)) {
            break;
        }
        batch->fresh[batch->done] = batch->changed[batch->done] = fresh;
        batch->changes += fresh;
    }
    f->in.bud->keys = (uint32_t)layer.keys;
}

/* ---- numbers */

uint64_t bud_keys(const struct bud *b) { return b->keys; }
size_t bud_bytes(const struct bud *b) { return sizeof *b + b->bytes; }
