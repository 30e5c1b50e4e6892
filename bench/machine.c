/* machine.c - clocks, cores, memory, and the limit that the machine's memory sets */
#define _GNU_SOURCE

#include "machine.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- clocks */

static double nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

double bench_thread_time(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }
double bench_process_time(void) { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }
double bench_wall_time(void) { return nanoseconds(CLOCK_MONOTONIC); }

/* ---- cores */

/* The cores that the process may use, as of the first call. */
static const cpu_set_t *allowed_cores(void) {
    static cpu_set_t cores;
    static bool known;
    if (!known) {
        if (sched_getaffinity(0, sizeof cores, &cores) != 0) bench_die("sched_getaffinity");
        known = true;
    }
    return &cores;
}

unsigned bench_cores(void) { return (unsigned)CPU_COUNT(allowed_cores()); }

void bench_pin(unsigned index) {
    index %= bench_cores();
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, allowed_cores()) || index-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

void bench_unpin(void) { sched_setaffinity(0, sizeof(cpu_set_t), allowed_cores()); }

/* ---- memory */

void bench_die(const char *why) {
    fprintf(stderr, "tamis-bench: %s\n", why);
    exit(2);
}

void *bench_allocate(size_t bytes) {
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (block == NULL) bench_die("out of memory");
    return block;
}

void *bench_memory(size_t bytes) {
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) bench_die("out of memory");
    madvise(block, bytes, MADV_HUGEPAGE);
    memset(block, 0, bytes);
    return block;
}

void bench_memory_free(void *block, size_t bytes) { munmap(block, bytes); }

static size_t highest_resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* A child starts with its parent's pages and its own high-water mark.  Memory that the parent has
 * freed but kept would hide a part of the child's memory, so it is returned first. */
size_t bench_peak(void (*job)(void *context), void *context) {
    int channel[2];
    malloc_trim(0);
    if (pipe(channel) != 0) return 0;
    const pid_t child = fork();
    if (child == 0) {
        const size_t before = highest_resident();
        job(context);
        const size_t peak = highest_resident() - before;
        _exit(write(channel[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
    }
    close(channel[1]);
    size_t peak = 0;
    if (child < 0 || read(channel[0], &peak, sizeof peak) != sizeof peak) peak = 0;
    close(channel[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return peak;
}

/* ---- the limit */

#define AHEAD 64
#define LINE_WORDS 8

static uint64_t line_of(uint64_t key, uint64_t count) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)key * count >> 64) * LINE_WORDS;
}

uint64_t bench_limit_read(const uint64_t *lines, size_t count, const uint64_t *keys, size_t from,
                          size_t to) {
    uint64_t sum = 0;
    size_t ahead = from;
    for (; ahead < to && ahead < from + AHEAD; ahead++) {
        __builtin_prefetch(lines + line_of(keys[ahead], count));
    }
    for (size_t i = from; i < to; i++, ahead++) {
        if (ahead < to) __builtin_prefetch(lines + line_of(keys[ahead], count));
        sum += lines[line_of(keys[i], count)];
    }
    return sum;
}

void bench_limit_write(uint64_t *lines, size_t count, const uint64_t *keys, size_t from,
                       size_t to) {
    size_t ahead = from;
    for (; ahead < to && ahead < from + AHEAD; ahead++) {
        __builtin_prefetch(lines + line_of(keys[ahead], count), 1);
    }
    for (size_t i = from; i < to; i++, ahead++) {
        if (ahead < to) __builtin_prefetch(lines + line_of(keys[ahead], count), 1);
        lines[line_of(keys[i], count)] |= keys[i];
    }
}

/* ---- what it is */

void bench_processor(char *text, size_t size) {
    char line[256];
    snprintf(text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s, %u cores", colon + 2, bench_cores());
        break;
    }
    if (file != NULL) fclose(file);
}

void bench_compiler(char *text, size_t size) {
#if defined(__clang__)
    snprintf(text, size, "clang %d.%d", __clang_major__, __clang_minor__);
#else
    snprintf(text, size, "gcc %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
}
