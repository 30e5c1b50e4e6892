/* options.c - the parser and the groups that commands share */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "suggest.h"

const struct option_spec options_keys[] = {
    {OPT_NUL, '0', "null", NULL, "records end with a NUL byte instead of a newline"},
    {OPT_DELIMITER, 'd', "delimiter", "C", "records end with the byte C (\\t, \\0, \\xHH too)"},
    {OPT_SEPARATOR, 't', "separator", "SEP", "fields are separated by SEP (default: a tab)"},
    {OPT_FIELD, 'F', "field", "N", "the key is the N-th field of the record, from 1"},
    {OPT_HEX, '\0', "hex", NULL, "keys are written in hexadecimal"},
    {OPT_PREHASHED, '\0', "prehashed", NULL, "keys are hashes: 16 hexadecimal digits"},
    {OPT_STRIP_CR, '\0', "strip-cr", NULL, "drop a carriage return at the end of a record"},
    {OPT_FOLD_CASE, '\0', "fold-case", NULL, "take ASCII capitals as small letters"},
    {OPT_AS, '\0', "as", "TYPE",
     "how the text becomes bytes: bytes, utf16, or a\n"
     "number: i32, i64, u64, f32, f64"},
    {OPT_KEY_FILE, '\0', "key-file", "FILE", "the secret of a keyed filter: 32 hexadecimal digits"},
    OPTIONS_END};

const struct option_spec options_running[] = {
    {OPT_THREADS, 'j', "threads", "N", "use at most N threads (default: all cores)"},
    {OPT_PROGRESS, '\0', "progress", NULL, "show progress even if stderr is no terminal"},
    {OPT_NO_PROGRESS, '\0', "no-progress", NULL, "never show progress"},
    OPTIONS_END};

const struct option_spec options_server[] = {
    {OPT_SERVER, 's', "server", "HOST:PORT",
     "a server, or nodes of a cluster, with commas between\n"
     "(default: $TAMIS_REDIS, or 127.0.0.1:6379)"},
    {OPT_USER, '\0', "user", "NAME", "log in as NAME; the password is in $REDISCLI_AUTH"},
    {OPT_PATIENCE, '\0', "patience", "SECONDS",
     "go on trying for so long without progress, while a\n"
     "cluster recovers (default 60)"},
    {OPT_TLS, '\0', "tls", NULL, "speak TLS"},
    {OPT_CACERT, '\0', "cacert", "FILE",
     "trust servers whose certificate this one has signed\n"
     "(default: those that the system trusts by their name)"},
    {OPT_CERT, '\0', "cert", "FILE", "the certificate to show to servers that ask for one"},
    {OPT_TLS_KEY, '\0', "key", "FILE", "its private key"},
    OPTIONS_END};

void args_start(struct args *args, const struct command *command, int count, char **words) {
    memset(args, 0, sizeof *args);
    args->command = command;
    args->count = count;
    args->words = words;
}

typedef bool option_test(const struct option_spec *spec, const char *name, size_t length);

static bool has_letter(const struct option_spec *spec, const char *name, size_t length) {
    (void)length;
    return spec->letter == name[0];
}

static bool has_name(const struct option_spec *spec, const char *name, size_t length) {
    return spec->name != NULL && strlen(spec->name) == length &&
           memcmp(spec->name, name, length) == 0;
}

static const struct option_spec *find(const struct command *command, option_test *test,
                                      const char *name, size_t length) {
    for (size_t g = 0; g < COMMAND_GROUPS && command->groups[g] != NULL; g++) {
        for (const struct option_spec *spec = command->groups[g]; spec->id != OPT_NONE; spec++) {
            if (test(spec, name, length)) return spec;
        }
    }
    return NULL;
}

static _Noreturn void unknown_long(const struct args *args, const char *name, size_t length) {
    struct suggestion best = {NULL, 0};
    char typed[40], hint[80];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < 39 ? length : 39), name);
    for (size_t g = 0; g < COMMAND_GROUPS && args->command->groups[g] != NULL; g++) {
        const struct option_spec *spec = args->command->groups[g];
        for (; spec->id != OPT_NONE; spec++) {
            if (spec->name != NULL) suggest(&best, typed, spec->name);
        }
    }
    suggest(&best, typed, "help");
    suggest_text(&best, "--", hint, sizeof hint);
    die("unknown option '--%s'%s", typed, hint);
}

/* Letters of grep, sort and uniq that are spelt out here. */
static _Noreturn void unknown_letter(const struct args *args, char letter) {
    struct suggestion best = {letter == 'i' ? "fold-case" : letter == 'z' ? "null" : NULL, 0};
    char hint[80];
    if (best.word != NULL && find(args->command, has_name, best.word, strlen(best.word)) == NULL) {
        best.word = NULL;
    }
    suggest_text(&best, "--", hint, sizeof hint);
    die("unknown option '-%c'%s", letter, hint);
}

/* The value of an option that needs one: attached, or the next word. */
static const char *take_value(struct args *args, const char *attached) {
    if (attached != NULL) return attached;
    if (args->at >= args->count) die("option %s needs a value", args->shown);
    return args->words[args->at++];
}

static _Noreturn void help_and_exit(const struct command *command) {
    help_print(command, stdout);
    stdout_close();
    exit(EXIT_DONE);
}

static int take_long(struct args *args, const char *name) {
    const char *equals = strchr(name, '=');
    const size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    snprintf(args->shown, sizeof args->shown, "--%.*s", (int)(length < 60 ? length : 60), name);
    if (length == 4 && memcmp(name, "help", 4) == 0) help_and_exit(args->command);
    const struct option_spec *spec = find(args->command, has_name, name, length);
    if (spec == NULL) unknown_long(args, name, length);
    if (spec->value == NULL && equals != NULL) die("option %s takes no value", args->shown);
    if (spec->value != NULL) args->value = take_value(args, equals != NULL ? equals + 1 : NULL);
    return (int)spec->id;
}

static int take_letter(struct args *args) {
    const char *letter = args->cluster;
    snprintf(args->shown, sizeof args->shown, "-%c", *letter);
    args->cluster = letter[1] != '\0' ? letter + 1 : NULL;
    if (*letter == 'h') help_and_exit(args->command);
    const struct option_spec *spec = find(args->command, has_letter, letter, 1);
    if (spec == NULL) unknown_letter(args, *letter);
    if (spec->value != NULL) {
        const char *attached = args->cluster;
        args->cluster = NULL;
        args->value = take_value(args, attached);
    }
    return (int)spec->id;
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
    if (list->count == list->capacity) {
        list->capacity = list->capacity != 0 ? 2 * list->capacity : 16;
        list->at = (const char **)need_more((void *)list->at, list->capacity * sizeof *list->at);
    }
    list->at[list->count++] = word;
}

void words_free(struct words *list) { free((void *)list->at); }
