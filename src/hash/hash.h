/* hash.h - how the bytes of a key become the bits that families work on
 *
 * A key is hashed once, outside of the families.  They see a `tamis__hash`: `lo` for all of
 * our own filters; compatible formats may need `hi` as well (Guava takes 128 bits). */
#ifndef TAMIS_HASH_HASH_H
#define TAMIS_HASH_HASH_H

#include "core/compiler.h"
#include "tamis.h"

struct tamis__hash {
    uint64_t lo, hi;
};

/* The hash of a compatible format: how its system turns a key into the bits that its filters use.
 * src/compat has them.  `id` is in .tamis files: frozen. */
struct tamis__compat_hash {
    uint8_t id;
    bool wide;     /* needs `hi`: 64 bits do not identify a key */
    bool integers; /* keys are 64-bit integers: 8 bytes, little-endian, and nothing else */
    const char *name;
    struct tamis__hash (*hash)(const void *key, size_t length, uint64_t seed);
};

struct tamis__hashing {
    tamis_hasher id;
    bool plain; /* XXH3 without a seed: the common case */
    uint64_t seed;
    uint64_t secret[2]; /* keyed: the secret as two little-endian words */
    uint64_t key_id;    /* keyed: SipHash of a fixed text, to identify the secret */
    const struct tamis__compat_hash *compat; /* TAMIS_HASH_COMPAT */
};

/* Keyed if `secret` is not NULL. */
void tamis__hashing_init(struct tamis__hashing *h, tamis_hasher id, uint64_t seed,
                         const uint8_t *secret);

/* The hash of a compatible format. */
void tamis__hashing_compat(struct tamis__hashing *h, const struct tamis__compat_hash *hash,
                           uint64_t seed);

/* Can any 64 bits be the hash of a key?  Compatible formats may need more, and an integer is a key
 * itself, not a hash. */
TAMIS_TEMPLATE bool tamis__hashing_is_narrow(const struct tamis__hashing *h) {
    return h->compat == NULL || !(h->compat->wide || h->compat->integers);
}

/* Can bytes of this length be a key? */
TAMIS_TEMPLATE bool tamis__hashing_takes(const struct tamis__hashing *h, size_t length) {
    return h->compat == NULL || !h->compat->integers || length == 8;
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
