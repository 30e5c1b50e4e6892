/* xxh64.c - XXH64, as Parquet's Bloom filters use it (with seed 0)
 *
 * libxxhash computes it; this file keeps its header away from the codecs. */
#include <xxhash.h>

#include "hash/foreign.h"

uint64_t tamis__xxh64(const void *key, size_t length, uint64_t seed) {
    return XXH64(key, length, seed);
}
