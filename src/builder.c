/* builder.c - the public builder: any kind, from keys that come one by one
 *
 * A kind that takes adds and whose capacity is given is filled straight away, unless it counts
 * its keys, for then repeats must be left out.  Otherwise the hashes are collected (keys.h), and
 * the filter is made when their number is known: a static one from the shards, a dynamic one sized
 * for the distinct keys and then filled in the order of the shards, which visits its table in order
 * too. */
#include <string.h>

#include "core/bits.h"
#include "core/mutex.h"
#include "family/keys.h"
#include "family/shards.h"
#include "filter.h"
#include "format/format.h"
#include "plan/plan.h"
#include "tamis.h"

#define GROUP 256

struct tamis_builder {
    tamis_options options;
    const struct tamis__family *family;
    struct tamis__want want;
    tamis_filter like;
    struct tamis__mutex mutex; /* for adding what is not collected: keys.h has its own */
    uint64_t count;            /* likewise */
    struct tamis__keys *keys;  /* either this */
    tamis_filter *direct;      /* or this; neither after finish */
    bool foreign;              /* another system's filter: only this is used */
    struct tamis__order order;
};

static bool is_static(const struct tamis__family *family) {
    return (family->caps & TAMIS_IS_STATIC) != 0;
}

/* Was a budget in bytes given, for a number of keys that had still to be counted? */
static bool has_budget(const struct tamis_builder *b) {
    return b->options.rate == 0 && b->options.bytes != 0 && b->options.capacity == 0;
}

/* A set of which all keys are at hand is static unless told otherwise. */
static tamis_status builder_plan(struct tamis_builder *b, const tamis_options *options) {
    tamis_status status = tamis__options_read(options, &b->options);
    if (status != TAMIS_OK) return status;
    tamis_options *o = &b->options;
    b->foreign = tamis__is_foreign(o);
    if (b->foreign) {
        status = tamis__order_open(o, &b->order);
        b->like = b->order.like;
        o->format = NULL;
        return status;
    }
    if (o->kind == TAMIS_AUTO && o->needs == 0) o->needs = TAMIS_NEED_STATIC;
    o->temporary = NULL; /* copied where it is used */
    tamis_options sized = *o;
    if (has_budget(b)) { /* spent at the end; but it may choose the kind */
        if (o->kind == TAMIS_AUTO) {
            sized.kind = tamis__plan_kind(o, tamis__native_room(o->bytes), NULL);
        }
        sized.bytes = 0;
    }
    status = tamis__plan_want(&sized, tamis__native_room(sized.bytes), &b->family, &b->want);
    if (status != TAMIS_OK) return status;
    if (o->shared && (b->family->caps & TAMIS_CAN_SHARE) == 0) return TAMIS_E_UNSUPPORTED;
    tamis__filter_like(o, &b->want, &b->like);
    o->secret = NULL; /* in b->like.hashing */
    struct tamis__shape shape;
    return b->family->shape(&b->want, &shape); /* a rate out of reach is known now */
}

/* Can keys be added as they come? */
static bool is_direct(const struct tamis_builder *b) {
    const bool collects = (b->family->caps & (TAMIS_IS_STATIC | TAMIS_CAN_REMOVE)) != 0;
    return b->options.capacity != 0 && !collects;
}

static tamis_status builder_open(struct tamis_builder *b, const char *temporary) {
    if (b->foreign) return TAMIS_OK;
    if (is_direct(b)) {
        return tamis__filter_create(b->family, &b->want, &b->like, &b->direct);
    }
    return tamis__keys_create(&b->like.allocator, b->options.memory, temporary, &b->keys);
}

/* A builder without keys yet. */
static tamis_status builder_new(const tamis_options *options, struct tamis_builder **out) {
    struct tamis_builder plan = {.count = 0};
    const tamis_status status = builder_plan(&plan, options);
    if (status != TAMIS_OK) return status;
    struct tamis_builder *b = tamis__alloc(&plan.like.allocator, sizeof *b);
    if (b == NULL) {
        tamis__order_close(&plan.order);
        return TAMIS_E_NOMEM;
    }
    *b = plan;
    tamis__mutex_open(&b->mutex);
    *out = b;
    return TAMIS_OK;
}

tamis_status tamis_builder_create(const tamis_options *options, tamis_builder **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    struct tamis_builder *b;
    tamis_status status = builder_new(options, &b);
    if (status != TAMIS_OK) return status;
    status = builder_open(b, options->temporary);
    if (status != TAMIS_OK) {
        tamis_builder_free(b);
        return status;
    }
    *out = b;
    return TAMIS_OK;
}

void tamis_builder_free(tamis_builder *b) {
    if (b == NULL) return;
    tamis__keys_free(b->keys);
    tamis_free(b->direct);
    tamis__order_close(&b->order);
    tamis__mutex_close(&b->mutex);
    const tamis_allocator a = b->like.allocator;
    tamis__release(&a, b, sizeof *b);
}

/* --------------------------------------------------------------------- adding */

