/* small.c - small filters: any bytes as a filter, and a filter of any hashes
 *
 * The first byte selects what the rest is.  A filter: it must answer without reading beyond its
 * bytes, match every key if its last byte is unknown, and contain what is added to it.  Hashes: the
 * filter that is built from them, by rate or by size, must contain them all. */
#include <string.h>

#include "../support/check.h"
#include "fuzz.h"
#include "tamis.h"

static void as_filter(const uint8_t *data, size_t size) {
    /* A block of the exact size, so that a sanitizer detects reads beyond it. */
    uint8_t *bytes = NEED(uint8_t, size);
    memcpy(bytes, data, size);
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t hash = i < 2 ? 0 - i : tamis_hash_integer(i);
        const bool answer = tamis_small_contains(bytes, size, hash);
        if (!answer && bytes[size - 1] >= 0xe0) fuzz_fault("an unknown filter excludes a key");
        if (answer != tamis_small_contains(bytes, size, hash))
            fuzz_fault("two lookups of a hash differ");
        bool fresh;
        if (tamis_small_add(bytes, size, hash, &fresh) != TAMIS_OK) continue;
        if (fresh == answer) fuzz_fault("fresh is wrong");
        if (!tamis_small_contains(bytes, size, hash)) fuzz_fault("a key that was added is lost");
    }
    free(bytes);
}

static void as_hashes(const uint8_t *data, size_t size, uint8_t choice) {
    static const tamis_kind kinds[] = {TAMIS_AUTO, TAMIS_BLOOM};
    const size_t count = size / 8;
    uint64_t *hashes = NEED(uint64_t, count + 1);
    tamis_options o = TAMIS_OPTIONS_INIT;
    size_t length;
    memcpy(hashes, data, count * 8);
    o.kind = kinds[choice / 2 % 2];
    if (choice & 4) {
        o.bytes = 1 + choice / 8 * (uint64_t)count / 8;
    } else {
        o.fpr = 0.4 / (1 + choice);
    }
    const size_t bound = tamis_small_bound(&o, count);
    uint8_t *bytes = NEED(uint8_t, bound);
    if (tamis_small_build(&o, hashes, count, bytes, bound, &length) != TAMIS_OK) {
        fuzz_fault("the build failed");
    }
    if (o.fpr == 0 && length > o.bytes) fuzz_fault("larger than allowed");
    for (size_t i = 0; i < count; i++) {
        if (!tamis_small_contains(bytes, length, hashes[i])) fuzz_fault("a key is lost");
    }
    free(bytes);
    free(hashes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    if (data[0] & 1) {
        as_filter(data + 1, size - 1);
    } else {
        as_hashes(data + 1, size - 1, data[0]);
    }
    return 0;
}

/* Filters of both layouts, and hashes that differ in few bits. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    const size_t counts[] = {1, 8, 30, 64, 65, 300};
    uint64_t hashes[300];
    size_t length = 0;
    if (index >= 18) return 0;
    const size_t count = counts[index % 6];
    for (size_t i = 0; i < count; i++) hashes[i] = index < 12 ? tamis_hash_integer(i) : i << 40;
    out[0] = (uint8_t)(index < 12 ? 1 : index * 2);
    if (index >= 12) {
        memcpy(out + 1, hashes, count * 8);
        return 1 + count * 8;
    }
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = index < 6 ? TAMIS_AUTO : TAMIS_BLOOM;
    if (tamis_small_build(&o, hashes, count, out + 1, room - 1, &length) != TAMIS_OK) return 0;
    return 1 + length;
}
