/* leveldb_table.c - LevelDB's tables, written here: one malformed table for each rule of the
 * reader, and layouts that the vectors lack
 *
 * A plan describes a table; most fields are zero, which is what LevelDB writes.  Each check sets
 * one of them.  Blocks are compressed with a small Snappy encoder, which takes one kind of copy at
 * a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/sink.h"

enum { PLAIN, SNAPPY };
enum { KEYS_MAX = 4 };

/* What replaces a block. */
struct other {
    const void *bytes;
    size_t length;
};

struct plan {
    const char *keys[KEYS_MAX]; /* in the order in which they are written; none: a, b, c */
    bool internal;              /* each has eight bytes of LevelDB's own */
    unsigned data_type, filter_type, meta_type, index_type;
    unsigned tag; /* of the copies in compressed blocks: 1, 2, 3 */
    const char *filter_name;
    const char *index_key; /* of its first entry; NULL: "z" */
    struct other data, filters, meta, index, filter_handle, index_handle;
    struct other more_data, more_index; /* entries after the usual ones */
    bool filter_matches_all;            /* with a reserved number of hashes */
    size_t before;                      /* bytes before the data block */
    unsigned base_lg;                   /* 0: 11 */
};

static const char *const usual_keys[KEYS_MAX] = {"a", "b", "c"};

static const char *key_at(const struct plan *p, size_t i) {
    const char *const *keys = p->keys[0] == NULL ? usual_keys : p->keys;
    return i < KEYS_MAX ? keys[i] : NULL;
}

/* ---- Snappy */

/* The longest earlier occurrence of what begins at `at`; 0 if it is shorter than 4 bytes. */
static size_t longest_match(const struct sink *in, size_t at, size_t max, size_t *back) {
    size_t best = 0;
    for (size_t from = 0; from < at; from++) {
        size_t run = 0;
        while (at + run < in->length && run < max && in->at[from + run] == in->at[at + run]) run++;
        if (run > best) {
            best = run;
            *back = at - from;
        }
    }
    return best < 4 ? 0 : best;
}

static void snappy_copy(struct sink *out, unsigned tag, size_t run, size_t back) {
    if (tag == 1) {
        sink_fill(out, (unsigned)((back >> 8) << 5 | (run - 4) << 2 | 1), 1);
        sink_le(out, back & 0xff, 1);
    } else {
        sink_fill(out, (unsigned)((run - 1) << 2 | tag), 1);
        sink_le(out, back, tag == 2 ? 2 : 4);
    }
}

static void snappy_literal(struct sink *out, const uint8_t *bytes, size_t run) {
    if (run == 0) return;
    if (run <= 60) {
        sink_fill(out, (unsigned)(run - 1) << 2, 1);
    } else {
        const unsigned extra = run <= 256 ? 1 : 2;
        sink_fill(out, (59 + extra) << 2, 1);
        sink_le(out, run - 1, extra);
    }
    sink_bytes(out, bytes, run);
}

static void snappy_pack(const struct sink *in, unsigned tag, struct sink *out) {
    size_t at = 0, plain = 0, back = 0;
    sink_varint(out, in->length);
    while (at < in->length) {
        const size_t run = longest_match(in, at, tag == 1 ? 11 : 64, &back);
        if (run == 0 || (tag == 1 && back >= 2048)) {
            at++;
            continue;
        }
        snappy_literal(out, in->at + plain, at - plain);
        snappy_copy(out, tag, run, back);
        plain = at += run;
    }
    snappy_literal(out, in->at + plain, at - plain);
}

/* ---- a table */

static struct handle add_block(struct sink *table, const struct plan *p, struct sink *block,
                               unsigned type, const struct other *other) {
    struct sink packed = {NULL, 0, 0};
    if (other->bytes != NULL) {
        block->length = 0;
        sink_bytes(block, other->bytes, other->length);
    } else if (type == SNAPPY) {
        snappy_pack(block, p->tag == 0 ? 2 : p->tag, &packed);
        const struct sink swap = *block;
        *block = packed;
        packed = swap;
    }
    const struct handle handle = table_block(table, block, type, SUM_CRC32C);
    sink_free(&packed);
    sink_free(block);
    return handle;
}

static struct handle add_data(struct sink *table, const struct plan *p) {
    struct sink block = {NULL, 0, 0};
    for (size_t i = 0; key_at(p, i) != NULL; i++) {
        struct sink key = {NULL, 0, 0};
        sink_text(&key, key_at(p, i));
        if (p->internal) sink_le(&key, 0x101, 8);
        block_entry(&block, 0, key.at, key.length, "a value of some length", 22);
        sink_free(&key);
    }
    sink_bytes(&block, p->more_data.bytes, p->more_data.length);
    block_end(&block);
    return add_block(table, p, &block, p->data_type, &p->data);
}

