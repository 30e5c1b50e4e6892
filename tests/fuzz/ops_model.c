/* ops_model.c - any sequence of operations on a filter, against exact counts
 *
 * The input is a program: three bytes choose kind, rate and capacity, then each byte is an
 * operation and the next one its key.  There are 128 keys.  After every
 * operation: a key that was added more often than removed is found; statuses match the model; batch
 * and single lookups agree; encoding and decoding, a copy and a merge with an empty filter change
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "fuzz.h"

#define KEYS 128

struct model {
    const struct variant *v;
    tamis_filter *f;
    tamis_options options;
    uint64_t hashes[KEYS];
    /* Adds less removes.  A kind cannot detect the removal of a false positive; after one the model
     * stops removing: see op_remove. */
    unsigned held[KEYS];
    uint64_t adds;
};

static void must(bool holds, const char *what) {
    if (!holds) fuzz_fault(what);
}

static void check_all(const struct model *m) {
    bool answers[KEYS];
    const size_t hits = tamis_contains_hash_batch(m->f, m->hashes, KEYS, answers);
    size_t counted = 0;
    for (size_t i = 0; i < KEYS; i++) {
        must(m->held[i] == 0 || answers[i], "a false negative");
        must(tamis_contains_hash(m->f, m->hashes[i]) == answers[i], "batch and single disagree");
        counted += answers[i];
    }
    must(counted == hits, "the count of a batch");
    tamis_facts facts = TAMIS_FACTS_INIT;
    must(tamis_info(m->f, &facts) == TAMIS_OK, "info");
    must(facts.adds == m->adds, "the count of adds");
    must(m->adds != 0 || (m->v->caps & TAMIS_CAN_REMOVE) != 0 || hits == 0, "an empty filter");
}

static void op_add(struct model *m, size_t key) {
    bool fresh = false;
    tamis_prefetch_hash(m->f, m->hashes[key]);
    const bool was = tamis_contains_hash(m->f, m->hashes[key]);
    const tamis_status status = tamis_add_hash(m->f, m->hashes[key], &fresh);
    if (status == TAMIS_E_FULL) {
        must(m->v->kind == TAMIS_CUCKOO, "a kind that cannot be full is full");
        return;
    }
    must(status == TAMIS_OK, "add");
    must(!(fresh && was), "fresh, but found before");
    must(!(fresh && m->held[key] != 0), "fresh, but added before");
    must(tamis_contains_hash(m->f, m->hashes[key]), "added, but not found");
    m->held[key]++;
    m->adds++;
}

/* Removes only keys that were added: removing a false positive would remove another key. */
static void op_remove(struct model *m, size_t key) {
    if ((m->v->caps & TAMIS_CAN_REMOVE) == 0) {
        must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_E_NO_REMOVE, "remove");
        return;
    }
    if (m->held[key] != 0) {
        must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_OK, "a key could not be removed");
        m->held[key]--;
        m->adds--;
    } else if (!tamis_contains_hash(m->f, m->hashes[key])) {
        must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_E_ABSENT, "remove of an absent key");
    }
}

static void op_add_run(struct model *m, size_t key) {
    const size_t count = KEYS - key < 40 ? KEYS - key : 40;
    bool fresh[KEYS];
    size_t done = 0;
    const tamis_status status = tamis_add_hash_batch(m->f, m->hashes + key, count, fresh, &done);
    must(status == TAMIS_OK ? done == count : status == TAMIS_E_FULL && done < count, "add batch");
    for (size_t i = key; i < key + done; i++) m->held[i]++;
    m->adds += done;
}

static void op_through_bytes(struct model *m, bool copy) {
    struct bytes before = bytes_of(m->f);
    tamis_filter *g = NULL;
    const tamis_status status =
        copy ? tamis_clone(m->f, &g) : tamis_decode(before.data, before.size, NULL, &g);
    must(status == TAMIS_OK && g != NULL, "a filter rejects its own bytes");
    must(encodes_to(g, &before), "other bytes after a round trip");
    bytes_free(&before);
    tamis_free(m->f);
    m->f = g;
}

static void op_merge_empty(struct model *m) {
    if ((m->v->caps & TAMIS_CAN_UNION) == 0) return;
    tamis_filter *none = NULL;
    struct bytes before = bytes_of(m->f);
    must(tamis_create(&m->options, &none) == TAMIS_OK, "create");
    must(tamis_merge(m->f, none, TAMIS_UNION) == TAMIS_OK, "union with an empty filter");
    must(encodes_to(m->f, &before), "union with an empty filter changed something");
    must(tamis_merge(none, m->f, TAMIS_UNION) == TAMIS_OK, "union into an empty filter");
    must(encodes_to(none, &before), "union into an empty filter is not a copy");
    bytes_free(&before);
    tamis_free(none);
}

static void run_op(struct model *m, uint8_t op, size_t key) {
    switch (op % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            op_add(m, key);
            break;
        case 5:
        case 6:
        case 7:
        case 8:
            op_remove(m, key);
            break;
        case 9:
            op_add_run(m, key);
            break;
        case 10:
            op_through_bytes(m, false);
            break;
        case 11:
            op_through_bytes(m, true);
            break;
        case 12:
            op_merge_empty(m);
            break;
        case 13:
            for (unsigned i = 0; i < 20; i++) op_add(m, key); /* many copies */
            break;
        default:
            check_all(m);
            break;
    }
}

/* The kinds that accept adds. */
static const struct variant *pick(uint8_t which) {
    const struct variant *dynamic[64];
    size_t count = 0;
    for (size_t i = 0; variant_at(i) != NULL && count < 64; i++) {
        if ((variant_at(i)->caps & TAMIS_CAN_ADD) != 0) dynamic[count++] = variant_at(i);
    }
    return dynamic[which % count];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const double fprs[] = {0.01, 0.3, 1e-3, 1e-6, 0.05};
    if (size < 3) return 0;
    struct model m = {.v = pick(data[0])};
    m.options = variant_options(m.v, data[2], fprs[data[1] % 5]);
    m.options.portable = (data[1] & 0x80) != 0;
    /* Half of the programs run on weak hashes: small numbers. */
    hashes_fill(m.hashes, KEYS, 0, data[2], STREAM_MEMBERS);
    for (size_t i = 0; (data[1] & 0x40) != 0 && i < KEYS; i++) m.hashes[i] = i << (data[0] % 60);
    if (tamis_create(&m.options, &m.f) != TAMIS_OK) fuzz_fault("create");
    for (size_t i = 3; i + 1 < size && i < 4096; i += 2) run_op(&m, data[i], data[i + 1] % KEYS);
    check_all(&m);
    tamis_free(m.f);
    return 0;
}

/* Programs of random operations. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    struct rng r = {index};
    const size_t size = 3 + 2 * (size_t)rng_below(&r, 300);
    if (index >= 60 || size > room) return 0;
    for (size_t i = 0; i < size; i++) out[i] = (uint8_t)rng_next(&r);
    out[0] = (uint8_t)index;
    return size;
}
