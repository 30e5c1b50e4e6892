/* bf_chunks.c - a Bloom filter of ours as bytes: a header, and a piece for each segment
 *
 * This is what BF.SCANDUMP gives and BF.LOADCHUNK takes, what an RDB file holds, and what a
 * replica is sent when a filter is made (the header alone: nothing is in it yet).
 *
 *     header   u64 items           u64 0              u64 magic
 *              f64 error           u64 capacity       u32 expansion    u32 generations
 *              u64 limit           u64 window         u32 chains       u32 0
 *              for each chain: u64 links, u64 before, u64 last capacity, u64 last size,
 *                              u64 first capacity, u64 epoch, u64 guest, the store (store.c)
 *              u64 checksum of all before: SipHash-2-4 with a secret of zeros
 *     piece    a segment as a .tamis file, or a bare table (layer.c)
 *
 * RedisBloom takes no such header: where it has the number of links there is 0.  A piece is
 * known by its number among all segments, empty ones included; its iterator is that number + 2.
 * The order does not matter.  Until all are there the filter answers "maybe" for the missing
 * ones, and takes no items. */
#include <string.h>

#include "bf.h"
#include "memory.h"
#include "pieces.h"

#define MAGIC UINT64_C(0x0131464273696d74) /* "tmisBF1\1" */
#define MAGIC_AT 16

static void write_header(const void *filter, struct wire_writer *w) {
    const struct bf *f = filter;
    wire_put64(w, bf_numbers(f).items);
    wire_put64(w, 0);
    wire_put64(w, MAGIC);
    wire_put_double(w, f->error);
    wire_put64(w, f->capacity);
    wire_put32(w, f->expansion);
    wire_put32(w, f->generations);
    wire_put64(w, f->limit);
    wire_put64(w, f->window);
    wire_put32(w, f->chains);
    wire_put32(w, 0);
    for (uint32_t i = 0; i < f->chains; i++) {
        const struct chain *c = &f->in.chain[i];
        wire_put64(w, c->links);
        wire_put64(w, c->before);
        wire_put64(w, c->last_capacity);
        wire_put64(w, c->last_size);
        wire_put64(w, c->first_capacity);
        wire_put64(w, c->epoch);
        wire_put64(w, c->guest);
        store_write(c->store, w);
    }
}

uint8_t *bf_header(const struct bf *f, size_t *length) {
    if (!bf_is_bud(f)) return seal(write_header, f, length);
    struct bf *whole = bf_whole(f);
    *length = sizeof *whole; /* not to be had, if there is none */
    uint8_t *header = whole == NULL ? NULL : seal(write_header, whole, length);
    bf_free(whole);
    return header;
}

bool bf_is_header(const uint8_t *bytes, size_t length) {
    return length >= MAGIC_AT + 8 && wire_load(bytes + MAGIC_AT, 8) == MAGIC;
}

/* All numbers are bounded so that no sum or product of them can wrap. */
static bool is_sane(const struct bf *f, uint32_t chains) {
    const bool window = f->window == 0
                            ? f->generations == 0
                            : f->generations >= 1 && f->generations <= BF_GENERATIONS_MOST &&
                                  f->window < (uint64_t)1 << 50;
    return window && f->error > 0 && f->error <= BF_ERROR_MOST && f->capacity >= 1 &&
           f->capacity <= BF_CAPACITY_MOST && f->expansion <= BF_EXPANSION_MOST && chains >= 1 &&
           chains <= BF_CHAINS_MOST;
}

/* All links but the newest have had an item at least. */
static bool chain_is_sane(const struct chain *c) {
    return c->links >= 1 && c->links - 1 <= c->before && c->before <= BF_RECKONED_MOST &&
           c->last_capacity <= BF_RECKONED_MOST && c->last_capacity >= 1 &&
           c->last_size <= c->last_capacity && c->first_capacity >= 1 &&
           c->first_capacity <= BF_CAPACITY_MOST && c->epoch < (uint64_t)1 << 60;
}

static bool read_chain(struct bf *f, struct wire_reader *r) {
    struct chain c = {.links = wire_get64(r)};
    c.before = wire_get64(r);
    c.last_capacity = wire_get64(r);
    c.last_size = wire_get64(r);
    c.first_capacity = wire_get64(r);
    c.epoch = wire_get64(r);
    c.guest = wire_get64(r) != 0;
    if (r->bad || !chain_is_sane(&c)) return false;
    c.store = store_read(r, false);
    if (c.store == NULL) return false;
    f->in.chain[f->chains++] = c;
    return c.store->layer[0].capacity == c.first_capacity;
}

