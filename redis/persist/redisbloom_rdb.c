/* redisbloom_rdb.c - filters of RedisBloom in RDB files, number for number as RedisBloom writes
 * them
 *
 *     MBbloom--   keys, sub-filters, options, growth; for each: entries, error, hashes, bits per
 *                 entry, bits, n2, string of the bits, keys
 *     MBbloomCF   sub-filters, buckets, items, deletes, bucket size, iterations, expansion; for
 *                 each sub-filter: buckets, string of the slots
 *
 * Older encodings lack some of these.  The numbers become a header, which the library checks. */
#include "filters/redisbloom.h"
#include "persist/rdb.h"
#include "server/memory.h"
#include "tables/byte_io.h"
#include "tables/sparse_bytes.h"

#define SUBS_MAX 8192  /* tamis_header_open refuses more */
#define WITH_OPTIONS 2 /* encodings from which these numbers are there */
#define WITH_GROWTH 4
#define WITH_BUCKET_SIZE 4

/* ---- tables: one string each */

static void save_table(RedisModuleIO *rdb, struct sparse_bytes *b) {
    uint8_t *bytes = memory_alloc((size_t)b->bytes);
    if (bytes == NULL || !sparse_bytes_read(b, 0, bytes, (size_t)b->bytes)) {
        memory_exhausted((size_t)b->bytes);
    }
    RedisModule_SaveStringBuffer(rdb, (const char *)bytes, (size_t)b->bytes);
    memory_free(bytes);
}

/* NULL if there is no string, it is empty, or memory runs out. */
static struct sparse_bytes *load_bytes(RedisModuleIO *rdb) {
    size_t length = 0;
    char *bytes = RedisModule_LoadStringBuffer(rdb, &length);
    if (bytes == NULL) return NULL;
    struct sparse_bytes *b = NULL;
    if (length != 0 && !RedisModule_IsIOError(rdb)) b = sparse_bytes_new(length);
    if (b != NULL && !sparse_bytes_write(b, 0, bytes, length)) {
        sparse_bytes_free(b);
        b = NULL;
    }
    RedisModule_Free(bytes);
    return b;
}

/* ---- Bloom filters */

void bf_redisbloom_save(RedisModuleIO *rdb, const tamis_filter *f) {
    const struct redisbloom_bloom c = redisbloom_bloom(f);
    RedisModule_SaveUnsigned(rdb, c.size);
    RedisModule_SaveUnsigned(rdb, c.subfilters);
    RedisModule_SaveUnsigned(rdb, c.options);
    RedisModule_SaveUnsigned(rdb, c.growth);
    for (uint32_t i = 0; i < c.subfilters; i++) {
        const struct redisbloom_sub l = redisbloom_sub(f, i);
        RedisModule_SaveUnsigned(rdb, l.entries);
        RedisModule_SaveDouble(rdb, l.error);
        RedisModule_SaveUnsigned(rdb, l.hashes);
        RedisModule_SaveDouble(rdb, l.per_entry);
        RedisModule_SaveUnsigned(rdb, l.bits);
        RedisModule_SaveUnsigned(rdb, l.n2);
        save_table(rdb, tamis_storage_table(f, i));
        RedisModule_SaveUnsigned(rdb, l.size);
    }
}

/* A number of at most `max`; more is bad. */
static uint64_t load_number(RedisModuleIO *rdb, uint64_t max, bool *bad) {
    const uint64_t value = RedisModule_LoadUnsigned(rdb);
    if (value > max) *bad = true;
    return value;
}

/* Reads a sub-filter into a header.  NULL if the string is not there or a number is out of range.
 */
static struct sparse_bytes *load_sub(RedisModuleIO *rdb, int version, struct byte_writer *w) {
    bool bad = false;
    struct redisbloom_sub l = {.entries = RedisModule_LoadUnsigned(rdb)};
    l.error = RedisModule_LoadDouble(rdb);
    l.hashes = (uint32_t)load_number(rdb, UINT32_MAX, &bad);
    l.per_entry = RedisModule_LoadDouble(rdb);
    const double bits = (double)l.entries * l.per_entry; /* the first encoding leaves it to these */
    l.bits = bits >= 0 && bits < 0x1p63 ? (uint64_t)bits : 0;
    if (version > 0) {
        l.bits = RedisModule_LoadUnsigned(rdb);
        l.n2 = (uint8_t)load_number(rdb, UINT8_MAX, &bad);
    }
    struct sparse_bytes *table = RedisModule_IsIOError(rdb) ? NULL : load_bytes(rdb);
    if (table == NULL) return NULL;
    l.size = RedisModule_LoadUnsigned(rdb);
    byte_put64(w, table->bytes);
    byte_put64(w, l.bits);
    byte_put64(w, l.size);
    byte_put_double(w, l.error);
    byte_put_double(w, l.per_entry);
    byte_put32(w, l.hashes);
    byte_put64(w, l.entries);
    byte_put(w, l.n2, 1);
    if (!bad && !RedisModule_IsIOError(rdb)) return table;
    sparse_bytes_free(table);
    return NULL;
}

