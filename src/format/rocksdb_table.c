/* rocksdb_table.c - the filter of a RocksDB table (.sst)
 *
 *     data blocks | filter | ... | metaindex block | footer
 *     footer      type of the checksums, handle of the metaindex, handle of the index, zeros up
 *                 to 41 bytes, u32le format version, f7 cf f4 85 b7 41 e2 88
 *     each block  is followed by its type and four bytes of checksum
 *
 * Follows RocksDB 7.8.3, format versions 2 to 5.  The metaindex names the filter
 * "fullfilter.rocksdb.BuiltinBloomFilter", whether it is Bloom or Ribbon; it covers all keys of
 * the table (and prefixes, where the database extracts some).  Partitioned filters are not
 * read; nor is the footer of format version 6.
 *
 * Quirks
 *   - A database can have prefixes alone in its filters: asked for a key, such a filter would say
 *     that it is absent.  The properties, a block of names and values, tell; then the filter is
 *     not read.  Tables without that property are older than it, or have all keys.
 *   - Who ingests a table may write its global sequence number into the properties, and leaves
 *     their checksum as it was: that of a number 0. */
#include "core/crc.h"
#include "format/table_blocks.h"
#include "hash/foreign.h"

#define FOOTER 53
#define HANDLES_END 41
#define VERSION_LEAST 2
#define VERSION_MOST 5
#define PLAIN 0

enum { CHECKSUM_NONE, CHECKSUM_CRC32C, CHECKSUM_XXH32, CHECKSUM_XXH64, CHECKSUM_XXH3 };

extern const struct tamis__codec tamis__rocksdb;

static const uint8_t magic[8] = {0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88};
static const char full_name[] = "fullfilter.rocksdb.BuiltinBloomFilter";
static const char partitioned_name[] = "partitionedfilter.";
static const char properties_name[] = "rocksdb.properties";
static const char whole_keys[] = "rocksdb.block.based.table.whole.key.filtering";
static const char global_number[] = "rocksdb.external_sst_file.global_seqno";

static bool table_detect(const uint8_t *bytes, uint64_t length) {
    return length >= FOOTER && memcmp(bytes + length - sizeof magic, magic, sizeof magic) == 0;
}

/* Of the block and the byte of type behind it. */
static tamis_status check_block(unsigned checksum, const uint8_t *block, uint64_t size) {
    const uint32_t stored = tamis__load32(block + size + 1);
    uint32_t sum;
    switch (checksum) {
        case CHECKSUM_NONE:
            return TAMIS_OK;
        case CHECKSUM_CRC32C:
            sum = tamis__crc32c_mask(tamis__crc32c(0, block, (size_t)size + 1));
            break;
        case CHECKSUM_XXH64:
            sum = (uint32_t)tamis__xxh64(block, (size_t)size + 1, 0);
            break;
        case CHECKSUM_XXH3: /* the type is mixed in with a prime instead of being hashed */
            sum =
                (uint32_t)tamis__xxh3(block, (size_t)size, 0) ^ block[size] * UINT32_C(0x6b9083d9);
            break;
        default:
            return TAMIS_E_UNSUPPORTED;
    }
    return sum == stored ? TAMIS_OK : TAMIS_E_CHECKSUM;
}

static tamis_status check_handle(const tamis_container *c, unsigned checksum,
                                 const struct tamis__handle *handle) {
    if (!tamis__handle_fits(handle, c->length - FOOTER)) return TAMIS_E_CORRUPT;
    const uint8_t *block = c->bytes + handle->offset;
    const tamis_status status = check_block(checksum, block, handle->size);
    if (status != TAMIS_OK) return status;
    return block[handle->size] == PLAIN ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
}

static bool begins_with(const struct tamis__entries *e, const char *name, size_t length) {
    return e->key_bytes >= length && memcmp(e->key, name, length) == 0;
}

static bool is_named(const struct tamis__entries *e, const char *name, size_t length) {
    return e->key_bytes == length && begins_with(e, name, length);
}

/* ---- properties */

