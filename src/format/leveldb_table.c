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
 *     the filter; tables that were built directly have not.  Which it is the first key tells:
 *     the filter knows it with those bytes or without.
 *   - The order of keys is the database's comparator's, of which a table tells nothing.  Nearly
 *     all take the order of the bytes.  Where the index or the first data block shows another
 *     one, nobody here knows which filter covers a key, and all are asked.
 *   - The reader takes a filter block that it cannot make sense of for "may match".  Here it is
 *     an error, because the table has checksums and the block passed them. */
#include "core/bits.h"
#include "core/crc.h"
#include "format/snappy.h"
#include "format/table_blocks.h"

#define FOOTER 48
#define HANDLES 40
#define BASE_LG 11
#define INTERNAL 8
#define PLAIN 0
#define SNAPPY 1

extern const struct tamis__codec tamis__leveldb;

static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
static const char filter_name[] = "filter.leveldb.BuiltinBloomFilter2";

static bool table_detect(const uint8_t *bytes, uint64_t length) {
    return length >= FOOTER && memcmp(bytes + length - sizeof magic, magic, sizeof magic) == 0;
}

/* ---- blocks */

struct block {
    const uint8_t *bytes;
    uint64_t length;
    uint8_t *own; /* unpacked, from tamis__table_alloc; NULL: in the file */
};

static void block_free(const tamis_container *c, const struct block *b) {
    if (b->own != NULL) tamis__table_free(&c->allocator, b->own, b->length);
}

static tamis_status unpack(const tamis_container *c, const uint8_t *bytes, uint64_t length,
                           struct block *b) {
    if (!tamis__snappy_length(bytes, length, &b->length) ||
        !tamis__snappy_unpack(bytes, length, NULL, b->length)) {
        return TAMIS_E_CORRUPT;
    }
    b->own = tamis__table_alloc(&c->allocator, b->length);
    if (b->own == NULL) return TAMIS_E_NOMEM;
    (void)tamis__snappy_unpack(bytes, length, b->own, b->length);
    b->bytes = b->own;
    return TAMIS_OK;
}

static tamis_status read_block(const tamis_container *c, const struct tamis__handle *handle,
                               struct block *b) {
    *b = (struct block){NULL, 0, NULL};
    if (!tamis__handle_fits(handle, c->length - FOOTER)) return TAMIS_E_CORRUPT;
    const uint8_t *at = c->bytes + handle->offset, *trailer = at + handle->size;
    const uint32_t crc = tamis__crc32c(0, at, (size_t)handle->size + 1);
    if (tamis__crc32c_mask(crc) != tamis__load32(trailer + 1)) return TAMIS_E_CHECKSUM;
    if (trailer[0] == SNAPPY) return unpack(c, at, handle->size, b);
    if (trailer[0] != PLAIN) return TAMIS_E_UNSUPPORTED;
    *b = (struct block){at, handle->size, NULL};
    return TAMIS_OK;
}

/* ---- opening */

/* The filter block's handle; found is false if the table has none of the built-in policy. */
static tamis_status find_filter_block(const tamis_container *c, const struct tamis__handle *meta,
                                      struct tamis__handle *handle, bool *found) {
    struct block b;
    struct tamis__entries e;
    tamis_status status = read_block(c, meta, &b);
    if (status != TAMIS_OK) return status;
    *found = false;
    if (!tamis__entries_start(&e, b.bytes, b.length)) status = TAMIS_E_CORRUPT;
    while (status == TAMIS_OK && !*found && tamis__entries_next(&e)) {
        if (e.key_bytes != sizeof filter_name - 1 ||
            memcmp(e.key, filter_name, sizeof filter_name - 1) != 0) {
            continue;
        }
        struct tamis__reader r = {e.value, e.value + e.value_bytes, false};
        *found = tamis__handle_read(&r, handle);
        if (!*found) status = TAMIS_E_CORRUPT;
    }
    if (status == TAMIS_OK && !*found && e.bad) status = TAMIS_E_CORRUPT;
    block_free(c, &b);
    return status;
}

static tamis_status add_parts(tamis_container *c, const struct tamis__handle *handle) {
    struct block b;
    tamis_status status = read_block(c, handle, &b);
    if (status != TAMIS_OK) return status;
    if (b.own != NULL || b.length < 5) {
        block_free(c, &b);
        return TAMIS_E_CORRUPT; /* filters are never packed */
    }
    const uint64_t array = tamis__load32(b.bytes + b.length - 5);
    c->base_lg = b.bytes[b.length - 1];
    if (array > b.length - 5 || (b.length - 5 - array) % 4 != 0 || c->base_lg > 63) {
        return TAMIS_E_CORRUPT;
    }
    const uint64_t count = (b.length - 5 - array) / 4;
    for (uint64_t i = 0; i < count && status == TAMIS_OK; i++) {
        const uint64_t start = tamis__load32(b.bytes + array + 4 * i);
        const uint64_t limit = tamis__load32(b.bytes + array + 4 * i + 4); /* or `array` itself */
        if (start > limit || limit > array) return TAMIS_E_CORRUPT;
        status = tamis__part_add(
            c, &(struct tamis__part){.offset = handle->offset + start, .bytes = limit - start});
    }
    return status;
}

