/* threads.c - many threads add to one shared filter and lose no key
 *
 * Four threads add their own keys, singly and in batches, and at once ask for what they have
 * added themselves (which they must see) while the others go on.  Afterwards every key of
 * every thread is there and the bytes are those of a filter filled by one thread.  Meant to be
 * built with ThreadSanitizer too. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define THREADS 4
#define PIECE 257

struct worker {
    tamis_filter *filter;
    const uint64_t *hashes;
    size_t count;
    uint64_t lost;     /* own keys that were not seen right after they were added */
    uint64_t not_ok;   /* adds that failed */
    uint64_t old_news; /* adds of keys of all threads that were not `fresh` */
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
            w->old_news += !fresh[i];
            if (i % 16 == 0) w->lost += !tamis_contains_hash(w->filter, hashes[i]);
        }
    }
    return NULL;
}

/* `overlap`: all threads add the same keys, which makes them meet at the same words. */
static void share(const struct variant *v, size_t each, double rate, bool overlap, bool decoded) {
    const size_t total = overlap ? each : each * THREADS;
    uint64_t *hashes = hashes_make(total, run_seed(), STREAM_MEMBERS);
    tamis_options o = variant_options(v, total, rate);
    o.shared = true;
    tamis_filter *f = NULL, *alone = variant_create(v, total, rate);
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
    uint64_t lost = 0, not_ok = 0, old_news = 0;
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        lost += workers[t].lost;
        not_ok += workers[t].not_ok;
        old_news += workers[t].old_news;
    }
    CHECK(lost == 0, "%s: %llu keys were not seen by the thread that added them", v->name,
          (unsigned long long)lost);
    CHECK(not_ok == 0, "%s: %llu adds failed", v->name, (unsigned long long)not_ok);
    const size_t found = tamis_contains_hash_batch(f, hashes, total, NULL);
    CHECK(found == total, "%s: %zu of %zu keys are there", v->name, found, total);
    CHECK(facts_of(f).adds == (uint64_t)each * THREADS, "%s: %llu adds counted, %zu made", v->name,
          (unsigned long long)facts_of(f).adds, each * THREADS);
    if (!overlap) {
        /* Wrong "not fresh"s are false positives: far fewer than the final rate allows. */
        CHECK((double)old_news <= (double)total * rate + 100, "%s: %llu of %zu new keys not fresh",
              v->name, (unsigned long long)old_news, total);
        tamis_add_hash_batch(alone, hashes, total, NULL, NULL);
        struct bytes bytes = bytes_of(alone);
        CHECK(encodes_to(f, &bytes), "%s: other bytes than one thread alone", v->name);
        bytes_free(&bytes);
    }
    tally("keys", (uint64_t)each * THREADS);
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
        if ((v->caps & TAMIS_CAN_SHARE) == 0) continue;
        sharing++;
        share(v, 500, 0.01, false, false); /* few words: much contention */
        share(v, each, 0.01, false, false);
        share(v, each / 2, 1e-4, false, true);
        share(v, each / 2, 0.01, true, false);
    }
    CHECK(sharing >= 2 || run_filtered(), "bloom and block can be shared; %zu kinds say so",
          sharing);
    return run_end();
}
