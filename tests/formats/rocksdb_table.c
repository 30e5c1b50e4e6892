/* rocksdb_table.c - RocksDB's tables, written here: every type of checksum, and one malformed table
 * for each rule of the reader
 *
 * A plan describes a table; its zeros are what RocksDB writes.  Each check sets one field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sink.h"

#define FILTER "fullfilter.rocksdb.BuiltinBloomFilter"
#define PROPERTIES "rocksdb.properties"
#define WHOLE_KEYS "rocksdb.block.based.table.whole.key.filtering"
#define NUMBER "rocksdb.external_sst_file.global_seqno"

static const char *const keys[] = {"apple", "banana", "cherry"};
enum { KEYS = sizeof keys / sizeof *keys };

/* What replaces a value or a block. */
struct other {
    const void *bytes;
    size_t length;
};

struct plan {
    unsigned sum;
    uint32_t version; /* 0: 5 */
    bool no_filter, no_properties;
    bool empty_filter;          /* of no bytes: it was made of no keys */
    const char *other_name;     /* a further entry of the metaindex */
    struct other whole, number; /* values of the two properties; NULL: none */
    struct other filter_handle, properties, meta;
    unsigned filter_type; /* its compression */
    bool ingested;        /* the number is written after the checksum */
};

static void add_filter(struct sink *block) {
    struct vector_keys k = {0, NEED(const void *, KEYS), NEED(size_t, KEYS), NULL};
    for (; k.count < KEYS; k.count++) {
        k.keys[k.count] = keys[k.count];
        k.lengths[k.count] = strlen(keys[k.count]);
    }
    tamis_filter *f = compat_build("rocksdb", 0, 0, &k, "the filter of a table");
    struct bytes bytes = bytes_of(f);
    sink_bytes(block, bytes.data, bytes.size);
    bytes_free(&bytes);
    tamis_free(f);
    vector_keys_free(&k);
}

static void add_property(struct sink *block, const char *name, const struct other *value) {
    if (value->bytes != NULL) {
        block_entry(block, 0, name, strlen(name), value->bytes, value->length);
    }
}

static void replace(struct sink *block, const struct other *other) {
    if (other->bytes == NULL) return;
    block->length = 0;
    sink_bytes(block, other->bytes, other->length);
}

static struct handle add_properties(struct sink *table, const struct plan *p) {
    struct sink block = {NULL, 0, 0};
    add_property(&block, WHOLE_KEYS, &p->whole);
    add_property(&block, NUMBER, &p->number);
    const size_t number = block.length - p->number.length; /* it ends the entries */
    block_end(&block);
    replace(&block, &p->properties);
    const struct handle handle = table_block(table, &block, 0, p->sum);
    if (p->ingested) memset(table->at + handle.offset + number, 7, p->number.length);
    sink_free(&block);
    return handle;
}

static struct sink make_table(const struct plan *p) {
    struct sink table = {NULL, 0, 0}, filter = {NULL, 0, 0}, meta = {NULL, 0, 0};
    if (!p->empty_filter) add_filter(&filter);
    const struct handle filter_handle = table_block(&table, &filter, p->filter_type, p->sum);
    const struct handle properties = add_properties(&table, p);
    if (p->filter_handle.bytes != NULL) {
        block_entry(&meta, 0, FILTER, strlen(FILTER), p->filter_handle.bytes,
                    p->filter_handle.length);
    } else if (!p->no_filter) {
        block_handle(&meta, FILTER, filter_handle);
    }
    if (p->other_name != NULL) block_handle(&meta, p->other_name, filter_handle);
    if (!p->no_properties) block_handle(&meta, PROPERTIES, properties);
    block_end(&meta);
    replace(&meta, &p->meta);
    rocksdb_footer(&table, p->sum, table_block(&table, &meta, 0, p->sum),
                   p->version == 0 ? 5 : p->version);
    sink_free(&filter);
    sink_free(&meta);
    return table;
}

static void check_status(const struct plan *p, tamis_status want, const char *what) {
    struct sink table = make_table(p);
    const tamis_status status = table_status(&table);
    CHECK(status == want, "%s: %s, not %s", what, tamis_status_name(status),
          tamis_status_name(want));
    count_up(want == TAMIS_OK ? "tables" : "rejected tables", 1);
    sink_free(&table);
}

/* Opens it, looks up its keys and one that is absent; its answer for that. */
static bool finds_absent(const struct plan *p, const char *what) {
    struct sink table = make_table(p);
    struct vector_bytes bytes = sink_view(&table);
    tamis_container *c = container_open("rocksdb-table", &bytes, what);
    bool found = false;
    for (size_t i = 0; c != NULL && i < KEYS; i++) {
        CHECK(tamis_container_contains(c, NULL, keys[i], strlen(keys[i])), "%s: %s is missing",
              what, keys[i]);
    }
    if (c != NULL) found = tamis_container_contains(c, NULL, "an absent key", 13);
    tamis_container_free(c);
    sink_free(&table);
    return found;
}

/* ---- checks */

/* Every changed byte of the filter, of the properties and of the metaindex is detected, unless the
 * table has no checksums. */
