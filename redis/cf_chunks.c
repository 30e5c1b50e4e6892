/* cf_chunks.c - a cuckoo filter of ours as bytes: a header, and pieces
 *
 * As bf_chunks.c, for CF.SCANDUMP and CF.LOADCHUNK, RDB and replicas:
 *
 *     header   u64 items           u64 deletes        u64 magic
 *              f64 error           u64 capacity       u64 limit
 *              u64 buckets         u64 sub-filters    u64 slots of the newest
 *              u64 other slots     u32 bucket size    u32 iterations
 *              u32 expansion       u32 shards of the tally
 *              a bit for each shard that is there, 32 bytes
 *              the store (store.c)
 *              u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     pieces   the segments of the store, then the shards of the tally, numbered through
 *
 * RedisBloom takes no such header: its own has 38 bytes. */
#include <string.h>

#include "cf.h"
#include "memory.h"
#include "pieces.h"

#define MAGIC UINT64_C(0x0131464373696d74) /* "tmisCF1\1" */
#define MAGIC_AT 16

static bool is_awaited(const struct cf *f, uint32_t shard) {
    return (f->awaited[shard / 8] >> (shard % 8) & 1) != 0;
}

static void write_header(const void *filter, struct wire_writer *w) {
    const struct cf *f = filter;
    wire_put64(w, f->items);
    wire_put64(w, f->deletes);
    wire_put64(w, MAGIC);
    wire_put_double(w, f->error);
    wire_put64(w, f->capacity);
    wire_put64(w, f->limit);
    wire_put64(w, f->buckets);
    wire_put64(w, f->subfilters);
    wire_put64(w, f->last_slots);
    wire_put64(w, f->other_slots);
    wire_put32(w, f->bucket_size);
    wire_put32(w, f->iterations);
    wire_put32(w, f->expansion);
    wire_put32(w, f->tally.shards);
    uint8_t there[TALLY_SHARDS / 8] = {0};
    for (uint32_t i = 0; i < f->tally.shards; i++) {
        const bool piece = tally_piece_size(&f->tally, i) != 0 || is_awaited(f, i);
        there[i / 8] = (uint8_t)(there[i / 8] | (unsigned)piece << (i % 8));
    }
    wire_put_bytes(w, there, sizeof there);
    store_write(f->store, w);
}

uint8_t *cf_header(const struct cf *f, size_t *length) { return seal(write_header, f, length); }

