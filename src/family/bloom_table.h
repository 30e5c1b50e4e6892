/* bloom_table.h - a Bloom filter's table as a whole: the same for every scheme */
#ifndef TAMIS_FAMILY_BLOOM_TABLE_H
#define TAMIS_FAMILY_BLOOM_TABLE_H

#include "family/family.h"

void tamis__bloom_state(const tamis_filter *f, struct tamis__state *state);
tamis_status tamis__bloom_merge(tamis_filter *into, const tamis_filter *from,
                                tamis_merge_mode mode);

#endif
