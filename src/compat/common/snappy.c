/* snappy.c - see snappy.h
 *
 *     varint of the unpacked length, then elements; the lowest two bits of their first byte:
 *     00  literal: 6 bits of length - 1, or (60..63) one to four bytes of it
 *     01  copy: 3 bits of length - 4, 3 + 8 bits of distance
 *     10  copy: 6 bits of length - 1, 16 bits of distance
 *     11  copy: 6 bits of length - 1, 32 bits of distance */
#include "compat/common/snappy.h"

#include "core/bytes.h"

#define EXPANSION_MAX 22 /* three bytes copy up to 64 */

/* At most five bytes of seven bits. */
static uint64_t read_length(struct tamis__reader *r) {
    uint64_t size = 0;
    for (unsigned i = 0; i < 5; i++) {
        const uint8_t byte = tamis__read8(r);
        size |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) return size;
    }
    r->bad = true;
    return 0;
}

struct element {
    uint64_t run, back;
    bool literal;
};

static uint64_t little_endian(struct tamis__reader *r, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) value |= (uint64_t)tamis__read8(r) << (8 * i);
    return value;
}

static struct element read_element(struct tamis__reader *r) {
    const uint8_t first = tamis__read8(r);
    const unsigned tag = first & 3, upper = first >> 2;
    switch (tag) {
        case 0:
            return (struct element){(upper < 60 ? upper : little_endian(r, upper - 59)) + 1, 0,
                                    true};
        case 1:
            return (struct element){(upper & 7) + 4, (uint64_t)(first >> 5) << 8 | tamis__read8(r),
                                    false};
        default:
            return (struct element){upper + 1, little_endian(r, tag == 2 ? 2 : 4), false};
    }
}

bool tamis__snappy_size(const uint8_t *bytes, uint64_t length, uint64_t *size) {
    struct tamis__reader r = {bytes, bytes + length, false};
    *size = read_length(&r);
    return !r.bad && *size <= UINT32_MAX && *size / EXPANSION_MAX <= length;
}

bool tamis__snappy_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size) {
    struct tamis__reader r = {bytes, bytes + length, false};
    uint64_t at = 0;
    if (read_length(&r) != size) return false;
    while (!r.bad && r.at < r.end) {
        const struct element e = read_element(&r);
        if (r.bad || e.run > size - at) return false;
        if (e.literal) {
            if (e.run > (uint64_t)(r.end - r.at)) return false;
            tamis__read_copy(&r, out + at, (size_t)e.run);
        } else {
            if (e.back == 0 || e.back > at) return false;
            /* Byte by byte: a copy may overlap its own output. */
            for (uint64_t i = 0; i < e.run; i++) out[at + i] = out[at + i - e.back];
        }
        at += e.run;
    }
    return !r.bad && at == size;
}
