/* options.c - the options as a table, and the parser */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "numbers.h"
#include "output.h"
#include "suggest.h"

static const struct option_spec specs[OPTION_COUNT] = {
#define OPTION(name, in, ...) [OPT_##name] = {.id = OPT_##name, .group = GROUP_##in, __VA_ARGS__},
#include "options.def"
#undef OPTION
};

const char *const group_titles[GROUP_COUNT] = {"Options", "Filter", "Keys (KEYOPTS)", "Server",
                                               "Running"};

const struct option_spec *option_of(enum option_id id) { return &specs[id]; }

static bool is_listed(const struct command *command, enum option_id id) {
    for (size_t i = 0; i < COMMAND_OPTIONS; i++) {
        if (command->options[i] == id) return true;
    }
    return false;
}

const struct option_spec *command_option(const struct command *command, size_t index) {
    for (size_t i = 0; i < COMMAND_OPTIONS && command->options[i] != OPT_NONE; i++) {
        if (index-- == 0) return &specs[command->options[i]];
    }
    for (enum option_id id = OPT_NONE + 1; id < OPTION_COUNT; id++) {
        const bool in_group = (command->groups >> specs[id].group & 1) != 0;
        if (in_group && !is_listed(command, id) && index-- == 0) return &specs[id];
    }
    return NULL;
}

const char *exit_text(const struct command *command, int code) {
    static const char *const texts[] = {
        "something was selected, or the work is done",
        "nothing was selected, a key is missing, or a key to remove was not there",
        "error; nothing was changed",
        "done, but the filter is over its capacity; the promised rate does not hold",
        "the file was changed, but a step after that failed: do not repeat the command"};
    if (command == NULL) return texts[code];
    if (command->exits[code] == NULL && code == EXIT_ERROR) return texts[code];
    return command->exits[code];
}

/* ---- lists of names */

static const char *format_name(bool writable, size_t index) {
    const char *name;
    for (size_t i = 0; (name = tamis_format_at(i)) != NULL; i++) {
        if ((!writable || tamis_format_can_create(name)) && index-- == 0) break;
    }
    return name;
}

const char *list_name(char list, const struct option_spec *spec, size_t index) {
    const uint32_t cap = list == 'a'   ? TAMIS_CAN_ADD
                         : list == 'r' ? TAMIS_CAN_REMOVE
                         : list == 'm' ? TAMIS_CAN_UNION
                         : list == 'i' ? TAMIS_CAN_INTERSECT
                                       : 0;
    if (list == 'f' || list == 'w') return format_name(list == 'w', index);
    if (list == 'c') return spec->choices[index];
    tamis_kind kind = tamis_kind_next(TAMIS_AUTO);
    for (; kind != TAMIS_AUTO; kind = tamis_kind_next(kind)) {
        if ((tamis_kind_caps(kind) & cap) == cap && index-- == 0) break;
    }
    return tamis_kind_name(kind);
}

const char *list_description(char list, const char *name) {
    return list == 'k'                  ? tamis_kind_description(tamis_kind_find(name))
           : list == 'f' || list == 'w' ? tamis_format_description(name)
                                        : "";
}

/* "a, b or c" */
static size_t list_names(char list, const struct option_spec *spec, char *to, size_t size) {
    size_t used = 0;
    const char *name = list_name(list, spec, 0), *before = "";
    for (size_t i = 1; name != NULL && used < size; i++) {
        const char *next = list_name(list, spec, i);
        used += (size_t)snprintf(to + used, size - used, "%s%s",
                                 i > 1 && next == NULL ? " or " : before, name);
        before = ", ";
        name = next;
    }
    return used;
}

void expand_text(const char *text, const struct option_spec *spec, char *to, size_t size) {
    size_t used = 0;
    for (const char *at = text; *at != '\0' && used + 1 < size;) {
        const char *end =
            at[0] == '{' && strchr("armikfwc", at[1]) != NULL ? strchr(at, '}') : NULL;
        if (end == NULL) {
            to[used++] = *at++;
        } else {
            used += list_names(at[1], spec, to + used, size - used);
            at = end + 1;
        }
    }
    if (used >= size) used = size - 1;
    to[used] = '\0';
}

