/* redisbloom_live.h - results of RedisBloom 2.8.20, recorded with its own sb.c, bloom.c and
 * cuckoo.c
 *
 * A chain starts with its header and empty sub-filters; then "key-0", "key-1", ... are added. */
#include "tamis.h"

static const struct live_chain {
    const char *name;
    int keys;
    const char *header;
    int added;
    tamis_status last;   /* of the last add */
    int false_positives; /* of "other-0" to "other-9999" */
    uint64_t fnv;        /* FNV-1a of header and sub-filters afterwards */
} live_chains[] = {
    {"rounded, 32 bits", 150,
     "00000000000000000100000000000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000170000000000000008",
     149, TAMIS_OK, 87, UINT64_C(0x639259005d0bb9f8)},
    {"rounded, 64 bits", 150,
     "00000000000000000100000004000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000170000000000000008",
     148, TAMIS_OK, 163, UINT64_C(0x9facd56b3f714b13)},
    {"exact, 32 bits", 150,
     "00000000000000000100000001000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000140000000000000000",
     149, TAMIS_OK, 109, UINT64_C(0xa072da801da10357)},
    {"exact, 64 bits", 150,
     "00000000000000000100000005000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000140000000000000000",
     147, TAMIS_OK, 136, UINT64_C(0xb9f596c5a06e50b3)},
    {"bits given", 150,
     "00000000000000000100000006000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000170000000000000008",
     23, TAMIS_E_TOO_BIG, 127, UINT64_C(0x736229d9a1b4fdb2)},
    {"rounded, does not scale", 150,
     "0000000000000000010000000c000000020000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a843f88168ac58c2b2340070000001a0000000000000008",
     26, TAMIS_E_FULL, 168, UINT64_C(0x34aeff7cee71fda6)},
    {"1075 hashes", 1,
     "0000000000000000010000000d00000002000000c800000000000000400600000000000000000000"
     "000000000100000000000000e9229c61d135984033040000010000000000000000",
     1, TAMIS_OK, 627, UINT64_C(0x14c26252e5ddbdf0)},
    {"no growth", 150,
     "00000000000000000100000005000000000000002000000000000000000100000000000000000000"
     "000000007b14ae47e17a743fe9862fb2350e264008000000140000000000000000",
     20, TAMIS_E_TOO_BIG, 85, UINT64_C(0xa8cbd868d42bb409)},
};

/* CF.COUNT of "k0" to "k7" in one table with buckets of 4 slots. */
static const struct live_count {
    uint64_t buckets;
    const char *slots;
    unsigned counts[8];
} live_counts[] = {
    {1, "4c2fd000", {2, 2, 2, 0, 0, 0, 0, 0}},
    {2, "2fd089004c927600", {2, 1, 2, 2, 2, 1, 0, 0}},
    {4, "2f00000076000000d0896b004c923200", {2, 1, 2, 1, 1, 1, 1, 1}},
};

/* Headers of cuckoo filters: buckets, bucket size, iterations; and whether CF.LOADCHUNK accepts
 * them.
 */
static const struct live_header {
    uint64_t buckets;
    uint16_t bucket_size, iterations;
    bool accepted;
} live_headers[] = {
    {4, 2, 20, true}, {4, 256, 20, false}, {4, 2, 0, false}, {3, 2, 20, false}, {4, 255, 1, true},
};
