/* cmd_info.c - tamis info: the parameters and the state of filters */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "numbers.h"
#include "output.h"
#include "request.h"
#include "term.h"

/* The number of keys: counted, or estimated from the fill. */
static uint64_t info_keys(const tamis_facts *facts) {
    if (facts->distinct_error > 0 && facts->adds != 0) return facts->adds;
    return facts->distinct > 0 && facts->distinct < 1.8e19 ? (uint64_t)(facts->distinct + 0.5) : 0;
}

/* Other systems' filters have no checksum. */
static const char *checksum_state(const tamis_facts *facts) {
    return strcmp(facts->format, "tamis") == 0 ? "ok" : "none";
}

static void info_json(struct json *json, const char *path, const tamis_facts *f) {
    char form[256];
    key_form_text(&f->form, form, sizeof form);
    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_string(json, "format", f->format);
    json_string(json, "kind", tamis_kind_name(f->kind));
    json_whole(json, "keys", info_keys(f));
    json_estimate(json, "distinct", f->distinct);
    json_estimate(json, "distinct_error", f->distinct_error);
    json_whole(json, "adds", f->adds);
    json_whole(json, "capacity", f->capacity);
    json_whole(json, "bytes", f->encoded_bytes);
    json_whole(json, "table_bytes", f->table_bytes);
    json_estimate(json, "bits_per_key", f->bits_per_key);
    json_whole(json, "hashes", f->hashes);
    json_whole(json, "width", f->width);
    json_whole(json, "stages", f->stages);
    json_estimate(json, "fill", f->fill);
    json_real(json, "fpr_target", f->fpr_target);
    json_estimate(json, "fpr_now", f->fpr_now);
    json_bool(json, "over_capacity", f->over_capacity);
    json_string(json, "hasher", f->hash);
    json_whole(json, "seed", f->seed);
    json_bool(json, "keyed", f->keyed);
    json_string(json, "key_options", form);
    json_string(json, "checksum", checksum_state(f));
    if (f->note != NULL) json_string(json, "note", f->note);
    json_close(json, '}');
}

/* "name        value" */
static void row(const char *name, const char *format, ...) PRINTF_LIKE(2, 3);

static void row(const char *name, const char *format, ...) {
    va_list arguments;
    printf("  %s%-10s%s ", term_style(stdout, STYLE_DIM), name, term_style(stdout, STYLE_PLAIN));
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* The file that the rows describe. */
static void heading(const char *path) {
    char name[4096];
    term_plain(path, name, sizeof name);
    printf("%s%s%s\n", term_style(stdout, STYLE_BOLD), name, term_style(stdout, STYLE_PLAIN));
}

static void print_changes(uint32_t kind_caps) {
    static const struct {
        uint32_t cap;
        const char *word;
    } words[] = {{TAMIS_IS_STATIC, "none (static: built once)"},
                 {TAMIS_CAN_ADD, "add"},
                 {TAMIS_CAN_REMOVE, "remove"},
                 {TAMIS_CAN_GROW, "grow"},
                 {TAMIS_CAN_UNION, "merge"}};
    char text[80] = "";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!(kind_caps & words[i].cap)) continue;
        if (text[0] != '\0') strcat(text, ", ");
        strcat(text, words[i].word);
    }
    row("changes", "%s", text);
}

static void print_fpr(const tamis_facts *f) {
    const char *alarm = f->over_capacity ? term_style(stdout, STYLE_RED) : "";
    const char *plain = f->over_capacity ? term_style(stdout, STYLE_PLAIN) : "";
    char promised[80] = "";
    if (f->fpr_target > 0) {
        snprintf(promised, sizeof promised, ", promised %s", text_fpr(f->fpr_target).at);
    }
    row("rate", "%s%s now (%s)%s%s%s", alarm, text_fpr(f->fpr_now).at, text_odds(f->fpr_now).at,
        promised, f->over_capacity ? ": over capacity" : "", plain);
}

static void print_room(const tamis_facts *f) {
    if (f->headroom == UINT64_MAX) {
        row("room", "grows as needed");
    } else if (f->capacity != 0 && (f->caps | tamis_kind_caps(f->kind)) & TAMIS_CAN_ADD) {
        row("room", "%s more of %s", text_count(f->headroom).at,
            text_plural(f->capacity, "key").at);
    }
}

/* What a lookup reads. */
static void print_probes(const tamis_facts *f) {
    if (f->width == 0) {
        row("reads", "%u bits per lookup", (unsigned)f->hashes);
    } else {
        row("reads", "%u %s of %u bits per lookup", (unsigned)f->hashes,
            f->kind == TAMIS_COUNTING ? "counters" : "slots", (unsigned)f->width);
    }
}

