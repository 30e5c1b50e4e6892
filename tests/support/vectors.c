/* vectors.c - see vectors.h */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void fail(const char *what, const char *path) {
    fprintf(stderr, "vectors: %s: %s\n", path, what);
    exit(2);
}

static FILE *open_vector(const char *path) {
    const char *root = getenv("TAMIS_VECTORS");
    char full[4096];
    if (root == NULL || root[0] == '\0') root = TAMIS_TEST_VECTORS;
    if (snprintf(full, sizeof full, "%s/%s", root, path) >= (int)sizeof full) {
        fail("the path is too long", path);
    }
    FILE *f = fopen(full, "rb");
    if (f == NULL) fail("cannot be opened", full);
    return f;
}

struct vector_bytes vector_file(const char *path) {
    struct vector_bytes b = {NULL, 0};
    FILE *f = open_vector(path);
    if (fseek(f, 0, SEEK_END) != 0) fail("cannot be measured", path);
    const long size = ftell(f);
    if (size < 0) fail("cannot be measured", path);
    rewind(f);
    b.length = (size_t)size;
    if (b.length > 0) b.at = NEED(uint8_t, b.length);
    if (b.length > 0 && fread(b.at, 1, b.length, f) != b.length) fail("cannot be read", path);
    fclose(f);
    return b;
}

void vector_bytes_free(struct vector_bytes *bytes) {
    free(bytes->at);
    *bytes = (struct vector_bytes){NULL, 0};
}

/* A file as a string. */
static char *vector_text(const char *path) {
    struct vector_bytes b = vector_file(path);
    char *text = NEED(char, b.length + 1);
    if (b.length > 0) memcpy(text, b.at, b.length);
    text[b.length] = '\0';
    vector_bytes_free(&b);
    return text;
}

static unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    fail("not a hexadecimal digit", "vector_hex");
    return 0;
}

static void hex_decode(const char *digits, uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(hex_digit(digits[2 * i]) << 4 | hex_digit(digits[2 * i + 1]));
    }
}

struct vector_bytes vector_hex(const char *digits) {
    struct vector_bytes b = {NULL, strlen(digits) / 2};
    if (b.length > 0) b.at = NEED(uint8_t, b.length);
    hex_decode(digits, b.at, b.length);
    return b;
}

/* ---------------------------------------------------------------------- tables */

/* Ends the line that begins at `line` with a NUL and returns the next one; NULL at the end of
 * the text.  A last line without a line feed counts. */
static char *end_line(char *line) {
    char *end = strchr(line, '\n');
    if (end == NULL) return NULL;
    *end = '\0';
    return end + 1;
}

static size_t count_of(const char *text, char c) {
    size_t count = 0;
    for (; *text != '\0'; text++) count += *text == c;
    return count;
}

/* Cells that a line lacks at its end are empty. */
static void split_line(char *line, char **cells, size_t columns) {
    for (size_t i = 0; i < columns; i++) {
        char *tab = strchr(line, '\t');
        cells[i] = line;
        if (tab != NULL) *tab = '\0';
        line = tab != NULL ? tab + 1 : line + strlen(line);
    }
}

struct vector_table vector_table(const char *path) {
    struct vector_table t = {0, 0, NULL, vector_text(path)};
    const size_t lines = count_of(t.text, '\n') + 1;
    size_t filled = 0;
    for (char *line = t.text, *next; line != NULL; line = next) {
        next = end_line(line);
        if (line[0] == '#' || line[0] == '\0') continue;
        if (t.columns == 0) {
            t.columns = count_of(line, '\t') + 1;
            t.cells = NEED(char *, t.columns *lines);
        }
        split_line(line, t.cells + filled * t.columns, t.columns);
        filled++;
    }
    if (filled == 0) fail("has no line of column names", path);
    t.rows = filled - 1;
    return t;
}

void vector_table_free(struct vector_table *table) {
    free(table->cells);
    free(table->text);
    *table = (struct vector_table){0, 0, NULL, NULL};
}

const char *vector_cell(const struct vector_table *table, size_t row, const char *column) {
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0)
            return table->cells[(row + 1) * table->columns + i];
    }
    fail("no such column", column);
    return NULL;
}

uint64_t vector_number(const struct vector_table *table, size_t row, const char *column) {
    return strtoull(vector_cell(table, row, column), NULL, 10);
}

/* ------------------------------------------------------------------------ keys */

static void store_little_endian(uint8_t *bytes, uint64_t value, size_t length) {
    for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Writes the key that a line stands for, and returns its length: at most that of the line, or
 * 8. */
static size_t key_of_line(const char *line, const char *ending, uint8_t *bytes) {
    size_t length = strlen(line);
    if (strcmp(ending, "hex") == 0) {
        length /= 2;
        hex_decode(line, bytes, length);
    } else if (strcmp(ending, "i32") == 0) {
        length = 4;
        store_little_endian(bytes, (uint64_t)strtoll(line, NULL, 10), length);
    } else if (strcmp(ending, "i64") == 0) {
        length = 8;
        store_little_endian(bytes, (uint64_t)strtoll(line, NULL, 10), length);
    } else if (strcmp(ending, "u64") == 0) {
        length = 8;
        store_little_endian(bytes, strtoull(line, NULL, 10), length);
    } else {
        memcpy(bytes, line, length);
    }
    return length;
}

/* The text of a file, or of several, joined by '+'. */
static char *joined_text(const char *paths) {
    char path[4096];
    char *all = NEED(char, 1);
    size_t length = 0;
    all[0] = '\0';
    for (const char *at = paths; at != NULL;) {
        const char *plus = strchr(at, '+');
        const int part = plus == NULL ? (int)strlen(at) : (int)(plus - at);
        snprintf(path, sizeof path, "%.*s", part, at);
        char *text = vector_text(path);
        const size_t more = strlen(text);
        char *larger = NEED(char, length + more + 1);
        memcpy(larger, all, length);
        memcpy(larger + length, text, more + 1);
        free(all);
        free(text);
        all = larger;
        length += more;
        at = plus == NULL ? NULL : plus + 1;
    }
    return all;
}

struct vector_keys vector_keys(const char *path) {
    char *text = joined_text(path);
    const size_t lines = count_of(text, '\n') + 1;
    const char *dot = strrchr(path, '.');
    struct vector_keys k = {0, NULL, NULL, NULL};
    k.keys = NEED(const void *, lines);
    k.lengths = NEED(size_t, lines);
    k.arena = NEED(uint8_t, strlen(text) + 8 * lines);
    uint8_t *at = k.arena;
    for (char *line = text, *next; line != NULL; line = next) {
        next = end_line(line);
        if (next == NULL && line[0] == '\0') break; /* after the last line feed */
        const size_t length = key_of_line(line, dot != NULL ? dot + 1 : "", at);
        k.keys[k.count] = at;
        k.lengths[k.count++] = length;
        at += length;
    }
    free(text);
    return k;
}

void vector_keys_free(struct vector_keys *keys) {
    free(keys->keys);
    free(keys->lengths);
    free(keys->arena);
    *keys = (struct vector_keys){0, NULL, NULL, NULL};
}
