/* leveldb_table.c - the filters of a LevelDB table (.ldb, .sst)
 *
 *     data blocks | filter block | metaindex block | index block | footer
 *     footer        handle of the metaindex, handle of the index, zeros up to 40 bytes, then
 *                   57 fb 80 8b 24 75 47 db
 *     each block    is followed by its type (0 plain, 1 Snappy) and a masked CRC-32C of both
 *     filter block  filters | u32le offset of each | u32le offset of these offsets | u8 11
 *
 * Filter i covers the data blocks that begin in bytes i * 2048 .. (i + 1) * 2048 - 1 of the
 * file.  A key is covered by the filter of the data block that the index names for it.  Follows
 * LevelDB 1.23 with its built-in policy, whose name is a key of the metaindex.
 *
 * Quirks
 *   - Filters without keys have no bytes and match nothing.
 *   - A database's tables have internal keys, with eight bytes at their end that are not in
 *     the filter; tables that were built directly have not.  The filter shows which: it
 *     contains the first key with those bytes or without.
 *   - The database's comparator orders the keys; a table does not record it.  Nearly all use
 *     bytewise order.  Where the index or the first data block has another order, the filter that
 *     covers a key is unknown, and all are queried.
 *   - The reader answers "may match" for a filter block that it does not understand.  Here it is an
 *     error, because the table has checksums and the block passed them. */
#include "compat/common/crc.h"
#include "compat/common/snappy.h"
#include "compat/common/table_blocks.h"
#include "compat/leveldb/leveldb.h"
#include "core/bits.h"

#define FOOTER 48
#define HANDLES 40
#define BASE_LG 11
#define INTERNAL 8
#define PLAIN 0
#define SNAPPY 1

static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
static const char filter_name[] = "filter.leveldb.BuiltinBloomFilter2";

struct table_block {
    const uint8_t *bytes;
    uint64_t length;
    uint8_t *own; /* unpacked, from tamis__table_alloc; NULL: in the file */
};

/* What a container of this format keeps. */
struct table {
    struct table_block index;
    unsigned base_lg;
    bool internal_keys; /* keys end with eight bytes of LevelDB's own */
    bool other_order;   /* keys are not in the order of their bytes */
};

static struct table *table_of(const tamis_container *c) { return (struct table *)c->own; }

static bool table_detect(const uint8_t *bytes, uint64_t length) {
    return length >= FOOTER && memcmp(bytes + length - sizeof magic, magic, sizeof magic) == 0;
}

/* ---- blocks */

static void block_free(const tamis_container *c, const struct table_block *b) {
    if (b->own != NULL) tamis__table_free(&c->allocator, b->own, b->length);
}

static tamis_status unpack(const tamis_container *c, const uint8_t *bytes, uint64_t length,
                           struct table_block *b) {
    if (!tamis__snappy_size(bytes, length, &b->length)) return TAMIS_E_CORRUPT;
    b->bytes = b->own = tamis__table_alloc(&c->allocator, b->length);
    if (b->own == NULL) return TAMIS_E_NOMEM;
    if (tamis__snappy_unpack(bytes, length, b->own, b->length)) return TAMIS_OK;
    block_free(c, b);
    *b = (struct table_block){NULL, 0, NULL};
    return TAMIS_E_CORRUPT;
}

static tamis_status read_block(const tamis_container *c, const struct tamis__handle *handle,
                               struct table_block *b) {
    *b = (struct table_block){NULL, 0, NULL};
    if (!tamis__handle_fits(handle, c->length - FOOTER)) return TAMIS_E_CORRUPT;
    const uint8_t *at = c->bytes + handle->offset, *trailer = at + handle->size;
    const uint32_t crc = tamis__crc32c(0, at, (size_t)handle->size + 1);
    if (tamis__crc32c_mask(crc) != tamis__load32(trailer + 1)) return TAMIS_E_CHECKSUM;
    if (trailer[0] == SNAPPY) return unpack(c, at, handle->size, b);
    if (trailer[0] != PLAIN) return TAMIS_E_UNSUPPORTED;
    *b = (struct table_block){at, handle->size, NULL};
    return TAMIS_OK;
}

/* ---- opening */

