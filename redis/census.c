/* census.c - see census.h */
#include "census.h"

#include <stdatomic.h>

static atomic_size_t numbers[CENSUS_KINDS];

void census_born(enum census_kind kind) {
    atomic_fetch_add_explicit(&numbers[kind], 1, memory_order_relaxed);
}

void census_died(enum census_kind kind) {
    atomic_fetch_sub_explicit(&numbers[kind], 1, memory_order_relaxed);
}

static size_t number(enum census_kind kind) {
    return atomic_load_explicit(&numbers[kind], memory_order_relaxed);
}

struct census census(void) {
    return (struct census){
        .bf = number(CENSUS_BF), .cf = number(CENSUS_CF), .served = number(CENSUS_SERVED)};
}
