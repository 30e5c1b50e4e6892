/* shards.c - see shards.h */
#include "build/shards.h"

#include <string.h>

#include "core/bytes.h"
#include "core/parallel.h"

static uint64_t directory_bytes(unsigned lg_shards) {
    return (uint64_t)TAMIS__SHARD_ENTRY << lg_shards;
}

uint64_t tamis__shards_estimate(uint64_t keys, unsigned lg_shards, double bits) {
    const double bytes = (double)keys * bits / 8;
    if (bytes > 0x1p60) return UINT64_MAX;
    return directory_bytes(lg_shards) + tamis__pad_line((uint64_t)bytes + 1);
}

/* ---- building */

struct build {
    const struct tamis__shard_maker *maker;
    struct tamis__shape own;
    struct tamis__keys *keys;
    uint64_t count;            /* of shards */
    unsigned threads, at_once; /* in all; shards that are built at a time */
    const tamis_allocator *allocator;
    struct tamis__shard *shards;
};

/* Threads for shard i: the last shards also get the threads that have no shard of their own. */
static unsigned threads_within(const struct build *b, uint64_t i) {
    const uint64_t left = b->count - i;
    return b->threads / (left < b->at_once ? (unsigned)left : b->at_once);
}

static tamis_status build_one(void *context, uint64_t i) {
    struct build *b = context;
    const unsigned threads = threads_within(b, i);
    struct tamis__group group;
    tamis_status status = tamis__keys_shard(b->keys, i, threads, &group);
    if (status != TAMIS_OK) return status;
    if (group.count != 0) {
        status = b->maker->build(b->maker, &b->own, &group, threads, b->allocator, &b->shards[i]);
        b->shards[i].keys = group.count;
    }
    tamis__group_free(&group);
    return status;
}

static void store_entry(uint8_t *entry, const struct tamis__shard *shard, uint64_t offset) {
    tamis__store64(entry, offset);
    tamis__store64(entry + 8, shard->bytes);
    tamis__store64(entry + 16, shard->keys);
    for (int i = 0; i < TAMIS__SHARD_WORDS; i++) tamis__store64(entry + 24 + 8 * i, shard->word[i]);
}

/* Joins the shards' tables, freeing each after it is copied. */
static tamis_status join(struct build *b, unsigned lg_shards, struct tamis__contents *contents) {
    const uint64_t count = (uint64_t)1 << lg_shards;
    uint64_t bytes = directory_bytes(lg_shards), keys = 0;
    for (uint64_t i = 0; i < count; i++) {
        bytes += tamis__pad_line(b->shards[i].bytes);
        keys += b->shards[i].keys;
    }
    uint8_t *table = tamis__table_alloc(b->allocator, bytes);
    if (table == NULL) return TAMIS_E_NOMEM;

    uint64_t at = directory_bytes(lg_shards);
    for (uint64_t i = 0; i < count; i++) {
        struct tamis__shard *s = &b->shards[i];
        store_entry(table + i * TAMIS__SHARD_ENTRY, s, at);
        if (s->bytes != 0) memcpy(table + at, s->table, (size_t)s->bytes);
        tamis__table_free(b->allocator, s->table, s->bytes);
        s->table = NULL;
        at += tamis__pad_line(s->bytes);
    }
    contents->shape = b->own;
    contents->shape.word[TAMIS__STATIC_LG_SHARDS] = lg_shards;
    contents->shape.word[TAMIS__STATIC_KEYS] = keys;
    contents->shape.table_bytes = bytes;
    contents->capacity = keys;
    contents->made = table;
    return TAMIS_OK;
}

/* Hashes are kept until all shards are built, and a shard may copy its own while it is built.  If
 * there are few shards, only some are built at once: otherwise a build would take three times its
 * hashes.  The other threads help with one of them. */
#define SCRATCH_MAX (1.2 * 8) /* bytes for each key of all shards */

static unsigned shards_at_once(const struct build *b, unsigned lg_shards) {
    const double scratch = b->maker->scratch + (tamis__keys_copied(b->keys) ? 8 : 0);
    const double max = (double)b->count * SCRATCH_MAX / scratch;
    const unsigned threads = tamis__keys_threads(b->keys, lg_shards, b->threads);
    return max >= threads ? threads : max > 1 ? (unsigned)max : 1;
}