void unknown_name(const char *option, char list, const struct option_spec *spec, const char *name) {
    const char *what = list == 'k'                  ? "kind"
                       : list == 'f' || list == 'w' ? "format"
                                                    : "value",
               *candidate;
    struct suggestion best = {NULL, 0};
    char hint[80], all[TEXT_MAX];
    for (size_t i = 0; (candidate = list_name(list, spec, i)) != NULL; i++) {
        suggest(&best, name, candidate);
    }
    suggest_text(&best, "", hint, sizeof hint);
    if (best.word != NULL) die("%s: unknown %s '%s'%s", option, what, name, hint);
    list_names(list, spec, all, sizeof all);
    die("%s: unknown %s '%s': it must be %s", option, what, name, all);
}

static uint32_t choice_of(const struct args *args) {
    for (uint32_t i = 0; args->spec->choices[i] != NULL; i++) {
        if (strcmp(args->value, args->spec->choices[i]) == 0) return i;
    }
    unknown_name(args->shown, 'c', args->spec, args->value);
}

static const char *format_of(const struct args *args) {
    const bool write = args->spec->complete == COMPLETE_WRITABLE;
    if (tamis_format_description(args->value) == NULL) {
        unknown_name(args->shown, write ? 'w' : 'f', NULL, args->value);
    }
    if (write && !tamis_format_can_create(args->value)) {
        die("%s: the format '%s' is read-only", args->shown, args->value);
    }
    return args->value;
}

static tamis_kind kind_of(const struct args *args) {
    const tamis_kind kind = tamis_kind_find(args->value);
    if (kind == TAMIS_AUTO) unknown_name(args->shown, 'k', NULL, args->value);
    return kind;
}

static uint64_t number_for(const struct args *args, const struct binding *b) {
    return number_within(args->shown, args->value, b->low, b->high != 0 ? b->high : UINT64_MAX);
}

bool args_store(const struct args *args, int id, const struct binding *list) {
    const struct binding *b = list;
    while (b->id != id && b->id != OPT_NONE) b++;
    if (b->id == OPT_NONE) return false;
    if (b->flag != NULL) *b->flag = true;
    if (b->text != NULL) *b->text = args->value;
    if (b->words != NULL) words_push(b->words, args->value);
    if (b->number != NULL) *b->number = number_for(args, b);
    if (b->small != NULL) *b->small = (uint32_t)number_for(args, b);
    if (b->fpr != NULL) *b->fpr = fpr_of(args->shown, args->value);
    if (b->kind != NULL) *b->kind = kind_of(args);
    if (b->format != NULL) *b->format = format_of(args);
    if (b->choice != NULL) *b->choice = choice_of(args);
    if (b->bits != NULL) *b->bits |= b->mask;
    return true;
}

/* ---- the parser */

void args_start(struct args *args, const struct command *command, int count, char **words) {
    memset(args, 0, sizeof *args);
    args->command = command;
    args->count = count;
    args->words = words;
}

const struct option_spec *option_find(const struct command *command, char letter, const char *name,
                                      size_t length) {
    const struct option_spec *spec;
    for (size_t i = 0; (spec = command_option(command, i)) != NULL; i++) {
        if (letter != '\0' && spec->letter == letter) return spec;
        if (strlen(spec->name) == length && memcmp(spec->name, name, length) == 0) return spec;
    }
    return NULL;
}

