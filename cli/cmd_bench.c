/* cmd_bench.c - tamis bench: what the kinds cost on this machine
 *
 * For each kind a filter of n keys is built, filled and queried, one key at a time and in
 * batches.  Keys are 64-bit hashes, so that the filter is measured and not the hash of text.
 * Every figure is the best of a few rounds, because disturbances only make it slower. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "svg_file.h"
#include "term.h"

#define KINDS_MAX 16
#define ROUNDS 3
/* Lookups in a round, so that small filters are measured too. */
#define LOOKUPS_MIN 1000000
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
    double bits_per_key, fpr;
};

struct bench {
    uint64_t n;
    double fpr;
    struct run_options run;
    bool json;
    const char *svg;
    size_t lookups; /* in a round */
    uint64_t *members, *others;
    bool *answers;
    size_t count;
    struct row rows[KINDS_MAX];
};

/* Permutes the hashes, so that keys are looked up in another order than they were added. */
static void shuffle(uint64_t *keys, size_t count) {
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(tamis_hash_integer(i + UINT64_C(77) * count) % i);
        const uint64_t key = keys[i - 1];
        keys[i - 1] = keys[j];
        keys[j] = key;
    }
}

static void bench_keys(struct bench *b) {
    b->lookups = b->n > LOOKUPS_MIN ? (size_t)b->n : LOOKUPS_MIN;
    b->members = (uint64_t *)need(b->lookups * sizeof(uint64_t));
    b->others = (uint64_t *)need(b->lookups * sizeof(uint64_t));
    b->answers = (bool *)need(b->lookups);
    for (size_t i = 0; i < b->lookups; i++) {
        b->members[i] = tamis_hash_integer(i % (size_t)b->n);
        b->others[i] = tamis_hash_integer(UINT64_C(1) << 60 | i);
    }
}

static void best(struct row *row, enum measurement what, double elapsed, size_t keys) {
    const double each = 1e9 * elapsed / (double)keys;
    if (row->nanoseconds[what] == 0 || each < row->nanoseconds[what]) row->nanoseconds[what] = each;
}

static tamis_options bench_options(const struct bench *b, tamis_kind kind) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = kind;
    options.capacity = b->n;
    options.fpr = b->fpr;
    options.hasher = TAMIS_HASH_NONE;
    options.threads = run_options_threads(&b->run);
    return options;
}

static void bench_build(const struct bench *b, struct row *row, tamis_filter **filter) {
    const tamis_options options = bench_options(b, row->kind);
    const double start = seconds_now();
    row->status = tamis_build_hash(&options, b->members, (size_t)b->n, filter);
    best(row, BUILD, seconds_now() - start, (size_t)b->n);
}

static void bench_add(const struct bench *b, struct row *row, bool batches) {
    const tamis_options options = bench_options(b, row->kind);
    tamis_filter *filter;
    row->status = tamis_create(&options, &filter);
    if (row->status != TAMIS_OK) return;
    const double start = seconds_now();
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
    best(row, batches ? ADD_BATCH : ADD, seconds_now() - start, (size_t)b->n);
    tamis_free(filter);
}

static size_t query_singly(const tamis_filter *filter, const uint64_t *keys, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += tamis_contains_hash(filter, keys[i]);
    return found;
}

static size_t query_in_batches(const tamis_filter *filter, const uint64_t *keys, size_t count,
                               bool *answers) {
    size_t found = 0;
    for (size_t i = 0; i < count; i += BENCH_BATCH) {
        const size_t left = count - i;
        found += tamis_contains_hash_batch(filter, keys + i,
                                           left < BENCH_BATCH ? left : BENCH_BATCH, answers + i);
    }
    return found;
}

static size_t timed_query(const struct bench *b, struct row *row, enum measurement what,
                          const tamis_filter *filter) {
    const uint64_t *keys = what == HIT || what == HIT_BATCH ? b->members : b->others;
    const bool batches = what == HIT_BATCH || what == MISS_BATCH;
    const double start = seconds_now();
    const size_t found = batches ? query_in_batches(filter, keys, b->lookups, b->answers)
                                 : query_singly(filter, keys, b->lookups);
    best(row, what, seconds_now() - start, b->lookups);
    return found;
}

static void bench_query(const struct bench *b, struct row *row, const tamis_filter *filter) {
    const char *kind = tamis_kind_name(row->kind);
    const size_t hits = timed_query(b, row, HIT, filter) + timed_query(b, row, HIT_BATCH, filter);
    if (hits != 2 * b->lookups) die("%s: a key is missing (a bug)", kind);
    const size_t found = timed_query(b, row, MISS, filter);
    if (timed_query(b, row, MISS_BATCH, filter) != found) {
        die("%s: batch and single lookups differ (a bug)", kind);
    }
    row->fpr = (double)found / (double)b->lookups;
}