/* The value of a property, in the block; NULL if it is not there.  E_CORRUPT for a bad block. */
static tamis_status find_property(const uint8_t *block, uint64_t size, const char *name,
                                  size_t length, const uint8_t **value, uint64_t *value_bytes) {
    struct tamis__entries e;
    *value = NULL;
    if (!tamis__entries_start(&e, block, size)) return TAMIS_E_CORRUPT;
    while (tamis__entries_next(&e)) {
        if (!is_named(&e, name, length)) continue;
        *value = e.value;
        *value_bytes = e.value_bytes;
        return TAMIS_OK;
    }
    return e.bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

/* Is the checksum right for a global sequence number of 0? */
static tamis_status check_ingested(const tamis_container *c, unsigned checksum,
                                   const struct tamis__handle *handle) {
    const uint8_t *block = c->bytes + handle->offset, *number;
    const uint64_t size = handle->size + TAMIS__BLOCK_TRAILER;
    uint64_t bytes;
    tamis_status status = find_property(block, handle->size, global_number,
                                        sizeof global_number - 1, &number, &bytes);
    if (status != TAMIS_OK) return status;
    if (number == NULL || bytes != 8) return TAMIS_E_CHECKSUM;
    uint8_t *copy = tamis__table_alloc(&c->allocator, size);
    if (copy == NULL) return TAMIS_E_NOMEM;
    memcpy(copy, block, (size_t)size);
    memset(copy + (number - block), 0, 8);
    status = check_block(checksum, copy, handle->size);
    tamis__table_free(&c->allocator, copy, size);
    return status;
}

/* E_UNSUPPORTED if whole keys are not in the filter. */
static tamis_status check_properties(const tamis_container *c, unsigned checksum,
                                     const struct tamis__handle *handle) {
    const uint8_t *value;
    uint64_t bytes;
    tamis_status status = check_handle(c, checksum, handle);
    if (status == TAMIS_E_CHECKSUM) status = check_ingested(c, checksum, handle);
    if (status != TAMIS_OK) return status;
    status = find_property(c->bytes + handle->offset, handle->size, whole_keys,
                           sizeof whole_keys - 1, &value, &bytes);
    if (status != TAMIS_OK) return status;
    const bool whole = value == NULL || (bytes == 1 && value[0] == '1');
    return whole ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
}

/* ---- the filter */

/* What the metaindex says of filter and properties. */
struct places {
    struct tamis__handle filter, properties;
    bool has_filter, has_properties;
};

static tamis_status find_places(const tamis_container *c, const struct tamis__handle *meta,
                                struct places *p) {
    struct tamis__entries e;
    memset(p, 0, sizeof *p);
    if (!tamis__entries_start(&e, c->bytes + meta->offset, meta->size)) return TAMIS_E_CORRUPT;
    while (tamis__entries_next(&e)) {
        struct tamis__reader r = {e.value, e.value + e.value_bytes, false};
        if (begins_with(&e, partitioned_name, sizeof partitioned_name - 1)) {
            return TAMIS_E_UNSUPPORTED;
        }
        if (is_named(&e, full_name, sizeof full_name - 1)) {
            p->has_filter = tamis__handle_read(&r, &p->filter);
        } else if (is_named(&e, properties_name, sizeof properties_name - 1)) {
            p->has_properties = tamis__handle_read(&r, &p->properties);
        }
        if (r.bad) return TAMIS_E_CORRUPT;
    }
    return e.bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static tamis_status find_filter(tamis_container *c, unsigned checksum,
                                const struct tamis__handle *meta) {
    struct places p;
    tamis_status status = find_places(c, meta, &p);
    if (status != TAMIS_OK || !p.has_filter) return status;
    if (p.has_properties) status = check_properties(c, checksum, &p.properties);
    if (status == TAMIS_OK) status = check_handle(c, checksum, &p.filter);
    if (status != TAMIS_OK) return status;
    return tamis__part_add(
        c, &(struct tamis__part){.offset = p.filter.offset, .bytes = p.filter.size});
}

static tamis_status table_open(tamis_container *c) {
    const uint8_t *footer = c->bytes + c->length - FOOTER;
    struct tamis__reader r = {footer + 1, footer + HANDLES_END, false};
    struct tamis__handle meta, index;
    const uint32_t version = tamis__load32(footer + HANDLES_END);
    if (version > VERSION_MOST) return TAMIS_E_VERSION;
    if (version < VERSION_LEAST) return TAMIS_E_UNSUPPORTED;
    if (!tamis__handle_read(&r, &meta) || !tamis__handle_read(&r, &index)) return TAMIS_E_CORRUPT;
    const tamis_status status = check_handle(c, footer[0], &meta);
    return status == TAMIS_OK ? find_filter(c, footer[0], &meta) : status;
}

const struct tamis__holder tamis__rocksdb_table = {
    .name = "rocksdb-table",
    .codec = &tamis__rocksdb,
    .detect = table_detect,
    .open = table_open,
};
