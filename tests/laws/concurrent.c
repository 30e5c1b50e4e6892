/* concurrent.c - operations of several threads on one object, counted
 *
 * threads.c compares the result of several threads with that of one; this law makes many
 * operations at once and checks each by the contract in tamis.h:
 *
 *   shared filters (bloom, block): 2, 4 and 8 threads add keys and publish how many; every thread
 *   looks up its own keys and those that others have published (the add happens before the lookup),
 *   all of which it must find;
 *   filters of every kind, in memory and mapped: threads look up members while others call
 *   tamis_info, tamis_verify, tamis_encode, tamis_clone and tamis_hash_batch;
 *   builders of every kind: threads hash and add, and the filter has every key.
 *
 * Run it with ThreadSanitizer, too.  --count N makes N operations in all: an add or a lookup of one
 * key is an operation, and so is any other call.
 *
 * tests: full threads */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define THREADS_MAX 8
#define PIECE 256

/* What all threads of a round share. */
struct crew {
    size_t threads;
    const uint64_t *hashes; /* the keys of thread t: each * t and following */
    size_t each;
    tamis_filter *filter;
    tamis_builder *builder;
    uint64_t first_hash;       /* of the bytes of the first of `hashes`, by the builder */
    const struct bytes *bytes; /* what the filter encodes to, if it is constant */
    uint64_t work;             /* operations of each thread on a constant filter */
    atomic_size_t published[THREADS_MAX]; /* keys that the thread has added */
};

struct member {
    struct crew *crew;
    size_t number;
    uint64_t operations;
    uint64_t wrong; /* keys that were not found, calls that failed, bytes that differ */
};

static uint64_t operations_made;

/* Runs `work` in all threads and adds up what they did. */
static void run_crew(struct crew *crew, void *(*work)(void *), const char *name, const char *what) {
    pthread_t threads[THREADS_MAX];
    struct member members[THREADS_MAX];
    uint64_t operations = 0, wrong = 0;
    for (size_t t = 0; t < crew->threads; t++) {
        members[t] = (struct member){.crew = crew, .number = t};
        CHECK(pthread_create(&threads[t], NULL, work, &members[t]) == 0, "thread %zu", t);
    }
    for (size_t t = 0; t < crew->threads; t++) {
        pthread_join(threads[t], NULL);
        operations += members[t].operations;
        wrong += members[t].wrong;
    }
    CHECK(wrong == 0, "%s, %s by %zu threads: %llu of %llu operations went wrong", name, what,
          crew->threads, (unsigned long long)wrong, (unsigned long long)operations);
    operations_made += operations;
    count_up("concurrent operations", operations);
}

/* ---- shared filters */

static void look_up(struct member *m, const uint64_t *hashes, size_t count) {
    bool answers[PIECE];
    const tamis_filter *f = m->crew->filter;
    m->wrong += count - tamis_contains_hash_batch(f, hashes, count, answers);
    for (size_t i = 0; i < count; i++) m->wrong += !answers[i];
    for (size_t i = 0; i < count; i += 16) m->wrong += !tamis_contains_hash(f, hashes[i]);
    m->operations += count + (count + 15) / 16;
}

static void add_piece(struct member *m, const uint64_t *hashes, size_t count, bool singly) {
    tamis_filter *f = m->crew->filter;
    if (singly) {
        bool fresh;
        for (size_t i = 0; i < count; i++) m->wrong += tamis_add_hash(f, hashes[i], &fresh) != 0;
    } else {
        size_t done = 0;
        m->wrong += tamis_add_hash_batch(f, hashes, count, NULL, &done) != TAMIS_OK;
        m->wrong += count - done;
    }
    m->operations += count;
}

