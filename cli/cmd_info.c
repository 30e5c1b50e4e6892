/* cmd_info.c - tamis info: what a filter is and how it does */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "numbers.h"
#include "output.h"
#include "request.h"
#include "term.h"

static const struct option_spec info_options[] = {
    {OPT_JSON, '\0', "json", NULL, "as JSON: an object, or an array of them for several files"},
    {OPT_FROM, '\0', "from", "FORMAT", "the filter's format, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "only this filter of a file that holds several"},
    {OPT_KEY_FILE, '\0', "key-file", "FILE", "the secret of a keyed filter: 32 hexadecimal digits"},
    OPTIONS_END};

/* The number of keys as well as it is known: counted, or estimated from the fill. */
static uint64_t info_keys(const tamis_facts *facts) {
    if (facts->distinct_error > 0 && facts->adds != 0) return facts->adds;
    return facts->distinct > 0 && facts->distinct < 1.8e19 ? (uint64_t)(facts->distinct + 0.5) : 0;
}

/* A foreign filter has none that we could compare. */
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
    json_real(json, "distinct", f->distinct);
    json_real(json, "distinct_error", f->distinct_error);
    json_whole(json, "adds", f->adds);
    json_whole(json, "capacity", f->capacity);
    json_whole(json, "bytes", f->encoded_bytes);
    json_whole(json, "table_bytes", f->table_bytes);
    json_real(json, "bits_per_key", f->bits_per_key);
    json_whole(json, "hashes", f->hashes);
    json_whole(json, "width", f->width);
    json_whole(json, "stages", f->stages);
    json_real(json, "fill", f->fill);
    json_real(json, "fpr_target", f->rate_target);
    json_real(json, "fpr_now", f->rate_now);
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

/* The file of which the rows tell. */
static void heading(const char *path) {
    char name[4096];
    term_plain(path, name, sizeof name);
    printf("%s%s%s\n", term_style(stdout, STYLE_BOLD), name, term_style(stdout, STYLE_PLAIN));
}

static void print_abilities(uint32_t kind_caps) {
    static const struct {
        uint32_t cap;
        const char *word;
    } words[] = {{TAMIS_IS_STATIC, "static"},
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
    row("can", "%s", text);
}

static void print_rate(const tamis_facts *f) {
    const char *alarm = f->over_capacity ? term_style(stdout, STYLE_RED) : "";
    const char *plain = f->over_capacity ? term_style(stdout, STYLE_PLAIN) : "";
    char promised[80] = "";
    if (f->rate_target > 0) {
        snprintf(promised, sizeof promised, ", promised %s", text_rate(f->rate_target).at);
    }
    row("rate", "%s%s now (%s)%s%s%s", alarm, text_rate(f->rate_now).at, text_odds(f->rate_now).at,
        promised, f->over_capacity ? ": over capacity" : "", plain);
}

static void print_room(const tamis_facts *f) {
    if (f->headroom == UINT64_MAX) {
        row("room", "grows as needed");
    } else if (f->capacity != 0 && (f->caps | tamis_kind_caps(f->kind)) & TAMIS_CAN_ADD) {
        row("room", "%s more of %s", text_count(f->headroom).at,
            text_things(f->capacity, "key").at);
    }
}

/* What is read for a key. */
static void print_probes(const tamis_facts *f) {
    if (f->width == 0) {
        row("reads", "%u bits for a key", (unsigned)f->hashes);
    } else {
        row("reads", "%u %s of %u bits for a key", (unsigned)f->hashes,
            f->kind == TAMIS_COUNTING ? "counters" : "slots", (unsigned)f->width);
    }
}

static void info_text(const char *path, const tamis_facts *f) {
    char form[256];
    key_form_text(&f->form, form, sizeof form);
    heading(path);
    row("kind", "%s%s%s", tamis_kind_name(f->kind), strcmp(f->format, "tamis") == 0 ? "" : ", ",
        strcmp(f->format, "tamis") == 0 ? "" : f->format);
    print_abilities(tamis_kind_caps(f->kind));
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
    print_rate(f);
    if (f->keyed) {
        row("hash", "%s, keyed, key id %016llx", f->hash, (unsigned long long)f->key_id);
    } else {
        row("hash", "%s, seed %llu", f->hash, (unsigned long long)f->seed);
    }
    row("records", "%s", form[0] != '\0' ? form : "whole records are keys");
    row("checksum", "%s", checksum_state(f));
    if (f->note != NULL) row("note", "%s", f->note);
}

/* ---- files that hold several filters */

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
    char name[4 * TAMIS_PART_NAME + 8]; /* columns are named by whoever made the file */
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
struct told {
    tamis_container *container; /* either this, */
    tamis_facts facts;          /* or these */
};

static void tell(struct json *json, const char *path, struct told *t) {
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
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case ARG_OPERAND:
                words_push(files, args->value);
                break;
            case OPT_JSON:
                as_json = true;
                break;
            default:
                request_take(&r, id, args);
        }
    }
    if (files->count == 0) die("which filter? Give its file");
    key_options_check(&r.keys);

    /* All are opened before anything is printed: the output is whole or nothing. */
    struct told *told = (struct told *)need(files->count * sizeof *told);
    progress_opening(&r.run, "info");
    for (size_t i = 0; i < files->count; i++) {
        told[i].container = r.part == NULL ? request_container(&r, files->at[i]) : NULL;
        if (told[i].container != NULL) continue;
        tamis_filter *filter = request_open(&r, files->at[i], OPEN_MAPPED);
        told[i].facts = filter_facts(filter);
        tamis_free(filter); /* there may be more files than can be open at once */
    }
    progress_end();
    if (as_json && files->count > 1) json_open(&json, NULL, '[');
    for (size_t i = 0; i < files->count; i++) {
        if (i > 0 && !as_json) putchar('\n');
        tell(as_json ? &json : NULL, files->at[i], &told[i]);
    }
    if (as_json && files->count > 1) json_close(&json, ']');
    free(told);
    words_free(files);
    stdout_close();
    return EXIT_DONE;
}

const struct command command_info = {
    "info",
    "tell what a filter is and how full",
    "[--json] FILE...",
    "Tells for each filter its kind, keys, size, fill and the rate of false positives that is\n"
    "expected now, and compares it with its checksums.",
    {info_options, NULL, NULL, NULL},
    "  tamis info seen.tamis\n"
    "  tamis info --json *.tamis | jq '.[] | [.file, .keys, .fpr_now]'",
    info_main};
