/* snappy.c - see snappy.h
 *
 *     varint of the unpacked length, then elements; the lowest two bits of their first byte:
 *     00  literal: 6 bits of length - 1, or (60..63) one to four bytes of it
 *     01  copy: 3 bits of length - 4, 3 + 8 bits of distance
 *     10  copy: 6 bits of length - 1, 16 bits of distance
 *     11  copy: 6 bits of length - 1, 32 bits of distance */
#include "format/snappy.h"

#include <stddef.h>
#include <string.h>

static uint64_t little_endian(const uint8_t *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* The bytes of the length; 0 if there is none. */
static unsigned read_length(const uint8_t *bytes, uint64_t length, uint64_t *size) {
    *size = 0;
    for (unsigned i = 0; i < 5 && i < length; i++) {
        *size |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) return i + 1;
    }
    return 0;
}

bool tamis__snappy_length(const uint8_t *bytes, uint64_t length, uint64_t *size) {
    return read_length(bytes, length, size) != 0 && *size <= UINT32_MAX;
}

struct element {
    uint64_t run, back; /* back 0: literal */
    unsigned header;    /* bytes after the first */
};

static struct element read_element(const uint8_t *at) {
    const unsigned tag = at[0] & 3, upper = at[0] >> 2;
    switch (tag) {
        case 0: {
            const unsigned more = upper < 60 ? 0 : upper - 59;
            return (struct element){more == 0 ? upper + 1 : little_endian(at + 1, more) + 1, 0,
                                    more};
        }
        case 1:
            return (struct element){(upper & 7) + 4, (uint64_t)(at[0] >> 5) << 8 | at[1], 1};
        default:
            return (struct element){upper + 1, little_endian(at + 1, tag == 2 ? 2 : 4),
                                    tag == 2 ? 2 : 4};
    }
}

static unsigned header_of(uint8_t first) {
    static const uint8_t copies[4] = {0, 1, 2, 4};
    const unsigned upper = first >> 2;
    if ((first & 3) != 0) return copies[first & 3];
    return upper < 60 ? 0 : upper - 59;
}

bool tamis__snappy_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size) {
    uint64_t claimed, in = read_length(bytes, length, &claimed), at = 0;
    if (in == 0 || claimed != size) return false;
    while (in < length) {
        if (header_of(bytes[in]) >= length - in) return false;
        const struct element e = read_element(bytes + in);
        in += 1 + e.header;
        if (e.run > size - at) return false;
        if (e.back == 0) {
            if ((bytes[in - 1 - e.header] & 3) != 0 || e.run > length - in) return false;
            if (out != NULL) memcpy(out + at, bytes + in, (size_t)e.run);
            in += e.run;
        } else {
            if (e.back > at) return false;
            /* Byte by byte: a copy may run into what it has just written. */
            for (uint64_t i = 0; out != NULL && i < e.run; i++) out[at + i] = out[at + i - e.back];
        }
        at += e.run;
    }
    return at == size;
}
