/* redisbloom.c - see redisbloom.h */
#include "filters/redisbloom.h"

#include "server/memory.h"
#include "tables/byte_io.h"
#include "tables/sparse_bytes.h"

static uint64_t data_bytes(const tamis_filter *f, size_t *tables) {
    uint64_t bytes = 0;
    const struct sparse_bytes *t;
    for (*tables = 0; (t = tamis_storage_table(f, *tables)) != NULL; ++*tables) bytes += t->bytes;
    return bytes;
}

static bool is_cuckoo(const tamis_filter *f) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    return tamis_info_brief(f, &facts) == TAMIS_OK && facts.kind == TAMIS_CUCKOO;
}

tamis_filter *redisbloom_open(tamis_kind kind, const uint8_t *header, size_t length, uint64_t max) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    size_t tables;
    how.format = "redisbloom";
    how.storage = &sparse_bytes_storage;
    how.allocator = memory_allocator();
    if ((length == REDISBLOOM_CUCKOO_HEADER) != (kind == TAMIS_CUCKOO)) return NULL;
    if (tamis_header_open(header, length, &how, &f) != TAMIS_OK) return NULL;
    if (data_bytes(f, &tables) <= max) return f;
    tamis_free(f);
    return NULL;
}

tamis_filter *redisbloom_copy(const tamis_filter *f) {
    tamis_filter *copy = NULL;
    (void)tamis_clone(f, &copy);
    return copy;
}

/* ---- numbers */

/* A reader of a part of the header, which is copied to `bytes`. */
static struct byte_reader read_header(const tamis_filter *f, size_t offset, uint8_t *bytes,
                                      size_t size) {
    const bool bad = tamis_header_read(f, offset, bytes, size) != size;
    return (struct byte_reader){bytes, bytes + size, bad};
}

struct redisbloom_bloom redisbloom_bloom(const tamis_filter *f) {
    uint8_t header[REDISBLOOM_BLOOM_HEADER];
    struct byte_reader r = read_header(f, 0, header, sizeof header);
    struct redisbloom_bloom c = {.size = byte_get64(&r)};
    c.subfilters = byte_get32(&r);
    c.options = byte_get32(&r);
    c.growth = byte_get32(&r);
    return c;
}

struct redisbloom_sub redisbloom_sub(const tamis_filter *f, size_t index) {
    uint8_t entry[REDISBLOOM_SUB];
    const size_t offset = REDISBLOOM_BLOOM_HEADER + index * REDISBLOOM_SUB;
    struct byte_reader r = read_header(f, offset, entry, sizeof entry);
    struct redisbloom_sub sub = {.bytes = byte_get64(&r)};
    sub.bits = byte_get64(&r);
    sub.size = byte_get64(&r);
    sub.error = byte_get_double(&r);
    sub.per_entry = byte_get_double(&r);
    sub.hashes = byte_get32(&r);
    sub.entries = byte_get64(&r);
    sub.n2 = (uint8_t)byte_get(&r, 1);
    return sub;
}

struct cf_numbers redisbloom_cuckoo(const tamis_filter *f) {
    uint8_t header[REDISBLOOM_CUCKOO_HEADER];
    struct byte_reader r = read_header(f, 0, header, sizeof header);
    struct cf_numbers c = {.bytes = redisbloom_bytes(f)};
    c.items = byte_get64(&r);
    c.buckets = byte_get64(&r);
    c.deletes = byte_get64(&r);
    c.subfilters = byte_get64(&r);
    c.bucket_size = byte_get(&r, 2);
    c.iterations = byte_get(&r, 2);
    c.expansion = byte_get(&r, 2);
    return c;
}

size_t redisbloom_bytes(const tamis_filter *f) {
    size_t tables;
    const uint64_t data = data_bytes(f, &tables);
    return (is_cuckoo(f) ? 40 + 16 * tables : 32 + 64 * tables) + (size_t)data;
}

/* ---- shared pages */

/* An item reads two buckets of a cuckoo filter.  If they are full, adding it moves up to
 * `iterations` other items. */
size_t redisbloom_unready(const tamis_filter *f, size_t items, bool change) {
    const bool cuckoo = is_cuckoo(f);
    const size_t slots = cuckoo && change ? 2 + (size_t)redisbloom_cuckoo(f).iterations : 2;
    size_t unready = 0;
    const struct sparse_bytes *t;
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) {
        const size_t places = cuckoo ? slots : redisbloom_sub(f, i).hashes;
        unready += sparse_bytes_unready(t, items * places, change);
    }
    return unready;
}

void redisbloom_prepare(const tamis_filter *f) {
    const struct sparse_bytes *t;
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) sparse_bytes_prepare(t);
}

/* ---- chunks */

/* The table of an offset in all tables, which becomes an offset in it; NULL past the end. */
static struct sparse_bytes *table_at(const tamis_filter *f, uint64_t *offset) {
    struct sparse_bytes *t;
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) {
        if (*offset < t->bytes) return t;
        *offset -= t->bytes;
    }
    return NULL;
}

static size_t header_bytes(const tamis_filter *f) {
    if (is_cuckoo(f)) return REDISBLOOM_CUCKOO_HEADER;
    return REDISBLOOM_BLOOM_HEADER + redisbloom_bloom(f).subfilters * (size_t)REDISBLOOM_SUB;
}

uint8_t *redisbloom_chunk(const tamis_filter *f, long long iterator, size_t *length,
                          long long *next) {
    *length = iterator == 0 ? header_bytes(f) : 0;
    *next = iterator == 0;
    if (iterator == 0) {
        uint8_t *bytes = memory_alloc(*length);
        if (bytes != NULL) (void)tamis_header_read(f, 0, bytes, *length);
        return bytes;
    }
    uint64_t offset = (uint64_t)iterator - 1;
    struct sparse_bytes *t = iterator < 0 ? NULL : table_at(f, &offset);
    if (t == NULL) return NULL;
    uint8_t *bytes = sparse_bytes_chunk(t, offset, length);
    *next = iterator + (long long)*length;
    return bytes;
}

enum redisbloom_write redisbloom_write(tamis_filter *f, uint64_t offset, const void *bytes,
                                       size_t length) {
    struct sparse_bytes *t = table_at(f, &offset);
    if (t == NULL) return WRITE_OUTSIDE;
    if (length > t->bytes - offset) return WRITE_TOO_LONG;
    return sparse_bytes_write(t, offset, bytes, length) ? WRITE_OK : WRITE_NO_MEMORY;
}
