/* cpu.h - which instruction sets this machine has */
#ifndef TAMIS_CORE_CPU_H
#define TAMIS_CORE_CPU_H

#include <stdint.h>

enum {
    TAMIS__CPU_AVX2 = 1u << 0,
    TAMIS__CPU_NEON = 1u << 1,
    TAMIS__CPU_AVX512 = 1u << 2, /* F, DQ, BW, VL, IFMA, VPOPCNTDQ: Ice Lake, Zen 4, later */
    TAMIS__CPU_GATHER = 1u << 3  /* a gather takes no longer than its loads one by one */
};

/* Called once per filter, when its operations are chosen.  Tests replace it: support/paths.c. */
uint32_t tamis__cpu(void);

#endif
