/* contender.h - what is measured: one kind of filter, ours or a peer's, behind one table
 *
 * The benchmark uses filters through this table only.  An operation takes a range of keys and loops
 * over it, so that one call through the table handles many keys and the code of each contender is
 * what its users would write.
 *
 * To measure a library that is not packaged, compile an adapter outside of this tree into a
 * shared object that defines
 *
 *     const struct bench_contender *const bench_contenders[];      // NULL at the end
 *
 * and pass it with --peer FILE.  It then runs interleaved with the others, and the table of
 * ratios finds it by its name: "boost-block32", "boost-block64", "boost-bloom",
 * "fastfilter-cuckoo12", "xs-fuse8", "xs-fuse16", "burr". */
#ifndef TAMIS_BENCH_CONTENDER_H
#define TAMIS_BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of one type: 64-bit numbers, all of whose bits vary, or strings (texts). */
struct bench_keys {
    size_t count;
    const uint64_t *words;    /* NULL: texts */
    const void *const *texts; /* NULL: words */
    const size_t *lengths;    /* of the texts */
};

struct bench_contender {
    const char *name;
    const char *what; /* one line: what it is and how it is set up */
    bool ours;
    bool shared;     /* adds may come from several threads */
    bool only_words; /* does not support texts */
    double fpr;      /* the promised rate */

    /* An empty filter for n keys; NULL if the filter is built from all keys at once. */
    void *(*create)(const struct bench_contender *self, size_t n, bool texts);
    /* A filter of all keys; NULL if the filter is filled by adding. */
    void *(*build)(const struct bench_contender *self, const struct bench_keys *keys,
                   unsigned threads);
    void (*destroy)(void *filter);

    /* Each works on keys [from, to); NULL if unsupported.  Queries return the number of keys
     * found, removals the number removed. */
    void (*add)(void *filter, const struct bench_keys *keys, size_t from, size_t to);
    void (*add_batch)(void *filter, const struct bench_keys *keys, size_t from, size_t to);
    size_t (*remove)(void *filter, const struct bench_keys *keys, size_t from, size_t to);
    size_t (*remove_batch)(void *filter, const struct bench_keys *keys, size_t from, size_t to);
    size_t (*query)(const void *filter, const struct bench_keys *keys, size_t from, size_t to);
    size_t (*query_batch)(const void *filter, const struct bench_keys *keys, size_t from,
                          size_t to);

    /* Bytes of the filter as it is stored. */
    size_t (*bytes)(const void *filter);

    uint32_t setting; /* for the contender's own use */
};

#ifdef __cplusplus
}
#endif
#endif
