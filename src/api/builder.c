/* builder.c - entry points: a filter of any kind or format from keys that come one by one
 *
 * A builder works in one of three ways, chosen when it is created:
 *
 *   direct    the capacity is given and the filter accepts adds: each key is added to it at once
 *   collect   our kinds otherwise: hashes are collected (keys.h), and the filter is made when all
 *             are known.  A static one is built from the shards; a dynamic one is sized for the
 *             distinct keys and then filled shard by shard, which visits its table in order.  A
 *             kind that counts its keys is never filled directly: repeats must be left out.
 *   ordered   compatible formats otherwise: hashes are kept in the order in which they came
 *             (sequence.h), because the bytes may depend on it, repeats included */
#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "build/keys.h"
#include "build/sequence.h"
#include "build/shards.h"
#include "core/bits.h"
#include "core/mutex.h"
#include "file/native.h"
#include "plan/plan.h"

/* How a builder works. */
struct way {
    /* Creates what receives the keys. */
    tamis_status (*open)(struct tamis_builder *b, const char *temporary);
    /* `hi` may be NULL if the hash is narrow.  `*done` receives how many were added for certain. */
    tamis_status (*add)(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                        size_t count, size_t *done);
    tamis_status (*finish)(struct tamis_builder *b, tamis_filter **out);
};

struct tamis_builder {
    const struct way *way; /* NULL: finished */
    tamis_options options; /* without the caller's pointers */
    struct tamis__spec spec;
    struct tamis__settings settings;
    char *parameters;          /* spec.parameters, copied; NULL for our kinds */
    struct tamis__mutex mutex; /* direct and ordered: keys.h has its own */
    uint64_t count;            /* hashes added; collect: once finished */

    tamis_filter *filter;            /* direct */
    struct tamis__keys *keys;        /* collect */
    struct tamis__sequence sequence; /* ordered */
    struct tamis__kept kept;         /* options.check: to query all keys at the end */
    bool given;                      /* and the caller keeps them */
};

static const struct tamis__family *family_of(const struct tamis_builder *b) {
    return tamis__family_of(b->spec.kind);
}

/* --------------------------------------------------------------------- direct */

static tamis_status direct_open(struct tamis_builder *b, const char *temporary) {
    (void)temporary;
    return tamis__spec_create(&b->spec, &b->settings, &b->filter);
}

static tamis_status direct_add(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done) {
    tamis__mutex_lock(&b->mutex);
    const tamis_status status = tamis__filter_add(b->filter, lo, hi, count, done);
    b->count += *done;
    tamis__mutex_unlock(&b->mutex);
    return status;
}

static tamis_status direct_finish(struct tamis_builder *b, tamis_filter **out) {
    *out = b->filter;
    b->filter = NULL;
    return TAMIS_OK;
}

static const struct way direct = {direct_open, direct_add, direct_finish};

/* -------------------------------------------------------------------- ordered */

static tamis_status ordered_open(struct tamis_builder *b, const char *temporary) {
    (void)temporary;
    if (b->options.memory != 0) return TAMIS_E_UNSUPPORTED; /* spilling would lose the order */
    b->sequence = (struct tamis__sequence){
        .allocator = b->settings.allocator,
        .wide = !tamis__hashing_is_narrow(&b->spec.hashing),
    };
    return TAMIS_OK;
}

static tamis_status ordered_add(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                                size_t count, size_t *done) {
    tamis__mutex_lock(&b->mutex);
    const tamis_status status = tamis__sequence_append(&b->sequence, lo, hi, count);
    *done = status == TAMIS_OK ? count : 0;
    b->count += *done;
    tamis__mutex_unlock(&b->mutex);
    return status;
}

