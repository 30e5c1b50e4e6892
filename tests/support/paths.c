/* paths.c - see paths.h */
#include "paths.h"

#include "core/cpu.h"

static const struct {
    const char *name;
    uint32_t sets;
} paths[] = {
    {"portable", 0},
    {"neon", TAMIS__CPU_NEON},
    {"avx2", TAMIS__CPU_AVX2},
    {"avx512", TAMIS__CPU_AVX2 | TAMIS__CPU_AVX512},
    {"avx512 with gathers", TAMIS__CPU_AVX2 | TAMIS__CPU_AVX512 | TAMIS__CPU_GATHER},
};
#define PATHS (sizeof paths / sizeof *paths)

static size_t selected = PATHS; /* PATHS: none */

/* The linker directs the library's calls of tamis__cpu here. */
uint32_t __real_tamis__cpu(void);
uint32_t __wrap_tamis__cpu(void);
uint32_t __wrap_tamis__cpu(void) {
    return selected < PATHS ? paths[selected].sets : __real_tamis__cpu();
}

/* Gathers matter for speed only, so every machine with AVX-512 has a path with and one without. */
static bool is_here(size_t path) {
    const uint32_t sets = paths[path].sets & ~(uint32_t)TAMIS__CPU_GATHER;
    return (__real_tamis__cpu() & sets) == sets;
}

/* The index in `paths` of the i-th path of this machine. */
static size_t index_of(size_t i) {
    for (size_t path = 0; path < PATHS; path++) {
        if (is_here(path) && i-- == 0) return path;
    }
    return PATHS;
}

const char *path_at(size_t i) {
    const size_t path = index_of(i);
    return path < PATHS ? paths[path].name : NULL;
}

void path_use(size_t i) { selected = index_of(i); }

void path_use_all(void) { selected = PATHS; }
