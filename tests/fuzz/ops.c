/* ops.c - any sequence of operations on a filter of any kind, against exact counts
 *
 * The input is a program: three bytes choose kind, rate, hashes and capacity, then each byte is an
 * operation and the next one its key.  There are 128 keys.  A static kind starts as a build of no
 * keys.  After the operations: a key that was added more often than removed is found; statuses,
 * numbers of adds and counts match the model; batch and single lookups agree; encoding and
 * decoding, a copy and a merge with an empty filter change nothing; a build from the keys with
 * duplicates, by one to three threads or in little memory, contains each once. */
#include "../support/filters.h"
#include "fuzz.h"

#define KEYS 128

struct model {
    const struct variant *v;
    tamis_filter *f;
    tamis_options options;
    const tamis_filter *none; /* an empty filter */
    unsigned builds;
    uint64_t hashes[KEYS];
    /* Adds less removes.  A kind cannot detect the removal of a false positive; after one the model
     * stops removing: see op_remove. */
    unsigned held[KEYS];
    uint64_t adds;
    bool built;   /* its capacity may be that of the keys */
    bool unknown; /* an intersection: the number of adds is not known */
};

static void check_all(const struct model *m) {
    bool answers[KEYS];
    const size_t hits = tamis_contains_hash_batch(m->f, m->hashes, KEYS, answers);
    size_t counted = 0;
    for (size_t i = 0; i < KEYS; i++) {
        fuzz_must(m->held[i] == 0 || answers[i], "a false negative");
        fuzz_must(tamis_contains_hash(m->f, m->hashes[i]) == answers[i],
                  "batch and single disagree");
        counted += answers[i];
        if (!m->unknown && (m->v->caps & TAMIS_CAN_REMOVE) != 0) {
            const unsigned low = m->held[i] < 4 ? m->held[i] : 4; /* then a cuckoo may saturate */
            fuzz_must(tamis_count_hash(m->f, m->hashes[i]) >= low, "a count is too low");
        }
    }
    fuzz_must(counted == hits, "the count of a batch");
    tamis_facts facts = TAMIS_FACTS_INIT;
    fuzz_must(tamis_info(m->f, &facts) == TAMIS_OK, "info");
    fuzz_must(m->unknown || facts.adds == m->adds, "the count of adds");
    fuzz_must(m->adds != 0 || (m->v->caps & TAMIS_CAN_REMOVE) != 0 || hits == 0, "an empty filter");
}

static void op_add(struct model *m, size_t key) {
    bool fresh = false;
    tamis_prefetch_hash(m->f, m->hashes[key]);
    const bool was = tamis_contains_hash(m->f, m->hashes[key]);
    const tamis_status status = tamis_add_hash(m->f, m->hashes[key], &fresh);
    if (status == TAMIS_E_FULL) {
        fuzz_must(m->v->kind == TAMIS_CUCKOO, "a kind that cannot be full is full");
        return;
    }
    fuzz_must(status == TAMIS_OK, "add");
    fuzz_must(!(fresh && was), "fresh, but found before");
    fuzz_must(!(fresh && m->held[key] != 0), "fresh, but added before");
    fuzz_must(tamis_contains_hash(m->f, m->hashes[key]), "added, but not found");
    m->held[key]++;
    m->adds++;
}

/* Removes only keys that were added: removing a false positive would remove another key. */
static void op_remove(struct model *m, size_t key) {
    if ((m->v->caps & TAMIS_CAN_REMOVE) == 0) {
        fuzz_must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_E_NO_REMOVE, "remove");
        return;
    }
    if (m->held[key] != 0) {
        fuzz_must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_OK,
                  "a key could not be removed");
        m->held[key]--;
        m->adds--;
    } else if (!tamis_contains_hash(m->f, m->hashes[key])) {
        fuzz_must(tamis_remove_hash(m->f, m->hashes[key]) == TAMIS_E_ABSENT,
                  "remove of an absent key");
    }
}

static void op_add_run(struct model *m, size_t key) {
    const size_t count = KEYS - key < 40 ? KEYS - key : 40;
    bool fresh[KEYS];
    size_t done = 0;
    const tamis_status status = tamis_add_hash_batch(m->f, m->hashes + key, count, fresh, &done);
    fuzz_must(status == TAMIS_OK ? done == count : status == TAMIS_E_FULL && done < count,
              "add batch");
    for (size_t i = key; i < key + done; i++) m->held[i]++;
    m->adds += done;
}

static void op_through_bytes(struct model *m, bool copy) {
    struct bytes before = bytes_of(m->f);
    tamis_filter *g = NULL;
    const tamis_status status =
        copy ? tamis_clone(m->f, &g) : tamis_decode(before.data, before.size, NULL, &g);
    fuzz_must(status == TAMIS_OK && g != NULL, "a filter rejects its own bytes");
    fuzz_must(encodes_to(g, &before), "other bytes after a round trip");
    bytes_free(&before);
    tamis_free(m->f);
    m->f = g;
}