static void *add_and_look_up(void *argument) {
    struct member *m = (struct member *)argument;
    struct crew *c = m->crew;
    struct rng r = {run_seed() + m->number};
    const uint64_t *own = c->hashes + m->number * c->each;
    for (size_t at = 0, piece; at < c->each; at += piece) {
        piece = c->each - at < PIECE ? c->each - at : PIECE;
        add_piece(m, own + at, piece, at / PIECE % 4 == 0);
        atomic_store_explicit(&c->published[m->number], at + piece, memory_order_release);
        look_up(m, own + at, piece);
        for (size_t i = 0; i < 3; i++) { /* the newest keys of another thread, and older ones */
            const size_t other = (size_t)rng_below(&r, c->threads);
            const size_t there = atomic_load_explicit(&c->published[other], memory_order_acquire);
            const size_t count = there < PIECE ? there : PIECE;
            const size_t from = i == 0 ? there - count : (size_t)rng_below(&r, there - count + 1);
            look_up(m, c->hashes + other * c->each + from, count);
        }
    }
    return NULL;
}

static void share(const struct variant *v, size_t threads, size_t each) {
    struct crew crew = {.threads = threads, .each = each};
    const size_t total = each * threads;
    uint64_t *hashes = hashes_make(total, run_seed() + each, STREAM_MEMBERS);
    tamis_options o = variant_options(v, total, 0.01);
    o.shared = true;
    CHECK(tamis_create(&o, &crew.filter) == TAMIS_OK, "%s: create shared", v->name);
    crew.hashes = hashes;
    if (crew.filter != NULL) {
        run_crew(&crew, add_and_look_up, v->name, "adds and lookups");
        const size_t found = tamis_contains_hash_batch(crew.filter, hashes, total, NULL);
        CHECK(found == total, "%s: %zu of %zu keys are found", v->name, found, total);
        CHECK(facts_of(crew.filter).adds == total, "%s: adds are counted", v->name);
    }
    tamis_free(crew.filter);
    free(hashes);
}

/* ---- constant filters */

static bool same_bytes(const tamis_filter *f, const struct bytes *expected) {
    struct bytes now = bytes_new(expected->size);
    size_t written = 0;
    const bool same = tamis_encode(f, now.data, now.size, &written) == TAMIS_OK &&
                      written == expected->size && bytes_equal(&now, expected);
    bytes_free(&now);
    return same;
}

/* A call that takes a constant filter; returns whether the result is right. */
static bool call(const struct crew *c, uint64_t which) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_filter *copy = NULL;
    bool right;
    switch (which % 5) {
        case 0:
            return tamis_info(c->filter, &facts) == TAMIS_OK &&
                   facts.encoded_bytes == c->bytes->size;
        case 1:
            return tamis_verify(c->filter) == TAMIS_OK;
        case 2:
            return same_bytes(c->filter, c->bytes);
        case 3:
            right = tamis_clone(c->filter, &copy) == TAMIS_OK &&
                    tamis_contains_hash(copy, c->hashes[which % c->each]);
            tamis_free(copy);
            return right;
        default:
            return tamis_count_hash(c->filter, c->hashes[which % c->each]) >= 1 &&
                   tamis_encoded_size(c->filter) == c->bytes->size;
    }
}

static void *query_and_call(void *argument) {
    struct member *m = (struct member *)argument;
    const struct crew *c = m->crew;
    struct rng r = {run_seed() + m->number};
    for (uint64_t turn = 0; m->operations < c->work; turn++) {
        look_up(m, c->hashes + rng_below(&r, c->each - PIECE), PIECE);
        if (turn % 64 == 8 * m->number) {
            m->wrong += !call(c, turn / 64);
            m->operations++;
        }
    }
    return NULL;
}

static void query(const struct variant *v, size_t threads, uint64_t operations) {
    enum { KEYS = 5000 };
    struct crew crew = {.threads = threads, .each = KEYS, .work = operations / threads};
    uint64_t *hashes = hashes_make(KEYS, run_seed(), STREAM_MEMBERS);
    tamis_filter *built = variant_build(v, 0.01, hashes, KEYS);
    char path[512];
    tamis_open_options open = TAMIS_OPEN_INIT;
    snprintf(path, sizeof path, "%s/concurrent.tamis", run_directory());
    open.map = true;
    CHECK(built != NULL && tamis_save(built, path, true) == TAMIS_OK &&
              tamis_open(path, &open, &crew.filter) == TAMIS_OK,
          "%s: save and map", v->name);
    if (crew.filter == NULL) return;
    struct bytes bytes = bytes_of(built);
    tamis_filter *mapped = crew.filter;
    crew.hashes = hashes;
    crew.bytes = &bytes;
    run_crew(&crew, query_and_call, v->name, "lookups of a mapped file");
    crew.filter = built;
    run_crew(&crew, query_and_call, v->name, "lookups");
    bytes_free(&bytes);
    tamis_free(mapped);
    tamis_free(built);
    free(hashes);
}

