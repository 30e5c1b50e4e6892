/* cmd_bench.c - tamis bench: what the kinds cost on this machine
 *
 * For each kind a filter of n keys is built, filled and asked, one key at a time and in
 * batches.  Keys are 64-bit hashes, so that the filter is measured and not the hash of text.
 * Every figure is the best of a few rounds: what disturbs a measurement makes it slower. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "plot.h"
#include "term.h"

static const struct option_spec bench_options[] = {
    {OPT_NUMBER, 'n', "keys", "N", "keys in the filters (default 1M)"},
    {OPT_RATE, 'p', "rate", "RATE", "false positive rate (default 1%)"},
    {OPT_KIND, 'k', "kind", "KIND", "only this kind; may be given several times"},
    {OPT_THREADS, 'j', "threads", "N", "threads for building (default: all cores)"},
    {OPT_JSON, '\0', "json", NULL, "as JSON"},
    {OPT_SVG, '\0', "svg", "FILE", "draw time against size into FILE"},
    OPTIONS_END};

#define KINDS_MAX 16
#define ROUNDS 3
#define ASKED_LEAST                                                              \
    1000000 /* keys asked for in a round, so that small filters are measured too \
             */
#define BENCH_BATCH 1024

enum measurement { BUILD, ADD, ADD_BATCH, HIT, MISS, HIT_BATCH, MISS_BATCH, MEASUREMENTS };

static const struct {
    const char *name; /* in JSON: ..._ns */
    const char *head[2];
} columns[MEASUREMENTS] = {{"build", {"build", ""}},         {"add", {"add", "one"}},
                           {"add_batch", {"add", "batch"}},  {"hit", {"hit", "one"}},
                           {"miss", {"miss", "one"}},        {"hit_batch", {"hit", "batch"}},
                           {"miss_batch", {"miss", "batch"}}};

struct row {
    tamis_kind kind;
    tamis_status status;
    double nanoseconds[MEASUREMENTS]; /* per key; 0: it cannot do that */
    double bits_per_key, rate;
};

struct bench {
    uint64_t n;
    double rate;
    struct run_options run;
    bool json;
    const char *svg;
    size_t asked; /* keys asked for in a round */
    uint64_t *members, *others;
    bool *answers;
    size_t count;
    struct row rows[KINDS_MAX];
};

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- the keys */

/* A permutation of the hashes, so that keys are asked in another order than they were added. */
static void shuffle(uint64_t *keys, size_t count) {
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(tamis_hash_integer(i + UINT64_C(77) * count) % i);
        const uint64_t key = keys[i - 1];
        keys[i - 1] = keys[j];
        keys[j] = key;
    }
}

static void bench_keys(struct bench *b) {
    b->asked = b->n > ASKED_LEAST ? (size_t)b->n : ASKED_LEAST;
    b->members = (uint64_t *)need(b->asked * sizeof(uint64_t));
    b->others = (uint64_t *)need(b->asked * sizeof(uint64_t));
    b->answers = (bool *)need(b->asked);
    for (size_t i = 0; i < b->asked; i++) {
        b->members[i] = tamis_hash_integer(i % (size_t)b->n);
        b->others[i] = tamis_hash_integer(UINT64_C(1) << 60 | i);
    }
}

/* ---- one kind */

static void best(struct row *row, enum measurement what, double elapsed, size_t keys) {
    const double each = 1e9 * elapsed / (double)keys;
    if (row->nanoseconds[what] == 0 || each < row->nanoseconds[what]) row->nanoseconds[what] = each;
}

static tamis_options bench_want(const struct bench *b, tamis_kind kind) {
    tamis_options want = TAMIS_OPTIONS_INIT;
    want.kind = kind;
    want.capacity = b->n;
    want.rate = b->rate;
    want.hasher = TAMIS_HASH_NONE;
    want.threads = run_options_threads(&b->run);
    return want;
}

static void bench_build(const struct bench *b, struct row *row, tamis_filter **filter) {
    const tamis_options want = bench_want(b, row->kind);
    const double start = seconds();
    row->status = tamis_build_hash(&want, b->members, (size_t)b->n, filter);
    best(row, BUILD, seconds() - start, (size_t)b->n);
}

