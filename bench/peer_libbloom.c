/* peer_libbloom.c - libbloom: a classic Bloom filter with murmur2 in C */
#include <bloom.h>
#include <stdlib.h>

#include "contenders.h"

static void *libbloom_create(const struct bench_contender *self, size_t n, bool texts) {
    (void)texts;
    struct bloom *filter = malloc(sizeof *filter);
    if (filter == NULL || bloom_init(filter, (int)n, self->fpr) != 0) {
        free(filter);
        return NULL;
    }
    return filter;
}

static void libbloom_destroy(void *filter) {
    bloom_free(filter);
    free(filter);
}

static size_t libbloom_bytes(const void *filter) {
    return (size_t)((const struct bloom *)filter)->bytes;
}

static void libbloom_add(void *filter, const struct bench_keys *keys, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (keys->words != NULL) {
            bloom_add(filter, &keys->words[i], sizeof keys->words[i]);
        } else {
            bloom_add(filter, keys->texts[i], (int)keys->lengths[i]);
        }
    }
}

static size_t libbloom_query(const void *filter, const struct bench_keys *keys, size_t from,
                             size_t to) {
    /* bloom_check only reads, but its parameter is not const. */
    struct bloom *bloom = (struct bloom *)(uintptr_t)filter;
    size_t found = 0;
    for (size_t i = from; i < to; i++) {
        found +=
            1 == (keys->words != NULL ? bloom_check(bloom, &keys->words[i], sizeof keys->words[i])
                                      : bloom_check(bloom, keys->texts[i], (int)keys->lengths[i]));
    }
    return found;
}

static const struct bench_contender libbloom = {.name = "libbloom",
                                                .what = "libbloom, classic Bloom, 1 %",
                                                .fpr = 0.01,
                                                .create = libbloom_create,
                                                .destroy = libbloom_destroy,
                                                .add = libbloom_add,
                                                .query = libbloom_query,
                                                .bytes = libbloom_bytes};

size_t bench_libbloom(const struct bench_contender **out) {
    out[0] = &libbloom;
    return 1;
}