static struct handle add_filters(struct sink *table, const struct plan *p) {
    struct sink block = {NULL, 0, 0};
    struct vector_keys keys = {0, NEED(const void *, KEYS_MAX), NEED(size_t, KEYS_MAX), NULL};
    for (; key_at(p, keys.count) != NULL; keys.count++) {
        keys.keys[keys.count] = key_at(p, keys.count);
        keys.lengths[keys.count] = strlen(key_at(p, keys.count));
    }
    tamis_filter *f = compat_build("leveldb", 0, 0, &keys, "a filter of a table");
    struct bytes bytes = bytes_of(f);
    if (p->filter_matches_all) bytes.data[bytes.size - 1] = 31;
    sink_bytes(&block, bytes.data, bytes.size);
    sink_le(&block, 0, 4);
    sink_le(&block, bytes.size, 4);
    sink_fill(&block, p->base_lg == 0 ? 11 : p->base_lg, 1);
    bytes_free(&bytes);
    tamis_free(f);
    vector_keys_free(&keys);
    return add_block(table, p, &block, p->filter_type, &p->filters);
}

/* An entry of metaindex or index, whose value is a handle or what replaces it. */
static void add_handle(struct sink *block, const char *key, struct handle handle,
                       const struct other *other) {
    if (other->bytes == NULL) {
        block_handle(block, key, handle);
    } else {
        block_entry(block, 0, key, strlen(key), other->bytes, other->length);
    }
}

static struct sink make_table(const struct plan *p) {
    struct sink table = {NULL, 0, 0}, meta = {NULL, 0, 0}, index = {NULL, 0, 0};
    sink_fill(&table, 0, p->before);
    const struct handle data = add_data(&table, p), filters = add_filters(&table, p);
    const char *name =
        p->filter_name == NULL ? "filter.leveldb.BuiltinBloomFilter2" : p->filter_name;
    add_handle(&meta, name, filters, &p->filter_handle);
    block_end(&meta);
    const char *last = p->internal ? "z\1"
                                     "2345678"
                                   : "z";
    add_handle(&index, p->index_key == NULL ? last : p->index_key, data, &p->index_handle);
    sink_bytes(&index, p->more_index.bytes, p->more_index.length);
    block_end(&index);
    const struct handle meta_handle = add_block(&table, p, &meta, p->meta_type, &p->meta);
    leveldb_footer(&table, meta_handle, add_block(&table, p, &index, p->index_type, &p->index));
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

/* Opens the table and looks up its keys and one that is absent; its answer for that. */
static bool finds_absent(const struct plan *p, const char *absent, const char *what) {
    struct sink table = make_table(p);
    struct vector_bytes bytes = sink_view(&table);
    tamis_container *c = container_open("leveldb-table", &bytes, what);
    bool found = false;
    for (size_t i = 0; c != NULL && key_at(p, i) != NULL; i++) {
        CHECK(tamis_container_contains(c, NULL, key_at(p, i), strlen(key_at(p, i))),
              "%s: key %zu is missing", what, i);
    }
    if (c != NULL) found = tamis_container_contains(c, NULL, absent, strlen(absent));
    tamis_container_free(c);
    sink_free(&table);
    return found;
}

/* ---- checks */

#define OTHER(...) \
    { (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}) }

/* Every block may be compressed except the filters, with every kind of copy. */
static void check_snappy(void) {
    for (unsigned tag = 1; tag <= 3; tag++) {
        for (unsigned internal = 0; internal < 2; internal++) {
            const struct plan p = {.data_type = SNAPPY,
                                   .meta_type = SNAPPY,
                                   .index_type = SNAPPY,
                                   .internal = internal != 0,
                                   .tag = tag};
            CHECK(!finds_absent(&p, "0", "compressed"), "tag %u: an absent key is found", tag);
        }
    }
    const struct plan filters = {.filter_type = SNAPPY};
    check_status(&filters, TAMIS_E_CORRUPT, "compressed filters");
    const struct plan meta = {.meta_type = SNAPPY, .meta = OTHER(5, 0)};
    check_status(&meta, TAMIS_E_CORRUPT, "a metaindex that is no Snappy");
    const struct plan large = {.meta_type = SNAPPY, .meta = OTHER(0xff, 0x7f)};
    check_status(&large, TAMIS_E_CORRUPT, "a metaindex larger than Snappy can pack");
    const struct plan index = {.index_type = SNAPPY, .index = OTHER(5, 0)};
    check_status(&index, TAMIS_E_CORRUPT, "an index that is no Snappy");
    const struct plan data = {.data_type = SNAPPY, .data = OTHER(5, 0)};
    check_status(&data, TAMIS_E_CORRUPT, "data that is no Snappy");
}

