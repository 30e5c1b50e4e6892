/* fnv.c - FNV-1 of 64 bits, as DCSO's bloom computes it
 *
 * FNV-1 multiplies and then takes the byte in; the better known FNV-1a does it the other way
 * round and gives other values. */
#include "hash/foreign.h"

uint64_t tamis__fnv1(const void *key, size_t length) {
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; length > 0; p++, length--) h = (h * UINT64_C(0x100000001b3)) ^ *p;
    return h;
}