static void op_merge_empty(struct model *m) {
    if ((m->v->caps & TAMIS_CAN_UNION) == 0 || m->built) return;
    tamis_filter *none = NULL;
    struct bytes before = bytes_of(m->f);
    fuzz_must(tamis_clone(m->none, &none) == TAMIS_OK, "clone");
    fuzz_must(tamis_merge(m->f, none, TAMIS_UNION) == TAMIS_OK, "union with an empty filter");
    fuzz_must(encodes_to(m->f, &before), "union with an empty filter changed something");
    fuzz_must(tamis_merge(none, m->f, TAMIS_UNION) == TAMIS_OK, "union into an empty filter");
    fuzz_must(encodes_to(none, &before), "union into an empty filter is not a copy");
    bytes_free(&before);
    tamis_free(none);
}

/* ---- builds */

/* The hashes of the keys that are held, each up to twice; returns their number. */
static size_t members(const struct model *m, uint64_t *hashes) {
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        for (unsigned copies = 0; copies < m->held[i] && copies < 2; copies++) {
            hashes[count++] = m->hashes[i];
        }
    }
    return count;
}

/* What a build of `count` hashes makes of the model: every hash once. */
static void make_set(struct model *m, size_t count) {
    m->adds = count;
    for (size_t i = 0; i < KEYS; i++) {
        if (m->held[i] == 0) continue;
        m->held[i] = 1;
        for (size_t j = 0; j < i && m->held[i] != 0; j++) {
            if (m->held[j] != 0 && m->hashes[j] == m->hashes[i]) m->held[i] = 0;
        }
    }
    m->built = true;
    m->unknown = false;
}

static tamis_status build_slowly(const tamis_options *o, const uint64_t *hashes, size_t count,
                                 tamis_filter **out) {
    tamis_builder *b = NULL;
    tamis_status status = tamis_builder_create(o, &b);
    if (status == TAMIS_OK) status = tamis_builder_add_hash_batch(b, hashes, count / 2);
    for (size_t i = count / 2; i < count && status == TAMIS_OK; i++) {
        status = tamis_builder_add_hash(b, hashes[i]);
    }
    fuzz_must(status != TAMIS_OK || tamis_builder_count(b) == count, "the count of a builder");
    if (status == TAMIS_OK) status = tamis_builder_finish(b, out);
    tamis_builder_free(b);
    return status;
}

/* Builds the filter again from its keys; bits of `how` select threads, memory and the builder. */
static void op_build(struct model *m, size_t how) {
    uint64_t hashes[2 * KEYS];
    tamis_filter *f = NULL;
    tamis_options o = m->options;
    const size_t count = members(m, hashes);
    /* Sizing a blocked Bloom filter takes longer than all other operations. */
    const bool slow = m->v->kind == TAMIS_BLOCK || m->v->kind == TAMIS_GROWING;
    if (++m->builds > (slow ? 1 : 5) || (slow && how % 8 != 1)) return;
    o.threads = (how & 31) == 1 ? 2 : (how & 31) == 2 ? 3 : (uint32_t)(how & 1);
    o.memory = (how & 63) == 3 ? 1 : 0;
    if ((how & 4) != 0) o.capacity = 0;
    o.check = (how & 8) != 0;
    const tamis_status status = (how & 16) != 0 || o.memory != 0
                                    ? build_slowly(&o, hashes, count, &f)
                                    : tamis_build_hash(&o, hashes, count, &f);
    if (status == TAMIS_E_FULL) {
        fuzz_must(m->v->kind == TAMIS_CUCKOO, "a kind that cannot be full is full");
        return;
    }
    fuzz_must(status == TAMIS_OK && f != NULL, "build");
    tamis_free(m->f);
    m->f = f;
    make_set(m, count);
}

/* ---- merges */

/* The union, and the intersection, with a filter of the keys from `key` on. */
static void op_merge(struct model *m, size_t key, bool intersect) {
    struct model other = {.v = m->v, .options = m->options};
    const uint32_t need = intersect ? TAMIS_CAN_INTERSECT : TAMIS_CAN_UNION;
    if ((m->v->caps & TAMIS_CAN_ADD) == 0) return;
    memcpy(other.hashes, m->hashes, sizeof other.hashes);
    fuzz_must(tamis_clone(m->none, &other.f) == TAMIS_OK, "clone");
    for (size_t i = key; i < KEYS && i < key + 10; i++) op_add(&other, i);
    const tamis_status status =
        tamis_merge(m->f, other.f, intersect ? TAMIS_INTERSECTION : TAMIS_UNION);
    tamis_free(other.f);
    if ((m->v->caps & need) == 0) {
        fuzz_must(status == TAMIS_E_NO_MERGE, "merge of a kind that cannot");
        return;
    }
    if (status == TAMIS_E_MISMATCH && m->built) return;
    fuzz_must(status == TAMIS_OK, "merge");
    m->unknown |= intersect;
    for (size_t i = 0; i < KEYS; i++) {
        const bool both = m->held[i] != 0 && other.held[i] != 0;
        m->held[i] = intersect ? both : m->held[i] + other.held[i];
    }
    m->adds += other.adds;
}