static void check_sums(void) {
    static const unsigned sums[] = {SUM_NONE, SUM_CRC32C, SUM_XXH64, SUM_XXH3};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        const struct plan p = {.sum = sums[i], .whole = {"1", 1}};
        struct sink table = make_table(&p);
        CHECK(!finds_absent(&p, "a type of checksum"), "type %u: an absent key", sums[i]);
        for (size_t at = 0; at + 53 < table.length && sums[i] != SUM_NONE; at++) {
            table.at[at] ^= 0x10;
            const tamis_status status = table_status(&table);
            /* Properties with a wrong checksum are searched for a global number. */
            CHECK(status == TAMIS_E_CHECKSUM || status == TAMIS_E_CORRUPT,
                  "type %u: byte %zu changed: %s", sums[i], at, tamis_status_name(status));
            table.at[at] ^= 0x10;
            count_up("changed bytes", 1);
        }
        sink_free(&table);
    }
    const struct plan xxh32 = {.sum = SUM_XXH32}, unknown = {.sum = 5};
    check_status(&xxh32, TAMIS_E_UNSUPPORTED, "XXH32");
    check_status(&unknown, TAMIS_E_UNSUPPORTED, "an unknown type of checksum");
}

static void check_versions(void) {
    for (uint32_t version = 1; version < 8; version++) {
        const struct plan p = {.version = version};
        check_status(&p,
                     version < 2   ? TAMIS_E_UNSUPPORTED
                     : version > 5 ? TAMIS_E_VERSION
                                   : TAMIS_OK,
                     "a version of the footer");
    }
}

/* A filter of prefixes alone is not queried for keys. */
static void check_properties(void) {
    static const struct {
        struct plan p;
        tamis_status want;
        const char *what;
    } rows[] = {
        {{.whole = {"1", 1}}, TAMIS_OK, "whole keys"},
        {{.whole = {"0", 1}}, TAMIS_E_UNSUPPORTED, "prefixes"},
        {{.whole = {"11", 2}}, TAMIS_E_UNSUPPORTED, "another value"},
        {{.no_properties = true}, TAMIS_OK, "no properties"},
        {{.number = {"\0\0\0\0\0\0\0", 8}, .ingested = true, .sum = SUM_XXH3},
         TAMIS_OK,
         "ingested"},
        {{.number = {"\0\0\0\0\0\0\0", 8}, .whole = {"0", 1}, .ingested = true, .sum = SUM_CRC32C},
         TAMIS_E_UNSUPPORTED,
         "prefixes, ingested"},
        {{.number = {"\0\0\0\0\0\0", 7}, .ingested = true, .sum = SUM_XXH64},
         TAMIS_E_CHECKSUM,
         "a number of seven bytes"},
        {{.number = {"\1\0\0\0\0\0\0", 8}, .ingested = true, .sum = SUM_CRC32C},
         TAMIS_E_CHECKSUM,
         "a checksum of another number"},
        {{.properties = {"\11\0\0\0", 4}}, TAMIS_E_CORRUPT, "more restarts than bytes"},
        {{.properties = {"\0\7\7a\0\0\0\0", 8}}, TAMIS_E_CORRUPT, "an entry too long"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_status(&rows[i].p, rows[i].want, rows[i].what);
    }
}

static void check_metaindex(void) {
    static const struct {
        struct plan p;
        tamis_status want;
        const char *what;
    } rows[] = {
        {{.other_name = "partitionedfilter.rocksdb.BuiltinBloomFilter"},
         TAMIS_E_UNSUPPORTED,
         "partitioned filters"},
        {{.other_name = "rocksdb.range_del"}, TAMIS_OK, "a further block"},
        {{.other_name = "rocksdb.proportion"}, TAMIS_OK, "a name as long as the properties'"},
        {{.filter_type = 1}, TAMIS_E_UNSUPPORTED, "a compressed filter"},
        {{.filter_handle = {"\x80", 1}}, TAMIS_E_CORRUPT, "half a handle"},
        {{.filter_handle = {"\0\xff\xff\x7f", 4}}, TAMIS_E_CORRUPT, "a filter outside"},
        {{.filter_handle = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05", 11}},
         TAMIS_E_CORRUPT,
         "an offset of 2^64 - 1"},
        {{.meta = {"\0\0", 2}}, TAMIS_E_CORRUPT, "a metaindex of two bytes"},
        {{.meta = {"\0\7\7a\0\0\0\0", 8}}, TAMIS_E_CORRUPT, "an entry too long"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_status(&rows[i].p, rows[i].want, rows[i].what);
    }
    const struct plan empty = {.empty_filter = true};
    struct sink table = make_table(&empty);
    tamis_container *c = NULL;
    CHECK(tamis_container_view(table.at, table.length, NULL, &c) == TAMIS_OK &&
              tamis_container_count(c) == 1 && !tamis_container_contains(c, NULL, "key", 3),
          "a filter of no keys");
    tamis_container_free(c);
    sink_free(&table);
    const struct plan none = {.no_filter = true};
    CHECK(finds_absent(&none, "no filter"), "an absent key without a filter");
}

/* Handles that do not end. */
static void check_footer(void) {
    const struct plan p = {.version = 5};
    for (size_t good = 0; good < 3; good += 2) {
        struct sink table = make_table(&p);
        memset(table.at + table.length - 52 + good, 0xff, 40 - good);
        CHECK(table_status(&table) == TAMIS_E_CORRUPT, "a footer of bytes 255");
        sink_free(&table);
    }
}

static void check_faults(void) {
    static const char zeros[8];
    const struct plan p = {.number = {zeros, 8}, .ingested = true, .sum = SUM_XXH3};
    struct sink table = make_table(&p);
    table_faults(&table, keys[0], strlen(keys[0]), "an ingested table");
    sink_free(&table);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "rocksdb_table");
    check_sums();
    check_versions();
    check_properties();
    check_metaindex();
    check_footer();
    check_faults();
    return run_end();
}