static void bench_kind(const struct bench *b, struct row *row) {
    for (int round = 0; round < ROUNDS && row->status == TAMIS_OK; round++) {
        tamis_filter *filter = NULL;
        bench_build(b, row, &filter);
        if (row->status != TAMIS_OK) break;
        row->bits_per_key = filter_facts(filter).bits_per_key;
        bench_query(b, row, filter);
        tamis_free(filter);
        if (tamis_kind_caps(row->kind) & TAMIS_CAN_ADD) {
            bench_add(b, row, false);
            if (row->status == TAMIS_OK) bench_add(b, row, true);
        }
    }
}

static void bench_json(const struct bench *b) {
    struct json json = {stdout, 0, false};
    json_open(&json, NULL, '{');
    json_string(&json, "version", tamis_version());
    json_whole(&json, "n", b->n);
    json_real(&json, "fpr", b->fpr);
    json_whole(&json, "threads", run_options_threads(&b->run));
    json_open(&json, "families", '[');
    for (size_t i = 0; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        if (row->status != TAMIS_OK) continue;
        json_open(&json, NULL, '{');
        json_string(&json, "kind", tamis_kind_name(row->kind));
        json_real(&json, "bits_per_key", row->bits_per_key);
        json_real(&json, "fpr", row->fpr);
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
    printf("%10.2f%10s\n", row->bits_per_key, text_fpr(row->fpr).at);
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
    struct plot plot = {.title = "Lookup time by size",
                        .x = {"size, bits per key", false, 0, 0},
                        .y = {"nanoseconds per absent key, in batches", false, 0, 0}};
    for (size_t i = 0; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        struct plot_series *s = plot_series(&plot, tamis_kind_name(row->kind), false);
        if (row->status == TAMIS_OK) {
            plot_point(&plot, s, row->bits_per_key, row->nanoseconds[MISS_BATCH]);
        }
    }
    svg_file_write(&plot, 1, b->svg);
}

static void bench_parse(struct args *args, struct bench *b) {
    tamis_kind kind;
    const struct binding list[] = {
        {OPT_NUMBER, .number = &b->n, .low = 1, .high = UINT64_C(1) << 36},
        {OPT_FPR, .fpr = &b->fpr},
        {OPT_KIND, .kind = &kind},
        {OPT_JSON, .flag = &b->json},
        {OPT_SVG, .text = &b->svg},
        {0}};
    for (int id; (id = args_next(args)) != ARG_END;) {
        if (id == ARG_OPERAND) {
            die("'%s' is not expected here: bench reads no files", args->value);
        }
        if (!args_store(args, id, list)) run_options_take(&b->run, id, args);
        if (id == OPT_KIND && b->count < KINDS_MAX) b->rows[b->count++].kind = kind;
    }
    svg_file_check(b->svg);
    if (b->count != 0) return;
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO && b->count < KINDS_MAX;
         k = tamis_kind_next(k)) {
        b->rows[b->count++].kind = k;
    }
}

static int bench_main(struct args *args) {
    struct bench b = {.n = 1000000, .fpr = 0.01};
    bench_parse(args, &b);
    bench_keys(&b);
    shuffle(b.members, (size_t)b.n);
    if (!b.json) {
        printf("%s at a rate of %s; nanoseconds per key, best of %d\n\n",
               text_plural(b.n, "key").at, text_fpr(b.fpr).at, ROUNDS);
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
    .name = "bench",
    .summary = "measure the kinds of filters on this machine",
    .usage = "[-n N] [-k KIND]... [--json] [--svg FILE]",
    .about =
        "Builds, fills and queries a filter of each kind. Prints the nanoseconds per key, for "
        "single calls and in batches, beside the bits per key and the measured false positive "
        "rate.",
    .details =
        "Keys are 64-bit hashes, so that the filter is measured and not the hashing of text. "
        "Every figure is the best of three rounds. On a terminal it draws a bar for each "
        "kind; --svg plots the time of a query against the size.",
    .options = {OPT_KEYS, OPT_FPR, OPT_MEASURED_KIND, OPT_JSON, OPT_SVG, OPT_THREADS},
    .exits = {[EXIT_DONE] = "done", [EXIT_ERROR] = "error"},
    .examples =
        "  tamis bench\n"
        "  tamis bench -n 10M -p 0.1% -k fuse -k block\n"
        "  tamis bench --json --svg bench.svg > bench.json\n",
    .see = "plan",
    .run = bench_main};
