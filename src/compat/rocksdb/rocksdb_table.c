/* rocksdb_table.c - the filter of a RocksDB table (.sst)
 *
 *     data blocks | filter | ... | metaindex block | footer
 *     footer      type of the checksums, handle of the metaindex, handle of the index, zeros up
 *                 to 41 bytes, u32le format version, f7 cf f4 85 b7 41 e2 88
 *     each block  is followed by its type and four bytes of checksum
 *
 * Follows RocksDB 7.8.3, format versions 2 to 5.  The metaindex names the filter
 * "fullfilter.rocksdb.BuiltinBloomFilter", whether it is Bloom or Ribbon; it covers all keys of
 * the table (and prefixes, where the database extracts some).  Partitioned filters and
 * the footer of format version 6 are not supported.
 *
 * Quirks
 *   - A database may store only prefixes in its filters; such a filter would report a whole key as
 *     absent.  The properties, a block of names and values, say so; then the filter is not read.
 *     Tables without that property are older than it, or have all keys.
 *   - Ingestion may write the global sequence number of a table into its properties.  Their
 *     checksum remains that of number 0. */
#include "compat/common/crc.h"
#include "compat/common/hashes.h"
#include "compat/common/table_blocks.h"
#include "compat/rocksdb/rocksdb.h"

#define FOOTER 53
#define HANDLES_END 41
#define VERSION_MIN 2
#define VERSION_MAX 5
#define PLAIN 0

enum { CHECKSUM_NONE, CHECKSUM_CRC32C, CHECKSUM_XXH32, CHECKSUM_XXH64, CHECKSUM_XXH3 };

static const uint8_t magic[8] = {0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88};
static const char full_name[] = "fullfilter.rocksdb.BuiltinBloomFilter";
static const char partitioned_name[] = "partitionedfilter.";
static const char properties_name[] = "rocksdb.properties";
static const char whole_keys[] = "rocksdb.block.based.table.whole.key.filtering";
static const char global_number[] = "rocksdb.external_sst_file.global_seqno";

static bool table_detect(const uint8_t *bytes, uint64_t length) {
    return length >= FOOTER && memcmp(bytes + length - sizeof magic, magic, sizeof magic) == 0;
}

/* Covers the block and the type byte after it. */
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

/* ---- properties */

/* Is the checksum right for a global sequence number of 0? */
static tamis_status check_ingested(const tamis_container *c, unsigned checksum,
                                   const struct tamis__handle *handle) {
    const uint8_t *block = c->bytes + handle->offset;
    const uint64_t size = handle->size + TAMIS__BLOCK_TRAILER;
    struct tamis__entries e;
    bool found;
    tamis_status status = tamis__entries_find(&e, block, handle->size, global_number, &found);
    if (status != TAMIS_OK) return status;
    if (!found || e.value_bytes != 8) return TAMIS_E_CHECKSUM;
    uint8_t *copy = tamis__table_alloc(&c->allocator, size);
    if (copy == NULL) return TAMIS_E_NOMEM;
    memcpy(copy, block, (size_t)size);
    memset(copy + (e.value - block), 0, 8);
    status = check_block(checksum, copy, handle->size);
    tamis__table_free(&c->allocator, copy, size);
    return status;
}

/* E_UNSUPPORTED if whole keys are not in the filter. */
static tamis_status check_properties(const tamis_container *c, unsigned checksum,
                                     const struct tamis__handle *handle) {
    struct tamis__entries e;
    bool found;
    tamis_status status = check_handle(c, checksum, handle);
    if (status == TAMIS_E_CHECKSUM) status = check_ingested(c, checksum, handle);
    if (status != TAMIS_OK) return status;
    status = tamis__entries_find(&e, c->bytes + handle->offset, handle->size, whole_keys, &found);
    if (status != TAMIS_OK) return status;
    const bool whole = !found || (e.value_bytes == 1 && e.value[0] == '1');
    return whole ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
}

/* ---- the filter */

/* The entries of the metaindex for filter and properties. */
struct metaindex {
    struct tamis__handle filter, properties;
    bool has_filter, has_properties;
};

static tamis_status read_metaindex(const tamis_container *c, const struct tamis__handle *meta,
                                   struct metaindex *m) {
    struct tamis__entries e;
    *m = (struct metaindex){.has_filter = false};
    if (!tamis__entries_start(&e, c->bytes + meta->offset, meta->size)) return TAMIS_E_CORRUPT;
    while (tamis__entries_next(&e)) {
        const size_t length = sizeof partitioned_name - 1;
        if (e.key_bytes >= length && memcmp(e.key, partitioned_name, length) == 0) {
            return TAMIS_E_UNSUPPORTED;
        }
        const bool filter = tamis__entry_named(&e, full_name);
        if (!filter && !tamis__entry_named(&e, properties_name)) continue;
        *(filter ? &m->has_filter : &m->has_properties) = true;
        if (!tamis__entry_handle(&e, filter ? &m->filter : &m->properties)) return TAMIS_E_CORRUPT;
    }
    return e.bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static tamis_status find_filter(tamis_container *c, unsigned checksum,
                                const struct tamis__handle *meta) {
    struct metaindex m;
    tamis_status status = read_metaindex(c, meta, &m);
    if (status != TAMIS_OK || !m.has_filter) return status;
    if (m.has_properties) status = check_properties(c, checksum, &m.properties);
    if (status == TAMIS_OK) status = check_handle(c, checksum, &m.filter);
    if (status != TAMIS_OK) return status;
    return tamis__part_add(
        c, &(struct tamis__part){.offset = m.filter.offset, .bytes = m.filter.size});
}

static tamis_status table_open(tamis_container *c) {
    uint8_t footer[FOOTER];
    tamis__copy_once(footer, c->bytes + c->length - FOOTER, FOOTER);
    struct tamis__reader r = {footer + 1, footer + HANDLES_END, false};
    struct tamis__handle meta, index;
    const uint32_t version = tamis__load32(footer + HANDLES_END);
    if (version > VERSION_MAX) return TAMIS_E_VERSION;
    if (version < VERSION_MIN) return TAMIS_E_UNSUPPORTED;
    if (!tamis__handle_read(&r, &meta) || !tamis__handle_read(&r, &index)) return TAMIS_E_CORRUPT;
    const tamis_status status = check_handle(c, footer[0], &meta);
    return status == TAMIS_OK ? find_filter(c, footer[0], &meta) : status;
}

const struct tamis__container_format tamis__rocksdb_table = {
    .name = "rocksdb-table",
    .about = "RocksDB table (.sst): holds a filter of all its keys",
    .empty = TAMIS__EMPTY_IS_A_FILTER,
    .codec = &tamis__rocksdb,
    .detect = table_detect,
    .open = table_open,
};
