/* parquet.c - split-block filters of Parquet files, read and written */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sink.h"

/* The integers of a file as a column of another type hashes them. */
static struct vector_keys as_type(struct vector_keys keys, const char *type) {
    const bool f32 = strcmp(type, "FLOAT") == 0, f64 = strcmp(type, "DOUBLE") == 0;
    if (!f32 && !f64) return keys;
    const size_t width = f32 ? 4 : 8;
    struct vector_keys k = {keys.count, NEED(const void *, keys.count + 1),
                            NEED(size_t, keys.count + 1), NEED(uint8_t, width * keys.count + 1)};
    for (size_t i = 0; i < keys.count; i++) {
        const uint8_t *p = (const uint8_t *)keys.keys[i];
        const int32_t number = (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 |
                                         (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        const float single = (float)number;
        const double wide = number;
        uint64_t bits = 0;
        uint32_t half;
        memcpy(&half, &single, 4);
        memcpy(&bits, &wide, 8);
        if (f32) bits = half;
        for (size_t j = 0; j < width; j++) k.arena[i * width + j] = (uint8_t)(bits >> (8 * j));
        k.keys[i] = k.arena + i * width;
        k.lengths[i] = width;
    }
    vector_keys_free(&keys);
    return k;
}

static void check_filter(const struct vector_table *t, size_t row, const struct vector_bytes *bytes,
                         size_t *hostile) {
    const char *id = vector_cell(t, row, "id"), *type = vector_cell(t, row, "sql_type");
    struct vector_keys keys = as_type(vector_keys(vector_cell(t, row, "keys")), type);
    struct vector_keys probes = as_type(vector_keys(vector_cell(t, row, "probes")), type);
    tamis_filter *f = compat_open("parquet", bytes, id);
    if (f != NULL) {
        compat_detect("parquet", bytes, true, id);
        compat_members(f, &keys, id);
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        compat_round_trip("parquet", bytes, id);
        count_up("filters", 1);
    }
    tamis_free(f);
    const bool hyparquet = strncmp(vector_cell(t, row, "writer"), "hyparquet", 9) == 0;
    f = compat_build(hyparquet ? "parquet:hyparquet" : "parquet", 0,
                     strtod(vector_cell(t, row, "fpp"), NULL), &keys, id);
    compat_recreated(f, bytes, id);
    if (*hostile > 0) *hostile -= compat_hostile("parquet", bytes, 1024, id);
    vector_keys_free(&keys);
    vector_keys_free(&probes);
}

/* The file as a whole: its parts, and the answers of all its filters. */
static void check_file(const struct vector_table *t, size_t row) {
    const char *id = vector_cell(t, row, "id"), *type = vector_cell(t, row, "sql_type");
    struct vector_bytes file = vector_file(vector_cell(t, row, "file"));
    struct vector_keys keys = as_type(vector_keys(vector_cell(t, row, "keys")), type);
    struct vector_keys probes = as_type(vector_keys(vector_cell(t, row, "probes")), type);
    const bool filtered = vector_cell(t, row, "bloom_offset")[0] != '-';
    tamis_container *c = container_open("parquet", &file, id);
    if (c != NULL) {
        container_answers(c, vector_cell(t, row, "column"), &keys, &probes,
                          filtered ? vector_cell(t, row, "answers") : "-", id);
        tamis_part part = TAMIS_PART_INIT;
        if (filtered && CHECK(tamis_container_part(c, 0, &part) == TAMIS_OK, "%s: part", id)) {
            CHECK(part.offset == vector_number(t, row, "bloom_offset") &&
                      part.bytes == vector_number(t, row, "bloom_length"),
                  "%s: the filter is at another offset", id);
        }
    }
    tamis_container_free(c);
    container_hostile(&file, file.length / (size_t)run_pick(20, 1500, 20000) + 1, id);
    vector_keys_free(&keys);
    vector_keys_free(&probes);
    vector_bytes_free(&file);
}

/* Column a is a number, the others are text. */
static struct vector_keys multi_key(const char *column, const char *value) {
    const size_t length = column[0] == 'a' ? 4 : strlen(value);
    struct vector_keys k = {1, NEED(const void *, 1), NEED(size_t, 1), NEED(uint8_t, length + 1)};
    if (column[0] == 'a') {
        const uint64_t number = (uint64_t)strtoll(value, NULL, 10);
        for (size_t i = 0; i < length; i++) k.arena[i] = (uint8_t)(number >> (8 * i));
    } else {
        memcpy(k.arena, value, length);
    }
    k.keys[0] = k.arena;
    k.lengths[0] = length;
    return k;
}

/* Several row groups and columns, some without filters. */
static void check_multi(void) {
    struct vector_table meta = vector_table("parquet/duckdb-multi.meta.tsv");
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    tamis_container *c = container_open("parquet", &file, "multi");
    CHECK(c == NULL || tamis_container_count(c) == meta.rows, "multi: parts");
    for (size_t i = 0; c != NULL && i < meta.rows; i++) {
        tamis_part part = {.struct_size = sizeof part};
        char name[300];
        snprintf(name, sizeof name, "%s/%s", vector_cell(&meta, i, "row_group"),
                 vector_cell(&meta, i, "column"));
        if (!CHECK(tamis_container_part(c, i, &part) == TAMIS_OK, "multi: part %zu", i)) continue;
        CHECK(strcmp(part.name, name) == 0, "multi: %s is called %s", name, part.name);
        CHECK(part.bytes == vector_number(&meta, i, "bloom_length") &&
                  part.offset == vector_number(&meta, i, "bloom_offset"),
              "multi: %s is at another offset", name);
    }
    vector_table_free(&meta);
    struct vector_table probes = vector_table("parquet/duckdb-multi.probes.tsv");
    for (size_t i = 0; c != NULL && i < probes.rows; i++) {
        const char *column = vector_cell(&probes, i, "column");
        const char *value = vector_cell(&probes, i, "value");
        char name[300];
        snprintf(name, sizeof name, "%s/%s", vector_cell(&probes, i, "row_group"), column);
        struct vector_keys key = multi_key(column, value);
        const bool found = tamis_container_contains(c, name, key.keys[0], key.lengths[0]);
        CHECK(found == (vector_number(&probes, i, "may_contain") == 1), "multi: %s %s", name,
              value);
        count_up("answers of files", 1);
        vector_keys_free(&key);
    }
    vector_table_free(&probes);
    tamis_container_free(c);
    vector_bytes_free(&file);
}

/* A changed filter is written back to its file; nothing else in it changes. */
static void check_replace(void) {
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    tamis_container *c = container_open("parquet", &file, "multi"), *again = NULL;
    tamis_filter *f = NULL;
    char path[4096];
    tamis_part part = {.struct_size = sizeof part};
    snprintf(path, sizeof path, "%s/replaced.parquet", run_directory());
    if (c == NULL) return;
    CHECK(tamis_container_part(c, 1, &part) == TAMIS_OK, "part");
    CHECK(tamis_container_filter(c, 1, &f) == TAMIS_OK, "filter");
    CHECK(!tamis_container_contains(c, part.name, "a new key", 9),
          "the key is present before the add");
    CHECK(tamis_add(f, "a new key", 9, NULL) == TAMIS_OK, "add");
    CHECK(tamis_container_replace(c, 3, f, path, false) == TAMIS_E_MISMATCH, "of another size");
    CHECK(tamis_container_replace(c, 1, f, path, false) == TAMIS_OK, "replace");
    CHECK(tamis_container_open(path, NULL, &again) == TAMIS_OK, "open again");
    if (again != NULL) {
        CHECK(tamis_container_contains(again, part.name, "a new key", 9), "the key is lost");
        CHECK(!tamis_container_contains(again, "0/b", "a newer key", 11), "it has every key");
    }
    tamis_container_free(again);
    tamis_free(f);
    tamis_open_options o = TAMIS_OPEN_INIT;
    CHECK(tamis_open(path, &o, &f) == TAMIS_E_PART, "one of several filters is opened");
    for (int map = 0; map < 2; map++) {
        o.map = map != 0;
        CHECK(tamis_open_any(path, &o, &f, &again) == TAMIS_OK && f == NULL && again != NULL &&
                  tamis_container_contains(again, part.name, "a new key", 9),
              "opened as a whole");
        tamis_container_free(again);
    }
    o.part = part.name;
    CHECK(tamis_open_any(path, &o, &f, &again) == TAMIS_OK && again == NULL &&
              tamis_contains(f, "a new key", 9),
          "by name");
    tamis_free(f);
    tamis_container_free(c);
    vector_bytes_free(&file);
}

/* A filter that was damaged in a .tamis file is not written to another file. */
static void check_damaged(void) {
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    tamis_container *c = container_open("parquet", &file, "multi");
    tamis_filter *f = NULL, *kept = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/damaged.parquet", run_directory());
    if (c == NULL) return;
    CHECK(tamis_container_filter(c, 1, &f) == TAMIS_OK, "filter");
    CHECK(tamis_reformat(f, "tamis") == TAMIS_OK, "stored in a .tamis file");
    struct bytes bytes = bytes_of(f);
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.verify = TAMIS_VERIFY_LATER;
    bytes.data[bytes.size / 2] ^= 1;
    CHECK(tamis_view(bytes.data, bytes.size, &o, &kept) == TAMIS_OK, "view");
    CHECK(tamis_reformat(kept, "parquet") == TAMIS_OK, "and back");
    CHECK(tamis_container_replace(c, 1, kept, path, false) == TAMIS_E_CHECKSUM, "damaged");
    CHECK(directory_entries(run_directory()) == 0, "damaged, and written");
    tamis_free(kept);
    tamis_free(f);
    bytes_free(&bytes);
    tamis_container_free(c);
    vector_bytes_free(&file);
}

/* ---- files and headers written here, one for each rule of the reader */

/* A column chunk of a footer.  The path is a list of Thrift, in bytes. */
struct chunk {
    const char *path;
    size_t path_length;
    uint64_t offset, length; /* zigzag; 0: left out */
    bool encrypted;
};

#define PATH(bytes) bytes, sizeof(bytes) - 1

static void put_chunk(struct sink *s, const struct chunk *c) {
    unsigned field = 0;
    sink_fill(s, 0x3c, 1); /* metadata */
    if (c->path != NULL) {
        sink_fill(s, 0x39, 1);
        sink_bytes(s, c->path, c->path_length);
        field = 3;
    }
    if (c->offset != 0) {
        sink_fill(s, (14 - field) << 4 | 6, 1);
        sink_varint(s, c->offset);
        field = 14;
    }
    if (c->length != 0) {
        sink_fill(s, (15 - field) << 4 | 5, 1);
        sink_varint(s, c->length);
    }
    sink_fill(s, 0, 1);
    if (c->encrypted) sink_le(s, 0x005c, 2); /* field 8, an empty struct */
    sink_fill(s, 0, 1);
}

/* "PAR1", a filter, a footer of one row group with these chunks. */
static struct sink make_file(const struct chunk *chunks, size_t count) {
    struct sink file = {NULL, 0, 0}, footer = {NULL, 0, 0};
    static const void *keys[] = {"key"};
    static const size_t lengths[] = {3};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "parquet";
    CHECK(tamis_build(&o, keys, lengths, 1, &f) == TAMIS_OK, "build");
    struct bytes filter = bytes_of(f);
    sink_text(&file, "PAR1");
    sink_bytes(&file, filter.data, filter.size);
    sink_text(&file, "other data");
    sink_le(&footer, 0x1c49, 2);                                   /* row groups: one struct */
    sink_le(&footer, 0x19 | ((unsigned)count << 4 | 0xc) << 8, 2); /* columns */
    for (size_t i = 0; i < count; i++) put_chunk(&footer, &chunks[i]);
    sink_fill(&footer, 0, 2);
    sink_bytes(&file, footer.at, footer.length);
    sink_le(&file, footer.length, 4);
    sink_text(&file, "PAR1");
    sink_free(&footer);
    bytes_free(&filter);
    tamis_free(f);
    return file;
}

/* The usual chunk: its filter is at byte 4. */
#define COLUMN "\x18\6column"
static const struct chunk usual = {PATH(COLUMN), 8, 0, false};

static void check_chunks(void) {
    static const struct {
        struct chunk chunk;
        tamis_status want;
        const char *what;
    } rows[] = {
        {{PATH(COLUMN), 8, 0, false}, TAMIS_OK, "a filter without its length"},
        {{PATH(COLUMN), 8, 0, true}, TAMIS_OK, "an encrypted filter"},
        {{PATH(COLUMN), 0, 0, false}, TAMIS_OK, "no filter"},
        {{PATH("\x19\x18\1a"), 0, 0, false}, TAMIS_OK, "a path of lists"},
        {{NULL, 0, 8, 0, false}, TAMIS_E_CORRUPT, "a filter of no column"},
        {{PATH(COLUMN), 6, 0, false}, TAMIS_E_CORRUPT, "a filter in the magic number"},
        {{PATH(COLUMN), 7, 0, false}, TAMIS_E_CORRUPT, "a negative offset"},
        {{PATH(COLUMN), 4000, 0, false}, TAMIS_E_CORRUPT, "a filter after the footer"},
        {{PATH(COLUMN), 8, 1, false}, TAMIS_E_CORRUPT, "a negative length"},
        {{PATH(COLUMN), 8, 4000, false}, TAMIS_E_CORRUPT, "a length beyond the footer"},
        {{PATH(COLUMN), 8, 20, false}, TAMIS_E_TRUNCATED, "a length shorter than its header"},
        {{PATH(COLUMN), 8, 60, false}, TAMIS_E_TRUNCATED, "a length shorter than its bits"},
        {{PATH("\x28\6column"), 8, 0, false}, TAMIS_E_CORRUPT, "a path longer than the footer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned first = 0; first < 2; first++) {
            const struct chunk both[] = {first ? rows[i].chunk : usual,
                                         first ? usual : rows[i].chunk};
            struct sink file = make_file(both, 2);
            const tamis_status status = table_status(&file);
            CHECK(status == rows[i].want || (status != TAMIS_OK && rows[i].want != TAMIS_OK),
                  "%s: %s", rows[i].what, tamis_status_name(status));
            CHECK(first == 0 || status == rows[i].want, "%s, first: %s", rows[i].what,
                  tamis_status_name(status));
            count_up("column chunks", 1);
            sink_free(&file);
        }
    }
}

/* The name of a part is the path joined by dots, cut at the length of a name. */
static void check_names(void) {
    struct sink path = {NULL, 0, 0};
    sink_fill(&path, 0x38, 1); /* three names */
    for (unsigned i = 0; i < 3; i++) {
        sink_varint(&path, 200);
        sink_fill(&path, 'a' + i, 200);
    }
    const struct chunk chunks[] = {{PATH("\x38\1a\2bc\1d"), 8, 0, false},
                                   {(const char *)path.at, path.length, 8, 0, false},
                                   {PATH("\x25\xc8\1\xc8\1"), 8, 0, false}}; /* integers */
    static const char *const names[] = {"0/a.bc.d", NULL, "0/"};
    struct sink file = make_file(chunks, 3);
    struct vector_bytes bytes = sink_view(&file);
    tamis_container *c = container_open("parquet", &bytes, "names");
    for (size_t i = 0; c != NULL && i < 3; i++) {
        tamis_part part = TAMIS_PART_INIT;
        CHECK(tamis_container_part(c, i, &part) == TAMIS_OK, "part %zu", i);
        CHECK(names[i] == NULL ? strlen(part.name) == TAMIS_PART_NAME - 1
                               : strcmp(part.name, names[i]) == 0,
              "part %zu is called %s", i, part.name);
    }
    CHECK(c == NULL || (tamis_container_contains(c, "a.bc.d", "key", 3) &&
                        !tamis_container_contains(c, "a.bc.d", "another key", 11)),
          "a column by its path");
    tamis_container_free(c);
    table_faults(&file, "key", 3, "a file");
    sink_free(&file);
    sink_free(&path);
}

/* Footers that are no FileMetaData. */
static void check_footers(void) {
    static const struct {
        const char *hex;
        tamis_status want;
    } rows[] = {
        {"00", TAMIS_OK},
        {"490c00", TAMIS_OK},          /* no row groups */
        {"490500", TAMIS_OK},          /* none of another type */
        {"49150200", TAMIS_E_CORRUPT}, /* one of another type */
        {"493c00", TAMIS_E_CORRUPT},   /* three in one byte */
        {"491c19150200", TAMIS_E_CORRUPT},
        {"491c190c0000", TAMIS_OK}, /* no columns */
        {"491c0000", TAMIS_OK},
        {"491c15020000", TAMIS_OK}, /* columns that are a number */
        {"1513"
         "2c00"
         "00",
         TAMIS_OK}, /* other fields */
        {"4913"
         "02",
         TAMIS_E_CORRUPT},
        {"15", TAMIS_E_CORRUPT},
        {"491c191c3c", TAMIS_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vector_bytes footer = vector_hex(rows[i].hex);
        struct sink file = {NULL, 0, 0};
        sink_text(&file, "PAR1");
        sink_bytes(&file, footer.at, footer.length);
        sink_le(&file, footer.length, 4);
        sink_text(&file, "PAR1");
        const tamis_status status = table_status(&file);
        CHECK(status == rows[i].want, "footer %s: %s", rows[i].hex, tamis_status_name(status));
        file.at[file.length - 8] = 0xff; /* a footer longer than the file */
        CHECK(table_status(&file) == TAMIS_E_TRUNCATED, "footer %s of 255 bytes", rows[i].hex);
        sink_free(&file);
        vector_bytes_free(&footer);
        count_up("footers", 1);
    }
}

/* Headers of a filter; 32 bytes of bits follow. */
static void check_headers(void) {
#define UNIONS \
    "1c1c0000" \
    "1c1c0000" \
    "1c1c0000" \
    "00"
    static const struct {
        const char *hex;
        tamis_status want;
    } rows[] = {
        {"1540" UNIONS, TAMIS_OK},
        {"1542" UNIONS, TAMIS_E_CORRUPT},         /* 33 bytes */
        {"1520" UNIONS, TAMIS_E_CORRUPT},         /* 16 bytes */
        {"1541" UNIONS, TAMIS_E_CORRUPT},         /* -33 */
        {"158001" UNIONS, TAMIS_E_TRUNCATED},     /* 64 bytes */
        {"15c0808008" UNIONS, TAMIS_E_TRUNCATED}, /* 2^23 + 32 bytes */
        {"15c08080800800" UNIONS, TAMIS_E_CORRUPT},
        {"1580808080"
         "10" UNIONS,
         TAMIS_E_CORRUPT},                /* 2^31 bytes */
        {"1640" UNIONS, TAMIS_E_CORRUPT}, /* of another type */
        {"1540"
         "1c2c0000"
         "1c1c0000"
         "1c1c0000"
         "00",
         TAMIS_E_UNSUPPORTED}, /* other algorithm */
        {"1540"
         "1c1c0000"
         "1c130000"
         "1c1c0000"
         "00",
         TAMIS_E_UNSUPPORTED}, /* other hash */
        {"1540"
         "1c1c13050000"
         "1c1c0000"
         "1c1c0000"
         "00",
         TAMIS_OK}, /* with a field of its own */
        {"1540"
         "1c00"
         "1c1c0000"
         "1c1c0000"
         "00",
         TAMIS_E_CORRUPT}, /* an empty union */
        {"1540"
         "1c1c001c00001c1c0000"
         "1c1c0000"
         "00",
         TAMIS_E_CORRUPT}, /* of two fields */
        {"1540"
         "1c1c0000"
         "1c1c0000"
         "00",
         TAMIS_E_CORRUPT}, /* no compression */
        {"1540" UNIONS "00", TAMIS_E_TRAILING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vector_bytes header = vector_hex(rows[i].hex);
        struct sink bytes = {NULL, 0, 0};
        sink_bytes(&bytes, header.at, header.length);
        sink_fill(&bytes, 0, 32);
        const tamis_status status = compat_exercise("parquet", bytes.at, bytes.length, rows[i].hex);
        CHECK(status == rows[i].want, "header %s: %s, not %s", rows[i].hex,
              tamis_status_name(status), tamis_status_name(rows[i].want));
        sink_free(&bytes);
        vector_bytes_free(&header);
        count_up("headers", 1);
    }
}

/* Thousands of parts may refer to one header: it must not take long to read.  A header may have an
 * unknown field of a few bytes, but not of many. */
static void check_long_header(void) {
    static const uint8_t end[] = {0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
    for (size_t unknown = 100; unknown <= 1000; unknown += 900) {
        uint8_t bytes[1100] = {0x15, 64, 0x1c, 0x1c, 0x18}; /* 32 bytes; a union, a string in it */
        size_t at = 5;
        bytes[at++] = (uint8_t)(unknown % 128 + 128);
        bytes[at++] = (uint8_t)(unknown / 128);
        memset(bytes + at, 'x', unknown);
        at += unknown;
        memcpy(bytes + at, end, sizeof end);
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        o.format = "parquet";
        const tamis_status status = tamis_decode(bytes, at + sizeof end + 32, &o, &f);
        CHECK(status == (unknown == 100 ? TAMIS_OK : TAMIS_E_CORRUPT), "a field of %zu bytes: %s",
              unknown, tamis_status_name(status));
        tamis_free(f);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "parquet");
    struct vector_table t = vector_table("parquet/manifest.tsv");
    size_t hostile = (size_t)run_pick(3, 25, 60);
    for (size_t i = 0; i < t.rows; i++) {
        check_file(&t, i);
        if (vector_cell(&t, i, "bloom_offset")[0] == '-') continue;
        struct vector_bytes file = vector_file(vector_cell(&t, i, "file"));
        const size_t offset = (size_t)vector_number(&t, i, "bloom_offset");
        const size_t length = (size_t)vector_number(&t, i, "bloom_length");
        if (CHECK(offset <= file.length && length <= file.length - offset, "row %zu", i)) {
            const struct vector_bytes part = {file.at + offset, length};
            check_filter(&t, i, &part, &hostile);
        }
        vector_bytes_free(&file);
    }
    vector_table_free(&t);
    check_multi();
    check_damaged();
    check_long_header();
    check_replace();
    check_chunks();
    check_names();
    check_footers();
    check_headers();
    return run_end();
}