/* Opens the filter of a header and gives it the tables that were loaded. */
static tamis_filter *open_loaded(const struct byte_writer *header, struct sparse_bytes **tables) {
    tamis_filter *f = redisbloom_open(TAMIS_GROWING, header->bytes, header->length, UINT64_MAX);
    struct sparse_bytes *t;
    for (size_t i = 0; f != NULL && (t = tamis_storage_table(f, i)) != NULL; i++) {
        sparse_bytes_swap(t, tables[i]);
    }
    return f;
}

tamis_filter *bf_redisbloom_load(RedisModuleIO *rdb, uint64_t size, int version) {
    bool bad = false;
    const uint64_t subs = load_number(rdb, SUBS_MAX, &bad);
    const uint64_t options = version < WITH_OPTIONS ? 0 : load_number(rdb, UINT32_MAX, &bad);
    const uint64_t growth = version < WITH_GROWTH ? 2 : load_number(rdb, UINT32_MAX, &bad);
    if (RedisModule_IsIOError(rdb) || bad || subs == 0) return NULL;
    struct byte_writer w = {.capacity = REDISBLOOM_BLOOM_HEADER + (size_t)subs * REDISBLOOM_SUB};
    struct sparse_bytes **tables = memory_zeroed((size_t)subs * sizeof *tables);
    w.bytes = memory_alloc(w.capacity);
    size_t loaded = 0;
    if (tables != NULL && w.bytes != NULL) {
        byte_put64(&w, size);
        byte_put32(&w, (uint32_t)subs);
        byte_put32(&w, (uint32_t)options);
        byte_put32(&w, (uint32_t)growth);
        while (loaded < subs && (tables[loaded] = load_sub(rdb, version, &w)) != NULL) loaded++;
    }
    tamis_filter *f = loaded == subs ? open_loaded(&w, tables) : NULL;
    while (loaded > 0) sparse_bytes_free(tables[--loaded]);
    memory_free(tables);
    memory_free(w.bytes);
    return f;
}

/* ---- cuckoo filters */

void cf_redisbloom_save(RedisModuleIO *rdb, const tamis_filter *f) {
    const struct cf_numbers c = redisbloom_cuckoo(f);
    RedisModule_SaveUnsigned(rdb, c.subfilters);
    RedisModule_SaveUnsigned(rdb, c.buckets);
    RedisModule_SaveUnsigned(rdb, c.items);
    RedisModule_SaveUnsigned(rdb, c.deletes);
    RedisModule_SaveUnsigned(rdb, c.bucket_size);
    RedisModule_SaveUnsigned(rdb, c.iterations);
    RedisModule_SaveUnsigned(rdb, c.expansion);
    struct sparse_bytes *t;
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) {
        RedisModule_SaveUnsigned(rdb, t->bytes / c.bucket_size);
        save_table(rdb, t);
    }
}

/* The slots of a sub-filter; the header has its size. */
static bool load_table(RedisModuleIO *rdb, struct sparse_bytes *t, uint64_t buckets, int version) {
    if (version >= WITH_BUCKET_SIZE && RedisModule_LoadUnsigned(rdb) != buckets) return false;
    struct sparse_bytes *loaded = RedisModule_IsIOError(rdb) ? NULL : load_bytes(rdb);
    const bool fits = loaded != NULL && loaded->bytes == t->bytes;
    if (fits) sparse_bytes_swap(t, loaded);
    sparse_bytes_free(loaded);
    return fits;
}

/* Encodings before WITH_BUCKET_SIZE have RedisBloom's defaults. */
static tamis_filter *load_cuckoo_header(RedisModuleIO *rdb, uint64_t tables, int version,
                                        uint64_t *bucket_size) {
    const bool old = version < WITH_BUCKET_SIZE;
    uint8_t header[REDISBLOOM_CUCKOO_HEADER];
    struct byte_writer w = {.bytes = header, .capacity = sizeof header};
    bool bad = false;
    const uint64_t buckets = RedisModule_LoadUnsigned(rdb), items = RedisModule_LoadUnsigned(rdb);
    const uint64_t deletes = old ? 0 : RedisModule_LoadUnsigned(rdb);
    *bucket_size = old ? 2 : load_number(rdb, UINT16_MAX, &bad);
    const uint64_t iterations = old ? 20 : load_number(rdb, UINT16_MAX, &bad);
    const uint64_t expansion = old ? 1 : load_number(rdb, UINT16_MAX, &bad);
    if (RedisModule_IsIOError(rdb) || bad) return NULL;
    byte_put64(&w, items);
    byte_put64(&w, buckets);
    byte_put64(&w, deletes);
    byte_put64(&w, tables);
    byte_put(&w, *bucket_size, 2);
    byte_put(&w, iterations, 2);
    byte_put(&w, expansion, 2);
    return redisbloom_open(TAMIS_CUCKOO, header, sizeof header, UINT64_MAX);
}

tamis_filter *cf_redisbloom_load(RedisModuleIO *rdb, uint64_t tables, int version) {
    uint64_t bucket_size;
    tamis_filter *f = load_cuckoo_header(rdb, tables, version, &bucket_size);
    struct sparse_bytes *t;
    for (size_t i = 0; f != NULL && (t = tamis_storage_table(f, i)) != NULL; i++) {
        if (load_table(rdb, t, t->bytes / bucket_size, version)) continue;
        tamis_free(f);
        f = NULL;
    }
    return f;
}
