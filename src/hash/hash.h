/* hash.h - how the bytes of a key become the bits that families work on
 *
 * A key is hashed once, outside of the families.  They see a `tamis__hash`: `lo` for all of
 * our own filters; other systems' schemes may need `hi` as well (Guava takes 128 bits). */
#ifndef TAMIS_HASH_HASH_H
#define TAMIS_HASH_HASH_H

#include "core/compiler.h"
#include "tamis.h"

struct tamis__hash {
    uint64_t lo, hi;
};

/* Another system's way from a key to the bits that its filters use.  `id` is in files: frozen. */
struct tamis__foreign {
    uint8_t id;
    bool wide;     /* needs `hi`: 64 bits do not stand for a key */
    bool integers; /* keys are 64-bit integers: 8 bytes, little-endian, and nothing else */
    const char *name;
    struct tamis__hash (*hash)(const void *key, size_t length, uint64_t seed);
};

enum tamis__foreign_id {
    TAMIS__FOREIGN_GUAVA = 1,    /* MurmurHash3 x64: both halves */
    TAMIS__FOREIGN_GUAVA32,      /* its first half */
    TAMIS__FOREIGN_SPARK1,       /* two 32-bit hashes in `lo`, the first below */
    TAMIS__FOREIGN_SPARK2,       /* two 64-bit numbers made of them */
    TAMIS__FOREIGN_LEVELDB,      /* the hash, and above it the step */
    TAMIS__FOREIGN_MURMUR2,      /* libbloom: two 32-bit hashes in `lo` */
    TAMIS__FOREIGN_MURMUR64A,    /* RedisBloom: two 64-bit hashes */
    TAMIS__FOREIGN_REDIS_CUCKOO, /* MurmurHash64A with seed 0 */
    TAMIS__FOREIGN_FNV1,
    TAMIS__FOREIGN_XXH64,
    TAMIS__FOREIGN_XXPH3,
    TAMIS__FOREIGN_ROCKSDB_LEGACY, /* as LEVELDB, with signed bytes */
    TAMIS__FOREIGN_INTEGER,        /* the key itself */
    TAMIS__FOREIGN_METRO,
};

/* foreign.c; NULL if there is none. */
const struct tamis__foreign *tamis__foreign_of(unsigned id);

struct tamis__hashing {
    tamis_hasher id;
    bool plain; /* XXH3 without a seed: the usual */
    uint64_t seed;
    uint64_t secret[2]; /* keyed: the secret as two little-endian words */
    uint64_t key_id;    /* keyed: SipHash of a fixed text, so that secrets can be told apart */
    const struct tamis__foreign *foreign; /* TAMIS_HASH_FOREIGN */
};

/* Keyed if `secret` is not NULL. */
void tamis__hashing_init(struct tamis__hashing *h, tamis_hasher id, uint64_t seed,
                         const uint8_t *secret);

/* Another system's hash; `id` must exist. */
void tamis__hashing_foreign(struct tamis__hashing *h, enum tamis__foreign_id id, uint64_t seed);

/* Do any 64 bits stand for a key?  Other systems' filters may need more, and an integer is a key
 * itself, not the hash of one. */
TAMIS_TEMPLATE bool tamis__hashing_is_narrow(const struct tamis__hashing *h) {
    return h->foreign == NULL || !(h->foreign->wide || h->foreign->integers);
}

/* Can bytes of this length be a key? */
TAMIS_TEMPLATE bool tamis__hashing_takes(const struct tamis__hashing *h, size_t length) {
    return h->foreign == NULL || !h->foreign->integers || length == 8;
}

/* "xxh3", "siphash-2-4", "none", or the other system's name for it. */
const char *tamis__hashing_name(const struct tamis__hashing *h);

/* Same hash of every key? */
bool tamis__hashing_equal(const struct tamis__hashing *a, const struct tamis__hashing *b);

/* key may be NULL if length is 0. */
struct tamis__hash tamis__hash_key(const struct tamis__hashing *h, const void *key, size_t length);

/* Many keys, with the instructions of this machine unless `portable`.  `hi` may be NULL: then only
 * `lo` is written. */
void tamis__hash_keys(const struct tamis__hashing *h, bool portable, const void *const *keys,
                      const size_t *lengths, size_t count, uint64_t *lo, uint64_t *hi);

uint64_t tamis__xxh3(const void *key, size_t length, uint64_t seed);

uint64_t tamis__siphash24(const void *key, size_t length, const uint64_t secret[2]);
void tamis__siphash24_keys(const uint64_t secret[2], bool portable, const void *const *keys,
                           const size_t *lengths, size_t count, uint64_t *hashes);

#endif