bool cf_is_header(const uint8_t *bytes, size_t length) {
    return length >= MAGIC_AT + 8 && wire_load(bytes + MAGIC_AT, 8) == MAGIC;
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* The slots of all sub-filters but the newest follow from the first, and so does its own. */
static bool slots_add_up(const struct cf *f) {
    const uint64_t most = UINT64_MAX / 4;
    uint64_t last = f->buckets * f->bucket_size, others = 0;
    if (f->expansion <= 1) {
        if (f->subfilters > most / last) return false;
        others = last * (f->subfilters - 1);
    }
    for (uint64_t i = 1; f->expansion > 1 && i < f->subfilters; i++) {
        others += last;
        if (last > most / f->expansion) return false;
        last *= f->expansion;
    }
    return f->last_slots == last && f->other_slots == others && f->items <= last + others;
}

static bool is_sane(const struct cf *f, uint32_t bucket_size, uint32_t iterations) {
    return f->error > 0 && f->error < 1 && f->capacity >= 1 && f->capacity <= CF_CAPACITY_MOST &&
           is_power_of_two(f->buckets) && f->buckets <= CF_CAPACITY_MOST && bucket_size >= 1 &&
           bucket_size <= CF_BUCKET_MOST && iterations >= 1 && iterations <= CF_ITERATIONS_MOST &&
           f->expansion <= CF_EXPANSION_MOST &&
           (f->expansion == 0 || is_power_of_two(f->expansion)) && f->subfilters >= 1 &&
           f->subfilters <= CF_SUBFILTERS_MOST && (f->expansion != 0 || f->subfilters == 1);
}

static bool read_tally(struct cf *f, struct wire_reader *r, uint32_t shards) {
    const uint8_t *there = wire_take(r, sizeof f->awaited);
    if (there == NULL || (shards > 1 && shards != TALLY_SHARDS)) return false;
    for (uint32_t i = 0; i < TALLY_SHARDS; i++) {
        const bool piece = (there[i / 8] >> (i % 8) & 1) != 0;
        if (piece && i >= shards) return false;
        f->awaiting += piece;
    }
    memcpy(f->awaited, there, sizeof f->awaited);
    return tally_open(&f->tally, shards);
}

struct cf *cf_from_header(const uint8_t *bytes, size_t length) {
    struct wire_reader r = unseal(bytes, length);
    struct cf *f = r.bad || !cf_is_header(bytes, length) ? NULL : cf_new();
    if (f == NULL) return NULL;
    f->items = wire_get64(&r);
    f->deletes = wire_get64(&r);
    (void)wire_get64(&r);
    f->error = wire_get_double(&r);
    f->capacity = wire_get64(&r);
    f->limit = wire_get64(&r);
    f->buckets = wire_get64(&r);
    f->subfilters = wire_get64(&r);
    f->last_slots = wire_get64(&r);
    f->other_slots = wire_get64(&r);
    const uint32_t bucket_size = wire_get32(&r), iterations = wire_get32(&r);
    f->expansion = wire_get32(&r);
    const uint32_t shards = wire_get32(&r);
    bool good = !r.bad && is_sane(f, bucket_size, iterations);
    f->bucket_size = (uint16_t)bucket_size;
    f->iterations = (uint16_t)iterations;
    good = good && slots_add_up(f) && read_tally(f, &r, shards);
    if (good) f->store = store_read(&r, true);
    if (f->store != NULL && r.at == r.end && f->store->layer[0].capacity == f->capacity &&
        (f->limit == 0 || store_warm(f->store))) {
        return f;
    }
    cf_free(f);
    return NULL;
}

/* ---- pieces */

static uint8_t *shard_bytes(const struct tally *t, uint32_t shard, size_t *length) {
    *length = tally_piece_size(t, shard);
    uint8_t *bytes = memory_alloc(*length);
    if (bytes != NULL) tally_piece(t, shard, bytes);
    return bytes;
}

/* As in bf_chunks.c. */
static uint8_t *find_piece(const struct cf *f, uint64_t *slot, size_t *length) {
    const uint64_t segments = store_slots(f->store);
    for (; *slot < segments; ++*slot) {
        if (store_has_piece(f->store, *slot)) return store_piece(f->store, *slot, length);
    }
    for (; *slot - segments < f->tally.shards; ++*slot) {
        const uint32_t shard = (uint32_t)(*slot - segments);
        if (tally_piece_size(&f->tally, shard) != 0) return shard_bytes(&f->tally, shard, length);
    }
    return NULL;
}

uint8_t *cf_chunk(const struct cf *f, long long iterator, size_t *length, long long *next) {
    if (f->legacy != NULL) return cf_legacy_chunk(f->legacy, iterator, length, next);
    *length = 0;
    *next = iterator == 0;
    if (iterator == 0) return cf_header(f, length);
    if (iterator < 0) return NULL;
    uint64_t slot = (uint64_t)iterator - 1;
    uint8_t *piece = find_piece(f, &slot, length);
    if (piece != NULL) *next = (long long)slot + 2;
    return piece;
}

bool cf_load_piece(struct cf *f, uint64_t slot, const void *bytes, size_t length) {
    const uint64_t segments = store_slots(f->store);
    if (slot < segments) return store_load(f->store, slot, bytes, length);
    const uint64_t shard = slot - segments;
    if (shard >= f->tally.shards || !is_awaited(f, (uint32_t)shard)) return false;
    if (!tally_load(&f->tally, (uint32_t)shard, bytes, length)) return false;
    f->awaited[shard / 8] = (uint8_t)(f->awaited[shard / 8] & ~(1u << (shard % 8)));
    f->awaiting--;
    return true;
}
