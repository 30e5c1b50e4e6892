/* legacy_hash.h - the hashes of RedisBloom's filters: Austin Appleby's MurmurHash2 family
 *
 * Filters that come from RedisBloom keep the hash that their bits were made with.  It is
 * public and not keyed, so anyone can choose keys that collide in them: new filters never use
 * it. */
#ifndef TAMIS_REDIS_LEGACY_HASH_H
#define TAMIS_REDIS_LEGACY_HASH_H

#include <stddef.h>
#include <stdint.h>

/* MurmurHash64A. */
uint64_t legacy_hash64(const void *key, size_t length, uint64_t seed);

/* MurmurHash2, 32 bits: filters made before 2018. */
uint32_t legacy_hash32(const void *key, size_t length, uint32_t seed);

#endif