/* ---- builders */

static void *hash_and_add(void *argument) {
    struct member *m = (struct member *)argument;
    const struct crew *c = m->crew;
    const uint64_t *own = c->hashes + m->number * c->each;
    for (size_t at = 0, piece; at < c->each; at += piece) {
        piece = at % 3 == 0 ? 1 : PIECE;
        if (piece > c->each - at) piece = c->each - at;
        m->wrong += tamis_builder_hash(c->builder, c->hashes, 8) != c->first_hash;
        m->wrong += tamis_builder_add_hash_batch(c->builder, own + at, piece) != TAMIS_OK;
        m->operations += piece;
    }
    return NULL;
}

static void build(const struct variant *v, size_t threads, size_t each) {
    struct crew crew = {.threads = threads, .each = each};
    const size_t total = each * threads;
    uint64_t *hashes = hashes_make(total, run_seed(), STREAM_MEMBERS);
    const tamis_options o = variant_options(v, 0, 0.01);
    tamis_filter *f = NULL;
    CHECK(tamis_builder_create(&o, &crew.builder) == TAMIS_OK, "%s: create a builder", v->name);
    crew.hashes = hashes;
    if (crew.builder != NULL) {
        crew.first_hash = tamis_builder_hash(crew.builder, hashes, 8);
        run_crew(&crew, hash_and_add, v->name, "adds to a builder");
        CHECK(tamis_builder_finish(crew.builder, &f) == TAMIS_OK, "%s: finish", v->name);
    }
    const size_t found = f == NULL ? 0 : tamis_contains_hash_batch(f, hashes, total, NULL);
    CHECK(found == total, "%s: %zu of %zu keys are found", v->name, found, total);
    tamis_free(f);
    tamis_builder_free(crew.builder);
    free(hashes);
}

/* ---- the shares */

/* The keys of one thread in one round. */
#define ROUND_KEYS 200000

static void one_variant(const struct variant *v, uint64_t keys, uint64_t queries,
                        uint64_t builder_keys) {
    for (size_t threads = 2; threads <= THREADS_MAX; threads *= 2) {
        size_t each;
        for (uint64_t left = keys / threads; left != 0; left -= each) {
            each = left < ROUND_KEYS ? (size_t)left : ROUND_KEYS;
            share(v, threads, each);
            share(v, threads, 500); /* few words: much contention */
        }
        query(v, threads, queries);
        for (uint64_t left = builder_keys / threads; left != 0; left -= each) {
            each = left < ROUND_KEYS ? (size_t)left : ROUND_KEYS;
            build(v, threads, each);
        }
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "concurrent");
    const uint64_t total = run_count(1000000, 10000000, UINT64_C(1000000000));
    size_t variants = 0, sharing = 0;
    for (; variant_at(variants) != NULL; variants++) {
        sharing += (variant_at(variants)->caps & TAMIS_CAN_SHARE) != 0;
    }
    CHECK(sharing >= 2 || run_filtered(), "bloom and block can be shared; %zu kinds report it",
          sharing);
    /* Half for shared filters (about 5 operations for each key that is added), a twentieth for
     * builders, the rest for constant filters; each with three numbers of threads. */
    const uint64_t keys = sharing == 0 ? 0 : total / 2 / 5 / sharing / 3;
    const uint64_t builder_keys = total / 20 / variants / 3;
    const uint64_t queries = (total / 2 - total / 20) / variants / 3 / 2;
    for (size_t i = 0; i < variants; i++) {
        const struct variant *v = variant_at(i);
        const bool shares = (v->caps & TAMIS_CAN_SHARE) != 0;
        one_variant(v, shares ? keys : 0, queries, builder_keys);
    }
    /* Threads that start late find fewer keys of the others: fill up. */
    for (size_t i = 0; operations_made < total; i++) {
        query(variant_at(i % variants), 2, (total - operations_made) / 2);
    }
    return run_end();
}
