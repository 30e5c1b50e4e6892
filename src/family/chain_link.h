/* chain_link.h - the links of RedisBloom's chains, and the sub-filters of its cuckoo filters, as
 * their tables have them: for the families and the codecs */
#ifndef TAMIS_FAMILY_CHAIN_LINK_H
#define TAMIS_FAMILY_CHAIN_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tamis.h"

#define TAMIS__CHAIN_HEADER 20
#define TAMIS__CHAIN_LINK 53
#define TAMIS__SUBTABLES_HEADER 38

struct tamis__chain_link {
    uint64_t bytes;
    double per_entry; /* bits */
    uint32_t hashes;
};

/* The size for so many entries and such an error; false if it is out of reach. */
bool tamis__chain_link_size(uint64_t entries, double error, struct tamis__chain_link *link);

/* What a filter of scheme CHAIN would export, in parts: its header, and of its i-th link the entry
 * and (returned) the bits.  A table of one piece would need memory. */
void tamis__chain_header(const tamis_filter *f, uint8_t header[TAMIS__CHAIN_HEADER]);
const uint8_t *tamis__chain_link_at(const tamis_filter *f, size_t i,
                                    uint8_t entry[TAMIS__CHAIN_LINK]);

/* The same of scheme SUBTABLES: the header, and the slots of the i-th sub-filter. */
void tamis__subtables_header(const tamis_filter *f, uint8_t header[TAMIS__SUBTABLES_HEADER]);
const uint8_t *tamis__subtable_at(const tamis_filter *f, size_t i, uint64_t *buckets);

#endif