static tamis_status ordered_fill(struct tamis_builder *b, tamis_filter **out) {
    const struct tamis__sequence *s = &b->sequence;
    size_t done;
    tamis_status status = tamis__spec_create(&b->spec, &b->settings, out);
    if (status != TAMIS_OK) return status;
    if ((*out)->ops->add_batch == NULL) return TAMIS_OK; /* no bits: every key matches */
    status = tamis__filter_add(*out, s->lo, s->hi, s->count, &done);
    if (status != TAMIS_OK) {
        tamis_free(*out);
        *out = NULL;
    }
    return status;
}

/* If no capacity was given and the table cannot hold the keys that it was sized for, it is made
 * again with twice the room: seiflotfy's has none to spare.  A key that comes more often than it
 * has slots does not fit into any table, so the room has a limit. */
#define ROOM_MAX 4

static tamis_status ordered_finish(struct tamis_builder *b, tamis_filter **out) {
    const struct tamis__codec *codec = b->settings.codec;
    const struct tamis__sequence *s = &b->sequence;
    tamis_status status = TAMIS_OK;
    if (b->spec.capacity == 0) {
        b->spec.capacity = s->count;
        if ((codec->flags & TAMIS__SIZED_BY_DISTINCT) != 0) {
            status = tamis__sequence_distinct(s, &b->spec.capacity);
        }
    }
    if (status != TAMIS_OK) return status;
    if (codec->build != NULL) return codec->build(&b->spec, s->lo, s->count, &b->settings, out);
    const uint64_t counted = b->spec.capacity;
    status = ordered_fill(b, out);
    while (status == TAMIS_E_FULL && b->spec.capacity / ROOM_MAX < counted) {
        b->spec.capacity *= 2;
        status = ordered_fill(b, out);
    }
    return status;
}

static const struct way ordered = {ordered_open, ordered_add, ordered_finish};

/* -------------------------------------------------------------------- collect */

static tamis_status collect_open(struct tamis_builder *b, const char *temporary) {
    const tamis_status status =
        tamis__keys_create(&b->settings.allocator, b->options.memory, temporary, &b->keys);
    if (status == TAMIS_OK && b->options.check && !b->given) tamis__keys_keep(b->keys);
    return status;
}

static tamis_status collect_add(struct tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                                size_t count, size_t *done) {
    (void)hi;
    const tamis_status status = tamis__keys_add(b->keys, lo, count);
    *done = status == TAMIS_OK ? count : 0;
    return status;
}

/* Was a budget in bytes given for a number of keys that is still to be counted? */
static bool has_budget(const tamis_options *o) {
    return o->fpr == 0 && o->bytes != 0 && o->capacity == 0;
}

/* Plans again when the distinct keys are counted, unless a capacity was given: a budget becomes a
 * false positive rate, and TAMIS_AUTO becomes the kind for that many keys (a static kind stays: its
 * shards exist already). */
static tamis_status settle(struct tamis_builder *b, uint64_t distinct) {
    const struct tamis__hashing hashing = b->spec.hashing;
    tamis_options o = b->options;
    if (o.capacity != 0) return TAMIS_OK;
    o.capacity = distinct;
    if (tamis__spec_is_static(&b->spec, NULL)) o.kind = b->spec.kind;
    const tamis_status status = tamis__plan_spec(&o, tamis__native_room(o.bytes), &b->spec);
    b->spec.hashing = hashing;
    return status;
}

