/* lzf.c - see lzf.h
 *
 * A byte below 32 is followed by that many literal bytes and one more.  Any other begins a copy
 * of what came before: three bits of length (7: a byte of length follows), thirteen of
 * distance. */
#include "format/lzf.h"

#include <stddef.h>
#include <string.h>

bool tamis__lzf_unpack(const uint8_t *bytes, uint64_t length, uint8_t *out, uint64_t size) {
    uint64_t in = 0, at = 0;
    while (in < length) {
        const unsigned control = bytes[in++];
        uint64_t run = control + 1;
        if (control < 32) {
            if (run > length - in || run > size - at) return false;
            if (out != NULL) memcpy(out + at, bytes + in, (size_t)run);
            in += run;
            at += run;
            continue;
        }
        run = control >> 5;
        if (run == 7) {
            if (in == length) return false;
            run += bytes[in++];
        }
        if (in == length) return false;
        const uint64_t back = ((uint64_t)(control & 31) << 8 | bytes[in++]) + 1;
        run += 2;
        if (back > at || run > size - at) return false;
        /* Byte by byte: a copy may run into what it has just written. */
        for (uint64_t i = 0; out != NULL && i < run; i++) out[at + i] = out[at + i - back];
        at += run;
    }
    return at == size;
}
