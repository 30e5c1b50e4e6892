/* bf_chunks.c - a Bloom filter of this module as bytes: a header, and a chunk for each segment
 *
 * BF.SCANDUMP returns these, BF.LOADCHUNK takes them, RDB files contain them, and replicas receive
 * the header of a new filter.
 *
 *     header   u64 items           u64 0              u64 magic
 *              f64 error           u64 capacity       u32 expansion    u32 generations per window
 *              u64 limit           u64 window         u32 generations  u32 0
 *              for each generation: u64 sub-filters, u64 capacity of all but the newest,
 *                  u64 capacity and u64 size of the newest, u64 first capacity, u64 epoch,
 *                  u64 1 if merged, the scalable filter (scalable.c)
 *              u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     chunk    a segment as a .tamis file, or a bare table (stage.c)
 *
 * RedisBloom rejects such a header: it has 0 where RedisBloom has the number of sub-filters.
 * Chunks are numbered over all segments, empty ones included; the iterator of a chunk is its number
 * + 2.  They may be loaded in any order.  Until all are loaded, queries of missing segments return
 * "possibly in the set", and adds fail. */
#include <string.h>

#include "filters/bf.h"
#include "persist/serialize.h"
#include "server/memory.h"

#define MAGIC UINT64_C(0x0131464273696d74) /* "tmisBF1\1" */

static void write_header(const void *filter, struct byte_writer *w) {
    const struct bf *f = filter;
    byte_put64(w, bf_numbers(f).items);
    byte_put64(w, 0);
    byte_put64(w, MAGIC);
    byte_put_double(w, f->error);
    byte_put64(w, f->capacity);
    byte_put32(w, f->expansion);
    byte_put32(w, f->per_window);
    byte_put64(w, f->limit);
    byte_put64(w, f->window);
    byte_put32(w, f->generations);
    byte_put32(w, 0);
    for (uint32_t i = 0; i < f->generations; i++) {
        const struct generation *c = &f->in.generation[i];
        byte_put64(w, c->subfilters);
        byte_put64(w, c->before);
        byte_put64(w, c->last_capacity);
        byte_put64(w, c->last_size);
        byte_put64(w, c->first_capacity);
        byte_put64(w, c->epoch);
        byte_put64(w, c->merged);
        scalable_write(c->scalable, w);
    }
}

static uint8_t *bf_header(const void *filter, size_t *length) {
    if (!bf_is_small(filter)) return seal(write_header, filter, length);
    struct bf *unpacked = bf_unpacked(filter);
    *length = sizeof *unpacked; /* reported if memory runs out */
    uint8_t *header = unpacked == NULL ? NULL : seal(write_header, unpacked, length);
    bf_free(unpacked);
    return header;
}

/* All numbers are bounded so that no sum or product of them can overflow. */
static bool is_sane(const struct bf *f, uint32_t generations) {
    const bool window = f->window == 0 ? f->per_window == 0
                                       : f->per_window >= 1 && f->per_window <= BF_PER_WINDOW_MAX &&
                                             f->window < (uint64_t)1 << 50;
    return window && f->error > 0 && f->error <= BF_ERROR_MAX && f->capacity >= 1 &&
           f->capacity <= BF_CAPACITY_MAX && f->expansion <= BF_EXPANSION_MAX && generations >= 1 &&
           generations <= BF_GENERATIONS_MAX;
}

/* All sub-filters but the newest have at least one item. */
static bool generation_is_sane(const struct generation *c) {
    return c->subfilters >= 1 && c->subfilters - 1 <= c->before && c->before <= BF_ITEMS_MAX &&
           c->last_capacity <= BF_ITEMS_MAX && c->last_capacity >= 1 &&
           c->last_size <= c->last_capacity && c->first_capacity >= 1 &&
           c->first_capacity <= BF_CAPACITY_MAX && c->epoch < (uint64_t)1 << 60;
}