uint64_t tamis_builder_hash(const tamis_builder *b, const void *key, size_t length) {
    return tamis__hash_key(&b->like.hashing, key, length).lo;
}

uint64_t tamis_builder_count(const tamis_builder *b) {
    return b->keys != NULL ? tamis__keys_count(b->keys) : b->count;
}

/* Hashes that are not collected. */
static tamis_status add_in_turn(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                                size_t count) {
    size_t done;
    tamis__mutex_lock(&b->mutex);
    const tamis_status status = b->foreign
                                    ? tamis__order_add(&b->order, lo, hi, count, &done)
                                    : tamis_add_hash_batch(b->direct, lo, count, NULL, &done);
    b->count += done;
    tamis__mutex_unlock(&b->mutex);
    return status;
}

static tamis_status add_foreign(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                                size_t count) {
    if (hi == NULL && !tamis__hashing_is_narrow(&b->like.hashing)) return TAMIS_E_UNSUPPORTED;
    return add_in_turn(b, lo, hi, count);
}

tamis_status tamis_builder_add_hash_batch(tamis_builder *b, const uint64_t *hashes, size_t count) {
    if (b == NULL || (hashes == NULL && count != 0)) return TAMIS_E_ARGUMENT;
    if (b->foreign) return add_foreign(b, hashes, NULL, count);
    if (b->keys != NULL) return tamis__keys_add(b->keys, hashes, count);
    return b->direct != NULL ? add_in_turn(b, hashes, NULL, count) : TAMIS_E_ARGUMENT;
}

tamis_status tamis_builder_add_hash(tamis_builder *b, uint64_t hash) {
    return tamis_builder_add_hash_batch(b, &hash, 1);
}

tamis_status tamis_builder_add_batch(tamis_builder *b, const void *const *keys,
                                     const size_t *lengths, size_t count) {
    if (b == NULL || (count != 0 && (keys == NULL || lengths == NULL))) return TAMIS_E_ARGUMENT;
    if (b->like.hashing.id == TAMIS_HASH_NONE) return TAMIS_E_ARGUMENT;
    uint64_t lo[GROUP], hi[GROUP];
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        if (!tamis__hashing_takes(&b->like.hashing, lengths[i])) return TAMIS_E_KEY;
    }
    for (size_t at = 0; at < count && status == TAMIS_OK; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
        tamis__hash_keys(&b->like.hashing, b->like.portable, keys + at, lengths + at, n, lo, hi);
        status = b->foreign ? add_foreign(b, lo, hi, n) : tamis_builder_add_hash_batch(b, lo, n);
    }
    return status;
}

tamis_status tamis_builder_add(tamis_builder *b, const void *key, size_t length) {
    if (key == NULL && length != 0) return TAMIS_E_ARGUMENT;
    return tamis_builder_add_batch(b, &key, &length, 1);
}

/* ------------------------------------------------------------------- finishing */

/* The number of distinct keys is known, if none was given: a budget becomes a rate, and TAMIS_AUTO
 * the kind for so many keys, unless their shards have been made for a static one. */
static tamis_status settle(struct tamis_builder *b, uint64_t distinct) {
    tamis_options o = b->options;
    if (o.capacity != 0) return TAMIS_OK;
    o.capacity = distinct;
    if (is_static(b->family)) o.kind = b->family->kind;
    const tamis_status status =
        tamis__plan_want(&o, tamis__native_room(o.bytes), &b->family, &b->want);
    b->like.rate = b->want.rate;
    b->like.capacity = b->want.capacity;
    return status;
}

/* Adds a shard's keys to a filter that takes adds, as the hashes that they were. */
static tamis_status add_group(tamis_filter *f, struct tamis__group *g, uint64_t shard,
                              unsigned lg_shards) {
    uint64_t hashes[GROUP];
    if (f->family->ordered) tamis__group_sort(g);
    const uint64_t top = lg_shards == 0 ? 0 : shard << (64 - lg_shards);
    tamis_status status = TAMIS_OK;
    for (size_t at = 0; at < g->count && status == TAMIS_OK; at += GROUP) {
        const size_t n = g->count - at < GROUP ? g->count - at : GROUP;
        size_t done;
        for (size_t i = 0; i < n; i++) {
            hashes[i] = tamis__unmix64(top | g->hashes[at + i] >> lg_shards);
        }
        status = f->ops->add_batch(f, hashes, NULL, n, NULL, &done);
    }
    return status;
}

static tamis_status distinct_shard(const struct tamis_builder *b, uint64_t shard,
                                   struct tamis__group *g) {
    tamis_status status = tamis__keys_shard(b->keys, shard, b->want.threads, g);
    if (status != TAMIS_OK) return status;
    status = tamis__group_distinct(g, b->want.threads);
    if (status != TAMIS_OK) tamis__group_free(g);
    return status;
}

/* The distinct keys, counted in the shards that `build` will ask for again: as many as the shape
 * for all hashes has. */
