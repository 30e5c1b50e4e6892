/* cpu.h - which instruction sets this machine has */
#ifndef TAMIS_CORE_CPU_H
#define TAMIS_CORE_CPU_H

#include <stdint.h>

enum { TAMIS__CPU_AVX2 = 1u << 0, TAMIS__CPU_NEON = 1u << 1 };

/* Called once per filter, when its operations are chosen. */
uint32_t tamis__cpu(void);

#endif
