/* bloom_table.c - see bloom_table.h */
#include "family/bloom_table.h"

#include <math.h>

#include "core/bytes.h"
#include "core/popcount.h"
#include "family/probe_kernel.h"

/* The table of a compatible format may have bits set beyond the last valid one, and a filter that
 * matches every key has no bits at all. */
void tamis__bloom_state(const tamis_filter *f, struct tamis__state *state) {
    const double bits = (double)f->shape.word[BITS], hashes = (double)f->shape.word[HASHES];
    const double ones = (double)tamis__popcount_bytes(f->table, f->shape.table_bytes);
    state->fill = bits == 0 ? 0 : ones < bits ? ones / bits : 1;
    state->fpr_now = pow(state->fill, hashes);
    if (bits == 0 || hashes == 0) return;
    state->distinct = tamis__probe_keys(bits, hashes, state->fill, &state->distinct_error);
}
