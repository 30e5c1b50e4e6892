/* bloom_neon.c - batches of a Bloom filter in pairs: the positions of four keys at a time
 *
 * The steps are those of bloom_avx2.c: test the first line of all keys of a group, collect the keys
 * that pass, and test the rest of those; or test all positions at once if most keys of the group
 * before were present, or if nothing is known yet.
 *
 * NEON has no products of 64 bits, so the sequences of a group begin in general registers.  Their
 * positions, products of 32 bits, are computed four at a time; so the table must have fewer than
 * 2^32 bits.  It has no gathers, so bits are tested and set in general registers, for four keys
 * that do not wait for each other.
 *
 *     places of four keys   visit 0: 4 first positions, 4 second positions; visit 1: ...
 *
 * Instructions per key in cache at 1 %, counted under qemu, gcc 12 -O2, and in plain C: present 87
 * and 163, absent 66 and 75, add 82 and 109, reported 121 and 134.  (Times were not measured.) */
#include "family/bloom_table.h"

#if defined(TAMIS_HAVE_NEON)
#include "core/neon.h"
#include "family/probe.h"
#include "family/probe_shape.h"

#define LANES TAMIS_NEON_LANES
#define PAIR 2 /* positions per visit */

/* In a table out of cache a sample of keys decides how the others are tested: bloom_avx2.c. */
#define SAMPLE 16

/* What is the same for all keys. */
struct bloom {
    uint8_t *table;
    uint64_t probes, visits; /* two probes each; the last has one if their number is odd */
    uint32_t lines;
};

/* Four probe sequences. */
struct sequences {
    uint64x2_t x[2], y[2], step;
};

TAMIS_TEMPLATE struct bloom bloom_of(const tamis_filter *f) {
    const uint64_t probes = f->shape.word[HASHES];
    return (struct bloom){.table = f->table,
                          .probes = probes,
                          .visits = (probes + 1) / PAIR,
                          .lines = (uint32_t)(f->shape.word[BITS] / TAMIS__PAIR_LINE)};
}

/* Keys in a group: whole vectors. */
TAMIS_TEMPLATE size_t group_size(uint64_t visits) {
    const uint64_t max = TAMIS__PROBED_POSITIONS / (visits * PAIR) / LANES * LANES;
    return max < TAMIS__PROBED_KEYS ? (size_t)max : TAMIS__PROBED_KEYS;
}

/* ---- positions */

/* The beginnings of sequences, for as many keys as fill vectors. */
struct beginnings {
    uint64_t x[TAMIS__PROBED_KEYS], y[TAMIS__PROBED_KEYS];
};

TAMIS_TEMPLATE void begin(const uint64_t *hashes, size_t count, struct beginnings *at) {
    for (size_t i = 0; i < count; i++) {
        const struct tamis__probe p = tamis__probe_first(hashes[i]);
        at->x[i] = p.x;
        at->y[i] = p.y;
    }
    for (size_t i = count; i % LANES != 0; i++) at->x[i] = at->y[i] = 0;
}

TAMIS_TEMPLATE struct sequences sequences_at(const struct beginnings *at, size_t i) {
    return (struct sequences){{vld1q_u64(at->x + i), vld1q_u64(at->x + i + 2)},
                              {vld1q_u64(at->y + i), vld1q_u64(at->y + i + 2)},
                              vdupq_n_u64(TAMIS__PROBE_STEP)};
}

/* Advances to the next visit. */
TAMIS_TEMPLATE void sequences_next(struct sequences *s) {
    TAMIS_UNROLL
    for (unsigned half = 0; half < 2; half++) {
        s->x[half] = vaddq_u64(s->x[half], s->y[half]);
        s->y[half] = vaddq_u64(s->y[half], s->step);
    }
    s->step = vaddq_u64(s->step, vdupq_n_u64(TAMIS__PROBE_STEP));
}

/* tamis__probe_pair: the first positions of this visit of four keys, then the second ones. */
TAMIS_TEMPLATE void store_pair(const struct bloom *b, const struct sequences *s, uint32_t *places) {
    const struct tamis__neon_product p = tamis__neon_product(
        tamis__neon_low(s->x[0], s->x[1]), tamis__neon_high(s->x[0], s->x[1]), b->lines);
    const uint32x4_t line = p.whole, r = p.fraction;
    /* The insertion keeps the bits of the line above those of r. */
    const uint32x4_t base = vshlq_n_u32(line, 9), first = vsriq_n_u32(base, r, 23);
    const uint32x4_t rest = vandq_u32(r, vdupq_n_u32(0x7fffff));
    const uint32x4_t apart = vsubq_u32(vshlq_n_u32(r, 9), rest); /* rest * 511 */
    const uint32x4_t beyond = vsraq_n_u32(vaddq_u32(first, vdupq_n_u32(1)), apart, 23);
    vst1q_u32(places, first);
    vst1q_u32(places + LANES, vbslq_u32(vdupq_n_u32(TAMIS__PAIR_LINE - 1), beyond, base));
}

