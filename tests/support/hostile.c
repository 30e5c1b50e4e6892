/* hostile.c - see hostile.h */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

static uint64_t load64(const uint8_t *at) {
    uint64_t x = 0;
    for (unsigned i = 0; i < 8; i++) x |= (uint64_t)at[i] << (8 * i);
    return x;
}

static void store64(uint8_t *at, uint64_t x) {
    for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(x >> (8 * i));
}

/* XXH3-64 with seed 0, with the public API: a filter hashes its keys with it. */
static uint64_t xxh3(const void *bytes, size_t size) {
    static tamis_filter *hasher;
    if (hasher == NULL) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        o.kind = TAMIS_BLOOM;
        if (tamis_create(&o, &hasher) != TAMIS_OK) abort();
    }
    return tamis_hash(hasher, bytes, size);
}

void repair_sums(uint8_t *bytes, size_t size) {
    if (size < HEADER_BYTES) return;
    const uint64_t table_bytes = load64(bytes + AT_TABLE_BYTES), rest = size - HEADER_BYTES;
    if (table_bytes <= rest) {
        const uint64_t pieces = table_bytes / PIECE_BYTES + (table_bytes % PIECE_BYTES != 0);
        uint8_t *table = bytes + HEADER_BYTES, *sums = table + table_bytes;
        for (uint64_t i = 0; i < pieces && 8 * (i + 1) <= rest - table_bytes; i++) {
            const uint64_t from = i * PIECE_BYTES, left = table_bytes - from;
            store64(sums + 8 * i, xxh3(table + from, left < PIECE_BYTES ? left : PIECE_BYTES));
        }
        store64(bytes + AT_SUM_OF_SUMS, xxh3(sums, rest - table_bytes));
    }
    store64(bytes + AT_HEADER_SUM, xxh3(bytes, AT_HEADER_SUM));
}

/* Numbers at which arithmetic often fails: small ones, powers of two and their neighbours. */
static uint64_t boundary_value(struct rng *r) {
    static const uint64_t some[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 255};
    switch (rng_below(r, 6)) {
        case 0:
            return some[rng_below(r, sizeof some / sizeof *some)];
        case 1:
            return (UINT64_C(1) << rng_below(r, 64)) - rng_below(r, 3);
        case 2:
            return UINT64_MAX - rng_below(r, 70);
        case 3:
            return rng_below(r, 5000);
        case 4:
            return rng_next(r) >> rng_below(r, 64);
        default:
            return (UINT64_C(1) << rng_below(r, 64)) + rng_below(r, 65);
    }
}

static void put_boundary(uint8_t *to, struct rng *r) { store64(to, boundary_value(r)); }

size_t mutate(uint8_t *bytes, size_t size, size_t room, struct rng *r) {
    if (size == 0) return 0;
    const size_t at = (size_t)rng_below(r, size);
    const size_t head = size < HEADER_BYTES ? size : HEADER_BYTES;
    switch (rng_below(r, 10)) {
        case 0:
            bytes[at] = (uint8_t)(bytes[at] ^ (1u << rng_below(r, 8)));
            break;
        case 1:
            bytes[at] = (uint8_t)rng_next(r);
            break;
        case 2:
        case 3: /* a whole number of the header, most often of the shape */
            if (head >= 16) put_boundary(bytes + rng_below(r, head / 8) * 8, r);
            break;
        case 4:
        case 5:
            if (size >= AT_SHAPE + 64) put_boundary(bytes + AT_SHAPE + rng_below(r, 8) * 8, r);
            break;
        case 6: /* a number at the start of the table: directories of stages and shards */
        case 7:
            if (size >= HEADER_BYTES + 8) {
                const size_t words = (size - HEADER_BYTES) / 8,
                             near_start = words < 16 ? words : 16;
                put_boundary(bytes + HEADER_BYTES + rng_below(r, near_start) * 8, r);
            }
            break;
        case 8: /* two pieces swapped or doubled */
            if (size >= HEADER_BYTES + 16) {
                const size_t to = (size_t)rng_below(r, size - 8);
                memmove(bytes + to, bytes + (size_t)rng_below(r, size - 8), 8);
            }
            break;
        default:
            if (rng_below(r, 2) == 0) return at;
            while (size < room && rng_below(r, 9) != 0) bytes[size++] = (uint8_t)rng_next(r);
            break;
    }
    return size;
}

#define KEYS 40

/* Changes to a filter: as its decoder left it, and its copy. */
static void change(tamis_filter *f) {
    uint64_t hashes[KEYS];
    bool answers[KEYS];
    size_t done;
    hashes_fill(hashes, KEYS, 0, 1, STREAM_OTHERS);
    (void)tamis_add_hash_batch(f, hashes, KEYS, answers, &done);
    for (size_t i = 0; i < KEYS; i += 9) (void)tamis_add_hash(f, hashes[i] + 1, NULL);
    for (size_t i = 0; i < KEYS; i += 5) (void)tamis_remove_hash(f, hashes[i]);
    (void)tamis_remove_hash_batch(f, hashes, KEYS, answers);
    (void)tamis_add(f, "key", 3, NULL);
    (void)tamis_remove(f, "key", 3);
    (void)tamis_merge(f, f, TAMIS_UNION);
}

static void query(const tamis_filter *f) {
    uint64_t hashes[KEYS];
    bool answers[KEYS];
    tamis_facts facts = TAMIS_FACTS_INIT;
    hashes_fill(hashes, KEYS, 0, 1, STREAM_PROBES);
    hashes[0] = 0;
    hashes[1] = UINT64_MAX;
    (void)tamis_contains_hash_batch(f, hashes, KEYS, answers);
    for (size_t i = 0; i < KEYS; i++) tamis_prefetch_hash(f, hashes[i]);
    for (size_t i = 0; i < KEYS; i++) (void)tamis_contains_hash(f, hashes[i]);
    (void)tamis_contains(f, "key", 3);
    (void)tamis_info(f, &facts);
    (void)tamis_verify(f);
}

/* The first byte at which the encoding of `f` is not `bytes`; `size` if there is none. */
static size_t first_difference(const tamis_filter *f, const uint8_t *bytes, size_t size) {
    const uint64_t encoded = tamis_encoded_size(f);
    uint8_t *out = (uint8_t *)malloc(encoded + 1);
    size_t at = 0, written = 0;
    if (out == NULL) abort();
    if (tamis_encode(f, out, encoded, &written) == TAMIS_OK) {
        const size_t shorter = written < size ? written : size;
        while (at < shorter && out[at] == bytes[at]) at++;
        if (at == size && written > size) at--;
    }
    free(out);
    return at;
}

size_t exercise(tamis_filter *f, const uint8_t *bytes, size_t size) {
    query(f); /* before anything verifies the whole table */
    const size_t differs = first_difference(f, bytes, size);
    query(f);
    tamis_filter *copy = NULL;
    if (tamis_clone(f, &copy) == TAMIS_OK) {
        change(copy);
        query(copy);
        (void)tamis_merge(copy, f, TAMIS_UNION);
        (void)tamis_merge(copy, f, TAMIS_INTERSECTION);
        tamis_free(copy);
    }
    copy = NULL;
    if (tamis_convert(f, TAMIS_BLOOM, &copy) == TAMIS_OK) query(copy);
    tamis_free(copy);
    change(f);
    query(f);
    tamis_free(f);
    return differs;
}
