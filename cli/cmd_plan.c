/* cmd_plan.c - tamis plan: what each kind would take, which one to choose, and why
 *
 * Pure arithmetic: nothing is built. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "plot.h"
#include "suggest.h"
#include "term.h"

static const struct option_spec plan_options[] = {
    {OPT_NUMBER, 'n', "capacity", "N", "distinct keys: 1000, 10K, 5M, 2G"},
    {OPT_RATE, 'p', "rate", "RATE", "false positive rate: 0.01, 1%, 1e-6, 1/1000 (default 1%)"},
    {OPT_BUDGET, 'M', "size", "SIZE", "instead of -p: the best rate that fits in SIZE"},
    {OPT_NEED, '\0', "need", "WHAT",
     "what it must be able to do: delete, grow, merge, or\n"
     "static if all keys are known; may be given several times"},
    {OPT_JSON, '\0', "json", NULL, "as JSON"},
    {OPT_SVG, '\0', "svg", "FILE", "draw size against rate and rate against keys into FILE"},
    OPTIONS_END};

#define KINDS_MAX 16
#define RATE_DEFAULT 0.01

struct plan {
    tamis_options want;
    tamis_advice advice;
    tamis_status advised;
    size_t count;
    tamis_sizing sizing[KINDS_MAX];
    tamis_status status[KINDS_MAX];
    const tamis_sizing *choice; /* NULL: none */
    bool json;
    const char *svg;
};

static uint32_t need_of(const char *name) {
    static const struct {
        const char *name;
        uint32_t need;
    } needs[] = {{"delete", TAMIS_NEED_REMOVE},
                 {"remove", TAMIS_NEED_REMOVE},
                 {"grow", TAMIS_NEED_GROW},
                 {"merge", TAMIS_NEED_MERGE},
                 {"static", TAMIS_NEED_STATIC}};
    struct suggestion best = {NULL, 0};
    char hint[80];
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (strcmp(name, needs[i].name) == 0) return needs[i].need;
        suggest(&best, name, needs[i].name);
    }
    suggest_text(&best, "", hint, sizeof hint);
    die("--need: '%s' is not one of delete, grow, merge, static%s", name, hint);
}

static void plan_parse(struct args *args, struct plan *plan) {
    bool has_number = false;
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case OPT_NUMBER:
                plan->want.capacity = number_of("-n", args->value);
                has_number = true;
                break;
            case OPT_RATE:
                plan->want.rate = rate_of("-p", args->value);
                break;
            case OPT_BUDGET:
                plan->want.bytes = number_within("-M", args->value, 1, UINT64_MAX);
                break;
            case OPT_NEED:
                plan->want.needs |= need_of(args->value);
                break;
            case OPT_JSON:
                plan->json = true;
                break;
            case OPT_SVG:
                plan->svg = plot_file(args->value);
                break;
            default:
                die("'%s' is not expected here: plan reads no files", args->value);
        }
    }
    if (!has_number) die("-n N is missing: for how many keys?");
    if (plan->want.rate != 0 && plan->want.bytes != 0) {
        die("-p and -M contradict each other: give the rate or the size, not both");
    }
    if (plan->want.rate == 0 && plan->want.bytes == 0) plan->want.rate = RATE_DEFAULT;
    if (plan->svg != NULL && plan->want.capacity == 0) {
        die("--svg: there is nothing to draw for 0 keys");
    }
}

/* ---- the arithmetic */

static tamis_options want_kind(const struct plan *plan, tamis_kind kind) {
    tamis_options want = plan->want;
    want.kind = kind;
    return want;
}

static tamis_status size_of(const struct plan *plan, tamis_kind kind, double rate,
                            tamis_sizing *sizing) {
    const tamis_sizing empty = TAMIS_SIZING_INIT;
    tamis_options want = want_kind(plan, kind);
    if (rate > 0) {
        want.rate = rate;
        want.bytes = 0;
    }
    *sizing = empty;
    const tamis_status status = tamis_size(&want, sizing);
    sizing->kind = kind;
    return status;
}

