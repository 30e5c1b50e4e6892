/* shards.c - see shards.h */
#include "family/shards.h"

#include <string.h>

#include "core/bytes.h"
#include "core/parallel.h"

static uint64_t padded(uint64_t bytes) {
    return (bytes + TAMIS_LINE - 1) & ~(uint64_t)(TAMIS_LINE - 1);
}

static uint64_t directory_bytes(unsigned lg_shards) {
    return (uint64_t)TAMIS__SHARD_ENTRY << lg_shards;
}

uint64_t tamis__shards_estimate(uint64_t keys, unsigned lg_shards, double bits) {
    const double bytes = (double)keys * bits / 8;
    if (bytes > 0x1p60) return UINT64_MAX;
    return directory_bytes(lg_shards) + padded((uint64_t)bytes + 1);
}

/* ---- building */

struct build {
    const struct tamis__shard_maker *maker;
    const struct tamis__shape *own;
    struct tamis__keys *keys;
    uint64_t count;            /* of shards */
    unsigned threads, at_once; /* in all; shards that are built at a time */
    const tamis_allocator *allocator;
    struct tamis__shard *shards;
};

/* Threads for shard i: the last ones have those that find no shard of their own any more. */
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
        status = b->maker->build(b->own, &group, threads, b->allocator, &b->shards[i]);
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

/* Puts the shards' tables together, freeing each as soon as it is copied. */
static tamis_status join(struct build *b, unsigned lg_shards, tamis_filter *f) {
    const uint64_t count = (uint64_t)1 << lg_shards;
    uint64_t bytes = directory_bytes(lg_shards), keys = 0;
    for (uint64_t i = 0; i < count; i++) {
        bytes += padded(b->shards[i].bytes);
        keys += b->shards[i].keys;
    }
    uint8_t *table = tamis__table_alloc(&f->allocator, bytes);
    if (table == NULL) return TAMIS_E_NOMEM;

    uint64_t at = directory_bytes(lg_shards);
    for (uint64_t i = 0; i < count; i++) {
        struct tamis__shard *s = &b->shards[i];
        store_entry(table + i * TAMIS__SHARD_ENTRY, s, at);
        if (s->bytes != 0) memcpy(table + at, s->table, (size_t)s->bytes);
        tamis__table_free(&f->allocator, s->table, s->bytes);
        s->table = NULL;
        at += padded(s->bytes);
    }
    f->shape = *b->own;
    f->shape.word[TAMIS__STATIC_LG_SHARDS] = lg_shards;
    f->shape.word[TAMIS__STATIC_KEYS] = keys;
    f->shape.table_bytes = bytes;
    f->capacity = keys;
    tamis__filter_own(f, table);
    return TAMIS_OK;
}

/* Hashes are kept until all shards are built, and a shard may have its own once more while it is:
 * of few shards not too many are built at once, or a build would take three times its hashes.
 * Threads that find no shard help with one. */
#define SCRATCH_MOST (1.2 * 8) /* bytes for each key of all shards */

static unsigned shards_at_once(const struct build *b, unsigned lg_shards) {
    const double scratch = b->maker->scratch + (tamis__keys_copied(b->keys) ? 8 : 0);
    const double most = (double)b->count * SCRATCH_MOST / scratch;
    const unsigned threads = tamis__keys_threads(b->keys, lg_shards, b->threads);
    return most >= threads ? threads : most > 1 ? (unsigned)most : 1;
}

tamis_status tamis__shards_build(const struct tamis__shard_maker *maker,
                                 const struct tamis__shape *own, unsigned threads,
                                 struct tamis__keys *keys, tamis_filter *f) {
    const unsigned lg_shards = tamis__keys_lg_shards(tamis__keys_count(keys), maker->most);
    const uint64_t count = (uint64_t)1 << lg_shards;
    struct build b = {maker, own, keys, count, threads < 1 ? 1 : threads, 1, &f->allocator, NULL};
    size_t bytes;
    if (!tamis__array_size(count, sizeof *b.shards, &bytes)) return TAMIS_E_NOMEM;
    b.shards = tamis__alloc(&f->allocator, bytes);
    if (b.shards == NULL) return TAMIS_E_NOMEM;
    memset(b.shards, 0, bytes);

    tamis_status status = tamis__keys_seal(keys, lg_shards, threads, false);
    b.at_once = shards_at_once(&b, lg_shards);
    if (status == TAMIS_OK) status = tamis__parallel(b.at_once, count, build_one, &b);
    tamis__keys_drop(keys); /* memory for what follows */
    if (status == TAMIS_OK) status = join(&b, lg_shards, f);
    for (uint64_t i = 0; i < count; i++) {
        tamis__table_free(&f->allocator, b.shards[i].table, b.shards[i].bytes);
    }
    tamis__release(&f->allocator, b.shards, bytes);
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
static bool read_entry(const tamis_filter *f, const uint8_t *entry, uint64_t *at,
                       struct tamis__shard *shard) {
    const uint64_t offset = tamis__load64(entry);
    shard->bytes = tamis__load64(entry + 8);
    shard->keys = tamis__load64(entry + 16);
    for (int i = 0; i < TAMIS__SHARD_WORDS; i++) shard->word[i] = tamis__load64(entry + 24 + 8 * i);
    const uint64_t room = f->shape.table_bytes - *at;
    if (offset != *at || shard->bytes % 8 != 0 || shard->bytes > room) return false;
    if ((shard->keys == 0) != (shard->bytes == 0)) return false;
    if (shard->keys == 0 && !all_zero(shard->word)) return false; /* they would tell of a table */
    shard->table = f->table + offset;
    *at += padded(shard->bytes); /* table_bytes is a multiple of a line, so this still fits */
    return true;
}

tamis_status tamis__shards_attach(const struct tamis__shard_maker *maker, tamis_filter *f) {
    struct tamis__static *s = (struct tamis__static *)f;
    s->lg_shards = (unsigned)f->shape.word[TAMIS__STATIC_LG_SHARDS];
    const uint64_t count = (uint64_t)1 << s->lg_shards;
    size_t bytes;
    if (!tamis__array_size(count, sizeof *s->shards, &bytes)) return TAMIS_E_NOMEM;
    s->shards = tamis__alloc(&f->allocator, bytes);
    if (s->shards == NULL) return TAMIS_E_NOMEM;

    uint64_t at = directory_bytes(s->lg_shards), keys = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct tamis__shard *shard = &s->shards[i];
        if (!read_entry(f, f->table + i * TAMIS__SHARD_ENTRY, &at, shard)) return TAMIS_E_CORRUPT;
        if (shard->keys != 0 && !maker->check(&f->shape, shard)) return TAMIS_E_CORRUPT;
        if (shard->keys > UINT64_MAX - keys) return TAMIS_E_CORRUPT;
        keys += shard->keys;
    }
    const bool whole = at == f->shape.table_bytes && keys == f->shape.word[TAMIS__STATIC_KEYS];
    return whole ? TAMIS_OK : TAMIS_E_CORRUPT;
}

void tamis__shards_detach(tamis_filter *f) {
    struct tamis__static *s = (struct tamis__static *)f;
    if (s->shards == NULL) return;
    tamis__release(&f->allocator, s->shards, sizeof *s->shards << s->lg_shards);
    s->shards = NULL;
}
