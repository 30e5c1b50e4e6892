/* container.h - files that hold several filters: tables of LevelDB and RocksDB, Parquet files
 *
 * A container knows where its filters lie; each is decoded by a codec of its own, in place.
 * The bytes are a mapped file or a caller's, and stay as they are. */
#ifndef TAMIS_FORMAT_CONTAINER_H
#define TAMIS_FORMAT_CONTAINER_H

#include "core/bytes.h"
#include "format/format.h"

/* A filter in a file. */
struct tamis__part {
    uint64_t offset, bytes;
    const uint8_t *column; /* Parquet: the list of names in the footer; NULL else */
    uint32_t row_group;
};

struct tamis__holder;

struct tamis_container {
    const struct tamis__holder *holder;
    const uint8_t *bytes;
    uint64_t length;
    bool mapped;
    tamis_allocator allocator;
    struct tamis__part *parts;
    size_t count, room;
    /* LevelDB: the index block, and whether its keys end with eight bytes of its own */
    const uint8_t *index;
    uint64_t index_bytes;
    uint8_t *index_own; /* what was unpacked, to be freed; NULL: `index` is in the file */
    unsigned base_lg;
    bool internal_keys;
    bool other_order; /* keys are not in that of bytes: no filter is known to cover one */
};

/* One kind of file. */
struct tamis__holder {
    const char *name;
    const struct tamis__codec *codec; /* of the filters in it */
    bool (*detect)(const uint8_t *bytes, uint64_t length);
    /* Finds the parts.  What it allocated is freed by the caller. */
    tamis_status (*open)(tamis_container *c);
    /* The first part from `from` on that may know the key; `count` if none covers it, and then
     * *absent tells whether the key is certainly not in the file.  NULL: each covers all. */
    size_t (*cover)(const tamis_container *c, const void *key, size_t length, bool *absent);
};

extern const struct tamis__holder tamis__leveldb_table, tamis__rocksdb_table, tamis__parquet_file;

/* Appends a part; E_NOMEM. */
tamis_status tamis__part_add(tamis_container *c, const struct tamis__part *part);

/* parquet.c: the length of the filter, header included, that begins at `bytes`. */
tamis_status tamis__parquet_measure(const uint8_t *bytes, uint64_t length, uint64_t *size);

#endif
