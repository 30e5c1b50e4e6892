/* sink.h - writes other systems' files: numbers, and the blocks and tables of LevelDB and RocksDB
 *
 * The vectors are files that those systems wrote.  Files that they would never write, and layouts
 * that they write rarely, are made here, one rule at a time. */
#ifndef TESTS_SUPPORT_SINK_H
#define TESTS_SUPPORT_SINK_H

#include "compat.h"

/* Bytes that grow; all zeros is an empty one. */
struct sink {
    uint8_t *at;
    size_t length, room;
};
void sink_free(struct sink *s);
void sink_bytes(struct sink *s, const void *bytes, size_t length);
void sink_text(struct sink *s, const char *text);
/* `count` times the byte. */
void sink_fill(struct sink *s, unsigned byte, size_t count);
/* The lowest `bytes` bytes of a number: little-endian, big-endian, or seven bits at a time. */
void sink_le(struct sink *s, uint64_t value, unsigned bytes);
void sink_be(struct sink *s, uint64_t value, unsigned bytes);
void sink_varint(struct sink *s, uint64_t value);
/* An IEEE 754 double, little-endian. */
void sink_double(struct sink *s, double value);
/* What the sink holds, still its own. */
struct vector_bytes sink_view(const struct sink *s);

uint32_t crc32c(const void *bytes, size_t length);
/* CRC-64 of Redis. */
uint64_t crc64(const void *bytes, size_t length);

/* ---- tables */

struct handle {
    uint64_t offset, size;
};

/* The checksum types of RocksDB; LevelDB has CRC-32C alone. */
enum { SUM_NONE, SUM_CRC32C, SUM_XXH32, SUM_XXH64, SUM_XXH3 };

/* An entry of a block: `shared` bytes of the key before it, then `key`. */
void block_entry(struct sink *block, size_t shared, const void *key, size_t key_length,
                 const void *value, size_t length);
/* An entry whose key is text and whose value is a handle. */
void block_handle(struct sink *block, const char *key, struct handle handle);
/* The list of restarts, with the first entry alone. */
void block_end(struct sink *block);

/* Appends a block, its type and its checksum to a table. */
struct handle table_block(struct sink *table, const struct sink *block, unsigned type,
                          unsigned sum);
void leveldb_footer(struct sink *table, struct handle meta, struct handle index);
void rocksdb_footer(struct sink *table, unsigned sum, struct handle meta, uint32_t version);

/* Opens the bytes as a container; the status. */
tamis_status table_status(const struct sink *table);

/* Opens it with every allocation failing in turn: E_NOMEM, or a container that has the key. */
void table_faults(const struct sink *table, const char *key, size_t length, const char *id);

#endif
