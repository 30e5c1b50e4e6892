/* filters.c - see filters.h */
#define _DEFAULT_SOURCE 1
#include "filters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ variants */

#define VARIANTS_MAX 64

static struct variant variants[VARIANTS_MAX];
static size_t variants_used;

static void variant_add(tamis_kind kind, uint32_t arity, tamis_kind stage) {
    if (variants_used == VARIANTS_MAX) return;
    struct variant *v = &variants[variants_used];
    *v = (struct variant){
        .kind = kind, .arity = arity, .stage = stage, .caps = tamis_kind_caps(kind)};
    const char *name = tamis_kind_name(kind);
    if (!run_wants(name)) return;
    if (arity != 0) {
        snprintf(v->name, sizeof v->name, "%s/%u", name, (unsigned)arity);
    } else if (stage != TAMIS_AUTO) {
        snprintf(v->name, sizeof v->name, "%s/%s", name, tamis_kind_name(stage));
    } else {
        snprintf(v->name, sizeof v->name, "%s", name);
    }
    variants_used++;
}

const struct variant *variant_at(size_t index) {
    if (variants_used == 0) {
        for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
            variant_add(k, k == TAMIS_FUSE ? 4 : 0, TAMIS_AUTO);
            if (k == TAMIS_FUSE) variant_add(k, 3, TAMIS_AUTO);
            if (k == TAMIS_GROWING) variant_add(k, 0, TAMIS_BLOOM);
        }
    }
    return index < variants_used ? &variants[index] : NULL;
}

tamis_options variant_options(const struct variant *v, uint64_t capacity, double fpr) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = v->kind;
    o.arity = v->arity;
    o.stage = v->stage;
    o.capacity = capacity;
    o.fpr = fpr;
    return o;
}

tamis_filter *variant_build(const struct variant *v, double fpr, const uint64_t *hashes,
                            size_t count) {
    const tamis_options o = variant_options(v, 0, fpr);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, count, &f);
    CHECK(status == TAMIS_OK, "%s: build of %zu at rate %g gave %s", v->name, count, fpr,
          tamis_status_name(status));
    return f;
}

tamis_filter *variant_create(const struct variant *v, uint64_t capacity, double fpr) {
    const tamis_options o = variant_options(v, capacity, fpr);
    tamis_filter *f = NULL;
    const tamis_status status = tamis_create(&o, &f);
    CHECK(status == TAMIS_OK, "%s: create for %llu at rate %g gave %s", v->name,
          (unsigned long long)capacity, fpr, tamis_status_name(status));
    return f;
}

tamis_facts facts_of(const tamis_filter *f) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    const tamis_status status = tamis_info(f, &facts);
    CHECK(status == TAMIS_OK, "tamis_info gave %s", tamis_status_name(status));
    return facts;
}

/* ---------------------------------------------------------------------- keys */

const char *key_class_name(enum key_class c) {
    static const char *const names[KEY_CLASSES] = {"sequential", "random", "text", "one-byte"};
    return names[c];
}

/* Room for the longest key of any class. */
#define KEY_ROOM 48

/* Key number `id` of a class at `at`: its length.  Distinct ids give distinct keys, except that
 * there are only 256 keys of one byte. */
static size_t key_write(uint8_t *at, enum key_class c, uint64_t id, uint64_t seed) {
    struct rng r = {seed ^ (id * UINT64_C(0xd1342543de82ef95))};
    switch (c) {
        case KEYS_SEQUENTIAL:
            for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(id >> (8 * i));
            return 8;
        case KEYS_TEXT:
            return (size_t)snprintf((char *)at, KEY_ROOM, "https://example.net/%c/%llu?q=%llu",
                                    (char)('a' + rng_below(&r, 26)), (unsigned long long)id,
                                    (unsigned long long)rng_below(&r, 1000));
        case KEYS_BYTE:
            at[0] = (uint8_t)id;
            return 1;
        case KEYS_RANDOM:
        case KEY_CLASSES:
            break;
    }
    for (unsigned i = 0; i < KEY_ROOM; i += 8) {
        const uint64_t x = rng_next(&r);
        memcpy(at + i, &x, 8);
    }
    return 16 + (size_t)(id % (KEY_ROOM - 16));
}