/* The filter block's handle; found is false if the table has none of the built-in policy. */
static tamis_status find_filter_block(const tamis_container *c, const struct tamis__handle *meta,
                                      struct tamis__handle *handle, bool *found) {
    struct table_block b;
    struct tamis__entries e;
    tamis_status status = read_block(c, meta, &b);
    if (status != TAMIS_OK) return status;
    status = tamis__entries_find(&e, b.bytes, b.length, filter_name, found);
    if (*found && !tamis__entry_handle(&e, handle)) status = TAMIS_E_CORRUPT;
    block_free(c, &b);
    return status;
}

static tamis_status add_parts(tamis_container *c, const struct tamis__handle *handle) {
    struct table_block b;
    tamis_status status = read_block(c, handle, &b);
    if (status != TAMIS_OK) return status;
    if (b.own != NULL || b.bytes == NULL || b.length < 5) {
        block_free(c, &b);
        return TAMIS_E_CORRUPT; /* filters are never packed */
    }
    const uint64_t array = tamis__load32_once(b.bytes + b.length - 5);
    const unsigned base_lg = tamis__load32_once(b.bytes + b.length - 4) >> 24; /* the last byte */
    if (array > b.length - 5 || (b.length - 5 - array) % 4 != 0 || base_lg > 63) {
        return TAMIS_E_CORRUPT;
    }
    table_of(c)->base_lg = base_lg;
    const uint64_t count = (b.length - 5 - array) / 4;
    for (uint64_t i = 0; i < count && status == TAMIS_OK; i++) {
        const uint64_t start = tamis__load32_once(b.bytes + array + 4 * i);
        const uint64_t limit = tamis__load32_once(b.bytes + array + 4 * i + 4); /* or `array` */
        if (start > limit || limit > array) return TAMIS_E_CORRUPT;
        status = tamis__part_add(
            c, &(struct tamis__part){.offset = handle->offset + start, .bytes = limit - start});
    }
    return status;
}

/* ---- internal keys */

/* E_NOMEM: it is not known whether the filter of the part has the key. */
static tamis_status part_has(const tamis_container *c, size_t part, const uint8_t *key,
                             uint64_t length, bool *has) {
    tamis_filter *f;
    const tamis_status status = tamis__part_view(c, part, &c->allocator, &f);
    *has = c->parts[part].bytes != 0;
    if (status != TAMIS_OK) return status == TAMIS_E_NOMEM ? status : TAMIS_OK;
    *has = tamis__filter_contains(f, tamis__hash_key(&f->hashing, key, (size_t)length));
    tamis__filter_free(f);
    return TAMIS_OK;
}

/* Type and sequence number: the type is 0 or 1. */
static bool looks_internal(const struct tamis__entries *e) {
    return e->key_bytes >= INTERNAL && e->whole != NULL && e->whole[e->key_bytes - INTERNAL] <= 1;
}

/* ---- the order of keys */

/* An entry's key in full, without what is LevelDB's own; NULL if it is not in one piece. */
static const uint8_t *user_key(const tamis_container *c, const struct tamis__entries *e,
                               uint64_t *length) {
    *length = e->key_bytes;
    if (table_of(c)->internal_keys) *length = *length < INTERNAL ? 0 : *length - INTERNAL;
    return e->whole;
}

