/* ribbon_solve.h - building RocksDB's Standard128Ribbon: what its codec needs of it */
#ifndef TAMIS_FAMILY_RIBBON_SOLVE_H
#define TAMIS_FAMILY_RIBBON_SOLVE_H

#include "family/family.h"

/* Solves the system of all hashes for a shape whose blocks (word[0]), segments (word[1]) and
 * first seed (word[2]) are set: fills `table` (shape->table_bytes, zeroed) and the seed that
 * worked.  E_FULL if none did. */
tamis_status tamis__ribbon128_solve(const tamis_allocator *a, const uint64_t *hashes,
                                    uint64_t count, struct tamis__shape *shape, uint8_t *table);

#endif