void keyset_make(struct keyset *set, enum key_class c, size_t count, unsigned repeats,
                 uint64_t seed) {
    size_t distinct = count - count / 100 * repeats - count % 100 * repeats / 100;
    if (distinct == 0 && count != 0) distinct = 1;
    if (c == KEYS_BYTE && distinct > 256) distinct = 256;
    set->count = count;
    set->distinct = distinct;
    set->arena = (uint8_t *)need(distinct, KEY_ROOM);
    set->keys = NEED(const void *, count);
    set->lengths = NEED(size_t, count);
    for (size_t i = 0; i < count; i++) {
        const size_t id = i % (distinct == 0 ? 1 : distinct);
        uint8_t *at = set->arena + id * KEY_ROOM;
        set->keys[i] = at;
        set->lengths[i] = i < distinct ? key_write(at, c, id, seed) : set->lengths[id];
    }
}

void keyset_free(struct keyset *set) {
    free(set->arena);
    free(set->keys);
    free(set->lengths);
}

/* A bijection of (stream, index) below 2^60: SplitMix64's finaliser over a counter.  So hashes
 * of one seed are distinct within and across streams. */
void hashes_fill(uint64_t *hashes, size_t count, uint64_t from, uint64_t seed, uint64_t stream) {
    struct rng s = {seed};
    const uint64_t offset = rng_next(&s);
    for (size_t i = 0; i < count; i++) {
        struct rng r = {((stream << 60) + from + i) * UINT64_C(0x9e3779b97f4a7c15) + offset};
        hashes[i] = rng_next(&r);
    }
}

uint64_t *hashes_make(size_t count, uint64_t seed, uint64_t stream) {
    uint64_t *hashes = NEED(uint64_t, count);
    hashes_fill(hashes, count, 0, seed, stream);
    return hashes;
}

uint64_t hits_in_stream(const tamis_filter *f, uint64_t count, uint64_t from, uint64_t seed,
                        uint64_t stream) {
    enum { PIECE = 4096 };
    uint64_t hashes[PIECE], hits = 0;
    while (count != 0) {
        const size_t piece = count < PIECE ? (size_t)count : PIECE;
        hashes_fill(hashes, piece, from, seed, stream);
        hits += tamis_contains_hash_batch(f, hashes, piece, NULL);
        from += piece;
        count -= piece;
    }
    return hits;
}

/* --------------------------------------------------------------------- bytes */

struct bytes bytes_new(size_t size) {
    struct bytes b = {NULL, size};
    b.data = (uint8_t *)aligned_alloc(64, (size / 64 + 1) * 64);
    if (b.data == NULL) {
        fprintf(stderr, "the test ran out of memory: %zu bytes\n", size);
        exit(2);
    }
    return b;
}

struct bytes bytes_copy(const uint8_t *data, size_t size) {
    struct bytes b = bytes_new(size);
    if (size != 0) memcpy(b.data, data, size);
    return b;
}

struct bytes bytes_of(const tamis_filter *f) {
    const uint64_t size = tamis_encoded_size(f);
    struct bytes b = bytes_new((size_t)size);
    size_t written = 0;
    const tamis_status status = tamis_encode(f, b.data, b.size, &written);
    CHECK(status == TAMIS_OK && written == size, "encode of %llu bytes gave %s and %zu bytes",
          (unsigned long long)size, tamis_status_name(status), written);
    if (status != TAMIS_OK) b.size = 0;
    return b;
}