static int compare(const uint8_t *a, uint64_t a_length, const uint8_t *b, uint64_t b_length) {
    const size_t shorter = (size_t)(a_length < b_length ? a_length : b_length);
    const int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Are the keys of the block in the order of their bytes?  Those of one key's versions are equal. */
static bool in_byte_order(const tamis_container *c, const struct table_block *b) {
    struct tamis__entries before, e;
    if (!tamis__entries_start(&before, b->bytes, b->length)) return true;
    e = before;
    (void)tamis__entries_next(&e);
    while (tamis__entries_next(&e) && tamis__entries_next(&before)) {
        uint64_t length_before, length_here;
        const uint8_t *key_before = user_key(c, &before, &length_before);
        const uint8_t *key = user_key(c, &e, &length_here);
        if (key_before == NULL || key == NULL) continue;
        if (compare(key_before, length_before, key, length_here) > 0) return false;
    }
    return true;
}

/* By the first key of the first data block; if both readings are in its filter, by its looks. */
static tamis_status detect_internal_keys(tamis_container *c, const struct table_block *b,
                                         uint64_t part) {
    struct tamis__entries e;
    bool whole, cut = false;
    if (!tamis__entries_start(&e, b->bytes, b->length) || !tamis__entries_next(&e)) return TAMIS_OK;
    if (e.whole == NULL) return TAMIS_OK;
    tamis_status status = part_has(c, (size_t)part, e.whole, e.key_bytes, &whole);
    if (status == TAMIS_OK && e.key_bytes >= INTERNAL) {
        status = part_has(c, (size_t)part, e.whole, e.key_bytes - INTERNAL, &cut);
    }
    if (status != TAMIS_OK) return status;
    table_of(c)->internal_keys = whole == cut ? looks_internal(&e) : cut;
    return TAMIS_OK;
}

/* How keys are written in this table, and in which order they are. */
static tamis_status detect_key_layout(tamis_container *c) {
    struct table *t = table_of(c);
    struct tamis__entries e;
    struct tamis__handle handle;
    struct table_block b;
    if (!tamis__entries_start(&e, t->index.bytes, t->index.length)) return TAMIS_E_CORRUPT;
    if (!tamis__entries_next(&e)) return e.bad ? TAMIS_E_CORRUPT : TAMIS_OK; /* no keys at all */
    if (!tamis__entry_handle(&e, &handle)) return TAMIS_E_CORRUPT;
    t->internal_keys = looks_internal(&e);
    const uint64_t part = handle.offset >> t->base_lg;
    tamis_status status = read_block(c, &handle, &b);
    if (status == TAMIS_OK) {
        if (part < c->count) status = detect_internal_keys(c, &b, part);
        t->other_order = !in_byte_order(c, &b);
        block_free(c, &b);
    }
    if (status != TAMIS_OK && status != TAMIS_E_UNSUPPORTED) return status;
    t->other_order = t->other_order || !in_byte_order(c, &t->index);
    return TAMIS_OK;
}

static tamis_status table_open(tamis_container *c) {
    const uint8_t *footer = c->bytes + c->length - FOOTER;
    struct tamis__reader r = {footer, footer + HANDLES, false};
    struct tamis__handle meta, index, filter;
    bool found;
    if (!tamis__handle_read(&r, &meta) || !tamis__handle_read(&r, &index)) return TAMIS_E_CORRUPT;
    tamis_status status = find_filter_block(c, &meta, &filter, &found);
    if (status != TAMIS_OK || !found) return status;
    c->own = tamis__alloc(&c->allocator, sizeof(struct table));
    if (c->own == NULL) return TAMIS_E_NOMEM;
    *table_of(c) = (struct table){.base_lg = 0};
    status = add_parts(c, &filter);
    if (status == TAMIS_OK) status = read_block(c, &index, &table_of(c)->index);
    return status == TAMIS_OK ? detect_key_layout(c) : status;
}

static void table_close(tamis_container *c) {
    struct table *t = table_of(c);
    if (t == NULL) return;
    block_free(c, &t->index);
    tamis__release(&c->allocator, t, sizeof *t);
}

/* ---- queries */

/* The first entry of the index that does not come before the key names its data block. */
static enum tamis__coverage table_cover(const tamis_container *c, const void *key, size_t length,
                                        size_t *part) {
    struct tamis__entries e;
    struct tamis__handle handle;
    const struct table *t = table_of(c);
    if (c->count == 0 || t->other_order) return TAMIS__COVERED_BY_ALL;
    if (!tamis__entries_start(&e, t->index.bytes, t->index.length)) return TAMIS__COVERAGE_UNKNOWN;
    while (tamis__entries_next(&e)) {
        uint64_t own;
        const uint8_t *last = user_key(c, &e, &own);
        if (last == NULL) return TAMIS__COVERAGE_UNKNOWN;
        if (compare(last, own, key, length) < 0) continue;
        if (!tamis__entry_handle(&e, &handle)) return TAMIS__COVERAGE_UNKNOWN;
        const uint64_t number = handle.offset >> t->base_lg;
        *part = (size_t)number;
        return number < c->count ? TAMIS__COVERED_BY_ONE : TAMIS__COVERAGE_UNKNOWN;
    }
    return e.bad ? TAMIS__COVERAGE_UNKNOWN : TAMIS__COVERED_BY_NONE; /* after its last key */
}

const struct tamis__container_format tamis__leveldb_table = {
    .name = "leveldb-table",
    .about = "LevelDB table (.ldb, .sst): holds a filter for each 2 KiB of data blocks",
    .codec = &tamis__leveldb,
    .empty = TAMIS__EMPTY_MATCHES_NONE,
    .detect = table_detect,
    .open = table_open,
    .close = table_close,
    .cover = table_cover,
};
