/* main.c - tamis-bench: families and peers, measured together
 *
 *   tamis-bench [--table] [--json FILE] [--svg DIR] [-n N]... [--repeats N] [--only NAME,...]
 *               [--words] [--texts] [--texts-max N] [--large] [--rows FILE] [--peer FILE]...
 *
 * Without -n: 10^4, 10^6 and 10^7 keys, and 2^25 for the filters of goals out of the caches.
 * --large adds 10^8 for one filter of each kind, which takes twenty minutes.  --texts-max omits
 * texts above N keys.  --rows reads rows that another program measured, --peer loads contenders
 * from a shared object (contender.h). */
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
#define BEYOND_CACHES ((size_t)1 << 25)

struct request {
    bool table, large, words, texts;
    const char *json, *svg, *only, *rows;
    size_t sizes[SIZES_MAX];
    size_t size_count, texts_max;
    unsigned repeats;
};

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

static void measure(const struct request *request, size_t n, enum bench_sort sort, const char *only,
                    struct bench_results *results) {
    const struct bench_contender *chosen[BENCH_CONTENDERS_MAX];
    struct bench_settings settings = {.repeats = request->repeats, .contenders = chosen};
    for (size_t i = 0; i < all_count; i++) {
        if (listed(request->only, all[i]->name) && listed(only, all[i]->name)) {
            chosen[settings.contender_count++] = all[i];
        }
    }
    fprintf(stderr, "tamis-bench: %zu %s keys, %zu contenders\n", n, bench_sort_name[sort],
            settings.contender_count);
    if (settings.contender_count > 0) bench_measure(&settings, n, sort, results);
}

static void run(struct request *request, struct bench_results *results) {
    static const size_t usual[] = {10000, 1000000, 10000000};
    const bool standard = request->size_count == 0;
    if (standard) {
        memcpy(request->sizes, usual, sizeof usual);
        request->size_count = 3;
    }
    for (size_t i = 0; i < request->size_count; i++) {
        if (request->words) measure(request, request->sizes[i], SORT_WORDS, NULL, results);
        if (request->texts && request->sizes[i] <= request->texts_max) {
            measure(request, request->sizes[i], SORT_TEXTS, NULL, results);
        }
    }
    if (standard && request->words) {
        measure(request, BEYOND_CACHES, SORT_WORDS,
                "block,fuse,ribbon,cuckoo,boost-block32,boost-block64", results);
    }
    if (request->large) {
        measure(request, 100000000, SORT_WORDS, "block,bloom,cuckoo,xor,fuse,ribbon", results);
    }
}

static size_t number(const char *text) {
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value == 0) bench_die("a number is expected");
    return (size_t)value;
}

static struct request read_options(int argc, char **argv) {
    enum { TABLE = 256, JSON, SVG, REPEATS, ONLY, WORDS, TEXTS, TEXTS_MAX, LARGE, ROWS, PEER };
    static const struct option options[] = {
        {"table", no_argument, NULL, TABLE},     {"json", required_argument, NULL, JSON},
        {"svg", required_argument, NULL, SVG},   {"repeats", required_argument, NULL, REPEATS},
        {"only", required_argument, NULL, ONLY}, {"words", no_argument, NULL, WORDS},
        {"texts", no_argument, NULL, TEXTS},     {"texts-max", required_argument, NULL, TEXTS_MAX},
        {"large", no_argument, NULL, LARGE},     {"rows", required_argument, NULL, ROWS},
        {"peer", required_argument, NULL, PEER}, {NULL, 0, NULL, 0}};
    struct request request = {.repeats = 7, .texts_max = SIZE_MAX};
    int option;
    while ((option = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
        switch (option) {
            case 'n':
                if (request.size_count < SIZES_MAX) {
                    request.sizes[request.size_count++] = number(optarg);
                }
                break;
            case TABLE:
                request.table = true;
                break;
            case JSON:
                request.json = optarg;
                break;
            case SVG:
                request.svg = optarg;
                break;
            case REPEATS:
                request.repeats = (unsigned)number(optarg);
                break;
            case ONLY:
                request.only = optarg;
                break;
            case WORDS:
                request.words = true;
                break;
            case TEXTS:
                request.texts = true;
                break;
            case TEXTS_MAX:
                request.texts_max = number(optarg);
                break;
            case LARGE:
                request.large = true;
                break;
            case ROWS:
                request.rows = optarg;
                break;
            case PEER:
                load_peer(optarg);
                break;
            default:
                exit(2);
        }
    }
    if (!request.words && !request.texts) request.words = request.texts = true;
    if (request.repeats > BENCH_REPEATS_MAX) request.repeats = BENCH_REPEATS_MAX;
    return request;
}

static void write_json(const char *path, const struct bench_results *results) {
    FILE *file = fopen(path, "w");
    if (file == NULL) bench_die(strerror(errno));
    bench_print_json(file, results);
    if (fclose(file) != 0) bench_die(strerror(errno));
}

int main(int argc, char **argv) {
    /* Memory that was freed is used again and not given back: otherwise each filter would pay
     * for fresh pages, some more often than others. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    collect_contenders();
    struct request request = read_options(argc, argv);
    struct bench_results results = {.room = ROWS_MAX};
    results.rows = bench_allocate(ROWS_MAX * sizeof *results.rows);
    bench_cores();
    bench_pin(0);
    run(&request, &results);
    if (request.rows != NULL && !bench_read_rows(request.rows, &results)) bench_die(request.rows);

    const struct bench_settings settings = {.repeats = request.repeats};
    bench_print_machine(stdout, &settings);
    bench_print_tables(stdout, &results);
    if (request.json != NULL) write_json(request.json, &results);
    if (request.svg != NULL && !bench_draw(request.svg, &results)) bench_die("cannot draw");
    if (request.table) bench_print_goals(stdout, &results);
    free(results.rows);
    return 0;
}
