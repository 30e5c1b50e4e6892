/* complete.c - completion in bash, zsh and fish
 *
 * The scripts call `tamis --complete WORD...` of the command that is on the line, so that what they
 * offer fits the installed version.  The last word is the one to complete.  Each candidate is a
 * line "word TAB description"; the line ":files TAB PREFIX" requests names of files, after the
 * PREFIX of the word that names the option ("--output=").  The shell selects the candidates that
 * match. */
#include <string.h>

#include "options.h"

static void offer(const char *prefix, size_t length, const char *name, const char *description) {
    printf("%.*s%s\t", (int)length, prefix, name);
    for (; *description != '\0'; description++) {
        if (*description != '`') putchar(*description);
    }
    putchar('\n');
}

static void offer_commands(const struct command *const *list) {
    for (; *list != NULL; list++) offer("", 0, command_word(*list), (*list)->summary);
}

static void offer_option(const char *dashes, const char *name, const char *help) {
    char brief[200]; /* without the list or the default at its end */
    const char *colon = strstr(help, ": "), *bracket = strstr(help, " (");
    size_t length = strlen(help);
    if (colon != NULL) length = (size_t)(colon - help);
    if (bracket != NULL && bracket < help + length) length = (size_t)(bracket - help);
    snprintf(brief, sizeof brief, "%.*s", (int)length, help);
    offer(dashes, strlen(dashes), name, brief);
}

static void offer_help(void) {
    offer("", 0, "-h", "print help");
    offer("", 0, "--help", "print help");
}

static void offer_options(const struct command *command) {
    const struct option_spec *spec;
    for (size_t i = 0; (spec = command_option(command, i)) != NULL; i++) {
        const char letter[] = {spec->letter, '\0'};
        if (spec->letter != '\0') offer_option("-", letter, spec->help);
        offer_option("--", spec->name, spec->help);
    }
    offer_help();
}

/* What completes a word after its first `length` bytes.  spec: the option whose value it is. */
static void offer_values(enum completion complete, const struct option_spec *spec, const char *word,
                         size_t length) {
    static const char lists[] = {[COMPLETE_KIND] = 'k',
                                 [COMPLETE_FORMAT] = 'f',
                                 [COMPLETE_WRITABLE] = 'w',
                                 [COMPLETE_CHOICE] = 'c'};
    const char *name;
    if (complete == COMPLETE_FILE) printf(":files\t%.*s\n", (int)length, word);
    if (complete == COMPLETE_FILE || complete == COMPLETE_NOTHING) return;
    for (size_t i = 0; (name = list_name(lists[complete], spec, i)) != NULL; i++) {
        offer(word, length, name, list_description(lists[complete], name));
    }
}

/* The option in a word that takes a value, or NULL; *value: where that begins, if it is in the word
 * too. */
static const struct option_spec *valued_option(const struct command *command, const char *word,
                                               const char **value) {
    const struct option_spec *spec = NULL;
    const char *end = word + strcspn(word, "=");
    *value = NULL;
    if (strncmp(word, "--", 2) == 0) {
        spec = option_find(command, '\0', word + 2, (size_t)(end - word) - 2);
        if (*end == '=') *value = end + 1;
    } else if (word[0] == '-') {
        for (end = word + 1; *end != '\0' && (spec == NULL || spec->value == NULL); end++) {
            spec = option_find(command, *end, "", 0);
            if (spec == NULL) return NULL;
        }
        if (*end != '\0') *value = end;
    }
    return spec != NULL && spec->value != NULL ? spec : NULL;
}

/* Bash splits --kind=cu into three words. */
static void complete_argument(const struct command *command, char **words, size_t count) {
    const struct option_spec *spec = NULL; /* the next word is its value */
    const char *value, *last = words[count - 1];
    for (size_t i = 0; i + 1 < count; i++) {
        if (spec != NULL) {
            if (strcmp(words[i], "=") != 0) spec = NULL;
        } else if (strcmp(words[i], "--") == 0) {
            offer_values(command->operands, NULL, "", 0);
            return;
        } else {
            spec = valued_option(command, words[i], &value);
            if (value != NULL) spec = NULL;
        }
    }
    if (spec != NULL) {
        offer_values(spec->complete, spec, "", 0);
    } else if ((spec = valued_option(command, last, &value)) != NULL && value != NULL) {
        offer_values(spec->complete, spec, last, (size_t)(value - last));
    } else if (last[0] == '-') {
        offer_options(command);
    } else {
        offer_values(command->operands, NULL, "", 0);
    }
}

static const struct command *find(const struct command *const *list, const char *name) {
    while (*list != NULL && strcmp(command_word(*list), name) != 0) list++;
    return *list;
}

/* The words after "help". */
static void complete_help(char **words, size_t count) {
    const struct command *command = find(commands, words[0]);
    if (count == 1) offer_commands(commands);
    if (count == 2 && command != NULL && command->verbs != NULL) offer_commands(command->verbs);
}

void complete_words(char **words) {
    size_t count = 0;
    while (words[count] != NULL) count++;
    if (count <= 1) {
        offer_commands(commands);
        offer("", 0, "help", "explain a command");
        offer("", 0, "--help", "print help");
        offer("", 0, "--version", "print the version");
        return;
    }
    const struct command *command = find(commands, words[0]);
    if (strcmp(words[0], "help") == 0) complete_help(words + 1, count - 1);
    if (command != NULL && command->verbs != NULL) {
        if (count == 2) {
            offer_commands(command->verbs);
            offer_help();
            return;
        }
        command = find(command->verbs, words[1]);
        words++;
        count--;
    }
    if (command != NULL) complete_argument(command, words + 1, count - 1);
}

static const char bash[] =
    "# tamis.bash - completion for bash; generated by tamis --generate bash\n"
    "_tamis() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} line prefix\n"
    "    [ \"$current\" != = ] || current='' # --kind=cu is three words to bash\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files* ]]; then\n"
    "            prefix=${line#*$'\\t'}\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -f -- "
    "\"${current#\"$prefix\"}\")\n"
    "        elif [[ $line == \"$current\"* ]]; then\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "}\n"
    "complete -F _tamis tamis\n";

static const char zsh[] =
    "#compdef tamis\n"
    "# _tamis - completion for zsh; generated by tamis --generate zsh\n"
    "_tamis() {\n"
    "    local line\n"
    "    local -a lines candidates\n"
    "    lines=(\"${(@f)$(${~words[1]} --complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if [[ $lines[1] == :files* ]]; then\n"
    "        compset -P \"${lines[1]#*$'\\t'}\"\n"
    "        _files\n"
    "        return\n"
    "    fi\n"
    "    for line in $lines; do\n"
    "        candidates+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done\n"
    "    _describe tamis candidates\n"
    "}\n"
    "_tamis \"$@\"\n";

static const char fish[] =
    "# tamis.fish - completion for fish; generated by tamis --generate fish\n"
    "function __tamis_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l command (string replace -r '^~' $HOME -- $words[1])\n"
    "    $command --complete $words[2..-1] 2>/dev/null\n"
    "end\n"
    "complete -c tamis -f -a '(__tamis_complete | string match -v -- \":files*\")'\n"
    "complete -c tamis -n '__tamis_complete | string match -q -- \":files*\"' -F\n";

bool generate_completion(const char *shell) {
    const char *script = strcmp(shell, "bash") == 0   ? bash
                         : strcmp(shell, "zsh") == 0  ? zsh
                         : strcmp(shell, "fish") == 0 ? fish
                                                      : NULL;
    if (script != NULL) fputs(script, stdout);
    return script != NULL;
}
