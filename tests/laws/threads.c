/* threads.c - many threads add to one shared filter, or to one builder, and lose no key
 *
 * Four threads add their own keys, singly and in batches, and at once query the keys that they
 * have added (which they must find) while the others continue.  Afterwards every key of
 * every thread is found and the bytes are those of a filter filled by one thread.  The same holds
 * for a large file opened for update, and for a builder, in memory and past its limit.  Run it
 * with ThreadSanitizer, too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define THREADS 4
#define PIECE 257

struct worker {
    tamis_filter *filter;
    const uint64_t *hashes;
    size_t count;
    uint64_t lost;      /* own keys that were not seen right after they were added */
    uint64_t not_ok;    /* adds that failed */
    uint64_t not_fresh; /* adds that were not `fresh` */
};

static void *work(void *argument) {
    struct worker *w = (struct worker *)argument;
    bool fresh[PIECE], answers[PIECE];
    for (size_t at = 0, piece; at < w->count; at += piece) {
        piece = w->count - at < PIECE ? w->count - at : PIECE;
        const uint64_t *hashes = w->hashes + at;
        if (at / PIECE % 2 == 0) {
            w->not_ok += tamis_add_hash_batch(w->filter, hashes, piece, fresh, NULL) != TAMIS_OK;
        } else {
            for (size_t i = 0; i < piece; i++) {
                w->not_ok += tamis_add_hash(w->filter, hashes[i], &fresh[i]) != TAMIS_OK;
            }
        }
        w->lost += piece - tamis_contains_hash_batch(w->filter, hashes, piece, answers);
        for (size_t i = 0; i < piece; i++) {
            w->not_fresh += !fresh[i];
            if (i % 16 == 0) w->lost += !tamis_contains_hash(w->filter, hashes[i]);
        }
    }
    return NULL;
}

/* `overlap`: all threads add the same keys, which makes them meet at the same words. */
static void share(const struct variant *v, size_t each, double fpr, bool overlap, bool decoded) {
    const size_t total = overlap ? each : each * THREADS;
    uint64_t *hashes = hashes_make(total, run_seed(), STREAM_MEMBERS);
    tamis_options o = variant_options(v, total, fpr);
    o.shared = true;
    tamis_filter *f = NULL, *alone = variant_create(v, total, fpr);
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s: create shared", v->name);
    if (decoded && f != NULL) { /* a filter that was opened as shared */
        struct bytes bytes = bytes_of(f);
        tamis_open_options open = TAMIS_OPEN_INIT;
        tamis_free(f);
        f = NULL;
        open.shared = true;
        CHECK(tamis_decode(bytes.data, bytes.size, &open, &f) == TAMIS_OK, "%s: decode", v->name);
        bytes_free(&bytes);
    }
    if (f == NULL || alone == NULL) return;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (size_t t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){
            .filter = f, .hashes = hashes + (overlap ? 0 : t * each), .count = each};
        CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0, "thread %zu", t);
    }
    uint64_t lost = 0, not_ok = 0, not_fresh = 0;
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        lost += workers[t].lost;
        not_ok += workers[t].not_ok;
        not_fresh += workers[t].not_fresh;
    }
    CHECK(lost == 0, "%s: %llu keys were not seen by the thread that added them", v->name,
          (unsigned long long)lost);
    CHECK(not_ok == 0, "%s: %llu adds failed", v->name, (unsigned long long)not_ok);
    const size_t found = tamis_contains_hash_batch(f, hashes, total, NULL);
    CHECK(found == total, "%s: %zu of %zu keys are found", v->name, found, total);
    CHECK(facts_of(f).adds == (uint64_t)each * THREADS, "%s: %llu adds counted, %zu made", v->name,
          (unsigned long long)facts_of(f).adds, each * THREADS);
    if (!overlap) {
        /* A new key reported as not fresh is a false positive: far fewer than the final rate
         * allows. */
        CHECK((double)not_fresh <= (double)total * fpr + 100, "%s: %llu of %zu new keys not fresh",
              v->name, (unsigned long long)not_fresh, total);
        tamis_add_hash_batch(alone, hashes, total, NULL, NULL);
        struct bytes bytes = bytes_of(alone);
        CHECK(encodes_to(f, &bytes), "%s: other bytes than one thread alone", v->name);
        bytes_free(&bytes);
    }
    count_up("keys", (uint64_t)each * THREADS);
    tamis_free(f);
    tamis_free(alone);
    free(hashes);
}

/* ---- a large file */

struct starter {
    tamis_filter *filter;
    const uint64_t *hashes;
    size_t count;
    atomic_bool *go; /* all at once: threads that start later find the pieces marked */
};

static void *start_and_add(void *argument) {
    const struct starter *s = (const struct starter *)argument;
    while (!atomic_load(s->go)) continue;
    for (size_t i = 0; i < s->count; i++) (void)tamis_add_hash(s->filter, s->hashes[i], NULL);
    return NULL;
}

static void add_in_threads(tamis_filter *f, const uint64_t *hashes, size_t each) {
    pthread_t threads[THREADS];
    struct starter starters[THREADS];
    atomic_bool go = false;
    for (size_t t = 0; t < THREADS; t++) {
        starters[t] = (struct starter){f, hashes + t * each, each, &go};
        CHECK(pthread_create(&threads[t], NULL, start_and_add, &starters[t]) == 0, "thread %zu", t);
    }
    atomic_store(&go, true);
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
}