/* Stores the positions of visits [from, to) of `count` keys, rounded up to whole vectors, and
 * prefetches them. */
TAMIS_TEMPLATE void write_places(const struct bloom *b, const uint64_t *hashes, size_t count,
                                 uint64_t from, uint64_t to, uint32_t *places, bool fetch,
                                 bool write) {
    struct beginnings at;
    begin(hashes, count, &at);
    for (size_t i = 0; i < count; i += LANES) {
        struct sequences s = sequences_at(&at, i);
        for (uint64_t j = 0; j < from; j++) sequences_next(&s);
        for (uint64_t j = from; j < to; j++, places += PAIR * LANES) {
            store_pair(b, &s, places);
            sequences_next(&s);
            TAMIS_UNROLL
            for (unsigned lane = 0; fetch && lane < LANES; lane++) {
                if (write) TAMIS_PREFETCH_WRITE(b->table + (places[lane] >> 3));
                if (!write) TAMIS_PREFETCH(b->table + (places[lane] >> 3));
            }
        }
    }
}

/* ---- lookup */

/* Other threads may be setting bits of the word if the filter is shared. */
TAMIS_TEMPLATE uint32_t word_of(const struct bloom *b, uint32_t place) {
    const uint32_t *word = (const uint32_t *)(const void *)b->table + (place >> 5);
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Are the bits of four keys set at the positions of `probes` probes?  A byte per key, 0 or 1. */
TAMIS_TEMPLATE uint32_t test_places(const struct bloom *b, const uint32_t *places,
                                    uint64_t probes) {
    uint32_t all[LANES] = {1, 1, 1, 1};
    for (uint64_t j = 0; j < probes; j++, places += LANES) {
        TAMIS_UNROLL
        for (unsigned lane = 0; lane < LANES; lane++) {
            all[lane] &= word_of(b, places[lane]) >> (places[lane] & 31);
        }
    }
    return all[0] | all[1] << 8 | all[2] << 16 | all[3] << 24;
}

/* Probes of the first visit. */
TAMIS_TEMPLATE uint64_t first_probes(const struct bloom *b) {
    return b->probes < PAIR ? b->probes : PAIR;
}

/* The keys of a group that passed the first visit. */
struct kept {
    uint64_t hash[TAMIS__PROBED_KEYS];
    uint8_t number[TAMIS__PROBED_KEYS];
};

/* Keeps those of `count` keys, a vector at most, that passed; returns the number kept by now. */
TAMIS_TEMPLATE size_t keep(struct kept *kept, size_t passed, uint32_t maybe, const uint64_t *hashes,
                           size_t i, size_t count) {
    TAMIS_UNROLL
    for (unsigned lane = 0; lane < count; lane++) {
        kept->hash[passed] = hashes[i + lane];
        kept->number[passed] = (uint8_t)(i + lane);
        passed += maybe >> 8 * lane & 1;
    }
    return passed;
}

/* The first visit of all keys; three of four absent keys fail it.  Returns how many passed. */
TAMIS_TEMPLATE size_t sift(const struct bloom *b, const uint32_t *places, const uint64_t *hashes,
                           size_t count, bool *answers, struct kept *kept) {
    size_t passed = 0;
    for (size_t i = 0; i < count; i += LANES, places += PAIR * LANES) {
        const uint32_t maybe = test_places(b, places, first_probes(b));
        tamis__neon_answer(maybe, count - i, answers == NULL ? NULL : answers + i);
        passed = count - i >= LANES ? keep(kept, passed, maybe, hashes, i, LANES)
                                    : keep(kept, passed, maybe, hashes, i, count - i);
    }
    return passed;
}

/* The results of `count` keys, a vector at most, that were kept; returns how many are true. */
TAMIS_TEMPLATE size_t give_kept(const uint8_t *number, uint32_t maybe, size_t count,
                                bool *answers) {
    size_t found = 0;
    TAMIS_UNROLL
    for (unsigned lane = 0; lane < count; lane++) {
        const bool answer = maybe >> 8 * lane & 1;
        if (answers != NULL) answers[number[lane]] = answer;
        found += answer;
    }
    return found;
}

/* Tests the rest of the keys that passed; returns how many are possibly in the set. */
TAMIS_TEMPLATE size_t test_kept(const struct bloom *b, uint32_t *places, const struct kept *kept,
                                size_t passed, bool *answers, bool fetch) {
    const uint64_t rest = (b->visits - 1) * PAIR, probes = b->probes - first_probes(b);
    size_t found = 0;
    write_places(b, kept->hash, passed, 1, b->visits, places, fetch, false);
    for (size_t i = 0; i < passed; i += LANES) {
        const uint32_t maybe = test_places(b, places + i * rest, probes);
        found += passed - i >= LANES ? give_kept(kept->number + i, maybe, LANES, answers)
                                     : give_kept(kept->number + i, maybe, passed - i, answers);
    }
    return found;
}

/* `*sifted`: are most keys expected to be absent?  Then one visit filters them; otherwise all
 * positions are tested at once.  The result of this group predicts the next. */
TAMIS_TEMPLATE size_t contains_group(const struct bloom *b, const uint64_t *hashes, size_t count,
                                     bool *answers, bool fetch, bool *sifted) {
    uint32_t places[TAMIS__PROBED_POSITIONS];
    struct kept kept;
    size_t found = 0;
    if (*sifted) {
        write_places(b, hashes, count, 0, 1, places, fetch, false);
        const size_t passed = sift(b, places, hashes, count, answers, &kept);
        found = test_kept(b, places, &kept, passed, answers, fetch);
    } else {
        write_places(b, hashes, count, 0, b->visits, places, fetch, false);
        for (size_t i = 0; i < count; i += LANES) {
            const uint32_t maybe = test_places(b, places + i * PAIR * b->visits, b->probes);
            found += tamis__neon_answer(maybe, count - i, answers == NULL ? NULL : answers + i);
        }
    }
    *sifted = 2 * found < count;
    return found;
}

TAMIS_TEMPLATE size_t contains_all(const tamis_filter *f, const uint64_t *hashes, size_t count,
                                   bool *answers, bool far) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.visits);
    bool sifted = false;
    size_t found = 0;
    for (size_t at = 0, n = far ? SAMPLE : group; at < count; at += n, n = group) {
        if (n > count - at) n = count - at;
        found +=
            contains_group(&b, hashes + at, n, answers == NULL ? NULL : answers + at, far, &sifted);
    }
    return found;
}

