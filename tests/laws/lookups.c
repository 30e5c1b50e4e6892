/* lookups.c - every member is found, counted in positive lookups
 *
 * never_absent.c varies the sets; this law varies the lookups.  For every kind, class of keys and
 * size (small, in cache, out of cache) a filter is built and looked up as built, decoded for the
 * portable code, and mapped from its file with and without SIMD; by one thread and by two at once;
 * by key and by hash, singly and in batches.  So are small filters and the filters of every
 * compatible format that can be created.  --count N makes N lookups in all.
 *
 * tests: full */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/paths.h"

#define PIECE 4096
#define THREADS_MAX 2

/* The keys of keyset_make, and long keys that differ in a few bits. */
enum { CLASSES = KEY_CLASSES, LOW_ENTROPY = KEYS_BYTE };
static const char *const class_names[CLASSES] = {"sequential", "random", "text", "low entropy"};

/* 40 bytes "aaaabaab...": 22 of them vary, each by one bit. */
static void low_entropy_keys(struct keyset *set, size_t count) {
    enum { LENGTH = 40, BITS = 22 };
    *set = (struct keyset){.count = count, .distinct = count};
    set->arena = (uint8_t *)need(count, LENGTH);
    set->keys = NEED(const void *, count);
    set->lengths = NEED(size_t, count);
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = set->arena + i * LENGTH;
        memset(at, 'a', LENGTH);
        for (unsigned b = 0; b < BITS; b++) at[b + LENGTH - BITS] ^= (uint8_t)((i >> b & 1) << 1);
        set->keys[i] = at;
        set->lengths[i] = LENGTH;
    }
}

/* ---- one filter, looked up by one thread */

struct job {
    const tamis_filter *filter;
    const struct keyset *set;
    const uint64_t *hashes; /* NULL: the filter takes bytes only */
    uint64_t lookups;
    size_t at;
    uint64_t missing;
};

static size_t found_singly(const struct job *j, size_t at, size_t piece, bool by_hash) {
    size_t found = 0;
    for (size_t i = at; i < at + piece; i++) {
        found += by_hash ? tamis_contains_hash(j->filter, j->hashes[i])
                         : tamis_contains(j->filter, j->set->keys[i], j->set->lengths[i]);
    }
    return found;
}

/* One piece in 16 is looked up key by key, one hash by hash, two as a batch of keys; the others are
 * batches of hashes, which are the fastest. */
static void *look_up(void *argument) {
    struct job *j = (struct job *)argument;
    bool answers[PIECE];
    size_t at = j->at;
    for (uint64_t left = j->lookups, turn = 0; left != 0; turn++) {
        size_t piece = j->set->count - at < PIECE ? j->set->count - at : PIECE, found;
        if (piece > left) piece = (size_t)left;
        bool *results = turn % 2 == 0 ? answers : NULL;
        if (turn % 16 < 2) {
            results = NULL;
            found = found_singly(j, at, piece, turn % 16 == 1 && j->hashes != NULL);
        } else if (turn % 16 < 4 || j->hashes == NULL) {
            found = tamis_contains_batch(j->filter, j->set->keys + at, j->set->lengths + at, piece,
                                         results);
        } else {
            found = tamis_contains_hash_batch(j->filter, j->hashes + at, piece, results);
        }
        j->missing += piece - found;
        for (size_t i = 0; results != NULL && i < piece; i++) j->missing += !answers[i];
        at = at + piece == j->set->count ? 0 : at + piece;
        left -= piece;
    }
    return NULL;
}

static void expect_found(const char *name, const char *what, const tamis_filter *f,
                         const struct keyset *set, const uint64_t *hashes, uint64_t lookups) {
    if (f == NULL || set->count == 0) return;
    for (size_t threads = 1; threads <= THREADS_MAX; threads++) {
        struct job jobs[THREADS_MAX];
        pthread_t others[THREADS_MAX];
        uint64_t missing = 0;
        for (size_t t = 0; t < threads; t++) {
            jobs[t] = (struct job){f, set, hashes, lookups / threads, set->count / threads * t, 0};
            if (t != 0) pthread_create(&others[t], NULL, look_up, &jobs[t]);
        }
        look_up(&jobs[0]);
        for (size_t t = 0; t < threads; t++) {
            if (t != 0) pthread_join(others[t], NULL);
            missing += jobs[t].missing;
            count_up("positive lookups", jobs[t].lookups);
        }
        CHECK(missing == 0, "%s, %s, %zu keys, %zu threads: %llu keys were not found", name, what,
              set->count, threads, (unsigned long long)missing);
    }
}

/* ---- every kind */

/* The filter as built, decoded with the portable code, and mapped, on each path of this machine. */
static size_t subjects(void) {
    size_t paths = 0;
    while (path_at(paths) != NULL) paths++;
    return 2 + paths;
}

