/* cpu.c - see cpu.h */
#include "core/cpu.h"

#include <stdbool.h>

#include "core/compiler.h"

#if defined(TAMIS_HAVE_AVX512)
static uint32_t avx512(void) {
    /* The builtin also knows whether the system saves the registers. */
    const bool all =
        (__builtin_cpu_supports("avx512f") != 0) & (__builtin_cpu_supports("avx512dq") != 0) &
        (__builtin_cpu_supports("avx512bw") != 0) & (__builtin_cpu_supports("avx512vl") != 0) &
        (__builtin_cpu_supports("avx512ifma") != 0) &
        (__builtin_cpu_supports("avx512vpopcntdq") != 0);
    const uint32_t gather = __builtin_cpu_is("intel") ? TAMIS__CPU_GATHER : 0;
    return all ? TAMIS__CPU_AVX512 | gather : 0;
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