static void op_convert(struct model *m) {
    tamis_filter *f = NULL;
    const tamis_status status = tamis_convert(m->f, TAMIS_BLOOM, &f);
    fuzz_must((status == TAMIS_OK) == (f != NULL), "status and result do not match");
    for (size_t i = 0; i < KEYS && f != NULL; i++) {
        fuzz_must(m->held[i] == 0 || tamis_contains_hash(f, m->hashes[i]), "lost by conversion");
    }
    tamis_free(f);
}

/* The operations that take long. */
static void op_seldom(struct model *m, uint8_t op, size_t key) {
    if ((op & 0x30) == 0) {
        op_merge(m, key, false);
    } else if ((op & 0x30) == 0x30) {
        op_convert(m);
    } else {
        op_build(m, op >> 4 | (key & 15) << 4);
    }
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
        case 14:
            op_seldom(m, op, key);
            break;
        default:
            if (op == 0xff) op_merge(m, key, true);
            check_all(m);
            break;
    }
}

static const struct variant *pick(uint8_t which) {
    static size_t count;
    while (variant_at(count) != NULL) count++;
    return variant_at(which % count);
}

/* A static kind: the program selects keys and builds, copies, encodes and decodes. */
static void run_static(struct model *m, const uint8_t *data, size_t size) {
    op_build(m, 0);
    fuzz_must(tamis_add_hash(m->f, 1, NULL) == TAMIS_E_STATIC, "add to a static kind");
    fuzz_must(tamis_remove_hash(m->f, 1) == TAMIS_E_NO_REMOVE, "remove from a static kind");
    for (size_t i = 3, builds = 0; i + 1 < size && builds < 3; i += 2) {
        const size_t key = data[i + 1] % KEYS, run = 1 + data[i] / 4 % 16;
        if (data[i] % 4 == 3) {
            op_build(m, data[i] / 4 | (size_t)data[i + 1] / 128 << 6);
            check_all(m);
            op_through_bytes(m, data[i] >= 128);
            builds++;
        }
        for (size_t k = key; k < KEYS && k < key + run && data[i] % 4 != 3; k++) m->held[k]++;
    }
    op_build(m, data[1] & 15);
    check_all(m);
    tamis_free(m->f);
}

/* Sizing takes longer than a program: every empty filter is made once. */
static const tamis_filter *empty_of(struct model *m, uint8_t rate, uint8_t size) {
    static tamis_filter *made[64][5][2][8]; /* variants, rates, portable, capacities */
    static const double fprs[] = {0.01, 0.3, 1e-3, 1e-6, 0.05};
    static const uint64_t capacities[] = {0, 1, 3, 10, 40, 100, 128, 255};
    const bool portable = (rate & 0x80) != 0;
    tamis_filter **f = &made[m->v - variant_at(0)][rate % 5][portable][size % 8];
    m->options = variant_options(m->v, capacities[size % 8], fprs[rate % 5]);
    m->options.portable = portable;
    if (*f == NULL && (m->v->caps & TAMIS_CAN_ADD) != 0) {
        fuzz_must(tamis_create(&m->options, f) == TAMIS_OK, "create");
    }
    return *f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    struct model m = {.v = pick(data[0])};
    m.none = empty_of(&m, data[1], data[2]);
    /* Half of the programs run on weak hashes: small numbers. */
    hashes_fill(m.hashes, KEYS, 0, data[2], STREAM_MEMBERS);
    for (size_t i = 0; (data[1] & 0x40) != 0 && i < KEYS; i++) m.hashes[i] = i << (data[0] % 60);
    if (m.none == NULL) {
        run_static(&m, data, size);
        return 0;
    }
    fuzz_must(tamis_clone(m.none, &m.f) == TAMIS_OK, "clone");
    for (size_t i = 3; i + 1 < size && i < 4096; i += 2) run_op(&m, data[i], data[i + 1] % KEYS);
    check_all(&m);
    tamis_free(m.f);
    return 0;
}

/* Programs of random operations. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    struct rng r = {index};
    const size_t size = 3 + 2 * (size_t)rng_below(&r, 100);
    if (index >= 20 || size > room) return 0;
    for (size_t i = 0; i < size; i++) out[i] = (uint8_t)rng_next(&r);
    out[0] = (uint8_t)index;
    return size;
}
