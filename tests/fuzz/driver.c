/* driver.c - runs a fuzz target as a plain test: the files named on the command line (or all
 * in the directories named), the target's seeds, and mutations of both from a fixed seed
 *
 *     replay_NAME [--quick|--full] [--seed N] [--mutations N] [--write DIR] [FILE or DIR ...]
 *
 * --write puts the seeds into a directory: a corpus to start libFuzzer from. */
#define _DEFAULT_SOURCE 1
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"
#include "fuzz.h"

static uint8_t input[2 * FUZZ_SEED_ROOM], work[2 * FUZZ_SEED_ROOM];
static const char *origin = "?";
static uint64_t origin_mutation;

/* Prints which input it was, then raises the signal again. */
static void report(int number) {
    fprintf(stderr, "failure in %s, mutation %llu\n", origin, (unsigned long long)origin_mutation);
    signal(number, SIG_DFL);
    raise(number);
}

static void run_one(const uint8_t *data, size_t size) {
    /* A block of the exact size, so that a sanitizer detects reads beyond it. */
    uint8_t *exact = NEED(uint8_t, size);
    if (size != 0) memcpy(exact, data, size);
    CHECK(LLVMFuzzerTestOneInput(exact, size) == 0, "%s", origin);
    free(exact);
    count_up("inputs", 1);
}

/* The input itself and `mutations` changes of it. */
static void run_around(const uint8_t *data, size_t size, uint64_t mutations, const char *name) {
    struct rng r = {run_seed() + size};
    origin = name;
    origin_mutation = 0;
    run_one(data, size);
    for (uint64_t i = 0; i < mutations; i++) {
        size_t length = size;
        memcpy(work, data, size);
        origin_mutation = i + 1;
        if (rng_below(&r, 8) == 0) work[0] = (uint8_t)rng_next(&r);
        const uint64_t changes = rng_below(&r, 4);
        for (uint64_t c = 0; c <= changes && length > 1; c++) {
            length = 1 + mutate(work + 1, length - 1, sizeof work - 1, &r);
        }
        run_one(work, length);
    }
}

static void run_file(const char *path, uint64_t mutations) {
    FILE *file = fopen(path, "rb");
    if (!CHECK(file != NULL, "%s cannot be opened", path)) return;
    const size_t size = fread(input, 1, FUZZ_SEED_ROOM, file);
    fclose(file);
    run_around(input, size, mutations, path);
    count_up("files", 1);
}

static void run_path(const char *path, uint64_t mutations) {
    DIR *dir = opendir(path);
    if (dir == NULL) {
        run_file(path, mutations);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char full[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(full, sizeof full, "%s/%s", path, entry->d_name);
        run_file(full, mutations);
    }
    closedir(dir);
}

static void write_seed(const char *dir, size_t index, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/seed-%03zu", dir, index);
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL && fwrite(input, 1, size, file) == size, "%s", path)) return;
    fclose(file);
}

int main(int argc, char **argv) {
    char *run_arguments[8] = {argv[0]};
    int run_count = 1, paths = 0;
    const char *write_to = NULL;
    uint64_t mutations = UINT64_MAX;
    for (int i = 1; i < argc; i++) { /* options anywhere; paths move to the front */
        const bool has_value = i + 1 < argc;
        if (argv[i][0] != '-') {
            argv[paths++] = argv[i];
        } else if (strcmp(argv[i], "--write") == 0 && has_value) {
            write_to = argv[++i];
        } else if (strcmp(argv[i], "--mutations") == 0 && has_value) {
            mutations = strtoull(argv[++i], NULL, 10);
        } else if (run_count < 6) {
            const bool named = strcmp(argv[i], "--seed") == 0 || strcmp(argv[i], "--kind") == 0;
            run_arguments[run_count++] = argv[i];
            if (named && has_value) run_arguments[run_count++] = argv[++i];
        }
    }
    run_start(run_count, run_arguments, "fuzz");
    signal(SIGABRT, report);
    signal(SIGSEGV, report);
    if (mutations == UINT64_MAX) mutations = run_pick(10, 60, 20000);
    for (int i = 0; i < paths; i++) run_path(argv[i], mutations);
    size_t size;
    for (size_t index = 0; (size = fuzz_seed(index, input, FUZZ_SEED_ROOM)) != 0; index++) {
        char name[32];
        snprintf(name, sizeof name, "seed %zu", index);
        if (write_to != NULL) write_seed(write_to, index, size);
        run_around(input, size, write_to != NULL ? 0 : mutations, name);
        count_up("seeds", 1);
    }
    return run_end();
}
