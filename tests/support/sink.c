/* sink.c - see sink.h */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

void sink_free(struct sink *s) {
    free(s->at);
    *s = (struct sink){NULL, 0, 0};
}

void sink_bytes(struct sink *s, const void *bytes, size_t length) {
    if (s->length + length > s->room) {
        const size_t room = 2 * (s->length + length) + 64;
        uint8_t *larger = NEED(uint8_t, room);
        if (s->length != 0) memcpy(larger, s->at, s->length);
        free(s->at);
        s->at = larger;
        s->room = room;
    }
    if (length != 0) memcpy(s->at + s->length, bytes, length);
    s->length += length;
}

void sink_text(struct sink *s, const char *text) { sink_bytes(s, text, strlen(text)); }

void sink_fill(struct sink *s, unsigned byte, size_t count) {
    const uint8_t one = (uint8_t)byte;
    for (size_t i = 0; i < count; i++) sink_bytes(s, &one, 1);
}

void sink_le(struct sink *s, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) sink_fill(s, (unsigned)(value >> (8 * i) & 0xff), 1);
}

void sink_be(struct sink *s, uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) sink_fill(s, (unsigned)(value >> (8 * i) & 0xff), 1);
}

void sink_varint(struct sink *s, uint64_t value) {
    for (; value >= 0x80; value >>= 7) sink_fill(s, (unsigned)(value & 0x7f) | 0x80, 1);
    sink_fill(s, (unsigned)value, 1);
}

void sink_double(struct sink *s, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sink_le(s, bits, 8);
}

struct vector_bytes sink_view(const struct sink *s) {
    return (struct vector_bytes){s->at, s->length};
}

/* ---- checksums, a bit at a time */

uint32_t crc32c(const void *bytes, size_t length) {
    uint32_t crc = UINT32_MAX;
    for (const uint8_t *p = (const uint8_t *)bytes; length > 0; p++, length--) {
        crc ^= *p;
        for (int i = 0; i < 8; i++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    return ~crc;
}

uint64_t crc64(const void *bytes, size_t length) {
    uint64_t crc = 0;
    for (const uint8_t *p = (const uint8_t *)bytes; length > 0; p++, length--) {
        crc ^= *p;
        for (int i = 0; i < 8; i++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
        }
    }
    return crc;
}

/* The hash of a filter: XXH3 of our own format, XXH64 of Parquet's. */
static uint64_t hash_as(const char *format, const void *bytes, size_t length) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.kind = format == NULL ? TAMIS_BLOOM : TAMIS_AUTO;
    o.format = format;
    o.capacity = 1;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "a filter to hash with");
    const uint64_t hash = tamis_hash(f, bytes, length);
    tamis_free(f);
    return hash;
}

/* Of a block and its type byte. */
static uint32_t block_sum(unsigned sum, const uint8_t *block, size_t size) {
    const uint32_t crc = crc32c(block, size + 1);
    switch (sum) {
        case SUM_CRC32C:
            return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
        case SUM_XXH64:
            return (uint32_t)hash_as("parquet", block, size + 1);
        case SUM_XXH3:
            return (uint32_t)hash_as(NULL, block, size) ^ block[size] * UINT32_C(0x6b9083d9);
        default:
            return 0;
    }
}

/* ---- tables */

void block_entry(struct sink *block, size_t shared, const void *key, size_t key_length,
                 const void *value, size_t length) {
    sink_varint(block, shared);
    sink_varint(block, key_length);
    sink_varint(block, length);
    sink_bytes(block, key, key_length);
    sink_bytes(block, value, length);
}

void block_handle(struct sink *block, const char *key, struct handle handle) {
    struct sink value = {NULL, 0, 0};
    sink_varint(&value, handle.offset);
    sink_varint(&value, handle.size);
    block_entry(block, 0, key, strlen(key), value.at, value.length);
    sink_free(&value);
}

void block_end(struct sink *block) {
    sink_le(block, 0, 4);
    sink_le(block, 1, 4);
}

struct handle table_block(struct sink *table, const struct sink *block, unsigned type,
                          unsigned sum) {
    const struct handle handle = {table->length, block->length};
    sink_bytes(table, block->at, block->length);
    sink_fill(table, type, 1);
    sink_le(table, block_sum(sum, table->at + handle.offset, block->length), 4);
    return handle;
}

static void footer_handles(struct sink *table, struct handle meta, struct handle index) {
    struct sink handles = {NULL, 0, 0};
    sink_varint(&handles, meta.offset);
    sink_varint(&handles, meta.size);
    sink_varint(&handles, index.offset);
    sink_varint(&handles, index.size);
    sink_fill(&handles, 0, 40 - handles.length);
    sink_bytes(table, handles.at, handles.length);
    sink_free(&handles);
}

void leveldb_footer(struct sink *table, struct handle meta, struct handle index) {
    footer_handles(table, meta, index);
    sink_be(table, UINT64_C(0x57fb808b247547db), 8);
}

void rocksdb_footer(struct sink *table, unsigned sum, struct handle meta, uint32_t version) {
    sink_fill(table, sum, 1);
    footer_handles(table, meta, (struct handle){0, 0});
    sink_le(table, version, 4);
    sink_be(table, UINT64_C(0xf7cff485b741e288), 8);
}

tamis_status table_status(const struct sink *table) {
    tamis_container *c = NULL;
    /* In a block of its own size, so that a sanitizer reports a read beyond it. */
    uint8_t *exact = NEED(uint8_t, table->length + (table->length == 0));
    if (table->length != 0) memcpy(exact, table->at, table->length);
    const tamis_status status = tamis_container_view(exact, table->length, NULL, &c);
    tamis_container_free(c);
    free(exact);
    return status;
}

void table_faults(const struct sink *table, const char *key, size_t length, const char *id) {
    for (uint64_t step = 1;; step++) {
        struct meter meter;
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_container *c = NULL;
        meter_reset(&meter);
        meter.fail_at = step;
        meter.fail_once = true;
        o.allocator = meter_allocator(&meter);
        const tamis_status status = tamis_container_view(table->at, table->length, &o, &c);
        CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "%s: allocation %llu: %s", id,
              (unsigned long long)step, tamis_status_name(status));
        const bool reached = atomic_load(&meter.calls) >= step;
        meter.fail_at = 0;
        CHECK(status != TAMIS_OK || tamis_container_contains(c, NULL, key, length),
              "%s: allocation %llu: a key is missing", id, (unsigned long long)step);
        tamis_container_free(c);
        CHECK(atomic_load(&meter.live) == 0, "%s: allocation %llu: blocks are left", id,
              (unsigned long long)step);
        count_up("failed allocations", reached);
        if (!reached) break;
    }
}