/* An unknown compression: of the data block the reader needs only the layout of its keys. */
static void check_types(void) {
    const struct plan meta = {.meta_type = 4}, filters = {.filter_type = 4};
    const struct plan index = {.index_type = 4}, data = {.data_type = 4};
    check_status(&meta, TAMIS_E_UNSUPPORTED, "metaindex of another compression");
    check_status(&filters, TAMIS_E_UNSUPPORTED, "filters of another compression");
    check_status(&index, TAMIS_E_UNSUPPORTED, "index of another compression");
    CHECK(!finds_absent(&data, "0", "data of another compression"), "an absent key is found");
}

static void check_filter_blocks(void) {
    const struct {
        struct other block;
        tamis_status want;
        const char *what;
    } rows[] = {
        {OTHER(0, 0, 0, 11), TAMIS_E_CORRUPT, "four bytes of filters"},
        {OTHER(1, 0, 0, 0, 11), TAMIS_E_CORRUPT, "offsets after the end"},
        {OTHER(7, 0, 0, 0, 0, 11), TAMIS_E_CORRUPT, "offsets that are no words"},
        {OTHER(0, 0, 0, 0, 64), TAMIS_E_CORRUPT, "a base of 2^64"},
        {OTHER(1, 0, 0, 0, 0, 0, 0, 0, 11), TAMIS_E_CORRUPT, "a filter that ends before its start"},
        {OTHER(0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 11), TAMIS_E_CORRUPT, "a filter in the offsets"},
        {OTHER(0, 0, 0, 0, 11), TAMIS_OK, "no filters"},
        {OTHER(1, 0, 0, 0, 0, 1, 0, 0, 0, 11), TAMIS_OK, "a filter of one byte"},
        {OTHER(0, 0, 0, 0, 0, 0, 0, 0, 11), TAMIS_OK, "a filter of no bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct plan p = {.filters = rows[i].block};
        check_status(&p, rows[i].want, rows[i].what);
    }
}

/* The parts of a container take no more memory than its bytes, and a little. */
static void check_many_filters(void) {
    enum { FILTERS = 60000 };
    struct sink block = {NULL, 0, 0};
    sink_fill(&block, 0, 4 * FILTERS + 4);
    sink_fill(&block, 11, 1);
    const struct plan p = {.filters = {block.at, block.length}};
    check_status(&p, TAMIS_E_UNSUPPORTED, "60,000 filters of no bytes");
    sink_free(&block);
}

static void check_metaindex(void) {
    const struct plan name = {.filter_name = "filter.another.policy"};
    CHECK(finds_absent(&name, "0", "another policy"), "an absent key without a filter");
    const struct plan handle = {.filter_handle = OTHER(0x80)};
    check_status(&handle, TAMIS_E_CORRUPT, "half a handle of the filters");
    const struct plan outside = {.filter_handle = OTHER(0, 0xff, 0xff, 0x7f)};
    check_status(&outside, TAMIS_E_CORRUPT, "filters outside of the table");
    const struct plan restarts = {.meta = OTHER(9, 0, 0, 0)};
    check_status(&restarts, TAMIS_E_CORRUPT, "a metaindex of more restarts than bytes");
    const struct plan entry = {.meta = OTHER(1, 1, 1, 'a', 'b', 0, 0, 0, 0)};
    check_status(&entry, TAMIS_E_CORRUPT, "a key that shares bytes with none");
}

static void check_index(void) {
    const struct plan small = {.index = OTHER(0, 0)};
    check_status(&small, TAMIS_E_CORRUPT, "an index of two bytes");
    const struct plan bad = {.index = OTHER(0, 9, 9, 'a', 0, 0, 0, 0)};
    check_status(&bad, TAMIS_E_CORRUPT, "a key longer than the index");
    const struct plan handle = {.index_handle = OTHER(0x80, 0x80)};
    check_status(&handle, TAMIS_E_CORRUPT, "half a handle of the data");
    const struct plan none = {.index = OTHER(0, 0, 0, 0)};
    check_status(&none, TAMIS_OK, "an index of no keys");
}

/* The footer is 48 bytes, of which 40 are two handles. */
static void check_footer(void) {
    const struct plan p = {.before = 0};
    for (size_t bad = 0; bad < 2; bad++) {
        struct sink table = make_table(&p);
        uint8_t *footer = table.at + table.length - 48;
        memset(footer, 0xff, 40);
        if (bad == 1) footer[0] = footer[1] = 0; /* the first is one of no bytes at 0 */
        CHECK(table_status(&table) == TAMIS_E_CORRUPT, "footer %zu", bad);
        sink_free(&table);
    }
    struct sink table = make_table(&p);
    table.at[table.length - 50] ^= 1;
    CHECK(table_status(&table) == TAMIS_E_CHECKSUM, "a changed checksum");
    sink_free(&table);
    sink_fill(&table, 0, 40);
    sink_be(&table, UINT64_C(0x57fb808b247547db), 8);
    CHECK(table_status(&table) == TAMIS_E_CORRUPT, "a footer alone");
    sink_free(&table);
}

/* Keys in another order than that of their bytes: every filter is queried. */
static void check_order(void) {
    const struct plan data = {.keys = {"c", "b", "a"}};
    CHECK(!finds_absent(&data, "zz", "descending keys"), "an absent key is found");
    const struct plan index = {.more_index = OTHER(0, 1, 2, 'a', 0, 0)};
    CHECK(!finds_absent(&index, "zz", "a descending index"), "an absent key is found");
    const struct plan bytes = {.index_key = "c"};
    CHECK(!finds_absent(&bytes, "d", "after the last key"), "a key after the last is found");
    const struct plan prefix = {.keys = {"a", "aa", "aaa"}, .index_key = "aaa"};
    CHECK(!finds_absent(&prefix, "aaaa", "prefixes"), "a key after its prefix is found");
}

/* Where the index does not name the filter of a key, the key may be in the table. */
static void check_coverage(void) {
    const struct {
        struct other more;
        const char *what;
    } rows[] = {
        {OTHER(0, 1, 1, 'z', 0x80), "half a handle"},
        {OTHER(0, 1, 4, 'z', 0x80, 0x80, 0x40, 0), "a data block after all filters"},
        {OTHER(0, 1, 9, 'z'), "an entry longer than the index"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct plan p = {.index_key = "0", .more_index = rows[i].more};
        CHECK(finds_absent(&p, "y", rows[i].what), "%s: an absent key", rows[i].what);
    }
    const struct plan first = {.index_key = "0", .more_index = rows[0].more};
    CHECK(!finds_absent(&first, "/", "the first block"), "an absent key before the first");
    const struct plan later = {.before = 4096};
    CHECK(finds_absent(&later, "y", "a first block after all filters"), "an absent key");
}

/* A key of more than 4096 bytes that is not in one piece is compared with none. */
static void check_long_keys(void) {
    enum { LONG = 5000 };
    struct sink more = {NULL, 0, 0};
    char *text = NEED(char, LONG);
    memset(text, 'm', LONG);
    block_entry(&more, 0, text, LONG, "", 0);
    block_entry(&more, LONG, "x", 1, "", 0);
    block_entry(&more, 10, "n", 1, "", 0);
    const struct plan data = {.more_data = {more.at, more.length}};
    CHECK(!finds_absent(&data, "0", "long keys"), "an absent key is found");
    const struct plan index = {.index_key = "c", .more_index = {more.at, more.length}};
    CHECK(finds_absent(&index, "n", "long keys in the index"), "an absent key");
    free(text);
    sink_free(&more);
}

/* The filter shows whether keys have eight bytes of LevelDB's own; if it contains both readings,
 * the first key does. */
static void check_internal_keys(void) {
    const struct plan p = {.internal = true};
    CHECK(!finds_absent(&p, "0", "internal keys"), "an absent key is found");
    for (unsigned internal = 0; internal < 2; internal++) {
        const struct plan all = {.internal = internal != 0, .filter_matches_all = true};
        CHECK(finds_absent(&all, "0", "a reserved number of hashes"), "an absent key");
    }
    const struct plan bad = {.data = OTHER(1, 2, 3)}, none = {.data = OTHER(0, 0, 0, 0)};
    check_status(&bad, TAMIS_OK, "a data block of three bytes");
    check_status(&none, TAMIS_OK, "a data block of no keys");
    const struct plan damaged = {.data = OTHER(9, 9, 9, 0, 0, 0, 0)};
    check_status(&damaged, TAMIS_OK, "a data block whose first entry is bad");
}

static void check_faults(void) {
    const struct plan p = {.data_type = SNAPPY, .meta_type = SNAPPY, .index_type = SNAPPY};
    struct sink table = make_table(&p);
    table_faults(&table, "a", 1, "a compressed table");
    sink_free(&table);
    /* Without the answer of the filter this key would look like an internal one. */
    const struct plan eight = {.keys = {"\1bcdefgh"}};
    table = make_table(&eight);
    table_faults(&table, "\1bcdefgh", 8, "a key that looks internal");
    sink_free(&table);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "leveldb_table");
    check_snappy();
    check_types();
    check_filter_blocks();
    check_many_filters();
    check_metaindex();
    check_index();
    check_footer();
    check_order();
    check_coverage();
    check_long_keys();
    check_internal_keys();
    check_faults();
    return run_end();
}