/* Adds the keys of a shard to a filter that accepts adds, with their original hashes. */
static tamis_status add_group(tamis_filter *f, struct tamis__group *g, uint64_t shard,
                              unsigned lg_shards) {
    uint64_t hashes[TAMIS__HASHED_AT_ONCE];
    if (f->family->ordered) tamis__group_sort(g);
    const uint64_t top = lg_shards == 0 ? 0 : shard << (64 - lg_shards);
    tamis_status status = TAMIS_OK;
    for (size_t at = 0; at < g->count && status == TAMIS_OK; at += TAMIS__HASHED_AT_ONCE) {
        const size_t n =
            g->count - at < TAMIS__HASHED_AT_ONCE ? g->count - at : TAMIS__HASHED_AT_ONCE;
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
    tamis_status status = tamis__keys_shard(b->keys, shard, b->spec.threads, g);
    if (status != TAMIS_OK) return status;
    status = tamis__group_distinct(g, b->spec.threads);
    if (status != TAMIS_OK) tamis__group_free(g);
    return status;
}

/* The distinct keys, counted in the shards that `build` will read again: as many as the shape for
 * all hashes has. */
static tamis_status count_distinct(struct tamis_builder *b, uint64_t *distinct) {
    struct tamis__spec all = b->spec;
    struct tamis__shape shape;
    all.capacity = tamis__keys_count(b->keys);
    tamis_status status = family_of(b)->shape(&all, &shape);
    if (status != TAMIS_OK) return status;
    const unsigned lg = (unsigned)shape.word[TAMIS__STATIC_LG_SHARDS];
    status = tamis__keys_seal(b->keys, lg, b->spec.threads, true);
    for (uint64_t s = 0; s < (uint64_t)1 << lg && status == TAMIS_OK; s++) {
        struct tamis__group g;
        status = distinct_shard(b, s, &g);
        if (status != TAMIS_OK) break;
        *distinct += g.count;
        tamis__group_free(&g);
    }
    return status;
}

/* With a budget the hashes are read twice: the width of a fingerprint must be known before the
 * first shard is built. */
static tamis_status build_static(struct tamis_builder *b, tamis_filter **out) {
    uint64_t distinct = 0;
    tamis_status status = TAMIS_OK;
    if (has_budget(&b->options)) {
        status = count_distinct(b, &distinct);
        if (status == TAMIS_OK) status = settle(b, distinct);
    }
    struct tamis__contents contents = {
        .family = tamis__family_of(b->spec.kind), .hashing = b->spec.hashing, .fpr = b->spec.fpr};
    if (status == TAMIS_OK) {
        status = tamis__shards_build(&b->spec, b->keys, &b->settings.allocator, &contents);
    }
    return status == TAMIS_OK ? tamis__filter_make(&contents, &b->settings, out) : status;
}

/* One shard is grouped once; several are read twice, first to count the distinct keys. */
static tamis_status fill_dynamic(struct tamis_builder *b, tamis_filter **out) {
    const unsigned lg = tamis__keys_lg_shards(tamis__keys_count(b->keys), TAMIS__SHARD_KEYS);
    const uint64_t shards = (uint64_t)1 << lg;
    struct tamis__group g;
    tamis_status status = tamis__keys_seal(b->keys, lg, b->spec.threads, shards > 1);
    uint64_t distinct = 0;
    for (uint64_t s = 0; s < shards && status == TAMIS_OK; s++) {
        status = distinct_shard(b, s, &g);
        if (status != TAMIS_OK) return status;
        distinct += g.count;
        if (shards > 1) tamis__group_free(&g);
    }
    if (status != TAMIS_OK) return status;
    status = settle(b, distinct);
    if (status == TAMIS_OK) status = tamis__spec_create(&b->spec, &b->settings, out);
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

static tamis_status collect_finish(struct tamis_builder *b, tamis_filter **out) {
    b->count = tamis__keys_count(b->keys);
    const tamis_status status =
        tamis__spec_is_static(&b->spec, NULL) ? build_static(b, out) : fill_dynamic(b, out);
    if (status == TAMIS_OK) (*out)->adds = b->count;
    return status;
}

static const struct way collect = {collect_open, collect_add, collect_finish};

/* ------------------------------------------------------------------- creating */

static const struct way *way_of(const struct tamis_builder *b) {
    const bool is_static = tamis__spec_is_static(&b->spec, b->settings.codec);
    if (b->settings.codec != NULL) {
        return b->options.capacity != 0 && !is_static ? &direct : &ordered;
    }
    const bool counts = (family_of(b)->caps & TAMIS_CAN_REMOVE) != 0;
    return b->options.capacity != 0 && !is_static && !counts ? &direct : &collect;
}

/* A budget in bytes becomes a rate when the keys are counted, but the kind is chosen now. */
static tamis_options without_budget(const tamis_options *o) {
    tamis_options sized = *o;
    if (!has_budget(o) || tamis__is_compat(o)) return sized;
    if (o->kind == TAMIS_AUTO) {
        sized.kind = tamis__plan_kind(o, tamis__native_room(o->bytes), NULL);
    }
    sized.bytes = 0;
    return sized;
}

/* All that the options determine; nothing is allocated. */
static tamis_status builder_plan(struct tamis_builder *b, const tamis_options *options) {
    tamis_status status = tamis__options_read(options, &b->options);
    if (status != TAMIS_OK) return status;
    tamis_options *o = &b->options;
    /* All keys of the set will be known, so the default is a static kind. */
    if (o->kind == TAMIS_AUTO && o->needs == 0 && !tamis__is_compat(o)) {
        o->needs = TAMIS_NEED_STATIC;
    }
    const tamis_options sized = without_budget(o);
    status = tamis__spec_read(&sized, &b->spec, &b->settings);
    if (status != TAMIS_OK) return status;
    const bool ours = b->settings.codec == NULL;
    if (ours && o->shared && (family_of(b)->caps & TAMIS_CAN_SHARE) == 0) {
        return TAMIS_E_UNSUPPORTED;
    }
    struct tamis__contents contents; /* a rate out of reach is an error now, not at the end */
    status = tamis__spec_size(&b->spec, b->settings.codec, &contents);
    if (status == TAMIS_OK) b->spec.hashing = contents.hashing;
    o->temporary = o->format = NULL;
    o->secret = NULL;
    b->way = way_of(b);
    return status;
}

/* spec.parameters point into the caller's options, which may go away. */
static tamis_status copy_parameters(struct tamis_builder *b) {
    if (b->spec.parameters == NULL) return TAMIS_OK;
    const size_t length = strlen(b->spec.parameters) + 1;
    b->parameters = tamis__alloc(&b->settings.allocator, length);
    if (b->parameters == NULL) return TAMIS_E_NOMEM;
    b->spec.parameters = memcpy(b->parameters, b->spec.parameters, length);
    return TAMIS_OK;
}

/* For the self-check.  `given`: the caller keeps the keys. */
static tamis_status open_kept(struct tamis_builder *b, bool given, const char *temporary) {
    if (!b->options.check) return TAMIS_OK;
    const uint64_t memory = b->way == &direct && !given ? b->options.memory : 0;
    const tamis_status status =
        tamis__kept_open(&b->kept, &b->settings.allocator, &b->spec.hashing, memory, temporary);
    b->given = given;
    b->kept.sums_only = given || b->way != &direct; /* they have all hashes already */
    return status;
}

/* Opens what receives the keys. */
static tamis_status builder_open(struct tamis_builder *b, bool given, const char *temporary) {
    const tamis_status status = open_kept(b, given, temporary);
    return status == TAMIS_OK ? b->way->open(b, temporary) : status;
}

/* A builder to which no keys can be added yet.  On failure it may have to be freed. */
static tamis_status builder_new(const tamis_options *options, struct tamis_builder **out) {
    struct tamis_builder plan = {.count = 0};
    tamis_status status = builder_plan(&plan, options);
    if (status != TAMIS_OK) return status;
    struct tamis_builder *b = tamis__alloc(&plan.settings.allocator, sizeof *b);
    if (b == NULL) return TAMIS_E_NOMEM;
    *b = plan;
    tamis__mutex_open(&b->mutex);
    *out = b;
    return copy_parameters(b);
}

static tamis_status builder_create(const tamis_options *options, bool given, tamis_builder **out) {
    *out = NULL;
    tamis_status status = builder_new(options, out);
    if (status == TAMIS_OK) status = builder_open(*out, given, options->temporary);
    if (status != TAMIS_OK) {
        tamis_builder_free(*out);
        *out = NULL;
    }
    return status;
}

tamis_status tamis_builder_create(const tamis_options *options, tamis_builder **out) {
    return out == NULL ? TAMIS_E_ARGUMENT : builder_create(options, false, out);
}

/* Frees what received the keys. */
static void builder_close(struct tamis_builder *b) {
    tamis__keys_free(b->keys);
    tamis_free(b->filter);
    tamis__sequence_free(&b->sequence);
    tamis__kept_close(&b->kept);
    b->keys = NULL;
    b->filter = NULL;
    b->way = NULL;
}

void tamis_builder_free(tamis_builder *b) {
    if (b == NULL) return;
    builder_close(b);
    tamis__mutex_close(&b->mutex);
    const tamis_allocator a = b->settings.allocator;
    if (b->parameters != NULL) tamis__release(&a, b->parameters, strlen(b->parameters) + 1);
    tamis__release(&a, b, sizeof *b);
}

/* --------------------------------------------------------------------- adding */

uint64_t tamis_builder_hash(const tamis_builder *b, const void *key, size_t length) {
    return tamis__hash_key(&b->spec.hashing, key, length).lo;
}

void tamis_builder_hash_batch(const tamis_builder *b, const void *const *keys,
                              const size_t *lengths, size_t count, uint64_t *hashes) {
    tamis__hash_keys(&b->spec.hashing, b->settings.portable, keys, lengths, count, hashes, NULL);
}

tamis_status tamis_builder_composer(const tamis_builder *b, tamis_composer **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (b == NULL) return TAMIS_E_ARGUMENT;
    return tamis__composer_create(&b->spec.hashing, &b->settings.allocator, out);
}

uint64_t tamis_builder_count(const tamis_builder *b) {
    if (b->keys != NULL) return tamis__keys_count(b->keys);
    struct tamis__mutex *mutex = (struct tamis__mutex *)&b->mutex; /* not part of the value */
    tamis__mutex_lock(mutex);
    const uint64_t count = b->count;
    tamis__mutex_unlock(mutex);
    return count;
}

/* Adds hashes, and keeps those that were added. */
static tamis_status builder_take(tamis_builder *b, const uint64_t *lo, const uint64_t *hi,
                                 size_t count) {
    size_t done = 0;
    const bool kept = b->options.check && (b->given || b->way != &collect);
    if (!kept) return b->way->add(b, lo, hi, count, &done);
    tamis__mutex_lock(&b->mutex);
    tamis_status status = tamis__kept_reserve(&b->kept, count);
    tamis__mutex_unlock(&b->mutex);
    if (status != TAMIS_OK) return status;
    status = b->way->add(b, lo, hi, count, &done);
    tamis__mutex_lock(&b->mutex);
    tamis__kept_add(&b->kept, lo, hi, done, count);
    tamis__mutex_unlock(&b->mutex);
    return status;
}

tamis_status tamis_builder_add_hash_batch(tamis_builder *b, const uint64_t *hashes, size_t count) {
    if (b == NULL || b->way == NULL || (hashes == NULL && count != 0)) return TAMIS_E_ARGUMENT;
    if (!tamis__hashing_is_narrow(&b->spec.hashing)) return TAMIS_E_UNSUPPORTED;
    return builder_take(b, hashes, NULL, count);
}

tamis_status tamis_builder_add_hash(tamis_builder *b, uint64_t hash) {
    return tamis_builder_add_hash_batch(b, &hash, 1);
}

tamis_status tamis_builder_add_batch(tamis_builder *b, const void *const *keys,
                                     const size_t *lengths, size_t count) {
    if (b == NULL || (count != 0 && (keys == NULL || lengths == NULL))) return TAMIS_E_ARGUMENT;
    if (b->way == NULL || b->spec.hashing.id == TAMIS_HASH_NONE) return TAMIS_E_ARGUMENT;
    uint64_t lo[TAMIS__HASHED_AT_ONCE], hi[TAMIS__HASHED_AT_ONCE];
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        if (!tamis__hashing_takes(&b->spec.hashing, lengths[i])) return TAMIS_E_KEY;
    }
    for (size_t at = 0; at < count && status == TAMIS_OK; at += TAMIS__HASHED_AT_ONCE) {
        const size_t n = count - at < TAMIS__HASHED_AT_ONCE ? count - at : TAMIS__HASHED_AT_ONCE;
        tamis__hash_keys(&b->spec.hashing, b->settings.portable, keys + at, lengths + at, n, lo,
                         hi);
        status = builder_take(b, lo, hi, n);
    }
    return status;
}

tamis_status tamis_builder_add(tamis_builder *b, const void *key, size_t length) {
    if (key == NULL && length != 0) return TAMIS_E_ARGUMENT;
    return tamis_builder_add_batch(b, &key, &length, 1);
}

/* ------------------------------------------------------------------- finishing */

/* Queries all keys, where they are. */
static tamis_status builder_check(const tamis_builder *b, const struct tamis__given *given,
                                  tamis_filter *f) {
    const struct tamis__sequence *s = &b->sequence;
    struct tamis__given own = {.collected = b->keys, .count = s->count};
    own.hashes = s->lo;
    own.upper = s->hi;
    if (given == NULL && b->way != &direct) given = &own;
    return tamis__self_check(f, &b->kept, given, b->spec.threads);
}

/* `given`: the keys, if the caller keeps them; else NULL. */
static tamis_status builder_finish(tamis_builder *b, const struct tamis__given *given,
                                   tamis_filter **out) {
    tamis_status status = b->way->finish(b, out);
    if (status == TAMIS_OK && b->options.check) {
        status = builder_check(b, given, *out);
    }
    if (status != TAMIS_OK) {
        const int why = errno;
        tamis_free(*out);
        *out = NULL;
        errno = why;
    }
    builder_close(b);
    return status;
}

tamis_status tamis_builder_finish(tamis_builder *b, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (b == NULL || b->way == NULL) return TAMIS_E_ARGUMENT;
    return builder_finish(b, NULL, out);
}

/* ----------------------------------------------------------------- all at once */

/* Hashes that would be collected stay where they are: the array is the collection. */
tamis_status tamis_build_hash(const tamis_options *options, const uint64_t *hashes, size_t count,
                              tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (hashes == NULL && count != 0) return TAMIS_E_ARGUMENT;
    struct tamis_builder *b = NULL;
    tamis_status status = builder_new(options, &b);
    if (status == TAMIS_OK && b->way == &collect) {
        status = open_kept(b, true, NULL);
        if (b->options.check) tamis__kept_add(&b->kept, hashes, NULL, count, 0);
        if (status == TAMIS_OK) {
            status = tamis__keys_borrow(&b->settings.allocator, hashes, count, &b->keys);
        }
    } else if (status == TAMIS_OK) {
        status = builder_open(b, true, NULL);
        if (status == TAMIS_OK) status = tamis_builder_add_hash_batch(b, hashes, count);
    }
    const struct tamis__given given = {.hashes = hashes, .count = count};
    if (status == TAMIS_OK) status = builder_finish(b, &given, out);
    tamis_builder_free(b);
    return status;
}

tamis_status tamis_build(const tamis_options *options, const void *const *keys,
                         const size_t *lengths, size_t count, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    tamis_builder *b;
    *out = NULL;
    const struct tamis__given given = {.keys = keys, .lengths = lengths, .count = count};
    tamis_status status = builder_create(options, true, &b);
    if (status == TAMIS_OK) status = tamis_builder_add_batch(b, keys, lengths, count);
    if (status == TAMIS_OK) status = builder_finish(b, &given, out);
    tamis_builder_free(b);
    return status;
}
