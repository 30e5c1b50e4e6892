/* vectors.h - the files of other systems' filters, their keys and their answers
 *
 * All paths are relative to $TAMIS_VECTORS, or to the copy in the tree (tests/vectors, whose
 * README.md describes the layout).  A missing or unreadable file ends the program: a test that
 * skips half of its vectors is worse than one that fails. */
#ifndef TESTS_SUPPORT_VECTORS_H
#define TESTS_SUPPORT_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of exactly `length` bytes, so that a sanitizer detects reads beyond it; NULL
 * for none. */
struct vector_bytes {
    uint8_t *at;
    size_t length;
};
void vector_bytes_free(struct vector_bytes *bytes);

struct vector_bytes vector_file(const char *path);

/* Pairs of hexadecimal digits. */
struct vector_bytes vector_hex(const char *digits);

/* A table: tab-separated, one line of column names; lines that begin with # do not count. */
struct vector_table {
    size_t columns, rows;
    char **cells; /* the names, then row after row */
    char *text;
};
struct vector_table vector_table(const char *path);
void vector_table_free(struct vector_table *table);
/* row is below `rows`; a column that is not there ends the program. */
const char *vector_cell(const struct vector_table *table, size_t row, const char *column);
uint64_t vector_number(const struct vector_table *table, size_t row, const char *column);

/* The keys of a file, by its ending: .txt lines; .hex lines of hexadecimal digits; .i32, .i64,
 * .u64 decimal numbers, as little-endian bytes.  Several files are joined by '+'. */
struct vector_keys {
    size_t count;
    const void **keys;
    size_t *lengths;
    uint8_t *arena;
};
struct vector_keys vector_keys(const char *path);
void vector_keys_free(struct vector_keys *keys);

#endif
