/* rocksdb.h - RocksDB: what the files of this folder share */
#ifndef TAMIS_COMPAT_ROCKSDB_ROCKSDB_H
#define TAMIS_COMPAT_ROCKSDB_ROCKSDB_H

#include "compat/container.h"

extern const struct tamis__codec tamis__rocksdb;
extern const struct tamis__container_format tamis__rocksdb_table;

/* rocksdb_bloom.c, rocksdb_ribbon.c */
extern const struct tamis__family tamis__fastlocal, tamis__legacy_bloom, tamis__ribbon128;

/* The preview of XXH3 that RocksDB froze: no released libxxhash computes it.  No seed. */
struct tamis__hash tamis__xxph3(const void *key, size_t length, uint64_t seed);

/* Solves the system of all hashes for a shape whose blocks (word[0]), segments (word[1]) and first
 * seed (word[2]) are set: sets `made` and the seed that worked.  E_FULL if none did. */
tamis_status tamis__ribbon128_solve(const tamis_allocator *a, const uint64_t *hashes,
                                    uint64_t count, struct tamis__contents *contents);

/* ---- rocksdb_sizing.c: how RocksDB sizes its filters */

/* Bits per key: the parameter `bits` (10 if there is none and no rate), or the fewest tenths of
 * a bit that reach the rate. */
tamis_status tamis__rocksdb_bits(const struct tamis__spec *spec, double *bits);

/* FastLocalBloom: 64-byte blocks, and k. */
uint64_t tamis__rocksdb_blocks(uint64_t keys, double bits);
uint64_t tamis__rocksdb_hashes(double bits);

uint64_t tamis__rocksdb_legacy_blocks(uint64_t keys, double bits, uint64_t *hashes);

/* Standard128Ribbon for a set whose first hash is `first`; false where RocksDB would write a
 * FastLocalBloom instead: it would be smaller, or there are too many keys. */
bool tamis__rocksdb_ribbon(uint64_t keys, double bits, uint64_t first, uint64_t *blocks,
                           uint64_t *segments);

#endif
