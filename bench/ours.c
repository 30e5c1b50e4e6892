/* ours.c - the kinds of tamis as contenders */
#include "contenders.h"

#include <stdlib.h>

#include "pool.h"
#include "tamis.h"

#define BATCH 1024 /* keys per call, as a reader of records would collect */

/* setting: the kind, and the arity above it. */
#define ARITY_SHIFT 8

static tamis_options options_of(const struct bench_contender *self, unsigned threads) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = (tamis_kind)(self->setting & 0xff);
    options.arity = self->setting >> ARITY_SHIFT;
    options.fpr = self->fpr;
    options.shared = self->shared;
    options.threads = threads;
    options.allocator = bench_pool();
    return options;
}

static void *ours_create(const struct bench_contender *self, size_t n, bool texts) {
    (void)texts;
    tamis_options options = options_of(self, 1);
    options.capacity = n;
    tamis_filter *filter;
    return tamis_create(&options, &filter) == TAMIS_OK ? filter : NULL;
}

static void *ours_build(const struct bench_contender *self, const struct bench_keys *keys,
                        unsigned threads) {
    const tamis_options options = options_of(self, threads);
    tamis_filter *filter;
    const tamis_status status =
        keys->words != NULL
            ? tamis_build_hash(&options, keys->words, keys->count, &filter)
            : tamis_build(&options, keys->texts, keys->lengths, keys->count, &filter);
    return status == TAMIS_OK ? filter : NULL;
}

static void ours_destroy(void *filter) { tamis_free(filter); }

static size_t ours_bytes(const void *filter) { return (size_t)tamis_encoded_size(filter); }

static void ours_add(void *filter, const struct bench_keys *keys, size_t from, size_t to) {
    if (keys->words != NULL) {
        for (size_t i = from; i < to; i++) tamis_add_hash(filter, keys->words[i], NULL);
    } else {
        for (size_t i = from; i < to; i++) {
            tamis_add(filter, keys->texts[i], keys->lengths[i], NULL);
        }
    }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void ours_add_batch(void *filter, const struct bench_keys *keys, size_t from, size_t to) {
    for (size_t i = from; i < to; i += BATCH) {
        const size_t count = smaller(BATCH, to - i);
        if (keys->words != NULL) {
            tamis_add_hash_batch(filter, keys->words + i, count, NULL, NULL);
        } else {
            tamis_add_batch(filter, keys->texts + i, keys->lengths + i, count, NULL, NULL);
        }
    }
}

static size_t ours_remove(void *filter, const struct bench_keys *keys, size_t from, size_t to) {
    size_t removed = 0;
    for (size_t i = from; i < to; i++) {
        removed += TAMIS_OK == (keys->words != NULL
                                    ? tamis_remove_hash(filter, keys->words[i])
                                    : tamis_remove(filter, keys->texts[i], keys->lengths[i]));
    }
    return removed;
}

static size_t ours_remove_batch(void *filter, const struct bench_keys *keys, size_t from,
                                size_t to) {
    size_t removed = 0;
    for (size_t i = from; i < to; i += BATCH) {
        const size_t count = smaller(BATCH, to - i);
        const tamis_status status =
            keys->words != NULL
                ? tamis_remove_hash_batch(filter, keys->words + i, count, NULL)
                : tamis_remove_batch(filter, keys->texts + i, keys->lengths + i, count, NULL);
        if (status == TAMIS_OK) removed += count;
    }
    return removed;
}

static size_t ours_query(const void *filter, const struct bench_keys *keys, size_t from,
                         size_t to) {
    size_t found = 0;
    if (keys->words != NULL) {
        for (size_t i = from; i < to; i++) found += tamis_contains_hash(filter, keys->words[i]);
    } else {
        for (size_t i = from; i < to; i++) {
            found += tamis_contains(filter, keys->texts[i], keys->lengths[i]);
        }
    }
    return found;
}

static size_t ours_query_batch(const void *filter, const struct bench_keys *keys, size_t from,
                               size_t to) {
    bool answers[BATCH];
    size_t found = 0;
    for (size_t i = from; i < to; i += BATCH) {
        const size_t count = smaller(BATCH, to - i);
        found +=
            keys->words != NULL
                ? tamis_contains_hash_batch(filter, keys->words + i, count, answers)
                : tamis_contains_batch(filter, keys->texts + i, keys->lengths + i, count, answers);
    }
    return found;
}

const char *bench_path(const void *filter) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    return tamis_info(filter, &facts) == TAMIS_OK ? facts.path : "";
}

