/* byte_io.h - little-endian numbers in byte strings: a bounded reader and a bounded writer
 *
 * Errors are sticky: read or write everything, then test `bad` once.  A writer whose `bytes` is
 * NULL only counts. */
#ifndef TAMIS_REDIS_TABLES_BYTE_IO_H
#define TAMIS_REDIS_TABLES_BYTE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
    const uint8_t *at, *end;
    bool bad;
};

struct byte_writer {
    uint8_t *bytes;
    size_t length, capacity;
    bool bad;
};

static inline uint64_t byte_load(const uint8_t *p, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static inline void byte_store(uint8_t *p, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> (8 * i));
}

/* NULL if fewer bytes are left. */
static inline const uint8_t *byte_take(struct byte_reader *r, size_t length) {
    if (r->bad || length > (size_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}

static inline uint64_t byte_get(struct byte_reader *r, unsigned width) {
    const uint8_t *p = byte_take(r, width);
    return p == NULL ? 0 : byte_load(p, width);
}
static inline uint64_t byte_get64(struct byte_reader *r) { return byte_get(r, 8); }
static inline uint32_t byte_get32(struct byte_reader *r) { return (uint32_t)byte_get(r, 4); }
static inline double byte_get_double(struct byte_reader *r) {
    const uint64_t bits = byte_get64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void byte_put_bytes(struct byte_writer *w, const void *bytes, size_t length) {
    if (w->bytes != NULL) {
        if (w->bad || length > w->capacity - w->length) {
            w->bad = true;
            return;
        }
        if (length != 0) memcpy(w->bytes + w->length, bytes, length);
    }
    w->length += length;
}

static inline void byte_put(struct byte_writer *w, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    byte_store(bytes, value, width);
    byte_put_bytes(w, bytes, width);
}
static inline void byte_put64(struct byte_writer *w, uint64_t value) { byte_put(w, value, 8); }
static inline void byte_put32(struct byte_writer *w, uint32_t value) { byte_put(w, value, 4); }
static inline void byte_put_double(struct byte_writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    byte_put64(w, bits);
}

/* ---- with a checksum: SipHash-2-4 of all bytes before, with a secret of zeros (byte_io.c) */

/* The bytes that `write` makes of `what`, and their checksum.  The caller frees them.  NULL if
 * memory runs out, with the length needed. */
typedef void seal_writer(const void *what, struct byte_writer *w);
uint8_t *seal(seal_writer *write, const void *what, size_t *length);
/* A reader of the bytes before the checksum; `bad` if it does not match. */
struct byte_reader unseal(const uint8_t *bytes, size_t length);

#endif
