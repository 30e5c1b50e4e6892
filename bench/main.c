/* main.c - tamis-bench: families and peers, measured together
 *
 * Without -n it measures the sections of a plan: the short one has what the goals need and takes
 * some minutes, that of --long everything.  Each section is printed as soon as it is measured, so a
 * run that is stopped has shown what it had. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contenders.h"
#include "machine.h"
#include "report.h"

#define SIZES_MAX 16
#define ROWS_MAX 1024
#define OPTIONS_MAX 24
#define SETUP_ROUNDS 3    /* to fill the filters takes about as long */
#define SHORT_SECONDS 300 /* on a slower or busier machine, the short plan has fewer rounds */

/* ---- options: one table for reading and for --help */

static struct {
    bool table, longer, words, texts, lookups, help;
    const char *json, *svg, *only, *rows;
    const char *peers[OPTIONS_MAX];
    size_t sizes[SIZES_MAX], peer_count, size_count, repeats;
} request = {.repeats = 7};

enum option_kind { FLAG, TEXT, NUMBER, SIZE, PEER };

static const struct {
    const char *name, *argument, *help;
    enum option_kind kind;
    void *to;
} options[] = {
    {"table", NULL, "print the goals and their measured values, last", FLAG, &request.table},
    {"long", NULL, "all contenders, sizes up to 10^8, 11 repeats: an hour", FLAG, &request.longer},
    {"keys", "N", "only filters of N keys; may be repeated", SIZE, NULL},
    {"words", NULL, "with --keys: only 64-bit keys", FLAG, &request.words},
    {"texts", NULL, "with --keys: only strings", FLAG, &request.texts},
    {"lookups", NULL, "with --keys: only lookups", FLAG, &request.lookups},
    {"only", "NAME,...", "only these contenders", TEXT, &request.only},
    {"peer", "FILE", "load contenders from a shared object (bench/contender.h)", PEER, NULL},
    {"repeats", "N", "rounds (7)", NUMBER, &request.repeats},
    {"json", "FILE", "write all rows as JSON", TEXT, &request.json},
    {"svg", "DIR", "draw plots into a directory", TEXT, &request.svg},
    {"rows", "FILE", "add rows that another program measured", TEXT, &request.rows},
    {"help", NULL, "print this", FLAG, &request.help},
};
#define OPTION_COUNT (sizeof options / sizeof options[0])

static size_t number(const char *text) {
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value == 0) bench_die("a number is expected");
    return (size_t)value;
}

static void take_option(size_t i, const char *argument) {
    switch (options[i].kind) {
        case FLAG:
            *(bool *)options[i].to = true;
            break;
        case TEXT:
            *(const char **)options[i].to = argument;
            break;
        case NUMBER:
            *(size_t *)options[i].to = number(argument);
            break;
        case SIZE:
            if (request.size_count == SIZES_MAX) bench_die("too many sizes");
            request.sizes[request.size_count++] = number(argument);
            break;
        case PEER:
            if (request.peer_count == OPTIONS_MAX) bench_die("too many peers");
            request.peers[request.peer_count++] = argument;
            break;
    }
}

/* -n is short for --keys. */
static void read_options(int argc, char **argv) {
    struct option known[OPTION_COUNT + 1] = {{0}};
    int option, index;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        known[i].name = options[i].name;
        known[i].has_arg = options[i].argument != NULL;
        known[i].val = (int)i;
    }
    while ((option = getopt_long(argc, argv, "n:", known, &index)) != -1) {
        if (option == '?') exit(2);
        if (option == 'n') {
            for (option = 0; options[option].kind != SIZE; option++) continue;
        }
        take_option((size_t)option, optarg);
    }
    if (!request.words && !request.texts) request.words = request.texts = true;
    if (request.longer && request.repeats == 7) request.repeats = 11;
    if (request.repeats > BENCH_REPEATS_MAX) request.repeats = BENCH_REPEATS_MAX;
}

static void print_help(void) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        printf("  --%-8s%-9s%s\n", options[i].name,
               options[i].argument != NULL ? options[i].argument : "", options[i].help);
    }
}

/* ---- contenders */

static const struct bench_contender *all[BENCH_CONTENDERS_MAX];
static size_t all_count;

static void load_peer(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct bench_contender *const *list =
        handle != NULL ? dlsym(handle, "bench_contenders") : NULL;
    if (list == NULL) bench_die(dlerror());
    for (; *list != NULL && all_count < BENCH_CONTENDERS_MAX; list++) all[all_count++] = *list;
}

