/* bloom_table.c - see bloom_table.h */
#include "family/bloom_table.h"

#include <math.h>

#include "core/bytes.h"
#include "core/ones.h"
#include "family/probe_kernel.h"

/* A foreign table may have bits set beyond the last one that counts, and a filter that matches
 * everything has no bits at all. */
void tamis__bloom_state(const tamis_filter *f, struct tamis__state *state) {
    const double bits = (double)f->shape.word[BITS], hashes = (double)f->shape.word[HASHES];
    const double ones = (double)tamis__count_ones(f->table, f->shape.table_bytes);
    state->fill = bits == 0 ? 0 : ones < bits ? ones / bits : 1;
    state->stages = 1;
    state->rate_now = pow(state->fill, hashes);
    if (bits == 0 || hashes == 0) return;
    state->distinct = tamis__probe_keys(bits, hashes, state->fill, &state->distinct_error);
}

static uint8_t merged(uint8_t a, uint8_t b, tamis_merge_mode mode) {
    return (uint8_t)(mode == TAMIS_UNION ? a | b : a & b);
}

tamis_status tamis__bloom_merge(tamis_filter *into, const tamis_filter *from,
                                tamis_merge_mode mode) {
    const uint64_t a_bytes = into->shape.table_bytes, b_bytes = from->shape.table_bytes;
    const uint64_t bytes = a_bytes < b_bytes ? a_bytes : b_bytes, words = bytes / 8 * 8;
    for (uint64_t i = 0; i < words; i += 8) {
        uint64_t a, b; /* byte order does not matter here */
        memcpy(&a, into->table + i, 8);
        memcpy(&b, from->table + i, 8);
        a = mode == TAMIS_UNION ? a | b : a & b;
        memcpy(into->table + i, &a, 8);
    }
    for (uint64_t i = words; i < bytes; i++) {
        into->table[i] = merged(into->table[i], from->table[i], mode);
    }
    return TAMIS_OK;
}