static tamis_status count_distinct(struct tamis_builder *b, uint64_t *distinct) {
    struct tamis__want all = b->want;
    struct tamis__shape shape;
    all.capacity = tamis__keys_count(b->keys);
    tamis_status status = b->family->shape(&all, &shape);
    if (status != TAMIS_OK) return status;
    const unsigned lg = (unsigned)shape.word[TAMIS__STATIC_LG_SHARDS];
    status = tamis__keys_seal(b->keys, lg, b->want.threads, true);
    for (uint64_t s = 0; s < (uint64_t)1 << lg && status == TAMIS_OK; s++) {
        struct tamis__group g;
        status = distinct_shard(b, s, &g);
        if (status != TAMIS_OK) break;
        *distinct += g.count;
        tamis__group_free(&g);
    }
    return status;
}

/* With a budget the hashes are gone through twice: the width of a fingerprint must be known before
 * the first shard is built. */
static tamis_status finish_static(struct tamis_builder *b, tamis_filter **out) {
    uint64_t distinct = 0;
    tamis_status status = TAMIS_OK;
    if (has_budget(b)) {
        status = count_distinct(b, &distinct);
        if (status == TAMIS_OK) status = settle(b, distinct);
    }
    if (status != TAMIS_OK) return status;
    tamis_filter *f = tamis__filter_new(b->family, &b->like);
    if (f == NULL) return TAMIS_E_NOMEM;
    status = b->family->build(&b->want, b->keys, f);
    if (status == TAMIS_OK) status = tamis__filter_attach(f);
    if (status != TAMIS_OK) {
        tamis__filter_free(f);
        return status;
    }
    *out = f;
    return TAMIS_OK;
}

/* One shard is grouped once; several are read twice, first to count the distinct keys. */
static tamis_status fill_dynamic(struct tamis_builder *b, tamis_filter **out) {
    const unsigned lg = tamis__keys_lg_shards(tamis__keys_count(b->keys), TAMIS__SHARD_KEYS);
    const uint64_t shards = (uint64_t)1 << lg;
    struct tamis__group g;
    tamis_status status = tamis__keys_seal(b->keys, lg, b->want.threads, shards > 1);
    uint64_t distinct = 0;
    for (uint64_t s = 0; s < shards && status == TAMIS_OK; s++) {
        status = distinct_shard(b, s, &g);
        if (status != TAMIS_OK) return status;
        distinct += g.count;
        if (shards > 1) tamis__group_free(&g);
    }
    if (status != TAMIS_OK) return status;
    status = settle(b, distinct);
    if (status == TAMIS_OK) status = tamis__filter_create(b->family, &b->want, &b->like, out);
    for (uint64_t s = 0; s < shards && status == TAMIS_OK; s++) {
        if (shards > 1) status = distinct_shard(b, s, &g);
        if (status != TAMIS_OK) break;
        status = add_group(*out, &g, s, lg);
        if (shards > 1) tamis__group_free(&g);
    }
    if (shards == 1) tamis__group_free(&g);
    if (status != TAMIS_OK) {
        tamis_free(*out);
        *out = NULL;
    }
    return status;
}

tamis_status tamis_builder_finish(tamis_builder *b, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (b != NULL && b->foreign) return tamis__order_finish(&b->order, out);
    if (b == NULL || (b->keys == NULL && b->direct == NULL)) return TAMIS_E_ARGUMENT;
    tamis_status status = TAMIS_OK;
    if (b->direct != NULL) {
        *out = b->direct;
        b->direct = NULL;
        return TAMIS_OK;
    }
    status = is_static(b->family) ? finish_static(b, out) : fill_dynamic(b, out);
    b->count = tamis__keys_count(b->keys);
    tamis__keys_free(b->keys);
    b->keys = NULL;
    if (status == TAMIS_OK) (*out)->adds = b->count;
    return status;
}

/* --------------------------------------------------------------- all at once */

/* Of an array of hashes nothing is collected: the array itself is the collection. */
tamis_status tamis_build_hash(const tamis_options *options, const uint64_t *hashes, size_t count,
                              tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (hashes == NULL && count != 0) return TAMIS_E_ARGUMENT;
    struct tamis_builder *b;
    tamis_status status = builder_new(options, &b);
    if (status != TAMIS_OK) return status;
    if (b->foreign || is_direct(b)) {
        status = builder_open(b, NULL);
        if (status == TAMIS_OK) status = tamis_builder_add_hash_batch(b, hashes, count);
    } else {
        status = tamis__keys_borrow(&b->like.allocator, hashes, count, &b->keys);
    }
    if (status == TAMIS_OK) status = tamis_builder_finish(b, out);
    tamis_builder_free(b);
    return status;
}

tamis_status tamis_build(const tamis_options *options, const void *const *keys,
                         const size_t *lengths, size_t count, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    tamis_builder *b;
    *out = NULL;
    tamis_status status = tamis_builder_create(options, &b);
    if (status != TAMIS_OK) return status;
    status = tamis_builder_add_batch(b, keys, lengths, count);
    if (status == TAMIS_OK) status = tamis_builder_finish(b, out);
    tamis_builder_free(b);
    return status;
}
