/* marks.h - arrays of bool, looked at eight at a time */
#ifndef TAMIS_REDIS_MARKS_H
#define TAMIS_REDIS_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(sizeof(bool) == 1, "a bool is a byte");

#define MARKS_ROW 8

static inline uint64_t marks_row(const bool *marks) {
    uint64_t bytes;
    memcpy(&bytes, marks, sizeof bytes);
    return bytes;
}

/* How many are set. */
static inline size_t marks_count(const bool *marks, size_t count) {
    size_t set = 0, i = 0;
    for (; count - i >= MARKS_ROW; i += MARKS_ROW) {
        set += (size_t)(marks_row(marks + i) * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; i < count; i++) set += marks[i];
    return set;
}

/* Sets those that are set in `others` as well. */
static inline void marks_unite(bool *marks, const bool *others, size_t count) {
    size_t i = 0;
    for (; count - i >= MARKS_ROW; i += MARKS_ROW) {
        const uint64_t both = marks_row(marks + i) | marks_row(others + i);
        memcpy(marks + i, &both, sizeof both);
    }
    for (; i < count; i++) marks[i] |= others[i];
}

#endif