/* With a window: generations alone, newest first, so that a turn leaves no more than it may. */
static bool is_in_turn(const struct bf *f, uint32_t i) {
    const struct chain *c = &f->in.chain[i];
    if (i == 0) return !c->guest;
    return f->window == 0 || (!c->guest && c->epoch < c[-1].epoch);
}

static bool read_chains(struct bf *f, uint32_t chains, struct wire_reader *r) {
    f->in.chain = memory_alloc(chains * sizeof *f->in.chain);
    if (f->in.chain == NULL) return false;
    while (f->chains < chains) {
        if (!read_chain(f, r) || !is_in_turn(f, f->chains - 1)) return false;
    }
    return r->at == r->end;
}

struct bf *bf_from_header(const uint8_t *bytes, size_t length) {
    struct wire_reader r = unseal(bytes, length);
    struct bf *f = r.bad || !bf_is_header(bytes, length) ? NULL : bf_new();
    if (f == NULL) return NULL;
    const uint64_t items = wire_get64(&r), zero = wire_get64(&r);
    (void)wire_get64(&r);
    f->error = wire_get_double(&r);
    f->capacity = wire_get64(&r);
    f->expansion = wire_get32(&r);
    f->generations = wire_get32(&r);
    f->limit = wire_get64(&r);
    f->window = wire_get64(&r);
    const uint32_t chains = wire_get32(&r);
    const uint32_t reserved = wire_get32(&r);
    if (r.bad || zero != 0 || reserved != 0 || !is_sane(f, chains) || !read_chains(f, chains, &r) ||
        bf_numbers(f).items != items || !store_warm(f->in.chain[0].store)) {
        bf_free(f);
        return NULL;
    }
    if (!bf_is_loading(f)) bf_pack(f);
    return f;
}

/* ---- pieces */

/* The first piece at or after `*slot`, which becomes its number; NULL if there is none, with
 * `*length` as it was, or if there is no memory for so many bytes. */
static uint8_t *find_piece(const struct bf *f, uint64_t *slot, size_t *length) {
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->chains; i++) {
        const struct store *s = f->in.chain[i].store;
        const uint64_t slots = store_slots(s);
        for (; *slot < before + slots; ++*slot) {
            const uint64_t own = *slot - before;
            if (store_has_piece(s, own)) return store_piece(s, own, length);
        }
        before += slots;
    }
    return NULL;
}

static uint8_t *bud_piece(const struct bf *f, uint64_t *slot, size_t *length) {
    if (*slot != 0 || bud_keys(f->in.bud) == 0) return NULL;
    struct bf *whole = bf_whole(f);
    *length = bud_bytes(f->in.bud);
    uint8_t *piece = whole == NULL ? NULL : find_piece(whole, slot, length);
    bf_free(whole);
    return piece;
}

uint8_t *bf_chunk(const struct bf *f, long long iterator, size_t *length, long long *next) {
    if (f->legacy != NULL) return bf_legacy_chunk(f->legacy, iterator, length, next);
    *length = 0;
    *next = iterator == 0;
    if (iterator == 0) return bf_header(f, length);
    if (iterator < 0) return NULL;
    uint64_t slot = (uint64_t)iterator - 1;
    uint8_t *piece = (bf_is_bud(f) ? bud_piece : find_piece)(f, &slot, length);
    if (piece != NULL) *next = (long long)slot + 2;
    return piece;
}

uint64_t bf_slots(const struct bf *f) {
    uint64_t slots = bf_is_bud(f);
    for (uint32_t i = 0; i < f->chains; i++) slots += store_slots(f->in.chain[i].store);
    return slots;
}

bool bf_load_piece(struct bf *f, uint64_t slot, const void *bytes, size_t length) {
    for (uint32_t i = 0; i < f->chains; i++) {
        const uint64_t slots = store_slots(f->in.chain[i].store);
        if (slot < slots) {
            const bool good = store_load(f->in.chain[i].store, slot, bytes, length);
            if (!bf_is_loading(f)) bf_pack(f);
            return good;
        }
        slot -= slots;
    }
    return false;
}
