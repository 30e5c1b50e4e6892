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
#include "svg_file.h"
#include "term.h"

#define KINDS_MAX 16
#define FPR_DEFAULT 0.01

struct plan {
    tamis_options options;
    bool default_needs; /* no --need: those of `tamis build` without -k */
    tamis_advice advice;
    tamis_status advised;
    size_t count;
    tamis_sizing sizing[KINDS_MAX];
    tamis_status status[KINDS_MAX];
    const tamis_sizing *choice; /* NULL: none */
    bool json;
    const char *svg;
};

/* The choices of --need, in their order. */
static const uint32_t needs[] = {TAMIS_NEED_ADD, TAMIS_NEED_REMOVE, TAMIS_NEED_GROW,
                                 TAMIS_NEED_MERGE, TAMIS_NEED_STATIC};

static uint32_t need_of(const struct args *args) {
    uint32_t choice = 0;
    const struct binding list[] = {{OPT_NEED, .choice = &choice}, {0}};
    if (strcmp(args->value, "delete") == 0) return TAMIS_NEED_REMOVE;
    args_store(args, OPT_NEED, list);
    return needs[choice];
}

static void plan_parse(struct args *args, struct plan *plan) {
    tamis_options *options = &plan->options;
    bool has_number = false;
    const struct binding list[] = {{OPT_NUMBER, .number = &options->capacity, .flag = &has_number},
                                   {OPT_FPR, .fpr = &options->fpr},
                                   {OPT_BUDGET, .number = &options->bytes, .low = 1},
                                   {OPT_JSON, .flag = &plan->json},
                                   {OPT_SVG, .text = &plan->svg},
                                   {0}};
    for (int id; (id = args_next(args)) != ARG_END;) {
        if (id == OPT_NEED) options->needs |= need_of(args);
        if (id == ARG_OPERAND) {
            die("'%s' is not expected here: plan reads no files", args->value);
        }
        args_store(args, id, list);
    }
    svg_file_check(plan->svg);
    if (!has_number) die("missing -n N (the number of keys)");
    if (options->fpr != 0 && options->bytes != 0) {
        die("-p and -M contradict each other: give the rate or the size, not both");
    }
    if (options->fpr == 0 && options->bytes == 0) options->fpr = FPR_DEFAULT;
    if (plan->svg != NULL && options->capacity == 0) {
        die("--svg: there is nothing to draw for 0 keys");
    }
}

/* ---- the arithmetic */

static tamis_options options_of_kind(const struct plan *plan, tamis_kind kind) {
    tamis_options options = plan->options;
    options.kind = kind;
    return options;
}

static tamis_status size_of(const struct plan *plan, tamis_kind kind, double fpr,
                            tamis_sizing *sizing) {
    const tamis_sizing empty = TAMIS_SIZING_INIT;
    tamis_options options = options_of_kind(plan, kind);
    if (fpr > 0) {
        options.fpr = fpr;
        options.bytes = 0;
    }
    *sizing = empty;
    const tamis_status status = tamis_size(&options, sizing);
    sizing->kind = kind;
    return status;
}

static void plan_compute(struct plan *plan) {
    plan->default_needs = plan->options.needs == 0;
    if (plan->default_needs) needs_of_known_keys(&plan->options);
    plan->advised = tamis_plan(&plan->options, &plan->advice);
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO && plan->count < KINDS_MAX;
         k = tamis_kind_next(k)) {
        const size_t i = plan->count++;
        plan->status[i] = size_of(plan, k, 0, &plan->sizing[i]);
        const bool good = plan->advised == TAMIS_OK && plan->status[i] == TAMIS_OK;
        if (good && k == plan->advice.choice) plan->choice = &plan->sizing[i];
    }
}

/* The rate given, or the rate of the choice in the size given. */
static double plan_fpr(const struct plan *plan) {
    if (plan->options.fpr > 0) return plan->options.fpr;
    return plan->choice != NULL ? plan->choice->fpr : 0;
}

/* The next rate of three digits. */
static double fpr_above(double fpr) {
    const double unit = pow(10, floor(log10(fpr)) - 2);
    return (floor(fpr / unit + 1e-6) + 1) * unit;
}