static void collect_contenders(void) {
    all_count = bench_ours(all);
#if defined(BENCH_LIBBLOOM)
    all_count += bench_libbloom(all + all_count);
#endif
#if defined(BENCH_LEVELDB)
    all_count += bench_leveldb(all + all_count);
#endif
#if defined(BENCH_ROCKSDB)
    all_count += bench_rocksdb(all + all_count);
#endif
    for (size_t i = 0; i < request.peer_count; i++) load_peer(request.peers[i]);
}

/* Is the name in a comma-separated list?  NULL lists all names. */
static bool listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    if (list == NULL) return true;
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
        const bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

/* ---- the plan */

struct section {
    size_t n;
    enum bench_sort sort;
    const char *only; /* NULL: all */
    unsigned operations;
};

#define BLOCKS "block,boost-block32,boost-block64"
#define CUCKOOS "cuckoo-0.18%,fastfilter-cuckoo12"
#define FUSES "fuse3-8,xs-fuse8"

/* No goal is about lookups of both kinds of keys or about removes. */
#define PURE_BATCH (1u << OP_HIT_BATCH | 1u << OP_MISS_BATCH)
#define PURE_LOOKUPS (1u << OP_HIT | 1u << OP_MISS | PURE_BATCH)

static const struct section short_plan[] = {
    {100000, SORT_WORDS, BLOCKS "," CUCKOOS "," FUSES, BENCH_ADDS | PURE_LOOKUPS},
    {300000, SORT_WORDS, "xor,fuse,ribbon", BENCH_BUILDS},
    {1000000, SORT_WORDS, NULL, BENCH_BUILDS | BENCH_ADDS | PURE_LOOKUPS},
    {1000000, SORT_TEXTS, "block,bloom,fuse,ribbon,rocksdb-bloom,leveldb", PURE_LOOKUPS},
    {(size_t)1 << 25, SORT_WORDS, BLOCKS, BENCH_ADD_BATCH | PURE_BATCH},
    {(size_t)1 << 25, SORT_WORDS, "fuse,ribbon,cuckoo", PURE_BATCH},
    {10000000, SORT_WORDS,
     CUCKOOS "," FUSES
             ",block,bloom,ribbon,libbloom,boost-bloom,leveldb,rocksdb-bloom,rocksdb-ribbon",
     PURE_LOOKUPS},
};

static const struct section long_plan[] = {
    {10000, SORT_WORDS, NULL, BENCH_ALL},
    {10000, SORT_TEXTS, NULL, BENCH_ALL},
    {100000, SORT_WORDS, NULL, BENCH_ALL},
    {300000, SORT_WORDS, "xor,fuse,ribbon", BENCH_BUILDS},
    {1000000, SORT_WORDS, NULL, BENCH_ALL},
    {1000000, SORT_TEXTS, NULL, BENCH_ALL},
    {(size_t)1 << 25, SORT_WORDS, BLOCKS, BENCH_ADD_BATCH | BENCH_BATCH},
    {(size_t)1 << 25, SORT_WORDS, "fuse,ribbon,cuckoo", BENCH_BATCH},
    {10000000, SORT_WORDS, NULL, BENCH_ALL},
    {10000000, SORT_TEXTS, NULL, BENCH_LOOKUPS},
    {100000000, SORT_WORDS, "bloom,cuckoo,xor,fuse,ribbon," BLOCKS "," FUSES,
     BENCH_BATCH | BENCH_SINGLE},
};

static struct {
    double total, done, started; /* in seconds as expected, and by the clock */
    double limit;
    double round; /* of the current section */
    char title[80];
} progress = {.limit = 1e9};

static bool takes(const struct section *section, const struct bench_contender *c) {
    return listed(request.only, c->name) && listed(section->only, c->name) &&
           (section->sort == SORT_WORDS || !c->only_words);
}

/* Seconds that a round takes, about: what a key costs each contender, in nanoseconds. */
static double cost_of_round(const struct section *section) {
    const double n = (double)section->n, lookups = n > 1e6 ? n > 2e7 ? 4e6 : 1e6 : 5e5;
    double cost = 0;
    for (size_t i = 0; i < all_count; i++) {
        if (!takes(section, all[i])) continue;
        const double lookup = (all[i]->ours ? 150 : 300) * (n > 1e6 ? 2 : 1);
        if ((section->operations & BENCH_LOOKUPS) != 0) cost += lookups * lookup;
        if ((section->operations & BENCH_ADDS) != 0 && all[i]->add) cost += n * 100;
        if ((section->operations & BENCH_BUILDS) != 0 && all[i]->build) cost += n * 200;
    }
    return cost * 1e-9;
}

