/* filters.h - the subjects of the laws: variants of every kind in the registry, sets of keys,
 * the bytes of a filter, and an allocator that counts and fails
 *
 * Uses the public header only. */
#ifndef TESTS_SUPPORT_FILTERS_H
#define TESTS_SUPPORT_FILTERS_H

#include <stdatomic.h>

#include "check.h"
#include "tamis.h"

/* ------------------------------------------------------------------ variants */

/* A kind, or a kind with an option that changes its layout.  The list comes from
 * tamis_kind_next, so it includes every registered kind. */
struct variant {
    tamis_kind kind;
    uint32_t arity;
    tamis_kind stage;
    uint32_t caps;
    char name[32];
};

/* The variants of the kind that --kind names, or all.  NULL at the end. */
const struct variant *variant_at(size_t index);

/* Options for a variant; callers set `allocator`, `seed` and so on. */
tamis_options variant_options(const struct variant *v, uint64_t capacity, double fpr);

/* Builds from hashes; a failure is a failed check and gives NULL. */
tamis_filter *variant_build(const struct variant *v, double fpr, const uint64_t *hashes,
                            size_t count);

/* An empty filter that accepts adds; a failure is a failed check and gives NULL. */
tamis_filter *variant_create(const struct variant *v, uint64_t capacity, double fpr);

/* tamis_info; a failure is a failed check. */
tamis_facts facts_of(const tamis_filter *f);

/* ---------------------------------------------------------------------- keys */

enum key_class { KEYS_SEQUENTIAL, KEYS_RANDOM, KEYS_TEXT, KEYS_BYTE, KEY_CLASSES };
const char *key_class_name(enum key_class c);

/* `count` keys of which about `repeats` per cent repeat an earlier one. */
struct keyset {
    size_t count;
    const void **keys;
    size_t *lengths;
    uint8_t *arena;
    size_t distinct;
};
void keyset_make(struct keyset *set, enum key_class c, size_t count, unsigned repeats,
                 uint64_t seed);
void keyset_free(struct keyset *set);

/* `count` distinct hashes from a stream: two streams of one seed share none. */
enum { STREAM_MEMBERS = 1, STREAM_OTHERS = 2, STREAM_PROBES = 3 };
uint64_t *hashes_make(size_t count, uint64_t seed, uint64_t stream);
void hashes_fill(uint64_t *hashes, size_t count, uint64_t from, uint64_t seed, uint64_t stream);

/* How many of `count` hashes of a stream, from the `from`-th on, the filter reports as members. */
uint64_t hits_in_stream(const tamis_filter *f, uint64_t count, uint64_t from, uint64_t seed,
                        uint64_t stream);

/* --------------------------------------------------------------------- bytes */

struct bytes {
    uint8_t *data; /* aligned to 64 bytes, so that it can be viewed */
    size_t size;
};
struct bytes bytes_new(size_t size);
struct bytes bytes_copy(const uint8_t *data, size_t size);
/* What tamis_encode writes; a failure is a failed check and gives size 0. */
struct bytes bytes_of(const tamis_filter *f);
bool bytes_equal(const struct bytes *a, const struct bytes *b);
void bytes_free(struct bytes *b);
/* The first difference, for messages. */
size_t bytes_difference(const struct bytes *a, const struct bytes *b);
/* Does the filter encode to `b`? */
bool encodes_to(const tamis_filter *f, const struct bytes *b);

/* ----------------------------------------------------------------- allocator */

/* Counts, checks the size at every free, and fails on demand.  Safe from many threads. */
struct meter {
    atomic_uint_fast64_t calls;      /* alloc calls, failed ones included */
    atomic_uint_fast64_t live;       /* blocks */
    atomic_uint_fast64_t live_bytes; /* requested */
    atomic_uint_fast64_t peak_bytes;
    atomic_uint_fast64_t wrong_size; /* frees with another size than requested */
    uint64_t fail_at;                /* this call and all later ones fail; 0: none */
    bool fail_once;                  /* only that call */
    uint64_t limit;                  /* more bytes than this at once fail; 0: none */
};
void meter_reset(struct meter *m);
tamis_allocator meter_allocator(struct meter *m);

/* ------------------------------------------------------------------ statistics */

/* The most hits among `trials` that a true rate of `p` explains: the smallest k such that
 * more than k has a chance below that of exceeding `sigmas` standard deviations of a normal
 * distribution.  Exact (sums of binomial terms). */
uint64_t binomial_max(uint64_t trials, double p, double sigmas);

/* Keys of 8 bytes, for formats that accept no others: different integers, in the caller's
 * memory. */
void integer_keys(uint64_t *integers, const void **keys, size_t *lengths, size_t count);

#endif
