/* cpu.c - see cpu.h */
#include "core/cpu.h"

#include "core/compiler.h"

#if defined(TAMIS_HAVE_AVX512)
static uint32_t avx512(void) {
    /* The builtin also knows whether the system saves the registers. */
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("avx512ifma"))) {
        return 0;
    }
    return TAMIS__CPU_AVX512 | (__builtin_cpu_is("intel") ? TAMIS__CPU_GATHER : 0);
}
#endif

uint32_t tamis__cpu(void) {
    uint32_t found = 0;
#if defined(TAMIS_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2")) {
        found |= TAMIS__CPU_AVX2;
    }
#endif
#if defined(TAMIS_HAVE_AVX512)
    if (found != 0) found |= avx512();
#endif
#if defined(TAMIS_HAVE_NEON)
    found |= TAMIS__CPU_NEON;
#endif
    return found;
}