static double cost_of(const struct section *section) {
    const double rounds = (double)request.repeats + SETUP_ROUNDS;
    return cost_of_round(section) * rounds * (section->n < PAGES_MATTER ? 1 : 2);
}

/* False if the section should end, because the run would take too long otherwise. */
static bool report_progress(void) {
    progress.done += progress.round;
    const double elapsed = 1e-9 * bench_wall_time() - progress.started;
    const double left = progress.done > 0 ? elapsed * (progress.total / progress.done - 1) : 0;
    fprintf(stderr, "tamis-bench: %s: %.0f s, about %.0f s left\n", progress.title, elapsed,
            left > 0 ? left : 0);
    return elapsed <= progress.limit * (0.2 + progress.done / progress.total);
}

static void measure(const struct section *section, enum bench_pages pages,
                    struct bench_results *results) {
    const struct bench_contender *chosen[BENCH_CONTENDERS_MAX];
    struct bench_settings settings = {.repeats = (unsigned)request.repeats,
                                      .operations = section->operations,
                                      .pages = pages,
                                      .contenders = chosen,
                                      .progress = report_progress};
    const size_t before = results->count;
    char n[32];
    for (size_t i = 0; i < all_count; i++) {
        if (takes(section, all[i])) chosen[settings.contender_count++] = all[i];
    }
    if (settings.contender_count == 0) return;
    bench_count_text(n, sizeof n, section->n);
    snprintf(progress.title, sizeof progress.title, "%s %s keys, %zu contenders, %s", n,
             bench_sort_name[section->sort], settings.contender_count, bench_pages_name[pages]);
    const double round = cost_of_round(section), begun = progress.done;
    progress.round = 0;
    report_progress();
    progress.round = round;
    bench_measure(&settings, section->n, section->sort, results);
    progress.done = begun + round * ((double)request.repeats + SETUP_ROUNDS);
    bench_print_tables(stdout, results, &results->rows[before]);
}

static void run(const struct section *plan, size_t count, struct bench_results *results) {
    for (size_t i = 0; i < count; i++) progress.total += cost_of(&plan[i]);
    progress.started = 1e-9 * bench_wall_time();
    for (size_t i = 0; i < count; i++) {
        if (plan[i].n >= PAGES_MATTER) measure(&plan[i], PAGES_SMALL, results);
        measure(&plan[i], PAGES_HUGE, results);
    }
}

static void run_request(struct bench_results *results) {
    struct section own[2 * SIZES_MAX];
    const unsigned operations = request.lookups ? BENCH_LOOKUPS : BENCH_ALL;
    size_t count = 0;
    for (size_t i = 0; i < request.size_count; i++) {
        const size_t n = request.sizes[i];
        if (request.words) own[count++] = (struct section){n, SORT_WORDS, NULL, operations};
        if (request.texts) own[count++] = (struct section){n, SORT_TEXTS, NULL, operations};
    }
    if (count > 0) {
        run(own, count, results);
    } else if (request.longer) {
        run(long_plan, sizeof long_plan / sizeof long_plan[0], results);
    } else {
        progress.limit = SHORT_SECONDS;
        run(short_plan, sizeof short_plan / sizeof short_plan[0], results);
    }
}

static void write_json(const char *path, const struct bench_results *results) {
    FILE *file = fopen(path, "w");
    if (file == NULL) bench_die(strerror(errno));
    bench_print_json(file, results);
    if (fclose(file) != 0) bench_die(strerror(errno));
}

int main(int argc, char **argv) {
    /* Memory that was freed is used again and not given back: otherwise each filter would pay
     * for fresh pages, some more often than others.  pool.c does the same for large blocks. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    read_options(argc, argv);
    if (request.help) {
        print_help();
        return 0;
    }
    collect_contenders();
    struct bench_results results = {.room = ROWS_MAX};
    results.rows = bench_allocate(ROWS_MAX * sizeof *results.rows);
    bench_cores();
    bench_pin(0);
    if (request.rows != NULL && !bench_read_rows(request.rows, &results)) bench_die(request.rows);
    bench_print_machine(stdout, (unsigned)request.repeats);
    run_request(&results);
    if (request.json != NULL) write_json(request.json, &results);
    if (request.svg != NULL && !bench_draw(request.svg, &results)) bench_die("cannot draw");
    if (request.table) {
        const bool whole = request.size_count == 0 && request.only == NULL && !request.longer;
        bench_print_goals(stdout, &results, whole ? "`--long`" : "left out");
    }
    free(results.rows);
    return 0;
}