/* An update in place writes only the pieces that keys touched, so none may be missed: a missed
 * piece would not match its checksum. */
static void change_file(const struct variant *v) {
    enum { EACH = 300, BITS_PER_KEY = 10 };
    const uint64_t bytes = (uint64_t)48 << 20;
    const size_t total = EACH * THREADS;
    uint64_t *hashes = hashes_make(total, run_seed(), STREAM_MEMBERS);
    char path[512];
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = variant_create(v, bytes * 8 / BITS_PER_KEY, 0.01);
    snprintf(path, sizeof path, "%s/shared.tamis", run_directory());
    CHECK(f != NULL && tamis_save(f, path, true) == TAMIS_OK, "%s: save", v->name);
    tamis_free(f);
    open.update = open.shared = true;
    for (size_t round = 0; round <= run_pick(10, 20, 200); round++) {
        f = NULL;
        CHECK(tamis_open(path, &open, &f) == TAMIS_OK, "%s: open", v->name);
        if (f == NULL) break;
        add_in_threads(f, hashes, EACH);
        const tamis_status status = tamis_verify(f);
        CHECK(status == TAMIS_OK, "%s: changed by threads: %s", v->name, tamis_status_name(status));
        if (round == 0) CHECK(tamis_commit(f, NULL) == TAMIS_OK, "%s: commit", v->name);
        tamis_free(f);
    }
    open = (tamis_open_options)TAMIS_OPEN_INIT;
    f = NULL;
    CHECK(tamis_open(path, &open, &f) == TAMIS_OK, "%s: open again", v->name);
    const size_t found = f == NULL ? 0 : tamis_contains_hash_batch(f, hashes, total, NULL);
    CHECK(found == total, "%s: %zu of %zu keys are in the file", v->name, found, total);
    tamis_free(f);
    free(hashes);
}

/* ---- a builder */

struct adder {
    tamis_builder *builder;
    const uint64_t *hashes;
    size_t count;
    uint64_t not_ok;
};

static void *add(void *argument) {
    struct adder *w = (struct adder *)argument;
    for (size_t at = 0, piece; at < w->count; at += piece) {
        piece = at % 3 == 0 ? 1 : PIECE;
        if (piece > w->count - at) piece = w->count - at;
        w->not_ok += tamis_builder_add_hash_batch(w->builder, w->hashes + at, piece) != TAMIS_OK;
    }
    return NULL;
}

/* Every adder adds `each` keys, half of which its neighbour adds too: at once, or in turn. */
static tamis_filter *build_by(const struct variant *v, const uint64_t *hashes, size_t each,
                              uint64_t memory, bool at_once) {
    tamis_options o = variant_options(v, 0, 0.01);
    tamis_filter *f = NULL;
    tamis_builder *builder = NULL;
    pthread_t threads[THREADS];
    struct adder adders[THREADS];
    o.memory = memory;
    CHECK(tamis_builder_create(&o, &builder) == TAMIS_OK, "%s: create a builder", v->name);
    for (size_t t = 0; t < THREADS; t++) {
        adders[t] = (struct adder){builder, hashes + t * (each / 2), each, 0};
        if (!at_once) {
            add(&adders[t]);
        } else {
            CHECK(pthread_create(&threads[t], NULL, add, &adders[t]) == 0, "thread %zu", t);
        }
    }
    uint64_t not_ok = 0;
    for (size_t t = 0; t < THREADS; t++) {
        if (at_once) pthread_join(threads[t], NULL);
        not_ok += adders[t].not_ok;
    }
    CHECK(not_ok == 0, "%s: %llu adds failed", v->name, (unsigned long long)not_ok);
    CHECK(tamis_builder_count(builder) == each * THREADS, "%s: %llu keys counted", v->name,
          (unsigned long long)tamis_builder_count(builder));
    CHECK(tamis_builder_finish(builder, &f) == TAMIS_OK, "%s: finish", v->name);
    tamis_builder_free(builder);
    return f;
}

static void build(const struct variant *v, size_t each, uint64_t memory) {
    const size_t total = each / 2 * (THREADS + 1);
    uint64_t *hashes = hashes_make(total, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = build_by(v, hashes, each, memory, true);
    tamis_filter *alone = build_by(v, hashes, each, 0, false);
    if (f == NULL || alone == NULL) return;
    const size_t found = tamis_contains_hash_batch(f, hashes, total, NULL);
    CHECK(found == total, "%s: %zu of %zu keys are found", v->name, found, total);
    struct bytes bytes = bytes_of(alone);
    CHECK(encodes_to(f, &bytes), "%s: other bytes than one thread alone", v->name);
    bytes_free(&bytes);
    count_up("keys", total);
    tamis_free(f);
    tamis_free(alone);
    free(hashes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "threads");
    const size_t each = run_pick(20000, 500000, 5000000);
    size_t sharing = 0;
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        build(v, each, 0);
        build(v, each, 1 << 20);
        if (v->kind == TAMIS_FUSE) build(v, run_pick(1200000, 1300000, 5000000), 0); /* shards */
        if ((v->caps & TAMIS_CAN_SHARE) == 0) continue;
        sharing++;
        share(v, 500, 0.01, false, false); /* few words: much contention */
        share(v, each, 0.01, false, false);
        share(v, each / 2, 1e-4, false, true);
        share(v, each / 2, 0.01, true, false);
        change_file(v);
    }
    CHECK(sharing >= 2 || run_filtered(), "bloom and block can be shared; %zu kinds report it",
          sharing);
    return run_end();
}