static void plan_compute(struct plan *plan) {
    plan->advised = tamis_plan(&plan->want, &plan->advice);
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO && plan->count < KINDS_MAX;
         k = tamis_kind_next(k)) {
        const size_t i = plan->count++;
        plan->status[i] = size_of(plan, k, 0, &plan->sizing[i]);
        const bool good = plan->advised == TAMIS_OK && plan->status[i] == TAMIS_OK;
        if (good && k == plan->advice.choice) plan->choice = &plan->sizing[i];
    }
}

/* The rate asked for, or what the size allows the choice. */
static double plan_rate(const struct plan *plan) {
    if (plan->want.rate > 0) return plan->want.rate;
    return plan->choice != NULL ? plan->choice->rate : 0;
}

/* The next rate of three digits. */
static double rate_above(double rate) {
    const double unit = pow(10, floor(log10(rate)) - 2);
    return (floor(rate / unit + 1e-6) + 1) * unit;
}

/* The next one to try.  Where none is to be expected, it may be far to the one that fits. */
static double rate_next(const struct plan *plan, double rate) {
    return rate_above(plan_rate(plan) > 0 ? rate : 1.05 * rate);
}

/* A rate as an option: asked for as it was, else the lowest of three digits with which it fits in
 * the size.  That may be some steps above the rate to expect: whoever asks for a rate gets a filter
 * that keeps it by some deviations.  Of no keys none is to be expected: the default. */
static struct text rate_option(const struct plan *plan) {
    if (plan->want.rate > 0) return text_exact(plan->want.rate);
    struct text text;
    tamis_sizing sizing;
    const double expected = plan_rate(plan);
    for (double rate = expected > 0 ? rate_above(expected) : RATE_DEFAULT;;
         rate = rate_next(plan, rate)) {
        snprintf(text.at, sizeof text.at, "%.3g", rate);
        rate = strtod(text.at, NULL); /* as build will read it */
        const tamis_status status = size_of(plan, plan->choice->kind, rate, &sizing);
        const bool fits = status == TAMIS_OK && sizing.bytes <= plan->want.bytes;
        if (fits || rate_next(plan, rate) >= 1) return text;
    }
}

static void build_command(const struct plan *plan, char *text, size_t size) {
    const uint32_t caps = tamis_kind_caps(plan->advice.choice);
    char capacity[40] = "";
    if (!(caps & (TAMIS_IS_STATIC | TAMIS_CAN_GROW))) {
        snprintf(capacity, sizeof capacity, " -n %llu", (unsigned long long)plan->want.capacity);
    }
    snprintf(text, size, "tamis build -k %s -p %s%s -o FILE.tamis KEYS.txt",
             tamis_kind_name(plan->advice.choice), rate_option(plan).at, capacity);
}

/* Why the choice, or why there is none. */
static void plan_why(const struct plan *plan, char *text, size_t size) {
    const uint64_t n = plan->want.capacity;
    tamis_sizing sizing;
    if (plan->advised != TAMIS_OK || plan->choice != NULL) {
        snprintf(text, size, "%s", plan->advice.why);
    } else if (plan->want.bytes != 0) {
        snprintf(text, size, "no %s filter of %s fits in %s", tamis_kind_name(plan->advice.choice),
                 text_things(n, "key").at, text_bytes(plan->want.bytes).at);
    } else if (size_of(plan, plan->advice.choice, 0, &sizing) == TAMIS_E_TOO_FINE) {
        snprintf(text, size, "no kind that can do what is needed reaches a rate of %s",
                 text_rate(plan->want.rate).at);
    } else {
        snprintf(text, size, "a filter of %s keys would be larger than this machine can address",
                 text_count(n).at);
    }
}

/* ---- JSON */

