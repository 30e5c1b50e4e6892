/* machine.c - clocks, cores, memory, and the limit that the machine's memory sets */
#define _GNU_SOURCE

#include "machine.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
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

/* ---- instructions */

double bench_steps(void (*job)(void *context), void *context) {
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
            raise(SIGSTOP);
            job(context);
        }
        _exit(0);
    }
    int status;
    double steps = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 0;
    while (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) break;
        if (waitpid(child, &status, 0) != child) break;
        steps++;
    }
    return steps;
}

/* ---- the limit */

#define AHEAD 64
#define LINE_WORDS 8

/* The hints that are fastest on the machines measured: what the library uses, too. */
#if defined(__x86_64__)
#define FETCH(address) __builtin_prefetch((address), 0, 2)
#define FETCH_WRITE(address) __builtin_prefetch((address), 0, 2)
#else
#define FETCH(address) __builtin_prefetch((address), 0, 3)
#define FETCH_WRITE(address) __builtin_prefetch((address), 1, 3)
#endif

static uint64_t line_of(uint64_t key, uint64_t count) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)key * count >> 64) * LINE_WORDS;
}

uint64_t bench_limit_read(const uint64_t *lines, size_t count, const uint64_t *keys, size_t from,
                          size_t to) {
    uint64_t sum = 0;
    size_t ahead = from;
    for (; ahead < to && ahead < from + AHEAD; ahead++) {
        FETCH(lines + line_of(keys[ahead], count));
    }
    for (size_t i = from; i < to; i++, ahead++) {
        if (ahead < to) FETCH(lines + line_of(keys[ahead], count));
        sum += lines[line_of(keys[i], count)];
    }
    return sum;
}

void bench_limit_write(uint64_t *lines, size_t count, const uint64_t *keys, size_t from,
                       size_t to) {
    size_t ahead = from;
    for (; ahead < to && ahead < from + AHEAD; ahead++) {
        FETCH_WRITE(lines + line_of(keys[ahead], count));
    }
    for (size_t i = from; i < to; i++, ahead++) {
        if (ahead < to) FETCH_WRITE(lines + line_of(keys[ahead], count));
        lines[line_of(keys[i], count)] |= keys[i];
    }
}

/* ---- what it is */

/* Appends to a text of 256 bytes. */
__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...) {
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, 256 - length, format, arguments);
    va_end(arguments);
}

static bool has_word(const char *line, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at += length) {
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

/* "NAME : value" of the first processor in /proc/cpuinfo; false if there is none. */
static bool read_field(const char *name, char *value, size_t size) {
    char line[4096];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (!found && file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        const size_t length = strlen(name);
        if (colon == NULL || strncmp(line, name, length) != 0) continue;
        if (line[length] != '\t' && line[length] != ' ' && line[length] != ':') continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(value, size, "%s", colon + 1);
        found = true;
    }
    if (file != NULL) fclose(file);
    return found;
}

/* The first level of data, the second and the third, as Linux numbers them. */
static void append_caches(char *text) {
    static const unsigned index[] = {0, 2, 3};
    char name[80], size[32];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu0/cache/index%u/size", index[i]);
        FILE *file = fopen(name, "r");
        if (file == NULL) continue;
        if (fgets(size, sizeof size, file) != NULL) {
            append(text, "%s%s", i == 0 ? ", caches " : "/", strtok(size, "\n"));
        }
        fclose(file);
    }
}

/* "never" means that both settings of the pages are the same. */
static void append_huge_pages(char *text) {
    char line[80];
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file == NULL) return;
    const char *chosen = fgets(line, sizeof line, file) != NULL ? strchr(line, '[') : NULL;
    if (chosen != NULL)
        append(text, ", huge pages: %.*s", (int)strcspn(chosen + 1, "]"), chosen + 1);
    fclose(file);
}

void bench_processor(char text[256]) {
    static const char *const sets[] = {"avx2",       "bmi2", "avx512f", "avx512ifma",
                                       "avx512vbmi", "gfni", "asimd",   "sve"};
    char value[4096];
    text[0] = '\0';
    append(text, "%s", read_field("model name", value, sizeof value) ? value + 1 : "?");
    if (read_field("cpu family", value, sizeof value)) append(text, ", family%s", value);
    if (read_field("model", value, sizeof value)) append(text, " model%s", value);
    append(text, ", %u cores", bench_cores());
    append_caches(text);
    append(text, ",");
    if (!read_field("flags", value, sizeof value)) read_field("Features", value, sizeof value);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (has_word(value, sets[i])) append(text, " %s", sets[i]);
    }
    append_huge_pages(text);
}

const char *bench_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__ " " BENCH_FLAGS;
#else
    return "gcc " __VERSION__ " " BENCH_FLAGS;
#endif
}