size_t tamis__bloom_contains_neon(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                  size_t count, bool *answers) {
    (void)hi;
    return f->shape.table_bytes >= TAMIS__PROBE_FETCHED
               ? contains_all(f, lo, count, answers, true)
               : contains_all(f, lo, count, answers, false);
}

/* ---- add */

/* Sets the bit; returns the old word, shifted so that the bit is its lowest. */
TAMIS_TEMPLATE uint64_t set_place(const struct bloom *b, uint32_t place) {
    uint64_t *words = (uint64_t *)(void *)b->table;
    const uint64_t before = words[place >> 6];
    words[place >> 6] = before | (uint64_t)1 << (place & 63);
    return before >> (place & 63);
}

/* Sets the bits of one key; returns whether all were set. */
TAMIS_TEMPLATE bool set_key(const struct bloom *b, const uint32_t *places) {
    uint64_t all = 1;
    for (uint64_t j = 0; j < b->probes; j++) all &= set_place(b, places[j * LANES]);
    return all != 0;
}

TAMIS_TEMPLATE void add_group(const struct bloom *b, const uint64_t *hashes, size_t count,
                              bool *fresh, bool far) {
    uint32_t places[TAMIS__PROBED_POSITIONS];
    write_places(b, hashes, count, 0, b->visits, places, far, true);
    for (size_t i = 0; i < count; i += LANES) {
        const uint32_t *at = places + i * PAIR * b->visits;
        if (fresh == NULL && count - i >= LANES) {
            for (uint64_t j = 0; j < b->probes; j++, at += LANES) {
                TAMIS_UNROLL
                for (unsigned lane = 0; lane < LANES; lane++) set_place(b, at[lane]);
            }
            continue;
        }
        for (size_t lane = 0; lane < LANES && i + lane < count; lane++) {
            const bool known = set_key(b, at + lane);
            if (fresh != NULL) fresh[i + lane] = !known;
        }
    }
}

TAMIS_TEMPLATE void add_all(const tamis_filter *f, const uint64_t *hashes, size_t count,
                            bool *fresh, bool far) {
    const struct bloom b = bloom_of(f);
    const size_t group = group_size(b.visits);
    for (size_t at = 0; at < count; at += group) {
        const size_t n = count - at < group ? count - at : group;
        add_group(&b, hashes + at, n, fresh == NULL ? NULL : fresh + at, far);
    }
}

tamis_status tamis__bloom_add_neon(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   size_t count, bool *fresh, size_t *done) {
    (void)hi;
    if (f->shape.table_bytes >= TAMIS__PROBE_FETCHED) {
        add_all(f, lo, count, fresh, true);
    } else {
        add_all(f, lo, count, fresh, false);
    }
    *done = count;
    return TAMIS_OK;
}

#endif
