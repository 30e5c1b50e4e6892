/* rocksdb_sizing.h - how RocksDB sizes its filters */
#ifndef TAMIS_FORMAT_ROCKSDB_SIZING_H
#define TAMIS_FORMAT_ROCKSDB_SIZING_H

#include "family/ribbon_solve.h"
#include "format/format.h"

/* Bits per key: the parameter `bits` (10 if there is none and no rate), or the fewest tenths of
 * a bit that reach the rate. */
tamis_status tamis__rocksdb_bits(const struct tamis__recipe *recipe, double *bits);

/* FastLocalBloom: 64-byte lines, and k. */
uint64_t tamis__rocksdb_lines(uint64_t keys, double bits);
uint64_t tamis__rocksdb_hashes(double bits);

uint64_t tamis__rocksdb_legacy_lines(uint64_t keys, double bits, uint64_t *hashes);

/* Standard128Ribbon for a set whose first hash is `first`; false where RocksDB would write a
 * FastLocalBloom instead: a small filter that is smaller so, or too many keys. */
bool tamis__rocksdb_ribbon(uint64_t keys, double bits, uint64_t first, uint64_t *blocks,
                           uint64_t *segments);

#endif
