/* check.c - see check.h */
#define _DEFAULT_SOURCE 1
#include "check.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOWN_FAILURES 40
#define SHOWN_AT_A_LINE 3
#define LINES_MAX 64
#define COUNTERS_MAX 24
#define DEFAULT_SEED UINT64_C(20250117)

static struct {
    const char *law;
    const char *kind;
    enum effort effort;
    uint64_t seed;
    uint64_t count; /* --count; 0: not given */
    uint64_t checks, failures;
    struct {
        const char *what;
        uint64_t count;
    } counters[COUNTERS_MAX];
    size_t counters_used;
    struct {
        const char *file;
        int line;
        uint64_t failures;
    } lines[LINES_MAX];
    size_t lines_used;
    char directory[256];
    struct timespec started;
} run;

static void usage(const char *program) {
    fprintf(stderr, "usage: %s [--quick|--full] [--count N] [--seed N] [--kind NAME]\n", program);
    exit(2);
}

void run_start(int argc, char **argv, const char *law) {
    run.law = law;
    run.effort = EFFORT_NORMAL;
    run.seed = DEFAULT_SEED;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            run.effort = EFFORT_QUICK;
        } else if (strcmp(argv[i], "--full") == 0) {
            run.effort = EFFORT_FULL;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run.seed = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--count") == 0 && i + 1 < argc) {
            run.count = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--kind") == 0 && i + 1 < argc) {
            run.kind = argv[++i];
        } else {
            usage(argv[0]);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &run.started);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s: seed %llu\n", law, (unsigned long long)run.seed);
}

/* The run's directory is flat: laws put plain files into it and nothing else. */
static void remove_directory(void) {
    if (run.directory[0] == '\0') return;
    DIR *dir = opendir(run.directory);
    if (dir != NULL) {
        const struct dirent *entry;
        while ((entry = readdir(dir)) != NULL) {
            char path[sizeof run.directory + sizeof entry->d_name + 2];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", run.directory, entry->d_name);
            unlink(path);
        }
        closedir(dir);
    }
    rmdir(run.directory);
}

int run_end(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - run.started.tv_sec) +
                           (double)(now.tv_nsec - run.started.tv_nsec) * 1e-9;
    remove_directory();
    printf("%s: ", run.law);
    for (size_t i = 0; i < run.counters_used; i++) {
        printf("%llu %s, ", (unsigned long long)run.counters[i].count, run.counters[i].what);
    }
    printf("%llu checks, %llu failures, %.1f s\n", (unsigned long long)run.checks,
           (unsigned long long)run.failures, seconds);
    for (size_t i = 0; i < run.lines_used; i++) {
        if (run.lines[i].failures > SHOWN_AT_A_LINE) {
            const char *name = strrchr(run.lines[i].file, '/');
            printf("%s: %llu failures at %s:%d\n", run.law,
                   (unsigned long long)run.lines[i].failures,
                   name != NULL ? name + 1 : run.lines[i].file, run.lines[i].line);
        }
    }
    if (run.checks == 0) printf("%s: nothing was checked\n", run.law);
    return run.failures != 0 || run.checks == 0;
}

enum effort run_effort(void) { return run.effort; }
uint64_t run_seed(void) { return run.seed; }

uint64_t run_pick(uint64_t quick, uint64_t normal, uint64_t full) {
    return run.effort == EFFORT_QUICK ? quick : run.effort == EFFORT_FULL ? full : normal;
}

uint64_t run_count(uint64_t quick, uint64_t normal, uint64_t full) {
    return run.count != 0 ? run.count : run_pick(quick, normal, full);
}

bool run_wants(const char *kind) { return run.kind == NULL || strcmp(run.kind, kind) == 0; }

bool run_filtered(void) { return run.kind != NULL; }

void count_up(const char *what, uint64_t count) {
    for (size_t i = 0; i < run.counters_used; i++) {
        if (strcmp(run.counters[i].what, what) == 0) {
            run.counters[i].count += count;
            return;
        }
    }
    if (run.counters_used == COUNTERS_MAX) return;
    run.counters[run.counters_used].what = what;
    run.counters[run.counters_used++].count = count;
}

/* One defect often fails a thousand times at one line and would hide the others. */
static bool worth_showing(const char *file, int line) {
    size_t i = 0;
    while (i < run.lines_used && (run.lines[i].line != line || run.lines[i].file != file)) i++;
    if (i == run.lines_used) {
        if (i == LINES_MAX) return false;
        run.lines[i].file = file;
        run.lines[i].line = line;
        run.lines_used++;
    }
    return ++run.lines[i].failures <= SHOWN_AT_A_LINE && run.failures <= SHOWN_FAILURES;
}

bool check_that(bool holds, const char *file, int line, const char *condition, const char *message,
                ...) {
    run.checks++;
    if (holds) return true;
    run.failures++;
    if (worth_showing(file, line)) {
        va_list arguments;
        const char *name = strrchr(file, '/');
        printf("FAILED %s:%d: %s: ", name != NULL ? name + 1 : file, line, condition);
        va_start(arguments, message);
        vprintf(message, arguments);
        va_end(arguments);
        printf("\n");
    }
    return false;
}

uint64_t rng_next(struct rng *r) {
    uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t range) { return rng_next(r) % range; }

void *need(size_t count, size_t each) {
    void *block = calloc(count == 0 ? 1 : count, each);
    if (block == NULL) {
        fprintf(stderr, "the test ran out of memory: %zu x %zu bytes\n", count, each);
        exit(2);
    }
    return block;
}

const char *run_directory(void) {
    if (run.directory[0] == '\0') {
        const char *parent = getenv("TMPDIR");
        snprintf(run.directory, sizeof run.directory, "%s/tamis-test-XXXXXX",
                 parent != NULL ? parent : "/tmp");
        if (mkdtemp(run.directory) == NULL) {
            fprintf(stderr, "cannot create a temporary directory %s\n", run.directory);
            exit(2);
        }
    }
    return run.directory;
}

size_t directory_entries(const char *path) {
    size_t entries = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) return 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return entries;
}
