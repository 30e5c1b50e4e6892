/* popcount.c - see popcount.h
 *
 * The population count of a word in five steps of adding neighbours; written so that the
 * compiler turns the loop into vector code, which beats one popcnt per word. */
#include "core/popcount.h"

#include "core/bytes.h"

TAMIS_TEMPLATE uint64_t ones(uint64_t x) {
    x -= (x >> 1) & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + ((x >> 2) & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    x += x >> 8;
    x += x >> 16;
    return (x + (x >> 32)) & 0x7f;
}

uint64_t tamis__popcount_bytes(const uint8_t *table, uint64_t bytes) {
    uint64_t sum = 0;
    const uint64_t whole = bytes / 8 * 8;
    for (uint64_t i = 0; i < whole; i += 8) {
        uint64_t word;
        memcpy(&word, table + i, 8);
        sum += ones(word);
    }
    for (uint64_t i = whole; i < bytes; i++) sum += ones(table[i]);
    return sum;
}
