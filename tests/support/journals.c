/* journals.c - see journals.h */
#include "journals.h"

#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static void put64(uint8_t *to, uint64_t value) {
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get64(const uint8_t *from) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | from[i];
    return value;
}

/* XXH3 with seed 0. */
static uint64_t checksum(const uint8_t *bytes, size_t size) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    o.kind = TAMIS_BLOOM;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "create");
    const uint64_t sum = tamis_hash(f, bytes, size);
    tamis_free(f);
    return sum;
}

static size_t piece_bytes(size_t table, size_t piece) {
    const size_t left = table - piece * PIECE_BYTES;
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

/* The numbers of the pieces that differ, `*count` of them, `*bytes` in all. */
static size_t *differences(const struct bytes *before, const struct bytes *after, size_t table,
                           size_t *count, size_t *bytes) {
    const size_t pieces = (table + PIECE_BYTES - 1) / PIECE_BYTES;
    size_t *changed = NEED(size_t, pieces + 1);
    *count = *bytes = 0;
    for (size_t p = 0; p < pieces; p++) {
        const size_t at = HEADER_BYTES + p * PIECE_BYTES;
        if (memcmp(before->data + at, after->data + at, piece_bytes(table, p)) == 0) continue;
        changed[(*count)++] = p;
        *bytes += piece_bytes(table, p);
    }
    return changed;
}

struct bytes journal_make(const struct bytes *before, const struct bytes *after) {
    static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', 'j', '\n'};
    const size_t table = (size_t)get64(before->data + AT_TABLE_BYTES);
    size_t n, bytes, *changed = differences(before, after, table, &n, &bytes);
    CHECK(n > 0 && before->size == after->size, "%zu pieces change", n);
    const struct bytes journal = bytes_new(240 + 16 * n + bytes);
    uint8_t *to = journal.data, *data = to + 240 + 16 * n;
    memset(to, 0, 240);
    memcpy(to, magic, sizeof magic);
    to[8] = 1;
    put64(to + 16, before->size);
    memcpy(to + 24, before->data + AT_HEADER_SUM, 8);
    put64(to + 32, n);
    memcpy(to + 40, after->data, HEADER_BYTES);
    for (size_t i = 0; i < n; i++) {
        const size_t length = piece_bytes(table, changed[i]);
        put64(to + 232 + 16 * i, changed[i]);
        memcpy(to + 240 + 16 * i, after->data + HEADER_BYTES + table + 8 * changed[i], 8);
        memcpy(data, after->data + HEADER_BYTES + changed[i] * PIECE_BYTES, length);
        data += length;
    }
    put64(to + 232 + 16 * n, checksum(to, 232 + 16 * n));
    free(changed);
    return journal;
}
