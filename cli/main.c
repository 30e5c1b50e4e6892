/* main.c - the command `tamis`: finds the subcommand and runs it
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "options.h"
#include "output.h"
#include "suggest.h"

const struct command *const commands[] = {&command_plan,    &command_build,
                                          &command_add,     &command_remove,
                                          &command_query,   &command_uniq,
                                          &command_info,    &command_verify,
                                          &command_measure, &command_merge,
                                          &command_convert, &command_redis,
                                          &command_bench,   NULL};

const char *command_word(const struct command *command) {
    const char *space = strchr(command->name, ' ');
    return space != NULL ? space + 1 : command->name;
}

/* Names that other tools use. */
static void suggest_synonym(struct suggestion *best, const char *name) {
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"create", "build"},  {"make", "build"},  {"insert", "add"},
                 {"delete", "remove"}, {"check", "query"}, {"lookup", "query"},
                 {"show", "info"},     {"join", "merge"},  {"dedup", "uniq"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(name, words[i].theirs) == 0) best->word = words[i].ours;
    }
}

const struct command *command_find(const struct command *const *list, const char *name) {
    struct suggestion best = {NULL, 0};
    char hint[80];
    suggest_synonym(&best, name);
    for (; *list != NULL; list++) {
        if (strcmp(name, command_word(*list)) == 0) return *list;
        suggest(&best, name, command_word(*list));
    }
    suggest(&best, name, "--help");
    suggest(&best, name, "--version");
    suggest_text(&best, "", hint, sizeof hint);
    const char *help = best.word != NULL ? hint : "; --help lists the commands";
    if (name[0] == '-') die("unknown option %s%s", name, help);
    die("unknown command '%s'%s", name, help);
}

static bool is_help(const char *word) {
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* help COMMAND, and help COMMAND VERB, which is COMMAND VERB --help. */
static void help_command(const char *name, char *verb) {
    const struct command *command = command_find(commands, name);
    if (verb != NULL && verb[0] != '-') {
        char help[] = "--help", *words[] = {verb, help};
        struct args args;
        errors_name(command->name);
        args_start(&args, command, 2, words);
        command->run(&args);
    }
    help_print(command, stdout);
}

/* --generate man PAGE, --generate bash|zsh|fish, --generate pages (their names): for packagers and
 * the test house/generated; not in --help. */
static void generate(const char *what, const char *page) {
    if (what == NULL) die("missing what to --generate: man PAGE, pages, bash, zsh or fish");
    if (strcmp(what, "pages") == 0) {
        puts("tamis");
        for (size_t i = 0; commands[i] != NULL; i++) printf("tamis-%s\n", commands[i]->name);
    } else if (strcmp(what, "man") == 0) {
        if (page == NULL || !generate_page(page)) die("--generate man: unknown page");
    } else if (!generate_completion(what)) {
        die("--generate: unknown '%s': it must be man, pages, bash, zsh or fish", what);
    }
}

/* help, --help, -h, --version, --generate, --complete.  False if the first word is none of them;
 * NULL follows the last word. */
static bool run_special(char **words) {
    const char *word = words[0], *next = words[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("tamis %s\n", tamis_version());
    } else if (strcmp(word, "help") == 0 && next != NULL && !is_help(next)) {
        help_command(next, words[2]);
    } else if (is_help(word)) {
        help_list(stdout);
    } else if (strcmp(word, "--generate") == 0) {
        generate(next, next != NULL ? words[2] : NULL);
    } else if (strcmp(word, "--complete") == 0) {
        complete_words(words + 1);
    } else {
        return false;
    }
    stdout_close();
    return true;
}

int main(int count, char **words) {
    struct args args;
    interrupt_start();
    if (count < 2) {
        help_list(stderr);
        return EXIT_ERROR;
    }
    if (run_special(words + 1)) return EXIT_DONE;
    const struct command *command = command_find(commands, words[1]);
    errors_name(command->name);
    args_start(&args, command, count - 2, words + 2);
    return command->run(&args);
}