void bench_hash_texts(const void *filter, const struct bench_keys *keys, uint64_t *hashes) {
    for (size_t i = 0; i < keys->count; i += BATCH) {
        const size_t count = smaller(BATCH, keys->count - i);
        tamis_hash_batch(filter, keys->texts + i, keys->lengths + i, count, hashes + i);
    }
}

/* Operations of every kind, of kinds that are filled key by key, and of kinds that are built from
 * all keys at once. */
#define ANY                                                                          \
    .ours = true, .destroy = ours_destroy, .bytes = ours_bytes, .query = ours_query, \
    .query_batch = ours_query_batch
#define FILLED .create = ours_create, .add = ours_add, .add_batch = ours_add_batch, ANY
#define BUILT .build = ours_build, ANY
#define REMOVES .remove = ours_remove, .remove_batch = ours_remove_batch

static const struct bench_contender contenders[] = {
    {.name = "block", .what = "block, 1 %", .fpr = 0.01, .setting = TAMIS_BLOCK, FILLED},
    {.name = "block-shared",
     .what = "block, 1 %, adds from several threads",
     .fpr = 0.01,
     .shared = true,
     .setting = TAMIS_BLOCK,
     FILLED},
    {.name = "bloom", .what = "bloom, 1 %", .fpr = 0.01, .setting = TAMIS_BLOOM, FILLED},
    {.name = "bloom-shared",
     .what = "bloom, 1 %, adds from several threads",
     .fpr = 0.01,
     .shared = true,
     .setting = TAMIS_BLOOM,
     FILLED},
    {.name = "growing",
     .what = "growing from the right size, 1 %",
     .fpr = 0.01,
     .setting = TAMIS_GROWING,
     FILLED},
    {.name = "counting",
     .what = "counting, 1 %",
     .fpr = 0.01,
     .setting = TAMIS_COUNTING,
     FILLED,
     REMOVES},
    {.name = "cuckoo",
     .what = "cuckoo, 1 %",
     .fpr = 0.01,
     .setting = TAMIS_CUCKOO,
     FILLED,
     REMOVES},
    {.name = "cuckoo-0.18%",
     .what = "cuckoo, 0.1835 %: the rate of 12-bit buckets of four",
     .fpr = 0.001835,
     .setting = TAMIS_CUCKOO,
     FILLED,
     REMOVES},
    {.name = "xor", .what = "xor, 1 %", .fpr = 0.01, .setting = TAMIS_XOR, BUILT},
    {.name = "fuse",
     .what = "fuse, 4 slots per key, 1 %",
     .fpr = 0.01,
     .setting = TAMIS_FUSE,
     BUILT},
    {.name = "ribbon", .what = "ribbon, 1 %", .fpr = 0.01, .setting = TAMIS_RIBBON, BUILT},
    {.name = "fuse3-8",
     .what = "fuse, 3 slots per key, 2^-8",
     .fpr = 1. / 256,
     .setting = TAMIS_FUSE | 3u << ARITY_SHIFT,
     BUILT},
    {.name = "fuse4-8",
     .what = "fuse, 4 slots per key, 2^-8",
     .fpr = 1. / 256,
     .setting = TAMIS_FUSE | 4u << ARITY_SHIFT,
     BUILT},
    {.name = "ribbon-8", .what = "ribbon, 2^-8", .fpr = 1. / 256, .setting = TAMIS_RIBBON, BUILT},
};

size_t bench_ours(const struct bench_contender **out) {
    const size_t count = sizeof contenders / sizeof contenders[0];
    for (size_t i = 0; i < count; i++) out[i] = &contenders[i];
    return count;
}