static void every_subject(const struct variant *v, const char *keys, const struct keyset *set,
                          uint64_t lookups) {
    tamis_options o = variant_options(v, 0, set->count % 3 == 0 ? 0.001 : 0.01);
    tamis_filter *built = NULL, *opened = NULL;
    o.threads = 2;
    o.seed = run_seed();
    const tamis_status status = tamis_build(&o, set->keys, set->lengths, set->count, &built);
    if (!CHECK(status == TAMIS_OK, "%s: build of %zu %s keys: %s", v->name, set->count, keys,
               tamis_status_name(status))) {
        return;
    }
    uint64_t *hashes = NEED(uint64_t, set->count);
    tamis_hash_batch(built, set->keys, set->lengths, set->count, hashes);
    expect_found(v->name, keys, built, set, hashes, lookups);
    struct bytes bytes = bytes_of(built);
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.portable = true;
    CHECK(tamis_decode(bytes.data, bytes.size, &open, &opened) == TAMIS_OK, "%s: decode", v->name);
    expect_found(v->name, keys, opened, set, hashes, lookups);
    tamis_free(opened);
    bytes_free(&bytes);
    char path[512];
    snprintf(path, sizeof path, "%s/lookups.tamis", run_directory());
    CHECK(tamis_save(built, path, true) == TAMIS_OK, "%s: save", v->name);
    tamis_free(built);
    open.map = true;
    for (size_t p = 0; path_at(p) != NULL; p++) {
        path_use(p);
        opened = NULL;
        open.portable = p == 0;
        CHECK(tamis_open(path, &open, &opened) == TAMIS_OK, "%s: open", v->name);
        expect_found(v->name, keys, opened, set, hashes, lookups);
        tamis_free(opened);
    }
    path_use_all();
    free(hashes);
    count_up("filters", subjects());
}

/* ---- small filters */

static void small_filters(uint64_t lookups) {
    enum { KEYS_MAX = 1000, ROOM = 8192 };
    uint64_t hashes[KEYS_MAX], made = 0;
    uint8_t buffer[ROOM];
    tamis_options o = TAMIS_OPTIONS_INIT;
    hashes_fill(hashes, KEYS_MAX, 0, run_seed(), STREAM_MEMBERS);
    for (size_t n = 1; made < lookups; n = n % KEYS_MAX + 1) {
        size_t length = 0, missing = 0;
        o.kind = n % 2 == 0 ? TAMIS_AUTO : TAMIS_BLOOM;
        o.fpr = n % 3 == 0 ? 0.001 : 0.02;
        const tamis_status status = tamis_small_build(&o, hashes, n, buffer, ROOM, &length);
        CHECK(status == TAMIS_OK, "small filter of %zu: %s", n, tamis_status_name(status));
        for (unsigned round = 0; round < 100; round++) {
            for (size_t i = 0; i < n; i++) {
                missing += !tamis_small_contains(buffer, length, hashes[i]);
            }
        }
        CHECK(missing == 0, "small filter of %zu: %zu keys were not found", n, missing);
        made += 100 * n;
        count_up("filters", 1);
    }
    count_up("positive lookups", made);
}

/* ---- compatible formats */

static size_t formats_to_create(void) {
    size_t count = 0;
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) {
        count += tamis_format_can_create(tamis_format_at(i));
    }
    return count;
}

static void compatible(const char *format, size_t count, uint64_t lookups) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    struct keyset set = {.count = count, .distinct = count};
    set.arena = (uint8_t *)need(count, sizeof(uint64_t));
    set.keys = NEED(const void *, count);
    set.lengths = NEED(size_t, count);
    integer_keys((uint64_t *)(void *)set.arena, set.keys, set.lengths, count);
    o.format = format;
    o.capacity = count;
    const tamis_status status = tamis_build(&o, set.keys, set.lengths, count, &f);
    CHECK(status == TAMIS_OK, "%s: build: %s", format, tamis_status_name(status));
    expect_found(format, "integer", f, &set, NULL, lookups / THREADS_MAX);
    tamis_free(f);
    keyset_free(&set);
    count_up("filters", 1);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "lookups");
    const uint64_t total = run_count(1000000, 60000000, UINT64_C(1000000000));
    const size_t sizes[] = {200, 20000, total < UINT64_C(1000000000) ? 100000 : 4000000};
    const size_t sizes_used = run_effort() == EFFORT_QUICK ? 2 : 3;
    size_t variants = 0;
    while (variant_at(variants) != NULL) variants++;
    const uint64_t small_share = total / 25, compat_share = total / 25;
    /* Rounded up, so that the sum is at least `total`. */
    const uint64_t each = (total - small_share - compat_share) /
                              (CLASSES * sizes_used * variants * subjects() * THREADS_MAX) +
                          THREADS_MAX;
    for (size_t s = 0; s < sizes_used; s++) {
        for (unsigned c = 0; c < CLASSES; c++) {
            struct keyset set;
            if (c == LOW_ENTROPY) {
                low_entropy_keys(&set, sizes[s]);
            } else {
                keyset_make(&set, (enum key_class)c, sizes[s], 0, run_seed());
            }
            for (size_t i = 0; i < variants; i++) {
                every_subject(variant_at(i), class_names[c], &set, each);
            }
            keyset_free(&set);
        }
    }
    small_filters(small_share);
    const uint64_t compat_each = compat_share / formats_to_create() + THREADS_MAX;
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) {
        const char *format = tamis_format_at(i);
        if (tamis_format_can_create(format)) compatible(format, 10000, compat_each);
    }
    return run_end();
}
