/* chain_link.h - the sizes of RedisBloom's links: for its family and its codecs */
#ifndef TAMIS_FAMILY_CHAIN_LINK_H
#define TAMIS_FAMILY_CHAIN_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define TAMIS__CHAIN_HEADER 20
#define TAMIS__CHAIN_LINK 53

struct tamis__chain_link {
    uint64_t bytes;
    double per_entry; /* bits */
    uint32_t hashes;
};

/* The size for so many entries and such an error; false if it is out of reach. */
bool tamis__chain_link_size(uint64_t entries, double error, struct tamis__chain_link *link);

#endif
