/* wire.h - little-endian numbers in byte strings: a bounded reader and a bounded writer
 *
 * Both have a sticky error: read or write straight through, then test `bad` once.  A writer
 * whose `bytes` is NULL only counts. */
#ifndef TAMIS_REDIS_WIRE_H
#define TAMIS_REDIS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire_reader {
    const uint8_t *at, *end;
    bool bad;
};

struct wire_writer {
    uint8_t *bytes;
    size_t length, capacity;
    bool bad;
};

static inline uint64_t wire_load(const uint8_t *p, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static inline void wire_store(uint8_t *p, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> (8 * i));
}

/* NULL if there are not so many bytes left. */
static inline const uint8_t *wire_take(struct wire_reader *r, size_t length) {
    if (r->bad || length > (size_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}

static inline uint64_t wire_get(struct wire_reader *r, unsigned width) {
    const uint8_t *p = wire_take(r, width);
    return p == NULL ? 0 : wire_load(p, width);
}
static inline uint64_t wire_get64(struct wire_reader *r) { return wire_get(r, 8); }
static inline uint32_t wire_get32(struct wire_reader *r) { return (uint32_t)wire_get(r, 4); }
static inline double wire_get_double(struct wire_reader *r) {
    const uint64_t bits = wire_get64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void wire_put_bytes(struct wire_writer *w, const void *bytes, size_t length) {
    if (w->bytes != NULL) {
        if (w->bad || length > w->capacity - w->length) {
            w->bad = true;
            return;
        }
        if (length != 0) memcpy(w->bytes + w->length, bytes, length);
    }
    w->length += length;
}

static inline void wire_put(struct wire_writer *w, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    wire_store(bytes, value, width);
    wire_put_bytes(w, bytes, width);
}
static inline void wire_put64(struct wire_writer *w, uint64_t value) { wire_put(w, value, 8); }
static inline void wire_put32(struct wire_writer *w, uint32_t value) { wire_put(w, value, 4); }
static inline void wire_put_double(struct wire_writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    wire_put64(w, bits);
}

#endif