/* The next rate to try.  If no rate is expected, the one that fits may be far away. */
static double fpr_next(const struct plan *plan, double fpr) {
    return fpr_above(plan_fpr(plan) > 0 ? fpr : 1.05 * fpr);
}

/* The rate as an option: as it was given, or the lowest rate of three digits at which the filter
 * fits in the size.  That may be above the expected rate, because a filter built for a rate keeps
 * it with a margin.  For 0 keys no rate is expected: the default. */
static struct text fpr_option(const struct plan *plan) {
    if (plan->options.fpr > 0) return text_exact(plan->options.fpr);
    tamis_sizing sizing;
    const double expected = plan_fpr(plan);
    for (double fpr = expected > 0 ? fpr_above(expected) : FPR_DEFAULT;;
         fpr = fpr_next(plan, fpr)) {
        fpr = strtod(text_of("%.3g", fpr).at, NULL); /* as build will read it */
        const tamis_status status = size_of(plan, plan->choice->kind, fpr, &sizing);
        const bool fits = status == TAMIS_OK && sizing.bytes <= plan->options.bytes;
        if (fits || fpr_next(plan, fpr) >= 1) return text_exact(fpr);
    }
}

static void build_command(const struct plan *plan, char *text, size_t size) {
    const uint32_t caps = tamis_kind_caps(plan->advice.choice);
    char capacity[40] = "";
    if (!(caps & (TAMIS_IS_STATIC | TAMIS_CAN_GROW))) {
        snprintf(capacity, sizeof capacity, " -n %llu", (unsigned long long)plan->options.capacity);
    }
    snprintf(text, size, "tamis build -k %s -p %s%s -o FILE.tamis KEYS.txt",
             tamis_kind_name(plan->advice.choice), fpr_option(plan).at, capacity);
}

/* Why the choice, or why there is none. */
static void plan_why(const struct plan *plan, char *text, size_t size) {
    const uint64_t n = plan->options.capacity;
    tamis_sizing sizing;
    if (plan->advised != TAMIS_OK || plan->choice != NULL) {
        snprintf(text, size, "%s", plan->advice.why);
    } else if (plan->options.bytes != 0) {
        snprintf(text, size, "no filter of %s that meets the needs fits in %s",
                 text_plural(n, "key").at, text_bytes(plan->options.bytes).at);
    } else if (size_of(plan, plan->advice.choice, 0, &sizing) == TAMIS_E_FPR_TOO_LOW) {
        snprintf(text, size, "no kind that meets the needs reaches a false positive rate of %s",
                 text_fpr(plan->options.fpr).at);
    } else {
        snprintf(text, size, "a filter of %s keys would be larger than this machine can address",
                 text_count(n).at);
    }
}