bool bytes_equal(const struct bytes *a, const struct bytes *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

void bytes_free(struct bytes *b) {
    free(b->data);
    b->data = NULL;
}

size_t bytes_difference(const struct bytes *a, const struct bytes *b) {
    const size_t shorter = a->size < b->size ? a->size : b->size;
    for (size_t i = 0; i < shorter; i++) {
        if (a->data[i] != b->data[i]) return i;
    }
    return shorter;
}

bool encodes_to(const tamis_filter *f, const struct bytes *b) {
    struct bytes now = bytes_of(f);
    const bool equal = bytes_equal(&now, b);
    bytes_free(&now);
    return equal;
}

/* ----------------------------------------------------------------- allocator */

/* Kept before each block, and as large as malloc's alignment. */
#define METER_HEAD 16

void meter_reset(struct meter *m) {
    atomic_store(&m->calls, 0);
    atomic_store(&m->live, 0);
    atomic_store(&m->live_bytes, 0);
    atomic_store(&m->peak_bytes, 0);
    atomic_store(&m->wrong_size, 0);
    m->fail_at = 0;
    m->fail_once = false;
    m->limit = 0;
}

static void *meter_alloc(void *context, size_t size) {
    struct meter *m = (struct meter *)context;
    const uint64_t call = atomic_fetch_add(&m->calls, 1) + 1;
    if (m->fail_at != 0 && (m->fail_once ? call == m->fail_at : call >= m->fail_at)) return NULL;
    if (m->limit != 0 && atomic_load(&m->live_bytes) + size > m->limit) return NULL;
    uint8_t *block = NULL;
    if (size <= SIZE_MAX - METER_HEAD) block = (uint8_t *)malloc(size + METER_HEAD);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    /* Not zero, to reveal code that relies on zeroed memory. */
    memset(block + METER_HEAD, 0xa5, size);
    atomic_fetch_add(&m->live, 1);
    const uint64_t bytes = atomic_fetch_add(&m->live_bytes, size) + size;
    uint_fast64_t peak = atomic_load(&m->peak_bytes);
    while (bytes > peak && !atomic_compare_exchange_weak(&m->peak_bytes, &peak, bytes)) {
    }
    return block + METER_HEAD;
}

static void meter_free(void *context, void *block, size_t size) {
    struct meter *m = (struct meter *)context;
    if (block == NULL) return;
    size_t requested;
    memcpy(&requested, (uint8_t *)block - METER_HEAD, sizeof requested);
    if (requested != size) atomic_fetch_add(&m->wrong_size, 1);
    atomic_fetch_sub(&m->live, 1);
    atomic_fetch_sub(&m->live_bytes, requested);
    free((uint8_t *)block - METER_HEAD);
}

tamis_allocator meter_allocator(struct meter *m) {
    const tamis_allocator a = {meter_alloc, meter_free, m, NULL};
    return a;
}

/* ------------------------------------------------------------------ statistics */

/* P(X > k) for X binomial: the terms above k fall geometrically beyond the mean. */
static double binomial_above(uint64_t trials, double p, uint64_t k) {
    const double n = (double)trials;
    double sum = 0;
    if (k >= trials) return 0;
    double i = (double)k + 1;
    double term =
        exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log1p(-p));
    for (; i <= n; i += 1) {
        sum += term;
        if (term < sum * 1e-17 || (term == 0 && i > n * p)) break;
        term *= (n - i) / (i + 1) * (p / (1 - p));
    }
    return sum;
}

uint64_t binomial_max(uint64_t trials, double p, double sigmas) {
    const double chance = 0.5 * erfc(sigmas / sqrt(2.0));
    const double mean = (double)trials * p;
    uint64_t low = (uint64_t)mean;
    uint64_t high = (uint64_t)(mean + (sigmas + 2) * sqrt(mean) + 40);
    if (high > trials) high = trials;
    if (low > high) low = high;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (binomial_above(trials, p, middle) < chance) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void integer_keys(uint64_t *integers, const void **keys, size_t *lengths, size_t count) {
    for (size_t i = 0; i < count; i++) {
        integers[i] = 1 + i * UINT64_C(0x9e3779b97f4a7c15);
        keys[i] = &integers[i];
        lengths[i] = sizeof integers[i];
    }
}
