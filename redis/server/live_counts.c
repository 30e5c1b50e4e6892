/* live_counts.c - see live_counts.h */
#include "server/live_counts.h"

#include <stdatomic.h>

static atomic_size_t counts[LIVE_KINDS];

void live_count_change(enum live_kind kind, int by) {
    atomic_fetch_add_explicit(&counts[kind], (size_t)by, memory_order_relaxed);
}

size_t live_count(enum live_kind kind) {
    return atomic_load_explicit(&counts[kind], memory_order_relaxed);
}
