/* bytes.h - little-endian loads and stores, a bounded reader and a bounded writer
 *
 * Tables are kept in memory exactly as they are in the file: little-endian.  On a
 * little-endian machine a load is a plain load; on a big-endian one it is a swap.  So
 * decoding is a copy, a view works everywhere, and the bytes are the same everywhere.
 *
 * Reader and writer have a sticky error: parse straight through, then test `bad` once.  A reader
 * reads every byte once. */
#ifndef TAMIS_CORE_BYTES_H
#define TAMIS_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/compiler.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TAMIS_LE64(x) __builtin_bswap64(x)
#define TAMIS_LE32(x) __builtin_bswap32(x)
#define TAMIS_LE16(x) __builtin_bswap16(x)
#else
#define TAMIS_LE64(x) (x)
#define TAMIS_LE32(x) (x)
#define TAMIS_LE16(x) (x)
#endif

TAMIS_TEMPLATE uint64_t tamis__load64(const void *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return TAMIS_LE64(x);
}
TAMIS_TEMPLATE uint32_t tamis__load32(const void *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return TAMIS_LE32(x);
}
TAMIS_TEMPLATE uint16_t tamis__load16(const void *p) {
    uint16_t x;
    memcpy(&x, p, 2);
    return TAMIS_LE16(x);
}
TAMIS_TEMPLATE void tamis__store64(void *p, uint64_t x) {
    x = TAMIS_LE64(x);
    memcpy(p, &x, 8);
}
TAMIS_TEMPLATE void tamis__store32(void *p, uint32_t x) {
    x = TAMIS_LE32(x);
    memcpy(p, &x, 4);
}
TAMIS_TEMPLATE void tamis__store16(void *p, uint16_t x) {
    x = TAMIS_LE16(x);
    memcpy(p, &x, 2);
}

/* Big-endian: headers of Java streams and Redis payloads. */
TAMIS_TEMPLATE uint32_t tamis__load32_be(const void *p) {
    return __builtin_bswap32(tamis__load32(p));
}
TAMIS_TEMPLATE uint64_t tamis__load64_be(const void *p) {
    return __builtin_bswap64(tamis__load64(p));
}
TAMIS_TEMPLATE void tamis__store32_be(void *p, uint32_t x) {
    tamis__store32(p, __builtin_bswap32(x));
}
TAMIS_TEMPLATE void tamis__store64_be(void *p, uint64_t x) {
    tamis__store64(p, __builtin_bswap64(x));
}

/* A double as its 64 bits, and back. */
TAMIS_TEMPLATE uint64_t tamis__double_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}
TAMIS_TEMPLATE double tamis__bits_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* ---- bytes that another process may change
 *
 * Bytes of a mapped file or of tamis_view may change between two reads.  So a number that decides
 * an address, a length or a count is read once: what was checked is what is used.  Without the
 * barrier a compiler may read it again instead of keeping it in a register or on the stack. */
TAMIS_TEMPLATE void tamis__copy_once(void *to, const void *from, size_t n) {
    if (n != 0) memcpy(to, from, n);
    __asm__ volatile("" : : "r"(to) : "memory");
}
TAMIS_TEMPLATE uint32_t tamis__load32_once(const void *p) {
    uint32_t x;
    tamis__copy_once(&x, p, 4);
    return TAMIS_LE32(x);
}

struct tamis__reader {
    const uint8_t *at, *end;
    bool bad;
};

/* The next n bytes; NULL, and `bad` is set, if fewer are left. */
static inline const uint8_t *tamis__read_bytes(struct tamis__reader *r, size_t n) {
    if (r->bad || n > (size_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    r->at += n;
    return r->at - n;
}
/* The next n bytes, in memory of the caller; unchanged if fewer are left. */
static inline void tamis__read_copy(struct tamis__reader *r, void *to, size_t n) {
    const uint8_t *p = tamis__read_bytes(r, n);
    if (p != NULL) tamis__copy_once(to, p, n);
}
static inline uint8_t tamis__read8(struct tamis__reader *r) {
    uint8_t x = 0;
    tamis__read_copy(r, &x, 1);
    return x;
}
static inline uint16_t tamis__read16(struct tamis__reader *r) {
    uint16_t x = 0;
    tamis__read_copy(r, &x, 2);
    return TAMIS_LE16(x);
}
static inline uint32_t tamis__read32(struct tamis__reader *r) {
    uint32_t x = 0;
    tamis__read_copy(r, &x, 4);
    return TAMIS_LE32(x);
}
static inline uint64_t tamis__read64(struct tamis__reader *r) {
    uint64_t x = 0;
    tamis__read_copy(r, &x, 8);
    return TAMIS_LE64(x);
}
static inline uint32_t tamis__read32_be(struct tamis__reader *r) {
    return __builtin_bswap32(tamis__read32(r));
}
static inline uint64_t tamis__read64_be(struct tamis__reader *r) {
    return __builtin_bswap64(tamis__read64(r));
}

struct tamis__writer {
    uint8_t *at, *end;
    bool bad;
};

static inline void tamis__write_bytes(struct tamis__writer *w, const void *p, size_t n) {
    if (w->bad || n > (size_t)(w->end - w->at)) {
        w->bad = true;
        return;
    }
    if (n != 0) memcpy(w->at, p, n);
    w->at += n;
}
static inline void tamis__write8(struct tamis__writer *w, uint8_t x) {
    tamis__write_bytes(w, &x, 1);
}
static inline void tamis__write16(struct tamis__writer *w, uint16_t x) {
    x = TAMIS_LE16(x);
    tamis__write_bytes(w, &x, 2);
}
static inline void tamis__write32(struct tamis__writer *w, uint32_t x) {
    x = TAMIS_LE32(x);
    tamis__write_bytes(w, &x, 4);
}
static inline void tamis__write64(struct tamis__writer *w, uint64_t x) {
    x = TAMIS_LE64(x);
    tamis__write_bytes(w, &x, 8);
}

#endif