static bool read_generation(struct bf *f, struct byte_reader *r) {
    struct generation c = {.subfilters = byte_get64(r)};
    c.before = byte_get64(r);
    c.last_capacity = byte_get64(r);
    c.last_size = byte_get64(r);
    c.first_capacity = byte_get64(r);
    c.epoch = byte_get64(r);
    c.merged = byte_get64(r) != 0;
    if (r->bad || !generation_is_sane(&c)) return false;
    c.scalable = scalable_read(r, false);
    if (c.scalable == NULL) return false;
    f->in.generation[f->generations++] = c;
    return c.scalable->stage[0].capacity == c.first_capacity;
}

/* With a window: no merged filters, newest generation first, as bf_turn expects. */
static bool is_in_turn(const struct bf *f, uint32_t i) {
    const struct generation *c = &f->in.generation[i];
    if (i == 0) return !c->merged;
    return f->window == 0 || (!c->merged && c->epoch < c[-1].epoch);
}

static bool read_generations(struct bf *f, uint32_t generations, struct byte_reader *r) {
    f->in.generation = memory_alloc(generations * sizeof *f->in.generation);
    if (f->in.generation == NULL) return false;
    while (f->generations < generations) {
        if (!read_generation(f, r) || !is_in_turn(f, f->generations - 1)) return false;
    }
    return r->at == r->end;
}

static void *bf_from_header(struct byte_reader *r) {
    struct bf *f = bf_new();
    if (f == NULL) return NULL;
    const uint64_t items = byte_get64(r), zero = byte_get64(r);
    (void)byte_get64(r);
    f->error = byte_get_double(r);
    f->capacity = byte_get64(r);
    f->expansion = byte_get32(r);
    f->per_window = byte_get32(r);
    f->limit = byte_get64(r);
    f->window = byte_get64(r);
    const uint32_t generations = byte_get32(r);
    const uint32_t reserved = byte_get32(r);
    if (r->bad || zero != 0 || reserved != 0 || !is_sane(f, generations) ||
        !read_generations(f, generations, r) || bf_numbers(f).items != items ||
        !scalable_warm(f->in.generation[0].scalable)) {
        bf_free(f);
        return NULL;
    }
    if (!bf_is_loading(f)) bf_pack(f);
    return f;
}

/* ---- chunks */

static uint8_t *find_chunk(const struct bf *f, uint64_t *index, size_t *length) {
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->generations; i++) {
        const struct scalable *s = f->in.generation[i].scalable;
        const uint64_t chunks = scalable_chunks(s);
        for (; *index < before + chunks; ++*index) {
            const uint64_t own = *index - before;
            if (scalable_has_chunk(s, own)) return scalable_chunk(s, own, length);
        }
        before += chunks;
    }
    return NULL;
}

static uint8_t *bf_chunk(const void *filter, uint64_t *index, size_t *length) {
    const struct bf *f = filter;
    if (!bf_is_small(f)) return find_chunk(f, index, length);
    if (*index != 0 || bf_small_keys(f->in.bf_small) == 0) return NULL;
    struct bf *unpacked = bf_unpacked(f);
    *length = bf_small_bytes(f->in.bf_small);
    uint8_t *chunk = unpacked == NULL ? NULL : find_chunk(unpacked, index, length);
    bf_free(unpacked);
    return chunk;
}

uint64_t bf_chunks(const struct bf *f) {
    uint64_t chunks = bf_is_small(f);
    for (uint32_t i = 0; i < f->generations; i++)
        chunks += scalable_chunks(f->in.generation[i].scalable);
    return chunks;
}

static bool bf_load_chunk(void *filter, uint64_t index, const void *bytes, size_t length) {
    struct bf *f = filter;
    for (uint32_t i = 0; i < f->generations; i++) {
        const uint64_t chunks = scalable_chunks(f->in.generation[i].scalable);
        if (index < chunks) {
            const bool good = scalable_load(f->in.generation[i].scalable, index, bytes, length);
            if (!bf_is_loading(f)) bf_pack(f);
            return good;
        }
        index -= chunks;
    }
    return false;
}

const struct chunk_ops bf_ops = {.command = "BF.LOADCHUNK",
                                 .magic = MAGIC,
                                 .header = bf_header,
                                 .chunk = bf_chunk,
                                 .from_header = bf_from_header,
                                 .load_chunk = bf_load_chunk,
                                 .free = bf_free};