/* ---- internal keys */

static bool part_has(const tamis_container *c, size_t part, const uint8_t *key, uint64_t length) {
    const tamis_filter like = {.codec = &tamis__leveldb, .allocator = c->allocator};
    const tamis_open_options options = {.struct_size = sizeof options};
    const struct tamis__part *p = &c->parts[part];
    tamis_filter *f;
    if (tamis__leveldb.decode(c->bytes + p->offset, p->bytes, &like, &options, &f) != TAMIS_OK) {
        return p->bytes != 0;
    }
    const bool has = f->ops->contains(f, tamis__hash_key(&f->hashing, key, (size_t)length));
    tamis__filter_free(f);
    return has;
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
    if (c->internal_keys) *length = *length < INTERNAL ? 0 : *length - INTERNAL;
    return e->whole;
}

static int compare(const uint8_t *a, uint64_t a_length, const uint8_t *b, uint64_t b_length) {
    const size_t shorter = (size_t)(a_length < b_length ? a_length : b_length);
    const int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Are the keys of the block in the order of their bytes?  Those of one key's versions are equal. */
static bool in_byte_order(const tamis_container *c, const uint8_t *block, uint64_t length) {
    struct tamis__entries before, e;
    if (!tamis__entries_start(&before, block, length) || !tamis__entries_start(&e, block, length)) {
        return true;
    }
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
static void judge_key(tamis_container *c, const struct block *b, uint64_t part) {
    struct tamis__entries e;
    if (!tamis__entries_start(&e, b->bytes, b->length) || !tamis__entries_next(&e)) return;
    if (e.whole == NULL) return;
    const bool whole = part_has(c, (size_t)part, e.whole, e.key_bytes);
    const bool cut =
        e.key_bytes >= INTERNAL && part_has(c, (size_t)part, e.whole, e.key_bytes - INTERNAL);
    c->internal_keys = whole == cut ? looks_internal(&e) : cut;
}

/* How keys are written in this table, and in which order they are. */
static tamis_status judge_keys(tamis_container *c) {
    struct tamis__entries e;
    struct tamis__handle handle;
    struct block b;
    if (!tamis__entries_start(&e, c->index, c->index_bytes)) return TAMIS_E_CORRUPT;
    if (!tamis__entries_next(&e)) return e.bad ? TAMIS_E_CORRUPT : TAMIS_OK; /* no keys at all */
    struct tamis__reader r = {e.value, e.value + e.value_bytes, false};
    if (!tamis__handle_read(&r, &handle)) return TAMIS_E_CORRUPT;
    c->internal_keys = looks_internal(&e);
    const uint64_t part = handle.offset >> c->base_lg;
    const tamis_status status = read_block(c, &handle, &b);
    if (status == TAMIS_OK) {
        if (part < c->count) judge_key(c, &b, part);
        c->other_order = !in_byte_order(c, b.bytes, b.length);
        block_free(c, &b);
    } else if (status != TAMIS_E_UNSUPPORTED) {
        return status;
    }
    c->other_order = c->other_order || !in_byte_order(c, c->index, c->index_bytes);
    return TAMIS_OK;
}

static tamis_status table_open(tamis_container *c) {
    const uint8_t *footer = c->bytes + c->length - FOOTER;
    struct tamis__reader r = {footer, footer + HANDLES, false};
    struct tamis__handle meta, index, filter;
    struct block b;
    bool found;
    if (!tamis__handle_read(&r, &meta) || !tamis__handle_read(&r, &index)) return TAMIS_E_CORRUPT;
    tamis_status status = find_filter_block(c, &meta, &filter, &found);
    if (status != TAMIS_OK || !found) return status;
    status = add_parts(c, &filter);
    if (status != TAMIS_OK) return status;
    status = read_block(c, &index, &b);
    if (status != TAMIS_OK) return status;
    c->index = b.bytes;
    c->index_bytes = b.length;
    c->index_own = b.own;
    return judge_keys(c);
}

/* ---- asking */

/* The first entry of the index that does not come before the key names its data block. */
static size_t table_cover(const tamis_container *c, const void *key, size_t length, bool *absent) {
    struct tamis__entries e;
    struct tamis__handle handle;
    *absent = false;
    if (!tamis__entries_start(&e, c->index, c->index_bytes)) return c->count;
    while (tamis__entries_next(&e)) {
        uint64_t own;
        const uint8_t *last = user_key(c, &e, &own);
        if (last == NULL) return c->count; /* as good as no filter */
        if (compare(last, own, key, length) < 0) continue;
        struct tamis__reader r = {e.value, e.value + e.value_bytes, false};
        if (!tamis__handle_read(&r, &handle)) return c->count;
        const uint64_t part = handle.offset >> c->base_lg;
        return part < c->count ? (size_t)part : c->count;
    }
    *absent = !e.bad; /* after the last key of the table */
    return c->count;
}

const struct tamis__holder tamis__leveldb_table = {
    .name = "leveldb-table",
    .codec = &tamis__leveldb,
    .detect = table_detect,
    .open = table_open,
    .cover = table_cover,
};