static void info_text(const char *path, const tamis_facts *f) {
    char form[256];
    key_form_text(&f->form, form, sizeof form);
    heading(path);
    row("kind", "%s%s%s", tamis_kind_name(f->kind), strcmp(f->format, "tamis") == 0 ? "" : ", ",
        strcmp(f->format, "tamis") == 0 ? "" : f->format);
    print_changes(tamis_kind_caps(f->kind));
    const struct text distinct = filter_distinct(f);
    if (f->adds != 0 && (double)f->adds != f->distinct) {
        row("keys", "%s distinct, %s added", distinct.at, text_count(f->adds).at);
    } else {
        row("keys", "%s distinct", distinct.at);
    }
    print_room(f);
    row("size", "%s, %s bits/key", text_bytes(f->encoded_bytes).at, text_bits(f->bits_per_key).at);
    print_probes(f);
    row("fill", "%.1f %%", 100 * f->fill);
    print_fpr(f);
    if (f->keyed) {
        row("hash", "%s, keyed, key id %016llx", f->hash, (unsigned long long)f->key_id);
    } else {
        row("hash", "%s, seed %llu", f->hash, (unsigned long long)f->seed);
    }
    row("records", "%s", form[0] != '\0' ? form : "whole records are keys");
    row("checksum", "%s", checksum_state(f));
    if (f->note != NULL) row("note", "%s", f->note);
}

static void parts_json(struct json *json, const char *path, const tamis_container *container) {
    tamis_part part = {.struct_size = sizeof part};
    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_string(json, "format", tamis_container_format(container));
    json_open(json, "parts", '[');
    for (size_t i = 0; i < tamis_container_count(container); i++) {
        if (tamis_container_part(container, i, &part) != TAMIS_OK) continue;
        json_open(json, NULL, '{');
        json_string(json, "part", part.name);
        json_string(json, "format", part.format);
        json_whole(json, "offset", part.offset);
        json_whole(json, "bytes", part.bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void parts_text(const char *path, const tamis_container *container) {
    tamis_part part = {.struct_size = sizeof part};
    char name[4 * TAMIS_PART_NAME + 8]; /* names come from the file */
    size_t filters = 0;
    heading(path);
    for (size_t i = 0; i < tamis_container_count(container); i++) {
        if (tamis_container_part(container, i, &part) == TAMIS_OK) filters += part.bytes != 0;
    }
    row("format", "%s, %zu filter%s", tamis_container_format(container), filters,
        filters == 1 ? "" : "s");
    for (size_t i = 0; i < tamis_container_count(container); i++) {
        if (tamis_container_part(container, i, &part) != TAMIS_OK || part.bytes == 0) continue;
        term_plain(part.name, name, sizeof name);
        row("part", "%-24s %s at byte %llu", name, text_bytes(part.bytes).at,
            (unsigned long long)part.offset);
    }
}

/* One file: a filter, or several. */
struct facts {
    tamis_container *container; /* either this, */
    tamis_facts facts;          /* or these */
};

static void print_facts(struct json *json, const char *path, struct facts *t) {
    if (t->container != NULL && json != NULL) {
        parts_json(json, path, t->container);
    } else if (t->container != NULL) {
        parts_text(path, t->container);
    } else if (json != NULL) {
        info_json(json, path, &t->facts);
    } else {
        info_text(path, &t->facts);
    }
    tamis_container_free(t->container);
}

static int info_main(struct args *args) {
    struct request r = REQUEST_INIT; /* its inputs are the filters */
    struct words *files = &r.inputs;
    struct json json = {stdout, 0, false};
    bool as_json = false;
    const struct binding list[] = {
        {ARG_OPERAND, .words = files}, {OPT_JSON, .flag = &as_json}, {0}};
    request_parse(&r, args, list);
    if (files->count == 0) die("missing FILE (the filter)");
    key_options_check(&r.keys);

    /* Opens all files before it prints anything: the output is complete or empty. */
    struct facts *facts = (struct facts *)need(files->count * sizeof *facts);
    progress_opening(&r.run, "info");
    for (size_t i = 0; i < files->count; i++) {
        tamis_container **container = &facts[i].container;
        *container = NULL;
        tamis_filter *filter = r.part != NULL
                                   ? request_open(&r, files->at[i], OPEN_MAPPED)
                                   : request_open_any(&r, files->at[i], OPEN_MAPPED, container);
        if (filter == NULL) continue;
        facts[i].facts = filter_facts(filter);
        tamis_free(filter); /* there may be more files than descriptors */
    }
    progress_end();
    if (as_json && files->count > 1) json_open(&json, NULL, '[');
    for (size_t i = 0; i < files->count; i++) {
        if (i > 0 && !as_json) putchar('\n');
        print_facts(as_json ? &json : NULL, files->at[i], &facts[i]);
    }
    if (as_json && files->count > 1) json_close(&json, ']');
    free(facts);
    words_free(files);
    stdout_close();
    return EXIT_DONE;
}

const struct command command_info = {
    .name = "info",
    .summary = "print what a filter is and how full it is",
    .usage = "[--json] FILE...",
    .about =
        "Prints the kind, keys, size, fill and current false positive rate of each filter, "
        "and verifies its checksums. Lists the filters of a file that holds several.",
    .details =
        "--json prints an object, or an array of them for several files, with at least "
        "`file`, `format`, `kind`, `keys`, `capacity`, `bytes`, `bits_per_key`, `hashes`, "
        "`fill`, `fpr_target`, `fpr_now`, `seed`, `keyed` and `checksum`.",
    .options = {OPT_JSON},
    .groups = FILTER_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "done", [EXIT_ERROR] = "error; nothing was printed"},
    .examples =
        "  tamis info seen.tamis\n"
        "  tamis info --json *.tamis | jq '.[] | [.file, .keys, .fpr_now]'\n",
    .see = "measure verify",
    .run = info_main};
