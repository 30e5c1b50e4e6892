/* xxh3.c - XXH3-64 of any key */
#include "hash/xxh3.h"

#include "hash/hash.h"

/* Keys of this length are frequent: URLs, paths, mail addresses.  Without a seed they take a third
 * fewer instructions, since the compiler knows the secret that is mixed in. */
#define MEDIUM 128

uint64_t tamis__xxh3(const void *key, size_t length, uint64_t seed) {
    if (seed == 0 && length > TAMIS__XXH3_SHORT && length <= MEDIUM) {
        return XXH3_64bits_withSeed(key, length, 0);
    }
    return XXH3_64bits_withSeed(key, length, seed);
}