static void plan_json(const struct plan *plan) {
    struct json json = {stdout, 0, false};
    char command[200], why[300];
    json_open(&json, NULL, '{');
    json_whole(&json, "n", plan->want.capacity);
    json_real(&json, "fpr", plan_rate(plan));
    if (plan->want.bytes != 0) json_whole(&json, "size", plan->want.bytes);
    json_string(&json, "choice", plan->choice != NULL ? tamis_kind_name(plan->advice.choice) : "");
    plan_why(plan, why, sizeof why);
    json_string(&json, "why", why);
    if (plan->choice != NULL) {
        build_command(plan, command, sizeof command);
        json_string(&json, "command", command);
    }
    if (plan->want.rate > 0) {
        const uint64_t bits = tamis_classic_bits(plan->want.capacity, plan->want.rate);
        json_whole(&json, "classic_bits", bits);
        json_whole(&json, "classic_hashes", tamis_classic_hashes(bits, plan->want.capacity));
        json_real(&json, "bound_bits_per_key", -log2(plan->want.rate));
    }
    json_open(&json, "families", '[');
    for (size_t i = 0; i < plan->count; i++) {
        const tamis_sizing *s = &plan->sizing[i];
        const uint32_t caps = tamis_kind_caps(s->kind);
        if (plan->status[i] != TAMIS_OK) continue;
        json_open(&json, NULL, '{');
        json_string(&json, "kind", tamis_kind_name(s->kind));
        json_real(&json, "bits_per_key", s->bits_per_key);
        json_whole(&json, "bytes", s->bytes);
        json_whole(&json, "hashes", s->hashes);
        json_real(&json, "fpr", s->rate);
        json_real(&json, "fpr_at_half", s->rate_at_half);
        json_real(&json, "fpr_at_double", s->rate_at_double);
        json_real(&json, "cache_lines", s->cache_lines);
        json_whole(&json, "build_bytes", s->build_bytes);
        json_bool(&json, "static", (caps & TAMIS_IS_STATIC) != 0);
        json_bool(&json, "remove", (caps & TAMIS_CAN_REMOVE) != 0);
        json_bool(&json, "grow", (caps & TAMIS_CAN_GROW) != 0);
        json_bool(&json, "merge", (caps & TAMIS_CAN_UNION) != 0);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* ---- text */

static const char *ability(uint32_t caps) {
    if (caps & TAMIS_IS_STATIC) return "static";
    if (caps & TAMIS_CAN_GROW) return "grow";
    if ((caps & TAMIS_CAN_REMOVE) && (caps & TAMIS_CAN_UNION)) return "remove+merge";
    if (caps & TAMIS_CAN_REMOVE) return "remove";
    return caps & TAMIS_CAN_UNION ? "merge" : "add";
}

static void print_family(const struct plan *plan, size_t i) {
    const tamis_sizing *s = &plan->sizing[i];
    const bool chosen = s == plan->choice;
    if (plan->status[i] != TAMIS_OK) {
        const bool small = plan->status[i] == TAMIS_E_TOO_BIG && plan->want.bytes != 0;
        printf("  %-9s%s%s%s\n", tamis_kind_name(s->kind), term_style(stdout, STYLE_DIM),
               small ? "does not fit" : tamis_status_text(plan->status[i]),
               term_style(stdout, STYLE_PLAIN));
        return;
    }
    /* A static kind holds its n keys, neither fewer nor more. */
    const bool fixed = (tamis_kind_caps(s->kind) & TAMIS_IS_STATIC) != 0;
    printf("%s%c %-8s %7s %9s%6u%9s%9s%9s%6.1f %s%s\n",
           chosen ? term_style(stdout, STYLE_GREEN) : "", chosen ? '>' : ' ',
           tamis_kind_name(s->kind), text_bits(s->bits_per_key).at, text_bytes(s->bytes).at,
           (unsigned)s->hashes, fixed ? "-" : text_rate(s->rate_at_half).at, text_rate(s->rate).at,
           fixed                    ? "-"
           : s->rate_at_double >= 1 ? "full"
                                    : text_rate(s->rate_at_double).at,
           s->cache_lines, ability(tamis_kind_caps(s->kind)),
           chosen ? term_style(stdout, STYLE_PLAIN) : "");
}

static void print_textbook(const struct plan *plan) {
    const uint64_t n = plan->want.capacity;
    uint64_t bits = plan->want.bytes <= UINT64_MAX / 8 ? 8 * plan->want.bytes : 0; /* 0: no line */
    if (plan->want.rate > 0) bits = tamis_classic_bits(n, plan->want.rate);
    const uint32_t hashes = tamis_classic_hashes(bits, n);
    if (plan->want.rate > 0) {
        printf("%s at a rate of %s (%s)\n", text_things(n, "key").at, text_rate(plan->want.rate).at,
               text_odds(plan->want.rate).at);
    } else {
        printf("%s in %s\n", text_things(n, "key").at, text_bytes(plan->want.bytes).at);
    }
    if (n == 0 || bits == 0) return;
    printf("textbook: m = %s bits (%s), k = %u, p = %s", text_count(bits).at,
           text_bytes((bits + 7) / 8).at, (unsigned)hashes,
           text_rate(tamis_classic_rate(bits, hashes, n)).at);
    if (plan->want.rate > 0) {
        printf("\nbound:    no filter can do with less than %.2f bits/key", -log2(plan->want.rate));
    }
    putchar('\n');
}

/* A sentence behind a heading, broken into lines on a terminal. */
static void print_sentence(const char *heading, const char *sentence) {
    const size_t indent = 10, width = term_is(stdout) ? term_width(stdout) : 0;
    printf("%s%-*s%s", term_style(stdout, STYLE_BOLD), (int)indent, heading,
           term_style(stdout, STYLE_PLAIN));
    term_wrap(stdout, sentence, indent, indent, width > 2 * indent ? width - 1 : 0);
}

static void plan_text(const struct plan *plan) {
    char command[200];
    const char *bold = term_style(stdout, STYLE_BOLD), *plain = term_style(stdout, STYLE_PLAIN);
    print_textbook(plan);
    printf("\n%s  %-8s%8s %9s%6s%9s%9s%9s%6s %s%s\n", bold, "kind", "bits/key", "size", "reads",
           "p at n/2", "n", "2n", "lines", "can", plain);
    for (size_t i = 0; i < plan->count; i++) print_family(plan, i);
    if (plan->choice == NULL) {
        return;
    }
    build_command(plan, command, sizeof command);
    putchar('\n');
    print_sentence("choice", plan->advice.why);
    printf("%sbuild it%s  %s\n", bold, plain, command);
}

/* ---- drawings */

/* Kinds that make the drawing hard to read are left out of it: counting takes four times what
 * the others do; on a terminal xor would lie upon fuse, and growing upon block.  Each kind has its
 * series all the same, so that it has the same colour in both drawings of a file. */
static bool is_drawn(tamis_kind kind, bool terminal) {
    if (terminal && (kind == TAMIS_XOR || kind == TAMIS_GROWING)) return false;
    return kind != TAMIS_COUNTING;
}

#define DRAWN_LOWEST 1e-6
#define DRAWN_POINTS 100

static void draw_sizes(const struct plan *plan, struct plot *plot, struct series *s,
                       tamis_kind kind) {
    for (int i = 0; i <= DRAWN_POINTS; i++) {
        const double rate = 0.3 * pow(DRAWN_LOWEST / 0.3, (double)i / DRAWN_POINTS);
        tamis_sizing sizing;
        if (size_of(plan, kind, rate, &sizing) == TAMIS_OK) {
            plot_point(plot, s, rate, sizing.bits_per_key);
        }
    }
}

static void draw_size(const struct plan *plan, struct plot *plot, bool terminal) {
    const struct axis x = {"rate of false positives", true, 0, 0};
    const struct axis y = {"bits per key", false, 0, 0};
    plot_start(plot, "Size against rate", x, y);
    for (size_t k = 0; k < plan->count; k++) {
        const tamis_kind kind = plan->sizing[k].kind;
        struct series *s = plot_series(plot, tamis_kind_name(kind), false);
        if (is_drawn(kind, terminal)) draw_sizes(plan, plot, s, kind);
    }
    struct series *bound = plot_series(plot, "bound", true);
    plot_point(plot, bound, 0.3, -log2(0.3));
    plot_point(plot, bound, DRAWN_LOWEST, -log2(DRAWN_LOWEST));
}

/* From a quarter of the keys to twice as many, as far as it can hold them. */
static void draw_rates(const struct plan *plan, struct plot *plot, struct series *s,
                       tamis_kind kind) {
    const tamis_options want = want_kind(plan, kind);
    for (int i = DRAWN_POINTS / 8; i <= DRAWN_POINTS; i++) {
        const double share = 2.0 * i / DRAWN_POINTS;
        double rate;
        const uint64_t keys = (uint64_t)(share * (double)want.capacity);
        if (tamis_size_rate(&want, keys, &rate) != TAMIS_OK || rate >= 1) return;
        plot_point(plot, s, share, rate);
    }
}

static void draw_rate(const struct plan *plan, struct plot *plot) {
    const struct axis x = {"keys in it, as a multiple of n", false, 0, 0};
    const struct axis y = {"rate of false positives", true, 0, 0};
    plot_start(plot, "Rate against keys, for kinds that take adds", x, y);
    for (size_t k = 0; k < plan->count; k++) {
        const tamis_sizing *s = &plan->sizing[k];
        const bool hides = s->kind == TAMIS_COUNTING; /* bloom, whose rates it has */
        struct series *series = plot_series(plot, tamis_kind_name(s->kind), hides);
        if (plan->status[k] != TAMIS_OK || (tamis_kind_caps(s->kind) & TAMIS_IS_STATIC)) continue;
        draw_rates(plan, plot, series, s->kind);
    }
}

/* Above the numbers: what is asked for stands at the end, also where the drawing has pushed the
 * rest off the screen. */
static void plan_draw_text(const struct plan *plan) {
    struct plot plot;
    if (plan->want.capacity == 0 || !term_is(stdout)) return;
    const unsigned width = term_width(stdout);
    draw_size(plan, &plot, true);
    plot_text(&plot, stdout, width > 84 ? 72 : width > 40 ? width - 12 : 28, 16);
    putchar('\n');
    plot_free(&plot);
}

static void plan_draw_svg(const struct plan *plan) {
    struct plot plots[2];
    draw_size(plan, &plots[0], false);
    draw_rate(plan, &plots[1]);
    plot_svg(plots, 2, plan->svg);
    plot_free(&plots[0]);
    plot_free(&plots[1]);
}

static int plan_main(struct args *args) {
    struct plan plan = {.want = TAMIS_OPTIONS_INIT, .advice = TAMIS_ADVICE_INIT};
    plan_parse(args, &plan);
    plan_compute(&plan);
    if (plan.json) {
        plan_json(&plan);
    } else {
        plan_draw_text(&plan);
        plan_text(&plan);
    }
    if (plan.svg != NULL) plan_draw_svg(&plan);
    stdout_close();
    if (plan.choice == NULL) {
        char why[300];
        plan_why(&plan, why, sizeof why);
        die("%s", why);
    }
    return EXIT_DONE;
}

const struct command command_plan = {
    "plan",
    "compare the kinds for n keys and choose one",
    "-n N (-p RATE | -M SIZE) [--need WHAT]... [--json] [--svg FILE]",
    "Tells what each kind of filter would take for N keys at a rate of false positives, or\n"
    "which rate it would reach in a given size, and which one to choose, and why.",
    {plan_options, NULL, NULL, NULL},
    "  tamis plan -n 1M -p 1%\n"
    "  tamis plan -n 100M -M 128Mi --need static\n"
    "  tamis plan -n 5M -p 1e-6 --need delete --json\n"
    "  tamis plan -n 1M -p 0.1% --svg plan.svg",
    plan_main};
