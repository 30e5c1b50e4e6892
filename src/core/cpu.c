/* cpu.c - see cpu.h */
#include "core/cpu.h"

#include "core/compiler.h"

uint32_t tamis__cpu(void) {
    uint32_t found = 0;
#if defined(TAMIS_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2")) {
        found |= TAMIS__CPU_AVX2;
    }
#endif
#if defined(TAMIS_HAVE_NEON)
    found |= TAMIS__CPU_NEON;
#endif
    return found;
}
