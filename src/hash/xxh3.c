/* xxh3.c - XXH3-64 of any key */
#include "hash/xxh3.h"

#include "hash/hash.h"

uint64_t tamis__xxh3(const void *key, size_t length, uint64_t seed) {
    if (seed == 0 && length > TAMIS__XXH3_SHORT && length <= TAMIS__XXH3_MEDIUM) {
        return tamis__xxh3_medium(key, length, TAMIS__XXH3_MEDIUM);
    }
    return XXH3_64bits_withSeed(key, length, seed);
}
