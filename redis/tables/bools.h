/* bools.h - arrays of bool, processed eight at a time */
#ifndef TAMIS_REDIS_TABLES_BOOLS_H
#define TAMIS_REDIS_TABLES_BOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(sizeof(bool) == 1, "a bool is a byte");

#define BOOLS_ROW 8

static inline uint64_t bools_row(const bool *bools) {
    uint64_t bytes;
    memcpy(&bytes, bools, sizeof bytes);
    return bytes;
}

/* The number of true elements. */
static inline size_t bools_count(const bool *bools, size_t count) {
    size_t set = 0, i = 0;
    for (; count - i >= BOOLS_ROW; i += BOOLS_ROW) {
        set += (size_t)(bools_row(bools + i) * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; i < count; i++) set += bools[i];
    return set;
}

/* ORs `others` into `bools`. */
static inline void bools_unite(bool *bools, const bool *others, size_t count) {
    size_t i = 0;
    for (; count - i >= BOOLS_ROW; i += BOOLS_ROW) {
        const uint64_t both = bools_row(bools + i) | bools_row(others + i);
        memcpy(bools + i, &both, sizeof both);
    }
    for (; i < count; i++) bools[i] |= others[i];
}

#endif
