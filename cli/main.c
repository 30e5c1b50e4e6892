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

static const struct command *find_command(const char *name) {
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(name, commands[i]->name) == 0) return commands[i];
    }
    return NULL;
}

/* What other tools of this sort call it. */
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

static _Noreturn void unknown_command(const char *name) {
    struct suggestion best = {NULL, 0};
    char hint[80];
    suggest_synonym(&best, name);
    for (size_t i = 0; commands[i] != NULL; i++) suggest(&best, name, commands[i]->name);
    suggest(&best, name, "--help");
    suggest(&best, name, "--version");
    suggest_text(&best, "", hint, sizeof hint);
    die("unknown %s '%s'%s", name[0] == '-' ? "option" : "command", name, hint);
}

static bool is_help(const char *word) {
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* help COMMAND, and help COMMAND VERB, which is COMMAND VERB --help. */
static void help_command(const char *name, char *verb) {
    const struct command *command = find_command(name);
    if (command == NULL) unknown_command(name);
    if (verb != NULL && verb[0] != '-') {
        char help[] = "--help", *words[] = {verb, help};
        struct args args;
        errors_name(command->name);
        args_start(&args, command, 2, words);
        command->run(&args);
    }
    help_print(command, stdout);
}

/* help, --help, -h, --version: what is no subcommand.  False if the first word is none of them;
 * the last one is NULL. */
static bool run_special(char **words) {
    const char *word = words[0], *next = words[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("tamis %s\n", tamis_version());
    } else if (strcmp(word, "help") == 0 && next != NULL && !is_help(next)) {
        help_command(next, words[2]);
    } else if (is_help(word)) {
        help_list(stdout);
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
    const struct command *command = find_command(words[1]);
    if (command == NULL) unknown_command(words[1]);
    errors_name(command->name);
    args_start(&args, command, count - 2, words + 2);
    return command->run(&args);
}