static void bench_add(const struct bench *b, struct row *row, bool batches) {
    const tamis_options want = bench_want(b, row->kind);
    tamis_filter *filter;
    row->status = tamis_create(&want, &filter);
    if (row->status != TAMIS_OK) return;
    const double start = seconds();
    if (batches) {
        for (size_t i = 0; i < b->n && row->status == TAMIS_OK; i += BENCH_BATCH) {
            const size_t left = (size_t)b->n - i;
            row->status = tamis_add_hash_batch(filter, b->members + i,
                                               left < BENCH_BATCH ? left : BENCH_BATCH, NULL, NULL);
        }
    } else {
        for (size_t i = 0; i < b->n && row->status == TAMIS_OK; i++) {
            row->status = tamis_add_hash(filter, b->members[i], NULL);
        }
    }
    best(row, batches ? ADD_BATCH : ADD, seconds() - start, (size_t)b->n);
    tamis_free(filter);
}

static size_t ask_one_by_one(const tamis_filter *filter, const uint64_t *keys, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += tamis_contains_hash(filter, keys[i]);
    return found;
}

static size_t ask_in_batches(const tamis_filter *filter, const uint64_t *keys, size_t count,
                             bool *answers) {
    size_t found = 0;
    for (size_t i = 0; i < count; i += BENCH_BATCH) {
        const size_t left = count - i;
        found += tamis_contains_hash_batch(filter, keys + i,
                                           left < BENCH_BATCH ? left : BENCH_BATCH, answers + i);
    }
    return found;
}

static void bench_ask(const struct bench *b, struct row *row, const tamis_filter *filter) {
    double start = seconds();
    size_t found = ask_one_by_one(filter, b->members, b->asked);
    best(row, HIT, seconds() - start, b->asked);
    start = seconds();
    found += ask_in_batches(filter, b->members, b->asked, b->answers);
    best(row, HIT_BATCH, seconds() - start, b->asked);
    if (found != 2 * b->asked) die("%s has lost a key", tamis_kind_name(row->kind));

    start = seconds();
    found = ask_one_by_one(filter, b->others, b->asked);
    best(row, MISS, seconds() - start, b->asked);
    start = seconds();
    const size_t again = ask_in_batches(filter, b->others, b->asked, b->answers);
    best(row, MISS_BATCH, seconds() - start, b->asked);
    if (found != again) die("%s answers a batch otherwise", tamis_kind_name(row->kind));
    row->rate = (double)found / (double)b->asked;
}

static void bench_kind(const struct bench *b, struct row *row) {
    for (int round = 0; round < ROUNDS && row->status == TAMIS_OK; round++) {
        tamis_filter *filter = NULL;
        bench_build(b, row, &filter);
        if (row->status != TAMIS_OK) break;
        row->bits_per_key = filter_facts(filter).bits_per_key;
        bench_ask(b, row, filter);
        tamis_free(filter);
        if (tamis_kind_caps(row->kind) & TAMIS_CAN_ADD) {
            bench_add(b, row, false);
            if (row->status == TAMIS_OK) bench_add(b, row, true);
        }
    }
}

/* ---- results */