static void plan_json(const struct plan *plan) {
    struct json json = {stdout, 0, false};
    char command[200], why[300];
    json_open(&json, NULL, '{');
    json_whole(&json, "n", plan->options.capacity);
    if (plan->options.fpr > 0) {
        json_real(&json, "fpr", plan->options.fpr);
    } else {
        json_estimate(&json, "fpr", plan_fpr(plan));
    }
    if (plan->options.bytes != 0) json_whole(&json, "size", plan->options.bytes);
    json_string(&json, "choice", plan->choice != NULL ? tamis_kind_name(plan->advice.choice) : "");
    plan_why(plan, why, sizeof why);
    json_string(&json, "why", why);
    if (plan->choice != NULL) {
        build_command(plan, command, sizeof command);
        json_string(&json, "command", command);
    }
    if (plan->options.fpr > 0) {
        const uint64_t bits = tamis_classic_bits(plan->options.capacity, plan->options.fpr);
        json_whole(&json, "classic_bits", bits);
        json_whole(&json, "classic_hashes", tamis_classic_hashes(bits, plan->options.capacity));
        json_estimate(&json, "bound_bits_per_key", -log2(plan->options.fpr));
    }
    json_open(&json, "families", '[');
    for (size_t i = 0; i < plan->count; i++) {
        const tamis_sizing *s = &plan->sizing[i];
        const uint32_t caps = tamis_kind_caps(s->kind);
        if (plan->status[i] != TAMIS_OK) continue;
        json_open(&json, NULL, '{');
        json_string(&json, "kind", tamis_kind_name(s->kind));
        json_estimate(&json, "bits_per_key", s->bits_per_key);
        json_whole(&json, "bytes", s->bytes);
        json_whole(&json, "hashes", s->hashes);
        json_estimate(&json, "fpr", s->fpr);
        json_estimate(&json, "fpr_at_half", s->fpr_at_half);
        json_estimate(&json, "fpr_at_double", s->fpr_at_double);
        json_estimate(&json, "cache_lines", s->cache_lines);
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

/* What a kind supports besides adds and lookups. */
static const char *ability(uint32_t caps) {
    if (caps & TAMIS_IS_STATIC) return "(static)";
    if (caps & TAMIS_CAN_GROW) return "grow";
    if ((caps & TAMIS_CAN_REMOVE) && (caps & TAMIS_CAN_UNION)) return "remove+merge";
    if (caps & TAMIS_CAN_REMOVE) return "remove";
    return caps & TAMIS_CAN_UNION ? "merge" : "";
}

static void print_family(const struct plan *plan, size_t i) {
    const tamis_sizing *s = &plan->sizing[i];
    const bool chosen = s == plan->choice;
    if (plan->status[i] != TAMIS_OK) {
        const bool small = plan->status[i] == TAMIS_E_TOO_BIG && plan->options.bytes != 0;
        printf("  %-9s%s%s%s\n", tamis_kind_name(s->kind), term_style(stdout, STYLE_DIM),
               small ? "does not fit" : tamis_status_text(plan->status[i]),
               term_style(stdout, STYLE_PLAIN));
        return;
    }
    /* A static kind holds exactly its n keys. */
    const bool fixed = (tamis_kind_caps(s->kind) & TAMIS_IS_STATIC) != 0;
    printf("%s%c %-8s %7s %9s%6u%6.1f%9s%9s%9s %s%s\n",
           chosen ? term_style(stdout, STYLE_GREEN) : "", chosen ? '>' : ' ',
           tamis_kind_name(s->kind), text_bits(s->bits_per_key).at, text_bytes(s->bytes).at,
           (unsigned)s->hashes, s->cache_lines, fixed ? "-" : text_fpr(s->fpr_at_half).at,
           text_fpr(s->fpr).at,
           fixed                   ? "-"
           : s->fpr_at_double >= 1 ? "full"
                                   : text_fpr(s->fpr_at_double).at,
           ability(tamis_kind_caps(s->kind)), chosen ? term_style(stdout, STYLE_PLAIN) : "");
}

static void print_textbook(const struct plan *plan) {
    const uint64_t n = plan->options.capacity;
    uint64_t bits =
        plan->options.bytes <= UINT64_MAX / 8 ? 8 * plan->options.bytes : 0; /* 0: no line */
    if (plan->options.fpr > 0) bits = tamis_classic_bits(n, plan->options.fpr);
    const uint32_t hashes = tamis_classic_hashes(bits, n);
    if (plan->options.fpr > 0) {
        printf("%s at a false positive rate of %s (%s)\n", text_plural(n, "key").at,
               text_fpr(plan->options.fpr).at, text_odds(plan->options.fpr).at);
    } else {
        printf("%s in %s\n", text_plural(n, "key").at, text_bytes(plan->options.bytes).at);
    }
    if (n == 0 || bits == 0) return;
    printf("textbook: m = %s bits (%s), k = %u, p = %s", text_count(bits).at,
           text_bytes((bits + 7) / 8).at, (unsigned)hashes,
           text_fpr(tamis_classic_fpr(bits, hashes, n)).at);
    if (plan->options.fpr > 0) {
        printf("\nbound:    every filter takes at least %.2f bits/key", -log2(plan->options.fpr));
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

/* What each need would change. */
static void print_other_needs(const struct plan *plan) {
    const char *const *names = option_of(OPT_NEED)->choices;
    char text[200] = "";
    size_t used = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (needs[i] == TAMIS_NEED_STATIC) continue;
        tamis_options options = plan->options;
        tamis_advice advice = TAMIS_ADVICE_INIT;
        options.needs = needs[i];
        if (tamis_plan(&options, &advice) != TAMIS_OK) continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s: %s",
                             used > 0 ? ", " : "--need ", names[i], tamis_kind_name(advice.choice));
    }
    print_sentence("otherwise", text);
}

static void plan_text(const struct plan *plan) {
    char command[200];
    const char *bold = term_style(stdout, STYLE_BOLD), *plain = term_style(stdout, STYLE_PLAIN);
    print_textbook(plan);
    printf(
        "\n%s%28s  per lookup   false positive rate with\n"
        "  %-8s%8s %9s%6s%6s%9s%9s%9s %s%s\n",
        bold, "", "kind", "bits/key", "size", "reads", "lines", "n/2 keys", "n keys", "2n keys",
        "can also", plain);
    for (size_t i = 0; i < plan->count; i++) print_family(plan, i);
    printf(
        "%s  reads: bits or slots.  lines: cache lines.  full: no room left.\n"
        "  (static): built from all keys, no adds later.%s\n",
        term_style(stdout, STYLE_DIM), plain);
    if (plan->choice == NULL) return;
    build_command(plan, command, sizeof command);
    putchar('\n');
    print_sentence("choice", plan->advice.why);
    if (plan->default_needs) print_other_needs(plan);
    printf("%sbuild it%s  %s\n", bold, plain, command);
}

/* ---- drawings */

/* Leaves out the kinds that make a drawing hard to read: counting takes four times the space of
 * the others; on a terminal xor would hide fuse, and growing would hide block.  They keep their
 * series, so that a kind has the same colour and mark in all drawings. */
static bool is_drawn(tamis_kind kind, bool terminal) {
    if (terminal && (kind == TAMIS_XOR || kind == TAMIS_GROWING)) return false;
    return kind != TAMIS_COUNTING;
}

#define DRAWN_LOWEST 1e-6
#define DRAWN_POINTS 100

static void draw_sizes(const struct plan *plan, struct plot *plot, struct plot_series *s,
                       tamis_kind kind) {
    for (int i = 0; i <= DRAWN_POINTS; i++) {
        const double fpr = 0.3 * pow(DRAWN_LOWEST / 0.3, (double)i / DRAWN_POINTS);
        tamis_sizing sizing;
        if (size_of(plan, kind, fpr, &sizing) == TAMIS_OK) {
            plot_point(plot, s, fpr, sizing.bits_per_key);
        }
    }
}

static void draw_size(const struct plan *plan, struct plot *plot, bool terminal) {
    plot->title = "Size by false positive rate";
    plot->x = (struct plot_axis){"false positive rate", true, 0, 0};
    plot->y = (struct plot_axis){"size, bits per key", false, 0, 0};
    plot->count = 0;
    for (size_t k = 0; k < plan->count; k++) {
        const tamis_kind kind = plan->sizing[k].kind;
        struct plot_series *s = plot_series(plot, tamis_kind_name(kind), false);
        if (is_drawn(kind, terminal)) draw_sizes(plan, plot, s, kind);
    }
    struct plot_series *bound = plot_series(plot, "lower bound", true);
    plot_point(plot, bound, 0.3, -log2(0.3));
    plot_point(plot, bound, DRAWN_LOWEST, -log2(DRAWN_LOWEST));
}

/* From a quarter of the capacity to twice the capacity, as far as the kind holds the keys. */
static void draw_fprs(const struct plan *plan, struct plot *plot, struct plot_series *s,
                      tamis_kind kind) {
    const tamis_options options = options_of_kind(plan, kind);
    for (int i = DRAWN_POINTS / 8; i <= DRAWN_POINTS; i++) {
        const double share = 2.0 * i / DRAWN_POINTS;
        double fpr;
        const uint64_t keys = (uint64_t)(share * (double)options.capacity);
        if (tamis_size_fpr(&options, keys, &fpr) != TAMIS_OK || fpr >= 1) return;
        plot_point(plot, s, share, fpr);
    }
}

static void draw_fpr(const struct plan *plan, struct plot *plot) {
    plot->title = "False positive rate by number of keys, kinds that take adds";
    plot->x = (struct plot_axis){"keys in the filter / capacity", false, 0, 0};
    plot->y = (struct plot_axis){"false positive rate", true, 0, 0};
    plot->count = 0;
    for (size_t k = 0; k < plan->count; k++) {
        const tamis_sizing *s = &plan->sizing[k];
        /* counting has the rates of bloom: the dashes let it show through. */
        struct plot_series *series =
            plot_series(plot, tamis_kind_name(s->kind), s->kind == TAMIS_COUNTING);
        if (plan->status[k] != TAMIS_OK || (tamis_kind_caps(s->kind) & TAMIS_IS_STATIC)) continue;
        draw_fprs(plan, plot, series, s->kind);
    }
}

/* Above the table, so that the choice is the last thing on the screen. */
static void plan_draw_text(const struct plan *plan) {
    struct plot plot;
    if (plan->options.capacity == 0 || !term_is(stdout)) return;
    const unsigned width = term_width(stdout);
    const struct plot_screen screen = {.columns = width > 84   ? 72
                                                  : width > 40 ? width - 12
                                                               : 28,
                                       .rows = 16,
                                       .utf8 = term_utf8(),
                                       .colour = term_style(stdout, STYLE_BOLD)[0] != '\0'};
    draw_size(plan, &plot, true);
    plot_text(&plot, &screen, stdout);
    putchar('\n');
}

static void plan_draw_svg(const struct plan *plan) {
    struct plot plots[2];
    draw_size(plan, &plots[0], false);
    draw_fpr(plan, &plots[1]);
    svg_file_write(plots, 2, plan->svg);
}

static int plan_main(struct args *args) {
    struct plan plan = {.options = TAMIS_OPTIONS_INIT, .advice = TAMIS_ADVICE_INIT};
    plan_parse(args, &plan);
    plan_compute(&plan);
    if (plan.json) {
        plan_json(&plan);
    } else {
        plan_draw_text(&plan);
        plan_text(&plan);
    }
    stdout_close();
    if (plan.svg != NULL) plan_draw_svg(&plan);
    if (plan.choice == NULL) {
        char why[300];
        plan_why(&plan, why, sizeof why);
        die("%s", why);
    }
    return EXIT_DONE;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "compare the kinds of filters for N keys and choose one",
    .usage = "-n N (-p RATE | -M SIZE) [--need WHAT]... [--json] [--svg FILE]",
    .about =
        "Compares what each kind of filter takes for N keys at a false positive rate, or "
        "which rate it reaches in a given size. Names the kind to choose, why, and the "
        "command that builds it.",
    .details =
        "For each kind it prints the bits per key and the size of the file, the bits or slots "
        "that a lookup reads and the cache lines that it touches, the false positive rate "
        "with half as many keys, with N and with twice as many, and what else the kind "
        "supports. The line `textbook` has the "
        "classic formulas of the Bloom filter, m = -n ln p / (ln 2)^2 and k = (m/n) ln 2. "
        "On a terminal it plots the size of each kind against the rate, with the "
        "theoretical minimum. --svg plots that, and the rate against the number of keys. "
        "--json prints an object with `n`, `fpr`, `choice`, `why` and `families`.",
    .options = {OPT_NUMBER, OPT_FPR, OPT_BUDGET, OPT_NEED, OPT_JSON, OPT_SVG},
    .exits = {[EXIT_DONE] = "a kind was chosen",
              [EXIT_ERROR] = "error, or no kind can do what is needed"},
    .examples =
        "  tamis plan -n 1M -p 1%\n"
        "  tamis plan -n 100M -M 128Mi --need static\n"
        "  tamis plan -n 5M -p 1e-6 --need remove --json\n"
        "  tamis plan -n 1M -p 0.1% --svg plan.svg\n",
    .see = "bench build",
    .run = plan_main};
