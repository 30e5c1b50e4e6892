/* byte_io.c - byte strings with a checksum: see byte_io.h */
#include "tables/byte_io.h"

#include "server/memory.h"
#include "tamis.h"

#define CHECKSUM_BYTES 8

static const uint8_t no_secret[TAMIS_SECRET_BYTES];

uint8_t *seal(seal_writer *write, const void *what, size_t *length) {
    struct byte_writer count = {.bytes = NULL};
    write(what, &count);
    const size_t size = count.length + CHECKSUM_BYTES;
    struct byte_writer w = {.bytes = memory_alloc(size), .capacity = size};
    *length = size;
    if (w.bytes == NULL) return NULL;
    write(what, &w);
    byte_put64(&w, tamis_hash_secret(no_secret, w.bytes, w.length));
    return w.bytes;
}

struct byte_reader unseal(const uint8_t *bytes, size_t length) {
    const size_t before = length < CHECKSUM_BYTES ? 0 : length - CHECKSUM_BYTES;
    const bool good = length >= CHECKSUM_BYTES &&
                      tamis_hash_secret(no_secret, bytes, before) == byte_load(bytes + before, 8);
    return (struct byte_reader){bytes, bytes + before, !good};
}