static void bench_json(const struct bench *b) {
    struct json json = {stdout, 0, false};
    json_open(&json, NULL, '{');
    json_string(&json, "version", tamis_version());
    json_whole(&json, "n", b->n);
    json_real(&json, "fpr", b->rate);
    json_whole(&json, "threads", run_options_threads(&b->run));
    json_open(&json, "families", '[');
    for (size_t i = 0; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        if (row->status != TAMIS_OK) continue;
        json_open(&json, NULL, '{');
        json_string(&json, "kind", tamis_kind_name(row->kind));
        json_real(&json, "bits_per_key", row->bits_per_key);
        json_real(&json, "fpr", row->rate);
        for (size_t m = 0; m < MEASUREMENTS; m++) {
            char name[32];
            snprintf(name, sizeof name, "%s_ns", columns[m].name);
            json_real(&json, name, row->nanoseconds[m] > 0 ? row->nanoseconds[m] : NAN);
        }
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void print_heads(void) {
    for (size_t line = 0; line < 2; line++) {
        printf("%s%-9s", term_style(stdout, STYLE_BOLD), line == 0 ? "kind" : "");
        for (size_t m = 0; m < MEASUREMENTS; m++) printf("%7s", columns[m].head[line]);
        printf("%10s%10s%s\n", line == 0 ? "bits/key" : "", line == 0 ? "rate" : "",
               term_style(stdout, STYLE_PLAIN));
    }
}

static void print_row(const struct row *row) {
    printf("%-9s", tamis_kind_name(row->kind));
    if (row->status != TAMIS_OK) {
        printf("%s\n", tamis_status_text(row->status));
        return;
    }
    for (size_t m = 0; m < MEASUREMENTS; m++) {
        if (row->nanoseconds[m] > 0) {
            printf("%7.1f", row->nanoseconds[m]);
        } else {
            printf("%7s", "-");
        }
    }
    printf("%10.2f%10s\n", row->bits_per_key, text_rate(row->rate).at);
    fflush(stdout);
}

/* A bar for each kind, on a terminal. */
static void bench_bars(const struct bench *b) {
    const unsigned width = term_width(stdout), most = width > 90   ? 70
                                                      : width > 40 ? width - 20
                                                                   : 20;
    const char *const cell = term_utf8() ? "\u2588" : "#";
    double longest = 0;
    for (size_t i = 0; i < b->count; i++) {
        longest = fmax(longest, b->rows[i].nanoseconds[MISS_BATCH]);
    }
    printf("\n%sns to look up an absent key, in batches%s\n", term_style(stdout, STYLE_BOLD),
           term_style(stdout, STYLE_PLAIN));
    for (size_t i = 0; i < b->count; i++) {
        const double time = b->rows[i].nanoseconds[MISS_BATCH];
        if (b->rows[i].status != TAMIS_OK || !(time > 0)) continue;
        printf("%-9s %s", tamis_kind_name(b->rows[i].kind), term_style(stdout, STYLE_GREEN));
        for (double c = 0; c < time / longest * most; c++) fputs(cell, stdout);
        printf("%s %.1f\n", term_style(stdout, STYLE_PLAIN), time);
    }
}

static void bench_draw(const struct bench *b) {
    const struct axis x = {"bits per key", false, 0, 0};
    const struct axis y = {"ns to look up an absent key, in batches", false, 0, 0};
    struct plot plot;
    plot_start(&plot, "Time against size", x, y);
    for (size_t i = 0; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        struct series *s = plot_series(&plot, tamis_kind_name(row->kind), false);
        if (row->status == TAMIS_OK) {
            plot_point(&plot, s, row->bits_per_key, row->nanoseconds[MISS_BATCH]);
        }
    }
    plot_svg(&plot, 1, b->svg);
    plot_free(&plot);
}

/* ---- the command */

static void bench_parse(struct args *args, struct bench *b) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case OPT_NUMBER:
                b->n = number_within("-n", args->value, 1, UINT64_C(1) << 36);
                break;
            case OPT_RATE:
                b->rate = rate_of("-p", args->value);
                break;
            case OPT_KIND:
                if (b->count < KINDS_MAX) b->rows[b->count++].kind = kind_of(args->value);
                break;
            case OPT_JSON:
                b->json = true;
                break;
            case OPT_SVG:
                b->svg = plot_file(args->value);
                break;
            case ARG_OPERAND:
                die("'%s' is not expected here: bench reads no files", args->value);
            default:
                run_options_take(&b->run, id, args);
        }
    }
    if (b->count != 0) return;
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO && b->count < KINDS_MAX;
         k = tamis_kind_next(k)) {
        b->rows[b->count++].kind = k;
    }
}

static int bench_main(struct args *args) {
    struct bench b = {.n = 1000000, .rate = 0.01};
    bench_parse(args, &b);
    bench_keys(&b);
    shuffle(b.members, (size_t)b.n);
    if (!b.json) {
        printf("%s at a rate of %s; nanoseconds per key, best of %d\n\n",
               text_things(b.n, "key").at, text_rate(b.rate).at, ROUNDS);
        print_heads();
    }
    for (size_t i = 0; i < b.count; i++) {
        bench_kind(&b, &b.rows[i]);
        if (!b.json) print_row(&b.rows[i]);
    }
    if (b.json) bench_json(&b);
    if (!b.json && term_is(stdout)) bench_bars(&b);
    if (b.svg != NULL) bench_draw(&b);
    stdout_close();
    free(b.members);
    free(b.others);
    free(b.answers);
    return EXIT_DONE;
}

const struct command command_bench = {
    "bench",
    "measure the kinds on this machine",
    "[-n N] [-k KIND]... [--json] [--svg FILE]",
    "Builds, fills and asks a filter of each kind and tells how many nanoseconds a key takes,\n"
    "one by one and in batches, beside the size and the measured rate.",
    {bench_options, NULL, NULL, NULL},
    "  tamis bench\n"
    "  tamis bench -n 10M -p 0.1% -k fuse -k block\n"
    "  tamis bench --json --svg bench.svg > bench.json",
    bench_main};