tamis_status tamis__shards_build(const struct tamis__spec *spec, struct tamis__keys *keys,
                                 const tamis_allocator *a, struct tamis__contents *contents) {
    const struct tamis__shard_maker *maker = contents->family->shards;
    const unsigned lg_shards = tamis__keys_lg_shards(tamis__keys_count(keys), maker->max);
    const uint64_t count = (uint64_t)1 << lg_shards;
    struct build b = {.maker = maker, .keys = keys, .count = count, .allocator = a};
    b.threads = spec->threads < 1 ? 1 : spec->threads;
    size_t bytes;
    tamis_status status = contents->family->shape(spec, &b.own);
    if (status != TAMIS_OK) return status;
    if (!tamis__array_size(count, sizeof *b.shards, &bytes)) return TAMIS_E_NOMEM;
    b.shards = tamis__alloc(a, bytes);
    if (b.shards == NULL) return TAMIS_E_NOMEM;
    memset(b.shards, 0, bytes);

    status = tamis__keys_seal(keys, lg_shards, spec->threads, false);
    b.at_once = shards_at_once(&b, lg_shards);
    if (status == TAMIS_OK) status = tamis__parallel(b.at_once, count, build_one, &b);
    tamis__keys_drop(keys); /* frees memory for the next step */
    if (status == TAMIS_OK) status = join(&b, lg_shards, contents);
    for (uint64_t i = 0; i < count; i++) {
        tamis__table_free(a, b.shards[i].table, b.shards[i].bytes);
    }
    tamis__release(a, b.shards, bytes);
    return status;
}

/* ---- reading */

bool tamis__shards_check(const struct tamis__shape *shape) {
    const uint64_t lg_shards = shape->word[TAMIS__STATIC_LG_SHARDS];
    return lg_shards <= TAMIS__SHARDS_LG_MAX && shape->table_bytes % TAMIS_LINE == 0 &&
           shape->table_bytes >= directory_bytes((unsigned)lg_shards);
}

static bool all_zero(const uint64_t word[TAMIS__SHARD_WORDS]) {
    uint64_t any = 0;
    for (int i = 0; i < TAMIS__SHARD_WORDS; i++) any |= word[i];
    return any == 0;
}

/* Reads one entry; `*at` is where its table must begin, and moves on. */
static bool read_entry(const tamis_filter *f, uint64_t i, uint64_t *at,
                       struct tamis__shard *shard) {
    uint8_t entry[TAMIS__SHARD_ENTRY];
    tamis__copy_once(entry, f->table + i * TAMIS__SHARD_ENTRY, TAMIS__SHARD_ENTRY);
    const uint64_t offset = tamis__load64(entry);
    shard->bytes = tamis__load64(entry + 8);
    shard->keys = tamis__load64(entry + 16);
    for (int j = 0; j < TAMIS__SHARD_WORDS; j++) shard->word[j] = tamis__load64(entry + 24 + 8 * j);
    const uint64_t room = f->shape.table_bytes - *at;
    if (offset != *at || shard->bytes % 8 != 0 || shard->bytes > room) return false;
    if ((shard->keys == 0) != (shard->bytes == 0)) return false;
    if (shard->keys == 0 && !all_zero(shard->word)) return false; /* it has no parameters */
    shard->table = f->table + offset;
    *at += tamis__pad_line(shard->bytes); /* table_bytes is whole lines, so this still fits */
    return true;
}

tamis_status tamis__shards_attach(tamis_filter *f) {
    const struct tamis__shard_maker *maker = f->family->shards;
    struct tamis__static *s = (struct tamis__static *)f;
    s->lg_shards = (unsigned)f->shape.word[TAMIS__STATIC_LG_SHARDS];
    const uint64_t count = (uint64_t)1 << s->lg_shards;
    size_t bytes;
    if (!tamis__array_size(count, sizeof *s->shards, &bytes)) return TAMIS_E_NOMEM;
    s->shards = tamis__alloc(&f->settings.allocator, bytes);
    if (s->shards == NULL) return TAMIS_E_NOMEM;

    uint64_t at = directory_bytes(s->lg_shards), keys = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct tamis__shard *shard = &s->shards[i];
        if (!read_entry(f, i, &at, shard)) return TAMIS_E_CORRUPT;
        if (shard->keys != 0 && !maker->check(maker, &f->shape, shard)) return TAMIS_E_CORRUPT;
        if (shard->keys > UINT64_MAX - keys) return TAMIS_E_CORRUPT;
        keys += shard->keys;
    }
    const bool whole = at == f->shape.table_bytes && keys == f->shape.word[TAMIS__STATIC_KEYS];
    return whole ? TAMIS_OK : TAMIS_E_CORRUPT;
}

void tamis__shards_touch(const struct tamis__static *s, const struct tamis__shard *shard,
                         tamis__part_taker *take, void *context) {
    const uint64_t index = (uint64_t)(shard - s->shards);
    take(context, s->base.table + index * TAMIS__SHARD_ENTRY, TAMIS__SHARD_ENTRY);
}

void tamis__shards_detach(tamis_filter *f) {
    struct tamis__static *s = (struct tamis__static *)f;
    tamis__release(&f->settings.allocator, s->shards, sizeof *s->shards << s->lg_shards);
    s->shards = NULL;
}
