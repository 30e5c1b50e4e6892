/* cf_chunks.c - a cuckoo filter of this module as bytes: a header, and chunks
 *
 * As bf_chunks.c, for CF.SCANDUMP and CF.LOADCHUNK, RDB files and replicas:
 *
 *     header   u64 items           u64 deletes        u64 magic
 *              f64 error           u64 capacity       u64 limit
 *              u64 buckets         u64 sub-filters    u64 slots of the newest
 *              u64 other slots     u32 bucket size    u32 iterations
 *              u32 expansion       u32 shards of the exact counts
 *              a bit for each shard that has entries, 32 bytes
 *              the scalable filter (scalable.c)
 *              u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     chunks   the segments of the scalable filter, then the shards of the exact counts
 *
 * RedisBloom rejects such a header: its own has 38 bytes. */
#include <string.h>

#include "filters/cf.h"
#include "persist/serialize.h"
#include "server/memory.h"

#define MAGIC UINT64_C(0x0131464373696d74) /* "tmisCF1\1" */

static bool is_awaited(const struct cf *f, uint32_t shard) {
    return (f->awaited[shard / 8] >> (shard % 8) & 1) != 0;
}

static void write_header(const void *filter, struct byte_writer *w) {
    const struct cf *f = filter;
    byte_put64(w, f->items);
    byte_put64(w, f->deletes);
    byte_put64(w, MAGIC);
    byte_put_double(w, f->error);
    byte_put64(w, f->capacity);
    byte_put64(w, f->limit);
    byte_put64(w, f->buckets);
    byte_put64(w, f->subfilters);
    byte_put64(w, f->last_slots);
    byte_put64(w, f->other_slots);
    byte_put32(w, f->bucket_size);
    byte_put32(w, f->iterations);
    byte_put32(w, f->expansion);
    byte_put32(w, f->exact_counts.shards);
    uint8_t there[COUNTS_SHARDS / 8] = {0};
    for (uint32_t i = 0; i < f->exact_counts.shards; i++) {
        const bool chunk = exact_counts_chunk_size(&f->exact_counts, i) != 0 || is_awaited(f, i);
        there[i / 8] = (uint8_t)(there[i / 8] | (unsigned)chunk << (i % 8));
    }
    byte_put_bytes(w, there, sizeof there);
    scalable_write(f->scalable, w);
}

static uint8_t *cf_header(const void *filter, size_t *length) {
    return seal(write_header, filter, length);
}

static bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* The slots of all sub-filters follow from those of the first. */
static bool slots_add_up(const struct cf *f) {
    const uint64_t max = UINT64_MAX / 4;
    uint64_t last = f->buckets * f->bucket_size, others = 0;
    if (f->expansion <= 1) {
        if (f->subfilters > max / last) return false;
        others = last * (f->subfilters - 1);
    }
    for (uint64_t i = 1; f->expansion > 1 && i < f->subfilters; i++) {
        others += last;
        if (last > max / f->expansion) return false;
        last *= f->expansion;
    }
    return f->last_slots == last && f->other_slots == others && f->items <= last + others;
}

static bool is_sane(const struct cf *f, uint32_t bucket_size, uint32_t iterations) {
    return f->error > 0 && f->error < 1 && f->capacity >= 1 && f->capacity <= CF_CAPACITY_MAX &&
           is_power_of_two(f->buckets) && f->buckets <= CF_CAPACITY_MAX && bucket_size >= 1 &&
           bucket_size <= CF_BUCKET_MAX && iterations >= 1 && iterations <= CF_ITERATIONS_MAX &&
           f->expansion <= CF_EXPANSION_MAX &&
           (f->expansion == 0 || is_power_of_two(f->expansion)) && f->subfilters >= 1 &&
           f->subfilters <= CF_SUBFILTERS_MAX && (f->expansion != 0 || f->subfilters == 1);
}

static bool read_counts(struct cf *f, struct byte_reader *r, uint32_t shards) {
    const uint8_t *there = byte_take(r, sizeof f->awaited);
    if (there == NULL || (shards > 1 && shards != COUNTS_SHARDS)) return false;
    for (uint32_t i = 0; i < COUNTS_SHARDS; i++) {
        const bool chunk = (there[i / 8] >> (i % 8) & 1) != 0;
        if (chunk && i >= shards) return false;
        f->awaiting += chunk;
    }
    memcpy(f->awaited, there, sizeof f->awaited);
    return exact_counts_open(&f->exact_counts, shards);
}

static void *cf_from_header(struct byte_reader *r) {
    struct cf *f = cf_new();
    if (f == NULL) return NULL;
    f->items = byte_get64(r);
    f->deletes = byte_get64(r);
    (void)byte_get64(r);
    f->error = byte_get_double(r);
    f->capacity = byte_get64(r);
    f->limit = byte_get64(r);
    f->buckets = byte_get64(r);
    f->subfilters = byte_get64(r);
    f->last_slots = byte_get64(r);
    f->other_slots = byte_get64(r);
    const uint32_t bucket_size = byte_get32(r), iterations = byte_get32(r);
    f->expansion = byte_get32(r);
    const uint32_t shards = byte_get32(r);
    bool good = !r->bad && is_sane(f, bucket_size, iterations);
    f->bucket_size = (uint16_t)bucket_size;
    f->iterations = (uint16_t)iterations;
    good = good && slots_add_up(f) && read_counts(f, r, shards);
    if (good) f->scalable = scalable_read(r, true);
    if (f->scalable != NULL && r->at == r->end && f->scalable->stage[0].capacity == f->capacity &&
        (f->limit == 0 || scalable_warm(f->scalable))) {
        return f;
    }
    cf_free(f);
    return NULL;
}

/* ---- chunks */

static uint8_t *shard_bytes(const struct exact_counts *t, uint32_t shard, size_t *length) {
    *length = exact_counts_chunk_size(t, shard);
    uint8_t *bytes = memory_alloc(*length);
    if (bytes != NULL) exact_counts_chunk(t, shard, bytes);
    return bytes;
}

static uint8_t *cf_chunk(const void *filter, uint64_t *index, size_t *length) {
    const struct cf *f = filter;
    const uint64_t segments = scalable_chunks(f->scalable);
    for (; *index < segments; ++*index) {
        if (scalable_has_chunk(f->scalable, *index))
            return scalable_chunk(f->scalable, *index, length);
    }
    for (; *index - segments < f->exact_counts.shards; ++*index) {
        const uint32_t shard = (uint32_t)(*index - segments);
        if (exact_counts_chunk_size(&f->exact_counts, shard) != 0)
            return shard_bytes(&f->exact_counts, shard, length);
    }
    return NULL;
}

static bool cf_load_chunk(void *filter, uint64_t index, const void *bytes, size_t length) {
    struct cf *f = filter;
    const uint64_t segments = scalable_chunks(f->scalable);
    if (index < segments) return scalable_load(f->scalable, index, bytes, length);
    const uint64_t shard = index - segments;
    if (shard >= f->exact_counts.shards || !is_awaited(f, (uint32_t)shard)) return false;
    if (!exact_counts_load(&f->exact_counts, (uint32_t)shard, bytes, length)) return false;
    f->awaited[shard / 8] = (uint8_t)(f->awaited[shard / 8] & ~(1u << (shard % 8)));
    f->awaiting--;
    return true;
}

const struct chunk_ops cf_ops = {.command = "CF.LOADCHUNK",
                                 .magic = MAGIC,
                                 .header = cf_header,
                                 .chunk = cf_chunk,
                                 .from_header = cf_from_header,
                                 .load_chunk = cf_load_chunk,
                                 .free = cf_free};