/* Options of other tools, for commands that have the option `ours`. */
static const char *hint_of(const struct command *command, const char *typed) {
    static const struct {
        const char *typed, *ours, *hint;
    } hints[] = {{"-i", "fold-case", "did you mean '--fold-case'?"},
                 {"-z", "null", "did you mean '--null'?"},
                 {"--rate", "fpr", "did you mean '--fpr'?"},
                 {"-p", "server", "the server is given by -s HOST:PORT"},
                 {"--port", "server", "the server is given by -s HOST:PORT"},
                 {"--host", "server", "the server is given by -s HOST:PORT"},
                 {"--prehashed", "server", "a filter in Redis hashes its keys itself"},
                 {"--key-file", "server", "a filter in Redis keeps its own secret key"}};
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strcmp(typed, hints[i].typed) != 0) continue;
        if (option_find(command, '\0', hints[i].ours, strlen(hints[i].ours)) != NULL)
            return hints[i].hint;
    }
    return NULL;
}

static _Noreturn void unknown_option(const struct args *args) {
    const char *known = hint_of(args->command, args->shown);
    struct suggestion best = {NULL, 0};
    const struct option_spec *spec;
    char hint[80];
    if (known != NULL) die("unknown option %s; %s", args->shown, known);
    if (args->shown[1] == '-') {
        for (size_t i = 0; (spec = command_option(args->command, i)) != NULL; i++) {
            suggest(&best, args->shown + 2, spec->name);
        }
        suggest(&best, args->shown + 2, "help");
    }
    suggest_text(&best, "--", hint, sizeof hint);
    if (best.word != NULL) die("unknown option %s%s", args->shown, hint);
    die("unknown option %s; 'tamis %s --help' lists the options", args->shown, args->command->name);
}

static _Noreturn void help_and_exit(const struct command *command) {
    help_print(command, stdout);
    stdout_close();
    exit(EXIT_DONE);
}

/* The value of an option that needs one is attached, or the next word. */
static int take(struct args *args, const struct option_spec *spec, const char *attached) {
    args->spec = spec;
    if (spec == NULL) unknown_option(args);
    if (spec->value != NULL) {
        if (attached == NULL && args->at >= args->count) {
            die("missing %s after %s", spec->value, args->shown);
        }
        args->value = attached != NULL ? attached : args->words[args->at++];
    } else if (attached != NULL) {
        die("%s has no value", args->shown);
    }
    return (int)(spec->means != OPT_NONE ? spec->means : spec->id);
}

static int take_long(struct args *args, const char *name) {
    const size_t length = strcspn(name, "=");
    snprintf(args->shown, sizeof args->shown, "--%.*s", (int)(length < 60 ? length : 60), name);
    if (strcmp(args->shown, "--help") == 0) help_and_exit(args->command);
    return take(args, option_find(args->command, '\0', name, length),
                name[length] == '=' ? name + length + 1 : NULL);
}

static int take_letter(struct args *args) {
    const char letter = *args->cluster,
               *attached = args->cluster[1] != '\0' ? args->cluster + 1 : NULL;
    const struct option_spec *spec = option_find(args->command, letter, "", 0);
    snprintf(args->shown, sizeof args->shown, "-%c", letter);
    if (letter == 'h') help_and_exit(args->command);
    const bool flag = spec != NULL && spec->value == NULL;
    args->cluster = flag ? attached : NULL;
    return take(args, spec, flag ? NULL : attached);
}

int args_next(struct args *args) {
    args->value = NULL;
    if (args->cluster != NULL) return take_letter(args);
    if (args->at >= args->count) return ARG_END;

    const char *word = args->words[args->at++];
    if (!args->only_operands && strcmp(word, "--") == 0) {
        args->only_operands = true;
        return args_next(args);
    }
    if (args->only_operands || word[0] != '-' || word[1] == '\0') {
        args->value = word;
        return ARG_OPERAND;
    }
    if (word[1] == '-') return take_long(args, word + 2);
    args->cluster = word + 1;
    return take_letter(args);
}

void words_push(struct words *list, const char *word) {
    list->at = (const char **)need_room((void *)list->at, &list->capacity, list->count + 1,
                                        sizeof *list->at);
    list->at[list->count++] = word;
}

void words_free(struct words *list) { free((void *)list->at); }
